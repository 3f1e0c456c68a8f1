/* SPDX-License-Identifier: Apache-2.0 */
/* Op packages of a context: what its session has to be started with, and whether a graph finds there what its nodes name.
 * The session itself knows no contexts: it may have packages that another backend handle of the client registered. */
#include "backend/htp/htp_backend.h"

#include <string.h>

const char *htp_packages(const struct backend_context *c)
{
    return backend_host.list_packages ? backend_host.list_packages(c->cfg.packages) : "";
}

static const char *text_of(const struct binary_node *n, const char *param)
{
    return n->params[op_param_index(n->op, param)].data;
}

enum status htp_packages_check(const struct backend_context *c, const struct binary_graph *g, bool *ret_any)
{
    const struct backend_package *p;

    *ret_any = false;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct binary_node *n = &g->nodes[i];
        if (n->op->id != OP_NONE)
            continue;

        *ret_any = true;
        RETURN_IF(!backend_host.find_package, ST_UNKNOWN_PACKAGE, "node \"%s\": there are no op packages", n->name);
        TRY(backend_host.find_package(c->cfg.packages, n->name, text_of(n, "package"), text_of(n, "operator"), &p));
    }
    return ST_OK;
}

enum status htp_packages_in(const struct backend_context *c, const struct htp_session *s, const char *graph)
{
    RETURN_IF(!rpc_packages_within(htp_packages(c), s->kind.packages), ST_UNKNOWN_PACKAGE,
              "graph \"%s\" names an op package that was registered when session %u of its context ran already; register "
              "packages before the first graph or buffer of a context",
              graph, s->index);
    return ST_OK;
}
