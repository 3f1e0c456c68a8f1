/* SPDX-License-Identifier: Apache-2.0 */
/* The signal family for the instruction set of the suffix. */
#define KERNEL_ISA avx2
#include "kernels/signal/signal_body.h"
