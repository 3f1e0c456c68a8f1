/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes that suppress each other. One work item per image, or one for all where rows of all images are counted together: each choice depends on the ones before.
 *
 *     room of a unit, `unit` floats   number of hits | boxes [n, 4] | candidates: score, index | hits: score, class, index | best class of each box               */

struct candidate {
    float score;
    int index;
};

struct hit {
    float score;
    int class_id, index;
};

struct bench {
    global int *found;
    global float *boxes;
    global struct candidate *cand;
    global struct hit *hits;
    global int *best;
};

struct bench lay_out(const struct gpu_suppress *a, global float *room, int unit)
{
    struct bench w;
    w.found = (global int *)(room + unit * a->unit);
    w.boxes = room + unit * a->unit + 1;
    w.cand = (global struct candidate *)(w.boxes + a->held * 4);
    w.hits = (global struct hit *)(w.cand + a->candidates);
    w.best = (global int *)(w.hits + a->room);
    return w;
}

void put_index(int type, global void *y, int i, long v)
{
    if (is_real(type))
        write_real(type, y, i, (float)v);
    else
        write_whole(type, y, i, v);
}

bool ahead(struct candidate x, struct candidate y)
{
    return x.score != y.score ? x.score > y.score : x.index < y.index;
}

/* The worst candidate is on top. */
void sift(global struct candidate *h, int n, int i)
{
    struct candidate moved = h[i];
    for (int child = 2 * i + 1; child < n; i = child, child = 2 * i + 1) {
        if (child + 1 < n && ahead(h[child], h[child + 1]))
            child++;
        if (!ahead(moved, h[child]))
            break;
        h[i] = h[child];
    }
    h[i] = moved;
}

void sort_candidates(global struct candidate *c, int n)
{
    for (int i = n / 2 - 1; i >= 0; i--)
        sift(c, n, i);
    for (int end = n; end > 1; end--) {
        struct candidate worst = c[0];
        c[0] = c[end - 1];
        c[end - 1] = worst;
        sift(c, end - 1, 0);
    }
}

float lesser(float a, float b)
{
    return a < b ? a : b;
}

float greater(float a, float b)
{
    return a > b ? a : b;
}

float overlap(global const float *a, global const float *b)
{
    float area_a = 1.0f, area_b = 1.0f, both = 1.0f;
    for (int d = 0; d < 2; d++) {
        float a0 = lesser(a[d], a[d + 2]), a1 = greater(a[d], a[d + 2]), b0 = lesser(b[d], b[d + 2]), b1 = greater(b[d], b[d + 2]);
        area_a = area_a * (a1 - a0);
        area_b = area_b * (b1 - b0);
        both = both * greater(lesser(a1, b1) - greater(a0, b0), 0.0f);
    }
    return area_a > 0.0f && area_b > 0.0f ? both / (area_a + area_b - both) : 0.0f;
}

int run_hard(const struct gpu_nms *n, global const float *boxes, global struct candidate *c, int count)
{
    int kept = 0;
    float iou = n->iou;
    for (int i = 0; i < count && kept < n->most; i++) {
        bool keep = true;
        for (int k = 0; k < kept && keep; k++)
            keep = !(overlap(boxes + c[k].index * n->stride, boxes + c[i].index * n->stride) > iou);
        if (!keep)
            continue;
        c[kept++] = c[i];
        if (n->eta < 1.0f && iou > 0.5f)
            iou = iou * n->eta;
    }
    return kept;
}

/* What is left of a score beside a chosen box. */
float soften(const struct gpu_nms *n, float score, float both)
{
    if (n->kind == NMS_LINEAR)
        return both > n->iou ? score * (1.0f - both) : score;
    if (n->drop && both > n->iou)
        return -INFINITY;
    return score * exp(-(both * both) / n->sigma);
}

int run_soft(const struct gpu_nms *n, global const float *boxes, global struct candidate *c, int count)
{
    int kept = 0;
    while (kept < count && kept < n->most) {
        int best = kept;
        for (int i = kept + 1; i < count; i++)
            if (ahead(c[i], c[best]))
                best = i;
        struct candidate chosen = c[best];
        if (!(chosen.score > n->least))
            break;
        c[best] = c[kept];
        c[kept] = chosen;
        int left = ++kept;
        for (int i = kept; i < count; i++) {
            struct candidate other = c[i];
            other.score = soften(n, other.score, overlap(boxes + chosen.index * n->stride, boxes + other.index * n->stride));
            if (other.score > n->least)
                c[left++] = other;
        }
        count = left;
    }
    return kept;
}

int suppress(const struct gpu_nms *n, global const float *boxes, global struct candidate *c, int count)
{
    return n->kind == NMS_HARD ? run_hard(n, boxes, c, count) : run_soft(n, boxes, c, count);
}

/* Behind everything that is at least as good; false: worse than all of a full list. */
bool insert_hit(global struct hit *hits, int *n, int most, struct hit h)
{
    int at = *n;
    while (at > 0 && hits[at - 1].score < h.score)
        at--;
    if (at >= most)
        return false;
    int last = *n < most ? *n : most - 1;
    for (int i = last; i > at; i--)
        hits[i] = hits[i - 1];
    hits[at] = h;
    *n = last + 1;
    return true;
}

/* Scores above the threshold, sorted. */
int find_candidates(const struct gpu_suppress *a, global const void *scores, int at, int step, global struct candidate *c)
{
    int n = 0;
    for (int i = 0; i < a->boxes; i++) {
        float s = read_real(a->score_type, scores, at + i * step);
        if (s > a->score) {
            c[n].score = s;
            c[n++].index = i;
        }
    }
    sort_candidates(c, n);
    return n;
}

kernel void non_max_suppression(struct gpu_suppress a, global const void *boxes, global const void *scores, global void *y, global void *count, global float *room)
{
    if (get_global_id(0))
        return;
    struct bench w = lay_out(&a, room, 0);
    int row = 0;
    for (int b = 0; b < a.batch; b++) {
        for (int i = 0; i < a.boxes; i++) {
            global float *o = w.boxes + i * 4;
            for (int k = 0; k < 4; k++)
                o[k] = read_real(a.box_type, boxes, (b * a.boxes + i) * 4 + k);
            if (a.center) {
                float x = o[0], v = o[1], width = o[2] * 0.5f, height = o[3] * 0.5f;
                o[0] = x - width, o[1] = v - height, o[2] = x + width, o[3] = v + height;
            }
        }
        for (int c = 0; c < a.classes; c++) {
            int n = find_candidates(&a, scores, (b * a.classes + c) * a.boxes, 1, w.cand);
            n = suppress(&a.nms, w.boxes, w.cand, n);
            for (int i = 0; i < n && row < a.room; i++, row++) {
                put_index(a.out_type[0], y, row * 3, b);
                put_index(a.out_type[0], y, row * 3 + 1, c);
                put_index(a.out_type[0], y, row * 3 + 2, w.cand[i].index);
            }
        }
    }
    if (a.given >> 1 & 1)
        put_index(a.out_type[1], count, 0, row);
    for (int i = row * 3; i < a.room * 3; i++)
        put_index(a.out_type[0], y, i, -1);
}

/* The results of one image: boxes, scores, classes, count. */
void put_hits(const struct gpu_suppress *a, const struct bench *w, int image, int n, global void *boxes, global void *scores, global void *classes, global void *count)
{
    for (int i = 0; i < a->room; i++) {
        int at = image * a->room + i;
        struct hit h = {0.0f, 0, 0};
        if (i < n)
            h = w->hits[i];
        for (int k = 0; k < 4; k++) {
            float v = i < n ? w->boxes[h.index * a->nms.stride + (a->own_boxes ? h.class_id * 4 : 0) + k] : 0.0f;
            v = a->clip ? (v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f) : v;
            if (a->given & 1)
                write_real(a->out_type[0], boxes, at * 4 + k, v);
        }
        if (a->given >> 1 & 1)
            write_real(a->out_type[1], scores, at, h.score);
        if (a->given >> 2 & 1)
            put_index(a->out_type[2], classes, at, h.class_id);
    }
    if (a->given >> 3 & 1)
        put_index(a->out_type[3], count, image, n);
    *w->found = n;
}

/* MultiClassNms and CombinedNms: class by class, then the best of all. */
kernel void classes_nms(struct gpu_suppress a, global const void *boxes, global const void *scores, global void *y_boxes, global void *y_scores, global void *y_classes,
                        global void *y_count, global float *room)
{
    int image = get_global_id(0), found = 0;
    if (image >= a.batch)
        return;
    struct bench w = lay_out(&a, room, image);
    for (int i = 0; i < a.boxes * a.nms.stride; i++)
        w.boxes[i] = read_real(a.box_type, boxes, image * a.boxes * a.nms.stride + i);
    for (int c = 0; c < a.classes; c++) {
        int n = find_candidates(&a, scores, image * a.boxes * a.classes + c, a.classes, w.cand);
        n = suppress(&a.nms, w.boxes + (a.own_boxes ? c * 4 : 0), w.cand, n);
        for (int i = 0; i < n; i++)
            if (!insert_hit(w.hits, &found, a.limit, (struct hit){w.cand[i].score, c, w.cand[i].index}))
                break;
    }
    put_hits(&a, &w, image, found, y_boxes, y_scores, y_classes, y_count);
}

/* Features of the boxes that were chosen; `limit` elements each. */
kernel void chosen_features(struct gpu_suppress a, global const T *x, global T *y, global float *room)
{
    int i = get_global_id(0);
    if (i >= a.batch * a.room * a.limit)
        return;
    int e = i % a.limit, at = i / a.limit % a.room, image = i / a.limit / a.room;
    struct bench w = lay_out(&a, room, image);
    y[i] = at < *w.found ? x[(image * a.boxes + w.hits[at].index) * a.limit + e] : (T)0;
}

/* ---- DetectionOutput --------------------------------------------------------------------------------------------------------------- */

/* The box of an anchor for a class, as y1, x1, y2, x2. */
void decode(const struct gpu_suppress *a, const struct bench *w, global const void *deltas, global const void *anchors, int image, int anchor, int c)
{
    global float *b = w->boxes + (a->own_boxes && !a->fast ? anchor * a->classes + c : anchor) * 4;
    int box = (a->own_boxes ? (image * a->boxes + anchor) * a->classes + c : image * a->boxes + anchor) * 4, p = ((a->own_anchors ? image * a->boxes : 0) + anchor) * 4;
    for (int k = 0; k < 2; k++) {
        float size = read_real(a->anchor_type, anchors, p + k + 2);
        float middle = read_real(a->box_type, deltas, box + k) * a->factors[k] * size + read_real(a->anchor_type, anchors, p + k);
        float reach = exp(read_real(a->box_type, deltas, box + k + 2) * a->factors[k + 2]) * size * 0.5f;
        b[k] = middle - reach;
        b[k + 2] = middle + reach;
    }
}

int detect_fast(const struct gpu_suppress *a, const struct bench *w, global const void *scores, global const void *deltas, global const void *anchors, int image)
{
    int n = 0, found = 0;
    for (int i = 0; i < a->boxes; i++) {
        float most = a->score;
        bool any = false;
        for (int c = 0; c < a->classes; c++) {
            if (c == a->background && !a->background_in)
                continue;
            float v = read_real(a->score_type, scores, (image * a->boxes + i) * a->classes + c);
            if (v > most) {
                most = v;
                w->best[i] = c;
                any = true;
            }
        }
        if (!any)
            continue;
        w->cand[n].score = most;
        w->cand[n++].index = i;
        decode(a, w, deltas, anchors, image, i, w->best[i]);
    }
    sort_candidates(w->cand, n);
    n = suppress(&a->nms, w->boxes, w->cand, n);
    for (int i = 0; i < n && found < a->limit; i++) {
        int c = w->best[w->cand[i].index];
        if (c != a->background || a->background_out)
            w->hits[found++] = (struct hit){w->cand[i].score, c, w->cand[i].index};
    }
    return found;
}

int detect_regular(const struct gpu_suppress *a, const struct bench *w, global const void *scores, global const void *deltas, global const void *anchors, int image)
{
    int found = 0;
    for (int c = 0; c < a->classes; c++) {
        if (c == a->background && !(a->background_in && a->background_out))
            continue;
        int n = 0;
        for (int i = 0; i < a->boxes; i++) {
            float v = read_real(a->score_type, scores, (image * a->boxes + i) * a->classes + c);
            if (!(v > a->score))
                continue;
            w->cand[n].score = v;
            w->cand[n++].index = i;
            decode(a, w, deltas, anchors, image, i, c);
        }
        sort_candidates(w->cand, n);
        n = suppress(&a->nms, w->boxes + (a->own_boxes ? c * 4 : 0), w->cand, n);
        for (int i = 0; i < n; i++)
            if (!insert_hit(w->hits, &found, a->limit, (struct hit){w->cand[i].score, c, w->cand[i].index}))
                break;
    }
    return found;
}

kernel void detection(struct gpu_suppress a, global const void *scores, global const void *deltas, global const void *anchors, global void *y_scores, global void *y_boxes,
                      global void *y_classes, global void *y_count, global float *room)
{
    int image = get_global_id(0);
    if (image >= a.batch)
        return;
    struct bench w = lay_out(&a, room, image);
    int n = a.fast ? detect_fast(&a, &w, scores, deltas, anchors, image) : detect_regular(&a, &w, scores, deltas, anchors, image);
    for (int i = 0; i < a.room; i++) {
        int at = image * a.room + i;
        struct hit h = {0.0f, 0, 0};
        if (i < n)
            h = w.hits[i];
        if (a.given & 1)
            write_real(a.out_type[0], y_scores, at, h.score);
        for (int k = 0; k < 4 && a.given >> 1 & 1; k++)
            write_real(a.out_type[1], y_boxes, at * 4 + k, i < n ? w.boxes[h.index * a.nms.stride + (a.own_boxes && !a.fast ? h.class_id * 4 : 0) + k] : 0.0f);
        if (a.given >> 2 & 1)
            put_index(a.out_type[2], y_classes, at, h.class_id);
    }
    if (a.given >> 3 & 1)
        put_index(a.out_type[3], y_count, image, n);
}

/* ---- BoxWithNmsLimit --------------------------------------------------------------------------------------------------------------- */

/* The smallest image of a box that is larger than `after`; -1: none. */
long next_image(const struct gpu_suppress *a, global const void *images, long after)
{
    long next = -1;
    for (int i = 0; i < a->boxes; i++) {
        long v = is_real(a->anchor_type) ? (long)read_real(a->anchor_type, images, i) : read_whole(a->anchor_type, images, i);
        if (v > after && (next < 0 || v < next))
            next = v;
    }
    return next;
}

kernel void box_limit(struct gpu_suppress a, global const void *boxes, global const void *scores, global const void *images, global void *y_boxes, global void *y_scores,
                      global void *y_classes, global void *y_images, global void *y_splits, global void *y_kept, global void *y_kept_counts, global float *room)
{
    if (get_global_id(0))
        return;
    struct bench w = lay_out(&a, room, 0);
    int row = 0;
    for (int i = 0; i < a.boxes * a.classes * 4; i++)
        w.boxes[i] = read_real(a.box_type, boxes, i);
    for (int i = 0; i < a.splits; i++)
        put_index(a.out_type[4], y_splits, i, 0);
    for (int c = 0; c < a.classes && a.given >> 6 & 1; c++)
        put_index(a.out_type[6], y_kept_counts, c, 0);
    for (long image = next_image(&a, images, -1); image >= 0; image = next_image(&a, images, image)) {
        int of_image = 0;
        for (int c = 1; c < a.classes; c++) { /* class 0 is the background */
            int n = 0, of_class = 0;
            for (int i = 0; i < a.boxes; i++) {
                float s = read_real(a.score_type, scores, i * a.classes + c);
                if (s > a.score && read_whole(a.anchor_type, images, i) == image) {
                    w.cand[n].score = s;
                    w.cand[n++].index = i;
                }
            }
            sort_candidates(w.cand, n);
            n = a.before >= 0 ? min(n, a.before) : n;
            n = suppress(&a.nms, w.boxes + c * 4, w.cand, n);
            for (int i = 0; i < n && row < a.room; i++, row++, of_image++, of_class++) {
                for (int k = 0; k < 4; k++)
                    write_real(a.out_type[0], y_boxes, row * 4 + k, w.boxes[(w.cand[i].index * a.classes + c) * 4 + k]);
                write_real(a.out_type[1], y_scores, row, w.cand[i].score);
                put_index(a.out_type[2], y_classes, row, c);
                put_index(a.out_type[3], y_images, row, image);
                if (a.given >> 5 & 1)
                    put_index(a.out_type[5], y_kept, row, w.cand[i].index);
            }
            w.best[c] = (image == next_image(&a, images, -1) ? 0 : w.best[c]) + of_class;
        }
        if (image < a.splits)
            put_index(a.out_type[4], y_splits, (int)image, of_image);
        for (int c = 1; c < a.classes && a.given >> 6 & 1; c++)
            put_index(a.out_type[6], y_kept_counts, c, w.best[c]);
    }
    for (; row < a.room; row++) {
        for (int k = 0; k < 4; k++)
            write_real(a.out_type[0], y_boxes, row * 4 + k, 0.0f);
        write_real(a.out_type[1], y_scores, row, 0.0f);
        put_index(a.out_type[2], y_classes, row, -1);
        put_index(a.out_type[3], y_images, row, -1);
        if (a.given >> 5 & 1)
            put_index(a.out_type[5], y_kept, row, -1);
    }
}

/* ---- GenerateProposals, CollectRpnProposals ------------------------------------------------------------------------------------------- */

float within(float v, float lo, float hi)
{
    return v > lo ? (v < hi ? v : hi) : lo;
}

/* Box of a candidate: its anchor at its place, moved and limited to the image. */
void propose(const struct gpu_suppress *a, const struct bench *w, global const void *deltas, global const void *anchors, global const void *sizes, int image, int index)
{
    int pixel = index / a->classes, anchor = index % a->classes;
    for (int k = 0; k < 2; k++) {
        float shift = k ? (float)(pixel / a->width) * a->factors[0] : (float)(pixel % a->width) * a->factors[1];
        float lo = read_real(a->anchor_type, anchors, anchor * 4 + k) + shift, hi = read_real(a->anchor_type, anchors, anchor * 4 + k + 2) + shift;
        int at = (image * a->boxes + index) * 4;
        float grow = read_real(a->box_type, deltas, at + k + 2), limit = read_real(a->size_type, sizes, image * 2 + 1 - k);
        grow = grow < a->factors[3] ? grow : a->factors[3];
        float size = hi - lo, middle = (lo + hi) * 0.5f, to = middle + read_real(a->box_type, deltas, at + k) * size, reach = exp(grow) * size * 0.5f;
        w->boxes[index * 4 + k] = within(to - reach, 0.0f, limit);
        w->boxes[index * 4 + k + 2] = within(to + reach, 0.0f, limit);
    }
}

kernel void proposals(struct gpu_suppress a, global const void *scores, global const void *deltas, global const void *anchors, global const void *sizes, global void *y_scores,
                      global void *y_boxes, global void *y_images, global float *room)
{
    if (get_global_id(0))
        return;
    struct bench w = lay_out(&a, room, 0);
    int row = 0;
    for (int image = 0; image < a.batch; image++) {
        int n = 0, kept = 0;
        for (int i = 0; i < a.boxes; i++) {
            float s = read_real(a.score_type, scores, image * a.boxes + i);
            if (s == s) {
                w.cand[n].score = s;
                w.cand[n++].index = i;
            }
        }
        sort_candidates(w.cand, n);
        n = min(n, a.before);
        for (int i = 0; i < n; i++) {
            global float *b = w.boxes + w.cand[i].index * 4;
            propose(&a, &w, deltas, anchors, sizes, image, w.cand[i].index);
            if (b[2] - b[0] >= a.factors[2] && b[3] - b[1] >= a.factors[2])
                w.cand[kept++] = w.cand[i];
        }
        n = suppress(&a.nms, w.boxes, w.cand, kept);
        for (int i = 0; i < n && row < a.room; i++, row++) {
            write_real(a.out_type[0], y_scores, row, w.cand[i].score);
            for (int k = 0; k < 4; k++)
                write_real(a.out_type[1], y_boxes, row * 4 + k, w.boxes[w.cand[i].index * 4 + k]);
            if (a.given >> 2 & 1)
                put_index(a.out_type[2], y_images, row, image);
        }
    }
    for (; row < a.room; row++) {
        write_real(a.out_type[0], y_scores, row, 0.0f);
        for (int k = 0; k < 4; k++)
            write_real(a.out_type[1], y_boxes, row * 4 + k, 0.0f);
        if (a.given >> 2 & 1)
            put_index(a.out_type[2], y_images, row, -1);
    }
}
