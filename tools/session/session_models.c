/* SPDX-License-Identifier: Apache-2.0 */
/* Model libraries and DLCs: their graphs become graphs of the session.
 *
 * A model library builds its graphs through the interface table it is given. The table is a copy, so two of its functions can be
 * replaced by ours: they turn the tensors that the user wants to see into outputs while the library creates them. That way
 * --debug and --set_output_tensors work with every model library, whatever it makes of its own debug switch. The API passes no
 * context through these functions, so what they need is kept in `hook`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "common/tool_log.h"
#include "session/session_private.h"

struct seen_graph {
    Qnn_GraphHandle_t handle;
    const char *name;
};
struct seen_tensor {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t tensor;
};

static struct {
    struct session *s;
    VEC(struct seen_graph) graphs;
    VEC(struct seen_tensor) tensors; /* those that became outputs */
    bool failed;                     /* out of memory inside a hook */
} hook;

static const char *hook_graph_name(Qnn_GraphHandle_t handle)
{
    for (size_t i = 0; i < hook.graphs.n; i++) {
        if (hook.graphs.at[i].handle == handle)
            return hook.graphs.at[i].name;
    }
    return "";
}

static Qnn_ErrorHandle_t create_graph(Qnn_ContextHandle_t context, const char *name, const QnnGraph_Config_t **config,
                                      Qnn_GraphHandle_t *ret)
{
    Qnn_ErrorHandle_t error = hook.s->backend.api.graphCreate(context, name, config, ret);
    struct seen_graph *seen = error == QNN_SUCCESS ? vec_push(&hook.graphs) : NULL;
    if (seen)
        *seen = (struct seen_graph){ *ret, arena_strdup(&hook.s->arena, name) };
    hook.failed |= error == QNN_SUCCESS && (!seen || !seen->name);
    return error;
}

/* The library may keep name, dimensions and scales on its stack. */
static bool copy_tensor(struct arena *arena, const Qnn_Tensor_t *from, Qnn_Tensor_t *to)
{
    *to = *from;
    Qnn_QuantizeParams_t *q = &to->v1.quantizeParams;
    to->v1.name = arena_strdup(arena, from->v1.name ? from->v1.name : "");
    to->v1.dimensions = arena_dup(arena, from->v1.dimensions, from->v1.rank * sizeof(uint32_t));
    bool ok = to->v1.name && to->v1.dimensions;
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET &&
        q->encodingDefinition == QNN_DEFINITION_DEFINED) {
        Qnn_AxisScaleOffset_t *a = &q->axisScaleOffsetEncoding;
        a->scaleOffset = arena_dup(arena, a->scaleOffset, a->numScaleOffsets * sizeof(*a->scaleOffset));
        ok &= a->scaleOffset != NULL;
    }
    return ok;
}

static Qnn_ErrorHandle_t create_tensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *t)
{
    const struct session_options *opt = &hook.s->opt;
    if (!t)
        return hook.s->backend.api.tensorCreateGraphTensor(graph, t);
    bool wanted = opt->all_outputs || opt_names_have(&hook.s->extra_outputs, hook_graph_name(graph), t->v1.name);
    bool native = t->v1.type == QNN_TENSOR_TYPE_NATIVE, app = t->v1.type <= QNN_TENSOR_TYPE_APP_READ;
    if (wanted && native)
        t->v1.type = QNN_TENSOR_TYPE_APP_READ;
    if (opt->memhandle_io && app) {
        t->v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
        t->v1.memHandle = NULL;
    }
    Qnn_ErrorHandle_t error = hook.s->backend.api.tensorCreateGraphTensor(graph, t);
    if (error != QNN_SUCCESS || !wanted || t->v1.type != QNN_TENSOR_TYPE_APP_READ)
        return error;
    struct seen_tensor *seen = vec_push(&hook.tensors);
    if (seen)
        seen->graph = graph;
    hook.failed |= !seen || !copy_tensor(&hook.s->arena, t, &seen->tensor);
    return error;
}

static void log_callback(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    (void)timestamp;
    tool_vlog((enum tool_level)level, fmt, args);
}

/* The outputs the library reports, and those the hook made. */
static enum status merge_outputs(struct session *s, struct session_graph *g)
{
    Qnn_Tensor_t *all = arena_array(&s->arena, Qnn_Tensor_t, g->n_outputs + hook.tensors.n);
    uint32_t n = g->n_outputs;
    RETURN_IF(!all, ST_NO_MEMORY, "outputs of graph \"%s\"", g->name);
    if (n)
        memcpy(all, g->outputs, n * sizeof(*all));
    for (size_t i = 0; i < hook.tensors.n; i++) {
        const struct seen_tensor *seen = &hook.tensors.at[i];
        bool known = seen->graph != g->handle;
        for (uint32_t o = 0; !known && o < n; o++)
            known = all[o].v1.id == seen->tensor.v1.id;
        if (!known)
            all[n++] = seen->tensor;
    }
    g->outputs = all;
    g->n_outputs = n;
    return ST_OK;
}

static enum status add_graph(struct session *s, const GraphInfo_t *info, const char *from)
{
    RETURN_IF(!info || !info->graphName, ST_INVALID_ARG, "\"%s\" describes a graph without a name", from);
    for (size_t i = 0; i < s->graphs.n; i++)
        RETURN_IF(str_eq(s->graphs.at[i].name, info->graphName), ST_EXISTS,
                  "graph \"%s\" of \"%s\" has the name of an earlier graph; "
                  "names must differ inside one context",
                  info->graphName, from);
    struct session_graph *g = vec_push(&s->graphs);
    RETURN_IF(!g, ST_NO_MEMORY, "graph");
    *g = (struct session_graph){ .handle = info->graph,
                                 .name = info->graphName,
                                 .inputs = info->inputTensors,
                                 .n_inputs = info->numInputTensors,
                                 .outputs = info->outputTensors,
                                 .n_outputs = info->numOutputTensors,
                                 .config = config_of_graph(s, info->graphName) };
    return merge_outputs(s, g);
}

static const char *model_error_name(ModelError_t error)
{
    static const char *const names[] = {
        "MODEL_NO_ERROR",         "MODEL_TENSOR_ERROR",         "MODEL_PARAMS_ERROR",
        "MODEL_NODES_ERROR",      "MODEL_GRAPH_ERROR",          "MODEL_CONTEXT_ERROR",
        "MODEL_GENERATION_ERROR", "MODEL_SETUP_ERROR",          "MODEL_INVALID_ARGUMENT_ERROR",
        "MODEL_FILE_ERROR",       "MODEL_MEMORY_ALLOCATE_ERROR"
    };
    return (size_t)error < sizeof(names) / sizeof(names[0]) ? names[error] : "MODEL_UNKNOWN_ERROR";
}

static enum status compose_library(struct session *s, const char *path, const GraphConfigInfo_t **configs,
                                   uint32_t n_configs)
{
    char compose_name[256], free_name[256];
    void *compose, *free_infos;
    const char *prefix = s->opt.model_prefix ? s->opt.model_prefix : "QnnModel";
    struct session_model *m = vec_push(&s->models);
    RETURN_IF(!m, ST_NO_MEMORY, "model library");
    m->path = path;
    TRY(library_open(path, &m->library));
    snprintf(compose_name, sizeof(compose_name), "%s_composeGraphs", prefix);
    snprintf(free_name, sizeof(free_name), "%s_freeGraphsInfo", prefix);
    if (library_symbol(m->library, path, compose_name, &compose) != ST_OK ||
        library_symbol(m->library, path, free_name, &free_infos) != ST_OK)
        return status_prefix(ST_INVALID_ARG, "not a model library with prefix \"%s\" (see --model_prefix)", prefix);
    m->free_infos = (__typeof__(m->free_infos))free_infos;

    QNN_INTERFACE_VER_TYPE api = s->backend.api;
    api.graphCreate = create_graph;
    api.tensorCreateGraphTensor = create_tensor;
    ModelError_t error =
        ((__typeof__(&QnnModel_composeGraphs))compose)(s->handle, api, s->context, configs, n_configs, &m->infos, &m->n,
                                                       s->opt.all_outputs, log_callback, (QnnLog_Level_t)tool_log_max());
    RETURN_IF(hook.failed, ST_NO_MEMORY, "out of memory while composing \"%s\"", path);
    RETURN_IF(error != MODEL_NO_ERROR, ST_PREPARE_FAILED,
              "\"%s\" could not compose its graphs: %s %d; the messages above tell which "
              "call the backend refused",
              path, model_error_name(error), (int)error);
    RETURN_IF(!m->n || !m->infos, ST_INVALID_ARG, "\"%s\" composed no graph", path);
    for (uint32_t i = 0; i < m->n; i++)
        TRY(add_graph(s, m->infos[i], path));
    return ST_OK;
}

/* A DLC is read by the System library, which composes through the backend's table itself. */
static enum status compose_dlc(struct session *s, const char *path)
{
    QnnSystemDlc_Handle_t dlc = NULL;
    QnnSystemContext_GraphInfo_t *infos = NULL;
    uint32_t n = 0;
    TRY(session_need_system(s, "--dlc_path"));
    Qnn_ErrorHandle_t error = s->system.api.systemDlcCreateFromFile(NULL, path, &dlc);
    if (error != QNN_SUCCESS)
        return library_fail(NULL, error,
                            "--dlc_path \"%s\": libQnnSystem.so could not open it as a DLC (model libraries go to --model, "
                            "context binaries to --retrieve_context)",
                            path);
    QnnInterface_t provider = { .backendId = s->backend.id,
                                .providerName = s->backend.provider,
                                .apiVersion = s->backend.version };
    provider.QNN_INTERFACE_VER_NAME = s->backend.api;
    provider.QNN_INTERFACE_VER_NAME.graphCreate = create_graph;
    provider.QNN_INTERFACE_VER_NAME.tensorCreateGraphTensor = create_tensor;
    error = s->system.api.systemDlcComposeGraphs(dlc, NULL, 0, s->handle, s->context, provider,
                                                 QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1, &infos, &n);
    if (error != QNN_SUCCESS)
        return library_fail(&s->backend.api, error, "composing the graphs of \"%s\"", path);
    for (uint32_t i = 0; i < n; i++) {
        const QnnSystemContext_GraphInfoV1_t *g = &infos[i].graphInfoV1; /* later versions begin alike */
        GraphInfo_t info = { .graphName = (char *)g->graphName,
                             .inputTensors = g->graphInputs,
                             .numInputTensors = g->numGraphInputs,
                             .outputTensors = g->graphOutputs,
                             .numOutputTensors = g->numGraphOutputs };
        error = s->backend.api.graphRetrieve(s->context, g->graphName, &info.graph);
        if (error != QNN_SUCCESS)
            return library_fail(&s->backend.api, error, "graph \"%s\" of \"%s\"", g->graphName, path);
        TRY(add_graph(s, &info, path));
    }
    return ST_OK;
}

/* A name that no tensor has is almost always a typing error. */
static enum status check_extra_outputs(const struct session *s)
{
    for (size_t i = 0; i < s->extra_outputs.n; i++) {
        const struct opt_names *want = &s->extra_outputs.at[i];
        for (size_t t = 0; t < want->tensors.n; t++) {
            bool found = false;
            for (size_t g = 0; g < s->graphs.n && !found; g++) {
                const struct session_graph *graph = &s->graphs.at[g];
                for (uint32_t o = 0; o < graph->n_outputs && !found; o++)
                    found = (!want->graph || str_eq(want->graph, graph->name)) &&
                            str_eq(graph->outputs[o].v1.name, want->tensors.items[t]);
            }
            RETURN_IF(!found, ST_NOT_FOUND,
                      "--set_output_tensors: no tensor \"%s\" was created in graph \"%s\"; --debug lists all",
                      want->tensors.items[t], want->graph ? want->graph : "(any)");
        }
    }
    return ST_OK;
}

static enum status compose_all(struct session *s)
{
    const GraphConfigInfo_t **configs;
    uint32_t n_configs;
    TRY(config_for_graphs(s, &configs, &n_configs));
    for (size_t i = 0; i < s->opt.models.n; i++)
        TRY(compose_library(s, s->opt.models.items[i], configs, n_configs));
    for (size_t i = 0; i < s->opt.dlcs.n; i++)
        TRY(compose_dlc(s, s->opt.dlcs.items[i]));
    for (uint32_t i = 0; i < n_configs; i++) {
        bool found = false;
        for (size_t g = 0; g < s->graphs.n; g++)
            found |= str_eq(s->graphs.at[g].name, configs[i]->graphName);
        if (!found)
            tool_log(TOOL_WARN,
                     "the config file has settings for graph \"%s\", but no graph has that name; they are not used",
                     configs[i]->graphName);
    }
    return check_extra_outputs(s);
}

enum status compose_models(struct session *s)
{
    hook.s = s;
    enum status st = compose_all(s);
    vec_finish(&hook.graphs);
    vec_finish(&hook.tensors);
    return st;
}
