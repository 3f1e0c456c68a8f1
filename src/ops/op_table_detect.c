/* SPDX-License-Identifier: Apache-2.0 */
/* table: object detection: boxes, proposals and suppression. */
#include "ops/op_table.h"

OP_ROW(AxisAlignedBboxTransform,
       .in = {IN("boxes", T_REAL), IN("deltas", T_REAL), IN("batch_index", T_INDEX), IN("image_sizes", T_REAL)},
       .out = {OUT("out", T_REAL), OPT("counts", T_INDEX)},
       .params = {P_F32("weights", DIMS1(4), DEFAULT(1.0), AS("[x, y, width, height]"))}, .infer = rule_axis_aligned_bbox_transform)
OP_ROW(BboxTransform, .in = {IN("boxes", T_REAL), IN("deltas", T_REAL), IN("image_info", T_REAL), OPT("batch_index", T_INDEX)},
       .out = {OUT("out", T_REAL), OUT("counts", T_INDEX | T_REAL)},
       .params = {P_F32("weights", REQ, DIMS1(4), AS("[x, y, width, height]")), P_B8("apply_scale", DEFAULT(1)),
                  P_I32("angle_bounds", DIMS1(2), AS("[low, high]")), P_F32("angle_clip_threshold", DEFAULT(-1.0))},
       .infer = rule_bbox_transform)
OP_ROW(BoxWithNmsLimit, .in = {IN("boxes", T_REAL), IN("scores", T_REAL), IN("batch_index", T_INDEX), OPT("batch_splits", T_INDEX)},
       .out = {OUT("boxes_out", T_REAL), OUT("scores_out", T_REAL), OUT("classes", T_INDEX), OUT("batch_index_out", T_INDEX),
               OPT("batch_splits_out", T_INDEX), OPT("kept", T_INDEX), OPT("kept_per_class", T_INDEX)},
       .params = {P_I32("nms_kernel_method", REQ, LIMIT(3)), P_F32("nms_score_threshold", REQ), P_F32("score_threshold", DEFAULT(0)),
                  P_I32("pre_nms_limit", DEFAULT(-1)), P_F32("iou_threshold", REQ), P_F32("sigma", REQ)},
       .infer = rule_box_with_nms_limit)
OP_ROW(CollectRpnProposals,
       .in = {IN("rois_0", T_REAL), OPT("rois_1", T_REAL), OPT("rois_2", T_REAL), OPT("rois_3", T_REAL), OPT("rois_4", T_REAL),
              IN("scores_0", T_REAL), OPT("scores_1", T_REAL), OPT("scores_2", T_REAL), OPT("scores_3", T_REAL), OPT("scores_4", T_REAL)},
       .out = {OUT("out", T_REAL)},
       .params = {P_U32("rpn_min_level", DEFAULT(2)), P_U32("rpn_max_level", DEFAULT(6)), P_U32("post_nms_top", DEFAULT(2000))},
       .infer = rule_collect_rpn_proposals)
OP_ROW(CombinedNms, .in = {IN("boxes", T_REAL), IN("scores", T_REAL)},
       .out = {OUT("boxes_out", T_REAL), OUT("scores_out", T_REAL), OUT("classes", T_REAL | T_INDEX), OUT("counts", T_INDEX)},
       .params = {P_U32("max_boxes_per_class", REQ), P_U32("max_total_boxes", REQ), P_F32("iou_threshold", DEFAULT(0.5)),
                  P_F32("score_threshold", DEFAULT(0)), P_B8("pad_per_class", DEFAULT(0)), P_B8("clip_boxes", DEFAULT(1))},
       .infer = rule_combined_nms)
OP_ROW(DetectionOutput, .in = {IN("scores", T_REAL), IN("deltas", T_REAL), IN("anchors", T_REAL)},
       .out = {OUT("scores_out", T_REAL), OUT("boxes", T_REAL), OUT("classes", T_INDEX), OUT("counts", T_INDEX)},
       .params = {P_F32("delta_scaling_factors", REQ, DIMS1(4), AS("[y, x, height, width]")), P_F32("confidence_threshold", REQ),
                  P_F32("iou_threshold", REQ), P_U32("nms_type", DEFAULT(0), LIMIT(2)), P_U32("background_class_idx", DEFAULT(0)),
                  P_B8("use_bg_in_nms", DEFAULT(0)), P_B8("output_background", DEFAULT(1)), P_B8("share_location", DEFAULT(1)),
                  P_F32("nms_eta", DEFAULT(1.0)), P_I32("detection_limit", DEFAULT(-1))},
       .infer = rule_detection_output)
OP_ROW(DistributeFpnProposals, .in = {IN("rois", T_REAL)},
       .out = {OUT("restore", T_INDEX), OUT("rois_0", T_REAL), OPT("rois_1", T_REAL), OPT("rois_2", T_REAL), OPT("rois_3", T_REAL)},
       .params = {P_U32("roi_min_level", DEFAULT(2)), P_U32("roi_max_level", DEFAULT(5)), P_U32("roi_canonical_scale", DEFAULT(224)),
                  P_U32("roi_canonical_level", DEFAULT(4))},
       .infer = rule_distribute_fpn_proposals)
OP_ROW(GenerateProposals, .in = {IN("scores", T_REAL), IN("deltas", T_REAL), IN("anchors", T_REAL), IN("image_sizes", T_REAL)},
       .out = {OUT("scores_out", T_REAL), OUT("boxes", T_REAL), OUT("batch_index", T_INDEX)},
       .params = {P_F32("img_size_ratio", REQ, DIMS1(2), AS("[height, width]")), P_F32("min_size", DEFAULT(0)),
                  P_U32("pre_nms_limit", OPTIONAL_PARAM), P_U32("post_nms_limit", OPTIONAL_PARAM), P_F32("iou_threshold", REQ),
                  P_B8("bbox_xform_clip", DEFAULT(0))},
       .infer = rule_generate_proposals)
OP_ROW(HeatMapMaxKeyPoint, .in = {IN("heatmaps", T_REAL), IN("boxes", T_REAL)}, .out = {OUT("scores", T_REAL), OUT("points", T_REAL)},
       .infer = rule_heat_map_max_key_point)
OP_ROW(MultiClassNms, .in = {IN("boxes", T_REAL), IN("scores", T_REAL), ANY_NUMBER("features", T_ANY)},
       .out = {OUT("boxes_out", T_REAL), OUT("scores_out", T_REAL), OUT("classes", T_INDEX), OUT("counts", T_INDEX),
               ANY_NUMBER("features_out", T_ANY)},
       .params = {P_F32("iou_threshold", REQ), P_F32("score_threshold", DEFAULT(0)), P_F32("soft_nms_sigma", DEFAULT(0))},
       .infer = rule_multi_class_nms)
OP_ROW(NonMaxSuppression, .in = {IN("boxes", T_REAL), IN("scores", T_REAL)}, .out = {OUT("selected", T_INDEX), OPT("count", T_INDEX)},
       .params = {P_F32("iou_threshold", REQ), P_F32("score_threshold", DEFAULT(0)), P_U32("max_boxes_selected", DEFAULT(0)),
                  P_U32("center_point_box", DEFAULT(0), LIMIT(2))},
       .infer = rule_non_max_suppression)
