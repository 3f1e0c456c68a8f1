/* SPDX-License-Identifier: Apache-2.0 */
#include "base/forks.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum { MAX_LOCKS = 32, PATIENCE_S = 3 };

_Atomic unsigned forks_counted;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Filled by constructors, when the library is opened. */
static pthread_mutex_t *locks[MAX_LOCKS];
static unsigned n_locks;
static bool held; /* between the handlers of one fork; forks of a process take turns */

static void release(unsigned from, unsigned n)
{
    while (n > 0)
        pthread_mutex_unlock(locks[(from + --n) % n_locks]);
}

/* Waits for lock `from` alone, takes the others as they are or none: no order among the locks is needed. True: all are
 * taken. Otherwise *ret_busy is the one to wait for next. */
static bool take_all(unsigned from, const struct timespec *until, unsigned *ret_busy)
{
    *ret_busy = n_locks;
    if (pthread_mutex_timedlock(locks[from], until) != 0)
        return false;
    for (unsigned i = 1; i < n_locks; i++) {
        unsigned at = (from + i) % n_locks;
        if (pthread_mutex_trylock(locks[at]) != 0) {
            release(from, i);
            *ret_busy = at;
            return false;
        }
    }
    return true;
}

/* The limit is for a fork in a callback that is called under one of the locks: then the child has to do without. */
static void before_fork(void)
{
    struct timespec until;
    unsigned busy = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    held = n_locks == 0;
    while (!held && busy < n_locks)
        held = take_all(busy, &until, &busy);
}

static void after_fork(void)
{
    if (held)
        release(0, n_locks);
    held = false;
}

static void after_fork_in_child(void)
{
    atomic_fetch_add(&forks_counted, 1);
    after_fork();
}

static void watch(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

void forks_watch(void)
{
    pthread_once(&once, watch);
}

void forks_hold(pthread_mutex_t *lock)
{
    if (n_locks < MAX_LOCKS)
        locks[n_locks++] = lock;
    forks_watch();
}
