/* SPDX-License-Identifier: Apache-2.0 */
/* The end of 64-bit sums of products that are plain (struct conv_chunk); include vec_<isa>.h first. */
#ifndef KERNELS_CONV_CONV_WIDE_END_H
#define KERNELS_CONV_CONV_WIDE_END_H

#include <string.h>

#include "kernels/conv/conv.h"

/* At most two vectors of sums below 2^51: adding 1.5 * 2^52 makes a double of an integer, exactly, in any vector width; then one rounding to f32. */
static inline void wide_end_store(const struct conv_args *a, const int64_t *sum, const float *m, uint32_t n, void *out, uint64_t to)
{
    float lo = (float)(a->q_lo + a->out_offset), hi = (float)(a->q_hi + a->out_offset);
    int32_t q[2 * VEC_LANES];
    for (uint32_t i = 0; i < n; i++) {
        int64_t bits = sum[i] + 0x4338000000000000;
        double d;
        memcpy(&d, &bits, 8);
        float v = (float)(d - 0x1.8p52) * m[i];
        v = v < lo ? lo : v;
        v = v > hi ? hi : v;
        q[i] = (int32_t)((v + 12582912.0f) - 12582912.0f) - a->out_offset;
    }
    if (dtype_bits(a->out_type) == 8)
        for (uint32_t i = 0; i < n; i++)
            ((uint8_t *)out)[to + i] = (uint8_t)q[i];
    else
        for (uint32_t i = 0; i < n; i++)
            ((uint16_t *)out)[to + i] = (uint16_t)q[i];
}

#endif
