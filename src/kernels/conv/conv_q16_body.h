/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit products with vectors of any length; include vec_<isa>.h first.
 *
 * Rows are gathered as signed 16 bits (conv_q16_rows.h), and pairs of products are added in 32 bits for as many k as cannot
 * overflow, then moved to 64-bit sums.
 *   8-bit weights    |x| <= 2^15, |w| <= 2^7:  508 products stay below 2^31
 *   16-bit weights   x = 256 * high + low, each part multiplied on its own: |part| <= 2^8, |w| <= 2^15: 252 products stay
 *                    below 2^31. A row is the plane of high parts, then, kpad elements on, the plane of low parts. */
#include <string.h>

#include "kernels/conv/conv_q16_rows.h"
#include "kernels/conv/conv_wide_end.h"

enum { Q16_K8 = 508, Q16_K16 = 252, Q16_MR = 6, Q16_NR = 2, Q16_WIDTH = Q16_NR * VEC_LANES };

struct tile {
    const struct conv_args *a;
    const struct conv_panel *p;
    const struct conv_chunk *c;
    const int64_t *fold;    /* per channel of the chunk */
    const struct fixed_end *end;
    uint32_t row, at;
    void *out;
    const int32_t *fold32;  /* NULL: sums need 64 bits */
};

/* A run of k that cannot overflow 32 bits. */
struct part {
    const char *w;      /* its weights in the tile's first block */
    uint64_t at;        /* its first element in the gathered rows */
    uint32_t n;
};

/* Weights of vector v of a tile, `per_block` vectors of them in a block. */
static inline __attribute__((always_inline)) const char *weights_at(const struct tile *t, const char *w, int v,
                                                                    int per_block)
{
    return w + (uint64_t)(v / per_block) * conv_block_bytes(t->a);
}

static inline vi four_at(const int16_t *x)
{
    int64_t four;
    memcpy(&four, x, 8);
    return vi_set1_long(four);
}

/* 8-bit weights: fours of k, so a vector has half as many channels as lanes, and two neighbouring sums make one. */
static inline __attribute__((always_inline)) void add_fours(const struct tile *t, const int mr, const int nr,
                                                            struct part part, vi acc[Q16_MR][2 * Q16_NR])
{
    enum { PER_BLOCK = 2 * CONV_BLOCK / VEC_LANES };
    const char *w = part.w;
    const int16_t *x[Q16_MR];
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++)
        x[r] = (const int16_t *)t->p->x[t->row + (uint32_t)r] + part.at;
    for (uint32_t k = 0; k < part.n; k += 4, w += 4 * CONV_BLOCK) {
        vi xv[Q16_MR];
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++)
            xv[r] = four_at(x[r] + k);
#pragma GCC unroll 8
        for (int v = 0; v < 2 * nr; v++) {
            vi wv = vi_pairs_s8((const int8_t *)weights_at(t, w, v, PER_BLOCK), (uint32_t)(v % PER_BLOCK));
#pragma GCC unroll 8
            for (int r = 0; r < mr; r++)
                acc[r][v] = vi_keep(vi_dot16(acc[r][v], xv[r], wv));
        }
    }
}

static inline __attribute__((always_inline)) void clear_fours(const int mr, const int nr, vi acc[Q16_MR][2 * Q16_NR])
{
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 8
        for (int v = 0; v < 2 * nr; v++)
            acc[r][v] = vi_zero();
}

static inline __attribute__((always_inline)) void part_bytes(const struct tile *t, const int mr, const int nr,
                                                             struct part part, int64_t sum[Q16_MR][Q16_WIDTH])
{
    vi acc[Q16_MR][2 * Q16_NR];
    clear_fours(mr, nr, acc);
    add_fours(t, mr, nr, part, acc);
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 8
        for (int v = 0; v < nr; v++)
            vi_widen(sum[r] + v * VEC_LANES, vi_join_pairs(acc[r][2 * v], acc[r][2 * v + 1]), 0);
}

/* The last channels of a chunk: a vector is not full. */
static __attribute__((noinline)) void narrow_rest(const struct tile *t, uint32_t mr, uint32_t nr, const vi *q)
{
    for (uint32_t r = 0; r < mr; r++)
        for (uint32_t v = 0; v < nr; v++) {
            const uint32_t first = t->at + v * VEC_LANES;
            vi_store_n((char *)t->out + (t->p->out[t->row + r] + t->c->c0 + first) * t->end->bytes, q[r * nr + v],
                       t->c->n - first, t->end->bytes);
        }
}

/* What belongs to channels is read once for all rows; records are padded to whole blocks. */
static inline __attribute__((always_inline)) void narrow_end(const struct tile *t, const int mr, const int nr,
                                                             vi acc[Q16_MR][2 * Q16_NR])
{
    const struct fixed_end *e = t->end;
    const vf lo = e->lo, hi = e->hi;
    const vi offset = e->offset;
    const uint64_t *to = t->p->out + t->row, c0 = t->c->c0 + t->at;
    char *out = t->out;
    vi q[Q16_MR][Q16_NR];
#pragma GCC unroll 8
    for (int v = 0; v < nr; v++) {
        const vi fold = vi_load(t->fold32 + t->at + v * VEC_LANES);
        const vf m = vf_load(t->c->m + t->at + v * VEC_LANES);
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++) {
            vi sum = vi_add(vi_join_pairs(acc[r][2 * v], acc[r][2 * v + 1]), fold);
            if (t->a->w_offset)
                sum = vi_add(sum, vi_set1((int32_t)((uint32_t)t->a->w_offset *
                                                    (uint32_t)(uint64_t)t->p->xsum[t->row + (uint32_t)r])));
            q[r][v] = vi_requant(sum, m, lo, hi, offset);
        }
    }
    if (t->c->n - t->at < (uint32_t)nr * VEC_LANES) {
        vi some[Q16_MR * Q16_NR];
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++)
#pragma GCC unroll 8
            for (int v = 0; v < nr; v++)
                some[r * nr + v] = q[r][v];
        narrow_rest(t, (uint32_t)mr, (uint32_t)nr, some);
    } else if (e->bytes == 2 && nr == 2) {
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++)
            vi_store_words((uint16_t *)out + to[r] + c0, q[r][0], q[r][nr - 1]);
    } else {
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++)
#pragma GCC unroll 8
            for (int v = 0; v < nr; v++)
                vi_store_n(out + (to[r] + c0 + (uint64_t)v * VEC_LANES) * e->bytes, q[r][v], VEC_LANES, e->bytes);
    }
}

/* 8-bit weights and sums that fit 32 bits. */
static inline __attribute__((always_inline)) void tile_narrow(const struct tile *t, const int mr, const int nr)
{
    vi acc[Q16_MR][2 * Q16_NR];
    const char *block = (const char *)t->c->w + t->at / CONV_BLOCK * conv_block_bytes(t->a);
    uint64_t at = 0;
    clear_fours(mr, nr, acc);
    for (uint32_t s = 0; s < t->p->n_seg; at += t->p->seg[s].n, s++) {
        at = conv_seg_at(t->p, s, at, sizeof(int16_t));
        add_fours(t, mr, nr, (struct part){ block + (uint64_t)t->p->seg[s].k * CONV_BLOCK, at, t->p->seg[s].n }, acc);
    }
    narrow_end(t, mr, nr, acc);
}

static inline vi pair_at(const int16_t *x)
{
    int32_t two;
    memcpy(&two, x, 4);
    return vi_set1(two);
}

/* 16-bit weights: pairs of k, and a sum for each part of x. */
static inline __attribute__((always_inline)) void part_words(const struct tile *t, const int mr, const int nr,
                                                             struct part part, int64_t sum[Q16_MR][Q16_WIDTH])
{
    enum { PER_BLOCK = CONV_BLOCK / VEC_LANES };
    const char *w = part.w;
    vi acc[Q16_MR][Q16_NR], low[Q16_MR][Q16_NR];
    const int16_t *x[Q16_MR];
    const uint32_t plane = t->a->kpad;
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        x[r] = (const int16_t *)t->p->x[t->row + (uint32_t)r] + part.at;
#pragma GCC unroll 8
        for (int v = 0; v < nr; v++)
            acc[r][v] = low[r][v] = vi_zero();
    }
    for (uint32_t k = 0; k < part.n; k += 2, w += 4 * CONV_BLOCK) {
        vi wv[Q16_NR];
#pragma GCC unroll 8
        for (int v = 0; v < nr; v++)
            wv[v] = vi_pairs_s16((const int16_t *)weights_at(t, w, v, PER_BLOCK), (uint32_t)(v % PER_BLOCK));
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++) {
            vi xv = pair_at(x[r] + k), xl = pair_at(x[r] + k + plane);
#pragma GCC unroll 8
            for (int v = 0; v < nr; v++) {
                acc[r][v] = vi_keep(vi_dot16(acc[r][v], xv, wv[v]));
                low[r][v] = vi_keep(vi_dot16(low[r][v], xl, wv[v]));
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 8
        for (int v = 0; v < nr; v++) {
            vi_widen(sum[r] + v * VEC_LANES, acc[r][v], 8);
            vi_widen(sum[r] + v * VEC_LANES, low[r][v], 0);
        }
}

/* Sums start with what belongs to the channels. */
static void tile_start(const struct tile *t, uint32_t mr, int64_t sum[Q16_MR][Q16_WIDTH])
{
    for (uint32_t r = 0; r < mr; r++) {
        int64_t row = t->a->w_offset ? t->a->w_offset * t->p->xsum[t->row + r] : 0;
        memcpy(sum[r], t->fold + t->at, sizeof sum[r]);
        for (uint32_t i = 0; row && i < Q16_WIDTH; i++)
            sum[r][i] += row;
    }
}

static void tile_end(const struct tile *t, uint32_t mr, int64_t sum[Q16_MR][Q16_WIDTH])
{
    const struct conv_args *a = t->a;
    const struct conv_chunk *c = t->c;
    uint32_t n = c->n - t->at < Q16_WIDTH ? c->n - t->at : Q16_WIDTH, bytes = t->end->bytes;
    for (uint32_t r = 0; r < mr; r++) {
        uint64_t to = t->p->out[t->row + r] + c->c0 + t->at;
        if (c->plain)
            for (uint32_t i = 0; i < n; i += VEC_LANES)
                wide_end_store(t->end, sum[r] + i, vf_load(c->m + t->at + i), n - i, (char *)t->out + (to + i) * bytes);
        else
            for (uint32_t i = 0; i < n; i++)
                conv_store_fixed(a, t->out, to + i, sum[r][i], c->m[t->at + i]);
    }
}

static inline __attribute__((always_inline)) void tile_run(const struct tile *t, const int mr, const int nr, const bool wide)
{
    if (!wide && t->fold32) {
        tile_narrow(t, mr, nr);
        return;
    }
    int64_t sum[Q16_MR][Q16_WIDTH];
    const uint32_t most = wide ? Q16_K16 : Q16_K8;
    const char *block = (const char *)t->c->w + t->at / CONV_BLOCK * conv_block_bytes(t->a);
    tile_start(t, (uint32_t)mr, sum);
    uint64_t at = 0;
    for (uint32_t s = 0; s < t->p->n_seg; s++) {
        at = conv_seg_at(t->p, s, at, sizeof(int16_t));
        for (uint32_t k = 0, some; k < t->p->seg[s].n; k += some, at += some) {
            uint32_t left = t->p->seg[s].n - k;
            some = left < most ? left : most;
            const char *w = block + ((uint64_t)t->p->seg[s].k + k) * CONV_BLOCK * (wide ? 2 : 1);
            if (wide)
                part_words(t, mr, nr, (struct part){ w, at, some }, sum);
            else
                part_bytes(t, mr, nr, (struct part){ w, at, some }, sum);
        }
    }
    tile_end(t, (uint32_t)mr, sum);
}

#define TILE(mr, nr, wide)                                             \
    static void tile_##mr##_##nr##_##wide(const struct tile *t)        \
    {                                                                  \
        tile_run(t, mr, nr, wide);                                     \
    }
#define TILES(mr) TILE(mr, 1, 0) TILE(mr, 2, 0) TILE(mr, 1, 1) TILE(mr, 2, 1)
TILES(1)
TILES(2)
TILES(4)
TILES(6)
#define ROW(mr) { { tile_##mr##_1_0, tile_##mr##_2_0 }, { tile_##mr##_1_1, tile_##mr##_2_1 } }
static void (*const tiles[4][2][Q16_NR])(const struct tile *) = { ROW(1), ROW(2), ROW(4), ROW(6) };
static const uint32_t tile_rows[4] = { 1, 2, 4, Q16_MR };

static void block_run(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    int64_t fold[CONV_CHUNK] = { 0 };
    int32_t fold32[CONV_CHUNK] = { 0 };
    const bool narrow = a->wsize == 1 && c->plain && conv_fits_32(a, c);
    struct fixed_end end;
    fixed_end_range(&end, a);
    if (narrow && a->kind != CONV_TRANSPOSED) { /* conv_fold in 32 bits, so that it is done in a few vectors */
        const uint32_t left = (uint32_t)(uint64_t)left_over(a);
        for (uint32_t i = 0; i < c->n; i++)
            fold32[i] = (int32_t)((uint32_t)(uint64_t)c->b[i] + left * (uint32_t)(uint64_t)c->wsum[i]);
    } else {
        for (uint32_t i = 0; i < c->n; i++) {
            fold[i] = conv_fold(p, c, i, a->kind == CONV_TRANSPOSED ? a->tap_stride : 0, left_over(a));
            fold32[i] = (int32_t)(uint32_t)(uint64_t)fold[i];
        }
    }
    for (uint32_t at = 0; at < c->n; at += Q16_WIDTH) {
        struct tile t = { a, p, c, fold, &end, 0, at, out, narrow ? fold32 : NULL };
        uint32_t nr = (c->n - at + VEC_LANES - 1) / VEC_LANES;
        for (int m = (int)VEC_Q16_MR < (int)Q16_MR ? 1 : 3; m >= 0; m--)
            for (; p->rows - t.row >= tile_rows[m]; t.row += tile_rows[m])
                tiles[m][a->wsize - 1][(nr < Q16_NR ? nr : Q16_NR) - 1](&t);
    }
}

static const struct conv_engine engine = { .elem = 2,
                                           .apart = true,
                                           .rows = CONV_VECTOR_ROWS,
                                           .in_place = in_place,
                                           .load = load_row,
                                           .load_windows = load_windows,
                                           .pad = pad_row,
                                           .sum = sum_row,
                                           .block = block_run,
                                           .sum_weights = vec_sum_fours };
