/* SPDX-License-Identifier: Apache-2.0 */
/* The pool family for the instruction set of the suffix. */
#define KERNEL_ISA ref
#include "kernels/pool/pool_body.h"
