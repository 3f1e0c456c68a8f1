/* SPDX-License-Identifier: Apache-2.0 */
/* The move family for the instruction set of the suffix. */
#define KERNEL_ISA ref
#include "kernels/move/move_body.h"
