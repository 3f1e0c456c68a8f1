/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: which events a call leaves behind, how they hang together, and how long they can be read. */
#include <string.h>

#include "api_test.h"

static struct net net;
static float x[CONV_IN], y[CONV_OUT];

static int setup(void **state)
{
    int failed = env_setup(state);
    memcpy(x, conv_in, sizeof x);
    OK(net_conv(env.context, "net", &net));
    return failed;
}

static Qnn_ErrorHandle_t run(Qnn_ProfileHandle_t p)
{
    Qnn_Tensor_t in = WITH(net.x, x), out = WITH(net.y, y);
    return q.graphExecute(net.graph, &in, 1, &out, 1, p, NULL);
}

/* What a tree of events holds. */
struct seen {
    unsigned events, nodes, levels;
    unsigned by_type[1200];
    bool names_conv, names_softmax;
};

static void look(const QnnProfile_EventId_t *ids, uint32_t n, unsigned level, struct seen *s)
{
    if (level > s->levels)
        s->levels = level;
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t d = QNN_PROFILE_EVENT_DATA_INIT;
        OK(q.profileGetEventData(ids[i], &d));
        assert_non_null(d.identifier);
        assert_true(d.unit >= QNN_PROFILE_EVENTUNIT_MICROSEC &&
                    (d.unit <= QNN_PROFILE_EVENTUNIT_NONE || d.unit >= QNN_PROFILE_EVENTUNIT_BACKEND));
        s->events++;
        s->by_type[d.type < 1200 ? d.type : 1199]++;
        if (d.type == QNN_PROFILE_EVENTTYPE_NODE) {
            s->nodes++;
            s->names_conv |= strstr(d.identifier, "net_conv") != NULL;
            s->names_softmax |= strstr(d.identifier, "net_softmax") != NULL;
        }
        QnnProfile_ExtendedEventData_t e = QNN_PROFILE_EXTENDED_EVENT_DATA_INIT;
        OK(q.profileGetExtendedEventData(ids[i], &e));
        assert_int_equal(e.version, QNN_PROFILE_DATA_VERSION_1);
        assert_int_equal(e.v1.type, d.type);
        assert_int_equal(e.v1.unit, d.unit);
        assert_string_equal(e.v1.identifier, d.identifier);
        const QnnProfile_EventId_t *sub = NULL;
        uint32_t n_sub = 0;
        OK(q.profileGetSubEvents(ids[i], &sub, &n_sub));
        look(sub, n_sub, level + 1, s);
    }
}

static struct seen look_at(Qnn_ProfileHandle_t p)
{
    struct seen s = { 0 };
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0;
    OK(q.profileGetEvents(p, &ids, &n));
    look(ids, n, 1, &s);
    return s;
}

static Qnn_ProfileHandle_t make(QnnProfile_Level_t level)
{
    Qnn_ProfileHandle_t p = NULL;
    OK(q.profileCreate(env.backend, level, &p));
    return p;
}

static void test_basic(void **state)
{
    (void)state;
    Qnn_ProfileHandle_t p = make(QNN_PROFILE_LEVEL_BASIC);
    assert_int_equal(look_at(p).events, 0);
    OK(q.graphFinalize(net.graph, p, NULL));
    struct seen s = look_at(p);
    assert_int_equal(s.by_type[QNN_PROFILE_EVENTTYPE_FINALIZE], 1);
    OK(run(p));
    s = look_at(p); /* the call before is gone */
    assert_int_equal(s.by_type[QNN_PROFILE_EVENTTYPE_FINALIZE], 0);
    assert_int_equal(s.by_type[QNN_PROFILE_EVENTTYPE_EXECUTE], 1);
    assert_int_equal(s.nodes, 0); /* whole calls only */
    OK(q.contextFree(env.context, p));
    s = look_at(p);
    assert_int_equal(s.by_type[QNN_PROFILE_EVENTTYPE_DEINIT], 1);
    OK(q.profileFree(p));
}

static void test_detailed(void **state)
{
    (void)state;
    Qnn_ProfileHandle_t p = make(QNN_PROFILE_LEVEL_DETAILED);
    OK(q.graphFinalize(net.graph, p, NULL));
    OK(run(p));
    struct seen s = look_at(p);
    assert_int_equal(s.by_type[QNN_PROFILE_EVENTTYPE_EXECUTE], 1);
    assert_true(s.levels >= 2);
    assert_true(s.nodes >= 2); /* the convolution, with or without its activation, and the softmax */
    assert_true(s.names_conv && s.names_softmax);
    const QnnProfile_EventId_t *ids, *subs;
    uint32_t n, m;
    OK(q.profileGetEvents(p, &ids, &n));
    OK(q.profileGetSubEvents(ids[0], &subs, &m));
    if (lib_is_htp())
        assert_true(n > 1 && !m); /* the call itself is one of several, and operators are below another one */
    else
        assert_true(n == 1 && m >= 1); /* everything hangs below the call */
    OK(q.profileFree(p));
}

/* Ids and strings can be read until the handle is used again or freed; after that they are refused. */
static void test_life_of_events(void **state)
{
    (void)state;
    Qnn_ProfileHandle_t p = make(QNN_PROFILE_LEVEL_DETAILED), other = make(QNN_PROFILE_LEVEL_DETAILED);
    OK(q.graphFinalize(net.graph, NULL, NULL));
    OK(run(p));
    const QnnProfile_EventId_t *ids, *more;
    uint32_t n, m;
    OK(q.profileGetEvents(p, &ids, &n));
    QnnProfile_EventId_t kept = ids[0];
    QnnProfile_EventData_t before, after;
    OK(q.profileGetEventData(kept, &before));
    for (int i = 0; i < 5; i++)
        OK(run(other));
    OK(q.profileGetEvents(other, &more, &m));
    assert_true(more[0] != kept);
    OK(q.profileGetEventData(kept, &after));
    assert_int_equal(before.value, after.value);
    assert_ptr_equal(before.identifier, after.identifier);
    OK(q.profileFree(p));
    assert_int_not_equal(CODE(q.profileGetEventData(kept, &after)), QNN_SUCCESS);
    assert_int_not_equal(CODE(q.profileGetSubEvents(kept, &ids, &n)), QNN_SUCCESS);
    assert_int_not_equal(CODE(q.profileGetEventData(0, &after)), QNN_SUCCESS);
    assert_int_not_equal(CODE(q.profileGetEventData(~(uint64_t)0, &after)), QNN_SUCCESS);
    OK(q.profileFree(other));
}

static void test_levels_and_configs(void **state)
{
    (void)state;
    Qnn_ProfileHandle_t p;
    FAILS(QNN_PROFILE_ERROR_UNSUPPORTED, q.profileCreate(env.backend, 77, &p));
    FAILS(QNN_PROFILE_ERROR_UNSUPPORTED, q.profileCreate(env.backend, 0, &p));
    p = make(QNN_PROFILE_LEVEL_DETAILED);
    QnnProfile_Config_t two = { .option = QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS, .numMaxEvents = 2 },
                        bad = { .option = (QnnProfile_ConfigOption_t)66 };
    const QnnProfile_Config_t *config[] = { &two, NULL }, *bads[] = { &bad, NULL };
    OK(q.profileSetConfig(p, config));
    OK(q.profileSetConfig(p, NULL));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    OK(run(p));
    assert_true(look_at(p).events <= 2);
    assert_int_not_equal(CODE(q.profileSetConfig(p, bads)), QNN_SUCCESS);
    OK(q.profileFree(p));
    FAILS(QNN_PROFILE_ERROR_INVALID_HANDLE, q.profileFree(p));
    FAILS(QNN_PROFILE_ERROR_INVALID_HANDLE, q.profileSetConfig(p, config));
    assert_int_not_equal(CODE(run(p)), QNN_SUCCESS); /* a freed profile */
}

/* Events of a call have ids of their own, so another call was recorded when the first one is another. */
static QnnProfile_EventId_t first_event(Qnn_ProfileHandle_t p)
{
    const QnnProfile_EventId_t *events;
    uint32_t n;
    OK(q.profileGetEvents(p, &events, &n));
    assert_true(n > 0);
    return events[0];
}

/* A profile in the graph's config records every execution without being passed. */
static void test_continuous(void **state)
{
    (void)state;
    Qnn_ProfileHandle_t p = make(QNN_PROFILE_LEVEL_BASIC), other = make(QNN_PROFILE_LEVEL_BASIC);
    QnnGraph_Config_t with = { .option = QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE, .profileHandle = p },
                      off = { .option = QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE,
                              .profilingState = QNN_GRAPH_PROFILING_STATE_DISABLED },
                      on = { .option = QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE,
                             .profilingState = QNN_GRAPH_PROFILING_STATE_ENABLED },
                      none = { .option = QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE, .profileHandle = NULL };
    const QnnGraph_Config_t *set[] = { &with, NULL }, *stop[] = { &off, NULL }, *go[] = { &on, NULL },
                            *unset[] = { &none, NULL };
    OK(q.graphFinalize(net.graph, NULL, NULL));
    OK(q.graphSetConfig(net.graph, set));
    OK(run(NULL));
    assert_int_equal(look_at(p).by_type[QNN_PROFILE_EVENTTYPE_EXECUTE], 1);
    FAILS(QNN_GRAPH_ERROR_INVALID_ARGUMENT, run(other));
    struct net second;
    OK(net_affine(env.context, "second", 1, 1, &second));
    FAILS(QNN_GRAPH_ERROR_PROFILE_IN_USE, q.graphSetConfig(second.graph, set)); /* a profile is bound to one graph */
    FAILS(QNN_PROFILE_ERROR_HANDLE_IN_USE, q.profileFree(p));
    QnnProfile_EventId_t before = first_event(p);
    OK(q.graphSetConfig(net.graph, stop));
    OK(run(NULL));
    assert_true(first_event(p) == before);
    OK(q.graphSetConfig(net.graph, go));
    OK(run(NULL));
    assert_true(first_event(p) != before);
    OK(q.graphSetConfig(net.graph, unset));
    OK(run(other));
    assert_int_equal(look_at(other).by_type[QNN_PROFILE_EVENTTYPE_EXECUTE], 1);
    OK(q.profileFree(p));
    OK(q.profileFree(other));
}

/* As many executions as were asked for, and none behind them until the client asks again. */
static void test_counted_executions(void **state)
{
    (void)state;
    Qnn_ProfileHandle_t p = make(QNN_PROFILE_LEVEL_BASIC);
    QnnGraph_Config_t with = { .option = QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE, .profileHandle = p },
                      two = { .option = QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_NUM_EXECUTIONS, .numProfilingExecutions = 2 },
                      none = { .option = QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE, .profileHandle = NULL };
    const QnnGraph_Config_t *set[] = { &with, &two, NULL }, *again[] = { &two, NULL }, *unset[] = { &none, NULL };
    OK(q.graphFinalize(net.graph, NULL, NULL));
    OK(q.graphSetConfig(net.graph, set));
    for (int round = 0; round < 2; round++) {
        OK(run(NULL));
        QnnProfile_EventId_t first = first_event(p);
        OK(run(NULL));
        QnnProfile_EventId_t second = first_event(p);
        assert_true(second != first);
        OK(run(NULL));
        assert_true(first_event(p) == second);
        OK(q.graphSetConfig(net.graph, again));
    }
    OK(q.graphSetConfig(net.graph, unset));
    OK(q.profileFree(p));
}

/* The graph goes, the profile it was bound to becomes free. */
static void test_continuous_and_context_free(void **state)
{
    (void)state;
    Qnn_ProfileHandle_t p = make(QNN_PROFILE_LEVEL_DETAILED);
    QnnGraph_Config_t with = { .option = QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE, .profileHandle = p };
    const QnnGraph_Config_t *set[] = { &with, NULL };
    OK(q.graphSetConfig(net.graph, set));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    OK(run(NULL));
    assert_true(look_at(p).nodes >= 2);
    OK(q.contextFree(env.context, NULL));
    OK(q.profileFree(p));
}

static void test_load_event(void **state)
{
    (void)state;
    static char bytes[4 << 20]; /* room for what a backend adds: device binaries */
    Qnn_ProfileHandle_t p = make(QNN_PROFILE_LEVEL_BASIC);
    uint64_t size;
    Qnn_ContextHandle_t c;
    OK(q.graphFinalize(net.graph, NULL, NULL));
    OK(q.contextGetBinary(env.context, bytes, sizeof bytes, &size));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, size, &c, p));
    assert_int_equal(look_at(p).by_type[QNN_PROFILE_EVENTTYPE_INIT], 1);
    OK(q.profileFree(p));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, env_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_basic),
        CASE(test_detailed),
        CASE(test_life_of_events),
        CASE(test_levels_and_configs),
        CASE(test_continuous),
        CASE(test_counted_executions),
        CASE(test_continuous_and_context_free),
        CASE(test_load_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
