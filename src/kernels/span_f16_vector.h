/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of f16 for span_body.h, eight at a time: the same values as span_f16_ref.h (a NaN may keep its payload). */
#ifndef KERNELS_SPAN_F16_VECTOR_H
#define KERNELS_SPAN_F16_VECTOR_H

#include <immintrin.h>

#include "kernels/kernel_util.h"

static inline void f16_row_load(const uint16_t *p, uint32_t n, float *dst)
{
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + i))));
    for (; i < n; i++)
        dst[i] = ku_f16_to_f32(p[i]);
}

static inline void f16_row_store(uint16_t *p, uint32_t n, const float *src)
{
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(p + i), _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++)
        p[i] = ku_f32_to_f16(src[i]);
}

#endif
