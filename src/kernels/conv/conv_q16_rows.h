/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of 16-bit elements: 16-bit x as signed numbers (unsigned ones moved down by 32768, what is left of the offset is
 * folded into the channels), 8-bit x as x + x_offset. Beside 16-bit weights (Q16W16) a row is two planes, kpad elements
 * apart: high parts and low bytes. Include vec_<isa>.h first. */
#ifndef KERNELS_CONV_CONV_Q16_ROWS_H
#define KERNELS_CONV_CONV_Q16_ROWS_H

#include "kernels/conv/conv.h"

static int64_t left_over(const struct conv_args *a)
{
    if (dtype_bits(a->x_type) == 8)
        return 0;
    return a->x_type == DT_UQ16 ? (int64_t)a->x_offset + 32768 : a->x_offset;
}

static bool in_place(const struct conv_args *a)
{
    return a->cls == CONV_Q16 && a->x_type == DT_SQ16 && a->cig % a->kg == 0;
}

/* One loop per type: VALUE from s[i], as a 16-bit number. */
#define LOAD_ROW(T, VALUE)                              \
    do {                                                \
        const T *s = src;                               \
        if (a->cls == CONV_Q16 && stride == 1) {        \
            for (uint32_t i = 0; i < n; i++)            \
                d[i] = (int16_t)(VALUE(s[i]));          \
        } else if (a->cls == CONV_Q16) {                \
            for (uint32_t i = 0; i < n; i++)            \
                d[i] = (int16_t)(VALUE(s[i * stride])); \
        } else {                                        \
            for (uint32_t i = 0; i < n; i++) {          \
                int16_t v = (int16_t)(VALUE(s[i * stride])); \
                d[i] = (int16_t)(v >> 8);               \
                d[i + a->kpad] = (int16_t)(v & 255);    \
            }                                           \
        }                                               \
    } while (0)
#define FLIPPED(v) ((v) ^ flip)
#define CENTRED(v) ((v) + offset)

static void load_row(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    int16_t *d = dst;
    const uint16_t flip = a->x_type == DT_UQ16 ? 0x8000 : 0;
    const int32_t offset = a->x_offset;
    if (a->cls == CONV_Q16 && stride == 1 && dtype_bits(a->x_type) == 16)
        vec_flip_words(dst, src, n, flip);
    else if (stride == 1 && dtype_bits(a->x_type) == 16)
        vec_split_words(d, d + a->kpad, src, n, flip);
    else if (a->x_type == DT_UQ8)
        LOAD_ROW(uint8_t, CENTRED);
    else if (a->x_type == DT_SQ8)
        LOAD_ROW(int8_t, CENTRED);
    else
        LOAD_ROW(uint16_t, FLIPPED);
}

static void load_windows(const struct conv_args *a, const struct conv_windows *w)
{
    if (a->cls == CONV_Q16 && dtype_bits(a->x_type) == 16) {
        const uint16_t flip = a->x_type == DT_UQ16 ? 0x8000 : 0;
        for (uint32_t k = 0; k < w->windows; k++)
            for (uint32_t i = 0; i < w->lines; i++)
                vec_flip_words((uint16_t *)(w->dst + k * w->row_step) + (uint64_t)i * w->n,
                               (const uint16_t *)(w->src + k * w->window_step + i * w->line_step), w->n, flip);
        return;
    }
    for (uint32_t k = 0; k < w->windows; k++)
        for (uint32_t i = 0; i < w->lines; i++)
            load_row(a, (int16_t *)(w->dst + k * w->row_step) + (uint64_t)i * w->n,
                     w->src + k * w->window_step + i * w->line_step, w->n, 1);
}

#undef LOAD_ROW
#undef FLIPPED
#undef CENTRED

static void pad_row(const struct conv_args *a, void *dst, uint32_t n)
{
    int16_t *d = dst, zero = (int16_t)-left_over(a);
    for (uint32_t i = 0; i < n; i++) {
        d[i] = a->cls == CONV_Q16 ? zero : (int16_t)(zero >> 8);
        if (a->cls != CONV_Q16)
            d[i + a->kpad] = (int16_t)(zero & 255);
    }
}

static int64_t sum_row(const struct conv_args *a, const void *row, uint32_t n)
{
    const int16_t *x = row;
    int64_t sum = 0;
    if (a->cls == CONV_Q16)
        for (uint32_t i = 0; i < n; i++)
            sum += x[i];
    else
        for (uint32_t i = 0; i < n; i++)
            sum += 256 * (int32_t)x[i] + x[i + a->kpad];
    return sum + (int64_t)n * left_over(a);
}

#endif
