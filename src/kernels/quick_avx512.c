/* SPDX-License-Identifier: Apache-2.0 */
/* See quick.h: eight doubles at a time. */
#define KERNEL_ISA avx512
#include "kernels/quick.h"

#include <immintrin.h>

enum { VD_LANES = 8 };
typedef __m512d vd;
typedef __m256 vf;

#define vf_load(p) _mm256_loadu_ps(p)
#define vf_store(p, v) _mm256_storeu_ps(p, v)
#define vd_of(v) _mm512_cvtps_pd(v)
#define vf_of(v) _mm512_cvtpd_ps(v)
#define vd_set(x) _mm512_set1_pd(x)
#define vd_add(a, b) _mm512_add_pd(a, b)
#define vd_sub(a, b) _mm512_sub_pd(a, b)
#define vd_mul(a, b) _mm512_mul_pd(a, b)
#define vd_fma(a, b, c) _mm512_fmadd_pd(a, b, c)
#define vd_fnma(a, b, c) _mm512_fnmadd_pd(a, b, c)
#define vd_fms(a, b, c) _mm512_fmsub_pd(a, b, c)
#define vd_min(a, b) _mm512_min_pd(a, b) /* the second operand when one is NaN */
#define vd_max(a, b) _mm512_max_pd(a, b)
#define vd_abs(a) _mm512_abs_pd(a)
#define vd_neg(a) _mm512_xor_pd(a, _mm512_set1_pd(-0.0))
#define vd_sign_of(a, s) _mm512_or_pd(a, _mm512_and_pd(s, _mm512_set1_pd(-0.0)))
#define vd_below(a, limit) ((unsigned)_mm512_cmp_pd_mask(a, _mm512_set1_pd(limit), _CMP_LT_OQ))
#define vd_choose(a, limit, yes, no) _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, _mm512_set1_pd(limit), _CMP_LT_OQ), no, yes)
#define vf_differ(a, b) ((unsigned)_mm256_cmp_ps_mask(a, b, _CMP_NEQ_UQ))

static inline vf vf_limit(vf v, float limit)
{
    return _mm256_min_ps(_mm256_set1_ps(limit), _mm256_max_ps(_mm256_set1_ps(-limit), v));
}

static inline unsigned vf_between(vf v, float low, float high)
{
    return _mm256_mask_cmp_ps_mask(_mm256_cmp_ps_mask(v, _mm256_set1_ps(low), _CMP_GT_OQ), v, _mm256_set1_ps(high),
                                   _CMP_LT_OQ);
}

/* Halves of such numbers are subnormal. */
static inline unsigned vf_tiny(vf v)
{
    const __m256 a = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
    return vf_between(a, 0.0f, 0x1p-124f);
}

/* Within 2^-38 of the middle between two f32 numbers. 29 bits are lost on the way to f32. */
static inline unsigned vd_open(vd y)
{
    const __m512i near = _mm512_add_epi64(_mm512_castpd_si512(y), _mm512_set1_epi64(0x8000 - 0x10000000));
    return _mm512_testn_epi64_mask(near, _mm512_set1_epi64(0x1fff0000));
}

/* From 14 bits to 42. */
static inline vd vd_inverse(vd d)
{
    const vd r = _mm512_rcp14_pd(d), e = _mm512_fnmadd_pd(d, r, vd_set(1.0));
    return _mm512_fmadd_pd(r, _mm512_fmadd_pd(e, e, e), r);
}

/* x = (k / 16) ln2 + r. The low bits of t are k; the table has 2^(j/16) less j in the exponent's lowest bits, so that k is
 * added as it is. */
static inline vd vd_exp(vd x)
{
    const __m512i low = _mm512_set_epi64(0x3feeab07dd485429, 0x3feebfdad5362a27, 0x3feedea64c123422, 0x3fef06fe0a31b715,
                                         0x3fef387a6e756238, 0x3fef72b83c7d517b, 0x3fefb5586cf9890f, 0x3ff0000000000000);
    const __m512i high = _mm512_set_epi64(0x3fefa4afa2a490da, 0x3fef5818dcfba487, 0x3fef199bdd85529c, 0x3feee89f995ad3ad,
                                          0x3feec49182a3f090, 0x3feeace5422aa0db, 0x3feea11473eb0187, 0x3feea09e667f3bcd);
    const vd magic = vd_set(0x1.8p52), t = vd_fma(x, vd_set(0x1.71547652b82fep+4), magic);
    const vd r = vd_fnma(vd_sub(t, magic), vd_set(0x1.62e42fefa39efp-5), x);
    const __m512i k = _mm512_castpd_si512(t), entry = _mm512_permutex2var_epi64(low, k, high);
    const vd power = _mm512_castsi512_pd(_mm512_add_epi64(entry, _mm512_slli_epi64(k, 48)));
    const vd even = vd_fma(r, vd_set(0x1.555555552549dp-3), vd_set(0x1.ffffffff57d7ap-2));
    const vd odd = vd_fma(r, vd_set(0x1.1111d90669f41p-7), vd_set(0x1.5556b342d640ep-5));
    const vd r2 = vd_mul(r, r), p = vd_fma(r2, vd_fma(r2, odd, even), r);
    return vd_fma(power, p, power);
}

#include "kernels/quick_body.h"

#include "kernels/quick_floats_avx512.h"
#include "kernels/quick_gelu_avx512.h"

/* PAIR results. */
static inline __attribute__((always_inline)) void quick_step(const enum quick_fn f, const float *x, float *o)
{
    if (f == QUICK_EXP)
        _mm512_storeu_ps(o, floats_exp(_mm512_loadu_ps(x)));
    else if (f == QUICK_GELU)
        gelu_pair(x, o);
    else
        quick_pair(f, x, o);
}

#include "kernels/quick_walk.h"
