/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of quick.h in vectors. A file defines vectors of doubles (vd, VD_LANES of them from as many floats) and
 * their exp, includes this, and quick_walk.h.
 *
 * Errors: exp below 2^-43, reciprocals 2^-41, the tail of the normal distribution 2^-39, all relative; what is left open is
 * what lies within 2^-38 of a middle. */
#include <string.h>

enum { PAIR = 2 * VD_LANES };

/* Beyond these arguments exp rounds to 0 or infinity, and sigmoid to 0 or 1. Results that f32 holds as subnormals round at
 * other places: decided apart for exp, left open for sigmoid. */
#define EXP_LIMIT 104.5f
#define EXP_NORMAL 87.0f
/* The same for Gelu of negative numbers. */
#define GELU_LIMIT 16.0f
#define GELU_NORMAL 12.5f

/* The lanes of y = exp(v) whose rounding to f32 is open. Subnormal results lose more bits than vd_open looks at, so both
 * ends of the error are rounded. Attention masks of about -100 put many lanes there. */
static inline __attribute__((always_inline)) unsigned exp_open(vf v, vd y)
{
    const unsigned subnormal = vf_between(v, -EXP_LIMIT, -EXP_NORMAL);
    const unsigned open = vd_open(y);

    if (__builtin_expect(!subnormal, 1))
        return open;

    const vf low = vf_of(vd_mul(y, vd_set(1.0 - 0x1p-40)));
    const vf high = vf_of(vd_mul(y, vd_set(1.0 + 0x1p-40)));
    return (open & ~subnormal) | (vf_differ(low, high) & subnormal);
}

/* One vector; returns the lanes that are open. */
static inline __attribute__((always_inline)) unsigned quick_exp(vf v, vf *o)
{
    v = vf_limit(v, EXP_LIMIT);
    vd y = vd_exp(vd_of(v));
    *o = vf_of(y);
    return exp_open(v, y);
}

static inline __attribute__((always_inline)) unsigned quick_sigmoid(vf v, vf *o)
{
    v = vf_limit(v, EXP_LIMIT);
    vd e = vd_exp(vd_neg(vd_of(v))), y = vd_inverse(vd_add(e, vd_set(1.0)));
    *o = vf_of(y);
    return vd_open(y) | vf_between(v, -EXP_LIMIT, -EXP_NORMAL);
}

/* 1 - 2 / (e + 1) has an absolute error, so both of its ends are rounded. */
static inline __attribute__((always_inline)) unsigned quick_tanh(vf v, vf *o)
{
    const vd error = vd_set(0x1p-40), third = vd_set(1.0 / 3.0);
    vd w = vd_of(v), a = vd_abs(w), e = vd_exp(vd_min(vd_set(160.0), vd_add(a, a)));
    vd big = vd_fnma(vd_set(2.0), vd_inverse(vd_add(e, vd_set(1.0))), vd_set(1.0));
    vd small = vd_sub(a, vd_mul(vd_mul(vd_mul(a, a), a), third));
    unsigned few = vd_below(a, 0x1p-10);
    vf low = vf_of(vd_sub(big, error)), high = vf_of(vd_add(big, error));
    *o = vf_of(vd_sign_of(vd_choose(a, 0x1p-10, small, big), w));
    return vf_differ(low, high) & ~few;
}

static inline __attribute__((always_inline)) vd normal_tail(vd a, vd e)
{
    static const double c[] = { -0x1.6939f316be8f7p-20, -0x1.625c678d492cdp-18, 0x1.c6eb451cf4bdap-20, 0x1.27225e6395fbep-15,
                                -0x1.3a0e835ce23a3p-19, -0x1.e4e7b52a059d0p-13, 0x1.17d1c939ae78bp-13, 0x1.ab84e5cc0abc4p-10,
                                -0x1.c81753ba509b3p-9,  -0x1.ee2774302c901p-8,  0x1.eec4cc49f4f80p-5,  -0x1.7dff2bf83abe7p-3,
                                0x1.8c6dbf2d21c2bp-2,   -0x1.373e3a894200cp-1,  0x1.82b4bb8c94a96p-1 };
    vd inv = vd_inverse(vd_add(a, vd_set(4.0))), u = vd_mul(vd_sub(a, vd_set(4.0)), inv), p = vd_set(c[0]);
#pragma GCC unroll 16
    for (unsigned i = 1; i < sizeof(c) / sizeof(c[0]); i++)
        p = vd_fma(p, u, vd_set(c[i]));
    return vd_mul(vd_mul(p, inv), e);
}

static inline __attribute__((always_inline)) unsigned quick_gelu(vf v, vf *o)
{
    vd w = vd_max(vd_set(-GELU_LIMIT), vd_of(v)), a = vd_min(vd_set(GELU_LIMIT), vd_abs(w));
    vd tail = normal_tail(a, vd_exp(vd_mul(vd_mul(a, a), vd_set(-0.5))));
    vd y = vd_mul(w, vd_choose(w, 0.0, tail, vd_sub(vd_set(1.0), tail)));
    *o = vf_of(y);
    return vd_open(y) | vf_between(v, -GELU_LIMIT, -GELU_NORMAL) | vf_tiny(v);
}

/* Never open: the steps of the definition. A product with the nearest f64 to 1/6 and one correction give the quotient by 6
 * rounded once (Markstein). Limits keep infinities away: below -3 the result is -0 anyway, and 2^130 is infinity in f32. */
static inline __attribute__((always_inline)) unsigned quick_hard_swish(vf v, vf *o)
{
    const vd sixth = vd_set(1.0 / 6.0), six = vd_set(6.0);
    vd x = vd_min(vd_set(0x1p130), vd_max(vd_set(-4.0), vd_of(v)));
    vd a = vd_mul(x, vd_min(six, vd_max(vd_set(0.0), vd_add(x, vd_set(3.0))))), q = vd_mul(a, sixth);
    *o = vf_of(vd_fnma(vd_fms(six, q, a), sixth, q)); /* in this order zeros keep their sign */
    return 0;
}

static inline __attribute__((always_inline)) unsigned quick_vector(const enum quick_fn f, vf v, vf *o)
{
    return f == QUICK_EXP       ? quick_exp(v, o)
           : f == QUICK_SIGMOID ? quick_sigmoid(v, o)
           : f == QUICK_TANH    ? quick_tanh(v, o)
           : f == QUICK_GELU    ? quick_gelu(v, o)
                                : quick_hard_swish(v, o);
}

/* Two vectors, whose steps the processor takes in turns. */
static inline __attribute__((always_inline)) void quick_pair(const enum quick_fn f, const float *x, float *o)
{
    vf low, high;
    unsigned open = quick_vector(f, vf_load(x), &low) | quick_vector(f, vf_load(x + VD_LANES), &high);
    if (__builtin_expect(open, 0)) {
        quick_ref(f, x, o, PAIR);
        return;
    }
    vf_store(o, low);
    vf_store(o + VD_LANES, high);
}
