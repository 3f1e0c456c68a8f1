/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file of --config_file, and its settings as lists for the API. */
#include <stddef.h>

#include "base/str.h"
#include "common/tool_log.h"
#include "session/session_private.h"

#define AT(member) offsetof(struct session_config, member)
#define GRAPH_AT(member) offsetof(struct session_graph_config, member)
#define IN(part, member) (AT(part.member) - AT(part))

static const char *const priorities[] = { "low", "normal", "normal_high", "high", NULL };
static const Qnn_Priority_t priority_values[] = { QNN_PRIORITY_LOW, QNN_PRIORITY_NORMAL, QNN_PRIORITY_NORMAL_HIGH,
                                                  QNN_PRIORITY_HIGH };
static const char *const compatibilities[] = { "permissive", "strict", NULL }; /* in the order of the API's numbers */
static const char *const memory_types[] = { "raw", "shared_buffer", NULL };

const char *const session_perf_profiles[] = {
    "low_balanced",
    "balanced",
    "default",
    "high_performance",
    "sustained_high_performance",
    "burst",
    "low_power_saver",
    "power_saver",
    "high_power_saver",
    "extreme_power_saver",
    "system_settings",
    NULL,
};

static const struct json_field extension_fields[] = { { "shared_library_path", JSON_STRING,
                                                        .offset = IN(extensions, library) },
                                                      { "config_file_path", JSON_STRING, .offset = IN(extensions, config) },
                                                      {} };
static const struct json_field context_fields[] = {
    { "context_priority", JSON_ENUM, IN(context, priority), .names = priorities, .seen = IN(context, has_priority) },
    { "async_execute_queue_depth", JSON_U32, IN(context, queue_depth), .min = 1, .seen = IN(context, has_queue_depth) },
    { "enable_graphs", JSON_STRINGS, .offset = IN(context, enable_graphs) },
    { "graph_retention_order", JSON_STRINGS, .offset = IN(context, retained) },
    { "memory_limit_hint", JSON_I64, IN(context, memory_limit), .max = INT64_MAX, .seen = IN(context, has_memory_limit) },
    { "spill_fill_buffer", JSON_I64, IN(context, buffers[SESSION_SPILL_FILL]), .min = -1, .max = INT64_MAX },
    { "weights_buffer", JSON_I64, IN(context, buffers[SESSION_WEIGHTS]), .min = -1, .max = INT64_MAX },
    { "is_persistent_binary", JSON_BOOL, IN(context, persistent), .seen = IN(context, has_persistent) },
    { "cache_compatibility_mode", JSON_ENUM, IN(context, compatibility), .names = compatibilities,
      .seen = IN(context, has_compatibility) },
    {}
};
static const struct json_field graph_fields[] = {
    { "graph_name", JSON_STRING, GRAPH_AT(name), .required = true },
    { "graph_priority", JSON_ENUM, GRAPH_AT(priority), .names = priorities, .seen = GRAPH_AT(has_priority) },
    { "graph_profiling_start_delay", JSON_U32, .offset = GRAPH_AT(start_delay) },
    { "graph_profiling_num_executions", JSON_U32, GRAPH_AT(executions), .seen = GRAPH_AT(has_executions) },
    {}
};
static const struct json_field profile_fields[] = { { "num_max_events", JSON_U32, .offset = IN(profile, max_events) }, {} };
static const struct json_field async_fields[] = {
    { "input_tensors_creation_tasks_limit", JSON_U32, IN(async, inputs), .min = 1 },
    { "execute_enqueue_tasks_limit", JSON_U32, IN(async, executions), .min = 1 },
    {}
};
static const struct json_field memory_fields[] = { { "mem_type", JSON_ENUM, IN(memory, type), .names = memory_types,
                                                     .seen = IN(memory, given) },
                                                   {} };
static const struct json_field fields[] = { { "backend_extensions", JSON_OBJECT, AT(extensions), .sub = extension_fields },
                                            { "context_configs", JSON_OBJECT, AT(context), .sub = context_fields },
                                            { "graph_configs", JSON_LIST, AT(graphs), .sub = graph_fields,
                                              .item_size = sizeof(struct session_graph_config) },
                                            { "profile_configs", JSON_OBJECT, AT(profile), .sub = profile_fields },
                                            { "async_graph_execution_config", JSON_OBJECT, AT(async), .sub = async_fields },
                                            { "memory", JSON_OBJECT, AT(memory), .sub = memory_fields },
                                            {} };

enum status session_config_read(const char *path, struct session_config *ret, struct arena *arena)
{
    return json_read_file(path, fields, ret, arena);
}

Qnn_Priority_t session_priority(uint32_t index)
{
    return priority_values[index];
}

const struct session_graph_config *config_of_graph(const struct session *s, const char *name)
{
    const struct session_graph_config *list = s->config.graphs.items;
    for (size_t i = 0; i < s->config.graphs.n; i++) {
        if (str_eq(list[i].name, name))
            return &list[i];
    }
    return NULL;
}

/* A NULL-terminated list of names from a JSON list. */
static const char *const *names_of(struct session *s, const struct json_list *l)
{
    const char **names = arena_array(&s->arena, const char *, l->n + 1);
    for (size_t i = 0; names && i < l->n; i++)
        names[i] = ((const char *const *)l->items)[i];
    return names;
}

enum status config_for_context(struct session *s)
{
    enum { MAX_CONFIGS = 7 };
    QnnContext_Config_t *to = arena_array(&s->arena, QnnContext_Config_t, MAX_CONFIGS);
    s->context_configs = arena_array(&s->arena, const QnnContext_Config_t *, MAX_CONFIGS + 1);
    RETURN_IF(!to || !s->context_configs, ST_NO_MEMORY, "context settings");
    size_t n = 0;
    __typeof__(s->config.context) *c = &s->config.context;
    if (c->has_priority)
        to[n++] =
            (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = session_priority(c->priority) };
    if (c->has_queue_depth)
        to[n++] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
                                         .asyncExeQueueDepth = { QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC,
                                                                 { c->queue_depth } } };
    if (c->enable_graphs.n) {
        const char *const *names = names_of(s, &c->enable_graphs);
        RETURN_IF(!names, ST_NO_MEMORY, "names of graphs");
        to[n++] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = names };
    }
    if (c->retained.n) {
        const char *const *names = names_of(s, &c->retained);
        RETURN_IF(!names, ST_NO_MEMORY, "names of graphs");
        to[n++] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER, .graphRetentionOrder = names };
    }
    if (c->has_memory_limit)
        to[n++] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT,
                                         .memoryLimitHint = (uint64_t)c->memory_limit };
    if (c->has_persistent)
        to[n++] =
            (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = c->persistent };
    if (c->has_compatibility)
        to[n++] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY,
                                         .binaryCompatibilityType = (QnnContext_BinaryCompatibilityType_t)c->compatibility };
    for (size_t i = 0; i < n; i++)
        s->context_configs[i] = &to[i];
    return ST_OK;
}

enum status config_for_graphs(struct session *s, const GraphConfigInfo_t ***ret, uint32_t *n)
{
    const struct session_graph_config *list = s->config.graphs.items;
    *n = (uint32_t)s->config.graphs.n;
    *ret = arena_array(&s->arena, const GraphConfigInfo_t *, *n + 1u);
    RETURN_IF(!*ret, ST_NO_MEMORY, "graph settings");
    for (uint32_t i = 0; i < *n; i++) {
        GraphConfigInfo_t *info = arena_new(&s->arena, GraphConfigInfo_t);
        QnnGraph_Config_t *config = arena_new(&s->arena, QnnGraph_Config_t);
        const QnnGraph_Config_t **configs = arena_array(&s->arena, const QnnGraph_Config_t *, 2);
        char *name = arena_strdup(&s->arena, list[i].name);
        RETURN_IF(!info || !config || !configs || !name, ST_NO_MEMORY, "graph settings");
        if (list[i].has_priority) {
            config->option = QNN_GRAPH_CONFIG_OPTION_PRIORITY;
            config->priority = session_priority(list[i].priority);
            configs[0] = config;
        }
        *info = (GraphConfigInfo_t){ name, configs };
        (*ret)[i] = info;
    }
    return ST_OK;
}
