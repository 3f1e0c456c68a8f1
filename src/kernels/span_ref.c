/* SPDX-License-Identifier: Apache-2.0 */
/* Spans for the instruction set of the suffix. */
#define KERNEL_ISA ref
#include "kernels/span_f16_ref.h"
#include "kernels/span_body.h"
