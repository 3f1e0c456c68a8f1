/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts that share memory: lists with SHARE_RESOURCES in its three types, and groups for concurrent executions. Bytes are
 * those of the session, of properties and of profile events, and agree. */
#include "api_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpGraph.h>

enum { SIDE = 160, N = SIDE * SIDE, KIB = 1024, MIB = KIB * KIB, MOST = 4, BINARY = 1 << 18 };
enum { SHARED_SPILL = 0x4F510005, SHARED_SCRATCH, SHARED_BACKUP, SHARED_STAGING, GROUP_CONTEXTS };
enum { EVENT_SPILL = 30060, EVENT_SCRATCH, EVENT_BACKUP, EVENT_STAGING, EVENT_CONTEXTS };

static Qnn_LogHandle_t listener;
static Qnn_BackendHandle_t backend;
static float x[N], want[N];
static struct net built;
static _Alignas(64) char file[BINARY];
static uint64_t file_bytes;
static unsigned long long told_used;
static unsigned warned, sessions_told; /* bit per session that a context went to */

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[2048];
    (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
    const char *at = strstr(text, "): ");
    if (at && strstr(text, "the context is on session "))
        sscanf(at, "): %llu of", &told_used);
    at = strstr(text, "the context is on session ");
    if (at)
        sessions_told |= 1u << atoi(at + strlen("the context is on session "));
    warned += level == QNN_LOG_LEVEL_WARN && strstr(text, "shares nothing");
}

/* ---- a graph that spills, in a file ----------------------------------------------------------------------------------- */

static void write_file(void)
{
    QnnHtpGraph_CustomConfig_t size = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_BYTES,
                                        .vtcmSizeInBytes = 256 * KIB };
    QnnGraph_Config_t custom = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &size };
    const QnnGraph_Config_t *list[] = { &custom, NULL };
    Qnn_ContextHandle_t c;
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(q.graphCreate(c, "turns", list, &built.graph));
    net_turns(&built, SIDE);
    OK(q.graphFinalize(built.graph, NULL, NULL));
    OK(q.contextGetBinary(c, file, sizeof file, &file_bytes));
    OK(q.contextFree(c, NULL));
}

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 1009) - 500;
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            want[i * SIDE + k] = 2 * x[k * SIDE + i];
    setenv("OPENQNN_LIST_WAIT", "1", 1);
    lib_open();
    warned = sessions_told = 0;
    if (q.logCreate(listen, QNN_LOG_LEVEL_INFO, &listener) != QNN_SUCCESS ||
        q.backendCreate(listener, NULL, &backend) != QNN_SUCCESS)
        return 1;
    write_file();
    return 0;
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

struct loaded {
    Qnn_ContextHandle_t context;
    Qnn_ErrorHandle_t error;
    Qnn_ProfileHandle_t profile;
};

static void on_loaded(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                      QnnContext_createFromBinaryAsyncNotifyType_t type, void *param, Qnn_ErrorHandle_t status)
{
    struct loaded *l = param;
    (void)graph, (void)name;
    if (type != QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT)
        return;
    l->context = context;
    l->error = status;
}

/* A list of the same file, each context with its priority. type < 0: nothing is shared. */
static Qnn_ErrorHandle_t load_list(int type, const Qnn_Priority_t *priorities, uint32_t n, struct loaded *ret)
{
    QnnHtpContext_CustomConfig_t share = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES, .shareResources = true };
    QnnHtpContext_CustomConfig_t how = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES_OPTIMIZATION_TYPE,
                                         .shareResOptType = (QnnHtpContext_ShareResourcesOptimizationType_t)type };
    QnnContext_Config_t customs[] = { { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &share },
                                      { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &how } };
    const QnnContext_Config_t *shared[] = { &customs[0], &customs[1], NULL };
    QnnContext_Config_t own[MOST];
    const QnnContext_Config_t *config[MOST][2];
    const QnnContext_Params_t *list[MOST + 1] = { NULL };
    for (uint32_t i = 0; i < n; i++) {
        own[i] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = priorities[i] };
        config[i][0] = &own[i];
        config[i][1] = NULL;
        ret[i] = (struct loaded){ .error = QNN_COMMON_ERROR_GENERAL };
        OK(q.profileCreate(backend, QNN_PROFILE_LEVEL_BASIC, &ret[i].profile));
    }
    const QnnContext_Params_t params[MOST] = {
#define PARAMS(i)                                                                                                          \
    {                                                                                                                      \
        .version = QNN_CONTEXT_PARAMS_VERSION_1, .v1 = { config[i], file, file_bytes, ret[i].profile, on_loaded, &ret[i] } \
    }
        PARAMS(0), PARAMS(1), PARAMS(2), PARAMS(3)
    };
    for (uint32_t i = 0; i < n; i++)
        list[i] = &params[i];
    return q.contextCreateFromBinaryListAsync(backend, NULL, list, type < 0 ? NULL : shared, NULL);
}

static void free_list(struct loaded *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (l[i].context)
            OK(q.contextFree(l[i].context, NULL));
        OK(q.profileFree(l[i].profile));
    }
}

static Qnn_ErrorHandle_t load_in_group(Qnn_ContextHandle_t first, uint64_t bytes, Qnn_Priority_t priority,
                                       Qnn_DeviceHandle_t device, Qnn_ContextHandle_t *ret)
{
    QnnHtpContext_CustomConfig_t group = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_CONCURRENT_RESOURCE_SHARING };
    group.concurrentGroupRegistration = (QnnHtpContext_GroupRegistration_t){ first, bytes };
    QnnContext_Config_t c[] = { { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &group },
                                { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = priority } };
    const QnnContext_Config_t *list[] = { &c[0], &c[1], NULL };
    return q.contextCreateFromBinary(backend, device, list, file, file_bytes, ret, NULL);
}

static bool right(Qnn_ContextHandle_t c)
{
    struct net n = built;
    float *y = calloc(N, sizeof *y);
    bool ok = q.graphRetrieve(c, "turns", &n.graph) == QNN_SUCCESS && net_run(&n, x, y, N, N) == QNN_SUCCESS &&
              memcmp(y, want, sizeof want) == 0;
    free(y);
    return ok;
}

static uint64_t property(Qnn_ContextHandle_t c, uint32_t option)
{
    QnnHtpContext_CustomProperty_t p = { .option = (QnnHtpContext_GetPropertyOption_t)option };
    QnnContext_Property_t custom = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p };
    QnnContext_Property_t *list[] = { &custom, NULL };
    OK(q.contextGetProperty(c, list));
    return p.spillfillBufferSize;
}

static uint64_t event_of(Qnn_ProfileHandle_t p, uint32_t type)
{
    const struct event *e = profile_find(p, type);
    return e ? e->data.value : 0;
}

static uint64_t pages(uint64_t bytes)
{
    return (bytes + 4095) & ~UINT64_C(4095);
}

/* Bytes in use on the session: what the log says when one more small context comes, always the same. */
static uint64_t used(void)
{
    Qnn_ContextHandle_t c;
    struct net n;
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(net_affine(c, "probe", 2, 1, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    OK(q.contextFree(c, NULL));
    return told_used;
}

static const Qnn_Priority_t normal[MOST] = { QNN_PRIORITY_NORMAL, QNN_PRIORITY_NORMAL, QNN_PRIORITY_NORMAL,
                                             QNN_PRIORITY_NORMAL };

/* Bytes of the session that a list takes; its contexts compute, in any order. */
static uint64_t cost_of(int type, const Qnn_Priority_t *priorities, uint32_t n, struct loaded *l)
{
    uint64_t before = used();
    OK(load_list(type, priorities, n, l));
    for (uint32_t i = 0; i < n; i++)
        OK(l[i].error);
    uint64_t after = used();
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < n; i++)
            assert_true(right(l[round ? n - 1 - i : i].context));
    return after - before;
}

/* ---- lists ------------------------------------------------------------------------------------------------------------ */

static void test_without_addresses(void **state)
{
    (void)state;
    struct loaded l[MOST];
    uint64_t alone = cost_of(-1, normal, MOST, l);
    uint64_t spill = property(l[0].context, QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE);
    assert_in_range(spill, sizeof x, 3 * sizeof x);
    assert_int_equal(property(l[0].context, SHARED_SPILL), 0);
    assert_null(profile_find(l[0].profile, EVENT_SPILL));
    free_list(l, MOST);

    uint64_t shared = cost_of(SEQUENTIAL_WITHOUT_VA_OPTIMIZATION, normal, MOST, l);
    assert_int_equal(alone - shared, (MOST - 1) * pages(spill));
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(property(l[i].context, SHARED_SPILL), spill);
        assert_int_equal(property(l[i].context, SHARED_SCRATCH), 0);
        assert_int_equal(property(l[i].context, SHARED_BACKUP), 0);
        assert_int_equal(property(l[i].context, GROUP_CONTEXTS), MOST);
        assert_int_equal(event_of(l[i].profile, EVENT_SPILL), spill);
        assert_int_equal(event_of(l[i].profile, EVENT_CONTEXTS), MOST);
    }
    free_list(l, MOST);
}

static void test_with_addresses(void **state)
{
    (void)state;
    struct loaded l[MOST];
    uint64_t less = cost_of(SEQUENTIAL_WITHOUT_VA_OPTIMIZATION, normal, MOST, l);
    free_list(l, MOST);
    uint64_t least = cost_of(SEQUENTIAL_WITH_VA_OPTIMIZATION, normal, MOST, l);
    uint64_t staging = property(l[0].context, SHARED_STAGING), scratch = property(l[0].context, SHARED_SCRATCH);
    assert_in_range(staging, 2 * sizeof x, 2 * sizeof x + KIB);
    assert_int_equal(less - least, MOST * pages(2 * sizeof x) - pages(staging) + (MOST - 1) * pages(scratch));
    assert_int_equal(event_of(l[1].profile, EVENT_STAGING), staging);
    assert_int_equal(event_of(l[1].profile, EVENT_SCRATCH), scratch);

    /* The buffers stay as long as one of them is there. */
    OK(q.contextFree(l[0].context, NULL));
    OK(q.contextFree(l[2].context, NULL));
    l[0].context = l[2].context = NULL;
    assert_true(right(l[1].context) && right(l[3].context));
    assert_int_equal(property(l[1].context, GROUP_CONTEXTS), 2);
    free_list(l, MOST);
}

static void *repeat(void *context)
{
    for (int i = 0; i < 20; i++)
        if (!right(context))
            return context;
    return NULL;
}

/* Threads that break the rule of one execution after the other wait for each other. */
static void all_at_once(const struct loaded *l)
{
    pthread_t thread[MOST];
    for (int i = 0; i < MOST; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, repeat, l[i].context), 0);
    for (int i = 0; i < MOST; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
}

static void test_concurrent(void **state)
{
    (void)state;
    static const Qnn_Priority_t mixed[MOST] = { QNN_PRIORITY_LOW, QNN_PRIORITY_HIGH, QNN_PRIORITY_LOW, QNN_PRIORITY_HIGH };
    struct loaded l[MOST];
    uint64_t alone = cost_of(-1, mixed, MOST, l);
    uint64_t spill = property(l[0].context, QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE);
    uint64_t vtcm = property(l[0].context, QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE);
    free_list(l, MOST);

    uint64_t shared = cost_of(CONCURRENT_OPTIMIZATION, mixed, MOST, l);
    assert_int_equal(alone + 2 * vtcm - shared, (MOST - 2) * pages(spill)); /* two priorities */
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(property(l[i].context, SHARED_SPILL), spill);
        assert_int_equal(property(l[i].context, SHARED_BACKUP), vtcm);
        assert_int_equal(property(l[i].context, GROUP_CONTEXTS), 2);
        assert_int_equal(event_of(l[i].profile, EVENT_BACKUP), vtcm);
    }
    all_at_once(l);
    free_list(l, MOST);

    OK(load_list(SEQUENTIAL_WITH_VA_OPTIMIZATION, mixed, MOST, l));
    all_at_once(l);
    free_list(l, MOST);
}

/* Sessions with room for two contexts each: a list shares on both of them. */
static void test_two_sessions(void **state)
{
    (void)state;
    struct loaded l[MOST];
    char bytes[32];
    OK(load_list(SEQUENTIAL_WITHOUT_VA_OPTIMIZATION, normal, 2, l));
    snprintf(bytes, sizeof bytes, "%llu", told_used + 64 * KIB);
    for (int i = 0; i < 2; i++)
        OK(l[i].error);
    uint64_t spill = property(l[0].context, SHARED_SPILL);
    free_list(l, 2);
    setenv("OPENQNN_SESSION_BYTES", bytes, 1);

    OK(load_list(SEQUENTIAL_WITHOUT_VA_OPTIMIZATION, normal, MOST, l));
    for (int i = 0; i < MOST; i++) {
        OK(l[i].error);
        assert_int_equal(property(l[i].context, SHARED_SPILL), spill);
    }
    assert_int_equal(sessions_told, 3); /* 0 and 1 */
    for (int i = 0; i < MOST; i++)
        assert_true(right(l[i].context));
    free_list(l, MOST);
    unsetenv("OPENQNN_SESSION_BYTES");
}

/* ---- registered groups ------------------------------------------------------------------------------------------------ */

static void change_priority(Qnn_ContextHandle_t c, Qnn_Priority_t priority, uint32_t of_context, uint32_t of_graph)
{
    struct net n = built;
    QnnContext_Config_t whole = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = priority };
    QnnGraph_Config_t one = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = priority };
    const QnnContext_Config_t *contexts[] = { &whole, NULL };
    const QnnGraph_Config_t *graphs[] = { &one, NULL };
    OK(q.graphRetrieve(c, "turns", &n.graph));
    FAILS(of_context, q.contextSetConfig(c, contexts));
    FAILS(of_graph, q.graphSetConfig(n.graph, graphs));
}

static void test_registered(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c[3], other;
    uint64_t before = used();
    OK(load_in_group(NULL, MIB, QNN_PRIORITY_LOW, NULL, &c[0]));
    uint64_t one = used() - before;
    OK(load_in_group(c[0], MIB, QNN_PRIORITY_LOW, NULL, &c[1]));
    OK(load_in_group(c[0], 0, QNN_PRIORITY_LOW, NULL, &c[2]));
    uint64_t vtcm = property(c[0], SHARED_BACKUP);
    assert_int_equal(vtcm, property(c[0], QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE));
    assert_int_equal(property(c[2], SHARED_SPILL), MIB);
    assert_int_equal(property(c[2], GROUP_CONTEXTS), 3);
    assert_true(used() - before < 3 * one - 2 * (MIB + vtcm) + KIB);

    OK(load_in_group(NULL, 2 * MIB, QNN_PRIORITY_HIGH, NULL, &other)); /* a group of one */
    assert_int_equal(property(other, SHARED_SPILL), 2 * MIB);
    assert_int_equal(property(other, GROUP_CONTEXTS), 1);
    for (int i = 0; i < 3; i++)
        assert_true(right(c[i]) && right(other));

    change_priority(c[1], QNN_PRIORITY_HIGH, QNN_CONTEXT_ERROR_INVALID_CONFIG, QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    change_priority(c[1], QNN_PRIORITY_LOW, QNN_SUCCESS, QNN_SUCCESS);
    for (int i = 0; i < 3; i++)
        OK(q.contextFree(c[i], NULL));
    OK(q.contextFree(other, NULL));
}

static Qnn_DeviceHandle_t device_of(uint32_t soc)
{
    QnnHtpDevice_CustomConfig_t custom = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = soc };
    QnnDevice_Config_t config = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnDevice_Config_t *list[] = { &config, NULL };
    Qnn_DeviceHandle_t d;
    OK(q.deviceCreate(listener, list, &d));
    return d;
}

static void test_refused(void **state)
{
    (void)state;
    enum { SM8550 = 43, SM8350 = 30 };
    Qnn_ContextHandle_t c, multi, next;
    Qnn_DeviceHandle_t v73 = device_of(SM8550);
    FAILS_SAYING(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, "v81", load_in_group(NULL, MIB, QNN_PRIORITY_LOW, v73, &c));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "maxSpillFillBuffer of the first context is 0",
                 load_in_group(NULL, 0, QNN_PRIORITY_LOW, NULL, &c));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "is not a context",
                 load_in_group(&c, MIB, QNN_PRIORITY_LOW, NULL, &next));

    OK(load_in_group(NULL, MIB, QNN_PRIORITY_LOW, NULL, &c));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "that of the group 1048576",
                 load_in_group(c, 2 * MIB, QNN_PRIORITY_LOW, NULL, &next));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "has priority", load_in_group(c, MIB, QNN_PRIORITY_HIGH, NULL, &next));
    OK(load_in_group(c, MIB, QNN_PRIORITY_LOW, NULL, &next)); /* the group is as before */
    assert_int_equal(property(next, GROUP_CONTEXTS), 2);
    OK(q.contextFree(next, NULL));
    OK(q.contextFree(c, NULL));

    /* Groups of two kinds do not mix, and a graph has to fit. */
    QnnHtpContext_CustomConfig_t group = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS };
    group.groupRegistration = (QnnHtpContext_GroupRegistration_t){ NULL, MIB };
    QnnContext_Config_t custom = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &group };
    const QnnContext_Config_t *list[] = { &custom, NULL };
    OK(q.contextCreate(backend, NULL, list, &multi));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "without a group",
                 load_in_group(multi, MIB, QNN_PRIORITY_NORMAL, NULL, &c));
    OK(q.contextFree(multi, NULL));
    FAILS_SAYING(QNN_CONTEXT_ERROR_MEM_ALLOC, "has 4096", load_in_group(NULL, 4096, QNN_PRIORITY_LOW, NULL, &c));
    OK(q.deviceFree(v73));
}

/* Without a list there is nothing to share with. */
static void test_alone(void **state)
{
    (void)state;
    QnnHtpContext_CustomConfig_t share = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES, .shareResources = true };
    QnnContext_Config_t custom = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &share };
    const QnnContext_Config_t *list[] = { &custom, NULL };
    Qnn_ContextHandle_t c;
    OK(q.contextCreateFromBinary(backend, NULL, list, file, file_bytes, &c, NULL));
    assert_int_equal(property(c, GROUP_CONTEXTS), 0);
    assert_int_equal(warned, 1);
    OK(q.contextFree(c, NULL));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_without_addresses), TEST(test_with_addresses), TEST(test_concurrent), TEST(test_two_sessions),
        TEST(test_registered),        TEST(test_refused),        TEST(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
