/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling. What QNN's pools do not have (dilation, padding as wide as the window) is made of slices of the padded input, one
 * per tap. */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"

enum { TAPS_MAX = 256, TAPS_FEW = 16 };

/* Channels last, with at least two spatial dimensions. */
static enum status pool_input(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value *v, struct onnx_window *w,
                              uint32_t *x)
{
    uint8_t last[MAX_RANK];
    TRY(onnx_window(cx, n, v, NULL, w));
    perm_channel_last(last, v->rank);
    if (v->view || dtype_is_fixed(v->stored))
        TRY(cx->fixed || !v->view ? onnx_stored(cx, v, last, x) : onnx_tensor(cx, v, last, x));
    else
        TRY(onnx_tensor(cx, v, last, x));
    if (w->n > 1)
        return ST_OK;
    uint32_t dims[4] = {v->dims[0], 1, v->dims[2], v->dims[1]};
    *w = (struct onnx_window){ .n = 2,
                               .kernel = { 1, w->kernel[0] },
                               .stride = { 1, w->stride[0] },
                               .dilation = { 1, w->dilation[0] },
                               .pads = { 0, 0, w->pads[0], w->pads[1] },
                               .ceil = w->ceil };
    return build_reshape(B, onnx_name(cx, "spatial"), *x, 4, dims, x);
}

static enum status pool_output(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *v, uint32_t y)
{
    uint8_t last[MAX_RANK];
    if (v->rank == 3) {
        const struct tensor_desc *d = build_desc(B, y);
        uint32_t dims[3] = {d->dims[0], d->dims[2], d->dims[3]};
        TRY(build_reshape(B, onnx_name(cx, "narrow"), y, 3, dims, &y));
    }
    perm_channel_last(last, v->rank);
    if (dtype_is_fixed(build_desc(B, y)->type) && !cx->fixed)
        return onnx_out_like(cx, n, 0, y, last, v);
    TRY(onnx_out(cx, n, 0, y, last));
    if (!cx->fixed)
        onnx_out_type(cx, n, 0, v->type);
    return ST_OK;
}

static bool fits_pool(const struct onnx_window *w)
{
    for (uint32_t k = 0; k < w->n; k++)
        if (w->dilation[k] != 1 || w->pads[2 * k] >= w->kernel[k] || w->pads[2 * k + 1] >= w->kernel[k])
            return false;
    return true;
}

/* ---- by slices ---------------------------------------------------------------------------------------------------- */

static uint32_t out_size(const struct onnx_window *w, uint32_t k, uint32_t size)
{
    uint64_t span = (uint64_t)(w->kernel[k] - 1) * w->dilation[k] + 1,
             padded = (uint64_t)size + w->pads[2 * k] + w->pads[2 * k + 1];
    if (span > padded)
        return 0;
    uint64_t room = padded - span, out = room / w->stride[k] + 1;
    if (w->ceil && room % w->stride[k] && out * w->stride[k] < (uint64_t)size + w->pads[2 * k])
        out++;
    return (uint32_t)out;
}

static enum status pad_constant(struct onnx_cx *cx, uint32_t x, const uint32_t *pads, double value, uint32_t *ret)
{
    uint32_t rank = build_desc(B, x)->rank;
    float f = (float)value;
    return build_node(B,
                      &(struct build_spec){ .op = "Pad",
                                            .name = onnx_name(cx, "pad"),
                                            BUILD_IN(x),
                                            .params = { BUILD_U32("scheme", 0), BUILD_PAIRS("pad_amount", rank, pads),
                                                        BUILD_F32("pad_constant_value", f) } },
                      ret);
}

/* All taps of the window, combined by `op`. */
static enum status by_slices(struct onnx_cx *cx, uint32_t x, const struct onnx_window *w, const char *op, double padding,
                             uint32_t *ret)
{
    struct tensor_desc d = *build_desc(B, x);
    uint32_t pads[2 * MAX_RANK] = {0}, out[3], taps = 1, y = IR_NONE, t;
    for (uint32_t k = 0; k < w->n; k++) {
        out[k] = out_size(w, k, d.dims[1 + k]);
        RETURN_IF(!out[k], ST_INVALID_OP, "the window is larger than the padded input");
        uint64_t reach = (uint64_t)(out[k] - 1) * w->stride[k] + (uint64_t)(w->kernel[k] - 1) * w->dilation[k] + 1;
        pads[2 + 2 * k] = w->pads[2 * k];
        pads[3 + 2 * k] = reach > d.dims[1 + k] + w->pads[2 * k] ? (uint32_t)(reach - d.dims[1 + k] - w->pads[2 * k]) : 0;
        taps *= w->kernel[k] <= TAPS_MAX ? w->kernel[k] : TAPS_MAX + 1;
        REFUSE_WHEN(taps > TAPS_MAX, "a window with dilation or wide padding has more than %d taps", TAPS_MAX);
    }
    TRY(pad_constant(cx, x, pads, padding, &x));
    for (uint32_t tap = 0; tap < taps; tap++) {
        int32_t ranges[3 * MAX_RANK];
        uint32_t rest = tap;
        for (uint32_t i = 0; i < d.rank; i++) {
            bool spatial = i >= 1 && i <= w->n;
            uint32_t k = spatial ? i - 1 : 0, at = spatial ? rest % w->kernel[k] * w->dilation[k] : 0;
            rest = spatial ? rest / w->kernel[k] : rest;
            ranges[3 * i] = (int32_t)at;
            ranges[3 * i + 1] = (int32_t)(spatial ? at + (out[k] - 1) * w->stride[k] + 1 : d.dims[i]);
            ranges[3 * i + 2] = (int32_t)(spatial ? w->stride[k] : 1);
        }
        TRY(build_node(B, &(struct build_spec){.op = "StridedSlice", .name = onnx_name(cx, "tap"), BUILD_IN(x),
                                               .params = {BUILD_RANGES("ranges", d.rank, ranges)}}, &t));
        if (y == IR_NONE)
            y = t;
        else
            TRY(build_binary(B, op, onnx_name(cx, "taps"), y, t, &y));
    }
    *ret = y;
    return ST_OK;
}

/* ---- one dimension after the other ---------------------------------------------------------------------------------- */

/* The maximum along spatial dimension k of x, which is padded already. Positions that are `dilation` apart stand below each
 * other when the dimension is seen as rows of that length, so a plain window over rows finds all maxima, of which those at
 * multiples of the stride are wanted. */
static enum status max_along(struct onnx_cx *cx, uint32_t x, const struct onnx_window *w, uint32_t k, uint32_t out,
                             uint32_t *ret)
{
    struct tensor_desc d = *build_desc(B, x);
    uint32_t step = w->dilation[k], rows = d.dims[1 + k] / step, left = rows - w->kernel[k] + 1, before = 1, behind = step,
             channels = d.dims[d.rank - 1];
    int32_t ranges[3 * MAX_RANK];
    for (uint32_t i = 0; i + 1 < d.rank; i++) {
        before *= i < 1 + k ? d.dims[i] : 1;
        behind *= i > 1 + k ? d.dims[i] : 1;
    }
    TRY(build_reshape(B, onnx_name(cx, "rows"), x, 4, (const uint32_t[]){before, rows, behind, channels}, &x));
    TRY(build_node(B,
                   &(struct build_spec){ .op = "PoolMax2d",
                                         .name = onnx_name(cx, "along"),
                                         BUILD_IN(x),
                                         .params = { BUILD_U32S("filter_size", 2, ((uint32_t[]){ w->kernel[k], 1 })),
                                                     BUILD_U32S("stride", 2, ((uint32_t[]){ 1, 1 })),
                                                     BUILD_PAIRS("pad_amount", 2, ((uint32_t[4]){ 0 })) } },
                   &x));
    d.dims[1 + k] = left * step;
    TRY(build_reshape(B, onnx_name(cx, "starts"), x, d.rank, d.dims, &x));
    for (uint32_t i = 0; i < d.rank; i++) {
        ranges[3 * i] = 0;
        ranges[3 * i + 1] = (int32_t)(i == 1 + k ? (out - 1) * w->stride[k] + 1 : d.dims[i]);
        ranges[3 * i + 2] = (int32_t)(i == 1 + k ? w->stride[k] : 1);
    }
    return build_node(B,
                      &(struct build_spec){ .op = "StridedSlice",
                                            .name = onnx_name(cx, "strided"),
                                            BUILD_IN(x),
                                            .params = { BUILD_RANGES("ranges", d.rank, ranges) } },
                      ret);
}

static enum status max_by_dimension(struct onnx_cx *cx, uint32_t x, const struct onnx_window *w, double padding,
                                    uint32_t *ret)
{
    struct tensor_desc d = *build_desc(B, x);
    uint32_t pads[2 * MAX_RANK] = {0}, out[3], cut = 0;
    int32_t ranges[3 * MAX_RANK];
    for (uint32_t i = 0; i < d.rank; i++) {
        ranges[3 * i] = 0;
        ranges[3 * i + 1] = (int32_t)d.dims[i];
        ranges[3 * i + 2] = 1;
    }
    for (uint32_t k = 0; k < w->n; k++) {
        out[k] = out_size(w, k, d.dims[1 + k]);
        RETURN_IF(!out[k], ST_INVALID_OP, "the window is larger than the padded input");
        uint64_t reach = (uint64_t)(out[k] - 1) * w->stride[k] + (uint64_t)(w->kernel[k] - 1) * w->dilation[k] + 1;
        uint64_t whole = (reach + w->dilation[k] - 1) / w->dilation[k] * w->dilation[k],
                 have = (uint64_t)d.dims[1 + k] + w->pads[2 * k];
        REFUSE_WHEN(whole > INT32_MAX, "a window that reaches over %llu elements", (unsigned long long)whole);
        pads[2 + 2 * k] = w->pads[2 * k];
        pads[3 + 2 * k] = whole > have ? (uint32_t)(whole - have) : 0;
        ranges[3 * (1 + k) + 1] = (int32_t)(whole < have ? whole - w->pads[2 * k] : d.dims[1 + k]);
        cut |= whole < have;
        REFUSE_WHEN(whole <= w->pads[2 * k], "a window that sees only padding");
    }
    if (cut)
        TRY(build_node(B,
                       &(struct build_spec){ .op = "StridedSlice",
                                             .name = onnx_name(cx, "seen"),
                                             BUILD_IN(x),
                                             .params = { BUILD_RANGES("ranges", d.rank, ranges) } },
                       &x));
    TRY(pad_constant(cx, x, pads, padding, &x));
    for (uint32_t k = 0; k < w->n; k++)
        TRY(max_along(cx, x, w, k, out[k], &x));
    *ret = x;
    return ST_OK;
}

static uint64_t tap_count(const struct onnx_window *w)
{
    uint64_t taps = 1;
    for (uint32_t k = 0; k < w->n; k++)
        taps = taps <= TAPS_MAX ? taps * w->kernel[k] : taps;
    return taps;
}

/* ---- operators ---------------------------------------------------------------------------------------------------- */

static double lowest(enum dtype t)
{
    return dtype_is_float(t) ? (t == DT_F16 ? -65504.0 : -3.402823466e38) : (double)dtype_min(t);
}

static enum status convert_max_pool(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    struct onnx_window w;
    uint32_t x, y;
    if (onnx_wants(n, 1))
        return onnx_max_positions(cx, n);
    TRY(onnx_in(cx, n, 0, &v));
    TRY(pool_input(cx, n, v, &w, &x));
    if (!fits_pool(&w)) {
        REFUSE_WHEN(cx->fixed, "the window has dilation");
        double padding = lowest(build_desc(B, x)->type);
        TRY(tap_count(&w) > TAPS_FEW ? max_by_dimension(cx, x, &w, padding, &y)
                                     : by_slices(cx, x, &w, "ElementWiseMaximum", padding, &y));
        return pool_output(cx, n, v, y);
    }
    TRY(onnx_emit(
        cx,
        (struct build_spec){ .op = w.n == 3 ? "PoolMax3d" : "PoolMax2d",
                             .name = cx->label,
                             BUILD_IN(x),
                             .params = { BUILD_U32S("filter_size", w.n, w.kernel), BUILD_U32S("stride", w.n, w.stride),
                                         BUILD_PAIRS("pad_amount", w.n, w.pads), BUILD_U32("rounding_mode", w.ceil) } },
        &y));
    return pool_output(cx, n, v, y);
}

/* How many taps of each window count, as a constant of shape [1, spatial…, 1]. */
static enum status tap_counts(struct onnx_cx *cx, const struct onnx_window *w, const uint32_t *size, bool with_pad,
                              const uint32_t *out, uint32_t *ret)
{
    uint32_t dims[MAX_RANK] = {1}, rank = w->n + 2;
    uint64_t n = 1;
    dims[rank - 1] = 1;
    for (uint32_t k = 0; k < w->n; k++)
        REFUSE_WHEN(__builtin_mul_overflow(n, (uint64_t)(dims[1 + k] = out[k]), &n),
                    "the output has more elements than can be counted");
    TRY(onnx_charge(cx, "the sizes of windows", n, 2 * sizeof(float)));
    float *counts = arena_array(&cx->arena, float, n);
    RETURN_IF(!counts, ST_NO_MEMORY, "no memory for the sizes of windows");
    for (uint64_t i = 0; i < n; i++) {
        uint64_t rest = i;
        double count = 1;
        for (uint32_t k = w->n; k-- > 0;) {
            int64_t start = (int64_t)(rest % out[k]) * w->stride[k], lo = with_pad ? 0 : w->pads[2 * k],
                    hi = (int64_t)w->pads[2 * k] + size[k] + (with_pad ? w->pads[2 * k + 1] : 0), inside = 0;
            for (uint32_t t = 0; t < w->kernel[k]; t++)
                inside += start + (int64_t)t * w->dilation[k] >= lo && start + (int64_t)t * w->dilation[k] < hi;
            count *= (double)inside;
            rest /= out[k];
        }
        counts[i] = count > 0 ? (float)count : 1;
    }
    return build_const_f32(B, onnx_name(cx, "counts"), rank, dims, counts, ret);
}

static enum status average_by_slices(struct onnx_cx *cx, uint32_t x, const struct onnx_window *w, bool with_pad,
                                     uint32_t *ret)
{
    struct tensor_desc d = *build_desc(B, x);
    uint32_t y, counts;
    TRY(by_slices(cx, x, w, "ElementWiseAdd", 0, &y));
    uint32_t out[3];
    for (uint32_t k = 0; k < w->n; k++)
        out[k] = build_desc(B, y)->dims[1 + k];
    TRY(tap_counts(cx, w, d.dims + 1, with_pad, out, &counts));
    TRY(onnx_cast(cx, "counts_type", counts, d.type, &counts));
    return build_binary(B, "ElementWiseDivide", cx->label, y, counts, ret);
}

static enum status emit_average(struct onnx_cx *cx, uint32_t x, const struct onnx_window *w, bool with_pad, uint32_t *ret)
{
    return onnx_emit(
        cx,
        (struct build_spec){ .op = w->n == 3 ? "PoolAvg3d" : "PoolAvg2d",
                             .name = cx->label,
                             BUILD_IN(x),
                             .params = { BUILD_U32S("filter_size", w->n, w->kernel), BUILD_U32S("stride", w->n, w->stride),
                                         BUILD_PAIRS("pad_amount", w->n, w->pads), BUILD_B8("count_pad_for_edges", with_pad),
                                         BUILD_U32("rounding_mode", w->ceil) } },
        ret);
}

static enum status convert_average_pool(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    struct onnx_window w;
    uint32_t x, y;
    /* before opset 7 padding always counted */
    bool with_pad = onnx_attr_int(cx, n, "count_include_pad", cx->model.opset < 7);
    TRY(onnx_in(cx, n, 0, &v));
    TRY(pool_input(cx, n, v, &w, &x));
    if (fits_pool(&w)) {
        TRY(emit_average(cx, x, &w, with_pad, &y));
    } else {
        REFUSE_WHEN(cx->fixed, "the window has dilation");
        TRY(average_by_slices(cx, x, &w, with_pad, &y));
    }
    return pool_output(cx, n, v, y);
}

/* (sum |x|^p)^(1/p) of every window */
static enum status convert_lp_pool(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    struct onnx_window w;
    uint32_t x, y, k;
    const struct onnx_attr *attr = onnx_attr(cx, n, "p");
    double p = !attr ? 2 : attr->type == 1 || (!attr->i && attr->f != 0) ? attr->f : (double)attr->i;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(pool_input(cx, n, v, &w, &x));
    RETURN_IF(!(p > 0), ST_INVALID_OP, "\"p\" is %g; more than 0 is expected", p);
    if (p == 2 && fits_pool(&w) && w.n == 2 && !w.ceil) {
        TRY(build_node(
            B,
            &(struct build_spec){ .op = "L2Pool2d",
                                  .name = cx->label,
                                  BUILD_IN(x),
                                  .params = { BUILD_U32S("filter_size", 2, w.kernel), BUILD_U32S("stride", 2, w.stride),
                                              BUILD_PAIRS("pad_amount", 2, w.pads) } },
            &y));
        return pool_output(cx, n, v, y);
    }
    enum dtype type = build_desc(B, x)->type;
    TRY(build_unary(B, "ElementWiseAbs", onnx_name(cx, "abs"), x, &x));
    TRY(build_scalar(B, onnx_name(cx, "p"), type, p, &k));
    TRY(build_binary(B, "ElementWisePower", onnx_name(cx, "power"), x, k, &x));
    TRY(by_slices(cx, x, &w, "ElementWiseAdd", 0, &y));
    TRY(build_scalar(B, onnx_name(cx, "root"), type, 1 / p, &k));
    TRY(build_binary(B, "ElementWisePower", cx->label, y, k, &y));
    return pool_output(cx, n, v, y);
}

/* Over all spatial dimensions, which stay with size 1. */
static enum status convert_global(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, y, axes[MAX_RANK], k;
    double p = (double)onnx_attr_int(cx, n, "p", 2);
    TRY(onnx_in(cx, n, 0, &v));
    RETURN_IF(v->rank < 3, ST_INVALID_OP, "the input has rank %u; at least 3 is expected", v->rank);
    TRY(onnx_tensor(cx, v, v->perm, &x));
    for (uint32_t i = 2; i < v->rank; i++)
        axes[i - 2] = onnx_at(v->perm, v->rank, i);
    bool lp = !strcmp(n->op, "GlobalLpPool");
    enum dtype type = build_desc(B, x)->type;
    if (lp) {
        TRY(build_unary(B, "ElementWiseAbs", onnx_name(cx, "abs"), x, &x));
        TRY(build_scalar(B, onnx_name(cx, "p"), type, p, &k));
        TRY(build_binary(B, "ElementWisePower", onnx_name(cx, "power"), x, k, &x));
    }
    TRY(onnx_emit(cx,
                  (struct build_spec){ .op = onnx_row_arg(n),
                                       .name = cx->label,
                                       BUILD_IN(x),
                                       .params = { BUILD_U32S("axes", v->rank - 2u, axes), BUILD_B8("keep_dims", 1) } },
                  &y));
    if (lp) {
        TRY(build_scalar(B, onnx_name(cx, "root"), type, 1 / p, &k));
        TRY(build_binary(B, "ElementWisePower", onnx_name(cx, "rooted"), y, k, &y));
    }
    TRY(onnx_out(cx, n, 0, y, v->perm));
    if (!cx->fixed)
        onnx_out_type(cx, n, 0, v->type);
    return ST_OK;
}

const struct onnx_row onnx_rows_pool[] = {
    {"MaxPool", ONNX_SPATIAL | ONNX_FIXED, convert_max_pool, NULL},
    {"AveragePool", ONNX_SPATIAL | ONNX_FIXED, convert_average_pool, NULL},
    {"LpPool", ONNX_SPATIAL, convert_lp_pool, NULL},
    {"GlobalAveragePool", ONNX_SPATIAL | ONNX_FIXED, convert_global, "ReduceMean"},
    {"GlobalMaxPool", ONNX_SPATIAL | ONNX_FIXED, convert_global, "ReduceMax"},
    {"GlobalLpPool", ONNX_SPATIAL, convert_global, "ReduceSum"},
    {0},
};
