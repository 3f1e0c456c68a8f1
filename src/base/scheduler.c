/* SPDX-License-Identifier: Apache-2.0 */
/* One lock guards all lists. It is held for a few list operations, never while a thread sleeps or
 * is woken: turns that get a verdict are collected, and told behind the lock. */
#include "base/scheduler.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/forks.h"
#include "base/thread.h"

enum { SPIN_NS = 30000, SPINS_PER_LOOK = 32, NO_SPIN_MOST = 63 };

/* How long a turn lets a thread pass that comes back at once, and how many turns after a vain wait do not. */
enum { PATIENCE_NS = 1000000, NO_KEEP_MOST = 1023 };

/* Where another process computes: its thread, and that of the client which waits for it, want a core each. */
enum { REMOTE_THREADS = 2 };

/* TURN_SLEEPS tells who gives the verdict that a system call is needed. */
enum { TURN_WAITS, TURN_SLEEPS, TURN_GRANTED, TURN_CANCELLED };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle;                      /* a group that is paused has no active turn any more */
    struct sched_turn *waiting[SCHED_LEVELS]; /* by ticket */
    struct sched_turn *running;
    uint32_t n_waiting;
    uint32_t threads[SCHED_LEVELS]; /* of running turns */
    uint64_t next_ticket;
    uint32_t cores;
    _Atomic unsigned forks, forks_seen;
} device = { .lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER, .next_ticket = 1 };

/* ---- forked children -------------------------------------------------------------------------------------------------- */

/* A child has copies of all turns, but not the threads that wait or run, and perhaps a lock that
 * one of them held. The first thread that comes here begins again. */
static void begin_again(unsigned now)
{
    unsigned seen = atomic_load(&device.forks_seen);

    if (seen == now || !atomic_compare_exchange_strong(&device.forks_seen, &seen, now)) {
        while (atomic_load(&device.forks) != now)
            __builtin_ia32_pause();
        return;
    }
    pthread_mutex_init(&device.lock, NULL);
    pthread_cond_init(&device.idle, NULL);
    for (uint32_t i = 0; i < SCHED_LEVELS; i++) {
        device.waiting[i] = NULL;
        device.threads[i] = 0;
    }
    device.running = NULL;
    device.n_waiting = 0;
    atomic_store(&device.forks, now);
}

static unsigned lock_device(void)
{
    forks_watch();
    unsigned now = forks_so_far();
    if (atomic_load_explicit(&device.forks, memory_order_acquire) != now)
        begin_again(now);
    pthread_mutex_lock(&device.lock);
    if (!device.cores)
        device.cores = cpu_cores();
    return now;
}

static void unlock_device(void)
{
    pthread_mutex_unlock(&device.lock);
}

static struct sched_turn *holder(const struct sched_unit *u)
{
    return u && u->forks == device.forks ? u->holder : NULL;
}

static void hold(struct sched_unit *u, struct sched_turn *t)
{
    if (!u)
        return;
    u->holder = t;
    u->kept_for = 0;
    u->forks = device.forks;
}

static void let_go(struct sched_unit *u, const struct sched_turn *t)
{
    if (holder(u) == t)
        u->holder = NULL;
}

static bool is_kept(const struct sched_unit *u)
{
    return u && u->kept_for && u->forks == device.forks;
}

static bool is_kept_from(const struct sched_unit *u, const struct sched_turn *t)
{
    return is_kept(u) && u->kept_for != t->thread && t->level <= u->kept_level;
}

/* For a turn that does not wait any more: it was to end that after its patience. */
static void stop_keeping(struct sched_unit *u)
{
    if (is_kept(u))
        u->kept_for = 0;
}

/* The one that turns of this kind wait for most. */
static struct sched_unit *contended(struct sched_needs *n)
{
    return n->device ? n->device : &n->program;
}

static struct sched_group *fresh(struct sched_group *g)
{
    unsigned now = device.forks;
    if (g->forks != now)
        *g = (struct sched_group){ .forks = now };
    return g;
}

/* ---- backoff ---------------------------------------------------------------------------------------------------------- */

static bool is_tried(struct sched_backoff *b)
{
    if (!b->skip)
        return true;
    b->skip--;
    return false;
}

static void note(struct sched_backoff *b, bool helped, uint32_t most)
{
    uint32_t more = 2 * b->last + 1;
    if (helped)
        more = b->last / 2;
    b->last = more < most ? more : most;
    b->skip = helped ? 0 : b->last;
}

/* ---- lists ------------------------------------------------------------------------------------------------------------ */

static void insert(struct sched_turn *t)
{
    struct sched_turn **at = &device.waiting[t->level];
    while (*at && (*at)->ticket < t->ticket)
        at = &(*at)->next;
    t->next = *at;
    *at = t;
    t->queued = true;
    device.n_waiting++;
    atomic_store_explicit(&t->state, TURN_WAITS, memory_order_relaxed);
}

static void take_out(struct sched_turn *t)
{
    struct sched_turn **at = &device.waiting[t->level];
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->queued = false;
    device.n_waiting--;
    if (!t->patient)
        return;
    stop_keeping(&t->needs->program);
    stop_keeping(t->needs->device);
}

static void start(struct sched_turn *t)
{
    hold(&t->needs->program, t);
    hold(t->needs->device, t);
    t->group->active += !t->preempted;
    t->preempted = false;
    device.threads[t->level] += t->needs->threads;
    t->former = NULL;
    t->next = device.running;
    if (t->next)
        t->next->former = t;
    device.running = t;
}

/* What a turn gives up while it is preempted. */
static void stop(struct sched_turn *t)
{
    let_go(t->needs->device, t);
    device.threads[t->level] -= t->needs->threads;
    *(t->former ? &t->former->next : &device.running) = t->next;
    if (t->next)
        t->next->former = t->former;
    atomic_store_explicit(&t->give_way, 0, memory_order_relaxed);
}

static void leave_order(struct sched_turn *t)
{
    if (!t->ordered)
        return;
    struct sched_group *g = fresh(t->group);
    *(t->older ? &t->older->younger : &g->ordered[t->level]) = t->younger;
    *(t->younger ? &t->younger->older : &g->newest[t->level]) = t->older;
    t->ordered = false;
}

/* ---- the device model ------------------------------------------------------------------------------------------------- */

static bool cores_are_taken(const struct sched_turn *t)
{
    uint32_t above = 0;
    for (uint32_t i = t->level + 1; i < SCHED_LEVELS; i++)
        above += device.threads[i];
    return t->needs->threads && above >= device.cores;
}

/* Everything but the device unit and the cores, which preemption gets. */
static bool is_next(const struct sched_turn *t)
{
    const struct sched_group *g = t->group;
    if (t->preempted)
        return true;
    if (g->paused || holder(&t->needs->program) || is_kept_from(&t->needs->program, t))
        return false;
    for (uint32_t i = t->level; i < SCHED_LEVELS && !t->passes_ordered; i++)
        if (g->ordered[i] && g->ordered[i]->ticket < t->ticket)
            return false;
    return true;
}

static bool may_start(const struct sched_turn *t)
{
    bool has_device = !holder(t->needs->device) && !is_kept_from(t->needs->device, t);
    return has_device && is_next(t) && !cores_are_taken(t);
}

/* Whether a waiting turn would run now if t gave up its device unit. */
static bool is_wanted(const struct sched_turn *t)
{
    if (!t->needs->device)
        return false;

    for (uint32_t i = SCHED_LEVELS; i-- > t->level + 1;)
        for (const struct sched_turn *w = device.waiting[i]; w; w = w->next)
            if (w->needs->device == t->needs->device && is_next(w) && !cores_are_taken(w))
                return true;
    return false;
}

static void ask_to_yield(void)
{
    for (struct sched_turn *t = device.running; t; t = t->next)
        if (t->needs->preemptible && (cores_are_taken(t) || is_wanted(t)))
            atomic_store_explicit(&t->give_way, 1, memory_order_relaxed);
}

static void give_verdict(struct sched_turn *t, uint32_t verdict, struct sched_turn **told)
{
    t->verdict = verdict;
    t->told = *told;
    *told = t;
}

/* Starts every turn that may, the first in the order first, and asks those in the way of the others to yield. */
static void schedule(struct sched_turn **told)
{
    if (!device.n_waiting)
        return;
    for (uint32_t i = SCHED_LEVELS; i-- > 0;) {
        struct sched_turn *next;
        for (struct sched_turn *t = device.waiting[i]; t; t = next) {
            next = t->next;
            if (!may_start(t))
                continue;
            take_out(t);
            start(t);
            give_verdict(t, TURN_GRANTED, told);
        }
    }
    ask_to_yield();
}

static void tell(struct sched_turn *told)
{
    while (told) {
        struct sched_turn *t = told;
        told = t->told; /* a turn that has its verdict may be gone */
        if (atomic_exchange(&t->state, t->verdict) == TURN_SLEEPS)
            futex_wake(&t->state, 1);
    }
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------- */

static bool has_verdict(struct sched_turn *t)
{
    uint32_t state = atomic_load_explicit(&t->state, memory_order_acquire);
    return state == TURN_GRANTED || state == TURN_CANCELLED;
}

/* Executions of small graphs are shorter than it takes to wake a thread. Returns whether there is a verdict. */
static bool spin(struct sched_turn *t)
{
    uint64_t end = clock_ns() + SPIN_NS;
    do {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            if (has_verdict(t))
                return true;
            __builtin_ia32_pause();
        }
    } while (clock_ns() < end);
    return false;
}

/* Under lock. */
static bool will_spin(struct sched_turn *t)
{
    uint32_t others = t->needs->threads ? 0 : REMOTE_THREADS;
    if (!t->queued || t->patient || device.cores < 2 + others)
        return false;
    return is_tried(&t->needs->program.spins) && device.n_waiting + others < device.cores;
}

/* The deadline has passed. False: a verdict is on its way. */
static bool give_up(struct sched_turn *t)
{
    struct sched_turn *told = NULL;
    lock_device();
    bool gone = t->queued;
    if (gone) {
        take_out(t);
        schedule(&told);
    }
    unlock_device();
    tell(told);
    return gone;
}

/* Kept in vain: the thread did not come back. */
static void end_keep(struct sched_unit *u)
{
    if (!is_kept(u))
        return;
    u->kept_for = 0;
    note(&u->keeps, false, NO_KEEP_MOST);
}

/* From now on the turn is passed by none of its level. It begins now, or when the unit is left the next time; that
 * is soon, so it spins. */
static void end_patience(struct sched_turn *t)
{
    struct sched_turn *told = NULL;
    lock_device();
    t->patient = false;
    if (t->queued) {
        end_keep(&t->needs->program);
        end_keep(t->needs->device);
        schedule(&told);
    }
    bool spins = will_spin(t);
    unlock_device();
    tell(told);
    if (spins)
        spin(t);
}

static enum status await_verdict(struct sched_turn *t, uint64_t patient_until)
{
    uint64_t deadline = t->cancel ? t->cancel->deadline_ns : 0;
    for (;;) {
        uint32_t waits = TURN_WAITS;
        atomic_compare_exchange_strong(&t->state, &waits, TURN_SLEEPS);
        if (has_verdict(t))
            break;
        bool patience_first = patient_until && (!deadline || patient_until < deadline);
        uint64_t until = patience_first ? patient_until : deadline;
        futex_wait_until(&t->state, TURN_SLEEPS, until);
        if (!until || has_verdict(t) || clock_ns() < until)
            continue;
        if (patience_first) {
            patient_until = 0;
            end_patience(t);
            continue;
        }
        if (give_up(t))
            return ST_TIMED_OUT;
        deadline = 0;
    }
    if (atomic_load_explicit(&t->state, memory_order_acquire) == TURN_GRANTED)
        return ST_OK;
    enum status st = cancel_status(t->cancel);
    return st == ST_OK ? ST_ABORTED : st;
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

static bool lower_ones_run(const struct sched_turn *t)
{
    uint32_t below = 0;
    for (uint32_t i = 0; i < t->level; i++)
        below += device.threads[i];
    return below;
}

static enum status wait_in_queue(struct sched_turn *t)
{
    struct sched_turn *told = NULL;
    uint64_t begin = t->ordered ? t->asked_ns : clock_ns();
    insert(t);
    schedule(&told);
    t->patient = t->queued && !t->ordered && is_tried(&contended(t->needs)->keeps);
    bool spins = will_spin(t);
    uint64_t patient_until = t->patient ? begin + PATIENCE_NS : 0;
    unlock_device();
    tell(told);

    bool helped = spins && spin(t);
    enum status st = await_verdict(t, patient_until);
    t->waited_ns = clock_ns() - begin;

    if (spins) {
        lock_device();
        note(&t->needs->program.spins, helped, NO_SPIN_MOST);
        unlock_device();
    }
    return st;
}

/* ---- threads that come back ------------------------------------------------------------------------------------------- */

/* Whether turns of this level wait for the unit, and all that do, or are above it, are patient. */
static bool only_patient_ones_wait(const struct sched_turn *t, const struct sched_unit *u)
{
    bool some = false;
    for (uint32_t i = t->level; i < SCHED_LEVELS; i++)
        for (const struct sched_turn *w = device.waiting[i]; w; w = w->next) {
            if (u != &w->needs->program && u != w->needs->device)
                continue;
            if (!w->patient || i > t->level)
                return false;
            some = true;
        }
    return some;
}

/* The thread of t leaves the unit. Asynchronous executions have an order, which is kept. */
static void keep(struct sched_unit *u, const struct sched_turn *t)
{
    bool in_order = t->ordered;
    for (uint32_t i = 0; i < SCHED_LEVELS; i++)
        in_order |= t->group->ordered[i] != NULL;

    if (!u || in_order || t->group->paused || !only_patient_ones_wait(t, u))
        return;
    u->kept_for = t->thread;
    u->kept_level = t->level;
}

static void come_back(struct sched_unit *u, const struct sched_turn *t)
{
    if (!is_kept(u) || u->kept_for != t->thread)
        return;
    note(&u->keeps, true, NO_KEEP_MOST);
    if (t->level < u->kept_level)
        u->kept_for = 0;
}

enum status sched_enter(struct sched_turn *t)
{
    TRY(cancel_status(t->cancel));
    t->forks = lock_device();
    if (!t->ordered)
        t->ticket = device.next_ticket++;
    fresh(t->group);
    t->waited_ns = t->preempted_ns = t->preemptions = 0;
    t->preempted = t->queued = t->patient = false;
    t->thread = (uint64_t)pthread_self();
    come_back(&t->needs->program, t);
    come_back(t->needs->device, t);
    atomic_store_explicit(&t->give_way, 0, memory_order_relaxed);
    /* A signal that came before the lock is seen here, a later one finds the turn in the queue. */
    enum status st = cancel_status(t->cancel);
    bool at_once = st == ST_OK && may_start(t) && !device.n_waiting;
    if (st == ST_OK && !at_once)
        return wait_in_queue(t);

    if (at_once)
        start(t);
    if (at_once && t->ordered)
        t->waited_ns = clock_ns() - t->asked_ns;
    if (at_once && lower_ones_run(t))
        ask_to_yield();
    unlock_device();
    return st;
}

void sched_leave(struct sched_turn *t)
{
    struct sched_turn *told = NULL;
    unsigned now = lock_device();
    if (t->forks == now) { /* else it began before this process did */
        struct sched_group *g = t->group;
        if (!t->preempted)
            stop(t);
        let_go(&t->needs->program, t);
        if (device.n_waiting && !t->preempted) {
            keep(&t->needs->program, t);
            keep(t->needs->device, t);
        }
        leave_order(t);
        if (!--g->active && g->paused)
            pthread_cond_broadcast(&device.idle);
        schedule(&told);
    }
    unlock_device();
    tell(told);
}

void sched_order(struct sched_turn *t)
{
    t->asked_ns = clock_ns();
    t->forks = lock_device();
    struct sched_group *g = fresh(t->group);
    t->ticket = device.next_ticket++;
    t->older = g->newest[t->level];
    t->younger = NULL;
    *(t->older ? &t->older->younger : &g->ordered[t->level]) = t;
    g->newest[t->level] = t;
    t->ordered = true;
    unlock_device();
}

void sched_drop(struct sched_turn *t)
{
    struct sched_turn *told = NULL;
    if (t->forks == lock_device()) {
        leave_order(t);
        schedule(&told);
    }
    unlock_device();
    tell(told);
}

bool sched_yield_turn(struct sched_turn *t)
{
    struct sched_turn *told = NULL;
    lock_device();
    bool yields = is_wanted(t) || cores_are_taken(t);
    if (!yields) {
        atomic_store_explicit(&t->give_way, 0, memory_order_relaxed);
        unlock_device();
        return true;
    }
    uint64_t begin = clock_ns();
    stop(t);
    t->preempted = true;
    t->patient = false;
    t->preemptions++;
    insert(t);
    if (cancel_status(t->cancel) != ST_OK) {
        take_out(t);
        give_verdict(t, TURN_CANCELLED, &told);
    }
    schedule(&told);
    unlock_device();
    tell(told);

    enum status st = await_verdict(t, 0);
    t->preempted_ns += clock_ns() - begin;
    return st == ST_OK;
}

void sched_cancel(const struct cancel *c)
{
    struct sched_turn *told = NULL;
    lock_device();
    for (uint32_t i = 0; i < SCHED_LEVELS; i++) {
        struct sched_turn *next;
        for (struct sched_turn *t = device.waiting[i]; t; t = next) {
            next = t->next;
            if (t->cancel != c)
                continue;
            take_out(t);
            give_verdict(t, TURN_CANCELLED, &told);
        }
    }
    schedule(&told);
    unlock_device();
    tell(told);
}

void sched_pause(struct sched_group *g)
{
    lock_device();
    fresh(g)->paused = true;
    while (g->active)
        pthread_cond_wait(&device.idle, &device.lock);
    unlock_device();
}

void sched_resume(struct sched_group *g)
{
    struct sched_turn *told = NULL;
    lock_device();
    g->paused = false;
    schedule(&told);
    unlock_device();
    tell(told);
}

void sched_set_needs(struct sched_needs *n, struct sched_unit *device_unit, uint32_t threads, bool preemptible)
{
    lock_device();
    n->device = device_unit;
    n->threads = threads;
    n->preemptible = preemptible;
    unlock_device();
}
