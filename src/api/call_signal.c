/* SPDX-License-Identifier: Apache-2.0 */
#include "api/call_signal.h"

#include <errno.h>

#include "base/clock.h"

/* How often a call that waits for a lock looks at its signal: a lock cannot be woken by one. */
#define LOOK_NS UINT64_C(2000000)

enum status call_check(const struct cancel *cancel, const char *what)
{
    enum status st = cancel_status(cancel);

    if (st == ST_ABORTED)
        return status_fail(st, "%s was aborted by its signal", what);
    if (st == ST_TIMED_OUT)
        return status_fail(st, "%s ran past the time of its signal", what);
    return ST_OK;
}

enum status call_lock(pthread_mutex_t *mutex, const struct cancel *cancel, const char *what)
{
    if (!cancel) {
        pthread_mutex_lock(mutex);
        return ST_OK;
    }

    for (;;) {
        uint64_t until_ns = clock_ns() + LOOK_NS;
        struct timespec until = { (time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000) };

        TRY(call_check(cancel, what));
        if (pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
            return ST_OK;
    }
}
