/* SPDX-License-Identifier: Apache-2.0 */
/* The norm family for the instruction set of the suffix. */
#define KERNEL_ISA avx2
#include "kernels/norm/norm_body.h"
