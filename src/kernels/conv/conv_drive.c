/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of the conv family: which rows meet which chunks of channels, and when rows are gathered.
 *
 * Rows that use the same taps form a class and are computed together. Without classes a row of a float convolution at the
 * border could not skip its taps outside the input (docs/numerics.md: padding is skipped, not multiplied by zero), and
 * TransposeConv would multiply by the zeros between its strides.
 *
 *     Conv            fixed point: one class, padding is gathered as real zero     float: one class per set of valid taps
 *     TransposeConv   one class per phase of the stride, divided as above
 *
 * Panels of rows meet all chunks in turn; floats with many weights, and f16, meet them part by part (conv_parts.c). */
#include <string.h>

#include "kernels/conv/conv_walk.h"

/* ---- panels ----------------------------------------------------------------------------------------------------- */

/* Sums of TransposeConv's weights are per tap, so its segments stay single taps; others are joined where they meet. */
static void add_segment(struct conv_panel *p, uint32_t k, uint32_t n, bool join)
{
    struct conv_seg *last = p->n_seg ? &p->seg[p->n_seg - 1] : NULL;
    if (join && last && last->k + last->n == k)
        last->n += n;
    else
        p->seg[p->n_seg++] = (struct conv_seg){ k, n };
    p->k_total += n;
}

/* Segments of packed k for the class in (tz, ty, tx). */
static void set_segments(struct conv_walk *w)
{
    const struct conv_args *a = w->a;
    struct conv_panel *p = &w->p;
    bool window = a->kind == CONV_WINDOW;
    if (w->placed) {
        conv_place_segments(w);
        return;
    }
    p->n_seg = 0;
    p->k_total = 0;
    if (a->kind == CONV_MATRIX || (!w->skip && window && !w->together)) {
        add_segment(p, 0, a->kpad, true);
        return;
    }
    for (uint32_t l = 0; l < w->tz.n * w->ty.n && w->tx.n; l++) {
        uint32_t z = w->tz.first + l / w->ty.n * w->tz.step, y = w->ty.first + l % w->ty.n * w->ty.step;
        uint32_t row = (z * a->y.kernel + y) * a->x.kernel;
        if (window && !w->together)
            add_segment(p, (row + w->tx.first) * a->tap_stride, w->tx.n * a->tap_stride, true);
        else
            for (uint32_t u = 0; u < w->tx.n; u++)
                add_segment(p, (row + w->tx.first + u * w->tx.step) * a->tap_stride, a->tap_stride, false);
    }
    for (uint32_t s = 0; s < p->n_seg && w->together; s++)
        w->seg_x[s] = (uint64_t)s * a->ci * w->e->elem;
}

static void constant_chunk(const struct conv_args *a, uint32_t at, struct conv_chunk *c)
{
    uint32_t slice = at / a->slice_chunks, c0 = at % a->slice_chunks * CONV_CHUNK;
    uint32_t ws = a->kind == CONV_MATRIX ? (uint32_t)conv_matrix_of(a, a->w_batch, slice) : slice;
    uint64_t n = (uint64_t)a->w_slices * a->npad, first = (uint64_t)ws * a->npad + c0;
    *c = (struct conv_chunk){ .w = (const char *)a->packed + first / CONV_BLOCK * conv_block_bytes(a),
                              .stride = conv_block_bytes(a),
                              .m = conv_m(a->head) + first,
                              .b = conv_b(a, a->head, n) + first,
                              .wsum = conv_wsum(a, a->head, n) + first,
                              .m_stride = conv_m_stride(n),
                              .sum_stride = n,
                              .slice = slice,
                              .c0 = c0,
                              .n = a->cog - c0 < CONV_CHUNK ? a->cog - c0 : CONV_CHUNK,
                              .plain = a->head->plain };
}

void conv_flush(struct conv_walk *w)
{
    uint32_t gathered = UINT32_MAX;
    struct conv_chunk c = w->made;
    if (!w->p.rows)
        return;
    for (uint32_t i = w->chunk0; i < w->chunk1; i++) {
        if (!w->one_chunk)
            constant_chunk(w->a, i, &c);
        if ((w->together || w->placed) && gathered != UINT32_MAX)
            conv_gather_next(w, c.slice - gathered);
        else if (c.slice != gathered && !w->band_lines)
            conv_gather(w, c.slice);
        gathered = c.slice;
        w->e->block(w->a, &w->p, &c, w->out);
    }
    if (w->p.sums)
        w->p.sums += (uint64_t)w->p.rows * CONV_CHUNK;
    w->p.rows = 0;
}

static void add_row(struct conv_walk *w, uint32_t plane, uint32_t y, uint32_t x)
{
    uint32_t i = w->p.rows++;
    w->p.plane_at[i] = plane;
    w->p.y_at[i] = y;
    w->p.x_at[i] = x;
    if (w->p.rows == w->panel_rows)
        conv_flush(w);
}

/* ---- classes ---------------------------------------------------------------------------------------------------- */

static bool same_taps(struct conv_taps p, struct conv_taps q)
{
    return p.n == q.n && (p.n == 0 || p.first == q.first);
}

/* Lines first, first + 1, … (of planes * output height) that are in phase; UINT32_MAX: none left. */
static uint32_t next_line(const struct conv_args *a, uint32_t line, uint32_t end, uint32_t phase, uint32_t phases)
{
    for (; line < end; line++)
        if (phases == 1 || line % a->y.out % phases == phase)
            return line;
    return UINT32_MAX;
}

/* All columns of the lines [line, last] that are in phase, class by class. */
static void walk_columns(struct conv_walk *w, uint32_t line, uint32_t last, uint32_t phase_y, uint32_t phases_y)
{
    const struct conv_args *a = w->a;
    uint32_t phases = a->kind == CONV_TRANSPOSED ? a->x.stride : 1;
    for (uint32_t phase = 0; phase < phases && phase < a->x.out; phase++) {
        uint64_t x1;
        for (uint64_t x0 = phase; x0 < a->x.out; x0 = x1) {
            w->tx = conv_taps_of(w, &a->x, (uint32_t)x0);
            for (x1 = x0 + phases; x1 < a->x.out && (!w->skip || same_taps(conv_taps_of(w, &a->x, (uint32_t)x1), w->tx));
                 x1 += phases)
                ;
            set_segments(w);
            for (uint32_t l = line; l <= last; l = next_line(a, l + 1, last + 1, phase_y, phases_y)) {
                uint32_t plane = l / a->y.out, y = l % a->y.out;
                for (uint64_t x = x0; x < x1; x += phases)
                    add_row(w, plane, y, (uint32_t)x);
            }
            conv_flush(w);
        }
    }
}

/* Lines of one class of depth. */
static void walk_lines(struct conv_walk *w, uint32_t line0, uint32_t line1)
{
    const struct conv_args *a = w->a;
    uint32_t phases = a->kind == CONV_TRANSPOSED ? a->y.stride : 1;
    for (uint32_t phase = 0; phase < phases && phase < a->y.out; phase++) {
        uint32_t line = next_line(a, line0, line1, phase, phases);
        while (line != UINT32_MAX) {
            uint32_t last = line, next;
            w->ty = conv_taps_of(w, &a->y, line % a->y.out);
            while ((next = next_line(a, last + 1, line1, phase, phases)) != UINT32_MAX &&
                   (!w->skip || same_taps(conv_taps_of(w, &a->y, next % a->y.out), w->ty)))
                last = next;
            walk_columns(w, line, last, phase, phases);
            line = next;
        }
    }
}

/* Planes that follow each other and use the same taps of depth are walked together: without a depth, all of them. */
static void walk_pixels(struct conv_walk *w, uint32_t line0, uint32_t line1)
{
    const struct conv_args *a = w->a;
    for (uint32_t line = line0, end; line < line1; line = end) {
        w->tz = conv_taps_of(w, &a->z, line / a->y.out % a->z.out);
        for (end = line; end < line1; end += a->y.out - end % a->y.out) {
            struct conv_taps next = conv_taps_of(w, &a->z, end / a->y.out % a->z.out);
            if (!same_taps(next, w->tz))
                break;
        }
        end = end < line1 ? end : line1;
        walk_lines(w, line, end);
    }
}

/* Rows of a panel, where rows are flat: all panels are about equal, and whole tiles of a vector engine. */
static uint32_t flat_rows(const struct conv_walk *w, uint64_t rows)
{
    const uint64_t panels = (rows + w->panel_rows - 1) / w->panel_rows, even = panels ? (rows + panels - 1) / panels : 0;
    const uint32_t whole = ((uint32_t)even + CONV_MR - 1) / CONV_MR * CONV_MR;
    return w->e->parts && even && whole < w->panel_rows ? whole : w->panel_rows;
}

void conv_walk_rows(struct conv_walk *w, uint32_t unit0, uint32_t unit1)
{
    const struct conv_args *a = w->a;
    const uint64_t first = (uint64_t)unit0 * a->unit_rows,
                   end = (uint64_t)unit1 * a->unit_rows < a->rows ? (uint64_t)unit1 * a->unit_rows : a->rows;
    if (w->band_lines) {
        conv_walk_bands(w, (uint32_t)(first / a->x.out), (uint32_t)(end / a->x.out));
        return;
    }
    if (!w->flat) {
        walk_pixels(w, (uint32_t)(first / a->x.out), (uint32_t)(end / a->x.out));
        return;
    }
    set_segments(w);
    const uint32_t step = flat_rows(w, end - first);
    for (uint64_t r = first; r < end; r += step) {
        w->first = (uint32_t)r;
        w->p.rows = end - r < step ? (uint32_t)(end - r) : step;
        conv_flush(w);
    }
}

/* ---- tiles ------------------------------------------------------------------------------------------------------ */

/* Pack the weights of one chunk behind the panel. */
static void make_chunk(struct conv_walk *w, uint32_t at, char *dst)
{
    const struct conv_args *a = w->a;
    uint32_t slice = at / a->slice_chunks, c0 = at % a->slice_chunks * CONV_CHUNK;
    uint32_t ws = a->kind == CONV_MATRIX ? (uint32_t)conv_matrix_of(a, a->w_batch, slice) : slice;
    uint32_t n = a->cog - c0 < CONV_CHUNK ? a->cog - c0 : CONV_CHUNK;
    struct conv_head *h = (struct conv_head *)(dst + (conv_block_bytes(a) * (CONV_CHUNK / CONV_BLOCK) + 63) / 64 * 64);
    struct conv_record r = { (float *)conv_m(h), (int64_t *)conv_b(a, h, CONV_CHUNK), (int64_t *)conv_wsum(a, h, CONV_CHUNK),
                             CONV_CHUNK, CONV_CHUNK, 0, false, w->e->sum_weights };
    memset(h, 0, conv_record_bytes(a, CONV_CHUNK));
    conv_pack(a, w->data[1], ws, c0, n, dst);
    conv_record_fill(a, dst, w->data[2], ws, c0, n, &r);
    w->made = (struct conv_chunk){ .w = dst, .stride = conv_block_bytes(a), .m = r.m, .b = r.b, .wsum = r.wsum,
                                   .m_stride = r.m_stride, .sum_stride = r.sum_stride, .slice = slice, .c0 = c0, .n = n,
                                   .plain = r.plain };
}

void conv_find_chunk(struct conv_walk *w, uint32_t i)
{
    w->one_chunk = true;
    w->chunk0 = i;
    w->chunk1 = i + 1;
    if (w->a->packed)
        constant_chunk(w->a, i, &w->made);
    else
        make_chunk(w, i, w->rows + w->a->panel_bytes);
}

/* Units are columns of rows, or rows of columns: all of some, or some of one. */
struct conv_part conv_part(const struct conv_args *a, uint32_t at, uint32_t end)
{
    const uint32_t all = a->by_rows ? a->col_units : a->row_units, left = end - at;
    struct range outer = { at / all, at / all + 1 }, inner = { at % all, all };
    if (inner.begin == 0 && left >= all)
        outer.end = outer.begin + left / all;
    else if (left < all - inner.begin)
        inner.end = inner.begin + left;
    const struct range rows = a->by_rows ? outer : inner, cols = a->by_rows ? inner : outer;
    return (struct conv_part){ (outer.end - outer.begin) * (inner.end - inner.begin),
                               (uint32_t)((uint64_t)a->chunks * cols.begin / a->col_units),
                               (uint32_t)((uint64_t)a->chunks * cols.end / a->col_units), rows.begin, rows.end };
}

static void run_part(struct conv_walk *w, const struct conv_part *p)
{
    const struct conv_args *a = w->a;
    if (conv_by_parts(w)) {
        conv_run_parts(w, (struct range){ p->chunk0, p->chunk1 }, (struct range){ p->row0, p->row1 });
        return;
    }
    if (a->packed) {
        w->one_chunk = false;
        w->chunk0 = p->chunk0;
        w->chunk1 = p->chunk1;
        conv_walk_rows(w, p->row0, p->row1);
        return;
    }
    for (uint32_t i = p->chunk0; i < p->chunk1; i++) {
        conv_find_chunk(w, i);
        conv_walk_rows(w, p->row0, p->row1);
    }
}

/* The workspace is cut for 4 bytes per element; rows of bytes are packed more tightly, and then more of them find room. */
static void set_panel(struct conv_walk *w)
{
    const struct conv_args *a = w->a;
    const uint64_t plane = w->together ? (uint64_t)a->taps * a->ci : conv_plane_bytes(a);
    const uint64_t xs = dtype_bits(a->x_type) / 8, bytes = (plane * (w->e->planes ? w->e->planes : 1) + 63) / 64 * 64;
    w->stride = w->e->elem > 1 ? a->panel_stride : bytes % 4096 ? bytes : bytes + 64;
    uint64_t room = a->panel_rows * a->panel_stride / w->stride,
             rows = w->e->long_rows && bytes > CONV_LONG ? w->e->long_rows : w->e->rows;
    if (a->rows <= CONV_ROWS && conv_slice_bytes(a) > CONV_FAR)
        rows = CONV_ROWS;
    w->panel_rows = (uint32_t)(w->in_place || room > rows ? rows : room);
    w->p.stride = !w->in_place ? w->stride : (a->kind == CONV_MATRIX ? a->x_row : a->ci) * xs;
    w->p.engine_state = 0;
    w->p.engine_data = w->e->data;
}

/* Engines read the zero point of bytes as any other offset of x, so each call has args of its own. */
static void learn_whole(const struct conv_args *a, void *const *data, struct conv_args *ret)
{
    const uint32_t n = a->n_in;
    const uint8_t *zero = n > CONV_IN_ZERO ? data[CONV_IN_ZERO] : NULL;
    *ret = *a;
    ret->x_offset = zero ? -(int32_t)*zero : 0;
    ret->whole.sum = n > CONV_IN_WHOLE ? data[CONV_IN_WHOLE] : NULL;
    ret->whole.scale = n > CONV_IN_SCALE ? data[CONV_IN_SCALE] : NULL;
    ret->whole.bias = n > CONV_IN_BIAS ? data[CONV_IN_BIAS] : NULL;
}

void conv_run(const struct kernel_call *call, struct range tile, const struct conv_engine *e)
{
    const struct conv_args *a = call->args;
    struct conv_args own;
    if (a->bytes) {
        learn_whole(a, call->data, &own);
        a = &own;
    }
    struct conv_walk w;
    w.a = a;
    w.e = e;
    w.data = call->data;
    w.x = call->data[0];
    w.out = call->data[a->n_in];
    w.rows = (char *)call->work + a->seg_bytes;
    a = conv_plan_parts(&w, &own);
    w.skip = a->padded && (a->cls == CONV_F32 || a->cls == CONV_F16);
    w.in_place = a->direct && e->in_place(a);
    w.flat = a->kind == CONV_MATRIX ||
             (a->kind == CONV_WINDOW && a->direct && a->x.stride == 1 && a->y.stride == 1 && a->z.stride == 1);
    w.placed = conv_placed(&w);
    w.together = a->together && e->apart && !w.placed;
    if (w.together) {
        w.all = *a;
        w.all.cig = w.all.tap_stride = a->ci;
    }
    w.lines = a->kind == CONV_WINDOW && (a->cig == a->ci || w.together) && a->x.dilation == 1 && e->load_windows &&
              a->z.in == 1 && a->z.kernel == 1 && a->z.out == 1 && a->z.pad == 0;
    w.p.rows = 0;
    w.p.k0 = 0;
    w.p.k1 = UINT32_MAX;
    w.p.sums = NULL;
    w.p.ahead = (struct conv_ahead){ 0 };
    w.p.begun = w.p.more = false;
    w.p.seg = call->work;
    w.p.seg_x = w.together || w.placed ? w.seg_x : NULL;
    set_panel(&w);
    w.band_lines = conv_band_lines(a, e->band_step, e->planes);
    for (uint32_t at = tile.begin; at < tile.end;) {
        const struct conv_part p = conv_part(a, at, tile.end);
        run_part(&w, &p);
        at += p.units;
    }
}
