/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes whose zero point and scale are computed while running (opt_fuse_bytes.c) have the bits of the float
 * operators that they stand for: random graphs as converters write them are run as they are, and with the default passes on
 * every instruction set, with one thread and with several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "exec/exec.h"
#include "kernels/kernels.h"
#include "one_team.h"
#include "prepared.h"
#include "test_scale.h"

enum { GRAPHS = 300, THREADS = 3, MAX_IN = 4 };

ONE_TEAM(THREADS);

static const struct pass plain_passes[] = { { "plan", plan_memory }, { "emit", emit_commands }, {} };
static const struct prepare_target plain = { .passes = plain_passes,
                                             .tensor_align = 64,
                                             .max_tiles = 1,
                                             .plan_nodes = 20000 };
static const struct prepare_target fused = { .passes = prepare_default_passes,
                                             .bytes = true,
                                             .tensor_align = 64,
                                             .max_tiles = 8,
                                             .order_steps = 5000,
                                             .plan_nodes = 20000 };

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static bool maybe(void)
{
    return random_below(2);
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

struct plan {
    bool conv, zero, turned, sum, scale, scales, bias, clamp, quantize, back; /* back: by way of i32 */
    uint32_t rows, columns, k, n, kernel, pad, stride;
    int32_t lo, hi; /* of the weights */
};

static struct plan random_plan(void)
{
    static const int32_t ranges[][2] = { { -128, 127 }, { -20, 20 }, { 0, 255 }, { -255, 0 }, { -100, 155 } };
    struct plan p = { .conv = maybe(),
                      .zero = maybe(),
                      .turned = maybe(),
                      .sum = maybe(),
                      .scale = random_below(4) > 0,
                      .scales = maybe(),
                      .bias = maybe(),
                      .clamp = maybe(),
                      .quantize = maybe(),
                      .back = random_below(4) > 0 };
    const int32_t *range = ranges[random_below(5)];
    p.rows = 1 + random_below(p.conv ? 9 : 70);
    p.columns = p.conv ? 1 + random_below(9) : 1;
    p.k = 1 + random_below(p.conv ? 9 : 67);
    p.n = 1 + random_below(maybe() ? 19 : 70);
    p.kernel = p.conv ? 1 + random_below(3) : 1;
    p.pad = p.kernel > 1 ? random_below(2) + 1 : 0;
    p.stride = 1 + random_below(2);
    p.lo = range[0];
    p.hi = range[1];
    p.sum = p.sum && p.back;
    return p;
}

static uint32_t out_size(const struct plan *p, uint32_t in)
{
    return (in + 2 * p->pad - p->kernel) / p->stride + 1;
}

static void shape(FILE *f, const struct plan *p, const char *role, const char *name, const char *type, bool out)
{
    fprintf(f, "%s %%%s : %s", role, name, type);
    if (p->conv)
        fprintf(f, "[1,%u,%u,%u]\n", out ? out_size(p, p->rows) : p->rows, out ? out_size(p, p->columns) : p->columns,
                out ? p->n : p->k);
    else
        fprintf(f, "[%u,%u]\n", p->rows, out ? p->n : p->k);
}

static void numbers(FILE *f, uint32_t n, int32_t lo, int32_t hi, float step)
{
    for (uint32_t i = 0; i < n; i++)
        fprintf(f, "%s%.9g", i ? "," : " = (",
                (double)((float)(lo + (int32_t)random_below((uint32_t)(hi - lo + 1))) * step));
    fputs(")\n", f);
}

static void tensors(FILE *f, const struct plan *p)
{
    if (p->quantize) {
        shape(f, p, "in", "real", "f32", false);
        fputs("in %s0 : f32[]\nin %zero : u8[]\n", f);
        static const char *const between[] = { "steps", "rounded", "shifted", "limited" };
        for (int i = 0; i < 4; i++)
            shape(f, p, "tmp", between[i], "f32", false);
        fputs("tmp %zf : f32[]\n", f);
    } else {
        fputs("in %zero : u8[]\n", f);
    }
    shape(f, p, p->quantize ? "tmp" : "in", "q", "u8", false);
    shape(f, p, "tmp", "x", "f32", false);
    shape(f, p, "tmp", "centered", "f32", false);
    fputs("tmp %z : f32[]\n", f);
    if (p->conv)
        fprintf(f, "const %%w : f32[%u,%u,%u,%u]", p->kernel, p->kernel, p->k, p->n);
    else
        fprintf(f, "const %%w : f32[%u,%u]", p->turned ? p->n : p->k, p->turned ? p->k : p->n);
    numbers(f, p->kernel * p->kernel * p->k * p->n, p->lo, p->hi, 1);
    fprintf(f, "const %%sum : i32[%u]", p->n);
    numbers(f, p->n, -5000, 5000, 1);
    fprintf(f, "const %%scale : f32[%u]", p->scales ? p->n : 1);
    numbers(f, p->scales ? p->n : 1, 1, 1000, 0.00037f);
    fprintf(f, "const %%bias : f32[%u]", p->n);
    numbers(f, p->n, -500, 500, 0.0113f);
    static const char *const results[] = { "t", "r", "m", "b" };
    for (int i = 0; i < 4; i++)
        shape(f, p, "tmp", results[i], "f32", true);
    shape(f, p, "tmp", "i", "i32", true);
    shape(f, p, "tmp", "j", "i32", true);
    shape(f, p, "out", "y", "f32", true);
}

static void nodes(FILE *f, const struct plan *p)
{
    const char *at = "t";
    if (p->quantize)
        fputs(
            "%steps = ElementWiseDivide \"d\" (%real, %s0)\n%rounded = ElementWiseRound \"r\" (%steps)\n"
            "%zf = Cast \"zf\" (%zero)\n%shifted = ElementWiseAdd \"a\" (%rounded, %zf)\n"
            "%limited = ReluMinMax \"l\" (%shifted) { min_value=f32(0), max_value=f32(255) }\n%q = Cast \"q\" (%limited)\n",
            f);
    fputs("%x = Cast \"x\" (%q)\n", f);
    if (p->zero)
        fputs("%z = Cast \"z\" (%zero)\n%centered = ElementWiseSubtract \"c\" (%x, %z)\n", f);
    const char *x = p->zero ? "centered" : "x";
    if (p->conv)
        fprintf(f, "%%t = Conv2d \"p\" (%%%s, %%w) { stride=u32[2](%u,%u), pad_amount=u32[2,2](%u,%u,%u,%u) }\n", x,
                p->stride, p->stride, p->pad, p->pad, p->pad, p->pad);
    else
        fprintf(f, "%%t = MatMul \"p\" (%%%s, %%w) { transpose_in1=b8(%d) }\n", x, p->turned);
    if (p->back) {
        fputs("%i = Cast \"i\" (%t)\n", f);
        if (p->sum)
            fputs("%j = ElementWiseAdd \"j\" (%i, %sum)\n", f);
        fprintf(f, "%%r = Cast \"f\" (%%%s)\n", p->sum ? "j" : "i");
        at = "r";
    }
    if (p->scale) {
        fprintf(f, "%%m = ElementWiseMultiply \"m\" (%%%s, %%scale)\n", at);
        at = "m";
    }
    if (p->bias) {
        fprintf(f, "%%b = ElementWiseAdd \"b\" (%%bias, %%%s)\n", at);
        at = "b";
    }
    fprintf(f, p->clamp ? "%%y = Relu \"y\" (%%%s)\n" : "%%y = ElementWiseNeg \"y\" (%%%s)\n", at);
}

static struct ir_graph *graph_of(const struct plan *p)
{
    char *text;
    size_t n;
    struct ir_graph *g;
    FILE *f = open_memstream(&text, &n);
    assert_non_null(f);
    fputs("graph \"g\" {\n", f);
    tensors(f, p);
    nodes(f, p);
    fputs("}\n", f);
    fclose(f);
    if (ir_parse(text, n, &g) != ST_OK)
        fail_msg("%s\n%s", status_text(), text);
    free(text);
    return g;
}

/* ---- runs ------------------------------------------------------------------------------------------------------------- */

static float *run(const struct binary_graph *g, enum isa isa, struct team *with, void *const *in, const char *const *names)
{
    struct exec_program *p;
    struct exec_opts o = { .team = with, .isa = isa };
    struct exec_binding bind[MAX_IN + 1] = { { 0 } };
    struct exec_run r = { .io = bind };
    for (uint32_t i = 0; i < g->info.n_inputs; i++)
        for (int k = 0; k < MAX_IN; k++)
            if (!strcmp(g->tensors[g->io[i]].name, names[k]))
                bind[i].data = in[k];
    float *y = mem_alloc_aligned(64, desc_bytes(&g->tensors[g->io[g->info.n_inputs]].desc));
    assert_non_null(y);
    bind[g->info.n_inputs].data = y;
    check(exec_load(g, &o, &p), "load");
    for (int again = 0; again < 2; again++)
        check(exec_run(p, &r), "run");
    exec_unload(p);
    return y;
}

static unsigned count(const struct binary_graph *g, const char *op)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += !strcmp(g->nodes[i].op->name, op);
    return n;
}

static void same_bits(const struct plan *p, bool fuses, uint64_t which)
{
    static const char *const names[MAX_IN] = { "real", "s0", "zero", "q" };
    struct ir_graph *g = graph_of(p);
    struct prepared slow, fast;
    struct prepare_opts o = { .opt_level = 2 };
    uint32_t n = p->rows * p->columns * p->k;
    float *real = mem_array(float, n), s0 = (float)(1 + random_below(100)) * 0.01f;
    uint8_t *q = mem_array(uint8_t, n), zero = (uint8_t)random_below(256);
    assert_true(real && q);
    for (uint32_t i = 0; i < n; i++) {
        real[i] = ((float)random_below(2001) - 1000) * 0.1f;
        q[i] = (uint8_t)random_below(256);
    }
    real[random_below(n)] = __builtin_nanf("");
    real[random_below(n)] = -__builtin_inff();
    void *in[MAX_IN] = { real, &s0, &zero, q };
    prepared_make(&slow, g, &plain, &o);
    prepared_make(&fast, g, &fused, &o);
    const struct binary_graph *a = &slow.b.graphs[0], *b = &fast.b.graphs[0];
    assert_int_equal(count(b, p->conv ? "BytesConv2d" : "BytesMatMul"), fuses);
    assert_int_equal(count(b, "BytesQuantize"), p->quantize);
    if (fuses) /* all that belongs to it is inside */
        assert_int_equal(b->n_nodes, 1 + p->quantize + !p->clamp);
    uint64_t bytes = desc_bytes(&a->tensors[a->io[a->info.n_inputs]].desc);
    float *want = run(a, ISA_REF, NULL, in, names);
    for (int isa = ISA_REF; isa <= (int)cpu_isa(); isa++)
        for (int threads = 0; threads < 2; threads++) {
            float *got = run(b, isa, threads ? team : NULL, in, names);
            if (memcmp(want, got, bytes))
                fail_msg("graph %llu, %s, %d threads: other bits", (unsigned long long)which, cpu_isa_name(isa),
                         threads ? THREADS : 1);
            mem_free(got);
        }
    mem_free(want);
    mem_free(q);
    mem_free(real);
    unmake(&fast);
    unmake(&slow);
    ir_graph_free(g);
}

static void bytes_keep_the_bits(void **state)
{
    (void)state;
    unsigned n = test_scale(GRAPHS);
    for (unsigned i = 0; i < n; i++) {
        seed = i;
        random_below(2);
        struct plan p = random_plan();
        same_bits(&p, true, i);
    }
}

/* 300 products of 255 by 255 are more than a float counts exactly: what it rounds is not computed otherwise. 258 are not. */
static void sums_that_may_round_stay(void **state)
{
    (void)state;
    struct plan p = {
        .rows = 7, .columns = 1, .k = 258, .n = 3, .kernel = 1, .stride = 1, .lo = 255, .hi = 255, .back = true
    };
    same_bits(&p, true, 0);
    p.k = 300;
    same_bits(&p, false, 0);
}

/* Weights that are no whole numbers, or need more than a byte. */
static void other_weights_stay(void **state)
{
    (void)state;
    struct plan p = {
        .rows = 5, .columns = 1, .k = 9, .n = 40, .kernel = 1, .stride = 1, .lo = -255, .hi = 255, .back = true
    };
    seed = 1;
    same_bits(&p, false, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bytes_keep_the_bits), cmocka_unit_test(sums_that_may_round_stay),
                                        cmocka_unit_test(other_weights_stay) };
    return cmocka_run_group_tests(tests, make_team, free_team);
}
