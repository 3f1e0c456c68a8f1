/* SPDX-License-Identifier: Apache-2.0 */
/* A graph gives the same bits with chains and without: on every instruction set, with threads, and in windows of fast memory
 * at every level. Include cmocka.h first. */
#ifndef TESTS_PASSES_SAME_BITS_H
#define TESTS_PASSES_SAME_BITS_H

#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "exec/exec.h"
#include "prepared.h"
#include "random_graph.h"

enum { MAX_IO = 8, KIB = 1024 };

static inline void make(const struct ir_graph *g, uint64_t window, uint32_t level, struct chain_limits chains,
                        struct prepared *ret)
{
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = 64,
                                .max_tiles = 8,
                                .plan_nodes = 1000,
                                .order_steps = 1000,
                                .vtcm_bytes = window,
                                .chains = chains };
    prepared_make(ret, g, &t, &(struct prepare_opts){ .opt_level = level });
}

struct results {
    void *data[MAX_IO];
    uint32_t n;
};

static inline struct results run(const struct binary_graph *g, enum isa isa, struct team *with, uint64_t seed)
{
    struct random_graph r = { .seed = seed };
    struct results b = { .n = g->n_io };
    struct exec_binding bind[MAX_IO] = { { 0 } };
    struct exec_program *p;
    void *window = mem_alloc_aligned(4096, g->info.vtcm_used + 1);
    assert_true(b.n <= MAX_IO && window);
    for (uint32_t i = 0; i < b.n; i++) {
        const struct tensor_desc *d = &g->tensors[g->io[i]].desc;
        assert_non_null(bind[i].data = b.data[i] = mem_zalloc(desc_bytes(d)));
        if (i < g->info.n_inputs)
            random_fill(&r, d, b.data[i]);
    }
    check(exec_load(g, &(struct exec_opts){ .isa = isa, .team = with, .vtcm = window }, &p), "load");
    for (int again = 0; again < 2; again++)
        check(exec_run(p, &(struct exec_run){ .io = bind }), "run");
    exec_unload(p);
    mem_free(window);
    return b;
}

static inline void drop(struct results *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        mem_free(b->data[i]);
}

static inline void expect_same(const struct binary_graph *g, enum isa isa, struct team *with, const struct results *want,
                               uint64_t seed)
{
    struct results got = run(g, isa, with, seed);
    for (uint32_t i = g->info.n_inputs; i < g->n_io; i++)
        if (memcmp(got.data[i], want->data[i], desc_bytes(&g->tensors[g->io[i]].desc)) != 0)
            fail_msg("seed %llu, %s%s: \"%s\" differs", (unsigned long long)seed, cpu_isa_name(isa),
                     with ? " with threads" : "", g->tensors[g->io[i]].name);
    drop(&got);
}

/* `look` sees every graph that was made with chains. */
static inline void same_bits(const struct ir_graph *g, struct team *team, uint64_t seed,
                             void (*look)(const struct binary_graph *g))
{
    struct prepared plain, chained;
    make(g, 0, 2, (struct chain_limits){ 0 }, &plain);
    struct results want = run(&plain.b.graphs[0], ISA_REF, NULL, seed);
    make(g, 0, 2, (struct chain_limits){ .bytes = 1024u << seed % 9, .lines = seed % 3 ? 1 : 12, .twice = 10 }, &chained);
    look(&chained.b.graphs[0]);
    for (int isa = ISA_REF; isa <= (int)cpu_isa(); isa++)
        expect_same(&chained.b.graphs[0], (enum isa)isa, isa % 2 ? team : NULL, &want, seed);
    expect_same(&chained.b.graphs[0], cpu_isa(), team, &want, seed);
    unmake(&chained);
    for (uint32_t level = 1; level <= 3; level++) {
        make(g, (32 * KIB) << (seed + level) % 5, level, prepare_default_chains, &chained);
        look(&chained.b.graphs[0]);
        expect_same(&chained.b.graphs[0], cpu_isa(), level == 2 ? team : NULL, &want, seed);
        unmake(&chained);
    }
    drop(&want);
    unmake(&plain);
}

#endif
