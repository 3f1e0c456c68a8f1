/* SPDX-License-Identifier: Apache-2.0 */
/* One run in a session. The area belongs to the client too, so all that it says is copied first and checked then; tensors
 * are used where they are mapped, never copied. */
#include <string.h>

#include "base/clock.h"
#include "rpc/rpc.h"
#include "rpc/rpc_shared.h"
#include "rpc/worker.h"

static_assert((int)RPC_MAX_RANK >= (int)MAX_RANK, "dimensions fit a message");

/* Bytes that a run may touch: with smaller dimensions an input has fewer; an output is only known to stay below
 * its largest. */
static uint64_t bytes_touched(const struct binary_tensor *t, const struct rpc_call_io *a)
{
    struct tensor_desc d = t->desc;
    for (uint32_t i = 0; t->io == IO_INPUT && a->has_dims && i < d.rank; i++)
        if (d.dynamic >> i & 1 &&
            a->dims[i] < d.dims[i]) /* exec refuses larger ones, and others than the declared where nothing is dynamic */
            d.dims[i] = a->dims[i];
    return desc_bytes(&d);
}

/* From the first byte of the first slice to the last one of the last. */
static uint64_t span_of(const struct rpc_call_io *a, uint64_t need, uint32_t slices)
{
    uint64_t span;
    bool too_much = __builtin_mul_overflow(a->stride, slices - 1, &span) || __builtin_add_overflow(span, need, &span);
    return too_much ? UINT64_MAX : span;
}

static enum status bind_one(struct worker *w, const struct binary_tensor *t, struct rpc_call_io *a, uint32_t slices,
                            struct exec_binding *ret)
{
    *ret = (struct exec_binding){ .dims = a->has_dims ? a->dims : NULL, .out_dims = a->wants_dims ? a->out_dims : NULL,
                                   .produced = &a->produced };
    if (a->map == RPC_NONE)
        return ST_OK;
    struct worker_map *m = worker_map_find(w, a->map);
    RETURN_IF(!m, ST_NOT_FOUND, "tensor \"%s\": mapping %u is not one of this session", t->name, a->map);
    uint64_t need = bytes_touched(t, a);
    uint64_t span = span_of(a, need, slices);
    RETURN_IF(a->offset > m->bytes || span > m->bytes - a->offset, ST_INVALID_TENSOR,
              "tensor \"%s\" needs %llu bytes; the mapping has %llu behind offset %llu", t->name, (unsigned long long)span,
              (unsigned long long)(a->offset < m->bytes ? m->bytes - a->offset : 0), (unsigned long long)a->offset);
    RETURN_IF(a->bytes < need && !t->desc.dynamic, ST_INVALID_TENSOR, "tensor \"%s\" needs %llu bytes; %llu were given",
              t->name, (unsigned long long)need, (unsigned long long)a->bytes);
    RETURN_IF(t->io != IO_INPUT && !m->writable, ST_INVALID_TENSOR,
              "tensor \"%s\" is an output; its memory was mapped for reading only", t->name);
    uint64_t element = dtype_bytes(t->desc.type, 1);
    RETURN_IF(slices > 1 && a->stride % element, ST_INVALID_TENSOR,
              "slices of tensor \"%s\" are %llu bytes apart; it must be a multiple of %llu, the bytes of an element",
              t->name, (unsigned long long)a->stride, (unsigned long long)element);
    RETURN_IF((uintptr_t)(m->data + a->offset) % element, ST_INVALID_TENSOR,
              "tensor \"%s\" begins at offset %llu; it must be a multiple of %llu, the bytes of an element", t->name,
              (unsigned long long)a->offset, (unsigned long long)element);
    ret->data = m->data + a->offset;
    m->runs++;
    return ST_OK;
}

static void release(struct worker *w, const struct worker_program *p)
{
    for (uint32_t i = 0; i < p->g->n_io; i++)
        if (p->io[i].data)
            worker_map_find(w, p->asked[i].map)->runs--;
}

static enum status bind(struct worker *w, struct worker_program *p)
{
    uint32_t n = p->area->n_io;
    RETURN_IF(n != p->g->n_io, ST_COMMUNICATION, "a run of graph \"%s\" with %u tensors; it has %u", p->g->info.name, n,
              p->g->n_io);
    RETURN_IF(p->n_slices > 1 && !worker_slices_independent(p->g), ST_INVALID_ARG,
              "a run of graph \"%s\" with %u slices; it has states, dynamic dimensions or operators of packages",
              p->g->info.name, p->n_slices);
    memcpy(p->asked, rpc_area_io(p->area), n * sizeof(p->asked[0]));
    pthread_mutex_lock(&w->lock);
    enum status st = ST_OK;
    for (uint32_t i = 0; i < n && st == ST_OK; i++)
        st = bind_one(w, &p->g->tensors[p->g->io[i]], &p->asked[i], p->n_slices, &p->io[i]);
    pthread_mutex_unlock(&w->lock);
    return st;
}

bool worker_is_late(const struct worker_program *p)
{
    return cancel_status(&p->area->cancel) != ST_OK;
}

/* A run that waited too long in the queue does not begin. */
static enum status late(const struct rpc_call *c, const char *graph)
{
    RETURN_IF(atomic_load(&c->cancel.abort), ST_ABORTED, "graph \"%s\": aborted by its signal before it began", graph);
    RETURN_IF(c->cancel.deadline_ns && clock_ns() >= c->cancel.deadline_ns, ST_TIMED_OUT,
              "graph \"%s\": past the time of its signal before it began", graph);
    return ST_OK;
}

static void hand_out(struct worker_program *p, const struct exec_run *run)
{
    struct rpc_call_io *io = rpc_area_io(p->area);
    for (uint32_t i = 0; i < p->g->n_io; i++) {
        io[i].produced = p->asked[i].produced;
        if (p->asked[i].wants_dims)
            memcpy(io[i].out_dims, p->asked[i].out_dims, sizeof(io[i].out_dims));
    }
    if (!run->marks)
        return;
    p->area->n_marks = run->marks->n < p->g->n_marks ? run->marks->n : p->g->n_marks;
    memcpy(rpc_area_marks(p->area, p->g->n_io), run->marks->marks, p->area->n_marks * sizeof(struct prof_mark));
}

static void between(void *arg, uint32_t step)
{
    struct worker_program *p = arg;
    p->hook->between(p->hook->arg, p, step);
}

static void go_to_slice(const struct worker_program *p, uint32_t by)
{
    for (uint32_t i = 0; i < p->g->n_io; i++)
        if (p->io[i].data)
            p->io[i].data = (uint8_t *)p->io[i].data + by * p->asked[i].stride;
}

static enum status run_in_turn(struct worker_program *p, uint32_t first, struct exec_run *e)
{
    enum status st = ST_OK;
    go_to_slice(p, first);
    for (uint32_t k = first; k < p->n_slices; k++) {
        enum status now = exec_run(p->exec, e);
        if (now != ST_OK && now != ST_ENDED_EARLY)
            return now;
        st = now == ST_OK ? st : now;
        go_to_slice(p, 1);
    }
    return st;
}

static enum status run(struct worker *w, struct worker_program *p)
{
    struct rpc_call *c = p->area;
    TRY(late(c, p->g->info.name));
    TRY(bind(w, p));
    uint32_t step = c->step;
    RETURN_IF(step && step != p->paused, ST_COMMUNICATION, "a run of graph \"%s\" from step %u; it %s", p->g->info.name,
              step, p->paused ? "is paused at another" : "was not paused");
    /* Fast memory is gone as soon as another program runs, so whoever computes there is not paused. */
    struct exec_run e = { .io = p->io,
                          .cancel = &c->cancel,
                          .profile_nodes = c->profile_nodes != 0,
                          .pause = p->g->info.vtcm_used || p->n_slices > 1 ? NULL : &c->pause,
                          .step = step,
                          .between = p->hook ? between : NULL,
                          .between_arg = p,
                          .give_way = p->hook && !p->hold ? p->hook->when : NULL /* holding means counting steps */ };
    uint64_t begin = clock_ns();
    uint32_t done = worker_slices_run(w, p);
    c->beside = done;
    uint64_t claim = clock_ns();
    worker_window_claim(w, p);
    p->yields.acquire_ns = clock_ns() - claim;
    enum status st = run_in_turn(p, done, &e);
    c->exec_ns = clock_ns() - begin;
    c->yields = p->yields;
    c->step = p->paused = st == ST_PAUSED ? e.step : 0;
    if (st == ST_OK || st == ST_ENDED_EARLY || st == ST_PAUSED)
        hand_out(p, &e);
    return st;
}

static void answer(struct rpc_call *c, enum status st)
{
    c->status = st;
    if (st != ST_OK)
        strncpy(c->text, status_text(), sizeof(c->text) - 1);
    atomic_store(&c->state, CALL_DONE);
    if (atomic_load(&c->client_sleeps))
        shared_wake(&c->state);
}

bool worker_queued(struct worker *w, uint32_t lane, uint32_t program, uint32_t *ret_priority)
{
    pthread_mutex_lock(&w->lock);
    struct worker_program *p = worker_program_find(w, program);
    bool queued = p && p->lane == lane && p->area && !p->running && atomic_load(&p->area->state) == CALL_QUEUED;
    if (queued) {
        *ret_priority = p->area->priority;
        p->seen_ns = clock_ns();
    }
    pthread_mutex_unlock(&w->lock);
    return queued;
}

/* Whether p has to wait: it is being reset, or another lane computes in the same memory. */
static bool has_to_wait(struct worker *w, const struct worker_program *p)
{
    return p && !p->running && (p->runs || worker_shares(w, p));
}

/* `begin`: when it was this program's turn; `free`: when nothing was in its way any more. */
static void do_run(struct worker *w, struct worker_program *p, const struct worker_hook *hook, uint64_t begin, uint64_t free)
{
    struct rpc_call *c = p->area;
    p->hook = hook;
    p->priority = c->priority;
    p->hold = c->hold;
    p->n_slices = c->slices ? c->slices : 1;
    worker_nice_use(w, p);
    p->yields = (struct rpc_yields){ .units_ns = free - begin };
    c->queue_ns = begin > c->submit_ns ? begin - c->submit_ns : 0;
    c->notice_ns = p->seen_ns > c->submit_ns ? p->seen_ns - c->submit_ns : 0;
    c->exec_ns = c->n_marks = c->beside = 0;
    c->yields = p->yields;
    memset(p->io, 0, p->g->n_io * sizeof(p->io[0]));
    enum status st = run(w, p);
    c->worker_ns = clock_ns() - begin;
    answer(c, st); /* the area stays until this program counts as idle */
    pthread_mutex_lock(&w->lock);
    release(w, p);
    p->runs--;
    p->running = false;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static bool run_when(struct worker *w, uint32_t program, const struct worker_hook *hook, bool wait)
{
    uint64_t begin = clock_ns();
    uint32_t queued = CALL_QUEUED;
    pthread_mutex_lock(&w->lock);
    struct worker_program *p = worker_program_find(w, program);
    while (wait && has_to_wait(w, p)) {
        pthread_cond_wait(&w->changed, &w->lock);
        p = worker_program_find(w, program);
    }
    bool later = has_to_wait(w, p), could = !later && p && p->area && !p->running;
    bool go = could && atomic_compare_exchange_strong(&p->area->state, &queued, CALL_RUNNING);
    if (go) {
        p->runs++;
        p->running = true;
    }
    pthread_mutex_unlock(&w->lock);
    if (go)
        do_run(w, p, hook, begin, clock_ns());
    return !later;
}

void worker_run(struct worker *w, uint32_t program, const struct worker_hook *hook)
{
    run_when(w, program, hook, true);
}

bool worker_run_now(struct worker *w, uint32_t program, const struct worker_hook *hook)
{
    return run_when(w, program, hook, false);
}
