/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which depthwise kernels of AVX-512 have 64 channels: the bytes of four lines are interleaved until every
 * group of four belongs to one channel, which leaves channels 0 … 3, 16 … 19, … in one vector, 4 … 7, 20 … 23, … in the
 * next. Narrowing the sums of four vectors to bytes brings channels back into order. Include vec_avx512.h first. */
#ifndef KERNELS_CONV_DEPTHWISE_ORDER_AVX512_H
#define KERNELS_CONV_DEPTHWISE_ORDER_AVX512_H

enum { PARTS = 4 };

/* Four lines of 64 bytes as groups of four bytes. */
static inline __attribute__((always_inline)) void interleave(const vi line[4], vi ret[PARTS])
{
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

#endif
