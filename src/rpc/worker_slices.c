/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of a batch side by side. Threads that share the steps of one slice wait for each other at every step; with
 * a slice each they do not. So the threads of a lane compute whole slices, each with a program and fast memory of
 * its own, as long as there is one for every thread. worker_run.c computes the slices that are left in turn:
 *
 *     5 slices, two threads     thread 0   | slice 0 | slice 2 | slice 4, a part |
 *                               thread 1   | slice 1 | slice 3 | slice 4, a part |
 *
 * The programs are loaded with the first batch. They are not charged to the address space that clients see, because
 * how many there are depends on this computer; all of a session stay below WORKER_SLICES_MOST. */
#include "base/mem.h"
#include "rpc/rpc_shared.h"
#include "rpc/worker.h"

enum { WINDOW_ALIGN = 4096 /* as the window of a lane */ };

struct batch {
    struct worker_program *p;
    uint32_t n;
    _Atomic uint32_t next, failed;
};

/* ---- programs --------------------------------------------------------------------------------------------------------- */

bool worker_slices_independent(const struct binary_graph *g)
{
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].desc.dynamic)
            return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op->id == OP_NONE)
            return false;
    return !g->info.persistent_bytes;
}

void worker_slices_free(struct worker_slices *s)
{
    for (unsigned i = 0; i < s->n && s->programs; i++)
        exec_unload(s->programs[i]);
    mem_free(s->programs);
    mem_free(s->io);
    mem_free(s->windows);
    *s = (struct worker_slices){ .tried = s->tried, .bytes = s->bytes };
}

static uint64_t window_bytes(const struct binary_graph *g)
{
    return shared_pages(g->info.vtcm_used);
}

static enum status load_one(const struct worker_program *p, struct worker_slices *s, unsigned i)
{
    uint64_t window = window_bytes(p->g);
    struct exec_opts o = {
        .isa = cpu_isa(),
        .vtcm = window ? s->windows + i * window : NULL,
        .max_marks = 1,
    };
    TRY(exec_load(p->g, &o, &s->programs[i]));
    return p->weights_memory ? exec_set_constants(s->programs[i], p->weights_memory) : ST_OK;
}

static enum status load_all(const struct worker_program *p, struct worker_slices *s, unsigned n)
{
    uint64_t window = window_bytes(p->g);
    s->n = n;
    s->programs = mem_array(struct exec_program *, n);
    s->io = mem_array(struct exec_binding, (size_t)n * p->g->n_io);
    s->windows = window ? mem_alloc_aligned(WINDOW_ALIGN, n * window) : NULL;
    RETURN_IF(!s->programs || !s->io || (window && !s->windows), ST_NO_MEMORY, "no memory for slices of a batch");

    enum status st = ST_OK;
    for (unsigned i = 0; st == ST_OK && i < n; i++)
        st = load_one(p, s, i);
    return st;
}

static bool take_room(struct worker *w, uint64_t bytes)
{
    pthread_mutex_lock(&w->lock);
    bool fits = bytes <= WORKER_SLICES_MOST - w->slices_bytes;
    w->slices_bytes += fits ? bytes : 0;
    pthread_mutex_unlock(&w->lock);
    return fits;
}

void worker_slices_leave(struct worker *w, struct worker_slices *s)
{
    w->slices_bytes -= s->bytes;
    s->bytes = 0;
}

/* Tried once: a program that has no room computes its slices in turn from then on. */
static bool has_programs(struct worker *w, struct worker_program *p, unsigned n)
{
    struct worker_slices *s = &p->slices;
    const struct binary_graph_info *info = &p->g->info;
    if (s->tried)
        return s->programs;
    s->tried = true;

    uint64_t pools = info->scratch_bytes + info->spill_fill_bytes + window_bytes(p->g);
    bool small = info->scratch_bytes < WORKER_SLICES_MOST && info->spill_fill_bytes < WORKER_SLICES_MOST;
    uint64_t bytes = small ? n * worker_program_bytes(w, p->g, shared_pages(pools)) : 0;
    if (!small || !worker_slices_independent(p->g) || !take_room(w, bytes))
        return false;
    s->bytes = bytes;
    if (load_all(p, s, n) == ST_OK)
        return true;

    worker_slices_free(s);
    pthread_mutex_lock(&w->lock);
    worker_slices_leave(w, s);
    pthread_mutex_unlock(&w->lock);
    return false;
}

enum status worker_slices_constants(struct worker_program *p)
{
    for (unsigned i = 0; i < p->slices.n; i++)
        TRY(exec_set_constants(p->slices.programs[i], p->weights_memory));
    return ST_OK;
}

/* ---- runs ------------------------------------------------------------------------------------------------------------- */

static bool is_asked_to_yield(const struct worker_program *p)
{
    return p->hook && atomic_load_explicit(p->hook->when, memory_order_relaxed);
}

static void bind_slice(const struct worker_program *p, uint32_t k, struct exec_binding *io)
{
    for (uint32_t i = 0; i < p->g->n_io; i++) {
        uint8_t *data = p->io[i].data;
        /* Whether an output is computed is the same for all slices: the first one tells. */
        io[i] = (struct exec_binding){ .data = data ? data + k * p->asked[i].stride : NULL,
                                       .produced = k ? NULL : p->io[i].produced };
    }
}

static void work(void *arg, unsigned thread)
{
    struct batch *b = arg;
    struct worker_program *p = b->p;
    struct exec_binding *io = p->slices.io + (size_t)thread * p->g->n_io;
    struct exec_run e = { .io = io, .cancel = &p->area->cancel };

    while (!is_asked_to_yield(p) && !atomic_load(&b->failed)) {
        uint32_t k = atomic_fetch_add(&b->next, 1);
        if (k >= b->n)
            return;
        bind_slice(p, k, io);
        if (exec_run(p->slices.programs[thread], &e) != ST_OK)
            atomic_store(&b->failed, 1);
    }
}

uint32_t worker_slices_run(struct worker *w, struct worker_program *p)
{
    struct team *team = w->lanes[p->lane].team;
    unsigned threads = team ? team_size(team) : 1;
    struct batch b = { .p = p, .n = p->n_slices / threads * threads };
    if (threads == 1 || !b.n || p->hold || p->area->profile_nodes || !has_programs(w, p, threads))
        return 0;

    while (!atomic_load(&b.failed) && atomic_load(&b.next) < b.n) {
        if (is_asked_to_yield(p))
            p->hook->between(p->hook->arg, p, 0);
        team_run(team, work, &b);
    }
    /* What failed, or was cancelled, does so again in turn, where its explanation is kept. */
    return atomic_load(&b.failed) ? 0 : b.n;
}
