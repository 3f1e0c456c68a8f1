/* SPDX-License-Identifier: Apache-2.0 */
/* The retype family for the instruction set of the suffix. */
#define KERNEL_ISA ref
#include "kernels/retype/retype_body.h"
