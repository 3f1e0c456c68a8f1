/* SPDX-License-Identifier: Apache-2.0 */
/* Data movement: values go to other places, unchanged (docs/numerics.md section 7).
 *
 *   move   the output in order, the input through a view: Reshape, Transpose, StridedSlice, Tile, DepthToSpace,
 *          ChannelShuffle …
 *   join   rows of several tensors side by side in one, or the other way round: Concat, Pack, Split, UnPack
 *   pad    rows that grow at both ends
 *   block  BatchToSpace and SpaceToBatch, where cropping and padding cut through blocks */
#ifndef KERNELS_MOVE_MOVE_H
#define KERNELS_MOVE_MOVE_H

#include "kernels/kernels.h"
#include "kernels/mover.h"
#include "kernels/view.h"

struct move_args {
    uint32_t n_in;
    uint64_t total, unit; /* elements of the output, and of one unit of work */
    int64_t first;        /* of the input */
    struct view view;
    struct mover mover;
};

struct join_args {
    bool split;           /* one input, many outputs */
    uint32_t pieces;
    uint32_t n_in;
    uint64_t rows, row;   /* elements of a row of the whole */
    uint64_t together;    /* rows that are a line of the result, of which a unit is one; 0: a unit is a row of one piece */
    uint64_t at[KERNEL_MAX_OPERANDS], n[KERNEL_MAX_OPERANDS]; /* where a piece's row is in it, and how long */
    struct mover mover[KERNEL_MAX_OPERANDS];
};

enum pad_scheme { PAD_CONSTANT, PAD_SYMMETRIC, PAD_REFLECT, PAD_EDGE };

struct pad_args {
    enum pad_scheme scheme;
    uint32_t rank;                               /* dimensions up to the last padded one */
    uint32_t dims[MAX_RANK], before[MAX_RANK], out[MAX_RANK];
    uint64_t inner;                              /* elements behind the last padded dimension, moved together */
    uint64_t rows;
    struct mover mover;
};

struct block_args {
    bool to_batch;
    uint32_t in[4], out[4], block[2], before[2]; /* before: crops or padding at top and left */
    struct mover mover;
};

kernel_fn move_ref, move_avx2, move_avx512, move_turn_avx2;
kernel_fn join_ref, join_avx2, join_avx512;
kernel_fn pad_ref, pad_avx2, pad_avx512;
kernel_fn block_ref, block_avx2, block_avx512;

#endif
