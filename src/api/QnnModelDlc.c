/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnModelDlc.so: a model library whose model is a DLC given at run time. It exports the calls of QnnModelLib.h, so that
 * programs which only know model libraries can run DLC files. */
#include <string.h>

#include "QNN/QnnModelLib.h"
#include "api/compose.h"
#include "api/interface_next.h"
#include "base/clock.h"
#include "base/fpu_mode.h"
#include "base/mem.h"
#include "convert/convert.h"

/* What one GraphInfoPtr_t points to; `info` is first. */
struct model_graph {
    GraphInfo_t info;
    struct arena arena;
};

struct listener {
    QnnLog_Callback_t callback;
    QnnLog_Level_t max;
};

__attribute__((format(printf, 2, 3))) static void tell(struct listener l, const char *fmt, ...)
{
    va_list ap;
    if (!l.callback || l.max < QNN_LOG_LEVEL_ERROR)
        return;
    va_start(ap, fmt);
    l.callback(fmt, QNN_LOG_LEVEL_ERROR, clock_ns(), ap);
    va_end(ap);
}

static ModelError_t model_error(enum status st)
{
    static const ModelError_t codes[ST_COUNT] = {
        [ST_NO_MEMORY] = MODEL_MEMORY_ALLOCATE_ERROR, [ST_INVALID_ARG] = MODEL_INVALID_ARGUMENT_ERROR,
        [ST_INVALID_TENSOR] = MODEL_TENSOR_ERROR,     [ST_INVALID_OP] = MODEL_NODES_ERROR,
        [ST_PREPARE_FAILED] = MODEL_GRAPH_ERROR,      [ST_IO] = MODEL_FILE_ERROR,
        [ST_BAD_BINARY] = MODEL_FILE_ERROR,           [ST_BINARY_VERSION] = MODEL_FILE_ERROR,
        [ST_NOT_SUPPORTED] = MODEL_NODES_ERROR,
    };
    return st == ST_OK ? MODEL_NO_ERROR : codes[st] ? codes[st] : MODEL_UNKNOWN_ERROR;
}

static const QnnGraph_Config_t **config_of(const GraphConfigInfo_t **configs, uint32_t n, const char *graph)
{
    for (uint32_t i = 0; configs && i < n; i++)
        if (configs[i] && configs[i]->graphName && strcmp(configs[i]->graphName, graph) == 0)
            return configs[i]->graphConfigs;
    return NULL;
}

static void graph_free(struct model_graph *m)
{
    if (!m)
        return;
    arena_finish(&m->arena);
    mem_free(m);
}

static enum status compose_one(const struct ir_graph *g, const struct compose_target *t, GraphInfoPtr_t *ret)
{
    struct composed done;
    struct model_graph *m = mem_new(struct model_graph);
    RETURN_IF(!m, ST_NO_MEMORY, "no memory for graph \"%s\"", g->name);
    arena_init(&m->arena);
    enum status st = compose_graph(g, t, &m->arena, &done);
    if (st != ST_OK) {
        graph_free(m);
        return st;
    }
    m->info = (GraphInfo_t){ done.graph, (char *)done.name, done.inputs.at, done.inputs.n, done.outputs.at, done.outputs.n };
    *ret = &m->info;
    return ST_OK;
}

ModelError_t QnnModel_freeGraphsInfo(GraphInfoPtr_t **graphsInfo, uint32_t numGraphsInfo)
{
    if (!graphsInfo || !*graphsInfo)
        return MODEL_TENSOR_ERROR; /* as generated model libraries answer */
    for (uint32_t i = 0; i < numGraphsInfo; i++)
        graph_free((struct model_graph *)(*graphsInfo)[i]);
    mem_free(*graphsInfo);
    *graphsInfo = NULL;
    return MODEL_NO_ERROR;
}

static enum status compose_all(struct ir_graph *const *graphs, uint32_t n, struct compose_target *t,
                               const GraphConfigInfo_t **configs, uint32_t n_configs, GraphInfoPtr_t **ret)
{
    GraphInfoPtr_t *list = mem_array(GraphInfoPtr_t, (size_t)n + 1);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for %u graphs", n);
    enum status st = ST_OK;
    for (uint32_t i = 0; i < n && st == ST_OK; i++) {
        t->config = config_of(configs, n_configs, graphs[i]->name);
        st = compose_one(graphs[i], t, &list[i]);
    }
    if (st != ST_OK)
        QnnModel_freeGraphsInfo(&list, n);
    else
        *ret = list;
    return st;
}

ModelError_t QnnModel_composeGraphsFromDlc(Qnn_BackendHandle_t backendHandle, QNN_INTERFACE_VER_TYPE interface,
                                           Qnn_ContextHandle_t contextHandle, const GraphConfigInfo_t **graphsConfigInfo,
                                           const char *dlcPath, const uint32_t numGraphsConfigInfo,
                                           GraphInfoPtr_t **graphsInfo, uint32_t *numGraphsInfo, bool debug,
                                           QnnLog_Callback_t logCallback, QnnLog_Level_t maxLogLevel)
{
    (void)backendHandle;
    FPU_DEFAULT_MODE(fpu);
#if defined(__x86_64__)
    const uintptr_t *behind = next_behind_table(NEXT_STACK_ARGS);
    numGraphsInfo = (uint32_t *)behind[0];
    debug = behind[1] & 0xff;
    logCallback = (QnnLog_Callback_t)behind[2];
    maxLogLevel = (QnnLog_Level_t)(uint32_t)behind[3];
#endif
    struct listener l = { logCallback, maxLogLevel };
    struct compose_target t = { .api = &interface, .context = contextHandle, .all_outputs = debug };
    if (!dlcPath || !contextHandle || !graphsInfo || !numGraphsInfo) {
        tell(l, "%s is NULL",
             !dlcPath         ? "dlcPath"
             : !contextHandle ? "contextHandle"
             : graphsInfo     ? "numGraphsInfo"
                              : "graphsInfo");
        return MODEL_INVALID_ARGUMENT_ERROR;
    }
    struct convert_dlc *dlc = NULL;
    struct ir_graph *const *graphs;
    uint32_t n = 0;
    enum status st = compose_check(&interface);
    if (st == ST_OK)
        st = convert_dlc_open(dlcPath, &dlc);
    if (st == ST_OK)
        st = convert_dlc_graphs(dlc, NULL, &graphs, &n);
    if (st == ST_OK && n == 0)
        st = status_fail(ST_BAD_BINARY, "it has no model");
    if (st == ST_OK)
        st = compose_all(graphs, n, &t, graphsConfigInfo, numGraphsConfigInfo, graphsInfo);
    convert_dlc_close(dlc);
    if (st != ST_OK)
        tell(l, "%s: %s", dlcPath, status_text());
    else
        *numGraphsInfo = n;
    return model_error(st);
}

ModelError_t QnnModel_composeGraphs(Qnn_BackendHandle_t backendHandle, QNN_INTERFACE_VER_TYPE interface,
                                    Qnn_ContextHandle_t contextHandle, const GraphConfigInfo_t **graphsConfigInfo,
                                    const uint32_t numGraphsConfigInfo, GraphInfoPtr_t **graphsInfo, uint32_t *numGraphsInfo,
                                    bool debug, QnnLog_Callback_t logCallback, QnnLog_Level_t maxLogLevel)
{
    (void)backendHandle, (void)interface, (void)contextHandle, (void)graphsConfigInfo, (void)numGraphsConfigInfo,
        (void)graphsInfo, (void)numGraphsInfo;
    (void)debug;
    tell((struct listener){ logCallback, maxLogLevel }, "libQnnModelDlc.so has no model of its own; give a DLC as well "
                                                        "(--dlc_path FILE), or call QnnModel_composeGraphsFromDlc");
    return MODEL_INVALID_ARGUMENT_ERROR;
}
