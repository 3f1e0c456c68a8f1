/* SPDX-License-Identifier: Apache-2.0 */
/* table: images: resizing, sampling, colour and patches. */
#include "ops/op_table.h"

#define IMAGE .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)}
#define T_PIXEL (T_REAL | T_(DT_U8))
#define PATCH_PARAMS                                                                                                  \
    .params = {P_U32("kernel_size", REQ, DIMS1(2), AS("[height, width]")), P_U32("stride", DIMS1(2), DEFAULT(1), AS("[height, width]")), \
               P_U32("pad_amount", DIMS2(2, 2), DEFAULT(0), AS("[[top, bottom], [left, right]]")),                     \
               P_U32("dilation", DIMS1(2), DEFAULT(1), AS("[height, width]"))}

OP_ROW(ResizeBilinear, IMAGE,
       .params = {P_B8("align_corners", DEFAULT(0)), P_B8("half_pixel_centers", DEFAULT(0)), P_B8("antialias", DEFAULT(0))},
       .infer = rule_resize_2d)
OP_ROW(ResizeNearestNeighbor, .in = {IN("in", T_ANY)}, .out = {OUT("out", T_ANY)},
       .params = {P_B8("align_corners", DEFAULT(0)), P_B8("half_pixel_centers", DEFAULT(0))}, .infer = rule_resize_2d)
OP_ROW(Resize, IMAGE,
       .params = {P_B8("exclude_outside", DEFAULT(0)), P_U32("transformation_mode", DEFAULT(0), LIMIT(4)),
                  P_U32("interpolation_mode", DEFAULT(0), LIMIT(3)), P_U32("nearest_mode", DEFAULT(0), LIMIT(4)),
                  P_F32("cubic_coeff", DEFAULT(-0.75))},
       .infer = rule_resize)
OP_ROW(CropAndResize, .in = {IN("in", T_REAL), IN("boxes", T_REAL), IN("batch_index", T_INDEX)}, .out = {OUT("out", T_REAL)},
       .params = {P_U32("resize_dims", REQ, DIMS1(2), AS("[height, width]")), P_U32("interpolation_mode", DEFAULT(0), LIMIT(2)),
                  P_F32("extrapolation_value", DEFAULT(0))},
       .infer = rule_crop_and_resize)
OP_ROW(RoiAlign, .in = {IN("in", T_REAL), IN("rois", T_REAL), IN("batch_index", T_INDEX)}, .out = {OUT("out", T_REAL)},
       .params = {P_F32("img_size_ratio", REQ, DIMS1(2), AS("[height, width]")), P_I32("num_samples_y", DEFAULT(-1)),
                  P_I32("num_samples_x", DEFAULT(-1)), P_B8("aligned", DEFAULT(0)), P_B8("allow_invalid_roi", DEFAULT(0))},
       .infer = rule_roi)
OP_ROW(RoiPooling, .in = {IN("in", T_REAL), IN("rois", T_REAL), IN("batch_index", T_INDEX)}, .out = {OUT("out", T_REAL)},
       .params = {P_F32("img_size_ratio", REQ, DIMS1(2), AS("[height, width]"))}, .infer = rule_roi)
OP_ROW(GridSample, .in = {IN("in", T_REAL), IN("grid", T_REAL)}, .out = {OUT("out", T_REAL)},
       .params = {P_B8("align_corners", DEFAULT(0)), P_U32("mode", DEFAULT(0), LIMIT(2)), P_U32("padding_mode", DEFAULT(0), LIMIT(3))},
       .infer = rule_grid_sample)
OP_ROW(ImageProjectionTransform, .in = {IN("in", T_REAL), IN("transform", T_REAL)}, .out = {OUT("out", T_REAL)},
       .params = {P_U32("interpolation_mode", DEFAULT(0), LIMIT(2))}, .infer = rule_image_projection)
OP_ROW(ArgbToRgb, .in = {IN("in", T_PIXEL)}, .out = {OUT("out", T_PIXEL)},
       .params = {P_U32("input_order", DEFAULT(0), LIMIT(2)), P_B8("reverse_output", REQ)}, .infer = rule_argb_to_rgb)
OP_ROW(Nv12ToRgb, .in = {IN("in", T_PIXEL)}, .out = {OUT("out", T_PIXEL)}, .params = {P_I32("output_order", REQ, LIMIT(2))},
       .infer = rule_nv_to_rgb)
OP_ROW(Nv21ToRgb, .in = {IN("in", T_PIXEL)}, .out = {OUT("out", T_PIXEL)}, .params = {P_I32("output_order", REQ, LIMIT(2))},
       .infer = rule_nv_to_rgb)
OP_ROW(ExtractGlimpse, .in = {IN("in", T_REAL), IN("offsets", T_REAL)}, .out = {OUT("out", T_REAL)},
       .params = {P_I32("size", REQ, DIMS1(2), AS("[height, width]")), P_B8("centered", DEFAULT(1)), P_B8("normalized", DEFAULT(1)),
                  P_I32("noise", DEFAULT(0), LIMIT(3))},
       .flags = OP_RANDOM, .infer = rule_extract_glimpse)
OP_ROW(ExtractPatches, .in = {IN("in", T_ANY)}, .out = {OUT("out", T_ANY)},
       .params = {P_U32("size", REQ, DIMS1(2), AS("[height, width]")), P_U32("stride", REQ, DIMS1(2), AS("[height, width]")),
                  P_U32("rate", REQ, DIMS1(2), AS("[height, width]")), P_U32("padding", REQ, LIMIT(2))},
       .infer = rule_extract_patches)
OP_ROW(Im2Col, IMAGE, PATCH_PARAMS, .infer = rule_im2col)
OP_ROW(Col2Im, IMAGE, PATCH_PARAMS, .infer = rule_col2im)
OP_ROW(Correlation1D, .in = {IN("a", T_REAL), IN("b", T_REAL)}, .out = {OUT("out", T_REAL)},
       .params = {P_U32("displacement", REQ), P_I32("shift", REQ)}, .infer = rule_correlation_1d)
