/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnGpuNetRunExtensions.so: settings of the GPU backend for qnn-net-run and qnn-context-binary-generator. It is a client
 * of the public API like the programs that open it; see common/tool_extension.h for when each function is called. */
#include <stdio.h>

#include "QNN/GPU/QnnGpuBackend.h"
#include "QNN/GPU/QnnGpuContext.h"
#include "QNN/GPU/QnnGpuGraph.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/tool_extension.h"

/* A value, and whether the file has it. */
struct gpu_choice {
    uint32_t value;
    bool given;
};

/* The settings as the JSON file has them. */
struct gpu_params {
    struct json_list names; /* of graphs that the graph settings are for */
    struct gpu_choice precision, perf_hint;
    bool no_memory, no_nodes, no_recording, graph_given;
    bool fresh_repo, tuning, fresh_cache, share_weights, no_kernel_times;
    const char *kernel_repo, *performance_cache;
};

struct gpu_extension {
    struct extension_host host;
    struct arena arena;
    struct gpu_params params;
    bool used; /* a graph had one of the names */
};

/* In the order of QnnGpu_Precision_t and QnnGpuContext_PerfHint_t. */
static const char *const precisions[] = { "fp32", "fp16", "hybrid", NULL };
static const char *const hints[] = { "high", "normal", "low", NULL };

#define P(member) offsetof(struct gpu_params, member)
static const struct json_field fields[] = {
    { "graph_names", JSON_STRINGS, .offset = P(names) },
    { "precision_mode", JSON_ENUM, P(precision.value), .names = precisions, .seen = P(precision.given) },
    { "disable_memory_optimizations", JSON_BOOL, P(no_memory), .seen = P(graph_given) },
    { "disable_node_optimizations", JSON_BOOL, P(no_nodes), .seen = P(graph_given) },
    { "disable_queue_recording", JSON_BOOL, P(no_recording), .seen = P(graph_given) },
    { "kernel_repo_path", JSON_STRING, .offset = P(kernel_repo) },
    { "invalidate_kernel_repo", JSON_BOOL, .offset = P(fresh_repo) },
    { "enable_tuning_mode", JSON_BOOL, .offset = P(tuning) },
    { "performance_cache_dir", JSON_STRING, .offset = P(performance_cache) },
    { "invalidate_performance_cache", JSON_BOOL, .offset = P(fresh_cache) },
    { "weight_sharing_enabled", JSON_BOOL, .offset = P(share_weights) },
    { "disable_kernel_profiling", JSON_BOOL, .offset = P(no_kernel_times) },
    { "perf_hint", JSON_ENUM, P(perf_hint.value), .names = hints, .seen = P(perf_hint.given) },
    {}
};

/* ---- opening --------------------------------------------------------------------------------------------------------- */

static enum status read_params(struct gpu_extension *e)
{
    struct gpu_params *p = &e->params;
    if (!e->host.config_path)
        return ST_OK;
    TRY(json_read_file(e->host.config_path, fields, p, &e->arena));
    RETURN_IF((p->precision.given || p->graph_given) && !p->names.n, ST_INVALID_CONFIG,
              "%s: precision_mode and the disable_ settings are for the graphs of graph_names; name at least one",
              e->host.config_path);
    return ST_OK;
}

/* Names that no graph has are nearly always typing errors: the graph then runs with the defaults. */
static void close_extension(void *self)
{
    struct gpu_extension *e = self;
    char text[256];
    if (e->params.names.n && !e->used) {
        snprintf(text, sizeof text, "graph_names: no graph was called \"%s\"%s; its settings were not used",
                 *(const char **)e->params.names.items, e->params.names.n > 1 ? " or by the other names" : "");
        e->host.log(QNN_LOG_LEVEL_WARN, text);
    }
    arena_finish(&e->arena);
    mem_free(e);
}

static int open_extension(const struct extension_host *host, void **ret)
{
    struct gpu_extension *e = mem_new(struct gpu_extension);
    if (!e)
        return status_fail(ST_NO_MEMORY, "no memory for the settings of GPU");
    e->host = *host;
    arena_init(&e->arena);
    enum status st = read_params(e);
    if (st != ST_OK) {
        e->params.names.n = 0;
        close_extension(e);
        return st;
    }
    *ret = e;
    return ST_OK;
}

/* ---- settings -------------------------------------------------------------------------------------------------------- */

static int backend_configs(void *self, const QnnBackend_Config_t ***ret)
{
    struct gpu_extension *e = self;
    const struct gpu_params *p = &e->params;
    const QnnGpuBackend_CustomConfig_t all[] = {
        { .option = QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE, .enableTuningMode = p->tuning },
        { .option = QNN_GPU_BACKEND_CONFIG_OPTION_INVALIDATE_PERFORMANCE_CACHE,
          .invalidatePerformanceCache = p->fresh_cache },
        { .option = QNN_GPU_BACKEND_CONFIG_OPTION_WEIGHT_SHARING_ENABLED, .weightSharingEnabled = p->share_weights },
        { .option = QNN_GPU_BACKEND_CONFIG_OPTION_DISABLE_KERNEL_PROFILING, .disableKernelProfiling = p->no_kernel_times },
        { .option = QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR, .performanceCacheDir = p->performance_cache },
    };
    enum { ALL = sizeof all / sizeof all[0] };
    QnnGpuBackend_CustomConfig_t *custom = arena_dup(&e->arena, all, sizeof all);
    QnnBackend_Config_t *configs = arena_array(&e->arena, QnnBackend_Config_t, ALL);
    const QnnBackend_Config_t **list = arena_array(&e->arena, const QnnBackend_Config_t *, ALL + 1);
    RETURN_IF(!custom || !configs || !list, ST_NO_MEMORY, "no memory for the settings of the backend");
    for (uint32_t i = 0; i < (p->performance_cache ? ALL : ALL - 1); i++) {
        configs[i] = (QnnBackend_Config_t){ .option = QNN_BACKEND_CONFIG_OPTION_CUSTOM,
                                            .customConfig = (QnnBackend_CustomConfig_t)&custom[i] };
        list[i] = &configs[i];
    }
    *ret = list;
    return ST_OK;
}

static int context_configs(void *self, const QnnContext_Config_t ***ret)
{
    struct gpu_extension *e = self;
    QnnGpuContext_CustomConfig_t *custom = arena_array(&e->arena, QnnGpuContext_CustomConfig_t, 3);
    QnnContext_Config_t *configs = arena_array(&e->arena, QnnContext_Config_t, 3);
    const QnnContext_Config_t **list = arena_array(&e->arena, const QnnContext_Config_t *, 4);
    uint32_t n = 0;
    RETURN_IF(!custom || !configs || !list, ST_NO_MEMORY, "no memory for the settings of a context");
    if (e->params.perf_hint.given) {
        custom[n].option = QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT;
        custom[n++].perfHint = (QnnGpuContext_PerfHint_t)e->params.perf_hint.value;
    }
    if (e->params.kernel_repo) {
        custom[n].option = QNN_GPU_CONTEXT_CONFIG_OPTION_KERNEL_REPO_DIR;
        custom[n++].kernelRepoDir = e->params.kernel_repo;
    }
    if (e->params.fresh_repo) {
        custom[n].option = QNN_GPU_CONTEXT_CONFIG_OPTION_INVALIDATE_KERNEL_REPO;
        custom[n++].invalidateKernelRepo = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        configs[i] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &custom[i] };
        list[i] = &configs[i];
    }
    *ret = list;
    return ST_OK;
}

static bool is_for(const struct gpu_params *p, const char *graph)
{
    const char **names = p->names.items;
    for (size_t i = 0; i < p->names.n; i++)
        if (str_eq(names[i], graph))
            return true;
    return false;
}

static int graph_configs(void *self, const char *graph, const QnnGraph_Config_t ***ret)
{
    struct gpu_extension *e = self;
    const struct gpu_params *p = &e->params;
    QnnGpuGraph_CustomConfig_t *custom = arena_array(&e->arena, QnnGpuGraph_CustomConfig_t, 1);
    QnnGraph_Config_t *config = arena_array(&e->arena, QnnGraph_Config_t, 1);
    const QnnGraph_Config_t **list = arena_array(&e->arena, const QnnGraph_Config_t *, 2);
    RETURN_IF(!custom || !config || !list, ST_NO_MEMORY, "no memory for the settings of graph \"%s\"", graph);
    *ret = list;
    if (!is_for(p, graph))
        return ST_OK;
    e->used = true;
    *custom = (QnnGpuGraph_CustomConfig_t){ .precision = p->precision.given ? (QnnGpu_Precision_t)p->precision.value
                                                                            : QNN_GPU_PRECISION_USER_PROVIDED,
                                            .disableMemoryOptimizations = p->no_memory,
                                            .disableNodeOptimizations = p->no_nodes,
                                            .disableQueueRecording = p->no_recording };
    *config = (QnnGraph_Config_t){ .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = custom };
    list[0] = config;
    return ST_OK;
}

extern const struct extension openqnn_extension;
__attribute__((visibility("default"))) const struct extension openqnn_extension = {
    .version = EXTENSION_VERSION,
    .backend_id = QNN_BACKEND_ID_GPU,
    .name = "GPU",
    .open = open_extension,
    .close = close_extension,
    .explain = status_text,
    .backend_configs = backend_configs,
    .context_configs = context_configs,
    .graph_configs = graph_configs,
};
