/* SPDX-License-Identifier: Apache-2.0 */
/* Joining and cutting in tile layout. A device has tensors as tiles that lie anywhere, so where the border between two parts
 * is one between tiles, Concat and Split are a matter of addresses:
 *
 *     | 64 channels | 32 channels |      three tiles deep; the tiles of either input are tiles of the result as they are
 *
 * Parts are found by shapes alone: all of them agree with the whole in every dimension but one, in which they add up
 * to it. */
#include "binary/binary_format.h"

enum { DEPTH = 32, SIDE = 8 };

uint32_t binary_tile_side(const struct tensor_desc *d, uint32_t axis)
{
    uint32_t r = d->rank;
    bool image = r >= 4 && d->dims[r - 3] > 1; /* rows of one height lie flat */
    if (axis + 1 == r)
        return DEPTH;
    if (!image || axis + 3 < r)
        return 1;
    return axis + 2 == r && binary_tile_bits(d->type) > 8 ? SIDE / 2 : SIDE;
}

/* The dimension in which a part is smaller than the whole: rank when there is none, UINT32_MAX when there are several. */
static uint32_t axis_of(const struct tensor_desc *part, const struct tensor_desc *whole)
{
    uint32_t axis = whole->rank;
    for (uint32_t i = 0; i < whole->rank; i++) {
        if (part->dims[i] == whole->dims[i])
            continue;
        if (axis != whole->rank)
            return UINT32_MAX;
        axis = i;
    }
    return axis;
}

static bool alike(const struct tensor_desc *a, const struct tensor_desc *b)
{
    return a->rank == b->rank && a->type == b->type && quant_same(&a->q, &b->q) && !a->dynamic;
}

bool binary_in_tiles(const struct op_call *c)
{
    bool join = c->op->id == OP_Concat, cut = c->op->id == OP_Split;
    if ((!join && !cut) || !c->n_in || !c->n_out || !c->in[0] || !c->out[0])
        return false;
    const struct tensor_desc *whole = join ? c->out[0] : c->in[0], *const *parts = join ? c->in : c->out;
    uint32_t n = join ? c->n_in : c->n_out, axis = n && parts[0] ? axis_of(parts[0], whole) : UINT32_MAX;
    uint64_t sum = 0;
    if (whole->dynamic || axis >= whole->rank)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        bool border = sum % binary_tile_side(whole, axis) == 0;
        if (!parts[i] || !alike(parts[i], whole) || axis_of(parts[i], whole) != axis || !border ||
            binary_tile_side(parts[i], axis) != binary_tile_side(whole, axis))
            return false;
        sum += parts[i]->dims[axis];
    }
    return sum == whole->dims[axis];
}

bool binary_node_in_tiles(const struct binary_graph *g, const struct binary_node *n)
{
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    struct op_call c;
    bin_call(g, n, in, out, &c);
    return binary_in_tiles(&c);
}
