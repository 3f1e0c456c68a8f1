/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of fixed-point tensors for the instruction set of the suffix. */
#define KERNEL_ISA avx2
#include "kernels/conv/vec_avx2.h"

#include "kernels/broadcast/broadcast_fixed_body.h"
