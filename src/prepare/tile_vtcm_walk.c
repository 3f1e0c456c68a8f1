/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over jobs that decides what is in fast memory (tile_vtcm.h). Time goes with the number of operands, times a
 * logarithm for the heap of candidates to leave. */
#include <string.h>

#include "base/arena.h"
#include "prepare/tile_vtcm.h"

/* Memory in the window. Views make several values one memory. */
struct mem {
    uint64_t bytes;
    uint32_t first;  /* of its values, VTCM_NONE: gone */
    uint32_t stamp;  /* of its newest entry in the heap */
    uint32_t pinned; /* job + 1 that uses it now */
    bool clean;      /* DRAM has it, too */
};

struct value {
    uint32_t here;        /* its memory in the window, VTCM_NONE: none */
    uint32_t next;        /* value of the same memory */
    uint32_t use, end;    /* readers still to come: uses[use … end) */
    bool there, read;     /* in DRAM; read since it was made */
};

struct entry {
    uint32_t key, mem, stamp;
};

struct walk {
    const struct vtcm_problem *p;
    const struct vtcm_policy *policy;
    struct vtcm_plan *plan;
    struct arena arena;
    struct value *values;
    uint32_t *uses;
    VEC(struct mem) mems;
    VEC(struct entry) heap;     /* the largest key first */
    VEC(struct entry) aside;    /* taken from the heap, but in use now */
    uint8_t *stream;            /* per operand of the job: stays in DRAM; inputs, then outputs */
    uint64_t used;
};

static enum status no_memory(const struct walk *w)
{
    return status_fail(ST_NO_MEMORY, "no memory to place %u tensors", w->p->n_values);
}

/* ---- the heap --------------------------------------------------------------------------------------------------------- */

/* Equal keys leave in the order of their numbers, so that the answer depends on the input alone. */
static bool before(const struct entry *a, const struct entry *b)
{
    return a->key != b->key ? a->key > b->key : a->mem < b->mem;
}

static bool heap_push(struct walk *w, struct entry e)
{
    if (!vec_push(&w->heap))
        return false;
    size_t i = w->heap.n - 1;
    for (; i && before(&e, &w->heap.at[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap.at[i] = w->heap.at[(i - 1) / 2];
    w->heap.at[i] = e;
    return true;
}

static struct entry heap_pop(struct walk *w)
{
    struct entry top = w->heap.at[0], last = w->heap.at[--w->heap.n];
    size_t n = w->heap.n, i = 0;
    for (size_t k; (k = 2 * i + 1) < n; i = k) {
        k += k + 1 < n && before(&w->heap.at[k + 1], &w->heap.at[k]);
        if (!before(&w->heap.at[k], &last))
            break;
        w->heap.at[i] = w->heap.at[k];
    }
    if (n)
        w->heap.at[i] = last;
    return top;
}

/* ---- memory in the window --------------------------------------------------------------------------------------------- */

static uint32_t next_use(const struct walk *w, uint32_t v)
{
    return w->values[v].use < w->values[v].end ? w->uses[w->values[v].use] : VTCM_NONE;
}

/* The next reader of any of its values; values without readers are struck off. */
static uint32_t mem_next(struct walk *w, struct mem *m)
{
    uint32_t soonest = VTCM_NONE;
    for (uint32_t *at = &m->first; *at != VTCM_NONE;) {
        uint32_t use = next_use(w, *at);
        if (use == VTCM_NONE) {
            w->values[*at].here = VTCM_NONE;
            *at = w->values[*at].next;
            continue;
        }
        soonest = use < soonest ? use : soonest;
        at = &w->values[*at].next;
    }
    return soonest;
}

/* After its readers have changed: gone when there are none, else with a new place in the heap. */
static enum status settle(struct walk *w, uint32_t mem)
{
    struct mem *m = &w->mems.at[mem];
    if (m->first == VTCM_NONE)
        return ST_OK;
    uint32_t next = mem_next(w, m);
    if (next == VTCM_NONE) {
        w->used -= m->bytes;
        return ST_OK;
    }
    uint32_t bonus = m->clean ? w->policy->clean_bonus : 0;
    /* cppcheck-suppress integerOverflow ; VTCM_NONE is UINT32_MAX, an unsigned constant */
    struct entry e = { .key = next > VTCM_NONE - 1 - bonus ? VTCM_NONE - 1 : next + bonus, .mem = mem, .stamp = ++m->stamp };
    return heap_push(w, e) ? ST_OK : no_memory(w);
}

static enum status new_mem(struct walk *w, uint32_t v, bool clean, uint32_t job)
{
    struct mem *m = vec_push(&w->mems);
    if (!m)
        return no_memory(w);
    *m = (struct mem){ .bytes = w->p->bytes[v], .first = v, .pinned = job + 1, .clean = clean };
    w->values[v].here = (uint32_t)w->mems.n - 1;
    w->values[v].next = VTCM_NONE;
    w->used += m->bytes;
    return ST_OK;
}

static enum status act(struct walk *w, enum vtcm_act_kind kind, uint32_t what)
{
    struct vtcm_act *a = vec_push(&w->plan->acts);
    if (!a)
        return no_memory(w);
    *a = (struct vtcm_act){ kind, what };
    return ST_OK;
}

static enum status evict(struct walk *w, uint32_t mem)
{
    struct mem *m = &w->mems.at[mem];
    mem_next(w, m);
    for (uint32_t v = m->first; v != VTCM_NONE; v = w->values[v].next) {
        struct value *x = &w->values[v];
        if (!x->there) {
            TRY(act(w, VTCM_SPILL, v));
            w->plan->spilled += w->p->moved[v];
            w->plan->unread[v] = !x->read;
        }
        x->there = true;
        x->here = VTCM_NONE;
        TRY(act(w, VTCM_DROP, v));
    }
    w->used -= m->bytes;
    m->first = VTCM_NONE;
    return ST_OK;
}

/* Room for `bytes` at the expense of what job j does not use. There is enough: its operands fit together. */
static enum status make_room(struct walk *w, uint32_t j, uint64_t bytes)
{
    enum status st = ST_OK;
    w->aside.n = 0;
    while (st == ST_OK && w->used + bytes > w->policy->room && w->heap.n) {
        struct entry e = heap_pop(w), *slot;
        struct mem *m = &w->mems.at[e.mem];
        if (m->first == VTCM_NONE || m->stamp != e.stamp)
            continue;
        if (m->pinned != j + 1) {
            st = evict(w, e.mem);
        } else if ((slot = vec_push(&w->aside))) {
            *slot = e;
        } else {
            st = no_memory(w);
        }
    }
    for (size_t i = 0; st == ST_OK && i < w->aside.n; i++)
        st = heap_push(w, w->aside.at[i]) ? ST_OK : no_memory(w);
    return st;
}

/* ---- jobs ------------------------------------------------------------------------------------------------------------- */

static bool repeated(const struct vtcm_job *job, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (job->in[k] == job->in[i])
            return true;
    return false;
}

/* Nobody reads its memory after job j. */
static bool ends_with(const struct walk *w, uint32_t v, uint32_t j)
{
    const struct value *x = &w->values[v];
    if (x->here == VTCM_NONE)
        return false;
    for (uint32_t k = w->mems.at[x->here].first; k != VTCM_NONE; k = w->values[k].next)
        if (w->values[k].use < w->values[k].end && w->uses[w->values[k].end - 1] > j)
            return false;
    return true;
}

static bool in_place(const struct walk *w, const struct vtcm_job *job, uint32_t j)
{
    for (uint32_t i = 0; i < job->n_over; i++)
        if (ends_with(w, job->over[i], j))
            return true;
    return false;
}

struct needs {
    uint64_t resident, missing, made; /* bytes of operands: in the window, in DRAM, results */
    uint64_t extra;                   /* beside them: what the job needs for itself, and pieces of what streams */
};

/* Pieces count where the operand is not in the window. */
static uint64_t extra_of(const struct walk *w, const struct vtcm_job *job)
{
    uint64_t sum = job->fixed;
    for (uint32_t i = 0; job->piece && i < job->n_in - job->n_glance; i++)
        sum += w->stream[i] && !repeated(job, i) && w->values[job->in[i]].here == VTCM_NONE ? job->piece[i] : 0;
    for (uint32_t i = 0; job->piece && i < job->n_out; i++)
        sum += w->stream[job->n_in + i] ? job->piece[job->n_in + i] : 0;
    return sum;
}

/* What the window must hold for job j with the operands that do not stream. */
static struct needs needs_of(struct walk *w, uint32_t j)
{
    const struct vtcm_job *job = &w->p->jobs[j];
    struct needs n = { 0 };
    uint32_t n_need = job->n_in - job->n_glance;
    for (uint32_t i = 0; i < n_need; i++) {
        uint32_t v = job->in[i], mem = w->values[v].here;
        if (repeated(job, i))
            continue;
        if (mem == VTCM_NONE)
            n.missing += w->stream[i] ? 0 : w->p->bytes[v];
        else if (w->mems.at[mem].pinned != j + 1)
            n.resident += w->mems.at[mem].bytes, w->mems.at[mem].pinned = j + 1;
    }
    for (uint32_t i = 0; i < n_need; i++) /* counted once each, then free for the next count */
        if (w->values[job->in[i]].here != VTCM_NONE)
            w->mems.at[w->values[job->in[i]].here].pinned = 0;
    if (!in_place(w, job, j))
        for (uint32_t i = 0; i < job->n_out; i++)
            n.made += w->stream[job->n_in + i] ? 0 : w->p->bytes[job->out[i]];
    n.extra = extra_of(w, job);
    return n;
}

/* The operand that is cheapest to leave in DRAM: first what is there and not wanted again, then what is there or not made
 * yet, at last what is here; of equal ones the largest. */
static uint32_t pick_stream(const struct walk *w, uint32_t j)
{
    const struct vtcm_job *job = &w->p->jobs[j];
    uint32_t best = VTCM_NONE, best_class = 0, n_need = job->n_in - job->n_glance;
    uint64_t best_bytes = 0;
    for (uint32_t i = 0; i < job->n_in + job->n_out; i++) {
        bool input = i < job->n_in;
        uint32_t v = input ? job->in[i] : job->out[i - job->n_in];
        if (w->stream[i] || (input && (i >= n_need || repeated(job, i))))
            continue;
        const struct value *x = &w->values[v];
        bool again = input && x->use < x->end && w->uses[x->end - 1] > j;
        uint32_t class = input && x->here != VTCM_NONE ? 1 : !input || again ? 2 : 3;
        if (best == VTCM_NONE || class > best_class || (class == best_class && w->p->bytes[v] > best_bytes))
            best = i, best_class = class, best_bytes = w->p->bytes[v];
    }
    return best;
}

static enum status choose_streams(struct walk *w, uint32_t j)
{
    const struct vtcm_job *job = &w->p->jobs[j];
    memset(w->stream, 0, job->n_in + job->n_out);
    for (uint32_t i = 0; w->policy->direct && i < job->n_out; i++)
        w->stream[job->n_in + i] = w->policy->direct[job->out[i]];
    for (;;) {
        struct needs n = needs_of(w, j);
        uint32_t i = n.resident + n.missing + n.made + n.extra > w->policy->room ? pick_stream(w, j) : VTCM_NONE;
        if (i == VTCM_NONE)
            return ST_OK;
        w->stream[i] = 1;
        if (i < job->n_in && w->values[job->in[i]].here != VTCM_NONE)
            TRY(evict(w, w->values[job->in[i]].here));
    }
}

static void pin_inputs(struct walk *w, uint32_t j)
{
    const struct vtcm_job *job = &w->p->jobs[j];
    for (uint32_t i = 0; i < job->n_in - job->n_glance; i++)
        if (w->values[job->in[i]].here != VTCM_NONE)
            w->mems.at[w->values[job->in[i]].here].pinned = j + 1;
}

static enum status bring_inputs(struct walk *w, uint32_t j)
{
    const struct vtcm_job *job = &w->p->jobs[j];
    for (uint32_t i = 0; i < job->n_in - job->n_glance; i++) {
        uint32_t v = job->in[i];
        if (w->values[v].here != VTCM_NONE || repeated(job, i))
            continue;
        if (w->stream[i]) {
            w->plan->streamed += w->p->moved[v];
            continue;
        }
        TRY(act(w, VTCM_FILL, v));
        w->plan->filled += w->p->moved[v];
        TRY(new_mem(w, v, true, j));
    }
    return ST_OK;
}

static enum status make_outputs(struct walk *w, uint32_t j)
{
    const struct vtcm_job *job = &w->p->jobs[j];
    for (uint32_t i = 0; i < job->n_out; i++) {
        uint32_t v = job->out[i];
        struct value *x = &w->values[v];
        if (!w->stream[job->n_in + i]) {
            TRY(new_mem(w, v, false, j));
            TRY(settle(w, x->here));
            continue;
        }
        x->there = true;
        w->plan->in_dram[v] = 1;
        w->plan->streamed += w->p->moved[v];
    }
    return ST_OK;
}

/* The readers that job j was. */
static enum status used_inputs(struct walk *w, uint32_t j)
{
    const struct vtcm_job *job = &w->p->jobs[j];
    for (uint32_t i = 0; i < job->n_in; i++) {
        struct value *x = &w->values[job->in[i]];
        x->use += x->use < x->end && w->uses[x->use] == j;
        x->read = true;
    }
    for (uint32_t i = 0; i < job->n_in; i++) {
        uint32_t mem = w->values[job->in[i]].here;
        if (mem != VTCM_NONE && !repeated(job, i))
            TRY(settle(w, mem));
    }
    return ST_OK;
}

/* The result of a view is where its input is. */
static enum status run_view(struct walk *w, uint32_t j)
{
    const struct vtcm_job *job = &w->p->jobs[j];
    struct value *x = &w->values[job->in[0]], *y = &w->values[job->out[0]];
    TRY(act(w, VTCM_RUN, j));
    y->read = x->read;
    if (x->here == VTCM_NONE) {
        y->there = true;
        w->plan->in_dram[job->out[0]] = 1;
    } else {
        struct mem *m = &w->mems.at[x->here];
        y->here = x->here;
        y->next = m->first;
        m->first = job->out[0];
        m->clean = false; /* DRAM has the input, under its own name */
    }
    return used_inputs(w, j);
}

/* What streams, and what nobody else needs of the window while the job runs. */
static void note_room(struct walk *w, uint32_t j, const struct needs *n)
{
    const struct vtcm_job *job = &w->p->jobs[j];
    uint64_t taken = w->used + n->missing + n->made, room = w->policy->room;
    memcpy(w->plan->streams + w->plan->first[j], w->stream, job->n_in + job->n_out);
    w->plan->budget[j] = taken + n->extra < room ? room - taken : n->extra;
}

static enum status run_job(struct walk *w, uint32_t j)
{
    TRY(choose_streams(w, j));
    struct needs n = needs_of(w, j);
    pin_inputs(w, j);
    TRY(make_room(w, j, n.missing + n.made + n.extra));
    note_room(w, j, &n);
    TRY(bring_inputs(w, j));
    TRY(act(w, VTCM_RUN, j));
    TRY(make_outputs(w, j));
    return used_inputs(w, j);
}

/* Who reads what, in the order of jobs: count, then fill. */
static bool list_uses(struct walk *w)
{
    const struct vtcm_problem *p = w->p;
    uint32_t total = 0;
    for (uint32_t j = 0; j < p->n_jobs; j++)
        for (uint32_t i = 0; i < p->jobs[j].n_in; i++)
            w->values[p->jobs[j].in[i]].end += !repeated(&p->jobs[j], i);
    for (uint32_t v = 0; v < p->n_values; v++) {
        uint32_t n = w->values[v].end;
        w->values[v] = (struct value){ .here = VTCM_NONE, .next = VTCM_NONE, .use = total, .end = total };
        total += n;
    }
    w->uses = arena_array(&w->arena, uint32_t, (size_t)total + 1);
    for (uint32_t j = 0; w->uses && j < p->n_jobs; j++)
        for (uint32_t i = 0; i < p->jobs[j].n_in; i++)
            if (!repeated(&p->jobs[j], i))
                w->uses[w->values[p->jobs[j].in[i]].end++] = j;
    return w->uses != NULL;
}

static enum status walk_all(struct walk *w)
{
    const struct vtcm_problem *p = w->p;
    uint32_t widest = 0, operands = 0;
    for (uint32_t j = 0; j < p->n_jobs; j++) {
        widest = p->jobs[j].n_in + p->jobs[j].n_out > widest ? p->jobs[j].n_in + p->jobs[j].n_out : widest;
        operands += p->jobs[j].n_in + p->jobs[j].n_out;
    }
    w->values = arena_array(&w->arena, struct value, p->n_values);
    w->stream = arena_array(&w->arena, uint8_t, (size_t)widest + 1);
    w->plan->in_dram = mem_array(uint8_t, p->n_values);
    w->plan->unread = mem_array(uint8_t, p->n_values);
    w->plan->first = mem_array(uint32_t, p->n_jobs);
    w->plan->streams = mem_array(uint8_t, (size_t)operands + 1);
    w->plan->budget = mem_array(uint64_t, p->n_jobs);
    if (!w->values || !w->stream || !w->plan->in_dram || !w->plan->unread || !w->plan->first || !w->plan->streams ||
        !w->plan->budget || !list_uses(w))
        return no_memory(w);
    for (uint32_t j = 1; j < p->n_jobs; j++)
        w->plan->first[j] = w->plan->first[j - 1] + p->jobs[j - 1].n_in + p->jobs[j - 1].n_out;
    for (uint32_t j = 0; j < p->n_jobs; j++)
        TRY(p->jobs[j].view ? run_view(w, j) : run_job(w, j));
    return ST_OK;
}

enum status vtcm_walk(const struct vtcm_problem *p, const struct vtcm_policy *policy, struct vtcm_plan *ret)
{
    struct walk w = { .p = p, .policy = policy, .plan = ret };
    *ret = (struct vtcm_plan){ 0 };
    arena_init(&w.arena);
    enum status st = walk_all(&w);
    arena_finish(&w.arena);
    vec_finish(&w.mems);
    vec_finish(&w.heap);
    vec_finish(&w.aside);
    if (st != ST_OK)
        vtcm_plan_finish(ret);
    return st;
}

void vtcm_plan_finish(struct vtcm_plan *p)
{
    vec_finish(&p->acts);
    mem_free(p->in_dram);
    mem_free(p->unread);
    mem_free(p->first);
    mem_free(p->streams);
    mem_free(p->budget);
    *p = (struct vtcm_plan){ 0 };
}
