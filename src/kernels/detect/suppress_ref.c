/* SPDX-License-Identifier: Apache-2.0 */
/* The operators that suppress boxes. A unit of work is one image, where its results have a place of their own; else there is
 * one unit. */
#define KERNEL_ISA ref
#include <math.h>

#include "kernels/detect/detect.h"
#include "kernels/math.h"
#include "kernels/mover_body.h"

/* The workspace, as detect.c laid it out: boxes, candidates of one class, hits. */
struct bench {
    float *boxes;
    struct candidate *cand;
    struct hit *hits;
};

static struct bench lay_out(const struct kernel_call *call, uint64_t boxes, uint64_t candidates)
{
    struct bench b = {.boxes = call->work};
    b.cand = (struct candidate *)(b.boxes + boxes * 4);
    b.hits = (struct hit *)(b.cand + candidates);
    return b;
}

/* Candidates: scores above the threshold of `boxes` boxes whose scores start at `at`, `step` apart. Sorted. */
static uint32_t candidates(const struct kernel_call *call, const struct suppress_args *a, uint64_t at, uint64_t step,
                           struct candidate *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->boxes; i++) {
        float s;
        port_load(&a->in[1], call->data[1], at + i * step, 1, &s);
        if (s > a->score)
            c[n++] = (struct candidate){s, i};
    }
    nms_sort(c, n);
    return n;
}

static void to_corners(float b[4])
{
    float x = b[0], y = b[1], w = b[2] * 0.5f, h = b[3] * 0.5f;
    b[0] = x - w;
    b[1] = y - h;
    b[2] = x + w;
    b[3] = y + h;
}

void non_max_suppression_ref(const struct kernel_call *call, struct range tile)
{
    const struct suppress_args *a = call->args;
    struct bench w = lay_out(call, a->boxes, a->boxes);
    struct nms n = a->nms;
    uint64_t row = 0;
    n.boxes = w.boxes;
    (void)tile;
    for (uint32_t b = 0; b < a->batch; b++) {
        for (uint32_t i = 0; i < a->boxes; i++) {
            port_load(&a->in[0], call->data[0], ((uint64_t)b * a->boxes + i) * 4, 4, w.boxes + (uint64_t)i * 4);
            if (a->center)
                to_corners(w.boxes + (uint64_t)i * 4);
        }
        for (uint32_t c = 0; c < a->classes; c++) {
            uint32_t count = candidates(call, a, ((uint64_t)b * a->classes + c) * a->boxes, 1, w.cand);
            count = nms_run(&n, w.cand, count);
            for (uint32_t i = 0; i < count && row < a->room; i++, row++) {
                port_store_index(&a->out[0], call->data[2], row * 3, b);
                port_store_index(&a->out[0], call->data[2], row * 3 + 1, c);
                port_store_index(&a->out[0], call->data[2], row * 3 + 2, w.cand[i].index);
            }
        }
    }
    if (a->out[1].given)
        port_store_index(&a->out[1], call->data[3], 0, (int64_t)row);
    for (uint64_t i = row * 3; i < (uint64_t)a->room * 3; i++)
        port_store_index(&a->out[0], call->data[2], i, -1);
}

/* The results of one image: boxes, scores, classes, count. */
static void put_hits(const struct kernel_call *call, const struct suppress_args *a, uint64_t image, const struct bench *w,
                     uint32_t n)
{
    static const float nothing[4];
    void *const *out = call->data + a->n_in;
    for (uint32_t i = 0; i < a->room; i++) {
        uint64_t at = image * a->room + i;
        const struct hit none = {0}, *h = i < n ? &w->hits[i] : &none;
        float b[4];
        memcpy(b, i < n ? w->boxes + ((uint64_t)h->index * a->nms.stride + (a->own_boxes ? h->class_id * 4u : 0)) : nothing,
               sizeof(b));
        for (int k = 0; k < 4 && a->clip; k++)
            b[k] = b[k] > 0.0f ? (b[k] < 1.0f ? b[k] : 1.0f) : 0.0f;
        port_store(&a->out[0], out[0], at * 4, 4, b);
        port_store(&a->out[1], out[1], at, 1, &h->score);
        port_store_index(&a->out[2], out[2], at, h->class_id);
    }
    port_store_index(&a->out[3], out[3], image, n);
}

/* Class by class, then the best of all: scores [image, box, class]. Returns the number of hits. */
static uint32_t all_classes(const struct kernel_call *call, const struct suppress_args *a, uint64_t image,
                            const struct bench *w)
{
    uint64_t stride = a->nms.stride;
    uint32_t found = 0;
    struct nms n = a->nms;
    for (uint64_t i = 0; i < a->boxes * (stride / 4); i++)
        port_load(&a->in[0], call->data[0], (image * a->boxes * (stride / 4) + i) * 4, 4, w->boxes + i * 4);
    for (uint32_t c = 0; c < a->classes; c++) {
        n.boxes = w->boxes + (a->own_boxes ? c * 4u : 0);
        uint32_t count = candidates(call, a, image * a->boxes * a->classes + c, a->classes, w->cand);
        count = nms_run(&n, w->cand, count);
        for (uint32_t i = 0; i < count; i++)
            if (!nms_insert(w->hits, &found, a->limit, (struct hit){w->cand[i].score, c, w->cand[i].index}))
                break;
    }
    return found;
}

void multi_class_nms_ref(const struct kernel_call *call, struct range tile)
{
    const struct suppress_args *a = call->args;
    struct bench w = lay_out(call, a->boxes, a->boxes);
    uint64_t end = a->serial ? a->batch : tile.end;
    for (uint64_t image = tile.begin; image < end; image++) {
        uint32_t n = all_classes(call, a, image, &w);
        put_hits(call, a, image, &w, n);
        for (uint32_t f = 0; f < a->n_features; f++) {
            const struct mover *m = &a->features[f].mover;
            uint64_t row = a->features[f].row;
            for (uint32_t i = 0; i < n; i++)
                move_run(m, call->data[a->n_in + 4 + f], (int64_t)((image * a->room + i) * row), call->data[2 + f],
                         (int64_t)((image * a->boxes + w.hits[i].index) * row), 1, row);
            move_fill(m, call->data[a->n_in + 4 + f], (int64_t)((image * a->room + n) * row), (a->room - n) * row);
        }
    }
}

void combined_nms_ref(const struct kernel_call *call, struct range tile)
{
    const struct suppress_args *a = call->args;
    struct bench w = lay_out(call, a->boxes * (a->nms.stride / 4), a->boxes);
    for (uint64_t image = tile.begin; image < tile.end; image++)
        put_hits(call, a, image, &w, all_classes(call, a, image, &w));
}

/* ---- DetectionOutput --------------------------------------------------------------------------------------------- */

/* The box of an anchor for a class, as y1, x1, y2, x2. */
static void decode(const struct kernel_call *call, const struct detection_args *a, uint64_t image, uint64_t anchor,
                   uint32_t c)
{
    const struct suppress_args *s = &a->s;
    float p[4], d[4], *b = (float *)call->work + (s->own_boxes && !a->fast ? anchor * s->classes + c : anchor) * 4;
    uint64_t box = s->own_boxes ? (image * s->boxes + anchor) * s->classes + c : image * s->boxes + anchor;
    port_load(&s->in[0], call->data[1], box * 4, 4, d);
    port_load(&s->in[2], call->data[2], ((a->own_anchors ? image * s->boxes : 0) + anchor) * 4, 4, p);
    for (int k = 0; k < 2; k++) {
        float middle = d[k] * a->factors[k] * p[k + 2] + p[k];
        float half = (float)math_exp_inline((double)(d[k + 2] * a->factors[k + 2])) * p[k + 2] * 0.5f;
        b[k] = middle - half;
        b[k + 2] = middle + half;
    }
}

static uint32_t detect_fast(const struct kernel_call *call, const struct detection_args *a, uint64_t image,
                            const struct bench *w)
{
    const struct suppress_args *s = &a->s;
    uint32_t *best = (uint32_t *)(w->hits + s->room), n = 0, found = 0;
    struct nms nms = s->nms;
    for (uint32_t i = 0; i < s->boxes; i++) {
        float most = s->score, v;
        bool any = false;
        for (uint32_t c = 0; c < s->classes; c++) {
            if (c == a->background && !a->background_in)
                continue;
            port_load(&s->in[1], call->data[0], (image * s->boxes + i) * s->classes + c, 1, &v);
            if (v > most) {
                most = v;
                best[i] = c;
                any = true;
            }
        }
        if (!any)
            continue;
        w->cand[n++] = (struct candidate){most, i};
        decode(call, a, image, i, best[i]);
    }
    nms_sort(w->cand, n);
    nms.boxes = w->boxes;
    n = nms_run(&nms, w->cand, n);
    for (uint32_t i = 0; i < n && found < s->limit; i++)
        if (best[w->cand[i].index] != a->background || a->background_out)
            w->hits[found++] = (struct hit){w->cand[i].score, best[w->cand[i].index], w->cand[i].index};
    return found;
}

static uint32_t detect_regular(const struct kernel_call *call, const struct detection_args *a, uint64_t image,
                               const struct bench *w)
{
    const struct suppress_args *s = &a->s;
    struct nms nms = s->nms;
    uint32_t found = 0;
    for (uint32_t c = 0; c < s->classes; c++) {
        if (c == a->background && !(a->background_in && a->background_out))
            continue;
        uint32_t n = 0;
        for (uint32_t i = 0; i < s->boxes; i++) {
            float v;
            port_load(&s->in[1], call->data[0], (image * s->boxes + i) * s->classes + c, 1, &v);
            if (!(v > s->score))
                continue;
            w->cand[n++] = (struct candidate){v, i};
            decode(call, a, image, i, c);
        }
        nms_sort(w->cand, n);
        nms.boxes = w->boxes + (s->own_boxes ? c * 4u : 0);
        n = nms_run(&nms, w->cand, n);
        for (uint32_t i = 0; i < n; i++)
            if (!nms_insert(w->hits, &found, s->limit, (struct hit){w->cand[i].score, c, w->cand[i].index}))
                break;
    }
    return found;
}

void detection_output_ref(const struct kernel_call *call, struct range tile)
{
    const struct detection_args *a = call->args;
    const struct suppress_args *s = &a->s;
    struct bench w = lay_out(call, s->boxes * (s->nms.stride / 4), s->boxes);
    for (uint64_t image = tile.begin; image < tile.end; image++) {
        uint32_t n = a->fast ? detect_fast(call, a, image, &w) : detect_regular(call, a, image, &w);
        for (uint32_t i = 0; i < s->room; i++) {
            static const float nothing[4];
            const struct hit none = {0}, *h = i < n ? &w.hits[i] : &none;
            uint64_t at = image * s->room + i,
                     box = h->index * s->nms.stride + (s->own_boxes && !a->fast ? h->class_id * 4u : 0);
            port_store(&s->out[0], call->data[3], at, 1, &h->score);
            port_store(&s->out[1], call->data[4], at * 4, 4, i < n ? w.boxes + box : nothing);
            port_store_index(&s->out[2], call->data[5], at, h->class_id);
        }
        port_store_index(&s->out[3], call->data[6], image, n);
    }
}

/* ---- BoxWithNmsLimit --------------------------------------------------------------------------------------------- */

static uint32_t limit_class(const struct kernel_call *call, const struct suppress_args *a, int64_t image, uint32_t c,
                            const struct bench *w)
{
    uint32_t n = 0;
    struct nms nms = a->nms;
    for (uint32_t i = 0; i < a->boxes; i++) {
        float s;
        port_load(&a->in[1], call->data[1], (uint64_t)i * a->classes + c, 1, &s);
        if (s > a->score && port_load_index(&a->in[2], call->data[2], i) == image)
            w->cand[n++] = (struct candidate){s, i};
    }
    nms_sort(w->cand, n);
    if (a->before >= 0 && a->before < n)
        n = (uint32_t)a->before;
    nms.boxes = w->boxes + c * 4u;
    return nms_run(&nms, w->cand, n);
}

/* The smallest image index of a box that is larger than `after`; -1: none. */
static int64_t next_image(const struct kernel_call *call, const struct suppress_args *a, int64_t after)
{
    int64_t next = -1;
    for (uint32_t i = 0; i < a->boxes; i++) {
        int64_t v = port_load_index(&a->in[2], call->data[2], i);
        if (v > after && (next < 0 || v < next))
            next = v;
    }
    return next;
}

/* Optional outputs: batch splits, kept boxes, kept boxes per class. */
static void put_optional(const struct kernel_call *call, const struct suppress_args *a, uint32_t i, uint64_t at, int64_t v)
{
    if (a->out[i].given)
        port_store_index(&a->out[i], call->data[a->n_in + i], at, v);
}

static void count_one(const struct kernel_call *call, const struct suppress_args *a, uint32_t i, uint64_t at, uint64_t size)
{
    if (a->out[i].given && at < size)
        put_optional(call, a, i, at, port_load_index(&a->out[i], call->data[a->n_in + i], at) + 1);
}

void box_with_nms_limit_ref(const struct kernel_call *call, struct range tile)
{
    const struct suppress_args *a = call->args;
    static const float nothing[4];
    void *const *out = call->data + a->n_in;
    struct bench w = lay_out(call, (uint64_t)a->boxes * a->classes, a->boxes);
    uint64_t row = 0;
    (void)tile;
    for (uint64_t i = 0; i < (uint64_t)a->boxes * a->classes; i++)
        port_load(&a->in[0], call->data[0], i * 4, 4, w.boxes + i * 4);
    for (uint32_t i = 0; i < a->splits; i++)
        put_optional(call, a, 4, i, 0);
    for (uint32_t c = 0; c < a->classes; c++)
        put_optional(call, a, 6, c, 0);
    for (int64_t image = next_image(call, a, -1); image >= 0; image = next_image(call, a, image))
        for (uint32_t c = 1; c < a->classes; c++) { /* class 0 is the background */
            uint32_t n = limit_class(call, a, image, c, &w);
            for (uint32_t i = 0; i < n && row < a->room; i++, row++) {
                port_store(&a->out[0], out[0], row * 4, 4, w.boxes + ((uint64_t)w.cand[i].index * a->classes + c) * 4);
                port_store(&a->out[1], out[1], row, 1, &w.cand[i].score);
                port_store_index(&a->out[2], out[2], row, c);
                port_store_index(&a->out[3], out[3], row, image);
                count_one(call, a, 4, (uint64_t)image, a->splits);
                put_optional(call, a, 5, row, w.cand[i].index);
                count_one(call, a, 6, c, a->classes);
            }
        }
    for (; row < a->room; row++) {
        port_store(&a->out[0], out[0], row * 4, 4, nothing);
        port_store(&a->out[1], out[1], row, 1, nothing);
        port_store_index(&a->out[2], out[2], row, -1);
        port_store_index(&a->out[3], out[3], row, -1);
        put_optional(call, a, 5, row, -1);
    }
}
