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

static void widen(float *dst, const void *src, uint64_t n)
{
    uint64_t i = 0;
    for (; i + VEC_LANES <= n; i += VEC_LANES)
        vf_store_n(dst + i, vf_load_half((const uint16_t *)src + i), VEC_LANES);
    if (i < n)
        vf_store_n(dst + i, vf_load_half_n((const uint16_t *)src + i, (uint32_t)(n - i)), (uint32_t)(n - i));
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
        widen(d, src, n);
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

/* Rows of a tile of one vector: each of them is a sum that waits for itself. */
enum { CONV_TALL = 8 };

/* What a tile of rows by vectors needs to know. */
struct tile {
    const struct conv_args *a;
    struct conv_panel *p;
    const struct conv_chunk *c;
    const char *w;    /* first block of the tile */
    uint32_t row, at; /* first row; first channel in the chunk */
    void *out;
};

/* What a tile keeps in registers. rest: of the last vector only the lower half is there, so half a vector is multiplied. */
struct tile_sums {
    vf acc[CONV_TALL][VEC_F32_NR];
    vh rest[CONV_TALL];
    const float *x[CONV_TALL];
    const char *block[VEC_F32_NR];
};

/* Vector v of the tile at element k of packed weights. */
static inline __attribute__((always_inline)) vf weights_at(const struct tile_sums *s, uint64_t k, int v, bool half)
{
    const int per_block = CONV_BLOCK / VEC_LANES;
    uint64_t at = k * CONV_BLOCK + (uint64_t)(v % per_block) * VEC_LANES;
    return half ? vf_load_half((const uint16_t *)s->block[v / per_block] + at)
                : vf_load((const float *)s->block[v / per_block] + at);
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
                                                           vf acc[CONV_TALL][VEC_F32_NR])
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

/* A few lines at a time: many at once would keep those waiting that the tile needs. */
static inline void fetch_ahead(struct conv_ahead *a)
{
    for (uint32_t i = 0; i < a->lines && a->left; i++) {
        for (uint32_t b = 0; b < CONV_CHUNK / CONV_BLOCK; b++)
            vec_fetch(a->at + b * a->stride);
        a->at += CONV_LINE;
        a->left -= CONV_LINE;
    }
}

/* Sums of a tile between two parts of k. */
static inline __attribute__((always_inline)) float *sums_at(const struct tile *t, int r, int v)
{
    return t->p->sums + (uint64_t)(t->row + (uint32_t)r) * CONV_CHUNK + t->at + (uint32_t)v * VEC_LANES;
}

static inline __attribute__((always_inline)) void sums_load(const struct tile *t, const int mr, const int nr,
                                                            const bool narrow, struct tile_sums *s)
{
    const int whole = narrow ? nr - 1 : nr;
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
#pragma GCC unroll 8
        for (int v = 0; v < whole; v++)
            s->acc[r][v] = vf_load(sums_at(t, r, v));
        if (narrow)
            s->rest[r] = vh_load(sums_at(t, r, nr - 1));
    }
}

static inline __attribute__((always_inline)) void sums_store(const struct tile *t, const int mr, const int nr,
                                                             vf acc[CONV_TALL][VEC_F32_NR])
{
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 8
        for (int v = 0; v < nr; v++)
            vf_store_n(sums_at(t, r, v), acc[r][v], VEC_LANES);
}

static inline __attribute__((always_inline)) void tile_begin(const struct tile *t, const int mr, const int nr,
                                                             const bool narrow, struct tile_sums *s)
{
    const int whole = narrow ? nr - 1 : nr;
    for (int v = 0; v < nr; v++)
        s->block[v] = t->w + (uint64_t)v * t->c->stride;
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        s->x[r] = t->p->x[t->row + (uint32_t)r];
        s->rest[r] = vh_zero();
#pragma GCC unroll 8
        for (int v = 0; v < whole; v++)
            s->acc[r][v] = vf_zero();
    }
    if (t->p->begun)
        sums_load(t, mr, nr, narrow, s);
}

/* One k of the weights, element `at` of the rows. */
static inline __attribute__((always_inline)) void tile_step(struct tile_sums *s, uint64_t k, uint64_t at, const int mr,
                                                            const int nr, const bool half, const bool narrow)
{
    const int whole = narrow ? nr - 1 : nr;
    vf w[VEC_F32_NR];
    vh few = vh_zero();
#pragma GCC unroll 8
    for (int v = 0; v < whole; v++)
        w[v] = weights_at(s, k, v, half);
    if (narrow)
        few = half ? vh_load_half((const uint16_t *)s->block[nr - 1] + k * CONV_BLOCK)
                   : vh_load((const float *)s->block[nr - 1] + k * CONV_BLOCK);
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        vf xv = vf_set1(s->x[r][at]);
#pragma GCC unroll 8
        for (int v = 0; v < whole; v++)
            s->acc[r][v] = vf_fma(xv, w[v], s->acc[r][v]);
        if (narrow)
            s->rest[r] = vh_fma(whole ? vh_lower(xv) : vh_set1(s->x[r][at]), few, s->rest[r]);
    }
}

static inline __attribute__((always_inline)) void tile_run(const struct tile *t, const int mr, const int nr, const bool half,
                                                           const bool narrow)
{
    const struct conv_panel *p = t->p;
    struct tile_sums sums;
    uint64_t next = 0;
    tile_begin(t, mr, nr, narrow, &sums);
    for (uint32_t s = 0; s < p->n_seg; s++) {
        const uint64_t first = p->seg[s].k, last = first + p->seg[s].n, end = last < p->k1 ? last : p->k1;
        uint64_t k = first > p->k0 ? first : p->k0, at = conv_seg_at(p, s, next, sizeof(float));
        next = at + (last - first);
        at += k - first;
        while (k < end) {
            const uint64_t stop = end - k < CONV_STRIP ? end : k + CONV_STRIP;
            fetch_ahead(&t->p->ahead);
            for (; k < stop; k++, at++)
                tile_step(&sums, k, at, mr, nr, half, narrow);
        }
    }
    if (narrow)
#pragma GCC unroll 8
        for (int r = 0; r < mr; r++)
            sums.acc[r][nr - 1] = vh_widen(sums.rest[r]);
    if (p->more)
        sums_store(t, mr, nr, sums.acc);
    else
        tile_end(t, mr, nr, sums.acc);
}

#define TILE(mr, nr, half, narrow, name)   \
    static void name(const struct tile *t) \
    {                                      \
        tile_run(t, mr, nr, half, narrow); \
    }
#define TILES(nr, half, narrow, sfx)                                                            \
    TILE(1, nr, half, narrow, tile_1_##nr##sfx)                                                 \
    TILE(2, nr, half, narrow, tile_2_##nr##sfx) TILE(3, nr, half, narrow, tile_3_##nr##sfx)     \
        TILE(4, nr, half, narrow, tile_4_##nr##sfx) TILE(5, nr, half, narrow, tile_5_##nr##sfx) \
            TILE(6, nr, half, narrow, tile_6_##nr##sfx)
#define TILES_TALL(half, narrow, sfx) \
    TILES(1, half, narrow, sfx) TILE(7, 1, half, narrow, tile_7_1##sfx) TILE(8, 1, half, narrow, tile_8_1##sfx)
#define TILE_ROW(nr, sfx)                                                                                          \
    {                                                                                                              \
        tile_1_##nr##sfx, tile_2_##nr##sfx, tile_3_##nr##sfx, tile_4_##nr##sfx, tile_5_##nr##sfx, tile_6_##nr##sfx \
    }
#define TILE_ROW_TALL(sfx)                                                                                       \
    {                                                                                                            \
        tile_1_1##sfx, tile_2_1##sfx, tile_3_1##sfx, tile_4_1##sfx, tile_5_1##sfx, tile_6_1##sfx, tile_7_1##sfx, \
            tile_8_1##sfx                                                                                        \
    }

typedef void tile_fn(const struct tile *t);

/* Rows in as few tiles as there can be, none more than one row smaller than another: a tile of one row waits for its
 * weights. Channels in tiles of VEC_F32_NR vectors, the last one narrower. `narrow`: the same tiles with half a vector at
 * the end; NULL: there are none. */
static void block_run(tile_fn *const (*table)[CONV_TALL], tile_fn *const (*narrow)[CONV_TALL], const struct conv_args *a,
                      struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    const uint32_t step = VEC_F32_NR * VEC_LANES;
    for (uint32_t at = 0; at < c->n; at += step) {
        uint32_t left = (c->n - at + VEC_LANES - 1) / VEC_LANES, nr = left < VEC_F32_NR ? left : VEC_F32_NR;
        tile_fn *const *tiles = narrow && c->n - at <= (nr - 1) * VEC_LANES + VEC_LANES / 2 ? narrow[nr - 1] : table[nr - 1];
        const uint32_t most = nr == 1 ? CONV_TALL : CONV_MR, n_tiles = (p->rows + most - 1) / most, few = p->rows / n_tiles,
                       larger = p->rows % n_tiles;
        struct tile t = { a, p, c, (const char *)c->w + at / CONV_BLOCK * c->stride, 0, at, out };
        for (uint32_t i = 0; i < n_tiles; i++) {
            const uint32_t rows = few + (i < larger);
            tiles[rows - 1](&t);
            t.row += rows;
        }
    }
}
