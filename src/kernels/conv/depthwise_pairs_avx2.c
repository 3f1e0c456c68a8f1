/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit depthwise convolution, two kernel lines at a time, AVX2: vpmaddwd and an addition. */
#include "kernels/conv/depthwise_pairs_body.h"

kernel_fn depthwise_q8_pairs_avx2;

void depthwise_q8_pairs_avx2(const struct kernel_call *call, struct range tile)
{
    pairs_run(call, tile);
}
