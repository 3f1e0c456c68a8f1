/* SPDX-License-Identifier: Apache-2.0 */
/* Engines for AMX that turn blocks of weights before they multiply them: what that takes of the workspace. */
#ifndef KERNELS_CONV_CONV_TURNED_H
#define KERNELS_CONV_CONV_TURNED_H

#include "kernels/conv/conv.h"

/* 16-bit weights in tiles (conv_q16w16_amx.c): a block of them as two planes of bytes, in whole steps. */
static inline uint64_t conv_split_bytes(const struct conv_args *a)
{
    return 2 * conv_plane_bytes(a) * CONV_BLOCK;
}

static inline bool conv_split_fits(const struct conv_args *a)
{
    const uint64_t room = a->panel_rows * a->panel_stride, rows = CONV_BLOCK * (2 * conv_plane_bytes(a) + 64);
    return room >= rows + conv_split_bytes(a);
}

/* Block scales in tiles (conv_blocks_amx.c): k of a step, a divisor of a run; 0: there is none. */
static inline uint32_t conv_run_step(const struct conv_args *a)
{
    for (uint32_t step = 64; step >= 16; step -= 4)
        if (a->run % step == 0)
            return step;
    return 0;
}

/* What such a block takes in the workspace: its weights, and what belongs to each run. */
static inline uint64_t conv_runs_bytes(const struct conv_args *a)
{
    return conv_block_bytes(a) + (uint64_t)a->n_runs * CONV_BLOCK * sizeof(int32_t);
}

/* Such blocks that find room beside 16 rows: up to a chunk of them. */
static inline uint32_t conv_runs_places(const struct conv_args *a)
{
    const uint64_t room = a->panel_rows * a->panel_stride, rows = CONV_BLOCK * (2 * conv_plane_bytes(a) + 64),
                   places = room < rows ? 0 : (room - rows) / conv_runs_bytes(a);
    return places < CONV_CHUNK / CONV_BLOCK ? (uint32_t)places : CONV_CHUNK / CONV_BLOCK;
}

/* `own` is `a` with fewer rows in a panel, so that the last `bytes` of the workspace are not used; the answer is where these
 * begin. */
static inline uint8_t *conv_reserve(const struct conv_args *a, struct conv_args *own, void *work, uint64_t bytes)
{
    const uint64_t rows = a->panel_rows * a->panel_stride;
    *own = *a;
    own->panel_rows = (uint32_t)((rows - bytes) / a->panel_stride);
    own->panel_bytes = own->panel_rows * a->panel_stride;
    return (uint8_t *)work + a->seg_bytes + rows + a->pack_bytes - bytes;
}

#endif
