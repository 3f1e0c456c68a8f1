/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the type of values: docs/numerics.md section 2. */
#ifndef KERNELS_RETYPE_RETYPE_H
#define KERNELS_RETYPE_RETYPE_H

#include "kernels/encoding.h"
#include "kernels/kernels.h"
#include "kernels/span.h"

enum retype_mode {
    RETYPE_COPY, /* same bits */
    RETYPE_F32,  /* load as f32, store */
    RETYPE_F64,  /* Cast from or to f64 */
    RETYPE_I64,  /* Cast between integers */
    RETYPE_AXIS, /* fixed -> fixed where a side has one encoding per channel */
    RETYPE_SLOW, /* a side has blocks, an expansion or a mapping: element by element through f32 */
};

struct retype_args {
    uint64_t total, unit; /* elements, of all and of a unit of work */
    enum retype_mode mode;
    struct codec in, out;
    struct encoding from, to; /* RETYPE_SLOW */
};

kernel_fn retype_ref, retype_avx2, retype_avx512;

#endif
