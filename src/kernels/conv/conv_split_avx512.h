/* SPDX-License-Identifier: Apache-2.0 */
/* Gathered rows of 16-bit x as a plane of high bytes, signed, and a plane of low ones, each zero up to a whole step of 64 k.
 * Unsigned x are moved down by 32768; what is left of their offset belongs to the channels. Include vec_avx512.h first. */
#ifndef KERNELS_CONV_CONV_SPLIT_AVX512_H
#define KERNELS_CONV_CONV_SPLIT_AVX512_H

#include "kernels/conv/conv.h"

static inline int64_t split_left(const struct conv_args *a)
{
    return a->x_type == DT_UQ16 ? (int64_t)a->x_offset + 32768 : a->x_offset;
}

static inline uint16_t split_flip(const struct conv_args *a)
{
    return a->x_type == DT_UQ16 ? 0x8000 : 0;
}

static inline bool split_in_place(const struct conv_args *a)
{
    (void)a;
    return false;
}

static inline void split_load(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    const uint16_t *s = src, flip = split_flip(a);
    uint8_t *high = dst, *low = high + conv_plane_bytes(a);
    const vi bits = _mm512_set1_epi16((int16_t)flip), byte = _mm512_set1_epi16(255),
             order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7); /* packing works by quarters */
    uint32_t i = 0;
    for (; i + 64 <= n && stride == 1; i += 64) {
        const vi first = _mm512_xor_si512(_mm512_loadu_si512(s + i), bits),
                 second = _mm512_xor_si512(_mm512_loadu_si512(s + i + 32), bits);
        const vi h = _mm512_packus_epi16(_mm512_srli_epi16(first, 8), _mm512_srli_epi16(second, 8)),
                 l = _mm512_packus_epi16(vi_and(first, byte), vi_and(second, byte));
        _mm512_storeu_si512(high + i, _mm512_permutexvar_epi64(order, h));
        _mm512_storeu_si512(low + i, _mm512_permutexvar_epi64(order, l));
    }
    for (; i < n && stride == 1; i += 32) {
        const __mmask32 some = n - i < 32 ? ((__mmask32)1 << (n - i)) - 1 : UINT32_MAX;
        const vi v = _mm512_xor_si512(_mm512_maskz_loadu_epi16(some, s + i), bits);
        _mm256_mask_storeu_epi8(low + i, some, _mm512_cvtepi16_epi8(v));
        _mm256_mask_storeu_epi8(high + i, some, _mm512_cvtepi16_epi8(_mm512_srli_epi16(v, 8)));
    }
    for (; i < n && stride != 1; i++) {
        const uint16_t v = s[i * stride] ^ flip;
        high[i] = (uint8_t)(v >> 8);
        low[i] = (uint8_t)v;
    }
}

static inline void split_windows(const struct conv_args *a, const struct conv_windows *w)
{
    for (uint32_t k = 0; k < w->windows; k++)
        for (uint32_t i = 0; i < w->lines; i++)
            split_load(a, w->dst + k * w->row_step + (uint64_t)i * w->n, w->src + k * w->window_step + i * w->line_step,
                       w->n, 1);
}

static inline void split_pad(const struct conv_args *a, void *dst, uint32_t n)
{
    const uint16_t zero = (uint16_t)-split_left(a);
    memset(dst, zero >> 8, n);
    memset((uint8_t *)dst + conv_plane_bytes(a), zero & 255, n);
}

static inline int64_t split_sum(const struct conv_args *a, const void *row, uint32_t n)
{
    const int8_t *high = row;
    const uint8_t *low = (const uint8_t *)row + conv_plane_bytes(a);
    int64_t sum = (int64_t)n * split_left(a);
    for (uint32_t i = 0; i < n; i++)
        sum += 256 * high[i] + low[i];
    return sum;
}

/* Zeros behind the last k, so that it does not matter which weights they meet. */
static inline void split_fill(const struct conv_args *a, struct conv_panel *p)
{
    const uint32_t rest = p->k_total % 64;
    const __mmask64 tail = ~(__mmask64)0 << rest;
    for (uint32_t r = 0; r < p->rows && rest; r++)
        for (uint32_t plane = 0; plane < 2; plane++)
            _mm512_mask_storeu_epi8((uint8_t *)(uintptr_t)p->x[r] + plane * conv_plane_bytes(a) + p->k_total - rest, tail,
                                    _mm512_setzero_si512());
}

#endif
