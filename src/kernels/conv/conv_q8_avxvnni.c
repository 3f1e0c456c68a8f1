/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit products, AVX-VNNI: vpdpbusd in vectors of 256 bits, for CPUs that have it without AVX-512. It multiplies unsigned
 * by signed bytes, so rows are gathered as unsigned bytes (signed ones moved up by 128) and the offset that is left over is
 * folded into the channels. Sums are exact modulo 2^32. Up to 6 rows by 16 channels, which are 12 of 16 registers. */
#include "kernels/conv/vec_avx2.h"

#include <string.h>

#include "kernels/conv/conv_fixed_end.h"

/* A panel is whole tiles of all sizes. */
enum { NR = CONV_BLOCK / VEC_LANES, PANEL = 60 };

static int32_t left_over(const struct conv_args *a)
{
    return a->x_type == DT_UQ8 ? a->x_offset : a->x_offset - 128;
}

static bool in_place(const struct conv_args *a)
{
    return a->x_type == DT_UQ8 && a->cig % 4 == 0;
}

/* ---- rows ------------------------------------------------------------------------------------------------------------- */

static inline void flip_16(uint8_t *d, const uint8_t *s, __m128i flip)
{
    _mm_storeu_si128((__m128i *)d, _mm_xor_si128(_mm_loadu_si128((const __m128i *)s), flip));
}

static inline void flip_32(uint8_t *d, const uint8_t *s, vi flip)
{
    _mm256_storeu_si256((vi *)d, _mm256_xor_si256(_mm256_loadu_si256((const vi *)s), flip));
}

/* The last bytes of a run overlap those before them, some of it written twice. */
static inline void load_run(uint8_t *d, const uint8_t *s, uint32_t n, uint8_t flip)
{
    const vi f = _mm256_set1_epi8((char)flip);
    if (n >= 32) {
        for (uint32_t i = 0; i + 32 < n; i += 32)
            flip_32(d + i, s + i, f);
        flip_32(d + n - 32, s + n - 32, f);
    } else if (n >= 16) {
        flip_16(d, s, _mm256_castsi256_si128(f));
        flip_16(d + n - 16, s + n - 16, _mm256_castsi256_si128(f));
    } else {
        for (uint32_t i = 0; i < n; i++)
            d[i] = s[i] ^ flip;
    }
}

static uint8_t flip_of(const struct conv_args *a)
{
    return a->x_type == DT_UQ8 ? 0 : 0x80;
}

static void load_row(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    uint8_t *d = dst;
    const uint8_t *s = src, flip = flip_of(a);
    if (stride == 1) {
        load_run(d, s, n, flip);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        d[i] = s[i * stride] ^ flip;
}

static void load_windows(const struct conv_args *a, const struct conv_windows *w)
{
    const uint8_t flip = flip_of(a);
    for (uint32_t k = 0; k < w->windows; k++)
        for (uint32_t i = 0; i < w->lines; i++)
            load_run((uint8_t *)w->dst + k * w->row_step + (uint64_t)i * w->n,
                     (const uint8_t *)w->src + k * w->window_step + i * w->line_step, w->n, flip);
}

static void pad_row(const struct conv_args *a, void *dst, uint32_t n)
{
    memset(dst, (uint8_t)-left_over(a), n);
}

static int64_t sum_row(const struct conv_args *a, const void *row, uint32_t n)
{
    const uint8_t *x = row;
    vi sum = vi_zero(); /* modulo 2^32, as the sums that it is added to */
    uint32_t part[VEC_LANES], total = 0, i = 0;
    for (; i + 32 <= n; i += 32)
        sum = _mm256_dpbusd_avx_epi32(sum, _mm256_loadu_si256((const vi *)(x + i)), _mm256_set1_epi8(1));
    vi_store((int32_t *)part, sum);
    for (int j = 0; j < VEC_LANES; j++)
        total += part[j];
    for (; i < n; i++)
        total += x[i];
    return (int64_t)total + (int64_t)n * left_over(a);
}

/* ---- ends ------------------------------------------------------------------------------------------------------------- */

/* Sums of plain channels that end as bytes: the range in bytes, the offset in 16 bits. Narrowing saturates. */
struct bytes_end {
    vi lo, hi, offset;
    bool is_signed;
};

struct tile {
    const struct conv_args *a;
    const struct conv_panel *p;
    const struct fixed_end *end;
    const uint8_t *w;
    uint32_t row, at;
    bool fast; /* whole vectors of channels end as bytes */
    struct bytes_end bytes;
    const int32_t *first; /* per channel: what sums begin with */
};

static struct bytes_end bytes_end(const struct conv_args *a)
{
    return (struct bytes_end){ _mm256_set1_epi8((char)a->q_lo), _mm256_set1_epi8((char)a->q_hi),
                               _mm256_set1_epi16((short)a->out_offset), a->out_type == DT_SQ8 };
}

/* No step on the way to bytes leaves 32 bits (conv_ends_in_bytes). */
static bool bytes_suit(const struct fixed_end *e)
{
    if (!e->simple || !conv_ends_in_bytes(e->a))
        return false;
    for (uint32_t i = 0; i < e->simple; i++)
        if (e->m[i] > CONV_SMALL_M)
            return false;
    return true;
}

/* Eight channels of a row in steps of the output; sums began with what belongs to channels. */
static inline __attribute__((always_inline)) vi steps_of(const struct tile *t, uint32_t row, int v, vi sum)
{
    const struct fixed_end *e = t->end;
    if (e->w_offset)
        sum = vi_add(sum, vi_set1((int32_t)((uint32_t)e->w_offset * (uint32_t)(uint64_t)e->p->xsum[row])));
    return vi_round(vf_mul(vf_from_int(sum), vf_load(e->m + t->at + v * VEC_LANES)));
}

/* 16 or 8 channels of two rows, which may be the same row. */
static inline __attribute__((always_inline)) void end_two(const struct tile *t, uint32_t row0, uint32_t row1, const int nr,
                                                          const vi *sum0, const vi *sum1)
{
    const struct bytes_end *b = &t->bytes;
    vi q[2];
    q[0] = _mm256_packs_epi32(steps_of(t, row0, 0, sum0[0]), steps_of(t, row0, nr - 1, sum0[nr - 1]));
    q[1] = _mm256_packs_epi32(steps_of(t, row1, 0, sum1[0]), steps_of(t, row1, nr - 1, sum1[nr - 1]));
    q[0] = _mm256_subs_epi16(q[0], b->offset);
    q[1] = _mm256_subs_epi16(q[1], b->offset);
    vi v = b->is_signed ? _mm256_min_epi8(_mm256_max_epi8(_mm256_packs_epi16(q[0], q[1]), b->lo), b->hi)
                        : _mm256_min_epu8(_mm256_max_epu8(_mm256_packus_epi16(q[0], q[1]), b->lo), b->hi);
    /* Each half has four channels of every vector: together they are in order. */
    v = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    char *const out = (char *)t->end->out + t->end->c0 + t->at;
    if (nr == NR) {
        _mm_storeu_si128((__m128i *)(out + t->p->out[row0]), _mm256_castsi256_si128(v));
        _mm_storeu_si128((__m128i *)(out + t->p->out[row1]), _mm256_extracti128_si256(v, 1));
    } else {
        _mm_storel_epi64((__m128i *)(out + t->p->out[row0]), _mm256_castsi256_si128(v));
        _mm_storel_epi64((__m128i *)(out + t->p->out[row1]), _mm256_extracti128_si256(v, 1));
    }
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

/* Four k of all rows and channels of a tile. */
static inline __attribute__((always_inline)) void add_products(const uint8_t *const x[CONV_MR], uint64_t at,
                                                               const uint8_t *w, const int mr, const int nr,
                                                               vi acc[CONV_MR][NR])
{
    vi wv[NR];
#pragma GCC unroll 2
    for (int v = 0; v < nr; v++)
        wv[v] = vi_keep(_mm256_loadu_si256((const vi *)w + v)); /* once: compilers like to load it for every row */
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        int32_t four;
        memcpy(&four, x[r] + at, 4);
        const vi xv = vi_set1(four);
#pragma GCC unroll 2
        for (int v = 0; v < nr; v++)
            acc[r][v] = _mm256_dpbusd_avx_epi32(acc[r][v], xv, wv[v]);
    }
}

static inline __attribute__((always_inline)) void tile_run(const struct tile *t, const int mr, const int nr)
{
    vi acc[CONV_MR][NR];
    const uint8_t *x[CONV_MR];
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        x[r] = t->p->x[t->row + (uint32_t)r];
#pragma GCC unroll 2
        for (int v = 0; v < nr; v++)
            acc[r][v] = vi_load(t->first + t->at + v * VEC_LANES);
    }
    uint64_t at = 0;
    for (uint32_t s = 0; s < t->p->n_seg; s++) {
        const uint8_t *w = t->w + (uint64_t)t->p->seg[s].k * CONV_BLOCK;
        at = conv_seg_at(t->p, s, at, 1);
        for (uint64_t end = at + t->p->seg[s].n; at < end; at += 4, w += 4 * CONV_BLOCK)
            add_products(x, at, w, mr, nr, acc);
    }
    if (t->fast) {
#pragma GCC unroll 4
        for (int r = 0; r < mr; r += 2) {
            const int next = r + 1 < mr ? r + 1 : r;
            end_two(t, t->row + (uint32_t)r, t->row + (uint32_t)next, nr, acc[r], acc[next]);
        }
        return;
    }
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 2
        for (int v = 0; v < nr; v++)
            fixed_end_store(t->end, t->row + (uint32_t)r, t->at + (uint32_t)v * VEC_LANES, acc[r][v]);
}

#define TILE(mr, nr)                                   \
    static void tile_##mr##_##nr(const struct tile *t) \
    {                                                  \
        tile_run(t, mr, nr);                           \
    }
TILE(1, 1)
TILE(2, 1)
TILE(4, 1)
TILE(6, 1)
TILE(1, 2)
TILE(2, 2)
TILE(4, 2)
TILE(6, 2)
static void (*const tiles[NR][4])(const struct tile *) = { { tile_1_1, tile_2_1, tile_4_1, tile_6_1 },
                                                           { tile_1_2, tile_2_2, tile_4_2, tile_6_2 } };
static const uint32_t tile_rows[4] = { 1, 2, 4, CONV_MR };

static const int32_t nothing[CONV_CHUNK] __attribute__((aligned(32)));

static void block_run(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    struct fixed_end end;
    fixed_end_init(&end, a, p, c, left_over(a), out);
    struct tile t = { .a = a, .p = p, .end = &end, .bytes = bytes_end(a) };
    t.fast = c->n % VEC_LANES == 0 && bytes_suit(&end);
    t.first = t.fast ? end.base : nothing;
    for (t.at = 0; t.at < c->n; t.at += CONV_BLOCK) {
        const bool narrow = c->n - t.at <= VEC_LANES;
        t.w = (const uint8_t *)c->w + t.at / CONV_BLOCK * conv_block_bytes(a);
        t.row = 0;
        for (int m = 3; m >= 0; m--)
            for (; p->rows - t.row >= tile_rows[m]; t.row += tile_rows[m])
                tiles[!narrow][m](&t);
    }
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

kernel_fn conv_q8_avxvnni, conv_bytes_avxvnni;

void conv_q8_avxvnni(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}

void conv_bytes_avxvnni(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}
