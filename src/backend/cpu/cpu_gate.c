/* SPDX-License-Identifier: Apache-2.0 */
/* Who may run on a context's team. Waiters queue on their own stacks; nothing is allocated. */
#include "backend/cpu/cpu_backend.h"

#include <time.h>

#include "base/clock.h"

/* A waiter with a signal looks at it this often: signals are flags that wake nobody. */
enum { LOOK_NS = 1000000 };

struct cpu_waiter {
    struct cpu_waiter *next;
    uint32_t priority;
};

static void queue_in(struct cpu_gate *g, struct cpu_waiter *w)
{
    struct cpu_waiter **at = &g->waiting;
    while (*at && (*at)->priority >= w->priority)
        at = &(*at)->next;
    w->next = *at;
    *at = w;
}

static void queue_out(struct cpu_gate *g, struct cpu_waiter *w)
{
    struct cpu_waiter **at = &g->waiting;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
}

static enum status looked_at(const struct cancel *c)
{
    if (atomic_load_explicit(&c->abort, memory_order_relaxed))
        return status_fail(ST_ABORTED, "aborted by its signal while waiting for another execution of the context");
    if (c->deadline_ns && clock_ns() >= c->deadline_ns)
        return status_fail(ST_TIMED_OUT, "past the time of its signal while waiting for another execution of the context");
    return ST_OK;
}

static void wait_a_moment(struct cpu_gate *g)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += LOOK_NS;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    pthread_cond_timedwait(&g->turn, &g->lock, &t);
}

enum status cpu_gate_enter(struct cpu_gate *g, uint32_t priority, const struct cancel *cancel)
{
    enum status st = ST_OK;
    struct cpu_waiter self = { .priority = priority };
    pthread_mutex_lock(&g->lock);
    queue_in(g, &self);
    while (st == ST_OK && (g->busy || g->waiting != &self)) {
        if (cancel) {
            wait_a_moment(g);
            st = looked_at(cancel);
        } else {
            pthread_cond_wait(&g->turn, &g->lock);
        }
    }
    queue_out(g, &self);
    if (st == ST_OK)
        g->busy = true;
    else
        pthread_cond_broadcast(&g->turn);
    pthread_mutex_unlock(&g->lock);
    return st;
}

void cpu_gate_leave(struct cpu_gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->busy = false;
    if (g->waiting)
        pthread_cond_broadcast(&g->turn);
    pthread_mutex_unlock(&g->lock);
}

enum status cpu_gate_init(struct cpu_gate *g)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    int failed = pthread_cond_init(&g->turn, &attr);
    pthread_condattr_destroy(&attr);
    RETURN_IF(failed, ST_SYSTEM, "the context's queue could not be made");
    if (pthread_mutex_init(&g->lock, NULL)) {
        pthread_cond_destroy(&g->turn);
        return status_fail(ST_SYSTEM, "the context's lock could not be made");
    }
    return ST_OK;
}

void cpu_gate_finish(struct cpu_gate *g)
{
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->turn);
}
