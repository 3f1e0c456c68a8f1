/* SPDX-License-Identifier: Apache-2.0 */
/* Model libraries and DLCs: their graphs become graphs of the session.
 *
 * A model library builds its graphs through the interface table it is given. The table is a copy, so two of its functions
 * can be replaced by ours: they turn the tensors that the user wants to see into outputs while the library creates them.
 * That way
 * --debug and --set_output_tensors work with every model library, whatever it makes of its own debug switch. The API passes
 * no context through these functions, so what they need is kept in `hook`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
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
    CLEANUP(mem_freep) const QnnGraph_Config_t **all = NULL;
    if (extension_graph_configs(hook.s, name ? name : "", config, &all) != ST_OK) {
        tool_log(TOOL_ERROR, "%s", status_text());
        return QNN_GRAPH_ERROR_CREATE_FAILED;
    }
    Qnn_ErrorHandle_t error = hook.s->backend.api.graphCreate(context, name, all[0] ? all : config, ret);
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

/* The table that a model is composed through. */
static QNN_INTERFACE_VER_TYPE hooked(const struct session *s)
{
    QNN_INTERFACE_VER_TYPE api = s->backend.api;
    api.graphCreate = create_graph;
    api.tensorCreateGraphTensor = create_tensor;
    return api;
}

/* What is composed from: a library, and a DLC if the library is made for one. */
struct model_source {
    const char *library, *dlc;
    const GraphConfigInfo_t **configs;
    uint32_t n_configs;
};

/* `PREFIX_function` of a model library. */
static enum status model_symbol(const struct session *s, const struct session_model *m, const char *function, void **ret)
{
    const char *prefix = s->opt.model_prefix ? s->opt.model_prefix : "QnnModel";
    char name[256];
    snprintf(name, sizeof(name), "%s_%s", prefix, function);
    if (library_symbol(m->library, m->path, name, ret) != ST_OK)
        return status_prefix(ST_INVALID_ARG, "not a model library with prefix \"%s\" (see --model_prefix)", prefix);
    return ST_OK;
}

static enum status compose_library(struct session *s, const struct model_source *from)
{
    void *compose, *free_infos;
    ModelError_t error;
    const char *path = from->dlc ? from->dlc : from->library;
    QnnLog_Level_t level = (QnnLog_Level_t)tool_log_max();
    struct session_model *m = vec_push(&s->models);
    RETURN_IF(!m, ST_NO_MEMORY, "model library");
    m->path = from->library;
    TRY(library_open(m->path, &m->library));
    TRY(model_symbol(s, m, from->dlc ? "composeGraphsFromDlc" : "composeGraphs", &compose));
    TRY(model_symbol(s, m, "freeGraphsInfo", &free_infos));
    m->free_infos = (__typeof__(m->free_infos))free_infos;
    if (from->dlc)
        error = ((__typeof__(&QnnModel_composeGraphsFromDlc))compose)(s->handle, hooked(s), s->context, from->configs,
                                                                      from->dlc, from->n_configs, &m->infos, &m->n,
                                                                      s->opt.all_outputs, log_callback, level);
    else
        error =
            ((__typeof__(&QnnModel_composeGraphs))compose)(s->handle, hooked(s), s->context, from->configs, from->n_configs,
                                                           &m->infos, &m->n, s->opt.all_outputs, log_callback, level);
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

/* The settings of the graphs as the System library wants them. */
static enum status dlc_configs(struct session *s, const struct model_source *from,
                               const QnnSystemDlc_GraphConfigInfo_t ***ret)
{
    QnnSystemDlc_GraphConfigInfo_t *infos = arena_array(&s->arena, QnnSystemDlc_GraphConfigInfo_t, from->n_configs);
    *ret = arena_array(&s->arena, const QnnSystemDlc_GraphConfigInfo_t *, from->n_configs + 1u);
    RETURN_IF(!infos || !*ret, ST_NO_MEMORY, "graph settings");
    for (uint32_t i = 0; i < from->n_configs; i++) {
        uint32_t n = 0;
        while (from->configs[i]->graphConfigs && from->configs[i]->graphConfigs[n])
            n++;
        infos[i].version = QNN_SYSTEM_DLC_GRAPH_CONFIG_INFO_VERSION_1;
        infos[i].v1 = (QnnSystemDlc_GraphConfigInfoV1_t){ from->configs[i]->graphName, from->configs[i]->graphConfigs, n };
        (*ret)[i] = &infos[i];
    }
    return ST_OK;
}

/* A DLC is read by the System library, which composes through the backend's table itself. */
static enum status compose_dlc(struct session *s, const struct model_source *from)
{
    const char *path = from->dlc;
    const QnnSystemDlc_GraphConfigInfo_t **configs;
    uint32_t n = 0;
    TRY(session_need_system(s, "--dlc_path"));
    TRY(dlc_configs(s, from, &configs));
    struct session_dlc *d = vec_push(&s->dlcs);
    RETURN_IF(!d, ST_NO_MEMORY, "DLC");
    Qnn_ErrorHandle_t error = s->system.api.systemDlcCreateFromFile(NULL, path, &d->handle);
    if (error != QNN_SUCCESS)
        return library_fail(NULL, error,
                            "--dlc_path \"%s\": libQnnSystem.so could not open it as a DLC (model libraries go to --model, "
                            "context binaries to --retrieve_context)",
                            path);
    QnnInterface_t provider = { .backendId = s->backend.id,
                                .providerName = s->backend.provider,
                                .apiVersion = s->backend.version };
    provider.QNN_INTERFACE_VER_NAME = hooked(s);
    error = s->system.api.systemDlcComposeGraphs(d->handle, configs, from->n_configs, s->handle, s->context, provider,
                                                 QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1, &d->infos, &n);
    if (error != QNN_SUCCESS)
        return library_fail(&s->backend.api, error, "composing the graphs of \"%s\"", path);
    RETURN_IF(hook.failed, ST_NO_MEMORY, "out of memory while composing \"%s\"", path);
    for (uint32_t i = 0; i < n; i++) {
        const QnnSystemContext_GraphInfoV1_t *g = &d->infos[i].graphInfoV1; /* later versions begin alike */
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
    struct model_source from = { 0 };
    TRY(config_for_graphs(s, &from.configs, &from.n_configs));
    for (size_t i = 0; i < s->opt.models.n && !s->opt.dlcs.n; i++) {
        from.library = s->opt.models.items[i];
        TRY(compose_library(s, &from));
    }
    for (size_t i = 0; i < s->opt.dlcs.n; i++) {
        from.library = s->opt.models.n ? s->opt.models.items[0] : NULL;
        from.dlc = s->opt.dlcs.items[i];
        TRY(from.library ? compose_library(s, &from) : compose_dlc(s, &from));
    }
    for (uint32_t i = 0; i < from.n_configs; i++) {
        bool found = false;
        for (size_t g = 0; g < s->graphs.n; g++)
            found |= str_eq(s->graphs.at[g].name, from.configs[i]->graphName);
        if (!found)
            tool_log(TOOL_WARN,
                     "the config file has settings for graph \"%s\", but no graph has that name; they are not used",
                     from.configs[i]->graphName);
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
