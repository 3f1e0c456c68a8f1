/* SPDX-License-Identifier: Apache-2.0 */
/* Floats that meet their weights part by part. A part is up to CONV_PART k of the 64 channels of a chunk: it stays in the
 * second-level cache while all rows are multiplied with it, and the sums of the rows wait in the workspace for the next one.
 * Storing an f32 sum and going on with it later changes no bit.
 *
 *     for some lines of x                  f16: they are made f32, once for all channels and taps
 *         for each chunk
 *             for each part of k           f16: the weights of the part are made f32, once for all rows
 *                 all rows of these lines
 *
 * Without that, weights which are larger than the cache would come from memory again for every panel of rows and every class
 * of taps, and f16 would be converted in the innermost loop, where a conversion costs as much as two products. */
#include "kernels/conv/conv_walk.h"

static bool flat_image(const struct conv_args *a)
{
    return a->z.in == 1 && a->z.kernel == 1 && a->z.out == 1 && a->z.pad == 0;
}

/* Input lines that output line y of an image touches: the first one, and the one behind the last. */
static struct range lines_of(const struct conv_args *a, uint32_t y)
{
    const int64_t first = (int64_t)y * a->y.stride - a->y.pad, end = first + (int64_t)(a->y.kernel - 1) * a->y.dilation + 1;
    const uint32_t from = (uint32_t)(first < 0 ? 0 : first < a->y.in ? first : a->y.in);
    return (struct range){ from, (uint32_t)(end < from ? from : end < a->y.in ? end : a->y.in) };
}

/* Elements of x that row units [u, end) of a slice need: the first of them, and how many. Of images: within one. */
static void span_of(const struct conv_args *a, uint32_t slice, struct range units, uint64_t ret[2])
{
    if (a->kind == CONV_MATRIX) {
        const uint64_t end = (uint64_t)units.end * a->unit_rows, last = end < a->rows ? end : a->rows,
                       row = (uint64_t)units.begin * a->unit_rows;
        ret[0] = (conv_matrix_of(a, a->x_batch, slice) * a->rows + row) * a->cig;
        ret[1] = (last - row) * a->cig;
        return;
    }
    const uint64_t line = (uint64_t)a->x.in * a->ci;
    const struct range first = lines_of(a, units.begin % a->y.out), last = lines_of(a, (units.end - 1) % a->y.out);
    ret[0] = ((uint64_t)(units.begin / a->y.out) * a->y.in + first.begin) * line;
    ret[1] = (uint64_t)(last.end > first.begin ? last.end - first.begin : 0) * line;
}

/* x is f16, its rows or lines follow each other, they need not be gathered, and there is room for what one unit needs. */
static bool widens_x(const struct conv_walk *w, uint64_t room)
{
    const struct conv_args *a = w->a;
    const bool rows = a->kind == CONV_MATRIX && a->x_k == 1 && a->x_row == a->cig,
               lines = a->kind == CONV_WINDOW && flat_image(a) && a->unit_rows == a->x.out &&
                       (a->direct || a->taps <= CONV_BAND_TAPS);
    const uint64_t reach = (uint64_t)(a->y.kernel - 1) * a->y.dilation + 1,
                   unit = rows ? (uint64_t)a->unit_rows * a->cig
                               : (reach < a->y.in ? reach : a->y.in) * (uint64_t)a->x.in * a->ci;
    return w->e->widen && a->x_type == DT_F16 && ((rows && a->direct) || lines) && unit <= room;
}

const struct conv_args *conv_plan_parts(struct conv_walk *w, struct conv_args *own)
{
    const struct conv_args *a = w->a;
    const uint64_t part = conv_k_part(a), weights = a->wsize == 2 ? part * CONV_CHUNK : 0, row = CONV_CHUNK;
    float *at = (float *)w->rows;
    uint64_t room = a->panel_bytes / sizeof(float);
    w->wide = (struct conv_wide){ .part = a->kpad, .sum_rows = UINT64_MAX };
    if (!w->e->parts || a->rows < 2 * CONV_MR || room < weights)
        return a;
    w->wide.on = true;
    if (part < a->kpad) {
        const uint64_t sums = a->rows < CONV_WIDE_SUMS / 4 / row ? a->rows * row : CONV_WIDE_SUMS / 4;
        if (room - weights < sums || sums < a->unit_rows * row) /* a unit is computed as a whole */
            return a;
        w->wide.part = (uint32_t)part;
        w->wide.sums = at;
        w->wide.sum_rows = sums / row;
        at += sums;
        room -= sums;
    }
    w->wide.weights = weights ? at : NULL;
    w->wide.x_at = at + weights;
    w->wide.x_room = room - weights;
    if (!widens_x(w, w->wide.x_room))
        return a;
    w->wide.x = true;
    *own = *a;
    own->x_type = DT_F32;
    return w->a = own;
}

/* Weights that stay in the cache anyway are met panel by panel: x is nearer then. */
bool conv_by_parts(const struct conv_walk *w)
{
    return w->wide.on && (w->wide.x || ((w->in_place || w->placed) && conv_slice_bytes(w->a) > CONV_NEAR));
}

/* Units that are computed together, from `begin` on: one at least. What a part of the weights meets of x stays in the cache,
 * too. */
static uint32_t group_end(const struct conv_walk *w, uint32_t slice, uint32_t begin, uint32_t end)
{
    const struct conv_args *a = w->a;
    const uint32_t row = a->ci < w->wide.part ? a->ci : w->wide.part;
    const uint64_t near = CONV_NEAR / sizeof(float) / (row ? row : 1);
    const uint64_t most = near < w->wide.sum_rows ? near : w->wide.sum_rows;
    uint32_t last = begin + 1;
    if (w->wide.x && a->kind != CONV_MATRIX && begin / a->y.out < (end - 1) / a->y.out)
        end = (begin / a->y.out + 1) * a->y.out;
    for (; last < end; last++) {
        uint64_t span[2] = { 0, 0 };
        if (w->wide.x)
            span_of(a, slice, (struct range){ begin, last + 1 }, span);
        if (span[1] > w->wide.x_room || (uint64_t)(last + 1 - begin) * a->unit_rows > most)
            break;
    }
    return last;
}

static void widen_x(struct conv_walk *w, uint32_t slice, struct range units)
{
    uint64_t span[2];
    span_of(w->a, slice, units, span);
    if (span[0] == w->wide.first && span[1] == w->wide.n)
        return;
    w->e->widen(w->wide.x_at, (const uint16_t *)w->data[0] + span[0], span[1]);
    w->wide.first = span[0];
    w->wide.n = span[1];
    w->x = (const char *)((uintptr_t)w->wide.x_at - span[0] * sizeof(float));
}

/* The k from k0 to k1 of a chunk as f32. */
static void widen_part(const struct conv_walk *w, const struct conv_chunk *c, uint32_t k0, uint32_t k1,
                       struct conv_chunk *ret)
{
    const uint64_t n = (uint64_t)(k1 - k0) * CONV_BLOCK;
    for (uint32_t b = 0; b < (c->n + CONV_BLOCK - 1) / CONV_BLOCK; b++)
        w->e->widen(w->wide.weights + b * n, (const uint16_t *)((const char *)c->w + b * c->stride) + k0 * CONV_BLOCK, n);
    ret->w = (const void *)((uintptr_t)w->wide.weights - (uint64_t)k0 * CONV_BLOCK * sizeof(float));
    ret->stride = n * sizeof(float);
    ret->wide = true;
}

/* Some `n` k of weights at `at` are fetched while so many rows are multiplied. */
static void fetch(struct conv_walk *w, const char *at, uint32_t n, uint64_t rows)
{
    const uint32_t tiles = (uint32_t)((rows + CONV_MR - 1) / CONV_MR);
    const uint64_t bytes = (uint64_t)n * CONV_BLOCK * w->a->wsize, strips = (uint64_t)(n / CONV_STRIP + 1) * tiles,
                   lines = (bytes + CONV_LINE - 1) / CONV_LINE;
    w->p.ahead =
        (struct conv_ahead){ at, conv_block_bytes(w->a), lines * CONV_LINE, (uint32_t)((lines + strips - 1) / strips) };
}

/* All rows of the units meet the chunk in w->made. Few rows do not repay weights that are made f32, and have to wait for
 * those at hand. */
static void run_chunk(struct conv_walk *w, struct range units, bool last)
{
    const struct conv_chunk whole = w->made;
    const uint32_t kpad = w->a->kpad, part = w->wide.part;
    const uint64_t rows = (uint64_t)(units.end - units.begin) * w->a->unit_rows;
    const char *stored = whole.w, *next = stored + CONV_CHUNK / CONV_BLOCK * whole.stride;
    const bool many = rows >= 2 * CONV_MR, widen = w->wide.weights && w->wide.x && many;
    for (uint32_t k0 = 0, k1; k0 < kpad; k0 = k1) {
        k1 = kpad - k0 < part ? kpad : k0 + part;
        w->p.k0 = k0;
        w->p.k1 = k1;
        w->p.begun = k0 > 0;
        w->p.more = k1 < kpad;
        w->p.sums = w->wide.sums;
        w->p.ahead.left = 0;
        if (many && k1 < kpad)
            fetch(w, stored + (uint64_t)k1 * CONV_BLOCK * w->a->wsize, kpad - k1 < part ? kpad - k1 : part, rows);
        else if (many && !last)
            fetch(w, next, kpad < part ? kpad : part, rows);
        if (widen)
            widen_part(w, &whole, k0, k1, &w->made);
        conv_walk_rows(w, units.begin, units.end);
    }
    w->made = whole;
}

/* Units from `begin` on that are computed together; what they need of x is made f32 where it is f16. */
static struct range next_group(struct conv_walk *w, uint32_t slice, uint32_t begin, uint32_t end)
{
    const struct range group = { begin, group_end(w, slice, begin, end) };
    if (w->wide.x)
        widen_x(w, slice, group);
    return group;
}

/* Chunks of one slice, or of all slices of an image. What is packed while running is packed once for all units. */
static void run_chunks(struct conv_walk *w, struct range chunks, struct range units)
{
    const uint32_t slice = chunks.begin / w->a->slice_chunks;
    struct range group;
    if (w->a->packed) {
        for (uint32_t u = units.begin; u < units.end; u = group.end) {
            group = next_group(w, slice, u, units.end);
            for (uint32_t i = chunks.begin; i < chunks.end; i++) {
                conv_find_chunk(w, i);
                run_chunk(w, group, i + 1 == chunks.end);
            }
        }
        return;
    }
    for (uint32_t i = chunks.begin; i < chunks.end; i++) {
        conv_find_chunk(w, i);
        for (uint32_t u = units.begin; u < units.end; u = group.end) {
            group = next_group(w, slice, u, units.end);
            run_chunk(w, group, true);
        }
    }
}

void conv_run_parts(struct conv_walk *w, struct range chunks, struct range units)
{
    const struct conv_args *a = w->a;
    for (uint32_t i = chunks.begin, end; i < chunks.end; i = end) {
        const uint32_t next = (i / a->slice_chunks + 1) * a->slice_chunks;
        end = a->kind == CONV_MATRIX && next < chunks.end ? next : chunks.end;
        run_chunks(w, (struct range){ i, end }, units);
    }
}
