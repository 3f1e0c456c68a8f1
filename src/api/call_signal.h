/* SPDX-License-Identifier: Apache-2.0 */
/* What a long call does with its signal while it waits for something that is not an execution
 * (private to api/). Turns of executions are in queue.c. */
#ifndef API_CALL_SIGNAL_H
#define API_CALL_SIGNAL_H

#include <pthread.h>

#include "base/cancel.h"

/* ST_OK; ST_ABORTED or ST_TIMED_OUT with a sentence about `what`, the call. NULL: no signal. */
enum status call_check(const struct cancel *cancel, const char *what);

/* Locks the mutex, unless the signal fires first. */
enum status call_lock(pthread_mutex_t *mutex, const struct cancel *cancel, const char *what);

#endif
