/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of Softmax, normalizations and reductions: which elements are a run, and where runs begin. */
#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

_Static_assert(ROW_CENTER - ROW_AFFINE == NORM_CENTER && ROW_L2 - ROW_AFFINE == NORM_L2,
               "normalizations in the order of enum op_norm");

static uint64_t count(const struct gpu_view *v)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < v->n; i++)
        n *= v->at[i].size;
    return n;
}

enum status gpu_add_rows(const struct op_call *c, struct gpu_work *w, const struct op_runs *r, struct gpu_launch *l)
{
    struct gpu_rows *a = &l->args.rows;
    struct gpu_view outer = { 0 }, run = { 0 }; /* strides 0: elements, 1: of gamma and beta */
    for (uint32_t i = 0; i < r->n; i++)
        gpu_view_add(r->at[i].in_run ? &run : &outer, r->at[i].size, r->at[i].stride, r->at[i].affine, 0);
    uint64_t runs = count(&outer);
    l->args_bytes = sizeof *a;
    l->items = runs * GPU_LANES;
    a->n = (int)runs;
    a->count = (int)count(&run);
    TRY(gpu_view_end(c, &outer, &a->outer_rank, a->outer_dims, (int *const[4]){ a->outer, a->outer_affine }));
    TRY(gpu_view_end(c, &run, &a->run_rank, a->run_dims, (int *const[4]){ a->run, a->run_affine }));
    return gpu_add(c, w, l);
}

enum status gpu_bind_softmax(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_SOFTMAX, .n_operands = 2, .operand = { 0, (uint8_t)c->n_in } };
    struct op_runs r;
    TRY(gpu_float_storage(c, &l.storage));
    l.args.rows.kind = c->op->id == OP_LogSoftmax ? ROW_LOG_SOFTMAX : ROW_SOFTMAX;
    l.args.rows.beta = (float)op_real(c, "beta", 0);
    op_runs_over(c->in[0], c->in[0]->rank ? 1u << op_axis(c, "axis", 0, c->in[0]->rank) : 0, &r);
    return gpu_add_rows(c, w, &r, &l);
}

/* Operands that are not there are never read; x takes their place. */
enum status gpu_bind_norm(const struct op_call *c, struct gpu_work *w)
{
    bool gamma = c->n_in > 1 && c->in[1], beta = c->n_in > 2 && c->in[2];
    struct gpu_launch l = { .kernel = K_NORM,
                            .n_operands = 4,
                            .operand = { 0, gamma ? 1 : 0, beta ? 2 : 0, (uint8_t)c->n_in } };
    struct op_runs r;
    TRY(gpu_float_storage(c, &l.storage));
    l.args.rows.kind = ROW_AFFINE + (int)op_norm_runs(c, &r);
    l.args.rows.gamma = gamma;
    l.args.rows.beta_given = beta;
    l.args.rows.eps = c->op->id == OP_Batchnorm ? 0.0f : (float)op_real(c, "epsilon", 0);
    return gpu_add_rows(c, w, &r, &l);
}

enum status gpu_bind_reduce(const struct op_call *c, struct gpu_work *w)
{
    static const uint8_t kinds[OP_COUNT] = {
        [OP_ReduceSum] = ROW_SUM, [OP_ReduceMean] = ROW_MEAN, [OP_ReduceSumSquare] = ROW_SUM_SQUARE,
        [OP_ReduceMax] = ROW_MAX, [OP_ReduceMin] = ROW_MIN,   [OP_ReduceProd] = ROW_PROD
    };
    struct gpu_launch l = { .kernel = K_REDUCE, .n_operands = 2, .operand = { 0, (uint8_t)c->n_in } };
    struct op_runs r;
    if (gpu_is_whole(c->in[0]->type))
        return gpu_bind_whole_reduce(c, w, kinds[c->op->id], "axes");
    TRY(gpu_float_storage(c, &l.storage));
    l.args.rows.kind = kinds[c->op->id];
    op_runs_over(c->in[0], op_axes_mask(c, "axes"), &r);
    return gpu_add_rows(c, w, &r, &l);
}

enum status gpu_bind_arg(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_ARG_EXTREME, .n_operands = 2, .operand = { 0, (uint8_t)c->n_in } };
    enum dtype in = c->in[0]->type, out = c->out[0]->type;
    struct op_runs r;
    if (gpu_is_whole(in))
        return gpu_bind_whole_reduce(c, w, c->op->id == OP_Argmax ? ROW_ARGMAX : ROW_ARGMIN, "axis");
    if (!(T_(in) & T_FLOAT))
        return gpu_refuse(c, "the input is %s; f32 and f16 are supported", dtype_name(in));
    if (out != DT_I32 && out != DT_U32 && out != DT_I64 && out != DT_F32)
        return gpu_refuse(c, "the output is %s; i32, u32, i64 and f32 are supported", dtype_name(out));
    l.storage = in == DT_F32 ? GPU_F32 : GPU_F16;
    l.args.rows.kind = c->op->id == OP_Argmax ? ROW_ARGMAX : ROW_ARGMIN;
    l.args.rows.out_type = gpu_scalar(out);
    op_runs_over(c->in[0], op_axes_mask(c, "axis"), &r);
    return gpu_add_rows(c, w, &r, &l);
}

enum status gpu_bind_top_k(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_TOP_K, .n_operands = 3, .operand = { 0, (uint8_t)c->n_in, (uint8_t)(c->n_in + 1) } };
    const struct tensor_desc *x = c->in[0];
    struct op_runs r;
    if (gpu_is_whole(x->type))
        return gpu_bind_whole_top_k(c, w);
    if (!(T_(x->type) & T_FLOAT) || c->out[0]->type != x->type)
        return gpu_refuse(c, "%s to %s; f32 and f16 are supported, the same on both sides", dtype_name(x->type),
                          dtype_name(c->out[0]->type));
    if (c->n_out < 2 || !c->out[1] || (c->out[1]->type != DT_I32 && c->out[1]->type != DT_U32))
        return gpu_refuse(c, "output 1 must be there, and be i32 or u32");
    l.storage = x->type == DT_F32 ? GPU_F32 : GPU_F16;
    l.args.rows.k = (int)op_int(c, "k", 0);
    l.args.rows.smallest = !op_int(c, "largest", 0);
    op_runs_over(x, 1u << (x->rank - 1u), &r);
    return gpu_add_rows(c, w, &r, &l);
}
