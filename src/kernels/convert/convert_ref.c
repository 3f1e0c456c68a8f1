/* SPDX-License-Identifier: Apache-2.0 */
/* The convert family for the instruction set of the suffix. */
#define KERNEL_ISA ref
#include "kernels/convert/convert_body.h"
