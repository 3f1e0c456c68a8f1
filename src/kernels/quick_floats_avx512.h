/* SPDX-License-Identifier: Apache-2.0 */
/* exp of sixteen floats at a time, and what softmax makes of it: behind quick_body.h.
 *
 * A number is the sum of two f32 here, of which the second is small: 2^(k/32) comes from two tables, and so does what the
 * polynomial misses by its rounding. All of it is within 2^-35 of exp. The lower end of that is rounded to f32, and so is
 * the upper one: where they differ, f64 decides (one vector in some hundred). */
#define FLOATS_ERROR 0x1p-34f /* from end to end; the second table is 2^-35 too low */
#define FLOATS_NORMAL 75.0f   /* beyond it the small part may be subnormal */

/* Tables by k mod 32: 2^(k/32) less k mod 32 in the exponent's lowest bits, so that k is added as it is; the part of it that
 * an f32 loses. */
static const uint32_t floats_power[32] = {
    0x3f800000, 0x3f7ecd87, 0x3f7daac3, 0x3f7c980f, 0x3f7b95c2, 0x3f7aa43a, 0x3f79c3d3, 0x3f78f4f0,
    0x3f7837f0, 0x3f778d3a, 0x3f76f532, 0x3f767043, 0x3f75fed7, 0x3f75a15b, 0x3f75583f, 0x3f7523f6,
    0x3f7504f3, 0x3f74fbaf, 0x3f7508a4, 0x3f752c4d, 0x3f75672a, 0x3f75b9be, 0x3f76248c, 0x3f76a81e,
    0x3f7744fd, 0x3f77fbb8, 0x3f78ccdf, 0x3f79b907, 0x3f7ac0c7, 0x3f7be4ba, 0x3f7d257d, 0x3f7e83b3,
};
static const float floats_lost[32] = {
    -0x1.000000p-35f, -0x1.94b414p-25f, 0x1.8d56d4p-25f,  -0x1.dde2fcp-25f, -0x1.9d0c22p-27f, -0x1.a33bb2p-25f,
    0x1.960904p-25f,  -0x1.2b4dbcp-25f, 0x1.121002p-25f,  -0x1.ce68cep-26f, 0x1.36cbe4p-25f,  0x1.2b6de2p-30f,
    -0x1.0a7550p-25f, -0x1.c5c1b4p-26f, -0x1.01d8acp-27f, -0x1.6cf284p-25f, 0x1.25855cp-26f,  0x1.8aabb8p-26f,
    -0x1.060b44p-25f, -0x1.1ca142p-26f, 0x1.65a1cap-28f,  -0x1.34ce56p-25f, 0x1.a1b5e4p-28f,  -0x1.0bbec8p-25f,
    -0x1.fac304p-27f, -0x1.e54886p-26f, -0x1.6b61b4p-28f, -0x1.b7151ep-28f, -0x1.a7217cp-28f, -0x1.abf132p-26f,
    0x1.5f428ep-28f,  -0x1.2bd5f8p-27f,
};

/* Sixteen numbers by way of f64. */
static __attribute__((noinline)) __m512 floats_exp_f64(__m512 x)
{
    float v[PAIR];
    _mm512_storeu_ps(v, x);
    quick_pair(QUICK_EXP, v, v);
    return _mm512_loadu_ps(v);
}

/* x = (k / 32) ln2 + r: the first step is exact, the rest of ln2 joins the small part. */
static inline __attribute__((always_inline)) __m512 floats_exp(__m512 x)
{
    const __m512 magic = _mm512_set1_ps(0x1.8p23f), t = _mm512_fmadd_ps(x, _mm512_set1_ps(0x1.715476p+5f), magic),
                 k = _mm512_sub_ps(t, magic), r = _mm512_fnmadd_ps(k, _mm512_set1_ps(0x1.62e430p-6f), x);
    const __m512i bits = _mm512_castps_si512(t), entry = _mm512_permutex2var_epi32(_mm512_loadu_si512(floats_power), bits,
                                                                                   _mm512_loadu_si512(floats_power + 16));
    const __m512 power = _mm512_castsi512_ps(_mm512_add_epi32(entry, _mm512_slli_epi32(bits, 18))),
                 lost = _mm512_permutex2var_ps(_mm512_loadu_ps(floats_lost), bits, _mm512_loadu_ps(floats_lost + 16)),
                 rest = _mm512_fmadd_ps(k, _mm512_set1_ps(0x1.05c610p-34f), lost);
    const __m512 p = _mm512_fmadd_ps(_mm512_fmadd_ps(r, _mm512_set1_ps(0x1.5555dap-5f), _mm512_set1_ps(0x1.5555c8p-3f)), r,
                                     _mm512_set1_ps(0.5f)),
                 q = _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, _mm512_fmadd_ps(rest, r, rest));
    const __m512 large = _mm512_fmadd_ps(power, r, power),
                 small = _mm512_fmadd_ps(power, q, _mm512_fmadd_ps(power, r, _mm512_sub_ps(power, large))),
                 high = _mm512_add_ps(large, _mm512_fmadd_ps(power, _mm512_set1_ps(FLOATS_ERROR), small));
    /* Below -EXP_LIMIT nothing is left; what is nearly as small, or infinite, is for f64. */
    const __mmask16 some = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-EXP_LIMIT), _CMP_NLE_UQ);
    const __m512 y = _mm512_maskz_add_ps(some, large, small);
    const __mmask16 open = _mm512_mask_cmp_ps_mask(some, y, high, _CMP_NEQ_UQ) |
                           _mm512_mask_cmp_ps_mask(some, _mm512_abs_ps(x), _mm512_set1_ps(FLOATS_NORMAL), _CMP_GT_OQ);
    return __builtin_expect(open, 0) ? floats_exp_f64(x) : y;
}

/* A maximum is its second operand when the first is NaN. */
float K(quick_most)(const float *x, uint32_t n)
{
    const __m512 least = _mm512_set1_ps(-__builtin_inff());
    __m512 m[4] = { least, least, least, least };
    uint32_t i = 0;
    for (; i + 64 <= n; i += 64)
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            m[j] = _mm512_max_ps(_mm512_loadu_ps(x + i + 16 * j), m[j]);
    for (; i < n; i += 16) {
        const __mmask16 some = (__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xffff);
        m[0] = _mm512_mask_max_ps(m[0], some, _mm512_maskz_loadu_ps(some, x + i), m[0]);
    }
    return _mm512_reduce_max_ps(_mm512_max_ps(_mm512_max_ps(m[0], m[1]), _mm512_max_ps(m[2], m[3])));
}

void K(quick_exps)(const float *x, float *o, uint32_t n, float most, float beta, float lanes[16])
{
    const __m512 m = _mm512_set1_ps(most), b = _mm512_set1_ps(beta);
    __m512 sum = _mm512_loadu_ps(lanes);
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512 e = floats_exp(_mm512_mul_ps(b, _mm512_sub_ps(_mm512_loadu_ps(x + i), m)));
        sum = _mm512_add_ps(sum, e);
        _mm512_storeu_ps(o + i, e);
    }
    if (i < n) {
        const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
        const __m512 v = _mm512_maskz_mul_ps(rest, b, _mm512_sub_ps(_mm512_maskz_loadu_ps(rest, x + i), m)),
                     e = floats_exp(v);
        sum = _mm512_mask_add_ps(sum, rest, sum, e);
        _mm512_mask_storeu_ps(o + i, rest, e);
    }
    _mm512_storeu_ps(lanes, sum);
}

/* A product with the reciprocal is within two steps of the quotient; a first correction brings it next to it, the second
 * one rounds it (Markstein). Remainders must not be subnormal. */
static inline __attribute__((always_inline)) __m512 floats_share(__m512 x, __m512 all, __m512 inverse)
{
    const __mmask16 tiny = _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(x, _mm512_set1_ps(0x1p-60f), _CMP_LT_OQ), x,
                                                   _mm512_setzero_ps(), _CMP_NEQ_OQ);
    const __m512 p = _mm512_mul_ps(x, inverse), q = _mm512_fmadd_ps(_mm512_fnmadd_ps(p, all, x), inverse, p),
                 y = _mm512_fmadd_ps(_mm512_fnmadd_ps(q, all, x), inverse, q);
    return __builtin_expect(tiny, 0) ? _mm512_div_ps(x, all) : y;
}

/* Numbers of 0 … 2^60 and their sum; anything else is divided. */
void K(quick_shares)(const float *x, float *o, uint32_t n, float all)
{
    const __m512 a = _mm512_set1_ps(all), inverse = _mm512_set1_ps(1.0f / all);
    const bool usual = all >= 0x1p-40f && all <= 0x1p60f;
    uint32_t i = 0;
    for (; usual && i + 16 <= n; i += 16)
        _mm512_storeu_ps(o + i, floats_share(_mm512_loadu_ps(x + i), a, inverse));
    for (; i < n; i += 16) {
        const __mmask16 rest = (__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xffff);
        _mm512_mask_storeu_ps(o + i, rest, _mm512_div_ps(_mm512_maskz_loadu_ps(rest, x + i), a));
    }
}
