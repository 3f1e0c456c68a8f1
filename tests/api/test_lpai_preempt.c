/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of low priority gives way to one of high priority between two of its commands, and has the same bits. Graphs that
 * share their scratch take turns as before. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lpai_kit.h"

enum { N = 1 << 16, DEPTH = 60, TRIES = 300, YIELD = 30047, CALL = 400, WHOLE = 30040 };
#define SCRATCH QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM

static _Alignas(64) uint8_t x[N], y[N], want[N], small_x[KIT_IN], small_y[64], small_want[KIT_OUT];

static struct {
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    struct kit_net low, high;
} now;

static Qnn_Tensor_t quantized(Qnn_Tensor_t t)
{
    return tensor_quant(t, 0.5f, 0);
}

static void set_priority(Qnn_GraphHandle_t g, Qnn_Priority_t priority)
{
    QnnGraph_Config_t c = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = priority };
    const QnnGraph_Config_t *list[] = { &c, NULL };
    OK(q.graphSetConfig(g, list));
}

/* y: the larger of x and the smaller of x and …, as many operators as wanted. */
static void build_low(struct kit_net *n)
{
    OK(q.graphCreate(now.context, "low", NULL, &n->graph));
    n->x = quantized(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, N));
    n->y = quantized(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, N));
    OK(q.tensorCreateGraphTensor(n->graph, &n->x));
    OK(q.tensorCreateGraphTensor(n->graph, &n->y));
    Qnn_Tensor_t from = n->x;
    for (int i = 0; i < DEPTH; i++) {
        Qnn_Tensor_t to = quantized(TENSOR(keep_name("t%d", i), NATIVE, UFIXED_POINT_8, 1, N));
        if (i + 1 == DEPTH)
            to = n->y;
        else
            OK(q.tensorCreateGraphTensor(n->graph, &to));
        struct op o = { .name = keep_name("add%d", i), .type = "ElementWiseAdd", .ni = 2, .in = { from, n->x }, .no = 1 };
        o.out[0] = to;
        OK(op_add(n->graph, &o));
        from = to;
    }
    n->x_bytes = n->y_bytes = N;
}

static int setup(void **state)
{
    (void)state;
    kit_use(KIT_LPAI);
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &now.backend));
    OK(q.contextCreate(now.backend, NULL, NULL, &now.context));
    build_low(&now.low);
    OK(kit_build(now.context, "high", 8, NULL, &now.high));
    set_priority(now.low.graph, QNN_PRIORITY_LOW);
    set_priority(now.high.graph, QNN_PRIORITY_HIGH);
    OK(q.graphFinalize(now.low.graph, NULL, NULL));
    OK(q.graphFinalize(now.high.graph, NULL, NULL));
    for (int i = 0; i < N; i++)
        x[i] = (uint8_t)(i % 7);
    kit_expected(8, 3, small_want);
    kit_fill(small_x, now.high.x_bytes, 3);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(q.contextFree(now.context, NULL));
    OK(q.backendFree(now.backend));
    kit_unuse(KIT_LPAI);
    return 0;
}

struct low_run {
    Qnn_ProfileHandle_t profile;
    Qnn_ErrorHandle_t result;
    _Atomic bool done;
};

static void *run_low(void *arg)
{
    struct low_run *run = arg;
    Qnn_Tensor_t in = WITH(now.low.x, x), out = WITH(now.low.y, y);
    run->result = q.graphExecute(now.low.graph, &in, 1, &out, 1, run->profile, NULL);
    atomic_store(&run->done, true);
    return NULL;
}

/* Executions of HIGH during one of LOW; returns how long that one gave way, in microseconds. */
static uint64_t disturb(void)
{
    struct low_run run = { .done = false };
    pthread_t thread;
    OK(q.profileCreate(now.backend, QNN_PROFILE_LEVEL_DETAILED, &run.profile));
    memset(y, 0, sizeof y);
    assert_int_equal(pthread_create(&thread, NULL, run_low, &run), 0);
    do {
        memset(small_y, 0, sizeof small_y);
        OK(kit_run(&now.high, small_x, small_y));
        assert_memory_equal(small_y, small_want, sizeof small_want);
        sched_yield();
    } while (!atomic_load(&run.done));
    pthread_join(thread, NULL);
    OK(run.result);
    assert_memory_equal(y, want, sizeof y);
    uint64_t us = profile_find(run.profile, YIELD)->data.value;
    assert_int_equal(profile_find(run.profile, WHOLE)->data.value, profile_find(run.profile, CALL)->data.value);
    OK(q.profileFree(run.profile));
    return us;
}

static void run_low_alone(void)
{
    struct low_run run = { .done = false };
    run_low(&run);
    OK(run.result);
    memcpy(want, y, sizeof y);
}

static uint32_t scratch_of(const struct kit_net *n)
{
    return kit_size(n->graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE);
}

static void test_gives_way(void **state)
{
    (void)state;
    uint64_t us = 0;
    struct kit_net *nets[] = { &now.low, &now.high };
    struct guarded s[2];
    for (int i = 0; i < 2; i++) {
        s[i] = guarded_new(scratch_of(nets[i]), true);
        OK(kit_pool(nets[i]->graph, SCRATCH, s[i].data, scratch_of(nets[i])));
        OK(q.graphFinalize(nets[i]->graph, NULL, NULL));
    }
    run_low_alone();
    for (int i = 0; i < TRIES && !us; i++)
        us = disturb();
    assert_true(us > 0 || kit_on_arm());
    OK(q.contextFree(now.context, NULL));
    OK(q.contextCreate(now.backend, NULL, NULL, &now.context));
    guarded_free(&s[0]);
    guarded_free(&s[1]);
}

static void test_shared_scratch_stays(void **state)
{
    (void)state;
    uint32_t a = scratch_of(&now.low);
    uint32_t b = scratch_of(&now.high);
    uint32_t size = a > b ? a : b;
    struct guarded s = guarded_new(size, true);
    OK(kit_pool(now.low.graph, SCRATCH, s.data, size));
    OK(kit_pool(now.high.graph, SCRATCH, s.data, size));
    OK(q.graphFinalize(now.low.graph, NULL, NULL));
    OK(q.graphFinalize(now.high.graph, NULL, NULL));
    run_low_alone();
    for (int i = 0; i < TRIES / 10; i++)
        assert_int_equal(disturb(), 0);
    OK(q.contextFree(now.context, NULL));
    OK(q.contextCreate(now.backend, NULL, NULL, &now.context));
    guarded_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_gives_way, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shared_scratch_stays, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
