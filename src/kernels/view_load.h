/* SPDX-License-Identifier: Apache-2.0 */
/* Views and spans together: the next elements of a view as f32 or as stored integers. Included by the per-instruction-set files. */
#ifndef KERNELS_VIEW_LOAD_H
#define KERNELS_VIEW_LOAD_H

#include "kernels/span.h"
#include "kernels/view.h"

/* n <= SPAN elements from where the walk stands, into buf. */
static inline void view_fill(struct view_walk *w, const struct codec *c, const void *base, uint32_t n, float *buf)
{
    int64_t at, stride = w->v->strides[w->v->rank - 1];
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
