/* SPDX-License-Identifier: Apache-2.0 */
/* Views and spans together: the next elements of a view as f32 or as stored integers. Included by the per-instruction-set
 * files. */
#ifndef KERNELS_VIEW_LOAD_H
#define KERNELS_VIEW_LOAD_H

#include <string.h>

#include "kernels/span.h"
#include "kernels/view.h"

/* A short row repeated over and over (one value per channel, say): load it once, double it. Returns false for
 * other views. */
static inline bool view_repeat(struct view_walk *w, const struct codec *c, const void *base, uint32_t n, float *buf)
{
    const struct view *v = w->v;
    uint32_t row = v->dims[1], from = w->pos[1];
    if (v->rank != 2 || v->strides[0] != 0 || row >= n)
        return false;
    K(span_load)(c, base, w->at, v->strides[1], row - from, buf);
    K(span_load)(c, base, w->at - (int64_t)from * v->strides[1], v->strides[1], from, buf + row - from);
    for (uint32_t have = row; have < n; have *= 2)
        memcpy(buf + have, buf, (n - have < have ? n - have : have) * sizeof(*buf));
    uint64_t moved = (uint64_t)from + n;
    w->pos[0] += (uint32_t)(moved / row);
    w->pos[1] = (uint32_t)(moved % row);
    w->at += ((int64_t)w->pos[1] - (int64_t)from) * v->strides[1];
    return true;
}

/* n <= SPAN elements from where the walk stands, into buf. */
static inline void view_fill(struct view_walk *w, const struct codec *c, const void *base, uint32_t n, float *buf)
{
    int64_t at, stride = w->v->strides[w->v->rank - 1];
    if (view_repeat(w, c, base, n, buf))
        return;
    for (uint32_t done = 0; done < n;) {
        uint32_t k = view_run(w, n - done, &at);
        K(span_load)(c, base, at, stride, k, buf + done);
        done += k;
    }
}

/* The same, without a copy where the storage is the f32 array already. */
static inline const float *view_next(struct view_walk *w, const struct codec *c, const void *base, uint32_t n, float *buf)
{
    if (w->v->linear && c->type == DT_F32) {
        const float *p = (const float *)base + w->at;
        w->at += n;
        return p;
    }
    if (w->v->linear) {
        K(span_load)(c, base, w->at, 1, n, buf);
        w->at += n;
        return buf;
    }
    view_fill(w, c, base, n, buf);
    return buf;
}

static inline void view_next_i64(struct view_walk *w, enum dtype t, const void *base, uint32_t n, int64_t *buf)
{
    int64_t at, stride = w->v->strides[w->v->rank - 1];
    for (uint32_t done = 0; done < n;) {
        uint32_t k = view_run(w, n - done, &at);
        K(span_load_i64)(t, base, at, stride, k, buf + done);
        done += k;
    }
}

#endif
