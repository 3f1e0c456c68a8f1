/* SPDX-License-Identifier: Apache-2.0 */
/* The retype family for the instruction set of the suffix. */
#define KERNEL_ISA avx512
#include "kernels/retype/retype_body.h"
