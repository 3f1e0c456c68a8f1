/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a session that runs programs. It takes ids from the ring into a list of its own, does the one of highest priority (the oldest of
 * equals), and looks at the ring again. With nothing to do it spins for a while, because the next run often follows at once, and then sleeps. It
 * does not spin on the core that the client needs to ask for the next run. */
#include <sched.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "rpc/rpc_shared.h"
#include "rpc/worker.h"

struct entry {
    uint32_t program, priority;
};

struct runner {
    struct worker *w;
    struct rpc_ring *ring;
    pthread_t thread;
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
    uint32_t head = atomic_load_explicit(&r->ring->head, memory_order_relaxed), tail = atomic_load(&r->ring->tail);
    if (tail - head > RPC_MAX_PROGRAMS) /* no client of ours writes that */
        head = tail;
    for (; head != tail; head++) {
        uint32_t priority, program = atomic_load(&r->ring->entries[head % RPC_MAX_PROGRAMS]);
        if (r->n < RPC_MAX_PROGRAMS && !waiting(r, program) && worker_queued(r->w, program, &priority))
            r->queue[r->n++] = (struct entry){ program, priority };
    }
    atomic_store(&r->ring->head, head);
}

static uint32_t take_best(struct runner *r)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < r->n; i++)
        if (r->queue[i].priority > r->queue[best].priority)
            best = i;
    uint32_t program = r->queue[best].program;
    memmove(&r->queue[best], &r->queue[best + 1], (--r->n - best) * sizeof(r->queue[0]));
    return program;
}

static void *runner_main(void *arg)
{
    struct runner *r = arg;
    struct rpc_ring *ring = r->ring;
    uint64_t spin_ns = r->w->hello.spin_us * UINT64_C(1000);
    while (!atomic_load(&ring->stop)) {
        uint32_t bell = atomic_load(&ring->bell);
        uint32_t cpu = (uint32_t)sched_getcpu();
        atomic_store_explicit(&ring->session_cpu, cpu, memory_order_relaxed);
        take_in(r);
        if (r->n) {
            worker_run(r->w, take_best(r));
        } else if (!shared_spin(&ring->bell, bell, atomic_load(&ring->client_cpu) == cpu ? 0 : spin_ns)) {
            atomic_store(&ring->session_sleeps, 1);
            while (atomic_load(&ring->bell) == bell)
                shared_wait(&ring->bell, bell, 0);
            atomic_store(&ring->session_sleeps, 0);
        }
    }
    return NULL;
}

enum status runner_start(struct worker *w, struct rpc_ring *ring, struct runner **ret)
{
    struct runner *r = mem_new(struct runner);
    RETURN_IF(!r, ST_NO_MEMORY, "no memory for a session");
    r->w = w;
    r->ring = ring;
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
