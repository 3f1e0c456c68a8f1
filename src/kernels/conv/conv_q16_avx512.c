/* SPDX-License-Identifier: Apache-2.0 */
/* Products of 16-bit activations with 8- or 16-bit weights, AVX-512 VNNI. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_q16_body.h"

kernel_fn conv_q16_avx512, conv_q16w16_avx512;

void conv_q16_avx512(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}

void conv_q16w16_avx512(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}
