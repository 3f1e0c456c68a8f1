/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit depthwise convolution, AVX-512 VNNI: vpdpbusd adds four products of one channel, so four kernel lines are multiplied at a time.
 *
 * The bytes of four input lines at one column, 64 channels of each, are interleaved until every group of four bytes belongs to one channel;
 * weights likewise. Interleaving leaves channels 0 … 3, 16 … 19, … in one vector, 4 … 7, 20 … 23, … in the next; narrowing the sums of four
 * vectors to bytes brings them back into order. A column that is interleaved once serves all output pixels that it belongs to.
 *
 * The unit wants unsigned x: signed ones are moved up by 128, and what is left of the offset is multiplied by the sum of the weights in use. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_bytes_avx512.h"
#include "kernels/conv/depthwise.h"

enum { PIXELS = 4, CHANNELS = 64, PARTS = 4 };

/* What one block of 64 channels needs in a run, whatever the pixel. */
struct quads {
    const struct dw_run *r;
    uint32_t c0, n_quads;
    __mmask64 mask;
    vi flip;
    struct bytes_end end;
    vi base[PARTS];
    vf m[PARTS];
    vi w[DW_QUAD_LINES / 4][DW_QUAD_TAPS][PARTS];
};

/* Four lines of 64 bytes, `n` of them there, `step` apart, as groups of four bytes. */
static inline __attribute__((always_inline)) void interleave(const uint8_t *p, uint64_t step, uint32_t n, __mmask64 mask, vi flip, vi *ret)
{
    vi line[4];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++)
        line[i] = i < n ? _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, p + i * step), flip) : vi_zero();
    vi lo01 = _mm512_unpacklo_epi8(line[0], line[1]), hi01 = _mm512_unpackhi_epi8(line[0], line[1]);
    vi lo23 = _mm512_unpacklo_epi8(line[2], line[3]), hi23 = _mm512_unpackhi_epi8(line[2], line[3]);
    ret[0] = _mm512_unpacklo_epi16(lo01, lo23);
    ret[1] = _mm512_unpackhi_epi16(lo01, lo23);
    ret[2] = _mm512_unpacklo_epi16(hi01, hi23);
    ret[3] = _mm512_unpackhi_epi16(hi01, hi23);
}

/* From 64 numbers in the order of channels to the order of interleaved bytes: a transposition of quarters. */
static inline void transpose_quarters(const vi v[PARTS], vi ret[PARTS])
{
    vi a = _mm512_shuffle_i32x4(v[0], v[1], 0x44), b = _mm512_shuffle_i32x4(v[2], v[3], 0x44);
    vi c = _mm512_shuffle_i32x4(v[0], v[1], 0xee), d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
    ret[0] = _mm512_shuffle_i32x4(a, b, 0x88);
    ret[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
    ret[2] = _mm512_shuffle_i32x4(c, d, 0x88);
    ret[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}

/* The lower halves of 16 biases; records are padded to whole vectors. */
static inline vi low_halves(const int64_t *p)
{
    __m256i lo = _mm512_cvtepi64_epi32(_mm512_loadu_si512(p)), hi = _mm512_cvtepi64_epi32(_mm512_loadu_si512(p + 8));
    return _mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1);
}

static void set_channels(struct quads *q, vi wsum[PARTS], int32_t left)
{
    const struct dw_run *r = q->r;
    vi bias[PARTS], scale[PARTS], ordered[PARTS];
    for (uint32_t i = 0; i < PARTS; i++) {
        bool there = q->c0 + 16 * i < r->a->npad;
        bias[i] = there ? low_halves(r->b + q->c0 + 16 * i) : vi_zero();
        scale[i] = there ? vi_load((const int32_t *)r->m + q->c0 + 16 * i) : vi_zero();
    }
    transpose_quarters(scale, ordered);
    for (int i = 0; i < PARTS; i++)
        q->m[i] = _mm512_castsi512_ps(ordered[i]);
    transpose_quarters(bias, ordered);
    for (int i = 0; i < PARTS; i++)
        q->base[i] = vi_add(ordered[i], vi_mul(wsum[i], vi_set1(left)));
}

static void quads_init(struct quads *q, const struct dw_run *r)
{
    const struct conv_args *a = r->a;
    q->r = r;
    q->n_quads = (r->lines + 3) / 4;
    q->flip = _mm512_set1_epi8(a->x_type == DT_SQ8 ? (char)0x80 : 0);
    q->end = bytes_end(a);
}

static void quads_at(struct quads *q, uint32_t c0)
{
    const struct dw_run *r = q->r;
    const struct conv_args *a = r->a;
    const uint32_t left = a->npad - c0, line = a->x.kernel * a->npad;
    const __mmask64 there = left < CHANNELS ? ~(__mmask64)0 >> (CHANNELS - left) : ~(__mmask64)0;
    vi wsum[PARTS] = { vi_zero(), vi_zero(), vi_zero(), vi_zero() };
    q->c0 = c0;
    q->mask = a->co - c0 < CHANNELS ? ~(__mmask64)0 >> (CHANNELS - (a->co - c0)) : ~(__mmask64)0;
    for (uint32_t s = 0; s < q->n_quads; s++)
        for (uint32_t t = 0; t < r->taps; t++) {
            const uint8_t *w = (const uint8_t *)r->w + ((uint64_t)r->tap + t) * a->npad + (uint64_t)s * 4 * line + c0;
            interleave(w, line, r->lines - 4 * s, there, vi_zero(), q->w[s][t]);
            for (int i = 0; i < PARTS; i++)
                wsum[i] = _mm512_dpbusd_epi32(wsum[i], _mm512_set1_epi8(1), q->w[s][t][i]);
        }
    set_channels(q, wsum, a->x_type == DT_SQ8 ? a->x_offset - 128 : a->x_offset);
}

/* One pixel: sums to bytes in the order of channels. Saturation clamps: see depthwise_accept_quads. */
static inline __attribute__((always_inline)) void end_pixel(const struct quads *q, uint32_t pixel, const vi acc[PARTS])
{
    const struct dw_run *r = q->r;
    vi v[PARTS];
#pragma GCC unroll 4
    for (int i = 0; i < PARTS; i++)
        v[i] = vi_round(vf_mul(vf_from_int(acc[i]), q->m[i]));
    _mm512_mask_storeu_epi8((uint8_t *)r->out + r->out_at + (uint64_t)pixel * r->a->co + q->c0, q->mask,
                            bytes_narrow(&q->end, v[0], v[1], v[2], v[3]));
}

/* Pixels first … first + p, `apart` columns between them; columns are x_tap apart. */
static inline __attribute__((always_inline)) void pixels(const struct quads *q, uint32_t first, const int p, uint32_t apart, const bool full)
{
    const struct dw_run *r = q->r;
    const __mmask64 mask = full ? ~(__mmask64)0 : q->mask;
    const uint32_t columns = ((uint32_t)p - 1) * apart + r->taps;
    vi acc[PIXELS][PARTS];
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
#pragma GCC unroll 4
        for (int i = 0; i < PARTS; i++)
            acc[j][i] = q->base[i];
    for (uint32_t s = 0; s < q->n_quads; s++) {
        const uint8_t *x = (const uint8_t *)r->x + (uint64_t)first * r->x_pixel + (uint64_t)s * 4 * r->x_line + q->c0;
        for (uint32_t c = 0; c < columns; c++, x += r->x_tap) {
            vi column[PARTS];
            interleave(x, r->x_line, r->lines - 4 * s, mask, q->flip, column);
#pragma GCC unroll 4
            for (int j = 0; j < p; j++) {
                const uint32_t tap = c - (uint32_t)j * apart;
                if (tap >= r->taps)
                    continue;
#pragma GCC unroll 4
                for (int i = 0; i < PARTS; i++)
                    acc[j][i] = _mm512_dpbusd_epi32(acc[j][i], column[i], q->w[s][tap][i]);
            }
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        end_pixel(q, first + (uint32_t)j, acc[j]);
}

static inline __attribute__((always_inline)) void all_pixels(const struct quads *q, const bool full)
{
    const struct dw_run *r = q->r;
    const uint32_t apart = r->a->x.stride;
    uint32_t i = 0;
    for (; r->a->x.dilation == 1 && i + PIXELS <= r->n; i += PIXELS)
        pixels(q, i, PIXELS, apart, full);
    for (; i < r->n; i++)
        pixels(q, i, 1, apart, full);
}

static void quads_run(const struct dw_run *r)
{
    struct quads q;
    quads_init(&q, r);
    for (uint32_t c0 = 0; c0 < r->a->co; c0 += CHANNELS) {
        quads_at(&q, c0);
        if (q.mask == ~(__mmask64)0)
            all_pixels(&q, true);
        else
            all_pixels(&q, false);
    }
}

kernel_fn depthwise_q8_quads_avx512;

void depthwise_q8_quads_avx512(const struct kernel_call *call, struct range tile)
{
    depthwise_run(call, tile, quads_run);
}
