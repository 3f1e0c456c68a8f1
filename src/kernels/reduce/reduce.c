/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the reductions. */
#include "kernels/families.h"
#include "kernels/reduce/reduce.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant reduce_variants[] = {
#include "kernels/reduce/reduce.def"
    {0},
};
static const struct kernel_variant cumulative_variants[] = {
#include "kernels/reduce/cumulative.def"
    {0},
};
#undef KERNEL

static const struct {
    uint16_t op, kind;
    const char *axes;
} rows[] = {
    {OP_ReduceSum, RED_SUM, "axes"},
    {OP_ReduceMean, RED_MEAN, "axes"},
    {OP_ReduceSumSquare, RED_SUM_SQUARE, "axes"},
    {OP_ReduceMax, RED_MAX, "axes"},
    {OP_ReduceMin, RED_MIN, "axes"},
    {OP_ReduceProd, RED_PROD, "axes"},
    {OP_Argmax, RED_ARGMAX, "axis"},
    {OP_Argmin, RED_ARGMIN, "axis"},
    {OP_Moments, RED_MOMENTS, "axes"},
    {OP_CumulativeSum, RED_CUMULATIVE, "axis"},
};

static void make_views(const struct op_call *c, struct reduce_args *a, const char *axes)
{
    const struct tensor_desc *x = c->in[0];
    uint64_t strides[MAX_RANK] = {0};
    uint32_t mask = 0;
    desc_strides(x, strides);
    for (uint32_t i = 0; i < op_count(c, axes); i++)
        mask |= 1u << op_axis(c, axes, i, x->rank);
    for (uint32_t d = 0; d < x->rank; d++)
        view_add(mask >> d & 1 ? &a->run : &a->outer, x->dims[d], (int64_t)strides[d]);
    a->runs = view_count(&a->outer);
    a->n = view_count(&a->run);
    view_finish(&a->outer);
    view_finish(&a->run);
}

/* Section 6, fixed point: exact sums of q + offset and one multiplier. Extremes move a value. */
static void fixed_point(const struct op_call *c, struct reduce_args *a)
{
    double s = (double)a->in.scale, out = (double)a->out[0].scale;
    switch (a->kind) {
    case RED_MAX:
    case RED_MIN:
        a->raw = codec_copies(&a->out[0], c->in[0], c->out[0]);
        a->m = (float)(s / out);
        break;
    case RED_SUM_SQUARE:
        a->m = (float)(s * s / out);
        break;
    case RED_MEAN:
        a->m = (float)(s / (out * (double)a->n));
        break;
    default:
        a->m = (float)(s / out);
    }
    if (a->kind != RED_ARGMAX && a->kind != RED_ARGMIN)
        codec_rescale(&a->out[0], 1.0);
}

/* Whether runs of neighbours in the output are reduced side by side. A mean of plain integers divides in its own way,
 * squares of stored integers are summed run by run, and u64 has an order of its own. */
static bool by_columns(const struct reduce_args *a)
{
    enum { SHORT = 16 };
    bool sums = a->kind == RED_SUM || (a->kind == RED_MEAN && !a->raw) || (a->kind == RED_SUM_SQUARE && !a->whole);
    bool extremes = (a->kind == RED_MAX || a->kind == RED_MIN || a->kind == RED_ARGMAX || a->kind == RED_ARGMIN) &&
                    a->in.type != DT_U64 && a->n <= UINT32_MAX;
    uint32_t last = a->outer.rank - 1;
    if ((!sums && !extremes) || a->outer.dims[last] <= 3)
        return false;
    return a->n <= SHORT || (a->outer.strides[last] == 1 && a->run.strides[a->run.rank - 1] != 1);
}

static enum status reduce_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                               const struct kernel_variant **variants)
{
    struct reduce_args *a = args;
    *a = (struct reduce_args){0};
    TRY(codec_init(&a->in, c->in[0], c));
    RETURN_IF(a->in.scales, ST_NOT_SUPPORTED, "%s \"%s\": a per-axis encoding has no kernel here; a per-tensor one has",
              c->op->name, c->node ? c->node : "");
    for (uint32_t i = 0; i < c->n_out && i < 2; i++)
        if (c->out[i])
            TRY(codec_init_out(&a->out[i], c->out[i], c));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].op == c->op->id) {
            a->kind = (enum reduce_kind)rows[i].kind;
            make_views(c, a, rows[i].axes);
        }
    bool fixed = dtype_is_fixed(a->in.type);
    a->whole = !dtype_is_float(a->in.type) && a->kind != RED_MOMENTS && !(fixed && a->kind == RED_PROD);
    a->raw = a->whole && !fixed;
    if (a->whole && fixed)
        fixed_point(c, a);
    a->columns = by_columns(a);
    a->column_stride = a->outer.strides[a->outer.rank - 1];
    if (a->kind == RED_CUMULATIVE) {
        a->exclusive = op_int(c, "exclusive", 0);
        a->reverse = op_int(c, "reverse", 0);
    }
    kernel_units(ret, a->n ? a->runs : 0, a->n);
    *variants = a->kind == RED_CUMULATIVE ? cumulative_variants : reduce_variants;
    return ST_OK;
}

const struct kernel_family family_reduce = {
    .name = "reduce",
    .args_size = sizeof(struct reduce_args),
    .bind = reduce_bind,
};
