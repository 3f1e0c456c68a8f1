/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for branches: operators that wait for no result of each other do not wait for each other's memory either, as far as
 * the target lets a plan grow; and graphs give the same bits whatever it lets. */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "exec/program.h"
#include "prepare/plan_beside.h"
#include "one_team.h"
#include "prepared.h"
#include "random_graph.h"
#include "test_scale.h"

enum { THREADS = 3, HEADS = 4, GRAPHS = 300, MAX_IO = 64, WINDOW = 1 << 20, MEETINGS = 100, MEETING_RUNS = 4000 };

static_assert(PLAN_BESIDE == EXEC_WINDOW - 1, "what the compiler counts on");

ONE_TEAM(THREADS);

static void make(struct prepared *p, const struct ir_graph *g, uint64_t beside, uint64_t window, uint32_t threads)
{
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = 64,
                                .max_tiles = 8,
                                .order_steps = 5000,
                                .plan_nodes = 20000,
                                .beside_bytes = beside,
                                .vtcm_bytes = window };
    struct prepare_opts o = { .opt_level = 2, .hvx_threads = threads };
    prepared_make(p, g, &t, &o);
}

/* Heads of attention, one behind the other: their operators are too small to be shared out. */
static struct ir_graph *heads(void)
{
    char text[4096];
    size_t n =
        (size_t)snprintf(text, sizeof text, "graph \"heads\" { in %%x : f32[16,16] out %%y : f32[16,%d]\n", 16 * HEADS);
    for (int h = 0; h < HEADS; h++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            "tmp %%q%d : f32[16,16] tmp %%s%d : f32[16,16] tmp %%p%d : f32[16,16] tmp %%o%d : f32[16,16]\n", h, h, h, h);
    for (int h = 0; h < HEADS; h++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%%q%d = Softmax \"%d\" (%%x) %%s%d = MatMul \"%d\" (%%q%d, %%q%d) %%p%d = Softmax \"%d\" "
                              "(%%s%d) %%o%d = MatMul \"%d\" (%%p%d, %%q%d)\n",
                              h, h, h, h, h, h, h, h, h, h, h, h, h);
    n += (size_t)snprintf(text + n, sizeof text - n, "%%y = Concat \"join\" (%%o0, %%o1, %%o2, %%o3) { axis=u32(1) } }\n");
    struct ir_graph *g;
    check(ir_parse(text, n, &g), "parse");
    return g;
}

/* Pairs of steps of different heads of which one waits for the other. */
static uint32_t crossings(const struct binary_graph *g)
{
    struct exec_step steps[64] = { { 0 } };
    uint8_t phased[64] = { 0 };
    uint32_t n = 0;
    assert_true(g->n_steps <= 64 && g->n_nodes <= 64);
    check(depend_load(g, phased, steps), "depend");
    const char *name[64] = { 0 };
    for (uint32_t i = 0; i < g->n_commands; i++)
        name[g->commands[i].step] = g->nodes[g->commands[i].node].name;
    for (uint32_t s = 0; s < g->n_steps; s++)
        for (uint32_t i = 0; i < s && i < 31; i++)
            n += (steps[s].waits >> i & 1) && strcmp(name[s], "join") != 0 && strcmp(name[s], name[s - 1 - i]) != 0;
    return n;
}

static void heads_do_not_wait_for_each_other(void **state)
{
    (void)state;
    struct ir_graph *g = heads();
    for (uint64_t window = 0; window <= WINDOW; window += WINDOW) {
        struct prepared least, more, few, one;
        make(&least, g, 0, window, 0);
        make(&more, g, 1 << 20, window, 0);
        make(&few, g, 1024, window, 0);
        make(&one, g, 1 << 20, window, 1);
        const struct binary_graph_info *a = &least.b.graphs[0].info, *b = &more.b.graphs[0].info, *c = &few.b.graphs[0].info,
                                       *d = &one.b.graphs[0].info;
        assert_true(crossings(&least.b.graphs[0]) > 0);
        assert_int_equal(crossings(&more.b.graphs[0]), 0);
        assert_true(b->scratch_bytes <= 2 * a->scratch_bytes && b->vtcm_used <= 2 * a->vtcm_used && b->vtcm_used <= WINDOW);
        assert_true(window ? b->vtcm_used > a->vtcm_used : b->scratch_bytes > a->scratch_bytes);
        assert_true(c->scratch_bytes <= a->scratch_bytes + 1024 && c->vtcm_used <= a->vtcm_used + 1024);
        assert_true(d->scratch_bytes == a->scratch_bytes && d->vtcm_used == a->vtcm_used); /* one thread has no use for it */
        unmake(&least);
        unmake(&more);
        unmake(&few);
        unmake(&one);
    }
    ir_graph_free(g);
}

/* A plan may take all that the target has and not a byte more: neither the smallest one nor one with room for branches. */
static void limit_of_scratch_holds(void **state)
{
    (void)state;
    struct ir_graph *g = heads();
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = 64,
                                .max_tiles = 8,
                                .order_steps = 5000,
                                .plan_nodes = 20000,
                                .beside_bytes = 1 << 20 };
    struct prepare_opts o = { .opt_level = 2 };
    struct prepared least, wide, p;
    struct binary_image none = { 0 };
    make(&least, g, 0, 0, 0);
    make(&wide, g, 1 << 20, 0, 0);
    uint64_t bytes = least.b.graphs[0].info.scratch_bytes, most = wide.b.graphs[0].info.scratch_bytes;
    assert_true(most > bytes);
    for (t.scratch_limit = bytes; t.scratch_limit <= most; t.scratch_limit += 64) {
        prepared_make(&p, g, &t, &o);
        assert_in_range(p.b.graphs[0].info.scratch_bytes, bytes, t.scratch_limit);
        unmake(&p);
    }
    t.scratch_limit = bytes - 1;
    struct ir_graph *copy;
    check(ir_clone(g, &copy), "clone");
    assert_int_equal(prepare(&t, &o, copy, &none), ST_PREPARE_FAILED);
    assert_non_null(strstr(status_text(), "scratch memory"));
    ir_graph_free(copy);
    unmake(&least);
    unmake(&wide);
    ir_graph_free(g);
}

/* Two products beside each other, then their sum, again and again: the two often end in the same moment, and then each of
 * the workers must see what the other one has done, or nobody takes the sum and the caller waits for ever. */
static struct ir_graph *meetings(void)
{
    static char text[1 << 16];
    size_t n =
        (size_t)snprintf(text, sizeof text, "graph \"meet\" { in %%x0 : f32[24,32] out %%x%d : f32[24,32]\n", MEETINGS);
    n += (size_t)snprintf(text + n, sizeof text - n, "in %%w : f32[32,32]\n");
    for (int i = 0; i < MEETINGS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "tmp %%a%d : f32[24,32] tmp %%b%d : f32[24,32]\n", i, i);
    for (int i = 1; i < MEETINGS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "tmp %%x%d : f32[24,32]\n", i);
    for (int i = 0; i < MEETINGS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%%a%d = MatMul \"a%d\" (%%x%d, %%w) %%b%d = MatMul \"b%d\" (%%x%d, %%w)\n"
                              "%%x%d = ElementWiseMultiply \"m%d\" (%%a%d, %%b%d)\n",
                              i, i, i, i, i, i, i + 1, i, i, i);
    n += (size_t)snprintf(text + n, sizeof text - n, "}\n");
    struct ir_graph *g;
    check(ir_parse(text, n, &g), "parse");
    return g;
}

static void workers_that_end_together_see_each_other(void **state)
{
    (void)state;
    struct ir_graph *g = meetings();
    struct prepared made;
    struct team *two;
    struct exec_program *p;
    make(&made, g, 1 << 20, 0, 0);
    static float x[24 * 32], w[32 * 32], y[24 * 32];
    struct exec_binding io[3] = { { .data = x }, { .data = w }, { .data = y } };
    check(team_create(2, &two), "team");
    struct exec_opts o = { .team = two, .isa = cpu_isa() };
    struct exec_run r = { .io = io };
    check(exec_load(&made.b.graphs[0], &o, &p), "load");
    for (unsigned i = 0, n = test_scale(MEETING_RUNS); i < n; i++)
        check(exec_run(p, &r), "run");
    exec_unload(p);
    team_free(two);
    unmake(&made);
    ir_graph_free(g);
}

/* ---- bits ------------------------------------------------------------------------------------------------------------- */

static void run(const struct binary_graph *g, bool shared, struct exec_binding *io)
{
    struct exec_program *p;
    struct exec_opts o = { .team = shared ? team : NULL, .isa = cpu_isa() };
    struct exec_run r = { .io = io };
    check(exec_load(g, &o, &p), "load");
    for (int i = 0; i < 2; i++)
        check(exec_run(p, &r), "run");
    exec_unload(p);
}

static void test_graph(uint64_t seed)
{
    struct random_graph r;
    struct prepared plain, wide;
    struct exec_binding want[MAX_IO] = { { 0 } }, got[MAX_IO] = { { 0 } };
    check(random_graph_make_wide(&r, seed, false), "make");
    make(&plain, r.g, 0, 0, 0);
    make(&wide, r.g, UINT64_MAX, seed % 2 ? 0 : (uint64_t)256 << seed % 9, 0);
    const struct binary_graph *a = &plain.b.graphs[0], *b = &wide.b.graphs[0];
    assert_true(b->info.vtcm_used <= b->info.vtcm_bytes && a->n_io <= MAX_IO);
    for (uint32_t i = 0; i < a->n_io; i++) {
        uint64_t bytes = desc_bytes(&a->tensors[a->io[i]].desc);
        bool input = i < a->info.n_inputs;
        want[i].data = mem_zalloc(bytes + 1);
        got[i].data = input ? want[i].data : mem_zalloc(bytes + 1);
        assert_true(want[i].data && got[i].data);
        if (input)
            random_fill(&r, &a->tensors[a->io[i]].desc, want[i].data);
    }
    run(a, false, want);
    run(b, seed % 3, got);
    for (uint32_t i = a->info.n_inputs; i < a->n_io; i++)
        if (memcmp(want[i].data, got[i].data, desc_bytes(&a->tensors[a->io[i]].desc)) != 0)
            fail_msg("seed %llu: tensor \"%s\" differs", (unsigned long long)seed, a->tensors[a->io[i]].name);
    for (uint32_t i = 0; i < a->n_io; i++) {
        mem_free(want[i].data);
        if (i >= a->info.n_inputs)
            mem_free(got[i].data);
    }
    unmake(&wide);
    unmake(&plain);
    random_graph_free(&r);
}

static void the_same_bits(void **state)
{
    (void)state;
    for (unsigned i = 0, n = test_scale(GRAPHS); i < n; i++)
        test_graph(1 + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(heads_do_not_wait_for_each_other),
                                        cmocka_unit_test(limit_of_scratch_holds),
                                        cmocka_unit_test(workers_that_end_together_see_each_other),
                                        cmocka_unit_test(the_same_bits) };
    return cmocka_run_group_tests(tests, make_team, free_team);
}
