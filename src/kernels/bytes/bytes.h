/* SPDX-License-Identifier: Apache-2.0 */
/* BytesQuantize: floats to bytes with a scale and a zero point that are computed while running. */
#ifndef KERNELS_BYTES_BYTES_H
#define KERNELS_BYTES_BYTES_H

#include "kernels/kernels.h"

struct bytes_args {
    uint64_t total, unit; /* elements, of all and of a unit of work */
};

kernel_fn bytes_ref, bytes_avx2, bytes_avx512;

#endif
