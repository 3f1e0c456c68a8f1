/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution, AVX2. */
#include "kernels/conv/vec_avx2.h"

#include "kernels/conv/depthwise_body.h"

kernel_fn depthwise_q8_avx2, depthwise_q16_avx2, depthwise_q16w16_avx2, depthwise_f32_avx2, depthwise_f16_avx2;

void depthwise_q8_avx2(const struct kernel_call *call, struct range tile)
{
    depthwise_run(call, tile, q8_run);
}

void depthwise_q16_avx2(const struct kernel_call *call, struct range tile)
{
    depthwise_run(call, tile, q16_run);
}

void depthwise_q16w16_avx2(const struct kernel_call *call, struct range tile)
{
    depthwise_run(call, tile, q16w16_run);
}

void depthwise_f32_avx2(const struct kernel_call *call, struct range tile)
{
    depthwise_run(call, tile, f32_run);
}

void depthwise_f16_avx2(const struct kernel_call *call, struct range tile)
{
    depthwise_run(call, tile, f16_run);
}
