/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of Softmax, normalizations and reductions: which elements are a run, and where runs begin. */
#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

enum { MODE_RMS = 1, REGION_SPATIAL = 0, REGION_CHANNEL = 1 };

/* Both views while they are made; strides 0: elements, 1: of gamma and beta. */
struct rows {
    struct gpu_view outer, run;
};

static void place(struct rows *r, bool in_run, uint32_t size, int64_t stride, int64_t affine)
{
    gpu_view_add(in_run ? &r->run : &r->outer, size, stride, affine, 0);
}

static uint64_t count(const struct gpu_view *v)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < v->n; i++)
        n *= v->at[i].size;
    return n;
}

static enum status add_rows(const struct op_call *c, struct gpu_work *w, struct rows *r, struct gpu_launch *l)
{
    struct gpu_rows *a = &l->args.rows;
    uint64_t runs = count(&r->outer);
    l->args_bytes = sizeof *a;
    l->items = runs * GPU_LANES;
    a->n = (int)runs;
    a->count = (int)count(&r->run);
    TRY(gpu_view_end(c, &r->outer, &a->outer_rank, a->outer_dims, (int *const[4]){ a->outer, a->outer_affine }));
    TRY(gpu_view_end(c, &r->run, &a->run_rank, a->run_dims, (int *const[4]){ a->run, a->run_affine }));
    return gpu_add(c, w, l);
}

/* The dimensions of `mask` are the run; gamma and beta hold one value per position in it. */
static void over_axes(const struct op_call *c, struct rows *r, uint32_t mask)
{
    const struct tensor_desc *x = c->in[0];
    uint64_t strides[MAX_RANK] = { 0 };
    int64_t affine[MAX_RANK] = { 0 }, step = 1;
    desc_strides(x, strides);
    for (uint32_t d = x->rank; d-- > 0;)
        if (mask >> d & 1) {
            affine[d] = step;
            step *= x->dims[d];
        }
    for (uint32_t d = 0; d < x->rank; d++)
        place(r, mask >> d & 1, x->dims[d], (int64_t)strides[d], affine[d]);
}

/* The dimensions of `mask` are the run; gamma and beta hold one value per channel, the last dimension. */
static void per_channel(const struct op_call *c, struct rows *r, uint32_t mask)
{
    const struct tensor_desc *x = c->in[0];
    uint64_t strides[MAX_RANK] = { 0 };
    desc_strides(x, strides);
    for (uint32_t d = 0; d < x->rank; d++)
        place(r, mask >> d & 1, x->dims[d], (int64_t)strides[d], d + 1u == x->rank);
}

static void in_groups(const struct op_call *c, struct rows *r)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t last = x->rank - 1u, groups = (uint32_t)op_int(c, "group", 0), each = x->dims[last] / groups;
    uint64_t strides[MAX_RANK] = { 0 };
    desc_strides(x, strides);
    for (uint32_t d = 0; d < last; d++)
        place(r, d > 0, x->dims[d], (int64_t)strides[d], 0);
    place(r, false, groups, each, each);
    place(r, true, each, 1, 1);
}

static uint32_t axes_mask(const struct op_call *c, const char *name)
{
    uint32_t mask = 0, n = op_count(c, name);
    for (uint32_t i = 0; i < n; i++)
        mask |= 1u << op_axis(c, name, i, c->in[0]->rank);
    return mask;
}

enum status gpu_bind_softmax(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_SOFTMAX, .n_operands = 2, .operand = { 0, (uint8_t)c->n_in } };
    struct rows r = { 0 };
    TRY(gpu_float_storage(c, &l.storage));
    l.args.rows.kind = c->op->id == OP_LogSoftmax ? ROW_LOG_SOFTMAX : ROW_SOFTMAX;
    l.args.rows.beta = (float)op_real(c, "beta", 0);
    over_axes(c, &r, c->in[0]->rank ? 1u << op_axis(c, "axis", 0, c->in[0]->rank) : 0);
    return add_rows(c, w, &r, &l);
}

static void bind_instance(const struct op_call *c, struct gpu_rows *a, struct rows *r)
{
    uint32_t last = c->in[0]->rank - 1u, spatial = ((1u << last) - 1) & ~1u, channel = 1u << last;
    int64_t region = op_int(c, "region", 0);
    bool rms = op_int(c, "mode", 0) == MODE_RMS;
    a->kind = rms ? ROW_RMS_SUM : op_int(c, "normalize_variance", 0) ? ROW_VARIANCE : ROW_CENTER;
    per_channel(c, r, region == REGION_SPATIAL ? spatial : region == REGION_CHANNEL ? channel : spatial | channel);
}

static void choose_runs(const struct op_call *c, struct gpu_rows *a, struct rows *r)
{
    uint32_t rank = c->in[0]->rank;
    switch (c->op->id) {
    case OP_Batchnorm:
        a->kind = ROW_AFFINE; /* no statistics: a run may be as long as is handy */
        per_channel(c, r, rank > 1 ? 3u << (rank - 2) : 1);
        break;
    case OP_LayerNorm:
        a->kind = ROW_VARIANCE;
        over_axes(c, r, axes_mask(c, "axes"));
        break;
    case OP_RmsNorm:
        a->kind = ROW_RMS;
        over_axes(c, r, axes_mask(c, "axes"));
        break;
    case OP_GroupNorm:
        a->kind = ROW_VARIANCE;
        in_groups(c, r);
        break;
    case OP_InstanceNorm:
        bind_instance(c, a, r);
        break;
    default:
        a->kind = ROW_L2;
        over_axes(c, r, axes_mask(c, op_has(c, "axes") && op_count(c, "axes") ? "axes" : "axis"));
    }
}

/* Operands that are not there are never read; x takes their place. */
enum status gpu_bind_norm(const struct op_call *c, struct gpu_work *w)
{
    bool gamma = c->n_in > 1 && c->in[1], beta = c->n_in > 2 && c->in[2];
    struct gpu_launch l = { .kernel = K_NORM, .n_operands = 4, .operand = { 0, gamma ? 1 : 0, beta ? 2 : 0, (uint8_t)c->n_in } };
    struct rows r = { 0 };
    TRY(gpu_float_storage(c, &l.storage));
    choose_runs(c, &l.args.rows, &r);
    l.args.rows.gamma = gamma;
    l.args.rows.beta_given = beta;
    l.args.rows.eps = c->op->id == OP_Batchnorm ? 0.0f : (float)op_real(c, "epsilon", 0);
    return add_rows(c, w, &r, &l);
}

enum status gpu_bind_reduce(const struct op_call *c, struct gpu_work *w)
{
    static const uint8_t kinds[OP_COUNT] = { [OP_ReduceSum] = ROW_SUM, [OP_ReduceMean] = ROW_MEAN, [OP_ReduceSumSquare] = ROW_SUM_SQUARE,
                                             [OP_ReduceMax] = ROW_MAX, [OP_ReduceMin] = ROW_MIN, [OP_ReduceProd] = ROW_PROD };
    struct gpu_launch l = { .kernel = K_REDUCE, .n_operands = 2, .operand = { 0, (uint8_t)c->n_in } };
    struct rows r = { 0 };
    TRY(gpu_float_storage(c, &l.storage));
    l.args.rows.kind = kinds[c->op->id];
    over_axes(c, &r, axes_mask(c, "axes"));
    return add_rows(c, w, &r, &l);
}

enum status gpu_bind_arg(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_ARG_EXTREME, .n_operands = 2, .operand = { 0, (uint8_t)c->n_in } };
    enum dtype in = c->in[0]->type, out = c->out[0]->type;
    struct rows r = { 0 };
    if (!(T_(in) & T_FLOAT))
        return gpu_refuse(c, "the input is %s; f32 and f16 are supported", dtype_name(in));
    if (out != DT_I32 && out != DT_U32 && out != DT_I64 && out != DT_F32)
        return gpu_refuse(c, "the output is %s; i32, u32, i64 and f32 are supported", dtype_name(out));
    l.storage = in == DT_F32 ? GPU_F32 : GPU_F16;
    l.args.rows.kind = c->op->id == OP_Argmax ? ROW_ARGMAX : ROW_ARGMIN;
    l.args.rows.out_type = gpu_scalar(out);
    over_axes(c, &r, axes_mask(c, "axis"));
    return add_rows(c, w, &r, &l);
}

enum status gpu_bind_top_k(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_TOP_K, .n_operands = 3, .operand = { 0, (uint8_t)c->n_in, (uint8_t)(c->n_in + 1) } };
    const struct tensor_desc *x = c->in[0];
    struct rows r = { 0 };
    if (!(T_(x->type) & T_FLOAT) || c->out[0]->type != x->type)
        return gpu_refuse(c, "%s to %s; f32 and f16 are supported, the same on both sides", dtype_name(x->type), dtype_name(c->out[0]->type));
    if (c->n_out < 2 || !c->out[1] || (c->out[1]->type != DT_I32 && c->out[1]->type != DT_U32))
        return gpu_refuse(c, "output 1 must be there, and be i32 or u32");
    l.storage = x->type == DT_F32 ? GPU_F32 : GPU_F16;
    l.args.rows.k = (int)op_int(c, "k", 0);
    l.args.rows.smallest = !op_int(c, "largest", 0);
    over_axes(c, &r, 1u << (x->rank - 1u));
    return add_rows(c, w, &r, &l);
}
