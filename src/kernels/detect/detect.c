/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the detection operators. */
#include <math.h>

#include "kernels/detect/detect.h"
#include "kernels/families.h"

union detect_args {
    struct suppress_args suppress;
    struct detection_args detection;
    struct transform_args transform;
    struct proposals_args proposals;
    struct collect_args collect;
    struct distribute_args distribute;
};

static enum status port_in(const struct op_call *c, uint32_t i, struct port *p)
{
    p->given = i < c->n_in && c->in[i];
    return p->given ? codec_init(&p->codec, c->in[i], c) : ST_OK;
}

static enum status port_out(const struct op_call *c, uint32_t i, struct port *p)
{
    p->given = i < c->n_out && c->out[i];
    return p->given ? codec_init(&p->codec, c->out[i], c) : ST_OK;
}

static enum status ports(const struct op_call *c, struct port *in, uint32_t n_in, struct port *out, uint32_t n_out)
{
    for (uint32_t i = 0; i < n_in; i++)
        TRY(port_in(c, i, &in[i]));
    for (uint32_t i = 0; i < n_out; i++)
        TRY(port_out(c, i, &out[i]));
    return ST_OK;
}

/* Boxes, candidates of one class, results. */
static uint64_t bench_bytes(uint64_t boxes, uint64_t candidates, uint64_t hits)
{
    return boxes * 4 * sizeof(float) + candidates * sizeof(struct candidate) + hits * sizeof(struct hit);
}

static void hard_nms(struct nms *n, const struct op_call *c)
{
    *n = (struct nms){
        .kind = NMS_HARD, .iou = (float)op_real(c, "iou_threshold", 0), .eta = 1.0f, .most = UINT32_MAX, .stride = 4
    };
}

/* ---- suppression ------------------------------------------------------------------------------------------------- */

static enum status bind_non_max(const struct op_call *c, union detect_args *u, struct kernel_bound *ret)
{
    struct suppress_args *a = &u->suppress;
    *a = (struct suppress_args){.batch = c->in[0]->dims[0], .boxes = c->in[0]->dims[1], .classes = c->in[1]->dims[1],
                                .room = c->out[0]->dims[0], .n_in = c->n_in, .serial = true};
    TRY(ports(c, a->in, 2, a->out, 2));
    hard_nms(&a->nms, c);
    a->nms.most = (uint32_t)op_int(c, "max_boxes_selected", 0);
    a->score = (float)op_real(c, "score_threshold", 0);
    a->center = op_int(c, "center_point_box", 0) == 1;
    kernel_units(ret, 1, (uint64_t)a->batch * a->classes * a->boxes * 16);
    ret->work_bytes = bench_bytes(a->boxes, a->boxes, 0);
    return ST_OK;
}

static enum status bind_multi_class(const struct op_call *c, union detect_args *u, struct kernel_bound *ret)
{
    struct suppress_args *a = &u->suppress;
    float sigma = (float)op_real(c, "soft_nms_sigma", 0);
    *a = (struct suppress_args){.batch = c->in[0]->dims[0], .boxes = c->in[0]->dims[1], .classes = c->in[1]->dims[2],
                                .room = c->out[0]->dims[1], .limit = c->out[0]->dims[1], .n_in = c->n_in};
    TRY(ports(c, a->in, 2, a->out, 4));
    hard_nms(&a->nms, c);
    a->score = a->nms.least = (float)op_real(c, "score_threshold", 0);
    if (sigma != 0.0f) {
        a->nms.kind = NMS_GAUSSIAN;
        a->nms.sigma = 2.0f * sigma;
        a->nms.drop = true;
    }
    a->n_features = c->n_out > 4 ? c->n_out - 4 : 0;
    RETURN_IF(a->n_features > DETECT_FEATURES, ST_NOT_SUPPORTED,
              "MultiClassNms \"%s\": %u feature tensors are given; at most %d are supported", c->node ? c->node : "",
              a->n_features, DETECT_FEATURES);
    for (uint32_t i = 0; i < a->n_features; i++) {
        const struct tensor_desc *f = c->in[2 + i];
        RETURN_IF(!f || !c->out[4 + i], ST_INVALID_OP, "MultiClassNms \"%s\": feature tensor %u is missing",
                  c->node ? c->node : "", i);
        RETURN_IF(f->dims[0] != a->batch || f->dims[1] != a->boxes, ST_INVALID_OP,
                  "MultiClassNms \"%s\": feature tensor %u has %u images of %u boxes; %u of %u are expected",
                  c->node ? c->node : "", i, f->dims[0], f->dims[1], a->batch, a->boxes);
        TRY(mover_init(&a->features[i].mover, f, c->out[4 + i], c));
        a->features[i].row = desc_count(f) / ((uint64_t)a->batch * a->boxes);
        a->serial |= a->features[i].mover.bytes == 0;
    }
    kernel_units(ret, a->serial ? 1 : a->batch, (uint64_t)a->classes * a->boxes * 16);
    ret->work_bytes = bench_bytes(a->boxes, a->boxes, a->room);
    return ST_OK;
}

static enum status bind_combined(const struct op_call *c, union detect_args *u, struct kernel_bound *ret)
{
    struct suppress_args *a = &u->suppress;
    *a = (struct suppress_args){.batch = c->in[0]->dims[0], .boxes = c->in[0]->dims[1], .classes = c->in[1]->dims[2],
                                .room = c->out[0]->dims[1], .n_in = c->n_in};
    uint64_t each = (uint64_t)op_int(c, "max_boxes_per_class", 0), total = (uint64_t)op_int(c, "max_total_boxes", 0);
    if (op_int(c, "pad_per_class", 0) && each * a->classes < total)
        total = each * a->classes;
    TRY(ports(c, a->in, 2, a->out, 4));
    hard_nms(&a->nms, c);
    a->nms.most = (uint32_t)each;
    a->score = (float)op_real(c, "score_threshold", 0);
    a->clip = op_int(c, "clip_boxes", 0);
    a->limit = total < a->room ? (uint32_t)total : a->room;
    a->own_boxes = c->in[0]->dims[2] > 1;
    a->nms.stride = 4ull * c->in[0]->dims[2];
    kernel_units(ret, a->batch, (uint64_t)a->classes * a->boxes * 16);
    ret->work_bytes = bench_bytes((uint64_t)a->boxes * c->in[0]->dims[2], a->boxes, a->room);
    return ST_OK;
}

static enum status bind_detection(const struct op_call *c, union detect_args *u, struct kernel_bound *ret)
{
    struct detection_args *d = &u->detection;
    struct suppress_args *a = &d->s;
    *d = (struct detection_args){ .fast = op_int(c, "nms_type", 0) == 0,
                                  .background = (uint32_t)op_int(c, "background_class_idx", 0),
                                  .background_in = op_int(c, "use_bg_in_nms", 0),
                                  .background_out = op_int(c, "output_background", 0) };
    *a = (struct suppress_args){.batch = c->in[0]->dims[0], .boxes = c->in[0]->dims[1], .classes = c->in[0]->dims[2],
                                .room = c->out[0]->dims[1], .n_in = c->n_in};
    TRY(port_in(c, 0, &a->in[1]));
    TRY(port_in(c, 1, &a->in[0]));
    TRY(port_in(c, 2, &a->in[2]));
    TRY(ports(c, NULL, 0, a->out, 4));
    for (uint32_t k = 0; k < 4; k++)
        d->factors[k] = (float)op_real(c, "delta_scaling_factors", k);
    d->own_anchors = a->batch > 1 && desc_count(c->in[2]) == 4ull * a->boxes * a->batch;
    hard_nms(&a->nms, c);
    a->nms.eta = (float)op_real(c, "nms_eta", 0);
    a->score = (float)op_real(c, "confidence_threshold", 0);
    int64_t most = op_int(c, "detection_limit", 0);
    a->limit = most >= 0 && most < a->room ? (uint32_t)most : a->room;
    a->own_boxes = !op_int(c, "share_location", 0);
    uint64_t boxes = a->own_boxes && !d->fast ? a->classes : 1;
    a->nms.stride = 4 * boxes;
    kernel_units(ret, a->batch, (uint64_t)a->classes * a->boxes * 16);
    ret->work_bytes = bench_bytes(a->boxes * boxes, a->boxes, a->room) + a->boxes * sizeof(uint32_t);
    return ST_OK;
}

static enum status bind_box_with_nms_limit(const struct op_call *c, union detect_args *u, struct kernel_bound *ret)
{
    struct suppress_args *a = &u->suppress;
    *a = (struct suppress_args){
        .boxes = c->in[1]->dims[0], .classes = c->in[1]->dims[1], .room = c->out[0]->dims[0], .n_in = c->n_in
    };
    TRY(ports(c, a->in, 4, a->out, DETECT_OUTPUTS));
    hard_nms(&a->nms, c);
    a->nms.kind = (enum nms_kind)op_int(c, "nms_kernel_method", 0);
    a->nms.sigma = (float)op_real(c, "sigma", 0);
    a->nms.least = (float)op_real(c, "nms_score_threshold", 0);
    a->nms.stride = 4ull * a->classes;
    a->score = (float)op_real(c, "score_threshold", 0);
    a->before = op_int(c, "pre_nms_limit", 0);
    a->splits = a->out[4].given ? (uint32_t)desc_count(c->out[4]) : 0;
    kernel_units(ret, 1, (uint64_t)a->classes * a->boxes * 16);
    ret->work_bytes = bench_bytes((uint64_t)a->boxes * a->classes, a->boxes, 0);
    return ST_OK;
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

static enum status bind_transform(const struct op_call *c, union detect_args *u, struct kernel_bound *ret)
{
    struct transform_args *a = &u->transform;
    bool rotated = c->op->id == OP_BboxTransform;
    uint32_t size = rotated ? 5 : 4;
    *a = (struct transform_args){ .rois = c->in[0]->dims[0],
                                  .classes = c->in[1]->dims[1] / size,
                                  .batch = c->in[rotated ? 2 : 3]->dims[0],
                                  .n_in = c->n_in };
    TRY(ports(c, a->in, 4, a->out, 2));
    for (uint32_t k = 0; k < 4; k++)
        a->weights[k] = (float)op_real(c, "weights", k);
    if (rotated) {
        a->scaled = op_int(c, "apply_scale", 0);
        a->threshold = (float)op_real(c, "angle_clip_threshold", 0);
        a->bounded = op_has(c, "angle_bounds");
        a->low = a->bounded ? (float)op_int(c, "angle_bounds", 0) : 0.0f;
        a->high = a->bounded ? (float)op_int(c, "angle_bounds", 1) : 0.0f;
    }
    kernel_units(ret, a->rois, 16 * (uint64_t)c->in[1]->dims[1]);
    return ST_OK;
}

static enum status bind_proposals(const struct op_call *c, union detect_args *u, struct kernel_bound *ret)
{
    struct proposals_args *a = &u->proposals;
    const struct tensor_desc *s = c->in[0];
    *a = (struct proposals_args){
        .batch = s->dims[0], .height = s->dims[1], .width = s->dims[2], .anchors = s->dims[3], .room = c->out[0]->dims[0]
    };
    uint64_t all = (uint64_t)a->height * a->width * a->anchors;
    RETURN_IF(all > UINT32_MAX, ST_NOT_SUPPORTED,
              "GenerateProposals \"%s\": an image has %llu anchors; at most 4294967295 are supported",
              c->node ? c->node : "", (unsigned long long)all);
    TRY(ports(c, a->in, 4, a->out, 3));
    hard_nms(&a->nms, c);
    a->before = op_has(c, "pre_nms_limit") ? (uint64_t)op_int(c, "pre_nms_limit", 0) : all;
    a->nms.most = op_has(c, "post_nms_limit") ? (uint32_t)op_int(c, "post_nms_limit", 0) : UINT32_MAX;
    a->ratio[0] = (float)op_real(c, "img_size_ratio", 0);
    a->ratio[1] = (float)op_real(c, "img_size_ratio", 1);
    a->min_size = (float)op_real(c, "min_size", 0);
    a->clip = op_int(c, "bbox_xform_clip", 0) ? 4.135166556742356f : INFINITY;
    kernel_units(ret, 1, a->batch * all * 16);
    ret->work_bytes = bench_bytes(all, all, 0);
    return ST_OK;
}

static enum status bind_collect(const struct op_call *c, union detect_args *u, struct kernel_bound *ret)
{
    struct collect_args *a = &u->collect;
    uint64_t all = 0;
    int64_t levels = op_int(c, "rpn_max_level", 0) - op_int(c, "rpn_min_level", 0) + 1;
    RETURN_IF(levels < 1, ST_INVALID_OP,
              "CollectRpnProposals \"%s\": \"rpn_max_level\" is below \"rpn_min_level\"; at least one level is expected",
              c->node ? c->node : "");
    *a = (struct collect_args){.levels = levels < DETECT_LEVELS ? (uint32_t)levels : DETECT_LEVELS, .n_in = c->n_in,
                               .room = c->out[0]->dims[0], .top = (uint32_t)op_int(c, "post_nms_top", 0)};
    TRY(ports(c, a->in, 2 * DETECT_LEVELS, &a->out, 1));
    for (uint32_t l = 0; l < a->levels; l++) {
        a->rois[l] = a->in[l].given && a->in[DETECT_LEVELS + l].given ? c->in[l]->dims[0] : 0;
        all += a->rois[l];
    }
    RETURN_IF(all > UINT32_MAX, ST_NOT_SUPPORTED,
              "CollectRpnProposals \"%s\": %llu rois are given; at most 4294967295 are supported", c->node ? c->node : "",
              (unsigned long long)all);
    kernel_units(ret, 1, all * 16);
    ret->work_bytes = all * sizeof(struct candidate);
    return ST_OK;
}

static enum status bind_distribute(const struct op_call *c, union detect_args *u, struct kernel_bound *ret)
{
    struct distribute_args *a = &u->distribute;
    *a = (struct distribute_args){.rois = c->in[0]->dims[0], .min_level = (uint32_t)op_int(c, "roi_min_level", 0),
                                  .max_level = (uint32_t)op_int(c, "roi_max_level", 0),
                                  .canonical_level = (uint32_t)op_int(c, "roi_canonical_level", 0),
                                  .canonical_scale = (float)op_int(c, "roi_canonical_scale", 0)};
    TRY(port_in(c, 0, &a->in));
    for (uint32_t i = 0; i < c->n_out && i < DETECT_LEVELS; i++) {
        TRY(port_out(c, i, &a->out[i]));
        if (i > 0) {
            a->room[i - 1] = a->out[i].given ? c->out[i]->dims[0] : 0;
            a->levels = i;
        }
    }
    kernel_units(ret, 1, (uint64_t)a->rois * 8);
    return ST_OK;
}

#define DETECT(op, bind, run) static const struct kernel_variant op##_variants[] = {KERNEL_VARIANT(REF, run, NULL){0}};
#include "kernels/detect/detect.def"
#undef DETECT

static const struct {
    enum op_id op;
    enum status (*bind)(const struct op_call *c, union detect_args *u, struct kernel_bound *ret);
    const struct kernel_variant *variants;
} binders[] = {
#define DETECT(op, bind, run) {OP_##op, bind, op##_variants},
#include "kernels/detect/detect.def"
#undef DETECT
};

static enum status detect_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                               const struct kernel_variant **variants)
{
    for (size_t i = 0; i < sizeof(binders) / sizeof(binders[0]); i++)
        if (binders[i].op == c->op->id) {
            *variants = binders[i].variants;
            return binders[i].bind(c, args, ret);
        }
    return status_fail(ST_INTERNAL, "%s is not an operator of the detect family", c->op->name);
}

const struct kernel_family family_detect = {
    .name = "detect",
    .args_size = sizeof(union detect_args),
    .bind = detect_bind,
};
