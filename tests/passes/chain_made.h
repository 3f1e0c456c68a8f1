/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs prepared with chains, for the tests of chains. Include cmocka.h first. */
#ifndef TESTS_PASSES_CHAIN_MADE_H
#define TESTS_PASSES_CHAIN_MADE_H

#include "prepare/prepare.h"

static inline void check(enum status st, const char *what, uint64_t seed)
{
    if (st != ST_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, what, status_text());
}

struct prepared {
    struct ir_graph *g;
    struct binary_image im;
    struct binary b;
};

static inline void make(struct prepared *p, const struct ir_graph *g, struct chain_limits chains, uint64_t seed)
{
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = 64,
                                .max_tiles = 8,
                                .order_steps = 5000,
                                .plan_nodes = 20000,
                                .chains = chains };
    struct prepare_opts o = { .opt_level = 2 };
    check(ir_clone(g, &p->g), "clone", seed);
    check(prepare(&t, &o, p->g, &p->im), "prepare", seed);
    check(binary_open(p->im.data, p->im.size, &p->b), "open", seed);
}

static inline void unmake(struct prepared *p)
{
    binary_close(&p->b);
    binary_image_free(&p->im);
    ir_graph_free(p->g);
}

#endif
