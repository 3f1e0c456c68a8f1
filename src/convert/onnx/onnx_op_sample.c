/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling between pixels that QNN has no operator for, made of its GridSample. Positions in pixels become those of a grid,
 * -1 … 1 from edge to edge, by (2 p + 1) / size - 1, which holds for every size.
 *
 *     cubic GridSample     16 pixels around the position, each fetched by a nearest GridSample, times weights that are
 *                          polynomials of the fraction
 *     DeformConv           one bilinear GridSample per tap of the window, times the mask; then a convolution of 1 x 1 with
 *                          the weights of all taps */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"

#define ADD "ElementWiseAdd"
#define SUB "ElementWiseSubtract"
#define MUL "ElementWiseMultiply"

static enum status step(struct onnx_cx *cx, const char *op, const char *suffix, uint32_t a, uint32_t b, uint32_t *ret)
{
    return build_binary(B, op, onnx_name(cx, suffix), a, b, ret);
}

/* a (op) vector, along the last dimension */
static enum status with_vector(struct onnx_cx *cx, const char *op, const char *suffix, uint32_t a, uint32_t n,
                               const float *v, uint32_t *ret)
{
    uint32_t k, dims[1] = {n};
    TRY(build_const_f32(B, onnx_name(cx, "vector"), 1, dims, v, &k));
    return step(cx, op, suffix, a, k, ret);
}

static enum status last_slice(struct onnx_cx *cx, uint32_t x, uint32_t from, uint32_t count, uint32_t *ret)
{
    const struct tensor_desc *d = build_desc(B, x);
    int32_t ranges[3 * MAX_RANK];
    for (uint32_t i = 0; i < d->rank; i++) {
        bool last = i + 1 == d->rank;
        ranges[3 * i] = last ? (int32_t)from : 0;
        ranges[3 * i + 1] = last ? (int32_t)(from + count) : (int32_t)d->dims[i];
        ranges[3 * i + 2] = 1;
    }
    return build_node(B,
                      &(struct build_spec){ .op = "StridedSlice",
                                            .name = onnx_name(cx, "part"),
                                            BUILD_IN(x),
                                            .params = { BUILD_RANGES("ranges", d->rank, ranges) } },
                      ret);
}

static enum status sample(struct onnx_cx *cx, uint32_t x, uint32_t grid, bool nearest, uint32_t padding, uint32_t *ret)
{
    return build_node(B,
                      &(struct build_spec){ .op = "GridSample",
                                            .name = onnx_name(cx, "sample"),
                                            BUILD_IN(x, grid),
                                            .params = { BUILD_B8("align_corners", 0), BUILD_U32("mode", nearest),
                                                        BUILD_U32("padding_mode", padding) } },
                      ret);
}

/* ---- cubic -------------------------------------------------------------------------------------------------------- */

/* The weight of tap i = 0 … 3 as a polynomial of the fraction, with the usual a = -0.75. */
static const float cubic[4][4] = { { 0, -0.75f, 1.5f, -0.75f },
                                   { 1, 0, -2.25f, 1.25f },
                                   { 0, 0.75f, 1.5f, -1.25f },
                                   { 0, 0, -0.75f, 0.75f } };

static enum status tap_weight(struct onnx_cx *cx, uint32_t t, const float *c, uint32_t *ret)
{
    uint32_t y;
    TRY(with_vector(cx, MUL, "cubic", t, 1, &c[3], &y));
    for (unsigned k = 3; k-- > 0;) {
        TRY(with_vector(cx, ADD, "cubic", y, 1, &c[k], &y));
        if (k)
            TRY(step(cx, MUL, "cubic", y, t, &y));
    }
    *ret = y;
    return ST_OK;
}

/* From the grid to the positions in pixels. */
static enum status pixels(struct onnx_cx *cx, uint32_t grid, const uint32_t *size, bool corners, uint32_t *ret)
{
    float scale[2], shift[2];
    for (unsigned i = 0; i < 2; i++) { /* x, y */
        scale[i] = corners ? (float)(size[i] - 1) / 2 : (float)size[i] / 2;
        shift[i] = corners ? scale[i] : scale[i] - 0.5f;
    }
    TRY(with_vector(cx, MUL, "pixels", grid, 2, scale, ret));
    return with_vector(cx, ADD, "pixels", *ret, 2, shift, ret);
}

enum status onnx_cubic_sample(struct onnx_cx *cx, uint32_t x, uint32_t grid, bool corners, uint32_t padding, uint32_t *ret)
{
    const struct tensor_desc *d = build_desc(B, x);
    REFUSE_WHEN(d->rank != 4 || d->type != DT_F32, "\"mode\" is cubic for rank %u; float images of rank 4 are supported",
                d->rank);
    REFUSE_WHEN(padding > 1, "\"padding_mode\" is reflection with cubic sampling; zeros and border are supported");
    uint32_t size[2] = {d->dims[2], d->dims[1]}, at, whole, t, weight[2][4], y = IR_NONE;
    float scale[2] = {2.0f / (float)size[0], 2.0f / (float)size[1]};
    TRY(pixels(cx, grid, size, corners, &at));
    TRY(build_unary(B, "ElementWiseFloor", onnx_name(cx, "whole"), at, &whole));
    TRY(step(cx, SUB, "fraction", at, whole, &t));
    for (unsigned i = 0; i < 8; i++) {
        uint32_t f;
        TRY(last_slice(cx, t, i / 4, 1, &f));
        TRY(tap_weight(cx, f, cubic[i % 4], &weight[i / 4][i % 4]));
    }
    for (int i = 0; i < 16; i++) {
        float shift[2];
        uint32_t g, s;
        for (int k = 0; k < 2; k++)
            shift[k] = (2 * (float)((k ? i / 4 : i % 4) - 1) + 1) / (float)size[k] - 1;
        TRY(with_vector(cx, MUL, "tap", whole, 2, scale, &g));
        TRY(with_vector(cx, ADD, "tap", g, 2, shift, &g));
        TRY(sample(cx, x, g, true, padding, &s));
        TRY(step(cx, MUL, "weighted", s, weight[0][i % 4], &s));
        TRY(step(cx, MUL, "weighted", s, weight[1][i / 4], &s));
        if (y == IR_NONE)
            y = s;
        else
            TRY(step(cx, ADD, "taps", y, s, &y));
    }
    *ret = y;
    return ST_OK;
}

/* ---- deformable convolution --------------------------------------------------------------------------------------- */

struct deform {
    struct onnx_value *x, *w, *offset, *bias, *mask;
    struct onnx_window win;
    uint32_t groups, parts; /* of the weights, of the offsets */
    uint32_t taps, height, width, channels; /* of the output; channels of one part */
};

static enum status deform_read(struct onnx_cx *cx, const struct onnx_node *n, struct deform *f)
{
    TRY(onnx_in(cx, n, 0, &f->x));
    TRY(onnx_in(cx, n, 1, &f->w));
    TRY(onnx_in(cx, n, 2, &f->offset));
    TRY(onnx_in_opt(cx, n, 3, &f->bias));
    TRY(onnx_in_opt(cx, n, 4, &f->mask));
    REFUSE_WHEN(f->x->rank != 4 || f->w->rank != 4 || f->offset->rank != 4 || onnx_inner_type(f->x->type) != DT_F32,
                "float images of rank 4 are supported");
    REFUSE_WHEN(!onnx_is_const(f->w) || f->w->view,
                "the weights are computed at run time; they must be constants of the model");
    TRY(onnx_window(cx, n, f->x, f->w->dims + 2, &f->win));
    int64_t groups = onnx_attr_int(cx, n, "group", 1), parts = onnx_attr_int(cx, n, "offset_group", 1);
    f->taps = f->win.kernel[0] * f->win.kernel[1];
    REFUSE_WHEN(parts < 1 || groups < 1 || f->x->dims[1] % parts || f->w->dims[0] % groups ||
                    f->w->dims[1] * (uint64_t)groups != f->x->dims[1],
                "%lld groups and %lld groups of offsets for %u channels", (long long)groups, (long long)parts,
                f->x->dims[1]);
    REFUSE_WHEN(f->win.kernel[0] > 512 || f->win.kernel[1] > 512 || f->taps == 0 || f->taps * (uint64_t)parts > 512,
                "%llu taps; at most 512 are supported", (unsigned long long)(f->taps * (uint64_t)parts));
    f->groups = (uint32_t)groups;
    f->parts = (uint32_t)parts;
    f->channels = f->x->dims[1] / f->parts;
    f->height = f->offset->dims[2];
    f->width = f->offset->dims[3];
    REFUSE_WHEN(onnx_count(f->offset) > 1u << 28, "%llu offsets", (unsigned long long)onnx_count(f->offset));
    RETURN_IF(f->offset->dims[1] != 2 * f->taps * f->parts, ST_INVALID_OP, "the offsets have %u channels; %u are expected",
              f->offset->dims[1], 2 * f->taps * f->parts);
    return ST_OK;
}

/* Offsets (y, x) of every part and tap -> positions (x, y) on the grid, [n, height, width, 2 per part and tap]. */
static enum status deform_grid(struct onnx_cx *cx, const struct deform *f, uint32_t *ret)
{
    uint32_t n = 2 * f->taps * f->parts, order, base;
    struct tensor_desc d = {.type = DT_F32, .rank = 4, .dims = {1, f->height, f->width, n}};
    TRY(desc_check(&d, "positions"));
    TRY(onnx_charge(cx, "positions", desc_count(&d), sizeof(float)));
    int32_t *swap = arena_array(&cx->arena, int32_t, n);
    float *scale = arena_array(&cx->arena, float, n), *at = arena_array(&cx->b.g->arena, float, desc_count(&d));
    static const uint8_t last[4] = {0, 2, 3, 1};
    RETURN_IF(!swap || !scale || !at, ST_NO_MEMORY, "no memory for positions");
    for (uint64_t i = 0; i < desc_count(&d); i++) {
        uint32_t c = (uint32_t)(i % n), y = (uint32_t)(i / n / f->width), x = (uint32_t)(i / n % f->width),
                 tap = c / 2 % f->taps;
        bool vertical = c & 1;
        uint32_t k = vertical ? tap / f->win.kernel[1] : tap % f->win.kernel[1], axis = !vertical;
        double p =
            (double)(vertical ? y : x) * f->win.stride[axis] - f->win.pads[2 * axis] + (double)k * f->win.dilation[axis];
        at[i] = (float)((2 * p + 1) / f->x->dims[2 + axis] - 1);
        swap[c] = (int32_t)(c ^ 1);
        scale[c] = 2.0f / (float)f->x->dims[2 + axis];
    }
    TRY(onnx_tensor(cx, f->offset, last, ret));
    TRY(build_const_i32(B, onnx_name(cx, "order"), n, swap, &order));
    TRY(build_node(
        B,
        &(struct build_spec){
            .op = "Gather", .name = onnx_name(cx, "pairs"), BUILD_IN(*ret, order), .params = { BUILD_I32("axis", 3) } },
        ret));
    TRY(with_vector(cx, MUL, "scaled", *ret, n, scale, ret));
    TRY(build_const(B, onnx_name(cx, "base"), &d, at, true, &base));
    return step(cx, ADD, "grid", *ret, base, ret);
}

/* [1, 1, part and tap and channel, out] */
static enum status deform_weights(struct onnx_cx *cx, const struct deform *f, uint32_t *ret)
{
    uint32_t out = f->w->dims[0], in = f->w->dims[1];
    struct tensor_desc d = {.type = DT_F32, .rank = 4, .dims = {1, 1, f->parts * f->taps * f->channels, out}};
    float *w = arena_array(&cx->b.g->arena, float, desc_count(&d));
    RETURN_IF(!w, ST_NO_MEMORY, "no memory for weights");
    for (uint64_t i = 0; i < (uint64_t)out * in * f->taps; i++) {
        uint32_t tap = (uint32_t)(i % f->taps), o = (uint32_t)(i / f->taps / in);
        uint32_t c = o / (out / f->groups) * in + (uint32_t)(i / f->taps % in); /* of the input */
        uint64_t row = ((uint64_t)(c / f->channels) * f->taps + tap) * f->channels + c % f->channels;
        w[row * out + o] = (float)number_get(f->w->stored, f->w->data, i);
    }
    return build_const(B, onnx_name(cx, "weights"), &d, w, true, ret);
}

static enum status convert_deform(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const uint8_t last[4] = {0, 2, 3, 1};
    struct deform f;
    uint32_t x, grid, mask = IR_NONE, w, bias = IR_NONE, y, t[512];
    TRY(deform_read(cx, n, &f));
    TRY(onnx_tensor(cx, f.x, last, &x));
    TRY(deform_grid(cx, &f, &grid));
    if (f.mask)
        TRY(onnx_tensor(cx, f.mask, last, &mask));
    for (uint32_t i = 0; i < f.parts * f.taps; i++) {
        uint32_t part = x, g, m;
        if (f.parts > 1)
            TRY(last_slice(cx, x, i / f.taps * f.channels, f.channels, &part));
        TRY(last_slice(cx, grid, 2 * i, 2, &g));
        TRY(sample(cx, part, g, false, 0, &t[i]));
        if (mask == IR_NONE)
            continue;
        TRY(last_slice(cx, mask, i, 1, &m));
        TRY(step(cx, MUL, "masked", t[i], m, &t[i]));
    }
    y = t[0];
    for (uint32_t from = 1; from < f.parts * f.taps; from += MAX_PORTS - 1) {
        uint32_t in[MAX_PORTS] = {y}, count = f.parts * f.taps - from;
        count = count < MAX_PORTS - 1 ? count : MAX_PORTS - 1;
        memcpy(in + 1, t + from, count * sizeof(*t));
        TRY(build_node(B,
                       &(struct build_spec){ .op = "Concat",
                                             .name = onnx_name(cx, "taps"),
                                             .in = in,
                                             .n_in = count + 1,
                                             .params = { BUILD_U32("axis", 3) } },
                       &y));
    }
    TRY(deform_weights(cx, &f, &w));
    if (f.bias)
        TRY(onnx_tensor(cx, f.bias, NULL, &bias));
    static const uint32_t one[2] = {1, 1}, none[4];
    TRY(build_node(B,
                   &(struct build_spec){ .op = "Conv2d",
                                         .name = cx->label,
                                         BUILD_IN(y, w, bias),
                                         .params = { BUILD_U32S("stride", 2, one), BUILD_PAIRS("pad_amount", 2, none),
                                                     BUILD_U32("group", 1) } },
                   &y));
    return onnx_out_last(cx, n, 0, y);
}

const struct onnx_row onnx_rows_sample[] = {{"DeformConv", ONNX_SPATIAL, convert_deform, NULL}, {0}};
