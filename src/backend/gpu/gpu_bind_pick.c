/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of Pad and Gather: movement that looks where it stands. */
#include <string.h>

#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

/* The bits that the constant has in the tensor's type. */
enum status gpu_constant_bits(const struct op_call *c, enum dtype t, double v, int ret[2])
{
    int64_t whole = (int64_t)v;
    float single = (float)v;
    _Float16 half = (_Float16)single;
    ret[0] = ret[1] = 0;
    if (t == DT_F32)
        memcpy(ret, &single, sizeof single);
    else if (t == DT_F16)
        memcpy(ret, &half, sizeof half);
    else if (t == DT_B8)
        ret[0] = v != 0.0;
    else if (dtype_kind(t) == DK_INT || dtype_kind(t) == DK_UINT)
        memcpy(ret, &whole, sizeof whole);
    else
        return gpu_refuse(c, "%s; f32, f16, integers and b8 are supported", dtype_name(t));
    return ST_OK;
}

enum status gpu_bind_pad(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = {
        .kernel = K_PAD, GPU_ARGS(pad), .n_operands = 2, .operand = { 0, (uint8_t)c->n_in }, .items = desc_count(c->out[0])
    };
    struct gpu_pad *a = &l.args.pad;
    const struct tensor_desc *x = c->in[0];
    uint64_t strides[MAX_RANK] = { 0 };
    TRY(gpu_bits_storage(c, x, &l.storage));
    *a = (struct gpu_pad){ .n = (int)l.items, .rank = x->rank, .scheme = (int)op_int(c, "scheme", 0) };
    if (x->type != c->out[0]->type)
        return gpu_refuse(c, "%s to %s; both must be the same", dtype_name(x->type), dtype_name(c->out[0]->type));
    TRY(gpu_constant_bits(c, x->type, op_has(c, "pad_constant_value") ? op_real(c, "pad_constant_value", 0) : 0.0,
                          a->value));
    desc_strides(x, strides);
    for (uint32_t d = 0; d < x->rank; d++) {
        a->dims[d] = (int)c->out[0]->dims[d];
        a->in_dims[d] = (int)x->dims[d];
        a->in[d] = (int)strides[d];
        a->before[d] = (int)op_int(c, "pad_amount", 2 * d);
    }
    return gpu_add(c, w, &l);
}

enum status gpu_bind_gather(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_GATHER,
                            GPU_ARGS(gather),
                            .n_operands = 3,
                            .operand = { 0, 1, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    const struct tensor_desc *x = c->in[0];
    uint32_t axis = c->op->id == OP_BatchPermutation ? 0 : op_axis(c, "axis", 0, x->rank), slice = 1;
    enum dtype t = c->in[1]->type;
    if (x->type != c->out[0]->type)
        return gpu_refuse(c, "%s to %s; both must be the same", dtype_name(x->type), dtype_name(c->out[0]->type));
    TRY(gpu_bits_storage(c, x, &l.storage));
    for (uint32_t d = axis + 1; d < x->rank; d++)
        slice *= x->dims[d];
    l.args.gather = (struct gpu_gather){ .n = (int)l.items,
                                         .tuples = (int)desc_count(c->in[1]),
                                         .size = (int)x->dims[axis],
                                         .slice = (int)slice,
                                         .index_type = t == DT_I64   ? SCALAR_I64
                                                       : t == DT_U32 ? SCALAR_U32
                                                                     : SCALAR_I32 };
    return gpu_add(c, w, &l);
}

enum status gpu_bind_block(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_BLOCK,
                            GPU_ARGS(block),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    const char *edges = c->op->id == OP_SpaceToBatch ? "pad_amount" : "crops";
    const uint32_t *x = c->in[0]->dims, *y = c->out[0]->dims;
    if (c->in[0]->type != c->out[0]->type)
        return gpu_refuse(c, "%s to %s; both must be the same", dtype_name(c->in[0]->type), dtype_name(c->out[0]->type));
    TRY(gpu_bits_storage(c, c->in[0], &l.storage));
    l.args.block = (struct gpu_block){
        .n = (int)l.items,
        .to_batch = c->op->id == OP_SpaceToBatch,
        .block_h = (int)op_int(c, "block_size", 0),
        .block_w = (int)op_int(c, "block_size", 1),
        .before_h = (int)op_int(c, edges, 0),
        .before_w = (int)op_int(c, edges, 2),
        .channels = (int)x[3],
        .in = { (int)x[0], (int)x[1], (int)x[2] },
        .out = { (int)y[0], (int)y[1], (int)y[2] },
    };
    return gpu_add(c, w, &l);
}
