/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a lane that runs programs. It takes ids from the ring into a list of its own, does the one of highest
 * priority (the oldest of equals), and looks at the ring again. With nothing to do it spins for a while, because the next
 * run often follows at once, and then sleeps. It does not spin on the core that the client needs to ask for the next run.
 *
 * It also looks between the commands of a run. What is of higher priority runs right there, on the same thread, and the run
 * that gave way goes on behind it:
 *
 *     low    step 0, a part of step 1 | saved                              restored | the rest of step 1, …
 *     high                                    all steps of high, then of whatever else is above low */
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "rpc/rpc_shared.h"
#include "rpc/worker.h"

enum { HOLD_LOOK_NS = 20 * 1000000 };
#define HOLD_MOST_NS (UINT64_C(60) * 1000000000)

struct entry {
    uint32_t program, priority;
};

struct runner {
    struct worker *w;
    uint32_t lane;
    struct rpc_ring *ring;
    pthread_t thread;
    struct worker_hook hook;
    uint32_t bell; /* when the ring was last looked at */
    uint32_t n;
    struct entry queue[RPC_MAX_PROGRAMS]; /* in the order they came */
};

static bool waiting(const struct runner *r, uint32_t program)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->queue[i].program == program)
            return true;
    return false;
}

static void take_in(struct runner *r)
{
    r->bell = atomic_load(&r->ring->bell);
    atomic_store(&r->ring->rang, 0); /* before the look at the tail: what comes behind it rings again */
    uint32_t head = atomic_load_explicit(&r->ring->head, memory_order_relaxed), tail = atomic_load(&r->ring->tail);
    if (tail - head > RPC_MAX_PROGRAMS) /* no client of ours writes that */
        atomic_store(&r->ring->head, head = tail);
    while (head != tail) {
        uint32_t priority, program = atomic_load(&r->ring->entries[head++ % RPC_MAX_PROGRAMS]);
        /* Before the look at the call: a client that runs the program again says so first and then looks here, so one of
         * the two sees the other. */
        atomic_store(&r->ring->head, head);
        if (r->n < RPC_MAX_PROGRAMS && !waiting(r, program) && worker_queued(r->w, r->lane, program, &priority))
            r->queue[r->n++] = (struct entry){ program, priority };
    }
}

static uint32_t best_of_all(const struct runner *r)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < r->n; i++)
        if (r->queue[i].priority > r->queue[best].priority)
            best = i;
    return best;
}

/* Clients leave a run alone that theirs could not interrupt. What came before they could see whose turn it is has not rung:
 * it is in the ring, and the run looks there at once. */
static void tell_running(struct runner *r, uint32_t priority)
{
    atomic_store(&r->ring->running, priority);
    if (atomic_load(&r->ring->tail) != atomic_load_explicit(&r->ring->head, memory_order_relaxed))
        atomic_store(&r->ring->rang, 1);
}

static struct entry take(struct runner *r, uint32_t i)
{
    struct entry e = r->queue[i];
    memmove(&r->queue[i], &r->queue[i + 1], (--r->n - i) * sizeof(r->queue[0]));
    tell_running(r, e.priority);
    return e;
}

/* Inside of another run, which others may be waiting for: nothing is waited for here. False: it is in the queue again. */
static bool run_inside(struct runner *r, uint32_t i)
{
    struct entry e = take(r, i);
    if (worker_run_now(r->w, e.program, &r->hook))
        return true;
    r->queue[r->n++] = e;
    return false;
}

/* ---- giving way ------------------------------------------------------------------------------------------------------- */

/* The best of those that may run before p goes on; r->n: none. */
static uint32_t above(const struct runner *r, const struct worker_program *p)
{
    uint32_t best = r->n;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->queue[i].priority > (best < r->n ? r->queue[best].priority : p->priority) &&
            worker_may_interrupt(r->w, p, r->queue[i].program))
            best = i;
    return best;
}

/* OPENQNN_FAULT=yield@N:STEP: wait for somebody to give way to. */
static void hold(struct runner *r, const struct worker_program *p)
{
    uint64_t end = clock_ns() + HOLD_MOST_NS;
    while (take_in(r), above(r, p) == r->n) {
        if (atomic_load(&r->ring->stop) || worker_is_late(p) || clock_ns() >= end)
            return;
        atomic_store(&r->ring->session_sleeps, 1);
        shared_wait(&r->ring->bell, r->bell, HOLD_LOOK_NS);
        atomic_store(&r->ring->session_sleeps, 0);
    }
}

static void between_steps(void *arg, struct worker_program *p, uint32_t step)
{
    struct runner *r = arg;
    if (p->hold > step) /* there and nowhere else */
        return;
    if (p->hold && p->hold == step) /* 0: no fault was asked for, and steps begin with 0 */
        hold(r, p);
    else
        take_in(r);
    uint32_t next = above(r, p);
    if (next == r->n)
        return;
    worker_yield(r->w, p, step);
    bool did;
    do {
        did = run_inside(r, next);
        tell_running(r, p->priority);
        take_in(r);
    } while (did && (next = above(r, p)) < r->n);
    worker_resume(r->w, p);
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static void *runner_main(void *arg)
{
    struct runner *r = arg;
    thread_name_self("qnn-session");
    struct rpc_ring *ring = r->ring;
    uint64_t spin_ns = r->w->hello.spin_us * UINT64_C(1000);
    while (!atomic_load(&ring->stop)) {
        uint32_t cpu = (uint32_t)sched_getcpu();
        atomic_store_explicit(&ring->session_cpu, cpu, memory_order_relaxed);
        take_in(r);
        if (r->n) {
            worker_run(r->w, take(r, best_of_all(r)).program, &r->hook);
        } else if (!shared_spin(&ring->bell, r->bell, atomic_load(&ring->client_cpu) == cpu ? 0 : spin_ns)) {
            atomic_store(&ring->session_sleeps, 1);
            /* Who stops it rings behind that: it may have been the ringing that take_in has just seen. */
            while (atomic_load(&ring->bell) == r->bell && !atomic_load(&ring->stop))
                shared_wait(&ring->bell, r->bell, 0);
            atomic_store(&ring->session_sleeps, 0);
        }
    }
    return NULL;
}

enum status runner_start(struct worker *w, uint32_t lane, struct rpc_ring *ring, struct runner **ret)
{
    struct runner *r = mem_new(struct runner);
    RETURN_IF(!r, ST_NO_MEMORY, "no memory for a session");
    r->w = w;
    r->lane = lane;
    r->ring = ring;
    r->hook = (struct worker_hook){ between_steps, r, &ring->rang };
    enum status st = thread_start(&r->thread, "qnn-session", runner_main, r);
    if (st != ST_OK) {
        mem_free(r);
        return st;
    }
    *ret = r;
    return ST_OK;
}

void runner_stop(struct runner *r)
{
    if (!r)
        return;
    atomic_store(&r->ring->stop, 1);
    atomic_fetch_add(&r->ring->bell, 1);
    shared_wake(&r->ring->bell);
    pthread_join(r->thread, NULL);
    mem_free(r);
}
