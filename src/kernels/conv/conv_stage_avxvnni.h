/* SPDX-License-Identifier: Apache-2.0 */
/* The stage of AVX-VNNI (conv_stage_walk.h): 32 channels of a pixel as unsigned bytes, signed ones moved up by 128; 16 where
 * no more are left. Include vec_avx2.h first. */
#ifndef KERNELS_CONV_CONV_STAGE_AVXVNNI_H
#define KERNELS_CONV_CONV_STAGE_AVXVNNI_H

#include "kernels/conv/conv_stage.h"

struct stage_form {
    bool full;     /* 32 channels are there */
    vi flip, zero; /* from x as it is stored to staged bytes; real zero among these */
};

static inline uint32_t stage_pixel_bytes(const struct stage_form *f)
{
    (void)f;
    return 2 * CONV_BLOCK;
}

static inline void stage_zeros(const struct stage_form *f, uint8_t *to, uint32_t n)
{
    const vi zero = f->zero;
    for (vi *t = (vi *)to, *const end = t + n; t < end; t++)
        _mm256_storeu_si256(t, zero);
}

static inline void stage_pixels(const struct stage_form *f, uint8_t *to, const uint8_t *from, uint64_t step, uint32_t n)
{
    const vi flip = f->flip;
    vi *t = (vi *)to, *const end = t + n;
    if (f->full)
        for (; t < end; t++, from += step)
            _mm256_storeu_si256(t, _mm256_xor_si256(_mm256_loadu_si256((const vi *)from), flip));
    else
        for (; t < end; t++, from += step)
            _mm_storeu_si128((__m128i *)t,
                             _mm_xor_si128(_mm_loadu_si128((const __m128i *)from), _mm256_castsi256_si128(flip)));
}

#include "kernels/conv/conv_stage_walk.h"

static inline void stage_init(struct stage *s, const struct conv_args *a)
{
    const bool flip = a->x_type == DT_SQ8;
    s->a = a;
    s->form.flip = _mm256_set1_epi8(flip ? (char)0x80 : 0);
    s->form.zero = _mm256_set1_epi8((char)(flip ? 128 - a->x_offset : -a->x_offset));
}

#endif
