/* SPDX-License-Identifier: Apache-2.0 */
/* Products of 16-bit activations with 8- or 16-bit weights, AVX-VNNI: vpdpwssd adds pairs of products to a sum at once. */
#include "kernels/conv/vec_avx2.h"

#include "kernels/conv/conv_q16_body.h"

kernel_fn conv_q16_avxvnni, conv_q16w16_avxvnni;

void conv_q16_avxvnni(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}

void conv_q16w16_avxvnni(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
}
