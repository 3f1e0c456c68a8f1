/* SPDX-License-Identifier: Apache-2.0 */
/* How long an operator keeps the matrix unit and the vector units of a device busy.
 *
 *   matrix    products with everything padded as the unit reads it: 32 input channels, 32 output channels, 8 x 8 positions
 *             (4 x 8 for 16 bits)
 *   vector    operations * bytes of an element / 128, with the padding of tiles, times the instructions of the operator, on
 *             all units */
#include "prepare/cost.h"

enum { DEPTH = 32, ROWS = 32, VECTOR_BYTES = 128, ADDITION = 100, RELAYOUT = 270, PERCENT = 100 };
enum { TURN = 200 };                /* of a second operand of a product that is no constant */
enum { TURNED = 1400 };             /* a Transpose after which other elements stand side by side */
enum { WIDE = 140 };                /* percent, for a vector whose elements have more than a byte */
enum { NORMALIZE = 630, FEW = 16 }; /* a constant per channel on an image that has less than FEW of them */

/* Instructions per vector and operation, in hundredths of those of an addition. What integers need for a difference or a
 * quotient of two tensors is what it takes in the profiles of the vendor's showcase models; floats need no new encoding. The
 * others were fitted in groups: windows, pooling, resizing, what only moves, exponentials, softmax, norms. */
static const struct {
    enum op_id op;
    uint16_t all, floats, wide; /* 0: as all; wide: integers of two bytes */
} vectors[] = {
    { OP_ElementWiseAdd, ADDITION, 0, 0 },
    { OP_ElementWiseMultiply, 400, 250, 0 },
    { OP_ElementWiseSubtract, 1600, ADDITION, 0 },
    { OP_ElementWiseDivide, 4000, 300, 0 },
    { OP_Relu, 50, 0, 0 },
    { OP_ReluMinMax, 50, 0, 0 },
    { OP_Relu6, 50, 0, 0 },
    { OP_Prelu, 200, 100, 0 },
    { OP_DepthWiseConv2d, 25, 0, 0 },
    { OP_DepthWiseConv1d, 25, 0, 0 },
    { OP_PoolMax2d, 47, 0, 0 },
    { OP_PoolAvg2d, 47, 0, 0 },
    { OP_ResizeBilinear, 60, 0, 0 },
    { OP_Resize, 60, 0, 0 },
    { OP_ResizeNearestNeighbor, 340, 0, 0 },
    { OP_Concat, 130, 0, 0 },
    { OP_Split, 130, 0, 0 },
    { OP_StridedSlice, 130, 0, 0 },
    { OP_Pad, 130, 0, 0 },
    { OP_Reshape, 130, 0, 0 },
    { OP_Transpose, 260, 0, 0 },
    { OP_DepthToSpace, 260, 0, 0 },
    { OP_SpaceToDepth, 260, 0, 0 },
    { OP_ChannelShuffle, 260, 0, 0 },
    { OP_Quantize, 100, 0, 0 },
    { OP_Dequantize, 100, 0, 0 },
    { OP_Convert, 100, 0, 0 },
    { OP_Softmax, 115, 100, 75 },
    { OP_LogSoftmax, 115, 100, 75 },
    { OP_MaskedSoftmax, 115, 100, 75 },
    { OP_LayerNorm, 280, 500, 0 },
    { OP_GroupNorm, 280, 500, 0 },
    { OP_Batchnorm, 280, 0, 0 },
    { OP_Gelu, 380, 0, 0 },
    { OP_Sigmoid, 380, 0, 0 },
    { OP_Tanh, 380, 0, 0 },
    { OP_ElementWiseNeuron, 200, 0, 0 },
};

/* Products, and where in their inputs the channels are: dims of in[1], counted from its end. */
static const struct {
    enum op_id op;
    uint8_t depth, columns; /* 0: the operator is counted as it is */
} products[] = {
    { OP_Conv1d, 2, 1 },          { OP_Conv2d, 2, 1 },          { OP_Conv3d, 2, 1 },
    { OP_TransposeConv1d, 2, 1 }, { OP_TransposeConv2d, 2, 1 }, { OP_TransposeConv3d, 2, 1 },
    { OP_FullyConnected, 1, 2 },  { OP_MatMul, 2, 1 },          { OP_GroupQueryAttention, 0, 0 },
    { OP_Lstm, 0, 0 },            { OP_Gru, 0, 0 },
};
enum { VECTORS = sizeof vectors / sizeof vectors[0], PRODUCTS = sizeof products / sizeof products[0] };

static const struct tensor_desc *operand(const struct binary_graph *g, const uint32_t *list, uint32_t n, uint32_t i)
{
    return i < n && list[i] != BINARY_NONE ? &g->tensors[list[i]].desc : NULL;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return b ? a / b + (a % b != 0) : 0;
}

static uint32_t product_row(const struct binary_node *n)
{
    for (uint32_t i = 0; i < PRODUCTS; i++)
        if (products[i].op == n->op->id)
            return i;
    return PRODUCTS;
}

bool cost_is_product(const struct binary_node *n)
{
    return product_row(n) < PRODUCTS;
}

static bool is_one_of(const struct binary_node *n, const enum op_id *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ops[i] == n->op->id)
            return true;
    return false;
}

bool cost_follows(const struct binary_node *n)
{
    static const enum op_id ops[] = { OP_Prelu, OP_HardSwish, OP_ElementWiseNeuron };
    return cost_clamps(n) || is_one_of(n, ops, sizeof ops / sizeof ops[0]);
}

bool cost_clamps(const struct binary_node *n)
{
    static const enum op_id ops[] = { OP_Relu, OP_Relu1, OP_Relu6, OP_ReluMinMax };
    return is_one_of(n, ops, sizeof ops / sizeof ops[0]);
}

bool cost_stores_clamped(const struct binary_node *n)
{
    static const enum op_id ops[] = { OP_ElementWiseAdd,  OP_ElementWiseSubtract, OP_ElementWiseMultiply, OP_DepthWiseConv2d,
                                      OP_DepthWiseConv1d, OP_Batchnorm,           OP_DepthToSpace };
    return is_one_of(n, ops, sizeof ops / sizeof ops[0]);
}

static bool is_float(const struct tensor_desc *d)
{
    return d && dtype_is_float(d->type);
}

/* How many 8-bit products one of these takes the time of. */
static uint32_t product_weight(const struct cost_device *d, const struct binary_node *n, const struct tensor_desc *a,
                               const struct tensor_desc *b)
{
    unsigned wa = a ? dtype_bits(a->type) : 8, wb = b ? dtype_bits(b->type) : 8;
    bool dense = n->op->id == OP_FullyConnected || n->op->id == OP_MatMul || n->op->id == OP_Lstm || n->op->id == OP_Gru;
    if (is_float(a) || is_float(b))
        return dense && d->dense_float ? d->dense_float : 4;
    return (wa > 8 ? 2 : 1) * (wb > 8 ? 2 : 1);
}

static uint64_t pad(uint64_t n, uint64_t to)
{
    return divide_up(n, to) * to;
}

/* Products with padding: those of the operator, times what each padded dimension grows by. Groups of few channels lie side
 * by side in the padding. */
static uint64_t padded_macs(const struct binary_graph *g, const struct binary_node *n, uint32_t row)
{
    const struct tensor_desc *w = operand(g, n->in, n->n_in, 1), *y = operand(g, n->out, n->n_out, 0);
    struct cost_steps steps;
    if (cost_steps(g, n, &steps)) /* each has as many rows as there are sequences */
        return (uint64_t)((double)n->macs * (double)pad(steps.rows, ROWS) / (double)steps.rows);
    if (!products[row].depth || !w || !y || w->rank < 2 || !y->rank)
        return n->macs;
    uint64_t depth = w->dims[w->rank - products[row].depth], columns = w->dims[w->rank - products[row].columns];
    if (!depth || !columns || !desc_count(y))
        return n->macs;
    uint64_t positions = desc_count(y) / y->dims[y->rank - 1];
    uint64_t padded = pad(binary_tile_bytes(y) * 8 / binary_tile_bits(y->type) / pad(y->dims[y->rank - 1], DEPTH), ROWS);
    padded *= cost_along_line(g, n) ? COST_TALL : 1;
    double grow = (double)pad(depth, DEPTH) / (double)depth * ((double)pad(columns, DEPTH) / (double)columns) *
                  ((double)padded / (double)positions);
    return (uint64_t)((double)n->macs * grow);
}

/* Work on floats, which older devices are slower at. */
static uint64_t with_floats(const struct cost_device *d, bool floats, uint64_t work)
{
    return floats && d->float_percent ? divide_up(work * d->float_percent, PERCENT) : work;
}

static uint64_t instructions(enum op_id op, bool floats, bool wide)
{
    for (uint32_t i = 0; i < VECTORS; i++)
        if (vectors[i].op == op)
            return floats && vectors[i].floats          ? vectors[i].floats
                   : wide && !floats && vectors[i].wide ? vectors[i].wide
                                                        : vectors[i].all;
    return ADDITION;
}

/* How much larger the larger of two tensors is in tiles. */
static double padding(const struct tensor_desc *x, const struct tensor_desc *y)
{
    const struct tensor_desc *t = !y || (x && desc_count(x) > desc_count(y)) ? x : y;
    uint64_t dense = t ? desc_count(t) : 0, padded = t ? binary_tile_bytes(t) * 8 / binary_tile_bits(t->type) : 0;
    return dense && padded > dense ? (double)padded / (double)dense : 1;
}

static const struct tensor_desc *constant_operand(const struct binary_graph *g, const struct binary_node *n)
{
    uint32_t t = n->n_in == 2 ? n->in[1] : BINARY_NONE;
    return t != BINARY_NONE && g->tensors[t].place == PLACE_CONST ? &g->tensors[t].desc : NULL;
}

/* What is taken away, or divided by, is made part of the encoding where it is a constant. */
static enum op_id with_constant(enum op_id op)
{
    return op == OP_ElementWiseSubtract ? OP_ElementWiseAdd : op == OP_ElementWiseDivide ? OP_ElementWiseMultiply : op;
}

/* A number for each of few channels, as images are normalized: it does not lie in a vector as the image does. */
static bool normalizes(const struct tensor_desc *x, const struct tensor_desc *constant, enum op_id op)
{
    return constant && desc_count(constant) > 1 && x && x->rank == 4 && x->dims[3] < FEW &&
           (op == OP_ElementWiseAdd || op == OP_ElementWiseMultiply);
}

static bool is_tall(const struct cost_tensor *tensors, uint32_t t)
{
    return t != BINARY_NONE && tensors[t].tall;
}

/* Tensors lie in tiles, and vectors go over the padding, too; those of the client have none. */
static uint64_t vector_operations(const struct binary_graph *g, const struct binary_node *n)
{
    const struct tensor_desc *x = operand(g, n->in, n->n_in, 0);
    const struct tensor_desc *y = operand(g, n->out, n->n_out, 0);
    bool client = n->n_out && n->out[0] != BINARY_NONE && g->tensors[n->out[0]].io;

    return client ? n->macs : (uint64_t)((double)n->macs * padding(x, y));
}

uint64_t cost_padded_macs(const struct binary_graph *g, const struct binary_node *n)
{
    uint32_t row = product_row(n);

    return row < PRODUCTS ? padded_macs(g, n, row) : vector_operations(g, n);
}

static uint64_t vector_cycles(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n,
                              const struct cost_tensor *tensors, enum op_id as)
{
    const struct tensor_desc *x = operand(g, n->in, n->n_in, 0), *y = operand(g, n->out, n->n_out, 0),
                             *constant = constant_operand(g, n);
    uint64_t bits = 8, operations = vector_operations(g, n);
    bits = x && binary_tile_bits(x->type) > bits ? binary_tile_bits(x->type) : bits;
    bits = y && binary_tile_bits(y->type) > bits ? binary_tile_bits(y->type) : bits;
    as = constant ? with_constant(as) : as;
    operations *= n->n_in && n->n_out && (is_tall(tensors, n->in[0]) || is_tall(tensors, n->out[0])) ? COST_TALL : 1;
    bool image = normalizes(x, constant, as);
    uint64_t each = cost_turns(g, n) ? TURNED : instructions(as, is_float(x), bits > 8);
    each = image ? NORMALIZE : each * (bits > 8 ? WIDE : PERCENT) / PERCENT;
    uint64_t work = divide_up(operations * bits / 8, VECTOR_BYTES) * each * d->vector_percent;
    return divide_up(with_floats(d, is_float(x), work), (uint64_t)ADDITION * PERCENT * d->vector_units);
}

uint64_t cost_swish(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n,
                    const struct cost_tensor *tensors)
{
    return vector_cycles(d, g, n, tensors, OP_ElementWiseNeuron);
}

/* Activations through the port of the fast memory, in tile layout. */
static uint64_t moved(const struct binary_graph *g, const uint32_t *list, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct binary_tensor *t = list[i] == BINARY_NONE ? NULL : &g->tensors[list[i]];
        sum += t && t->place != PLACE_CONST && t->place != PLACE_NONE ? binary_tile_bytes(&t->desc) : 0;
    }
    return sum;
}

static uint64_t laid_out(const struct cost_device *d, uint64_t bytes, uint64_t each)
{
    return divide_up(divide_up(bytes, VECTOR_BYTES) * each * d->vector_percent,
                     (uint64_t)ADDITION * PERCENT * d->vector_units);
}

/* The matrix unit knows tiles only, and the client's tensors have the layout of the API: vectors that change it. Vector
 * operators do that as they load and store. Only the first operator that reads a tensor lays it out anew. */
static uint64_t relayout(const struct cost_device *d, const struct binary_graph *g, uint32_t node,
                         const struct cost_tensor *tensors)
{
    const struct binary_node *n = &g->nodes[node];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        bool io = t != BINARY_NONE && g->tensors[t].io;
        bytes += io && !(i < n->n_in && tensors[t].first_reader < node) ? binary_tile_bytes(&g->tensors[t].desc) : 0;
    }
    return laid_out(d, bytes, RELAYOUT);
}

/* Weights have a layout of their own, which constants are given when a graph is compiled: another second operand is brought
 * into it by vectors. */
static uint64_t as_weights(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n)
{
    const struct tensor_desc *b = operand(g, n->in, n->n_in, 1);
    if (n->op->id != OP_MatMul || !b || g->tensors[n->in[1]].place == PLACE_CONST || g->tensors[n->in[1]].io)
        return 0;
    return with_floats(d, is_float(b), laid_out(d, binary_tile_bytes(b), TURN));
}

/* A convolution of so few input channels that the device was told to keep it from the matrix unit. */
static bool is_short(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n)
{
    enum op_id op = n->op->id;
    bool convolves = op == OP_Conv1d || op == OP_Conv2d || op == OP_Conv3d || op == OP_TransposeConv2d;
    const struct tensor_desc *w = convolves ? operand(g, n->in, n->n_in, 1) : NULL;

    return w && w->rank >= 2 && w->dims[w->rank - 2] < d->least_depth;
}

void cost_work(const struct cost_device *d, const struct binary_graph *g, uint32_t node, const struct cost_tensor *tensors,
               struct cost_work *ret)
{
    const struct binary_node *n = &g->nodes[node];
    struct cost_steps steps;
    uint32_t row = product_row(n);
    *ret = (struct cost_work){ 0 };
    if (binary_node_in_tiles(g, n))
        return;
    enum op_id as = n->op->id;
    if (is_short(d, g, n)) { /* its products are those of vectors, as in a depth-wise convolution */
        row = PRODUCTS;
        as = OP_DepthWiseConv2d;
    }
    *ret = (struct cost_work){ .move = divide_up(moved(g, n->in, n->n_in) + moved(g, n->out, n->n_out), d->vtcm_rate) };
    ret->vector =
        row == PRODUCTS ? vector_cycles(d, g, n, tensors, as) : relayout(d, g, node, tensors) + as_weights(d, g, n);
    if (row == PRODUCTS)
        return;
    const struct tensor_desc *a = operand(g, n->in, n->n_in, 0), *b = operand(g, n->in, n->n_in, 1);
    uint64_t products = padded_macs(g, n, row) * product_weight(d, n, a, b);
    ret->matrix = divide_up(with_floats(d, is_float(a) || is_float(b), products), d->matrix_macs);
    if (cost_steps_apart(d, g, n, &steps)) /* a product and its gates, one behind the other */
        ret->matrix += (uint64_t)(steps.n - 1) * (d->launch[0] + d->launch[1]);
}
