/* SPDX-License-Identifier: Apache-2.0 */
/* make bench: what a session costs, seen by whoever holds its link.
 *
 *     bench_rpc LIB_DIR JSONL_FILE
 *
 *   round trip   of a run of one operator on one element: polling, adaptive, futex, and futex after both sides went to
 *                sleep, against two processes that do nothing but wake each other
 *   buffers      raw ones, which have to be copied in and out, against shared ones: time, bytes copied, and the growth of
 *                the session's private memory, which shows that there is no copy on the other side either
 *   threads      runs per second of 1, 2 and 4 client threads with a program each
 *   start        of a session, and mapping and loading a binary */
#include <dlfcn.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "bench_lines.h"
#include "binary/binary.h"
#include "rpc/rpc.h"

enum { ARCH = 73, TRIPS = 20000, IDLE_TRIPS = 300, STARTS = 30, MAX_THREADS = 4, MAX_SAMPLES = TRIPS };
static const uint64_t THREADS_NS = 500000000, COPIES_NS = 200000000;

static const struct rpc_link *rpc;
static uint64_t samples[MAX_SAMPLES];
static uint64_t copied; /* bytes, by copy() below */

static void stop(const char *what)
{
    fprintf(stderr, "bench_rpc: %s: %s\n", what, rpc ? rpc->explain() : "");
    exit(1);
}
#define CHECK(call)            \
    do {                       \
        if ((call) != ST_OK)   \
            stop(#call);       \
    } while (0)

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double median_us(uint32_t n)
{
    qsort(samples, n, sizeof(samples[0]), by_value);
    return (double)samples[n / 2] * 1e-3;
}

static void copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    copied += bytes;
}

/* ---- two processes that only wake each other -------------------------------------------------------------------------- */

struct ball {
    _Alignas(64) _Atomic uint32_t turn;
};

static void pass(struct ball *b, uint32_t to, bool sleeps)
{
    atomic_store(&b->turn, to);
    if (sleeps)
        syscall(SYS_futex, &b->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
    while (atomic_load(&b->turn) == to)
        if (sleeps)
            syscall(SYS_futex, &b->turn, FUTEX_WAIT, to, NULL, NULL, 0);
}

static double ping_pong_us(bool sleeps)
{
    struct ball *b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = fork();
    if (pid == 0) {
        while (atomic_load(&b->turn) == 0)
            ;
        for (;;)
            pass(b, 2, sleeps); /* gives the ball back, waits for it */
    }
    for (uint32_t i = 0; i < TRIPS; i++) {
        uint64_t begin = clock_ns();
        pass(b, 1, sleeps);
        samples[i] = clock_ns() - begin;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    munmap(b, 4096);
    return median_us(TRIPS);
}

/* ---- a network of one operator ---------------------------------------------------------------------------------------- */

/* y = relu(x) on n floats, in a memfd. */
static int make_binary(uint32_t n, uint64_t *ret_bytes)
{
    struct op_value params[16] = { { .type = DT_F32 } };
    uint32_t in = 0, out = 1;
    struct binary_tensor t[2] = {
        { .name = "x", .desc = { .type = DT_F32, .rank = 1, .dims = { n } }, .place = PLACE_IO, .io = 1, .client_id = 1 }
    };
    t[0].bytes = desc_bytes(&t[0].desc);
    t[1] = t[0];
    t[1].name = "y", t[1].io = 2, t[1].offset = 1, t[1].client_id = 2, t[1].client_type = 1;
    struct binary_node node = { .name = "relu",
                                .op = op_find("Relu"),
                                .n_in = 1,
                                .n_out = 1,
                                .in = &in,
                                .out = &out,
                                .params = params,
                                .post = { -INFINITY, INFINITY } };
    struct binary_command c = { 0, 0, UINT32_MAX, 0 };
    const void *data[2] = { NULL, NULL };
    struct binary_target target = { .backend_id = 6 };
    struct binary_source src = {
        .info = { .name = "one", .scratch_align = 64, .io_bytes = 2 * t[0].bytes, .opt_level = 2, .n_source_nodes = 1 },
        .n_tensors = 2,
        .n_nodes = 1,
        .n_commands = 1,
        .tensors = t,
        .data = data,
        .nodes = &node,
        .commands = &c
    };
    struct binary_image im;
    memset(params, 0, sizeof(params));
    if (binary_write(&target, &src, &im) != ST_OK) {
        fprintf(stderr, "bench_rpc: %s\n", status_text());
        exit(1);
    }
    int fd = memfd_create("bench", MFD_CLOEXEC);
    if (write(fd, im.data, im.size) != (ssize_t)im.size)
        stop("write");
    *ret_bytes = im.size;
    binary_image_free(&im);
    return fd;
}

struct client {
    struct rpc_session *s;
    uint32_t program;
    float *memory; /* x, then y */
    uint64_t bytes;
    struct rpc_io io[2];
    uint64_t load_ns;
    uint64_t runs;
};

static struct rpc_session *open_session(void)
{
    struct rpc_session *s;
    struct rpc_session_opts o = { .arch = ARCH, .build_id = rpc->build_id, .threads = 1 };
    CHECK(rpc->open(&o, &s));
    return s;
}

static void client_open(struct client *c, struct rpc_session *s, uint32_t n)
{
    uint64_t size;
    int fd = make_binary(n, &size);
    void *p;
    uint32_t buffer;
    struct rpc_load l = { .bytes = size };
    memset(c, 0, sizeof(*c));
    c->s = s;
    c->bytes = n * sizeof(float);
    CHECK(rpc_alloc(2 * c->bytes, &p));
    c->memory = p;
    uint64_t begin = clock_ns();
    CHECK(rpc->map(s, fd, 0, size, false, &l.map));
    CHECK(rpc->load(s, &l));
    c->load_ns = clock_ns() - begin;
    CHECK(rpc->map(s, rpc_fd(p), 0, 2 * c->bytes, true, &buffer));
    for (uint32_t i = 0; i < 2; i++)
        c->io[i] = (struct rpc_io){ .map = buffer, .offset = i * c->bytes, .bytes = c->bytes };
    c->program = l.program;
    close(fd);
}

static uint64_t run_ns(struct client *c, struct rpc_wait wait)
{
    struct rpc_run r = { .program = c->program, .io = c->io, .n_io = 2, .wait = wait };
    uint64_t begin = clock_ns();
    CHECK(rpc->run(c->s, &r));
    return clock_ns() - begin;
}

/* ---- tables ----------------------------------------------------------------------------------------------------------- */

static void round_trips(void)
{
    static const struct {
        const char *name;
        struct rpc_wait wait;
        bool idle;
    } ways[] = { { "polling", { .poll_us = 9999 }, false },
                 { "adaptive polling", { .poll_us = 9999, .adaptive = true }, false },
                 { "futex", { .poll_us = 0 }, false },
                 { "futex, both asleep before", { .poll_us = 0 }, true } };
    struct rpc_session *s = open_session();
    struct client c;
    client_open(&c, s, 1);
    double spin = cpu_cores() > 1 ? ping_pong_us(false) : 0, sleep = ping_pong_us(true);
    printf("round trip of an empty run, median\n  %-34s %8.1f us\n  %-34s %8.1f us\n", "two processes, spinning", spin,
           "two processes, futex", sleep);
    lines_add("{\"bench\":\"rpc_bare\",\"spin_us\":%.2f,\"futex_us\":%.2f}", spin, sleep);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        uint32_t n = ways[i].idle ? IDLE_TRIPS : TRIPS;
        struct timespec pause = { 0, 1000000 };
        for (uint32_t k = 0; k < n; k++) {
            if (ways[i].idle)
                nanosleep(&pause, NULL);
            samples[k] = run_ns(&c, ways[i].wait);
        }
        double us = median_us(n);
        printf("  session, %-25s %8.1f us\n", ways[i].name, us);
        lines_add("{\"bench\":\"rpc_round_trip\",\"wait\":\"%s\",\"median_us\":%.2f}", ways[i].name, us);
    }
    rpc->close(s);
    rpc_free(c.memory);
}

static uint64_t private_kib(struct rpc_session *s)
{
    struct rpc_usage u;
    char path[64], line[256];
    unsigned long long kib = 0;
    rpc->usage(s, &u);
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", u.pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Anonymous: %llu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

/* Runs for a while; the median, and in `copied` the bytes copied per run. */
static double buffers_us(struct client *c, float *x, float *y)
{
    uint32_t n = 0;
    copied = 0;
    for (uint64_t begin = clock_ns(); n < 3 || (n < MAX_SAMPLES && clock_ns() - begin < COPIES_NS); n++) {
        uint64_t start = clock_ns();
        if (x)
            copy(c->memory, x, c->bytes);
        run_ns(c, (struct rpc_wait){ .poll_us = 2000 });
        if (y)
            copy(y, c->memory + c->bytes / sizeof(float), c->bytes);
        samples[n] = clock_ns() - start;
    }
    copied /= n;
    return median_us(n);
}

static void buffers(void)
{
    printf("\nraw against shared buffers, one input and one output of the size\n  %10s %12s %14s %12s %14s %20s\n", "bytes",
           "raw us", "copied", "shared us", "copied", "session private KiB");
    for (uint32_t n = 256; n <= 16u << 20; n *= 4) {
        setenv("OPENQNN_SESSION_DEBUG", "1", 1); /* the size of a session is for root otherwise */
        struct rpc_session *s = open_session();
        unsetenv("OPENQNN_SESSION_DEBUG");
        struct client c;
        client_open(&c, s, n);
        float *x = calloc(n, sizeof(float)), *y = calloc(n, sizeof(float));
        memset(y, 1, n * sizeof(float));
        uint64_t before = private_kib(s);
        double shared = buffers_us(&c, NULL, NULL);
        uint64_t shared_copied = copied, after = private_kib(s);
        double raw = buffers_us(&c, x, y);
        printf("  %10llu %12.1f %14llu %12.1f %14llu %+20lld\n", (unsigned long long)c.bytes, raw,
               (unsigned long long)copied, shared, (unsigned long long)shared_copied, (long long)(after - before));
        lines_add("{\"bench\":\"rpc_buffers\",\"bytes\":%llu,\"raw_us\":%.1f,\"raw_copied\":%llu,\"shared_us\":%.1f,"
                  "\"shared_copied\":%llu,\"private_kib\":%lld}",
                  (unsigned long long)c.bytes, raw, (unsigned long long)copied, shared, (unsigned long long)shared_copied,
                  (long long)(after - before));
        free(x), free(y);
        rpc->close(s);
        rpc_free(c.memory);
    }
}

static void *run_for_a_while(void *arg)
{
    struct client *c = arg;
    for (uint64_t end = clock_ns() + THREADS_NS; clock_ns() < end; c->runs++)
        run_ns(c, (struct rpc_wait){ .poll_us = 0 });
    return NULL;
}

static void many_threads(void)
{
    printf("\nruns of a program with 64 KiB tensors, a program per thread\n");
    for (uint32_t n = 1; n <= MAX_THREADS; n *= 2) {
        struct rpc_session *s = open_session();
        struct client clients[MAX_THREADS];
        pthread_t threads[MAX_THREADS];
        uint64_t runs = 0;
        for (uint32_t i = 0; i < n; i++)
            client_open(&clients[i], s, 16384);
        uint64_t begin = clock_ns();
        for (uint32_t i = 0; i < n; i++)
            pthread_create(&threads[i], NULL, run_for_a_while, &clients[i]);
        for (uint32_t i = 0; i < n; i++) {
            pthread_join(threads[i], NULL);
            runs += clients[i].runs;
        }
        double rate = (double)runs / ((double)(clock_ns() - begin) * 1e-9);
        printf("  %u threads %10.0f runs per second\n", n, rate);
        lines_add("{\"bench\":\"rpc_threads\",\"threads\":%u,\"runs_per_s\":%.0f}", n, rate);
        rpc->close(s);
        for (uint32_t i = 0; i < n; i++)
            rpc_free(clients[i].memory);
    }
}

static void starts(void)
{
    static uint64_t loads[STARTS], ends[STARTS];
    for (uint32_t i = 0; i < STARTS; i++) {
        struct client c;
        uint64_t begin = clock_ns();
        struct rpc_session *s = open_session();
        samples[i] = clock_ns() - begin;
        client_open(&c, s, 256);
        loads[i] = c.load_ns;
        begin = clock_ns();
        rpc->close(s);
        ends[i] = clock_ns() - begin;
        rpc_free(c.memory);
    }
    double start = median_us(STARTS);
    memcpy(samples, loads, sizeof(loads));
    double load = median_us(STARTS);
    memcpy(samples, ends, sizeof(ends));
    double end = median_us(STARTS);
    printf("\nsession start %.0f us, map and load a small binary %.0f us, close %.0f us (medians of %d)\n", start, load, end,
           STARTS);
    lines_add("{\"bench\":\"rpc_start\",\"start_us\":%.0f,\"load_us\":%.0f,\"close_us\":%.0f}", start, load, end);
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 3) {
        fprintf(stderr, "usage: bench_rpc LIB_DIR JSONL_FILE\n");
        return 2;
    }
    lines_open(argv[2], "w");
    snprintf(path, sizeof(path), "%s/libQnnHtpV%dStub.so", argv[1], ARCH);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    rpc_stub_fn *get = lib ? (rpc_stub_fn *)dlsym(lib, RPC_STUB_SYMBOL) : NULL;
    rpc = get ? get(RPC_LINK_VERSION) : NULL;
    if (!rpc) {
        fprintf(stderr, "bench_rpc: %s\n", lib ? "the stub library is of another version" : dlerror());
        return 1;
    }
    round_trips();
    buffers();
    many_threads();
    starts();
    lines_close();
    return 0;
}
