/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: checked creation with a name and no signals delivered, and a worker team for parallel loops.
 *
 * A team runs one job at a time: team_run calls fn(arg, worker), worker 0 being the caller, and so do the workers that come
 * while the caller is at it; it returns when all who came are done. So fn takes pieces of work until there are none: a
 * worker that the system does not run just now, because the cores are busy with something else, delays nobody. Idle workers
 * spin briefly, then sleep on a futex, so that a stream of small jobs stays cheap and an idle process costs nothing. Nothing
 * is allocated per job. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include "base/status.h"

/* The new thread takes no signals of the client, only faults of its own code, and shows up in tools as `name`, cut at
 * 15 bytes; NULL: no name of its own. The caller joins or detaches it. */
enum status thread_start(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg);

/* The same name, by the new thread: a thread may name itself where it may not open files of /proc. */
void thread_name_self(const char *name);

/* Gives the calling thread another nice value; returns the one it has then. */
int thread_set_nice(int now, int wanted);

struct team;
typedef void team_fn(void *arg, unsigned worker);

enum { TEAM_MAX = 1024 };

enum status team_create(unsigned workers, struct team **ret); /* 1 to TEAM_MAX, the caller counts as one */
void team_free(struct team *t);                               /* joins; NULL allowed */
unsigned team_size(const struct team *t);

/* One caller at a time: the owner serialises. fn must not wait for another worker to start: it may never come, and in a
 * fork'ed child, where the threads are gone, none does. No two calls at the same time have the same worker number. */
void team_run(struct team *t, team_fn *fn, void *arg);

/* The nice value that workers take before their next job; they begin with that of the process. The caller sets its own. */
void team_set_nice(struct team *t, int nice);

/* The same in parts, for a caller that finds out on the way whether there is something to share. Between open and close
 * workers come when they are called, and go when fn returns; they may call as well. The caller runs fn(arg, 0) itself. */
void team_open(struct team *t, team_fn *fn, void *arg);
void team_call(struct team *t);                       /* there is something for others: whoever is idle comes (again) */
uint32_t team_calls(const struct team *t);            /* calls so far, for team_wait */
void team_wait(struct team *t, uint32_t calls);       /* until there are more calls; only where a worker inside will call */
void team_close(struct team *t);                      /* nobody comes in any more; returns when all are out */

/* Sleep while *word == expected. Returns after a wake-up, at once when the value differs, and now and then for no reason:
 * callers look at the word again. For threads of one process only. */
void futex_wait(_Atomic uint32_t *word, uint32_t expected);
/* The same, but not longer than to this value of clock_ns(); 0: for ever. */
void futex_wait_until(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);
/* Wake up to `count` threads that sleep on the word; change the word first. */
void futex_wake(_Atomic uint32_t *word, int count);

#endif
