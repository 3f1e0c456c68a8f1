/* SPDX-License-Identifier: Apache-2.0 */
/* Which products AMX computes in squares of their own (conv_flat_amx.c, conv_bands_amx.c,
 * conv_slices_amx.c). Private to conv/. */
#ifndef KERNELS_CONV_CONV_FLAT_H
#define KERNELS_CONV_CONV_FLAT_H

#include "kernels/conv/conv_stage.h"
#include "kernels/conv/conv_walk.h"

/* k of a tile, in equal steps of whole fours: 64 where that divides k, else what needs at most one step more. 0: nothing
 * does. */
static inline uint32_t conv_flat_step(const struct conv_args *a)
{
    for (uint32_t step = 64; step >= 16; step -= 4)
        if (a->cig % step == 0 && a->cig / step <= (a->cig + 63) / 64 + 1)
            return step;
    return 0;
}

/* Steps from pixel to pixel are not the same as in the output. */
static inline bool conv_strided(const struct conv_args *a)
{
    return a->kind == CONV_WINDOW && (a->x.stride > 1 || a->y.stride > 1 || a->z.stride > 1);
}

/* Rows follow each other in the output, are one run of x each, and there are enough of them. */
static inline bool conv_flat_rows(const struct conv_args *a)
{
    const bool rows = a->kind == CONV_MATRIX ? a->x_k == 1 : a->kind == CONV_WINDOW && a->direct;
    return rows && a->slices == 1 && a->rows >= CONV_BLOCK && a->cog >= CONV_BLOCK && conv_flat_step(a);
}

/* Bytes of a row that is brought, in so many planes; rows at distances that divide 4 KiB would meet in a few lines of a
 * cache. */
static inline uint64_t conv_brought_step(const struct conv_args *a, uint32_t planes)
{
    const uint64_t bytes = (planes * conv_plane_bytes(a) + 63) / 64 * 64;
    return bytes % 512 ? bytes : bytes + 64;
}

/* Such rows that find room in the workspace. */
static inline uint64_t conv_brought_rows(const struct conv_args *a, uint32_t planes)
{
    return a->panel_rows * a->panel_stride / conv_brought_step(a, planes);
}

/* Bytes: rows that do not follow each other in x, too, are brought, 32 at a time. */
static inline bool conv_flat_suits(const struct conv_args *a)
{
    return conv_flat_rows(a) && (!conv_strided(a) || conv_brought_rows(a, 1) >= 2 * CONV_BLOCK) && conv_all_bytes(a);
}

/* The multiplier of all channels whose weights have one scale. */
static inline float conv_one_m(const struct conv_args *a)
{
    return (float)(a->x_scale * encoding_scale(&a->w_enc, 0) / a->out_scale);
}

/* Matrices of bytes that are packed while running (conv_slices_amx.c): rows are one run of x, and all sums end by the short
 * way, whatever the weights are. */
static inline bool conv_slices_suit(const struct conv_args *a)
{
    const int64_t most = (int64_t)1 << 30;
    const bool rows = a->kind == CONV_MATRIX && a->x_k == 1 && a->rows >= CONV_BLOCK && a->cog >= CONV_BLOCK;
    return rows && !a->packed && !a->has_bias && !a->effective && a->w_enc.q.kind == Q_TENSOR && a->wsize == 1 &&
           dtype_bits(a->x_type) == 8 && conv_flat_step(a) && conv_ends_in_bytes(a) && a->bound < most &&
           conv_one_m(a) >= 0 && conv_one_m(a) <= CONV_SMALL_M;
}

/* 16-bit activations, 8-bit weights and 16-bit outputs suit conv_squares_words.h: sums of bytes fit 32 bits, those of both
 * have 35 at most with all that belongs to them, and steps of the output 30. */
static inline bool conv_words_suit(const struct conv_args *a)
{
    const int64_t most = (int64_t)1 << 35;
    if (dtype_bits(a->x_type) != 16 || dtype_bits(a->out_type) != 16 || a->wsize != 1 || a->blocks || !a->packed ||
        a->slices != 1 || a->w_offset || a->kpad >= 65536 || !a->head->plain || a->out_offset < -(1 << 20) ||
        a->out_offset > 1 << 20 || a->bound < 0 || a->bound >= most)
        return false;
    for (uint32_t c = 0; c < a->cog; c++) {
        const int64_t b = conv_b(a, a->head, a->npad)[c];
        if (b <= a->bound - most || b >= most - a->bound)
            return false;
        if (!((double)(a->bound + (b < 0 ? -b : b)) * (double)conv_m(a->head)[c] <= 1 << 30))
            return false;
    }
    return true;
}

/* Such sums do not fit 32 bits. */
static inline bool conv_words_long(const struct conv_args *a)
{
    const int64_t room = INT32_MAX - a->bound, *b = conv_b(a, a->head, a->npad);
    bool is_long = room < 0;
    for (uint32_t c = 0; c < a->cog; c++)
        is_long |= b[c] > room || b[c] < -room;
    return is_long;
}

static inline bool conv_flat_words_suit(const struct conv_args *a)
{
    return conv_flat_rows(a) && conv_brought_rows(a, 2) >= CONV_BLOCK && conv_words_suit(a);
}

/* A line of a band has so many pixels at least, which are ended together. */
enum { CONV_BAND_PIXELS = 4 };

/* Windows are read from bands whose padding is real zero; elements are in so many planes of bytes. */
static inline bool conv_bands_suit(const struct conv_args *a, uint32_t planes)
{
    return a->rows >= CONV_BLOCK && a->cog >= CONV_BLOCK && a->x.out >= CONV_BAND_PIXELS &&
           -a->x_offset >= dtype_min(a->x_type) && -a->x_offset <= dtype_max(a->x_type) && conv_phase_lines(a, 64, planes) &&
           (planes == 1 ? conv_all_bytes(a) : conv_words_suit(a));
}

#endif
