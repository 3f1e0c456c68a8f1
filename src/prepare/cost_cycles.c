/* SPDX-License-Identifier: Apache-2.0 */
/* An operator takes the longer of computing and of moving its bytes, since both go on at the same time, and a start that is
 * the same for all:
 *
 *     cycles = start + max(operations / rate of the unit, sum over pools of bytes / rate of the pool)
 *
 * Which unit works is a table; everything not in it is work of the vector unit. A view over its own memory costs nothing. */
#include "prepare/cost.h"

/* Operators that keep the array of multipliers busy. */
static const struct {
    enum op_id op;
    bool per_channel; /* one weight per product: only a row of the array works */
} products[] = {
    { OP_Conv1d, false },          { OP_Conv2d, false },          { OP_Conv3d, false },
    { OP_DepthWiseConv1d, true },  { OP_DepthWiseConv2d, true },  { OP_FullyConnected, false },
    { OP_GroupQueryAttention, false }, { OP_Gru, false },         { OP_Lstm, false },
    { OP_MatMul, false },          { OP_TransposeConv1d, false }, { OP_TransposeConv2d, false },
    { OP_TransposeConv3d, false },
};
enum { PRODUCTS = sizeof(products) / sizeof(products[0]) };

static enum cost_width width_of(enum dtype t)
{
    return dtype_is_float(t) || dtype_bits(t) > 16 ? COST_WIDE : dtype_bits(t) > 8 ? COST_16 : COST_8;
}

/* The width of operand i of a list, COST_8 where there is none. */
static enum cost_width width_at(const struct binary_graph *g, const uint32_t *list, uint32_t n, uint32_t i)
{
    return i < n && list[i] != BINARY_NONE ? width_of(g->tensors[list[i]].desc.type) : COST_8;
}

static enum cost_width wider(enum cost_width a, enum cost_width b)
{
    return a > b ? a : b;
}

/* Operations per cycle. Products go by what is multiplied (the first two inputs), the rest by the widest of first input and
 * first output. */
static uint64_t rate_of(const struct cost_rates *r, const struct binary_graph *g, const struct binary_node *n)
{
    enum cost_width a = width_at(g, n->in, n->n_in, 0), b = width_at(g, n->in, n->n_in, 1),
                    y = width_at(g, n->out, n->n_out, 0);
    for (uint32_t i = 0; i < PRODUCTS; i++)
        if (products[i].op == n->op->id)
            return products[i].per_channel ? r->per_channel[wider(a, b)] : r->products[a][b];
    return r->elements[wider(a, y)];
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return b ? a / b + (a % b != 0) : 0;
}

static uint64_t cost_node(const struct cost_rates *r, const struct binary_graph *g, uint32_t k)
{
    const struct binary_node *n = &g->nodes[k];
    struct binary_traffic t;
    uint64_t compute = divide_up(n->macs, rate_of(r, g, n)), move = 0;
    binary_node_traffic(g, k, &t);
    for (int p = 0; p < PLACE_COUNT; p++)
        move += divide_up(t.read[p] + t.written[p], r->bytes[p]);
    if (!move)
        return 0;
    return r->start + (compute > move ? compute : move);
}

uint64_t cost_nodes(const struct cost_rates *r, const struct binary_graph *g, struct binary_node *nodes)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        nodes[k].cycles = cost_node(r, g, k);
        sum += nodes[k].cycles;
    }
    return sum;
}
