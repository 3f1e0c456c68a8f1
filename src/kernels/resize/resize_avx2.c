/* SPDX-License-Identifier: Apache-2.0 */
/* The resize family for the instruction set of the suffix. */
#define KERNEL_ISA avx2
#include "kernels/resize/resize_body.h"
