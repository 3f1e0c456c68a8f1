/* SPDX-License-Identifier: Apache-2.0 */
/* The recurrent family for the instruction set of the suffix. */
#define KERNEL_ISA avx2
#include "kernels/recurrent/recurrent_body.h"
