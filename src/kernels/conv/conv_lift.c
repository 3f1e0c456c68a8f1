/* SPDX-License-Identifier: Apache-2.0 */
/* Which sums of products may be lifted: started with the bits of the float 2^23, one unit of the sum being one step of that
 * float, so that they are floats without a conversion. With s the sum and f = 2^23 + s the float that its bits are,
 *
 *     fma(f, m, -2^23 m) = s m, rounded once
 *
 * as (float)s * m is. This holds for s from 0 to 2^23. What the rest gives must be clamped either way: sums below 0 come out
 * as something that is not above 0, larger ones as something that is not smaller than they are. */
#include "kernels/conv/conv.h"

/* Far from where bits are no float any more, or the product leaves 32 bits. */
static const int64_t most = (int64_t)1 << 26;

static bool channel_lifts(const struct conv_args *a, float m, int64_t b)
{
    const int64_t exact = (int64_t)1 << 23;
    if (!(m >= 0 && m <= CONV_SMALL_M) || b <= -most || b >= most)
        return false;
    const int64_t largest = a->bound + (b < 0 ? -b : b);
    const bool above = a->q_hi + a->out_offset <= 256 && m >= 0x1p-15f; /* 2^23 m is beyond the range */
    return largest < exact || (above && largest < most);
}

bool conv_lifts(const struct conv_args *a)
{
    if (a->cls != CONV_Q8 || a->bytes || a->blocks || !a->head || !conv_ends_in_bytes(a) || a->q_lo + a->out_offset < 0 ||
        a->bound < 0 || a->bound >= most)
        return false;
    const uint64_t n = (uint64_t)a->w_slices * a->npad;
    for (uint64_t c = 0; c < n; c++)
        if (c % a->npad < a->cog && !channel_lifts(a, conv_m(a->head)[c], conv_b(a, a->head, n)[c]))
            return false;
    return true;
}
