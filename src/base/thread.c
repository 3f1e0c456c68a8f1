/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and the worker team.
 *
 * `job` counts the jobs given out: a worker that has looked at job k waits until it is no longer k. `gate` counts the
 * workers that are inside; when the caller has nothing left to do it closes the gate, and waits for those inside only. A job
 * may be announced again while the gate is open, by anybody inside: whoever has gone comes back. Who is about to sleep says
 * so first (`sleepers`, `caller_sleeps`) and the kernel checks the word again, so the other side needs a system call only
 * when somebody really sleeps. */
#include "base/fpu_mode.h"
#include "base/thread.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/forks.h"
#include "base/mem.h"

enum {
    SPIN_NS = 100000,        /* some steps of a network; to wake a core takes tens of microseconds on both sides */
    SPIN_CROWDED_NS = 20000, /* where others want the cores */
    LOST_NS = 20000,         /* between two looks of somebody who spins: somebody else had the core */
    CROWDED_WAITS = 64,      /* that are short when that was seen */
    SPINS_PER_LOOK = 16,
    LINE = 64,
    NAME_MAX_BYTES = 15,
    WORKER_NAME_MAX = 32,
    GATE_CLOSED = 1 << 30,
};

struct worker {
    struct team *team;
    unsigned index; /* 1.. */
    int nice;       /* that it begins with */
    pthread_t thread;
};

struct team {
    unsigned size;
    bool spins;       /* false: sleep at once */
    unsigned forks;   /* when the threads were started */
    team_fn *fn;      /* the job; written while the gate is closed and nobody inside */
    void *arg;
    atomic_bool stop;
    _Atomic int32_t nice; /* that workers are to have */
    _Alignas(LINE) _Atomic uint32_t job;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t crowded;             /* waits to come that are short */
    _Alignas(LINE) _Atomic uint32_t gate; /* workers inside, GATE_CLOSED: no more may come in */
    _Atomic uint32_t caller_sleeps;
    _Alignas(LINE) struct worker workers[]; /* size - 1 */
};

/* Faults of the thread itself: blocking them would turn a debugger's or sanitizer's report into a silent end. */
static const int fault_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };

static void note_crowd(struct team *t)
{
    atomic_store_explicit(&t->crowded, CROWDED_WAITS, memory_order_relaxed);
}

/* Returns whether *word changed. Who loses the core while it spins has taken it from somebody. */
static bool spin(struct team *t, _Atomic uint32_t *word, uint32_t old, uint64_t now)
{
    uint32_t crowded = atomic_load_explicit(&t->crowded, memory_order_relaxed);
    uint64_t end = now + (crowded ? SPIN_CROWDED_NS : SPIN_NS), last;
    if (crowded)
        atomic_store_explicit(&t->crowded, crowded - 1, memory_order_relaxed);
    do {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != old)
                return true;
            __builtin_ia32_pause();
        }
        last = now;
        now = clock_ns();
    } while (now < end && now - last < LOST_NS);
    if (now - last >= LOST_NS)
        note_crowd(t);
    return false;
}

/* Wait until *word differs from `old`, first spinning; `sleepers` tells the waker that a futex_wake is needed. A caller who
 * waits long waits for a worker that has lost its core, and who might go on with this one. */
static void await_change(struct team *t, _Atomic uint32_t *word, uint32_t old, bool caller)
{
    _Atomic uint32_t *sleepers = word == &t->gate ? &t->caller_sleeps : &t->sleepers;
    uint64_t begin = clock_ns();
    if (t->spins && spin(t, word, old, begin))
        return;
    atomic_fetch_add(sleepers, 1);
    while (atomic_load(word) == old)
        futex_wait(word, old);
    atomic_fetch_sub(sleepers, 1);
    if (caller && clock_ns() - begin >= SPIN_NS)
        note_crowd(t);
}

static bool enter(struct team *t)
{
    uint32_t gate = atomic_load_explicit(&t->gate, memory_order_relaxed);
    while (!(gate & GATE_CLOSED))
        if (atomic_compare_exchange_weak(&t->gate, &gate, gate + 1))
            return true;
    return false;
}

/* A worker that is late for one job may come in time for the next one before it has seen it announced: then it comes twice,
 * and finds nothing to do the second time. */
void thread_name_self(const char *name)
{
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

static void worker_name(const struct worker *w, char ret[WORKER_NAME_MAX])
{
    snprintf(ret, WORKER_NAME_MAX, "qnn-worker-%u", w->index);
}

static void *worker_main(void *p)
{
    struct worker *w = p;
    struct team *t = w->team;
    char name[WORKER_NAME_MAX];

    worker_name(w, name);
    thread_name_self(name);
    int nice = w->nice;
    for (uint32_t seen = 0;;) {
        await_change(t, &t->job, seen, false);
        seen = atomic_load(&t->job);
        if (atomic_load(&t->stop))
            return NULL;
        if (!enter(t))
            continue;
        nice = thread_set_nice(nice, atomic_load_explicit(&t->nice, memory_order_relaxed));
        t->fn(t->arg, w->index);
        if (atomic_fetch_sub(&t->gate, 1) == GATE_CLOSED + 1 && atomic_load(&t->caller_sleeps))
            futex_wake(&t->gate, 1);
    }
}

static void announce_job(struct team *t)
{
    atomic_fetch_add(&t->job, 1);
    if (atomic_load(&t->sleepers))
        futex_wake(&t->job, INT_MAX);
}

int thread_set_nice(int now, int wanted)
{
    if (now == wanted || setpriority(PRIO_PROCESS, 0, wanted)) /* 0: of the thread, on Linux */
        return now;
    return wanted;
}

void team_set_nice(struct team *t, int nice)
{
    atomic_store_explicit(&t->nice, nice, memory_order_relaxed);
}

static bool threads_are_gone(const struct team *t)
{
    return t->forks != forks_so_far();
}

enum status thread_start(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg)
{
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(fault_signals) / sizeof(fault_signals[0]); i++)
        sigdelset(&blocked, fault_signals[i]);

    pthread_t thread;
    FPU_DEFAULT_MODE(mode);                          /* both are inherited by the new thread */
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int err = pthread_create(&thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    RETURN_IF(err, ST_SYSTEM, "thread \"%s\" could not be started: %s; check the limits on threads and memory",
              name ? name : "", strerrordesc_np(err));
    if (name) {
        char cut[NAME_MAX_BYTES + 1];
        snprintf(cut, sizeof(cut), "%s", name);
        pthread_setname_np(thread, cut);
    }
    *ret = thread;
    return ST_OK;
}

enum status team_create(unsigned workers, struct team **ret)
{
    RETURN_IF(workers < 1 || workers > TEAM_MAX, ST_INVALID_ARG, "a team of %u threads; allowed are 1 to %d", workers,
              TEAM_MAX);
    struct team *t = mem_alloc_aligned(LINE, sizeof(*t) + (workers - 1) * sizeof(t->workers[0]));
    RETURN_IF(!t, ST_NO_MEMORY, "out of memory for a team of %u threads", workers);
    unsigned cores = cpu_cores();
    t->spins = cores > 1 && workers <= cores; /* do not spin away the core that the other side needs */
    forks_watch();
    t->forks = forks_so_far();
    atomic_store(&t->gate, GATE_CLOSED);
    int nice = getpriority(PRIO_PROCESS, 0); /* which new threads inherit */
    team_set_nice(t, nice);
    for (t->size = 1; t->size < workers; t->size++) {
        struct worker *w = &t->workers[t->size - 1];
        *w = (struct worker){ .team = t, .index = t->size, .nice = nice };
        char name[WORKER_NAME_MAX];
        worker_name(w, name);
        enum status st = thread_start(&w->thread, name, worker_main, w);
        if (st != ST_OK) {
            team_free(t); /* joins those that run */
            return st;
        }
    }
    *ret = t;
    return ST_OK;
}

void team_free(struct team *t)
{
    if (!t)
        return;
    if (!threads_are_gone(t)) {
        atomic_store(&t->stop, true);
        announce_job(t);
        for (unsigned i = 1; i < t->size; i++)
            pthread_join(t->workers[i - 1].thread, NULL);
    }
    mem_free(t);
}

unsigned team_size(const struct team *t)
{
    return t->size;
}

void team_open(struct team *t, team_fn *fn, void *arg)
{
    t->fn = fn;
    t->arg = arg;
    if (!threads_are_gone(t))
        atomic_store(&t->gate, 0);
}

void team_call(struct team *t)
{
    if (t->size > 1 && !threads_are_gone(t))
        announce_job(t);
}

uint32_t team_calls(const struct team *t)
{
    return atomic_load(&t->job);
}

void team_wait(struct team *t, uint32_t calls)
{
    await_change(t, &t->job, calls, true);
}

void team_close(struct team *t)
{
    if (threads_are_gone(t))
        return;
    atomic_fetch_or(&t->gate, GATE_CLOSED);
    for (uint32_t inside; (inside = atomic_load(&t->gate)) != GATE_CLOSED;)
        await_change(t, &t->gate, inside, true);
}

void team_run(struct team *t, team_fn *fn, void *arg)
{
    team_open(t, fn, arg);
    team_call(t);
    fn(arg, 0);
    team_close(t);
}

void futex_wait(_Atomic uint32_t *word, uint32_t expected)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void futex_wait_until(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
    if (!deadline_ns) {
        futex_wait(word, expected);
        return;
    }
    struct timespec until = { (time_t)(deadline_ns / 1000000000), (long)(deadline_ns % 1000000000) };
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}
