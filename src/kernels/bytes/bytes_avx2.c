/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes family for the instruction set of the suffix. */
#define KERNEL_ISA avx2
#include "kernels/bytes/bytes_body.h"
