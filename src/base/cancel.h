/* SPDX-License-Identifier: Apache-2.0 */
/* Why a call ends early. A signal of the client sets it, and every stage of the call looks at it: a
 * queue while the call waits, the compiler between passes, a program between commands. The session
 * reads it in shared memory, so its layout is fixed. */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"

struct cancel {
    _Atomic uint32_t abort; /* not 0: stop with ST_ABORTED */
    uint64_t deadline_ns;   /* clock_ns() value, 0: none; past it: stop with ST_TIMED_OUT */
};

/* ST_OK, ST_ABORTED or ST_TIMED_OUT, without a sentence. NULL: the call has no signal. */
static inline enum status cancel_status(const struct cancel *c)
{
    if (!c)
        return ST_OK;
    if (atomic_load_explicit(&c->abort, memory_order_relaxed))
        return ST_ABORTED;

    bool late = c->deadline_ns && clock_ns() >= c->deadline_ns;
    return late ? ST_TIMED_OUT : ST_OK;
}

#endif
