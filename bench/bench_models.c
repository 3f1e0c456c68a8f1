/* SPDX-License-Identifier: Apache-2.0 */
/* make bench: whole networks through the backend libraries, as a client sees them.
 *
 *     bench_models LIB_DIR JSONL_FILE [--net NAME] [--type NAME] [--lib NAME] [--seconds PER_ROW]
 *
 * Each network of net_list.c in each type, on libQnnCpu.so, and on libQnnHtp.so in this process and in a session: time per
 * inference, best and median, by threads and batch, share of the peak of the arithmetic in the same run, memory of the plan;
 * above it the operators that take the most time. Then inferences per second of several clients at once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench_ops.h"
#include "bench_peaks.h"
#include "bench_run.h"

/* How a library is run; the first is the one that operators' shares are shown of. */
static const struct place {
    const char *name, *library, *session;
} places[] = { { "cpu", "libQnnCpu.so", NULL }, { "inproc", "libQnnHtp.so", "inproc" }, { "htp", "libQnnHtp.so", NULL } };

static const enum peak_kind peak_kinds[NET_TYPES] = { PEAK_INT8, PEAK_INT16, PEAK_F32, PEAK_F32 };

static const char *only_net = "", *only_type = "", *only_lib = "", *folder;
static double seconds = 0.7;

struct model {
    const char *name;
    net_fn *net;
    enum net_type type;
    const struct place *place;
};

static bool chosen(const char *name, const char *only)
{
    return !*only || !strcmp(name, only);
}

static void go_to(const struct place *p)
{
    if (p->session)
        setenv("OPENQNN_SESSION", p->session, 1);
    else
        unsetenv("OPENQNN_SESSION");
    setenv("OPENQNN_FLOAT32", "1", 1); /* a type of a row is that of its tensors */
    client_open(folder, p->library);
}

/* ---- one network ------------------------------------------------------------------------------------------------------ */

static void bench_row(const struct model *m, const struct product *p, unsigned threads, uint32_t batch)
{
    const struct binary_graph_info *i = &p->graph->info;
    struct runnable r;
    runnable_open(&r, p, threads, batch);
    struct timing t = timing_of(runnable_run, &r, seconds);
    if (m->place == places && threads == 1 && batch == 1)
        bench_ops(r.s.backend, r.graph, p->graph, &r.in, &r.out);
    runnable_close(&r);
    double best = to_ms(t.best) / batch, median = to_ms(t.median) / batch,
           own = m->place == places && threads == 1 ? to_ms(t.own) / batch : best;
    double gops = 2e-6 * (double)i->macs / own;
    double share = gops / peak_of(peak_kinds[m->type], cpu_isa(), threads);
    const char *type = net_type_names[m->type];
    printf("%-16s %-6s %-6s %2u %2u %9.3f %9.3f %9.3f %8.1f %6.1f %9.1f %8.2f %8.2f %7s %8.2f\n", m->name, type,
           m->place->name, threads, batch, best, median, own, gops, 100 * share, to_ms(p->finalize_ns),
           (double)i->scratch_bytes / 1048576, (double)i->live_bytes / 1048576, i->plan_optimal ? "proven" : "open",
           (double)p->size / 1048576);
    lines_add("{\"kind\":\"model\",\"peer\":\"openqnn\",\"lib\":\"%s\",\"name\":\"%s\",\"type\":\"%s\",\"isa\":\"%s\","
              "\"threads\":%u,\"batch\":%u,"
              "\"best_ms\":%.4f,\"median_ms\":%.4f,\"own_ms\":%.4f,\"runs\":%llu,\"macs\":%llu,\"gops\":%.2f,\"share\":%.4f,"
              "\"compose_ms\":%.3f,\"finalize_ms\":%.3f,"
              "\"scratch_bytes\":%llu,\"live_bytes\":%llu,\"plan_optimal\":%s,\"const_bytes\":%llu,\"binary_bytes\":%llu,"
              "\"nodes\":%u}",
              m->place->name, m->name, type, cpu_isa_name(cpu_isa()), threads, batch, best, median, own,
              (unsigned long long)t.runs, (unsigned long long)i->macs, gops, share, to_ms(p->compose_ns),
              to_ms(p->finalize_ns), (unsigned long long)i->scratch_bytes, (unsigned long long)i->live_bytes,
              i->plan_optimal ? "true" : "false", (unsigned long long)i->const_bytes, (unsigned long long)p->size,
              p->graph->n_nodes);
}

/* Every thread count with single inferences; batches of 5 with one and two threads. Sessions add only the way there, so less
 * of them is shown. */
static void bench_model(const struct model *m)
{
    struct product p = product_make(m->name, m->net, m->type, NULL);
    unsigned most = m->place == places && cpu_cores() > 2 ? cpu_cores() : 2;
    for (unsigned threads = 1; threads <= most; threads *= 2)
        bench_row(m, &p, threads, 1);
    for (unsigned threads = 1; threads <= 2 && m->place == places; threads++)
        bench_row(m, &p, threads, 5);
    product_free(&p);
}

static void for_each_model(void (*fn)(const struct model *), bool clients)
{
    for (size_t l = 0; l < sizeof places / sizeof *places; l++)
        for (int n = 0; net_list[n].name; n++)
            for (int t = 0; t < NET_TYPES; t++) {
                bool skip = clients ? (n > 1 || t != NET_INT8 || l == 1) : l == 1 && t != NET_INT8;
                struct model m = { net_list[n].name, net_list[n].build, (enum net_type)t, &places[l] };
                if (skip || !chosen(m.name, only_net) || !chosen(net_type_names[t], only_type) ||
                    !chosen(places[l].name, only_lib))
                    continue;
                go_to(&places[l]);
                fn(&m);
            }
}

/* ---- clients: several contexts at once, a thread each ----------------------------------------------------------------- */

struct client {
    pthread_t thread;
    struct runnable r;
    uint64_t end_ns, done;
};

static void *client_main(void *arg)
{
    struct client *c = arg;
    for (; clock_ns() < c->end_ns; c->done++)
        runnable_run(&c->r);
    return NULL;
}

/* Of `threads` each: on the HTP of a lane, in which clients take turns, on the CPU of every client. */
static double clients_rate(const struct product *p, unsigned threads, unsigned n, uint32_t batch)
{
    struct client *c = calloc(n, sizeof *c);
    uint64_t done = 0;
    if (!c)
        client_check(QNN_COMMON_ERROR_MEM_ALLOC, "clients");
    for (unsigned i = 0; i < n; i++) {
        runnable_open(&c[i].r, p, threads, batch);
        runnable_run(&c[i].r);
    }
    uint64_t begin = clock_ns();
    for (unsigned i = 0; i < n; i++) {
        c[i].end_ns = begin + (uint64_t)(seconds * 1e9);
        if (pthread_create(&c[i].thread, NULL, client_main, &c[i]))
            client_check(QNN_COMMON_ERROR_SYSTEM, "threads");
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(c[i].thread, NULL);
    uint64_t took = clock_ns() - begin;
    for (unsigned i = 0; i < n; i++) {
        done += c[i].done * batch;
        runnable_close(&c[i].r);
    }
    free(c);
    return (double)done * 1e9 / (double)took;
}

static void bench_threads(const struct model *m, const struct product *p, unsigned threads)
{
    double first = 0;
    for (uint32_t batch = 1; batch <= 5; batch += 4)
        for (unsigned n = 1; n <= 2 || n <= cpu_cores(); n *= 2) {
            double rate = clients_rate(p, threads, n, batch);
            first = first > 0 ? first : rate;
            printf("%-16s %-6s %-6s %8u %8u %6u %12.1f %8.2f\n", m->name, net_type_names[m->type], m->place->name, threads,
                   n, batch, rate, rate / first);
            lines_add("{\"kind\":\"clients\",\"lib\":\"%s\",\"name\":\"%s\",\"type\":\"%s\",\"threads\":%u,"
                      "\"clients\":%u,\"batch\":%u,\"per_second\":%.2f}",
                      m->place->name, m->name, net_type_names[m->type], threads, n, batch, rate);
        }
}

/* With one thread each, and with as many as a session takes, or all cores. */
static void bench_clients(const struct model *m)
{
    const unsigned cores = cpu_cores(), most = cores < 8 ? cores : 8;
    struct product p = product_make(m->name, m->net, m->type, NULL);
    bench_threads(m, &p, 1);
    if (m->place != places && most > 1)
        bench_threads(m, &p, most);
    product_free(&p);
}

/* ---- main ------------------------------------------------------------------------------------------------------------- */

static bool options(int argc, char **argv)
{
    for (int i = 3; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--net"))
            only_net = argv[i + 1];
        else if (!strcmp(argv[i], "--type"))
            only_type = argv[i + 1];
        else if (!strcmp(argv[i], "--lib"))
            only_lib = argv[i + 1];
        else if (!strcmp(argv[i], "--seconds"))
            seconds = atof(argv[i + 1]);
        else
            return false;
    }
    return argc >= 3 && argc % 2 == 1;
}

int main(int argc, char **argv)
{
    if (!options(argc, argv)) {
        fprintf(stderr, "usage: bench_models LIB_DIR JSONL_FILE [--net NAME] [--type NAME] [--lib cpu|inproc|htp] "
                        "[--seconds PER_ROW]\n");
        return 2;
    }
    folder = argv[1];
    lines_open(argv[2], "w");
    printf("instruction set %s, %u cores; time per inference; share of the peak of the same threads\n\n",
           cpu_isa_name(cpu_isa()), cpu_cores());
    printf("%-16s %-6s %-6s %2s %2s %9s %9s %9s %8s %6s %9s %8s %8s %7s %8s\n", "network", "type", "lib", "th", "ba",
           "best ms", "median", "own", "GOPS", "share%", "prepare", "scratch", "live", "plan", "binary");
    printf("%-16s %-6s %-6s %2s %2s %9s %9s %9s %8s %6s %9s %8s %8s %7s %8s\n", "", "", "", "", "", "", "", "", "", "", "ms",
           "MiB", "MiB", "", "MiB");
    for_each_model(bench_model, false);
    printf("\n%-16s %-6s %-6s %8s %8s %6s %12s %8s\n", "network", "type", "lib", "threads", "clients", "batch",
           "inferences/s", "against 1");
    for_each_model(bench_clients, true);
    lines_close();
    return 0;
}
