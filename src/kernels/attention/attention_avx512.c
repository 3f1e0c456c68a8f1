/* SPDX-License-Identifier: Apache-2.0 */
/* The attention family for the instruction set of the suffix. */
#define KERNEL_ISA avx512
#include "kernels/attention/attention_body.h"
