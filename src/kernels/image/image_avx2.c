/* SPDX-License-Identifier: Apache-2.0 */
/* The image family for the instruction set of the suffix. */
#define KERNEL_ISA avx2
#include "kernels/image/image_sample_body.h"
#include "kernels/image/image_colour_body.h"
#include "kernels/image/image_patch_body.h"
