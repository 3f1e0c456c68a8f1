/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator needs of fast memory at once even when it is cut as small as it can be. Most go over their operands tile by tile, and then a few tiles are enough, in a product also
 * the window and weights of 32 result channels. A few have to see a whole axis, or everything. Rows of the table are generous: nothing is refused here that a device might run. */
#include "prepare/cx.h"

enum { TILE_BYTES = 2048, SIDE = 8, DEPTH = 32, DEPTH_AT_ONCE = 512 };

enum shape {
    WINDOW, /* a product: height x width x 512 input channels of its filter for 32 results, and the window over the input */
    AXIS,   /* the last axis, in and out, eight rows of it */
    ALL,    /* every operand */
};

static const struct {
    uint16_t op;
    uint8_t shape;
} rows[] = {
    { OP_Conv2d, WINDOW },       { OP_Conv3d, WINDOW },     { OP_TransposeConv2d, WINDOW },
    { OP_TopK, AXIS },           { OP_Softmax, AXIS },      { OP_LogSoftmax, AXIS },        { OP_MaskedSoftmax, AXIS },
    { OP_NonMaxSuppression, ALL }, { OP_MultiClassNms, ALL }, { OP_DetectionOutput, ALL },  { OP_CombinedNms, ALL },
};

static uint64_t element_bytes(const struct tensor_desc *d)
{
    return (binary_tile_bits(d->type) + 7) / 8;
}

static uint64_t padded(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Filters are [height, width, input channels, output channels], with a depth in front in three dimensions. */
static uint64_t window_bytes(const struct ir_call *v)
{
    const struct tensor_desc *x = v->in[0], *w = v->call.n_in > 1 ? v->in[1] : NULL;
    if (!x || !w || w->rank < 4)
        return 0;
    uint64_t taps = 1, depth = padded(w->dims[w->rank - 2], DEPTH);
    for (uint32_t i = 0; i + 2 < w->rank; i++)
        taps *= w->dims[i];
    depth = depth < DEPTH_AT_ONCE ? depth : DEPTH_AT_ONCE;
    return taps * depth * (DEPTH * element_bytes(w) + element_bytes(x));
}

static uint64_t axis_bytes(const struct ir_call *v)
{
    const struct tensor_desc *x = v->in[0];
    return x && x->rank ? 2 * SIDE * padded(x->dims[x->rank - 1], DEPTH) * element_bytes(x) : 0;
}

static uint64_t all_bytes(const struct ir_call *v)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < v->call.n_in; i++)
        sum += v->in[i] ? binary_tile_bytes(v->in[i]) : 0;
    for (uint32_t i = 0; i < v->call.n_out; i++)
        sum += binary_tile_bytes(v->out[i]);
    return sum;
}

static uint64_t least_bytes(const struct prepare_cx *cx, const struct ir_node *n)
{
    static uint64_t (*const by_shape[])(const struct ir_call *v) = { [WINDOW] = window_bytes, [AXIS] = axis_bytes, [ALL] = all_bytes };
    struct ir_call v;
    uint64_t tiles = (uint64_t)TILE_BYTES * (n->n_out + 1); /* operands may take turns */
    ir_call(cx->g, n, &v);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].op == n->op->id)
            return tiles + by_shape[rows[i].shape](&v);
    return 0; /* views, transfers and all that goes tile by tile */
}

enum status tile_vtcm_least(struct prepare_cx *cx, bool *progress)
{
    (void)progress;
    for (uint32_t k = 0; k < cx->g->nodes.n; k++) {
        const struct ir_node *n = &cx->g->nodes.at[k];
        uint64_t need = least_bytes(cx, n), have = cx->target->vtcm_bytes;
        RETURN_IF(need > have, ST_NO_MEMORY,
                  "A single op, \"q::%s\" (Op ID: %x), requires 0x%llx bytes of TCM, which is greater than the TCM size of 0x%llx! It is node \"%s\"; give the graph more VTCM (vtcm_mb), "
                  "or make the operator smaller",
                  n->op->name, k, (unsigned long long)need, (unsigned long long)have, n->name);
    }
    return ST_OK;
}
