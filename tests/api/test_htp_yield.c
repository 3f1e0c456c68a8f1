/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of low priority gives way to one of high priority in the middle of its execution: both have right results, the
 * profile tells of it, and what the first one had in VTCM was in the client's backup buffer meanwhile, when there is one. */
#include "api_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpGraph.h>
#include <QNN/HTP/QnnHtpMem.h>
#include <QNN/HTP/QnnHtpProfile.h>

enum {
    SIDE = 96,
    N = SIDE * SIDE,
    BYTES = N * 4,
    TURNS = 6,
    STEP = 3,
    PAGE = 4096,
    FROM_GRAPH = 4,
    FROM_BUFFER = 1,
    FROM_BACKUP = 2 /* messages */
};

enum { LOW, HIGH, EQUAL /* to low */, WHO };
static Qnn_ContextHandle_t contexts[WHO];
static struct net nets[WHO];
static Qnn_Tensor_t first_turn[WHO];
static float x[WHO][N], y[WHO][N];
static QnnHtpGraph_CustomConfig_t *parallel; /* option of graphs that are made, NULL: none */
static int seen_fd = -1;
static float *seen; /* the first result of the low graph, in memory that the client can look at while it runs */

static int new_fd(size_t bytes)
{
    int fd = memfd_create("buffer", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    return fd;
}

/* y = x turned often; the first turn is a result, too. */
static void turns(int who)
{
    static const uint32_t two = 2, perm[] = { 1, 0 };
    struct net *n = &nets[who];
    *n = (struct net){ .x = TENSOR("x", APP_WRITE, FLOAT_32, SIDE, SIDE), .y = TENSOR("y", APP_READ, FLOAT_32, SIDE, SIDE) };
    QnnGraph_Config_t custom = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = parallel };
    const QnnGraph_Config_t *list[] = { parallel ? &custom : NULL, NULL };
    OK(q.graphCreate(contexts[who], "turns", list, &n->graph));
    OK(q.tensorCreateGraphTensor(n->graph, &n->x));
    OK(q.tensorCreateGraphTensor(n->graph, &n->y));
    Qnn_Tensor_t from = n->x;
    for (int i = 0; i < TURNS; i++) {
        Qnn_Tensor_t to =
            i == 0 ? TENSOR("a", APP_READ, FLOAT_32, SIDE, SIDE) : TENSOR(keep_name("t%d", i), NATIVE, FLOAT_32, SIDE, SIDE);
        if (i + 1 < TURNS)
            OK(q.tensorCreateGraphTensor(n->graph, &to));
        else
            to = n->y;
        if (i == 0)
            first_turn[who] = to;
        struct op turn = { .name = keep_name("turn%d", i),
                           .type = "Transpose",
                           .ni = 1,
                           .in = { from },
                           .no = 1,
                           .out = { to },
                           .np = 1,
                           .p = { param_u32s(n->graph, "perm", 1, &two, perm) } };
        OK(op_add(n->graph, &turn));
        /* Something that is no mere view of what was there twice before. */
        if (i + 1 < TURNS) {
            Qnn_Tensor_t more = TENSOR(keep_name("m%d", i), NATIVE, FLOAT_32, SIDE, SIDE);
            OK(q.tensorCreateGraphTensor(n->graph, &more));
            struct op add = { .name = keep_name("add%d", i),
                              .type = "ElementWiseAdd",
                              .ni = 2,
                              .in = { to, i ? from : to },
                              .no = 1,
                              .out = { more } };
            OK(op_add(n->graph, &add));
            from = more;
        }
    }
    OK(q.graphFinalize(n->graph, NULL, NULL));
}

/* The same in plain C: additions of small whole numbers, exact in any order. */
static void expected(const float *in, float *out)
{
    static float from[N], to[N];
    memcpy(from, in, sizeof from);
    for (int i = 0; i < TURNS; i++) {
        for (int k = 0; k < N; k++)
            to[k] = from[k % SIDE * SIDE + k / SIDE];
        for (int k = 0; k < N; k++)
            from[k] = i ? to[k] + from[k] : to[k] + to[k];
    }
    memcpy(out, to, sizeof to);
}

static void make_context(int who, Qnn_Priority_t priority)
{
    QnnContext_Config_t p = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = priority };
    const QnnContext_Config_t *list[] = { &p, NULL };
    OK(q.contextCreate(env.backend, NULL, list, &contexts[who]));
    turns(who);
}

static Qnn_MemHandle_t register_seen(void)
{
    static uint32_t dims[] = { SIDE, SIDE };
    Qnn_MemDescriptor_t d = {
        .memShape = { 2, dims, NULL }, .dataType = QNN_DATATYPE_FLOAT_32, .memType = QNN_MEM_TYPE_ION, .ionInfo = { seen_fd }
    };
    Qnn_MemHandle_t h;
    OK(q.memRegister(contexts[0], &d, 1, &h));
    return h;
}

struct execution {
    int who;
    Qnn_MemHandle_t mem;
    Qnn_ProfileHandle_t profile;
    Qnn_SignalHandle_t signal;
    Qnn_ErrorHandle_t result;
    _Atomic bool done;
};

static void execute(struct execution *e)
{
    static float other[N];
    struct net *n = &nets[e->who];
    Qnn_Tensor_t in = WITH(n->x, x[e->who]),
                 out[2] = { WITH(n->y, y[e->who]), e->mem ? first_turn[e->who] : WITH(first_turn[e->who], other) };
    if (e->mem) {
        TV(out[1]).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
        TV(out[1]).memHandle = e->mem;
    }
    e->result = q.graphExecute(n->graph, &in, 1, out, 2, e->profile, e->signal);
    e->done = true;
}

static void *execute_thread(void *arg)
{
    execute(arg);
    return NULL;
}

/* ---- profiles --------------------------------------------------------------------------------------------------------- */

static bool told(Qnn_ProfileHandle_t p, uint32_t type, uint64_t *ret)
{
    const struct event *e = profile_find(p, type);
    *ret = e ? e->data.value : 0;
    return e;
}

static void check_profile(Qnn_ProfileHandle_t p, bool gave_way)
{
    uint64_t count, acquire, release, wait, restore, all, without;
    assert_true(told(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_YIELD_COUNT, &count));
    assert_true(told(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_VTCM_ACQUIRE_TIME, &acquire));
    assert_int_equal(count, gave_way);
    assert_int_equal(told(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_YIELD_INSTANCE_RELEASE_TIME, &release), gave_way);
    assert_int_equal(told(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_YIELD_INSTANCE_WAIT_TIME, &wait), gave_way);
    assert_int_equal(told(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_YIELD_INSTANCE_RESTORE_TIME, &restore), gave_way);
    assert_true(told(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_ACCEL_TIME_MICROSEC, &all));
    assert_true(told(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_ACCEL_EXCL_WAIT_TIME_MICROSEC, &without));
    assert_in_range(without + wait, all > 1 ? all - 1 : 0, all + 1); /* rounded */
    assert_true(release + restore <= without + 2);
}

/* ---- the test --------------------------------------------------------------------------------------------------------- */

static Qnn_MemHandle_t register_backup(int fd, uint64_t bytes)
{
    QnnMemHtp_Descriptor_t custom = { .type = QNN_HTP_MEM_SHARED_VTCMBACKUP_BUFFER, .size = bytes };
    custom.sharedBufferConfig = (QnnHtpMem_SharedBufferConfig_t){ fd, PAGE };
    Qnn_MemDescriptor_t d = { .dataType = QNN_DATATYPE_UINT_8, .memType = QNN_MEM_TYPE_CUSTOM, .customInfo = &custom };
    Qnn_MemHandle_t h;
    custom.size = bytes - 1;
    FAILS_SAYING(QNN_MEM_ERROR_INVALID_ARGUMENT, "VTCM backup", q.memRegister(contexts[0], &d, 1, &h));
    custom.size = bytes;
    OK(q.memRegister(contexts[0], &d, 1, &h));
    return h;
}

static uint64_t backup_size(void)
{
    QnnHtpContext_CustomProperty_t p = { .option = QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE };
    QnnContext_Property_t property = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p },
                          *list[] = { &property, NULL };
    OK(q.contextGetProperty(contexts[0], list));
    return p.vtcmBackupBufferSize;
}

static uint64_t bytes_not(const uint8_t *p, uint64_t n, uint8_t value)
{
    uint64_t other = 0;
    for (uint64_t i = 0; i < n; i++)
        other += p[i] != value;
    return other;
}

static void interrupt_once(bool with_backup)
{
    char fault[64];
    static float want[N];
    const float untouched = -12345;
    snprintf(fault, sizeof fault, "yield@%d:%d", 2 * FROM_GRAPH + FROM_BUFFER + (with_backup ? FROM_BACKUP : 0) + 1, STEP);
    setenv("OPENQNN_FAULT", fault, 1); /* the first execution */
    make_context(0, QNN_PRIORITY_LOW);
    make_context(1, QNN_PRIORITY_HIGH);
    struct execution low = { .who = 0, .mem = register_seen() }, high = { .who = 1 };
    uint64_t size = backup_size();
    int fd = new_fd(PAGE + size);
    uint8_t *backup = mmap(NULL, PAGE + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    Qnn_MemHandle_t h = with_backup ? register_backup(fd, size) : NULL;
    memset(backup, 0xA5, PAGE + size);
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_BASIC, &low.profile));
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_BASIC, &high.profile));
    for (int i = 0; i < N; i++)
        seen[i] = untouched;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, execute_thread, &low), 0);
    while (!low.done && *(volatile float *)&seen[N - 1] == untouched)
        sched_yield();
    execute(&high);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) {
        OK(i ? high.result : low.result);
        expected(x[i], want);
        assert_memory_equal(y[i], want, sizeof want);
        check_profile(i ? high.profile : low.profile, i == 0);
    }
    if (with_backup) {
        uint64_t changed = bytes_not(backup + PAGE, size, 0xA5);
        assert_in_range(changed, BYTES / 8, 4 * BYTES);
        OK(q.memDeRegister(&h, 1));
    } else {
        assert_int_equal(bytes_not(backup, PAGE + size, 0xA5), 0);
    }
    assert_int_equal(bytes_not(backup, PAGE, 0xA5), 0);
    OK(q.profileFree(low.profile));
    OK(q.profileFree(high.profile));
    munmap(backup, PAGE + size);
    close(fd);
    for (int i = 0; i < 2; i++)
        OK(q.contextFree(contexts[i], NULL));
    unsetenv("OPENQNN_FAULT");
}

/* ---- PARALLEL_GRAPH_EXECUTION_CONFIG ---------------------------------------------------------------------------------- */

static Qnn_SignalHandle_t late_signal(void)
{
    QnnSignal_Config_t o = { .option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, .timeoutDurationUs = 20000 };
    const QnnSignal_Config_t *list[] = { &o, NULL };
    Qnn_SignalHandle_t s;
    OK(q.signalCreate(env.backend, list, &s));
    return s;
}

/* In a session of two lanes, LOW is held until HIGH comes, which shares its lane. Meanwhile EQUAL runs in the other lane,
 * or has to wait for LOW and is too late. */
static void is_beside(QnnHtpGraph_CustomConfig_t *option, bool beside)
{
    char fault[64];
    static float want[N];
    static int call; /* counting starts with another text */
    snprintf(fault, sizeof fault, "yield@%d:%d,kill@%d", WHO * FROM_GRAPH + FROM_BUFFER + 1, STEP, 1000 + call++);
    setenv("OPENQNN_FAULT", fault, 1);
    setenv("OPENQNN_LANES", "2", 1);
    parallel = option;
    make_context(LOW, QNN_PRIORITY_LOW);
    make_context(EQUAL, QNN_PRIORITY_LOW);
    make_context(HIGH, QNN_PRIORITY_HIGH);
    parallel = NULL;
    struct execution low = { .who = LOW, .mem = register_seen() }, high = { .who = HIGH }, equal = { .who = EQUAL };
    pthread_t thread;
    memset(seen, 0xA5, BYTES);
    float untouched = seen[N - 1];
    assert_int_equal(pthread_create(&thread, NULL, execute_thread, &low), 0);
    while (!low.done && !memcmp(&seen[N - 1], &untouched, sizeof untouched))
        sched_yield();
    equal.signal = beside ? NULL : late_signal();
    execute(&equal);
    assert_false(low.done);
    execute(&high);
    pthread_join(thread, NULL);

    OK(low.result);
    OK(high.result);
    if (beside)
        OK(equal.result);
    else
        FAILS(QNN_GRAPH_ERROR_TIMED_OUT, equal.result);
    for (int i = 0; i < WHO; i++) {
        expected(x[i], want);
        assert_true((i == EQUAL && !beside) || !memcmp(y[i], want, sizeof want));
        OK(q.contextFree(contexts[i], NULL));
    }
    if (equal.signal)
        OK(q.signalFree(equal.signal));
    unsetenv("OPENQNN_FAULT");
    unsetenv("OPENQNN_LANES");
}

static void test_concurrency(void **state)
{
    (void)state;
    QnnHtpGraph_CustomConfig_t c = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_PARALLEL_GRAPH_EXECUTION_CONFIG };
    is_beside(NULL, true);
    c.parallelGraphExecutionConfig.concurrency = QNN_HTP_GRAPH_CONCURRENCY_OPTION_ALL_SHARED;
    is_beside(&c, true);
    c.parallelGraphExecutionConfig.concurrency = QNN_HTP_GRAPH_CONCURRENCY_OPTION_NONE;
    is_beside(&c, false);
}

/* The graph is planned for its part of the VTCM. */
static void test_part_of_vtcm(void **state)
{
    (void)state;
    QnnHtpGraph_CustomConfig_t c = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_PARALLEL_GRAPH_EXECUTION_CONFIG };
    QnnHtpGraph_ParallelGraphExecutionConfig_t *p = &c.parallelGraphExecutionConfig;
    uint64_t spilled[2];
    p->concurrency = QNN_HTP_GRAPH_CONCURRENCY_OPTION_ALL_SHARED;
    for (int i = 0; i < 2; i++) {
        const struct event *e;
        Qnn_ProfileHandle_t profile;
        struct execution one = { .who = LOW };
        p->vtcmConfig.sizeInBytes = i ? 65536 : 0; /* less than one of its tensors */
        p->vtcmConfig.offsetInBytes = i ? 65536 : 0;
        parallel = &c;
        make_context(LOW, QNN_PRIORITY_LOW);
        parallel = NULL;
        OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
        one.profile = profile;
        execute(&one);
        OK(one.result);
        e = profile_find(profile, 30010);
        assert_non_null(e);
        spilled[i] = e->data.value + profile_find(profile, 30009)->data.value;
        OK(q.profileFree(profile));
        OK(q.contextFree(contexts[LOW], NULL));
    }
    assert_int_equal(spilled[0], 0);
    assert_true(spilled[1] > 0);
}

static void refused_part(uint32_t size, uint32_t offset, uint32_t total, const char *word)
{
    QnnHtpGraph_CustomConfig_t c = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_PARALLEL_GRAPH_EXECUTION_CONFIG };
    c.parallelGraphExecutionConfig.concurrency = QNN_HTP_GRAPH_CONCURRENCY_OPTION_ALL_SHARED;
    c.parallelGraphExecutionConfig.vtcmConfig =
        (QnnHtpGraph_VtcmConfig_t){ .sizeInBytes = size, .offsetInBytes = offset, .sizeTotalInBytes = total };
    QnnGraph_Config_t custom = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &c };
    const QnnGraph_Config_t *list[] = { &custom, NULL };
    Qnn_GraphHandle_t graph;
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, word, q.graphCreate(env.context, "part", list, &graph));
}

static void test_parts_refused(void **state)
{
    (void)state;
    refused_part(65537, 0, 0, "multiples of 65536");
    refused_part(65536, 1, 0, "multiples of 65536");
    refused_part(65536 << 10, 0, 0, "name a part of that");
    refused_part(2 << 20, 1 << 20, 2 << 20, "name a part of that");
}

/* ---- VTCM sharing ----------------------------------------------------------------------------------------------------- */

static void make_sized(int who, Qnn_Priority_t priority, uint32_t mb)
{
    QnnHtpGraph_CustomConfig_t size = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE, .vtcmSizeInMB = mb };
    parallel = &size;
    make_context(who, priority);
    parallel = NULL;
}

/* Graphs of that much VTCM on a device of 8 MB: LOW gives way once to HIGH. Both have right results, and what LOW has in
 * VTCM was saved meanwhile, or stayed there. */
static void gives_way(uint32_t low_mb, uint32_t high_mb, bool stayed)
{
    enum { SAVED = 30011, SHARED = 30019 };
    char fault[64];
    static float want[N];
    static int call; /* counting starts with another text */
    uint64_t saved, shared;
    snprintf(fault, sizeof fault, "yield@%d:%d,kill@%d", 2 * FROM_GRAPH + FROM_BUFFER + 1, STEP, 2000 + call++);
    setenv("OPENQNN_FAULT", fault, 1);
    make_sized(LOW, QNN_PRIORITY_LOW, low_mb);
    make_sized(HIGH, QNN_PRIORITY_HIGH, high_mb);
    struct execution low = { .who = LOW, .mem = register_seen() }, high = { .who = HIGH };
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_DETAILED, &low.profile));
    memset(seen, 0xA5, BYTES);
    float untouched = seen[N - 1];
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, execute_thread, &low), 0);
    while (!low.done && !memcmp(&seen[N - 1], &untouched, sizeof untouched))
        sched_yield();
    execute(&high);
    pthread_join(thread, NULL);
    OK(low.result);
    OK(high.result);
    for (int i = LOW; i <= HIGH; i++) {
        expected(x[i], want);
        assert_memory_equal(y[i], want, sizeof want);
    }
    assert_true(told(low.profile, SAVED, &saved));
    assert_int_equal(told(low.profile, SHARED, &shared), stayed);
    assert_int_equal(shared, stayed);
    assert_int_equal(saved == 0, stayed);
    OK(q.profileFree(low.profile));
    for (int i = LOW; i <= HIGH; i++)
        OK(q.contextFree(contexts[i], NULL));
    unsetenv("OPENQNN_FAULT");
}

/* A graph of at least half of the VTCM lies at its end, and leaves the rest to others. */
static void test_vtcm_sharing(void **state)
{
    (void)state;
    gives_way(6, 2, true);
    gives_way(4, 3, true);
    gives_way(4, 4, false); /* both at the end */
    gives_way(6, 3, false); /* more than the rest */
    gives_way(8, 2, false); /* there is no rest */
    gives_way(3, 3, false); /* less than half: both at the beginning */
    gives_way(2, 6, true);  /* the other way round */

    env_teardown(state);
    setenv("OPENQNN_SOC", "SM8450", 1); /* v69, 8 MB */
    env_setup(state);
    gives_way(6, 2, false);
    unsetenv("OPENQNN_SOC");
}

static int setup(void **state)
{
    for (int i = 0; i < N; i++)
        for (int who = 0; who < WHO; who++)
            x[who][i] = (float)(i % (101 - 12 * who)) - 50 + 6 * (float)who;
    seen_fd = new_fd(BYTES);
    seen = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, seen_fd, 0);
    return env_setup(state) || seen == MAP_FAILED;
}

static int teardown(void **state)
{
    munmap(seen, BYTES);
    close(seen_fd);
    return env_teardown(state);
}

static void test_memory_of_the_session(void **state)
{
    (void)state;
    interrupt_once(false);
}

static void test_buffer_of_the_client(void **state)
{
    (void)state;
    interrupt_once(true);
}

/* Clients of the same priority take turns; none waits for a fault that nobody asked for (which took a minute). */
enum { CLIENTS = 2, RUNS = 400, WIDE = 256, WIDE_N = WIDE * WIDE, BRANCHES = 4 };
static struct net wide[CLIENTS];

/* y: the sum of branches that need not wait for each other. */
static void branches(struct net *n)
{
    n->x = TENSOR("x", APP_WRITE, FLOAT_32, WIDE, WIDE);
    n->y = TENSOR("y", APP_READ, FLOAT_32, WIDE, WIDE);
    OK(q.tensorCreateGraphTensor(n->graph, &n->x));
    OK(q.tensorCreateGraphTensor(n->graph, &n->y));
    Qnn_Tensor_t soft[BRANCHES], sum;
    for (int i = 0; i < BRANCHES; i++) {
        soft[i] = TENSOR(keep_name("s%d", i), NATIVE, FLOAT_32, WIDE, WIDE);
        OK(q.tensorCreateGraphTensor(n->graph, &soft[i]));
        struct op o = { .name = keep_name("soft%d", i), .type = "Softmax", .np = 1, .ni = 1, .no = 1 };
        o.p[0] = param_f32("beta", 1.0f + (float)i); /* not the same operator twice */
        o.in[0] = n->x;
        o.out[0] = soft[i];
        OK(op_add(n->graph, &o));
    }
    for (int i = 1; i < BRANCHES; i++) {
        Qnn_Tensor_t to = i + 1 < BRANCHES ? TENSOR(keep_name("sum%d", i), NATIVE, FLOAT_32, WIDE, WIDE) : n->y;
        if (i + 1 < BRANCHES)
            OK(q.tensorCreateGraphTensor(n->graph, &to));
        struct op o = { .name = keep_name("add%d", i), .type = "ElementWiseAdd", .ni = 2, .no = 1 };
        o.in[0] = i == 1 ? soft[0] : sum;
        o.in[1] = soft[i];
        o.out[0] = sum = to;
        OK(op_add(n->graph, &o));
    }
}

static void *client_thread(void *arg)
{
    static float in[WIDE_N], out[CLIENTS][WIDE_N];
    struct net *n = arg;
    float *mine = out[n - wide];
    for (int i = 0; i < RUNS; i++) {
        mine[WIDE_N - 1] = 0;
        if (net_run(n, in, mine, WIDE_N, WIDE_N) != QNN_SUCCESS || mine[WIDE_N - 1] != (float)BRANCHES / WIDE)
            return n;
    }
    return NULL;
}

static void test_two_clients(void **state)
{
    (void)state;
    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        Qnn_ContextHandle_t c;
        OK(q.contextCreate(env.backend, NULL, NULL, &c));
        OK(q.graphCreate(c, "wide", NULL, &wide[i].graph));
        branches(&wide[i]);
        OK(q.graphFinalize(wide[i].graph, NULL, NULL));
    }
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, client_thread, &wide[i]), 0);
    for (int i = 0; i < CLIENTS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory_of_the_session, setup, teardown),
        cmocka_unit_test_setup_teardown(test_buffer_of_the_client, setup, teardown),
        cmocka_unit_test_setup_teardown(test_concurrency, setup, teardown),
        cmocka_unit_test_setup_teardown(test_vtcm_sharing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_part_of_vtcm, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parts_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_clients, env_setup, env_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
