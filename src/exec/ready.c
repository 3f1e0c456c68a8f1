/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which commands run. Without a team: the one they are in. With one, workers take commands of the first step
 * that has some left and waits for nobody (depend.c); so operators beside each other share the threads, and a worker that
 * finds nothing left in a step goes on to the next one that is ready.
 *
 * Before a step as a whole is ready, commands of it may be that need little of the step before (near.c): a worker takes
 * those that are its own.
 *
 * There is no list of what is ready. A worker looks from the first step that is not done (`low`) as far as steps need not
 * wait for that one (`ahead`): in a straight network that is a step or two. Whoever takes a command and sees more calls
 * those who are idle; they leave when they find nothing. Only the caller waits, for commands that others have taken. */
#include "base/clock.h"
#include "base/mem.h"
#include "exec/program.h"

enum { LATE_NS = 5000, LOST_MOST = 3, ALONE_MOST = 63 };

/* What a worker took, or that there is nothing for it. */
struct taken {
    uint32_t command, step;
    bool all_done;
};

static bool halting(const struct exec_job *j)
{
    return atomic_load_explicit(&j->halting, memory_order_relaxed);
}

static bool resting(const struct exec_job *j)
{
    return atomic_load_explicit(&j->resting, memory_order_relaxed);
}

static bool is_set(const _Atomic uint32_t *word)
{
    return word && atomic_load_explicit(word, memory_order_relaxed);
}

/* What has been begun is finished in any case. */
static bool may_begin(struct exec_job *j, uint32_t step)
{
    if (is_set(j->pause))
        atomic_store_explicit(&j->halting, 1, memory_order_relaxed);
    return step < j->limit && !halting(j);
}

/* Commands are short, so whoever is to come first waits for one of them. */
static bool rests(struct exec_job *j, unsigned worker)
{
    if (!worker && j->owed)
        return false;
    if (is_set(j->give_way))
        atomic_store_explicit(&j->resting, 1, memory_order_relaxed);
    return resting(j);
}

/* In one order for all: of two workers who end a step each in the same moment and then look at the other's, one at least
 * must see that it is done, or both leave and nobody takes what waited for the two. */
static bool is_done(const struct exec_program *p, uint32_t step)
{
    return atomic_load_explicit(&p->turns[step].done, memory_order_seq_cst);
}

/* Steps before `low` are done. */
static bool all_done(const struct exec_program *p, uint32_t step, uint32_t low, uint32_t waits)
{
    for (waits &= (1u << (step - low)) - 1; waits; waits &= waits - 1)
        if (!is_done(p, step - 1 - (uint32_t)__builtin_ctz(waits)))
            return false;
    return true;
}

static bool is_ready(const struct exec_program *p, uint32_t step, uint32_t low)
{
    return all_done(p, step, low, p->steps[step].waits);
}

/* Of a near step whose far waits are over. */
static bool has_needs(const struct exec_program *p, uint32_t step, uint32_t at)
{
    struct exec_need need = p->needs[p->steps[step].begin + at];
    for (uint32_t i = need.begin; i < need.end; i++)
        if (atomic_load_explicit(&p->turns[step - 1].state[i], memory_order_acquire) != COMMAND_DONE)
            return false;
    return true;
}

static uint32_t first_not_done(struct exec_program *p)
{
    struct exec_job *j = p->job;
    uint32_t low = atomic_load_explicit(&j->low, memory_order_acquire), was = low;
    while (low < j->limit && is_done(p, low))
        low++;
    if (low != was) /* somebody may have been further: it is a place to begin at, not the truth */
        atomic_store_explicit(&j->low, low, memory_order_release);
    return low;
}

static uint32_t look_until(const struct exec_program *p, uint32_t low)
{
    uint32_t end = p->in_order ? low + 1 : p->steps[low].ahead;
    return end - low < EXEC_WINDOW ? end : low + EXEC_WINDOW;
}

static bool has_command(const struct exec_program *p, uint32_t step)
{
    return atomic_load_explicit(&p->turns[step].next, memory_order_relaxed) < p->steps[step].end;
}

/* A phase is a few microseconds. Where the system takes the core of somebody who computes one, all wait for as long as
 * hundreds of them: then one thread does the rest. */
static bool worth_calling(const struct exec_program *p, uint32_t step)
{
    return !p->steps[step].phase || !atomic_load_explicit(&p->job->late, memory_order_relaxed);
}

/* The caller waits for commands that others have taken. For a phase that should not take longer than its own part of it. */
static void wait_for_others(struct exec_program *p, uint32_t calls)
{
    uint32_t low = atomic_load_explicit(&p->job->low, memory_order_relaxed);
    uint64_t begin = clock_ns(), own = begin - p->phase_begin;
    team_wait(p->team, calls);
    if (low == p->g->n_steps || !p->steps[low].phase)
        return;
    p->lost_phases += (clock_ns() - begin) / (own + LATE_NS);
    if (p->lost_phases >= LOST_MOST)
        atomic_store_explicit(&p->job->late, 1, memory_order_relaxed);
}

/* Something that is worth a thread is ready behind the step. */
static bool more_behind(const struct exec_program *p, uint32_t step, uint32_t low)
{
    for (uint32_t s = step + 1, end = look_until(p, low); s < end; s++)
        if (p->steps[s].heavy && has_command(p, s) && is_ready(p, s, low))
            return true;
    return false;
}

static bool claim(struct exec_program *p, uint32_t step, uint32_t at)
{
    uint8_t free = COMMAND_FREE;
    _Atomic uint8_t *state = &p->turns[step].state[at];
    return atomic_load_explicit(state, memory_order_relaxed) == COMMAND_FREE &&
           atomic_compare_exchange_strong_explicit(state, &free, COMMAND_TAKEN, memory_order_relaxed, memory_order_relaxed);
}

/* Each worker begins with its own part of a step, so that it reads what it has written in the step before; then it helps
 * others. Returns a command counted from the first one of the step, or how many there are: none is left. */
static uint32_t claim_any(struct exec_program *p, uint32_t step, unsigned worker)
{
    uint32_t n = p->steps[step].end - p->steps[step].begin, at = (uint32_t)((uint64_t)n * worker / team_size(p->team));
    for (uint32_t i = 0; i < n; i++, at = at + 1 < n ? at + 1 : 0)
        if (claim(p, step, at))
            return at;
    return n;
}

/* The same before the step is ready: only what is the worker's own, and has what it needs. */
static uint32_t claim_own(struct exec_program *p, uint32_t step, unsigned worker)
{
    uint64_t n = p->steps[step].end - p->steps[step].begin, size = team_size(p->team);
    for (uint32_t at = (uint32_t)(n * worker / size), end = (uint32_t)(n * (worker + 1) / size); at < end; at++)
        if (has_needs(p, step, at) && claim(p, step, at))
            return at;
    return (uint32_t)n;
}

/* `before`: the commands of the step that others took first. */
static bool take_from(struct exec_program *p, uint32_t s, uint32_t low, unsigned worker, struct taken *ret, uint32_t *before)
{
    const struct exec_step *step = &p->steps[s];
    struct exec_turn *turn = &p->turns[s];
    uint32_t n = step->end - step->begin, at = n;
    bool ready = is_ready(p, s, low), near = !ready && step->near && !p->in_order && all_done(p, s, low, step->far);
    ret->step = s;
    if (ready && n > EXEC_OWN) {
        *before = atomic_fetch_add_explicit(&turn->next, 1, memory_order_relaxed) - step->begin;
        ret->command = step->begin + *before;
        return *before < n;
    }
    if (ready || near)
        at = ready ? claim_any(p, s, worker) : claim_own(p, s, worker);
    if (at == n)
        return false;
    *before = atomic_fetch_add_explicit(&turn->next, 1, memory_order_relaxed) - step->begin;
    ret->command = step->begin + at;
    return true;
}

/* There is something for others: commands of a step that was not begun or has just become ready, or a step behind it.
 * `fresh`: the worker has just ended a step, so that nobody has been called for what waited for it. */
static bool more_for_others(const struct exec_program *p, uint32_t s, uint32_t low, uint32_t before, bool fresh)
{
    bool last = p->steps[s].begin + before + 1 >= p->steps[s].end;
    return worth_calling(p, s) && (((before == 0 || fresh) && !last) || ((last || fresh) && more_behind(p, s, low)));
}

static bool take(struct exec_program *p, unsigned worker, bool fresh, struct taken *ret)
{
    uint32_t low = first_not_done(p), end = low < p->job->limit ? look_until(p, low) : low;
    ret->all_done = low == p->job->limit;
    for (uint32_t s = low; s < end && !rests(p->job, worker); s++) {
        const struct exec_step *step = &p->steps[s];
        uint32_t next = atomic_load_explicit(&p->turns[s].next, memory_order_relaxed), before;
        if (next >= step->end || (next == step->begin && !may_begin(p->job, s)) ||
            !take_from(p, s, low, worker, ret, &before))
            continue;
        if (!worker)
            p->job->owed = false;
        if (more_for_others(p, s, low, before, fresh))
            team_call(p->team);
        return true;
    }
    return false;
}

/* Returns whether that was the last command of the step. */
static bool finish(struct exec_program *p, const struct taken *t)
{
    const struct exec_step *step = &p->steps[t->step];
    struct exec_turn *turn = &p->turns[t->step];
    if (step->end - step->begin <= EXEC_OWN)
        atomic_store_explicit(&turn->state[t->command - step->begin], COMMAND_DONE, memory_order_release);
    if (atomic_fetch_sub_explicit(&turn->left, 1, memory_order_acq_rel) != 1) {
        /* Somebody may have waited for this command alone; of two workers the other one is at work. */
        if (t->step + 1 < p->job->limit && step[1].near && team_size(p->team) > 2)
            team_call(p->team);
        return false;
    }
    for (uint32_t i = step->begin; i < step->end; i++)
        early_after(p, p->commands[i].node);
    atomic_store_explicit(&turn->done, 1, memory_order_seq_cst);
    return true;
}

static void work(void *arg, unsigned worker)
{
    struct exec_program *p = arg;
    struct exec_job *j = p->job;
    for (bool fresh = false, worked = false;;) {
        struct taken t = { 0 };
        uint32_t calls = team_calls(p->team);
        bool stopped = atomic_load_explicit(&j->stop, memory_order_relaxed), got = !stopped && take(p, worker, fresh, &t);
        worked |= got;
        if (got && !worker && p->steps[t.step].phase)
            p->phase_begin = clock_ns();
        if (got && command_run(p, t.command, worker)) {
            fresh = finish(p, &t);
            continue;
        }
        bool over = got || stopped || t.all_done || halting(j) || resting(j);
        /* The caller may be waiting: at the end for the one who ended the last step, and when a run stops before that for
         * anybody at work, who may have gone on with phases that nobody was called for. */
        if (over && worker && (t.all_done ? fresh : worked))
            team_call(p->team);
        if (over || worker)
            return;
        wait_for_others(p, calls);
        fresh = false;
    }
}

static void begin_turns(struct exec_program *p, uint32_t from)
{
    for (uint32_t s = from; s < p->g->n_steps; s++) {
        const struct exec_step *step = &p->steps[s];
        atomic_store_explicit(&p->turns[s].next, step->begin, memory_order_relaxed);
        atomic_store_explicit(&p->turns[s].left, step->end - step->begin, memory_order_relaxed);
        atomic_store_explicit(&p->turns[s].done, step->begin == step->end, memory_order_relaxed);
        for (uint32_t i = 0; i < EXEC_OWN && i < step->end - step->begin; i++)
            atomic_store_explicit(&p->turns[s].state[i], COMMAND_FREE, memory_order_relaxed);
    }
    atomic_store_explicit(&p->job->low, from, memory_order_relaxed);
}

static uint32_t share_out(struct exec_program *p)
{
    team_open(p->team, work, p);
    work(p, 0);
    team_close(p->team);
    return first_not_done(p);
}

/* One step from where it is; false: it is not done. */
static bool walk_step(struct exec_program *p, uint32_t s)
{
    const struct exec_step *step = &p->steps[s];
    struct exec_job *j = p->job;
    j->next = j->next > step->begin ? j->next : step->begin;
    if (j->next == step->begin && !may_begin(j, s))
        return false;
    for (; j->next < step->end; j->next++) {
        if (rests(j, 0) || !command_run(p, j->next, 0))
            return false;
        j->owed = false;
    }
    for (uint32_t i = step->begin; i < step->end; i++)
        early_after(p, p->commands[i].node);
    return true;
}

static uint32_t walk(struct exec_program *p, uint32_t low)
{
    while (low < p->job->limit && walk_step(p, low))
        low++;
    return low;
}

/* Steps up to the last one that was begun. */
static uint32_t begun(const struct exec_program *p, uint32_t low)
{
    uint32_t end = low;
    if (!p->team)
        return low < p->g->n_steps && p->job->next > p->steps[low].begin ? low + 1 : low;
    for (uint32_t s = low; s < p->job->limit && s - low < EXEC_WINDOW; s++)
        if (atomic_load_explicit(&p->turns[s].next, memory_order_relaxed) != p->steps[s].begin)
            end = s + 1;
    return end;
}

/* From `low`, before which all is done, to `limit` or a word that is set; returns where. Again all before that is done, and
 * steps behind it are untouched unless the run rests. */
static uint32_t run_until(struct exec_program *p, uint32_t low, uint32_t limit, bool watch, const struct exec_run *r)
{
    struct exec_job *j = p->job;
    atomic_store_explicit(&j->halting, 0, memory_order_relaxed);
    atomic_store_explicit(&j->resting, 0, memory_order_relaxed);
    j->limit = limit;
    j->pause = watch ? r->pause : NULL;
    j->give_way = watch && r->between ? r->give_way : NULL;
    j->owed = true;
    low = p->team ? share_out(p) : walk(p, low);
    p->begun = begun(p, low);
    bool stopped = atomic_load_explicit(&j->stop, memory_order_relaxed), rest = resting(j) && !halting(j);
    return stopped || rest || p->begun == low ? low : run_until(p, low, p->begun, false, r);
}

/* A run that was cancelled while others ran may not use its team any more. */
static void stop_if_cancelled(struct exec_job *j)
{
    enum status st = cancel_status(j->cancel);
    if (st != ST_OK)
        atomic_store_explicit(&j->stop, st, memory_order_relaxed);
}

/* Returns the first step that is not done. */
static uint32_t run_steps(struct exec_program *p, const struct exec_run *r)
{
    uint32_t low = p->begun = r->step, n = p->g->n_steps;
    bool by_step = r->between && !r->give_way;
    while (low < n && !is_set(r->pause) && !atomic_load_explicit(&p->job->stop, memory_order_relaxed)) {
        if (p->begun && (by_step || (r->between && is_set(r->give_way)))) {
            r->between(r->between_arg, low);
            stop_if_cancelled(p->job);
        }
        if (atomic_load_explicit(&p->job->stop, memory_order_relaxed))
            break;
        low = run_until(p, low, by_step ? low + 1 : n, !by_step, r);
    }
    bool stopped = atomic_load_explicit(&p->job->stop, memory_order_relaxed);
    return stopped || p->begun == low ? low : run_until(p, low, p->begun, false, r); /* a pause while it rested */
}

/* After a run in which somebody was late, the next ones compute phases alone: one, three, seven … as long as that goes on,
 * and less again when it does not. */
static void note_late(struct exec_program *p, bool alone)
{
    if (alone) {
        p->alone_runs--;
        return;
    }
    bool late = atomic_load_explicit(&p->job->late, memory_order_relaxed);
    uint32_t more = 2 * p->alone_after + 1;
    p->alone_after = !late ? p->alone_after / 2 : more < ALONE_MOST ? more : ALONE_MOST;
    p->alone_runs = late ? p->alone_after : 0;
}

enum status ready_run(struct exec_program *p, struct exec_run *r)
{
    bool alone = p->alone_runs > 0;
    p->lost_phases = 0;
    atomic_store_explicit(&p->job->late, alone, memory_order_relaxed);
    if (!r->step)
        early_begin(p);
    if (p->team)
        begin_turns(p, r->step);
    p->job->next = r->step < p->g->n_steps ? p->steps[r->step].begin : 0;
    uint32_t step = run_steps(p, r);
    note_late(p, alone);
    enum status st = (enum status)atomic_load_explicit(&p->job->stop, memory_order_relaxed);
    const char *graph = p->g->info.name;
    if (st == ST_PACKAGE_OP)
        return outside_failed(p);
    RETURN_IF(st != ST_OK, st, "graph \"%s\": %s after step %u of %u", graph,
              st == ST_ABORTED ? "aborted by its signal" : "past the time of its signal", step, p->g->n_steps);
    r->step = step < p->g->n_steps ? step : 0;
    RETURN_IF(step < p->g->n_steps, ST_PAUSED,
              "graph \"%s\" is paused before step %u of %u; resume it and execute again with the same tensors", graph, step,
              p->g->n_steps);
    return early_end(p, r->io);
}

enum status ready_load(struct exec_program *p)
{
    if (!p->team)
        return ST_OK;
    p->turns = mem_alloc_aligned(_Alignof(struct exec_turn), p->g->n_steps * sizeof(struct exec_turn));
    RETURN_IF(!p->turns && p->g->n_steps, ST_NO_MEMORY, "graph \"%s\": no memory for %u steps", p->g->info.name,
              p->g->n_steps);
    TRY(depend_load(p->g, p->phased, p->steps));
    for (uint32_t s = 0; s < p->g->n_steps; s++) {
        p->parallel |= p->steps[s].beside > s + 1;
        p->steps[s].phase = p->steps[s].begin < p->steps[s].end && p->phased[p->commands[p->steps[s].begin].node];
    }
    return ST_OK;
}
