/* SPDX-License-Identifier: Apache-2.0 */
/* Forked children have a copy of all memory and one thread: whoever counts on others asks whether they came along. */
#ifndef BASE_FORKS_H
#define BASE_FORKS_H

#include <pthread.h>
#include <stdatomic.h>

extern _Atomic unsigned forks_counted;

void forks_watch(void); /* before the first of two numbers that are compared */

/* How many forks lie between the process that watched first and this one. */
static inline unsigned forks_so_far(void)
{
    return atomic_load_explicit(&forks_counted, memory_order_relaxed);
}

/* Locks of the whole library are free in a child: a fork waits until it has them all, so that no other thread, which the
 * child lacks, holds one. For a lock with static storage, once per lock:
 *
 *     static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
 *     FORKS_HOLD(lock)
 */
void forks_hold(pthread_mutex_t *lock);
#define FORKS_HOLD(lock)                                             \
    __attribute__((constructor)) static void forks_hold_##lock(void) \
    {                                                                \
        forks_hold(&lock);                                           \
    }

#endif
