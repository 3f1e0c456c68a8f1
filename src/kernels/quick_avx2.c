/* SPDX-License-Identifier: Apache-2.0 */
/* See quick.h: four doubles at a time. */
#define KERNEL_ISA avx2
#include "kernels/quick.h"

#include <immintrin.h>

enum { VD_LANES = 4 };
typedef __m256d vd;
typedef __m128 vf;

#define vf_load(p) _mm_loadu_ps(p)
#define vf_store(p, v) _mm_storeu_ps(p, v)
#define vd_of(v) _mm256_cvtps_pd(v)
#define vf_of(v) _mm256_cvtpd_ps(v)
#define vd_set(x) _mm256_set1_pd(x)
#define vd_add(a, b) _mm256_add_pd(a, b)
#define vd_sub(a, b) _mm256_sub_pd(a, b)
#define vd_mul(a, b) _mm256_mul_pd(a, b)
#define vd_fma(a, b, c) _mm256_fmadd_pd(a, b, c)
#define vd_fnma(a, b, c) _mm256_fnmadd_pd(a, b, c)
#define vd_fms(a, b, c) _mm256_fmsub_pd(a, b, c)
#define vd_min(a, b) _mm256_min_pd(a, b) /* the second operand when one is NaN */
#define vd_max(a, b) _mm256_max_pd(a, b)
#define vd_abs(a) _mm256_andnot_pd(_mm256_set1_pd(-0.0), a)
#define vd_neg(a) _mm256_xor_pd(a, _mm256_set1_pd(-0.0))
#define vd_sign_of(a, s) _mm256_or_pd(a, _mm256_and_pd(s, _mm256_set1_pd(-0.0)))
#define vd_below(a, limit) ((unsigned)_mm256_movemask_pd(_mm256_cmp_pd(a, _mm256_set1_pd(limit), _CMP_LT_OQ)))
#define vd_choose(a, limit, yes, no) _mm256_blendv_pd(no, yes, _mm256_cmp_pd(a, _mm256_set1_pd(limit), _CMP_LT_OQ))
#define vf_differ(a, b) ((unsigned)_mm_movemask_ps(_mm_cmpneq_ps(a, b)))
#define vd_inverse(d) _mm256_div_pd(_mm256_set1_pd(1.0), d)

static inline vf vf_limit(vf v, float limit)
{
    return _mm_min_ps(_mm_set1_ps(limit), _mm_max_ps(_mm_set1_ps(-limit), v));
}

static inline unsigned vf_between(vf v, float low, float high)
{
    return (unsigned)_mm_movemask_ps(_mm_and_ps(_mm_cmpgt_ps(v, _mm_set1_ps(low)), _mm_cmplt_ps(v, _mm_set1_ps(high))));
}

/* Halves of such numbers are subnormal. */
static inline unsigned vf_tiny(vf v)
{
    return vf_between(_mm_andnot_ps(_mm_set1_ps(-0.0f), v), 0.0f, 0x1p-124f);
}

/* Within 2^-38 of the middle between two f32 numbers. 29 bits are lost on the way to f32. */
static inline unsigned vd_open(vd y)
{
    const __m256i near = _mm256_add_epi64(_mm256_castpd_si256(y), _mm256_set1_epi64x(0x8000 - 0x10000000));
    const __m256i middle =
        _mm256_cmpeq_epi64(_mm256_and_si256(near, _mm256_set1_epi64x(0x1fff0000)), _mm256_setzero_si256());
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(middle));
}

/* x = k ln2 + r; the low bits of t are k. */
static inline vd vd_exp(vd x)
{
    const vd magic = vd_set(0x1.8p52), t = vd_fma(x, vd_set(0x1.71547652b82fep+0), magic), k = vd_sub(t, magic);
    const vd r = vd_fnma(k, vd_set(0x1.abc9e3b39803fp-56), vd_fnma(k, vd_set(0x1.62e42fefa39efp-1), x)), r2 = vd_mul(r, r),
             r4 = vd_mul(r2, r2);
    const vd a = vd_fma(r, vd_set(0x1.5555555554f96p-3), vd_set(0x1.fffffffffe062p-2)),
             b = vd_fma(r, vd_set(0x1.111111170bc08p-7), vd_set(0x1.55555565c7e0ep-5));
    const vd c = vd_fma(r, vd_set(0x1.a019c36bc053cp-13), vd_set(0x1.6c166bde96885p-10)),
             d = vd_fma(r, vd_set(0x1.72ad458027fbcp-19), vd_set(0x1.a136bf03ec612p-16));
    const vd p = vd_fma(r2, vd_fma(r4, vd_fma(r2, d, c), vd_fma(r2, b, a)), r);
    const vd power = _mm256_castsi256_pd(
        _mm256_add_epi64(_mm256_castpd_si256(vd_set(1.0)), _mm256_slli_epi64(_mm256_castpd_si256(t), 52)));
    return vd_fma(power, p, power);
}

#include "kernels/quick_body.h"

#define quick_step quick_pair
#include "kernels/quick_walk.h"

/* A maximum is its second operand when the first is NaN. */
float quick_most_avx2(const float *x, uint32_t n)
{
    __m256 low = _mm256_set1_ps(-__builtin_inff()), high = low;
    float lane[8], most;
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16) {
        low = _mm256_max_ps(_mm256_loadu_ps(x + i), low);
        high = _mm256_max_ps(_mm256_loadu_ps(x + i + 8), high);
    }
    _mm256_storeu_ps(lane, _mm256_max_ps(low, high));
    most = quick_most_ref(lane, 8);
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

#include "kernels/quick_runs.h"
