/* SPDX-License-Identifier: Apache-2.0 */
/* A graph in text, prepared and loaded by the backend that the test is linked with. */
#ifndef TESTS_PASSES_BACKEND_NET_H
#define TESTS_PASSES_BACKEND_NET_H

#include <string.h>

#include "backend/backend.h"

struct net {
    struct backend_context *context;
    struct binary_image im;
    struct binary b;
    struct backend_graph *graph;
};

static void check(enum status st)
{
    if (st != ST_OK)
        fail_msg("%s: %s", status_name(st), status_text());
}

static void make(struct net *n, const char *text, uint32_t threads)
{
    struct ir_graph *g;
    struct backend_context_cfg cfg = { .threads = threads };
    check(ir_parse(text, strlen(text), &g));
    check(backend_this->open(&cfg, &n->context));
    check(backend_this->prepare(n->context, NULL, g, NULL, &n->im));
    ir_graph_free(g);
    check(binary_open(n->im.data, n->im.size, &n->b));
    check(backend_this->load(n->context, &n->b, 0, &n->graph));
}

static void unmake(struct net *n)
{
    backend_this->unload(n->graph);
    binary_close(&n->b);
    binary_image_free(&n->im);
    backend_this->close(n->context);
}

#endif
