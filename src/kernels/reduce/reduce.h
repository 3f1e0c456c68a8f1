/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes, extremes' positions, moments, and running sums: docs/numerics.md section 6. */
#ifndef KERNELS_REDUCE_REDUCE_H
#define KERNELS_REDUCE_REDUCE_H

#include "kernels/kernels.h"
#include "kernels/span.h"
#include "kernels/view.h"

enum reduce_kind {
    RED_SUM,
    RED_MEAN,
    RED_SUM_SQUARE,
    RED_MAX,
    RED_MIN,
    RED_PROD,
    RED_ARGMAX,
    RED_ARGMIN,
    RED_MOMENTS,
    RED_CUMULATIVE
};

struct reduce_args {
    enum reduce_kind kind;
    bool whole;      /* stored integers instead of f32 */
    bool raw;        /* whole: the result is stored as it is */
    bool columns;    /* many neighbouring outputs share a way through; their runs are column_stride apart */
    int64_t column_stride;
    bool exclusive, reverse;
    uint64_t runs, n;
    float m;         /* whole, fixed point: the sum's multiplier */
    struct view outer, run;
    struct codec in, out[2];
};

kernel_fn reduce_ref, reduce_avx2, reduce_avx512;
kernel_fn cumulative_ref, cumulative_avx2, cumulative_avx512;

#endif
