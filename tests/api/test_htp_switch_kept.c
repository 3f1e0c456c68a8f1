/* SPDX-License-Identifier: Apache-2.0 */
/* What graphs keep while they are switched out: sections of a binary that were applied, state, weights that they share with
 * graphs that stay, buffers of the client. And what happens when the session dies between two of them. */
#include "api_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpContext.h>

enum { N = 4096, FRAMES = 3, LOADED_BYTES = 0x4F510001, LOADED_GRAPHS, LOADS };

static Qnn_LogHandle_t listener;
static Qnn_BackendHandle_t backend;
static int pid;

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[2048];
    (void)level, (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
    const char *at = strstr(text, "(process ");
    if (at && strstr(text, "the context is on session "))
        sscanf(at, "(process %d)", &pid);
}

static int setup(void **state)
{
    (void)state;
    lib_open();
    return q.logCreate(listen, QNN_LOG_LEVEL_INFO, &listener) != QNN_SUCCESS ||
           q.backendCreate(listener, NULL, &backend) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    Qnn_ErrorHandle_t e = q.backendFree(backend);
    q.logFree(listener);
    lib_close();
    return e != QNN_SUCCESS;
}

/* ---- contexts --------------------------------------------------------------------------------------------------------- */

struct saved {
    void *data;
    uint64_t size;
};

static struct saved save(Qnn_ContextHandle_t c)
{
    struct saved s;
    uint64_t written;
    OK(q.contextGetBinarySize(c, &s.size));
    s.data = aligned_alloc(4096, (s.size + 4095) & ~UINT64_C(4095));
    assert_non_null(s.data);
    OK(q.contextGetBinary(c, s.data, s.size, &written));
    return s;
}

static Qnn_ContextHandle_t load(const struct saved *s)
{
    QnnContext_Config_t c[] = { { .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1 },
                                { .option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT, .memoryLimitHint = 1 } };
    const QnnContext_Config_t *list[] = { &c[0], &c[1], NULL };
    Qnn_ContextHandle_t context;
    OK(q.contextCreateFromBinary(backend, NULL, list, s->data, s->size, &context, NULL));
    return context;
}

static uint64_t property(Qnn_ContextHandle_t c, uint32_t option)
{
    QnnHtpContext_CustomProperty_t p = { .option = (QnnHtpContext_GetPropertyOption_t)option };
    QnnContext_Property_t custom = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p };
    QnnContext_Property_t *list[] = { &custom, NULL };
    OK(q.contextGetProperty(c, list));
    return p.spillfillBufferSize;
}

static struct net in_context(Qnn_ContextHandle_t c, const char *name, const struct net *built)
{
    struct net n = *built;
    OK(q.graphRetrieve(c, name, &n.graph));
    return n;
}

/* ---- sections --------------------------------------------------------------------------------------------------------- */

struct adapted {
    struct net net;
    Qnn_Tensor_t add;
};

static float x[N], y[N], weights[N];

/* y = x * weights + add, with an `add` that can be updated. */
static struct adapted adapted(Qnn_ContextHandle_t c, const char *name, const float *add)
{
    struct adapted m;
    OK(q.graphCreate(c, name, NULL, &m.net.graph));
    m.net.x = TENSOR(keep_name("%s_x", name), APP_WRITE, FLOAT_32, 1, N);
    m.net.y = TENSOR(keep_name("%s_y", name), APP_READ, FLOAT_32, 1, N);
    m.add = tensor_data(TENSOR(keep_name("%s_a", name), UPDATEABLE_STATIC, FLOAT_32, 1, N), add, sizeof(float) * N);
    Qnn_Tensor_t w = WITH(TENSOR(keep_name("%s_w", name), STATIC, FLOAT_32, 1, N), weights);
    Qnn_Tensor_t t = TENSOR(keep_name("%s_t", name), NATIVE, FLOAT_32, 1, N);
    Qnn_Tensor_t *all[] = { &m.net.x, &m.net.y, &m.add, &w, &t };
    for (unsigned i = 0; i < COUNT(all); i++)
        OK(q.tensorCreateGraphTensor(m.net.graph, all[i]));
    struct op ops[] = {
        { .name = "times", .type = "ElementWiseMultiply", .ni = 2, .in = { m.net.x, w }, .no = 1, .out = { t } },
        { .name = "plus", .type = "ElementWiseAdd", .ni = 2, .in = { t, m.add }, .no = 1, .out = { m.net.y } },
    };
    for (unsigned i = 0; i < COUNT(ops); i++)
        OK(op_add(m.net.graph, &ops[i]));
    OK(q.graphFinalize(m.net.graph, NULL, NULL));
    return m;
}

static void adds(const struct net *n, float add)
{
    memset(y, 0, sizeof y);
    OK(net_run(n, x, y, N, N));
    for (int i = 0; i < N; i++)
        assert_true(y[i] == x[i] * weights[i] + add);
}

static const float *all_of(float value)
{
    static float values[N];
    for (int i = 0; i < N; i++)
        values[i] = value;
    return values;
}

static struct saved section_of(Qnn_ContextHandle_t c, const struct adapted *m, float add)
{
    struct saved s;
    uint64_t written;
    Qnn_Tensor_t t = tensor_data(m->add, all_of(add), sizeof(float) * N);
    const Qnn_Tensor_t *list[] = { &t };
    OK(q.tensorUpdateGraphTensors(m->net.graph, list, 1));
    OK(q.graphFinalize(m->net.graph, NULL, NULL));
    OK(q.contextGetBinarySectionSize(c, m->net.graph, QNN_CONTEXT_SECTION_UPDATABLE, &s.size));
    assert_non_null(s.data = malloc(s.size));
    QnnContext_Buffer_t b = { .version = QNN_CONTEXT_BUFFER_VERSION_1, .v1 = { .binaryBuf = { s.data, s.size } } };
    OK(q.contextGetBinarySection(c, m->net.graph, QNN_CONTEXT_SECTION_UPDATABLE, &b, &written, NULL, NULL));
    return s;
}

static void apply(Qnn_ContextHandle_t c, const struct saved *s)
{
    QnnContext_Buffer_t b = { .version = QNN_CONTEXT_BUFFER_VERSION_1, .v1 = { .binaryBuf = { s->data, s->size } } };
    OK(q.contextApplyBinarySection(c, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &b, NULL, NULL));
}

static void test_sections(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 17);
        weights[i] = (float)(i % 11) - 5;
    }
    OK(q.contextCreate(backend, NULL, NULL, &c));
    struct adapted p = adapted(c, "P", all_of(1)), r = adapted(c, "R", all_of(2));
    struct saved base = save(c), p5 = section_of(c, &p, 5), r6 = section_of(c, &r, 6);
    OK(q.contextFree(c, NULL));

    c = load(&base);
    struct net np = in_context(c, "P", &p.net), nr = in_context(c, "R", &r.net);
    adds(&np, 1);
    apply(c, &p5); /* to a graph that is loaded, and to one that is not */
    apply(c, &r6);
    for (int round = 0; round < 3; round++) {
        adds(&np, 5);
        adds(&nr, 6);
        assert_int_equal(property(c, LOADED_GRAPHS), 1);
    }
    assert_int_equal(property(c, LOADS), 1 + 6);
    OK(q.contextFree(c, NULL));
    free(base.data);
    free(p5.data);
    free(r6.data);
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

enum { RUNS = 25, JOBS = 12 };

/* One thread's graph; another thread has the same, or another one. */
struct user {
    struct net net;
    float add;
    bool wrong;
};

static void *use(void *arg)
{
    struct user *u = arg;
    float own[N];
    for (int i = 0; i < RUNS && !u->wrong; i++) {
        u->wrong = net_run(&u->net, x, own, N, N) != QNN_SUCCESS;
        for (int k = 0; k < N && !u->wrong; k++)
            u->wrong = own[k] != x[k] * weights[k] + u->add;
    }
    return NULL;
}

static void count_done(void *param, Qnn_NotifyStatus_t status)
{
    if (status.error == QNN_SUCCESS)
        atomic_fetch_add((_Atomic int *)param, 1);
}

/* Threads that want graphs of which one is loaded at a time wait for each other; so do executions in the queue. */
static void test_threads(void **state)
{
    (void)state;
    static float ys[JOBS][N];
    Qnn_ContextHandle_t c;
    pthread_t thread[4];
    struct user user[4] = { 0 };
    _Atomic int done = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 17);
        weights[i] = (float)(i % 11) - 5;
    }
    OK(q.contextCreate(backend, NULL, NULL, &c));
    struct adapted p = adapted(c, "P", all_of(1)), r = adapted(c, "R", all_of(2));
    struct saved s = save(c);
    OK(q.contextFree(c, NULL));

    c = load(&s);
    for (int i = 0; i < 4; i++) {
        user[i].net = in_context(c, i % 2 ? "R" : "P", i % 2 ? &r.net : &p.net);
        user[i].add = i % 2 ? 2 : 1;
        assert_int_equal(pthread_create(&thread[i], NULL, use, &user[i]), 0);
    }
    for (int i = 0; i < JOBS; i++) {
        Qnn_Tensor_t in = WITH(user[i % 2].net.x, x), out = WITH(user[i % 2].net.y, ys[i]);
        OK(q.graphExecuteAsync(user[i % 2].net.graph, &in, 1, &out, 1, NULL, NULL, count_done, &done));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        assert_false(user[i].wrong);
    }
    assert_in_range(property(c, LOADED_GRAPHS), 1, 1);
    OK(q.contextFree(c, NULL)); /* waits for those in the queue, or ends them */
    assert_true(done <= JOBS);
    for (int i = 0; i < JOBS && done == JOBS; i++)
        for (int k = 0; k < N; k++)
            assert_true(ys[i][k] == x[k] * weights[k] + user[i % 2].add);
    free(s.data);
}

/* ---- state ------------------------------------------------------------------------------------------------------------ */

/* y has the last FRAMES values of x. */
static struct net window(Qnn_ContextHandle_t c, const char *name)
{
    struct net n;
    OK(q.graphCreate(c, name, NULL, &n.graph));
    n.x = TENSOR(keep_name("%s_x", name), APP_WRITE, FLOAT_32, 1, 1);
    n.y = TENSOR(keep_name("%s_y", name), APP_READ, FLOAT_32, 1, FRAMES);
    OK(q.tensorCreateGraphTensor(n.graph, &n.x));
    OK(q.tensorCreateGraphTensor(n.graph, &n.y));
    struct op o = { .name = "window", .type = "Buffer", .np = 3, .ni = 1, .in = { n.x }, .no = 1, .out = { n.y } };
    o.p[0] = param_u32("buffer_size", FRAMES);
    o.p[1] = param_u32("buffer_dim", 1);
    o.p[2] = param_u32("mode", QNN_OP_BUFFER_MODE_NON_BLOCKING_RIGHT);
    OK(op_add(n.graph, &o));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return n;
}

/* The same frames to two windows that take turns, and to one each that stays. */
static void test_state(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c, stays;
    OK(q.contextCreate(backend, NULL, NULL, &c));
    struct net built[] = { window(c, "P"), window(c, "R") }, n[2], want[2];
    struct saved s = save(c);
    OK(q.contextFree(c, NULL));

    c = load(&s);
    OK(q.contextCreateFromBinary(backend, NULL, NULL, s.data, s.size, &stays, NULL));
    for (int i = 0; i < 2; i++) {
        n[i] = in_context(c, i ? "R" : "P", &built[i]);
        want[i] = in_context(stays, i ? "R" : "P", &built[i]);
    }
    for (int frame = 1; frame < 12; frame++) {
        float value = (float)frame * (frame % 2 ? 1.0f : -1.0f), got[FRAMES], right[FRAMES];
        OK(net_run(&n[frame % 2], &value, got, 1, FRAMES));
        OK(net_run(&want[frame % 2], &value, right, 1, FRAMES));
        assert_memory_equal(got, right, sizeof got);
    }
    assert_true(property(c, LOADS) > 10);
    OK(q.contextFree(c, NULL));
    OK(q.contextFree(stays, NULL));
    free(s.data);
}

/* ---- weights that graphs share ---------------------------------------------------------------------------------------- */

enum { SIDE = 256, WEIGHTS = SIDE * SIDE };

static struct net product(Qnn_ContextHandle_t c, const char *name, const float *w)
{
    struct net n;
    OK(q.graphCreate(c, name, NULL, &n.graph));
    n.x = TENSOR(keep_name("%s_x", name), APP_WRITE, FLOAT_32, 1, SIDE);
    n.y = TENSOR(keep_name("%s_y", name), APP_READ, FLOAT_32, 1, SIDE);
    Qnn_Tensor_t t = tensor_data(TENSOR(keep_name("%s_w", name), STATIC, FLOAT_32, SIDE, SIDE), w, sizeof(float) * WEIGHTS);
    Qnn_Tensor_t *all[] = { &n.x, &n.y, &t };
    for (unsigned i = 0; i < COUNT(all); i++)
        OK(q.tensorCreateGraphTensor(n.graph, all[i]));
    struct op o = { .name = "times", .type = "MatMul", .ni = 2, .in = { n.x, t }, .no = 1, .out = { n.y } };
    OK(op_add(n.graph, &o));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return n;
}

static void is_product(const struct net *n, const float *w)
{
    float in[SIDE], out[SIDE];
    for (int i = 0; i < SIDE; i++)
        in[i] = (float)(i % 5) - 2;
    OK(net_run(n, in, out, SIDE, SIDE));
    for (int k = 0; k < SIDE; k++) {
        float sum = 0; /* small integers: exact in any order */
        for (int i = 0; i < SIDE; i++)
            sum += in[i] * w[i * SIDE + k];
        assert_true(out[k] == sum);
    }
}

static void test_shared_weights(void **state)
{
    (void)state;
    static float same[WEIGHTS], other[WEIGHTS];
    static const char *const names[] = { "P", "R", "Z" };
    QnnHtpContext_CustomConfig_t share = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
                                           .weightSharingEnabled = true };
    QnnContext_Config_t custom = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &share };
    const QnnContext_Config_t *sharing[] = { &custom, NULL };
    struct net n[3], built[3];
    Qnn_ContextHandle_t c;
    for (int i = 0; i < WEIGHTS; i++) {
        same[i] = (float)(i * 7 % 15 - 7);
        other[i] = (float)(i * 3 % 13 - 6);
    }
    OK(q.contextCreate(backend, NULL, sharing, &c));
    for (int i = 0; i < 3; i++)
        built[i] = product(c, names[i], i == 1 ? other : same);
    struct saved s = save(c);
    OK(q.contextFree(c, NULL));
    assert_true(s.size < 3 * sizeof same);

    c = load(&s);
    for (int i = 0; i < 3; i++)
        n[i] = in_context(c, names[i], &built[i]);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3; i++) {
            is_product(&n[i], i == 1 ? other : same);
            assert_int_equal(property(c, LOADED_GRAPHS), 1);
            assert_in_range(property(c, LOADED_BYTES), sizeof same, 2 * sizeof same - 1);
        }
    OK(q.contextFree(c, NULL));
    free(s.data);
}

/* ---- sessions that die ------------------------------------------------------------------------------------------------ */

static void test_dead_session(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    OK(q.contextCreate(backend, NULL, NULL, &c));
    struct adapted p = adapted(c, "P", all_of(1)), r = adapted(c, "R", all_of(2));
    struct saved s = save(c);
    OK(q.contextFree(c, NULL));

    c = load(&s);
    if (pid) {
        struct net n = in_context(c, "R", &r.net);
        kill(pid, SIGKILL);
        FAILS(QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, net_run(&n, x, y, N, N));
        FAILS(QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, net_run(&n, x, y, N, N));
    }
    OK(q.contextFree(c, NULL));

    /* Whatever message of loading and switching it dies with: the error, and afterwards all is as before. */
    for (int at = 1; at < 40 && pid; at++) {
        char fault[32];
        bool died = false;
        snprintf(fault, sizeof fault, "kill@%d", at);
        c = load(&s);
        struct net n[] = { in_context(c, "P", &p.net), in_context(c, "R", &r.net) };
        setenv("OPENQNN_FAULT", fault, 1);
        for (int i = 1; i < 5 && !died; i++) {
            Qnn_ErrorHandle_t e = net_run(&n[i % 2], x, y, N, N);
            assert_true(e == QNN_SUCCESS || e == QNN_COMMON_ERROR_SYSTEM_COMMUNICATION);
            died = e != QNN_SUCCESS;
        }
        unsetenv("OPENQNN_FAULT");
        OK(q.contextFree(c, NULL));
    }
    c = load(&s);
    struct net n = in_context(c, "R", &r.net);
    adds(&n, 2);
    OK(q.contextFree(c, NULL));
    free(s.data);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = { TEST(test_sections), TEST(test_threads), TEST(test_state), TEST(test_shared_weights),
                                        TEST(test_dead_session) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
