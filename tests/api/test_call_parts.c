/* SPDX-License-Identifier: Apache-2.0 */
/* Detailed profiles say where the time of a call went: the parts add up to the whole, which is the time of the call, to
 * the microsecond. What a part has to contain is arranged, never timed. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "api_test.h"

enum {
    CALL = 400,
    WHOLE = 30040,
    ARGUMENTS,
    WAIT,
    COPY_IN,
    DEVICE_CALL,
    QUEUE,
    RUN,
    YIELD,
    RETURN,
    COPY_OUT,
    REST,
    LAST = REST
};
enum { DEPTH = 40, N = 4096 };

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct net net;
static float x[N], y[N];

static int setup(void **state)
{
    if (env_setup(state))
        return 1;
    OK(net_chain(env.context, "parts", DEPTH, N, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    return 0;
}

struct parts {
    uint64_t call, whole, us[LAST + 1 - ARGUMENTS];
};

/* Each part once, in order, below the whole; and their sum. */
static void read_parts(Qnn_ProfileHandle_t profile, struct parts *ret)
{
    uint32_t n, seen = 0;
    uint64_t sum = 0;
    const struct event *e = profile_events(profile, &n), *whole = NULL;
    *ret = (struct parts){ .call = UINT64_MAX };
    for (uint32_t i = 0; i < n; i++) {
        uint32_t type = e[i].data.type;
        if (type == CALL)
            ret->call = e[i].data.value;
        if (type == WHOLE) {
            assert_null(whole);
            whole = &e[i];
            ret->whole = whole->data.value;
        }
        if (type < ARGUMENTS || type > LAST)
            continue;
        assert_non_null(whole);
        assert_int_equal(e[i].depth, whole->depth + 1);
        assert_int_equal(type, ARGUMENTS + seen++);
        assert_int_equal(e[i].data.unit, QNN_PROFILE_EVENTUNIT_MICROSEC);
        ret->us[type - ARGUMENTS] = e[i].data.value;
        sum += e[i].data.value;
    }
    assert_int_equal(seen, LAST + 1 - ARGUMENTS);
    assert_int_equal(sum, ret->whole);
    assert_int_equal(ret->whole, ret->call);
}

static uint64_t part(const struct parts *p, uint32_t type)
{
    return p->us[type - ARGUMENTS];
}

static Qnn_ProfileHandle_t new_profile(QnnProfile_Level_t level)
{
    Qnn_ProfileHandle_t p;
    OK(q.profileCreate(env.backend, level, &p));
    return p;
}

static void test_call(void **state)
{
    (void)state;
    Qnn_ProfileHandle_t p = new_profile(QNN_PROFILE_LEVEL_DETAILED);
    Qnn_Tensor_t in = WITH(net.x, x), out = WITH(net.y, y);
    for (int i = 0; i < 50; i++) {
        struct parts parts;
        uint64_t begin = clock_ns();
        OK(q.graphExecute(net.graph, &in, 1, &out, 1, p, NULL));
        uint64_t outside = clock_ns() - begin;
        read_parts(p, &parts);
        assert_true(parts.whole * 1000 <= outside);
        assert_true(part(&parts, RUN) > 0);
        assert_int_equal(part(&parts, YIELD), 0);
        if (!lib_is_htp())
            assert_int_equal(part(&parts, COPY_IN) + part(&parts, DEVICE_CALL) + part(&parts, QUEUE) + part(&parts, RETURN) +
                                 part(&parts, COPY_OUT),
                             0);
    }
    OK(q.profileFree(p));
}

static void test_basic_has_none(void **state)
{
    (void)state;
    Qnn_ProfileHandle_t p = new_profile(QNN_PROFILE_LEVEL_BASIC);
    Qnn_Tensor_t in = WITH(net.x, x), out = WITH(net.y, y);
    OK(q.graphExecute(net.graph, &in, 1, &out, 1, p, NULL));
    assert_null(profile_find(p, WHOLE));
    assert_non_null(profile_find(p, CALL));
    OK(q.profileFree(p));
}

static void test_batch(void **state)
{
    (void)state;
    static float xs[3 * N], ys[3 * N];
    uint32_t dims[8];
    struct parts parts;
    Qnn_ProfileHandle_t p = new_profile(QNN_PROFILE_LEVEL_DETAILED);
    memcpy(dims, TV(net.x).dimensions, TV(net.x).rank * sizeof dims[0]);
    dims[0] *= 3;
    Qnn_Tensor_t in = WITH(tensor_shaped(net.x, TV(net.x).rank, dims), xs),
                 out = WITH(tensor_shaped(net.y, TV(net.y).rank, dims), ys);
    OK(q.graphExecute(net.graph, &in, 1, &out, 1, p, NULL));
    read_parts(p, &parts);
    OK(q.profileFree(p));
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------- */

static _Atomic uint32_t notified;
static _Atomic bool let_go;

static void hold_back(void *param, Qnn_NotifyStatus_t status)
{
    (void)param;
    assert_int_equal(status.error, QNN_SUCCESS);
    atomic_fetch_add(&notified, 1);
    while (!atomic_load(&let_go))
        sched_yield();
}

static void note(void *param, Qnn_NotifyStatus_t status)
{
    (void)param;
    assert_int_equal(status.error, QNN_SUCCESS);
    atomic_fetch_add(&notified, 1);
}

/* The second asynchronous execution waits until the notification of the first one has returned: that long it did wait, and
 * its profile says so. */
static void test_wait(void **state)
{
    (void)state;
    static float y2[N];
    enum { HELD_NS = 2000000 };
    struct parts parts;
    Qnn_ProfileHandle_t p = new_profile(QNN_PROFILE_LEVEL_DETAILED);
    Qnn_Tensor_t in = WITH(net.x, x), out = WITH(net.y, y), out2 = WITH(net.y, y2);
    OK(q.graphExecuteAsync(net.graph, &in, 1, &out, 1, NULL, NULL, hold_back, NULL));
    while (!atomic_load(&notified))
        sched_yield();
    OK(q.graphExecuteAsync(net.graph, &in, 1, &out2, 1, p, NULL, note, NULL));
    uint64_t asked = clock_ns(); /* the call has returned: it waits */
    while (clock_ns() < asked + HELD_NS)
        sched_yield();
    uint64_t released = clock_ns();
    atomic_store(&let_go, true);
    while (atomic_load(&notified) < 2)
        sched_yield();
    OK(q.contextFree(env.context, NULL)); /* waits for the end of both */
    read_parts(p, &parts);
    assert_true(part(&parts, WAIT) >= (released - asked) / 1000);
    OK(q.profileFree(p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_call, setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_basic_has_none, setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_batch, setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_wait, setup, env_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
