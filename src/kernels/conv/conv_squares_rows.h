/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are brought to the workspace for squares (conv_squares.h): 16-bit elements as two planes of bytes, bytes where
 * they do not follow each other. Include what ends sums first. */
#ifndef KERNELS_CONV_CONV_SQUARES_ROWS_H
#define KERNELS_CONV_CONV_SQUARES_ROWS_H

#include <string.h>

#include "kernels/conv/conv_flat.h"
#include "kernels/conv/conv_squares_state.h"

/* 32 elements: their low bytes, then their high bytes. */
static inline __attribute__((always_inline)) vi split_32(vi v)
{
    static const uint8_t order[64]
        __attribute__((aligned(64))) = { 0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                         32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62,
                                         1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                         33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63 };
    return _mm512_permutexvar_epi8(_mm512_load_si512(order), v);
}

/* n elements. */
static inline __attribute__((always_inline)) void split_row(uint8_t *high, uint8_t *low, const uint8_t *from, uint32_t n)
{
    uint32_t i = 0;
    for (; i + 64 <= n; i += 64) { /* whole lines of a cache: it is stores that take time */
        const vi a = split_32(_mm512_loadu_si512(from + 2 * i)), b = split_32(_mm512_loadu_si512(from + 2 * i + 64));
        _mm512_storeu_si512(high + i, _mm512_shuffle_i64x2(a, b, 0xee));
        _mm512_storeu_si512(low + i, _mm512_inserti64x4(a, _mm512_castsi512_si256(b), 1));
    }
    for (; i < n; i += 32) {
        const __mmask32 some = n - i < 32 ? ((__mmask32)1 << (n - i)) - 1 : UINT32_MAX;
        const vi v = split_32(_mm512_maskz_loadu_epi16(some, from + 2 * i));
        _mm256_mask_storeu_epi8(low + i, some, _mm512_castsi512_si256(v));
        _mm256_mask_storeu_epi8(high + i, some, _mm512_extracti64x4_epi64(v, 1));
    }
}

/* Where row `row` lies in x. */
static inline const uint8_t *row_of(const struct squares *f, uint64_t row)
{
    const struct conv_args *a = f->a;
    if (a->kind == CONV_MATRIX)
        return f->given + row * a->x_row * PLANES;
    if (!conv_strided(a))
        return f->given + row * a->ci * PLANES;
    const uint64_t x = row % a->x.out, line = row / a->x.out, y = line % a->y.out, plane = line / a->y.out,
                   z = plane % a->z.out, image = plane / a->z.out,
                   pixel = ((image * a->z.in + z * a->z.stride) * a->y.in + y * a->y.stride) * a->x.in + x * a->x.stride;
    return f->given + pixel * a->ci * PLANES;
}

/* Rows row0 … row1 come to the workspace, which is where f->x is. Doing so while others are multiplied, a few before each
 * square, takes longer. */
static inline void bring_rows(struct squares *f, uint64_t row0, uint64_t row1)
{
    uint8_t *to = f->brought;
    f->x = to;
    f->first = row0;
    for (uint64_t row = row0; row < row1; row++, to += f->x_step)
        if (PLANES == 1)
            memcpy(to, row_of(f, row), f->a->cig);
        else
            split_row(to, to + f->second, row_of(f, row), f->a->cig);
}

#endif
