/* SPDX-License-Identifier: Apache-2.0 */
/* Suppression itself: order, overlap, and the greedy choice. */
#include <math.h>

#include "kernels/detect/detect.h"
#include "kernels/math.h"

static bool ahead(const struct candidate *x, const struct candidate *y)
{
    return x->score != y->score ? x->score > y->score : x->index < y->index;
}

/* The worst candidate is on top. */
static void sift(struct candidate *h, uint32_t n, uint32_t i)
{
    struct candidate moved = h[i];
    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && ahead(&h[child], &h[child + 1]);
        if (!ahead(&moved, &h[child]))
            break;
        h[i] = h[child];
    }
    h[i] = moved;
}

void nms_sort(struct candidate *c, uint32_t n)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift(c, n, i);
    for (uint32_t end = n; end > 1; end--) {
        struct candidate worst = c[0];
        c[0] = c[end - 1];
        c[end - 1] = worst;
        sift(c, end - 1, 0);
    }
}

static float min_of(float a, float b)
{
    return a < b ? a : b;
}

static float max_of(float a, float b)
{
    return a > b ? a : b;
}

float nms_overlap(const float a[4], const float b[4])
{
    float area_a = 1.0f, area_b = 1.0f, both = 1.0f;
    for (int d = 0; d < 2; d++) {
        float a0 = min_of(a[d], a[d + 2]), a1 = max_of(a[d], a[d + 2]), b0 = min_of(b[d], b[d + 2]),
              b1 = max_of(b[d], b[d + 2]);
        area_a = area_a * (a1 - a0);
        area_b = area_b * (b1 - b0);
        both = both * max_of(min_of(a1, b1) - max_of(a0, b0), 0.0f);
    }
    if (!(area_a > 0.0f && area_b > 0.0f))
        return 0.0f;
    return both / (area_a + area_b - both);
}

static const float *box_of(const struct nms *n, const struct candidate *c)
{
    return n->boxes + c->index * n->stride;
}

static uint32_t run_hard(const struct nms *n, struct candidate *c, uint32_t count)
{
    uint32_t kept = 0;
    float iou = n->iou;
    for (uint32_t i = 0; i < count && kept < n->most; i++) {
        bool keep = true;
        for (uint32_t k = 0; k < kept && keep; k++)
            keep = !(nms_overlap(box_of(n, &c[k]), box_of(n, &c[i])) > iou);
        if (!keep)
            continue;
        c[kept++] = c[i];
        if (n->eta < 1.0f && iou > 0.5f)
            iou = iou * n->eta;
    }
    return kept;
}

/* What is left of a score beside a chosen box. */
static float soften(const struct nms *n, float score, float overlap)
{
    if (n->kind == NMS_LINEAR)
        return overlap > n->iou ? score * (1.0f - overlap) : score;
    if (n->drop && overlap > n->iou)
        return -INFINITY;
    return score * (float)math_exp_inline((double)(-(overlap * overlap) / n->sigma));
}

static uint32_t run_soft(const struct nms *n, struct candidate *c, uint32_t count)
{
    uint32_t kept = 0;
    while (kept < count && kept < n->most) {
        uint32_t best = kept, left = kept;
        for (uint32_t i = kept + 1; i < count; i++)
            if (ahead(&c[i], &c[best]))
                best = i;
        struct candidate chosen = c[best];
        if (!(chosen.score > n->least))
            break;
        c[best] = c[kept];
        c[kept] = chosen;
        left = ++kept;
        for (uint32_t i = kept; i < count; i++) {
            struct candidate other = c[i];
            other.score = soften(n, other.score, nms_overlap(box_of(n, &chosen), box_of(n, &other)));
            if (other.score > n->least)
                c[left++] = other;
        }
        count = left;
    }
    return kept;
}

uint32_t nms_run(const struct nms *n, struct candidate *c, uint32_t count)
{
    return n->kind == NMS_HARD ? run_hard(n, c, count) : run_soft(n, c, count);
}

bool nms_insert(struct hit *hits, uint32_t *n, uint32_t most, struct hit h)
{
    uint32_t at = *n;
    while (at > 0 && hits[at - 1].score < h.score)
        at--;
    if (at >= most)
        return false;
    uint32_t last = *n < most ? *n : most - 1;
    for (uint32_t i = last; i > at; i--)
        hits[i] = hits[i - 1];
    hits[at] = h;
    *n = last + 1;
    return true;
}
