/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit depthwise convolution, two kernel lines at a time, AVX-VNNI: vpdpwssd. */
#include "kernels/conv/depthwise_pairs_body.h"

kernel_fn depthwise_q8_pairs_avxvnni;

void depthwise_q8_pairs_avxvnni(const struct kernel_call *call, struct range tile)
{
    pairs_run(call, tile);
}
