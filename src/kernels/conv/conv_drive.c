/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of the conv family: which rows meet which chunks of channels, and the gathering of rows.
 *
 * Rows that use the same taps form a class and are computed together. Without classes a row of a float convolution at the border could
 * not skip its taps outside the input (docs/numerics.md: padding is skipped, not multiplied by zero), and TransposeConv would multiply
 * by the zeros between its strides.
 *
 *     Conv            fixed point: one class, padding is gathered as real zero     float: one class per set of valid taps
 *     TransposeConv   one class per phase of the stride, divided as above */
#include <string.h>

#include "kernels/conv/conv.h"
#include "kernels/kernel_util.h"

/* Taps first, first + step, … of one axis. */
struct taps {
    uint32_t first, step, n;
};

struct walk {
    const struct conv_args *a;
    const struct conv_engine *e;
    void *const *data;
    void *out;
    char *rows;                     /* gathered rows */
    bool skip;                      /* padding is skipped */
    bool in_place;
    uint32_t chunk0, chunk1;
    struct conv_chunk made;         /* the chunk that was packed while running */
    struct taps ty, tx;             /* class of the panel */
    struct conv_panel p;
};

/* ---- taps ------------------------------------------------------------------------------------------------------- */

/* Input position of a tap for output position o; negative or large: outside. */
static int64_t position(const struct conv_args *a, const struct conv_axis *v, uint32_t o, uint32_t tap)
{
    if (a->kind == CONV_TRANSPOSED)
        return ((int64_t)o + v->pad - tap) / (int64_t)v->stride; /* exact for taps of the class; negative ones are refused by `outside` */
    return (int64_t)o * v->stride - v->pad + (int64_t)tap * v->dilation;
}

static bool outside(const struct conv_args *a, const struct conv_axis *v, uint32_t o, uint32_t tap)
{
    if (a->kind == CONV_TRANSPOSED && (int64_t)o + v->pad < tap)
        return true;
    int64_t i = position(a, v, o, tap);
    return i < 0 || i >= v->in;
}

static struct taps taps_of(const struct walk *w, const struct conv_axis *v, uint32_t o)
{
    struct taps t = { 0, 1, v->kernel };
    if (w->a->kind == CONV_TRANSPOSED) {
        t.first = (uint32_t)(((uint64_t)o + v->pad) % v->stride);
        t.step = v->stride;
        t.n = t.first < v->kernel ? (v->kernel - t.first + v->stride - 1) / v->stride : 0;
    }
    if (!w->skip)
        return t;
    for (; t.n && outside(w->a, v, o, t.first); t.n--)
        t.first += t.step;
    while (t.n && outside(w->a, v, o, t.first + (t.n - 1) * t.step))
        t.n--;
    return t;
}

static bool same_taps(struct taps p, struct taps q)
{
    return p.n == q.n && (p.n == 0 || p.first == q.first);
}

/* ---- gathering -------------------------------------------------------------------------------------------------- */

/* The taps of one kernel row: runs inside the input are loaded, the rest is padding. */
static char *gather_taps(const struct walk *w, uint32_t i, int64_t iy, uint64_t channel, char *dst)
{
    const struct conv_args *a = w->a;
    const struct conv_axis *v = &a->x;
    uint32_t xs = dtype_bits(a->x_type) / 8, elem = w->e->elem, ox = w->p.x_at[i];
    const char *line = (const char *)w->data[0] + (((uint64_t)w->p.n_at[i] * a->y.in + (uint64_t)iy) * v->in * a->ci + channel) * xs;
    bool whole = a->kind == CONV_WINDOW && v->dilation == 1 && a->cig == a->ci;
    for (uint32_t t = 0; t < w->tx.n;) {
        uint32_t tap = w->tx.first + t * w->tx.step, run = 1;
        if (outside(a, v, ox, tap)) {
            w->e->pad(a, dst, a->tap_stride);
        } else {
            uint64_t ix = (uint64_t)position(a, v, ox, tap);
            if (whole)
                run = w->tx.n - t < v->in - ix ? w->tx.n - t : (uint32_t)(v->in - ix);
            w->e->load(a, dst, line + ix * a->ci * xs, a->cig * run, 1);
            if (a->tap_stride > a->cig)
                w->e->pad(a, dst + (size_t)a->cig * elem, a->tap_stride - a->cig);
        }
        t += run;
        dst += (size_t)run * a->tap_stride * elem;
    }
    return dst;
}

static void gather_pixel(const struct walk *w, uint32_t i, uint32_t slice, char *dst)
{
    const struct conv_args *a = w->a;
    uint32_t line = w->tx.n * a->tap_stride, elem = w->e->elem, filled = w->ty.n * line;
    char *end = dst + (size_t)filled * elem;
    for (uint32_t t = 0; t < w->ty.n; t++) {
        uint32_t tap = w->ty.first + t * w->ty.step;
        if (outside(a, &a->y, w->p.y_at[i], tap)) {
            w->e->pad(a, dst, line);
            dst += (size_t)line * elem;
        } else {
            dst = gather_taps(w, i, position(a, &a->y, w->p.y_at[i], tap), (uint64_t)slice * a->cig, dst);
        }
    }
    if (w->p.k_total > filled)
        w->e->pad(a, end, w->p.k_total - filled);
}

/* Which matrix of an operand belongs to a slice. */
static uint64_t matrix_of(const struct conv_args *a, const uint64_t *strides, uint32_t slice)
{
    uint64_t at = 0;
    for (uint32_t i = a->n_batch; i-- > 0; slice /= a->batch_dims[i])
        at += slice % a->batch_dims[i] * strides[i];
    return at;
}

static void gather_row(const struct walk *w, uint32_t i, uint32_t slice, char *dst)
{
    const struct conv_args *a = w->a;
    uint32_t xs = dtype_bits(a->x_type) / 8;
    uint64_t at = matrix_of(a, a->x_batch, slice) * a->rows * a->cig + w->p.x_at[i] * a->x_row;
    w->e->load(a, dst, (const char *)w->data[0] + at * xs, a->cig, a->x_k);
    if (a->kpad > a->cig)
        w->e->pad(a, dst + (size_t)a->cig * w->e->elem, a->kpad - a->cig);
}

static const void *row_in_place(const struct walk *w, uint32_t i, uint32_t slice)
{
    const struct conv_args *a = w->a;
    uint64_t at;
    if (a->kind == CONV_MATRIX)
        at = matrix_of(a, a->x_batch, slice) * a->rows * a->cig + w->p.x_at[i] * a->x_row;
    else
        at = (((uint64_t)w->p.n_at[i] * a->y.in + (uint64_t)w->p.y_at[i] * a->y.stride) * a->x.in +
              (uint64_t)w->p.x_at[i] * a->x.stride) * a->ci + (uint64_t)slice * a->cig;
    return (const char *)w->data[0] + at * (dtype_bits(a->x_type) / 8);
}

static void gather(struct walk *w, uint32_t slice)
{
    const struct conv_args *a = w->a;
    for (uint32_t i = 0; i < w->p.rows; i++) {
        char *dst = w->rows + i * a->panel_stride;
        w->p.x[i] = dst;
        if (w->in_place)
            w->p.x[i] = row_in_place(w, i, slice);
        else if (a->kind == CONV_MATRIX)
            gather_row(w, i, slice, dst);
        else
            gather_pixel(w, i, slice, dst);
        if (a->kind == CONV_MATRIX)
            w->p.out[i] = ((uint64_t)slice * a->rows + w->p.x_at[i]) * a->co;
        else
            w->p.out[i] = (((uint64_t)w->p.n_at[i] * a->y.out + w->p.y_at[i]) * a->x.out + w->p.x_at[i]) * a->co +
                          (uint64_t)slice * a->cog;
        if (a->w_offset)
            w->p.xsum[i] = w->e->sum(a, w->p.x[i], w->p.k_total);
    }
}

/* ---- panels ----------------------------------------------------------------------------------------------------- */

/* Segments of packed k for the class in (ty, tx). */
static void set_segments(struct walk *w)
{
    const struct conv_args *a = w->a;
    struct conv_panel *p = &w->p;
    p->n_seg = 0;
    p->k_total = 0;
    if (a->kind == CONV_MATRIX || (!w->skip && a->kind == CONV_WINDOW)) {
        p->seg[p->n_seg++] = (struct conv_seg){ 0, a->kpad };
        p->k_total = a->kpad;
        return;
    }
    bool joined = a->kind == CONV_WINDOW && w->tx.n == a->x.kernel;
    for (uint32_t t = 0; t < w->ty.n && w->tx.n; t++) {
        uint32_t row = (w->ty.first + t * w->ty.step) * a->x.kernel;
        if (a->kind == CONV_WINDOW) {
            uint32_t len = w->tx.n * a->tap_stride;
            if (joined && t > 0)
                p->seg[0].n += len;
            else
                p->seg[p->n_seg++] = (struct conv_seg){ (row + w->tx.first) * a->tap_stride, len };
        } else {
            for (uint32_t u = 0; u < w->tx.n; u++)
                p->seg[p->n_seg++] = (struct conv_seg){ (row + w->tx.first + u * w->tx.step) * a->tap_stride, a->tap_stride };
        }
        p->k_total += w->tx.n * a->tap_stride;
    }
}

static void constant_chunk(const struct conv_args *a, uint32_t at, struct conv_chunk *c)
{
    uint32_t slice = at / a->slice_chunks, c0 = at % a->slice_chunks * CONV_CHUNK;
    uint32_t ws = a->kind == CONV_MATRIX ? (uint32_t)matrix_of(a, a->w_batch, slice) : slice;
    uint64_t n = (uint64_t)a->w_slices * a->npad, first = (uint64_t)ws * a->npad + c0;
    *c = (struct conv_chunk){ .w = (const char *)a->packed + first / CONV_BLOCK * conv_block_bytes(a),
                              .m = conv_m(a->head) + first, .b = conv_b(a->head, n) + first, .wsum = conv_wsum(a->head, n) + first,
                              .sum_stride = n, .slice = slice, .c0 = c0,
                              .n = a->cog - c0 < CONV_CHUNK ? a->cog - c0 : CONV_CHUNK, .plain = a->head->plain };
}

static void flush(struct walk *w)
{
    uint32_t gathered = UINT32_MAX;
    struct conv_chunk c = w->made;
    for (uint32_t i = w->chunk0; w->p.rows && i < w->chunk1; i++) {
        if (w->a->packed)
            constant_chunk(w->a, i, &c);
        if (c.slice != gathered)
            gather(w, c.slice);
        gathered = c.slice;
        w->e->block(w->a, &w->p, &c, w->out);
    }
    w->p.rows = 0;
}

static void add_row(struct walk *w, uint32_t n, uint32_t y, uint32_t x)
{
    uint32_t i = w->p.rows++;
    w->p.n_at[i] = n;
    w->p.y_at[i] = y;
    w->p.x_at[i] = x;
    if (w->p.rows == w->a->panel_rows)
        flush(w);
}

/* ---- classes ---------------------------------------------------------------------------------------------------- */

/* Lines first, first + 1, … (of batch * output height) that are in phase; UINT32_MAX: none left. */
static uint32_t next_line(const struct conv_args *a, uint32_t line, uint32_t end, uint32_t phase, uint32_t phases)
{
    for (; line < end; line++)
        if (line % a->y.out % phases == phase)
            return line;
    return UINT32_MAX;
}

/* All columns of the lines [line, last] that are in phase, class by class. */
static void walk_columns(struct walk *w, uint32_t line, uint32_t last, uint32_t phase_y, uint32_t phases_y)
{
    const struct conv_args *a = w->a;
    uint32_t phases = a->kind == CONV_TRANSPOSED ? a->x.stride : 1;
    for (uint32_t phase = 0; phase < phases && phase < a->x.out; phase++) {
        uint32_t x1;
        for (uint32_t x0 = phase; x0 < a->x.out; x0 = x1) {
            w->tx = taps_of(w, &a->x, x0);
            for (x1 = x0 + phases; x1 < a->x.out && (!w->skip || same_taps(taps_of(w, &a->x, x1), w->tx)); x1 += phases)
                ;
            set_segments(w);
            for (uint32_t l = line; l <= last; l = next_line(a, l + 1, last + 1, phase_y, phases_y))
                for (uint32_t x = x0; x < x1; x += phases)
                    add_row(w, l / a->y.out, l % a->y.out, x);
            flush(w);
        }
    }
}

static void walk_pixels(struct walk *w, uint32_t line0, uint32_t line1)
{
    const struct conv_args *a = w->a;
    uint32_t phases = a->kind == CONV_TRANSPOSED ? a->y.stride : 1;
    for (uint32_t phase = 0; phase < phases; phase++) {
        uint32_t line = next_line(a, line0, line1, phase, phases);
        while (line != UINT32_MAX) {
            uint32_t last = line, next;
            w->ty = taps_of(w, &a->y, line % a->y.out);
            while ((next = next_line(a, last + 1, line1, phase, phases)) != UINT32_MAX &&
                   (!w->skip || same_taps(taps_of(w, &a->y, next % a->y.out), w->ty)))
                last = next;
            walk_columns(w, line, last, phase, phases);
            line = next;
        }
    }
}

static void walk_rows(struct walk *w, uint32_t unit0, uint32_t unit1)
{
    const struct conv_args *a = w->a;
    if (a->kind != CONV_MATRIX) {
        uint32_t lines = a->batch * a->y.out, per = a->unit_rows / a->x.out;
        uint64_t end = (uint64_t)unit1 * per;
        walk_pixels(w, unit0 * per, end < lines ? (uint32_t)end : lines);
        return;
    }
    set_segments(w);
    for (uint64_t r = (uint64_t)unit0 * a->unit_rows; r < a->rows && r < (uint64_t)unit1 * a->unit_rows; r++)
        add_row(w, 0, 0, (uint32_t)r);
    flush(w);
}

/* ---- tiles ------------------------------------------------------------------------------------------------------ */

/* Pack the weights of one chunk behind the panel. */
static void make_chunk(struct walk *w, uint32_t at, char *dst)
{
    const struct conv_args *a = w->a;
    uint32_t slice = at / a->slice_chunks, c0 = at % a->slice_chunks * CONV_CHUNK;
    uint32_t ws = a->kind == CONV_MATRIX ? (uint32_t)matrix_of(a, a->w_batch, slice) : slice;
    uint32_t n = a->cog - c0 < CONV_CHUNK ? a->cog - c0 : CONV_CHUNK;
    struct conv_head *h = (struct conv_head *)(dst + (conv_block_bytes(a) * (CONV_CHUNK / CONV_BLOCK) + 63) / 64 * 64);
    struct conv_record r = { (float *)conv_m(h), (int64_t *)conv_b(h, CONV_CHUNK), (int64_t *)conv_wsum(h, CONV_CHUNK), CONV_CHUNK, 0,
                             false };
    memset(h, 0, conv_record_bytes(a, CONV_CHUNK));
    conv_pack(a, w->data[1], ws, c0, n, dst);
    conv_record_fill(a, dst, w->data[2], ws, c0, n, &r);
    w->made = (struct conv_chunk){ .w = dst, .m = r.m, .b = r.b, .wsum = r.wsum, .sum_stride = r.sum_stride, .slice = slice, .c0 = c0,
                                   .n = n, .plain = r.plain };
}

/* Column units [c0, c1) of row units [r0, r1). */
static void run_part(struct walk *w, uint32_t c0, uint32_t c1, uint32_t r0, uint32_t r1)
{
    const struct conv_args *a = w->a;
    uint32_t first = (uint32_t)((uint64_t)a->chunks * c0 / a->col_units), end = (uint32_t)((uint64_t)a->chunks * c1 / a->col_units);
    if (a->packed) {
        w->chunk0 = first;
        w->chunk1 = end;
        walk_rows(w, r0, r1);
        return;
    }
    for (uint32_t i = first; i < end; i++) {
        make_chunk(w, i, w->rows + a->panel_rows * a->panel_stride);
        w->chunk0 = i;
        w->chunk1 = i + 1;
        walk_rows(w, r0, r1);
    }
}

void conv_run(const struct kernel_call *call, struct range tile, const struct conv_engine *e)
{
    const struct conv_args *a = call->args;
    struct walk w;
    w.a = a;
    w.e = e;
    w.data = call->data;
    w.out = call->data[a->n_in];
    w.rows = (char *)call->work + a->seg_bytes;
    w.skip = a->padded && (a->cls == CONV_F32 || a->cls == CONV_F16);
    w.in_place = a->direct && e->in_place(a);
    w.p.rows = 0;
    w.p.seg = call->work;
    for (uint32_t at = tile.begin; at < tile.end;) {
        uint32_t col = at / a->row_units, row = at % a->row_units, left = tile.end - at;
        if (row == 0 && left >= a->row_units) {
            run_part(&w, col, col + left / a->row_units, 0, a->row_units);
            at += left / a->row_units * a->row_units;
        } else {
            uint32_t end = left < a->row_units - row ? row + left : a->row_units;
            run_part(&w, col, col + 1, row, end);
            at += end - row;
        }
    }
}
