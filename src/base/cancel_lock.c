/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cancel_lock.h"

#include <errno.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

/* A lock before a moment of the monotonic clock. The thread sanitizer of GCC 12 does not know that call, and takes the lock
 * for one that is never held: there a moment of the other clock does. */
static bool lock_until(pthread_mutex_t *mutex, uint64_t until_ns)
{
#ifdef __SANITIZE_THREAD__
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t wait_ns = until_ns - clock_ns() < CANCEL_LOOK_NS ? until_ns - clock_ns() : 0;
    const uint64_t real_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec + wait_ns;
    const struct timespec until = { (time_t)(real_ns / NS_PER_S), (long)(real_ns % NS_PER_S) };
    return pthread_mutex_timedlock(mutex, &until) != ETIMEDOUT;
#else
    const struct timespec until = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };
    return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until) != ETIMEDOUT;
#endif
}

enum status cancel_lock(pthread_mutex_t *mutex, const struct cancel *cancel)
{
    if (!cancel) {
        pthread_mutex_lock(mutex);
        return ST_OK;
    }

    for (;;) {
        enum status st = cancel_status(cancel);

        if (st != ST_OK)
            return st;
        if (lock_until(mutex, clock_ns() + CANCEL_LOOK_NS))
            return ST_OK;
    }
}
