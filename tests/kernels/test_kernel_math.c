/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that all kernels share: math_exp and the normal distribution against the C library in extended precision,
 * functions in vectors against their definition, f16 against the compiler's own type, rounding and clamping against their
 * definitions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "kernels/kernel_util.h"
#include "kernels/math.h"
#include "kernels/quick.h"
#include "test_scale.h"

static unsigned failed;

#define EXPECT(cond, ...)                \
    do {                                 \
        if (!(cond) && failed++ < 20) {  \
            printf("FAIL: %s: ", #cond); \
            printf(__VA_ARGS__);         \
            printf("\n");                \
        }                                \
    } while (0)

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1du;
}

static void check_exp(double x)
{
    double got = math_exp(x);
    long double want = expl((long double)x);
    if (want > 1.7976931348623157e308L)
        EXPECT(got == INFINITY, "exp(%a) = %a", x, got);
    else if (want < 2.2250738585072014e-308L)
        EXPECT(fabsl((long double)got - want) <= 5e-324L, "exp(%a) = %a", x, got);
    else
        EXPECT(fabsl((long double)got / want - 1) < 0x1p-51L, "exp(%a) = %a, relative error %Lg", x, got,
               (long double)got / want - 1);
}

static void test_exp(void)
{
    static const double special[] = { 0.0,    -0.0, 1,    -1,     709.78,  709.79,  710,     1e9,
                                      -745.1, -746, -1e9, -708.4, 0x1p-60, 0.34657, -0.34658 };
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        check_exp(special[i]);
    EXPECT(math_exp(0.0) == 1.0, "%a", math_exp(0.0));
    EXPECT(math_exp(INFINITY) == INFINITY && math_exp(-INFINITY) == 0, "infinities");
    EXPECT(isnan(math_exp(NAN)), "NaN");
    for (unsigned i = 0, n = test_scale(2000000); i < n; i++)
        check_exp(((double)(int64_t)next() * 0x1p-63) * (i % 2 ? 750 : 2));
}

static void check_tail(double a)
{
    double got = math_normal_tail(a, (double)expl(-0.5L * (long double)a * (long double)a));
    long double want = 0.5L * erfcl((long double)a * 0.707106781186547524400844362104849039L);
    EXPECT(fabsl((long double)got / want - 1) < 0x1p-49L, "tail(%a) = %a, relative error %Lg", a, got,
           (long double)got / want - 1);
}

static void test_tail(void)
{
    for (unsigned i = 0, n = test_scale(300000); i < n; i++)
        check_tail((double)(next() >> 11) * 0x1p-53 * (i % 2 ? 37 : 4));
    EXPECT(math_normal_tail(0.0, 1.0) > 0.5 - 0x1p-51 && math_normal_tail(0.0, 1.0) < 0.5 + 0x1p-51, "%a",
           math_normal_tail(0.0, 1.0));
    EXPECT(math_normal_tail(math_normal_limit(INFINITY), 0.0) == 0.0, "infinity");
    EXPECT(isnan(math_normal_tail(math_normal_limit(NAN), NAN)), "NaN");
}

/* The vector versions of kernels/quick.h against the definition: all of f32 in steps, and what lies around the ends of its
 * ways. */
static void check_quick(void (*fn)(enum quick_fn, const float *, float *, uint32_t), enum quick_fn f, float *x, uint32_t n)
{
    float want[256], got[256];
    quick_ref(f, x, want, n);
    fn(f, x, got, n);
    for (uint32_t i = 0; i < n; i++)
        EXPECT(ku_bits_f32(got[i]) == ku_bits_f32(want[i]) || (isnan(got[i]) && isnan(want[i])),
               "function %d of %a: %a, not %a", (int)f, (double)x[i], (double)got[i], (double)want[i]);
    fn(f, x, x, n);
    EXPECT(!memcmp(x, got, n * sizeof *x), "function %d in place", (int)f);
}

static void test_quick(void (*fn)(enum quick_fn, const float *, float *, uint32_t))
{
    static const float ends[] = { 0.0f,  -0.0f, 0x1p-149f, 0x1p-126f, 0x1p-124f, 0x1p-10f, 3.0f,     12.5f,    16.0f,
                                  45.0f, 87.0f, 88.72f,    103.97f,   104.5f,    160.0f,   0x1p127f, INFINITY, NAN };
    float x[256];
    for (int f = QUICK_EXP; f <= QUICK_HARD_SWISH; f++) {
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
            for (uint32_t i = 0; i < 256; i++)
                x[i] = ku_f32_bits((ku_bits_f32(ends[e]) + i / 2 - 64) | (i % 2 ? 0x80000000u : 0));
            check_quick(fn, (enum quick_fn)f, x, 1 + (uint32_t)e * 13);
        }
        for (unsigned k = 0, n = test_scale(4000); k < n; k++) {
            for (uint32_t i = 0; i < 256; i++)
                x[i] = -75.0f - 30.0f * (float)((double)(next() >> 11) * 0x1p-53);
            check_quick(fn, (enum quick_fn)f, x, 256);
            for (uint32_t i = 0; i < 256; i++)
                x[i] = k % 2 ? ku_f32_bits((uint32_t)next()) : (float)((double)(int64_t)next() * 0x1p-59);
            check_quick(fn, (enum quick_fn)f, x, 256);
        }
    }
}

/* What softmax makes of exp, against plain loops in C. Numbers that are shared out are ordinary ones, zero, tiny or of any
 * bits, and so is the whole. */
struct quick_runs {
    float (*most)(const float *x, uint32_t n);
    void (*exps)(const float *x, float *o, uint32_t n, float most, float beta, float lanes[16]);
    void (*shares)(const float *x, float *o, uint32_t n, float all);
};

static bool same_floats(const float *a, const float *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (ku_bits_f32(a[i]) != ku_bits_f32(b[i]) && !(isnan(a[i]) && isnan(b[i])))
            return false;
    return true;
}

static float any_float(unsigned kind)
{
    const float v = (float)((double)(next() >> 11) * 0x1p-53);
    return kind == 0 ? v : kind == 1 ? ldexpf(v, -(int)(next() % 150)) : kind == 2 ? 0.0f : ku_f32_bits((uint32_t)next());
}

static void check_exps(const struct quick_runs *r, const float *x, uint32_t n)
{
    float want[200], got[201], sum[16], lanes[16], most = -INFINITY;
    const float beta = next() % 3 ? 1.0f : 0.3f;
    for (uint32_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    const float seen = r->most(x, n);
    EXPECT(seen == most, "largest of %u: %a, not %a", n, (double)seen, (double)most);
    for (uint32_t i = 0; i < n; i++)
        want[i] = (float)math_exp((double)(beta * (x[i] - most)));
    for (uint32_t j = 0; j < 16; j++)
        sum[j] = lanes[j] = (float)j;
    for (uint32_t i = 0; i < n; i++)
        sum[i % 16] += want[i];
    got[n] = -7.0f;
    r->exps(x, got, n, most, beta, lanes);
    EXPECT(same_floats(got, want, n) && same_floats(lanes, sum, 16), "exponentials of %u", n);
    EXPECT(got[n] == -7.0f, "written behind %u", n);
}

static void check_shares(const struct quick_runs *r, const float *x, uint32_t n, float all)
{
    float want[200], got[201];
    for (uint32_t i = 0; i < n; i++)
        want[i] = x[i] / all;
    got[n] = -7.0f;
    r->shares(x, got, n, all);
    EXPECT(same_floats(got, want, n), "shares of %a among %u", (double)all, n);
    EXPECT(got[n] == -7.0f, "written behind %u", n);
}

static void test_runs(const struct quick_runs *r)
{
    float x[200];
    for (unsigned k = 0, rounds = test_scale(60000); k < rounds; k++) {
        const uint32_t n = 1 + (uint32_t)(next() % 199);
        for (uint32_t i = 0; i < n; i++)
            x[i] = any_float(k % 4 == 3 ? 3 : (unsigned)(next() % (k % 4 + 1)));
        check_shares(r, x, n, k % 8 == 7 ? any_float(3) : 1.0f + 500.0f * any_float(0));
        for (uint32_t i = 0; i < n; i++)
            x[i] = k % 8 == 7 ? ku_f32_bits((uint32_t)next()) : x[i] * (k % 2 ? 20.0f : 200.0f);
        check_exps(r, x, n);
    }
}

static uint16_t half_bits(_Float16 h)
{
    uint16_t u;
    memcpy(&u, &h, 2);
    return u;
}

static void test_half(void)
{
    for (uint32_t u = 0; u < 65536; u++) {
        uint16_t bits = (uint16_t)u;
        _Float16 h;
        memcpy(&h, &bits, 2);
        float want = (float)h, got = ku_f16_to_f32(bits);
        EXPECT(ku_bits_f32(got) == ku_bits_f32(want) || (isnan(got) && isnan(want)), "f16 %04x -> %a, not %a", u,
               (double)got, (double)want);
        EXPECT(isnan(want) || ku_f32_to_f16(want) == bits, "f16 %04x is not kept", u);
    }
    for (unsigned i = 0, n = test_scale(4000000); i < n; i++) {
        uint32_t bits = (uint32_t)next();
        if (i % 2) /* around the f16 range, where ties are */
            bits = (bits & 0x80001fffu) | ((uint32_t)(90 + next() % 60) << 23) | ((uint32_t)(next() & 0x3ff) << 13);
        if (i % 4 == 1)
            bits = (bits & ~0xfffu) | 0x1000;
        float f = ku_f32_bits(bits);
        uint16_t want = half_bits((_Float16)f), got = ku_f32_to_f16(f);
        EXPECT(got == want || isnan(f), "f32 %a -> %04x, not %04x", (double)f, got, want);
    }
}

static void test_rounding(void)
{
    EXPECT(ku_rne(0.5f) == 0 && ku_rne(1.5f) == 2 && ku_rne(-2.5f) == -2, "ties");
    EXPECT(ku_rne(NAN) == 0 && ku_rne(INFINITY) == INT64_MAX && ku_rne(-INFINITY) == INT64_MIN, "ends");
    EXPECT(ku_requant(INT64_MAX, 1e30f, INT32_MIN, -128, 127) == 127, "saturates high");
    EXPECT(ku_requant(INT64_MIN, 1e30f, INT32_MAX, -128, 127) == -128, "saturates low");
    EXPECT(ku_requant((1 << 24) + 1, 1.0f, 0, INT64_MIN, INT64_MAX) == 1 << 24, "(float)acc rounds to even");
    EXPECT(ku_quantize(NAN, 1.0f, -7, 0, 255) == 7, "NaN is real 0");
    EXPECT(ku_narrow(0x0f, 4, true) == -1 && ku_narrow(-1, 4, true) == -1 && ku_narrow(0x0f, 4, false) == 15,
           "narrow values");
    struct quant q = { .kind = Q_TENSOR, .scale = 0.1f, .offset = -10 };
    struct op_post relu6 = { 0, 6 }, none = { -INFINITY, INFINITY };
    struct ku_range r = ku_post_range(DT_UQ8, &q, &relu6);
    EXPECT(r.lo == 10 && r.hi == 70, "relu6 is %d … %d", (int)r.lo, (int)r.hi);
    r = ku_post_range(DT_UQ8, &q, &none);
    EXPECT(r.lo == 0 && r.hi == 255, "no clamp");
}

static void test_iterator(void)
{
    const uint32_t dims[3] = { 3, 4, 5 };
    const uint64_t strides[2][MAX_RANK] = { { 20, 5, 1 }, { 0, 7, 1 } };
    struct ku_iter it, from;
    ku_iter_start(&it, 3, dims, 2, strides, 0);
    for (uint32_t row = 0; row < 12; row++, ku_iter_next(&it)) {
        ku_iter_start(&from, 3, dims, 2, strides, row);
        EXPECT(it.at[0] == row * 5 && it.at[1] == row % 4 * 7, "row %u", row);
        EXPECT(from.at[0] == it.at[0] && from.at[1] == it.at[1], "start at row %u", row);
    }
}

int main(void)
{
    test_exp();
    test_tail();
    test_runs(&(struct quick_runs){ quick_most_ref, quick_exps_ref, quick_shares_ref });
    if (cpu_isa() >= ISA_AVX2)
        test_quick(quick_avx2), test_runs(&(struct quick_runs){ quick_most_avx2, quick_exps_avx2, quick_shares_avx2 });
    if (cpu_isa() >= ISA_AVX512)
        test_quick(quick_avx512),
            test_runs(&(struct quick_runs){ quick_most_avx512, quick_exps_avx512, quick_shares_avx512 });
    test_half();
    test_rounding();
    test_iterator();
    return failed ? 1 : 0;
}
