/* SPDX-License-Identifier: Apache-2.0 */
#include "base/forks.h"

#include <pthread.h>

_Atomic unsigned forks_counted;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    atomic_fetch_add(&forks_counted, 1);
}

static void watch(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

void forks_watch(void)
{
    pthread_once(&once, watch);
}
