/* SPDX-License-Identifier: Apache-2.0 */
/* The roi family for the instruction set of the suffix. */
#define KERNEL_ISA ref
#include "kernels/roi/roi_body.h"
