/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of 16 lanes for the conv family's shared bodies (conv_f32_body.h and others). The same names exist in vec_avx2.h
 * with 8 lanes. */
#ifndef KERNELS_CONV_VEC_AVX512_H
#define KERNELS_CONV_VEC_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum {
    VEC_LANES = 16,
    VEC_F32_NR = 4,    /* vectors of channels that a float kernel computes at a time */
    VEC_Q16_MR = 6,    /* rows of a kernel with 16-bit activations, which has two sums per output */
};
typedef __m512 vf;
typedef __m512i vi;

static inline __mmask16 vec_mask(uint32_t n)
{
    return (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1);
}

static inline void vec_fetch(const char *p) { _mm_prefetch(p, _MM_HINT_T1); }
static inline vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline vf vf_load_n(const float *p, uint32_t n) { return _mm512_maskz_loadu_ps(vec_mask(n), p); }
static inline vf vf_load_half(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
static inline vf vf_load_half_n(const uint16_t *p, uint32_t n)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(vec_mask(n), p));
}
static inline vf vf_set1(float v) { return _mm512_set1_ps(v); }
static inline vf vf_zero(void) { return _mm512_setzero_ps(); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
/* The second operand where either is NaN or both are zero. */
static inline vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
static inline vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
/* Masks are slow where they are not needed. */
static inline void vf_store_n(float *p, vf v, uint32_t n)
{
    if (n >= VEC_LANES)
        _mm512_storeu_ps(p, v);
    else
        _mm512_mask_storeu_ps(p, vec_mask(n), v);
}
static inline void vf_store_half_n(uint16_t *p, vf v, uint32_t n)
{
    __m256i half = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    if (n >= VEC_LANES)
        _mm256_storeu_si256((__m256i *)p, half);
    else
        _mm256_mask_storeu_epi16(p, vec_mask(n), half);
}

static inline vf vf_from_int(vi v) { return _mm512_cvtepi32_ps(v); }
static inline vi vi_round(vf v) { return _mm512_cvtps_epi32(v); } /* nearest even */
/* Lane i becomes lane index[i]. */
static inline vi vi_pick(vi v, vi index) { return _mm512_permutexvar_epi32(index, v); }
static inline vf vf_pick(vf v, vi index) { return _mm512_permutexvar_ps(index, v); }
static inline vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
/* Integers, rounded once. */
static inline vf vf_from_long(const int64_t *p)
{
    __m256 lo = _mm512_cvtepi64_ps(_mm512_loadu_si512(p)), hi = _mm512_cvtepi64_ps(_mm512_loadu_si512(p + 8));
    return _mm512_insertf32x8(_mm512_castps256_ps512(lo), hi, 1);
}
static inline vi vi_set1(int32_t v) { return _mm512_set1_epi32(v); }
static inline vi vi_zero(void) { return _mm512_setzero_si512(); }
static inline vi vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
static inline vi vi_load_n(const int32_t *p, uint32_t n) { return _mm512_maskz_loadu_epi32(vec_mask(n), p); }
static inline void vi_store(int32_t *p, vi v) { _mm512_storeu_si512(p, v); }
static inline vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
static inline vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
static inline vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
static inline vi vi_shift8(vi a) { return _mm512_srai_epi32(a, 8); } /* floor(a / 256) */
static inline vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
/* Narrow elements, n of them, to 32 bits. */
static inline vi vi_from_s8(const void *p, uint32_t n) { return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(vec_mask(n), p)); }
static inline vi vi_from_u8(const void *p, uint32_t n) { return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(vec_mask(n), p)); }
static inline vi vi_from_s16(const void *p, uint32_t n)
{
    return _mm512_cvtepi16_epi32(_mm256_maskz_loadu_epi16(vec_mask(n), p));
}
static inline vi vi_from_u16(const void *p, uint32_t n)
{
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(vec_mask(n), p));
}

/* rne(clamp((float)acc * m, lo, hi)) - offset; the bounds are whole numbers, so rounding after the clamp changes nothing. */
static inline vi vi_requant(vi acc, vf m, vf lo, vf hi, vi offset)
{
    vf v = _mm512_mul_ps(_mm512_cvtepi32_ps(acc), m);
    return _mm512_sub_epi32(_mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(v, lo), hi)), offset);
}

static inline void vi_store_n(void *p, vi v, uint32_t n, uint32_t bytes)
{
    /* Masks are slow where they are not needed, converting while storing even more so. */
    if (n >= VEC_LANES && bytes == 1)
        _mm_storeu_si128(p, _mm512_cvtepi32_epi8(v));
    else if (n >= VEC_LANES)
        _mm256_storeu_si256(p, _mm512_cvtepi32_epi16(v));
    else if (bytes == 1)
        _mm_mask_storeu_epi8(p, vec_mask(n), _mm512_cvtepi32_epi8(v));
    else
        _mm256_mask_storeu_epi16(p, vec_mask(n), _mm512_cvtepi32_epi16(v));
}

/* The low 16 bits of all lanes of a, then of b. */
static inline void vi_store_words(uint16_t *p, vi a, vi b)
{
    const vi low = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26, 24, 22, 20,
                                    18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    _mm512_storeu_si512(p, _mm512_permutex2var_epi16(a, low, b));
}

/* n elements of 16 bits, some of their bits turned. */
static inline void vec_flip_words(uint16_t *to, const uint16_t *from, uint32_t n, uint16_t flip)
{
    const vi bits = _mm512_set1_epi16((int16_t)flip);
    for (; n >= 32; n -= 32, to += 32, from += 32)
        _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_loadu_si512(from), bits));
    const __mmask32 rest = (1u << n) - 1;
    if (n)
        _mm512_mask_storeu_epi16(to, rest, _mm512_xor_si512(_mm512_maskz_loadu_epi16(rest, from), bits));
}

/* The same as numbers: 256 * high + low, low at least 0. */
static inline void vec_split_words(int16_t *high, int16_t *low, const uint16_t *from, uint32_t n, uint16_t flip)
{
    const vi bits = _mm512_set1_epi16((int16_t)flip), byte = _mm512_set1_epi16(255);
    for (uint32_t i = 0; i < n; i += 32) {
        const __mmask32 some = n - i < 32 ? (1u << (n - i)) - 1 : UINT32_MAX;
        const vi v = _mm512_xor_si512(_mm512_maskz_loadu_epi16(some, from + i), bits);
        _mm512_mask_storeu_epi16(high + i, some, _mm512_srai_epi16(v, 8));
        _mm512_mask_storeu_epi16(low + i, some, _mm512_and_si512(v, byte));
    }
}

/* 64-bit sums += v << shift. */
static inline void vi_widen(int64_t *sum, vi v, int shift)
{
    __m512i lo = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v)),
            hi = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1));
    _mm512_storeu_si512(sum, _mm512_add_epi64(_mm512_loadu_si512(sum), _mm512_slli_epi64(lo, (unsigned)shift)));
    _mm512_storeu_si512(sum + 8, _mm512_add_epi64(_mm512_loadu_si512(sum + 8), _mm512_slli_epi64(hi, (unsigned)shift)));
}

/* Sums of two neighbours: those of a, then those of b. */
static inline vi vi_join_pairs(vi a, vi b)
{
    const vi even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
             odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    return _mm512_add_epi32(_mm512_permutex2var_epi32(a, even, b), _mm512_permutex2var_epi32(a, odd, b));
}
/* In a register at this point: compilers copy sums to and fro where many of them are alive. */
static inline vi vi_keep(vi v)
{
    __asm__("" : "+v"(v));
    return v;
}
static inline vi vi_set1_long(int64_t v) { return _mm512_set1_epi64(v); }

/* Pairs of 16-bit products added to 32-bit sums. */
static inline vi vi_dot16(vi acc, vi a, vi b) { return _mm512_dpwssd_epi32(acc, a, b); }
/* Stored weights as 16 bits, a vector of them; `part` counts vectors inside a block: 16 channels by two k of pairs, 8
 * channels by four k of fours. */
static inline vi vi_pairs_s8(const int8_t *w, uint32_t part)
{
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)w + part));
}
static inline vi vi_pairs_s16(const int16_t *w, uint32_t part)
{
    (void)part;
    return _mm512_loadu_si512(w);
}

/* Signed bytes added by fours: 16 channels of a block of packed weights, over some groups of four k. */
static inline void vec_sum_fours(const int8_t *block, uint32_t groups, int64_t sum[16])
{
    vi acc = vi_zero();
    for (uint32_t g = 0; g < groups; g++)
        acc = _mm512_dpbusd_epi32(acc, _mm512_set1_epi8(1), _mm512_loadu_si512(block + (uint64_t)g * 64));
    memset(sum, 0, 16 * sizeof(int64_t));
    vi_widen(sum, acc, 0);
}

#endif
