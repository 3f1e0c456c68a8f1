/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution of f32, f16 and 16-bit activations, columns shared by pixels: AVX-512. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/depthwise_lines_body.h"

kernel_fn depthwise_q16_lines_avx512, depthwise_f32_lines_avx512, depthwise_f16_lines_avx512;

void depthwise_q16_lines_avx512(const struct kernel_call *call, struct range tile)
{
    dl_run(call, tile, ((const struct conv_args *)call->args)->x_type == DT_UQ16 ? dl_uq16 : dl_sq16);
}

void depthwise_f32_lines_avx512(const struct kernel_call *call, struct range tile)
{
    dl_run(call, tile, dl_f32);
}

void depthwise_f16_lines_avx512(const struct kernel_call *call, struct range tile)
{
    dl_run(call, tile, dl_f16);
}
