/* SPDX-License-Identifier: Apache-2.0 */
/* Products with block scales, AVX-VNNI: vpdpwssd adds pairs of products to a sum at once. */
#include "kernels/conv/vec_avx2.h"

#include "kernels/conv/conv_blocks_body.h"

kernel_fn conv_blocks_avxvnni;

void conv_blocks_avxvnni(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}
