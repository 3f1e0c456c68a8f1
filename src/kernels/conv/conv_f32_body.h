/* SPDX-License-Identifier: Apache-2.0 */
/* f32 and f16 blocks of the conv family with vectors of any length. A file includes vec_<isa>.h and includes this. Each
 * output has one accumulator and k ascends, as docs/numerics.md wants; vectors run over channels, so all lengths give the
 * same bits. */
#include <string.h>

#include "kernels/conv/conv_end.h"

static bool in_place(const struct conv_args *a)
{
    return a->x_type == DT_F32;
}

static void load_row(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    float *d = dst;
    uint32_t i = 0;
    if (a->x_type == DT_F32 && stride == 1) {
        memcpy(d, src, n * sizeof(float));
    } else if (a->x_type == DT_F32) {
        for (; i < n; i++)
            d[i] = ((const float *)src)[i * stride];
    } else if (stride == 1) {
        for (; i + VEC_LANES <= n; i += VEC_LANES)
            vf_store_n(d + i, vf_load_half((const uint16_t *)src + i), VEC_LANES);
        if (i < n)
            vf_store_n(d + i, vf_load_half_n((const uint16_t *)src + i, n - i), n - i);
    } else {
        for (; i < n; i++)
            d[i] = ku_f16_to_f32(((const uint16_t *)src)[i * stride]);
    }
}

static void load_windows(const struct conv_args *a, const struct conv_windows *w)
{
    for (uint32_t k = 0; k < w->windows; k++)
        for (uint32_t i = 0; i < w->lines; i++)
            load_row(a, (float *)(w->dst + k * w->row_step) + (uint64_t)i * w->n,
                     w->src + k * w->window_step + i * w->line_step, w->n, 1);
}

static void pad_row(const struct conv_args *a, void *dst, uint32_t n)
{
    (void)a;
    memset(dst, 0, n * sizeof(float));
}

/* What a tile of rows by vectors needs to know. */
struct tile {
    const struct conv_args *a;
    const struct conv_panel *p;
    const struct conv_chunk *c;
    const char *w;          /* first block of the tile */
    uint32_t row, at;       /* first row; first channel in the chunk */
    void *out;
};

/* Vector v of the tile at element k of packed weights. */
static inline __attribute__((always_inline)) vf weights_at(const struct tile *t, const char *const *block, uint64_t k, int v,
                                                           bool half)
{
    const int per_block = CONV_BLOCK / VEC_LANES;
    uint64_t at = k * CONV_BLOCK + (uint64_t)(v % per_block) * VEC_LANES;
    (void)t;
    return half ? vf_load_half((const uint16_t *)block[v / per_block] + at)
                : vf_load((const float *)block[v / per_block] + at);
}

static inline __attribute__((always_inline)) void store_at(const struct tile *t, uint64_t to, vf v, uint32_t n)
{
    if (t->a->out_type == DT_F32)
        vf_store_n((float *)t->out + to, v, n);
    else
        vf_store_half_n((uint16_t *)t->out + to, v, n);
}

/* Records are padded to whole blocks, so biases are always whole vectors. Only the last vector of a chunk may be
 * not full. */
static inline __attribute__((always_inline)) void tile_end(const struct tile *t, const int mr, const int nr,
                                                           vf acc[CONV_MR][VEC_F32_NR])
{
    const vf lo = vf_set1(t->a->f_lo), hi = vf_set1(t->a->f_hi);
    const uint64_t *out = t->p->out + t->row, at = t->c->c0 + t->at;
    const uint32_t left = t->c->n - t->at - (uint32_t)(nr - 1) * VEC_LANES;
#pragma GCC unroll 8
    for (int v = 0; v < nr; v++) {
        const vf bias = vf_load(t->c->m + t->at + v * VEC_LANES);
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++)
            acc[r][v] = vf_min(hi, vf_max(lo, vf_add(acc[r][v], bias)));
    }
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 8
        for (int v = 0; v < nr - 1; v++)
            store_at(t, out[r] + at + (uint32_t)v * VEC_LANES, acc[r][v], VEC_LANES);
    const uint64_t last = at + (uint32_t)(nr - 1) * VEC_LANES;
    if (left >= VEC_LANES) {
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++)
            store_at(t, out[r] + last, acc[r][nr - 1], VEC_LANES);
    } else {
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++)
            store_at(t, out[r] + last, acc[r][nr - 1], left);
    }
}

/* narrow: of the last vector only the lower half is there, so half a vector is multiplied. */
static inline __attribute__((always_inline)) void tile_run(const struct tile *t, const int mr, const int nr, const bool half,
                                                           const bool narrow)
{
    const int whole = narrow ? nr - 1 : nr;
    vf acc[CONV_MR][VEC_F32_NR];
    vh rest[CONV_MR];
    const float *x[CONV_MR];
    const char *block[VEC_F32_NR];
    uint64_t bytes = conv_block_bytes(t->a);
    for (int v = 0; v < nr; v++)
        block[v] = t->w + (uint64_t)v * bytes;
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        x[r] = t->p->x[t->row + (uint32_t)r];
        rest[r] = vh_zero();
#pragma GCC unroll 8
        for (int v = 0; v < whole; v++)
            acc[r][v] = vf_zero();
    }
    uint64_t at = 0;
    for (uint32_t s = 0; s < t->p->n_seg; s++) {
        uint64_t k = t->p->seg[s].k, end = k + t->p->seg[s].n;
        at = conv_seg_at(t->p, s, at, sizeof(float));
        for (; k < end; k++, at++) {
            vf w[VEC_F32_NR];
            vh few = vh_zero();
#pragma GCC unroll 8
            for (int v = 0; v < whole; v++)
                w[v] = weights_at(t, block, k, v, half);
            if (narrow)
                few = half ? vh_load_half((const uint16_t *)block[nr - 1] + k * CONV_BLOCK)
                           : vh_load((const float *)block[nr - 1] + k * CONV_BLOCK);
#pragma GCC unroll 8
            for (int r = 0; r < mr; r++) {
                vf xv = vf_set1(x[r][at]);
#pragma GCC unroll 8
                for (int v = 0; v < whole; v++)
                    acc[r][v] = vf_fma(xv, w[v], acc[r][v]);
                if (narrow)
                    rest[r] = vh_fma(whole ? vh_lower(xv) : vh_set1(x[r][at]), few, rest[r]);
            }
        }
    }
    if (narrow)
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++)
            acc[r][nr - 1] = vh_widen(rest[r]);
    tile_end(t, mr, nr, acc);
}

#define TILE(mr, nr, half, narrow, name)               \
    static void name(const struct tile *t)             \
    {                                                  \
        tile_run(t, mr, nr, half, narrow);             \
    }
#define TILES(nr, half, narrow, sfx)                                                                   \
    TILE(1, nr, half, narrow, tile_1_##nr##sfx) TILE(2, nr, half, narrow, tile_2_##nr##sfx)            \
    TILE(4, nr, half, narrow, tile_4_##nr##sfx) TILE(6, nr, half, narrow, tile_6_##nr##sfx)
#define TILE_ROW(nr, sfx) { tile_1_##nr##sfx, tile_2_##nr##sfx, tile_4_##nr##sfx, tile_6_##nr##sfx }

typedef void tile_fn(const struct tile *t);
static const uint32_t tile_rows[4] = { 1, 2, 4, CONV_MR };

/* Rows in sixes, fours, twos and ones; channels in tiles of VEC_F32_NR vectors, the last one narrower. `narrow`: the same
 * tiles with half a vector at the end; NULL: there are none. */
static void block_run(tile_fn *const (*table)[4], tile_fn *const (*narrow)[4], const struct conv_args *a,
                      struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    const uint32_t step = VEC_F32_NR * VEC_LANES;
    uint64_t bytes = conv_block_bytes(a);
    for (uint32_t at = 0; at < c->n; at += step) {
        uint32_t left = (c->n - at + VEC_LANES - 1) / VEC_LANES, nr = left < VEC_F32_NR ? left : VEC_F32_NR;
        tile_fn *const *tiles = narrow && c->n - at <= (nr - 1) * VEC_LANES + VEC_LANES / 2 ? narrow[nr - 1] : table[nr - 1];
        struct tile t = { a, p, c, (const char *)c->w + at / CONV_BLOCK * bytes, 0, at, out };
        for (int m = 3; m >= 0; m--)
            for (; p->rows - t.row >= tile_rows[m]; t.row += tile_rows[m])
                tiles[m](&t);
    }
}
