/* SPDX-License-Identifier: Apache-2.0 */
/* Data movement, compiled once per instruction set. */
#include "kernels/move/move.h"
#include "kernels/mover_body.h"

void K(move)(const struct kernel_call *call, struct range tile)
{
    const struct move_args *a = call->args;
    const void *src = call->data[0];
    void *dst = call->data[a->n_in];
    uint64_t at = (uint64_t)tile.begin * a->unit, end = (uint64_t)tile.end * a->unit;
    int64_t from, stride = a->view.strides[a->view.rank - 1];
    struct view_walk w;
    end = end < a->total ? end : a->total;
    if (at >= end || (a->mover.copy && a->view.linear && !a->first && src == dst))
        return;
    view_seek(&w, &a->view, at);
    for (uint32_t n; at < end; at += n) {
        uint64_t left = end - at;
        n = view_run(&w, left > UINT32_MAX ? UINT32_MAX : (uint32_t)left, &from);
        move_run(&a->mover, dst, (int64_t)at, src, a->first + from, stride, n);
    }
}

#define COPY_ROWS(n)                                                                   \
    for (uint64_t i = 0; i < rows; i++)                                                \
        memcpy((char *)dst + i * to_pitch, (const char *)src + i * from_pitch, n)

/* Rows of `bytes` that lie a pitch apart; sizes that a machine word or vector has are not worth a call each. */
static void copy_rows(void *dst, uint64_t to_pitch, const void *src, uint64_t from_pitch, uint64_t bytes, uint64_t rows)
{
    switch (bytes) {
    case 1:
        COPY_ROWS(1);
        break;
    case 2:
        COPY_ROWS(2);
        break;
    case 4:
        COPY_ROWS(4);
        break;
    case 8:
        COPY_ROWS(8);
        break;
    case 16:
        COPY_ROWS(16);
        break;
    case 32:
        COPY_ROWS(32);
        break;
    default:
        COPY_ROWS(bytes);
    }
}

/* Rows of one piece that fit a span and are converted on the way: together, through a buffer in the type of the whole. */
static void convert_rows(const struct join_args *a, uint32_t piece, void *outer, void *own, struct range rows)
{
    const struct mover *m = &a->mover[piece];
    uint64_t n = a->n[piece], bytes = dtype_bits(a->split ? m->in.type : m->out.type) / 8, pitch = a->row * bytes;
    uint64_t stored[SPAN];
    float buf[SPAN];
    for (uint64_t row = rows.begin, k; row < rows.end; row += k) {
        char *at = (char *)outer + row * pitch + a->at[piece] * bytes;
        k = SPAN / n < rows.end - row ? SPAN / n : rows.end - row;
        if (a->split) {
            copy_rows(stored, n * bytes, at, pitch, n * bytes, k);
            K(span_load)(&m->in, stored, 0, 1, (uint32_t)(k * n), buf);
            K(span_store)(&m->out, own, (int64_t)(row * n), 1, (uint32_t)(k * n), buf);
        } else {
            K(span_load)(&m->in, own, (int64_t)(row * n), 1, (uint32_t)(k * n), buf);
            K(span_store)(&m->out, stored, 0, 1, (uint32_t)(k * n), buf);
            copy_rows(at, pitch, stored, n * bytes, n * bytes, k);
        }
    }
}

/* Rows [from, to) of one piece. */
static void join_rows(const struct kernel_call *call, const struct join_args *a, uint32_t piece, uint64_t from, uint64_t to)
{
    void *outer = call->data[a->split ? 0 : a->n_in], *own = call->data[a->split ? a->n_in + piece : piece];
    const struct mover *m = &a->mover[piece];
    uint64_t n = a->n[piece], bytes = m->bytes;
    if (!own || !outer || !n)
        return;
    char *whole = (char *)outer + (from * a->row + a->at[piece]) * bytes, *part = (char *)own + from * n * bytes;
    if (m->copy && bytes && whole != part) { /* a piece may lie in its place already */
        if (a->split)
            copy_rows(part, n * bytes, whole, a->row * bytes, n * bytes, to - from);
        else
            copy_rows(whole, a->row * bytes, part, n * bytes, n * bytes, to - from);
        return;
    }
    if (!m->copy && bytes && n <= SPAN && !m->in.scales && !m->out.scales) {
        convert_rows(a, piece, outer, own, (struct range){(uint32_t)from, (uint32_t)to});
        return;
    }
    for (uint64_t row = from; row < to; row++) {
        int64_t place = (int64_t)(row * a->row + a->at[piece]), first = (int64_t)(row * n);
        if (a->split)
            move_run(m, own, first, outer, place, 1, n);
        else
            move_run(m, outer, place, own, first, 1, n);
    }
}

/* A unit is one row of one piece, or a line of the result. */
void K(join)(const struct kernel_call *call, struct range tile)
{
    const struct join_args *a = call->args;
    if (a->together) {
        for (uint64_t line = tile.begin; line < tile.end; line++)
            for (uint32_t piece = 0; piece < a->pieces; piece++)
                join_rows(call, a, piece, line * a->together, (line + 1) * a->together);
        return;
    }
    uint64_t end = mover_end(&a->mover[0], tile, a->rows * a->pieces);
    for (uint64_t unit = tile.begin, next; unit < end; unit = next) {
        uint64_t piece = unit / a->rows;
        next = (piece + 1) * a->rows < end ? (piece + 1) * a->rows : end;
        join_rows(call, a, (uint32_t)piece, unit - piece * a->rows, next - piece * a->rows);
    }
}

/* Where index i of a padded dimension comes from; -1: the constant. */
static int64_t pad_source(const struct pad_args *a, uint32_t d, uint32_t i)
{
    int64_t j = (int64_t)i - a->before[d], n = a->dims[d];
    if (j >= 0 && j < n)
        return j;
    switch (a->scheme) {
    case PAD_EDGE:
        return j < 0 ? 0 : n - 1;
    case PAD_REFLECT:
        return j < 0 ? -j : 2 * (n - 1) - j;
    case PAD_SYMMETRIC:
        return j < 0 ? -j - 1 : 2 * n - 1 - j;
    default:
        return -1;
    }
}

static void pad_row(const struct pad_args *a, void *dst, int64_t to, const void *src, int64_t from)
{
    uint32_t d = a->rank - 1;
    int64_t inner = (int64_t)a->inner;
    for (uint32_t i = 0; i < a->out[d];) {
        int64_t j = pad_source(a, d, i);
        if (i == a->before[d] && a->dims[d]) {
            move_run(&a->mover, dst, to + i * inner, src, from, 1, a->dims[d] * a->inner);
            i += a->dims[d];
            continue;
        }
        if (j < 0)
            move_fill(&a->mover, dst, to + i * inner, a->inner);
        else
            move_run(&a->mover, dst, to + i * inner, src, from + j * inner, 1, a->inner);
        i++;
    }
}

/* A unit is one row along the last padded dimension. */
void K(pad)(const struct kernel_call *call, struct range tile)
{
    const struct pad_args *a = call->args;
    uint32_t last = a->rank - 1;
    int64_t out_row = (int64_t)(a->out[last] * a->inner), in_row = (int64_t)(a->dims[last] * a->inner);
    uint64_t end = mover_end(&a->mover, tile, a->rows);
    for (uint64_t row = tile.begin; row < end; row++) {
        uint64_t rest = row;
        int64_t from = 0, step = 1;
        for (uint32_t d = last; d-- > 0 && from >= 0;) {
            int64_t j = pad_source(a, d, (uint32_t)(rest % a->out[d]));
            rest /= a->out[d];
            from = j < 0 ? -1 : from + j * step;
            step *= a->dims[d];
        }
        if (from < 0)
            move_fill(&a->mover, call->data[1], (int64_t)row * out_row, (uint64_t)out_row);
        else
            pad_row(a, call->data[1], (int64_t)row * out_row, call->data[0], from * in_row);
    }
}

/* The input pixel of output pixel (b, y, x), or -1 for padding. */
static int64_t block_source(const struct block_args *a, uint32_t b, uint32_t y, uint32_t x)
{
    uint32_t bh = a->block[0], bw = a->block[1];
    int64_t n, h, w;
    if (a->to_batch) {
        uint32_t cell = b / a->in[0];
        n = b % a->in[0];
        h = (int64_t)y * bh + cell / bw - a->before[0];
        w = (int64_t)x * bw + cell % bw - a->before[1];
    } else {
        uint32_t v = y + a->before[0], u = x + a->before[1];
        n = (int64_t)(v % bh * bw + u % bw) * a->out[0] + b;
        h = v / bh;
        w = u / bw;
    }
    if (h < 0 || w < 0 || h >= a->in[1] || w >= a->in[2])
        return -1;
    return (n * a->in[1] + h) * a->in[2] + w;
}

/* A unit is one output pixel. */
void K(block)(const struct kernel_call *call, struct range tile)
{
    const struct block_args *a = call->args;
    uint64_t end = mover_end(&a->mover, tile, (uint64_t)a->out[0] * a->out[1] * a->out[2]);
    int64_t depth = a->in[3];
    for (uint64_t unit = tile.begin; unit < end; unit++) {
        uint32_t x = (uint32_t)(unit % a->out[2]), y = (uint32_t)(unit / a->out[2] % a->out[1]);
        int64_t from = block_source(a, (uint32_t)(unit / a->out[2] / a->out[1]), y, x);
        if (from < 0)
            move_fill(&a->mover, call->data[1], (int64_t)unit * depth, (uint64_t)depth);
        else
            move_run(&a->mover, call->data[1], (int64_t)unit * depth, call->data[0], from * depth, 1, (uint64_t)depth);
    }
}
