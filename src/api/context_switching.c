/* SPDX-License-Identifier: Apache-2.0 */
/* Graph switching: what the options of a context ask for, before a backend does it. MEMORY_LIMIT_HINT and PERSISTENT_BINARY
 * switch it on, GRAPH_RETENTION_ORDER says what to keep. */
#include <string.h>

#include "api/context.h"
#include "backend/backend.h"

static bool has_name(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

enum status context_switching_check(struct context_options *o)
{
    bool wanted = o->cfg.memory_limit || o->retained;
    if (!wanted)
        return ST_OK;

    if (!backend_this->switches_graphs || !o->cfg.from_binary) {
        api_log(LOG_WARN, "MEMORY_LIMIT_HINT and GRAPH_RETENTION_ORDER change nothing here: %s keeps all its graphs loaded",
                o->cfg.from_binary ? "this backend" : "a context that is not made from a binary");
        o->cfg.memory_limit = 0;
        o->retained = NULL;
        return ST_OK;
    }
    if (!o->cfg.memory_limit) {
        api_log(LOG_WARN, "GRAPH_RETENTION_ORDER changes nothing without MEMORY_LIMIT_HINT: all graphs stay loaded");
        o->retained = NULL;
        return ST_OK;
    }
    if (o->cfg.persistent_binary)
        return ST_OK;

    RETURN_IF(o->retained || backend_strict(), ST_INVALID_CONFIG,
              "graphs can only be loaded again from a binary that stays: with MEMORY_LIMIT_HINT%s, PERSISTENT_BINARY has to "
              "be true, and the buffer has to stay as it is until the context is freed",
              o->retained ? " and GRAPH_RETENTION_ORDER" : "");
    api_log(LOG_WARN, "MEMORY_LIMIT_HINT changes nothing without PERSISTENT_BINARY: all graphs stay loaded");
    o->cfg.memory_limit = 0;
    return ST_OK;
}

enum status context_retained_check(const struct api_context *c)
{
    for (char **name = c->retained; name && *name; name++) {
        bool found = false;
        for (uint32_t i = 0; i < c->binary.n_graphs; i++)
            found |= strcmp(c->binary.graphs[i].info.name, *name) == 0;
        RETURN_IF(!found, ST_INVALID_CONFIG, "graph \"%s\" of GRAPH_RETENTION_ORDER is not in the binary", *name);
        RETURN_IF(c->enabled && !has_name(c->cfg.enabled, *name), ST_INVALID_CONFIG,
                  "graph \"%s\" of GRAPH_RETENTION_ORDER is not enabled; name it in ENABLE_GRAPHS, too", *name);
        RETURN_IF(has_name((const char *const *)name + 1, *name), ST_INVALID_CONFIG,
                  "graph \"%s\" is in GRAPH_RETENTION_ORDER twice", *name);
    }
    return ST_OK;
}
