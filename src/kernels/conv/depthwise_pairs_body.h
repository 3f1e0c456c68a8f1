/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit depthwise convolution in vectors of 256 bits, for AVX2 and AVX-VNNI: two products of one channel are added at once,
 * so two kernel lines are multiplied at a time.
 *
 * The 16-bit elements of two staged lines at one column, 16 channels of each, are interleaved until every pair belongs to
 * one channel; weights likewise. Interleaving leaves channels 0 … 3 and 8 … 11 in one vector, the others in the second;
 * narrowing the sums of both brings them back into order. A column that is interleaved once serves all output pixels that it
 * belongs to. */
#include "kernels/conv/vec_avx2.h"

#include "kernels/conv/conv_stage_avx2.h"
#include "kernels/conv/depthwise_fours.h"

enum { HALVES = 2, PAIRS = STAGE_LINES / 2 };

/* What one block of 16 channels needs, whatever the pixel. */
struct pairs {
    struct fours all;
    bool is_signed;
    __m128i lo, hi; /* the output range */
    vi offset, base[HALVES];
    vf m[HALVES];
    vi w[PAIRS][STAGE_TAPS][HALVES];
};

static vi weights_at(const struct pairs *q, uint32_t line, uint32_t tap)
{
    const struct conv_args *a = q->all.a;
    if (line >= a->y.kernel)
        return vi_zero();
    const int8_t *w = (const int8_t *)a->packed + ((uint64_t)line * a->x.kernel + tap) * a->npad + q->all.c0;
    return _mm256_add_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w)),
                            _mm256_set1_epi16((short)a->w_offset));
}

/* Numbers of 16 channels in the order of interleaved pairs. */
static inline void in_halves(const int32_t *p, vi ret[HALVES])
{
    const vi a = vi_load(p), b = vi_load(p + 8);
    ret[0] = _mm256_permute2x128_si256(a, b, 0x20);
    ret[1] = _mm256_permute2x128_si256(a, b, 0x31);
}

static void pairs_begin(struct fours *all, struct stage *stage)
{
    struct pairs *q = (struct pairs *)all;
    const uint32_t c0 = stage->c0;
    const struct conv_args *a = q->all.a;
    int32_t b[CONV_BLOCK];
    vi m[HALVES];
    for (uint32_t p = 0; 2 * p < a->y.kernel; p++)
        for (uint32_t t = 0; t < a->x.kernel; t++) {
            const vi w0 = weights_at(q, 2 * p, t), w1 = weights_at(q, 2 * p + 1, t);
            q->w[p][t][0] = _mm256_unpacklo_epi16(w0, w1);
            q->w[p][t][1] = _mm256_unpackhi_epi16(w0, w1);
        }
    for (uint32_t i = 0; i < CONV_BLOCK; i++)
        b[i] = (int32_t)conv_b(a, a->head, a->npad)[c0 + i];
    in_halves(b, q->base);
    in_halves((const int32_t *)conv_m(a->head) + c0, m);
    for (int i = 0; i < HALVES; i++)
        q->m[i] = _mm256_castsi256_ps(m[i]);
}

/* Sums to bytes in the order of channels. Saturation clamps: see conv_stage_suits. */
static inline __attribute__((always_inline)) void end_pixel(const struct pairs *q, uint8_t *out, const vi acc[HALVES])
{
    vi v[HALVES];
#pragma GCC unroll 2
    for (int i = 0; i < HALVES; i++)
        v[i] = vi_round(vf_mul(vf_from_int(acc[i]), q->m[i]));
    const vi s = _mm256_subs_epi16(_mm256_packs_epi32(v[0], v[1]), q->offset);
    const __m128i lo = _mm256_castsi256_si128(s), hi = _mm256_extracti128_si256(s, 1);
    const __m128i bytes = q->is_signed ? _mm_min_epi8(_mm_max_epi8(_mm_packs_epi16(lo, hi), q->lo), q->hi)
                                       : _mm_min_epu8(_mm_max_epu8(_mm_packus_epi16(lo, hi), q->lo), q->hi);
    _mm_storeu_si128((__m128i *)out, bytes);
}

static inline __attribute__((always_inline)) vi line_at(const struct group *g, struct form f, uint32_t line, uint64_t column)
{
    return line < f.lines
               ? _mm256_loadu_si256((const vi *)(g->line->x[line] + g->first + column * (CONV_BLOCK * sizeof(int16_t))))
               : vi_zero();
}

static inline __attribute__((always_inline)) void fours_sums(const struct fours *all, const struct group *g,
                                                             const struct form f, const int p)
{
    const struct pairs *q = (const struct pairs *)all;
    const uint32_t columns = ((uint32_t)p - 1) * f.apart + f.taps;
    vi acc[PIXELS][HALVES];
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        for (int i = 0; i < HALVES; i++)
            acc[j][i] = q->base[i];
    for (uint32_t s = 0; 2 * s < f.lines; s++) {
#pragma GCC unroll 12
        for (uint32_t c = 0; c < columns; c++) {
            const vi x0 = line_at(g, f, 2 * s, c), x1 = line_at(g, f, 2 * s + 1, c);
            const vi column[HALVES] = { _mm256_unpacklo_epi16(x0, x1), _mm256_unpackhi_epi16(x0, x1) };
#pragma GCC unroll 4
            for (int j = 0; j < p; j++) {
                const uint32_t tap = c - (uint32_t)j * f.apart;
                if (tap >= f.taps)
                    continue;
#pragma GCC unroll 2
                for (int i = 0; i < HALVES; i++)
                    acc[j][i] = vi_dot16(acc[j][i], column[i], q->w[s][tap][i]);
            }
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        end_pixel(q, g->out + (uint64_t)j * g->next, acc[j]);
}

static void pairs_run(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    struct pairs q = { .all = fours_init(call),
                       .is_signed = a->out_type == DT_SQ8,
                       .lo = _mm_set1_epi8((char)a->q_lo),
                       .hi = _mm_set1_epi8((char)a->q_hi),
                       .offset = _mm256_set1_epi16((short)a->out_offset) };
    struct stage s;
    stage_init(&s, a);
    fours_run(call, tile, CONV_BLOCK, &q.all, &s, pairs_begin);
}
