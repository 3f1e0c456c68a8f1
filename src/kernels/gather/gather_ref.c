/* SPDX-License-Identifier: Apache-2.0 */
/* The gather family for the instruction set of the suffix. */
#define KERNEL_ISA ref
#include "kernels/gather/gather_body.h"
