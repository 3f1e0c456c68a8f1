/* SPDX-License-Identifier: Apache-2.0 */
/* Nice values of a session's threads: those of a graph of high priority come before other threads of this computer, those of
 * another session among them, and those of a graph of low priority behind. A process that may not go back to a smaller value
 * leaves them alone. System calls are made only when the priority changes. */
#include <sys/resource.h>

#include "rpc/worker.h"

enum { NICE_BEST = -20, NICE_WORST = 19 };

/* By priority of the API; the numbers between two rows have the row before. */
static const struct {
    uint32_t priority;
    int nice; /* beyond that of the process */
} steps[] = { { 0, 5 }, { 50, 2 }, { 100, 0 }, { 150, -3 }, { 200, -5 }, { 300, -8 }, { 400, -10 }, { 500, -12 } };

enum { N_STEPS = sizeof(steps) / sizeof(steps[0]) };

static int clamp(int nice)
{
    if (nice < NICE_BEST)
        return NICE_BEST;
    return nice > NICE_WORST ? NICE_WORST : nice;
}

static int nice_of(const struct worker *w, uint32_t priority)
{
    uint32_t i = 0;
    while (i + 1 < N_STEPS && steps[i + 1].priority <= priority)
        i++;
    return clamp(w->nice + steps[i].nice);
}

void worker_nice_begin(struct worker *w)
{
    int best = 0;
    w->nice = getpriority(PRIO_PROCESS, 0); /* of this thread, which the others inherit */
    best = nice_of(w, steps[N_STEPS - 1].priority);
    w->may_nice = setpriority(PRIO_PROCESS, 0, best) == 0;
    if (w->may_nice)
        setpriority(PRIO_PROCESS, 0, w->nice);
    for (uint32_t i = 0; i < w->n_lanes; i++)
        w->lanes[i].nice = w->nice;
}

void worker_nice_use(struct worker *w, const struct worker_program *p)
{
    struct worker_lane *lane = &w->lanes[p->lane];
    int wanted = nice_of(w, p->priority);
    if (!w->may_nice || lane->nice == wanted)
        return;
    lane->nice = thread_set_nice(lane->nice, wanted);
    if (lane->team)
        team_set_nice(lane->team, lane->nice);
}
