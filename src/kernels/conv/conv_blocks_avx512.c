/* SPDX-License-Identifier: Apache-2.0 */
/* Products with block scales, AVX-512. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_blocks_body.h"

kernel_fn conv_blocks_avx512;

void conv_blocks_avx512(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}
