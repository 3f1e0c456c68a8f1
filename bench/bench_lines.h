/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks share: the file of figures, one JSON object per line, and best and median of many runs. */
#ifndef BENCH_LINES_H
#define BENCH_LINES_H

#include <stdint.h>

void lines_open(const char *path, const char *mode); /* "w" or "a"; ends the program when that fails */
void lines_add(const char *format, ...) __attribute__((format(printf, 1, 2))); /* one object, without the newline */
void lines_close(void);

struct timing {
    uint64_t best, median, runs; /* ns */
    uint64_t
        own; /* best of this thread's processor time, which others on the machine do not lengthen; for work of one thread */
};

/* Runs fn until the time is up, at least 5 and at most 1000 times, after once to warm up. */
struct timing timing_of(void (*fn)(void *), void *arg, double seconds);
struct timing timing_summary(uint64_t *ns, unsigned n);

static inline double to_ms(uint64_t ns)
{
    return (double)ns * 1e-6;
}

#endif
