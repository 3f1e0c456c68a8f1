/* SPDX-License-Identifier: Apache-2.0 */
/* The search for an order of jobs with a low peak (plan_schedule.h).
 *
 * One question is asked again and again: is there an order whose peak is at most `aim`? A depth-first search answers it.
 * What has run, as a set, says all about the future, so sets that have failed are remembered by their hash. And a job that
 * is ready, fits below the aim and leaves no more alive than before is run at once, without trying anything else: run
 * earlier, it only takes memory away from whatever comes between, in any order. That leaves choices only where memory must
 * grow.
 *
 *     bound |----x---------x--------| given       a refuted aim raises the bound, a found order lowers the best; where
 *          first aim    next aims                 the search gives up, the next aim is halfway up to the best
 *
 * Each aim is tried with several rules of which job to try first. */
#include "prepare/plan_schedule.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"

enum {
    SHARES = 16,            /* an attempt may take a sixteenth of all steps, later more */
    LEAST_SHARE = 32,       /* or so many steps for each job, enough to come to an end */
    FIRST_SLOTS = 256,      /* of the table of refuted sets, which grows up to … */
    MAX_SLOTS = 1 << 21,
};

enum rule { SHRINK_FIRST, GIVEN_FIRST, NEWEST_FIRST, RULES };
enum answer { FOUND, REFUTED, GAVE_UP, OUT_OF_MEMORY };

struct candidate {
    int64_t major;
    uint64_t minor;
    uint32_t job;
};

struct frame {
    uint32_t done;        /* jobs that had run before the choice */
    size_t next, end;     /* candidates left */
    uint64_t hash;
};

struct search {
    const struct plan_jobs *p;
    uint32_t n, n_done, n_ready;
    uint32_t *waits;              /* per job: jobs it still waits for */
    uint32_t *next, *next_begin;  /* per job: who waits for it */
    uint32_t *total, *left;       /* per cell: jobs that touch it, those that have not run */
    uint32_t *ready, *seat;       /* jobs that may run, and where each stands in the list */
    uint32_t *order;              /* those that have run */
    uint64_t *before;             /* bytes alive before each of them */
    uint64_t live, hash;
    struct frame *stack;
    VEC(struct candidate) pool;
    uint64_t *refuted, mask, n_refuted;
    uint64_t steps, aim, over;    /* over: the least peak that was too much */
};

/* ---- running and taking back ------------------------------------------------------------------------------------------ */

static uint64_t job_hash(uint32_t j)
{
    uint64_t x = (j + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Job j makes its result over something that ends with it. */
static bool takes_place(const struct search *s, const struct plan_job *job)
{
    for (uint32_t i = 0; job->makes != PLAN_NO_CELL && i < job->n_over; i++)
        if (s->left[job->over[i]] == 1 && !s->p->cells[job->over[i]].late)
            return true;
    return false;
}

/* What is alive while job j runs; *after: when it has run. */
static uint64_t look_at(struct search *s, uint32_t j, uint64_t *after)
{
    const struct plan_job *job = &s->p->jobs[j];
    uint64_t opened = 0, closed = 0;
    s->steps++;
    for (uint32_t i = 0; i < job->n_touch; i++) {
        uint32_t c = job->touch[i];
        const struct plan_cell *cell = &s->p->cells[c];
        opened += s->left[c] == s->total[c] && !cell->early ? cell->bytes : 0;
        closed += s->left[c] == 1 && !cell->late ? cell->bytes : 0;
    }
    *after = s->live + opened - closed;
    return s->live + opened + job->work - (takes_place(s, job) ? s->p->cells[job->makes].bytes : 0);
}

static void add_ready(struct search *s, uint32_t j)
{
    s->seat[j] = s->n_ready;
    s->ready[s->n_ready++] = j;
}

static void drop_ready(struct search *s, uint32_t j)
{
    uint32_t last = s->ready[--s->n_ready];
    s->ready[s->seat[j]] = last;
    s->seat[last] = s->seat[j];
}

static void run(struct search *s, uint32_t j, uint64_t after)
{
    const struct plan_job *job = &s->p->jobs[j];
    drop_ready(s, j);
    s->before[s->n_done] = s->live;
    s->order[s->n_done++] = j;
    s->live = after;
    s->hash ^= job_hash(j);
    for (uint32_t i = 0; i < job->n_touch; i++)
        s->left[job->touch[i]]--;
    for (uint32_t i = s->next_begin[j]; i < s->next_begin[j + 1]; i++)
        if (--s->waits[s->next[i]] == 0)
            add_ready(s, s->next[i]);
}

static void take_back(struct search *s, uint32_t done)
{
    while (s->n_done > done) {
        uint32_t j = s->order[--s->n_done];
        const struct plan_job *job = &s->p->jobs[j];
        s->live = s->before[s->n_done];
        s->hash ^= job_hash(j);
        for (uint32_t i = 0; i < job->n_touch; i++)
            s->left[job->touch[i]]++;
        for (uint32_t i = s->next_begin[j]; i < s->next_begin[j + 1]; i++)
            if (s->waits[s->next[i]]++ == 0)
                drop_ready(s, s->next[i]);
        add_ready(s, j);
    }
}

/* ---- the search ------------------------------------------------------------------------------------------------------- */

/* Run whatever costs nothing, until nothing is left that does. */
static void run_free(struct search *s)
{
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < s->n_ready;) {
            uint64_t after, peak = look_at(s, s->ready[i], &after);
            if (peak <= s->aim && after <= s->live) {
                run(s, s->ready[i], after); /* another one stands here now */
                again = true;
            } else {
                i++;
            }
        }
    }
}

static int compare_candidates(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor)
        return a->minor < b->minor ? -1 : 1;
    return (a->job > b->job) - (a->job < b->job);
}

/* Position, in what has run, of the last job that j waited for: the newest results are used up first. */
static int64_t newest(const struct search *s, uint32_t j)
{
    int64_t age = 0;
    for (uint32_t i = 0; i < s->p->jobs[j].n_after; i++)
        for (uint32_t k = s->n_done; k-- > 0 && s->n_done - k < 64;)
            if (s->order[k] == s->p->jobs[j].after[i] && (int64_t)k > age)
                age = k;
    return -age;
}

static bool add_candidates(struct search *s, enum rule rule, struct frame *f)
{
    f->next = s->pool.n;
    for (uint32_t i = 0; i < s->n_ready; i++) {
        uint32_t j = s->ready[i];
        uint64_t after, peak = look_at(s, j, &after);
        if (peak > s->aim) {
            s->over = peak < s->over ? peak : s->over;
            continue;
        }
        struct candidate *c = vec_push(&s->pool);
        if (!c)
            return false;
        int64_t major[RULES] = { (int64_t)(after - s->live), j, rule == NEWEST_FIRST ? newest(s, j) : 0 };
        *c = (struct candidate){ major[rule], peak, j };
    }
    f->end = s->pool.n;
    if (f->end > f->next) /* the pool may not even have memory yet */
        qsort(s->pool.at + f->next, f->end - f->next, sizeof(*s->pool.at), compare_candidates);
    return true;
}

static bool is_refuted(const struct search *s, uint64_t hash)
{
    uint64_t h = hash ? hash : 1;
    for (uint64_t i = h & s->mask; s->refuted[i]; i = (i + 1) & s->mask)
        if (s->refuted[i] == h)
            return true;
    return false;
}

static void insert(uint64_t *table, uint64_t mask, uint64_t h)
{
    uint64_t i = h & mask;
    while (table[i])
        i = (i + 1) & mask;
    table[i] = h;
}

/* Twice the slots; without the memory for it, or beyond the most, nothing more is remembered. */
static bool grow_refuted(struct search *s)
{
    uint64_t slots = (s->mask + 1) * 2, *table = slots <= MAX_SLOTS ? mem_array(uint64_t, slots) : NULL;
    for (uint64_t i = 0; table && i <= s->mask; i++)
        if (s->refuted[i])
            insert(table, slots - 1, s->refuted[i]);
    if (!table)
        return false;
    mem_free(s->refuted);
    s->refuted = table;
    s->mask = slots - 1;
    return true;
}

static void refute(struct search *s, uint64_t hash)
{
    if (s->n_refuted > s->mask / 2 && !grow_refuted(s))
        return;
    insert(s->refuted, s->mask, hash ? hash : 1);
    s->n_refuted++;
}

/* Is there an order with a peak of at most s->aim? If so, s->order has it. */
static enum answer attempt(struct search *s, enum rule rule, uint64_t until)
{
    uint32_t depth = 0;
    s->pool.n = 0;
    take_back(s, 0);
    for (;;) {
        run_free(s);
        if (s->n_done == s->n)
            return FOUND;
        if (s->steps >= until)
            return GAVE_UP;
        if (!is_refuted(s, s->hash)) {
            struct frame *f = &s->stack[depth++];
            *f = (struct frame){ .done = s->n_done, .hash = s->hash };
            if (!add_candidates(s, rule, f))
                return OUT_OF_MEMORY;
        }
        for (;; depth--) { /* the next candidate of the innermost choice that has one */
            if (depth == 0)
                return REFUTED;
            struct frame *f = &s->stack[depth - 1];
            take_back(s, f->done);
            if (f->next < f->end)
                break;
            refute(s, f->hash);
        }
        struct frame *f = &s->stack[depth - 1];
        uint64_t after;
        uint32_t j = s->pool.at[f->next++].job;
        s->pool.n = f->end;
        look_at(s, j, &after);
        run(s, j, after);
    }
}

/* ---- which aims ------------------------------------------------------------------------------------------------------- */

static void forget_refuted(struct search *s)
{
    for (uint64_t i = 0; s->n_refuted && i <= s->mask; i++)
        s->refuted[i] = 0;
    s->n_refuted = 0;
}

static enum answer ask(struct search *s, uint64_t aim, uint64_t share, uint64_t max_steps)
{
    enum answer a = GAVE_UP;
    s->aim = aim;
    s->over = UINT64_MAX;
    forget_refuted(s);
    for (int rule = 0; rule < RULES && a == GAVE_UP && s->steps < max_steps; rule++)
        a = attempt(s, (enum rule)rule, s->steps + share < max_steps ? s->steps + share : max_steps);
    return a;
}

static uint64_t replay(struct search *s, const uint32_t *order)
{
    uint64_t peak = 0, after;
    take_back(s, 0);
    for (uint32_t i = 0; i < s->n; i++) {
        uint64_t here = look_at(s, order[i], &after);
        peak = here > peak ? here : peak;
        run(s, order[i], after);
    }
    return peak;
}

static void keep(struct search *s, uint32_t *order, struct plan_order_result *r)
{
    for (uint32_t i = 0; i < s->n; i++)
        order[i] = s->order[i];
    r->peak = replay(s, order);
}

/* What divides all sizes: peaks in between do not exist. */
static uint64_t common_unit(const struct plan_jobs *p)
{
    uint64_t unit = 0;
    for (uint32_t i = 0; i < p->n_cells + p->n_jobs; i++) {
        uint64_t x = i < p->n_cells ? p->cells[i].bytes : p->jobs[i - p->n_cells].work;
        while (x) {
            uint64_t rest = unit % x;
            unit = x;
            x = rest;
        }
    }
    return unit ? unit : 1;
}

static enum status improve(struct search *s, uint64_t max_steps, uint32_t *order, struct plan_order_result *r)
{
    uint64_t share = max_steps / SHARES > LEAST_SHARE * (uint64_t)s->n ? max_steps / SHARES : LEAST_SHARE * (uint64_t)s->n;
    uint64_t unit = common_unit(s->p), failed = 0; /* the highest aim that was neither found nor refuted */
    while (r->peak > r->lower_bound && s->steps < max_steps) {
        uint64_t floor = failed > r->lower_bound ? failed : r->lower_bound, between = (r->peak - floor) / unit - 1;
        if (failed && !between) { /* once more from the bottom, longer */
            failed = 0;
            share *= 4;
            continue;
        }
        uint64_t aim = failed ? floor + (between + 1) / 2 * unit : r->lower_bound;
        enum answer a = ask(s, aim, share, max_steps);
        RETURN_IF(a == OUT_OF_MEMORY, ST_NO_MEMORY, "order of %u operators: no memory to search", s->n);
        if (a == FOUND)
            keep(s, order, r);
        else if (a == REFUTED)
            r->lower_bound = s->over < r->peak ? s->over : r->peak;
        else
            failed = aim;
    }
    return ST_OK;
}

static void finish(struct search *s)
{
    mem_free(s->waits);
    mem_free(s->next);
    mem_free(s->next_begin);
    mem_free(s->total);
    mem_free(s->left);
    mem_free(s->ready);
    mem_free(s->seat);
    mem_free(s->order);
    mem_free(s->before);
    mem_free(s->stack);
    mem_free(s->refuted);
    vec_finish(&s->pool);
}

static enum status allocate(struct search *s, size_t n_after)
{
    s->mask = FIRST_SLOTS - 1;
    s->waits = mem_array(uint32_t, s->n);
    s->next = mem_array(uint32_t, n_after);
    s->next_begin = mem_array(uint32_t, (size_t)s->n + 1);
    s->total = mem_array(uint32_t, s->p->n_cells);
    s->left = mem_array(uint32_t, s->p->n_cells);
    s->ready = mem_array(uint32_t, s->n);
    s->seat = mem_array(uint32_t, s->n);
    s->order = mem_array(uint32_t, s->n);
    s->before = mem_array(uint64_t, s->n);
    s->stack = mem_array(struct frame, (size_t)s->n + 1);
    s->refuted = mem_array(uint64_t, FIRST_SLOTS);
    bool ok = s->waits && s->next && s->next_begin && s->total && s->left && s->ready && s->seat && s->order && s->before &&
              s->stack && s->refuted;
    RETURN_IF(!ok, ST_NO_MEMORY, "order of %u operators: no memory", s->n);
    return ST_OK;
}

static enum status init(struct search *s, const struct plan_jobs *p)
{
    size_t n_after = 0;
    for (uint32_t j = 0; j < p->n_jobs; j++)
        n_after += p->jobs[j].n_after;
    *s = (struct search){ .p = p, .n = p->n_jobs };
    TRY(allocate(s, n_after));
    for (uint32_t j = 0; j < s->n; j++) {
        s->waits[j] = p->jobs[j].n_after;
        for (uint32_t i = 0; i < p->jobs[j].n_after; i++)
            s->next_begin[p->jobs[j].after[i] + 1]++;
        for (uint32_t i = 0; i < p->jobs[j].n_touch; i++)
            s->left[p->jobs[j].touch[i]] = ++s->total[p->jobs[j].touch[i]];
        if (!s->waits[j])
            add_ready(s, j);
    }
    for (uint32_t j = 0; j < s->n; j++)
        s->next_begin[j + 1] += s->next_begin[j];
    for (uint32_t j = s->n; j-- > 0;) /* fills each list from its beginning, which moves to its end … */
        for (uint32_t i = 0; i < p->jobs[j].n_after; i++)
            s->next[s->next_begin[p->jobs[j].after[i]]++] = j;
    for (uint32_t j = s->n; j > 0; j--) /* … and comes back */
        s->next_begin[j] = s->next_begin[j - 1];
    s->next_begin[0] = 0;
    for (uint32_t c = 0; c < p->n_cells; c++)
        s->live += p->cells[c].early ? p->cells[c].bytes : 0;
    return ST_OK;
}

enum status plan_order_peak(const struct plan_jobs *p, const uint32_t *order, uint64_t *ret)
{
    CLEANUP(finish) struct search s;
    TRY(init(&s, p));
    *ret = replay(&s, order);
    return ST_OK;
}

enum status plan_schedule(const struct plan_jobs *p, uint64_t max_steps, uint32_t *order, struct plan_order_result *ret)
{
    CLEANUP(finish) struct search s;
    TRY(init(&s, p));
    struct plan_order_result r = { 0 };
    for (uint32_t j = 0; j < s.n; j++)
        order[j] = j;
    r.peak = r.given = replay(&s, order);
    TRY(plan_order_bound(p, &r.lower_bound));
    s.steps = 0;
    TRY(improve(&s, max_steps, order, &r));
    r.steps = s.steps;
    *ret = r;
    return ST_OK;
}
