/* SPDX-License-Identifier: Apache-2.0 */
/* Caller and session on different cores. On a busy machine both could share one for as long as a test takes, and a caller on
 * the session's core does not spin. */
#ifndef TESTS_APART_H
#define TESTS_APART_H

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* All threads of a process, but for this one. */
static inline void apart_move(int process, const cpu_set_t *to)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", process);
    DIR *tasks = opendir(path);
    for (struct dirent *e; tasks && (e = readdir(tasks));)
        if (atoi(e->d_name) > 0 && atoi(e->d_name) != gettid())
            sched_setaffinity(atoi(e->d_name), sizeof *to, to);
    if (tasks)
        closedir(tasks);
}

/* This thread takes the first core that it may use; those of this process and of its children leave that core. False: there
 * is only one. */
static inline bool apart_begin(cpu_set_t *before)
{
    char path[64];
    int child, core = 0;
    cpu_set_t mine, others;
    if (sched_getaffinity(0, sizeof *before, before) || CPU_COUNT(before) < 2)
        return false;
    while (!CPU_ISSET(core, before))
        core++;
    CPU_ZERO(&mine);
    CPU_SET(core, &mine);
    others = *before;
    CPU_CLR(core, &others);
    apart_move(getpid(), &others);
    snprintf(path, sizeof path, "/proc/self/task/%d/children", gettid());
    FILE *children = fopen(path, "re");
    while (children && fscanf(children, "%d", &child) == 1)
        apart_move(child, &others);
    if (children)
        fclose(children);
    sched_setaffinity(0, sizeof mine, &mine);
    return true;
}

static inline void apart_end(const cpu_set_t *before)
{
    sched_setaffinity(0, sizeof *before, before);
}

#endif
