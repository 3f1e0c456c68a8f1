/* SPDX-License-Identifier: Apache-2.0 */
/* TFLite_Detection_PostProcess, the custom operator behind detectors of the SSD family: boxes are decoded against anchors
 * and suppress each other.
 *
 *     boxes, classes, scores, count = …(encodings [1, n, 4], predictions [1, n, classes], anchors [n, 4])
 *
 * DetectionOutput is the same with scores first, factors in place of divisors, integers, and class numbers that count the
 * background. */
#include <math.h>

#include "convert/tflite/flexbuffer.h"
#include "convert/tflite/tfl_lower.h"

struct detection {
    uint32_t most;   /* boxes that are kept */
    uint32_t offset; /* 1: class 0 is the background */
    bool regular;
    float least, iou, factors[4];
};

static double option(const struct tfl_cx *cx, const char *name, double absent)
{
    double v = absent;
    return flex_number(fb_bytes(cx->op->custom_options), cx->op->custom_options.n, name, &v) ? v : absent;
}

static enum status read_options(struct tfl_cx *cx, uint32_t columns, struct detection *ret)
{
    static const char *const scales[4] = {"y_scale", "x_scale", "h_scale", "w_scale"};
    double most = option(cx, "max_detections", 0), classes = option(cx, "num_classes", 0),
           each = option(cx, "detections_per_class", 100);
    *ret = (struct detection){ .regular = option(cx, "use_regular_nms", 0) != 0,
                               .iou = (float)option(cx, "nms_iou_threshold", 0) };
    TFL_REFUSE_IF(!(most >= 1 && most <= 1 << 20), "\"max_detections\" is %g; 1 or more is expected", most);
    TFL_REFUSE_IF(classes != columns && classes + 1 != columns,
                  "\"num_classes\" is %g and there are %u scores; as many, or one more for the background, are expected",
                  classes, columns);
    TFL_REFUSE_IF(!ret->regular && option(cx, "max_classes_per_detection", 1) != 1,
                  "\"max_classes_per_detection\" is %g; 1 is supported", option(cx, "max_classes_per_detection", 1));
    TFL_REFUSE_IF(ret->regular && each < most,
                  "\"detections_per_class\" is %g, below the %g of \"max_detections\"; QNN limits all classes together",
                  each, most);
    ret->most = (uint32_t)most;
    ret->offset = classes + 1 == columns;
    ret->least = nextafterf((float)option(cx, "nms_score_threshold", 0), -INFINITY); /* a score may equal the threshold */
    for (uint32_t i = 0; i < 4; i++) {
        double scale = option(cx, scales[i], 0);
        TFL_REFUSE_IF(!(scale > 0), "\"%s\" is %g; more than 0 is expected", scales[i], scale);
        ret->factors[i] = (float)(1 / scale);
    }
    return ST_OK;
}

/* Class numbers without the background; places that are not used have class 0. */
static enum status real_classes(struct tfl_cx *cx, uint32_t x, uint32_t offset, uint32_t *ret)
{
    const struct tensor_desc f32 = {.type = DT_F32};
    uint32_t minus;
    TRY(tfl_part(cx, "number", &(struct build_spec){.op = "Cast", BUILD_IN(x)}, &f32, ret));
    if (!offset)
        return ST_OK;
    TRY(tfl_scalar(cx, "background", tfl_desc(cx, *ret), 1, &minus));
    TRY(build_binary(&cx->b, "ElementWiseSubtract", tfl_name(cx, "class"), *ret, minus, ret));
    return build_unary(&cx->b, "Relu", tfl_name(cx, "used"), *ret, ret);
}

TFL_LOWER(detection)
{
    uint32_t in[3], made[4], classes, count;
    struct detection o;
    const struct tensor_desc f32 = {.type = DT_F32};
    for (uint32_t i = 0; i < 3; i++) {
        TRY(tfl_in(cx, i, &in[i]));
        TRY(tfl_float(cx, "real", in[i], &in[i]));
    }
    const struct tensor_desc *scores = tfl_desc(cx, in[1]);
    TFL_REFUSE_IF(scores->rank != 3 || scores->dims[0] != 1 || cx->op->out.n != 4,
                  "scores of rank %u and %u outputs; one image and 4 outputs are expected", scores->rank, cx->op->out.n);
    TRY(read_options(cx, scores->dims[2], &o));
    const struct tensor_desc out[4] = { { .type = DT_F32, .rank = 2, .dims = { 1, o.most } },
                                        { .type = DT_F32, .rank = 3, .dims = { 1, o.most, 4 } },
                                        { .type = DT_I32, .rank = 2, .dims = { 1, o.most } },
                                        { .type = DT_U32, .rank = 1, .dims = { 1 } } };
    TRY(build_node(
        &cx->b,
        &(struct build_spec){ .op = "DetectionOutput",
                              .name = cx->node,
                              BUILD_IN(in[1], in[0], in[2]),
                              .n_out = 4,
                              .out = out,
                              .params = { BUILD_F32S("delta_scaling_factors", 4, o.factors),
                                          BUILD_F32("confidence_threshold", o.least), BUILD_F32("iou_threshold", o.iou),
                                          BUILD_U32("nms_type", o.regular),
                                          BUILD_U32("background_class_idx", o.offset ? 0 : UINT32_MAX),
                                          BUILD_B8("output_background", false), BUILD_I32("detection_limit", o.most) } },
        made));
    TRY(real_classes(cx, made[2], o.offset, &classes));
    TRY(tfl_part(cx, "count", &(struct build_spec){.op = "Cast", BUILD_IN(made[3])}, &f32, &count));
    for (uint32_t i = 0; i < 4; i++) { /* files have placeholders for the shapes */
        uint32_t t = tfl_number(cx->op->out, i);
        if (t != IR_NONE)
            cx->scope->g.tensors[t].open = true;
        TRY(tfl_bind(cx, i, (const uint32_t[]){made[1], classes, made[0], count}[i]));
    }
    return ST_OK;
}
