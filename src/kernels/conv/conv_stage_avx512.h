/* SPDX-License-Identifier: Apache-2.0 */
/* The stage of AVX-512 (conv_stage_walk.h): 64 channels of a pixel as unsigned bytes, signed ones moved up by 128. Include
 * vec_avx512.h first. */
#ifndef KERNELS_CONV_CONV_STAGE_AVX512_H
#define KERNELS_CONV_CONV_STAGE_AVX512_H

#include "kernels/conv/conv_stage.h"

struct stage_form {
    uint32_t per;                   /* pixels in 64 bytes: 2 where they have 32 channels, else 1 */
    __mmask64 mask;                 /* channels that are there */
    vi flip, zero;                  /* from x as it is stored to staged bytes; real zero among these */
};

static inline uint32_t stage_pixel_bytes(const struct stage_form *f)
{
    return STAGE_CHANNELS / f->per;
}

/* What is stored might be the stage itself, as far as compilers know: what loops need is read before them. */
static inline void stage_zeros(const struct stage_form *f, uint8_t *to, uint32_t n)
{
    const vi zero = f->zero;
    const uint8_t *const end = to + (uint64_t)n * stage_pixel_bytes(f);
    if (f->per == 2)
        for (; to < end; to += 32)
            _mm256_storeu_si256((__m256i *)to, _mm512_castsi512_si256(zero));
    else
        for (; to < end; to += STAGE_CHANNELS)
            _mm512_storeu_si512(to, zero);
}

static inline void stage_pixels(const struct stage_form *f, uint8_t *to, const uint8_t *from, uint64_t step, uint32_t n)
{
    const vi flip = f->flip;
    const __mmask64 mask = f->mask;
    const uint8_t *const end = to + (uint64_t)n * stage_pixel_bytes(f);
    if (f->per == 2)
        for (; to < end; to += 32, from += step)
            _mm256_storeu_si256((__m256i *)to,
                                _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)from), _mm512_castsi512_si256(flip)));
    else
        for (; to < end; to += STAGE_CHANNELS, from += step)
            _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, from), flip));
}

#include "kernels/conv/conv_stage_walk.h"

static inline void stage_init(struct stage *s, const struct conv_args *a, uint32_t per)
{
    const bool flip = a->x_type == DT_SQ8;
    s->a = a;
    s->form.per = per;
    s->form.flip = _mm512_set1_epi8(flip ? (char)0x80 : 0);
    s->form.zero = _mm512_set1_epi8((char)(flip ? 128 - a->x_offset : -a->x_offset));
}

/* n channels from c0 on. */
static inline void stage_channels(struct stage *s, uint32_t c0, uint32_t n)
{
    s->c0 = c0;
    s->form.mask = n < STAGE_CHANNELS ? ~(__mmask64)0 >> (STAGE_CHANNELS - n) : ~(__mmask64)0;
}

#endif
