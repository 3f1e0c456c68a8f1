/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit products, AVX2. vpmaddubsw saturates, so both sides are widened to 16 bits and vpmaddwd adds exact pairs: rows are
 * gathered as 16-bit x + x_offset, weights are widened as they are loaded, or once for many rows. A vector holds 4 channels
 * by 2 half sums; halves are joined at the end. */
#include "kernels/conv/vec_avx2.h"

#include <string.h>

#include "kernels/conv/conv_fixed_end.h"

enum {
    MR = 3,
    QUARTERS = 4,
    KEPT = 2,       /* rows whose elements stay in registers: with those of the third, a sum would have to go to memory */
    WIDENED = 1024, /* k of weights that are widened once for all rows of a panel: 16 channels of them stay in a first-level
                       cache */
    WORTH = 4,      /* tiles that it takes to be worth that */
};

static bool in_place(const struct conv_args *a)
{
    (void)a;
    return false;
}

/* Eight elements as x + offset. */
static inline void load_eight(int16_t *d, const uint8_t *s, bool is_signed, __m128i offset)
{
    __m128i v = _mm_loadl_epi64((const __m128i *)s);
    _mm_storeu_si128((__m128i *)d, _mm_add_epi16(is_signed ? _mm_cvtepi8_epi16(v) : _mm_cvtepu8_epi16(v), offset));
}

static inline void load_run(const struct conv_args *a, int16_t *d, const uint8_t *s, uint32_t n)
{
    const bool is_signed = a->x_type == DT_SQ8;
    const __m128i o = _mm_set1_epi16((int16_t)a->x_offset);
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8)
        load_eight(d + i, s + i, is_signed, o);
    if (i < n && n >= 8) { /* the last eight, some of them again */
        load_eight(d + n - 8, s + n - 8, is_signed, o);
        return;
    }
    for (; i < n; i++)
        d[i] = (int16_t)((is_signed ? (int8_t)s[i] : s[i]) + a->x_offset);
}

static void load_row(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    int16_t *d = dst;
    const uint8_t *s = src;
    if (stride == 1) {
        load_run(a, d, s, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        d[i] = (int16_t)((a->x_type == DT_SQ8 ? (int8_t)s[i * stride] : s[i * stride]) + a->x_offset);
}

static void load_windows(const struct conv_args *a, const struct conv_windows *w)
{
    for (uint32_t k = 0; k < w->windows; k++)
        for (uint32_t i = 0; i < w->lines; i++)
            load_run(a, (int16_t *)(w->dst + k * w->row_step) + (uint64_t)i * w->n,
                     (const uint8_t *)w->src + k * w->window_step + i * w->line_step, w->n);
}

static void pad_row(const struct conv_args *a, void *dst, uint32_t n)
{
    (void)a;
    memset(dst, 0, (size_t)n * 2);
}

static int64_t sum_row(const struct conv_args *a, const void *row, uint32_t n)
{
    (void)a;
    const int16_t *x = row;
    int32_t part[8];
    int64_t sum = 0;
    __m256i v = _mm256_setzero_si256(); /* modulo 2^32, as the sums that it is added to */
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16)
        v = _mm256_add_epi32(v, _mm256_madd_epi16(_mm256_loadu_si256((const __m256i *)(x + i)), _mm256_set1_epi16(1)));
    _mm256_storeu_si256((__m256i *)part, v);
    for (int j = 0; j < 8; j++)
        sum += part[j];
    for (; i < n; i++)
        sum += x[i];
    return sum;
}

struct tile {
    const struct conv_panel *p;
    const struct fixed_end *end;
    const char *w;          /* bytes, or 16 bits where they were widened */
    uint32_t row, at;
};

/* Join the half sums of channels 0…3 and 4…7. */
static inline vi join(vi a, vi b)
{
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xd8);
}

/* Four elements of a row, twice. Compilers are not to know that they have them already. */
static inline vi four_of(const int16_t *x)
{
    vi v;
    __asm__ volatile("vpbroadcastq %1, %0" : "=x"(v) : "m"(*(const int64_t(*)[1])x));
    return v;
}

static inline __attribute__((always_inline)) void tile_run(const struct tile *t, const int mr, const bool wide)
{
    vi acc[MR][QUARTERS];
    const int16_t *x[MR];
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        x[r] = t->p->x[t->row + (uint32_t)r];
#pragma GCC unroll 8
        for (int q = 0; q < QUARTERS; q++)
            acc[r][q] = vi_zero();
    }
    uint64_t at = 0;
    for (uint32_t s = 0; s < t->p->n_seg; s++) {
        const char *w = t->w + (uint64_t)t->p->seg[s].k * CONV_BLOCK * (wide ? 2 : 1);
        at = conv_seg_at(t->p, s, at, sizeof(int16_t));
        for (uint64_t end = at + t->p->seg[s].n; at < end; at += 4, w += wide ? 128 : 64) {
            vi xv[MR];
#pragma GCC unroll 8
            for (int r = 0; r < mr && r < KEPT; r++)
                xv[r] = four_of(x[r] + at);
#pragma GCC unroll 8
            for (int q = 0; q < QUARTERS; q++) {
                vi wv = wide ? _mm256_load_si256((const __m256i *)w + q)
                             : _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w + q));
#pragma GCC unroll 8
                for (int r = 0; r < mr; r++)
                    acc[r][q] = vi_dot16(acc[r][q], r < KEPT ? xv[r] : four_of(x[r] + at), wv);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        uint32_t row = t->row + (uint32_t)r;
        fixed_end_store(t->end, row, t->at, join(acc[r][0], acc[r][1]));
        fixed_end_store(t->end, row, t->at + 8, join(acc[r][2], acc[r][3]));
    }
}

static void tile_1(const struct tile *t)
{
    tile_run(t, 1, false);
}

static void tile_3(const struct tile *t)
{
    tile_run(t, MR, false);
}

static void tile_3_wide(const struct tile *t)
{
    tile_run(t, MR, true);
}

static void widen_block(int16_t *to, const char *w, uint32_t k)
{
    for (uint64_t i = 0; i < (uint64_t)k * CONV_BLOCK; i += 16)
        _mm256_store_si256((__m256i *)(to + i), _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(w + i))));
}

static void block_run(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    struct fixed_end end;
    uint64_t bytes = conv_block_bytes(a);
    int16_t wide[WIDENED * CONV_BLOCK] __attribute__((aligned(32)));
    const bool widened = a->kpad <= WIDENED && p->rows >= WORTH * MR;
    fixed_end_init(&end, a, p, c, 0, out);
    for (uint32_t at = 0; at < c->n; at += CONV_BLOCK) {
        struct tile t = { p, &end, (const char *)c->w + at / CONV_BLOCK * bytes, 0, at };
        if (widened) {
            widen_block(wide, t.w, a->kpad);
            struct tile tw = { p, &end, (const char *)wide, 0, at };
            for (; p->rows - tw.row >= MR; tw.row += MR)
                tile_3_wide(&tw);
            t.row = tw.row;
        }
        for (; p->rows - t.row >= MR; t.row += MR)
            tile_3(&t);
        for (; t.row < p->rows; t.row++)
            tile_1(&t);
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

kernel_fn conv_q8_avx2, conv_bytes_avx2;

void conv_q8_avx2(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}

void conv_bytes_avx2(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}
