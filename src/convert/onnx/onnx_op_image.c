/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of images, patches, and spectra. */
#include <string.h>

#include "convert/onnx/onnx.h"

static enum status convert_grid_sample(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const char *const modes[] = {"bilinear", "nearest"}, *const pads[] = {"zeros", "border", "reflection"};
    const char *mode = onnx_attr_text(cx, n, "mode", "bilinear"), *pad = onnx_attr_text(cx, n, "padding_mode", "zeros");
    uint32_t x, grid, y, m, p = 0;
    m = !strcmp(mode, modes[0]) || !strcmp(mode, "linear") ? 0 : !strcmp(mode, modes[1]) ? 1 : 2;
    REFUSE_WHEN(m == 2 && strcmp(mode, "bicubic") != 0 && strcmp(mode, "cubic") != 0,
                "\"mode\" is %s; bilinear, bicubic and nearest are known", mode);
    while (p < 3 && strcmp(pads[p], pad) != 0)
        p++;
    REFUSE_WHEN(p == 3, "\"padding_mode\" is %s; zeros, border and reflection are known", pad);
    TRY(onnx_in_last(cx, n, 0, &x));
    TRY(onnx_in_tensor(cx, n, 1, &grid));
    if (m == 2) {
        TRY(onnx_cubic_sample(cx, x, grid, onnx_attr_int(cx, n, "align_corners", 0), p, &y));
        return onnx_out_last(cx, n, 0, y);
    }
    TRY(build_node(B,
                   &(struct build_spec){ .op = "GridSample",
                                         .name = cx->label,
                                         BUILD_IN(x, grid),
                                         .params = { BUILD_B8("align_corners", onnx_attr_int(cx, n, "align_corners", 0)),
                                                     BUILD_U32("mode", m), BUILD_U32("padding_mode", p) } },
                   &y));
    return onnx_out_last(cx, n, 0, y);
}

static enum status convert_roi_align(struct onnx_cx *cx, const struct onnx_node *n)
{
    const char *mode = onnx_attr_text(cx, n, "mode", "avg");
    const char *where =
        onnx_attr_text(cx, n, "coordinate_transformation_mode", cx->model.opset < 16 ? "output_half_pixel" : "half_pixel");
    float scale = onnx_attr_float(cx, n, "spatial_scale", 1);
    int64_t samples = onnx_attr_int(cx, n, "sampling_ratio", 0);
    uint32_t x, rois, index, y;
    REFUSE_WHEN(strcmp(mode, "avg") != 0, "\"mode\" is %s; QNN's RoiAlign averages", mode);
    RETURN_IF(!(scale > 0), ST_INVALID_OP, "\"spatial_scale\" is %g", (double)scale);
    TRY(onnx_in_last(cx, n, 0, &x));
    TRY(onnx_in_tensor(cx, n, 1, &rois));
    TRY(onnx_in_tensor(cx, n, 2, &index));
    TRY(onnx_cast(cx, "batch", index, DT_I32, &index));
    struct tensor_desc d = *build_desc(B, x);
    d.dims[0] = build_desc(B, rois)->dims[0];
    d.dims[1] = (uint32_t)onnx_attr_int(cx, n, "output_height", 1);
    d.dims[2] = (uint32_t)onnx_attr_int(cx, n, "output_width", 1);
    float ratio[2] = {1 / scale, 1 / scale};
    TRY(build_node(B,
                   &(struct build_spec){ .op = "RoiAlign",
                                         .name = cx->label,
                                         BUILD_IN(x, rois, index),
                                         .out = &d,
                                         .params = { BUILD_F32S("img_size_ratio", 2, ratio),
                                                     BUILD_I32("num_samples_y", samples ? samples : -1),
                                                     BUILD_I32("num_samples_x", samples ? samples : -1),
                                                     BUILD_B8("aligned", !strcmp(where, "half_pixel")),
                                                     BUILD_B8("allow_invalid_roi", 1) } },
                   &y));
    return onnx_out_last(cx, n, 0, y);
}

static enum status two_numbers(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, const char *name, uint32_t *ret)
{
    struct onnx_value *v;
    int64_t *list;
    uint32_t k;
    TRY(onnx_in(cx, n, i, &v));
    TRY(onnx_ints(cx, v, name, &list, &k));
    RETURN_IF(k != 2, ST_INVALID_OP, "\"%s\" has %u entries; two are expected", name, k);
    for (k = 0; k < 2; k++) {
        RETURN_IF(list[k] < 1 || list[k] > INT32_MAX, ST_INVALID_OP, "\"%s\" has entry %lld", name, (long long)list[k]);
        ret[k] = (uint32_t)list[k];
    }
    return ST_OK;
}

/* In three dimensions: every column is spread by a transposed convolution whose filter for entry t of the block is 1
 * at t. */
static enum status col2im_3d(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value *v, const int64_t *image,
                             const int64_t *block)
{
    static const uint8_t last[3] = {0, 2, 1};
    uint32_t dilation[3], stride[3], pads[6], around[6], x, w, y, count = 1, taps = 1, dims[5] = {v->dims[0]};
    TRY(onnx_attr_list(cx, n, "dilations", 3, 1, dilation));
    TRY(onnx_attr_list(cx, n, "strides", 3, 1, stride));
    TRY(onnx_attr_list(cx, n, "pads", 6, 0, pads));
    for (uint32_t k = 0; k < 3; k++) {
        int64_t span = (block[k] - 1) * dilation[k] + 1, room = image[k] + pads[k] + pads[3 + k] - span;
        RETURN_IF(image[k] < 1 || image[k] > INT32_MAX || block[k] < 1 || block[k] > 256 || room < 0, ST_INVALID_OP,
                  "blocks do not fit the image");
        REFUSE_WHEN(room % stride[k], "dimension %u of the image is not covered by whole steps", k);
        around[2 * k] = pads[k];
        around[2 * k + 1] = pads[3 + k];
        dims[1 + k] = (uint32_t)(room / stride[k]) + 1;
        count *= dims[1 + k];
        taps *= (uint32_t)block[k];
    }
    RETURN_IF(v->rank != 3 || v->dims[2] != count || v->dims[1] % taps, ST_INVALID_OP, "%u columns; %u are expected",
              v->rank == 3 ? v->dims[2] : 0, count);
    uint32_t channels = v->dims[1] / taps;
    REFUSE_WHEN((uint64_t)taps * taps * channels > 1u << 26, "blocks of %u elements", taps);
    struct tensor_desc d = { .type = DT_F32,
                             .rank = 5,
                             .dims = { (uint32_t)block[0], (uint32_t)block[1], (uint32_t)block[2], channels * taps, 1 } };
    TRY(onnx_charge(cx, "filters", desc_count(&d), sizeof(float)));
    float *one = arena_array(&cx->b.g->arena, float, desc_count(&d));
    RETURN_IF(!one, ST_NO_MEMORY, "no memory for filters");
    for (uint32_t t = 0; t < taps; t++)
        for (uint32_t c = 0; c < channels; c++)
            one[((uint64_t)t * channels + c) * taps + t] = 1;
    dims[4] = v->dims[1];
    TRY(onnx_tensor(cx, v, last, &x));
    TRY(build_reshape(B, onnx_name(cx, "columns"), x, 5, dims, &x));
    TRY(build_const(B, onnx_name(cx, "spread"), &d, one, true, &w));
    TRY(build_node(B,
                   &(struct build_spec){ .op = "TransposeConv3d",
                                         .name = cx->label,
                                         BUILD_IN(x, w),
                                         .params = { BUILD_U32S("stride", 3, stride), BUILD_PAIRS("pad_amount", 3, around),
                                                     BUILD_U32("group", channels), BUILD_U32S("dilation", 3, dilation) } },
                   &y));
    return onnx_out_last(cx, n, 0, y);
}

static enum status convert_col2im(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *size, *window;
    uint32_t x, y, image[2], block[2], dilation[2], stride[2], pads[4], around[4], k[2];
    int64_t *sizes, *blocks;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &size));
    TRY(onnx_in(cx, n, 2, &window));
    TRY(onnx_ints(cx, size, "image_shape", &sizes, &k[0]));
    TRY(onnx_ints(cx, window, "block_shape", &blocks, &k[1]));
    if (k[0] == 3 && k[1] == 3)
        return col2im_3d(cx, n, v, sizes, blocks);
    REFUSE_WHEN(k[0] != 2 || k[1] != 2, "\"image_shape\" has %u entries; two or three are supported", k[0]);
    TRY(two_numbers(cx, n, 1, "image_shape", image));
    TRY(two_numbers(cx, n, 2, "block_shape", block));
    TRY(onnx_attr_list(cx, n, "dilations", 2, 1, dilation));
    TRY(onnx_attr_list(cx, n, "strides", 2, 1, stride));
    TRY(onnx_attr_list(cx, n, "pads", 4, 0, pads));
    RETURN_IF(v->rank != 3, ST_INVALID_OP, "the input has rank %u; 3 is expected", v->rank);
    around[0] = pads[0];
    around[1] = pads[2];
    around[2] = pads[1];
    around[3] = pads[3];
    TRY(onnx_tensor(cx, v, NULL, &x));
    struct tensor_desc d = { .type = build_desc(B, x)->type,
                             .rank = 4,
                             .dims = { v->dims[0], image[0], image[1], v->dims[1] / ((uint64_t)block[0] * block[1]) } };
    TRY(build_node(
        B,
        &(struct build_spec){ .op = "Col2Im",
                              .name = cx->label,
                              BUILD_IN(x),
                              .out = &d,
                              .params = { BUILD_U32S("kernel_size", 2, block), BUILD_U32S("stride", 2, stride),
                                          BUILD_PAIRS("pad_amount", 2, around), BUILD_U32S("dilation", 2, dilation) } },
        &y));
    return onnx_out_last(cx, n, 0, y);
}

/* Every position of the output, turned by theta: base [positions, d + 1] times theta [batch, d, d + 1] transposed. */
static enum status convert_affine_grid(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *s;
    int64_t *size;
    uint32_t k, theta, base, y, d;
    bool corners = onnx_attr_int(cx, n, "align_corners", 0);
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &s));
    TRY(onnx_ints(cx, s, "size", &size, &k));
    RETURN_IF(k != 4 && k != 5, ST_INVALID_OP, "\"size\" has %u entries; 4 or 5 are expected", k);
    d = k - 2;
    uint64_t count = 1;
    for (uint32_t i = 0; i < k; i++)
        REFUSE_WHEN(size[i] < 1 || size[i] > 1 << 16 || (i >= 2 && (count *= (uint64_t)size[i]) > 1u << 24),
                    "\"size\" has entry %lld", (long long)size[i]);
    TRY(onnx_charge(cx, "positions", count * (d + 1), sizeof(float)));
    float *at = arena_array(&cx->b.g->arena, float, count * (d + 1));
    RETURN_IF(!at, ST_NO_MEMORY, "no memory for positions");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t rest = i;
        for (uint32_t j = 0; j < d; j++) { /* x comes first and moves fastest */
            double m = (double)size[k - 1 - j], p = (double)(rest % (uint64_t)m);
            rest /= (uint64_t)m;
            at[i * (d + 1) + j] = (float)(corners ? (m > 1 ? -1 + 2 * p / (m - 1) : 0) : -1 + (2 * p + 1) / m);
        }
        at[i * (d + 1) + d] = 1;
    }
    uint32_t base_dims[3] = {1, (uint32_t)count, d + 1}, dims[MAX_RANK] = {(uint32_t)size[0]};
    TRY(onnx_tensor(cx, v, NULL, &theta));
    TRY(build_const_f32(B, onnx_name(cx, "base"), 3, base_dims, at, &base));
    TRY(onnx_cast(cx, "base_type", base, build_desc(B, theta)->type, &base));
    TRY(build_node(
        B,
        &(struct build_spec){
            .op = "MatMul", .name = cx->label, BUILD_IN(base, theta), .params = { BUILD_B8("transpose_in1", 1) } },
        &y));
    for (uint32_t i = 0; i < d; i++)
        dims[1 + i] = (uint32_t)size[2 + i];
    dims[1 + d] = d;
    TRY(build_reshape(B, onnx_name(cx, "grid"), y, d + 2, dims, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

static enum status one_number(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, const char *name, int64_t *ret)
{
    struct onnx_value *v;
    int64_t *list;
    uint32_t k;
    TRY(onnx_in_opt(cx, n, i, &v));
    if (!v)
        return ST_OK;
    TRY(onnx_ints(cx, v, name, &list, &k));
    RETURN_IF(k != 1 || list[0] < 1 || list[0] > INT32_MAX, ST_INVALID_OP, "\"%s\" is not one positive number", name);
    *ret = list[0];
    return ST_OK;
}

static enum status convert_stft(struct onnx_cx *cx, const struct onnx_node *n)
{
    int64_t step = 0, length = 0;
    uint32_t x, window, y;
    TRY(onnx_in_tensor(cx, n, 0, &x));
    TRY(one_number(cx, n, 1, "frame_step", &step));
    TRY(onnx_in_tensor_opt(cx, n, 2, &window));
    TRY(one_number(cx, n, 3, "frame_length", &length));
    struct build_spec s = { .op = "Stft",
                            .name = cx->label,
                            BUILD_IN(x, window),
                            .params = { BUILD_U32("frame_step", step),
                                        BUILD_B8("onesided", onnx_attr_int(cx, n, "onesided", 1)),
                                        BUILD_U32("frame_length", length) } };
    if (!length)
        s.params[2].name = NULL;
    TRY(build_node(B, &s, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

/* Batch, class and box of what is selected. How many there are depends on the data: the graph has room for the most that can
 * be, and fills up with -1. */
static enum status convert_nms(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const char *const names[] = {"max_output_boxes_per_class", "iou_threshold", "score_threshold"};
    struct onnx_value *boxes, *scores, *v;
    double p[3] = {0, 0, -3.402823466e38}, *list;
    uint32_t b, s, y, k;
    TRY(onnx_in(cx, n, 0, &boxes));
    TRY(onnx_in(cx, n, 1, &scores));
    for (uint32_t i = 0; i < 3; i++) {
        TRY(onnx_in_opt(cx, n, 2 + i, &v));
        if (!v)
            continue;
        TRY(onnx_numbers(cx, v, names[i], &list, &k));
        RETURN_IF(k != 1, ST_INVALID_OP, "\"%s\" has %u entries; one is expected", names[i], k);
        p[i] = list[0];
    }
    RETURN_IF(boxes->rank != 3 || scores->rank != 3, ST_INVALID_OP, "boxes of rank %u and scores of rank %u; 3 is expected",
              boxes->rank, scores->rank);
    double each = p[0] < boxes->dims[1] ? p[0] : boxes->dims[1], rows = each * scores->dims[0] * scores->dims[1];
    REFUSE_WHEN(!(rows >= 1 && rows <= 1 << 24),
                "\"max_output_boxes_per_class\" is %g: nothing can be selected, or too much", p[0]);
    TRY(onnx_tensor(cx, boxes, NULL, &b));
    TRY(onnx_tensor(cx, scores, NULL, &s));
    struct tensor_desc d = {.type = DT_I32, .rank = 2, .dims = {(uint32_t)rows, 3}};
    TRY(build_node(B,
                   &(struct build_spec){
                       .op = "NonMaxSuppression",
                       .name = cx->label,
                       BUILD_IN(b, s),
                       .out = &d,
                       .params = { BUILD_F32("iou_threshold", p[1]), BUILD_F32("score_threshold", p[2]),
                                   BUILD_U32("max_boxes_selected", each),
                                   BUILD_U32("center_point_box", onnx_attr_int(cx, n, "center_point_box", 0) != 0) } },
                   &y));
    TRY(onnx_cast(cx, "index", y, DT_I64, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

const struct onnx_row onnx_rows_image[] = {
    {"NonMaxSuppression", ONNX_RETYPES, convert_nms, NULL},
    {"GridSample", ONNX_SPATIAL, convert_grid_sample, NULL},
    {"RoiAlign", ONNX_SPATIAL, convert_roi_align, NULL},
    {"Col2Im", 0, convert_col2im, NULL},
    {"AffineGrid", 0, convert_affine_grid, NULL},
    {"STFT", 0, convert_stft, NULL},
    {0},
};
