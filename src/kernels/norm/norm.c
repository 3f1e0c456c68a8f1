/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the normalizations: which elements belong to a run, and where gamma and beta are along it. */
#include "kernels/families.h"
#include "kernels/norm/norm.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant norm_variants[] = {
#include "kernels/norm/norm.def"
    {0},
};
static const struct kernel_variant lrn_variants[] = {
#include "kernels/norm/lrn.def"
    {0},
};
#undef KERNEL

enum { MODE_RMS = 1, REGION_SPATIAL = 0, REGION_CHANNEL = 1 };

/* Dimension d of the input goes to the run or to the outer view. */
static void place(struct norm_args *a, bool in_run, uint32_t dim, int64_t stride, int64_t affine)
{
    view_add(in_run ? &a->run : &a->outer, dim, stride);
    view_add(in_run ? &a->run_affine : &a->outer_affine, dim, affine);
}

/* Statistics over the dimensions of `mask`; gamma and beta hold one value per position in a run. */
static void over_axes(const struct op_call *c, struct norm_args *a, uint32_t mask)
{
    const struct tensor_desc *x = c->in[0];
    uint64_t strides[MAX_RANK] = {0};
    int64_t affine[MAX_RANK] = {0}, step = 1;
    desc_strides(x, strides);
    for (uint32_t d = x->rank; d-- > 0;)
        if (mask >> d & 1) {
            affine[d] = step;
            step *= x->dims[d];
        }
    for (uint32_t d = 0; d < x->rank; d++)
        place(a, mask >> d & 1, x->dims[d], (int64_t)strides[d], affine[d]);
}

/* Statistics over the dimensions of `mask`; gamma and beta hold one value per channel, the last dimension. */
static void per_channel(const struct op_call *c, struct norm_args *a, uint32_t mask)
{
    const struct tensor_desc *x = c->in[0];
    uint64_t strides[MAX_RANK] = {0};
    desc_strides(x, strides);
    for (uint32_t d = 0; d < x->rank; d++)
        place(a, mask >> d & 1, x->dims[d], (int64_t)strides[d], d + 1u == x->rank);
}

static void in_groups(const struct op_call *c, struct norm_args *a)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t last = x->rank - 1u, groups = (uint32_t)op_int(c, "group", 0), each = x->dims[last] / groups;
    uint64_t strides[MAX_RANK] = {0};
    desc_strides(x, strides);
    for (uint32_t d = 0; d < last; d++)
        place(a, d > 0, x->dims[d], (int64_t)strides[d], 0);
    place(a, false, groups, each, each);
    place(a, true, each, 1, 1);
}

static uint32_t axes_mask(const struct op_call *c, const char *name)
{
    uint32_t mask = 0, n = op_count(c, name);
    for (uint32_t i = 0; i < n; i++)
        mask |= 1u << op_axis(c, name, i, c->in[0]->rank);
    return mask;
}

static void bind_instance(const struct op_call *c, struct norm_args *a)
{
    uint32_t last = c->in[0]->rank - 1u, spatial = ((1u << last) - 1) & ~1u, channel = 1u << last;
    int64_t region = op_int(c, "region", 0);
    bool rms = op_int(c, "mode", 0) == MODE_RMS;
    a->kind = rms ? NORM_RMS_SUM : op_int(c, "normalize_variance", 0) ? NORM_VARIANCE : NORM_CENTER;
    per_channel(c, a, region == REGION_SPATIAL ? spatial : region == REGION_CHANNEL ? channel : spatial | channel);
}

static void choose_runs(const struct op_call *c, struct norm_args *a)
{
    uint32_t rank = c->in[0]->rank;
    switch (c->op->id) {
    case OP_Batchnorm:
        a->kind = NORM_AFFINE; /* no statistics: a run may be as long as is handy */
        per_channel(c, a, rank > 1 ? 3u << (rank - 2) : 1);
        break;
    case OP_LayerNorm:
        a->kind = NORM_VARIANCE;
        over_axes(c, a, axes_mask(c, "axes"));
        break;
    case OP_RmsNorm:
        a->kind = NORM_RMS;
        over_axes(c, a, axes_mask(c, "axes"));
        break;
    case OP_GroupNorm:
        a->kind = NORM_VARIANCE;
        in_groups(c, a);
        break;
    case OP_InstanceNorm:
        bind_instance(c, a);
        break;
    default:
        a->kind = NORM_L2;
        over_axes(c, a, axes_mask(c, op_has(c, "axes") && op_count(c, "axes") ? "axes" : "axis"));
    }
}

static enum status bind_lrn(const struct op_call *c, struct lrn_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0];
    *a = (struct lrn_args){.dims = {1, 1, 1, 1}, .radius = (uint32_t)op_int(c, "radius", 0), .spatial = op_int(c, "region", 0) == 1};
    a->alpha = (float)op_real(c, "alpha", 0);
    a->beta = (float)op_real(c, "beta", 0);
    a->bias = (float)op_real(c, "bias", 0);
    TRY(codec_init(&a->in, x, c));
    TRY(codec_init_out(&a->out, c->out[0], c));
    if (x->rank)
        a->dims[3] = x->dims[x->rank - 1];
    uint32_t outer = x->rank ? x->rank - 1u : 0;
    for (int k = 2; a->spatial && k >= 1 && outer > 0; k--)
        a->dims[k] = x->dims[--outer];
    for (uint32_t d = 0; d < outer; d++)
        a->dims[0] *= x->dims[d];
    uint64_t window = 2 * (uint64_t)a->radius + 1;
    kernel_units(ret, (uint64_t)a->dims[0] * a->dims[1] * a->dims[2], a->dims[3] * (a->spatial ? window * window : window));
    return ST_OK;
}

static enum status norm_bind(const struct op_call *c, void *args, struct kernel_bound *ret, const struct kernel_variant **variants)
{
    struct norm_args *a = args;
    if (c->op->id == OP_Lrn) {
        *variants = lrn_variants;
        return bind_lrn(c, args, ret);
    }
    *a = (struct norm_args){.n_in = c->n_in, .gamma_given = c->n_in > 1 && c->in[1], .beta_given = c->n_in > 2 && c->in[2]};
    if (c->op->id != OP_Batchnorm)
        a->eps = (float)op_real(c, "epsilon", 0);
    TRY(codec_init(&a->in, c->in[0], c));
    TRY(codec_init_out(&a->out, c->out[0], c));
    if (a->gamma_given)
        TRY(codec_init(&a->gamma, c->in[1], c));
    if (a->beta_given)
        TRY(codec_init(&a->beta, c->in[2], c));
    choose_runs(c, a);
    a->runs = view_count(&a->outer);
    a->n = view_count(&a->run);
    view_finish(&a->outer);
    view_finish(&a->run);
    view_finish(&a->outer_affine);
    view_finish(&a->run_affine);
    kernel_units(ret, a->n ? a->runs : 0, 4 * a->n);
    *variants = norm_variants;
    return ST_OK;
}

const struct kernel_family family_norm = {
    .name = "norm",
    .args_size = sizeof(struct norm_args) > sizeof(struct lrn_args) ? sizeof(struct norm_args) : sizeof(struct lrn_args),
    .bind = norm_bind,
};
