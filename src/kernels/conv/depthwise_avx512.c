/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution, AVX-512 VNNI. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/depthwise_body.h"

kernel_fn depthwise_q8_avx512, depthwise_q16_avx512, depthwise_q16w16_avx512, depthwise_f32_avx512, depthwise_f16_avx512;

void depthwise_q8_avx512(const struct kernel_call *call, struct range tile)
{
    depthwise_run(call, tile, q8_run);
}

void depthwise_q16_avx512(const struct kernel_call *call, struct range tile)
{
    depthwise_run(call, tile, q16_run);
}

void depthwise_q16w16_avx512(const struct kernel_call *call, struct range tile)
{
    depthwise_run(call, tile, q16w16_run);
}

void depthwise_f32_avx512(const struct kernel_call *call, struct range tile)
{
    depthwise_run(call, tile, f32_run);
}

void depthwise_f16_avx512(const struct kernel_call *call, struct range tile)
{
    depthwise_run(call, tile, f16_run);
}
