/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of contexts: one spill-fill buffer for all, of the size that the first one says, counted once and gone with the
 * last one that uses it, in any order; what does not fit or names no group is refused; a dead session takes nothing else
 * along. */
#include "api_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpGraph.h>
#include <QNN/HTP/QnnHtpMem.h>

enum { SIDE = 160, N = SIDE * SIDE, KIB = 1024, MIB = KIB * KIB, MOST = 8, BINARY = 1 << 16 };

static Qnn_LogHandle_t listener;
static Qnn_BackendHandle_t backend;
static float x[N], want[N];

/* What the log said of the context that was placed last. */
static struct {
    int session, pid;
    unsigned long long used;
    unsigned elsewhere;
} told;

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[2048];
    (void)level, (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
    const char *at = strstr(text, "the context is on session ");
    if (at)
        sscanf(at, "the context is on session %d (process %d): %llu of", &told.session, &told.pid, &told.used);
    told.elsewhere += strstr(text, "not on the session of its group") != NULL;
}

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 1009) - 500;
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            want[i * SIDE + k] = 2 * x[k * SIDE + i];
    lib_open();
    memset(&told, 0, sizeof told);
    return q.logCreate(listen, QNN_LOG_LEVEL_INFO, &listener) != QNN_SUCCESS ||
           q.backendCreate(listener, NULL, &backend) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("OPENQNN_SESSION_BYTES");
    Qnn_ErrorHandle_t e = q.backendFree(backend);
    q.logFree(listener);
    lib_close();
    return e != QNN_SUCCESS;
}

/* ---- contexts --------------------------------------------------------------------------------------------------------- */

static QnnHtpContext_CustomConfig_t group_config(Qnn_ContextHandle_t first, uint64_t bytes)
{
    QnnHtpContext_CustomConfig_t c = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS };
    c.groupRegistration = (QnnHtpContext_GroupRegistration_t){ first, bytes };
    return c;
}

static Qnn_ErrorHandle_t create_in_group(Qnn_ContextHandle_t first, uint64_t bytes, Qnn_Priority_t priority,
                                         Qnn_ContextHandle_t *ret)
{
    QnnHtpContext_CustomConfig_t group = group_config(first, bytes);
    QnnContext_Config_t c[] = { { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &group },
                                { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = priority } };
    const QnnContext_Config_t *list[] = { &c[0], &c[1], NULL };
    return q.contextCreate(backend, NULL, list, ret);
}

static struct net compose(Qnn_ContextHandle_t context)
{
    QnnHtpGraph_CustomConfig_t size = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_BYTES,
                                        .vtcmSizeInBytes = 256 * KIB };
    QnnGraph_Config_t custom = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &size };
    const QnnGraph_Config_t *list[] = { &custom, NULL };
    struct net n;
    OK(q.graphCreate(context, "turns", list, &n.graph));
    net_turns(&n, SIDE);
    return n;
}

static struct net turns(Qnn_ContextHandle_t context)
{
    struct net n = compose(context);
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return n;
}

static bool right(const struct net *n)
{
    float *y = calloc(N, sizeof *y);
    bool ok = net_run(n, x, y, N, N) == QNN_SUCCESS && memcmp(y, want, sizeof want) == 0;
    free(y);
    return ok;
}

static uint64_t spill_of(Qnn_ContextHandle_t c)
{
    QnnHtpContext_CustomProperty_t p = { .option = QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE };
    QnnContext_Property_t property = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p },
                          *list[] = { &property, NULL };
    OK(q.contextGetProperty(c, list));
    return p.spillfillBufferSize;
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
    return told.used;
}

/* What one context takes, and how much of that is its spill-fill buffer. */
struct size {
    uint64_t context, spill;
};

static struct size measure(void)
{
    Qnn_ContextHandle_t keep, c;
    struct size s;
    OK(q.contextCreate(backend, NULL, NULL, &keep));
    turns(keep); /* has the VTCM charged */
    uint64_t before = used();
    OK(q.contextCreate(backend, NULL, NULL, &c));
    turns(c);
    s = (struct size){ .context = used() - before, .spill = spill_of(c) };
    assert_in_range(s.spill, sizeof x, 3 * sizeof x);
    OK(q.contextFree(c, NULL));
    OK(q.contextFree(keep, NULL));
    return s;
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

static void test_counted_once(void **state)
{
    (void)state;
    /* which one is freed next */
    static const int orders[][MOST] = { { 0, 1 },
                                        { 1, 0 },
                                        { 0, 2, 1 },
                                        { 1, 2, 0 },
                                        { 3, 0, 4, 1, 2 },
                                        { 0, 1, 2, 3, 4, 5, 6, 7 },
                                        { 7, 6, 5, 4, 3, 2, 1, 0 } };
    static const int counts[] = { 2, 2, 3, 3, 5, 8, 8 };
    Qnn_ContextHandle_t keep, c[MOST];
    struct net n[MOST];
    struct size s = measure();
    uint64_t buffer = 1 * MIB, without = s.context - pages(s.spill);
    OK(q.contextCreate(backend, NULL, NULL, &keep));
    struct net other = turns(keep);
    uint64_t begin = used();
    for (size_t k = 0; k < COUNT(counts); k++) {
        for (int i = 0; i < counts[k]; i++) {
            OK(create_in_group(i ? c[0] : NULL, i ? 5 : buffer, QNN_PRIORITY_NORMAL, &c[i]));
            assert_int_equal(used(), begin + (i ? buffer + (uint64_t)i * without : 0));
            n[i] = turns(c[i]);
        }
        assert_int_equal(used(), begin + buffer + (uint64_t)counts[k] * without);
        for (int i = 0; i < counts[k]; i++) {
            for (int m = 0; m < counts[k]; m++)
                if (c[m])
                    assert_true(right(&n[m]));
            assert_true(right(&other));
            OK(q.contextFree(c[orders[k][i]], NULL));
            c[orders[k][i]] = NULL;
            assert_int_equal(used(), begin + (i + 1 < counts[k] ? buffer + (uint64_t)(counts[k] - i - 1) * without : 0));
        }
    }
    OK(q.contextFree(keep, NULL));
}

/* A graph that spills more is refused, built or from a file, and the context and its group go on; without a size the first
 * one decides. */
static void test_too_small(void **state)
{
    (void)state;
    static char file[BINARY];
    char says[128];
    uint64_t size;
    Qnn_ContextHandle_t c, next, loaded;
    Qnn_GraphHandle_t g;
    struct size s = measure();
    struct net affine;
    OK(create_in_group(NULL, s.spill - 1, QNN_PRIORITY_NORMAL, &c));
    struct net n = compose(c);
    snprintf(says, sizeof says, "graph \"turns\" spills %llu bytes; the buffer of its group of contexts has %llu",
             (unsigned long long)s.spill, (unsigned long long)s.spill - 1);
    FAILS_SAYING(QNN_COMMON_ERROR_MEM_ALLOC, says, q.graphFinalize(n.graph, NULL, NULL));
    OK(net_affine(c, "small", 2, 1, &affine)); /* spills nothing */
    OK(q.graphFinalize(affine.graph, NULL, NULL));
    OK(q.contextFree(c, NULL));
    for (int given = 0; given < 2; given++) {
        OK(create_in_group(NULL, given ? s.spill : 0, QNN_PRIORITY_NORMAL, &c));
        n = turns(c);
        assert_true(right(&n));
        OK(q.contextGetBinary(c, file, sizeof file, &size));
        QnnHtpContext_CustomConfig_t group = group_config(given ? NULL : c, given ? 4096 : 0);
        QnnContext_Config_t config = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &group };
        const QnnContext_Config_t *list[] = { &config, NULL };
        if (given) {
            FAILS_SAYING(QNN_COMMON_ERROR_MEM_ALLOC, "has 4096, the maxSpillFillBuffer of the first context",
                         q.contextCreateFromBinary(backend, NULL, list, file, size, &loaded, NULL));
        } else {
            OK(q.contextCreateFromBinary(backend, NULL, list, file, size, &loaded, NULL));
            OK(q.graphRetrieve(loaded, "turns", &g));
            struct net again = { g, n.x, n.y };
            assert_true(right(&again));
            OK(q.contextFree(loaded, NULL));
        }
        OK(create_in_group(c, 0, QNN_PRIORITY_NORMAL, &next));
        OK(q.contextFree(c, NULL));
        n = turns(next);
        assert_true(right(&n));
        OK(q.contextFree(next, NULL));
    }
}

static void test_too_large(void **state)
{
    (void)state;
    const uint64_t all = UINT64_C(15) << 28;
    Qnn_ContextHandle_t c;
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "18446744073709551615",
                 create_in_group(NULL, UINT64_MAX, QNN_PRIORITY_NORMAL, &c));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "a session has 4026531840 bytes",
                 create_in_group(NULL, all + 1, QNN_PRIORITY_NORMAL, &c));
    OK(create_in_group(NULL, all, QNN_PRIORITY_NORMAL, &c));
    struct net n = compose(c);
    FAILS_SAYING(QNN_COMMON_ERROR_MEM_ALLOC, "4026531840", q.graphFinalize(n.graph, NULL, NULL));
    OK(q.contextFree(c, NULL));
}

static void test_wrong_handles(void **state)
{
    (void)state;
    Qnn_ContextHandle_t plain, gone, c;
    OK(q.contextCreate(backend, NULL, NULL, &plain));
    OK(create_in_group(NULL, MIB, QNN_PRIORITY_NORMAL, &gone));
    OK(q.contextFree(gone, NULL));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "is a context without a group",
                 create_in_group(plain, MIB, QNN_PRIORITY_NORMAL, &c));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "is not a context", create_in_group(gone, MIB, QNN_PRIORITY_NORMAL, &c));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "is not a context",
                 create_in_group(backend, MIB, QNN_PRIORITY_NORMAL, &c));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "is not a context",
                 create_in_group((void *)&c, MIB, QNN_PRIORITY_NORMAL, &c));
}

static void test_no_buffer_of_the_client(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    Qnn_MemHandle_t h;
    int fd = memfd_create("spill", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, MIB), 0);
    QnnMemHtp_Descriptor_t custom = { .type = QNN_HTP_MEM_SHARED_SPILLFILL_BUFFER, .size = MIB };
    custom.sharedBufferConfig = (QnnHtpMem_SharedBufferConfig_t){ fd, 0 };
    Qnn_MemDescriptor_t d = { .dataType = QNN_DATATYPE_UINT_8, .memType = QNN_MEM_TYPE_CUSTOM, .customInfo = &custom };
    OK(create_in_group(NULL, MIB, QNN_PRIORITY_NORMAL, &c));
    FAILS_SAYING(QNN_MEM_ERROR_INVALID_ARGUMENT, "only one of the two is possible", q.memRegister(c, &d, 1, &h));
    close(fd);
}

/* Contexts that do not fit beside the others have memory of their own. */
static void test_another_session(void **state)
{
    (void)state;
    char bytes[32];
    Qnn_ContextHandle_t c[2];
    struct net n[2];
    struct size s = measure();
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)(s.context + 256 * KIB + MIB));
    setenv("OPENQNN_SESSION_BYTES", bytes, 1);
    OK(create_in_group(NULL, MIB, QNN_PRIORITY_NORMAL, &c[0]));
    n[0] = turns(c[0]);
    assert_int_equal(told.session, 0);
    OK(create_in_group(c[0], MIB, QNN_PRIORITY_NORMAL, &c[1]));
    n[1] = turns(c[1]);
    assert_int_equal(told.session, 1);
    assert_int_equal(told.elsewhere, 1);
    for (int i = 0; i < 4; i++)
        assert_true(right(&n[i % 2]));
    OK(q.contextFree(c[0], NULL));
    assert_true(right(&n[1]));
}

static void test_dead_session(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c[3], fresh;
    struct net n[3];
    for (int i = 0; i < 3; i++) {
        OK(create_in_group(i ? c[0] : NULL, MIB, QNN_PRIORITY_NORMAL, &c[i]));
        n[i] = turns(c[i]);
    }
    assert_true(told.pid > 1);
    assert_int_equal(kill(told.pid, SIGKILL), 0);
    for (int i = 0; i < 3; i++)
        FAILS(QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, net_run(&n[i], x, (float[N]){ 0 }, N, N));
    OK(create_in_group(c[0], MIB, QNN_PRIORITY_NORMAL, &fresh)); /* too early: the old ones are still there */
    struct net m = turns(fresh);
    assert_true(right(&m));
    OK(q.contextFree(c[0], NULL));
    OK(q.contextFree(c[2], NULL));
    OK(q.contextFree(c[1], NULL));
    assert_true(right(&m));
    OK(create_in_group(NULL, MIB, QNN_PRIORITY_NORMAL, &c[0]));
    n[0] = turns(c[0]);
    assert_true(right(&n[0]));
}

/* They never interrupt each other, whatever their priorities: what one has spilled is still needed. */
static void *repeat(void *arg)
{
    for (int i = 0; i < 30; i++)
        if (!right(arg))
            return arg;
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    static const Qnn_Priority_t priorities[] = { QNN_PRIORITY_LOW, QNN_PRIORITY_NORMAL, QNN_PRIORITY_HIGH,
                                                 QNN_PRIORITY_HIGH };
    Qnn_ContextHandle_t c[COUNT(priorities)];
    struct net n[COUNT(priorities)];
    pthread_t thread[COUNT(priorities)];
    for (size_t i = 0; i < COUNT(priorities); i++) {
        OK(create_in_group(i ? c[0] : NULL, MIB, priorities[i], &c[i]));
        n[i] = turns(c[i]);
    }
    for (size_t i = 0; i < COUNT(priorities); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, repeat, &n[i]), 0);
    for (size_t i = 0; i < COUNT(priorities); i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_counted_once),
        TEST(test_too_small),
        TEST(test_too_large),
        TEST(test_wrong_handles),
        TEST(test_no_buffer_of_the_client),
        TEST(test_another_session),
        TEST(test_dead_session),
        TEST(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
