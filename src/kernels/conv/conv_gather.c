/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering rows of x: which taps of a row fall inside the input, and how its elements come into the workspace. */
#include "kernels/conv/conv_walk.h"

#include "kernels/kernel_util.h"

/* ---- taps ------------------------------------------------------------------------------------------------------- */

/* Input position of a tap for output position o; negative or large: outside. */
static inline int64_t position(const struct conv_args *a, const struct conv_axis *v, uint32_t o, uint32_t tap)
{
    if (a->kind == CONV_TRANSPOSED) /* exact for taps of the class; negative ones are refused by `outside` */
        return ((int64_t)o + v->pad - (int64_t)tap * v->dilation) / (int64_t)v->stride;
    return (int64_t)o * v->stride - v->pad + (int64_t)tap * v->dilation;
}

static inline bool outside(const struct conv_args *a, const struct conv_axis *v, uint32_t o, uint32_t tap)
{
    if (a->kind == CONV_TRANSPOSED && (int64_t)o + v->pad < (int64_t)tap * v->dilation)
        return true;
    int64_t i = position(a, v, o, tap);
    return i < 0 || i >= v->in;
}

/* TransposeConv: tap t meets output o where o + pad - t * dilation is a multiple of the stride. */
static struct conv_taps taps_of_phase(const struct conv_axis *v, uint32_t o)
{
    struct conv_taps t = { 0, 1, 0 };
    uint64_t phase = ((uint64_t)o + v->pad) % v->stride;
    while (t.first < v->kernel && (uint64_t)t.first * v->dilation % v->stride != phase)
        t.first++;
    if (t.first == v->kernel)
        return t;
    while (t.first + t.step < v->kernel && (uint64_t)t.step * v->dilation % v->stride)
        t.step++;
    t.n = (v->kernel - t.first + t.step - 1) / t.step;
    return t;
}

struct conv_taps conv_taps_of(const struct conv_walk *w, const struct conv_axis *v, uint32_t o)
{
    struct conv_taps t = { 0, 1, v->kernel };
    if (w->a->kind == CONV_TRANSPOSED)
        t = taps_of_phase(v, o);
    if (!w->skip)
        return t;
    for (; t.n && outside(w->a, v, o, t.first); t.n--)
        t.first += t.step;
    while (t.n && outside(w->a, v, o, t.first + (t.n - 1) * t.step))
        t.n--;
    return t;
}

/* ---- pixels ----------------------------------------------------------------------------------------------------- */

/* The taps of one kernel row: runs inside the input are loaded, the rest is padding. `line`: element of the line's first
 * pixel. */
static char *gather_taps(const struct conv_walk *w, uint32_t i, uint64_t line, uint64_t channel, char *dst)
{
    const struct conv_args *a = w->a;
    const struct conv_axis *v = &a->x;
    uint32_t xs = dtype_bits(a->x_type) / 8, elem = w->e->elem, ox = w->p.x_at[i];
    const char *src = w->x + (line * a->ci + channel) * xs;
    bool whole = a->kind == CONV_WINDOW && v->dilation == 1 && a->cig == a->ci;
    for (uint32_t t = 0; t < w->tx.n;) {
        uint32_t tap = w->tx.first + t * w->tx.step, run = 1;
        if (outside(a, v, ox, tap)) {
            w->e->pad(a, dst, a->tap_stride);
        } else {
            uint64_t ix = (uint64_t)position(a, v, ox, tap);
            if (whole)
                run = w->tx.n - t < v->in - ix ? w->tx.n - t : (uint32_t)(v->in - ix);
            w->e->load(a, dst, src + ix * a->ci * xs, a->cig * run, 1);
            if (a->tap_stride > a->cig)
                w->e->pad(a, dst + (size_t)a->cig * elem, a->tap_stride - a->cig);
        }
        t += run;
        dst += (size_t)run * a->tap_stride * elem;
    }
    return dst;
}

/* All kernel rows of one depth. `plane`: element of the plane's first pixel. */
static char *gather_plane(const struct conv_walk *w, uint32_t i, uint64_t plane, uint64_t channel, char *dst)
{
    const struct conv_args *a = w->a;
    const size_t line_bytes = (size_t)w->tx.n * a->tap_stride * w->e->elem;
    for (uint32_t t = 0; t < w->ty.n; t++) {
        uint32_t tap = w->ty.first + t * w->ty.step;
        if (outside(a, &a->y, w->p.y_at[i], tap)) {
            w->e->pad(a, dst, w->tx.n * a->tap_stride);
            dst += line_bytes;
        } else {
            dst = gather_taps(w, i, plane + (uint64_t)position(a, &a->y, w->p.y_at[i], tap) * a->x.in, channel, dst);
        }
    }
    return dst;
}

/* What lies behind the last channel meets weights of zero, so it matters only where elements are summed. */
static inline void pad_tail(const struct conv_walk *w, char *dst, uint32_t filled)
{
    if (w->a->w_offset && w->p.k_total > filled)
        w->e->pad(w->a, dst + (size_t)filled * w->e->elem, w->p.k_total - filled);
}

static void gather_pixel(const struct conv_walk *w, uint32_t i, uint32_t slice, char *dst)
{
    const struct conv_args *a = w->a;
    uint32_t plane = w->ty.n * w->tx.n * a->tap_stride, filled = w->tz.n * plane, elem = w->e->elem;
    pad_tail(w, dst, filled);
    uint32_t image = w->p.plane_at[i] / a->z.out, oz = w->p.plane_at[i] % a->z.out;
    for (uint32_t t = 0; t < w->tz.n; t++) {
        uint32_t tap = w->tz.first + t * w->tz.step;
        if (outside(a, &a->z, oz, tap)) {
            w->e->pad(a, dst, plane);
            dst += (size_t)plane * elem;
        } else {
            uint64_t at = ((uint64_t)image * a->z.in + (uint64_t)position(a, &a->z, oz, tap)) * a->y.in * a->x.in;
            dst = gather_plane(w, i, at, (uint64_t)slice * a->cig, dst);
        }
    }
}

static bool same_line(const struct conv_panel *p, uint32_t i)
{
    return i > 0 && p->y_at[i] == p->y_at[i - 1] && p->plane_at[i] == p->plane_at[i - 1];
}

/* Rows that lie in x as they are needed; those of one output line are equally far apart. */
static void point_pixels(struct conv_walk *w, uint32_t slice)
{
    const struct conv_args *a = w->a;
    const uint64_t xs = dtype_bits(a->x_type) / 8, step = (uint64_t)a->x.stride * a->ci * xs;
    const char *line = NULL;
    for (uint32_t i = 0; i < w->p.rows; i++) {
        if (!same_line(&w->p, i)) {
            uint32_t image = w->p.plane_at[i] / a->z.out, oz = w->p.plane_at[i] % a->z.out;
            uint64_t plane = (uint64_t)image * a->z.in + (uint64_t)oz * a->z.stride;
            line =
                w->x +
                ((plane * a->y.in + (uint64_t)w->p.y_at[i] * a->y.stride) * a->x.in * a->ci + (uint64_t)slice * a->cig) * xs;
        }
        w->p.x[i] = line + w->p.x_at[i] * step;
    }
}

/* Pixels of one output line, from i on, whose windows are inside the image. */
static uint32_t inside_windows(const struct conv_walk *w, uint32_t i)
{
    const struct conv_args *a = w->a;
    int64_t iy = position(a, &a->y, w->p.y_at[i], w->ty.first);
    uint32_t n = 0;
    if (!w->tx.n || !w->ty.n || iy < 0 || iy + ((int64_t)w->ty.n - 1) * a->y.dilation >= a->y.in)
        return 0;
    for (; i + n < w->p.rows && (n == 0 || same_line(&w->p, i + n)); n++) {
        int64_t ix = (int64_t)w->p.x_at[i + n] * a->x.stride - a->x.pad + w->tx.first;
        if (ix < 0 || ix + w->tx.n > a->x.in)
            break;
    }
    return n;
}

/* Windows inside the image whose lines are contiguous in x are loaded together. */
static void gather_windows(struct conv_walk *w)
{
    const struct conv_args *a = w->a;
    const uint64_t xs = dtype_bits(a->x_type) / 8, pixel = a->ci * xs;
    struct conv_windows some = { .n = w->tx.n * a->ci,
                                 .lines = w->ty.n,
                                 .line_step = (uint64_t)a->y.dilation * a->x.in * pixel,
                                 .window_step = a->x.stride * pixel,
                                 .row_step = w->stride };
    for (uint32_t i = 0; i < w->p.rows; i++)
        w->p.x[i] = w->rows + i * w->stride;
    for (uint32_t i = 0; i < w->p.rows;) {
        char *dst = w->rows + i * w->stride;
        some.windows = inside_windows(w, i);
        if (!some.windows) {
            gather_pixel(w, i++, 0, dst);
            continue;
        }
        uint64_t iy = (uint64_t)position(a, &a->y, w->p.y_at[i], w->ty.first),
                 ix = (uint64_t)w->p.x_at[i] * a->x.stride - a->x.pad + w->tx.first;
        some.dst = dst;
        some.src = w->x + ((w->p.plane_at[i] * (uint64_t)a->y.in + iy) * a->x.in + ix) * pixel;
        w->e->load_windows(a, &some);
        for (uint32_t k = 0; k < some.windows; k++)
            pad_tail(w, dst + k * w->stride, some.lines * some.n);
        i += some.windows;
    }
}

/* TransposeConv whose rows have one tap each (a kernel as large as the stride): the row is a pixel of x, and rows of a class
 * that follow each other are neighbours. False: the engine wants another form, or a row lies outside. */
static bool point_taps(struct conv_walk *w, uint32_t slice)
{
    const struct conv_args *a = w->a;
    struct conv_panel *p = &w->p;
    const uint64_t xs = dtype_bits(a->x_type) / 8, pixel = a->ci * xs;
    if (a->kind != CONV_TRANSPOSED || w->tz.n * w->ty.n * w->tx.n != 1 || a->tap_stride != a->cig || w->e->elem != xs ||
        w->e->gathered || !w->e->in_place(a))
        return false;
    uint64_t ix = 0;
    for (uint32_t i = 0; i < p->rows; i++) {
        if (same_line(p, i) && p->x_at[i] == p->x_at[i - 1] + a->x.stride) {
            p->x[i] = (const char *)p->x[i - 1] + pixel;
            if (++ix >= a->x.in)
                return false;
            continue;
        }
        uint32_t image = p->plane_at[i] / a->z.out, oz = p->plane_at[i] % a->z.out;
        if (outside(a, &a->z, oz, w->tz.first) || outside(a, &a->y, p->y_at[i], w->ty.first) ||
            outside(a, &a->x, p->x_at[i], w->tx.first))
            return false;
        uint64_t plane = (uint64_t)image * a->z.in + (uint64_t)position(a, &a->z, oz, w->tz.first);
        uint64_t line = plane * a->y.in + (uint64_t)position(a, &a->y, p->y_at[i], w->ty.first);
        ix = (uint64_t)position(a, &a->x, p->x_at[i], w->tx.first);
        p->x[i] = w->x + (line * a->x.in + ix) * pixel + (uint64_t)slice * a->cig * xs;
    }
    return true;
}

static void gather_pixels(struct conv_walk *w, uint32_t slice)
{
    const struct conv_args *a = w->a;
    uint64_t line = 0;
    for (uint32_t i = 0; i < w->p.rows; i++) {
        if (!same_line(&w->p, i))
            line = ((uint64_t)w->p.plane_at[i] * a->y.out + w->p.y_at[i]) * a->x.out * a->co + (uint64_t)slice * a->cog;
        w->p.out[i] = line + (uint64_t)w->p.x_at[i] * a->co;
    }
    if (w->placed) {
        conv_place_rows(w, slice);
    } else if (w->in_place) {
        point_pixels(w, slice);
    } else if (w->lines) {
        gather_windows(w);
    } else if (!point_taps(w, slice)) {
        for (uint32_t i = 0; i < w->p.rows; i++) {
            w->p.x[i] = w->rows + i * w->stride;
            gather_pixel(w, i, slice, w->rows + i * w->stride);
        }
    }
}

/* ---- flat rows -------------------------------------------------------------------------------------------------- */

uint64_t conv_matrix_of(const struct conv_args *a, const uint64_t *strides, uint32_t slice)
{
    uint64_t at = 0;
    for (uint32_t i = a->n_batch; i-- > 0; slice /= a->batch_dims[i])
        at += slice % a->batch_dims[i] * strides[i];
    return at;
}

static void gather_rows(struct conv_walk *w, uint32_t slice)
{
    const struct conv_args *a = w->a;
    const bool matrix = a->kind == CONV_MATRIX;
    const uint64_t xs = dtype_bits(a->x_type) / 8,
                   from = matrix ? conv_matrix_of(a, a->x_batch, slice) * a->rows * a->cig : (uint64_t)slice * a->cig;
    const uint64_t step = (matrix ? a->x_row : a->ci) * xs,
                   to = matrix ? (uint64_t)slice * a->rows * a->co : (uint64_t)slice * a->cog;
    const char *src = w->x + from * xs + w->first * step, *row = w->in_place ? src : w->rows;
    const uint64_t row_step = w->in_place ? step : w->stride, out_step = a->co, n = w->p.rows;
    uint64_t out = to + w->first * out_step;
    for (uint32_t i = 0; i < n; i++, row += row_step, out += out_step) {
        w->p.x[i] = row;
        w->p.out[i] = out;
    }
    for (uint32_t i = 0; i < n && !w->in_place; i++) {
        char *dst = w->rows + i * w->stride;
        w->e->load(a, dst, src + i * step, a->cig, matrix ? a->x_k : 1);
        pad_tail(w, dst, a->cig);
    }
}

void conv_gather_next(struct conv_walk *w, uint32_t slices)
{
    const uint64_t x = (uint64_t)slices * w->a->cig * w->e->elem, out = (uint64_t)slices * w->a->cog;
    for (uint32_t i = 0; i < w->p.rows; i++) {
        w->p.x[i] = (const char *)w->p.x[i] + x;
        w->p.out[i] += out;
    }
}

static void gather_together(struct conv_walk *w, uint32_t slice)
{
    const struct conv_args *a = w->a;
    w->a = &w->all;
    gather_pixels(w, 0);
    w->a = a;
    conv_gather_next(w, slice);
}

void conv_gather(struct conv_walk *w, uint32_t slice)
{
    if (w->together)
        gather_together(w, slice);
    else if (w->flat)
        gather_rows(w, slice);
    else
        gather_pixels(w, slice);
    if (w->e->gathered && !w->in_place && !w->placed)
        w->e->gathered(w->a, &w->p);
    for (uint32_t i = 0; w->a->w_offset && i < w->p.rows; i++)
        w->p.xsum[i] = w->e->sum(w->a, w->p.x[i], w->p.k_total);
}
