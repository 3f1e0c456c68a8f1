/* SPDX-License-Identifier: Apache-2.0 */
/* A graph that was compiled, and what has to be freed of it. Include cmocka.h first. */
#ifndef TESTS_PASSES_PREPARED_H
#define TESTS_PASSES_PREPARED_H

#include "binary/binary.h"
#include "prepare/prepare.h"

struct prepared {
    struct ir_graph *g;
    struct binary_image im;
    struct binary b;
};

static inline void check(enum status st, const char *what)
{
    if (st != ST_OK)
        fail_msg("%s: %s", what, status_text());
}

/* A copy of the graph is compiled. */
static inline void prepared_make(struct prepared *p, const struct ir_graph *g, const struct prepare_target *t,
                                 const struct prepare_opts *o)
{
    check(ir_clone(g, &p->g), "clone");
    check(prepare(t, o, p->g, &p->im), "prepare");
    check(binary_open(p->im.data, p->im.size, &p->b), "open");
}

static inline void unmake(struct prepared *p)
{
    binary_close(&p->b);
    binary_image_free(&p->im);
    ir_graph_free(p->g);
}

#endif
