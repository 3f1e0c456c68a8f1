/* SPDX-License-Identifier: Apache-2.0 */
/* The softmax family for the instruction set of the suffix. */
#define KERNEL_ISA avx512
#include "kernels/softmax/softmax_body.h"
#include "kernels/softmax/softmax_bytes_vbmi.h"
#include "kernels/softmax/softmax_bytes_body.h"
