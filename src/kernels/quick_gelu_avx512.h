/* SPDX-License-Identifier: Apache-2.0 */
/* Gelu of eight doubles without exp and division, for most numbers: behind quick_body.h.
 *
 * The tail of the normal distribution from 0 to 5.8 is sixteen polynomials, around multiples of 3/8, within 2^-39 of it;
 * coefficients are found by permutations. Vectors with anything beyond that, and those that are left open, go the usual
 * way. */
/* Coefficient i of polynomial j. */
static const double tail_parts[12][16] = {
    { 0.5, 0x1.6a527901e8243p-2, 0x1.d0220056b3a4ep-3, 0x1.0ad7da0f9b0b8p-3, 0x1.11a46d89647efp-4, 0x1.f20394ecbf67bp-6,
      0x1.90924f21d3613p-7, 0x1.1bee6c07df147p-8, 0x1.61de1f985b5d6p-10, 0x1.8301be4097abdp-12, 0x1.72d9564b2dcddp-14,
      0x1.36feaecd8d1e8p-16, 0x1.c80728dd3b063p-19, 0x1.241499db1b246p-21, 0x1.46a16cd7b7538p-24, 0x1.3eb34524704a7p-27 },
    { -0x1.9884533d43651p-2, -0x1.7cc794ec16300p-2, -0x1.345d5efad3415p-2, -0x1.b1ec620324775p-3, -0x1.0940856d21e84p-3,
      -0x1.19bfa3516daddp-4, -0x1.0402dfd3dc1a2p-5, -0x1.a0f22be9d3248p-7, -0x1.227213fd77689p-8, -0x1.5f90f6ce87b37p-10,
      -0x1.71b92ecaaa790p-12, -0x1.51cfa5ec5ce7cp-14, -0x1.0c29a533d0bc6p-16, -0x1.71e57773b0b58p-19, -0x1.bb4a8be266cedp-22,
      -0x1.cd8ea2b41efadp-25 },
    { 0x1.3f7ee4d59dcbap-154, 0x1.1d95afb110902p-4, 0x1.ce8c0e783cd74p-4, 0x1.e829ee43890fep-4, 0x1.8de0c823b2e83p-4,
      0x1.0823a91c56d30p-4, 0x1.24833bce5791bp-5, 0x1.119eecd172850p-6, 0x1.b3ab1dfc332c1p-8, 0x1.28a2503e42aa7p-9,
      0x1.5a9d9bddfffedp-11, 0x1.5c5e231bbf78ep-13, 0x1.2daed9da4990ap-15, 0x1.c2cfa994fc792p-18, 0x1.22e8ebcc94607p-20,
      0x1.44884a66b6bb4p-23 },
    { 0x1.1058377e2ce86p-4, 0x1.b44f5aa3d969bp-5, 0x1.67c24424a132cp-6, -0x1.335cc56ce468ap-7, -0x1.ba1633b5e3349p-6,
      -0x1.d8840f3b3aa4ap-6, -0x1.601939c43a0e4p-6, -0x1.99586c723a98bp-7, -0x1.8342c551f484dp-8, -0x1.306a85b4d4dacp-9,
      -0x1.927594449c531p-11, -0x1.c2dacd1d20117p-13, -0x1.ae2d79031ea7cp-15, -0x1.5edf2a243ce54p-17, -0x1.ea9f2c273cc99p-20,
      -0x1.26a2225c7b7f6p-22 },
    { -0x1.33eab1a2c6946p-147, -0x1.1032ab745cb3dp-6, -0x1.77d1cbc17a2dap-6, -0x1.1a383dbf3d3b7p-6, -0x1.8de0c824a6cb2p-8,
      0x1.6b310886f4cccp-9, 0x1.9234723c31d4bp-8, 0x1.62da1b1fd954ep-8, 0x1.b3ab1dfc0b932p-9, 0x1.9ed2fc36a17aap-10,
      0x1.3f894bb06d0d1p-11, 0x1.96e1f301d8c83p-13, 0x1.b1ab592b6e906p-15, 0x1.860ead3c4a55ap-17, 0x1.29ba6152c7b1dp-19,
      0x1.8348a4be82b42p-22 },
    { -0x1.46d042972ec30p-7, -0x1.b9e99fbb151f3p-8, 0x1.345d5eefa3c4ep-13, 0x1.5a34d932c75a7p-8, 0x1.809d8e44c7939p-8,
      0x1.aed27be1a26f9p-9, 0x1.e4455a7aa9ea1p-12, -0x1.fbf307401e323p-11, -0x1.227213fd9964dp-10, -0x1.795ceaaa89e76p-11,
      -0x1.669111da907a0p-12, -0x1.0c0cc9b64cb9dp-13, -0x1.45c697b232170p-15, -0x1.47acd5c77197bp-17, -0x1.13d15c7ba422cp-19,
      -0x1.877fcdd3e07d4p-22 },
    { 0x1.d115c073797a2p-142, 0x1.599560ca704b5p-9, 0x1.8e770cb66067ep-9, 0x1.5669f3600e0efp-10, -0x1.58d3dd0a17879p-11,
      -0x1.6e1d6d8e64ad5p-10, -0x1.03e8e0707e7c8p-10, -0x1.388fd9784f76ap-12, 0x1.d0b688baa4fbfp-14, 0x1.96966b05d0694p-13,
      0x1.15c9fb2f82513p-13, 0x1.04110fdf51401p-14, 0x1.7504b925aab2fp-16, 0x1.ac74efaf1c7a3p-18, 0x1.93497ba61657dp-20,
      0x1.3b648d00f59ccp-22 },
    { 0x1.37403e8e3eaa8p-10, 0x1.5ad0c5b29b325p-11, -0x1.67e57f5c9b6c1p-12, -0x1.b7c8311301202p-11, -0x1.2468a71cffd28p-11,
      -0x1.20a75cf8210c7p-16, 0x1.1484acfbab9e0p-12, 0x1.dc4d54353d824p-13, 0x1.62112a714568ep-14, -0x1.0562deb0003a2p-17,
      -0x1.fb8a432feb538p-16, -0x1.65ba851e6db49p-16, -0x1.4476bfb75c047p-17, -0x1.b8be4aac652bbp-19, -0x1.d996b60971b65p-21,
      -0x1.9daac2807cf19p-23 },
    { -0x1.637b544e5e96ep-137, -0x1.48b7d9bf40faap-12, -0x1.33cbb1fceb85fp-12, -0x1.710a86287d5cap-16, 0x1.6f13e83650f14p-13,
      0x1.4244f7721d07bp-13, 0x1.0cfa128af948bp-15, -0x1.653998d044d0bp-15, -0x1.6d22b46847970p-15, -0x1.2560e7b75c418p-16,
      -0x1.96393537b3823p-27, 0x1.23fe01e85ba88p-18, 0x1.9a52f077cd0d2p-19, 0x1.61899cabd7e81p-20, 0x1.c0befb69c8652p-22,
      0x1.be88936288a00p-24 },
    { -0x1.e42815d19aaf2p-14, -0x1.ade8c361b47a9p-15, 0x1.e51a3ed0f802fp-15, 0x1.6193b10c03353p-14, 0x1.a446ee47e7526p-16,
      -0x1.fd0887dc091ffp-16, -0x1.1a4ec642bf832p-15, -0x1.44279ee1e2fdfp-17, 0x1.a6e6615f38185p-18, 0x1.eae1a8e36eb74p-18,
      0x1.8b6ab584fb1cbp-19, 0x1.529a2241fef1bp-24, -0x1.3be972d48f952p-21, -0x1.a731a64a198eep-22, -0x1.535eb35833d2ep-23,
      -0x1.8d50b0f780745p-25 },
    { 0x1.e3850d4bf3fb1p-134, 0x1.ef9e3c7bc9f58p-16, 0x1.6ac567945548bp-16, -0x1.f1350c29efffdp-18, -0x1.41a111fdab3e2p-16,
      -0x1.0b6c43c9a17b0p-17, 0x1.3804325781919p-18, 0x1.a5edfe10e5e29p-18, 0x1.0b256f99c9636p-19, -0x1.e1ef74ce22b52p-21,
      -0x1.27196735a1fb6p-20, -0x1.c46efb4d1c3e2p-22, -0x1.3223403d2f322p-27, 0x1.4002ca469576ap-24, 0x1.89f1cd7d92c70p-25,
      0x1.21f989a189be4p-26 },
    { 0x1.3a901619c8331p-17, 0x1.a84add0b6ed5ep-19, -0x1.9d7a139ff41a0p-18, -0x1.98d8b85e2acf6p-18, 0x1.2e8084dd9270fp-21,
      0x1.ffb7514be7da6p-19, 0x1.dfaabbd69988fp-20, -0x1.7b00f014f2654p-21, -0x1.19e3e937f3665p-20, -0x1.577a04ac6c0cap-22,
      0x1.1d8cf6e052d67p-23, 0x1.42d06405cccf1p-23, 0x1.b8886e0a527fcp-25, -0x1.bb1000b659de8p-31, -0x1.316d6cd2eccb6p-27,
      -0x1.4a0f5f9ee90eap-28 },
};

/* From 2^-124 (halves of what is below are subnormal) to 5.8125, whatever the sign: one comparison of bits. */
static inline unsigned tail_beyond(vf v)
{
    const __m256i bits = _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fffffff));
    return _mm256_cmpge_epu32_mask(_mm256_sub_epi32(bits, _mm256_set1_epi32(0x01800000)),
                                   _mm256_set1_epi32(0x40ba0000 - 0x01800000));
}

/* Two vectors at once, so that each coefficient is loaded once. */
static inline __attribute__((always_inline)) void gelu_pair(const float *x, float *o)
{
    const vd magic = vd_set(0x1.8p52);
    vf v[2];
    vd w[2], d[2], p[2];
    __m512i j[2];
    unsigned open = 0;
#pragma GCC unroll 2
    for (int k = 0; k < 2; k++) {
        v[k] = vf_load(x + k * VD_LANES);
        w[k] = vd_of(v[k]);
        const vd a = vd_abs(w[k]), t = vd_fma(a, vd_set(8.0 / 3.0), magic);
        d[k] = vd_fnma(vd_sub(t, magic), vd_set(0.375), a);
        j[k] = _mm512_castpd_si512(t);
    }
#pragma GCC unroll 12
    for (int i = 11; i >= 0; i--) {
        const vd low = _mm512_loadu_pd(tail_parts[i]), high = _mm512_loadu_pd(tail_parts[i] + 8);
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++) {
            const vd c = _mm512_permutex2var_pd(low, j[k], high);
            p[k] = i == 11 ? c : vd_fma(p[k], d[k], c);
        }
    }
#pragma GCC unroll 2
    for (int k = 0; k < 2; k++) {
        const __mmask8 above = (__mmask8)~_mm512_movepi64_mask(_mm512_castpd_si512(w[k]));
        const vd y = vd_mul(w[k], _mm512_mask_sub_pd(p[k], above, vd_set(1.0), p[k]));
        open |= vd_open(y) | tail_beyond(v[k]);
        v[k] = vf_of(y);
    }
    if (__builtin_expect(open, 0)) {
        quick_pair(QUICK_GELU, x, o);
        return;
    }
    vf_store(o, v[0]);
    vf_store(o + VD_LANES, v[1]);
}
