/* SPDX-License-Identifier: Apache-2.0 */
/* How long an operator keeps the matrix unit and the vector units of a device busy.
 *
 *   matrix    products with everything padded as the unit reads it: 32 input channels, 32 output channels, 8 x 8 positions
 *             (4 x 8 for 16 bits)
 *   vector    operations * bytes of an element / 128, times the instructions of the operator, on all units */
#include "prepare/cost.h"

enum { DEPTH = 32, ROWS = 32, VECTOR_BYTES = 128, ADDITION = 100, WINDOW = 18, RELAYOUT = 80, PERCENT = 100 };

/* Instructions per vector and operation, in hundredths of those of an addition. Addition, multiplication, subtraction and
 * division of integers stand to each other as they do in the profiles of the vendor's showcase models; floats need no new
 * encoding for a difference or a quotient. Operations of a window and of softmax are so many parts of one result, and were
 * fitted; the others are counts of what the arithmetic needs. */
static const struct {
    enum op_id op;
    uint16_t all, floats; /* floats 0: as all */
} vectors[] = {
    { OP_ElementWiseAdd, ADDITION, 0 },
    { OP_ElementWiseMultiply, 140, 0 },
    { OP_ElementWiseSubtract, 410, ADDITION },
    { OP_ElementWiseDivide, 1020, 300 },
    { OP_Relu, 50, 0 },
    { OP_ReluMinMax, 50, 0 },
    { OP_Relu6, 50, 0 },
    { OP_Prelu, 70, 0 },
    { OP_DepthWiseConv2d, WINDOW, 0 },
    { OP_DepthWiseConv1d, WINDOW, 0 },
    { OP_PoolMax2d, WINDOW, 0 },
    { OP_PoolAvg2d, WINDOW, 0 },
    { OP_ResizeBilinear, WINDOW, 0 },
    { OP_Resize, WINDOW, 0 },
    { OP_ResizeNearestNeighbor, 100, 0 },
    { OP_Concat, 50, 0 },
    { OP_Split, 50, 0 },
    { OP_StridedSlice, 50, 0 },
    { OP_Pad, 50, 0 },
    { OP_Reshape, 50, 0 },
    { OP_Transpose, 100, 0 },
    { OP_DepthToSpace, 100, 0 },
    { OP_SpaceToDepth, 100, 0 },
    { OP_ChannelShuffle, 100, 0 },
    { OP_Quantize, 100, 0 },
    { OP_Dequantize, 100, 0 },
    { OP_Convert, 100, 0 },
    { OP_Softmax, 34, 0 },
    { OP_LogSoftmax, 34, 0 },
    { OP_LayerNorm, 100, 0 },
    { OP_Gelu, 200, 0 },
    { OP_Sigmoid, 200, 0 },
    { OP_Tanh, 200, 0 },
    { OP_ElementWiseNeuron, 50, 0 },
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

bool cost_follows(const struct binary_node *n)
{
    static const enum op_id ops[] = {
        OP_Relu, OP_Relu1, OP_Relu6, OP_ReluMinMax, OP_Prelu, OP_HardSwish, OP_ElementWiseNeuron
    };
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i] == n->op->id)
            return true;
    return false;
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
    bool dense = n->op->id == OP_FullyConnected || n->op->id == OP_MatMul;
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
    if (!products[row].depth || !w || !y || w->rank < 2 || !y->rank)
        return n->macs;
    uint64_t depth = w->dims[w->rank - products[row].depth], columns = w->dims[w->rank - products[row].columns];
    if (!depth || !columns || !desc_count(y))
        return n->macs;
    uint64_t positions = desc_count(y) / y->dims[y->rank - 1];
    uint64_t padded = pad(binary_tile_bytes(y) * 8 / binary_tile_bits(y->type) / pad(y->dims[y->rank - 1], DEPTH), ROWS);
    double grow = (double)pad(depth, DEPTH) / (double)depth * ((double)pad(columns, DEPTH) / (double)columns) *
                  ((double)padded / (double)positions);
    return (uint64_t)((double)n->macs * grow);
}

/* Work on floats, which older devices are slower at. */
static uint64_t with_floats(const struct cost_device *d, bool floats, uint64_t work)
{
    return floats && d->float_percent ? divide_up(work * d->float_percent, PERCENT) : work;
}

static uint64_t instructions(enum op_id op, bool floats)
{
    for (uint32_t i = 0; i < VECTORS; i++)
        if (vectors[i].op == op)
            return floats && vectors[i].floats ? vectors[i].floats : vectors[i].all;
    return ADDITION;
}

static uint64_t vector_cycles(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n,
                              enum op_id as)
{
    const struct tensor_desc *x = operand(g, n->in, n->n_in, 0), *y = operand(g, n->out, n->n_out, 0);
    uint64_t bits = 8;
    bits = x && binary_tile_bits(x->type) > bits ? binary_tile_bits(x->type) : bits;
    bits = y && binary_tile_bits(y->type) > bits ? binary_tile_bits(y->type) : bits;
    uint64_t work = divide_up(n->macs * bits / 8, VECTOR_BYTES) * instructions(as, is_float(x)) * d->vector_percent;
    return divide_up(with_floats(d, is_float(x), work), (uint64_t)ADDITION * PERCENT * d->vector_units);
}

uint64_t cost_swish(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n)
{
    return vector_cycles(d, g, n, OP_ElementWiseNeuron);
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

/* Only the first operator that reads a tensor of the client lays it out anew. */
static bool read_before(const struct binary_graph *g, const struct binary_node *n, uint32_t t)
{
    for (uint32_t k = 0; k < g->n_nodes && g->nodes[k].out[0] != n->out[0]; k++)
        for (uint32_t i = 0; i < g->nodes[k].n_in; i++)
            if (g->nodes[k].in[i] == t)
                return true;
    return false;
}

/* The matrix unit knows tiles only, and the client's tensors have the layout of the API: vectors that change it. Vector
 * operators do that as they load and store. */
static uint64_t relayout(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        bool io = t != BINARY_NONE && g->tensors[t].io;
        bytes += io && !(i < n->n_in && read_before(g, n, t)) ? binary_tile_bytes(&g->tensors[t].desc) : 0;
    }
    return divide_up(divide_up(bytes, VECTOR_BYTES) * RELAYOUT * d->vector_percent,
                     (uint64_t)ADDITION * PERCENT * d->vector_units);
}

void cost_work(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n, struct cost_work *ret)
{
    uint32_t row = product_row(n);
    *ret = (struct cost_work){ 0 };
    if (binary_node_in_tiles(g, n))
        return;
    *ret = (struct cost_work){ .move = divide_up(moved(g, n->in, n->n_in) + moved(g, n->out, n->n_out), d->vtcm_rate) };
    ret->vector = row == PRODUCTS ? vector_cycles(d, g, n, n->op->id) : relayout(d, g, n);
    if (row == PRODUCTS)
        return;
    const struct tensor_desc *a = operand(g, n->in, n->n_in, 0), *b = operand(g, n->in, n->n_in, 1);
    uint64_t products = padded_macs(g, n, row) * product_weight(d, n, a, b);
    ret->matrix = divide_up(with_floats(d, is_float(a) || is_float(b), products), d->matrix_macs);
}
