/* SPDX-License-Identifier: Apache-2.0 */
/* make bench: what it costs that several threads want the device.
 *
 *     bench_queue LIB_DIR JSONL_FILE
 *
 *   rate      executions of a small graph per second: one thread, two threads on one graph, on two graphs of one context,
 *             on two contexts
 *   latency   a small graph of priority HIGH while a large one of priority LOW runs all the time: in one context, in two,
 *             and without the large one */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "bench_run.h"

enum { MOST_THREADS = 2, SIDE = 256, SMALL = 64, LAYERS = 150, SAMPLES = 1500, ROUNDS = 15 };
#define ROUND_NS UINT64_C(140000000)

struct graph {
    Qnn_GraphHandle_t handle;
    Qnn_Tensor_t in, out;
};

static uint32_t large_dims[] = { SIDE, SIDE }, small_dims[] = { SMALL, SMALL };

static Qnn_Tensor_t tensor(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type, uint32_t *dims)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.version = QNN_TENSOR_VERSION_1;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    CHECK(qnn.tensorCreateGraphTensor(g, &t));
    return t;
}

static void softmax(Qnn_GraphHandle_t g, unsigned i, Qnn_Tensor_t from, Qnn_Tensor_t to)
{
    char name[32];
    snprintf(name, sizeof name, "softmax%u", i);
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = name;
    op.v1.packageName = "qti.aisw";
    op.v1.typeName = "Softmax";
    op.v1.numOfInputs = op.v1.numOfOutputs = 1;
    op.v1.inputTensors = &from;
    op.v1.outputTensors = &to;
    CHECK(qnn.graphAddNode(g, op));
}

static void set_priority(Qnn_GraphHandle_t g, Qnn_Priority_t priority)
{
    QnnGraph_Config_t o = QNN_GRAPH_CONFIG_INIT;
    o.option = QNN_GRAPH_CONFIG_OPTION_PRIORITY;
    o.priority = priority;
    const QnnGraph_Config_t *list[] = { &o, NULL };
    CHECK(qnn.graphSetConfig(g, list));
}

static struct graph graph_make(Qnn_ContextHandle_t c, const char *name, uint32_t *dims, unsigned layers, Qnn_Priority_t p)
{
    struct graph g;
    CHECK(qnn.graphCreate(c, name, NULL, &g.handle));
    set_priority(g.handle, p);
    g.in = tensor(g.handle, "in", QNN_TENSOR_TYPE_APP_WRITE, dims);
    g.out = tensor(g.handle, "out", QNN_TENSOR_TYPE_APP_READ, dims);
    Qnn_Tensor_t from = g.in;
    for (unsigned i = 0; i < layers; i++) {
        char middle[32];
        snprintf(middle, sizeof middle, "middle%u", i);
        Qnn_Tensor_t to = i + 1 < layers ? tensor(g.handle, middle, QNN_TENSOR_TYPE_NATIVE, dims) : g.out;
        softmax(g.handle, i, from, to);
        from = to;
        from.v1.name = to.v1.name = NULL;
    }
    CHECK(qnn.graphFinalize(g.handle, NULL, NULL));
    return g;
}

static void bind(struct graph *g, float *in, float *out, uint32_t bytes)
{
    g->in.v1.clientBuf = (Qnn_ClientBuffer_t){ in, bytes };
    g->out.v1.clientBuf = (Qnn_ClientBuffer_t){ out, bytes };
}

static void run(struct graph *g)
{
    CHECK(qnn.graphExecute(g->handle, &g->in, 1, &g->out, 1, NULL, NULL));
}

/* ---- rate ------------------------------------------------------------------------------------------------------------- */

struct client {
    struct graph graph;
    float in[SMALL * SMALL], out[SMALL * SMALL];
    uint64_t runs;
};

static struct client clients[MOST_THREADS];
static _Atomic bool stop;

static void *client_main(void *arg)
{
    struct client *c = arg;
    bind(&c->graph, c->in, c->out, sizeof c->in);
    for (c->runs = 0; !atomic_load_explicit(&stop, memory_order_relaxed); c->runs++)
        run(&c->graph);
    return NULL;
}

static double rate_of(unsigned n)
{
    pthread_t threads[MOST_THREADS];
    uint64_t begin = clock_ns(), runs = 0;
    atomic_store(&stop, false);
    for (unsigned i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, client_main, &clients[i]);
    struct timespec round = { 0, (long)ROUND_NS };
    nanosleep(&round, NULL);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        runs += clients[i].runs;
    }
    return (double)runs * 1e9 / (double)(clock_ns() - begin);
}

static uint64_t sleeps_so_far(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (uint64_t)used.ru_nvcsw;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct rate {
    const char *name;
    unsigned threads;
    const struct graph *second; /* NULL: there is one thread */
    double per_s[ROUNDS], ratio[ROUNDS];
    uint64_t runs, sleeps; /* of all rounds; how often threads of this process gave up their core */
};

/* The rates of one round follow each other at once: what else the machine does hits them alike, so their ratio to
 * the rate of one thread in the same round says more than the rates. */
static void bench_round(struct rate *rates, unsigned n, unsigned round)
{
    for (unsigned i = 0; i < n; i++) {
        struct rate *r = &rates[i];
        if (r->second)
            clients[1].graph = *r->second;
        uint64_t slept = sleeps_so_far();
        r->per_s[round] = rate_of(r->threads);
        r->sleeps += sleeps_so_far() - slept;
        r->runs += (uint64_t)(r->per_s[round] * (double)ROUND_NS * 1e-9);
        r->ratio[round] = r->per_s[round] / rates[0].per_s[round];
    }
}

static void rate_line(const char *library, struct rate *r)
{
    qsort(r->per_s, ROUNDS, sizeof r->per_s[0], by_size);
    qsort(r->ratio, ROUNDS, sizeof r->ratio[0], by_size);
    double median = r->per_s[ROUNDS / 2], best = r->per_s[ROUNDS - 1], ratio = r->ratio[ROUNDS / 2];
    double sleeps = (double)r->sleeps / (double)r->runs;
    printf("%-14s %-32s %12.0f %12.0f %12.2f %12.3f\n", library, r->name, median, best, ratio, sleeps);
    lines_add("{\"kind\":\"queue_rate\",\"library\":\"%s\",\"name\":\"%s\",\"median_per_s\":%.0f,\"best_per_s\":%.0f,"
              "\"to_one_thread\":%.3f,\"sleeps_per_run\":%.3f}",
              library, r->name, median, best, ratio, sleeps);
}

static void bench_rates(const char *library)
{
    struct session s[2];
    session_open(&s[0], 2);
    session_open(&s[1], 2);
    struct graph a = graph_make(s[0].context, "a", small_dims, 1, QNN_PRIORITY_NORMAL),
                 b = graph_make(s[0].context, "b", small_dims, 1, QNN_PRIORITY_NORMAL),
                 c = graph_make(s[1].context, "c", small_dims, 1, QNN_PRIORITY_NORMAL);
    struct rate rates[] = {
        { .name = "one thread", .threads = 1 },
        { .name = "two threads, one graph", .threads = 2, .second = &a },
        { .name = "two graphs of one context", .threads = 2, .second = &b },
        { .name = "two contexts", .threads = 2, .second = &c },
    };
    enum { N = sizeof rates / sizeof rates[0] };
    clients[0].graph = a;
    for (unsigned round = 0; round < ROUNDS; round++)
        bench_round(rates, N, round);
    for (unsigned i = 0; i < N; i++)
        rate_line(library, &rates[i]);
    session_close(&s[0]);
    session_close(&s[1]);
}

/* ---- latency ---------------------------------------------------------------------------------------------------------- */

static void *load_main(void *arg)
{
    static float in[SIDE * SIDE], out[SIDE * SIDE];
    struct graph *g = arg;
    bind(g, in, out, sizeof in);
    while (!atomic_load_explicit(&stop, memory_order_relaxed))
        run(g);
    return NULL;
}

static void bench_latency(const char *library, const char *name, struct graph *high, struct graph *low)
{
    static double us[SAMPLES];
    static float in[SMALL * SMALL], out[SMALL * SMALL];
    pthread_t thread;
    bind(high, in, out, sizeof in);
    atomic_store(&stop, false);
    if (low)
        pthread_create(&thread, NULL, load_main, low);
    for (unsigned i = 0; i < SAMPLES; i++) {
        struct timespec pause = { 0, 500000 }; /* the low one is in the middle of something then */
        nanosleep(&pause, NULL);
        uint64_t begin = clock_ns();
        run(high);
        us[i] = (double)(clock_ns() - begin) * 1e-3;
    }
    atomic_store(&stop, true);
    if (low)
        pthread_join(thread, NULL);
    qsort(us, SAMPLES, sizeof us[0], by_size);
    double p50 = us[SAMPLES / 2], p99 = us[SAMPLES * 99 / 100];
    printf("%-14s %-32s %12.1f %12.1f\n", library, name, p50, p99);
    lines_add("{\"kind\":\"queue_latency\",\"library\":\"%s\",\"name\":\"%s\",\"p50_us\":%.1f,\"p99_us\":%.1f}", library,
              name, p50, p99);
}

static void bench_latencies(const char *library)
{
    struct session s[2];
    session_open(&s[0], 2);
    session_open(&s[1], 2);
    struct graph high = graph_make(s[0].context, "high", small_dims, 1, QNN_PRIORITY_HIGH),
                 same = graph_make(s[0].context, "same", large_dims, LAYERS, QNN_PRIORITY_LOW),
                 other = graph_make(s[1].context, "other", large_dims, LAYERS, QNN_PRIORITY_LOW);
    bench_latency(library, "HIGH alone", &high, NULL);
    bench_latency(library, "HIGH, LOW in its context", &high, &same);
    bench_latency(library, "HIGH, LOW in another context", &high, &other);
    session_close(&s[0]);
    session_close(&s[1]);
}

int main(int argc, char **argv)
{
    static const char *const libraries[] = { "libQnnCpu.so", "libQnnHtp.so" };
    if (argc != 3) {
        fprintf(stderr, "usage: bench_queue LIB_DIR JSONL_FILE\n");
        return 2;
    }
    setenv("OPENQNN_LANES", "1", 0); /* one device, as graphs of different priorities have it */
    lines_open(argv[2], "w");
    printf("%-14s %-32s %12s %12s %12s %12s\n", "rate, per s", "", "median", "best", "to one", "sleeps/run");
    for (int i = 0; i < 2; i++) {
        client_open(argv[1], libraries[i]);
        bench_rates(libraries[i]);
    }
    printf("\n%-14s %-32s %12s %12s\n", "latency, us", "", "p50", "p99");
    for (int i = 0; i < 2; i++) {
        client_open(argv[1], libraries[i]);
        bench_latencies(libraries[i]);
    }
    lines_close();
    return 0;
}
