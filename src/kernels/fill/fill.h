/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors made from a shape, a number or a random stream: docs/numerics.md section 14. */
#ifndef KERNELS_FILL_FILL_H
#define KERNELS_FILL_FILL_H

#include "kernels/kernels.h"
#include "kernels/mover.h"

struct fill_args {
    uint64_t total;
    uint32_t n_in;
    uint32_t n, dims[MAX_RANK]; /* Shape */
    _Alignas(8) uint8_t value[8]; /* ConstantOfShape */
    bool normal, seeded;        /* RandomNormalLike; the others are uniform */
    float a, b;                 /* mean and scale, or low and high */
    struct codec seed, dst;
    struct mover mover;
};

kernel_fn fill_shape_ref, fill_constant_ref, fill_random_ref;

#endif
