/* SPDX-License-Identifier: Apache-2.0 */
/* ElementWiseMux: each element comes from the input that the selector names. docs/numerics.md section 14. */
#ifndef KERNELS_MUX_MUX_H
#define KERNELS_MUX_MUX_H

#include "kernels/kernels.h"
#include "kernels/mover.h"
#include "kernels/view.h"

enum { MUX_INPUTS = 16 };

struct mux_args {
    uint64_t total;
    uint32_t inputs;
    struct codec selector;
    struct view view[MUX_INPUTS + 1]; /* of the selector, then of the inputs */
    struct mover mover[MUX_INPUTS];
};

kernel_fn mux_ref;

#endif
