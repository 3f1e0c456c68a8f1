/* SPDX-License-Identifier: Apache-2.0 */
/* The broadcast family for the instruction set of the suffix. */
#define KERNEL_ISA avx2
#include "kernels/broadcast/broadcast_body.h"
