/* SPDX-License-Identifier: Apache-2.0 */
/* Object detection: docs/numerics.md section 13.
 *
 *   suppression  NonMaxSuppression, MultiClassNms, CombinedNms, DetectionOutput, BoxWithNmsLimit
 *   boxes        AxisAlignedBboxTransform, BboxTransform, GenerateProposals, CollectRpnProposals, DistributeFpnProposals
 *
 * How many results there are depends on the data: outputs have room for the most, rows that are not used are cleared. */
#ifndef KERNELS_DETECT_DETECT_H
#define KERNELS_DETECT_DETECT_H

#include "kernels/kernels.h"
#include "kernels/mover.h"

enum { DETECT_FEATURES = 16, DETECT_LEVELS = 5, DETECT_OUTPUTS = 7 };

enum nms_kind { NMS_HARD, NMS_LINEAR, NMS_GAUSSIAN };  /* BoxWithNmsLimit's nms_kernel_method */

/* One round of suppression over boxes that are `stride` floats apart. */
struct nms {
    enum nms_kind kind;
    float iou;          /* more overlap than this suppresses */
    float sigma;        /* NMS_GAUSSIAN: score *= exp(-iou^2 / sigma) */
    bool drop;          /* NMS_GAUSSIAN: more overlap than `iou` still drops */
    float least;        /* soft: scores must stay above */
    float eta;          /* hard: below 1, the threshold shrinks with every kept box while it is above 0.5 */
    uint32_t most;      /* boxes to keep */
    const float *boxes;
    uint64_t stride;
};

/* A present operand and how to read or write it. */
struct port {
    bool given;
    struct codec codec;
};

struct suppress_args {
    uint32_t batch, boxes, classes;
    uint32_t room, limit;    /* rows of the outputs, and how many of them may be used */
    uint32_t n_in;
    bool serial;             /* one unit for all images */
    bool own_boxes;          /* boxes for every class */
    bool center;             /* NonMaxSuppression: boxes are x, y, width, height around their middle */
    bool clip;               /* CombinedNms: results within [0, 1] */
    float score;             /* candidates are above */
    int64_t before;          /* BoxWithNmsLimit: candidates per class, negative: all */
    struct nms nms;
    struct port in[4], out[DETECT_OUTPUTS];
    uint32_t n_features, splits; /* MultiClassNms; BoxWithNmsLimit: entries of the batch splits */
    struct {
        struct mover mover;
        uint64_t row;        /* elements per box */
    } features[DETECT_FEATURES];
};

struct detection_args {
    struct suppress_args s;
    float factors[4];        /* y, x, height, width */
    bool fast, background_in, background_out, own_anchors;
    uint32_t background;
};

struct transform_args {
    uint32_t rois, classes, batch, n_in;
    float weights[4];
    bool scaled, bounded;
    float low, high, threshold;          /* rotated boxes: bounds of the angle, clipping below an angle */
    struct port in[4], out[2];
};

struct proposals_args {
    uint32_t batch, height, width, anchors, room;
    uint64_t before, after;  /* limits around the suppression */
    float ratio[2], min_size, clip;
    struct nms nms;
    struct port in[4], out[3];
};

struct collect_args {
    uint32_t levels, n_in, room, top;
    uint32_t rois[DETECT_LEVELS];
    struct port in[2 * DETECT_LEVELS], out;
};

struct distribute_args {
    uint32_t rois, levels, min_level, max_level, canonical_level;
    float canonical_scale;
    uint32_t room[DETECT_LEVELS];
    struct port in, out[DETECT_LEVELS];
};

kernel_fn non_max_suppression_ref, multi_class_nms_ref, combined_nms_ref, detection_output_ref, box_with_nms_limit_ref;
kernel_fn axis_aligned_transform_ref, rotated_transform_ref, generate_proposals_ref, collect_proposals_ref,
    distribute_proposals_ref;

/* detect_nms.c */

struct candidate {
    float score;
    uint32_t index;
};

struct hit {
    float score;
    uint32_t class_id, index;
};

/* Best first: higher score, then lower index. */
void nms_sort(struct candidate *c, uint32_t n);
/* The overlap of two boxes given by opposite corners, 0 when one of them is empty. */
float nms_overlap(const float a[4], const float b[4]);
/* Sorted candidates in, kept ones in front in the order in which they were chosen (soft: with their new scores); returns how
 * many. */
uint32_t nms_run(const struct nms *n, struct candidate *c, uint32_t count);
/* Insert behind everything that is at least as good; returns false when it is worse than all of a full list. */
bool nms_insert(struct hit *hits, uint32_t *n, uint32_t most, struct hit h);

/* Numbers and indices in and out of ports. Absent outputs are skipped. */
static inline void port_load(const struct port *p, const void *base, uint64_t at, uint32_t n, float *dst)
{
    span_load_ref(&p->codec, base, (int64_t)at, 1, n, dst);
}

static inline void port_store(const struct port *p, void *base, uint64_t at, uint32_t n, const float *src)
{
    if (p->given)
        span_store_ref(&p->codec, base, (int64_t)at, 1, n, src);
}

static inline int64_t port_load_index(const struct port *p, const void *base, uint64_t at)
{
    int64_t v;
    span_load_i64_ref(p->codec.type, base, (int64_t)at, 1, 1, &v);
    return v;
}

static inline void port_store_index(const struct port *p, void *base, uint64_t at, int64_t v)
{
    float f = (float)v;
    if (dtype_is_float(p->codec.type) || dtype_is_fixed(p->codec.type))
        port_store(p, base, at, 1, &f);
    else if (p->given)
        span_store_i64_ref(p->codec.type, base, (int64_t)at, 1, 1, &v);
}

#endif
