/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGraph.h: building, finalizing and executing graphs. A graph's life is in graph_life.c, its options in graph_config.c,
 * nodes are added in graph_build.c, and what one execution does with its tensors is in graph_execute.c. */
#include "QNN/QnnGraph.h"

#include "api/call_signal.h"
#include "api/counts.h"
#include "api/graph_build.h"
#include "api/graph_environment.h"
#include "api/objects.h"
#include "api/profile_all.h"
#include "api/thread_words.h"
#include "base/clock.h"

/* ---- building --------------------------------------------------------------------------------------------------------- */

static enum status new_graph(struct api_context *c, const char *name, const QnnGraph_Config_t **config, bool subgraph,
                             void **ret)
{
    struct api_graph *g;
    if (backend_this->check_process)
        TRY(backend_this->check_process());
    TRY(context_alive(c));
    RETURN_IF(c->from_binary, ST_NOT_PERMITTED, "the context was made from a binary; no graph can be added to it");
    RETURN_IF(!name || !*name, ST_INVALID_NAME, "the graph name is %s; give one that no other graph of the context has",
              name ? "empty" : "NULL");
    RETURN_IF(context_find_graph(c, name), ST_EXISTS, "the context has a graph named \"%s\" already; choose another name",
              name);
    TRY(graph_create(c, name, &g));
    g->subgraph = subgraph;
    enum status st = ir_graph_create(name, &g->ir);
    if (st == ST_OK)
        st = graph_configure(g, config);
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

Qnn_ErrorHandle_t QnnGraph_createSubgraph(Qnn_GraphHandle_t graphHandle, const char *graphName,
                                          Qnn_GraphHandle_t *subgraphHandle)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    struct api_context *c = g->context;
    log_enter(c->log);
    API_CHECK(subgraphHandle, COMP_GRAPH, ST_INVALID_ARG, "subgraphHandle is NULL; give a pointer that receives the handle");
    API_CHECK(!c->from_binary, COMP_GRAPH, ST_NOT_PERMITTED,
              "the context was made from a binary; no graph can be added to it");
    LOCKED(&c->lock);
    enum status st = graph_check_open(g);
    uint32_t depth = 1;
    for (const struct api_graph *p = g; p->subgraph; p = c->graphs.at[p->parent])
        depth++;
    if (st == ST_OK && depth > IR_MAX_GUARDS)
        st = status_fail(ST_NOT_SUPPORTED, "graph \"%s\" is inside of %u others; at most %d are supported", g->name,
                         depth - 1, IR_MAX_GUARDS - 1);
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
    enum status st = context_alive(g->context);
    return api_error(COMP_GRAPH, st == ST_OK ? graph_configure(g, config) : st);
}

Qnn_ErrorHandle_t QnnGraph_getProperty(Qnn_GraphHandle_t graphHandle, QnnGraph_Property_t **properties)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    API_CHECK(properties, COMP_GRAPH, ST_INVALID_ARG, "properties is NULL; give a list of pointers that ends with NULL");
    enum status alive = context_alive(g->context);
    if (alive != ST_OK)
        return api_error(COMP_GRAPH, alive);
    for (; *properties; properties++) {
        API_CHECK((*properties)->option == QNN_GRAPH_PROPERTY_OPTION_CUSTOM, COMP_GRAPH, ST_INVALID_ARG,
                  "graph property %u is unknown; 0 (custom) is known", (unsigned)(*properties)->option);
        API_CHECK(backend_this->graph_property, COMP_GRAPH, ST_NOT_SUPPORTED,
                  "the %s backend has no custom graph properties", backend_this->name);
        pthread_rwlock_rdlock(&g->program);
        enum status st = backend_this->graph_property(g->loaded, (*properties)->customProperty);
        pthread_rwlock_unlock(&g->program);
        if (st != ST_OK)
            return api_error(COMP_GRAPH, st);
    }
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnGraph_addNode(Qnn_GraphHandle_t graphHandle, Qnn_OpConfig_t opConfig)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    API_CHECK(!g->context->from_binary, COMP_GRAPH, ST_NOT_PERMITTED,
              "the context was made from a binary; no node can be added");
    LOCKED(&g->context->lock);
    enum status st = context_alive(g->context);
    if (st == ST_OK)
        st = graph_check_open(g);
    return api_error(COMP_GRAPH, st == ST_OK ? graph_add_node(g, &opConfig) : st);
}

/* ---- finalizing ------------------------------------------------------------------------------------------------------- */

static enum status finalize(struct api_graph *g, struct cancel *cancel)
{
    TRY(context_alive(g->context));
    if (g->state == GRAPH_OPEN)
        return graph_finalize(g, cancel);
    return g->changed ? graph_update(g, cancel) : graph_attach(g);
}

/* The signal counts from the call, also while another graph of the context is finalized. */
static enum status finalize_in_turn(struct api_graph *g, struct cancel *cancel, struct api_profile *p)
{
    struct api_context *c = g->context;
    TRY(call_lock(&c->lock, cancel, "finalizing the graph"));
    uint64_t start = clock_ns();

    context_watch(c, cancel);
    enum status st = call_check(cancel, "finalizing the graph");
    if (st == ST_OK)
        st = finalize(g, cancel);
    context_watch(c, NULL);

    context_stage_events(c, STAGE_FINALIZE, st == ST_OK ? p : NULL);
    if (p && st == ST_OK)
        prof_add(p->prof, PROF_ROOT, PROF_FINALIZE, PROF_UNIT_US, (clock_ns() - start) / 1000, "QNN (finalize) time");
    pthread_mutex_unlock(&c->lock);
    return st;
}

Qnn_ErrorHandle_t QnnGraph_finalize(Qnn_GraphHandle_t graphHandle, Qnn_ProfileHandle_t profileHandle,
                                    Qnn_SignalHandle_t signalHandle)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    API_CHECK(!g->subgraph, COMP_GRAPH, ST_SUBGRAPH, "graph \"%s\" is a subgraph; finalize the graph it belongs to",
              g->name);
    struct api_profile *p = NULL;
    struct api_signal *s = NULL;
    enum status st = profile_begin(profileHandle, &p);
    if (st == ST_OK)
        st = signal_begin(signalHandle, NULL, &s);
    if (st == ST_OK)
        st = finalize_in_turn(g, s ? &s->cancel : NULL, p);
    if (st == ST_OK)
        count(COUNT_FINALIZED);
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
    API_CHECK(g, COMP_GRAPH, ST_NOT_FOUND, "the context has no graph named \"%s\"; it has %zu graphs%s%s%s", graphName,
              c->graphs.n, c->graphs.n ? ", the first is \"" : "", c->graphs.n ? c->graphs.at[0]->name : "",
              c->graphs.n ? "\"" : "");
    enum status st = context_alive(c);
    if (st == ST_OK)
        *graphHandle = g->self;
    return api_error(COMP_GRAPH, st);
}

/* ---- executing -------------------------------------------------------------------------------------------------------- */

static enum status check_executable(const struct api_graph *g)
{
    RETURN_IF(g->subgraph, ST_SUBGRAPH, "graph \"%s\" is a subgraph; execute the graph it belongs to", g->name);
    RETURN_IF(g->state == GRAPH_OPEN, ST_NOT_FINALIZED, "graph \"%s\" is not finalized; call QnnGraph_finalize first",
              g->name);
    TRY(graph_present(g));
    RETURN_IF(backend_this->attach && !g->attached, ST_NOT_FINALIZED,
              "graph \"%s\" is %s, but not ready: give it the memory it needs, then call QnnGraph_finalize%s", g->name,
              g->context->from_binary ? "loaded" : "compiled", g->context->from_binary ? "" : " again");
    return ST_OK;
}

static enum status check_args(const struct api_graph *g, const struct run_args *a, const void *profile)
{
    TRY(check_executable(g));
    RETURN_IF((a->inputs == NULL) != (a->n_inputs == 0), ST_INVALID_ARG, "inputs is %s and numInputs is %u",
              a->inputs ? "not NULL" : "NULL", a->n_inputs);
    RETURN_IF((a->outputs == NULL) != (a->n_outputs == 0), ST_INVALID_ARG, "outputs is %s and numOutputs is %u",
              a->outputs ? "not NULL" : "NULL", a->n_outputs);
    RETURN_IF(profile && g->profile, ST_INVALID_ARG,
              "graph \"%s\" has a profile of its own; execute it with a NULL profile handle", g->name);
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

static struct sched_turn new_turn(struct api_graph *g, const struct api_signal *s)
{
    return (struct sched_turn){ .group = &g->context->queue.group,
                                .needs = &g->needs,
                                .cancel = s ? &s->cancel : NULL,
                                .level = priority_level(graph_priority(g)) };
}

/* In its turn: what synchronous runs work with belongs to this one now. */
static enum status run_now(struct graph_run *r, const struct run_args *a, void *profile)
{
    TRY(profile_begin(run_profile(r->graph, profile), &r->profile));
    TRY(graph_run_bind(r, a));
    return graph_run_execute(r);
}

static enum status execute_in_turn(struct api_graph *g, const struct run_args *a, void *profile, struct api_signal *s)
{
    struct sched_turn turn = new_turn(g, s);
    turn.passes_ordered = thread_words()->is_queue; /* jobs may wait for this callback to return */
    bool profiled = profile || g->profile || profile_all_wanted();
    struct call_stamps at = { .called = a->called_ns, .asked = profiled ? clock_ns() : 0 };
    enum status st = queue_enter(g, &turn);
    if (st != ST_OK) {
        signal_end(s);
        return st;
    }
    g->sync->signal = s;
    g->sync->turn = &turn;
    at.turn = profiled ? clock_ns() : 0;
    g->sync->at = at;
    st = run_now(g->sync, a, profile);
    graph_run_release(g->sync);
    sched_leave(&turn);
    return st;
}

/* How an execution ended. One that was paused goes on with the next call. */
static Qnn_ErrorHandle_t run_error(enum status st)
{
    if (st != ST_PAUSED)
        count(st == ST_OK || st == ST_ENDED_EARLY ? COUNT_EXECUTED : COUNT_FAILED);
    return api_error(COMP_GRAPH, st);
}

/* Only profiles want to know. */
static uint64_t called_ns(const struct api_graph *g, const void *profile)
{
    return profile || g->profile || profile_all_wanted() ? clock_ns() : 0;
}

Qnn_ErrorHandle_t QnnGraph_execute(Qnn_GraphHandle_t graphHandle, const Qnn_Tensor_t *inputs, uint32_t numInputs,
                                   Qnn_Tensor_t *outputs, uint32_t numOutputs, Qnn_ProfileHandle_t profileHandle,
                                   Qnn_SignalHandle_t signalHandle)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    struct run_args a = { inputs, numInputs, outputs, numOutputs, called_ns(g, profileHandle) };
    enum status st = check_args(g, &a, profileHandle);
    if (st != ST_OK)
        return run_error(st);

    struct api_signal *s = NULL;
    st = signal_begin(signalHandle, NULL, &s); /* a timeout counts from the call, not from the turn */
    if (st == ST_OK)
        st = execute_in_turn(g, &a, profileHandle, s);
    return run_error(st);
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

static enum status async_execute(struct async_run *a)
{
    const struct api_graph *g = a->run->graph;
    RETURN_IF(g->context->closing, ST_CONTEXT_GONE, "the context was freed before graph \"%s\" could run", g->name);
    a->run->turn = &a->job.turn;
    a->run->at.turn = a->run->profile || profile_all_wanted() ? clock_ns() : 0;
    return graph_run_execute(a->run);
}

static void async_serve(struct run_job *job, enum status st)
{
    struct async_run *a = (struct async_run *)job;
    struct api_graph *g = a->run->graph;
    void *handle = g->self;
    bool in_turn = st == ST_OK;
    log_enter(g->context->log);
    if (in_turn)
        st = async_execute(a);
    graph_run_release(a->run);
    if (in_turn)
        sched_leave(&job->turn);
    else
        sched_drop(&job->turn);
    Qnn_NotifyStatus_t result = { .error = run_error(st) };
    enum callback_kind former = callback_enter(CALLBACK_PINNED);
    if (a->notify)
        a->notify(a->param, result);
    callback_leave(former);
    async_free(a);
    handle_put(handle);
}

static enum status async_new(struct api_graph *g, const struct run_args *args, void *profile, void *signal,
                             struct async_run **ret)
{
    struct async_run *a = mem_new(struct async_run);
    RETURN_IF(!a, ST_NO_MEMORY, "no memory to execute graph \"%s\"", g->name);
    pthread_rwlock_rdlock(&g->program);
    enum status st = graph_run_create(g, &a->run);
    if (st == ST_OK)
        st = profile_begin(run_profile(g, profile), &a->run->profile);
    if (st == ST_OK)
        st = signal_begin(signal, &g->context->queue, &a->run->signal);
    if (st == ST_OK)
        st = graph_run_bind(a->run, args);
    if (st != ST_OK && a->run)
        graph_run_release(a->run);
    pthread_rwlock_unlock(&g->program);
    if (st != ST_OK) {
        async_free(a);
        return st;
    }
    *ret = a;
    return ST_OK;
}

Qnn_ErrorHandle_t QnnGraph_executeAsync(Qnn_GraphHandle_t graphHandle, const Qnn_Tensor_t *inputs, uint32_t numInputs,
                                        Qnn_Tensor_t *outputs, uint32_t numOutputs, Qnn_ProfileHandle_t profileHandle,
                                        Qnn_SignalHandle_t signalHandle, Qnn_NotifyFn_t notifyFn, void *notifyParam)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    struct run_args args = { inputs, numInputs, outputs, numOutputs, called_ns(g, profileHandle) };
    struct async_run *a;
    enum status st = check_args(g, &args, profileHandle);
    if (st == ST_OK)
        st = async_new(g, &args, profileHandle, signalHandle, &a);
    if (st != ST_OK)
        return run_error(st);
    a->job.graph = g;
    a->job.run = async_serve;
    a->job.turn = new_turn(g, a->run->signal);
    a->run->at.called = args.called_ns;
    a->run->at.asked = a->run->profile || profile_all_wanted() ? clock_ns() : 0;
    a->notify = notifyFn;
    a->param = notifyParam;
    bool pinned = handle_get(graphHandle,
                             HANDLE_GRAPH); /* the job's own; nothing is pinned any more once the context is being freed */
    st = pinned ? queue_submit(&g->context->queue, &a->job)
                : status_fail(ST_CONTEXT_GONE, "the context of graph \"%s\" is being freed", g->name);
    if (st != ST_OK) {
        graph_run_release(a->run);
        async_free(a);
        if (pinned)
            handle_put(graphHandle);
        return run_error(st);
    }
    return QNN_SUCCESS;
}

/* ---- execution environments ------------------------------------------------------------------------------------------- */

static enum status check_environments(const struct api_graph *g, const void *envs, uint32_t n)
{
    RETURN_IF(!envs || !n, ST_INVALID_ARG, "envs is NULL or envSize is 0");
    TRY(context_alive(g->context));
    return check_executable(g);
}

Qnn_ErrorHandle_t QnnGraph_prepareExecutionEnvironment(Qnn_GraphHandle_t graphHandle, QnnGraph_ExecuteEnvironment_t **envs,
                                                       uint32_t envSize)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    LOCKED(&g->context->lock);
    enum status st = check_environments(g, envs, envSize);
    return api_error(COMP_GRAPH, st == ST_OK ? graph_env_prepare(g, envs, envSize) : st);
}

Qnn_ErrorHandle_t QnnGraph_releaseExecutionEnvironment(Qnn_GraphHandle_t graphHandle,
                                                       const QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize)
{
    API_OBJECT(struct api_graph, g, graphHandle, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    LOCKED(&g->context->lock);
    enum status st = check_environments(g, envs, envSize);
    return api_error(COMP_GRAPH, st == ST_OK ? graph_env_release(g, envs, envSize) : st);
}
