/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of docs/numerics.md section 5 that must be the same on every machine.
 *
 * Plain double arithmetic in a fixed order, no fma, no tables, no branches on the value: compilers vectorise it and the bits
 * do not depend on the vector length. Relative error below 2^-51, so a result rounded to f32 is within 0.5000001 ulp. */
#ifndef KERNELS_MATH_H
#define KERNELS_MATH_H

#include <stdint.h>
#include <string.h>

static inline double math_bits_(uint64_t u)
{
    double d;
    memcpy(&d, &u, sizeof d);
    return d;
}

/* exp in two steps, for loops: limit all arguments in one loop, then math_exp_core in another. (In one loop compilers
 * specialise the limits and give up on vectors.) Beyond the limits the answer is 0 or infinity. A NaN fails both tests and
 * stays. */
static inline double math_exp_limit(double x)
{
    x = x < -760.0 ? -760.0 : x;
    return x > 720.0 ? 720.0 : x;
}

/* exp(x) of a limited x. NaN gives NaN, overflow infinity, results below the normal range are rounded into it (twice,
 * harmless after rounding to f32). */
static inline double math_exp_core(double x)
{
    /* x = n ln2 + r, |r| <= ln2/2. Adding 1.5 * 2^52 rounds n to an integer and leaves it in the low bits of the sum.
     * The high part of ln2 has 32 significant bits, so n * high is exact. */
    const double magic = 0x1.8p52, log2e = 0x1.71547652b82fep+0;
    const double ln2_hi = 0x1.62e42feep-1, ln2_lo = 0x1.a39ef35793c76p-33;
    double t = x * log2e + magic;
    uint64_t bits;
    memcpy(&bits, &t, sizeof bits);
    int64_t n = (int64_t)(bits & 0xfffff) - ((int64_t)(bits & 0x80000) << 1);
    double dn = t - magic;
    double r = (x - dn * ln2_hi) - dn * ln2_lo;

    /* Taylor to r^13: the rest is below 2^-58. */
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * (r * r) + r;

    /* Two factors, because 2^n itself leaves the range before the product does. */
    int64_t half = (int64_t)((uint64_t)(n + 2048) >> 1) - 1024,
            rest = n - half; /* n >> 1, with a shift that all vectors have */
    double a = math_bits_((uint64_t)(half + 1023) << 52), b = math_bits_((uint64_t)(rest + 1023) << 52);
    return (p * a + a) * b;
}

static inline double math_exp_inline(double x)
{
    return math_exp_core(math_exp_limit(x));
}

/* tanh(x) of the limited e = exp(2 |x|): near 0, where 1 - 2 / (e + 1) would cancel, the first terms of the series. Relative
 * error below 2^-40. Signs are bits here: branches on them would be wrong half of the time. */
static inline double math_tanh_core(double x, double e)
{
    double a = __builtin_fabs(x), big = 1.0 - 2.0 / (e + 1.0), small = a - a * a * a * (1.0 / 3.0);
    return __builtin_copysign(a < 0x1p-10 ? small : big, x);
}

static inline double math_sigmoid(double x)
{
    return 1.0 / (1.0 + math_exp_inline(-x));
}

static inline double math_tanh(double x)
{
    return math_tanh_core(x, math_exp_inline(2.0 * __builtin_fabs(x)));
}

/* Beyond this nothing is left of the normal distribution; in a loop of its own, as math_exp_limit. */
static inline double math_normal_limit(double a)
{
    return a > 45.0 ? 45.0 : a;
}

/* The upper tail of the normal distribution, 0.5 erfc(a / sqrt 2), of a limited a >= 0 and e = exp(-a * a / 2).
 * Its quotient by e falls like 1 / a, so (a + 4) times that is smooth: a polynomial in u = (a - 4) / (a + 4), interpolated
 * at Chebyshev points up to a = 40. Relative error below 2^-50, e apart. */
static inline double math_normal_tail(double a, double e)
{
    double inv = 1.0 / (a + 4.0), u = (a - 4.0) * inv, p = 0x1.0a6d6615c8a4ep-27;
    p = p * u + 0x1.c9be8d656118cp-27;
    p = p * u - 0x1.08b4bf0798a35p-24;
    p = p * u - 0x1.4183bb9bace2cp-23;
    p = p * u + 0x1.071b6f2a3950dp-22;
    p = p * u + 0x1.1005af6bcd8cfp-20;
    p = p * u - 0x1.4804d4dfc6308p-21;
    p = p * u - 0x1.8ce18de05eceap-18;
    p = p * u + 0x1.7c38e0a78c72fp-21;
    p = p * u + 0x1.26cad5c838c6bp-15;
    p = p * u - 0x1.ff94b4dcdd25bp-20;
    p = p * u - 0x1.e4a3c4d02d7d8p-13;
    p = p * u + 0x1.17a4700a6629fp-13;
    p = p * u + 0x1.ab825de82e687p-10;
    p = p * u - 0x1.c81719686577bp-9;
    p = p * u - 0x1.ee2760fac920bp-8;
    p = p * u + 0x1.eec4cc3de9c11p-5;
    p = p * u - 0x1.7dff2bff6b16ep-3;
    p = p * u + 0x1.8c6dbf2cfc734p-2;
    p = p * u - 0x1.373e3a893c26bp-1;
    p = p * u + 0x1.82b4bb8c94dccp-1;
    return p * inv * e;
}

/* x times the normal distribution up to x. Below -45 nothing is left; infinity times nothing would be NaN. */
static inline double math_gelu(double x)
{
    double tail = math_normal_tail(math_normal_limit(__builtin_fabs(x)), math_exp_inline(-0.5 * x * x)),
           v = x < -45.0 ? -45.0 : x;
    return v * (v < 0.0 ? tail : 1.0 - tail);
}

static inline double math_hard_swish(double x)
{
    double c = x + 3.0;
    c = c < 0.0 ? 0.0 : c;
    c = c > 6.0 ? 6.0 : c;
    return x == -__builtin_inf() ? -0.0 : x * c / 6.0;
}

double math_exp(double x);

#endif
