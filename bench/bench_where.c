/* SPDX-License-Identifier: Apache-2.0 */
/* make bench: where the time of a call goes, on libQnnCpu.so, and on libQnnHtp.so in this process and in a session, with one
 * thread: the parts that detailed profiles tell (docs/scheduling.md), and the processor time of the client and of its
 * session, which other programs on the machine lengthen less than the time that passes; and the best call without a profile.
 *
 *     bench_where LIB_DIR JSONL_FILE [NETWORK ...]
 *
 * The places take turns, and the medians of all rounds are shown. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench_run.h"

#include <QNN/HTP/QnnHtpDevice.h>

enum { ROUNDS = 7, PLACES = 4, FIRST_PART = 30041, PARTS = 10, WHOLE = PARTS, CLIENT_CPU, SESSION_CPU, BEST, COLUMNS };
#define ROUND_NS UINT64_C(150000000)

static const struct place {
    const char *name, *library, *session;
    bool polls; /* the client votes for it */
} places[PLACES] = { { "cpu", "libQnnCpu.so", NULL, false },
                     { "inproc", "libQnnHtp.so", "inproc", false },
                     { "htp", "libQnnHtp.so", NULL, false },
                     { "htp polled", "libQnnHtp.so", NULL, true } };

static const char *const titles[COLUMNS] = { "arguments", "turn",       "copy in",     "call",     "queue",
                                             "run",       "yield",      "return",      "copy out", "rest",
                                             "whole",     "client cpu", "session cpu", "best call" };

static double us[PLACES][COLUMNS][ROUNDS];

/* ---- processor time --------------------------------------------------------------------------------------------------- */

static uint64_t own_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Of all threads of the child, 0: there is none. */
static uint64_t session_cpu_ns(void)
{
    char path[320];
    int pid = 0;
    uint64_t sum = 0, ns;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    bool has_child = f && fscanf(f, "%d", &pid) == 1;
    if (f)
        fclose(f);
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = has_child ? opendir(path) : NULL;
    for (struct dirent *d; tasks && (d = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", pid, d->d_name);
        f = fopen(path, "re");
        sum += f && fscanf(f, "%lu", &ns) == 1 ? ns : 0;
        if (f)
            fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

/* ---- one round -------------------------------------------------------------------------------------------------------- */

static void add_parts(Qnn_ProfileHandle_t profile, double sums[COLUMNS])
{
    const QnnProfile_EventId_t *events, *below;
    uint32_t n, n_below;
    CHECK(qnn.profileGetEvents(profile, &events, &n));
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t data;
        CHECK(qnn.profileGetEventData(events[i], &data));
        bool is_call = data.type == QNN_PROFILE_EVENTTYPE_EXECUTE;
        CHECK(qnn.profileGetSubEvents(events[i], &below, &n_below));
        if (data.type == FIRST_PART - 1)
            sums[WHOLE] += (double)data.value;
        for (uint32_t k = 0; k < n_below; k++) {
            CHECK(qnn.profileGetEventData(below[k], &data));
            if (is_call && data.type == FIRST_PART - 1) { /* libQnnCpu.so has it below the call */
                sums[WHOLE] += (double)data.value;
                CHECK(qnn.profileGetSubEvents(below[k], &below, &n_below));
                k = UINT32_MAX;
            } else if (data.type >= FIRST_PART && data.type < FIRST_PART + PARTS) {
                sums[data.type - FIRST_PART] += (double)data.value;
            }
        }
    }
}

static void bench_round(struct runnable *r, unsigned place, unsigned round)
{
    enum { PROFILED = 10 };
    double sums[COLUMNS] = { 0 };
    uint64_t runs = 0, end;
    Qnn_ProfileHandle_t profile;
    runnable_run(r);

    uint64_t own = own_cpu_ns(), other = session_cpu_ns();
    uint64_t begin = clock_ns(), best = UINT64_MAX;
    for (end = begin + ROUND_NS; begin < end; runs++) {
        runnable_run(r);
        uint64_t now = clock_ns();
        best = now - begin < best ? now - begin : best;
        begin = now;
    }
    sums[BEST] = (double)best * 1e-3;
    sums[CLIENT_CPU] = (double)(own_cpu_ns() - own) * 1e-3 / (double)runs;
    sums[SESSION_CPU] = (double)(session_cpu_ns() - other) * 1e-3 / (double)runs;

    CHECK(qnn.profileCreate(r->s.backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
    for (unsigned i = 0; i < PROFILED; i++) {
        CHECK(qnn.graphExecute(r->graph, &r->in, 1, &r->out, 1, profile, NULL));
        add_parts(profile, sums);
    }
    CHECK(qnn.profileFree(profile));
    for (unsigned i = 0; i < COLUMNS; i++)
        us[place][i][round] = i <= WHOLE ? sums[i] / PROFILED : sums[i];
}

static void vote_for_polling(void)
{
    enum { MOST_US = 9999 };
    QnnDevice_Infrastructure_t infrastructure = NULL;
    uint32_t id = 0;
    CHECK(qnn.deviceGetInfrastructure(&infrastructure));
    const QnnHtpDevice_PerfInfrastructure_t *perf = &((QnnHtpDevice_Infrastructure_t *)infrastructure)->perfInfra;
    QnnHtpPerfInfrastructure_PowerConfig_t poll = { .option =
                                                        QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME,
                                                    .rpcPollingTimeConfig = MOST_US };
    const QnnHtpPerfInfrastructure_PowerConfig_t *list[] = { &poll, NULL };
    CHECK(perf->createPowerConfigId(0, 0, &id));
    CHECK(perf->setPowerConfig(id, list));
}

static void go_to(const char *folder, const struct place *p)
{
    if (p->session)
        setenv("OPENQNN_SESSION", p->session, 1);
    else
        unsetenv("OPENQNN_SESSION");
    client_open(folder, p->library);
}

/* ---- tables ----------------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_table(const char *network)
{
    printf("\n%-12s", network);
    for (unsigned c = 0; c < COLUMNS; c++)
        printf(" %11s", titles[c]);
    for (unsigned p = 0; p < PLACES; p++) {
        printf("\n%-12s", places[p].name);
        for (unsigned c = 0; c < COLUMNS; c++) {
            qsort(us[p][c], ROUNDS, sizeof us[p][c][0], by_size);
            double median = us[p][c][ROUNDS / 2];
            printf(" %11.1f", median);
            lines_add("{\"kind\":\"where\",\"name\":\"%s\",\"lib\":\"%s\",\"part\":\"%s\",\"us\":%.2f}", network,
                      places[p].name, titles[c], median);
        }
    }
    printf("\n");
}

static void bench_network(const char *folder, const struct net_entry *net)
{
    struct product products[PLACES];
    for (unsigned p = 0; p < PLACES; p++) {
        go_to(folder, &places[p]);
        products[p] = product_make(net->name, net->build, NET_INT8, NULL);
    }
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned p = 0; p < PLACES; p++) {
            struct runnable r;
            go_to(folder, &places[p]);
            runnable_open(&r, &products[p], 1, 1);
            if (places[p].polls)
                vote_for_polling();
            bench_round(&r, p, round);
            runnable_close(&r);
        }
    for (unsigned p = 0; p < PLACES; p++)
        product_free(&products[p]);
    print_table(net->name);
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    static const char *const usual[] = { "resnet50", "mobilenet_v2", "ds_cnn", "one_op" };
    for (int i = 3; i < argc; i++)
        if (!strcmp(argv[i], name))
            return true;
    for (unsigned i = 0; argc == 3 && i < sizeof usual / sizeof usual[0]; i++)
        if (!strcmp(usual[i], name))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: bench_where LIB_DIR JSONL_FILE [NETWORK ...]\n");
        return 2;
    }
    static const struct net_entry one_op = { "one_op", net_one_op };
    lines_open(argv[2], "w");
    printf("microseconds of a call, int8, one thread\n");
    for (int n = 0; net_list[n].name; n++)
        if (is_wanted(net_list[n].name, argc, argv))
            bench_network(argv[1], &net_list[n]);
    if (is_wanted(one_op.name, argc, argv))
        bench_network(argv[1], &one_op);
    lines_close();
    return 0;
}
