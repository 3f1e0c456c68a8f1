/* SPDX-License-Identifier: Apache-2.0 */
/* test_products --bench: speed of every variant on layers of well-known networks, one thread. */
#include <immintrin.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "product_case.h"

/* ---- what this CPU can do --------------------------------------------------------------------------------------- */

enum { PEAK_CHAINS = 12, PEAK_LOOPS = 20000 };

/* The empty asm keeps the compiler from hoisting the multiplication or joining the chains. */
#define PEAK(name, isa, V, ZERO, OP)                                                   \
    __attribute__((target(isa), noinline)) static double name(int lanes)               \
    {                                                                                  \
        V acc[PEAK_CHAINS];                                                            \
        _Pragma("GCC unroll 16") for (int i = 0; i < PEAK_CHAINS; i++)                 \
            acc[i] = ZERO;                                                             \
        V x = ZERO, y = ZERO;                                                          \
        __asm__ volatile("" : "+v"(x), "+v"(y));                                       \
        uint64_t start = clock_ns();                                                   \
        for (int k = 0; k < PEAK_LOOPS; k++) {                                         \
            _Pragma("GCC unroll 64") for (int j = 0; j < 4 * PEAK_CHAINS; j++) {       \
                const int i = j % PEAK_CHAINS;                                         \
                acc[i] = OP;                                                           \
                __asm__ volatile("" : "+v"(acc[i]), "+v"(x));                          \
            }                                                                          \
        }                                                                              \
        return 2.0 * lanes * 4 * PEAK_CHAINS * PEAK_LOOPS / (double)(clock_ns() - start);  \
    }

PEAK(peak_f32_avx2, "avx2,fma", __m256, _mm256_setzero_ps(), _mm256_fmadd_ps(x, y, acc[i]))
PEAK(peak_f32_avx512, "avx512f", __m512, _mm512_setzero_ps(), _mm512_fmadd_ps(x, y, acc[i]))
PEAK(peak_i16_avx2, "avx2", __m256i, _mm256_setzero_si256(), _mm256_add_epi32(acc[i], _mm256_madd_epi16(x, y)))
PEAK(peak_i16_avx512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(), _mm512_dpwssd_epi32(acc[i], x, y))
PEAK(peak_i8_avx512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(), _mm512_dpbusd_epi32(acc[i], x, y))

/* Four sums, as kernels have them; the other tiles stay zero. */
static double peak_i8_amx(void)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } shape = { .palette = 1 };
    for (int i = 0; i < 8; i++)
        shape.rows[i] = 16, shape.row_bytes[i] = 64;
    __asm__ volatile("ldtilecfg %0" ::"m"(shape));
    uint64_t start = clock_ns();
    for (int k = 0; k < PEAK_LOOPS; k++)
        __asm__ volatile("tdpbusd %%tmm6, %%tmm4, %%tmm0\n\ttdpbusd %%tmm7, %%tmm4, %%tmm1\n\t"
                         "tdpbusd %%tmm6, %%tmm5, %%tmm2\n\ttdpbusd %%tmm7, %%tmm5, %%tmm3" ::);
    uint64_t took = clock_ns() - start;
    __asm__ volatile("tilerelease" ::);
    return 2.0 * 16 * 16 * 64 * 4 * PEAK_LOOPS / (double)took;
}

/* Giga-operations per second, the best that the arithmetic of a class can reach at this level; 0: unknown. */
static double peak_of(enum dtype x, enum isa isa)
{
    static double known[3][ISA_COUNT];
    int cls = !dtype_is_fixed(x) ? 0 : dtype_bits(x) == 16 ? 1 : 2, level = cls < 2 && isa == ISA_AMX ? ISA_AVX512 : (int)isa;
    if (level == 0 || level > (int)cpu_isa())
        return 0;
    double *p = &known[cls][level];
    if (*p > 0)
        return *p;
    for (int again = 0; again < 60; again++) {
        double v = level == ISA_AMX ? peak_i8_amx() : cls == 0 ? (level == 1 ? peak_f32_avx2(8) : peak_f32_avx512(16))
                            : level == 1 ? peak_i16_avx2(16) : cls == 1 ? peak_i16_avx512(32) : peak_i8_avx512(64);
        *p = v > *p ? v : *p;
    }
    return *p;
}

/* ---- layers ----------------------------------------------------------------------------------------------------- */

#define PLAIN .group = 1, .dilation = { 1, 1 }, .tame = true, .post_lo = -INFINITY, .post_hi = INFINITY
#define SPATIAL(op_, h_, ci_, co_, k_, s_, p_)                                                                                  \
    {                                                                                                                           \
        PLAIN, .op = op_, .batch = 1, .constant = true, .h = h_, .wd = h_, .ci = ci_, .co = co_, .kh = k_, .kw = k_,            \
        .stride = { s_, s_ }, .pad = { p_, p_, p_, p_ }                                                                         \
    }
#define CONV(...) SPATIAL(OP_Conv2d, __VA_ARGS__)
#define FC(m_, k_, n_) { PLAIN, .op = OP_FullyConnected, .batch = 1, .constant = true, .h = m_, .ci = k_, .co = n_ }
#define MATMUL(b_, m_, k_, n_, t_) \
    { PLAIN, .op = OP_MatMul, .batch = b_, .w_batch = b_, .h = m_, .ci = k_, .co = n_, .transpose_w = t_ }

static const struct {
    const char *name;
    struct product_spec s;
} layers[] = {
    { "conv 3x3 56x56 64->64", CONV(56, 64, 64, 3, 1, 1) },
    { "conv 1x1 28x28 256->256", CONV(28, 256, 256, 1, 1, 0) },
    { "conv 3x3 14x14 256->256", CONV(14, 256, 256, 3, 1, 1) },
    { "conv 7x7/2 224x224 3->64", CONV(224, 3, 64, 7, 2, 3) },
    { "conv 1x1 112x112 32->16", CONV(112, 32, 16, 1, 1, 0) },
    { "conv 3x3/2 224x224 3->32", CONV(224, 3, 32, 3, 2, 1) },
    { "depthwise x2 3x3 56x56 64->128", SPATIAL(OP_DepthWiseConv2d, 56, 64, 128, 3, 1, 1) },
    { "depthwise 3x3 56x56 128", SPATIAL(OP_DepthWiseConv2d, 56, 128, 128, 3, 1, 1) },
    { "transpose 4x4/2 32x32 64->32", SPATIAL(OP_TransposeConv2d, 32, 64, 32, 4, 2, 1) },
    { "fully connected 1x1024->1000", FC(1, 1024, 1000) },
    { "fully connected 128x768->3072", FC(128, 768, 3072) },
    { "matmul dynamic 8x128x64x128", MATMUL(8, 128, 64, 128, true) },
    { "gemm 512x512x512", FC(512, 512, 512) },
    { "gemm 2048x1024x1024", FC(2048, 1024, 1024) },
    { "conv 1x1 56x56 64->256", CONV(56, 64, 256, 1, 1, 0) },
    { "conv 1x1 14x14 1024->256", CONV(14, 1024, 256, 1, 1, 0) },
    { "conv 3x3 28x28 128->128", CONV(28, 128, 128, 3, 1, 1) },
    { "conv 3x3 7x7 512->512", CONV(7, 512, 512, 3, 1, 1) },
};

static const struct {
    enum dtype x, w, b, out;
} types[] = {
    { DT_UQ8, DT_SQ8, DT_SQ32, DT_UQ8 }, { DT_SQ8, DT_SQ8, DT_SQ32, DT_SQ8 }, { DT_UQ8, DT_UQ8, DT_SQ32, DT_UQ8 },
    { DT_UQ16, DT_SQ8, DT_SQ32, DT_UQ16 }, { DT_SQ16, DT_SQ16, DT_SQ32, DT_SQ16 }, { DT_F32, DT_F32, DT_F32, DT_F32 },
    { DT_F16, DT_F16, DT_F16, DT_F16 },
};

/* The share of taps along one axis that fall inside the input. */
static double inside(uint32_t in, uint32_t out, uint32_t kernel, uint32_t stride, uint32_t pad)
{
    uint64_t n = 0;
    for (uint32_t o = 0; o < out; o++)
        for (uint32_t t = 0; t < kernel; t++) {
            int64_t i = (int64_t)o * stride - pad + t;
            n += i >= 0 && i < in;
        }
    return (double)n / ((double)out * kernel);
}

/* What is really computed of the nominal operations: floats and depthwise skip padding, other fixed-point kernels multiply it. */
static double computed(const struct product_case *c)
{
    const struct product_spec *s = &c->spec;
    const uint32_t *out = c->desc[3].dims;
    bool skips = s->op == OP_DepthWiseConv2d || (s->op == OP_Conv2d && !dtype_is_fixed(s->x));
    return skips ? inside(s->h, out[1], s->kh, s->stride[0], s->pad[0]) * inside(s->wd, out[2], s->kw, s->stride[1], s->pad[2]) : 1.0;
}

/* Best of several runs, giga-operations per second. */
static double speed(struct product_case *c, const struct product_run *run)
{
    uint64_t best = UINT64_MAX, spent = 0;
    for (int i = 0; i < 50 && (i < 3 || spent < 60000000); i++) {
        uint64_t start = clock_ns();
        product_run_tiles(c, run, NULL, 0);
        uint64_t took = clock_ns() - start;
        spent += took;
        best = took < best ? took : best;
    }
    return 2.0 * (double)run->bound.macs * computed(c) / (double)best;
}

static void bench_layer(const char *name, const struct product_spec *s, struct rand *r)
{
    struct product_case c;
    const char *why = product_case_init(&c, s, r);
    kernel_fn *last = NULL;
    if (why) {
        printf("%-32s %s\n", name, why);
        return;
    }
    for (int isa = ISA_REF; isa <= (int)cpu_isa(); isa++) {
        struct product_run run;
        if (product_bind(&c, (enum isa)isa, &run))
            break;
        if (run.bound.run != last) {
            double g = speed(&c, &run), peak = peak_of(s->x, (enum isa)isa);
            printf("%-32s %4s x %-4s %-22s %8.1f GOPS", name, dtype_name(s->x), dtype_name(s->w), run.bound.name, g);
            printf(peak > 0 ? "  %5.1f %% of %.0f\n" : "\n", 100 * g / peak, peak);
        }
        last = run.bound.run;
        product_run_finish(&run);
    }
    product_case_finish(&c);
}

int product_bench(const char *layer)
{
    struct rand r = { 0x0123456789abcdef };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types && strstr(layers[i].name, layer); t++) {
            struct product_spec s = layers[i].s;
            s.x = types[t].x;
            s.w = types[t].w;
            s.b = types[t].b;
            s.out = types[t].out;
            s.x_zero = s.w == DT_UQ8 || s.x == DT_UQ8 ? 100 : 0;
            s.w_zero = s.w == DT_UQ8 ? 120 : 0;
            bench_layer(layers[i].name, &s, &r);
        }
    return 0;
}
