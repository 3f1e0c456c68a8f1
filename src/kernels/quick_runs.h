/* SPDX-License-Identifier: Apache-2.0 */
/* What softmax needs of quick.h, in plain C: behind K(quick) and K(quick_most). */
#include "kernels/span.h"

void K(quick_exps)(const float *x, float *o, uint32_t n, float most, float beta, float lanes[16])
{
    for (uint32_t at = 0, k; at < n; at += k) {
        k = n - at < SPAN ? n - at : SPAN;
        for (uint32_t i = at; i < at + k; i++)
            o[i] = beta * (x[i] - most);
        K(quick)(QUICK_EXP, o + at, o + at, k);
        K(span_lanes)(lanes, o + at, k);
    }
}

void K(quick_shares)(const float *x, float *o, uint32_t n, float all)
{
    for (uint32_t i = 0; i < n; i++)
        o[i] = x[i] / all;
}
