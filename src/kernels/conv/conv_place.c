/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that are multiplied where they lie in x: nothing is gathered. Rows of a class use the same taps, all of them
 * inside the input, so every tap is as far from a row's first element of x as it is for the next row:
 *
 *     x x x[x x x]x x      a row is the least position that its taps touch; kernel lines of whole pixels are one segment,
 *     x x x[x x x]x x      others (dilation, groups, TransposeConv) a segment per tap
 *
 * Engines whose elements are those of x and that take segments of any length from anywhere can do so: those of floats. */
#include "kernels/conv/conv_walk.h"

bool conv_placed(const struct conv_walk *w)
{
    const struct conv_args *a = w->a;
    return a->kind != CONV_MATRIX && !a->direct && a->kg == 1 && a->taps <= CONV_BAND_TAPS && w->e->apart &&
           w->e->in_place(a);
}

/* From the least position of a class to that of its u-th tap. TransposeConv: taps go the other way, and a class is whole
 * strides. */
static uint64_t distance(const struct conv_args *a, const struct conv_axis *v, struct conv_taps t, uint32_t u)
{
    if (a->kind == CONV_TRANSPOSED)
        return (uint64_t)(t.n - 1 - u) * t.step * v->dilation / v->stride;
    return (uint64_t)u * v->dilation;
}

void conv_place_segments(struct conv_walk *w)
{
    const struct conv_args *a = w->a;
    struct conv_panel *p = &w->p;
    const bool whole = a->kind == CONV_WINDOW && a->x.dilation == 1 && a->cig == a->ci;
    const uint32_t per = whole ? w->tx.n : 1;
    p->n_seg = 0;
    p->k_total = 0;
    for (uint32_t l = 0; l < w->tz.n * w->ty.n; l++) {
        const uint32_t uz = l / w->ty.n, uy = l % w->ty.n, z = w->tz.first + uz * w->tz.step,
                       y = w->ty.first + uy * w->ty.step;
        const uint64_t line = (distance(a, &a->z, w->tz, uz) * a->y.in + distance(a, &a->y, w->ty, uy)) * a->x.in;
        for (uint32_t u = 0; u < w->tx.n; u += per) {
            const uint32_t tap = (z * a->y.kernel + y) * a->x.kernel + w->tx.first + u * w->tx.step;
            w->seg_x[p->n_seg] = (line + distance(a, &a->x, w->tx, u)) * a->ci * w->e->elem;
            p->seg[p->n_seg++] = (struct conv_seg){ tap * a->tap_stride, per * a->tap_stride };
            p->k_total += per * a->tap_stride;
        }
    }
}

/* The least position that the taps of output o touch. */
static uint64_t least(const struct conv_args *a, const struct conv_axis *v, struct conv_taps t, uint32_t o)
{
    if (a->kind == CONV_TRANSPOSED)
        return ((uint64_t)o + v->pad - (uint64_t)(t.first + (t.n - 1) * t.step) * v->dilation) / v->stride;
    return (uint64_t)o * v->stride + (uint64_t)t.first * v->dilation - v->pad;
}

void conv_place_rows(struct conv_walk *w, uint32_t slice)
{
    const struct conv_args *a = w->a;
    struct conv_panel *p = &w->p;
    const uint64_t pixel = (uint64_t)a->ci * w->e->elem;
    const char *line = w->x;
    for (uint32_t i = 0; i < p->rows; i++) {
        if (!p->n_seg) { /* no tap: nothing is read */
            p->x[i] = line;
            continue;
        }
        const bool same_line = i > 0 && p->y_at[i] == p->y_at[i - 1] && p->plane_at[i] == p->plane_at[i - 1];
        if (same_line &&
            p->x_at[i] == p->x_at[i - 1] + (a->kind == CONV_TRANSPOSED ? a->x.stride : 1)) { /* the next one of the class */
            p->x[i] = (const char *)p->x[i - 1] + (a->kind == CONV_TRANSPOSED ? 1 : a->x.stride) * pixel;
            continue;
        }
        if (!same_line) {
            const uint64_t plane =
                (uint64_t)(p->plane_at[i] / a->z.out) * a->z.in + least(a, &a->z, w->tz, p->plane_at[i] % a->z.out);
            line = w->x + (plane * a->y.in + least(a, &a->y, w->ty, p->y_at[i])) * a->x.in * pixel +
                   (uint64_t)slice * a->cig * w->e->elem;
        }
        p->x[i] = line + least(a, &a->x, w->tx, p->x_at[i]) * pixel;
    }
}
