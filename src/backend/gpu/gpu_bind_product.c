/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of convolutions and matrix products. */
#include "backend/gpu/gpu_launch.h"

static bool has_bias(const struct op_call *c)
{
    return c->n_in > 2 && c->in[2];
}

/* x, filter, bias, y; a bias that is not there is never read, and another tensor takes its place. */
static void operands(const struct op_call *c, struct gpu_launch *l)
{
    l->n_operands = 4;
    l->operand[0] = 0;
    l->operand[1] = 1;
    l->operand[2] = has_bias(c) ? 2 : 1;
    l->operand[3] = (uint8_t)c->n_in;
}

static uint64_t tiles(uint64_t slices, uint64_t rows, uint64_t cols)
{
    return slices * ((rows + GPU_TILE - 1) / GPU_TILE) * ((cols + GPU_TILE - 1) / GPU_TILE) * GPU_LANES;
}

static int param(const struct op_call *c, const char *name, uint32_t at)
{
    return op_param_index(c->op, name) < 0 ? 1 : (int)op_int(c, name, at);
}

enum status gpu_bind_conv(const struct op_call *c, struct gpu_work *w)
{
    const uint32_t *x = c->in[0]->dims, *f = c->in[1]->dims, *y = c->out[0]->dims;
    int group = param(c, "group", 0);
    struct gpu_launch l = { .kernel = K_CONV, GPU_ARGS(conv) };
    TRY(gpu_float_storage(c, &l.storage));
    /* One input channel per group is a depthwise convolution: nothing to share in a tile. */
    if (group > 1 && x[3] == (uint32_t)group)
        return gpu_bind_depthwise(c, w);
    operands(c, &l);
    l.args.conv = (struct gpu_conv){
        .groups = group, .rows = (int)(y[0] * y[1] * y[2]), .cols = (int)y[3] / group, .depth = (int)(f[0] * f[1] * f[2]),
        .in_h = (int)x[1], .in_w = (int)x[2], .in_c = (int)x[3], .out_h = (int)y[1], .out_w = (int)y[2], .out_c = (int)y[3],
        .k_h = (int)f[0], .k_w = (int)f[1], .stride_h = param(c, "stride", 0), .stride_w = param(c, "stride", 1),
        .dilation_h = param(c, "dilation", 0), .dilation_w = param(c, "dilation", 1),
        .pad_h = param(c, "pad_amount", 0), .pad_w = param(c, "pad_amount", 2),
        .group_in = (int)f[2], .w_in = (int)f[3], .bias = has_bias(c), .lo = c->post.lo, .hi = c->post.hi,
    };
    l.items = tiles((uint64_t)group, (uint64_t)y[0] * y[1] * y[2], y[3] / (uint32_t)group);
    return gpu_add(c, w, &l);
}

static struct gpu_taps taps_of(const struct op_call *c)
{
    const uint32_t *x = c->in[0]->dims, *f = c->in[1]->dims, *y = c->out[0]->dims;
    return (struct gpu_taps){
        .n = (int)desc_count(c->out[0]),
        .in_h = (int)x[1], .in_w = (int)x[2], .in_c = (int)x[3], .out_h = (int)y[1], .out_w = (int)y[2], .out_c = (int)y[3],
        .k_h = (int)f[0], .k_w = (int)f[1], .stride_h = param(c, "stride", 0), .stride_w = param(c, "stride", 1),
        .dilation_h = param(c, "dilation", 0), .dilation_w = param(c, "dilation", 1),
        .pad_h = param(c, "pad_amount", 0), .pad_w = param(c, "pad_amount", 2), .bias = has_bias(c), .lo = c->post.lo, .hi = c->post.hi,
    };
}

enum status gpu_bind_depthwise(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_DEPTHWISE, GPU_ARGS(taps), .items = desc_count(c->out[0]) };
    TRY(gpu_float_storage(c, &l.storage));
    operands(c, &l);
    l.args.taps = taps_of(c);
    l.args.taps.group_in = 1;
    l.args.taps.group_out = l.args.taps.out_c / l.args.taps.in_c;
    return gpu_add(c, w, &l);
}

enum status gpu_bind_transposed(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_TRANSPOSED, GPU_ARGS(taps), .items = desc_count(c->out[0]) };
    int group = param(c, "group", 0);
    TRY(gpu_float_storage(c, &l.storage));
    operands(c, &l);
    l.args.taps = taps_of(c);
    l.args.taps.group_in = l.args.taps.in_c / group;
    l.args.taps.group_out = l.args.taps.out_c / group;
    return gpu_add(c, w, &l);
}

enum status gpu_bind_connected(const struct op_call *c, struct gpu_work *w)
{
    uint32_t cols = c->in[1]->dims[0], depth = c->in[1]->dims[1], rows = (uint32_t)(desc_count(c->in[0]) / depth);
    struct gpu_launch l = { .kernel = K_MATMUL, GPU_ARGS(matmul), .items = tiles(1, rows, cols) };
    TRY(gpu_float_storage(c, &l.storage));
    operands(c, &l);
    l.args.matmul = (struct gpu_matmul){ .slices = 1, .rows = (int)rows, .cols = (int)cols, .depth = (int)depth, .a_row = (int)depth, .a_k = 1,
                                         .b_k = 1, .b_col = (int)depth, .bias = has_bias(c), .lo = c->post.lo, .hi = c->post.hi };
    return gpu_add(c, w, &l);
}

/* Elements per step of each batch dimension of the output; 0 where the operand is broadcast. */
static void batch_strides(const struct tensor_desc *d, const struct tensor_desc *out, int64_t strides[MAX_RANK])
{
    int64_t step = (int64_t)d->dims[d->rank - 1] * d->dims[d->rank - 2];
    for (uint32_t i = out->rank - 2u; i-- > 0;) {
        int32_t j = (int32_t)i + d->rank - out->rank;
        uint32_t size = j < 0 ? 1 : d->dims[j];
        strides[i] = size == 1 ? 0 : step;
        step *= size;
    }
}

enum status gpu_bind_matmul(const struct op_call *c, struct gpu_work *w)
{
    const struct tensor_desc *x = c->in[0], *y = c->in[1], *out = c->out[0];
    if (x->rank < 2 || y->rank < 2 || out->rank < 2)
        return gpu_refuse(c, "ranks %u and %u; at least 2 is supported", x->rank, y->rank);
    bool tx = op_int(c, "transpose_in0", 0), ty = op_int(c, "transpose_in1", 0);
    int rows = (int)out->dims[out->rank - 2], cols = (int)out->dims[out->rank - 1], depth = (int)x->dims[x->rank - (tx ? 2 : 1)];
    struct gpu_launch l = { .kernel = K_MATMUL, GPU_ARGS(matmul) };
    TRY(gpu_float_storage(c, &l.storage));
    operands(c, &l);
    struct gpu_matmul *a = &l.args.matmul;
    *a = (struct gpu_matmul){ .slices = 1, .rows = rows, .cols = cols, .depth = depth, .a_row = tx ? 1 : depth, .a_k = tx ? rows : 1, .b_k = ty ? 1 : cols,
                              .b_col = ty ? depth : 1, .bias = has_bias(c), .lo = c->post.lo, .hi = c->post.hi };
    int64_t sx[MAX_RANK], sy[MAX_RANK];
    struct gpu_view v = { 0 };
    batch_strides(x, out, sx);
    batch_strides(y, out, sy);
    for (uint32_t d = 0; d + 2 < out->rank; d++) {
        gpu_view_add(&v, out->dims[d], sx[d], sy[d], 0);
        a->slices *= (int)out->dims[d];
    }
    TRY(gpu_view_end(c, &v, &a->rank, a->dims, (int *const[4]){ a->a, a->b }));
    l.items = tiles((uint64_t)a->slices, (uint64_t)rows, (uint64_t)cols);
    return gpu_add(c, w, &l);
}
