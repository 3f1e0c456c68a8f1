/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemDlc_composeGraphs: each graph is built through the backend's own interface, with the settings that the client has
 * for it. */
#include "api/dlc_compose.h"

#include <string.h>

#include "api/compose.h"
#include "api/graph_info.h"
#include "api/log.h"

enum { CONFIGS_MAX = 4096 };

static enum status check_configs(const struct dlc_compose *a, struct ir_graph *const *graphs, uint32_t n)
{
    RETURN_IF(a->n_configs && !a->configs, ST_INVALID_ARG, "numGraphConfigs is %u, but graphConfigs is NULL", a->n_configs);
    RETURN_IF(a->n_configs > CONFIGS_MAX, ST_INVALID_ARG, "numGraphConfigs is %u; at most %d are supported", a->n_configs,
              CONFIGS_MAX);
    for (uint32_t i = 0; i < a->n_configs; i++) {
        const QnnSystemDlc_GraphConfigInfo_t *c = a->configs[i];
        RETURN_IF(!c || c->version != QNN_SYSTEM_DLC_GRAPH_CONFIG_INFO_VERSION_1, ST_INVALID_ARG,
                  "graphConfigs[%u] is %s; version 1 is known", i, c ? "of another version" : "NULL");
        RETURN_IF(!c->v1.graphName || (c->v1.numConfigs && !c->v1.graphConfigs), ST_INVALID_ARG,
                  "graphConfigs[%u] has no %s", i, c->v1.graphName ? "configs" : "graph name");
        RETURN_IF(c->v1.numConfigs > CONFIGS_MAX, ST_INVALID_ARG,
                  "graphConfigs[%u] has %u entries; at most %d are supported", i, c->v1.numConfigs, CONFIGS_MAX);
        bool found = false;
        for (uint32_t k = 0; k < n; k++)
            found |= strcmp(graphs[k]->name, c->v1.graphName) == 0;
        if (!found) /* settings for the graphs of several DLCs may be given with each of them */
            api_log(LOG_WARN, "graphConfigs[%u] is for graph \"%s\"; the DLC has no graph of that name", i, c->v1.graphName);
    }
    return ST_OK;
}

/* The settings of a graph with the NULL at the end that QnnGraph_create expects. */
static enum status configs_of(const struct dlc_compose *a, const char *graph, struct arena *arena,
                              const QnnGraph_Config_t ***ret)
{
    *ret = NULL;
    for (uint32_t i = 0; i < a->n_configs; i++) {
        const QnnSystemDlc_GraphConfigInfoV1_t *c = &a->configs[i]->v1;
        if (strcmp(c->graphName, graph) != 0 || !c->numConfigs)
            continue;
        *ret = arena_array(arena, const QnnGraph_Config_t *, (size_t)c->numConfigs + 1);
        RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for the configuration of graph \"%s\"", graph);
        memcpy(*ret, c->graphConfigs, c->numConfigs * sizeof(**ret));
    }
    return ST_OK;
}

static enum status compose_all(const struct dlc_compose *a, struct ir_graph *const *graphs, uint32_t n, struct arena *arena,
                               QnnSystemContext_GraphInfo_t **ret)
{
    struct composed *done = arena_array(arena, struct composed, n);
    RETURN_IF(!done, ST_NO_MEMORY, "no memory to compose %u graphs", n);
    for (uint32_t i = 0; i < n; i++) {
        struct compose_target t = { .api = &a->backend->QNN_INTERFACE_VER_NAME, .context = a->context };
        TRY(configs_of(a, graphs[i]->name, arena, &t.config));
        enum status st = compose_graph(graphs[i], &t, arena, &done[i]);
        if (st != ST_OK) /* what the backend refused is no fault of the file */
            return st == ST_NO_MEMORY ? st : status_prefix(ST_PREPARE_FAILED, "composing the DLC");
    }
    return graph_info_pack(done, n, a->version, ret);
}

enum status dlc_compose_check(const struct dlc_compose *a)
{
    uint32_t major = a->backend->apiVersion.coreApiVersion.major;
    RETURN_IF(a->version < QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1 || a->version > QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3,
              ST_INVALID_ARG, "graphVersion is %u; 1 to 3 are known", (unsigned)a->version);
    RETURN_IF(!a->context, ST_INVALID_ARG, "the context is NULL; give one of the backend's contextCreate");
    RETURN_IF(major != QNN_API_VERSION_MAJOR, ST_INVALID_ARG, "the backend's interface has API version %u; %u is needed",
              major, QNN_API_VERSION_MAJOR);
    return compose_check(&a->backend->QNN_INTERFACE_VER_NAME);
}

enum status dlc_compose(const struct dlc_compose *a, struct ir_graph *const *graphs, uint32_t n,
                        QnnSystemContext_GraphInfo_t **ret)
{
    TRY(check_configs(a, graphs, n));
    struct arena arena;
    arena_init(&arena);
    enum status st = compose_all(a, graphs, n, &arena, ret);
    arena_finish(&arena);
    return st;
}
