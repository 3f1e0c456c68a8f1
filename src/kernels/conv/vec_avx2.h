/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of 8 lanes for the conv family's shared bodies; the names are those of vec_avx512.h. */
#ifndef KERNELS_CONV_VEC_AVX2_H
#define KERNELS_CONV_VEC_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { VEC_LANES = 8, VEC_F32_NR = 2, VEC_Q16_MR = 2 };
typedef __m256 vf;
typedef __m256i vi;

/* All bits of the first n lanes. */
static inline __m256i vec_mask(uint32_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n > 8 ? 8 : n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* n elements of `size` bytes, zero above, without touching what follows them. */
static inline __m128i vec_load_bytes(const void *p, uint32_t n, uint32_t size)
{
    if (n >= 8)
        return size == 1 ? _mm_loadl_epi64(p) : _mm_loadu_si128(p);
    uint8_t t[16] = { 0 };
    memcpy(t, p, (size_t)n * size);
    return _mm_loadu_si128((const __m128i *)t);
}

static inline void vec_store_bytes(void *p, __m128i v, uint32_t n, uint32_t size)
{
    if (n >= 8 && size == 1) {
        _mm_storel_epi64(p, v);
    } else if (n >= 8) {
        _mm_storeu_si128(p, v);
    } else {
        uint8_t t[16];
        _mm_storeu_si128((__m128i *)t, v);
        memcpy(p, t, (size_t)n * size);
    }
}

static inline void vec_fetch(const char *p) { _mm_prefetch(p, _MM_HINT_T1); }
static inline vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
static inline vf vf_load_n(const float *p, uint32_t n) { return _mm256_maskload_ps(p, vec_mask(n)); }
static inline vf vf_load_half(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
static inline vf vf_load_half_n(const uint16_t *p, uint32_t n) { return _mm256_cvtph_ps(vec_load_bytes(p, n, 2)); }
static inline vf vf_set1(float v) { return _mm256_set1_ps(v); }
static inline vf vf_zero(void) { return _mm256_setzero_ps(); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
static inline vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
static inline void vf_store_n(float *p, vf v, uint32_t n)
{
    if (n >= 8)
        _mm256_storeu_ps(p, v);
    else
        _mm256_maskstore_ps(p, vec_mask(n), v);
}
static inline void vf_store_half_n(uint16_t *p, vf v, uint32_t n)
{
    vec_store_bytes(p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), n, 2);
}

static inline vf vf_from_int(vi v) { return _mm256_cvtepi32_ps(v); }
static inline vi vi_round(vf v) { return _mm256_cvtps_epi32(v); }
static inline vi vi_pick(vi v, vi index) { return _mm256_permutevar8x32_epi32(v, index); }
static inline vf vf_pick(vf v, vi index) { return _mm256_permutevar8x32_ps(v, index); }
static inline vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline __m128 vec_half_from_long(const int64_t *p)
{
    const __m256i magic = _mm256_set1_epi64x(0x4338000000000000);
    __m256i v = _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)p), magic);
    return _mm256_cvtpd_ps(_mm256_sub_pd(_mm256_castsi256_pd(v), _mm256_castsi256_pd(magic)));
}
/* Integers below 2^51, rounded once: 1.5 * 2^52 makes doubles of them, exactly. */
static inline vf vf_from_long(const int64_t *p)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(vec_half_from_long(p)), vec_half_from_long(p + 4), 1);
}
static inline vi vi_set1(int32_t v) { return _mm256_set1_epi32(v); }
static inline vi vi_zero(void) { return _mm256_setzero_si256(); }
static inline vi vi_load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline vi vi_load_n(const int32_t *p, uint32_t n) { return _mm256_maskload_epi32(p, vec_mask(n)); }
static inline void vi_store(int32_t *p, vi v) { _mm256_storeu_si256((__m256i *)p, v); }
static inline vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
static inline vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
static inline vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
static inline vi vi_shift8(vi a) { return _mm256_srai_epi32(a, 8); }
static inline vi vi_mul(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
static inline vi vi_from_s8(const void *p, uint32_t n) { return _mm256_cvtepi8_epi32(vec_load_bytes(p, n, 1)); }
static inline vi vi_from_u8(const void *p, uint32_t n) { return _mm256_cvtepu8_epi32(vec_load_bytes(p, n, 1)); }
static inline vi vi_from_s16(const void *p, uint32_t n) { return _mm256_cvtepi16_epi32(vec_load_bytes(p, n, 2)); }
static inline vi vi_from_u16(const void *p, uint32_t n) { return _mm256_cvtepu16_epi32(vec_load_bytes(p, n, 2)); }

static inline vi vi_requant(vi acc, vf m, vf lo, vf hi, vi offset)
{
    vf v = _mm256_mul_ps(_mm256_cvtepi32_ps(acc), m);
    return _mm256_sub_epi32(_mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(v, lo), hi)), offset);
}

/* The low byte or the low 16 bits of each lane. */
static inline void vi_store_n(void *p, vi v, uint32_t n, uint32_t bytes)
{
    const __m256i pick8 = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                           0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i pick16 = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1,
                                            0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i s = _mm256_shuffle_epi8(v, bytes == 1 ? pick8 : pick16);
    __m128i lo = _mm256_castsi256_si128(s), hi = _mm256_extracti128_si256(s, 1);
    vec_store_bytes(p, bytes == 1 ? _mm_unpacklo_epi32(lo, hi) : _mm_unpacklo_epi64(lo, hi), n, bytes);
}

static inline void vi_store_words(uint16_t *p, vi a, vi b)
{
    vi_store_n(p, a, VEC_LANES, 2);
    vi_store_n(p + VEC_LANES, b, VEC_LANES, 2);
}

static inline void vec_flip_words(uint16_t *to, const uint16_t *from, uint32_t n, uint16_t flip)
{
    const vi bits = _mm256_set1_epi16((int16_t)flip);
    for (; n >= 16; n -= 16, to += 16, from += 16)
        _mm256_storeu_si256((__m256i *)to, _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)from), bits));
    if (n >= 8) {
        _mm_storeu_si128((__m128i *)to, _mm_xor_si128(_mm_loadu_si128((const __m128i *)from), _mm256_castsi256_si128(bits)));
        n -= 8, to += 8, from += 8;
    }
    for (uint32_t i = 0; i < n; i++)
        to[i] = from[i] ^ flip;
}

static inline void vec_split_words(int16_t *high, int16_t *low, const uint16_t *from, uint32_t n, uint16_t flip)
{
    const vi bits = _mm256_set1_epi16((int16_t)flip), byte = _mm256_set1_epi16(255);
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const vi v = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(from + i)), bits);
        _mm256_storeu_si256((__m256i *)(high + i), _mm256_srai_epi16(v, 8));
        _mm256_storeu_si256((__m256i *)(low + i), _mm256_and_si256(v, byte));
    }
    for (; i < n; i++) {
        const int16_t v = (int16_t)(from[i] ^ flip);
        high[i] = (int16_t)(v >> 8);
        low[i] = (int16_t)(v & 255);
    }
}

/* 64-bit sums += v << shift. */
static inline void vi_widen(int64_t *sum, vi v, int shift)
{
    __m256i *s = (__m256i *)sum, lo = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(v)),
            hi = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(v, 1));
    _mm256_storeu_si256(s, _mm256_add_epi64(_mm256_loadu_si256(s), _mm256_slli_epi64(lo, shift)));
    _mm256_storeu_si256(s + 1, _mm256_add_epi64(_mm256_loadu_si256(s + 1), _mm256_slli_epi64(hi, shift)));
}

static inline vi vi_join_pairs(vi a, vi b) { return _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xd8); }
/* In a register at this point: sums that the compiler would rather keep in memory make a loop wait for it. */
static inline vi vi_keep(vi v)
{
    __asm__("" : "+x"(v));
    return v;
}
static inline vi vi_set1_long(int64_t v) { return _mm256_set1_epi64x(v); }

#ifdef __AVXVNNI__
static inline vi vi_dot16(vi acc, vi a, vi b)
{
    return _mm256_dpwssd_avx_epi32(acc, a, b);
}
#else
static inline vi vi_dot16(vi acc, vi a, vi b) { return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b)); }
#endif
static inline vi vi_pairs_s8(const int8_t *w, uint32_t part)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w + part));
}
static inline vi vi_pairs_s16(const int16_t *w, uint32_t part)
{
    return _mm256_loadu_si256((const __m256i *)w + part);
}

static inline void vec_sum_fours(const int8_t *block, uint32_t groups, int64_t sum[16])
{
    vi acc[2] = { vi_zero(), vi_zero() };
    const vi ones8 = _mm256_set1_epi8(1), ones16 = _mm256_set1_epi16(1);
    for (uint32_t g = 0; g < groups; g++)
        for (int i = 0; i < 2; i++) {
            vi w = _mm256_loadu_si256((const __m256i *)(block + (uint64_t)g * 64) + i);
            acc[i] = vi_dot16(acc[i], _mm256_maddubs_epi16(ones8, w), ones16);
        }
    memset(sum, 0, 16 * sizeof(int64_t));
    vi_widen(sum, acc[0], 0);
    vi_widen(sum + 8, acc[1], 0);
}

#endif
