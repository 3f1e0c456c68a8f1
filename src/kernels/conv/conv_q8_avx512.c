/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit products, AVX-512 VNNI: vpdpbusd multiplies unsigned by signed bytes, so rows are gathered as unsigned bytes (signed
 * ones moved up by 128) and the offset that is left over is folded into the channels. Sums are exact modulo 2^32. Up to 6
 * rows by 64 channels, or for short sums two tiles in turn, of which one is ended while the other is multiplied. */
#include "kernels/conv/vec_avx512.h"

#include <string.h>

#include "kernels/conv/conv_bytes_avx512.h"

/* Sums of so many k are short: their ends take as long as their products. A panel is whole tiles of 3, 4 and 6 rows. */
enum { NR = CONV_CHUNK / CONV_BLOCK, SHORT_LEAST = 12, SHORT_MOST = 128, PANEL = 60 };

static int32_t left_over(const struct conv_args *a)
{
    return a->x_type == DT_UQ8 ? a->x_offset : a->x_offset - 128;
}

/* Signed rows where they lie are flipped on the way to the multiplier, which pays only if few channels use them. */
static bool flips(const struct conv_args *a)
{
    return a->direct && a->x_type == DT_SQ8 && a->cig % 4 == 0 && a->cog <= 2 * CONV_BLOCK && a->w_offset == 0;
}

static bool in_place(const struct conv_args *a)
{
    return (a->x_type == DT_UQ8 && a->cig % 4 == 0) || flips(a);
}

static void load_row(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    uint8_t *d = dst;
    const uint8_t *s = src, flip = a->x_type == DT_UQ8 ? 0 : 0x80;
    if (stride != 1) {
        for (uint32_t i = 0; i < n; i++)
            d[i] = s[i * stride] ^ flip;
        return;
    }
    __m512i f = _mm512_set1_epi8((char)flip);
    for (; n >= 64; n -= 64, d += 64, s += 64)
        _mm512_storeu_si512(d, _mm512_xor_si512(_mm512_loadu_si512(s), f));
    __mmask64 m = ((__mmask64)1 << n) - 1;
    if (n)
        _mm512_mask_storeu_epi8(d, m, _mm512_xor_si512(_mm512_maskz_loadu_epi8(m, s), f));
}

static void load_windows(const struct conv_args *a, const struct conv_windows *w)
{
    bytes_copy_windows(w, a->x_type == DT_UQ8 ? 0 : 0x8080808080808080);
}

static void pad_row(const struct conv_args *a, void *dst, uint32_t n)
{
    memset(dst, (uint8_t)-left_over(a), n);
}

static int64_t sum_row(const struct conv_args *a, const void *row, uint32_t n)
{
    const uint8_t *x = row;
    const uint32_t all = n;
    const __m512i one = _mm512_set1_epi8(1);
    __m512i sum = _mm512_setzero_si512(); /* modulo 2^32, as the sums that it is added to */
    for (; n >= 64; n -= 64, x += 64)
        sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(x), one);
    if (n)
        sum = _mm512_dpbusd_epi32(sum, _mm512_maskz_loadu_epi8(((__mmask64)1 << n) - 1, x), one);
    return (int64_t)(uint32_t)_mm512_reduce_add_epi32(sum) + (int64_t)all * left_over(a);
}

/* Rows and blocks of channels of a tile, whether x is signed where it lies, and whether the last block has 8 channels or
 * fewer, which half a vector multiplies (half of the time on processors that take 512 bits in two halves); constants where
 * loops are compiled. */
struct shape {
    int mr, nr;
    bool flip, narrow;
};

struct tile {
    const struct conv_args *a;
    const struct conv_panel *p;
    const struct conv_chunk *c;
    const struct fixed_end *end;
    uint32_t row;
    bool fast;               /* all end in bytes, and blocks are whole but for half of the last one */
    bool half;
    struct bytes_end bytes;
    const int32_t *first;    /* per channel: what sums begin with */
};

/* 16 channels of a row in steps of the output; sums began with what belongs to channels. */
static inline __attribute__((always_inline)) __m512i steps_of(const struct tile *t, uint32_t row, int block, __m512i sum)
{
    const struct fixed_end *e = t->end;
    if (e->w_offset)
        sum = vi_add(sum, vi_set1((int32_t)((uint32_t)e->w_offset * (uint32_t)(uint64_t)e->p->xsum[row])));
    return vi_round(vf_mul(vf_from_int(sum), vf_load(e->m + block * CONV_BLOCK)));
}

/* 16 channels, or those that are left of them. */
static inline __attribute__((always_inline)) void store_block(const struct tile *t, const int nr, int at, char *to,
                                                              __m128i v)
{
    if (t->half && at % nr == nr - 1)
        _mm_storel_epi64((__m128i *)to, v);
    else
        _mm_storeu_si128((__m128i *)to, v);
}

/* Vectors i … i + 3 of the sums of rows `row`, … become bytes together: a row of 64 channels, two of 32, and so on. At the
 * end the last one is repeated. */
static inline __attribute__((always_inline)) void end_four(const struct tile *t, uint32_t row, const int mr, const int nr,
                                                           const int i, __m512i acc[CONV_MR][NR])
{
    char *const out = (char *)t->end->out + t->end->c0;
    const uint64_t *to = t->p->out + row;
    __m512i v[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        int at = i + j < mr * nr ? i + j : mr * nr - 1;
        v[j] = steps_of(t, row + (uint32_t)(at / nr), at % nr, acc[at / nr][at % nr]);
    }
    __m512i q = bytes_in_order(&t->bytes, v);
    if (nr == 4 && !t->half) {
        _mm512_storeu_si512(out + to[i / 4], q);
    } else if (nr == 2 && i + 4 <= mr * nr && !t->half) {
        _mm256_storeu_si256((__m256i *)(out + to[i / 2]), _mm512_castsi512_si256(q));
        _mm256_storeu_si256((__m256i *)(out + to[i / 2 + 1]), _mm512_extracti64x4_epi64(q, 1));
    } else {
#define STORE(j)           \
    if (i + (j) < mr * nr) \
    store_block(t, nr, i + (j), out + to[(i + (j)) / nr] + (i + (j)) % nr * CONV_BLOCK, _mm512_extracti32x4_epi32(q, j))
        STORE(0);
        STORE(1);
        STORE(2);
        STORE(3);
#undef STORE
    }
}

static inline __attribute__((always_inline)) void end_all(const struct tile *t, uint32_t row, const struct shape s,
                                                          __m512i acc[CONV_MR][NR])
{
#pragma GCC unroll 8
    for (int i = 0; i < s.mr * s.nr; i += 4)
        end_four(t, row, s.mr, s.nr, i, acc);
}

/* Where rows begin, and what their sums begin with. */
static inline __attribute__((always_inline)) void begin_sums(const struct tile *t, uint32_t row, const int mr, const int nr,
                                                             const uint8_t *x[CONV_MR], __m512i acc[CONV_MR][NR])
{
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        x[r] = t->p->x[row + (uint32_t)r];
#pragma GCC unroll 8
        for (int v = 0; v < nr; v++)
            acc[r][v] = vi_load(t->first + v * CONV_BLOCK);
    }
}

/* Four k of all rows and channels of a tile; `w` has them for the first block, others are `bytes` further. */
static inline __attribute__((always_inline)) void add_products(const uint8_t *const x[CONV_MR], uint64_t at,
                                                               const uint8_t *w, uint64_t bytes, const struct shape s,
                                                               __m512i acc[CONV_MR][NR])
{
    __m512i wv[NR];
#pragma GCC unroll 8
    for (int v = 0; v < s.nr; v++) {
        wv[v] = _mm512_loadu_si512(w + (uint64_t)v * bytes);
        __asm__("" : "+v"(wv[v])); /* loaded once: compilers like to load it again for every row */
    }
#pragma GCC unroll 8
    for (int r = 0; r < s.mr; r++) {
        int32_t four;
        memcpy(&four, x[r] + at, 4);
        __m512i xv = _mm512_set1_epi32(four);
        if (s.flip)
            xv = _mm512_xor_si512(xv, _mm512_set1_epi8((char)0x80));
#pragma GCC unroll 8
        for (int v = 0; v < s.nr; v++)
            if (s.narrow && v == s.nr - 1)
                acc[r][v] = _mm512_castsi256_si512(_mm256_dpbusd_epi32(
                    _mm512_castsi512_si256(acc[r][v]), _mm512_castsi512_si256(xv), _mm512_castsi512_si256(wv[v])));
            else
                acc[r][v] = _mm512_dpbusd_epi32(acc[r][v], xv, wv[v]);
    }
}

static inline __attribute__((always_inline)) void tile_run(const struct tile *t, const struct shape s)
{
    __m512i acc[CONV_MR][NR];
    const uint8_t *x[CONV_MR];
    uint64_t bytes = conv_block_bytes(t->a), at = 0;
    begin_sums(t, t->row, s.mr, s.nr, x, acc);
    for (uint32_t i = 0; i < t->p->n_seg; i++) {
        const uint8_t *w = (const uint8_t *)t->c->w + (uint64_t)t->p->seg[i].k * CONV_BLOCK;
        at = conv_seg_at(t->p, i, at, 1);
        for (uint64_t end = at + t->p->seg[i].n; at < end; at += 4, w += 64)
            add_products(x, at, w, bytes, s, acc);
    }
    if (t->fast) {
        end_all(t, t->row, s, acc);
        return;
    }
#pragma GCC unroll 8
    for (int r = 0; r < s.mr; r++)
#pragma GCC unroll 8
        for (int v = 0; v < s.nr; v++)
            fixed_end_store(t->end, t->row + (uint32_t)r, (uint32_t)v * CONV_BLOCK, acc[r][v]);
}

/* ---- short sums ------------------------------------------------------------------------------------------------------- */

/* Sums of rows from t->row on; between their first steps those of the rows before them, if there are such, are ended. */
static inline __attribute__((always_inline)) void short_sums(struct tile *t, const struct shape s, __m512i acc[CONV_MR][NR],
                                                             __m512i (*last)[NR])
{
    const uint8_t *x[CONV_MR], *w = t->c->w;
    const uint64_t bytes = conv_block_bytes(t->a), end = t->p->k_total;
    begin_sums(t, t->row, s.mr, s.nr, x, acc);
#pragma GCC unroll 3
    for (int i = 0; i < SHORT_LEAST / 4; i++, w += 64) {
        add_products(x, (uint64_t)i * 4, w, bytes, s, acc);
        if (last && 4 * i < s.mr * s.nr)
            end_four(t, t->row - (uint32_t)s.mr, s.mr, s.nr, 4 * i, last);
    }
    for (uint64_t at = SHORT_LEAST; at < end; at += 4, w += 64)
        add_products(x, at, w, bytes, s, acc);
    t->row += (uint32_t)s.mr;
}

static inline __attribute__((always_inline)) void short_run(struct tile *t, const struct shape s)
{
    __m512i one[CONV_MR][NR], two[CONV_MR][NR];
    const uint32_t mr = (uint32_t)s.mr, rows = t->p->rows;
    if (rows < mr)
        return;
    short_sums(t, s, one, NULL);
    while (rows - t->row >= 2 * mr) {
        short_sums(t, s, two, one);
        short_sums(t, s, one, two);
    }
    if (rows - t->row >= mr) {
        short_sums(t, s, two, one);
        end_all(t, t->row - mr, s, two);
    } else {
        end_all(t, t->row - mr, s, one);
    }
}

#define SHORT(mr, nr, flip, narrow)                                 \
    static void short_##nr##_##flip##_##narrow(struct tile *t)      \
    {                                                               \
        short_run(t, (struct shape){ mr, nr, flip, narrow });       \
    }
#define SHORTS(narrow)     \
    SHORT(6, 1, 0, narrow) \
    SHORT(6, 2, 0, narrow) SHORT(4, 3, 0, narrow) SHORT(3, 4, 0, narrow) SHORT(6, 1, 1, narrow) SHORT(6, 2, 1, narrow)
#define SHORT_ROW(narrow)                                                                                   \
    {                                                                                                       \
        short_1_0_##narrow, short_2_0_##narrow, short_3_0_##narrow, short_4_0_##narrow, short_1_1_##narrow, \
            short_2_1_##narrow                                                                              \
    }
SHORTS(0)
SHORTS(1)
static void (*const shorts[2][NR + 2])(struct tile *) = { SHORT_ROW(0), SHORT_ROW(1) };

/* ---- blocks ----------------------------------------------------------------------------------------------------------- */

#define TILE(mr, nr, flip, narrow)                                          \
    static void tile_##mr##_##nr##_##flip##_##narrow(const struct tile *t)  \
    {                                                                       \
        tile_run(t, (struct shape){ mr, nr, flip, narrow });                \
    }
#define TILES(nr, flip, narrow) \
    TILE(1, nr, flip, narrow) TILE(2, nr, flip, narrow) TILE(4, nr, flip, narrow) TILE(6, nr, flip, narrow)
#define ALL_TILES(narrow) \
    TILES(1, 0, narrow) TILES(2, 0, narrow) TILES(3, 0, narrow) TILES(4, 0, narrow) TILES(1, 1, narrow) TILES(2, 1, narrow)
ALL_TILES(0)
ALL_TILES(1)
#define ROW(nr, flip, narrow)                                                                              \
    {                                                                                                      \
        tile_1_##nr##_##flip##_##narrow, tile_2_##nr##_##flip##_##narrow, tile_4_##nr##_##flip##_##narrow, \
            tile_6_##nr##_##flip##_##narrow                                                                \
    }
#define TABLE(narrow)                                                                                                    \
    {                                                                                                                    \
        ROW(1, 0, narrow), ROW(2, 0, narrow), ROW(3, 0, narrow), ROW(4, 0, narrow), ROW(1, 1, narrow), ROW(2, 1, narrow) \
    }
static void (*const tiles[2][NR + 2][4])(const struct tile *) = { TABLE(0), TABLE(1) };
static const uint32_t tile_rows[4] = { 1, 2, 4, CONV_MR };

static const int32_t nothing[CONV_CHUNK] __attribute__((aligned(64)));

static void block_run(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    struct fixed_end end;
    fixed_end_init(&end, a, p, c, left_over(a), out);
    struct tile t = { .a = a, .p = p, .c = c, .end = &end, .bytes = bytes_end(a) };
    uint32_t which = (c->n - 1) / CONV_BLOCK + (flips(a) ? NR : 0), narrow = (c->n - 1) % CONV_BLOCK < CONV_BLOCK / 2;
    t.fast = c->n % (CONV_BLOCK / 2) == 0 && bytes_suit(&end);
    t.half = c->n % CONV_BLOCK != 0;
    t.first = t.fast ? end.base : nothing;
    if (t.fast && p->n_seg == 1 && !p->seg->k && p->k_total >= SHORT_LEAST && p->k_total <= SHORT_MOST)
        shorts[narrow][which](&t);
    for (int m = 3; m >= 0; m--)
        for (; p->rows - t.row >= tile_rows[m]; t.row += tile_rows[m])
            tiles[narrow][which][m](&t);
}

static const struct conv_engine engine = { .elem = 1,
                                           .apart = true,
                                           .rows = PANEL,
                                           .in_place = in_place,
                                           .load = load_row,
                                           .load_windows = load_windows,
                                           .pad = pad_row,
                                           .sum = sum_row,
                                           .block = block_run,
                                           .sum_weights = vec_sum_fours };

kernel_fn conv_q8_avx512, conv_bytes_avx512;

void conv_q8_avx512(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}

void conv_bytes_avx512(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}
