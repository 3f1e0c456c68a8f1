/* SPDX-License-Identifier: Apache-2.0 */
/* The run queue of a device. There is one per library, and every execution takes its turn here.
 *
 *     waiting    by level, then by ticket: the order in which the executions were asked for
 *     running    as many as the device model allows
 *
 * A backend describes its device with units. One execution at a time holds a unit: the program of a
 * graph, a team of threads, a command queue. An execution of a higher level preempts one that holds the
 * unit it needs: the holder is asked to yield, yields between two commands, and goes on when nothing
 * above it wants the unit. Levels are strict, as thread priorities are on a DSP: an execution of a low
 * level waits for as long as there is work above it.
 *
 * To hand a unit to a thread that sleeps takes longer than a small graph does. So a turn that waits is patient
 * for a millisecond: so long a thread that leaves the unit and comes back at once passes it.
 *
 * Turns live in the callers' memory; nothing is allocated here. A cancelled turn is woken, it does not poll. */
#ifndef BASE_SCHEDULER_H
#define BASE_SCHEDULER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"

enum { SCHED_LEVELS = 8 };

struct sched_turn;

/* Something that helps or is in vain: after it was in vain, one, three, seven ... occasions are left out. */
struct sched_backoff {
    uint32_t skip, last;
};

/* What one execution at a time may use. All zero: free. */
struct sched_unit {
    struct sched_turn *holder;
    unsigned forks;             /* when `holder` was set: a forked child has the holder's turn, but not its thread */
    uint64_t kept_for;          /* the thread that held it last may take it before patient turns; 0: it is not kept */
    uint32_t kept_level;        /* of that thread's turn */
    struct sched_backoff spins; /* of turns that wait for it */
    struct sched_backoff keeps;
};

/* Executions that are ordered and paused together: those of a context. All zero: none. */
struct sched_group {
    struct sched_turn *ordered[SCHED_LEVELS]; /* ordered turns that have not ended, the oldest first */
    struct sched_turn *newest[SCHED_LEVELS];
    unsigned forks;
    uint32_t active; /* turns that run or were preempted */
    bool paused;
};

/* What executions of one program need of the device. Changed by sched_set_needs only, while the group is paused. */
struct sched_needs {
    struct sched_unit program; /* held to the end of the turn, also while it is preempted */
    struct sched_unit *device; /* given up while it is preempted; NULL: none */
    uint32_t threads;          /* cores of this machine that it computes on itself; 0: it computes elsewhere */
    bool preemptible;          /* the owner looks at `give_way` and calls sched_yield_turn */
};

struct sched_turn {
    /* Filled by the caller. */
    struct sched_group *group;
    struct sched_needs *needs;
    const struct cancel *cancel; /* NULL: nothing ends the wait */
    uint32_t level;              /* 0 to SCHED_LEVELS - 1, larger first */
    bool passes_ordered;         /* asked for by a thread that ordered turns wait for */

    /* For the caller. */
    _Atomic uint32_t give_way; /* not 0: call sched_yield soon */
    uint64_t waited_ns;        /* until the turn began; of an ordered one from sched_order on */
    uint64_t preempted_ns;     /* since then, while others ran */
    uint32_t preemptions;

    /* Private. */
    struct sched_turn *next;            /* waiting, then told; or running */
    struct sched_turn *former;          /* running */
    struct sched_turn *younger, *older; /* ordered */
    struct sched_turn *told;            /* got their verdict in the same moment */
    uint64_t ticket, asked_ns, thread;
    unsigned forks;
    uint32_t verdict;
    _Atomic uint32_t state;
    bool queued, preempted, ordered, patient;
};

/* Waits for a turn. ST_ABORTED, ST_TIMED_OUT: there is none, and nothing to leave. */
enum status sched_enter(struct sched_turn *t);
void sched_leave(struct sched_turn *t);

/* An asynchronous execution takes its place in the order when it is asked for, and enters later.
 * It begins behind older ordered turns of its group, and so does what is asked for behind it,
 * unless its level is higher. The owner calls sched_drop for one that does not enter, or whose
 * sched_enter failed. */
void sched_order(struct sched_turn *t);
void sched_drop(struct sched_turn *t);

/* By the owner of a turn whose `give_way` is set, while nothing computes for it: gives up the
 * device unit and the cores as long as they are wanted above its level. False: the wait was
 * cancelled and the device unit is not held any more; the execution ends without another command,
 * then leaves. */
bool sched_yield_turn(struct sched_turn *t);

/* Ends the waits of turns with this cancel, after its `abort` was set. */
void sched_cancel(const struct cancel *c);

/* Between two executions of a group: returns when none is active; none begins until sched_resume. One caller at a time. */
void sched_pause(struct sched_group *g);
void sched_resume(struct sched_group *g);
void sched_set_needs(struct sched_needs *n, struct sched_unit *device, uint32_t threads, bool preemptible);

#endif
