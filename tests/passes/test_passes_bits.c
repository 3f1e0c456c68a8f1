/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes do may not be seen in the results: random graphs are prepared with the default pass list and with none but the two that
 * every list needs, run on every instruction set and with one and four threads, and give the same bits. The one exception is a Batchnorm of
 * floats, which scales weights before the product instead of results after it. */
#include <math.h>
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
#include "prepare/prepare.h"
#include "random_graph.h"
#include "test_scale.h"

enum { GRAPHS = 5000, MAX_IO = 64, THREADS = 4, FIRST_SEED = 1 };

static const struct pass plain_passes[] = { { "plan", plan_memory }, { "emit", emit_commands }, {} };
static const struct prepare_target optimised = { .passes = prepare_default_passes, .tensor_align = 64, .max_tiles = 8,
                                                 .plan_nodes = 20000};
static const struct prepare_target plain = { .passes = plain_passes, .tensor_align = 64, .max_tiles = 1, .plan_nodes = 20000};

/* The client's side of one graph: named buffers. */
struct buffers {
    const char *name[MAX_IO];
    struct tensor_desc desc[MAX_IO];
    void *data[MAX_IO];
    uint32_t n;
};

struct prepared {
    struct ir_graph *g;
    struct binary_image im;
    struct binary b;
};

static struct team *team;

static void check(enum status st, const char *what, uint64_t seed)
{
    if (st != ST_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, what, status_text());
}

static void make(struct prepared *p, const struct ir_graph *g, const struct prepare_target *t, uint64_t seed)
{
    struct prepare_opts o = { .opt_level = 2 };
    check(ir_clone(g, &p->g), "clone", seed);
    check(prepare(t, &o, p->g, &p->im), "prepare", seed);
    check(binary_open(p->im.data, p->im.size, &p->b), "open", seed);
}

static void unmake(struct prepared *p)
{
    binary_close(&p->b);
    binary_image_free(&p->im);
    ir_graph_free(p->g);
}

static void buffers_make(struct buffers *b, const struct binary_graph *g)
{
    b->n = g->n_io;
    assert_true(b->n <= MAX_IO);
    for (uint32_t i = 0; i < b->n; i++) {
        const struct binary_tensor *t = &g->tensors[g->io[i]];
        b->name[i] = t->name;
        b->desc[i] = t->desc;
        b->data[i] = mem_alloc_aligned(64, desc_bytes(&t->desc));
        assert_non_null(b->data[i]);
    }
}

static void buffers_free(struct buffers *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        mem_free(b->data[i]);
}

static void *buffer_named(const struct buffers *b, const char *name)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (strcmp(b->name[i], name) == 0)
            return b->data[i];
    fail_msg("no tensor \"%s\"", name);
    return NULL;
}

static void run(const struct binary_graph *g, enum isa isa, struct team *with, const struct buffers *inputs, struct buffers *io)
{
    struct exec_program *p;
    struct exec_opts o = { .team = with, .isa = isa };
    struct exec_binding bind[MAX_IO] = { { 0 } };
    struct exec_run r = { .io = bind };
    for (uint32_t i = 0; i < io->n; i++) {
        bool input = i < g->info.n_inputs;
        if (input)
            memcpy(io->data[i], buffer_named(inputs, io->name[i]), desc_bytes(&io->desc[i]));
        else
            memset(io->data[i], 0x55, desc_bytes(&io->desc[i]));
        bind[i].data = io->data[i];
    }
    check(exec_load(g, &o, &p), "load", 0);
    for (int again = 0; again < 2; again++) /* the second run finds the scratch memory as the first left it */
        check(exec_run(p, &r), "run", 0);
    exec_unload(p);
}

/* Largest difference in units of the largest value. */
static double distance(const float *a, const float *b, uint64_t n)
{
    double most = 1e-6, diff = 0;
    for (uint64_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)a[i]));
        diff = fmax(diff, fabs((double)a[i] - (double)b[i]));
    }
    return diff / most;
}

static void compare(const struct buffers *want, const struct buffers *got, bool exact, uint64_t seed, const char *what)
{
    assert_int_equal(want->n, got->n);
    for (uint32_t i = 0; i < want->n; i++) {
        const void *a = want->data[i], *b = buffer_named(got, want->name[i]);
        uint64_t bytes = desc_bytes(&want->desc[i]), at = 0;
        if (exact) {
            while (at < bytes && ((const uint8_t *)a)[at] == ((const uint8_t *)b)[at])
                at++;
            if (at < bytes)
                fail_msg("seed %llu, %s: tensor \"%s\" differs at byte %llu of %llu", (unsigned long long)seed, what, want->name[i],
                         (unsigned long long)at, (unsigned long long)bytes);
        } else if (distance(a, b, bytes / sizeof(float)) > 1e-3) {
            fail_msg("seed %llu, %s: tensor \"%s\" is off by %g", (unsigned long long)seed, what, want->name[i],
                     distance(a, b, bytes / sizeof(float)));
        }
    }
}

static void test_graph(uint64_t seed)
{
    struct random_graph r;
    struct prepared slow, fast;
    struct buffers want, got, first;
    char what[64];
    check(random_graph_make(&r, seed, 1 + (unsigned)(seed % 9)), "make", seed);
    make(&slow, r.g, &plain, seed);
    make(&fast, r.g, &optimised, seed);
    buffers_make(&want, &slow.b.graphs[0]);
    buffers_make(&got, &fast.b.graphs[0]);
    buffers_make(&first, &fast.b.graphs[0]);
    for (uint32_t i = 0; i < want.n; i++)
        random_fill(&r, &want.desc[i], want.data[i]);
    run(&slow.b.graphs[0], ISA_REF, NULL, &want, &want);
    bool exact = !(r.has_batchnorm && r.type == DT_F32);
    for (int isa = ISA_REF; isa <= (int)cpu_isa(); isa++)
        for (int threads = 0; threads < 2; threads++) {
            snprintf(what, sizeof what, "%s with %d threads", cpu_isa_name(isa), threads ? THREADS : 1);
            run(&fast.b.graphs[0], isa, threads ? team : NULL, &want, &got);
            compare(&want, &got, exact, seed, what);
            if (isa == ISA_REF && !threads)
                for (uint32_t i = 0; i < got.n; i++)
                    memcpy(first.data[i], got.data[i], desc_bytes(&got.desc[i]));
            compare(&first, &got, true, seed, what); /* with or without Batchnorm */
        }
    buffers_free(&first);
    buffers_free(&got);
    buffers_free(&want);
    unmake(&fast);
    unmake(&slow);
    random_graph_free(&r);
}

static void passes_keep_the_bits(void **state)
{
    (void)state;
    unsigned n = test_scale(GRAPHS);
    for (unsigned i = 0; i < n; i++)
        test_graph(FIRST_SEED + i);
}

static int make_team(void **state)
{
    (void)state;
    return team_create(THREADS, &team) == ST_OK ? 0 : -1;
}

static int free_team(void **state)
{
    (void)state;
    team_free(team);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2) { /* one seed, to look into a failure */
        if (make_team(NULL) != 0)
            return 1;
        test_graph(strtoull(argv[1], NULL, 10));
        return free_team(NULL);
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(passes_keep_the_bits) };
    return cmocka_run_group_tests(tests, make_team, free_team);
}
