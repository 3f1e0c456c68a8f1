/* SPDX-License-Identifier: Apache-2.0 */
/* What contexts of libQnnHtp.so tell and keep: a context whose session has died answers every call with that, a restart of
 * the subsystem takes all sessions, priorities are kept in binaries, and properties of contexts and graphs. */
#include "api_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/QnnProperty.h>

enum { LOADED_BYTES = 0x4F510001, LOADED_GRAPHS, DIED = QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, BINARY = 1 << 16 };

static Qnn_LogHandle_t listener;
static Qnn_BackendHandle_t backend;
static struct {
    int session, pid;
    unsigned long long used;
    unsigned from_binary; /* a graph has the priority that it was saved with */
} told;

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[2048];
    (void)level, (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
    const char *at = strstr(text, "the context is on session ");
    if (at)
        sscanf(at, "the context is on session %d (process %d): %llu of", &told.session, &told.pid, &told.used);
    told.from_binary += strstr(text, "as it was saved") != NULL;
}

static int setup(void **state)
{
    (void)state;
    lib_open();
    memset(&told, 0, sizeof told);
    return q.logCreate(listen, QNN_LOG_LEVEL_INFO, &listener) != QNN_SUCCESS ||
           q.backendCreate(listener, NULL, &backend) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("OPENQNN_FAULT");
    unsetenv("OPENQNN_SESSION_BYTES");
    Qnn_ErrorHandle_t e = q.backendFree(backend);
    q.logFree(listener);
    lib_close();
    return e != QNN_SUCCESS;
}

/* ---- properties ------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t context_property(Qnn_ContextHandle_t c, uint32_t option, uint64_t *ret)
{
    QnnHtpContext_CustomProperty_t p = { .option = (QnnHtpContext_GetPropertyOption_t)option };
    QnnContext_Property_t custom = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p };
    QnnContext_Property_t *list[] = { &custom, NULL };
    Qnn_ErrorHandle_t e = q.contextGetProperty(c, list);
    *ret = p.spillfillBufferSize;
    return e;
}

static Qnn_ErrorHandle_t graph_property(Qnn_GraphHandle_t g, uint32_t option, uint64_t *ret)
{
    QnnHtpContext_CustomProperty_t p = { .option = (QnnHtpContext_GetPropertyOption_t)option };
    QnnGraph_Property_t custom = { .option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM, .customProperty = &p };
    QnnGraph_Property_t *list[] = { &custom, NULL };
    Qnn_ErrorHandle_t e = q.graphGetProperty(g, list);
    *ret = p.spillfillBufferSize;
    return e;
}

static void test_properties(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    struct net n[2];
    uint64_t value, all, weights;
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(context_property(c, LOADED_BYTES, &value));
    assert_int_equal(value, 0);
    for (int i = 0; i < 2; i++) {
        OK(net_affine(c, keep_name("net%d", i), 2, 1, &n[i]));
        FAILS(QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED, graph_property(n[i].graph, LOADED_BYTES, &value));
        OK(q.graphFinalize(n[i].graph, NULL, NULL));
        OK(context_property(c, LOADED_GRAPHS, &value));
        assert_int_equal(value, i + 1);
    }
    OK(context_property(c, LOADED_BYTES, &all));
    OK(graph_property(n[1].graph, LOADED_BYTES, &value));
    assert_in_range(value, 1, all / 2);
    OK(graph_property(n[1].graph, QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE, &weights));
    assert_true(weights > 0);
    OK(graph_property(n[1].graph, QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE, &value));
    assert_int_equal(value, 0);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "99", graph_property(n[1].graph, 99, &value));
    static const uint32_t keys[] = { QNN_PROPERTY_CONTEXT_SUPPORT_CUSTOM_PROPERTY,
                                     QNN_PROPERTY_GRAPH_SUPPORT_CUSTOM_PROPERTY,
                                     QNN_PROPERTY_CONTEXT_SUPPORT_CONFIG_MEMORY_LIMIT_HINT,
                                     QNN_PROPERTY_CONTEXT_SUPPORT_GRAPH_RETENTION_ORDER };
    for (unsigned i = 0; i < COUNT(keys); i++)
        assert_int_equal(q.propertyHasCapability(keys[i]), QNN_PROPERTY_SUPPORTED);
    OK(q.contextFree(c, NULL));
}

/* ---- death ------------------------------------------------------------------------------------------------------------ */

/* Every call on the context and its graphs, one kind of death: the library does not know of it yet. */
static void all_calls_say(Qnn_ContextHandle_t c, const struct net *n, const struct net *open)
{
    static char file[BINARY];
    static float x[AFFINE_N], y[AFFINE_N];
    uint64_t size;
    Qnn_GraphHandle_t g;
    Qnn_Tensor_t in = WITH(n->x, x), out = WITH(n->y, y), fresh = TENSOR("fresh", NATIVE, FLOAT_32, 4);
    QnnContext_Config_t priority = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_LOW };
    const QnnContext_Config_t *contexts[] = { &priority, NULL };
    QnnGraph_Config_t low = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_LOW };
    const QnnGraph_Config_t *graphs[] = { &low, NULL };
    struct op relu = { .name = "relu", .type = "Relu", .ni = 1, .in = { open->x }, .no = 1, .out = { open->y } };
    QnnGraph_ExecuteEnvironment_t e = { .option = QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS };
    QnnGraph_ExecuteEnvironment_t *envs[] = { &e };

    FAILS(DIED, q.graphSetConfig(n->graph, graphs));
    FAILS(DIED, context_property(c, QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE, &size));
    FAILS(DIED, graph_property(n->graph, LOADED_BYTES, &size));
    FAILS(DIED, q.contextGetBinarySize(c, &size));
    FAILS(DIED, q.contextGetBinary(c, file, sizeof file, &size));
    FAILS(DIED, q.contextGetBinarySectionSize(c, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &size));
    FAILS(DIED, q.contextSetConfig(c, contexts));
    FAILS(DIED, q.contextFinalize(c, NULL));
    FAILS(DIED, q.graphCreate(c, "another", NULL, &g));
    FAILS(DIED, q.graphRetrieve(c, "net", &g));
    FAILS(DIED, q.tensorCreateContextTensor(c, &fresh));
    FAILS(DIED, q.tensorCreateGraphTensor(open->graph, &fresh));
    FAILS(DIED, op_add(open->graph, &relu));
    FAILS(DIED, q.graphFinalize(open->graph, NULL, NULL));
    FAILS(DIED, q.graphPrepareExecutionEnvironment(n->graph, envs, 1));
    FAILS(DIED, q.graphExecute(n->graph, &in, 1, &out, 1, NULL, NULL));
}

static void make(Qnn_ContextHandle_t *c, struct net *n, struct net *open)
{
    OK(q.contextCreate(backend, NULL, NULL, c));
    OK(net_affine(*c, "net", 2, 1, n));
    OK(q.graphFinalize(n->graph, NULL, NULL));
    if (open)
        OK(net_affine(*c, "open", 2, 1, open));
}

static void test_every_call(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c, next;
    struct net n, open, m;
    make(&c, &n, &open);
    assert_true(told.pid > 1);
    siginfo_t info;
    assert_int_equal(kill(told.pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)told.pid, &info, WEXITED | WNOWAIT), 0);
    all_calls_say(c, &n, &open);
    make(&next, &m, NULL);
    OK(q.contextFree(c, NULL));
    float x[AFFINE_N] = { 1 }, y[AFFINE_N];
    OK(net_run(&m, x, y, AFFINE_N, AFFINE_N));
    assert_true(y[0] == 3);
    OK(q.contextFree(next, NULL));
}

static Qnn_ContextHandle_t chain(uint32_t n, struct net *ret)
{
    Qnn_ContextHandle_t c;
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(net_chain(c, "net", 3, n, ret));
    OK(q.graphFinalize(ret->graph, NULL, NULL));
    return c;
}

/* Several sessions, because the address space of one has room for one context. */
static void test_restart(void **state)
{
    (void)state;
    enum { SESSIONS = 3, SIDE = 1 << 18 };
    Qnn_ContextHandle_t c[SESSIONS];
    struct net n[SESSIONS];
    static float x[SIDE], y[SIDE];
    char bytes[32];
    OK(q.contextFree(chain(SIDE, &n[0]), NULL));
    snprintf(bytes, sizeof bytes, "%llu", told.used + 4 * SIDE);
    setenv("OPENQNN_SESSION_BYTES", bytes, 1);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < SESSIONS; i++) {
            c[i] = chain(SIDE, &n[i]);
            assert_int_equal(told.session, i);
            OK(net_run(&n[i], x, y, SIDE, SIDE));
        }
        setenv("OPENQNN_FAULT", "restart@2", 1);
        Qnn_ContextHandle_t last;
        struct net m;
        OK(q.contextCreate(backend, NULL, NULL, &last)); /* whose session reads the variable */
        OK(net_chain(last, "net", 3, SIDE, &m));
        FAILS_SAYING(DIED, "restarted", q.graphFinalize(m.graph, NULL, NULL));
        unsetenv("OPENQNN_FAULT");
        for (int i = 0; i < SESSIONS; i++)
            FAILS(DIED, net_run(&n[i], x, y, SIDE, SIDE));
        for (int i = 0; i < SESSIONS; i++)
            OK(q.contextFree(c[i], NULL));
        OK(q.contextFree(last, NULL));
    }
}

/* ---- priorities ------------------------------------------------------------------------------------------------------- */

static uint64_t priority_of(Qnn_GraphHandle_t g, const struct net *like)
{
    enum { HMX_PRIORITY = 30014 };
    static float x[AFFINE_N], y[AFFINE_N];
    Qnn_ProfileHandle_t p;
    Qnn_Tensor_t in = WITH(like->x, x), out = WITH(like->y, y);
    OK(q.profileCreate(backend, QNN_PROFILE_LEVEL_DETAILED, &p));
    OK(q.graphExecute(g, &in, 1, &out, 1, p, NULL));
    const struct event *e = profile_find(p, HMX_PRIORITY);
    assert_non_null(e);
    uint64_t value = e->data.value;
    OK(q.profileFree(p));
    return value;
}

static void set_priority(Qnn_GraphHandle_t g, Qnn_Priority_t priority)
{
    QnnGraph_Config_t c = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = priority };
    const QnnGraph_Config_t *list[] = { &c, NULL };
    OK(q.graphSetConfig(g, list));
}

static void test_priority_is_saved(void **state)
{
    (void)state;
    static char file[BINARY];
    static const Qnn_Priority_t priorities[] = { QNN_PRIORITY_LOW, QNN_PRIORITY_NORMAL, QNN_PRIORITY_HIGH };
    uint64_t seen[COUNT(priorities)], size, written;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    struct net n[COUNT(priorities)];
    OK(q.contextCreate(backend, NULL, NULL, &c));
    for (unsigned i = 0; i < COUNT(priorities); i++) {
        OK(net_affine(c, keep_name("net%u", i), 2, 1, &n[i]));
        if (i == 0)
            set_priority(n[i].graph, priorities[i]); /* while it is built */
        OK(q.graphFinalize(n[i].graph, NULL, NULL));
        set_priority(n[i].graph, priorities[i]); /* or later */
        seen[i] = priority_of(n[i].graph, &n[i]);
    }
    assert_true(seen[0] > seen[1] && seen[1] > seen[2]); /* of threads: smaller goes first */
    OK(q.contextGetBinarySize(c, &size));
    OK(q.contextGetBinary(c, file, sizeof file, &written));
    assert_int_equal(size, written);
    OK(q.contextFree(c, NULL));

    OK(q.contextCreateFromBinary(backend, NULL, NULL, file, size, &c, NULL));
    for (unsigned i = 0; i < COUNT(priorities); i++) {
        OK(q.graphRetrieve(c, keep_name("net%u", i), &g));
        assert_int_equal(priority_of(g, &n[i]), seen[i]);
    }
    assert_int_equal(told.from_binary, 2);
    OK(q.contextFree(c, NULL));

    /* What the client says of the context counts more. */
    QnnContext_Config_t high = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_HIGH };
    const QnnContext_Config_t *list[] = { &high, NULL };
    OK(q.contextCreateFromBinary(backend, NULL, list, file, size, &c, NULL));
    for (unsigned i = 0; i < COUNT(priorities); i++) {
        OK(q.graphRetrieve(c, keep_name("net%u", i), &g));
        assert_int_equal(priority_of(g, &n[i]), seen[2]);
    }
    OK(q.contextFree(c, NULL));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = { TEST(test_properties), TEST(test_every_call), TEST(test_restart),
                                        TEST(test_priority_is_saved) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
