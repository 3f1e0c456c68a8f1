/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGraph.h: building, finalizing and executing graphs. What one execution does with its tensors is in graph_execute.c, nodes are added in
 * graph_build.c. */
#include "QNN/QnnGraph.h"

#include <stdlib.h>
#include <string.h>

#include "api/graph_build.h"
#include "api/objects.h"
#include "base/clock.h"

/* ---- life ---------------------------------------------------------------------------------------------------------------- */

void graph_free(struct api_graph *g)
{
    graph_unload(g);
    profile_unbind(g->profile);
    if (backend_this->graph_config_free)
        backend_this->graph_config_free(&g->cfg);
    ir_graph_free(g->ir);
    vec_finish(&g->produced);
    vec_finish(&g->captured);
    mem_free(g->name);
    mem_free(g);
}

enum status graph_create(struct api_context *c, const char *name, struct api_graph **ret)
{
    struct api_graph *g = mem_new(struct api_graph);
    RETURN_IF(!g, ST_NO_MEMORY, "no memory for graph \"%s\"", name);
    g->context = c;
    g->cfg = (struct backend_graph_cfg){ .priority = c->cfg.priority, .opt_level = 2 };
    g->profile_left = UINT64_MAX;
    g->name = mem_strdup(name);
    struct api_graph **slot = g->name ? vec_push(&c->graphs) : NULL;
    g->self = slot ? handle_open(HANDLE_GRAPH, g) : NULL;
    if (!g->self) {
        c->graphs.n -= slot != NULL;
        graph_free(g);
        return status_fail(ST_NO_MEMORY, "no memory for graph \"%s\"", name);
    }
    *slot = g;
    g->index = (uint32_t)c->graphs.n - 1;
    *ret = g;
    return ST_OK;
}

void graph_unload(struct api_graph *g)
{
    if (g->loaded)
        backend_this->unload(g->loaded);
    graph_run_free(g->sync);
    mem_free(g->io);
    mem_free(g->by_id);
    binary_close(&g->own);
    binary_image_free(&g->image);
    g->loaded = NULL;
    g->sync = NULL;
    g->io = NULL;
    g->by_id = NULL;
}

static int by_io_id(const void *a, const void *b, void *io)
{
    uint32_t x = ((const struct graph_io *)io)[*(const uint32_t *)a].id, y = ((const struct graph_io *)io)[*(const uint32_t *)b].id;
    return (x > y) - (x < y);
}

static enum status list_io(struct api_graph *g, const struct binary_graph *b)
{
    g->n_io = b->n_io;
    g->n_inputs = b->info.n_inputs;
    g->io = mem_array(struct graph_io, b->n_io);
    g->by_id = mem_array(uint32_t, b->n_io);
    RETURN_IF(!g->io || !g->by_id, ST_NO_MEMORY, "no memory for the tensors of graph \"%s\"", g->name);
    for (uint32_t i = 0; i < b->n_io; i++) {
        g->io[i] = (struct graph_io){ .id = b->tensors[b->io[i]].client_id, .tensor = &b->tensors[b->io[i]] };
        g->by_id[i] = i;
    }
    qsort_r(g->by_id, g->n_io, sizeof *g->by_id, by_io_id, g->io);
    return graph_run_create(g, &g->sync);
}

enum status graph_load(struct api_graph *g, const struct binary *b, uint32_t index)
{
    g->binary = b;
    g->binary_index = index;
    TRY(list_io(g, &b->graphs[index]));
    TRY(backend_this->load(g->context->state, b, index, &g->loaded));
    g->state = g->context->from_binary ? GRAPH_LOADED : GRAPH_FINAL;
    return ST_OK;
}

/* ---- configuration ---------------------------------------------------------------------------------------------------------- */

static enum status set_option(struct api_graph *g, const QnnGraph_Config_t *c)
{
    switch (c->option) {
    case QNN_GRAPH_CONFIG_OPTION_CUSTOM:
        RETURN_IF(!backend_this->graph_config, ST_INVALID_CONFIG, "the %s backend has no custom graph options", backend_this->name);
        return backend_this->graph_config(c->customConfig, &g->cfg);
    case QNN_GRAPH_CONFIG_OPTION_PRIORITY:
        RETURN_IF((int)c->priority < QNN_PRIORITY_LOWEST || c->priority > QNN_PRIORITY_HIGHEST, ST_INVALID_CONFIG,
                  "graph priority is %u; %u to %u are allowed", (unsigned)c->priority, (unsigned)QNN_PRIORITY_LOWEST, (unsigned)QNN_PRIORITY_HIGHEST);
        g->cfg.priority = (uint32_t)c->priority;
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
        RETURN_IF(c->enableBinarySectionWeightsUpdates, ST_NOT_SUPPORTED, "weight updates are not supported by the %s backend; leave the option out or set it to 0", backend_this->name);
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

static enum status set_options(struct api_graph *g, const QnnGraph_Config_t **config)
{
    bool together = config && g->loaded && backend_this->loaded_config;
    uint32_t priority = g->cfg.priority;
    for (const QnnGraph_Config_t **c = config; c && *c; c++)
        if (!together || (*c)->option != QNN_GRAPH_CONFIG_OPTION_CUSTOM)
            TRY(set_option(g, *c));
    enum status st = together ? set_customs(g, config) : ST_OK;
    if (st != ST_OK)
        g->cfg.priority = priority;
    return st;
}

enum status graph_check_open(const struct api_graph *g)
{
    RETURN_IF(g->state != GRAPH_OPEN, ST_FINALIZED, "graph \"%s\" is finalized; nothing can be added", g->name);
    RETURN_IF(g->used, ST_FINALIZED, "graph \"%s\" is a subgraph that a node or a finalized graph has taken up; nothing can be added to it", g->name);
    return ST_OK;
}

/* ---- building ---------------------------------------------------------------------------------------------------------------- */

static enum status new_graph(struct api_context *c, const char *name, const QnnGraph_Config_t **config, bool subgraph, void **ret)
{
    struct api_graph *g;
    if (backend_this->check_process)
        TRY(backend_this->check_process());
    TRY(context_alive(c));
    RETURN_IF(c->from_binary, ST_NOT_PERMITTED, "the context was made from a binary; no graph can be added to it");
    RETURN_IF(!name || !*name, ST_INVALID_NAME, "the graph name is %s; give one that no other graph of the context has", name ? "empty" : "NULL");
    RETURN_IF(context_find_graph(c, name), ST_EXISTS, "the context has a graph named \"%s\" already; choose another name", name);
    TRY(graph_create(c, name, &g));
    g->subgraph = subgraph;
    enum status st = ir_graph_create(name, &g->ir);
    if (st == ST_OK)
        st = set_options(g, config);
    if (st != ST_OK) {
        c->graphs.n--;
        handle_close(g->self, HANDLE_GRAPH, 0);
        graph_free(g);
        return st;
    }
    *ret = g->self;
    return ST_OK;
}

Qnn_ErrorHandle_t QnnGraph_create(Qnn_ContextHandle_t contextHandle, const char *graphName, const QnnGraph_Config_t **config,
                                  Qnn_GraphHandle_t *graphHandle)
{
    API_OBJECT(struct api_context, c, contextHandle, HANDLE_CONTEXT, COMP_GRAPH);
    log_enter(c->log);
    API_CHECK(graphHandle, COMP_GRAPH, ST_INVALID_ARG, "graphHandle is NULL; give a pointer that receives the handle");
    LOCKED(&c->lock);
    return api_error(COMP_GRAPH, new_graph(c, graphName, config, false, graphHandle));
}

Qnn_ErrorHandle_t QnnGraph_createSubgraph(Qnn_GraphHandle_t graphHandle, const char *graphName, Qnn_GraphHandle_t *subgraphHandle)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    struct api_context *c = g->context;
    log_enter(c->log);
    API_CHECK(subgraphHandle, COMP_GRAPH, ST_INVALID_ARG, "subgraphHandle is NULL; give a pointer that receives the handle");
    API_CHECK(!c->from_binary, COMP_GRAPH, ST_NOT_PERMITTED, "the context was made from a binary; no graph can be added to it");
    LOCKED(&c->lock);
    enum status st = graph_check_open(g);
    uint32_t depth = 1;
    for (const struct api_graph *p = g; p->subgraph; p = c->graphs.at[p->parent])
        depth++;
    if (st == ST_OK && depth > IR_MAX_GUARDS)
        st = status_fail(ST_NOT_SUPPORTED, "graph \"%s\" is inside of %u others; at most %d are supported", g->name, depth - 1, IR_MAX_GUARDS - 1);
    if (st == ST_OK)
        st = new_graph(c, graphName, NULL, true, subgraphHandle);
    if (st == ST_OK)
        c->graphs.at[c->graphs.n - 1]->parent = g->index;
    return api_error(COMP_GRAPH, st);
}

Qnn_ErrorHandle_t QnnGraph_setConfig(Qnn_GraphHandle_t graphHandle, const QnnGraph_Config_t **config)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    LOCKED(&g->context->lock);
    return api_error(COMP_GRAPH, set_options(g, config));
}

Qnn_ErrorHandle_t QnnGraph_getProperty(Qnn_GraphHandle_t graphHandle, QnnGraph_Property_t **properties)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    API_CHECK(properties, COMP_GRAPH, ST_INVALID_ARG, "properties is NULL; give a list of pointers that ends with NULL");
    for (; *properties; properties++) {
        API_CHECK((*properties)->option == QNN_GRAPH_PROPERTY_OPTION_CUSTOM, COMP_GRAPH, ST_INVALID_ARG,
                  "graph property %u is unknown; 0 (custom) is known", (unsigned)(*properties)->option);
        API_CHECK(backend_this->graph_property, COMP_GRAPH, ST_NOT_SUPPORTED, "the %s backend has no custom graph properties", backend_this->name);
        enum status st = backend_this->graph_property(g->loaded, (*properties)->customProperty);
        if (st != ST_OK)
            return api_error(COMP_GRAPH, st);
    }
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnGraph_addNode(Qnn_GraphHandle_t graphHandle, Qnn_OpConfig_t opConfig)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    API_CHECK(!g->context->from_binary, COMP_GRAPH, ST_NOT_PERMITTED, "the context was made from a binary; no node can be added");
    LOCKED(&g->context->lock);
    enum status st = graph_check_open(g);
    return api_error(COMP_GRAPH, st == ST_OK ? graph_add_node(g, &opConfig) : st);
}

/* ---- finalizing --------------------------------------------------------------------------------------------------------------- */

/* Prepare works on a copy, so that a graph whose preparation was aborted or failed is still what the client built. */
static enum status compile(struct api_graph *g, struct backend_cancel *cancel)
{
    struct ir_graph *copy;
    TRY(ir_clone(g->ir, &copy));
    enum status st = backend_this->prepare(g->context->state, &g->cfg, copy, cancel, &g->image);
    ir_graph_free(copy);
    TRY(st);
    TRY(binary_open(g->image.data, g->image.size, &g->own));
    return graph_load(g, &g->own, 0);
}

/* Subgraphs of a graph that is finalized have done their part. */
static void subgraphs_done(const struct api_graph *g)
{
    struct api_context *c = g->context;
    for (uint32_t i = g->index + 1; i < c->graphs.n; i++) { /* a subgraph is younger than the graph around it */
        struct api_graph *s = c->graphs.at[i];
        if (!s->subgraph || (s->parent != g->index && !(c->graphs.at[s->parent]->subgraph && !c->graphs.at[s->parent]->ir)))
            continue;
        ir_graph_free(s->ir);
        s->ir = NULL;
        s->used = true;
    }
}

static enum status finalize(struct api_graph *g, struct backend_cancel *cancel)
{
    enum status st = compile(g, cancel);
    if (st != ST_OK) {
        graph_unload(g);
        g->own = (struct binary){ 0 };
        g->image = (struct binary_image){ 0 };
        return st;
    }
    ir_graph_free(g->ir); /* the binary is all that is needed from here on */
    g->ir = NULL;
    vec_finish(&g->produced);
    subgraphs_done(g);
    const struct binary_graph_info *i = &g->own.graphs[0].info;
    api_log(LOG_INFO, "graph \"%s\": %u nodes, %llu bytes of scratch (lower bound %llu), %llu bytes of constants", g->name, i->n_source_nodes,
            (unsigned long long)i->scratch_bytes, (unsigned long long)i->live_bytes, (unsigned long long)i->const_bytes);
    return ST_OK;
}

/* A graph that is loaded: the backend may want to be told that everything has been given to it. */
static enum status attach(struct api_graph *g)
{
    RETURN_IF(g->state == GRAPH_DEFERRED, ST_NOT_FINALIZED, "graph \"%s\" is deferred; call QnnContext_finalize first", g->name);
    RETURN_IF(g->state == GRAPH_NOT_ENABLED, ST_DISABLED, "graph \"%s\" was not in the list of enabled graphs of its context; create the context with it among ENABLE_GRAPHS, or without that option", g->name);
    RETURN_IF(g->context->from_binary && !backend_this->attach, ST_NOT_SUPPORTED, "graph \"%s\" comes from a binary and is ready to execute", g->name);
    RETURN_IF(!backend_this->attach || g->attached, ST_FINALIZED, "graph \"%s\" is finalized already", g->name);
    TRY(backend_this->attach(g->loaded, &g->cfg));
    g->attached = true;
    return ST_OK;
}

Qnn_ErrorHandle_t QnnGraph_finalize(Qnn_GraphHandle_t graphHandle, Qnn_ProfileHandle_t profileHandle, Qnn_SignalHandle_t signalHandle)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    API_CHECK(!g->subgraph, COMP_GRAPH, ST_SUBGRAPH, "graph \"%s\" is a subgraph; finalize the graph it belongs to", g->name);
    LOCKED(&g->context->lock);
    struct api_profile *p = NULL;
    struct api_signal *s = NULL;
    enum status st = profile_begin(profileHandle, &p);
    if (st == ST_OK)
        st = signal_begin(signalHandle, &s);
    if (st == ST_OK)
        st = context_alive(g->context);
    uint64_t start = clock_ns();
    if (st == ST_OK)
        st = g->state == GRAPH_OPEN ? finalize(g, s ? &s->cancel : NULL) : attach(g);
    context_stage_events(g->context, STAGE_FINALIZE, st == ST_OK ? p : NULL);
    if (p && st == ST_OK)
        prof_add(p->prof, PROF_ROOT, PROF_FINALIZE, PROF_UNIT_US, (clock_ns() - start) / 1000, "QNN (finalize) time");
    signal_end(s);
    profile_end(p);
    return api_error(COMP_GRAPH, st);
}

Qnn_ErrorHandle_t QnnGraph_retrieve(Qnn_ContextHandle_t contextHandle, const char *graphName, Qnn_GraphHandle_t *graphHandle)
{
    API_OBJECT(struct api_context, c, contextHandle, HANDLE_CONTEXT, COMP_GRAPH);
    log_enter(c->log);
    API_CHECK(graphHandle, COMP_GRAPH, ST_INVALID_ARG, "graphHandle is NULL; give a pointer that receives the handle");
    API_CHECK(graphName, COMP_GRAPH, ST_INVALID_NAME, "graphName is NULL; give the name of a graph of the context");
    LOCKED(&c->lock);
    struct api_graph *g = context_find_graph(c, graphName);
    API_CHECK(g, COMP_GRAPH, ST_NOT_FOUND, "the context has no graph named \"%s\"; it has %zu graphs%s%s%s", graphName, c->graphs.n,
              c->graphs.n ? ", the first is \"" : "", c->graphs.n ? c->graphs.at[0]->name : "", c->graphs.n ? "\"" : "");
    enum status st = context_alive(c);
    if (st == ST_OK)
        *graphHandle = g->self;
    return api_error(COMP_GRAPH, st);
}

/* ---- executing ---------------------------------------------------------------------------------------------------------------- */

static enum status check_executable(const struct api_graph *g)
{
    RETURN_IF(g->subgraph, ST_SUBGRAPH, "graph \"%s\" is a subgraph; execute the graph it belongs to", g->name);
    RETURN_IF(g->state == GRAPH_OPEN, ST_NOT_FINALIZED, "graph \"%s\" is not finalized; call QnnGraph_finalize first", g->name);
    RETURN_IF(g->state == GRAPH_DEFERRED, ST_NOT_FINALIZED, "graph \"%s\" is deferred; call QnnContext_finalize first", g->name);
    RETURN_IF(g->state == GRAPH_NOT_ENABLED, ST_DISABLED, "graph \"%s\" was not in the list of enabled graphs of its context; create the context with it among ENABLE_GRAPHS, or without that option", g->name);
    RETURN_IF(backend_this->attach && !g->attached, ST_NOT_FINALIZED,
              "graph \"%s\" is %s, but not ready: give it the memory it needs, then call QnnGraph_finalize%s", g->name,
              g->context->from_binary ? "loaded" : "compiled", g->context->from_binary ? "" : " again");
    return ST_OK;
}

static enum status check_args(const struct api_graph *g, const struct run_args *a, const void *profile)
{
    TRY(check_executable(g));
    RETURN_IF((a->inputs == NULL) != (a->n_inputs == 0), ST_INVALID_ARG, "inputs is %s and numInputs is %u", a->inputs ? "not NULL" : "NULL", a->n_inputs);
    RETURN_IF((a->outputs == NULL) != (a->n_outputs == 0), ST_INVALID_ARG, "outputs is %s and numOutputs is %u", a->outputs ? "not NULL" : "NULL",
              a->n_outputs);
    RETURN_IF(profile && g->profile, ST_INVALID_ARG, "graph \"%s\" has a profile of its own; execute it with a NULL profile handle", g->name);
    return ST_OK;
}

/* One of the executions that are still profiled is taken; false: there are none left. */
static bool take_profiled(struct api_graph *g)
{
    uint64_t left = g->profile_left;
    while (left && left != UINT64_MAX && !atomic_compare_exchange_weak(&g->profile_left, &left, left - 1))
        ;
    return left;
}

/* The profile of a run: the caller's, or the graph's own while it is switched on. */
static void *run_profile(struct api_graph *g, void *given)
{
    void *own = given ? NULL : g->profile;
    return own && !g->profile_off && take_profiled(g) ? own : given;
}

static enum status run_begin(struct graph_run *r, void *profile, void *signal)
{
    TRY(profile_begin(run_profile(r->graph, profile), &r->profile));
    enum status st = signal_begin(signal, &r->signal);
    if (st != ST_OK) {
        profile_end(r->profile);
        r->profile = NULL;
    }
    return st;
}

Qnn_ErrorHandle_t QnnGraph_execute(Qnn_GraphHandle_t graphHandle, const Qnn_Tensor_t *inputs, uint32_t numInputs, Qnn_Tensor_t *outputs,
                                   uint32_t numOutputs, Qnn_ProfileHandle_t profileHandle, Qnn_SignalHandle_t signalHandle)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    struct run_args a = { inputs, numInputs, outputs, numOutputs };
    enum status st = check_args(g, &a, profileHandle);
    if (st != ST_OK)
        return api_error(COMP_GRAPH, st);
    queue_enter(&g->context->queue);
    st = run_begin(g->sync, profileHandle, signalHandle);
    if (st == ST_OK) {
        st = graph_run_bind(g->sync, &a);
        if (st == ST_OK)
            st = graph_run_execute(g->sync);
        graph_run_release(g->sync);
    }
    queue_leave(&g->context->queue);
    return api_error(COMP_GRAPH, st);
}

/* An execution in the queue; the graph stays pinned until it has ended. */
struct async_run {
    struct run_job job;
    struct graph_run *run;
    Qnn_NotifyFn_t notify;
    void *param;
};

static void async_free(struct async_run *a)
{
    graph_run_free(a->run);
    mem_free(a);
}

static void async_serve(struct run_job *job)
{
    struct async_run *a = (struct async_run *)job;
    struct api_graph *g = a->run->graph;
    void *handle = g->self;
    log_enter(g->context->log);
    enum status st = g->context->closing ? status_fail(ST_CONTEXT_GONE, "the context was freed before graph \"%s\" could run", g->name)
                                         : graph_run_execute(a->run);
    graph_run_release(a->run);
    queue_leave(&g->context->queue);
    Qnn_NotifyStatus_t result = { .error = api_error(COMP_GRAPH, st) };
    enum callback_kind former = callback_enter(CALLBACK_PINNED);
    if (a->notify)
        a->notify(a->param, result);
    callback_leave(former);
    async_free(a);
    handle_put(handle);
}

static enum status async_new(struct api_graph *g, const struct run_args *args, void *profile, void *signal, struct async_run **ret)
{
    struct async_run *a = mem_new(struct async_run);
    RETURN_IF(!a, ST_NO_MEMORY, "no memory to execute graph \"%s\"", g->name);
    enum status st = graph_run_create(g, &a->run);
    if (st == ST_OK)
        st = run_begin(a->run, profile, signal);
    if (st == ST_OK) {
        st = graph_run_bind(a->run, args);
        if (st != ST_OK)
            graph_run_release(a->run);
    }
    if (st != ST_OK) {
        async_free(a);
        return st;
    }
    *ret = a;
    return ST_OK;
}

Qnn_ErrorHandle_t QnnGraph_executeAsync(Qnn_GraphHandle_t graphHandle, const Qnn_Tensor_t *inputs, uint32_t numInputs, Qnn_Tensor_t *outputs,
                                        uint32_t numOutputs, Qnn_ProfileHandle_t profileHandle, Qnn_SignalHandle_t signalHandle,
                                        Qnn_NotifyFn_t notifyFn, void *notifyParam)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    struct run_args args = { inputs, numInputs, outputs, numOutputs };
    struct async_run *a;
    enum status st = check_args(g, &args, profileHandle);
    if (st == ST_OK)
        st = async_new(g, &args, profileHandle, signalHandle, &a);
    if (st != ST_OK)
        return api_error(COMP_GRAPH, st);
    a->job.run = async_serve;
    a->notify = notifyFn;
    a->param = notifyParam;
    bool pinned = handle_get(graphHandle, HANDLE_GRAPH); /* the job's own; nothing is pinned any more once the context is being freed */
    st = pinned ? queue_submit(&g->context->queue, &a->job) : status_fail(ST_CONTEXT_GONE, "the context of graph \"%s\" is being freed", g->name);
    if (st != ST_OK) {
        graph_run_release(a->run);
        async_free(a);
        if (pinned)
            handle_put(graphHandle);
    }
    return api_error(COMP_GRAPH, st);
}

static Qnn_ErrorHandle_t no_environment(Qnn_GraphHandle_t graph, const void *envs, uint32_t n, const char *call)
{
    API_OBJECT(struct api_graph, g, graph, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    API_CHECK(envs && n, COMP_GRAPH, ST_INVALID_ARG, "%s: envs is NULL or envSize is 0", call);
    return api_fail(COMP_GRAPH, ST_NOT_SUPPORTED, "%s is not supported by the %s backend; give buffers or memory handles with each execution", call,
                    backend_this->name);
}

Qnn_ErrorHandle_t QnnGraph_prepareExecutionEnvironment(Qnn_GraphHandle_t graphHandle, QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize)
{
    return no_environment(graphHandle, envs, envSize, "QnnGraph_prepareExecutionEnvironment");
}

Qnn_ErrorHandle_t QnnGraph_releaseExecutionEnvironment(Qnn_GraphHandle_t graphHandle, const QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize)
{
    return no_environment(graphHandle, envs, envSize, "QnnGraph_releaseExecutionEnvironment");
}
