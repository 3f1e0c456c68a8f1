/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the type of values: docs/numerics.md section 2. */
#ifndef KERNELS_CONVERT_CONVERT_H
#define KERNELS_CONVERT_CONVERT_H

#include "kernels/kernels.h"
#include "kernels/span.h"

enum convert_mode {
    CONVERT_COPY, /* same bits */
    CONVERT_F32,  /* load as f32, store */
    CONVERT_F64,  /* Cast from or to f64 */
    CONVERT_I64,  /* Cast between integers */
    CONVERT_AXIS, /* fixed -> fixed where a side has one encoding per channel */
};

struct convert_args {
    uint64_t total;
    enum convert_mode mode;
    struct codec in, out;
};

kernel_fn convert_ref, convert_avx2, convert_avx512;

#endif
