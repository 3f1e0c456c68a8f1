/* SPDX-License-Identifier: Apache-2.0 */
/* make bench: what calls cost apart from the networks.
 *
 *     bench_calls LIB_DIR JSONL_FILE
 *
 *   load       time to create a context from a binary, copied and mapped: networks, and one network with few and with many
 *              weights
 *   overhead   time of an execute of one operator on one element */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench_run.h"

enum { LOADS = 15, OVERHEAD_RUNS = 20000, OVERHEAD_TRIES = 10 };

static struct timing load(const void *data, uint64_t size, bool persistent)
{
    uint64_t ns[LOADS];
    for (unsigned i = 0; i < LOADS; i++) {
        struct session s = { NULL, NULL };
        CHECK(qnn.backendCreate(NULL, NULL, &s.backend));
        uint64_t t0 = clock_ns();
        session_load(&s, 1, data, size, persistent);
        ns[i] = clock_ns() - t0;
        session_close(&s);
    }
    return timing_summary(ns, LOADS);
}

/* The binary as a file, mapped as loaders do. */
static void *map_file(const struct product *p)
{
    int fd = memfd_create("bench", MFD_CLOEXEC);
    bool ok = fd >= 0;
    for (uint64_t at = 0; ok && at < p->size;) {
        ssize_t put = write(fd, (const char *)p->data + at, p->size - at);
        ok = put > 0;
        at += ok ? (uint64_t)put : 0;
    }
    void *map = ok ? mmap(NULL, p->size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (map == MAP_FAILED) {
        fprintf(stderr, "bench: the binary could not be mapped: %s\n", strerror(errno));
        exit(1);
    }
    return map;
}

static void bench_load(const char *name, net_fn *net, enum net_type type)
{
    struct product p = product_make(name, net, type, NULL);
    void *map = map_file(&p);
    const struct {
        const char *how;
        const void *data;
        bool persistent;
    } ways[] = { { "memory", p.data, false }, { "mapped", map, true } };
    for (int i = 0; i < 2; i++) {
        struct timing t = load(ways[i].data, p.size, ways[i].persistent);
        printf("%-16s %-6s %-8s %12.2f %12.1f %12.1f\n", name, net_type_names[type], ways[i].how, (double)p.size / 1048576,
               (double)t.best * 1e-3, (double)t.median * 1e-3);
        lines_add("{\"kind\":\"load\",\"name\":\"%s\",\"type\":\"%s\",\"from\":\"%s\",\"binary_bytes\":%llu,\"best_us\":%."
                  "2f,\"median_us\":%.2f}",
                  name, net_type_names[type], ways[i].how, (unsigned long long)p.size, (double)t.best * 1e-3,
                  (double)t.median * 1e-3);
    }
    munmap(map, p.size);
    product_free(&p);
}

static void many(void *r)
{
    for (unsigned k = 0; k < OVERHEAD_RUNS; k++)
        runnable_run(r);
}

static void bench_overhead(unsigned threads)
{
    struct product p = product_make("one_op", net_one_op, NET_F32, NULL);
    struct runnable r;
    runnable_open(&r, &p, threads, 1);
    uint64_t ns[OVERHEAD_TRIES];
    for (unsigned i = 0; i < OVERHEAD_TRIES; i++) {
        uint64_t t0 = clock_ns();
        many(&r);
        ns[i] = clock_ns() - t0;
    }
    struct timing t = timing_summary(ns, OVERHEAD_TRIES);
    double best = (double)t.best / OVERHEAD_RUNS, median = (double)t.median / OVERHEAD_RUNS;
    printf("%-16s %2u %12.0f %12.0f\n", "one_op", threads, best, median);
    lines_add("{\"kind\":\"overhead\",\"name\":\"one_op\",\"threads\":%u,\"best_ns\":%.1f,\"median_ns\":%.1f}", threads,
              best, median);
    runnable_close(&r);
    product_free(&p);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bench_calls LIB_DIR JSONL_FILE\n");
        return 2;
    }
    lines_open(argv[2], "w");
    client_open(argv[1], "libQnnCpu.so");
    printf("%-16s %-6s %-8s %12s %12s %12s\n", "load", "type", "from", "binary MiB", "best us", "median us");
    for (int i = 0; i < 2; i++)
        bench_load(net_list[i].name, net_list[i].build, NET_INT8);
    /* float: scales per channel would be metadata that grows with the width */
    bench_load("dense_20x90", net_narrow, NET_F32);
    bench_load("dense_20x900", net_wide, NET_F32);
    printf("\n%-16s %2s %12s %12s\n", "execute", "th", "best ns", "median ns");
    bench_overhead(1);
    bench_overhead(2);
    lines_close();
    return 0;
}
