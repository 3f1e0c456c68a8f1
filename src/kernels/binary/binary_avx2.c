/* SPDX-License-Identifier: Apache-2.0 */
/* The binary family for the instruction set of the suffix. */
#define KERNEL_ISA avx2
#include "kernels/binary/binary_body.h"
