/* SPDX-License-Identifier: Apache-2.0 */
/* Buffer: frames of several executions side by side. docs/numerics.md section 16.
 *
 * The state holds what the next execution still needs of the frames before it, never the newest: a frame is in the input
 * when it comes, and when the buffer is full at least as many places as one frame takes are given up. So `size - frame`
 * places are enough.
 *
 *     state    header | outer x [ oldest … newest, `fill` of `room` places ] x inner elements, stored as the output stores
 *              them */
#ifndef KERNELS_BUFFER_BUFFER_H
#define KERNELS_BUFFER_BUFFER_H

#include "kernels/kernels.h"
#include "kernels/mover.h"

enum buffer_mode { BUFFER_BLOCKING, BUFFER_LEFT, BUFFER_RIGHT };
enum { BUFFER_STATE_DATA = 16 }; /* where the frames begin */

struct buffer_state {
    uint32_t begun; /* 0: nothing seen yet */
    uint32_t fill;  /* places taken */
};

/* A place is one index along the buffer's dimension. */
struct buffer_args {
    uint64_t outer, inner;
    uint32_t frame, size, room, stride, padding; /* in places */
    enum buffer_mode mode;
    bool has_reset;
    uint32_t out; /* number of the output among the operands */
    struct codec reset;
    struct mover in;   /* from the input to the output's encoding */
    struct mover same; /* within the output's encoding */
};

kernel_fn buffer_ref;

#endif
