/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, normalizations and reductions work on runs: the elements that share statistics. Here is which elements those are,
 * for whoever computes them. */
#include "ops/ops.h"

enum { MODE_RMS = 1, REGION_SPATIAL = 0, REGION_CHANNEL = 1 };

static void place(struct op_runs *r, bool in_run, uint32_t size, int64_t stride, int64_t affine)
{
    r->at[r->n++] = (struct op_run_dim){ in_run, size, stride, affine };
}

uint32_t op_axes_mask(const struct op_call *c, const char *name)
{
    uint32_t mask = 0, n = op_count(c, name);
    for (uint32_t i = 0; i < n; i++)
        mask |= 1u << op_axis(c, name, i, c->in[0]->rank);
    return mask;
}

void op_runs_over(const struct tensor_desc *x, uint32_t mask, struct op_runs *ret)
{
    uint64_t strides[MAX_RANK] = { 0 };
    int64_t affine[MAX_RANK] = { 0 }, step = 1;
    desc_strides(x, strides);
    for (uint32_t d = x->rank; d-- > 0;)
        if (mask >> d & 1) {
            affine[d] = step;
            step *= x->dims[d];
        }
    ret->n = 0;
    for (uint32_t d = 0; d < x->rank; d++)
        place(ret, mask >> d & 1, x->dims[d], (int64_t)strides[d], affine[d]);
}

/* Gamma and beta hold one value per channel, the last dimension. */
static void per_channel(const struct tensor_desc *x, uint32_t mask, struct op_runs *ret)
{
    uint64_t strides[MAX_RANK] = { 0 };
    desc_strides(x, strides);
    for (uint32_t d = 0; d < x->rank; d++)
        place(ret, mask >> d & 1, x->dims[d], (int64_t)strides[d], d + 1u == x->rank);
}

static void in_groups(const struct tensor_desc *x, uint32_t groups, struct op_runs *ret)
{
    uint32_t last = x->rank - 1u, each = x->dims[last] / groups;
    uint64_t strides[MAX_RANK] = { 0 };
    desc_strides(x, strides);
    for (uint32_t d = 0; d < last; d++)
        place(ret, d > 0, x->dims[d], (int64_t)strides[d], 0);
    place(ret, false, groups, each, each);
    place(ret, true, each, 1, 1);
}

static enum op_norm instance_runs(const struct op_call *c, struct op_runs *ret)
{
    uint32_t last = c->in[0]->rank - 1u, spatial = ((1u << last) - 1) & ~1u, channel = 1u << last;
    int64_t region = op_int(c, "region", 0);
    per_channel(c->in[0], region == REGION_SPATIAL ? spatial : region == REGION_CHANNEL ? channel : spatial | channel, ret);
    if (op_int(c, "mode", 0) == MODE_RMS)
        return NORM_RMS_SUM;
    return op_int(c, "normalize_variance", 0) ? NORM_VARIANCE : NORM_CENTER;
}

enum op_norm op_norm_runs(const struct op_call *c, struct op_runs *ret)
{
    const struct tensor_desc *x = c->in[0];
    struct op_lines lines;
    ret->n = 0;
    switch (c->op->id) {
    case OP_Batchnorm: /* no statistics: a run may be as long as is handy, but not longer than a line */
        if (c->by_lines && desc_lines(x, &lines) && lines.elements == x->dims[x->rank - 1])
            per_channel(x, 1u << (x->rank - 1), ret);
        else
            per_channel(x, x->rank > 1 ? 3u << (x->rank - 2) : 1, ret);
        return NORM_AFFINE;
    case OP_GroupNorm: in_groups(x, (uint32_t)op_int(c, "group", 0), ret); return NORM_VARIANCE;
    case OP_InstanceNorm: return instance_runs(c, ret);
    case OP_LayerNorm: op_runs_over(x, op_axes_mask(c, "axes"), ret); return NORM_VARIANCE;
    case OP_RmsNorm: op_runs_over(x, op_axes_mask(c, "axes"), ret); return NORM_RMS;
    default:
        op_runs_over(x, op_axes_mask(c, op_has(c, "axes") && op_count(c, "axes") ? "axes" : "axis"), ret);
        return NORM_L2;
    }
}
