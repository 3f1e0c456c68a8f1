/* SPDX-License-Identifier: Apache-2.0 */
/* make bench: whole models through libQnnCpu.so, as a client sees it.
 *
 *     bench_models LIB_DIR JSONL_FILE
 *
 *   model      time to compose and finalize, time per inference (best and median, 1, 2, 4 … threads), planned memory against the live-bytes
 *              lower bound, size of the binary; above it the operators that take the most time
 *   clients    inferences per second of several contexts at once, a thread each
 *   load       time to create a context from a binary, copied and mapped, of one network with few and with many weights
 *   overhead   time of an execute of one operator on one element
 *
 * A table goes to standard output; the same figures as one JSON object per line to the file. Runs of other runtimes can
 * be added to the file with the same keys and another "peer". */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "bench_client.h"
#include "bench_ops.h"
#include "binary/binary.h"

enum { MAX_RUNS = 200, MIN_RUNS = 5, LOADS = 15, OVERHEAD_RUNS = 200000 };
static const uint64_t run_budget_ns = 2000000000;

struct model {
    const char *name;
    net_fn *build;
    bool fixed;
};

static const struct model models[] = {
    { "mobilenet_v2_224_uq8", net_mobilenet_v2, true },
    { "mobilenet_v2_224_f32", net_mobilenet_v2, false },
    { "resnet50_224_uq8", net_resnet50, true },
    { "resnet50_224_f32", net_resnet50, false },
};

/* A finished binary and what is needed to run it. */
struct product {
    void *data;
    uint64_t size;
    uint64_t compose_ns, finalize_ns;
};

struct timing {
    uint64_t best, median, runs;
};

static FILE *lines;

static double ms(uint64_t ns)
{
    return (double)ns * 1e-6;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static struct timing summary(uint64_t *ns, unsigned n)
{
    qsort(ns, n, sizeof *ns, by_value);
    return (struct timing){ .best = ns[0], .median = ns[n / 2], .runs = n };
}

static struct product make(const struct model *m)
{
    struct session s = { NULL, NULL };
    struct product p = { 0 };
    struct builder b = { .fixed = m->fixed, .seed = 1 };
    Qnn_ContextBinarySize_t need = 0, written = 0;
    arena_init(&b.arena);
    session_open(&s, 1);
    uint64_t t0 = clock_ns();
    CHECK(qnn.graphCreate(s.context, m->name, NULL, &b.graph));
    m->build(&b);
    uint64_t t1 = clock_ns();
    CHECK(qnn.graphFinalize(b.graph, NULL, NULL));
    uint64_t t2 = clock_ns();
    CHECK(qnn.contextGetBinarySize(s.context, &need));
    p.data = malloc(need);
    if (!p.data)
        client_check(QNN_COMMON_ERROR_MEM_ALLOC, "binary");
    CHECK(qnn.contextGetBinary(s.context, p.data, need, &written));
    p.size = written;
    p.compose_ns = t1 - t0;
    p.finalize_ns = t2 - t1;
    session_close(&s);
    arena_finish(&b.arena);
    return p;
}

/* The graph's tensors as the binary describes them, with buffers of ours; the element types are not looked at. */
struct io {
    Qnn_Tensor_t in, out;
    uint32_t dims[2][8];
    void *data[2];
};

static void io_tensor(struct io *io, int which, const struct binary_tensor *t)
{
    Qnn_Tensor_t *q = which ? &io->out : &io->in;
    *q = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    q->version = QNN_TENSOR_VERSION_1;
    q->v1.id = t->client_id;
    q->v1.name = t->name;
    q->v1.type = which ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_APP_WRITE;
    q->v1.dataType = t->desc.type == DT_F32 ? QNN_DATATYPE_FLOAT_32 : QNN_DATATYPE_UFIXED_POINT_8;
    q->v1.rank = t->desc.rank;
    memcpy(io->dims[which], t->desc.dims, sizeof io->dims[which]);
    q->v1.dimensions = io->dims[which];
    uint64_t bytes = desc_bytes(&t->desc);
    io->data[which] = calloc(1, bytes);
    if (!io->data[which])
        client_check(QNN_COMMON_ERROR_MEM_ALLOC, "buffers");
    for (uint64_t i = 0; t->desc.type == DT_F32 && i < bytes / 4; i++)
        ((float *)io->data[which])[i] = (float)(i * 37 % 255) / 64.0f - 2.0f;
    for (uint64_t i = 0; t->desc.type != DT_F32 && i < bytes; i++)
        ((uint8_t *)io->data[which])[i] = (uint8_t)(i * 37);
    q->v1.clientBuf = (Qnn_ClientBuffer_t){ .data = io->data[which], .dataSize = (uint32_t)bytes };
}

static void io_make(struct io *io, const struct binary_graph *g)
{
    io_tensor(io, 0, &g->tensors[g->io[0]]);
    io_tensor(io, 1, &g->tensors[g->io[1]]);
}

static void io_free(struct io *io)
{
    free(io->data[0]);
    free(io->data[1]);
}

/* shares: also print which operators take the time. */
static struct timing run(const struct product *p, const struct binary_graph *g, unsigned threads, bool shares)
{
    struct session s = { NULL, NULL };
    struct io io;
    Qnn_GraphHandle_t graph;
    uint64_t ns[MAX_RUNS], total = 0;
    unsigned n = 0;
    session_load(&s, threads, p->data, p->size, false);
    CHECK(qnn.graphRetrieve(s.context, g->info.name, &graph));
    io_make(&io, g);
    CHECK(qnn.graphExecute(graph, &io.in, 1, &io.out, 1, NULL, NULL)); /* warm */
    while (n < MAX_RUNS && (n < MIN_RUNS || total < run_budget_ns)) {
        uint64_t t0 = clock_ns();
        CHECK(qnn.graphExecute(graph, &io.in, 1, &io.out, 1, NULL, NULL));
        total += ns[n++] = clock_ns() - t0;
    }
    if (shares)
        bench_ops(s.backend, graph, g, &io.in, &io.out);
    io_free(&io);
    session_close(&s);
    return summary(ns, n);
}

/* ---- clients: several contexts at once, a thread each ------------------------------------------------------------------- */

struct client {
    pthread_t thread;
    struct session s;
    struct io io;
    Qnn_GraphHandle_t graph;
    uint64_t end_ns, done;
};

static void *client_run(void *arg)
{
    struct client *c = arg;
    while (clock_ns() < c->end_ns) {
        CHECK(qnn.graphExecute(c->graph, &c->io.in, 1, &c->io.out, 1, NULL, NULL));
        c->done++;
    }
    return NULL;
}

static void bench_clients(const struct model *m, const struct product *p, const struct binary_graph *g, unsigned n)
{
    struct client *c = calloc(n, sizeof *c);
    uint64_t done = 0;
    if (!c)
        client_check(QNN_COMMON_ERROR_MEM_ALLOC, "clients");
    for (unsigned i = 0; i < n; i++) {
        session_load(&c[i].s, 1, p->data, p->size, true);
        CHECK(qnn.graphRetrieve(c[i].s.context, g->info.name, &c[i].graph));
        io_make(&c[i].io, g);
        CHECK(qnn.graphExecute(c[i].graph, &c[i].io.in, 1, &c[i].io.out, 1, NULL, NULL)); /* warm */
    }
    uint64_t begin = clock_ns();
    for (unsigned i = 0; i < n; i++) {
        c[i].end_ns = begin + run_budget_ns / 2;
        if (pthread_create(&c[i].thread, NULL, client_run, &c[i]))
            client_check(QNN_COMMON_ERROR_SYSTEM, "threads");
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(c[i].thread, NULL);
    uint64_t took = clock_ns() - begin;
    for (unsigned i = 0; i < n; i++) {
        done += c[i].done;
        io_free(&c[i].io);
        session_close(&c[i].s);
    }
    double rate = (double)done * 1e9 / (double)took;
    printf("%-22s %2u clients %10.1f inferences per second\n", m->name, n, rate);
    fprintf(lines, "{\"kind\":\"clients\",\"name\":\"%s\",\"clients\":%u,\"per_second\":%.2f}\n", m->name, n, rate);
    fflush(stdout);
    free(c);
}

static void bench_model(const struct model *m)
{
    struct product p = make(m);
    struct binary b;
    if (binary_open(p.data, p.size, &b) != ST_OK) {
        fprintf(stderr, "bench: %s\n", status_text());
        exit(1);
    }
    const struct binary_graph *g = &b.graphs[0];
    const struct binary_graph_info *i = &g->info;
    for (unsigned threads = 1; threads <= 2 || threads <= cpu_cores(); threads *= 2) {
        struct timing t = run(&p, g, threads, threads == 1);
        double gops = 2.0 * (double)i->macs / (double)t.best;
        printf("%-22s %2u %9.1f %9.1f %9.2f %9.2f %8.1f %10.2f %10.2f %7s %9.2f\n", m->name, threads, ms(p.compose_ns), ms(p.finalize_ns),
               ms(t.best), ms(t.median), gops, (double)i->scratch_bytes / 1048576, (double)i->live_bytes / 1048576,
               i->plan_optimal ? "proven" : "open", (double)p.size / 1048576);
        fprintf(lines,
                "{\"kind\":\"model\",\"peer\":\"openqnn\",\"name\":\"%s\",\"isa\":\"%s\",\"threads\":%u,\"compose_ms\":%.3f,\"finalize_ms\":%.3f,"
                "\"best_ms\":%.4f,\"median_ms\":%.4f,\"runs\":%llu,\"macs\":%llu,\"gops\":%.2f,\"scratch_bytes\":%llu,\"live_bytes\":%llu,"
                "\"plan_optimal\":%s,\"const_bytes\":%llu,\"binary_bytes\":%llu,\"nodes\":%u,\"source_nodes\":%u}\n",
                m->name, cpu_isa_name(cpu_isa()), threads, ms(p.compose_ns), ms(p.finalize_ns), ms(t.best), ms(t.median),
                (unsigned long long)t.runs, (unsigned long long)i->macs, gops, (unsigned long long)i->scratch_bytes,
                (unsigned long long)i->live_bytes, i->plan_optimal ? "true" : "false", (unsigned long long)i->const_bytes,
                (unsigned long long)p.size, g->n_nodes, i->n_source_nodes);
        fflush(stdout);
    }
    for (unsigned n = 1; m->fixed && (n <= 2 || n <= cpu_cores()); n *= 2)
        bench_clients(m, &p, g, n);
    binary_close(&b);
    free(p.data);
}

/* ---- load ------------------------------------------------------------------------------------------------------------- */

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
    return summary(ns, LOADS);
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

static void bench_load(const struct model *m)
{
    struct product p = make(m);
    void *map = map_file(&p);
    const struct {
        const char *how;
        const void *data;
        bool persistent;
    } ways[] = { { "memory", p.data, false }, { "mapped", map, true } };
    for (int i = 0; i < 2; i++) {
        struct timing t = load(ways[i].data, p.size, ways[i].persistent);
        printf("%-22s %-8s %12.2f %12.1f %12.1f\n", m->name, ways[i].how, (double)p.size / 1048576, (double)t.best * 1e-3,
               (double)t.median * 1e-3);
        fprintf(lines, "{\"kind\":\"load\",\"name\":\"%s\",\"from\":\"%s\",\"binary_bytes\":%llu,\"best_us\":%.2f,\"median_us\":%.2f}\n", m->name,
                ways[i].how, (unsigned long long)p.size, (double)t.best * 1e-3, (double)t.median * 1e-3);
    }
    munmap(map, p.size);
    free(p.data);
}

/* ---- overhead --------------------------------------------------------------------------------------------------------- */

static void bench_overhead(unsigned threads)
{
    static const struct model one = { "one_op_f32", net_one_op, false };
    struct product p = make(&one);
    struct binary b;
    struct session s = { NULL, NULL };
    struct io io;
    Qnn_GraphHandle_t graph;
    uint64_t best = UINT64_MAX, total = 0;
    if (binary_open(p.data, p.size, &b) != ST_OK)
        exit(1);
    session_load(&s, threads, p.data, p.size, false);
    CHECK(qnn.graphRetrieve(s.context, one.name, &graph));
    io_make(&io, &b.graphs[0]);
    for (unsigned i = 0; i < 10; i++) {
        uint64_t t0 = clock_ns();
        for (unsigned k = 0; k < OVERHEAD_RUNS / 10; k++)
            CHECK(qnn.graphExecute(graph, &io.in, 1, &io.out, 1, NULL, NULL));
        uint64_t ns = clock_ns() - t0;
        best = ns < best ? ns : best;
        total += ns;
    }
    double best_ns = (double)best / (OVERHEAD_RUNS / 10.0), mean_ns = (double)total / OVERHEAD_RUNS;
    printf("%-22s %2u %12.0f %12.0f\n", one.name, threads, best_ns, mean_ns);
    fprintf(lines, "{\"kind\":\"overhead\",\"name\":\"%s\",\"threads\":%u,\"best_ns\":%.1f,\"mean_ns\":%.1f}\n", one.name, threads, best_ns,
            mean_ns);
    io_free(&io);
    session_close(&s);
    binary_close(&b);
    free(p.data);
}

int main(int argc, char **argv)
{
    /* float: scales per channel would be metadata that grows with the width */
    static const struct model loads[] = { { "dense_20x90_f32", net_narrow, false }, { "dense_20x900_f32", net_wide, false } };
    if (argc != 3) {
        fprintf(stderr, "usage: bench_models LIB_DIR JSONL_FILE\n");
        return 2;
    }
    lines = fopen(argv[2], "w");
    if (!lines) {
        fprintf(stderr, "bench: %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    client_open(argv[1]);
    printf("instruction set %s, %u cores\n\n", cpu_isa_name(cpu_isa()), cpu_cores());
    printf("%-22s %2s %9s %9s %9s %9s %8s %10s %10s %7s %9s\n", "model", "th", "compose", "finalize", "best", "median", "GOPS", "scratch",
           "live", "plan", "binary");
    printf("%-22s %2s %9s %9s %9s %9s %8s %10s %10s %7s %9s\n", "", "", "ms", "ms", "ms", "ms", "", "MiB", "MiB", "", "MiB");
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        bench_model(&models[i]);
    printf("\n%-22s %-8s %12s %12s %12s\n", "load", "from", "binary MiB", "best us", "median us");
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
        bench_load(&loads[i]);
    printf("\n%-22s %2s %12s %12s\n", "execute", "th", "best ns", "mean ns");
    bench_overhead(1);
    bench_overhead(2);
    if (fclose(lines) != 0) {
        fprintf(stderr, "bench: %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    return 0;
}
