/* SPDX-License-Identifier: Apache-2.0 */
/* The unary family for the instruction set of the suffix. */
#define KERNEL_ISA avx2
#include "kernels/unary/unary_body.h"
