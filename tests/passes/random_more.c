/* SPDX-License-Identifier: Apache-2.0 */
/* What wide random graphs have besides: shapes of real networks (equal sizes, residuals, groups), operators with several
 * results, norms, reductions, movers, conditions, and changes of type. */
#include <string.h>

#include "random_draft.h"

#define COUNT(a) (uint32_t)(sizeof(a) / sizeof((a)[0]))

/* ---- products --------------------------------------------------------------------------------------------------------- */

/* Stride 1 and as much padding as keeps the size, often with as many channels, so that a residual fits. */
static void draft_same_conv(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 4), half = random_below(r, 3), k = 2 * half + 1,
             dilation = half && random_below(r, 4) == 0 ? 2 : 1;
    if (x == IR_NONE)
        return;
    uint32_t channels = random_desc_at(r, x).dims[3], out = random_below(r, 2) ? channels : 1 + random_below(r, 70);
    bool deep = random_below(r, 4) == 0;
    uint32_t group = deep ? channels : channels % 2 == 0 && random_below(r, 4) == 0 ? 2 : 1, pad = half * dilation;
    if (deep || out % group)
        out = channels;
    uint32_t terms = k * k * channels / group;
    d->op = deep ? "DepthWiseConv2d" : "Conv2d";
    draft_take(d, x);
    draft_take(d, random_weights(r, 4, (uint32_t[]){ k, k, channels / group, out }, 3, terms));
    draft_bias(d, out);
    draft_fit_product(d, terms);
    draft_param(d, "stride", DT_U32, 1, (uint32_t[]){ 2 }, (uint32_t[]){ 1, 1 });
    draft_param(d, "pad_amount", DT_U32, 2, (uint32_t[]){ 2, 2 }, (uint32_t[]){ pad, pad, pad, pad });
    draft_param(d, "dilation", DT_U32, 1, (uint32_t[]){ 2 }, (uint32_t[]){ dilation, dilation });
    if (!deep)
        draft_u32(d, "group", group);
}

/* Both sides computed: a · bᵀ. */
static void draft_attention(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t a = random_pick(r, 0), b = random_pick(r, random_desc_at(r, a).rank);
    struct tensor_desc t = random_desc_at(r, a);
    if (t.rank < 2)
        return;
    d->op = "MatMul";
    draft_take(d, a);
    draft_take(d, b == IR_NONE ? a : b);
    draft_bool(d, "transpose_in1", true);
    draft_fit_product(d, t.dims[t.rank - 1]);
}

/* [time, batch, values]: a few steps of whatever there is. */
static void draft_recurrent(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 3);
    if (x == IR_NONE || dtype_is_fixed(r->type))
        return;
    uint32_t size = random_desc_at(r, x).dims[2], hidden = 1 + random_below(r, 20);
    d->op = "Gru";
    draft_take(d, x);
    for (int i = 0; i < 6; i++) {
        uint32_t dims[2] = { hidden, i < 3 ? size : hidden };
        struct tensor_desc w = random_desc(r, r->type, 2, dims);
        draft_take(d, random_tensor(r, &w, IR_CONST));
    }
    d->n_out = 2;
}

/* ---- element by element ----------------------------------------------------------------------------------------------- */

static uint32_t same_shape(struct random_graph *r, const struct tensor_desc *as, enum dtype type)
{
    uint32_t found = IR_NONE, seen = 0;
    for (uint32_t i = 0; i < r->g->tensors.n; i++) {
        const struct ir_tensor *t = &r->g->tensors.at[i];
        if (t->role != IR_CONST && t->desc.type == type && desc_same_shape(&t->desc, as) && random_below(r, ++seen) == 0)
            found = i;
    }
    return found;
}

static void draft_residual(struct draft *d)
{
    static const char *const ops[] = {
        "ElementWiseAdd",     "ElementWiseAdd",    "ElementWiseSubtract",         "ElementWiseMultiply",
        "ElementWiseMinimum", "ElementWiseDivide", "ElementWiseSquaredDifference"
    };
    uint32_t a = random_pick(d->r, 0);
    struct tensor_desc t = random_desc_at(d->r, a);
    d->op = ops[random_below(d->r, COUNT(ops))];
    draft_take(d, a);
    draft_take(d, same_shape(d->r, &t, t.type));
    if (random_below(d->r, 2))
        d->out[0].q = t.q;
}

static void draft_unary(struct draft *d)
{
    static const char *const ops[] = { "Gelu",
                                       "HardSwish",
                                       "Elu",
                                       "ElementWiseExp",
                                       "ElementWiseNeg",
                                       "ElementWiseSquareRoot",
                                       "ElementWiseFloor",
                                       "ElementWiseRound",
                                       "ElementWiseSign",
                                       "ElementWiseSoftplus",
                                       "Sigmoid",
                                       "Tanh" };
    d->op = ops[random_below(d->r, COUNT(ops))];
    draft_take(d, random_pick(d->r, 0));
}

static void draft_prelu(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0);
    const struct tensor_desc t = random_desc_at(r, x);
    struct tensor_desc slope = random_desc(r, r->type, 1, &t.dims[t.rank - 1]);
    d->op = "Prelu";
    draft_take(d, x);
    draft_take(d, random_tensor(r, &slope, IR_CONST));
}

static void draft_compare(struct draft *d)
{
    uint32_t a = random_pick(d->r, 0);
    struct tensor_desc t = random_desc_at(d->r, a);
    d->op = random_below(d->r, 2) ? "ElementWiseGreater" : "ElementWiseLessEqual";
    draft_take(d, a);
    draft_take(d, same_shape(d->r, &t, t.type));
    d->out[0] = (struct tensor_desc){ .type = DT_B8, .q = { .definition = 2 } };
}

static void draft_select(struct draft *d)
{
    uint32_t a = random_pick(d->r, 0);
    struct tensor_desc t = random_desc_at(d->r, a);
    d->op = "ElementWiseSelect";
    draft_take(d, same_shape(d->r, &t, DT_B8));
    draft_take(d, a);
    draft_take(d, same_shape(d->r, &t, t.type));
    d->out[0].q = t.q;
}

void random_choice(struct draft *d)
{
    struct random_graph *r = d->r;
    struct tensor_desc truth = { .type = DT_B8, .rank = 1, .dims = { 1 } };
    uint32_t a = random_pick(r, 0), b = IR_NONE;
    struct tensor_desc t = random_desc_at(r, a);
    for (int i = 0; i < 6 && (b == IR_NONE || b == a); i++) /* both computed, where there are such */
        b = same_shape(r, &t, t.type);
    d->op = "ElementWiseSelect";
    draft_take(d, same_shape(r, &truth, DT_B8));
    draft_take(d, random_below(r, 2) ? a : b);
    draft_take(d, d->in[1] == a ? b : a);
    d->out[0].q = t.q;
}

/* From here on in another type. */
static void draft_turn(struct draft *d)
{
    static const enum dtype types[] = { DT_UQ8, DT_SQ8, DT_UQ16, DT_SQ16, DT_F16, DT_F32 };
    struct random_graph *r = d->r;
    enum dtype to = types[random_below(r, COUNT(types))];
    bool from_fixed = dtype_is_fixed(r->type), to_fixed = dtype_is_fixed(to);
    if (to == r->type || random_below(r, 3)) /* rarely: tensors of the type before are not read any more */
        return;
    d->op = from_fixed && to_fixed ? "Convert" : from_fixed ? "Dequantize" : to_fixed ? "Quantize" : "Cast";
    d->turns = true;
    draft_take(d, random_pick(r, 0));
    d->out[0] = (struct tensor_desc){ .type = to, .q = random_encoding(r, to) };
}

/* ---- over an axis ----------------------------------------------------------------------------------------------------- */

void random_norm(struct draft *d)
{
    static const char *const ops[] = { "LayerNorm", "RmsNorm", "InstanceNorm", "GroupNorm" };
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0), kind = random_below(r, 4);
    const struct tensor_desc t = random_desc_at(r, x);
    uint32_t channels = t.dims[t.rank - 1];
    struct tensor_desc c = random_desc(r, r->type, 1, &channels);
    d->op = ops[kind];
    draft_take(d, x);
    draft_take(d, random_tensor(r, &c, IR_CONST));
    if (random_below(r, 3))
        draft_take(d, random_tensor(r, &c, IR_CONST));
    draft_f32(d, "epsilon", 0.001f);
    if (kind < 2)
        draft_param(d, "axes", DT_U32, 1, (uint32_t[]){ 1 }, (uint32_t[]){ t.rank - 1u });
    if (kind == 3)
        draft_u32(d, "group", channels % 2 == 0 ? 2 : 1);
}

void random_along(struct draft *d)
{
    static const char *const ops[] = { "L2Norm", "LogSoftmax", "Softmax", "CumulativeSum" };
    uint32_t x = random_pick(d->r, 0);
    d->op = ops[random_below(d->r, COUNT(ops))];
    draft_take(d, x);
    draft_u32(d, "axis", random_below(d->r, random_desc_at(d->r, x).rank));
}

static void draft_reduce(struct draft *d)
{
    static const char *const ops[] = { "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin" };
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0), axes[MAX_RANK], n = 0;
    uint8_t rank = random_desc_at(r, x).rank;
    for (uint32_t i = 0; i < rank; i++)
        if (random_below(r, 2))
            axes[n++] = i;
    if (!n)
        axes[n++] = rank - 1u;
    d->op = ops[random_below(r, COUNT(ops))];
    draft_take(d, x);
    draft_param(d, "axes", DT_U32, 1, &n, axes);
    draft_bool(d, "keep_dims", n == rank || random_below(r, 2));
}

static void draft_extreme(struct draft *d)
{
    uint32_t x = random_pick(d->r, 0);
    const struct tensor_desc t = random_desc_at(d->r, x);
    bool several = random_below(d->r, 2);
    struct tensor_desc indices = { .type = DT_I32, .q = { .definition = 2 } };
    d->op = several ? "TopK" : random_below(d->r, 2) ? "Argmax" : "Argmin";
    draft_take(d, x);
    if (several) {
        draft_u32(d, "k", 1 + random_below(d->r, t.dims[t.rank - 1]));
        d->n_out = 2;
        d->out[0].q = t.q;
        d->out[1] = indices;
    } else {
        draft_u32(d, "axis", random_below(d->r, t.rank));
        d->out[0] = indices;
    }
}

/* ---- moving ----------------------------------------------------------------------------------------------------------- */

static void draft_split(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0);
    const struct tensor_desc t = random_desc_at(r, x);
    uint32_t axis = random_below(r, t.rank), size = t.dims[axis], at[2], n = 1;
    if (size < 2)
        return;
    at[0] = 1 + random_below(r, size - 1);
    if (at[0] + 1 < size && random_below(r, 2))
        at[n++] = at[0] + 1 + random_below(r, size - at[0] - 1);
    d->op = "Split";
    draft_take(d, x);
    draft_u32(d, "axis", axis);
    draft_param(d, "split_index", DT_U32, 1, &n, at);
    d->n_out = n + 1;
    for (uint32_t i = 0; i < d->n_out; i++)
        if (i == 0 || random_below(r, 3))
            d->out[i].q = t.q;
}

static void draft_slice(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0), ranges[3 * MAX_RANK];
    const struct tensor_desc t = random_desc_at(r, x);
    if (t.rank > 5)
        return;
    for (uint32_t i = 0; i < t.rank; i++) {
        uint32_t begin = random_below(r, t.dims[i]);
        ranges[3 * i] = begin;
        ranges[3 * i + 1] = begin + 1 + random_below(r, t.dims[i] - begin);
        ranges[3 * i + 2] = 1 + random_below(r, 3) / 2;
    }
    d->op = "StridedSlice";
    draft_take(d, x);
    draft_param(d, "ranges", DT_I32, 2, (uint32_t[]){ t.rank, 3 }, ranges);
    d->out[0].q = t.q;
}

static void draft_gather(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0), n = 1 + random_below(r, 5);
    struct tensor_desc indices = random_desc(r, DT_I32, 1, &n);
    d->op = "Gather";
    draft_take(d, x);
    draft_take(d, random_tensor(r, &indices, IR_CONST));
    draft_param(d, "axis", DT_I32, 0, NULL, (uint32_t[]){ random_below(r, random_desc_at(r, x).rank) });
    d->out[0].q = random_desc_at(r, x).q;
}

static void draft_blocks(struct draft *d)
{
    uint32_t x = random_pick(d->r, 4), block[2] = { 2, 2 };
    if (x == IR_NONE)
        return;
    d->op = random_below(d->r, 2) ? "DepthToSpace" : "SpaceToDepth";
    draft_take(d, x);
    draft_param(d, "block_size", DT_U32, 1, (uint32_t[]){ 2 }, block);
    d->out[0].q = random_desc_at(d->r, x).q;
}

/* An image as rows of channels, which is what sequences and attention have. */
static void draft_rows(struct draft *d)
{
    uint32_t x = random_pick(d->r, 4);
    if (x == IR_NONE)
        return;
    const struct tensor_desc t = random_desc_at(d->r, x);
    d->op = "Reshape";
    draft_take(d, x);
    d->out[0] = t;
    d->out[0].rank = 3;
    memcpy(d->out[0].dims, (uint32_t[]){ t.dims[0], t.dims[1] * t.dims[2], t.dims[3] }, 3 * sizeof(uint32_t));
}

static void draft_shuffle(struct draft *d)
{
    uint32_t x = random_pick(d->r, 0);
    const struct tensor_desc t = random_desc_at(d->r, x);
    bool tile = random_below(d->r, 2);
    uint32_t multiples[MAX_RANK];
    d->op = tile ? "Tile" : "ChannelShuffle";
    draft_take(d, x);
    for (uint32_t i = 0; i < t.rank; i++)
        multiples[i] = 1 + random_below(d->r, 4) / 3;
    if (tile)
        draft_param(d, "multiples", DT_U32, 1, (uint32_t[]){ t.rank }, multiples);
    else
        draft_u32(d, "num_groups", 2);
    d->out[0].q = t.q;
}

static void draft_rescale(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 4);
    if (x == IR_NONE)
        return;
    struct quant q = random_below(r, 2) ? random_desc_at(r, x).q : d->out[0].q;
    d->op = random_below(r, 2) ? "ResizeBilinear" : "ResizeNearestNeighbor";
    draft_take(d, x);
    draft_bool(d, random_below(r, 2) ? "align_corners" : "half_pixel_centers", true);
    d->out[0] = random_desc_at(r, x);
    d->out[0].q = q;
    for (int i = 1; i < 3; i++)
        d->out[0].dims[i] = 1 + d->out[0].dims[i] * (1 + random_below(r, 4)) / 2;
}

draft_fn *const random_more[] = {
    draft_same_conv, draft_same_conv, draft_same_conv, draft_same_conv, draft_same_conv, draft_same_conv, draft_residual,
    draft_residual,  draft_residual,  draft_residual,  draft_unary,     draft_attention, draft_unary,     draft_prelu,
    draft_compare,   draft_select,    draft_turn,      random_norm,     random_norm,     random_along,    draft_recurrent,
    draft_recurrent, draft_reduce,    draft_extreme,   draft_split,     draft_split,     draft_slice,     draft_gather,
    draft_blocks,    draft_shuffle,   draft_rescale,   draft_rows,
};
const unsigned random_more_count = COUNT(random_more), random_more_keep = 11;
