/* SPDX-License-Identifier: Apache-2.0 */
/* The stage of AVX2 (conv_stage_walk.h): 16 channels of a pixel as 16-bit x + offset, so that real zero is 0. Include
 * vec_avx2.h first. */
#ifndef KERNELS_CONV_CONV_STAGE_AVX2_H
#define KERNELS_CONV_CONV_STAGE_AVX2_H

#include "kernels/conv/conv_stage.h"

struct stage_form {
    vi offset;
    bool is_signed;
};

static inline uint32_t stage_pixel_bytes(const struct stage_form *f)
{
    (void)f;
    return CONV_BLOCK * sizeof(int16_t);
}

static inline void stage_zeros(const struct stage_form *f, uint8_t *to, uint32_t n)
{
    memset(to, 0, (uint64_t)n * stage_pixel_bytes(f));
}

static inline void stage_pixels(const struct stage_form *f, uint8_t *to, const uint8_t *from, uint64_t step, uint32_t n)
{
    const vi offset = f->offset;
    vi *t = (vi *)to, *const end = t + n;
    if (f->is_signed)
        for (; t < end; t++, from += step)
            _mm256_storeu_si256(t, _mm256_add_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)from)), offset));
    else
        for (; t < end; t++, from += step)
            _mm256_storeu_si256(t, _mm256_add_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)from)), offset));
}

#include "kernels/conv/conv_stage_walk.h"

static inline void stage_init(struct stage *s, const struct conv_args *a)
{
    s->a = a;
    s->form = (struct stage_form){ _mm256_set1_epi16((short)a->x_offset), a->x_type == DT_SQ8 };
}

#endif
