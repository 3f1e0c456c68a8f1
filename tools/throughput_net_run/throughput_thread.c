/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: buffers of their own on graphs that they may share, and the loop; see throughput.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/tensor_data.h"
#include "common/tensor_text.h"
#include "common/tool_log.h"
#include "throughput_net_run/throughput.h"

atomic_bool tp_stop;

/* ---- buffers --------------------------------------------------------------------------------------------------------- */

static enum status make_buffers(struct session *s, struct graph_io *io, bool output, struct tp_graph *g)
{
    uint32_t n = output ? io->n_outputs : io->n_inputs;
    const struct io_tensor *from = output ? io->outputs : io->inputs;
    void **buffers = arena_alloc_array(&io->arena, n + 1u, sizeof(*buffers));
    Qnn_Tensor_t *tensors = arena_array(&io->arena, Qnn_Tensor_t, n);
    RETURN_IF(!buffers || !tensors, ST_NO_MEMORY, "tensors");
    *(output ? &g->outputs : &g->inputs) = buffers;
    *(output ? &g->out : &g->in) = tensors;
    for (uint32_t i = 0; i < n; i++) {
        tensors[i] = from[i].tensor;
        enum status st = session_alloc(s, (size_t)from[i].bytes, &tensors[i], &buffers[i]);
        if (st != ST_OK)
            return status_prefix(st, "tensor \"%s\" of %" PRIu64 " bytes", from[i].tensor.v1.name, from[i].bytes);
    }
    return ST_OK;
}

/* Item `index` of a list with a file per graph, in the arena; NULL when there is no list. */
static enum status list_of(const char *lists, uint32_t index, uint32_t n_graphs, struct arena *arena, const char **ret)
{
    struct opt_list items;
    *ret = NULL;
    if (!lists)
        return ST_OK;
    TRY(tool_split(lists, ',', arena, &items));
    RETURN_IF(items.n != n_graphs, ST_INVALID_CONFIG,
              "\"%s\" has %zu lists for %u graphs; give one for each, separated by commas", lists, items.n, n_graphs);
    *ret = items.items[index];
    return ST_OK;
}

static enum status open_graph(struct tp_thread *t, uint32_t index)
{
    static const uint32_t output_types[] = { OUTPUT_NATIVE, OUTPUT_FLOAT,
                                             OUTPUT_BOTH }; /* in the order of the configuration's names */
    const struct tp_model *m = t->config->model;
    struct session *s = &t->target->session;
    struct tp_graph *g = &t->graphs[index];
    const struct session_graph *graph = &s->graphs.at[index];
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena);
    CLEANUP(str_finish) struct str folder;
    str_init(&folder);
    const char *inputs, *expected;
    TRY(list_of(t->config->random ? NULL : m->input_path, index, t->n_graphs, &arena, &inputs));
    TRY(list_of(m->golden_path, index, t->n_graphs, &arena, &expected));
    str_addf(&folder, "%s/%s", m->output_path ? m->output_path : "output", t->config->name);
    if (t->n_graphs > 1) {
        str_add(&folder, "/");
        tensor_file_name(graph->name, &folder);
    }
    struct io_options options = { .native_inputs = m->input_type == 0,
                                  .output_type = output_types[m->output_type],
                                  .batch_multiplier = 1,
                                  .cache_sets = -1,
                                  .cache_bytes = -1 };
    TRY(graph_io_open(&g->io, graph, inputs, &options));
    g->io.opt.output_dir = arena_strdup(&g->io.arena, str_text(&folder));
    RETURN_IF(folder.failed || !g->io.opt.output_dir, ST_NO_MEMORY, "output folder");
    TRY(golden_open(&g->golden, &g->io, m, expected));
    TRY(make_buffers(s, &g->io, false, g));
    return make_buffers(s, &g->io, true, g);
}

enum status tp_thread_prepare(struct tp_thread *t)
{
    struct session *s = &t->target->session;
    t->n_graphs = (uint32_t)s->graphs.n;
    t->graphs = mem_array(struct tp_graph, t->n_graphs);
    RETURN_IF(!t->graphs, ST_NO_MEMORY, "graphs");
    enum status st = session_new_profile(s, &t->profile);
    for (uint32_t i = 0; st == ST_OK && i < t->n_graphs; i++)
        st = open_graph(t, i);
    return st == ST_OK ? st : status_prefix(st, "thread \"%s\"", t->config->name);
}

static void close_graph(struct tp_thread *t, struct tp_graph *g)
{
    struct session *s = &t->target->session;
    for (uint32_t i = 0; g->inputs && i < g->io.n_inputs; i++)
        session_free(s, &g->in[i], g->inputs[i]);
    for (uint32_t i = 0; g->outputs && i < g->io.n_outputs; i++)
        session_free(s, &g->out[i], g->outputs[i]);
    t->squares += g->golden.sum;
    t->n_squares += g->golden.n;
    golden_finish(&g->golden);
    graph_io_finish(&g->io);
}

void tp_thread_release(struct tp_thread *t)
{
    for (uint32_t i = 0; t->graphs && i < t->n_graphs; i++)
        close_graph(t, &t->graphs[i]);
    if (t->profile)
        t->target->session.backend.api.profileFree(t->profile);
    t->profile = NULL;
    mem_free(t->graphs);
    t->graphs = NULL;
}

/* ---- one execution --------------------------------------------------------------------------------------------------- */

static uint64_t next_random(struct tp_thread *t)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return t->random;
}

/* Numbers between -1 and 1 for floats, which must be finite; any bytes for the others. */
static void fill(struct tp_thread *t, const struct io_tensor *from, void *to)
{
    uint8_t *bytes = to;
    bool real = tensor_type(from->tensor.v1.dataType)->kind == CLASS_FLOAT;
    for (uint64_t i = 0; i < from->elements && real; i++) {
        float v = (float)((double)(next_random(t) >> 40) / (1 << 23) - 1);
        tensor_from_float(&from->tensor, &v, i, 1, bytes + i * (from->bytes / from->elements));
    }
    for (uint64_t i = 0; i < from->bytes && !real; i++)
        bytes[i] = (uint8_t)(next_random(t) >> 32);
}

/* The inputs of the next execution; read and made once unless the thread wants them anew. */
static enum status load(struct tp_thread *t, struct tp_graph *g, uint64_t execution)
{
    const struct tp_thread_config *c = t->config;
    const void *data[g->io.n_inputs + 1];
    if (g->loaded && !c->load_in_loop && g->io.executions == 1)
        return ST_OK;
    g->loaded = true;
    if (!g->io.paths) {
        for (uint32_t i = 0; i < g->io.n_inputs; i++)
            fill(t, &g->io.inputs[i], g->inputs[i]);
        return ST_OK;
    }
    TRY(graph_io_load(&g->io, execution, g->inputs, !c->load_in_loop, data));
    for (uint32_t i = 0; i < g->io.n_inputs; i++) /* from the cache */
        if (data[i] != g->inputs[i])
            memcpy(g->inputs[i], data[i], (size_t)g->io.inputs[i].bytes);
    return ST_OK;
}

static void notify(void *param, Qnn_NotifyStatus_t status)
{
    struct tp_thread *t = param;
    pthread_mutex_lock(&t->lock);
    t->error = status.error;
    t->done = true;
    pthread_cond_signal(&t->finished);
    pthread_mutex_unlock(&t->lock);
}

static Qnn_ErrorHandle_t call(struct tp_thread *t, const struct tp_graph *g)
{
    const QNN_INTERFACE_VER_TYPE *api = &t->target->session.backend.api;
    Qnn_GraphHandle_t graph = g->io.graph->handle;
    if (!t->config->async)
        return api->graphExecute(graph, g->in, g->io.n_inputs, g->out, g->io.n_outputs, t->profile, NULL);
    t->done = false;
    Qnn_ErrorHandle_t error =
        api->graphExecuteAsync(graph, g->in, g->io.n_inputs, g->out, g->io.n_outputs, t->profile, NULL, notify, t);
    if (error != QNN_SUCCESS)
        return error;
    pthread_mutex_lock(&t->lock);
    while (!t->done)
        pthread_cond_wait(&t->finished, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return t->error;
}

static enum status measured(struct tp_thread *t, const struct tp_graph *g, uint64_t start, uint64_t stop)
{
    struct session_measure m = { .method = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE,
                                 .graph = g->io.graph->name,
                                 .start_ns = start,
                                 .stop_ns = stop,
                                 .profile = t->profile };
    latency_add(&t->latency, stop - start);
    if (!t->profile)
        return ST_OK;
    pthread_mutex_lock(&t->run->serial);
    enum status st = session_measured(&t->target->session, &m);
    pthread_mutex_unlock(&t->run->serial);
    return st;
}

static enum status store(struct tp_graph *g, uint64_t execution, uint64_t pass)
{
    struct io_result r = {
        .execution = execution, .first = pass * g->io.n_lines, .limit = UINT64_MAX, .data = (const void *const *)g->outputs
    };
    return graph_io_store(&g->io, &r);
}

static enum status execute(struct tp_thread *t, struct tp_graph *g, uint64_t number)
{
    uint64_t execution = number % g->io.executions;
    TRY(load(t, g, execution));
    TRY(session_stage(&t->target->session, EXTENSION_INFERENCE, true));
    uint64_t start = clock_ns();
    Qnn_ErrorHandle_t error = call(t, g);
    uint64_t stop = clock_ns();
    TRY(session_stage(&t->target->session, EXTENSION_INFERENCE, false));
    if (QNN_GET_ERROR_CODE(error) == QNN_GRAPH_ERROR_EARLY_TERMINATION) /* waits for more frames; there is no output */
        return measured(t, g, start, stop);
    if (error != QNN_SUCCESS)
        return library_fail(&t->target->session.backend.api, error, "graph \"%s\", loop %" PRIu64, g->io.graph->name,
                            number);
    TRY(measured(t, g, start, stop));
    TRY(golden_compare(&g->golden, execution, g->outputs));
    return t->config->model->save == SAVE_ALL ? store(g, execution, number / g->io.executions) : ST_OK;
}

/* ---- the loop -------------------------------------------------------------------------------------------------------- */

static void pause_us(uint32_t us)
{
    struct timespec left = { us / 1000000, (long)(us % 1000000) * 1000 };
    while (us && !tp_stop && nanosleep(&left, &left) && errno == EINTR)
        continue;
}

static enum status execute_all(struct tp_thread *t, uint64_t number)
{
    for (uint32_t i = 0; i < t->n_graphs; i++)
        TRY(execute(t, &t->graphs[i], number));
    return ST_OK;
}

/* The model is made, executed and thrown away. */
static enum status open_own(struct tp_thread *t)
{
    t->target = &t->own;
    TRY(tp_target_open(&t->own, t->config));
    TRY(tp_thread_prepare(t));
    for (uint32_t i = 0; i < t->n_graphs; i++)
        TRY(session_before_execute(&t->own.session, t->graphs[i].io.graph));
    return ST_OK;
}

static enum status close_own(struct tp_thread *t)
{
    enum status st = ST_OK;
    for (uint32_t i = 0; t->graphs && i < t->n_graphs; i++)
        if (t->graphs[i].io.graph && session_after_execute(&t->own.session, t->graphs[i].io.graph) != ST_OK)
            st = ST_STATE;
    tp_thread_release(t);
    tp_target_close(&t->own);
    t->target = NULL;
    return st;
}

static enum status execute_anew(struct tp_thread *t, uint64_t number)
{
    uint64_t start = clock_ns();
    pthread_mutex_lock(&t->run->serial);
    enum status st = open_own(t);
    pthread_mutex_unlock(&t->run->serial);
    t->init_ns += clock_ns() - start;
    t->init_loops++;
    if (st == ST_OK)
        st = execute_all(t, number);
    for (uint32_t i = 0; st == ST_OK && t->config->model->save == SAVE_LAST && i < t->n_graphs; i++)
        st = store(&t->graphs[i], number % t->graphs[i].io.executions, 0);
    pthread_mutex_lock(&t->run->serial);
    enum status after = close_own(t);
    pthread_mutex_unlock(&t->run->serial);
    return st == ST_OK ? after : st;
}

static enum status loop(struct tp_thread *t)
{
    const struct tp_thread_config *c = t->config;
    uint64_t until = clock_ns() + c->loop * (uint64_t)1000000000, n = 0;
    while (!tp_stop && (c->loop_unit == LOOP_SECONDS ? !n || clock_ns() < until : n < c->loop)) {
        if (n)
            pause_us(c->interval_us);
        TRY(c->init_in_loop ? execute_anew(t, n) : execute_all(t, n));
        n++;
        t->loops++;
    }
    for (uint32_t i = 0; n && t->graphs && c->model->save == SAVE_LAST && i < t->n_graphs; i++)
        TRY(store(&t->graphs[i], (n - 1) % t->graphs[i].io.executions, 0));
    return ST_OK;
}

void *tp_thread_main(void *thread)
{
    struct tp_thread *t = thread;
    pthread_barrier_wait(&t->run->start);
    uint64_t start = clock_ns();
    t->status = loop(t);
    t->total_ns += clock_ns() - start;
    if (t->status != ST_OK) {
        snprintf(t->why, sizeof(t->why), "%s", status_text());
        tp_stop = true;
    }
    return NULL;
}
