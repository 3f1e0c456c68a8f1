/* SPDX-License-Identifier: Apache-2.0 */
/* Resize and Upsample. Where QNN's Resize means the same, that is used; otherwise every resized axis is a product with a
 * constant matrix of interpolation weights, which is what resizing is. Rows of the matrix follow the text of the ONNX
 * operator. */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"

enum mode { NEAREST, LINEAR, CUBIC };
enum coordinates {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    HALF_PIXEL_SYMMETRIC,
    TF_CROP_AND_RESIZE,
    TF_HALF_PIXEL, /* of opsets 11 and 12: pixels lie half a step further on */
    COORDINATES_COUNT
};
static const char *const coordinate_names[] = { "half_pixel",          "pytorch_half_pixel",   "align_corners",
                                                "asymmetric",          "half_pixel_symmetric", "tf_crop_and_resize",
                                                "tf_half_pixel_for_nn" };
enum rounding { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, FLOOR, CEIL, ROUNDING_COUNT };
static const char *const rounding_names[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

struct resize {
    enum mode mode;
    enum coordinates coordinates;
    enum rounding rounding;
    double cubic, extrapolation;
    bool exclude_outside, antialias;
    double scale[MAX_RANK], start[MAX_RANK], end[MAX_RANK];
    uint32_t size[MAX_RANK];
};

static uint32_t find(const char *const *names, uint32_t n, const char *text)
{
    uint32_t i = 0;
    while (i < n && strcmp(names[i], text) != 0)
        i++;
    return i;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

static enum status read_modes(struct onnx_cx *cx, const struct onnx_node *n, struct resize *r)
{
    bool old = !strcmp(n->op, "Upsample") || cx->model.opset < 11;
    const char *mode = onnx_attr_text(cx, n, "mode", "nearest");
    const char *coordinates = onnx_attr_text(cx, n, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
    const char *rounding = onnx_attr_text(cx, n, "nearest_mode", old ? "floor" : "round_prefer_floor");
    r->mode = !strcmp(mode, "nearest") ? NEAREST : !strcmp(mode, "cubic") ? CUBIC : LINEAR;
    r->coordinates = find(coordinate_names, COORDINATES_COUNT, coordinates);
    r->rounding = find(rounding_names, ROUNDING_COUNT, rounding);
    REFUSE_WHEN(strcmp(mode, "nearest") && strcmp(mode, "linear") && strcmp(mode, "bilinear") && strcmp(mode, "cubic"),
                "\"mode\" is %s", mode);
    REFUSE_WHEN(r->coordinates == COORDINATES_COUNT, "\"coordinate_transformation_mode\" is %s", coordinates);
    REFUSE_WHEN(r->rounding == ROUNDING_COUNT, "\"nearest_mode\" is %s", rounding);
    if (r->coordinates == TF_HALF_PIXEL && r->mode == NEAREST && r->rounding == FLOOR) {
        r->coordinates = HALF_PIXEL; /* floor(x + 0.5) either way, and this one QNN has */
        r->rounding = ROUND_PREFER_CEIL;
    }
    r->cubic = onnx_attr_float(cx, n, "cubic_coeff_a", -0.75f);
    r->exclude_outside = onnx_attr_int(cx, n, "exclude_outside", 0);
    r->antialias = onnx_attr_int(cx, n, "antialias", 0);
    r->extrapolation = onnx_attr_float(cx, n, "extrapolation_value", 0);
    return ST_OK;
}

/* One number per named axis. */
static enum status read_list(struct onnx_cx *cx, const struct onnx_node *n, uint32_t input, const char *name, double **ret,
                             uint32_t *count)
{
    struct onnx_value *v;
    *count = 0;
    TRY(onnx_in_opt(cx, n, input, &v));
    if (!v || (onnx_is_const(v) && onnx_count(v) == 0))
        return ST_OK;
    return onnx_numbers(cx, v, name, ret, count);
}

static void keep_aspect(const char *policy, const struct onnx_value *v, const uint32_t *axes, uint32_t n, struct resize *r)
{
    double best = 0;
    if (!strcmp(policy, "stretch"))
        return;
    for (uint32_t i = 0; i < n; i++) {
        double s = r->scale[axes[i]];
        best = i == 0 ? s : !strcmp(policy, "not_larger") ? fmin(best, s) : fmax(best, s);
    }
    for (uint32_t i = 0; i < n; i++) {
        r->scale[axes[i]] = best;
        r->size[axes[i]] = (uint32_t)floor(best * v->dims[axes[i]] + 0.5);
    }
}

static enum status read_sizes(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *v, struct resize *r)
{
    const struct onnx_attr *a = onnx_attr(cx, n, "axes"), *old = onnx_attr(cx, n, "scales");
    bool upsample = !strcmp(n->op, "Upsample") || cx->model.opset < 11;
    double *scales = NULL, *sizes = NULL, *roi = NULL;
    uint32_t n_scales = 0, n_sizes = 0, n_roi = 0, axes[MAX_RANK], named = a ? a->n_ints : v->rank;
    RETURN_IF(named > v->rank, ST_INVALID_OP, "\"axes\" has %u entries for rank %u", named, v->rank);
    for (uint32_t i = 0; i < named; i++)
        TRY(onnx_axis(cx, a ? a->ints[i] : i, v->rank, &axes[i]));
    if (!old)
        TRY(read_list(cx, n, upsample ? 1 : 2, "scales", &scales, &n_scales));
    if (!upsample)
        TRY(read_list(cx, n, 3, "sizes", &sizes, &n_sizes));
    if (r->coordinates == TF_CROP_AND_RESIZE)
        TRY(read_list(cx, n, 1, "roi", &roi, &n_roi));
    if (old)
        n_scales = old->n_floats;
    RETURN_IF((n_scales && n_scales != named) || (n_sizes && n_sizes != named) || (!n_scales && !n_sizes) ||
                  (n_roi && n_roi != 2 * named),
              ST_INVALID_OP, "%u scales and %u sizes for %u axes", n_scales, n_sizes, named);
    for (uint32_t i = 0; i < v->rank; i++) {
        r->scale[i] = 1;
        r->start[i] = 0;
        r->end[i] = 1;
        r->size[i] = v->dims[i];
    }
    for (uint32_t i = 0; i < named; i++) {
        uint32_t k = axes[i];
        double scale = n_sizes ? sizes[i] / v->dims[k] : old ? old->floats[i] : scales[i];
        double size =
            n_sizes ? sizes[i] : floor(scale * v->dims[k] * (roi ? roi[named + i] - roi[i] : 1) + (n_scales ? 1e-9 : 0));
        REFUSE_WHEN(!(size >= 1) || size > (1 << 24), "dimension %u of the output would have %g elements", k, size);
        r->scale[k] = scale;
        r->size[k] = (uint32_t)size;
        r->start[k] = roi ? roi[i] : 0;
        r->end[k] = roi ? roi[named + i] : 1;
    }
    if (n_sizes)
        keep_aspect(onnx_attr_text(cx, n, "keep_aspect_ratio_policy", "stretch"), v, axes, named, r);
    return ST_OK;
}

/* ---- one node of QNN ---------------------------------------------------------------------------------------------- */

static bool qnn_has_it(const struct onnx_value *v, const struct resize *r)
{
    if (v->rank < 3 || v->rank > 5 || r->antialias || r->coordinates > ASYMMETRIC || r->size[0] != v->dims[0] ||
        r->size[1] != v->dims[1])
        return false;
    for (uint32_t i = 2; i < v->rank; i++)
        if (r->scale[i] * v->dims[i] != r->size[i])
            return false; /* QNN's ratio is that of the sizes */
    return v->type == DT_F32 || v->type == DT_F16;
}

static enum status resize_node(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value *v, const struct resize *r)
{
    uint8_t last[MAX_RANK];
    uint32_t x, y;
    struct tensor_desc d;
    perm_channel_last(last, v->rank);
    TRY(onnx_tensor(cx, v, last, &x));
    d = *build_desc(B, x);
    if (cx->fixed) {
        d.type = cx->fixed_out.type;
        d.q = cx->fixed_out.q;
    }
    for (uint32_t i = 2; i < v->rank; i++)
        d.dims[i - 1] = r->size[i];
    TRY(onnx_emit(cx,
                  (struct build_spec){
                      .op = "Resize",
                      .name = cx->label,
                      BUILD_IN(x),
                      .out = &d,
                      .params = { BUILD_B8("exclude_outside", r->exclude_outside),
                                  BUILD_U32("transformation_mode", r->coordinates), BUILD_U32("interpolation_mode", r->mode),
                                  BUILD_U32("nearest_mode", r->rounding), BUILD_F32("cubic_coeff", r->cubic) } },
                  &y));
    TRY(onnx_out(cx, n, 0, y, last));
    if (!cx->fixed)
        onnx_out_type(cx, n, 0, v->type);
    return ST_OK;
}

/* ---- a matrix per axis -------------------------------------------------------------------------------------------- */

static double source_position(const struct resize *r, uint32_t axis, uint32_t in, uint32_t i)
{
    double scale = r->scale[axis], out = r->size[axis], whole = scale * in;
    switch (r->coordinates) {
    case PYTORCH_HALF_PIXEL: return out > 1 ? (i + 0.5) / scale - 0.5 : 0;
    case ALIGN_CORNERS: return whole > 1 ? i * (in - 1.0) / (whole - 1) : 0;
    case ASYMMETRIC: return i / scale;
    case TF_HALF_PIXEL: return (i + 0.5) / scale;
    case HALF_PIXEL_SYMMETRIC: return in / 2.0 * (1 - out / whole) + (i + 0.5) / scale - 0.5;
    case TF_CROP_AND_RESIZE:
        return out > 1 ? r->start[axis] * (in - 1) + i * (r->end[axis] - r->start[axis]) * (in - 1) / (out - 1)
                       : 0.5 * (r->start[axis] + r->end[axis]) * (in - 1);
    default: return (i + 0.5) / scale - 0.5;
    }
}

static double cubic_weight(double x, double a)
{
    x = fabs(x);
    return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static int64_t nearest(const struct resize *r, double x)
{
    switch (r->rounding) {
    case ROUND_PREFER_CEIL: return (int64_t)floor(x + 0.5);
    case FLOOR: return (int64_t)floor(x);
    case CEIL: return (int64_t)ceil(x);
    default: return (int64_t)ceil(x - 0.5);
    }
}

/* Weights of one output position. Antialiasing stretches the filter when shrinking. */
static void weights(const struct resize *r, uint32_t axis, uint32_t in, uint32_t i, double *row)
{
    double x = source_position(r, axis, in, i), stretch = r->antialias && r->scale[axis] < 1 ? 1 / r->scale[axis] : 1,
           sum = 0;
    if (r->mode == NEAREST) {
        int64_t at = nearest(r, x);
        row[at < 0 ? 0 : at >= in ? in - 1 : at] = 1;
        return;
    }
    double reach = (r->mode == CUBIC ? 2 : 1) * stretch;
    for (int64_t k = (int64_t)floor(x - reach); k <= (int64_t)ceil(x + reach); k++) {
        double d = fabs((double)k - x) / stretch, w = r->mode == CUBIC ? cubic_weight(d, r->cubic) : d < 1 ? 1 - d : 0;
        bool outside = k < 0 || k >= in;
        if (outside && r->exclude_outside)
            continue;
        sum += w;
        row[k < 0 ? 0 : k >= in ? in - 1 : k] += w;
    }
    for (uint32_t k = 0; k < in && sum != 0 && (r->exclude_outside || r->antialias); k++)
        row[k] /= sum;
}

static enum status resize_axis(struct onnx_cx *cx, const struct resize *r, uint32_t axis, uint32_t *x)
{
    struct tensor_desc d = *build_desc(B, *x);
    uint32_t in = d.dims[axis], out = r->size[axis], w, dims[2] = {out, in};
    uint8_t to_end[MAX_RANK], back[MAX_RANK];
    REFUSE_WHEN((uint64_t)in * out > 1u << 24, "an axis of %u becomes one of %u elements", in, out);
    TRY(onnx_charge(cx, "the weights of an interpolation", (uint64_t)in * out, sizeof(float)));
    float *m = arena_array(&cx->b.g->arena, float, (size_t)in * out);
    double *row = arena_array(&cx->arena, double, in);
    RETURN_IF(!m || !row, ST_NO_MEMORY, "no memory for interpolation weights");
    for (uint32_t i = 0; i < out; i++) {
        memset(row, 0, in * sizeof(*row));
        weights(r, axis, in, i, row);
        for (uint32_t k = 0; k < in; k++)
            m[(size_t)i * in + k] = (float)row[k];
    }
    for (uint32_t i = 0; i < d.rank; i++)
        to_end[i] = (uint8_t)(i + 1 == d.rank ? axis : i < axis ? i : i + 1);
    perm_invert(to_end, d.rank, back);
    TRY(build_const_f32(B, onnx_name(cx, "weights"), 2, dims, m, &w));
    TRY(build_cast(B, onnx_name(cx, "weights_type"), w, d.type, &w));
    TRY(build_transpose(B, onnx_name(cx, "axis_last"), *x, to_end, x));
    bool flat = d.rank == 1;
    uint32_t row_shape[2] = {1, in}, flat_shape[1] = {out};
    if (flat)
        TRY(build_reshape(B, onnx_name(cx, "row"), *x, 2, row_shape, x));
    TRY(build_node(B,
                   &(struct build_spec){ .op = "MatMul",
                                         .name = onnx_name(cx, "interpolate"),
                                         BUILD_IN(*x, w),
                                         .params = { BUILD_B8("transpose_in1", 1) } },
                   x));
    if (flat)
        TRY(build_reshape(B, onnx_name(cx, "flat"), *x, 1, flat_shape, x));
    return build_transpose(B, onnx_name(cx, "axis_back"), *x, back, x);
}

static enum status gather_axis(struct onnx_cx *cx, const struct resize *r, uint32_t axis, uint32_t *x)
{
    uint32_t in = build_desc(B, *x)->dims[axis], out = r->size[axis], index;
    int32_t *at = arena_array(&cx->arena, int32_t, out);
    RETURN_IF(!at, ST_NO_MEMORY, "no memory for positions");
    for (uint32_t i = 0; i < out; i++) {
        int64_t k = nearest(r, source_position(r, axis, in, i));
        at[i] = (int32_t)(k < 0 ? 0 : k >= in ? in - 1 : k);
    }
    TRY(build_const_i32(B, onnx_name(cx, "positions"), out, at, &index));
    return build_node(
        B,
        &(struct build_spec){
            .op = "Gather", .name = onnx_name(cx, "nearest"), BUILD_IN(*x, index), .params = { BUILD_I32("axis", axis) } },
        x);
}

/* tf_crop_and_resize: what lies outside the image is one constant. */
static enum status outside(struct onnx_cx *cx, const struct resize *r, const struct onnx_value *v, uint32_t *x)
{
    for (uint32_t axis = 0; axis < v->rank; axis++) {
        uint32_t dims[MAX_RANK], mask, value;
        bool any = false;
        TRY(onnx_charge(cx, "a mask", r->size[axis], 1));
        uint8_t *out = arena_alloc(&cx->b.g->arena, r->size[axis]);
        RETURN_IF(!out, ST_NO_MEMORY, "no memory for a mask");
        for (uint32_t i = 0; i < r->size[axis]; i++) {
            double at = source_position(r, axis, v->dims[axis], i);
            any |= out[i] = at < 0 || at > v->dims[axis] - 1.0;
        }
        if (!any)
            continue;
        for (uint32_t i = 0; i < v->rank; i++)
            dims[i] = i == axis ? r->size[axis] : 1;
        struct tensor_desc d = {.type = DT_B8, .rank = v->rank};
        memcpy(d.dims, dims, sizeof(dims));
        TRY(build_const(B, onnx_name(cx, "outside"), &d, out, true, &mask));
        TRY(build_scalar(B, onnx_name(cx, "value"), onnx_inner_type(v->type), r->extrapolation, &value));
        TRY(build_node(
            B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "crop"), BUILD_IN(mask, value, *x) },
            x));
    }
    return ST_OK;
}

static enum status convert_resize(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    struct resize r = {0};
    uint32_t x;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(read_modes(cx, n, &r));
    TRY(read_sizes(cx, n, v, &r));
    if (qnn_has_it(v, &r))
        return resize_node(cx, n, v, &r);
    REFUSE_WHEN(cx->fixed, "several nodes");
    TRY(onnx_tensor(cx, v, NULL, &x));
    uint32_t before = x;
    for (uint32_t i = 0; i < v->rank; i++) {
        if (r.size[i] == v->dims[i] && r.scale[i] == 1 && r.start[i] == 0 && r.end[i] == 1)
            continue;
        TRY(r.mode == NEAREST ? gather_axis(cx, &r, i, &x) : resize_axis(cx, &r, i, &x));
    }
    if (r.coordinates == TF_CROP_AND_RESIZE)
        TRY(outside(cx, &r, v, &x));
    if (x == before)
        return onnx_out_view(cx, n, 0, v, NULL);
    TRY(onnx_out(cx, n, 0, x, NULL));
    onnx_out_type(cx, n, 0, v->type);
    return ST_OK;
}

const struct onnx_row onnx_rows_resize[] = {
    {"Resize", ONNX_SPATIAL | ONNX_FIXED, convert_resize, NULL},
    {"Upsample", ONNX_SPATIAL, convert_resize, NULL},
    {0},
};
