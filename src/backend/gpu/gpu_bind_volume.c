/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of convolutions and pools in one and three dimensions, and of those in two whose operands have different types. */
#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

/* Sizes and parameters of the last `n` of three dimensions; the others are 1. */
static enum status geometry(const struct op_call *c, struct gpu_volume *a)
{
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    uint32_t n = x->rank - 2u;
    if (x->rank < 3 || x->rank > 5)
        return gpu_refuse(c, "rank %u; 3 to 5 are supported", x->rank);
    *a = (struct gpu_volume){ .n = (int)desc_count(y),
                              .in = { 1, 1, 1 },
                              .out = { 1, 1, 1 },
                              .in_c = (int)x->dims[x->rank - 1],
                              .out_c = (int)y->dims[y->rank - 1],
                              .k = { 1, 1, 1 },
                              .stride = { 1, 1, 1 },
                              .dilation = { 1, 1, 1 },
                              .lo = c->post.lo,
                              .hi = c->post.hi };
    bool dilated = op_param_index(c->op, "dilation") >= 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = 3 - n + i;
        a->in[d] = (int)x->dims[1 + i];
        a->out[d] = (int)y->dims[1 + i];
        a->stride[d] = (int)op_int(c, "stride", i);
        a->dilation[d] = dilated ? (int)op_int(c, "dilation", i) : 1;
        a->pad[d] = (int)op_int(c, "pad_amount", 2 * i);
        a->after[d] = (int)op_int(c, "pad_amount", 2 * i + 1);
    }
    return ST_OK;
}

static enum status bind_filter(const struct op_call *c, struct gpu_work *w, bool transposed, bool depthwise)
{
    bool bias = c->n_in > 2 && c->in[2];
    struct gpu_launch l = { .kernel = transposed ? K_VOLUME_TRANSPOSED : K_VOLUME,
                            GPU_ARGS(volume),
                            .n_operands = 4,
                            .operand = { 0, 1, bias ? 2 : 1, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    struct gpu_volume *a = &l.args.volume;
    TRY(geometry(c, a));
    int group = op_param_index(c->op, "group") < 0 ? 1 : (int)op_int(c, "group", 0);
    uint32_t n = c->in[0]->rank - 2u;
    for (uint32_t i = 0; i < n; i++)
        a->k[3 - n + i] = (int)c->in[1]->dims[i];
    a->group_in = depthwise ? 1 : a->in_c / group;
    a->group_out = depthwise ? a->out_c / a->in_c : a->out_c / group;
    a->bias = bias;
    TRY(gpu_type(c, 0, T_FLOAT, &a->x_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->w_type));
    if (bias)
        TRY(gpu_type(c, 2, T_FLOAT, &a->b_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    return gpu_add(c, w, &l);
}

/* Whether the kernels of two dimensions and one storage type take it. */
static bool is_plain(const struct op_call *c)
{
    enum dtype t = c->out[0]->type;
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i] && c->in[i]->type != t)
            return false;
    return c->in[0]->rank == 4 && T_(t) & T_FLOAT;
}

enum status gpu_bind_conv_any(const struct op_call *c, struct gpu_work *w)
{
    return is_plain(c) ? gpu_bind_conv(c, w) : bind_filter(c, w, false, false);
}

enum status gpu_bind_depthwise_any(const struct op_call *c, struct gpu_work *w)
{
    return is_plain(c) ? gpu_bind_depthwise(c, w) : bind_filter(c, w, false, true);
}

enum status gpu_bind_transposed_any(const struct op_call *c, struct gpu_work *w)
{
    return is_plain(c) ? gpu_bind_transposed(c, w) : bind_filter(c, w, true, false);
}

enum status gpu_bind_pool_any(const struct op_call *c, struct gpu_work *w)
{
    static const uint8_t kinds[OP_COUNT] = { [OP_PoolAvg2d] = POOL_AVG,
                                             [OP_PoolAvg3d] = POOL_AVG,
                                             [OP_L2Pool2d] = POOL_L2,
                                             [OP_PoolMax2d] = POOL_MAX,
                                             [OP_PoolMax3d] = POOL_MAX };
    struct gpu_launch l = { .kernel = K_VOLUME_POOL,
                            GPU_ARGS(volume),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    struct gpu_volume *a = &l.args.volume;
    if (is_plain(c))
        return gpu_bind_pool(c, w);
    TRY(geometry(c, a));
    a->pool = kinds[c->op->id];
    a->count_pad = a->pool == POOL_AVG && op_int(c, "count_pad_for_edges", 0);
    for (uint32_t i = 0, n = c->in[0]->rank - 2u; i < n; i++)
        a->k[3 - n + i] = (int)op_int(c, "filter_size", i);
    bool real = dtype_is_float(c->in[0]->type);
    uint32_t types = real ? T_FLOAT : a->pool == POOL_MAX ? T_INT | T_UINT : 0;
    TRY(gpu_type(c, 0, types ? types : T_FLOAT, &a->x_type));
    TRY(gpu_type(c, c->n_in, types, &a->y_type));
    return gpu_add(c, w, &l);
}
