/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a graph, at its creation and later. */
#include "api/objects.h"

static enum status set_option(struct api_graph *g, const QnnGraph_Config_t *c)
{
    switch (c->option) {
    case QNN_GRAPH_CONFIG_OPTION_CUSTOM:
        RETURN_IF(!backend_this->graph_config, ST_INVALID_CONFIG, "the %s backend has no custom graph options",
                  backend_this->name);
        return backend_this->graph_config(c->customConfig, &g->cfg);
    case QNN_GRAPH_CONFIG_OPTION_PRIORITY:
        TRY(priority_check((uint32_t)c->priority, "graph"));
        if (backend_this->check_priority)
            TRY(backend_this->check_priority(g->context->state, (uint32_t)c->priority));
        graph_set_priority(g, (uint32_t)c->priority);
        return ST_OK;
    case QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE:
        if (c->profileHandle)
            TRY(profile_bind(c->profileHandle, g->self));
        if (g->profile != c->profileHandle)
            profile_unbind(g->profile);
        g->profile = c->profileHandle;
        return ST_OK;
    case QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE:
        g->profile_off = c->profilingState == QNN_GRAPH_PROFILING_STATE_DISABLED;
        return ST_OK;
    case QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_NUM_EXECUTIONS:
        g->profile_left = c->numProfilingExecutions;
        return ST_OK;
    case QNN_GRAPH_CONFIG_OPTION_ENABLE_BINARY_SECTION_WEIGHTS_UPDATES:
        RETURN_IF(c->enableBinarySectionWeightsUpdates, ST_NOT_SUPPORTED,
                  "weight updates are not supported by the %s backend; leave the option out or set it to 0",
                  backend_this->name);
        return ST_OK;
    default:
        return status_fail(ST_INVALID_CONFIG, "graph option %u is unknown; 0 and 3 to 7 are known", (unsigned)c->option);
    }
}

/* The backend takes the custom entries of a loaded graph together. */
static enum status set_customs(struct api_graph *g, const QnnGraph_Config_t **config)
{
    size_t n = 0;
    for (const QnnGraph_Config_t **c = config; *c; c++)
        n += (*c)->option == QNN_GRAPH_CONFIG_OPTION_CUSTOM;
    CLEANUP(mem_freep) const void **customs = mem_array(const void *, n);
    RETURN_IF(!customs, ST_NO_MEMORY, "no memory for %zu graph options", n);
    n = 0;
    for (const QnnGraph_Config_t **c = config; *c; c++)
        if ((*c)->option == QNN_GRAPH_CONFIG_OPTION_CUSTOM)
            customs[n++] = (*c)->customConfig;
    return n ? backend_this->loaded_config(g->loaded, &g->cfg, customs, n) : ST_OK;
}

enum status graph_configure(struct api_graph *g, const QnnGraph_Config_t **config)
{
    bool together = config && g->loaded && backend_this->loaded_config;
    uint32_t priority = graph_priority(g);
    for (const QnnGraph_Config_t **c = config; c && *c; c++)
        if (!together || (*c)->option != QNN_GRAPH_CONFIG_OPTION_CUSTOM)
            TRY(set_option(g, *c));
    enum status st = together ? set_customs(g, config) : ST_OK;
    if (st == ST_OK && !together && backend_this->graph_config_check)
        st = backend_this->graph_config_check(g->context->state, &g->cfg);
    if (st != ST_OK)
        graph_set_priority(g, priority);
    return st;
}
