/* SPDX-License-Identifier: Apache-2.0 */
/* The vector end of 64-bit sums of products that are plain (struct conv_chunk); include vec_<isa>.h first. */
#ifndef KERNELS_CONV_CONV_WIDE_END_H
#define KERNELS_CONV_CONV_WIDE_END_H

#include "kernels/conv/conv_fixed_end.h"

/* n channels of one vector; sums below 2^51 exist for all of it. */
static inline void wide_end_store(const struct fixed_end *e, const int64_t *sum, vf m, uint32_t n, void *out)
{
    vf v = vf_min(vf_max(vf_mul(vf_from_long(sum), m), e->lo), e->hi);
    vi_store_n(out, vi_sub(vi_round(v), e->offset), n, e->bytes);
}

#endif
