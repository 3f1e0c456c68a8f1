/* SPDX-License-Identifier: Apache-2.0 */
/* Object detection. How many boxes come out depends on the data: the client's tensors give the room, and the rules check
 * that all outputs agree on it. */
#include "ops/op_rules.h"

/* Output i is [dims…], 0 standing for the client's size; types are those of the port's mask. */
static enum status out_dims(const struct op_call *c, struct tensor_desc *want, uint32_t i, uint32_t rank,
                            const uint64_t *dims)
{
    char text[DESC_TEXT_MAX];
    if (i >= c->n_out || (c->out && !c->out[i]))
        return ST_OK;
    const char *name = op_out_port(c->op, i)->name;
    REFUSE_IF(want[i].rank != rank, c, "output %u (\"%s\") is %s of rank %u; rank %u is expected", i, name,
              desc_text(&want[i], text), want[i].rank, rank);
    for (uint32_t k = 0; k < rank; k++) {
        REFUSE_IF(dims[k] == 0 && want[i].dims[k] == 0, c,
                  "output %u (\"%s\"): dimension %u is 0; the most that may come out is expected", i, name, k);
        if (dims[k])
            TRY(rule_set_dim(c, &want[i], k, dims[k]));
    }
    rule_type_free(&want[i], c->in[0]->type);
    return ST_OK;
}

#define DIMS(...) (sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), (const uint64_t[]){__VA_ARGS__}

/* in[1] holds `each` deltas per class for each of in[0]'s boxes. */
static enum status deltas(const struct op_call *c, uint32_t each)
{
    const struct tensor_desc *b = c->in[0], *d = c->in[1];
    TRY(rule_dims(c, 0, 2, (uint32_t[]){0, each}, "[boxes, coordinates]"));
    TRY(rule_dims(c, 1, 2, (uint32_t[]){b->dims[0], 0}, "[boxes, classes * coordinates]"));
    REFUSE_IF(d->dims[1] % each, c, "input 1 (\"deltas\") has %u values per box; a multiple of %u is expected", d->dims[1],
              each);
    return ST_OK;
}

RULE(axis_aligned_bbox_transform)
{
    TRY(deltas(c, 4));
    TRY(rule_vector(c, 2, c->in[0]->dims[0], "one per box"));
    TRY(rule_dims(c, 3, 2, (uint32_t[]){0, 2}, "[batch, 2]"));
    TRY(out_dims(c, want, 0, DIMS(c->in[0]->dims[0], c->in[1]->dims[1])));
    return out_dims(c, want, 1, DIMS(c->in[3]->dims[0]));
}

RULE(bbox_transform)
{
    TRY(deltas(c, 5));
    TRY(rule_dims(c, 2, 2, (uint32_t[]){0, 3}, "[batch, 3]"));
    TRY(rule_vector(c, 3, c->in[0]->dims[0], "one per box"));
    TRY(out_dims(c, want, 0, DIMS(c->in[0]->dims[0], c->in[1]->dims[1])));
    return out_dims(c, want, 1, DIMS(c->in[2]->dims[0]));
}

RULE(box_with_nms_limit)
{
    uint32_t rois = c->in[0]->dims[0], classes = c->in[1]->dims[1];
    TRY(rule_rank(c, 0, 2, "[boxes, classes * 4]"));
    TRY(rule_dims(c, 1, 2, (uint32_t[]){rois, 0}, "[boxes, classes]"));
    REFUSE_IF(c->in[0]->dims[1] != 4ull * classes, c, "input 0 has %u values per box; 4 for each of %u classes are expected",
              c->in[0]->dims[1], classes);
    TRY(rule_vector(c, 2, rois, "one per box"));
    TRY(out_dims(c, want, 0, DIMS(0, 4)));
    uint64_t kept = want[0].dims[0];
    TRY(out_dims(c, want, 1, DIMS(kept)));
    TRY(out_dims(c, want, 2, DIMS(kept)));
    TRY(out_dims(c, want, 3, DIMS(kept)));
    TRY(out_dims(c, want, 4, DIMS(rule_in(c, 3) ? desc_count(c->in[3]) : 0)));
    TRY(out_dims(c, want, 5, DIMS(kept)));
    return out_dims(c, want, 6, DIMS(classes));
}

RULE(collect_rpn_proposals)
{
    for (uint32_t i = 0; i < 5; i++) {
        TRY(rule_dims(c, i, 2, (uint32_t[]){0, 5}, "[rois, 5]"));
        REFUSE_IF(!rule_in(c, i) != !rule_in(c, 5 + i), c, "level %u has %s; both are expected, or neither", i,
                  rule_in(c, i) ? "rois without scores" : "scores without rois");
        if (rule_in(c, i))
            TRY(rule_vector(c, 5 + i, c->in[i]->dims[0], "one per roi"));
    }
    return out_dims(c, want, 0, DIMS(0, 5));
}

RULE(combined_nms)
{
    const struct tensor_desc *boxes = c->in[0], *scores = c->in[1];
    TRY(rule_dims(c, 0, 4, (uint32_t[]){0, 0, 0, 4}, "[batch, boxes, classes or 1, 4]"));
    TRY(rule_dims(c, 1, 3, (uint32_t[]){boxes->dims[0], boxes->dims[1], 0}, "[batch, boxes, classes]"));
    REFUSE_IF(boxes->dims[2] != 1 && boxes->dims[2] != scores->dims[2], c,
              "input 0 has boxes for %u classes; 1 or %u are expected", boxes->dims[2], scores->dims[2]);
    uint64_t b = boxes->dims[0];
    TRY(out_dims(c, want, 0, DIMS(b, 0, 4)));
    TRY(out_dims(c, want, 1, DIMS(b, want[0].dims[1])));
    TRY(out_dims(c, want, 2, DIMS(b, want[0].dims[1])));
    return out_dims(c, want, 3, DIMS(b));
}

RULE(detection_output)
{
    const struct tensor_desc *scores = c->in[0];
    TRY(rule_rank(c, 0, 3, "[batch, anchors, classes]"));
    TRY(rule_dims(c, 1, 3, (uint32_t[]){scores->dims[0], 0, 4}, "[batch, boxes, 4]"));
    bool shared = op_int(c, "share_location", 0);
    uint64_t boxes = (uint64_t)scores->dims[1] * (shared ? 1 : scores->dims[2]);
    REFUSE_IF(c->in[1]->dims[1] != boxes, c, "input 1 (\"deltas\") has %u boxes; %llu are expected (%s)", c->in[1]->dims[1],
              (unsigned long long)boxes,
              shared ? "one per anchor, parameter \"share_location\" is true" : "one per anchor and class");
    uint64_t anchors = desc_count(c->in[2]), one = 4ull * scores->dims[1];
    REFUSE_IF(anchors != one && anchors != one * scores->dims[0], c,
              "input 2 (\"anchors\") has %llu values; 4 for each of %u anchors are expected", (unsigned long long)anchors,
              scores->dims[1]);
    uint64_t b = scores->dims[0];
    TRY(out_dims(c, want, 0, DIMS(b, 0)));
    uint64_t most = want[0].dims[1];
    TRY(out_dims(c, want, 1, DIMS(b, most, 4)));
    TRY(out_dims(c, want, 2, DIMS(b, most)));
    return out_dims(c, want, 3, DIMS(b));
}

RULE(distribute_fpn_proposals)
{
    TRY(rule_dims(c, 0, 2, (uint32_t[]){0, 5}, "[rois, 5]"));
    REFUSE_IF(op_int(c, "roi_min_level", 0) > op_int(c, "roi_max_level", 0), c,
              "parameter \"roi_min_level\" is %lld; at most \"roi_max_level\" %lld is expected",
              (long long)op_int(c, "roi_min_level", 0), (long long)op_int(c, "roi_max_level", 0));
    rule_type_free(&want[0], DT_I32);
    TRY(out_dims(c, want, 0, DIMS(c->in[0]->dims[0])));
    for (uint32_t i = 1; i < c->n_out; i++)
        TRY(out_dims(c, want, i, DIMS(0, 5)));
    return ST_OK;
}

RULE(generate_proposals)
{
    const struct tensor_desc *s = c->in[0];
    TRY(rule_rank(c, 0, 4, "[batch, height, width, anchors]"));
    REFUSE_IF(s->dims[3] > UINT32_MAX / 4, c, "input 0 has %u anchors; fewer are expected", s->dims[3]);
    TRY(rule_dims(c, 1, 4, (uint32_t[]){ s->dims[0], s->dims[1], s->dims[2], 4 * s->dims[3] },
                  "[batch, height, width, anchors * 4]"));
    TRY(rule_dims(c, 2, 2, (uint32_t[]){s->dims[3], 4}, "[anchors, 4]"));
    TRY(rule_dims(c, 3, 2, (uint32_t[]){s->dims[0], 2}, "[batch, 2]"));
    TRY(out_dims(c, want, 0, DIMS(0)));
    TRY(out_dims(c, want, 1, DIMS(want[0].dims[0], 4)));
    return out_dims(c, want, 2, DIMS(want[0].dims[0]));
}

RULE(heat_map_max_key_point)
{
    const struct tensor_desc *h = c->in[0];
    TRY(rule_rank(c, 0, 4, "[boxes, height, width, keypoints]"));
    TRY(rule_dims(c, 1, 2, (uint32_t[]){h->dims[0], 4}, "[boxes, 4]"));
    TRY(out_dims(c, want, 0, DIMS(h->dims[0], h->dims[3])));
    return out_dims(c, want, 1, DIMS(h->dims[0], h->dims[3], 2));
}

RULE(multi_class_nms)
{
    const struct tensor_desc *boxes = c->in[0];
    TRY(rule_dims(c, 0, 3, (uint32_t[]){0, 0, 4}, "[batch, boxes, 4]"));
    TRY(rule_dims(c, 1, 3, (uint32_t[]){boxes->dims[0], boxes->dims[1], 0}, "[batch, boxes, classes]"));
    uint32_t features = c->n_in - 2;
    REFUSE_IF(c->n_out > 4 && c->n_out - 4 != features, c,
              "%u feature outputs are given; as many as feature inputs (%u) are expected", c->n_out - 4, features);
    uint64_t b = boxes->dims[0];
    TRY(out_dims(c, want, 0, DIMS(b, 0, 4)));
    uint64_t most = want[0].dims[1];
    TRY(out_dims(c, want, 1, DIMS(b, most)));
    TRY(out_dims(c, want, 2, DIMS(b, most)));
    TRY(out_dims(c, want, 3, DIMS(b)));
    for (uint32_t i = 4; i < c->n_out && rule_in(c, i - 2); i++) {
        const struct tensor_desc *f = c->in[i - 2];
        TRY(rule_rank_min(c, i - 2, 2));
        rule_shape_of(&want[i], f);
        rule_type(&want[i], f);
        TRY(rule_set_dim(c, &want[i], 1, most));
    }
    return ST_OK;
}

RULE(non_max_suppression)
{
    const struct tensor_desc *boxes = c->in[0];
    TRY(rule_dims(c, 0, 3, (uint32_t[]){0, 0, 4}, "[batch, boxes, 4]"));
    TRY(rule_dims(c, 1, 3, (uint32_t[]){boxes->dims[0], 0, boxes->dims[1]}, "[batch, classes, boxes]"));
    rule_type_free(&want[0], DT_I32);
    TRY(out_dims(c, want, 0, DIMS(0, 3)));
    if (c->n_out > 1) {
        rule_type_free(&want[1], DT_U32);
        if (want[1].rank == 0)
            return ST_OK; /* a scalar is as good as [1] */
    }
    return out_dims(c, want, 1, DIMS(1));
}
