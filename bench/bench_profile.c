/* SPDX-License-Identifier: Apache-2.0 */
/* make bench: what profiling adds to an execution on libQnnHtp.so.
 *
 *     bench_profile LIB_DIR JSONL_FILE
 *
 * Levels take turns, so that what else the machine does lengthens all of them alike; figures are medians, and ratios to no
 * profile of the same turns. A profile is new for every execution; making and freeing it is not counted. */
#include <stdio.h>
#include <stdlib.h>

#include <QNN/HTP/QnnHtpProfile.h>

#include "base/clock.h"
#include "bench_run.h"

enum { TURNS = 201, LEVELS = 5 };

static const struct {
    const char *name;
    QnnProfile_Level_t level; /* 0: no profile */
    bool optrace;
} levels[LEVELS] = {
    { "off", 0, false },
    { "basic", QNN_PROFILE_LEVEL_BASIC, false },
    { "detailed", QNN_PROFILE_LEVEL_DETAILED, false },
    { "optrace", QNN_PROFILE_LEVEL_DETAILED, true },
    { "linting", QNN_HTP_PROFILE_LEVEL_LINTING, false },
};

static Qnn_ProfileHandle_t new_profile(const struct session *s, int i)
{
    QnnProfile_Config_t on = { .option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE, .enableOptrace = 1 };
    const QnnProfile_Config_t *config[] = { &on, NULL };
    Qnn_ProfileHandle_t p = NULL;

    if (!levels[i].level)
        return NULL;
    CHECK(qnn.profileCreate(s->backend, levels[i].level, &p));
    if (levels[i].optrace)
        CHECK(qnn.profileSetConfig(p, config));
    return p;
}

static uint64_t execute(struct runnable *r, int i)
{
    Qnn_ProfileHandle_t p = new_profile(&r->s, i);
    uint64_t begin = clock_ns();

    CHECK(qnn.graphExecute(r->graph, &r->in, 1, &r->out, 1, p, NULL));
    uint64_t took = clock_ns() - begin;
    if (p)
        CHECK(qnn.profileFree(p));
    return took;
}

static void bench(const char *name, net_fn *net, enum net_type type)
{
    static uint64_t ns[LEVELS][TURNS];
    struct product p = product_make(name, net, type, NULL);
    struct runnable r;
    double off = 0;

    runnable_open(&r, &p, 1, 1);
    for (int turn = -1; turn < TURNS; turn++) /* the first one warms up */
        for (int i = 0; i < LEVELS; i++) {
            uint64_t took = execute(&r, i);
            if (turn >= 0)
                ns[i][turn] = took;
        }
    for (int i = 0; i < LEVELS; i++) {
        struct timing t = timing_summary(ns[i], TURNS);
        double us = (double)t.median * 1e-3;

        off = i ? off : us;
        printf("%-16s %-10s %12.1f %10.3f\n", name, levels[i].name, us, us / off);
        lines_add("{\"kind\":\"profile\",\"name\":\"%s\",\"level\":\"%s\",\"median_us\":%.2f,\"ratio\":%.4f}", name,
                  levels[i].name, us, us / off);
    }
    runnable_close(&r);
    product_free(&p);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bench_profile LIB_DIR JSONL_FILE\n");
        return 2;
    }
    lines_open(argv[2], "w");
    client_open(argv[1], "libQnnHtp.so");
    printf("%-16s %-10s %12s %10s\n", "execute", "profile", "median us", "to off");
    bench("one_op", net_one_op, NET_F32);
    for (int i = 0; i < 2; i++)
        bench(net_list[i].name, net_list[i].build, NET_INT8);
    lines_close();
    return 0;
}
