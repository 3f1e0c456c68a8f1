/* SPDX-License-Identifier: Apache-2.0 */
/* Graph switching: which graphs of a context are in its session, told by profile events, by properties, by what the session
 * has in use, and by what the kernel says that its process has mapped of the binary's file. */
#include "api_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpContext.h>

enum { N = 1 << 17, GRAPHS = 4, WEIGHTS = N * sizeof(float), MOST_EVENTS = 64 };
enum { LOADED = 30030, UNLOADED, SWITCH_TIME, COPIED };
enum { LOADED_BYTES = 0x4F510001, LOADED_GRAPHS, LOADS, UNLOADS };

static Qnn_LogHandle_t listener;
static Qnn_BackendHandle_t backend;
static float x[N], y[N], weights[GRAPHS][N];

/* ---- the log ---------------------------------------------------------------------------------------------------------- */

static struct {
    int session, pid;
    unsigned long long used;
    unsigned warnings;
} told;

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[2048];
    (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
    const char *at = strstr(text, "the context is on session ");
    if (at)
        sscanf(at, "the context is on session %d (process %d): %llu of", &told.session, &told.pid, &told.used);
    told.warnings += level == QNN_LOG_LEVEL_WARN && strstr(text, "changes nothing");
}

/* ---- a file with graphs A to D ---------------------------------------------------------------------------------------- */

static struct {
    char path[64];
    int fd;
    const void *at;
    uint64_t bytes;
} file;

/* y = x * weights, with weights that no other graph has. */
static void compose(Qnn_ContextHandle_t c, uint32_t i)
{
    Qnn_GraphHandle_t g;
    const char *name = keep_name("%c", 'A' + (int)i);
    OK(q.graphCreate(c, name, NULL, &g));
    struct op mul = { .name = keep_name("%s_mul", name), .type = QNN_OP_ELEMENT_WISE_MULTIPLY, .ni = 2, .no = 1 };
    mul.in[0] = TENSOR(keep_name("%s_x", name), APP_WRITE, FLOAT_32, 1, N);
    mul.in[1] = WITH(TENSOR(keep_name("%s_w", name), STATIC, FLOAT_32, 1, N), weights[i]);
    mul.out[0] = TENSOR(keep_name("%s_y", name), APP_READ, FLOAT_32, 1, N);
    for (uint32_t k = 0; k < 2; k++)
        OK(q.tensorCreateGraphTensor(g, &mul.in[k]));
    OK(q.tensorCreateGraphTensor(g, &mul.out[0]));
    OK(op_add(g, &mul));
    OK(q.graphFinalize(g, NULL, NULL));
}

static void write_file(void)
{
    Qnn_ContextHandle_t c;
    uint64_t size, written;
    OK(q.contextCreate(backend, NULL, NULL, &c));
    for (uint32_t i = 0; i < GRAPHS; i++)
        compose(c, i);
    OK(q.contextGetBinarySize(c, &size));
    void *bytes = malloc(size);
    assert_non_null(bytes);
    OK(q.contextGetBinary(c, bytes, size, &written));
    OK(q.contextFree(c, NULL));

    strcpy(file.path, "/tmp/test_htp_switch.XXXXXX");
    file.fd = mkstemp(file.path);
    assert_true(file.fd >= 0);
    assert_int_equal(write(file.fd, bytes, written), written);
    free(bytes);
    file.bytes = written;
    file.at = mmap(NULL, written, PROT_READ, MAP_PRIVATE, file.fd, 0);
    assert_ptr_not_equal(file.at, MAP_FAILED);
}

static int setup(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < N; k++) {
        x[k] = (float)(k % 251) - 125;
        for (uint32_t i = 0; i < GRAPHS; i++)
            weights[i][k] = (float)((k * (i + 3)) % 61) - 30;
    }
    setenv("OPENQNN_SESSION_DEBUG", "1", 1); /* its mappings can be looked at */
    lib_open();
    memset(&told, 0, sizeof told);
    if (q.logCreate(listen, QNN_LOG_LEVEL_INFO, &listener) != QNN_SUCCESS ||
        q.backendCreate(listener, NULL, &backend) != QNN_SUCCESS)
        return 1;
    write_file();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("OPENQNN_SESSION_BYTES");
    munmap((void *)file.at, file.bytes);
    close(file.fd);
    unlink(file.path);
    Qnn_ErrorHandle_t e = q.backendFree(backend);
    q.logFree(listener);
    lib_close();
    return e != QNN_SUCCESS;
}

/* ---- contexts --------------------------------------------------------------------------------------------------------- */

struct options {
    uint64_t limit;
    const char *const *enabled, *const *retained;
    bool not_persistent;
    const void *at; /* NULL: the mapped file */
};

static Qnn_ErrorHandle_t create(const struct options *o, Qnn_ProfileHandle_t profile, Qnn_ContextHandle_t *ret)
{
    QnnContext_Config_t c[4];
    const QnnContext_Config_t *list[5] = { NULL };
    uint32_t n = 0;
    c[n++] =
        (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = !o->not_persistent };
    c[n++] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT, .memoryLimitHint = o->limit };
    if (o->enabled)
        c[n++] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = o->enabled };
    if (o->retained)
        c[n++] =
            (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER, .graphRetentionOrder = o->retained };
    for (uint32_t i = 0; i < n; i++)
        list[i] = &c[i];
    return q.contextCreateFromBinary(backend, NULL, list, o->at ? o->at : file.at, file.bytes, ret, profile);
}

static uint64_t property(Qnn_ContextHandle_t c, uint32_t option)
{
    QnnHtpContext_CustomProperty_t p = { .option = (QnnHtpContext_GetPropertyOption_t)option };
    QnnContext_Property_t custom = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p };
    QnnContext_Property_t *list[] = { &custom, NULL };
    OK(q.contextGetProperty(c, list));
    return p.spillfillBufferSize;
}

/* What the process of the session has mapped of the binary's file: the kernel's word. */
static uint64_t mapped_of_file(void)
{
    char path[64], line[4096];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", told.pid);
    FILE *maps = fopen(path, "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        unsigned long long begin, end;
        if (strstr(line, file.path) && sscanf(line, "%llx-%llx", &begin, &end) == 2)
            sum += end - begin;
    }
    fclose(maps);
    return sum;
}

/* Bytes in use on the session with nothing but what is there and one small context. */
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

/* ---- executions ------------------------------------------------------------------------------------------------------- */

/* The graphs that came and went, as "-B+C"; `ret_copied`: the bytes that were copied for it. */
static void steps_of(Qnn_ProfileHandle_t p, char ret[MOST_EVENTS], uint64_t *ret_copied)
{
    uint32_t n, at = 0;
    const struct event *e = profile_events(p, &n);
    *ret_copied = 0;
    for (uint32_t i = 0; i < n && at + 3 < MOST_EVENTS; i++) {
        bool loaded = e[i].data.type == LOADED;
        *ret_copied += e[i].data.type == COPIED ? e[i].data.value : 0;
        if (!loaded && e[i].data.type != UNLOADED)
            continue;
        assert_true(e[i].data.value >= WEIGHTS);
        ret[at++] = loaded ? '+' : '-';
        ret[at++] = e[i].data.identifier[strlen("Graph \"")];
    }
    ret[at] = '\0';
}

static Qnn_ErrorHandle_t run(Qnn_ContextHandle_t c, char graph, Qnn_ProfileHandle_t p)
{
    struct net n;
    OK(q.graphRetrieve(c, keep_name("%c", graph), &n.graph));
    n.x = TENSOR(keep_name("%c_x", graph), APP_WRITE, FLOAT_32, 1, N);
    n.y = TENSOR(keep_name("%c_y", graph), APP_READ, FLOAT_32, 1, N);
    TV(n.x).id = 1 + 3 * (uint32_t)(graph - 'A');
    TV(n.y).id = 3 + 3 * (uint32_t)(graph - 'A');
    TV(n.x).clientBuf = (Qnn_ClientBuffer_t){ x, sizeof x };
    TV(n.y).clientBuf = (Qnn_ClientBuffer_t){ y, sizeof y };
    memset(y, 0, sizeof y);
    return q.graphExecute(n.graph, &n.x, 1, &n.y, 1, p, NULL);
}

static void is_right(char graph)
{
    for (uint32_t k = 0; k < N; k++)
        assert_true(y[k] == x[k] * weights[graph - 'A'][k]);
}

/* Runs a graph: the right numbers, exactly these steps, and nothing copied where the file is mapped. */
static void runs(Qnn_ContextHandle_t c, char graph, const char *steps, uint32_t loaded)
{
    Qnn_ProfileHandle_t p;
    char seen[MOST_EVENTS];
    uint64_t copied;
    OK(q.profileCreate(backend, QNN_PROFILE_LEVEL_BASIC, &p));
    OK(run(c, graph, p));
    is_right(graph);
    steps_of(p, seen, &copied);
    OK(q.profileFree(p));
    assert_string_equal(seen, steps);
    assert_int_equal(copied, 0);
    assert_int_equal(property(c, LOADED_GRAPHS), loaded);
    assert_int_equal(mapped_of_file(), loaded * WEIGHTS);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

static const char *const retained[] = { "A", "B", NULL };

/* A session with room for two of the graphs. */
static void room_for_two(void)
{
    Qnn_ContextHandle_t c;
    char text[32];
    OK(create(&(struct options){ .limit = 1, .retained = retained }, NULL, &c));
    snprintf(text, sizeof text, "%llu", (unsigned long long)used() + WEIGHTS / 2);
    OK(q.contextFree(c, NULL));
    setenv("OPENQNN_SESSION_BYTES", text, 1);
}

static Qnn_ContextHandle_t create_of_two(void)
{
    Qnn_ContextHandle_t c;
    Qnn_ProfileHandle_t p;
    char seen[MOST_EVENTS];
    uint64_t copied;
    room_for_two();
    OK(q.profileCreate(backend, QNN_PROFILE_LEVEL_BASIC, &p));
    OK(create(&(struct options){ .limit = 1, .retained = retained }, p, &c));
    steps_of(p, seen, &copied);
    OK(q.profileFree(p));
    assert_string_equal(seen, "+A+B");
    assert_int_equal(copied, 0);
    assert_int_equal(mapped_of_file(), 2 * WEIGHTS);
    assert_int_equal(property(c, LOADED_GRAPHS), 2);
    return c;
}

static void test_retained_stay(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c = create_of_two();
    for (int i = 0; i < 2; i++) {
        runs(c, 'A', "", 2);
        runs(c, 'B', "", 2);
    }
    assert_int_equal(property(c, LOADS), 2);
    assert_int_equal(property(c, UNLOADS), 0);
    OK(q.contextFree(c, NULL));
}

static void test_others_come_and_go(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c = create_of_two();
    runs(c, 'A', "", 2);
    runs(c, 'B', "", 2);
    runs(c, 'C', "-B+C", 2);
    runs(c, 'D', "-C+D", 2);
    assert_int_equal(property(c, LOADS), 4);
    assert_int_equal(property(c, UNLOADS), 2);
    OK(q.contextFree(c, NULL));
}

/* Two graphs fit: C has to leave when B comes back, so that D finds A and B. */
static void test_retained_come_back(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c = create_of_two();
    runs(c, 'A', "", 2);
    runs(c, 'B', "", 2);
    runs(c, 'C', "-B+C", 2);
    runs(c, 'A', "", 2);
    runs(c, 'B', "-C+B", 2);
    runs(c, 'D', "-B+D", 2);
    runs(c, 'A', "", 2);
    OK(q.contextFree(c, NULL));
}

/* Room for all: what is retained never leaves, what is not leaves with the next switch. */
static void test_with_room(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    OK(create(&(struct options){ .limit = 1, .retained = retained }, NULL, &c));
    runs(c, 'C', "+C", 3);
    runs(c, 'B', "", 3);
    runs(c, 'D', "-C+D", 3);
    OK(q.contextFree(c, NULL));
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    const char *const enabled[] = { "C", "A", NULL };
    const uint64_t limits[] = { 1, UINT64_MAX };
    Qnn_ContextHandle_t c;
    uint64_t before = 0;
    for (uint32_t i = 0; i < COUNT(limits); i++) {
        OK(create(&(struct options){ .limit = limits[i], .enabled = enabled }, NULL, &c));
        assert_int_equal(mapped_of_file(), WEIGHTS);
        runs(c, 'C', "", 1);
        uint64_t one = used();
        assert_true(!before || before == one);
        before = one;
        runs(c, 'A', "-C+A", 1);
        assert_int_equal(used(), one);
        assert_in_range(property(c, LOADED_BYTES), WEIGHTS, 3 * WEIGHTS + (1 << 16)); /* with staging for x and y */
        FAILS(QNN_GRAPH_ERROR_DISABLED, run(c, 'B', NULL));
        OK(q.contextFree(c, NULL));
    }
    OK(create(&(struct options){ .limit = 1 }, NULL, &c));
    runs(c, 'A', "", 1);
    runs(c, 'D', "-A+D", 1);
    OK(q.contextFree(c, NULL));
}

/* Without switching, too: graphs that are not enabled are neither mapped nor charged. */
static void test_enabled_alone(void **state)
{
    (void)state;
    const char *const enabled[] = { "B", "D", NULL };
    Qnn_ContextHandle_t c;
    room_for_two();
    FAILS(QNN_COMMON_ERROR_MEM_ALLOC, create(&(struct options){ 0 }, NULL, &c));
    OK(create(&(struct options){ .enabled = enabled }, NULL, &c));
    runs(c, 'D', "", 2);
    runs(c, 'B', "", 2);
    OK(q.contextFree(c, NULL));
    OK(create(&(struct options){ .enabled = enabled, .not_persistent = true }, NULL, &c));
    OK(run(c, 'B', NULL));
    is_right('B');
    OK(q.contextFree(c, NULL));
}

/* A binary in plain memory is copied once, as a whole: a switch copies nothing either. */
static void test_plain_memory(void **state)
{
    (void)state;
    void *copy = aligned_alloc(4096, (file.bytes + 4095) & ~UINT64_C(4095));
    Qnn_ContextHandle_t c;
    Qnn_ProfileHandle_t p;
    char seen[MOST_EVENTS];
    uint64_t copied;
    memcpy(copy, file.at, file.bytes);
    OK(create(&(struct options){ .limit = 1, .at = copy }, NULL, &c));
    OK(q.profileCreate(backend, QNN_PROFILE_LEVEL_BASIC, &p));
    OK(run(c, 'B', p));
    is_right('B');
    steps_of(p, seen, &copied);
    assert_string_equal(seen, "-A+B");
    assert_int_equal(copied, 0);
    OK(q.profileFree(p));
    assert_int_equal(mapped_of_file(), 0);
    OK(q.contextFree(c, NULL));
    free(copy);
}

static void test_refused(void **state)
{
    (void)state;
    const char *const unknown[] = { "A", "E", NULL };
    const char *const twice[] = { "B", "B", NULL };
    const char *const enabled[] = { "A", "C", NULL };
    const char *const none[] = { NULL };
    const char *const three[] = { "A", "B", "C", NULL };
    Qnn_ContextHandle_t c;
    FAILS_SAYING(5010, "\"E\" of GRAPH_RETENTION_ORDER is not in the binary",
                 create(&(struct options){ .limit = 1, .retained = unknown }, NULL, &c));
    FAILS_SAYING(5010, "\"B\" of GRAPH_RETENTION_ORDER is not enabled",
                 create(&(struct options){ .limit = 1, .retained = retained, .enabled = enabled }, NULL, &c));
    FAILS_SAYING(5010, "twice", create(&(struct options){ .limit = 1, .retained = twice }, NULL, &c));
    FAILS_SAYING(5010, "PERSISTENT_BINARY",
                 create(&(struct options){ .limit = 1, .retained = retained, .not_persistent = true }, NULL, &c));

    /* An empty order is none; an order alone, and a limit alone, change nothing and say so. */
    OK(create(&(struct options){ .limit = 1, .retained = none }, NULL, &c));
    assert_int_equal(property(c, LOADED_GRAPHS), 1);
    OK(q.contextFree(c, NULL));
    assert_int_equal(told.warnings, 0);
    OK(create(&(struct options){ .retained = retained }, NULL, &c));
    assert_int_equal(property(c, LOADED_GRAPHS), GRAPHS);
    OK(q.contextFree(c, NULL));
    OK(create(&(struct options){ .limit = 1, .not_persistent = true }, NULL, &c));
    assert_int_equal(property(c, LOADED_GRAPHS), GRAPHS);
    OK(q.contextFree(c, NULL));
    assert_int_equal(told.warnings, 2);

    QnnContext_Config_t late = { .option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT, .memoryLimitHint = 1 };
    const QnnContext_Config_t *list[] = { &late, NULL };
    OK(create(&(struct options){ 0 }, NULL, &c));
    OK(q.contextSetConfig(c, list));
    assert_int_equal(told.warnings, 3);
    OK(q.contextFree(c, NULL));

    room_for_two();
    FAILS_SAYING(1002, "bytes", create(&(struct options){ .limit = 1, .retained = three }, NULL, &c));
}

static void test_not_with_shared_resources(void **state)
{
    (void)state;
    QnnHtpContext_CustomConfig_t share = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES, .shareResources = true };
    QnnContext_Config_t c[] = { { .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1 },
                                { .option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT, .memoryLimitHint = 1 },
                                { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &share } };
    const QnnContext_Config_t *list[] = { &c[0], &c[1], &c[2], NULL };
    Qnn_ContextHandle_t context;
    FAILS_SAYING(5010, "SHARE_RESOURCES",
                 q.contextCreateFromBinary(backend, NULL, list, file.at, file.bytes, &context, NULL));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_retained_stay),
        TEST(test_others_come_and_go),
        TEST(test_retained_come_back),
        TEST(test_with_room),
        TEST(test_one_at_a_time),
        TEST(test_enabled_alone),
        TEST(test_plain_memory),
        TEST(test_refused),
        TEST(test_not_with_shared_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
