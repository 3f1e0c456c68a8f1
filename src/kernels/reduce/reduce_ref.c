/* SPDX-License-Identifier: Apache-2.0 */
/* The reduce family for the instruction set of the suffix. */
#define KERNEL_ISA ref
#include "kernels/reduce/reduce_body.h"
