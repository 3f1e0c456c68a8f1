/* SPDX-License-Identifier: Apache-2.0 */
/* How tensors lie in the device's memory, where that makes work.
 *
 * Rows without a height lie flat, 32 channels of each position. A window that goes along them is computed by the matrix unit
 * as one over an image: what it reads and makes lies in tiles of 8 lines, of which one is used. */
#include "prepare/cost.h"

static const struct tensor_desc *desc_of(const struct binary_graph *g, uint32_t t)
{
    return t == BINARY_NONE ? NULL : &g->tensors[t].desc;
}

/* One line of several positions. */
static bool one_line(const struct tensor_desc *d)
{
    return d && d->rank == 4 && d->dims[1] == 1 && d->dims[2] > 1;
}

bool cost_along_line(const struct binary_graph *g, const struct binary_node *n)
{
    bool window = n->op->id == OP_Conv2d || n->op->id == OP_TransposeConv2d || n->op->id == OP_DepthWiseConv2d;
    const struct tensor_desc *w = window && n->n_in > 1 ? desc_of(g, n->in[1]) : NULL;
    return w && w->rank == 4 && w->dims[1] > 1 && one_line(desc_of(g, n->out[0]));
}

void cost_list_tensors(const struct binary_graph *g, struct cost_tensor *ret)
{
    for (uint32_t t = 0; t < g->n_tensors; t++)
        ret[t] = (struct cost_tensor){ .first_reader = BINARY_NONE };
    for (uint32_t k = g->n_nodes; k-- > 0;) {
        const struct binary_node *n = &g->nodes[k];
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i] != BINARY_NONE)
                ret[n->in[i]].first_reader = k;
        if (!cost_along_line(g, n))
            continue;
        ret[n->in[0]].tall |= one_line(desc_of(g, n->in[0]));
        ret[n->out[0]].tall = true;
    }
}

/* The last dimension of more than one element; rank: there is none. */
static uint32_t innermost(const struct tensor_desc *d)
{
    for (uint32_t i = d->rank; i-- > 0;)
        if (d->dims[i] > 1)
            return i;
    return d->rank;
}

/* Blocks of pixels to channels or back, of which there are fewer than a tile has. */
static bool spreads(const struct binary_graph *g, const struct binary_node *n)
{
    const struct tensor_desc *few = n->op->id == OP_DepthToSpace   ? desc_of(g, n->out[0])
                                    : n->op->id == OP_SpaceToDepth ? desc_of(g, n->in[0])
                                                                   : NULL;
    return few && few->rank && few->dims[few->rank - 1] < COST_DEEP;
}

bool cost_turns(const struct binary_graph *g, const struct binary_node *n)
{
    if (spreads(g, n))
        return true;
    const struct op_value *perm = &n->params[0];
    const struct tensor_desc *x = n->op->id == OP_Transpose ? desc_of(g, n->in[0]) : NULL, *y = desc_of(g, n->out[0]);
    uint32_t last = x && y ? innermost(y) : 0;
    return x && y && last < y->rank && perm->count == y->rank && ((const uint32_t *)perm->data)[last] != innermost(x);
}
