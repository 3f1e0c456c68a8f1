/* SPDX-License-Identifier: Apache-2.0 */
/* Loading and running a program. A run is a walk over steps: single commands run right here, the tiles of a larger step are handed to the
 * team, which takes them one by one from a counter. */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "exec/program.h"

static enum status cancelled(const struct exec_cancel *c)
{
    if (!c)
        return ST_OK;
    if (atomic_load_explicit(&c->abort, memory_order_relaxed))
        return ST_ABORTED;
    return c->deadline_ns && clock_ns() >= c->deadline_ns ? ST_TIMED_OUT : ST_OK;
}

/* Guards were written in earlier steps, so all tiles of a node see the same. */
static inline bool guarded_off(const struct exec_node *n)
{
    for (uint32_t i = 0; i < n->n_guards; i++)
        if ((*(const uint8_t *)n->guards[i] != 0) != n->guard_values[2 * i + 1])
            return true;
    return false;
}

static inline void run_command(const struct exec_program *p, uint32_t index, unsigned worker, uint64_t *ns)
{
    const struct exec_command *c = &p->commands[index];
    const struct exec_node *n = &p->nodes[c->node];
    uint32_t end = c->end < n->extent ? c->end : n->extent;
    if (c->begin >= end || p->missing[c->node] || guarded_off(n) || (n->view_out && n->data[0] == n->data[n->view_out]))
        return;
    if (n->chain) {
        chain_run(p, n->chain, (struct range){ c->begin, end }, worker, ns);
        return;
    }
    uint8_t *work = worker && n->work ? p->worker_work + (worker - 1) * p->worker_stride : n->work;
    struct kernel_call call = { .args = n->args, .data = n->data, .work = work, .state = n->state, .ended = &p->job->ended };
    n->run(&call, (struct range){ c->begin, end });
}

/* Marks have a place of their own per command: no locks, and the same order for any number of threads. The members of a chain take turns many times; their
 * marks stand one behind the other, each as long as all of its turns. */
static void run_marked(struct exec_program *p, uint32_t index, unsigned worker)
{
    const struct exec_command *c = &p->commands[index];
    const struct exec_chain *chain = p->nodes[c->node].chain;
    uint64_t begin = clock_ns(), ns[OP_CHAIN_MAX] = { 0 };
    run_command(p, index, worker, ns);
    if (!chain && c->mark < p->marks.cap)
        p->marks.marks[c->mark] = (struct prof_mark){ begin, clock_ns(), c->node, worker };
    for (uint32_t i = 0; chain && i < chain->shape.n && c->mark + i < p->marks.cap; begin += ns[i++])
        p->marks.marks[c->mark + i] = (struct prof_mark){ begin, begin + ns[i], chain->node + i, worker };
}

static bool run_one(struct exec_program *p, uint32_t index, unsigned worker)
{
    struct exec_job *j = p->job;
    enum status st = cancelled(j->cancel);
    if (st != ST_OK) {
        atomic_store_explicit(&j->stop, st, memory_order_relaxed);
        return false;
    }
    if (j->marks)
        run_marked(p, index, worker);
    else
        run_command(p, index, worker, NULL);
    return true;
}

static void team_job(void *arg, unsigned worker)
{
    struct exec_program *p = arg;
    struct exec_job *j = p->job;
    while (!atomic_load_explicit(&j->stop, memory_order_relaxed)) {
        uint32_t i = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (i >= j->end || !run_one(p, i, worker))
            return;
    }
}

static enum status walk(struct exec_program *p, struct exec_run *r)
{
    struct exec_job *j = p->job;
    if (!r->step)
        early_begin(p);
    for (uint32_t s = r->step; s < p->g->n_steps; s++) {
        if (r->pause && atomic_load_explicit(r->pause, memory_order_relaxed)) {
            r->step = s;
            return status_fail(ST_PAUSED, "graph \"%s\" is paused before step %u of %u; resume it and execute again with the same tensors",
                               p->g->info.name, s, p->g->n_steps);
        }
        if (r->between && s)
            r->between(r->between_arg, s);
        uint32_t i = p->step_begin[s], end = p->step_begin[s + 1];
        early_before(p, s);
        if (p->team && end - i > 1) {
            atomic_store_explicit(&j->next, i, memory_order_relaxed);
            j->end = end;
            team_run(p->team, team_job, p);
        } else {
            while (i < end && run_one(p, i, 0))
                i++;
        }
        enum status st = (enum status)atomic_load_explicit(&j->stop, memory_order_relaxed);
        if (st != ST_OK)
            return status_fail(st, "graph \"%s\": %s after step %u of %u", p->g->info.name,
                               st == ST_ABORTED ? "aborted by its signal" : "past the time of its signal", s, p->g->n_steps);
        early_after(p, s);
    }
    r->step = 0;
    return early_end(p, r->io);
}

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
    RETURN_IF(p->g->info.spill_fill_bytes && !p->spill, ST_NO_MEMORY, "graph \"%s\" has no spill-fill buffer", p->g->info.name);
    TRY(bind_io(p, r->io));
    if (p->now)
        TRY(dynamic_run(p, r->io));
    else
        for (uint32_t k = 0; k < p->g->n_io; k++)
            if (r->io[k].out_dims)
                memcpy(r->io[k].out_dims, p->g->tensors[p->g->io[k]].desc.dims, p->g->tensors[p->g->io[k]].desc.rank * sizeof(uint32_t));
    j->cancel = r->cancel;
    j->marks = r->profile_nodes;
    atomic_store_explicit(&j->stop, ST_OK, memory_order_relaxed);
    p->marks.n = p->marks.dropped = 0;
    r->marks = &p->marks;
    if (!r->profile_nodes)
        return walk(p, r);
    memset(p->marks.marks, 0, (size_t)p->marks.cap * sizeof(p->marks.marks[0]));
    enum status st = walk(p, r);
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
    mem_free(p->own_scratch);
    mem_free(p->own_persistent);
    mem_free(p->own_vtcm);
    mem_free(p->own_spill);
    mem_free(p->own_absent);
    mem_free(p->worker_work);
    mem_free(p->marks.marks);
    mem_free(p->job);
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
    TRY(bind_all(p));
    exec_reset_state(p);
    return ST_OK;
}

enum status exec_load(const struct binary_graph *g, const struct exec_opts *o, struct exec_program **ret)
{
    struct exec_program *p = mem_new(struct exec_program);
    RETURN_IF(!p, ST_NO_MEMORY, "graph \"%s\": no memory to run it", g->info.name);
    arena_init(&p->arena);
    p->g = g;
    p->team = o->team && team_size(o->team) > 1 ? o->team : NULL;
    p->isa = o->isa;
    enum status st = load_all(p, o);
    if (st != ST_OK) {
        exec_unload(p);
        return st;
    }
    *ret = p;
    return ST_OK;
}
