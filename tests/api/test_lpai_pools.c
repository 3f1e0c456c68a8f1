/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch that is shared and scratch that is replaced: graphs of one context take turns in one buffer, and another buffer
 * may come at any time. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lpai_kit.h"
#include "test_scale.h"

#define SCRATCH QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM
enum { GRAPHS = 2, SEED = 11 };

static uint8_t want[KIT_OUT];

/* One context with two graphs, both compiled; memory of the size that one needs. */
struct pair {
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    struct kit_net net[GRAPHS];
    struct guarded scratch[GRAPHS];
};

static struct pair pair_open(void)
{
    static const char *const names[GRAPHS] = { "first", "second" };
    struct pair p;
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &p.backend));
    OK(q.contextCreate(p.backend, NULL, NULL, &p.context));
    for (int i = 0; i < GRAPHS; i++) {
        OK(kit_build(p.context, names[i], 8, NULL, &p.net[i]));
        OK(q.graphFinalize(p.net[i].graph, NULL, NULL));
        p.scratch[i] = guarded_new(kit_size(p.net[i].graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE), i == 0);
    }
    return p;
}

static void pair_close(struct pair *p)
{
    OK(q.contextFree(p->context, NULL));
    OK(q.backendFree(p->backend));
    for (int i = 0; i < GRAPHS; i++)
        guarded_free(&p->scratch[i]);
}

static Qnn_ErrorHandle_t use(const struct pair *p, int graph, int scratch)
{
    return kit_pool(p->net[graph].graph, SCRATCH, p->scratch[scratch].data, (uint32_t)p->scratch[scratch].bytes);
}

static struct pair pair_sharing(void)
{
    struct pair p = pair_open();
    for (int i = 0; i < GRAPHS; i++) {
        OK(use(&p, i, 0));
        OK(q.graphFinalize(p.net[i].graph, NULL, NULL));
    }
    return p;
}

/* Executes on a thread of its own, with buffers of its own, until it is told to stop. */
struct loop {
    const struct kit_net *net;
    _Atomic int stop;
    unsigned right, refused, wrong;
    _Alignas(64) uint8_t x[KIT_IN], y[64];
};

static void once(struct loop *l)
{
    memset(l->y, 0, sizeof l->y);
    Qnn_ErrorHandle_t e = kit_run(l->net, l->x, l->y);
    if (e == QNN_SUCCESS && memcmp(l->y, want, KIT_OUT) == 0)
        l->right++;
    else if (CODE(e) == QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED)
        l->refused++;
    else
        l->wrong++;
}

static void *run(void *arg)
{
    struct loop *l = arg;
    while (!atomic_load(&l->stop))
        once(l);
    return NULL;
}

static void loop_init(struct loop *l, const struct kit_net *n)
{
    memset(l, 0, sizeof *l);
    l->net = n;
    kit_fill(l->x, KIT_IN, SEED);
}

static void test_take_turns(void **state)
{
    (void)state;
    static struct loop l[GRAPHS];
    struct pair p = pair_sharing();
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < GRAPHS; i++) {
            loop_init(&l[i], &p.net[i]);
            once(&l[i]);
            assert_int_equal(l[i].right, 1);
        }
    pair_close(&p);
}

/* Both at once: every execution is right or refused. */
static void test_at_once(void **state)
{
    (void)state;
    static struct loop l[GRAPHS];
    pthread_t other;
    struct pair p = pair_sharing();
    for (int i = 0; i < GRAPHS; i++)
        loop_init(&l[i], &p.net[i]);
    hush(true);
    assert_int_equal(pthread_create(&other, NULL, run, &l[1]), 0);
    for (uint32_t i = 0; i < test_scale(2000); i++)
        once(&l[0]);
    atomic_store(&l[1].stop, 1);
    pthread_join(other, NULL);
    hush(false);
    for (int i = 0; i < GRAPHS; i++) {
        assert_int_equal(l[i].wrong, 0);
        unsigned before = l[i].right;
        once(&l[i]); /* nobody is left behind as running */
        assert_int_equal(l[i].right, before + 1);
    }
    pair_close(&p);
}

/* Another scratch while the graph runs on another thread: the call waits for the execution that is going on, so the memory
 * before is the client's again when it returns. */
static void test_replaced_while_running(void **state)
{
    (void)state;
    static struct loop l;
    pthread_t other;
    struct pair p = pair_open();
    OK(use(&p, 0, 0));
    OK(q.graphFinalize(p.net[0].graph, NULL, NULL));
    loop_init(&l, &p.net[0]);
    assert_int_equal(pthread_create(&other, NULL, run, &l), 0);
    for (uint32_t i = 0; i < test_scale(1000); i++) {
        OK(use(&p, 0, (i + 1) % 2));
        memset(p.scratch[i % 2].data, (int)i, p.scratch[i % 2].bytes);
    }
    atomic_store(&l.stop, 1);
    pthread_join(other, NULL);
    assert_int_equal(l.wrong + l.refused, 0);
    once(&l);
    assert_true(l.right > 0 && l.wrong == 0);
    pair_close(&p);
}

static void right(const struct pair *p, int graph)
{
    struct loop l;
    loop_init(&l, &p->net[graph]);
    once(&l);
    assert_int_equal(l.right, 1);
}

/* A client that says how fast and where a graph runs, and nothing of memory, leaves that to the library; one that says less
 * does not. */
static void test_left_to_the_library(void **state)
{
    (void)state;
    struct pair p = pair_open();
    QnnLpaiGraph_PerfCfg_t perf = { 30, 10, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME };
    QnnLpaiGraph_CoreAffinity_t affinity = { QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT, 0 };
    Qnn_GraphHandle_t g = p.net[0].graph;
    OK(kit_config(g, QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, &perf));
    FAILS_SAYING(QNN_GRAPH_ERROR_FINALIZE_FAILED, "SCRATCH_MEM", q.graphFinalize(g, NULL, NULL));
    for (int i = 0; i < GRAPHS; i++) {
        OK(kit_config(p.net[i].graph, QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, &perf));
        OK(kit_config(p.net[i].graph, QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY, &affinity));
        OK(q.graphFinalize(p.net[i].graph, NULL, NULL));
    }
    for (int i = 0; i < GRAPHS; i++)
        right(&p, i);
    perf.fps = 60;
    OK(kit_config(g, QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, &perf)); /* what it has stays */
    right(&p, 0);
    OK(use(&p, 0, 0)); /* memory of the client's may come later */
    right(&p, 0);
    right(&p, 1);
    pair_close(&p);
}

static int setup(void **state)
{
    (void)state;
    kit_expected(8, SEED, want);
    kit_use(KIT_LPAI);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_turns),
        cmocka_unit_test(test_left_to_the_library),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_replaced_while_running),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
