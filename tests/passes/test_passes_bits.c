/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes do may not be seen in the results. Random graphs are computed node by node, each tensor in memory of its
 * own; then prepared with none but the two passes that every list needs, and with the default list, and run on every
 * instruction set with one and four threads: the same bits. The one exception is a Batchnorm of floats, which scales weights
 * before the product instead of results after it. */
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
#include "kernels/kernels.h"
#include "prepare/prepare.h"
#include "one_team.h"
#include "random_graph.h"
#include "test_scale.h"

enum { GRAPHS = 5000, MAX_IO = 64, THREADS = 4, FIRST_SEED = 1 };

ONE_TEAM(THREADS);

static const struct pass plain_passes[] = { { "plan", plan_memory }, { "emit", emit_commands }, {} };
static const struct prepare_target optimised = { .passes = prepare_default_passes,
                                                 .tensor_align = 64,
                                                 .max_tiles = 8,
                                                 .order_steps = 5000,
                                                 .plan_nodes = 20000 };
static const struct prepare_target plain = { .passes = plain_passes,
                                             .tensor_align = 64,
                                             .max_tiles = 1,
                                             .plan_nodes = 20000 };

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

static void run(const struct binary_graph *g, enum isa isa, struct team *with, const struct buffers *inputs,
                struct buffers *io)
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

/* No planner, no commands, no packed constants: the reference kernels one after the other. `data` has a block for each
 * tensor. */
static void compute_node(const struct ir_graph *g, const struct ir_node *n, void *const *data)
{
    struct ir_call v;
    struct kernel_bound k;
    void *operands[2 * MAX_PORTS];
    ir_call(g, n, &v);
    void *args = mem_zalloc(kernel_args_size(n->op->id));
    assert_non_null(args);
    check(kernel_bind(&v.call, ISA_REF, args, &k), "bind", 0);
    void *work = mem_alloc_aligned(64, k.work_bytes);
    assert_non_null(work);
    for (uint32_t i = 0; i < n->n_in; i++)
        operands[i] = data[n->in[i]];
    for (uint32_t i = 0; i < n->n_out; i++)
        operands[n->n_in + i] = data[n->out[i]];
    k.run(&(struct kernel_call){ .args = args, .data = operands, .work = work }, (struct range){ 0, k.extent });
    mem_free(work);
    mem_free(args);
}

static void compute(const struct ir_graph *g, struct buffers *io)
{
    void **data = mem_array(void *, g->tensors.n);
    assert_non_null(data);
    for (size_t i = 0; i < g->tensors.n; i++) {
        const struct ir_tensor *t = &g->tensors.at[i];
        bool mine = t->role == IR_NATIVE;
        data[i] = t->role == IR_CONST ? (void *)t->data
                  : mine              ? mem_alloc_aligned(64, desc_bytes(&t->desc))
                                      : buffer_named(io, t->name);
        assert_non_null(data[i]);
    }
    for (size_t k = 0; k < g->nodes.n; k++)
        compute_node(g, &g->nodes.at[k], data);
    for (size_t i = 0; i < g->tensors.n; i++)
        if (g->tensors.at[i].role == IR_NATIVE)
            mem_free(data[i]);
    mem_free(data);
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
                fail_msg("seed %llu, %s: tensor \"%s\" differs at byte %llu of %llu", (unsigned long long)seed, what,
                         want->name[i], (unsigned long long)at, (unsigned long long)bytes);
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
    compute(r.g, &want);
    run(&slow.b.graphs[0], ISA_REF, NULL, &want, &got);
    compare(&want, &got, true, seed, "without optimisation");
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

/* A declared maximum may be larger than what the inputs can give: nothing is read beyond them, even when nothing changes
 * before the first run. */
static void maxima_may_be_generous(void **state)
{
    (void)state;
    static const char text[] =
        "graph \"g\" { in %a : f32[?2,2] const %b : f32[2,2] = (1,2,3,4) tmp %m : f32[?9,2] out %y : f32[?9,2]\n"
        "%m = MatMul \"m\" (%a, %b) %y = Relu \"r\" (%m) }";
    struct ir_graph *g;
    struct prepared p;
    struct exec_program *program;
    struct exec_opts o = { .isa = cpu_isa() };
    float a[4] = { 1, 0, 0, 1 }, y[18], *exact = mem_dup(a, sizeof a);
    uint32_t dims[2] = { 0 };
    struct exec_binding io[2] = { { .data = exact }, { .data = y, .out_dims = dims } };
    struct exec_run r = { .io = io };
    assert_non_null(exact);
    check(ir_parse(text, sizeof text - 1, &g), "parse", 0);
    make(&p, g, &optimised, 0);
    check(exec_load(&p.b.graphs[0], &o, &program), "load", 0);
    memset(y, 0x55, sizeof y);
    check(exec_run(program, &r), "run", 0);
    assert_int_equal(dims[0], 2);
    assert_memory_equal(y, ((float[]){ 1, 2, 3, 4 }), 4 * sizeof(float));
    assert_int_equal(((uint8_t *)y)[4 * sizeof(float)], 0x55);
    exec_unload(program);
    unmake(&p);
    ir_graph_free(g);
    mem_free(exact);
}

int main(int argc, char **argv)
{
    if (argc == 2) { /* one seed, to look into a failure */
        if (make_team(NULL) != 0)
            return 1;
        test_graph(strtoull(argv[1], NULL, 10));
        return free_team(NULL);
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(passes_keep_the_bits), cmocka_unit_test(maxima_may_be_generous) };
    return cmocka_run_group_tests(tests, make_team, free_team);
}
