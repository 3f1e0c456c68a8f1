/* SPDX-License-Identifier: Apache-2.0 */
/* The signal is blocked, and taken away when it came. It is sent to the thread that writes, so no other one gets it. */
#include "base/file_guard.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static void only_ours(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGXFSZ);
}

static bool is_waiting(void)
{
    sigset_t waiting;
    return sigpending(&waiting) == 0 && sigismember(&waiting, SIGXFSZ) == 1;
}

void file_guard_begin(struct file_guard *g)
{
    sigset_t ours;
    only_ours(&ours);
    pthread_sigmask(SIG_BLOCK, &ours, &g->former);
    g->waiting = is_waiting();
}

void file_guard_end(struct file_guard *g)
{
    int error = errno;
    sigset_t ours;
    only_ours(&ours);
    if (!g->waiting && is_waiting())
        sigtimedwait(&ours, NULL, &(struct timespec){ 0 });
    pthread_sigmask(SIG_SETMASK, &g->former, NULL);
    errno = error;
}
