/* SPDX-License-Identifier: Apache-2.0 */
#include "api/call_signal.h"

#include "base/cancel_lock.h"

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
    return cancel_lock(mutex, cancel) == ST_OK ? ST_OK : call_check(cancel, what);
}
