/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes whose code is in a library of the client. They are opened when a program is loaded and closed with it; of each
 * program one of them runs at a time (touch.c), in the order of the graph. */
#include <inttypes.h>

#include "exec/program.h"

static const char *text_of(const struct op_call *c, const char *param)
{
    return c->params[op_param_index(c->op, param)].data;
}

enum status outside_open(struct exec_program *p, uint32_t node, const struct op_call *c)
{
    struct exec_node *e = &p->nodes[node];
    if (c->op->id != OP_NONE || e->outside)
        return ST_OK;
    RETURN_IF(!p->outside, ST_UNKNOWN_PACKAGE,
              "node \"%s\" is operator \"%s\" of op package \"%s\"; no op packages run here", c->node,
              text_of(c, "operator"), text_of(c, "package"));
    return p->outside->open(p->outside->arg, c, &e->outside);
}

void outside_run(struct exec_program *p, uint32_t node)
{
    uint64_t code = p->outside->run(p->nodes[node].outside, p->nodes[node].data);
    if (!code)
        return;
    atomic_store_explicit(&p->failed_node, node, memory_order_relaxed);
    atomic_store_explicit(&p->failed_code, code, memory_order_relaxed);
    atomic_store_explicit(&p->job->stop, ST_PACKAGE_OP, memory_order_release);
}

void outside_close(struct exec_program *p)
{
    for (uint32_t i = 0; p->nodes && i < p->g->n_nodes; i++)
        if (p->nodes[i].outside)
            p->outside->close(p->nodes[i].outside);
}

enum status outside_failed(const struct exec_program *p)
{
    uint32_t node = atomic_load_explicit(&p->failed_node, memory_order_relaxed);
    struct exec_call view;
    bind_call(p, node, &view);
    return status_fail(
        ST_PACKAGE_OP,
        "graph \"%s\": node \"%s\" failed: its function of op package \"%s\" (operator \"%s\") returned %" PRIu64
        "; nothing behind it was computed",
        p->g->info.name, view.call.node, text_of(&view.call, "package"), text_of(&view.call, "operator"),
        atomic_load_explicit(&p->failed_code, memory_order_relaxed));
}
