/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit depthwise convolution, AVX-VNNI: vpdpbusd adds four products of one channel, so four kernel lines are multiplied at
 * a time.
 *
 * The bytes of four staged lines at one column, 32 channels of each, are interleaved until every group of four bytes belongs
 * to one channel; weights likewise. Interleaving stays within halves of a vector, so it leaves channels 4 v … 4 v + 3 and
 * 16 more in vector v of four; narrowing the sums of all brings them back into order. Two of the four are computed before
 * the others: the sums of four pixels then stay in registers. A column that is interleaved once serves all output pixels
 * that it belongs to.
 *
 * The unit wants unsigned x: signed ones are moved up by 128, and what is left of the offset is multiplied by the sum of the
 * weights. */
#include "kernels/conv/vec_avx2.h"

#include "kernels/conv/conv_stage_avxvnni.h"
#include "kernels/conv/depthwise_fours.h"

enum { CHANNELS = 2 * CONV_BLOCK, HALVES = 2, PARTS = 4, QUADS = STAGE_LINES / 4 };

/* What one block of 32 channels needs, whatever the pixel. */
struct quads {
    struct fours all;
    bool full, is_signed; /* 32 channels are there, or 16 */
    vi lo, hi, offset;    /* the output range */
    vi base[PARTS];
    vf m[PARTS];
    vi w[QUADS][STAGE_TAPS][PARTS];
};

/* ---- what belongs to channels ----------------------------------------------------------------------------------------- */

/* The channel of a lane of vector v. */
static inline uint32_t channel_at(uint32_t v, uint32_t lane)
{
    return 4 * v + lane % 4 + (lane < 4 ? 0 : CONV_BLOCK);
}

/* Four lines of bytes, the channels of one half, as fours of one channel. */
static inline __attribute__((always_inline)) void interleave(const vi x[4], const int half, vi ret[2])
{
    const vi a = half ? _mm256_unpackhi_epi8(x[0], x[1]) : _mm256_unpacklo_epi8(x[0], x[1]),
             b = half ? _mm256_unpackhi_epi8(x[2], x[3]) : _mm256_unpacklo_epi8(x[2], x[3]);
    ret[0] = _mm256_unpacklo_epi16(a, b);
    ret[1] = _mm256_unpackhi_epi16(a, b);
}

static vi weights_at(const struct quads *q, uint32_t line, uint32_t tap)
{
    const struct conv_args *a = q->all.a;
    const int8_t *w = (const int8_t *)a->packed + ((uint64_t)line * a->x.kernel + tap) * a->npad + q->all.c0;
    if (line >= a->y.kernel)
        return vi_zero();
    return q->full ? _mm256_loadu_si256((const vi *)w) : _mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)w));
}

static void set_weights(struct quads *q, vi wsum[PARTS])
{
    const struct conv_args *a = q->all.a;
    for (uint32_t s = 0; 4 * s < a->y.kernel; s++)
        for (uint32_t t = 0; t < a->x.kernel; t++) {
            const vi line[4] = { weights_at(q, 4 * s, t), weights_at(q, 4 * s + 1, t), weights_at(q, 4 * s + 2, t),
                                 weights_at(q, 4 * s + 3, t) };
            interleave(line, 0, q->w[s][t]);
            interleave(line, 1, q->w[s][t] + 2);
            for (int v = 0; v < PARTS; v++)
                wsum[v] = _mm256_dpbusd_avx_epi32(wsum[v], _mm256_set1_epi8(1), q->w[s][t][v]);
        }
}

static void quads_begin(struct fours *all, struct stage *stage)
{
    struct quads *q = (struct quads *)all;
    const uint32_t c0 = stage->c0;
    const struct conv_args *a = q->all.a;
    const int32_t left = a->x_type == DT_SQ8 ? a->x_offset - 128 : a->x_offset;
    const int64_t *b = conv_b(a, a->head, a->npad) + c0;
    const float *of = conv_m(a->head) + c0;
    vi wsum[PARTS] = { vi_zero(), vi_zero(), vi_zero(), vi_zero() };
    q->full = stage->form.full = a->co - c0 >= CHANNELS;
    set_weights(q, wsum);
    for (uint32_t v = 0; v < PARTS; v++) {
        int32_t bias[VEC_LANES] = { 0 };
        float m[VEC_LANES] = { 0 };
        for (uint32_t i = 0; i < (q->full ? VEC_LANES : VEC_LANES / 2); i++) {
            const uint32_t c = 4 * v + i % 4 + (i < 4 ? 0 : CONV_BLOCK);
            bias[i] = (int32_t)(uint32_t)(uint64_t)b[c];
            m[i] = of[c];
        }
        q->base[v] = vi_add(vi_load(bias), vi_mul(wsum[v], vi_set1(left)));
        q->m[v] = vf_load(m);
    }
}

/* ---- sums ------------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) vi line_at(const struct group *g, struct form f, uint32_t line, uint64_t column)
{
    return line < f.lines ? _mm256_loadu_si256((const vi *)(g->line->x[line] + g->first + column * CHANNELS)) : vi_zero();
}

/* Half of the channels of p pixels as words of the output; saturation clamps: see conv_stage_suits. */
static inline __attribute__((always_inline)) void half_sums(const struct quads *q, const struct group *g,
                                                            const struct form f, const int p, const int half,
                                                            vi words[PIXELS])
{
    const uint32_t columns = ((uint32_t)p - 1) * f.apart + f.taps;
    vi acc[PIXELS][2];
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        for (int i = 0; i < 2; i++)
            acc[j][i] = q->base[2 * half + i];
    for (uint32_t s = 0; 4 * s < f.lines; s++) {
#pragma GCC unroll 12
        for (uint32_t c = 0; c < columns; c++) {
            const vi line[4] = { line_at(g, f, 4 * s, c), line_at(g, f, 4 * s + 1, c), line_at(g, f, 4 * s + 2, c),
                                 line_at(g, f, 4 * s + 3, c) };
            vi column[2];
            interleave(line, half, column);
#pragma GCC unroll 4
            for (int j = 0; j < p; j++) {
                const uint32_t tap = c - (uint32_t)j * f.apart;
                if (tap >= f.taps)
                    continue;
#pragma GCC unroll 2
                for (int i = 0; i < 2; i++)
                    acc[j][i] = _mm256_dpbusd_avx_epi32(acc[j][i], column[i], q->w[s][tap][2 * half + i]);
            }
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < p; j++) {
        const vi v0 = vi_round(vf_mul(vf_from_int(acc[j][0]), q->m[2 * half])),
                 v1 = vi_round(vf_mul(vf_from_int(acc[j][1]), q->m[2 * half + 1]));
        words[j] = _mm256_subs_epi16(_mm256_packs_epi32(v0, v1), q->offset);
    }
}

static inline __attribute__((always_inline)) void fours_sums(const struct fours *all, const struct group *g,
                                                             const struct form f, const int p)
{
    const struct quads *q = (const struct quads *)all;
    vi words[HALVES][PIXELS];
    half_sums(q, g, f, p, 0, words[0]);
    half_sums(q, g, f, p, 1, words[1]);
#pragma GCC unroll 4
    for (int j = 0; j < p; j++) {
        const vi a = words[0][j], b = words[1][j],
                 v = q->is_signed ? _mm256_min_epi8(_mm256_max_epi8(_mm256_packs_epi16(a, b), q->lo), q->hi)
                                  : _mm256_min_epu8(_mm256_max_epu8(_mm256_packus_epi16(a, b), q->lo), q->hi);
        uint8_t *out = g->out + (uint64_t)j * g->next;
        if (q->full)
            _mm256_storeu_si256((vi *)out, v);
        else
            _mm_storeu_si128((__m128i *)out, _mm256_castsi256_si128(v));
    }
}

kernel_fn depthwise_q8_quads_avxvnni;

void depthwise_q8_quads_avxvnni(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    struct quads q = { .all = fours_init(call),
                       .is_signed = a->out_type == DT_SQ8,
                       .lo = _mm256_set1_epi8((char)a->q_lo),
                       .hi = _mm256_set1_epi8((char)a->q_hi),
                       .offset = _mm256_set1_epi16((short)a->out_offset) };
    struct stage s;
    stage_init(&s, a);
    fours_run(call, tile, CHANNELS, &q.all, &s, quads_begin);
}
