/* SPDX-License-Identifier: Apache-2.0 */
/* Forked children have a copy of all memory and one thread: whoever counts on others asks whether they came along. */
#ifndef BASE_FORKS_H
#define BASE_FORKS_H

#include <stdatomic.h>

extern _Atomic unsigned forks_counted;

void forks_watch(void); /* before the first of two numbers that are compared */

/* How many forks lie between the process that watched first and this one. */
static inline unsigned forks_so_far(void)
{
    return atomic_load_explicit(&forks_counted, memory_order_relaxed);
}

#endif
