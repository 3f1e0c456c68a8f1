/* SPDX-License-Identifier: Apache-2.0 */
/* Loading and running a program: what there is before and after the commands. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "exec/program.h"

/* Close the gaps that a cancelled run left. */
static void finish_marks(struct exec_program *p)
{
    struct prof_recorder *r = &p->marks;
    uint32_t used = p->n_marks < r->cap ? p->n_marks : r->cap;
    r->dropped = p->n_marks - used;
    r->n = 0;
    for (uint32_t i = 0; i < used; i++)
        if (r->marks[i].end_ns)
            r->marks[r->n++] = r->marks[i];
}

enum status exec_run(struct exec_program *p, struct exec_run *r)
{
    struct exec_job *j = p->job;
    RETURN_IF(p->g->info.spill_fill_bytes && !p->spill, ST_NO_MEMORY, "graph \"%s\" has no spill-fill buffer",
              p->g->info.name);
    TRY(bind_io(p, r->io));
    if (p->now)
        TRY(dynamic_run(p, r->io));
    else
        for (uint32_t k = 0; k < p->g->n_io; k++)
            if (r->io[k].out_dims)
                memcpy(r->io[k].out_dims, p->g->tensors[p->g->io[k]].desc.dims,
                       p->g->tensors[p->g->io[k]].desc.rank * sizeof(uint32_t));
    j->cancel = r->cancel;
    j->marks = r->profile_nodes;
    atomic_store_explicit(&j->stop, ST_OK, memory_order_relaxed);
    p->marks.n = p->marks.dropped = 0;
    r->marks = &p->marks;
    if (!r->profile_nodes)
        return ready_run(p, r);
    memset(p->marks.marks, 0, (size_t)p->marks.cap * sizeof(p->marks.marks[0]));
    enum status st = ready_run(p, r);
    finish_marks(p);
    return st;
}

void exec_set_scratch(struct exec_program *p, void *scratch)
{
    p->scratch = scratch;
    program_resolve(p);
}

void exec_set_persistent(struct exec_program *p, void *persistent)
{
    p->persistent = persistent;
    program_resolve(p);
}

enum status exec_set_spill(struct exec_program *p, void *spill)
{
    mem_free(p->own_spill);
    p->own_spill = NULL;
    enum status st = spill ? ST_OK : program_own_spill(p);
    p->spill = spill ? spill : p->own_spill;
    program_resolve(p);
    return st;
}

static enum status use_constants(struct exec_program *p, const uint8_t *constants)
{
    p->constants = constants;
    program_resolve(p);
    return bind_all(p, NULL);
}

enum status exec_set_constants(struct exec_program *p, const void *constants)
{
    const uint8_t *before = p->constants;
    enum status st = use_constants(p, constants ? constants : p->g->constants);
    if (st != ST_OK)
        use_constants(p, before); /* which was possible before */
    return st;
}

void exec_reset_state(struct exec_program *p)
{
    if (p->persistent && p->g->info.persistent_bytes)
        memset(p->persistent, 0, p->g->info.persistent_bytes);
}

const char *exec_kernel_name(const struct exec_program *p, uint32_t node)
{
    assert(node < p->g->n_nodes);
    return p->nodes[node].kernel;
}

void exec_unload(struct exec_program *p)
{
    if (!p)
        return;
    outside_close(p);
    mem_free(p->own_scratch);
    mem_free(p->own_persistent);
    mem_free(p->own_vtcm);
    mem_free(p->own_spill);
    mem_free(p->own_absent);
    mem_free(p->worker_work);
    mem_free(p->marks.marks);
    mem_free(p->job);
    mem_free(p->turns);
    arena_finish(&p->arena);
    mem_free(p);
}

static enum status load_all(struct exec_program *p, const struct exec_opts *o)
{
    p->job = mem_alloc_aligned(_Alignof(struct exec_job), sizeof(struct exec_job));
    p->marks.cap = o->max_marks ? o->max_marks : p->g->n_marks;
    /* Untouched until a run asks for marks, so that it costs address space, not memory. */
    p->marks.marks = mem_array(struct prof_mark, p->marks.cap);
    RETURN_IF(!p->job || !p->marks.marks, ST_NO_MEMORY, "graph \"%s\": no memory to run it", p->g->info.name);
    TRY(program_tables(p));
    TRY(program_memory(p, o));
    TRY(dynamic_load(p));
    program_resolve(p);
    TRY(bind_all(p, o->cancel));
    TRY(program_check_tiles(p));
    if (!p->own_persistent) /* that is zero, and pages that no state touches need no memory */
        exec_reset_state(p);
    return ST_OK;
}

enum status exec_load(const struct binary_graph *g, const struct exec_opts *o, struct exec_program **ret)
{
    struct exec_program *p = mem_new(struct exec_program);
    RETURN_IF(!p, ST_NO_MEMORY, "graph \"%s\": no memory to run it", g->info.name);
    arena_init(&p->arena);
    p->g = g;
    p->constants = g->constants;
    p->team = o->team && team_size(o->team) > 1 ? o->team : NULL;
    p->isa = o->isa;
    p->outside = o->outside;
    enum status st = load_all(p, o);
    if (st != ST_OK) {
        exec_unload(p);
        return st;
    }
    *ret = p;
    return ST_OK;
}
