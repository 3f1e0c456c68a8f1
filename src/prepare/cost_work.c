/* SPDX-License-Identifier: Apache-2.0 */
/* How long an operator keeps the matrix unit and the vector units of a device busy.
 *
 *   matrix    products with everything padded as the unit reads it: 32 input channels, 32 output channels, 8 x 8 positions
 *             (4 x 8 for 16 bits)
 *   vector    operations * bytes of an element / 128, times the instructions of the operator, on all units */
#include "prepare/cost.h"

enum { DEPTH = 32, ROWS = 32, VECTOR_BYTES = 128, ADDITION = 10, RELAYOUT = 8, PERCENT = 100 };

/* Instructions per vector and operation, in tenths of those of an addition. Addition, multiplication, subtraction and
 * division stand to each other as they do in the profiles of the vendor's showcase models; the others are counts of what the
 * arithmetic needs. */
static const struct {
    enum op_id op;
    uint16_t tenths;
} vectors[] = {
    { OP_ElementWiseAdd, ADDITION },
    { OP_ElementWiseMultiply, 14 },
    { OP_ElementWiseSubtract, 41 },
    { OP_ElementWiseDivide, 102 },
    { OP_Relu, 5 },
    { OP_ReluMinMax, 5 },
    { OP_Relu6, 5 },
    { OP_Prelu, 7 },
    { OP_DepthWiseConv2d, 3 },
    { OP_DepthWiseConv1d, 3 },
    { OP_PoolMax2d, 3 },
    { OP_PoolAvg2d, 3 },
    { OP_Concat, 5 },
    { OP_Split, 5 },
    { OP_StridedSlice, 5 },
    { OP_Pad, 5 },
    { OP_Reshape, 5 },
    { OP_Transpose, 10 },
    { OP_DepthToSpace, 10 },
    { OP_SpaceToDepth, 10 },
    { OP_ChannelShuffle, 10 },
    { OP_Quantize, 10 },
    { OP_Dequantize, 10 },
    { OP_Convert, 10 },
    { OP_Softmax, 5 },
    { OP_LogSoftmax, 5 },
    { OP_LayerNorm, 10 },
    { OP_Gelu, 20 },
    { OP_Sigmoid, 20 },
    { OP_Tanh, 20 },
    { OP_ElementWiseNeuron, 5 },
    { OP_ResizeBilinear, 20 },
    { OP_Resize, 20 },
    { OP_ResizeNearestNeighbor, 10 },
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

/* How many 8-bit products one of these takes the time of. */
static uint32_t product_weight(const struct cost_device *d, const struct binary_node *n, const struct tensor_desc *a,
                               const struct tensor_desc *b)
{
    unsigned wa = a ? dtype_bits(a->type) : 8, wb = b ? dtype_bits(b->type) : 8;
    bool dense = n->op->id == OP_FullyConnected || n->op->id == OP_MatMul;
    if ((a && dtype_is_float(a->type)) || (b && dtype_is_float(b->type)))
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

static uint64_t vector_cycles(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n,
                              enum op_id as)
{
    const struct tensor_desc *x = operand(g, n->in, n->n_in, 0), *y = operand(g, n->out, n->n_out, 0);
    uint64_t tenths = ADDITION, bits = 8;
    for (uint32_t i = 0; i < VECTORS; i++)
        tenths = vectors[i].op == as ? vectors[i].tenths : tenths;
    bits = x && binary_tile_bits(x->type) > bits ? binary_tile_bits(x->type) : bits;
    bits = y && binary_tile_bits(y->type) > bits ? binary_tile_bits(y->type) : bits;
    uint64_t count = divide_up(n->macs * bits / 8, VECTOR_BYTES);
    return divide_up(count * tenths * d->vector_percent, (uint64_t)ADDITION * PERCENT * d->vector_units);
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

/* The matrix unit knows tiles only, and the client's tensors have the layout of the API: vectors that change it. Vector
 * operators do that as they load and store. */
static uint64_t relayout(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        bytes += t != BINARY_NONE && g->tensors[t].io ? binary_tile_bytes(&g->tensors[t].desc) : 0;
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
    if (row < PRODUCTS)
        ret->matrix = divide_up(padded_macs(g, n, row) *
                                    product_weight(d, n, operand(g, n->in, n->n_in, 0), operand(g, n->in, n->n_in, 1)),
                                d->matrix_macs);
}
