/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions. The source has channels second and filters [out, in, spatial…]; the graph has channels last and filters
 * [spatial…, in, out]. One spatial dimension becomes two with a height of 1: every backend has that. */
#include <string.h>

#include "convert/onnx/onnx.h"

/* Insert dimensions of 1 so that there are `want` spatial ones: behind the batch, or in front of a filter. */
static enum status widen(struct onnx_cx *cx, uint32_t *t, uint32_t at, uint32_t spatial, uint32_t want)
{
    const struct tensor_desc *d = build_desc(B, *t);
    uint32_t dims[MAX_RANK], k = 0, more = want - spatial;
    for (uint32_t i = 0; i < d->rank; i++) {
        for (uint32_t j = 0; i == at && j < more; j++)
            dims[k++] = 1;
        dims[k++] = d->dims[i];
    }
    return build_reshape(B, onnx_name(cx, "spatial"), *t, k, dims, t);
}

static enum status narrow(struct onnx_cx *cx, uint32_t *t, uint32_t spatial, uint32_t want)
{
    const struct tensor_desc *d = build_desc(B, *t);
    uint32_t dims[MAX_RANK], k = 0, more = want - spatial;
    for (uint32_t i = 0; i < d->rank; i++)
        if (i < 1 || i >= 1 + more)
            dims[k++] = d->dims[i];
    return build_reshape(B, onnx_name(cx, "narrow"), *t, k, dims, t);
}

/* Parameters for `want` spatial dimensions, ones and zeros in front. */
static void widen_window(const struct onnx_window *w, uint32_t want, struct onnx_window *ret)
{
    uint32_t more = want - w->n;
    *ret = (struct onnx_window){.n = want, .ceil = w->ceil};
    for (uint32_t k = 0; k < want; k++) {
        bool old = k >= more;
        ret->kernel[k] = old ? w->kernel[k - more] : 1;
        ret->stride[k] = old ? w->stride[k - more] : 1;
        ret->dilation[k] = old ? w->dilation[k - more] : 1;
        ret->pads[2 * k] = old ? w->pads[2 * (k - more)] : 0;
        ret->pads[2 * k + 1] = old ? w->pads[2 * (k - more) + 1] : 0;
    }
}

struct operands {
    uint32_t x, w, bias;
};

static enum status bias_tensor(struct onnx_cx *cx, struct onnx_value *bias, uint32_t *ret)
{
    *ret = IR_NONE;
    if (!bias)
        return ST_OK;
    REFUSE_WHEN(bias->rank != 1, "the bias has rank %u; 1 is expected", bias->rank);
    return onnx_tensor(cx, bias, NULL, ret);
}

static enum status emit_conv(struct onnx_cx *cx, const struct onnx_window *w, uint32_t group, bool depthwise,
                             const struct operands *o, uint32_t *ret)
{
    struct build_spec s = { .op = depthwise   ? "DepthWiseConv2d"
                                  : w->n == 3 ? "Conv3d"
                                              : "Conv2d",
                            .name = cx->label,
                            BUILD_IN(o->x, o->w, o->bias),
                            .params = { BUILD_U32S("stride", w->n, w->stride), BUILD_PAIRS("pad_amount", w->n, w->pads),
                                        BUILD_U32S("dilation", w->n, w->dilation), BUILD_U32("group", group) } };
    if (depthwise)
        s.params[3].name = NULL;
    return onnx_emit(cx, s, ret);
}

enum status onnx_conv(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value *x, struct onnx_value *f,
                      struct onnx_value *bias, uint32_t *ret)
{
    uint8_t last[MAX_RANK], filter[MAX_RANK];
    struct onnx_window win, w;
    struct operands o;
    int64_t group = onnx_attr_int(cx, n, "group", 1);
    IMPOSSIBLE_WHEN(f->rank != x->rank || x->rank < 3,
                    "the input has rank %u and the weights %u; both are equal and at least 3", x->rank, f->rank);
    RETURN_IF(group < 1 || group > UINT32_MAX, ST_INVALID_OP, "\"group\" is %lld", (long long)group);
    TRY(onnx_window(cx, n, x, f->dims + 2, &win));
    perm_channel_last(last, x->rank);
    for (uint32_t i = 0; i < f->rank; i++)
        filter[i] = (uint8_t)(i < win.n ? i + 2 : f->rank - 1 - i);
    TRY(onnx_tensor(cx, x, last, &o.x));
    TRY(onnx_tensor(cx, f, filter, &o.w));
    TRY(bias_tensor(cx, bias, &o.bias));
    uint32_t spatial = win.n < 2 ? 2 : win.n;
    widen_window(&win, spatial, &w);
    TRY(widen(cx, &o.x, 1, win.n, spatial));
    TRY(widen(cx, &o.w, 0, win.n, spatial));
    bool depthwise = spatial == 2 && group > 1 && group == x->dims[1] && f->dims[1] == 1;
    TRY(emit_conv(cx, &w, (uint32_t)group, depthwise, &o, ret));
    return narrow(cx, ret, win.n, spatial);
}

static enum status convert_conv(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *x, *w, *bias;
    uint32_t y;
    TRY(onnx_in(cx, n, 0, &x));
    TRY(onnx_in(cx, n, 1, &w));
    TRY(onnx_in_opt(cx, n, 2, &bias));
    TRY(onnx_conv(cx, n, x, w, bias, &y));
    TRY(onnx_out_last(cx, n, 0, y));
    if (!cx->fixed)
        onnx_out_type(cx, n, 0, x->type);
    return ST_OK;
}

/* ---- transposed --------------------------------------------------------------------------------------------------- */

/* Padding that gives a certain output size. What cannot be cropped is added behind. */
static void pads_for(const struct onnx_value *x, bool upper, const int64_t *want, struct onnx_window *w, uint32_t *extra)
{
    for (uint32_t k = 0; k < w->n; k++) {
        int64_t span = ((int64_t)w->kernel[k] - 1) * w->dilation[k] + 1;
        int64_t total = (int64_t)w->stride[k] * (x->dims[2 + k] - 1) + span + extra[k] - want[k];
        if (total < 0) {
            extra[k] += (uint32_t)-total;
            total = 0;
        }
        w->pads[2 * k] = (uint32_t)(upper ? total / 2 : total - total / 2);
        w->pads[2 * k + 1] = (uint32_t)total - w->pads[2 * k];
    }
}

static enum status transposed_window(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *x,
                                     const struct onnx_value *f, struct onnx_window *w, uint32_t *extra)
{
    const struct onnx_attr *shape = onnx_attr(cx, n, "output_shape");
    const char *mode = onnx_attr_text(cx, n, "auto_pad", "NOTSET");
    bool same = !strncmp(mode, "SAME", 4), upper = !strcmp(mode, "SAME_UPPER");
    int64_t want[3];
    TRY(onnx_window(cx, n, x, f->dims + 2, w));
    TRY(onnx_attr_list(cx, n, "output_padding", w->n, 0, extra));
    if (!shape && !same)
        return ST_OK;
    RETURN_IF(shape && shape->n_ints != w->n && shape->n_ints != x->rank, ST_INVALID_OP,
              "\"output_shape\" has %u entries; %u are expected", shape->n_ints, w->n);
    for (uint32_t k = 0; k < w->n; k++) {
        want[k] = shape ? shape->ints[shape->n_ints - w->n + k] : (int64_t)x->dims[2 + k] * w->stride[k];
        RETURN_IF(want[k] < 1 || want[k] > UINT32_MAX, ST_INVALID_OP, "\"output_shape\" has entry %lld", (long long)want[k]);
    }
    pads_for(x, upper, want, w, extra);
    return ST_OK;
}

static enum status convert_conv_transpose(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *x, *f, *bias;
    struct onnx_window win, w;
    struct operands o;
    uint8_t filter[MAX_RANK];
    uint32_t extra[3], more[3] = {0}, y;
    int64_t group = onnx_attr_int(cx, n, "group", 1);
    TRY(onnx_in(cx, n, 0, &x));
    TRY(onnx_in(cx, n, 1, &f));
    TRY(onnx_in_opt(cx, n, 2, &bias));
    RETURN_IF(f->rank != x->rank || x->rank < 3 || group < 1, ST_INVALID_OP, "the input has rank %u, the weights %u",
              x->rank, f->rank);
    TRY(transposed_window(cx, n, x, f, &win, extra));
    bool dilated = false;
    for (uint32_t k = 0; k < win.n; k++)
        dilated |= win.dilation[k] != 1;
    uint32_t spatial = dilated || win.n == 3 ? 3 : 2; /* only the one of three dimensions dilates */
    for (uint32_t i = 0; i < f->rank; i++)
        filter[i] = (uint8_t)(i < win.n ? i + 2 : i - win.n);
    for (uint32_t k = 0; k < win.n; k++)
        more[spatial - win.n + k] = extra[k];
    TRY(onnx_in_last(cx, n, 0, &o.x));
    TRY(onnx_tensor(cx, f, filter, &o.w));
    TRY(bias_tensor(cx, bias, &o.bias));
    widen_window(&win, spatial, &w);
    TRY(widen(cx, &o.x, 1, win.n, spatial));
    TRY(widen(cx, &o.w, 0, win.n, spatial));
    struct build_spec s = { .op = spatial == 3 ? "TransposeConv3d" : "TransposeConv2d",
                            .name = cx->label,
                            BUILD_IN(o.x, o.w, o.bias),
                            .params = { BUILD_U32S("stride", spatial, w.stride), BUILD_PAIRS("pad_amount", spatial, w.pads),
                                        BUILD_U32("group", group), BUILD_U32S("output_padding", spatial, more),
                                        BUILD_U32S("dilation", spatial, w.dilation) } };
    if (spatial != 3)
        s.params[4].name = NULL;
    TRY(onnx_emit(cx, s, &y));
    TRY(narrow(cx, &y, win.n, spatial));
    TRY(onnx_out_last(cx, n, 0, y));
    if (!cx->fixed)
        onnx_out_type(cx, n, 0, x->type);
    return ST_OK;
}

const struct onnx_row onnx_rows_conv[] = {
    {"Conv", ONNX_SPATIAL | ONNX_FIXED, convert_conv, NULL},
    {"ConvTranspose", ONNX_SPATIAL | ONNX_FIXED, convert_conv_transpose, NULL},
    {0},
};
