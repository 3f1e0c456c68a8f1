/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of convolutions and matrix products. */
#include "backend/gpu/gpu_launch.h"

static bool has_bias(const struct op_call *c)
{
    return c->n_in > 2 && c->in[2];
}

/* Whether the weights were laid out in panels when the graph was prepared. */
static bool is_packed(const struct op_call *c)
{
    return c->n_aux == 1;
}

/* x, filter, bias, more, y; an operand that is not there is never read, and the filter takes its place. */
static void operands(const struct op_call *c, uint8_t filter, struct gpu_launch *l)
{
    l->n_operands = 5;
    l->operand[0] = 0;
    l->operand[1] = filter;
    l->operand[2] = has_bias(c) ? 2 : filter;
    l->operand[3] = filter;
    l->operand[4] = (uint8_t)c->n_in;
}

static uint8_t packed(const struct op_call *c)
{
    return (uint8_t)(c->n_in + c->n_out);
}

static struct gpu_end end_of(const struct op_call *c)
{
    return (struct gpu_end){ .bias = has_bias(c), .lo = c->post.lo, .hi = c->post.hi };
}

static int param(const struct op_call *c, const char *name, uint32_t at)
{
    return op_param_index(c->op, name) < 0 ? 1 : (int)op_int(c, name, at);
}

static struct gpu_taps taps_of(const struct op_call *c)
{
    const uint32_t *x = c->in[0]->dims, *f = c->in[1]->dims, *y = c->out[0]->dims;
    return (struct gpu_taps){
        .n = (int)desc_count(c->out[0]),
        .in_h = (int)x[1], .in_w = (int)x[2], .in_c = (int)x[3], .out_h = (int)y[1], .out_w = (int)y[2], .out_c = (int)y[3],
        .k_h = (int)f[0], .k_w = (int)f[1], .stride_h = param(c, "stride", 0), .stride_w = param(c, "stride", 1),
        .dilation_h = param(c, "dilation", 0), .dilation_w = param(c, "dilation", 1),
        .pad_h = param(c, "pad_amount", 0), .pad_w = param(c, "pad_amount", 2), .end = end_of(c),
    };
}

/* Rows of `depth` elements that lie one behind the other. */
static struct gpu_conv plain_rows(const struct op_call *c, uint64_t rows, uint32_t cols, uint32_t depth)
{
    return (struct gpu_conv){ .groups = 1,
                              .rows = (int)rows,
                              .cols = (int)cols,
                              .depth = (int)depth,
                              .in_h = 1,
                              .in_w = 1,
                              .in_c = (int)depth,
                              .out_h = 1,
                              .out_w = 1,
                              .out_c = (int)cols,
                              .k_h = 1,
                              .k_w = 1,
                              .stride_h = 1,
                              .stride_w = 1,
                              .dilation_h = 1,
                              .dilation_w = 1,
                              .group_in = (int)depth,
                              .end = end_of(c) };
}

/* A filter of one pixel that meets every pixel. */
static bool is_pointwise(const struct gpu_taps *t)
{
    return t->k_h == 1 && t->k_w == 1 && t->stride_h == 1 && t->stride_w == 1 && t->in_h == t->out_h &&
           t->in_w == t->out_w && !t->pad_h && !t->pad_w;
}

static enum status add_packed_conv(const struct op_call *c, struct gpu_work *w, struct gpu_launch *l, int group)
{
    const struct gpu_taps taps = l->args.taps, *t = &taps; /* args are a union */
    l->kernel = K_PRODUCT;
    l->args_bytes = sizeof l->args.conv;
    operands(c, packed(c), l);
    l->args.conv = (struct gpu_conv){
        .groups = group,
        .rows = t->n / t->out_c,
        .cols = t->out_c / group,
        .depth = t->k_h * t->k_w * t->group_in,
        .in_h = t->in_h,
        .in_w = t->in_w,
        .in_c = t->in_c,
        .out_h = t->out_h,
        .out_w = t->out_w,
        .out_c = t->out_c,
        .k_h = t->k_h,
        .k_w = t->k_w,
        .stride_h = t->stride_h,
        .stride_w = t->stride_w,
        .dilation_h = t->dilation_h,
        .dilation_w = t->dilation_w,
        .pad_h = t->pad_h,
        .pad_w = t->pad_w,
        .group_in = t->group_in,
        .end = t->end,
    };
    if (group == 1 && is_pointwise(t))
        l->args.conv = plain_rows(c, (uint64_t)(t->n / t->out_c), (uint32_t)t->out_c, (uint32_t)t->in_c);
    l->items = desc_count(c->out[0]);
    return gpu_add(c, w, l);
}

enum status gpu_bind_conv(const struct op_call *c, struct gpu_work *w)
{
    int group = param(c, "group", 0);
    struct gpu_launch l = { .kernel = K_CONV, GPU_ARGS(taps), .items = desc_count(c->out[0]) };
    TRY(gpu_float_storage(c, &l.storage));
    /* One input channel per group is a depthwise convolution: nothing to share in a tile. */
    if (group > 1 && c->in[0]->dims[3] == (uint32_t)group)
        return gpu_bind_depthwise(c, w);
    struct gpu_taps *t = &l.args.taps;
    *t = taps_of(c);
    t->group_in = t->in_c / group;
    t->group_out = t->out_c / group;
    if (l.items && is_packed(c))
        return add_packed_conv(c, w, &l, group);
    operands(c, 1, &l);
    return gpu_add(c, w, &l);
}

enum status gpu_bind_depthwise(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_DEPTHWISE, GPU_ARGS(taps), .items = desc_count(c->out[0]) };
    TRY(gpu_float_storage(c, &l.storage));
    operands(c, 1, &l);
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
    operands(c, 1, &l);
    l.args.taps = taps_of(c);
    l.args.taps.group_in = l.args.taps.in_c / group;
    l.args.taps.group_out = l.args.taps.out_c / group;
    return gpu_add(c, w, &l);
}

static enum status add_packed_rows(const struct op_call *c, struct gpu_work *w, struct gpu_launch *l, uint64_t rows,
                                   uint32_t cols, uint32_t depth)
{
    l->kernel = K_PRODUCT;
    l->args_bytes = sizeof l->args.conv;
    l->items = rows * cols;
    operands(c, packed(c), l);
    l->args.conv = plain_rows(c, rows, cols, depth);
    return gpu_add(c, w, l);
}

enum status gpu_bind_connected(const struct op_call *c, struct gpu_work *w)
{
    uint32_t cols = c->in[1]->dims[0], depth = c->in[1]->dims[1],
             rows = depth ? (uint32_t)(desc_count(c->in[0]) / depth) : 0;
    struct gpu_launch l = { .kernel = K_PRODUCT_ANY, GPU_ARGS(matmul), .items = (uint64_t)rows * cols };
    TRY(gpu_float_storage(c, &l.storage));
    if (is_packed(c))
        return add_packed_rows(c, w, &l, rows, cols, depth);
    operands(c, 1, &l);
    l.args.matmul = (struct gpu_matmul){ .slices = 1,
                                         .rows = (int)rows,
                                         .cols = (int)cols,
                                         .depth = (int)depth,
                                         .a_row = (int)depth,
                                         .a_k = 1,
                                         .b_k = 1,
                                         .b_col = (int)depth,
                                         .end = end_of(c) };
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
    int rows = (int)out->dims[out->rank - 2], cols = (int)out->dims[out->rank - 1],
        depth = (int)x->dims[x->rank - (tx ? 2 : 1)];
    struct gpu_launch l = { .kernel = K_PRODUCT_ANY, GPU_ARGS(matmul), .items = desc_count(out) };
    TRY(gpu_float_storage(c, &l.storage));
    if (is_packed(c))
        return add_packed_rows(c, w, &l, desc_count(out) / (uint64_t)(cols ? cols : 1), (uint32_t)cols, (uint32_t)depth);
    operands(c, 1, &l);
    struct gpu_matmul *a = &l.args.matmul;
    *a = (struct gpu_matmul){ .slices = 1,
                              .rows = rows,
                              .cols = cols,
                              .depth = depth,
                              .a_row = tx ? 1 : depth,
                              .a_k = tx ? rows : 1,
                              .b_k = ty ? 1 : cols,
                              .b_col = ty ? depth : 1,
                              .end = end_of(c) };
    int64_t sx[MAX_RANK], sy[MAX_RANK];
    struct gpu_view v = { 0 };
    batch_strides(x, out, sx);
    batch_strides(y, out, sy);
    for (uint32_t d = 0; d + 2 < out->rank; d++) {
        gpu_view_add(&v, out->dims[d], sx[d], sy[d], 0);
        a->slices *= (int)out->dims[d];
    }
    TRY(gpu_view_end(c, &v, &a->rank, a->dims, (int *const[4]){ a->a, a->b }));
    return gpu_add(c, w, &l);
}
