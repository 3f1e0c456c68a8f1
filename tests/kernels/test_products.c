/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products: every faster kernel against the reference, bit for bit, on random shapes, types and encodings; every
 * third case is a layer of the kind that networks have.
 *
 * The instruction set is raised level by level; a level is run only when binding gives another function than the level
 * below. Outputs are pre-filled and guarded, work is cut into random tiles, and every fourth case has little room to work
 * in. bench/bench_kernels.c times the same kernels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "product_case.h"
#include "test_scale.h"

enum { MAX_NAMES = 64, PATTERN = 0xa7 };
static struct {
    const char *name;
    unsigned runs;
} seen[MAX_NAMES];

static void count(const char *name)
{
    for (int i = 0; i < MAX_NAMES; i++)
        if (!seen[i].name || !strcmp(seen[i].name, name)) {
            seen[i].name = name;
            seen[i].runs++;
            return;
        }
}

/* Equal bits, or two NaNs of a float type. */
static bool same(enum dtype t, const void *a, const void *b, uint64_t bytes)
{
    if (!memcmp(a, b, bytes))
        return true;
    if (t == DT_F32) {
        const uint32_t *x = a, *y = b;
        for (uint64_t i = 0; i < bytes / 4; i++)
            if (x[i] != y[i] && ((x[i] & 0x7fffffff) <= 0x7f800000 || (y[i] & 0x7fffffff) <= 0x7f800000))
                return false;
        return true;
    }
    if (t == DT_F16) {
        const uint16_t *x = a, *y = b;
        for (uint64_t i = 0; i < bytes / 2; i++)
            if (x[i] != y[i] && ((x[i] & 0x7fff) <= 0x7c00 || (y[i] & 0x7fff) <= 0x7c00))
                return false;
        return true;
    }
    return false;
}

static bool guards_hold(const struct product_case *c)
{
    for (uint32_t i = 0; i < PRODUCT_GUARD; i++)
        if (c->guarded[i] != PATTERN || c->guarded[PRODUCT_GUARD + c->out_bytes + i] != PATTERN)
            return false;
    return true;
}

/* Run in random tiles; NULL or what went wrong. */
static const char *run_cut(struct product_case *c, const struct product_run *run, struct rand *r)
{
    uint32_t cuts[4], n = rand_range(r, 0, 4);
    for (uint32_t i = 0; i < n; i++)
        cuts[i] = rand_range(r, i ? cuts[i - 1] : 0, run->bound.extent);
    memset(c->guarded, PATTERN, c->out_bytes + 2 * PRODUCT_GUARD);
    if (run->bound.work_bytes)
        memset(run->work, 0xee, run->bound.work_bytes);
    product_run_tiles(c, run, cuts, n);
    count(run->bound.name);
    return guards_hold(c) ? NULL : "wrote outside of the output";
}

/* One case on all levels. */
static const char *check_case(struct product_case *c, struct rand *r, const char **name)
{
    uint8_t *want = malloc(c->out_bytes);
    const char *why = NULL;
    kernel_fn *last = NULL;
    for (int isa = ISA_REF; !why && isa <= (int)cpu_isa(); isa++) {
        struct product_run run;
        c->call.parts = rand_range(r, 0, 4); /* how many threads there are decides how work is cut, and nothing else */
        why = product_bind(c, (enum isa)isa, &run);
        if (why)
            break;
        *name = run.bound.name;
        for (int again = 0; !why && run.bound.run != last && again < 2; again++) {
            why = run_cut(c, &run, r);
            if (!why && isa == ISA_REF && !again)
                memcpy(want, c->guarded + PRODUCT_GUARD, c->out_bytes);
            else if (!why && !same(c->spec.out, c->guarded + PRODUCT_GUARD, want, c->out_bytes))
                why = "differs from the reference";
        }
        last = run.bound.run;
        product_run_finish(&run);
    }
    free(want);
    return why;
}

/* Bytes with more weights than a second-level cache keeps, whose rows meet them in panels and some channels at a time; x of
 * one and of two planes, weights with and without a zero point. */
enum { FAR_CASES = 4 };
static struct product_spec far_weights(unsigned i)
{
    struct product_spec s = { .op = OP_FullyConnected,
                              .x = DT_UQ8,
                              .w = DT_UQ8,
                              .b = DT_SQ32,
                              .out = DT_UQ8,
                              .batch = 1,
                              .h = 100,
                              .ci = 16384,
                              .co = 160,
                              .constant = true,
                              .x_zero = 100,
                              .w_zero = 120,
                              .out_zero = 7,
                              .post_lo = -INFINITY,
                              .post_hi = INFINITY };
    if (i & 1) {
        s.h = 70;
        s.ci = 2048;
        s.co = 900;
    }
    if (i & 2) {
        s.w = DT_SQ8;
        s.w_zero = 0;
        s.x = s.out = i & 1 ? DT_UQ16 : DT_SQ8;
    }
    return s;
}

int main(void)
{
    char text[512];
    struct rand r = { 0x0123456789abcdef };
    unsigned cases = test_scale(2000), failed = 0;
    for (unsigned i = 0; i < cases && failed < 5;) {
        struct product_spec s = i < FAR_CASES ? far_weights(i) : i % 3 == 2 ? product_usual(&r) : product_random(&r);
        struct product_case c;
        const char *name = "bind", *why = product_case_init(&c, &s, &r);
        if (why)
            continue;
        i++;
        c.call.work_budget = rand_range(&r, 0, 3) ? 0 : rand_range(&r, 1, 1 << rand_range(&r, 10, 20));
        why = check_case(&c, &r, &name);
        if (why) {
            printf("FAIL case %u, %s: %s\n     %s\n", i, name, why, product_text(&s, text, sizeof text));
            failed++;
        }
        product_case_finish(&c);
    }
    for (int i = 0; i < MAX_NAMES && seen[i].name; i++)
        printf("%6u %s\n", seen[i].runs, seen[i].name);
    for (int isa = ISA_REF; isa < ISA_COUNT; isa++)
        if (!cpu_has((enum isa)isa))
            printf("SKIP: %s: this CPU does not have it\n", cpu_isa_name((enum isa)isa));
    return failed ? 1 : 0;
}
