/* SPDX-License-Identifier: Apache-2.0 */
/* The execution loop. A slot is everything one execution needs: buffers, tensors, profile, signal. Synchronous runs have one
 * slot; asynchronous ones a ring of them, which are waited for and stored in the order they were started, so that files do
 * not depend on the order in which executions end. */
#include "net_run/graph_run.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "common/tool_log.h"

struct slot {
    void **inputs, **outputs; /* buffers */
    Qnn_Tensor_t *in, *out;
    Qnn_ProfileHandle_t profile;
    Qnn_SignalHandle_t signal;
    uint64_t number; /* of the execution, over all passes */
    uint64_t start_ns, stop_ns;
    bool busy, profiled;
    bool done; /* guarded by run->lock */
    Qnn_ErrorHandle_t error;
    struct run *run;
};

struct run {
    struct session *s;
    struct graph_io *io;
    const struct run_options *opt;
    struct slot *slots;
    uint32_t n_slots;
    uint64_t keep; /* Result folders */
    pthread_mutex_t lock;
    pthread_cond_t finished;
    struct run_totals *totals;
    uint64_t first_ns, last_ns;
};

/* ---- slots ----------------------------------------------------------------------------------------------------------- */

static enum status make_buffers(struct run *r, const struct io_tensor *from, uint32_t n, void ***buffers,
                                Qnn_Tensor_t **tensors)
{
    *buffers = arena_alloc_array(&r->io->arena, n + 1u, sizeof(**buffers));
    *tensors = arena_array(&r->io->arena, Qnn_Tensor_t, n);
    RETURN_IF(!*buffers || !*tensors, ST_NO_MEMORY, "tensors");
    for (uint32_t i = 0; i < n; i++) {
        (*tensors)[i] = from[i].tensor;
        enum status st = session_alloc(r->s, (size_t)from[i].bytes, &(*tensors)[i], &(*buffers)[i]);
        if (st != ST_OK)
            return status_prefix(st, "tensor \"%s\" of %" PRIu64 " bytes", from[i].tensor.v1.name, from[i].bytes);
    }
    return ST_OK;
}

static enum status make_signal(struct run *r, Qnn_SignalHandle_t *ret)
{
    QnnSignal_Config_t config = { .option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT,
                                  .timeoutDurationUs = (uint64_t)r->opt->timeout_us };
    const QnnSignal_Config_t *configs[] = { &config, NULL };
    if (!r->opt->timeout_us)
        return ST_OK;
    Qnn_ErrorHandle_t error = r->s->backend.api.signalCreate(r->s->handle, configs, ret);
    return error == QNN_SUCCESS ? ST_OK
                                : library_fail(&r->s->backend.api, error, "--timeout: this backend has no timeout signal");
}

static enum status make_slots(struct run *r)
{
    struct graph_io *io = r->io;
    r->slots = arena_array(&io->arena, struct slot, r->n_slots);
    RETURN_IF(!r->slots, ST_NO_MEMORY, "%u executions at once", r->n_slots);
    for (uint32_t i = 0; i < r->n_slots; i++) {
        struct slot *s = &r->slots[i];
        s->run = r;
        TRY(make_buffers(r, io->inputs, io->n_inputs, &s->inputs, &s->in));
        TRY(make_buffers(r, io->outputs, io->n_outputs, &s->outputs, &s->out));
        TRY(session_new_profile(r->s, &s->profile));
        TRY(make_signal(r, &s->signal));
    }
    return ST_OK;
}

static void free_slots(struct run *r)
{
    for (uint32_t i = 0; r->slots && i < r->n_slots; i++) {
        struct slot *s = &r->slots[i];
        for (uint32_t t = 0; s->inputs && t < r->io->n_inputs; t++)
            session_free(r->s, &s->in[t], s->inputs[t]);
        for (uint32_t t = 0; s->outputs && t < r->io->n_outputs; t++)
            session_free(r->s, &s->out[t], s->outputs[t]);
        if (s->profile)
            r->s->backend.api.profileFree(s->profile);
        if (s->signal)
            r->s->backend.api.signalFree(s->signal);
    }
}

/* ---- one execution --------------------------------------------------------------------------------------------------- */

static void notify(void *param, Qnn_NotifyStatus_t status)
{
    struct slot *s = param;
    pthread_mutex_lock(&s->run->lock);
    s->stop_ns = clock_ns();
    s->error = status.error;
    s->done = true;
    pthread_cond_broadcast(&s->run->finished);
    pthread_mutex_unlock(&s->run->lock);
}

/* Whether the configuration wants this execution measured. */
static bool is_profiled(const struct run *r, uint64_t number)
{
    const struct session_graph_config *c = r->io->graph->config;
    return !c || (number >= c->start_delay && (!c->has_executions || number - c->start_delay < c->executions));
}

static enum status start(struct run *r, struct slot *s, uint64_t number)
{
    const QNN_INTERFACE_VER_TYPE *api = &r->s->backend.api;
    struct graph_io *io = r->io;
    const void *data[io->n_inputs + 1];
    bool again = r->opt->inferences > (int64_t)io->executions || r->opt->duration_s;
    TRY(graph_io_load(io, number % io->executions, s->inputs, again, data));
    for (uint32_t i = 0; i < io->n_inputs;
         i++) /* the backend may insist on the kind of memory, so what was cached is copied there */
        if (data[i] != s->inputs[i])
            memcpy(s->inputs[i], data[i], (size_t)io->inputs[i].bytes);
    s->number = number;
    s->profiled = is_profiled(r, number);
    s->done = false;
    Qnn_ProfileHandle_t profile = s->profiled ? s->profile : NULL;
    TRY(session_stage(r->s, EXTENSION_INFERENCE, true));
    s->start_ns = clock_ns();
    r->first_ns = r->first_ns ? r->first_ns : s->start_ns;
    s->busy = true;
    if (r->opt->async) {
        Qnn_ErrorHandle_t error = api->graphExecuteAsync(io->graph->handle, s->in, io->n_inputs, s->out, io->n_outputs,
                                                         profile, s->signal, notify, s);
        if (error != QNN_SUCCESS) /* otherwise notify() writes the slot, perhaps already */
            notify(s, (Qnn_NotifyStatus_t){ error });
    } else {
        s->error = api->graphExecute(io->graph->handle, s->in, io->n_inputs, s->out, io->n_outputs, profile, s->signal);
        s->stop_ns = clock_ns();
        s->done = true;
    }
    return ST_OK;
}

static void await(struct run *r, struct slot *s)
{
    pthread_mutex_lock(&r->lock);
    while (!s->done)
        pthread_cond_wait(&r->finished, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

/* A streaming graph that waits for more input has taken the frame in; it only has nothing to show yet. */
static bool ended_early(const struct slot *s)
{
    return QNN_GET_ERROR_CODE(s->error) == QNN_GRAPH_ERROR_EARLY_TERMINATION;
}

/* Waits for the slot's execution, stores its outputs and its measurements. */
static enum status complete(struct run *r, struct slot *s)
{
    if (!s->busy)
        return ST_OK;
    await(r, s);
    s->busy = false;
    TRY(session_stage(r->s, EXTENSION_INFERENCE, false));
    struct graph_io *io = r->io;
    if (s->error != QNN_SUCCESS && !ended_early(s))
        return library_fail(&r->s->backend.api, s->error, "Execute failure: graph \"%s\", inference %" PRIu64,
                            io->graph->name, s->number);
    r->totals->executions++;
    r->totals->busy_ns += s->stop_ns - s->start_ns;
    r->last_ns = s->stop_ns;
    struct session_measure m = { .method = r->opt->async ? QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE_ASYNC
                                                         : QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE,
                                 .graph = io->graph->name,
                                 .start_ns = s->start_ns,
                                 .stop_ns = s->stop_ns,
                                 .profile = s->profile };
    if (s->profiled)
        TRY(session_measured(r->s, &m));
    if (ended_early(s)) {
        tool_log(TOOL_INFO,
                 "graph \"%s\", inference %" PRIu64 ": it ended early and waits for more input; there is no result",
                 io->graph->name, s->number);
        return ST_OK;
    }
    struct io_result result = { .execution = s->number % io->executions,
                                .first = s->number / io->executions * io->n_lines,
                                .limit = r->keep,
                                .data = (const void *const *)s->outputs };
    return graph_io_store(io, &result);
}

/* ---- the loop -------------------------------------------------------------------------------------------------------- */

static bool goes_on(const struct run *r, uint64_t number, uint64_t until_ns)
{
    if (until_ns)
        return !number || clock_ns() < until_ns;
    return number < (r->opt->inferences ? (uint64_t)r->opt->inferences : r->io->executions);
}

static enum status loop(struct run *r)
{
    uint64_t total = r->opt->inferences ? (uint64_t)r->opt->inferences : r->io->executions;
    uint64_t until = r->opt->duration_s ? clock_ns() + (uint64_t)r->opt->duration_s * 1000000000u : 0;
    uint64_t number = 0;
    while (goes_on(r, number, until)) {
        struct slot *s = &r->slots[number % r->n_slots];
        TRY(complete(r, s));
        tool_progress("Executing", until ? number % total : number, total);
        TRY(start(r, s, number++));
        if (!r->opt->async && s->error != QNN_SUCCESS && !ended_early(s))
            break; /* complete() below says what happened */
    }
    for (uint32_t i = 0; i < r->n_slots; i++)
        TRY(complete(r, &r->slots[(number + i) % r->n_slots]));
    tool_progress("Executing", total, total);
    return ST_OK;
}

enum status graph_run(struct session *s, struct graph_io *io, const struct run_options *opt, struct run_totals *ret)
{
    struct run r = { .s = s, .io = io, .opt = opt, .n_slots = opt->async ? opt->depth : 1, .totals = ret };
    memset(ret, 0, sizeof(*ret));
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.finished, NULL);
    r.keep = opt->keep_outputs >= 0 ? (uint64_t)opt->keep_outputs : io->n_lines;
    enum status st = make_slots(&r);
    if (st == ST_OK)
        st = session_before_execute(s, io->graph);
    bool begun = st == ST_OK;
    if (begun)
        st = loop(&r);
    for (uint32_t i = 0; r.slots && i < r.n_slots; i++) { /* after a failure: buffers are in use until the callback */
        if (r.slots[i].busy)
            await(&r, &r.slots[i]);
    }
    if (begun) {
        enum status after = session_after_execute(s, io->graph);
        st = st == ST_OK ? after : st;
    }
    free_slots(&r);
    pthread_cond_destroy(&r.finished);
    pthread_mutex_destroy(&r.lock);
    if (opt->async && ret->executions)
        ret->busy_ns = r.last_ns - r.first_ns;
    struct session_measure m = { .method = QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_EXECUTE_IPS,
                                 .graph = io->graph->name,
                                 .start_ns = r.first_ns,
                                 .stop_ns = r.first_ns + ret->busy_ns,
                                 .count = ret->executions };
    return st == ST_OK && ret->executions ? session_measured(s, &m) : st;
}
