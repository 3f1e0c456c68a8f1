/* SPDX-License-Identifier: Apache-2.0 */
/* The recurrent family for the instruction set of the suffix. */
#define KERNEL_ISA avx512
#include "kernels/conv/vec_avx512.h"

#include "kernels/recurrent/recurrent_turned.h"
#include "kernels/recurrent/recurrent_whole.h"

#include "kernels/recurrent/recurrent_body.h"
