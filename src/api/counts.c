/* SPDX-License-Identifier: Apache-2.0 */
/* See counts.h. A line is written at the first execution, so that a process that is killed has left
 * one, and another with the totals when the library is unloaded or the process ends. Each line is one write to a
 * file opened for appending: processes can share the file. */
#include "api/counts.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/log.h"
#include "backend/backend.h"
#include "base/line_append.h"

enum { PATH_SIZE = 4096, LINE_SIZE = 512 };

static _Atomic unsigned long long counts[COUNTS];
static char path[PATH_SIZE]; /* "": nothing is written */
static _Atomic bool is_forked;

static unsigned long long get(enum counted what)
{
    return atomic_load_explicit(&counts[what], memory_order_relaxed);
}

static void write_line(const char *state)
{
    char line[LINE_SIZE];
    const char *own = backend_own_path();
    const char *slash = strrchr(own, '/');
    int n = snprintf(line, sizeof line, "%d\t%.100s\t%s\tfinalized=%llu\tloaded=%llu\texecuted=%llu\tfailed=%llu\n",
                     (int)getpid(), slash ? slash + 1 : own, state, get(COUNT_FINALIZED), get(COUNT_LOADED),
                     get(COUNT_EXECUTED), get(COUNT_FAILED));
    line_append(path, line, (size_t)n);
}

void count(enum counted what)
{
    unsigned long long before = atomic_fetch_add_explicit(&counts[what], 1, memory_order_relaxed);
    if (what == COUNT_EXECUTED && before == 0 && *path)
        write_line("begin");
}

/* A forked child counts what it does itself. */
static void start_again(void)
{
    for (int i = 0; i < COUNTS; i++)
        atomic_store(&counts[i], 0);
    atomic_store(&is_forked, true);
}

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("OPENQNN_COUNTS");
    if (!wanted || !*wanted)
        return;

    int n = snprintf(path, sizeof path, "%s", wanted);
    errno = ENAMETOOLONG;
    if (n >= (int)sizeof path || !line_append(path, "", 0)) {
        api_log(LOG_ERROR, "OPENQNN_COUNTS: %.1000s cannot be written (%s); name a file in a folder that exists", wanted,
                strerrordesc_np(errno));
        path[0] = 0;
        return;
    }
    pthread_atfork(NULL, NULL, start_again);
}

__attribute__((destructor)) static void end(void)
{
    bool idle = true;
    for (int i = 0; i < COUNTS; i++)
        idle = idle && get((enum counted)i) == 0;
    if (*path && !(idle && is_forked))
        write_line("end");
}
