/* SPDX-License-Identifier: Apache-2.0 */
/* Views: a tensor seen through dimensions and strides, walked in row-major order as runs along the innermost dimension.
 * Broadcasting is a stride of 0, a transpose permuted strides, a reversed slice a negative stride. Strides
 * count elements. */
#ifndef KERNELS_VIEW_H
#define KERNELS_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "ops/ops.h"

enum { VIEW_RANK = 2 * MAX_RANK };

struct view {
    uint32_t rank; /* at least 1 */
    bool linear;   /* one dimension of stride 1: element i is at i */
    uint32_t dims[VIEW_RANK];
    int64_t strides[VIEW_RANK];
};

/* `t` broadcast to the shape of `out`, numpy style. */
void view_broadcast(struct view *v, const struct tensor_desc *t, const struct tensor_desc *out);
/* Append a dimension, outermost first, starting from rank 0; view_finish merges what can be merged. */
void view_add(struct view *v, uint32_t dim, int64_t stride);
void view_finish(struct view *v);
/* Drop size-1 dimensions and merge neighbours of two views of equal dims at once. */
void view_finish_pair(struct view *a, struct view *b);
uint64_t view_count(const struct view *v);

struct view_walk {
    const struct view *v;
    int64_t at;
    uint32_t pos[VIEW_RANK];
};

static inline void view_seek(struct view_walk *w, const struct view *v, uint64_t element)
{
    w->v = v;
    w->at = 0;
    for (uint32_t d = v->rank; d-- > 0;) {
        w->pos[d] = (uint32_t)(element % v->dims[d]);
        element /= v->dims[d];
        w->at += (int64_t)w->pos[d] * v->strides[d];
    }
}

/* Take up to `max` elements along the innermost dimension: returns how many; *at is the first one's element index, they are
 * strides[rank - 1] apart. */
static inline uint32_t view_run(struct view_walk *w, uint32_t max, int64_t *at)
{
    const struct view *v = w->v;
    uint32_t d = v->rank - 1, left = v->dims[d] - w->pos[d], n = left < max ? left : max;
    *at = w->at;
    w->pos[d] += n;
    w->at += (int64_t)n * v->strides[d];
    while (w->pos[d] == v->dims[d] && d > 0) {
        w->at -= (int64_t)v->dims[d] * v->strides[d];
        w->pos[d] = 0;
        d--;
        w->pos[d]++;
        w->at += v->strides[d];
    }
    return n;
}

#endif
