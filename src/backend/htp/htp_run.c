/* SPDX-License-Identifier: Apache-2.0 */
/* One execution: tensors in registered memory go to the session by map and offset, plain pointers are copied to and from the
 * graph's staging memory, a slice of the batch at a time. Nothing is allocated, but for graphs that promised registered
 * memory and then get pointers. */
#include <stdio.h>
#include <string.h>

#include "backend/htp/htp_group.h"
#include "backend/htp/htp_switch.h"
#include "base/clock.h"
#include "base/mem.h"

#define NO_PLACE UINT64_MAX

/* Slices of a batch that go to the session in one call. */
struct part {
    uint32_t first, n;
};

/* What a run took, over all slices of its batch. */
struct total {
    uint64_t rpc_ns, queue_ns, worker_ns, exec_ns;
    struct rpc_yields yields;
    uint32_t polls, sleeps, beside;
};

static const struct binary_tensor *tensor_of(const struct backend_graph *g, uint32_t i)
{
    return &g->g->tensors[g->g->io[i]];
}

/* Bytes of a tensor with these dimensions; NULL: those at creation. */
static uint64_t bytes_with(const struct binary_tensor *t, const uint32_t *dims)
{
    struct tensor_desc d = t->desc;
    if (!dims || !d.dynamic)
        return desc_bytes(&t->desc);
    memcpy(d.dims, dims, d.rank * sizeof *dims);
    return desc_bytes(&d);
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

static enum status check_places(struct backend_graph *g, const struct backend_run *r)
{
    for (uint32_t i = 0; i < g->g->n_io; i++) {
        if (r->io[i].mem)
            RETURN_IF(r->io[i].mem->buffer->session != g->context->session, ST_INVALID_TENSOR,
                      "tensor \"%s\": its memory is registered in another session", tensor_of(g, i)->name);
        if (r->io[i].data && !r->io[i].mem && g->place[i] == NO_PLACE)
            return htp_graph_reserve(g, true);
    }
    return ST_OK;
}

static void bind_mem(const struct backend_graph *g, const struct backend_run *r, uint32_t i, struct part part)
{
    const struct backend_mem *m = r->io[i].mem;
    uint64_t bytes = bytes_with(tensor_of(g, i), r->io[i].dims);
    g->io[i].map = m->buffer->map;
    g->io[i].offset = m->offset + part.first * bytes;
    g->io[i].bytes = g->io[i].stride = bytes;
}

static void stage_in(struct backend_graph *g, const struct backend_run *r, uint32_t i, struct part part)
{
    const struct binary_tensor *t = tensor_of(g, i);
    uint64_t bytes = bytes_with(t, r->io[i].dims);
    uint8_t *to = (uint8_t *)g->staging.at + g->place[i];
    g->io[i].map = g->staging.map;
    g->io[i].offset = g->place[i];
    g->io[i].bytes = t->io == IO_OUTPUT ? desc_bytes(&t->desc) : bytes;
    g->io[i].stride = g->io[i].bytes;
    if (t->io == IO_OUTPUT)
        return;
    memcpy(to, (const uint8_t *)r->io[i].data + part.first * bytes, part.n * bytes);
    g->copied += part.n * bytes;
}

/* Only what was computed: an execution that ended early leaves the other buffers as they are. */
static void stage_out(struct backend_graph *g, const struct backend_run *r, uint32_t i, struct part part)
{
    const struct binary_tensor *t = tensor_of(g, i);
    if (r->io[i].produced)
        *r->io[i].produced = g->made[i];
    if (t->io == IO_INPUT || !r->io[i].data || r->io[i].mem || !g->made[i])
        return;
    uint64_t whole = desc_bytes(&t->desc), bytes = bytes_with(t, t->desc.dynamic ? g->io[i].out_dims : NULL);
    bytes += (part.n - 1) * whole; /* several: nothing is dynamic */
    memcpy((uint8_t *)r->io[i].data + part.first * whole, (const uint8_t *)g->staging.at + g->place[i], bytes);
    g->copied += bytes;
}

static void bind_part(struct backend_graph *g, const struct backend_run *r, struct part part)
{
    for (uint32_t i = 0; i < g->g->n_io; i++) {
        const struct binary_tensor *t = tensor_of(g, i);
        uint32_t *dims = g->dims + (size_t)i * MAX_RANK;
        g->io[i] =
            (struct rpc_io){ .map = RPC_NONE, .dims = r->io[i].dims, .produced = t->io == IO_OUTPUT ? &g->made[i] : NULL };
        g->made[i] = t->io == IO_BOTH; /* read and written: there in any case */
        if (t->desc.dynamic && t->io != IO_INPUT) {
            memcpy(dims, t->desc.dims, sizeof t->desc.dims);
            g->io[i].out_dims = dims;
        }
        g->io[i].rank = g->io[i].dims || g->io[i].out_dims ? t->desc.rank : 0;
        if (r->io[i].mem)
            bind_mem(g, r, i, part);
        else if (r->io[i].data)
            stage_in(g, r, i, part);
    }
}

static void report_dims(struct backend_graph *g, const struct backend_run *r)
{
    for (uint32_t i = 0; i < g->g->n_io; i++)
        if (r->io[i].out_dims && g->io[i].out_dims)
            memcpy(r->io[i].out_dims, g->io[i].out_dims, tensor_of(g, i)->desc.rank * sizeof(uint32_t));
}

/* ---- profiles --------------------------------------------------------------------------------------------------------- */

static enum status room_for_marks(struct backend_graph *g)
{
    if (g->marks)
        return ST_OK;
    g->max_marks = g->g->n_marks;
    g->marks = mem_array(struct prof_mark, g->max_marks);
    g->times = mem_array(struct prof_node_time, g->g->n_nodes);
    RETURN_IF(!g->marks || !g->times, ST_NO_MEMORY, "graph \"%s\": no memory to profile it", g->g->info.name);
    return ST_OK;
}

static void add_marks(struct backend_graph *g, const struct rpc_run *run)
{
    prof_nodes_start(g->times, g->g->n_nodes);
    prof_nodes_add(g->times, g->g->n_nodes, run->marks, run->n_marks);
}

static int32_t event(const struct backend_run *r, uint32_t type, uint32_t unit, uint64_t value, const char *name)
{
    return prof_add(r->prof, r->prof_parent, type, unit, value, name);
}

static void add_nodes(const struct backend_graph *g, const struct backend_run *r, int32_t parent)
{
    for (uint32_t i = 0; i < g->g->n_nodes; i++)
        prof_addf(r->prof, parent, PROF_NODE, PROF_UNIT_US, (g->times[i].ns + 500) / 1000, "%s:OpId_%u (us)",
                  g->g->nodes[i].name, i);
}

/* A timeline: when each node began, counted from the first one. How long it took is said by its own event. Of a batch, the
 * last slice. */
static void add_trace(const struct backend_graph *g, const struct backend_run *r, int32_t parent)
{
    uint32_t n = g->g->n_nodes;
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++)
        first = g->times[i].begin_ns < first ? g->times[i].begin_ns : first;
    for (uint32_t i = 0; i < n; i++) {
        if (g->times[i].begin_ns == UINT64_MAX) /* it did not run */
            continue;
        prof_addf(r->prof, parent, PROF_TRACE, PROF_UNIT_US, (g->times[i].begin_ns - first + 500) / 1000,
                  "%s:OpId_%u (begin, us)", g->g->nodes[i].name, i);
    }
}

/* The graph gave way to others: what that took it, all times together. */
static void add_yields(const struct backend_run *r, const struct rpc_yields *y)
{
    event(r, 3009, PROF_UNIT_COUNT, y->count, "Num times yield occured");
    if (y->count) {
        event(r, 3006, PROF_UNIT_US, (y->release_ns + 500) / 1000, "Yield release time");
        event(r, 3007, PROF_UNIT_US, (y->wait_ns + 500) / 1000, "Yield wait time");
        event(r, 3008, PROF_UNIT_US, (y->restore_ns + 500) / 1000, "Yield restore time");
    }
    event(r, 3010, PROF_UNIT_US, (y->acquire_ns + 500) / 1000, "Time for initial VTCM acquire");
    event(r, 3011, PROF_UNIT_US, (y->units_ns + 500) / 1000, "Time for HVX + HMX power on and acquire");
}

static void add_events(const struct backend_graph *g, const struct backend_run *r, const struct total *t, bool detailed)
{
    event(r, 8001, PROF_UNIT_COUNT, g->hvx_threads, "Number of HVX threads used");
    event(r, 3001, PROF_UNIT_US, (t->rpc_ns + 500) / 1000, "RPC (execute) time");
    event(r, 3002, PROF_UNIT_US, (t->worker_ns + 500) / 1000, "QNN accelerator (execute) time");
    event(r, PROF_QUEUE_WAIT, PROF_UNIT_US, (t->queue_ns + 500) / 1000, "Queue wait (execute) time");
    if (r->batch > 1)
        event(r, 30017, PROF_UNIT_COUNT, t->beside, "Slices of the batch computed side by side");
    add_yields(r, &t->yields);
    event(r, 3012, PROF_UNIT_US, (t->exec_ns - t->yields.wait_ns + 500) / 1000, "Accelerator (execute excluding wait) time");
    int32_t accel = event(r, 3004, PROF_UNIT_US, (t->exec_ns + 500) / 1000, "Accelerator (execute) time");
    htp_estimate_time(g, r);
    if (!detailed)
        return;
    event(r, 30004, PROF_UNIT_BYTES, g->copied, "Bytes copied to and from staging memory");
    event(r, 30012, PROF_UNIT_COUNT, t->polls, "Times the caller polled for the answer");
    event(r, 30013, PROF_UNIT_COUNT, t->sleeps, "Times the caller slept for the answer");
    htp_priority_events(r);
    if (t->yields.count)
        event(r, 30011, PROF_UNIT_BYTES, t->yields.saved_bytes, "VTCM saved for graphs of higher priority");
    if (t->yields.shared)
        event(r, 30019, PROF_UNIT_COUNT, t->yields.shared,
              "Times another graph used the rest of VTCM and nothing was saved");
    htp_votes_events(r->prof, r->prof_parent);
    add_nodes(g, r, accel);
    if (prof_trace(r->prof))
        add_trace(g, r, accel);
    htp_estimate_execute(g, r);
}

static void add_times(struct total *t, const struct rpc_run *run)
{
    const struct rpc_yields *y = &run->yields;
    t->rpc_ns += run->rpc_ns;
    t->queue_ns += run->queue_ns;
    t->worker_ns += run->worker_ns;
    t->exec_ns += run->exec_ns;
    t->polls += run->polls;
    t->sleeps += run->sleeps;
    t->yields.units_ns += y->units_ns;
    t->beside += run->beside;
    t->yields.acquire_ns += y->acquire_ns;
    t->yields.count += y->count;
    t->yields.release_ns += y->release_ns;
    t->yields.wait_ns += y->wait_ns < run->exec_ns ? y->wait_ns : run->exec_ns;
    t->yields.restore_ns += y->restore_ns;
    t->yields.saved_bytes += y->saved_bytes;
    t->yields.shared += y->shared;
}

/* How much of `want` is left. */
static uint64_t take_part(uint64_t *left, uint64_t want)
{
    uint64_t part = want < *left ? want : *left;
    *left -= part;
    return part;
}

/* The time in the link by what the session says of it; nothing is lost, whatever it says. */
static void add_parts(uint64_t *parts, const struct rpc_run *run, uint64_t link_ns)
{
    const struct rpc_yields *y = &run->yields;
    uint64_t notice = take_part(&link_ns, run->notice_ns);
    uint64_t units = y->units_ns;
    uint64_t queue = run->queue_ns > notice ? run->queue_ns - notice : 0;
    uint64_t worker = run->worker_ns > units ? run->worker_ns - units : 0;

    parts[PART_CALL] += notice;
    parts[PART_QUEUE] += take_part(&link_ns, queue + units);
    uint64_t work = take_part(&link_ns, worker);
    uint64_t yielded = take_part(&work, y->wait_ns);
    parts[PART_YIELD] += yielded;
    parts[PART_RUN] += work;
    parts[PART_RETURN] += link_ns;
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

static enum status run_part(struct backend_graph *g, const struct backend_run *r, struct part part, struct total *t)
{
    struct htp_session *s = g->context->session;
    bool detailed = r->prof && prof_level(r->prof) >= PROF_DETAILED;
    struct rpc_run run = {
        .program = g->program,
        .priority = r->priority,
        .io = g->io,
        .n_io = g->g->n_io,
        .slices = part.n,
        .profile_nodes = detailed,
        .wait = htp_votes_wait(g->last_ns),
        .cancel = r->cancel,
        .marks = detailed ? g->marks : NULL,
        .max_marks = detailed ? g->max_marks : 0,
    };
    uint64_t times[4] = { 0 };
    times[0] = r->parts ? clock_ns() : 0;
    bind_part(g, r, part);
    times[1] = r->parts ? clock_ns() : 0;
    enum status st = htp_session_result(s, s->link->run(s->s, &run));
    if (st != ST_OK && st != ST_ENDED_EARLY)
        return st;
    times[2] = r->parts ? clock_ns() : 0;
    for (uint32_t i = 0; i < g->g->n_io; i++)
        stage_out(g, r, i, part);
    times[3] = r->parts ? clock_ns() : 0;
    if (r->parts) {
        r->parts[PART_COPY_IN] += times[1] - times[0];
        add_parts(r->parts, &run, times[2] - times[1]);
        r->parts[PART_COPY_OUT] += times[3] - times[2];
    }
    g->last_ns = run.worker_ns;
    add_times(t, &run);
    if (detailed)
        add_marks(g, &run);
    return st;
}

/* Only the program and its staging memory: which graph computes is decided by the session, where graphs of other contexts
 * come in too and a run gives way at the next command. Graphs that switch take turns. */
struct backend_needs htp_needs(const struct backend_graph *g)
{
    return (struct backend_needs){ .device = g->context->switching != NULL };
}

static enum status run_parts(struct backend_graph *g, const struct backend_run *r, struct total *t, bool detailed)
{
    uint32_t batch = r->batch ? r->batch : 1, at_once = 1;
    enum status st;
    bool shares = htp_graph_begin(g, &st);
    if (st == ST_OK && !detailed) /* marks are of one slice */
        st = htp_graph_slices(g, r, batch, &at_once);
    for (uint32_t k = 0; st == ST_OK && k < batch; k += at_once) {
        uint32_t n = batch - k < at_once ? batch - k : at_once;
        st = run_part(g, r, (struct part){ k, n }, t);
    }
    if (shares)
        htp_group_end(g->context);
    return st;
}

enum status htp_run(struct backend_graph *g, const struct backend_run *r)
{
    struct total t = { .queue_ns = r->turn ? r->turn->waited_ns : 0 };
    bool detailed = r->prof && prof_level(r->prof) >= PROF_DETAILED;
    RETURN_IF(g->prepare_only, ST_NOT_PERMITTED,
              "graph \"%s\" is in a context with the option PREPARE_ONLY; save the context and load it to execute",
              g->g->info.name);
    TRY(htp_session_check(g->context->session));
    if (g->context->switching)
        TRY(htp_switch_in(g, r));
    TRY(check_places(g, r));
    if (detailed) {
        TRY(room_for_marks(g));
        memset(g->times, 0, g->g->n_nodes * sizeof *g->times);
    }
    htp_priority_log(g, r->priority);
    g->copied = 0;
    g->has_run = true;
    enum status st = run_parts(g, r, &t, detailed);
    if (st != ST_OK && st != ST_ENDED_EARLY)
        return st;
    report_dims(g, r);
    if (r->prof)
        add_events(g, r, &t, detailed);
    if (g->context->switching)
        htp_switch_events(g->context, r->prof, r->prof_parent);
    return st;
}
