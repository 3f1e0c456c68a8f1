/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cancel_lock.h"

#include <errno.h>

enum status cancel_lock(pthread_mutex_t *mutex, const struct cancel *cancel)
{
    if (!cancel) {
        pthread_mutex_lock(mutex);
        return ST_OK;
    }

    for (;;) {
        uint64_t until_ns = clock_ns() + CANCEL_LOOK_NS;
        struct timespec until = { (time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000) };
        enum status st = cancel_status(cancel);

        if (st != ST_OK)
            return st;
        if (pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
            return ST_OK;
    }
}
