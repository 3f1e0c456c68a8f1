/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a lock with a signal of the client (cancel.h). */
#ifndef BASE_CANCEL_LOCK_H
#define BASE_CANCEL_LOCK_H

#include <pthread.h>

#include "base/cancel.h"

/* How often a call that waits for something else looks at its signal, where nothing can wake it. */
#define CANCEL_LOOK_NS UINT64_C(2000000)

/* Locks the mutex, unless the signal fires first: then ST_ABORTED or ST_TIMED_OUT, without a sentence. NULL: no signal. */
enum status cancel_lock(pthread_mutex_t *mutex, const struct cancel *cancel);

#endif
