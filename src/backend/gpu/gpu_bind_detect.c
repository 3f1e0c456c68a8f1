/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the detection operators. */
#include <limits.h>
#include <math.h>

#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

#define T_NUMBER (T_FLOAT | T_INT | T_(DT_U8) | T_(DT_U16) | T_(DT_U32) | T_BOOL)

enum { LEVELS = 5, OUTPUTS = 7 };

static bool has_in(const struct op_call *c, uint32_t i)
{
    return i < c->n_in && c->in[i];
}

static bool has_out(const struct op_call *c, uint32_t i)
{
    return i < c->n_out && c->out[i];
}

static int at_most(uint64_t v)
{
    return v > INT_MAX ? INT_MAX : (int)v;
}

/* The operands of a launch: these inputs, then outputs 0 … n_out - 1; what is not there is never written, and out[0] takes
 * its place. */
static void operands(const struct op_call *c, struct gpu_launch *l, uint32_t n_in, const uint8_t *in, uint32_t n_out)
{
    for (uint32_t i = 0; i < n_in; i++)
        l->operand[l->n_operands++] = in[i];
    for (uint32_t i = 0; i < n_out; i++)
        l->operand[l->n_operands++] = (uint8_t)(c->n_in + (has_out(c, i) ? i : 0));
}

static enum status out_types(const struct op_call *c, uint32_t n_out, struct gpu_suppress *a)
{
    for (uint32_t i = 0; i < n_out; i++)
        if (has_out(c, i)) {
            a->given |= 1 << i;
            TRY(gpu_type(c, c->n_in + i, T_NUMBER, &a->out_type[i]));
        }
    return ST_OK;
}

static void hard_nms(const struct op_call *c, struct gpu_suppress *a)
{
    a->nms = (struct gpu_nms){
        .kind = NMS_HARD, .iou = (float)op_real(c, "iou_threshold", 0), .eta = 1.0f, .most = INT_MAX, .stride = 4
    };
    a->candidates = a->held = a->boxes;
}

/* Room for one unit: the number of hits, boxes, candidates, hits, best classes. */
static enum status add(const struct op_call *c, struct gpu_work *w, struct gpu_launch *l, uint64_t units)
{
    struct gpu_suppress *a = &l->args.suppress;
    uint64_t best = (uint64_t)(a->boxes > a->classes ? a->boxes : a->classes);
    uint64_t unit = 1 + (uint64_t)a->held * 4 + (uint64_t)a->candidates * 2 + (uint64_t)a->room * 3 + best;
    if (unit * units > INT_MAX)
        return gpu_refuse(c, "it takes %llu numbers of room; at most %d are supported", (unsigned long long)(unit * units),
                          INT_MAX);
    a->unit = (int)unit;
    l->room = unit * units * sizeof(float);
    l->items = units;
    l->lanes = 1; /* each for itself: compilers need not look for what could be shared */
    return gpu_add(c, w, l);
}

enum status gpu_bind_non_max(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_NON_MAX_SUPPRESSION, GPU_ARGS(suppress) };
    struct gpu_suppress *a = &l.args.suppress;
    a->batch = (int)c->in[0]->dims[0];
    a->boxes = (int)c->in[0]->dims[1];
    a->classes = (int)c->in[1]->dims[1];
    a->room = (int)c->out[0]->dims[0];
    hard_nms(c, a);
    a->nms.most = at_most((uint64_t)op_int(c, "max_boxes_selected", 0));
    a->score = (float)op_real(c, "score_threshold", 0);
    a->center = op_int(c, "center_point_box", 0) == 1;
    TRY(gpu_type(c, 0, T_FLOAT, &a->box_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->score_type));
    TRY(out_types(c, 2, a));
    operands(c, &l, 2, (uint8_t[]){ 0, 1 }, 2);
    return add(c, w, &l, 1);
}

static enum status add_features(const struct op_call *c, struct gpu_work *w, const struct gpu_launch *chosen)
{
    for (uint32_t i = 0; c->n_out > 4 && i < c->n_out - 4; i++) {
        struct gpu_launch l = *chosen;
        const struct tensor_desc *x = has_in(c, 2 + i) ? c->in[2 + i] : NULL, *y = c->out[4 + i];
        struct gpu_suppress *a = &l.args.suppress;
        if (!x || !y || x->type != y->type)
            return gpu_refuse(c, "feature tensor %u must be there, and of the same type in and out", i);
        l.kernel = K_CHOSEN_FEATURES;
        l.lanes = 0;
        l.n_operands = 2;
        l.operand[0] = (uint8_t)(2 + i);
        l.operand[1] = (uint8_t)(c->n_in + 4 + i);
        a->limit = (int)(desc_count(x) / ((uint64_t)a->batch * (uint64_t)a->boxes));
        l.items = desc_count(y);
        TRY(gpu_bits_storage(c, x, &l.storage));
        TRY(gpu_add(c, w, &l));
    }
    return ST_OK;
}

/* MultiClassNms and CombinedNms. */
enum status gpu_bind_classes_nms(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_CLASSES_NMS, GPU_ARGS(suppress) };
    struct gpu_suppress *a = &l.args.suppress;
    bool combined = c->op->id == OP_CombinedNms;
    a->batch = (int)c->in[0]->dims[0];
    a->boxes = (int)c->in[0]->dims[1];
    a->classes = (int)c->in[1]->dims[2];
    a->room = a->limit = (int)c->out[0]->dims[1];
    hard_nms(c, a);
    a->score = a->nms.least = (float)op_real(c, "score_threshold", 0);
    if (combined) {
        uint64_t each = (uint64_t)op_int(c, "max_boxes_per_class", 0), total = (uint64_t)op_int(c, "max_total_boxes", 0);
        if (op_int(c, "pad_per_class", 0) && each * (uint64_t)a->classes < total)
            total = each * (uint64_t)a->classes;
        a->nms.most = at_most(each);
        a->limit = total < (uint64_t)a->room ? (int)total : a->room;
        a->clip = (int)op_int(c, "clip_boxes", 0);
        a->own_boxes = c->in[0]->dims[2] > 1;
        a->nms.stride = 4 * (int)c->in[0]->dims[2];
        a->held = a->boxes * (int)c->in[0]->dims[2];
    } else if ((float)op_real(c, "soft_nms_sigma", 0) != 0.0f) {
        a->nms.kind = NMS_GAUSSIAN;
        a->nms.sigma = 2.0f * (float)op_real(c, "soft_nms_sigma", 0);
        a->nms.drop = 1;
    }
    TRY(gpu_type(c, 0, T_FLOAT, &a->box_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->score_type));
    TRY(out_types(c, 4, a));
    operands(c, &l, 2, (uint8_t[]){ 0, 1 }, 4);
    TRY(add(c, w, &l, (uint64_t)a->batch));
    return combined ? ST_OK : add_features(c, w, &l);
}

enum status gpu_bind_detection(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_DETECTION, GPU_ARGS(suppress) };
    struct gpu_suppress *a = &l.args.suppress;
    int64_t most = op_int(c, "detection_limit", 0);
    a->batch = (int)c->in[0]->dims[0];
    a->boxes = (int)c->in[0]->dims[1];
    a->classes = (int)c->in[0]->dims[2];
    a->room = (int)c->out[0]->dims[1];
    hard_nms(c, a);
    a->nms.eta = (float)op_real(c, "nms_eta", 0);
    a->score = (float)op_real(c, "confidence_threshold", 0);
    a->limit = most >= 0 && most < a->room ? (int)most : a->room;
    a->fast = op_int(c, "nms_type", 0) == 0;
    a->background = (int)op_int(c, "background_class_idx", 0);
    a->background_in = (int)op_int(c, "use_bg_in_nms", 0);
    a->background_out = (int)op_int(c, "output_background", 0);
    a->own_anchors = a->batch > 1 && desc_count(c->in[2]) == 4ull * (uint64_t)a->boxes * (uint64_t)a->batch;
    a->own_boxes = !op_int(c, "share_location", 0);
    int each = a->own_boxes && !a->fast ? a->classes : 1;
    a->nms.stride = 4 * each;
    a->held = a->boxes * each;
    for (uint32_t k = 0; k < 4; k++)
        a->factors[k] = (float)op_real(c, "delta_scaling_factors", k);
    TRY(gpu_type(c, 0, T_FLOAT, &a->score_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->box_type));
    TRY(gpu_type(c, 2, T_FLOAT, &a->anchor_type));
    TRY(out_types(c, 4, a));
    operands(c, &l, 3, (uint8_t[]){ 0, 1, 2 }, 4);
    return add(c, w, &l, (uint64_t)a->batch);
}

enum status gpu_bind_box_limit(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_BOX_LIMIT, GPU_ARGS(suppress) };
    struct gpu_suppress *a = &l.args.suppress;
    a->batch = 1;
    a->boxes = (int)c->in[1]->dims[0];
    a->classes = (int)c->in[1]->dims[1];
    a->room = (int)c->out[0]->dims[0];
    hard_nms(c, a);
    a->nms.kind = (int)op_int(c, "nms_kernel_method", 0);
    a->nms.sigma = (float)op_real(c, "sigma", 0);
    a->nms.least = (float)op_real(c, "nms_score_threshold", 0);
    a->nms.stride = 4 * a->classes;
    a->held = a->boxes * a->classes;
    a->score = (float)op_real(c, "score_threshold", 0);
    a->before = op_int(c, "pre_nms_limit", 0) < 0 ? -1 : at_most((uint64_t)op_int(c, "pre_nms_limit", 0));
    a->splits = has_out(c, 4) ? (int)desc_count(c->out[4]) : 0;
    TRY(gpu_type(c, 0, T_FLOAT, &a->box_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->score_type));
    TRY(gpu_type(c, 2, T_INDEX, &a->anchor_type));
    TRY(out_types(c, OUTPUTS, a));
    operands(c, &l, 3, (uint8_t[]){ 0, 1, 2 }, OUTPUTS);
    return add(c, w, &l, 1);
}

enum status gpu_bind_proposals(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_PROPOSALS, GPU_ARGS(suppress) };
    const uint32_t *s = c->in[0]->dims;
    struct gpu_suppress *a = &l.args.suppress;
    a->batch = (int)s[0];
    a->width = (int)s[2];
    a->classes = (int)s[3]; /* anchors of a pixel */
    a->boxes = (int)(s[1] * s[2] * s[3]);
    a->room = (int)c->out[0]->dims[0];
    hard_nms(c, a);
    a->before = op_has(c, "pre_nms_limit") ? at_most((uint64_t)op_int(c, "pre_nms_limit", 0)) : a->boxes;
    a->nms.most = op_has(c, "post_nms_limit") ? at_most((uint64_t)op_int(c, "post_nms_limit", 0)) : INT_MAX;
    a->factors[0] = (float)op_real(c, "img_size_ratio", 0);
    a->factors[1] = (float)op_real(c, "img_size_ratio", 1);
    a->factors[2] = (float)op_real(c, "min_size", 0);
    a->factors[3] = op_int(c, "bbox_xform_clip", 0) ? 4.135166556742356f : INFINITY;
    TRY(gpu_type(c, 0, T_FLOAT, &a->score_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->box_type));
    TRY(gpu_type(c, 2, T_FLOAT, &a->anchor_type));
    TRY(gpu_type(c, 3, T_FLOAT, &a->size_type));
    TRY(out_types(c, 3, a));
    operands(c, &l, 4, (uint8_t[]){ 0, 1, 2, 3 }, 3);
    return add(c, w, &l, 1);
}

/* ---- boxes ------------------------------------------------------------------------------------------------------------ */

/* AxisAlignedBboxTransform: rois, deltas, batch index, sizes. BboxTransform: rois, deltas, sizes, and perhaps a
 * batch index. */
enum status gpu_bind_move_boxes(const struct op_call *c, struct gpu_work *w)
{
    bool rotated = c->op->id == OP_BboxTransform;
    uint32_t size = rotated ? 5 : 4, images = rotated ? 3 : 2, sizes = rotated ? 2 : 3;
    struct gpu_launch l = { .kernel = rotated ? K_MOVE_ROTATED : K_MOVE_BOXES,
                            GPU_ARGS(boxes),
                            .items = desc_count(c->out[0]) / size };
    struct gpu_boxes *a = &l.args.boxes;
    *a = (struct gpu_boxes){ .n = (int)l.items,
                             .rois = (int)c->in[0]->dims[0],
                             .classes = (int)(c->in[1]->dims[1] / size),
                             .batch = (int)c->in[sizes]->dims[0],
                             .has_images = has_in(c, images) };
    for (uint32_t k = 0; k < 4; k++)
        a->weights[k] = (float)op_real(c, "weights", k);
    if (rotated) {
        a->scaled = (int)op_int(c, "apply_scale", 0);
        a->threshold = (float)op_real(c, "angle_clip_threshold", 0);
        a->bounded = op_has(c, "angle_bounds");
        a->low = a->bounded ? (float)op_int(c, "angle_bounds", 0) : 0.0f;
        a->high = a->bounded ? (float)op_int(c, "angle_bounds", 1) : 0.0f;
    }
    TRY(gpu_type(c, 0, T_FLOAT, &a->roi_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->delta_type));
    TRY(gpu_type(c, sizes, T_FLOAT, &a->size_type));
    if (a->has_images)
        TRY(gpu_type(c, images, T_NUMBER, &a->image_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    operands(c, &l, 4, (uint8_t[]){ 0, 1, (uint8_t)(a->has_images ? images : 0), (uint8_t)sizes }, 1);
    TRY(gpu_add(c, w, &l));
    if (!has_out(c, 1))
        return ST_OK;
    TRY(gpu_type(c, c->n_in + 1, T_NUMBER, &a->count_type));
    l.kernel = K_COUNT_BOXES;
    l.items = (uint64_t)a->batch;
    l.n_operands = 2;
    l.operand[0] = (uint8_t)(a->has_images ? images : 0);
    l.operand[1] = (uint8_t)(c->n_in + 1);
    return gpu_add(c, w, &l);
}

enum status gpu_bind_deal_rois(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_DEAL_ROIS, GPU_ARGS(deal), .items = 1, .lanes = 1 };
    struct gpu_deal *a = &l.args.deal;
    *a = (struct gpu_deal){ .rois = (int)c->in[0]->dims[0],
                            .min_level = (int)op_int(c, "roi_min_level", 0),
                            .max_level = (int)op_int(c, "roi_max_level", 0),
                            .canonical_level = (int)op_int(c, "roi_canonical_level", 0),
                            .scale = (float)op_int(c, "roi_canonical_scale", 0) };
    TRY(gpu_type(c, 0, T_FLOAT, &a->roi_type));
    TRY(gpu_type(c, c->n_in, T_NUMBER, &a->restore_type));
    for (uint32_t i = 1; i < c->n_out && i < LEVELS; i++) {
        a->levels = (int)i;
        if (!has_out(c, i))
            continue;
        a->room[i - 1] = (int)c->out[i]->dims[0];
        TRY(gpu_type(c, c->n_in + i, T_FLOAT, &a->y_type[i - 1]));
    }
    operands(c, &l, 1, (uint8_t[]){ 0 }, LEVELS);
    return gpu_add(c, w, &l);
}

/* Scores of all levels into the room, zeros into the output, then every roi to the row that its score has. */
enum status gpu_bind_collect(const struct op_call *c, struct gpu_work *w)
{
    int64_t levels = op_int(c, "rpn_max_level", 0) - op_int(c, "rpn_min_level", 0) + 1;
    struct gpu_collect a = { 0 };
    struct gpu_launch clear = { .kernel = K_CLEAR_ROIS,
                                GPU_ARGS(collect),
                                .n_operands = 1,
                                .operand = { (uint8_t)c->n_in },
                                .items = desc_count(c->out[0]) };
    uint32_t first[LEVELS + 1] = { 0 }, top = (uint32_t)op_int(c, "post_nms_top", 0), room = c->out[0]->dims[0];
    if (levels < 1)
        return gpu_refuse(c, "\"rpn_max_level\" is below \"rpn_min_level\"; at least one level is expected");
    levels = levels < LEVELS ? levels : LEVELS;
    for (uint32_t l = 0; l < levels; l++)
        first[l + 1] = first[l] + (has_in(c, l) && has_in(c, LEVELS + l) ? c->in[l]->dims[0] : 0);
    a.all = (int)first[levels];
    a.top = (int)(top < room ? top : room);
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a.y_type));
    clear.args.collect = a;
    clear.args.collect.n = (int)clear.items;
    TRY(gpu_add(c, w, &clear));
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < levels; i++) {
            struct gpu_launch l = { .kernel = pass ? K_COLLECT_ROIS : K_COLLECT_SCORES,
                                    GPU_ARGS(collect),
                                    .room = (uint64_t)a.all * sizeof(float),
                                    .items = first[i + 1] - first[i] };
            l.args.collect = a;
            l.args.collect.n = (int)l.items;
            l.args.collect.first = (int)first[i];
            if (!l.items)
                continue;
            TRY(gpu_type(c, i, T_FLOAT, &l.args.collect.roi_type));
            TRY(gpu_type(c, LEVELS + i, T_FLOAT, &l.args.collect.score_type));
            operands(c, &l, 1, (uint8_t[]){ (uint8_t)(pass ? i : LEVELS + i) }, pass ? 1 : 0);
            TRY(gpu_add(c, w, &l));
        }
    return ST_OK;
}
