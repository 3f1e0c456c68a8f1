/* SPDX-License-Identifier: Apache-2.0 */
/* Which products AMX computes in squares of their own (conv_flat_amx.c, conv_bands_amx.c). Private to conv/. */
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

/* Rows follow each other in x and in the output, and there are enough of them. */
static inline bool conv_flat_suits(const struct conv_args *a)
{
    const bool rows = a->kind == CONV_MATRIX
                          ? a->x_k == 1
                          : a->kind == CONV_WINDOW && a->direct && a->x.stride == 1 && a->y.stride == 1 && a->z.stride == 1;
    return rows && a->slices == 1 && !a->w_offset && a->rows >= CONV_BLOCK && a->cog >= CONV_BLOCK && conv_flat_step(a) &&
           conv_all_bytes(a);
}

/* Windows are read from bands whose padding is real zero; a line has four pixels at least, which are ended together. */
static inline bool conv_bands_suit(const struct conv_args *a)
{
    return a->rows >= CONV_BLOCK && a->cog >= CONV_BLOCK && a->x.out >= 4 && -a->x_offset >= dtype_min(a->x_type) &&
           -a->x_offset <= dtype_max(a->x_type) && conv_band_lines(a, 64, 1) && conv_all_bytes(a);
}

#endif
