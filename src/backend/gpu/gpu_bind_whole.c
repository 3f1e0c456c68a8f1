/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of element-wise operators on integers and truth values. */
#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

bool gpu_is_whole(enum dtype t)
{
    return gpu_scalar(t) >= 0 && !dtype_is_float(t);
}

static enum status describe(const struct op_call *c, struct gpu_whole *a)
{
    const struct tensor_desc *out = c->out[0];
    int64_t strides[2][MAX_RANK] = { { 0 } };
    struct gpu_view v = { 0 };
    if (!gpu_is_whole(out->type))
        return gpu_refuse(c,
                          "operands are integers and the output is %s; i64, i32, u32, i16, u16, i8, u8 and b8 are supported",
                          dtype_name(out->type));
    for (uint32_t i = 0; i < c->n_in && i < 2; i++)
        gpu_broadcast_strides(c->in[i], out, strides[i]);
    for (uint32_t d = 0; d < out->rank; d++)
        gpu_view_add(&v, out->dims[d], strides[0][d], strides[1][d], 0);
    a->n = (int)desc_count(out);
    a->x_type = gpu_scalar(c->in[0]->type);
    a->y_type = c->n_in > 1 ? gpu_scalar(c->in[1]->type) : 0;
    a->z_type = gpu_scalar(out->type);
    return gpu_view_end(c, &v, &a->rank, a->dims, (int *const[4]){ a->a, a->b });
}

enum status gpu_bind_whole(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_WHOLE,
                            .storage = GPU_F32,
                            GPU_ARGS(whole),
                            .n_operands = 3,
                            .operand = { 0, 1, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    int op = gpu_binary_op(c);
    if (op == BIN_POWER || op == BIN_PRELU)
        return gpu_refuse(c, "%s has no kernel here; f32 and f16 have", dtype_name(c->in[0]->type));
    TRY(describe(c, &l.args.whole));
    l.args.whole.op = op;
    return gpu_add(c, w, &l);
}

enum status gpu_bind_whole_unary(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_WHOLE_UNARY,
                            .storage = GPU_F32,
                            GPU_ARGS(whole),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    int op = gpu_unary_op(c);
    if (op != UN_ABS && op != UN_NEG && op != UN_SIGN && op != UN_RELU && op != UN_NOT)
        return gpu_refuse(c, "%s has no kernel here; f32 and f16 have", dtype_name(c->in[0]->type));
    TRY(describe(c, &l.args.whole));
    l.args.whole.op = op;
    return gpu_add(c, w, &l);
}
