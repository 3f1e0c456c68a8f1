/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and graphs of the CPU backend: the shared compiler, then exec in this process on a team of threads
 * per context. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/cpu_backend.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "exec/exec.h"
#include "prepare/prepare.h"

enum {
    TENSOR_ALIGN = 64, /* a cache line and the widest vector */
    MAX_THREADS = 256,
    MAX_TILES = 64,       /* enough for 32 threads; exec joins them for smaller teams, so a binary is the same everywhere */
    ORDER_STEPS = 200000, /* milliseconds */
    PLAN_NODES = 200000,  /* well under a second */
    STAYS = 1 << 20,      /* half of the second-level cache of a server's core */
};

/* Names of events. Times are measured on this host. */
static const struct {
    uint32_t type;
    const char *name;
} event_names[] = {
    { PROF_QUEUE_WAIT, "Queue wait (execute) time" },
    { PROF_DEVICE, "Accelerator (execute) time" },
};
enum { EVENT_WAIT, EVENT_RUN };
#define NODE_EVENT "%s:OpId_%u (us)"

/* ---- contexts --------------------------------------------------------------------------------------------------------- */

static unsigned threads_wanted(const struct backend_context_cfg *cfg)
{
    const char *text = getenv("OPENQNN_THREADS");
    unsigned long n = text ? strtoul(text, NULL, 10) : 0;
    if (cfg && cfg->threads)
        n = cfg->threads;
    if (n == 0)
        n = cpu_cores();
    return n < MAX_THREADS ? (unsigned)n : MAX_THREADS;
}

enum status cpu_open(const struct backend_context_cfg *cfg, struct backend_context **ret)
{
    struct backend_context *c = mem_new(struct backend_context);
    RETURN_IF(!c, ST_NO_MEMORY, "no memory for a context");
    c->threads = threads_wanted(cfg);
    backend_package_outside(cfg ? cfg->packages : NULL, &c->outside);
    pthread_mutex_init(&c->lock, NULL);
    *ret = c;
    return ST_OK;
}

void cpu_close(struct backend_context *c)
{
    if (!c)
        return;
    team_free(c->team);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

void cpu_watch_signal(struct backend_context *c, const struct cancel *signal)
{
    c->signal = signal;
}

enum status cpu_prepare(struct backend_context *c, const struct backend_graph_cfg *cfg, struct ir_graph *g,
                        struct cancel *cancel, struct binary_image *ret)
{
    (void)c; /* a binary does not depend on the context or the machine it was made in */
    struct prepare_target t = {
        .passes = prepare_default_passes,
        .tensor_align = TENSOR_ALIGN,
        .bytes = true,
        .chains = prepare_default_chains,
        .max_tiles = MAX_TILES,
        .beside_bytes = PREPARE_BESIDE,
        .order_steps = ORDER_STEPS,
        .plan_nodes = PLAN_NODES,
    };
    t.chains.stays = STAYS;
    struct prepare_opts o = {
        .binary = cpu_target(),
        .priority = cfg ? cfg->priority : 0,
        .opt_level = cfg && cfg->opt_level ? cfg->opt_level : 2,
        .abort = cancel ? &cancel->abort : NULL,
        .deadline_ns = cancel ? cancel->deadline_ns : 0,
    };
    return prepare(&t, &o, g, ret);
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

void cpu_unload(struct backend_graph *g)
{
    if (!g)
        return;
    exec_unload(g->program);
    cpu_slices_free(g);
    mem_free(g->io);
    mem_free(g->times);
    mem_free(g);
}

/* Contexts whose graphs have nothing to share out never start a thread. */
static enum status team_for(struct backend_context *c, const struct binary_graph *g, struct team **ret)
{
    enum status st = ST_OK;
    bool wanted = false;
    if (c->threads > 1)
        TRY(exec_wants_team(g, &wanted));
    if (!wanted)
        return ST_OK;
    pthread_mutex_lock(&c->lock);
    if (!c->team)
        st = team_create(c->threads, &c->team);
    *ret = c->team;
    pthread_mutex_unlock(&c->lock);
    return st;
}

static enum status load(struct backend_graph *g)
{
    g->io = mem_array(struct exec_binding, g->g->n_io);
    g->times = mem_array(struct prof_node_time, g->g->n_nodes);
    RETURN_IF(!g->io || !g->times, ST_NO_MEMORY, "graph \"%s\": no memory to load it", g->g->info.name);
    struct exec_opts o = { .isa = cpu_isa(), .outside = &g->context->outside, .cancel = g->context->signal };
    TRY(team_for(g->context, g->g, &g->team));
    o.team = g->team;
    cpu_slices_load(g);
    return exec_load(g->g, &o, &g->program);
}

enum status cpu_load(struct backend_context *c, const struct binary *b, uint32_t graph, struct backend_graph **ret)
{
    struct binary_target own = cpu_target();
    RETURN_IF(b->target.backend_id != own.backend_id, ST_BINARY_CONFIG,
              "the context binary was made for backend %u; this is the CPU backend (%u)", b->target.backend_id,
              own.backend_id);
    RETURN_IF(graph >= b->n_graphs, ST_INVALID_ARG, "graph %u of a context binary that has %u", graph, b->n_graphs);
    struct backend_graph *g = mem_new(struct backend_graph);
    RETURN_IF(!g, ST_NO_MEMORY, "no memory to load a graph");
    g->context = c;
    g->g = &b->graphs[graph];
    enum status st = load(g);
    if (st != ST_OK) {
        cpu_unload(g);
        return st;
    }
    *ret = g;
    return ST_OK;
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

/* Graphs without a team compute on the caller's thread alone, so those of a context run beside each other. */
struct backend_needs cpu_needs(const struct backend_graph *g)
{
    unsigned threads = g->team ? team_size(g->team) : 1;
    return (struct backend_needs){ .device = g->team != NULL, .threads = threads, .preemptible = true };
}

bool cpu_yield(const struct backend_run *r)
{
    bool asked = r->turn && atomic_load_explicit(&r->turn->give_way, memory_order_relaxed);
    return !asked || sched_yield_turn(r->turn);
}

/* A run that was cancelled meanwhile ends by itself: exec looks at the signal before it goes on. */
static void between_commands(void *arg, uint32_t step)
{
    (void)step;
    cpu_yield(arg);
}

/* Between slices. After a yield that was cancelled the team may be another run's. */
static enum status not_cancelled(const struct backend_graph *g, const struct backend_run *r)
{
    enum status st = cancel_status(r->cancel);
    RETURN_IF(st == ST_ABORTED, st, "graph \"%s\": aborted by its signal", g->g->info.name);
    RETURN_IF(st == ST_TIMED_OUT, st, "graph \"%s\": past the time of its signal", g->g->info.name);
    return ST_OK;
}

static enum status run_slices(struct backend_graph *g, const struct backend_run *r, bool detailed)
{
    struct exec_run e = { .io = g->io, .cancel = r->cancel, .profile_nodes = detailed };
    if (r->turn) {
        e.between = between_commands;
        e.between_arg = (void *)(uintptr_t)r;
        e.give_way = &r->turn->give_way;
    }
    enum status st = ST_OK;
    for (uint32_t i = 0; detailed && i < g->g->n_nodes; i++)
        g->times[i].ns = 0;
    /* Marks of a slice are of one program, so profiles of nodes are made in turn. */
    for (uint32_t k = detailed ? 0 : cpu_slices_run(g, r); k < (r->batch ? r->batch : 1); k++) {
        TRY(not_cancelled(g, r));
        cpu_slices_bind(g, r, k, g->io);
        enum status now = exec_run(g->program, &e);
        if (now != ST_OK && now != ST_ENDED_EARLY)
            return now;
        st = now == ST_OK ? st : now;
        if (!detailed)
            continue;
        prof_nodes_start(g->times, g->g->n_nodes);
        prof_nodes_add(g->times, g->g->n_nodes, e.marks->marks, e.marks->n);
    }
    return st;
}

static uint64_t to_us(uint64_t ns)
{
    return (ns + 500) / 1000;
}

static void add_event(const struct backend_run *r, int which, uint64_t ns)
{
    prof_add(r->prof, r->prof_parent, event_names[which].type, PROF_UNIT_US, to_us(ns), event_names[which].name);
}

static void add_node_events(const struct backend_graph *g, const struct backend_run *r)
{
    for (uint32_t i = 0; i < g->g->n_nodes; i++)
        prof_addf(r->prof, r->prof_parent, PROF_NODE, PROF_UNIT_US, to_us(g->times[i].ns), NODE_EVENT, g->g->nodes[i].name,
                  i);
}

enum status cpu_run(struct backend_graph *g, const struct backend_run *r)
{
    bool detailed = r->prof && prof_level(r->prof) >= PROF_DETAILED;
    uint64_t begin = r->prof ? clock_ns() : 0;
    enum status st = run_slices(g, r, detailed);
    if (r->prof) {
        uint64_t all = clock_ns() - begin;
        uint64_t preempted = r->turn ? r->turn->preempted_ns : 0;
        uint64_t waited = r->turn ? r->turn->waited_ns : 0;
        add_event(r, EVENT_WAIT, waited + preempted);
        add_event(r, EVENT_RUN, all - preempted);
        if (r->parts) {
            r->parts[PART_RUN] = all - preempted;
            r->parts[PART_YIELD] = preempted;
        }
    }
    if (detailed)
        add_node_events(g, r);
    return st;
}
