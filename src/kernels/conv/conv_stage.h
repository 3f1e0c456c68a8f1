/* SPDX-License-Identifier: Apache-2.0 */
/* Which convolutions are computed from a stage (conv_stage_walk.h), and what kernels that do so share. Private to
 * conv/. */
#ifndef KERNELS_CONV_CONV_STAGE_H
#define KERNELS_CONV_CONV_STAGE_H

#include "kernels/conv/conv.h"

/* The largest kernel that is staged, bytes of a staged pixel; taps of a convolution in groups; fours of k and staged bytes
 * of a first layer. */
enum {
    STAGE_LINES = 8,
    STAGE_TAPS = 8,
    STAGE_CHANNELS = 64,
    CONV_GROUPS_TAPS = 25,
    CONV_FIRST_STEPS = 64,
    CONV_FIRST_BYTES = 24 * 1024
};

/* The image is flat, the kernel small, and real zero can be staged. */
static inline bool conv_stage_shape(const struct conv_args *a)
{
    const bool flat = a->z.in == 1 && a->z.kernel == 1 && a->z.out == 1 && a->z.pad == 0;
    const bool small = a->y.kernel <= STAGE_LINES && a->x.kernel <= STAGE_TAPS;
    return flat && small && -a->x_offset >= dtype_min(a->x_type) && -a->x_offset <= dtype_max(a->x_type);
}

/* Bytes all through: all sums end by the short way (conv_bytes_avx512.h). */
static inline bool conv_all_bytes(const struct conv_args *a)
{
    if (dtype_bits(a->x_type) != 8 || !conv_ends_in_bytes(a) || !a->narrow || !a->packed || !a->head->plain)
        return false;
    for (uint32_t c = 0; c < a->w_slices * a->npad; c++)
        if (c % a->npad < a->cog && !(conv_m(a->head)[c] <= CONV_SMALL_M))
            return false;
    return true;
}

static inline bool conv_stage_suits(const struct conv_args *a)
{
    return conv_stage_shape(a) && conv_all_bytes(a);
}

/* Groups whose 64 input channels are staged together: whole vectors of output channels. */
static inline uint32_t conv_groups_side(const struct conv_args *a)
{
    return a->cog < CONV_BLOCK ? CONV_BLOCK / a->cog : 1;
}

static inline uint32_t conv_groups_part(const struct conv_args *a)
{
    return STAGE_CHANNELS / a->cig / conv_groups_side(a) * conv_groups_side(a);
}

/* Bytes of an input line that a first layer needs, with its padding. */
static inline uint64_t conv_first_line(const struct conv_args *a)
{
    return ((uint64_t)(a->x.out - 1) * a->x.stride + a->x.kernel) * a->ci;
}

/* How AMX stages it (conv_first_amx.c): kernel lines together in a group, groups, bytes of a step, bytes of a window in a
 * group, in whole fours. */
struct conv_first_tiles {
    uint32_t group, groups, step, k;
};

/* Steps of a window. */
static inline uint32_t conv_first_turns(const struct conv_args *a)
{
    return (a->x.kernel + a->x.stride - 1) / a->x.stride;
}

static inline struct conv_first_tiles conv_first_tiles(const struct conv_args *a)
{
    const uint32_t step = a->x.stride * a->ci, window = conv_first_turns(a) * step,
                   most = window > STAGE_CHANNELS ? 1 : STAGE_CHANNELS / window;
    const uint32_t groups = (a->y.kernel + most - 1) / most, group = (a->y.kernel + groups - 1) / groups;
    return (struct conv_first_tiles){ group, groups, step, (group * window + 3) / 4 * 4 };
}

/* Bytes of a staged line. */
static inline uint64_t conv_first_tile_line(const struct conv_args *a)
{
    return (uint64_t)(a->x.out - 1 + conv_first_turns(a)) * a->x.stride * a->ci;
}

/* It finds room on that stage. The numbers of a first layer are small (conv_first_line): a line has some pixels. */
static inline bool conv_first_staged(const struct conv_args *a)
{
    if (conv_first_line(a) * a->y.kernel > CONV_FIRST_BYTES)
        return false;
    const struct conv_first_tiles t = conv_first_tiles(a);
    const uint64_t line = conv_first_tile_line(a);
    return t.k <= STAGE_CHANNELS && line <= CONV_FIRST_BYTES / STAGE_LINES &&
           (line * t.group + STAGE_CHANNELS) * t.groups <= CONV_FIRST_BYTES;
}

#endif
