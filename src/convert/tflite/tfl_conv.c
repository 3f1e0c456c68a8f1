/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, dense layers, matrix products and pooling.
 *
 * Filters change their order once, here: [out, h, w, in] becomes [h, w, in, out], depthwise [1, h, w, out] becomes [h, w, 1,
 * out]; the axis of a per-channel encoding goes with it. Padding SAME becomes numbers. An integer bias is in the scale of
 * its products, whatever the file says: that is how every TFLite kernel adds it. Weights of 8 bits beside float activations
 * are dequantized. */
#include <string.h>

#include "convert/tflite/tfl_lower.h"

/* ---- weights and bias ----------------------------------------------------------------------------------------------- */

static enum status weights(struct tfl_cx *cx, uint32_t k, uint32_t rank, const uint8_t *perm, uint32_t x, uint32_t *ret)
{
    uint32_t w;
    TRY(tfl_in(cx, k, &w));
    TFL_REFUSE_IF(tfl_desc(cx, w)->rank != rank, "the weights have rank %u; rank %u is expected", tfl_desc(cx, w)->rank,
                  rank);
    if (perm && build_data(&cx->b, w))
        TRY(tfl_charge(cx, desc_bytes(tfl_desc(cx, w))));
    if (perm)
        TRY(build_transpose(&cx->b, tfl_name(cx, "weights"), w, perm, &w));
    if (dtype_is_float(tfl_desc(cx, x)->type) && tfl_desc(cx, w)->type != tfl_desc(cx, x)->type)
        TRY(tfl_float(cx, "dequantized", w, &w));
    *ret = w;
    return ST_OK;
}

/* The scale of a sum of products: of the input, times of each channel of the weights. */
static enum status product_quant(struct tfl_cx *cx, uint32_t x, uint32_t w, struct quant *ret)
{
    const struct quant *qx = &tfl_desc(cx, x)->q, *qw = &tfl_desc(cx, w)->q;
    *ret = (struct quant){ .kind = Q_TENSOR,
                           .definition = 1,
                           .scale = (float)((double)quant_scale(qx, 0) * (double)quant_scale(qw, 0)) };
    if (qw->kind != Q_AXIS)
        return ST_OK;
    float *scales = arena_array(&cx->m.arena, float, qw->n);
    RETURN_IF(!scales, ST_NO_MEMORY, "no memory for the scales of a bias");
    for (uint32_t i = 0; i < qw->n; i++)
        scales[i] = (float)((double)quant_scale(qx, 0) * (double)qw->scales[i]);
    ret->kind = Q_AXIS;
    ret->n = qw->n;
    ret->scales = scales;
    return ST_OK;
}

/* 16-bit layers have 64-bit biases; what the accumulator of QNN takes are 32 bits. */
static enum status narrow(struct tfl_cx *cx, const struct tfl_tensor *s, const struct tensor_desc *d, int32_t **ret)
{
    uint64_t n = desc_count(d);
    TRY(tfl_charge(cx, 4 * n));
    int32_t *v = arena_array(&cx->b.g->arena, int32_t, n);
    RETURN_IF(!v, ST_NO_MEMORY, "no memory for bias \"%s\"", s->name);
    for (uint64_t i = 0; i < n; i++) {
        int64_t b = number_get_int(s->type == TFL_INT64 ? DT_I64 : DT_I32, s->data, i);
        TFL_REFUSE_IF(b < INT32_MIN || b > INT32_MAX, "bias %llu is %lld; QNN adds 32-bit biases", (unsigned long long)i,
                      (long long)b);
        v[i] = (int32_t)b;
    }
    *ret = v;
    return ST_OK;
}

static enum status bias(struct tfl_cx *cx, uint32_t k, uint32_t x, uint32_t w, uint32_t *ret)
{
    const struct tfl_tensor *s = tfl_source(cx, k);
    enum dtype type = s ? s->desc.type : DT_NONE;
    int32_t *values;
    *ret = IR_NONE;
    if (!s)
        return ST_OK;
    if (!s->data || (type != DT_I32 && type != DT_SQ32 && type != DT_I64) || !dtype_is_fixed(tfl_desc(cx, x)->type)) {
        TRY(tfl_in(cx, k, ret));
        return dtype_is_float(tfl_desc(cx, x)->type) ? tfl_float(cx, "bias", *ret, ret) : ST_OK;
    }
    struct tensor_desc d = s->desc;
    d.type = DT_SQ32;
    TRY(product_quant(cx, x, w, &d.q));
    d.rank = 1;
    d.dims[0] = (uint32_t)desc_count(&s->desc);
    TFL_REFUSE_IF(d.q.kind == Q_AXIS && d.q.n != d.dims[0], "there are %u biases and %u channels of weights", d.dims[0],
                  d.q.n);
    TRY(narrow(cx, s, &s->desc, &values));
    return build_const(&cx->b, s->name, &d, values, true, ret);
}

/* ---- windows -------------------------------------------------------------------------------------------------------- */

struct window {
    int64_t in, kernel, stride, dilation;
};

/* SAME: as many outputs as strides begin in the input; the smaller half of the padding is in front. */
static enum status same_pads(const struct window *w, bool same, uint32_t ret[2])
{
    TFL_REFUSE_IF(w->stride < 1 || w->dilation < 1 || w->kernel < 1 || w->kernel > UINT16_MAX * 16 ||
                      w->dilation > UINT16_MAX || w->stride > INT32_MAX,
                  "stride %lld, dilation %lld and kernel %lld; each must be positive and of moderate size",
                  (long long)w->stride, (long long)w->dilation, (long long)w->kernel);
    int64_t out = (w->in + w->stride - 1) / w->stride, span = (w->kernel - 1) * w->dilation + 1;
    int64_t total = (out - 1) * w->stride + span - w->in;
    total = same && total > 0 ? total : 0;
    ret[0] = (uint32_t)(total / 2);
    ret[1] = (uint32_t)(total - total / 2);
    return ST_OK;
}

static enum status rank_is(struct tfl_cx *cx, uint32_t t, uint32_t rank)
{
    char text[DESC_TEXT_MAX];
    TFL_REFUSE_IF(tfl_desc(cx, t)->rank != rank, "the input is %s; rank %u is expected", desc_text(tfl_desc(cx, t), text),
                  rank);
    return ST_OK;
}

/* Fields of the options in the order height, width (of three dimensions: depth, height, width). */
struct conv_fields {
    unsigned padding, activation, n;
    unsigned stride[3], dilation[3];
};

struct conv_shape {
    uint32_t stride[3], dilation[3], pads[6];
};

static enum status conv_shape(struct tfl_cx *cx, const struct conv_fields *f, uint32_t x, uint32_t w, struct conv_shape *ret)
{
    bool same = fb_int(cx->op->options, f->padding, 1, 0) == PADDING_SAME;
    for (unsigned i = 0; i < f->n; i++) {
        struct window win = {tfl_desc(cx, x)->dims[1 + i], tfl_desc(cx, w)->dims[i], tfl_option(cx, f->stride[i], 0), 1};
        if (f->dilation[i])
            win.dilation = tfl_option(cx, f->dilation[i], 1);
        TRY(same_pads(&win, same, ret->pads + 2 * i));
        ret->stride[i] = (uint32_t)win.stride;
        ret->dilation[i] = (uint32_t)win.dilation;
    }
    return ST_OK;
}

/* ---- convolutions --------------------------------------------------------------------------------------------------- */

static const struct conv_fields conv2d_fields = {CONV2D_PADDING, CONV2D_ACTIVATION, 2, {CONV2D_STRIDE_H, CONV2D_STRIDE_W},
                                                 {CONV2D_DILATION_H, CONV2D_DILATION_W}};
static const struct conv_fields depthwise_fields = { DEPTHWISE_PADDING,
                                                     DEPTHWISE_ACTIVATION,
                                                     2,
                                                     { DEPTHWISE_STRIDE_H, DEPTHWISE_STRIDE_W },
                                                     { DEPTHWISE_DILATION_H, DEPTHWISE_DILATION_W } };
static const struct conv_fields conv3d_fields = { CONV3D_PADDING,
                                                  CONV3D_ACTIVATION,
                                                  3,
                                                  { CONV3D_STRIDE_D, CONV3D_STRIDE_H, CONV3D_STRIDE_W },
                                                  { CONV3D_DILATION_D, CONV3D_DILATION_H, CONV3D_DILATION_W } };
static const struct conv_fields transpose_fields = {TRANSPOSE_CONV_PADDING, TRANSPOSE_CONV_ACTIVATION, 2,
                                                    {TRANSPOSE_CONV_STRIDE_H, TRANSPOSE_CONV_STRIDE_W}, {0}};

/* How many groups of input channels the filter is for. */
static uint32_t groups(struct tfl_cx *cx, uint32_t x, uint32_t w)
{
    const struct tensor_desc *dx = tfl_desc(cx, x), *dw = tfl_desc(cx, w);
    uint32_t in = dx->dims[dx->rank - 1], each = dw->dims[dw->rank - 2];
    return each && in % each == 0 && in ? in / each : 1;
}

static enum status conv(struct tfl_cx *cx, const struct conv_fields *f, const uint8_t *perm, const char *op)
{
    uint32_t x, w, b;
    struct conv_shape s;
    TRY(tfl_in(cx, 0, &x));
    TRY(rank_is(cx, x, f->n + 2));
    TRY(weights(cx, 1, f->n + 2, perm, x, &w));
    TRY(bias(cx, 2, x, w, &b));
    TRY(conv_shape(cx, f, x, w, &s));
    bool grouped = op[0] != 'D';
    struct build_spec spec = { .op = op,
                               BUILD_IN(x, w, b),
                               .params = { BUILD_U32S("stride", f->n, s.stride), BUILD_PAIRS("pad_amount", f->n, s.pads),
                                           BUILD_U32S("dilation", f->n, s.dilation),
                                           BUILD_U32(grouped ? "group" : "", groups(cx, x, w)) } };
    return tfl_emit_act(cx, &spec, tfl_activation(cx, f->activation));
}

TFL_LOWER(conv2d)
{
    return conv(cx, &conv2d_fields, (const uint8_t[]){1, 2, 3, 0}, "Conv2d");
}

TFL_LOWER(depthwise)
{
    return conv(cx, &depthwise_fields, (const uint8_t[]){1, 2, 0, 3}, "DepthWiseConv2d");
}

TFL_LOWER(conv3d)
{
    return conv(cx, &conv3d_fields, NULL, "Conv3d");
}

struct transposed {
    const char *op;
    const uint8_t *perm; /* of the weights; NULL: none */
    uint32_t x, w, b;    /* inputs of the operator */
    unsigned n;          /* dimensions of the window */
    bool same;
    enum tfl_activation act;
};

/* What a transposed convolution gives before cropping is cropped like the padding of the convolution it reverses; what it
 * gives too little is output padding. */
static enum status emit_transposed(struct tfl_cx *cx, const struct transposed *c, const uint32_t stride[3])
{
    uint32_t x, w, b, pads[6], more[3];
    struct tensor_desc out = *tfl_out_desc(cx, 0);
    int64_t dims[MAX_RANK];
    TRY(tfl_in(cx, c->x, &x));
    TRY(rank_is(cx, x, c->n + 2));
    if (tfl_out_open(cx) && c->x && tfl_known(cx, 0)) { /* the shape is the first input */
        uint32_t n;
        TRY(tfl_ints(cx, 0, dims, MAX_RANK, &n));
        out.rank = (uint8_t)n;
        for (uint32_t i = 0; i < n; i++)
            out.dims[i] = dims[i] < 0 || dims[i] > INT32_MAX ? 0 : (uint32_t)dims[i];
    }
    TRY(weights(cx, c->w, c->n + 2, c->perm, x, &w));
    TRY(bias(cx, c->b, x, w, &b));
    TFL_REFUSE_IF(out.rank != c->n + 2, "the output has rank %u; rank %u is expected", out.rank, c->n + 2);
    for (unsigned i = 0; i < c->n; i++) {
        int64_t full = (int64_t)stride[i] * (tfl_desc(cx, x)->dims[1 + i] - 1) + tfl_desc(cx, w)->dims[i],
                cut = full - out.dims[1 + i];
        TFL_REFUSE_IF(cut < -(int64_t)INT32_MAX || cut > INT32_MAX,
                      "output dimension %u is %u, far from the %lld that follow", i + 1, out.dims[1 + i], (long long)full);
        int64_t before = cut > 0 && c->same ? cut / 2 : 0;
        pads[2 * i] = (uint32_t)before;
        pads[2 * i + 1] = cut > 0 ? (uint32_t)(cut - before) : 0;
        more[i] = cut < 0 ? (uint32_t)-cut : 0;
    }
    struct build_spec spec = { .op = c->op,
                               BUILD_IN(x, w, b),
                               .params = { BUILD_U32S("stride", c->n, stride), BUILD_PAIRS("pad_amount", c->n, pads),
                                           BUILD_U32S("output_padding", c->n, more) } };
    return tfl_emit_act(cx, &spec, c->act);
}

static enum status transposed(struct tfl_cx *cx, const struct conv_fields *f, const uint8_t *perm, const char *op)
{
    struct transposed c = { .op = op,
                            .perm = perm,
                            .x = 2,
                            .w = 1,
                            .b = 3,
                            .n = f->n,
                            .act = tfl_activation(cx, f->activation),
                            .same = fb_int(cx->op->options, f->padding, 1, 0) == PADDING_SAME };
    uint32_t stride[3];
    for (unsigned i = 0; i < f->n; i++) {
        int64_t step = tfl_option(cx, f->stride[i], 0), dilation = f->dilation[i] ? tfl_option(cx, f->dilation[i], 1) : 1;
        TFL_REFUSE_IF(step < 1 || step > INT32_MAX, "stride %lld; 1 or more is expected", (long long)step);
        TFL_REFUSE_IF(dilation != 1, "dilation %lld; a transposed convolution is supported with 1", (long long)dilation);
        stride[i] = (uint32_t)step;
    }
    return emit_transposed(cx, &c, stride);
}

TFL_LOWER(transpose_conv)
{
    return transposed(cx, &transpose_fields, (const uint8_t[]){1, 2, 3, 0}, "TransposeConv2d");
}

TFL_LOWER(conv3d_transpose)
{
    return transposed(cx, &conv3d_fields, (const uint8_t[]){0, 1, 2, 4, 3}, "TransposeConv3d");
}

/* A custom operator of MediaPipe: input, weights, bias; its options are three plain integers: padding (1 is SAME), stride
 * along the width and along the height. */
TFL_LOWER(transpose_conv_bias)
{
    struct transposed c = {.op = "TransposeConv2d", .perm = (const uint8_t[]){1, 2, 3, 0}, .x = 0, .w = 1, .b = 2, .n = 2};
    uint32_t stride[3];
    TFL_REFUSE_IF(cx->op->custom_options.n < 12,
                  "its options have %u bytes; padding and two strides of 4 bytes each are expected",
                  cx->op->custom_options.n);
    c.same = number_get_int(DT_I32, fb_bytes(cx->op->custom_options), 0) == 1;
    for (unsigned i = 0; i < 2; i++) {
        int64_t step = number_get_int(DT_I32, fb_bytes(cx->op->custom_options), 2 - i);
        TFL_REFUSE_IF(step < 1, "stride %lld; 1 or more is expected", (long long)step);
        stride[i] = (uint32_t)step;
    }
    return emit_transposed(cx, &c, stride);
}

/* ---- dense layers --------------------------------------------------------------------------------------------------- */

TFL_LOWER(dense)
{
    uint32_t x, w, b;
    int64_t format = fb_int(cx->op->options, DENSE_WEIGHTS_FORMAT, 1, 0);
    TFL_REFUSE_IF(format != 0, "the weights are shuffled (format %lld); write the model with plain weights",
                  (long long)format);
    TRY(tfl_in(cx, 0, &x));
    TRY(weights(cx, 1, 2, NULL, x, &w));
    TRY(bias(cx, 2, x, w, &b));
    struct build_spec spec = { .op = "FullyConnected",
                               BUILD_IN(x, w, b),
                               .params = { BUILD_B8("keep_dims", tfl_flag(cx, DENSE_KEEP_DIMS)) } };
    return tfl_emit_act(cx, &spec, tfl_activation(cx, DENSE_ACTIVATION));
}

TFL_LOWER(matmul)
{
    uint32_t x, y;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_in(cx, 1, &y));
    if (dtype_is_float(tfl_desc(cx, x)->type))
        TRY(tfl_float(cx, "dequantized", y, &y));
    struct build_spec spec = { .op = "MatMul",
                               BUILD_IN(x, y),
                               .params = { BUILD_B8("transpose_in0", tfl_flag(cx, MATMUL_ADJ_X)),
                                           BUILD_B8("transpose_in1", tfl_flag(cx, MATMUL_ADJ_Y)) } };
    return tfl_emit(cx, &spec);
}

/* ---- pooling -------------------------------------------------------------------------------------------------------- */

struct pool_shape {
    uint32_t x, size[2], stride[2], pads[4];
};

static enum status pool_shape(struct tfl_cx *cx, struct pool_shape *ret)
{
    bool same = fb_int(cx->op->options, POOL_PADDING, 1, 0) == PADDING_SAME;
    TRY(tfl_in(cx, 0, &ret->x));
    TRY(rank_is(cx, ret->x, 4));
    for (unsigned i = 0; i < 2; i++) {
        struct window w = {tfl_desc(cx, ret->x)->dims[1 + i], tfl_option(cx, i ? POOL_WIDTH : POOL_HEIGHT, 0),
                           tfl_option(cx, i ? POOL_STRIDE_W : POOL_STRIDE_H, 0), 1};
        TRY(same_pads(&w, same, ret->pads + 2 * i));
        ret->size[i] = (uint32_t)w.kernel;
        ret->stride[i] = (uint32_t)w.stride;
    }
    return ST_OK;
}

#define POOL_PARAMS(s) \
    { BUILD_U32S("filter_size", 2, (s).size), BUILD_U32S("stride", 2, (s).stride), BUILD_PAIRS("pad_amount", 2, (s).pads) }

TFL_LOWER(pool)
{
    struct pool_shape s;
    TRY(pool_shape(cx, &s));
    struct build_spec spec = {.op = cx->row->arg, BUILD_IN(s.x), .params = POOL_PARAMS(s)};
    return tfl_emit_act(cx, &spec, tfl_activation(cx, POOL_ACTIVATION));
}

/* The root of the mean of squares; QNN's own L2 pool is the root of their sum. */
TFL_LOWER(l2_pool)
{
    struct pool_shape s;
    uint32_t square, mean;
    TRY(pool_shape(cx, &s));
    TFL_REFUSE_IF(!dtype_is_float(tfl_desc(cx, s.x)->type), "the input is fixed point; float is expected");
    TRY(build_binary(&cx->b, "ElementWiseMultiply", tfl_name(cx, "square"), s.x, s.x, &square));
    TRY(tfl_part(cx, "mean", &(struct build_spec){ .op = "PoolAvg2d", BUILD_IN(square), .params = POOL_PARAMS(s) }, NULL,
                 &mean));
    struct build_spec spec = {.op = "ElementWiseSquareRoot", BUILD_IN(mean)};
    return tfl_emit_act(cx, &spec, tfl_activation(cx, POOL_ACTIVATION));
}
