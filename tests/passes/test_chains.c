/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: which lines an operator needs, against looking at every tap; that slabs always hold what is wanted; and that
 * graphs give the same bits with and without chains, on every instruction set and any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "chain_made.h"
#include "exec/exec.h"
#include "kernels/kernels.h"
#include "random_graph.h"
#include "test_scale.h"

enum { GRAPHS = 1500, MAX_IO = 64, MAX_THREADS = 8, SHAPES = 20000 };

static struct team *teams[MAX_THREADS + 1];
/* What the random graphs led to: chains, of several images, of sequences, with normalizations inside. */
static uint64_t n_chains, n_members, n_long, n_batch, n_flat, n_norms;

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

static uint32_t below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % n);
}

struct axis {
    uint32_t in, kernel, stride, dilation, pad;
};

/* Lines of the input that taps of lines [begin, end) fall on, one by one. */
static void brute_force(struct axis v, uint32_t begin, uint32_t end, uint32_t *lo, uint32_t *hi)
{
    *lo = *hi = 0;
    for (uint32_t o = begin; o < end; o++)
        for (uint32_t k = 0; k < v.kernel; k++) {
            int64_t i = (int64_t)o * v.stride - v.pad + (int64_t)k * v.dilation;
            if (i < 0 || i >= v.in)
                continue;
            *lo = *hi == 0 || i < *lo ? (uint32_t)i : *lo;
            *hi = i + 1 > *hi ? (uint32_t)i + 1 : *hi;
        }
}

/* The operator whose window goes along lines in each way that there is: an image, one of a single line, a sequence. */
enum form { IMAGE, FLAT, SEQUENCE };

static void check_window(uint64_t *seed, enum form form)
{
    uint32_t in = 2 + below(seed, 40), kernel = 1 + below(seed, 5), at = form == FLAT, one = form == SEQUENCE,
             strides[3] = { 1, 1, 1 }, dilations[3] = { 1, 1, 1 }, pads[6] = { 0 };
    uint32_t stride = strides[at] = 1 + below(seed, 4), dilation = dilations[at] = 1 + below(seed, 3),
             reach = (kernel - 1) * dilation + 1;
    pads[2 * at] = below(seed, 6);
    pads[2 * at + 1] = below(seed, 6);
    if (in + pads[2 * at] + pads[2 * at + 1] < reach + stride) /* of one line or none */
        return;
    uint32_t out = (in + pads[2 * at] + pads[2 * at + 1] - reach) / stride + 1, batch = 1 + below(seed, 3);
    uint32_t shapes[3][4] = { { batch, in, 3, 2 }, { batch, 1, in, 2 }, { batch, in, 2 } },
             filters[3][4] = { { kernel, 1, 2, 5 }, { 1, kernel, 2, 5 }, { kernel, 2, 5 } },
             results[3][4] = { { batch, out, 3, 5 }, { batch, 1, out, 5 }, { batch, out, 5 } };
    struct tensor_desc x = { .type = DT_F32, .rank = one ? 3 : 4 }, w = x, y = x;
    memcpy(x.dims, shapes[form], sizeof shapes[form]);
    memcpy(w.dims, filters[form], sizeof filters[form]);
    memcpy(y.dims, results[form], sizeof results[form]);
    const struct tensor_desc *ins[2] = { &x, &w }, *outs[1] = { &y };
    struct op_value
        given[3] = { { .type = DT_U32, .rank = !one, .dims = { 2 }, .count = one ? 1 : 2, .data = strides },
                     { .type = DT_U32, .rank = one ? 1 : 2, .dims = { 2, 2 }, .count = one ? 2 : 4, .data = pads },
                     { .type = DT_U32, .rank = !one, .dims = { 2 }, .count = one ? 1 : 2, .data = dilations } },
        params[16];
    const char *names[3] = { "stride", "pad_amount", "dilation" };
    struct op_call c = { .op = op_find(one ? "Conv1d" : "Conv2d"),
                         .n_in = 2,
                         .n_out = 1,
                         .in = ins,
                         .out = outs,
                         .params = params,
                         .post = OP_POST_NONE };
    check(op_params_bind(c.op, NULL, names, given, 3, params), "parameters", *seed);
    check(op_check(&c), "check", *seed);
    struct axis v = { in, kernel, stride, dilation, pads[2 * at] };
    struct op_reach r;
    assert_true(op_by_lines(&c));
    assert_false(op_reach(&c, 1, &r)); /* weights are needed whole */
    assert_true(op_reach(&c, 0, &r));
    for (uint32_t begin = 0; begin < out; begin++)
        for (uint32_t end = begin + 1; end <= out; end++) {
            uint32_t lo, hi, a = begin, b = end;
            brute_force(v, begin, end, &lo, &hi);
            op_reach_lines(&r, &a, &b);
            /* Where taps leave lines out, those at the border may be asked for although nobody needs them; never less than
             * needed. */
            if (hi && dilation == 1 && stride <= kernel)
                assert_true(a == lo && b == hi);
            else
                assert_true(hi == 0 || (a <= lo && b >= hi));
        }
}

static void lines_of_windows(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (unsigned i = test_scale(SHAPES) / 10 + 1; i-- > 0;)
        check_window(&seed, (enum form)(i % 3));
}

static void lines_of_tensors(void **state)
{
    (void)state;
    struct op_lines l;
    assert_true(desc_lines(&(struct tensor_desc){ .type = DT_UQ16, .rank = 4, .dims = { 1, 7, 5, 3 } }, &l));
    assert_int_equal(l.n, 7);
    assert_int_equal(l.images, 1);
    assert_int_equal(l.elements, 15);
    assert_int_equal(l.bytes, 30);
    assert_true(desc_lines(&(struct tensor_desc){ .type = DT_F32, .rank = 2, .dims = { 9, 4 } }, &l));
    assert_int_equal(l.n, 9);
    assert_int_equal(l.bytes, 16);
    assert_true(desc_lines(&(struct tensor_desc){ .type = DT_F32, .rank = 4, .dims = { 2, 7, 5, 3 } }, &l));
    assert_int_equal(l.n, 14);
    assert_int_equal(l.images, 2);
    assert_int_equal(l.bytes, 60);
    assert_false(desc_lines(&(struct tensor_desc){ .type = DT_SQ4, .rank = 2, .dims = { 9, 3 } },
                            &l)); /* a line would begin inside a byte */
    assert_false(desc_lines(&(struct tensor_desc){ .type = DT_F32, .rank = 2, .dims = { 9, 4 }, .dynamic = 1 }, &l));
    assert_false(desc_lines(&(struct tensor_desc){ .type = DT_F32, .rank = 1, .dims = { 9 } }, &l));
}

/* A random chain, and a model of it that remembers which lines each slab holds. */
static void check_slabs(uint64_t *seed)
{
    uint32_t n = 2 + below(seed, 6), lines[8], first[9] = { 0 }, heights[8], n_edges = 0, readers[8] = { 0 };
    struct op_chain_edge edges[16];
    lines[0] = 1 + below(seed, 60);
    for (uint32_t i = 1; i < n; i++) {
        for (uint32_t e = 0; e < (i > 1 ? 2u : 1u); e++) {
            uint32_t maker = e ? below(seed, i) : i - 1; /* the one before, and perhaps another one */
            struct op_reach r = { .stride = e ? 1 : 1 + below(seed, 3),
                                  .before = below(seed, 4),
                                  .window = 1 + below(seed, 5),
                                  .lines = lines[maker] };
            if (e && below(seed, 2))
                continue;
            edges[n_edges++] = (struct op_chain_edge){ .maker = maker, .reach = r };
            readers[maker]++;
        }
        lines[i] = lines[i - 1] / edges[first[i]].reach.stride + 1 + below(seed, 3);
        first[i + 1] = n_edges;
    }
    struct op_chain c = { .n = n, .first = first, .edges = edges };
    uint32_t height = 1 + below(seed, lines[n - 1]), at[8] = { 0 }, done[8] = { 0 };
    op_chain_heights(&c, lines[n - 1], height, heights);
    struct op_chain_span spans[OP_CHAIN_MAX] = { { 0 } };
    uint32_t begin = below(seed, lines[n - 1]);
    for (uint32_t p = begin; p < lines[n - 1]; p += height) {
        uint32_t q = lines[n - 1] - p < height ? lines[n - 1] : p + height;
        op_chain_next(&c, p, q, spans);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(spans[i].begin <= spans[i].from && spans[i].from <= spans[i].end);
            assert_true(spans[i].end - spans[i].begin <= heights[i]);
            assert_true(spans[i].begin >= at[i]); /* never back */
            assert_true(p == begin || spans[i].from == spans[i].begin || spans[i].from <= done[i]); /* no holes */
            at[i] = spans[i].begin;
            for (uint32_t e = first[i]; e < first[i + 1] && spans[i].from < spans[i].end; e++) {
                uint32_t a = spans[i].from, b = spans[i].end, m = edges[e].maker;
                op_reach_lines(&edges[e].reach, &a, &b);
                assert_true(a == b || (a >= spans[m].begin && b <= spans[m].end));
            }
            done[i] = spans[i].end;
        }
        assert_int_equal(spans[n - 1].from, p);
        assert_int_equal(spans[n - 1].end, q);
    }
}

static void slabs_hold_what_is_wanted(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (unsigned i = test_scale(SHAPES); i-- > 0;)
        check_slabs(&seed);
}

/* ---- bits ------------------------------------------------------------------------------------------------------------- */

/* Inputs are filled, outputs are written; memory between runs is as the last one left it. */
static void run(const struct binary_graph *g, enum isa isa, unsigned threads, struct exec_binding *io, uint64_t seed)
{
    struct exec_program *p;
    struct exec_opts o = { .team = teams[threads], .isa = isa };
    struct exec_run r = { .io = io, .profile_nodes = seed % 3 == 0 };
    check(exec_load(g, &o, &p), "load", seed);
    for (int again = 0; again < 2; again++)
        check(exec_run(p, &r), "run", seed);
    if (r.profile_nodes) { /* every member of a chain shows up */
        uint8_t *seen = mem_zalloc(g->n_nodes);
        assert_non_null(seen);
        assert_int_equal(r.marks->dropped, 0);
        for (uint32_t i = 0; i < r.marks->n; i++)
            seen[r.marks->marks[i].node] = 1;
        for (uint32_t i = 0; i < g->n_nodes; i++)
            assert_true(seen[i]);
        mem_free(seen);
    }
    exec_unload(p);
}

static void count(const struct binary_graph *g)
{
    n_chains += g->n_chains;
    for (uint32_t i = 0; i < g->n_chains; i++) {
        n_members += g->chains[i].n;
        n_long += g->chains[i].n > 4;
        n_batch += g->chains[i].images > 1;
        const struct tensor_desc *d = &g->tensors[g->nodes[g->chains[i].first].out[0]].desc;
        for (uint32_t k = 0; k < g->chains[i].n; k++)
            n_norms += kernel_family_of(g->nodes[g->chains[i].first + k].op->id) == kernel_family_of(OP_LayerNorm);
        n_flat += d->rank == 3 || (d->rank == 4 && d->dims[1] == 1 && d->dims[2] > 1);
    }
}

static void test_graph(uint64_t seed)
{
    struct random_graph r;
    struct prepared plain, chained;
    struct exec_binding want[MAX_IO] = { { 0 } }, got[MAX_IO] = { { 0 } };
    check(random_graph_make_lines(&r, seed, 2 + (unsigned)(seed % 12)), "make", seed);
    make(&plain, r.g, (struct chain_limits){ 0 }, seed);
    make(&chained, r.g, (struct chain_limits){ .bytes = 256u << seed % 10, .lines = 1, .twice = seed % 4 ? 100000 : 10 },
         seed);
    const struct binary_graph *a = &plain.b.graphs[0], *b = &chained.b.graphs[0];
    count(b);
    assert_int_equal(a->n_io, b->n_io);
    assert_true(a->n_io <= MAX_IO);
    for (uint32_t i = 0; i < a->n_io; i++) {
        const struct tensor_desc *d = &a->tensors[a->io[i]].desc;
        want[i].data = mem_zalloc(desc_bytes(d));
        got[i].data = i < a->info.n_inputs ? want[i].data : mem_zalloc(desc_bytes(d));
        assert_true(want[i].data && got[i].data);
        if (i < a->info.n_inputs)
            random_fill(&r, d, want[i].data);
    }
    run(a, ISA_REF, 0, want, 1);
    for (int isa = ISA_REF; isa <= (int)cpu_isa(); isa++)
        for (unsigned k = 0; k < 2; k++) {
            unsigned threads = k ? 1 + (unsigned)(seed + (unsigned)isa) % MAX_THREADS : 0;
            for (uint32_t i = a->info.n_inputs; i < a->n_io; i++)
                memset(got[i].data, 0x55, desc_bytes(&a->tensors[a->io[i]].desc));
            run(b, isa, threads, got, seed);
            for (uint32_t i = a->info.n_inputs; i < a->n_io; i++)
                if (memcmp(want[i].data, got[i].data, desc_bytes(&a->tensors[a->io[i]].desc)) != 0)
                    fail_msg("seed %llu, %s with %u threads: tensor \"%s\" differs", (unsigned long long)seed,
                             cpu_isa_name(isa), threads, a->tensors[a->io[i]].name);
        }
    for (uint32_t i = 0; i < a->n_io; i++) {
        mem_free(want[i].data);
        if (i >= a->info.n_inputs)
            mem_free(got[i].data);
    }
    unmake(&chained);
    unmake(&plain);
    random_graph_free(&r);
}

static void chains_keep_the_bits(void **state)
{
    (void)state;
    unsigned n = test_scale(GRAPHS);
    for (unsigned i = 0; i < n; i++)
        test_graph(1 + i);
    printf("%llu chains of %llu operators, %llu with more than four, %llu of several images, %llu of sequences, %llu "
           "normalizations\n",
           (unsigned long long)n_chains, (unsigned long long)n_members, (unsigned long long)n_long,
           (unsigned long long)n_batch, (unsigned long long)n_flat, (unsigned long long)n_norms);
    assert_true(n_chains > n / 2 && n_long > n / 20 && n_batch > n / 10 && n_flat > n / 10 &&
                n_norms > n / 20); /* or this test says nothing */
}

static int make_teams(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= MAX_THREADS; i++)
        if (team_create(i, &teams[i]) != ST_OK)
            return -1;
    return 0;
}

static int free_teams(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= MAX_THREADS; i++)
        team_free(teams[i]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2) { /* one seed, to look into a failure */
        if (make_teams(NULL) != 0)
            return 1;
        test_graph(strtoull(argv[1], NULL, 10));
        return free_teams(NULL);
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(lines_of_tensors), cmocka_unit_test(lines_of_windows),
                                        cmocka_unit_test(slabs_hold_what_is_wanted),
                                        cmocka_unit_test(chains_keep_the_bits) };
    return cmocka_run_group_tests(tests, make_teams, free_teams);
}
