/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of a session: graphs of context binaries that were mapped before. The binary of a mapping is opened with its
 * first program and closed with its last one. */
#include "rpc/worker.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "rpc/rpc.h"
#include "rpc/rpc_shared.h"

void worker_program_free(struct worker_program *p)
{
    if (!p)
        return;
    worker_slices_free(&p->slices);
    exec_unload(p->exec);
    shared_unmap(p->area, p->area_bytes);
    mem_free(p->io);
    mem_free(p->asked);
    mem_free(p);
}

struct worker_program *worker_program_find(struct worker *w, uint32_t id)
{
    uint32_t index = id & ((1u << RPC_INDEX_BITS) - 1);
    struct worker_program *p = index < w->programs.n ? w->programs.at[index] : NULL;
    return p && p->id == id ? p : NULL;
}

/* Numbers of a file may be as large as they like. */
static uint64_t plus(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* Memory of its own (scratch, persistent, spill-fill buffer), the workspaces of further threads, and the tables of binary
 * and program. The same on every machine, so that contexts are always placed alike. */
uint64_t worker_program_bytes(const struct worker *w, const struct binary_graph *g, uint64_t pools)
{
    uint64_t work = 0, optional = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        work = g->nodes[i].work_bytes > work ? g->nodes[i].work_bytes : work;
    for (uint32_t i = 0; i < g->n_io; i++)
        optional = plus(optional, g->tensors[g->io[i]].optional ? desc_bytes(&g->tensors[g->io[i]].desc) : 0);
    uint64_t tables = g->n_tensors * sizeof(struct binary_tensor) + g->n_nodes * (sizeof(struct binary_node) + 512ull) +
                      g->n_commands * (sizeof(struct binary_command) + 20ull) +
                      g->n_marks * (uint64_t)sizeof(struct prof_mark) + rpc_area_bytes(g->n_io, g->n_marks);
    uint64_t all = plus(pools, shared_pages(work > UINT64_MAX / TEAM_MAX ? UINT64_MAX : work * (w->hello.threads - 1)));
    return plus(all, plus(shared_pages(optional), shared_pages(tables)));
}

/* ---- loading ---------------------------------------------------------------------------------------------------------- */

static enum status open_binary(struct worker_map *m, uint64_t bytes)
{
    RETURN_IF(m->pools, ST_INVALID_ARG, "a context binary in memory that %u loaded graphs compute in", m->pools);
    RETURN_IF(!bytes || bytes > m->bytes, ST_INVALID_ARG, "a context binary of %llu bytes in a mapping of %llu",
              (unsigned long long)bytes, (unsigned long long)m->bytes);
    if (!m->programs) {
        TRY(binary_open(m->data, bytes, &m->binary));
        m->binary_bytes = bytes;
    }
    RETURN_IF(m->binary_bytes != bytes, ST_INVALID_ARG, "a context binary of %llu bytes; it is open already with %llu",
              (unsigned long long)bytes, (unsigned long long)m->binary_bytes);
    return ST_OK;
}

static enum status free_place(struct worker *w, uint32_t *ret)
{
    for (*ret = 0; *ret < w->programs.n; ++*ret)
        if (!w->programs.at[*ret])
            return ST_OK;
    RETURN_IF(w->programs.n >= RPC_MAX_PROGRAMS, ST_NO_MEMORY,
              "the session has %d graphs loaded and takes no more; unload some", RPC_MAX_PROGRAMS);
    RETURN_IF(!vec_push(&w->programs), ST_NO_MEMORY, "no memory to load a graph");
    return ST_OK;
}

static enum status make_program(const struct binary_graph *g, const struct exec_opts *o, struct worker_program **ret)
{
    struct worker_program *p = mem_new(struct worker_program);
    RETURN_IF(!p, ST_NO_MEMORY, "graph \"%s\": no memory to load it", g->info.name);
    p->g = g;
    p->io = mem_array(struct exec_binding, g->n_io);
    p->asked = mem_array(struct rpc_call_io, g->n_io);
    enum status st = p->io && p->asked ? exec_load(g, o, &p->exec)
                                       : status_fail(ST_NO_MEMORY, "graph \"%s\": no memory to load it", g->info.name);
    if (st != ST_OK) {
        worker_program_free(p);
        return st;
    }
    *ret = p;
    return ST_OK;
}

/* Under lock: the lane with the fewest programs; the first one for all that are serial. */
static uint32_t pick_lane(const struct worker *w, bool serial)
{
    uint32_t programs[RPC_MAX_LANES] = { 0 }, best = 0;
    if (serial)
        return 0;
    for (size_t i = 0; i < w->programs.n; i++)
        if (w->programs.at[i])
            programs[w->programs.at[i]->lane]++;
    for (uint32_t i = 1; i < w->n_lanes; i++)
        if (programs[i] < programs[best])
            best = i;
    return best;
}

static enum status load_graph(struct worker *w, struct worker_map *m, const struct rpc_request *q,
                              struct worker_program **ret)
{
    uint32_t graph = q->load.graph;
    RETURN_IF(graph >= m->binary.n_graphs, ST_INVALID_ARG, "graph %u of a context binary that has %u", graph,
              m->binary.n_graphs);
    const struct binary_graph *g = &m->binary.graphs[graph];
    RETURN_IF(g->n_io > RPC_MAX_IO || g->n_marks > RPC_MAX_MARKS, ST_NOT_SUPPORTED,
              "graph \"%s\" has %u tensors to bind and %u parts of commands; a session takes %d and %d", g->info.name,
              g->n_io, g->n_marks, RPC_MAX_IO, RPC_MAX_MARKS);
    char what[128];
    snprintf(what, sizeof(what), "graph \"%.100s\"", g->info.name);
    struct exec_opts o = { .isa = cpu_isa(),
                           .cancel = atomic_load(&w->signal),
                           .outside = w->packages ? &w->outside : NULL };
    TRY(worker_pools_find(w, q, q->load.map, &g->info, &o));
    uint64_t pools =
        plus(o.scratch ? 0 : shared_pages(g->info.scratch_bytes), o.persistent ? 0 : shared_pages(g->info.persistent_bytes));
    pools = plus(pools, o.spill ? 0 : shared_pages(g->info.spill_fill_bytes));
    uint64_t heap = worker_program_bytes(w, g, pools);
    pthread_mutex_lock(&w->lock);
    enum status st = worker_charge(w, plus(heap, worker_window_growth(w, g)), what);
    uint32_t lane = pick_lane(w, q->load.serial);
    pthread_mutex_unlock(&w->lock);
    TRY(st);
    o.team = w->lanes[lane].team;
    TRY(worker_window_open(w, lane, g, q->load.window_at, &o.vtcm));
    TRY(make_program(g, &o, ret));
    (*ret)->window_at = q->load.window_at;
    (*ret)->lane = lane;
    (*ret)->heap_bytes = heap;
    return ST_OK;
}

enum status worker_load(struct worker *w, const struct rpc_request *q, struct rpc_reply *r)
{
    uint64_t begin = clock_ns();
    uint32_t place;
    struct worker_program *p = NULL;
    pthread_mutex_lock(&w->lock);
    struct worker_map *m =
        worker_map_find(w, q->load.map); /* stays: control messages take turns, and the vector grows only with them */
    enum status st = m ? free_place(w, &place) : ST_OK;
    pthread_mutex_unlock(&w->lock);
    RETURN_IF(!m, ST_NOT_FOUND, "mapping %u is not one of this session", q->load.map);
    TRY(st);
    TRY(open_binary(m, q->load.bytes));
    st = load_graph(w, m, q, &p);
    if (st != ST_OK) {
        worker_window_close(w);
        if (!m->programs)
            binary_close(&m->binary);
        return st;
    }
    pthread_mutex_lock(&w->lock);
    p->id = worker_generation(w) << RPC_INDEX_BITS | place;
    p->map = q->load.map;
    p->scratch = q->load.scratch_map;
    p->persistent = q->load.persistent_map;
    p->spill = q->load.spill_map;
    worker_pool_hold(w, p->scratch);
    worker_pool_hold(w, p->persistent);
    worker_pool_hold(w, p->spill);
    m->programs++;
    w->programs.at[place] = p;
    w->n_programs++;
    w->heap_bytes += p->heap_bytes;
    worker_window_fit(w);
    pthread_mutex_unlock(&w->lock);
    r->load.program = p->id;
    r->load.lane = p->lane;
    r->load.n_io = p->g->n_io;
    r->load.max_marks = p->g->n_marks;
    r->load.heap_bytes = p->heap_bytes;
    r->load.worker_ns = clock_ns() - begin;
    return ST_OK;
}

/* ---- what is done to a program ---------------------------------------------------------------------------------------- */

struct worker_program *worker_find_idle(struct worker *w, uint32_t id)
{
    struct worker_program *p;
    while ((p = worker_program_find(w, id)) && p->runs)
        pthread_cond_wait(&w->changed, &w->lock);
    return p;
}

enum status worker_area(struct worker *w, const struct rpc_request *q, int fd)
{
    pthread_mutex_lock(&w->lock);
    struct worker_program *p = worker_program_find(w, q->area.program);
    bool has = p && p->area;
    pthread_mutex_unlock(&w->lock);
    RETURN_IF(!p || has, ST_COMMUNICATION, "an area for program %u, which %s", q->area.program,
              p ? "has one" : "is not one of this session");
    uint64_t want = rpc_area_bytes(p->g->n_io, p->g->n_marks);
    RETURN_IF(q->area.bytes != want, ST_COMMUNICATION, "an area of %llu bytes; program %u needs %llu",
              (unsigned long long)q->area.bytes, q->area.program, (unsigned long long)want);
    void *at;
    TRY(shared_map(fd, 0, want, true, &at));
    pthread_mutex_lock(&w->lock);
    p->area = at;
    p->area_bytes = want;
    pthread_mutex_unlock(&w->lock);
    return ST_OK;
}

enum status worker_unload(struct worker *w, uint32_t id)
{
    pthread_mutex_lock(&w->lock);
    struct worker_program *p = worker_find_idle(w, id);
    struct worker_map *m = p ? worker_map_find(w, p->map) : NULL;
    if (p) {
        w->programs.at[id & ((1u << RPC_INDEX_BITS) - 1)] = NULL;
        w->n_programs--;
        w->heap_bytes -= p->heap_bytes;
        worker_slices_leave(w, &p->slices);
        worker_window_fit(w);
        m->programs--;
        worker_pool_drop(w, p->scratch);
        worker_pool_drop(w, p->persistent);
        worker_pool_drop(w, p->spill);
        worker_pool_drop(w, p->backup);
        worker_pool_drop(w, p->weights);
    }
    pthread_mutex_unlock(&w->lock);
    RETURN_IF(!p, ST_NOT_FOUND, "program %u is not one of this session", id);
    worker_program_free(p);
    worker_window_close(w);
    if (!m->programs)
        binary_close(&m->binary);
    return ST_OK;
}

enum status worker_reset(struct worker *w, uint32_t id)
{
    pthread_mutex_lock(&w->lock);
    struct worker_program *p = worker_find_idle(w, id);
    if (p)
        p->runs++; /* keeps runs away */
    pthread_mutex_unlock(&w->lock);
    RETURN_IF(!p, ST_NOT_FOUND, "program %u is not one of this session", id);
    exec_reset_state(p->exec);
    pthread_mutex_lock(&w->lock);
    p->runs--;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return ST_OK;
}
