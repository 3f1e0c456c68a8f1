/* SPDX-License-Identifier: Apache-2.0 */
/* make bench: speed of every variant of the product kernels on one thread, as a share of the peak of its arithmetic in the
 * same run.
 *
 *     bench_kernels JSONL_FILE [--layer PART_OF_A_NAME] [--type PART_OF_A_NAME] [--isa NAME] [--seconds PER_VARIANT]
 *
 * Peaks come first, of one thread and of all. Then matrix products and convolutions in every type: giga-operations per
 * second and share of the peak, a column for each instruction set. With --isa there is one column, and no peaks but the one
 * that it needs. A type with a slash has weights whose scales belong to blocks of so many input channels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_lines.h"
#include "bench_peaks.h"
#include "product_case.h"

#define PLAIN .batch = 1, .tame = true, .post_lo = -INFINITY, .post_hi = INFINITY
#define SPATIAL(op_, h_, ci_, co_, k_, s_, p_, d_, g_)                                                   \
    {                                                                                                    \
        PLAIN, .op = op_, .constant = true, .h = h_, .wd = h_, .ci = ci_, .co = co_, .kh = k_, .kw = k_, \
               .stride = { s_, s_ }, .pad = { p_, p_, p_, p_ }, .dilation = { d_, d_ }, .group = g_      \
    }
#define CONV(...) SPATIAL(OP_Conv2d, __VA_ARGS__, 1, 1)
#define DEPTHWISE(h_, ci_, co_, ...) SPATIAL(OP_DepthWiseConv2d, h_, ci_, co_, __VA_ARGS__, 1, 1)
#define FC(m_, k_, n_) { PLAIN, .op = OP_FullyConnected, .constant = true, .h = m_, .ci = k_, .co = n_ }
#define MATMUL(b_, m_, k_, n_, t_)                                                                                     \
    {                                                                                                                  \
        .tame = true, .post_lo = -INFINITY, .post_hi = INFINITY, .op = OP_MatMul, .batch = b_, .w_batch = b_, .h = m_, \
        .ci = k_, .co = n_, .transpose_w = t_                                                                          \
    }

static const struct {
    const char *name;
    struct product_spec s;
} layers[] = {
    { "gemm 128", FC(128, 128, 128) },
    { "gemm 256", FC(256, 256, 256) },
    { "gemm 512", FC(512, 512, 512) },
    { "gemm 1024", FC(1024, 1024, 1024) },
    { "gemm 2048", FC(2048, 2048, 2048) },
    { "gemm 333x517x1001", FC(333, 517, 1001) },
    { "gemm 1x1024x1000", FC(1, 1024, 1000) },
    { "gemm 128x768x3072", FC(128, 768, 3072) },
    { "gemm 1x4096x4096", FC(1, 4096, 4096) },
    { "gemm 128x2048x2048", FC(128, 2048, 2048) },
    { "matmul 12x128x64x128 (q k)", MATMUL(12, 128, 64, 128, true) },
    { "matmul 12x128x128x64 (p v)", MATMUL(12, 128, 128, 64, false) },
    { "matmul 12x512x64x512 (q k)", MATMUL(12, 512, 64, 512, true) },
    { "matmul 12x512x512x64 (p v)", MATMUL(12, 512, 512, 64, false) },
    { "first 7x7/2 224 3->64", CONV(224, 3, 64, 7, 2, 3) },
    { "first 3x3/2 224 3->32", CONV(224, 3, 32, 3, 2, 1) },
    { "1x1 56 64->64", CONV(56, 64, 64, 1, 1, 0) },
    { "1x1 56 64->256", CONV(56, 64, 256, 1, 1, 0) },
    { "1x1 28 512->128", CONV(28, 512, 128, 1, 1, 0) },
    { "1x1 14 1024->256", CONV(14, 1024, 256, 1, 1, 0) },
    { "1x1 7 512->2048", CONV(7, 512, 2048, 1, 1, 0) },
    { "1x1/2 56 256->512", CONV(56, 256, 512, 1, 2, 0) },
    { "1x1 112 32->16", CONV(112, 32, 16, 1, 1, 0) },
    { "1x1 14 96->576", CONV(14, 96, 576, 1, 1, 0) },
    { "3x3 56 64->64", CONV(56, 64, 64, 3, 1, 1) },
    { "3x3 28 128->128", CONV(28, 128, 128, 3, 1, 1) },
    { "3x3 14 256->256", CONV(14, 256, 256, 3, 1, 1) },
    { "3x3 7 512->512", CONV(7, 512, 512, 3, 1, 1) },
    { "3x3/2 28 256->256", CONV(28, 256, 256, 3, 2, 1) },
    { "3x3 dilated 28 128->128", SPATIAL(OP_Conv2d, 28, 128, 128, 3, 1, 2, 2, 1) },
    { "3x3 in 32 groups 28 256->256", SPATIAL(OP_Conv2d, 28, 256, 256, 3, 1, 1, 1, 32) },
    { "depthwise 3x3 112 32", DEPTHWISE(112, 32, 32, 3, 1, 1) },
    { "depthwise 3x3/2 56 144", DEPTHWISE(56, 144, 144, 3, 2, 1) },
    { "depthwise 3x3 14 384", DEPTHWISE(14, 384, 384, 3, 1, 1) },
    { "depthwise 5x5 28 240", DEPTHWISE(28, 240, 240, 5, 1, 2) },
    { "depthwise x2 3x3 56 64->128", DEPTHWISE(56, 64, 128, 3, 1, 1) },
    { "transposed 4x4/2 32 64->32", SPATIAL(OP_TransposeConv2d, 32, 64, 32, 4, 2, 1, 1, 1) },
};

static const struct type {
    const char *name;
    enum dtype x, w, b, out;
    int32_t x_zero, w_zero;
    enum peak_kind peak;
    uint32_t block; /* input channels that share a scale; 0: all */
} types[] = {
    { "int8", DT_UQ8, DT_SQ8, DT_SQ32, DT_UQ8, 100, 0, PEAK_INT8, 0 },
    { "int8 signed", DT_SQ8, DT_SQ8, DT_SQ32, DT_SQ8, 0, 0, PEAK_INT8, 0 },
    { "int8 w zero", DT_UQ8, DT_UQ8, DT_SQ32, DT_UQ8, 100, 120, PEAK_INT8, 0 },
    { "a8w4", DT_UQ8, DT_SQ4, DT_SQ32, DT_UQ8, 100, 0, PEAK_INT8, 0 },
    { "a16w8", DT_UQ16, DT_SQ8, DT_SQ32, DT_UQ16, 32768, 0, PEAK_INT16, 0 },
    { "a16w4", DT_UQ16, DT_SQ4, DT_SQ32, DT_UQ16, 32768, 0, PEAK_INT16, 0 },
    { "a16w16", DT_SQ16, DT_SQ16, DT_SQ32, DT_SQ16, 0, 0, PEAK_INT16, 0 },
    { "a8w4/32", DT_UQ8, DT_SQ4, DT_F32, DT_UQ8, 100, 0, PEAK_INT8, 32 },
    { "a16w4/64", DT_UQ16, DT_SQ4, DT_F32, DT_UQ16, 32768, 0, PEAK_INT16, 64 },
    { "f16", DT_F16, DT_F16, DT_F16, DT_F16, 0, 0, PEAK_F32, 0 },
    { "f32", DT_F32, DT_F32, DT_F32, DT_F32, 0, 0, PEAK_F32, 0 },
};

static double seconds = 0.06;
static const char *only_isa = "";

static bool isa_chosen(int isa)
{
    return !*only_isa || !strcmp(cpu_isa_name((enum isa)isa), only_isa);
}

/* ---- peaks ------------------------------------------------------------------------------------------------------------ */

static void print_peaks(void)
{
    unsigned cores = cpu_cores();
    printf("%-24s %12s %12s\n", "peak", "1 thread", cores > 2 ? "all cores" : "2 threads");
    for (int kind = 0; kind < PEAK_KINDS; kind++)
        for (int level = 0; level < ISA_COUNT; level++) {
            const char *name = peak_name((enum peak_kind)kind, (enum isa)level), *unit = kind < PEAK_READ ? "GOPS" : "GB/s";
            double one = name ? peak_of((enum peak_kind)kind, (enum isa)level, 1) : 0;
            if (one <= 0)
                continue;
            double all = peak_of((enum peak_kind)kind, (enum isa)level, cores > 2 ? cores : 2);
            printf("%-24s %12.1f %12.1f %s\n", name, one, all, unit);
            lines_add("{\"kind\":\"peak\",\"name\":\"%s\",\"one\":%.2f,\"all\":%.2f,\"unit\":\"%s\"}", name, one, all, unit);
        }
}

/* ---- layers ----------------------------------------------------------------------------------------------------------- */

/* The share of taps along one axis that fall inside the input. */
static double inside(uint32_t in, uint32_t out, const struct product_spec *s, int axis)
{
    uint32_t kernel = axis ? s->kw : s->kh;
    uint64_t n = 0;
    for (uint32_t o = 0; o < out; o++)
        for (uint32_t t = 0; t < kernel; t++) {
            int64_t i = (int64_t)o * s->stride[axis] - s->pad[2 * axis] + t * s->dilation[axis];
            n += i >= 0 && i < in;
        }
    return (double)n / ((double)out * kernel);
}

/* What is really computed of the nominal operations: floats and depthwise skip padding, other fixed-point kernels multiply
 * it. */
static double computed(const struct product_case *c)
{
    const struct product_spec *s = &c->spec;
    const uint32_t *out = c->desc[3].dims;
    bool skips = s->op == OP_DepthWiseConv2d || (s->op == OP_Conv2d && !dtype_is_fixed(s->x));
    return skips ? inside(s->h, out[1], s, 0) * inside(s->wd, out[2], s, 1) : 1.0;
}

struct job {
    struct product_case *c;
    struct product_run run;
};

static void run_job(void *arg)
{
    struct job *j = arg;
    product_run_tiles(j->c, &j->run, NULL, 0);
}

/* One line: a column for each level that has a variant of its own. */
static void bench_layer(const char *name, const struct product_spec *s, const struct type *t)
{
    struct rand r = { 0x0123456789abcdef };
    struct product_case c;
    kernel_fn *last = NULL;
    const char *why = product_case_init(&c, s, &r);
    printf("%-30s %-12s", name, t->name);
    if (why) {
        printf(" %s\n", why);
        return;
    }
    for (int isa = ISA_AVX2; isa <= (int)cpu_isa(); isa++) {
        struct job j = { .c = &c };
        if (product_bind(&c, (enum isa)isa, &j.run))
            break;
        if (!isa_chosen(isa) || !cpu_has((enum isa)isa)) {
            /* only what comes after it is wanted */
        } else if (j.run.bound.run == last) {
            printf(" %16s", "same");
        } else {
            double ns = (double)timing_of(run_job, &j, seconds).own;
            double gops = 2.0 * (double)j.run.bound.macs * computed(&c) / ns, peak = peak_of(t->peak, (enum isa)isa, 1);
            printf(" %8.1f %5.1f %%", gops, 100 * gops / peak);
            lines_add("{\"kind\":\"kernel\",\"name\":\"%s\",\"type\":\"%s\",\"isa\":\"%s\",\"variant\":\"%s\",\"us\":%.2f,"
                      "\"gops\":%.2f,\"peak\":%.2f}",
                      name, t->name, cpu_isa_name((enum isa)isa), j.run.bound.name, ns * 1e-3, gops, peak);
        }
        last = j.run.bound.run;
        product_run_finish(&j.run);
    }
    putchar('\n');
    product_case_finish(&c);
}

int main(int argc, char **argv)
{
    const char *layer = "", *type = "";
    for (int i = 2; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--layer"))
            layer = argv[i + 1];
        else if (!strcmp(argv[i], "--type"))
            type = argv[i + 1];
        else if (!strcmp(argv[i], "--isa"))
            only_isa = argv[i + 1];
        else if (!strcmp(argv[i], "--seconds"))
            seconds = atof(argv[i + 1]);
        else
            argc = 0;
    }
    if (argc < 2 || argc % 2) {
        fprintf(stderr, "usage: bench_kernels JSONL_FILE [--layer PART_OF_A_NAME] [--type PART_OF_A_NAME] [--isa NAME] "
                        "[--seconds PER_VARIANT]\n");
        return 2;
    }
    lines_open(argv[1], "w");
    if (!*only_isa)
        print_peaks();
    printf("\n%-30s %-12s", "product, one thread", "type");
    for (int isa = ISA_AVX2; isa <= (int)cpu_isa(); isa++)
        if (isa_chosen(isa) && cpu_has((enum isa)isa))
            printf(" %5s GOPS, share", cpu_isa_name((enum isa)isa));
    putchar('\n');
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            struct product_spec s = layers[i].s;
            if (!strstr(layers[i].name, layer) || !strstr(types[t].name, type))
                continue;
            if (types[t].block && (s.ci % types[t].block || s.op == OP_DepthWiseConv2d || s.group > 1))
                continue;
            s.x = types[t].x;
            s.w = types[t].w;
            s.b = s.constant ? types[t].b : DT_NONE; /* attention has none */
            s.out = types[t].out;
            s.x_zero = types[t].x_zero;
            s.w_zero = types[t].w_zero;
            s.w_kind = types[t].block ? Q_BLOCK : Q_NONE;
            s.block = types[t].block;
            bench_layer(layers[i].name, &s, &types[t]);
        }
    lines_close();
    return 0;
}
