/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of a batch side by side. Threads that share the steps of one slice wait for each other at every step and read what
 * the other one wrote; with a slice each they do neither. So workers compute whole slices as long as there is one for
 * everybody, each with a program of its own that knows of no team, and share those that are left:
 *
 *     batch 5, two workers     worker 0   | slice 0   | slice 2   | slice 4, its part |
 *                              worker 1   | slice 1   | slice 3   | slice 4, its part |
 *
 * The programs are loaded with the first batch. Graphs that remember something, code of the client and dynamic dimensions
 * are left alone, and so are batches whose buffers lie over each other. */
#include "backend/cpu/cpu_backend.h"
#include "base/cpu.h"
#include "base/mem.h"

#define MOST_SCRATCH (UINT64_C(256) << 20) /* of all programs together */

struct batch {
    struct backend_graph *g;
    const struct backend_run *r;
    uint32_t n;
    _Atomic uint32_t next, failed;
};

void cpu_slices_bind(const struct backend_graph *g, const struct backend_run *r, uint32_t k, struct exec_binding *io)
{
    for (uint32_t i = 0; i < g->g->n_io; i++) {
        const struct backend_io *from = &r->io[i];
        uint64_t bytes = desc_bytes(&g->g->tensors[g->g->io[i]].desc);
        io[i] = (struct exec_binding){ .data = from->data ? (uint8_t *)from->data + k * bytes : NULL,
                                       .dims = from->dims,
                                       .out_dims = from->out_dims,
                                       .produced = from->produced };
    }
}

/* ---- which graphs and batches ----------------------------------------------------------------------------------------- */

static bool slices_independent(const struct binary_graph *g)
{
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].desc.dynamic)
            return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op->id == OP_NONE)
            return false;
    return !g->info.persistent_bytes;
}

void cpu_slices_load(struct backend_graph *g)
{
    g->slices.allowed = g->team && slices_independent(g->g) && g->g->info.scratch_bytes <= MOST_SCRATCH / team_size(g->team);
}

static uint64_t bytes_of(const struct backend_graph *g, const struct backend_run *r, uint32_t i)
{
    return r->io[i].data ? r->batch * desc_bytes(&g->g->tensors[g->g->io[i]].desc) : 0;
}

/* An output that lies over something else may be what a later slice reads. */
static bool buffers_apart(const struct backend_graph *g, const struct backend_run *r)
{
    for (uint32_t i = g->g->info.n_inputs; i < g->g->n_io; i++)
        for (uint32_t k = 0; k < i; k++) {
            uintptr_t a = (uintptr_t)r->io[i].data, b = (uintptr_t)r->io[k].data;
            if (a < b + bytes_of(g, r, k) && b < a + bytes_of(g, r, i))
                return false;
        }
    return true;
}

/* ---- programs --------------------------------------------------------------------------------------------------------- */

void cpu_slices_free(struct backend_graph *g)
{
    for (unsigned i = 0; g->slices.programs && i < team_size(g->team); i++)
        exec_unload(g->slices.programs[i]);
    mem_free(g->slices.programs);
    mem_free(g->slices.io);
    g->slices = (struct cpu_slices){ .allowed = false };
}

static bool load_programs(struct backend_graph *g)
{
    unsigned n = team_size(g->team);
    struct exec_opts o = { .isa = cpu_isa(), .max_marks = 1 };
    g->slices.programs = mem_array(struct exec_program *, n);
    g->slices.io = mem_array(struct exec_binding, (size_t)n * g->g->n_io);
    bool ok = g->slices.programs && g->slices.io;
    for (unsigned i = 0; ok && i < n; i++)
        ok = exec_load(g->g, &o, &g->slices.programs[i]) == ST_OK;
    if (!ok)
        cpu_slices_free(g); /* it goes without, from now on */
    return ok;
}

/* ---- runs ------------------------------------------------------------------------------------------------------------- */

/* A run that is asked to yield does so between two slices. */
static bool stops(struct batch *b)
{
    const struct sched_turn *turn = b->r->turn;
    bool asked = turn && atomic_load_explicit(&turn->give_way, memory_order_relaxed);
    return asked || atomic_load(&b->failed);
}

static void work(void *arg, unsigned worker)
{
    struct batch *b = arg;
    struct exec_binding *io = b->g->slices.io + (size_t)worker * b->g->g->n_io;
    struct exec_run e = { .io = io, .cancel = b->r->cancel };
    for (uint32_t k; !stops(b) && (k = atomic_fetch_add(&b->next, 1)) < b->n;) {
        cpu_slices_bind(b->g, b->r, k, io);
        for (uint32_t i = 0; k && i < b->g->g->n_io; i++) /* the same for all slices: the first one says it */
            io[i].out_dims = NULL, io[i].produced = NULL;
        if (exec_run(b->g->slices.programs[worker], &e) != ST_OK)
            atomic_store(&b->failed, 1);
    }
}

uint32_t cpu_slices_run(struct backend_graph *g, const struct backend_run *r)
{
    unsigned workers = g->slices.allowed ? team_size(g->team) : 1;
    struct batch b = { .g = g, .r = r, .n = r->batch / workers * workers };
    if (workers == 1 || !b.n || !buffers_apart(g, r) || (!g->slices.programs && !load_programs(g)))
        return 0;
    do
        team_run(g->team, work, &b);
    while (cpu_yield(r) && !atomic_load(&b.failed) && atomic_load(&b.next) < b.n);
    if (cancel_status(r->cancel) != ST_OK)
        return 0; /* perhaps without the team: what is left ends at its first command */
    return atomic_load(&b.failed) ? 0 : b.n;
}
