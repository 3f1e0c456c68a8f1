/* SPDX-License-Identifier: Apache-2.0 */
/* exp, sigmoid, tanh, Gelu and HardSwish of f32 numbers: the bits of docs/numerics.md section 5, a span at a time.
 *
 * Section 5 wants the f64 value of math.h rounded to f32. The vector versions compute only as far as the rounding needs: in
 * f64 with a shorter polynomial, or in pairs of f32, with an error that is known. Where the value lies so close to the
 * middle between two f32 numbers that the error could decide (one in some thousands), the lanes are computed again by
 * math.h. */
#ifndef KERNELS_QUICK_H
#define KERNELS_QUICK_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/isa_name.h"

enum quick_fn { QUICK_EXP, QUICK_SIGMOID, QUICK_TANH, QUICK_GELU, QUICK_HARD_SWISH };

/* quick: o[i] = f(x[i]). quick_most: the largest number, as if there were no NaN. quick_exps: o[i] = exp(beta * (x[i] -
 * most)), and their sum in lanes (section 6), x[0] in the first. quick_shares: o[i] = x[i] / all. x and o may be equal. */
#define QUICK_DECLARE(isa)                                                                                \
    void quick_##isa(enum quick_fn f, const float *x, float *o, uint32_t n);                              \
    float quick_most_##isa(const float *x, uint32_t n);                                                   \
    void quick_exps_##isa(const float *x, float *o, uint32_t n, float most, float beta, float lanes[16]); \
    void quick_shares_##isa(const float *x, float *o, uint32_t n, float all);
QUICK_DECLARE(ref)
QUICK_DECLARE(avx2)
QUICK_DECLARE(avx512)
#undef QUICK_DECLARE

#endif
