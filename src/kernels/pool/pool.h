/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling windows over [batch, depth, height, width, channels]; two-dimensional pools have depth 1. docs/numerics.md
 * section 6. */
#ifndef KERNELS_POOL_POOL_H
#define KERNELS_POOL_POOL_H

#include "kernels/kernels.h"
#include "kernels/span.h"

enum pool_kind { POOL_AVG, POOL_MAX, POOL_L2 };

struct pool_args {
    enum pool_kind kind;
    bool count_pad; /* the divisor counts padding */
    bool exact;     /* sums of q + offset: in f32 when they fit, else in int64 */
    bool whole;     /* maximum of plain integers */
    bool raw;       /* maximum of 8- or 16-bit values whose encoding stays */
    uint32_t batch, channels, blocks;
    uint32_t parts; /* pixels and blocks of channels in a unit of work: 1, or those of a line */
    uint32_t in[3], out[3], size[3], stride[3], before[3], after[3];
    double s_in, s_out; /* fixed point: the scales */
    struct codec src, dst;
};

kernel_fn pool_ref, pool_avx2, pool_avx512, pool_max_avx512;

#endif
