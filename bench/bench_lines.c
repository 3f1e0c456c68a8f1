/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

enum { MIN_RUNS = 5, MAX_RUNS = 1000 };

static FILE *lines;
static const char *lines_path;

static void broken(void)
{
    fprintf(stderr, "bench: %s: %s\n", lines_path, strerror(errno));
    exit(1);
}

void lines_open(const char *path, const char *mode)
{
    if (path[0] == '-') {
        fprintf(stderr,
                "bench: \"%s\" stands where the file of figures is named; run the program without arguments to see what it "
                "takes\n",
                path);
        exit(2);
    }
    lines_path = path;
    lines = fopen(path, mode);
    if (!lines)
        broken();
}

void lines_add(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vfprintf(lines, format, ap);
    va_end(ap);
    fputc('\n', lines);
    fflush(stdout);
}

void lines_close(void)
{
    if (fclose(lines) != 0)
        broken();
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

struct timing timing_summary(uint64_t *ns, unsigned n)
{
    qsort(ns, n, sizeof *ns, by_value);
    return (struct timing){ .best = ns[0], .median = ns[n / 2], .runs = n };
}

static uint64_t thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct timing timing_of(void (*fn)(void *), void *arg, double seconds)
{
    uint64_t ns[MAX_RUNS], total = 0, own = UINT64_MAX;
    unsigned n = 0;
    fn(arg);
    while (n < MAX_RUNS && (n < MIN_RUNS || (double)total < seconds * 1e9)) {
        uint64_t t0 = clock_ns(), c0 = thread_ns();
        fn(arg);
        uint64_t c = thread_ns() - c0;
        own = c && c < own ? c : own; /* clocks of virtual machines stand still at times */
        total += ns[n++] = clock_ns() - t0;
    }
    struct timing t = timing_summary(ns, n);
    t.own = own < UINT64_MAX ? own : t.best;
    return t;
}
