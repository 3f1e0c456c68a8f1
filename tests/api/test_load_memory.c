/* SPDX-License-Identifier: Apache-2.0 */
/* What loading a context costs the client's process: bytes in memory, counted by the kernel, while a mapped file of 128 MB
 * is loaded in each way; how many bytes are read and checked, and by whom; and what a signal leaves undone. */
#include "api_test.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpContext.h>

enum { ROWS = 32768, WIDTH = 1024, GRAPHS = 4, PICKED = 3, PAGE = 4096 };

#define MIB (1u << 20)
#define GRAPH_MIB ((uint64_t)ROWS * WIDTH / MIB)
#define ALL_MIB (GRAPH_MIB * GRAPHS)
/* What a load needs whatever the file has: tables of graphs, buffers of threads, the session's messages. */
#define OVERHEAD (12ull * MIB)

static Qnn_LogHandle_t listener;
static Qnn_BackendHandle_t backend;
static char path[] = "/tmp/openqnn_load_XXXXXX";
static uint64_t file_bytes;
static uint32_t in_id[GRAPHS], out_id[GRAPHS];

/* ---- what the library says it did ------------------------------------------------------------------------------------- */

static struct told {
    unsigned sections, threads, warnings;
    unsigned long long done, wanted;
    char warning[2048];
} told;

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[2048];
    unsigned section, threads;
    unsigned long long done, wanted;
    (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
    const char *at = strstr(text, "constant section ");
    if (at && sscanf(at, "constant section %u: %llu of %llu bytes read and checked by %u", &section, &done, &wanted,
                     &threads) == 4) {
        told.sections++;
        told.threads = threads > told.threads ? threads : told.threads;
        told.done += done;
        told.wanted += wanted;
    }
    if (level == QNN_LOG_LEVEL_WARN && strstr(text, "FILE_READ_MEMORY_BUDGET")) {
        told.warnings++;
        snprintf(told.warning, sizeof told.warning, "%s", text);
    }
}

/* ---- the file: graphs that pick rows of large tables ------------------------------------------------------------------ */

/* Of byte i of table g. */
static uint8_t byte_of(unsigned g, uint64_t i)
{
    return (uint8_t)((i * 2654435761u >> 13) + g * 37);
}

static void add_graph(Qnn_ContextHandle_t c, unsigned g, uint8_t *table)
{
    Qnn_GraphHandle_t graph;
    for (uint64_t i = 0; i < (uint64_t)ROWS * WIDTH; i++)
        table[i] = byte_of(g, i);
    OK(q.graphCreate(c, keep_name("table_%u", g), NULL, &graph));

    Qnn_Tensor_t data = tensor_quant(TENSOR(keep_name("t%u", g), STATIC, UFIXED_POINT_8, ROWS, WIDTH), 0.5f, 0);
    data = tensor_data(data, table, ROWS * WIDTH);
    Qnn_Tensor_t rows = TENSOR(keep_name("r%u", g), APP_WRITE, INT_32, PICKED);
    Qnn_Tensor_t out = tensor_quant(TENSOR(keep_name("y%u", g), APP_READ, UFIXED_POINT_8, PICKED, WIDTH), 0.5f, 0);
    OK(q.tensorCreateGraphTensor(graph, &data));
    OK(q.tensorCreateGraphTensor(graph, &rows));
    OK(q.tensorCreateGraphTensor(graph, &out));
    in_id[g] = rows.v1.id;
    out_id[g] = out.v1.id;
    Qnn_Param_t axis = { .paramType = QNN_PARAMTYPE_SCALAR,
                         .name = "axis",
                         .scalarParam = { .dataType = QNN_DATATYPE_INT_32, .int32Value = 0 } };
    struct op o = { .name = "pick", .type = "Gather", .np = 1, .ni = 2, .no = 1, .p = { axis }, .in = { data, rows },
                    .out = { out } };
    OK(op_add(graph, &o));
    OK(q.graphFinalize(graph, NULL, NULL));
}

static void write_file(void)
{
    Qnn_ContextHandle_t c;
    uint8_t *table = malloc((size_t)ROWS * WIDTH);
    OK(q.contextCreate(backend, NULL, NULL, &c));
    for (unsigned g = 0; g < GRAPHS; g++)
        add_graph(c, g, table);
    free(table);
    OK(q.contextGetBinarySize(c, &file_bytes));

    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)file_bytes), 0);
    void *all = mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(all != MAP_FAILED);
    OK(q.contextGetBinary(c, all, file_bytes, &file_bytes));
    munmap(all, file_bytes);
    close(fd);
    OK(q.contextFree(c, NULL));
}

static int group_setup(void **state)
{
    (void)state;
    lib_open();
    OK(q.logCreate(listen, QNN_LOG_LEVEL_DEBUG, &listener));
    OK(q.backendCreate(listener, NULL, &backend));
    write_file();
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    OK(q.backendFree(backend));
    OK(q.logFree(listener));
    unlink(path);
    lib_close();
    return 0;
}

static void *map_file(int access)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = mmap(NULL, file_bytes, access, MAP_PRIVATE, fd, 0);
    assert_true(at != MAP_FAILED);
    close(fd);
    return at;
}

/* ---- loading ---------------------------------------------------------------------------------------------------------- */

struct options {
    uint64_t budget_mb;
    bool persistent, all_cores, deferred;
    Qnn_SignalHandle_t signal;
    const char *const *enabled;
};

struct configs {
    QnnHtpContext_CustomConfig_t budget, fast;
    QnnContext_Config_t c[5];
    const QnnContext_Config_t *all[6];
};

static const QnnContext_Config_t **configs_of(const struct options *o, struct configs *s)
{
    *s = (struct configs){ .budget = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_FILE_READ_MEMORY_BUDGET,
                                       .fileReadMemoryBudgetInMb = o->budget_mb },
                           .fast = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_INIT_ACCELERATION,
                                     .initAcceleration = o->all_cores } };
    s->c[0] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &s->budget };
    s->c[1] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &s->fast };
    s->c[2] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = o->persistent };
    s->c[3] =
        (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT, .isGraphInitDeferred = o->deferred };
    s->c[4] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = o->enabled };
    for (unsigned i = 0; i < (o->enabled ? 5 : 4); i++)
        s->all[i] = &s->c[i];
    return s->all;
}

static Qnn_ErrorHandle_t load(const void *data, const struct options *o, Qnn_ContextHandle_t *ret)
{
    struct configs s;
    told = (struct told){ 0 };
    return q.contextCreateFromBinaryWithSignal(backend, NULL, configs_of(o, &s), data, file_bytes, ret, NULL, o->signal);
}

static uint64_t status_of(const char *key)
{
    char line[256];
    unsigned long long kb = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            sscanf(line + strlen(key), ": %llu", &kb);
    fclose(f);
    return kb << 10;
}

/* The most that the process had in memory during the call, above what it had before. */
static uint64_t peak_of(const void *data, const struct options *o, Qnn_ContextHandle_t *ret)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool reset = fd >= 0 && write(fd, "5", 1) == 1;
    if (fd >= 0)
        close(fd);
    if (!reset) {
        print_message("SKIP: the peak of this process cannot be reset\n");
        skip();
    }
    uint64_t before = status_of("VmRSS");
    OK(load(data, o, ret));
    return status_of("VmHWM") - before;
}

static void picks(Qnn_ContextHandle_t c, unsigned g)
{
    static uint8_t y[PICKED * WIDTH];
    int32_t rows[PICKED] = { 0, ROWS / 3, ROWS - 1 };
    Qnn_GraphHandle_t graph;
    OK(q.graphRetrieve(c, keep_name("table_%u", g), &graph));
    Qnn_Tensor_t in = TENSOR(keep_name("r%u", g), APP_WRITE, INT_32, PICKED);
    Qnn_Tensor_t out = tensor_quant(TENSOR(keep_name("y%u", g), APP_READ, UFIXED_POINT_8, PICKED, WIDTH), 0.5f, 0);
    in.v1.id = in_id[g];
    out.v1.id = out_id[g];
    in = WITH(in, rows);
    out = WITH(out, y);
    OK(q.graphExecute(graph, &in, 1, &out, 1, NULL, NULL));
    for (unsigned r = 0; r < PICKED; r++)
        for (unsigned i = 0; i < WIDTH; i++)
            assert_int_equal(y[r * WIDTH + i], byte_of(g, (uint64_t)rows[r] * WIDTH + i));
}

static void all_pick(Qnn_ContextHandle_t c)
{
    for (unsigned g = 0; g < GRAPHS; g++)
        picks(c, g);
    OK(q.contextFree(c, NULL));
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

/* The file, and our copy of it. */
static void test_without_budget(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    void *data = map_file(PROT_READ);
    assert_true(peak_of(data, &(struct options){ 0 }, &c) >= ALL_MIB * MIB);
    assert_int_equal(told.done, ALL_MIB * MIB);
    munmap(data, file_bytes); /* the client may */
    all_pick(c);
}

static void test_budget(void **state)
{
    (void)state;
    static const uint64_t budgets[] = { 25, 1, 1000 };
    for (unsigned i = 0; i < COUNT(budgets); i++) {
        Qnn_ContextHandle_t c;
        void *data = map_file(PROT_READ);
        uint64_t peak = peak_of(data, &(struct options){ .budget_mb = budgets[i] }, &c);
        uint64_t most = budgets[i] < GRAPH_MIB ? budgets[i] : GRAPH_MIB; /* a part is never more than a section */
        print_message("budget %u MB, file %u MB: peak %u KB\n", (unsigned)budgets[i], (unsigned)(file_bytes / MIB),
                      (unsigned)(peak >> 10));
        assert_in_range(peak, 0, most * MIB + OVERHEAD);
        assert_int_equal(told.warnings, 0);
        assert_int_equal(told.sections, GRAPHS);
        assert_int_equal(told.done, ALL_MIB * MIB); /* and each byte once */
        munmap(data, file_bytes);
        all_pick(c);
    }
}

/* A mapped file that the client promised to keep is not copied at all. */
static void test_in_file(void **state)
{
    (void)state;
    for (unsigned budget = 0; budget < 2; budget++) {
        Qnn_ContextHandle_t c;
        void *data = map_file(PROT_READ);
        uint64_t peak = peak_of(data, &(struct options){ .persistent = true, .budget_mb = budget * 25 }, &c);
        print_message("persistent, budget %u MB: peak %u KB\n", budget * 25, (unsigned)(peak >> 10));
        assert_in_range(peak, 0, OVERHEAD);
        assert_int_equal(told.done, ALL_MIB * MIB);
        all_pick(c);
        munmap(data, file_bytes);
    }
}

/* The file is found by what is mapped, wherever in it that begins, and only where it was not written to. */
static void test_budget_without_file(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    char *data = map_file(PROT_READ | PROT_WRITE), *copy = malloc(file_bytes + 1);
    memcpy(copy + 1, data, file_bytes);
    OK(load(copy + 1, &(struct options){ .budget_mb = 25 }, &c));
    assert_int_equal(told.warnings, 1);
    assert_non_null(strstr(told.warning, "not a mapping of one file"));
    free(copy);
    all_pick(c);

    data[file_bytes / 2] ^= 1; /* its own page, of what is mapped; the file has the old one */
    FAILS_SAYING(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "damaged", load(data, &(struct options){ .budget_mb = 25 }, &c));
    assert_int_equal(told.warnings, 1);
    assert_non_null(strstr(told.warning, "changed since"));
    FAILS_SAYING(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "damaged", load(data, &(struct options){ .persistent = true }, &c));
    data[file_bytes / 2] ^= 1;
    OK(load(data, &(struct options){ .budget_mb = 25 }, &c));
    munmap(data, file_bytes);
    all_pick(c);
}

/* ---- what is read ----------------------------------------------------------------------------------------------------- */

static void test_only_enabled(void **state)
{
    (void)state;
    static const char *const two[] = { "table_1", "table_2", NULL };
    static const struct options ways[] = { { .enabled = two },
                                           { .enabled = two, .budget_mb = 25 },
                                           { .enabled = two, .persistent = true },
                                           { .enabled = two, .deferred = true },
                                           { .enabled = two, .deferred = true, .budget_mb = 3 },
                                           { .enabled = two, .deferred = true, .persistent = true } };
    for (unsigned i = 0; i < COUNT(ways); i++) {
        Qnn_ContextHandle_t c;
        void *data = map_file(PROT_READ);
        OK(load(data, &ways[i], &c));
        if (!ways[i].persistent)
            munmap(data, file_bytes);
        if (ways[i].deferred)
            OK(q.contextFinalize(c, NULL));
        assert_int_equal(told.sections, 2);
        assert_int_equal(told.done, 2 * GRAPH_MIB * MIB);
        picks(c, 1);
        picks(c, 2);
        OK(q.contextFree(c, NULL));
        if (ways[i].persistent)
            munmap(data, file_bytes);
    }
}

static unsigned cores(void)
{
    cpu_set_t cpus;
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    return (unsigned)CPU_COUNT(&cpus);
}

static void test_all_cores(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    void *data = map_file(PROT_READ);
    OK(load(data, &(struct options){ 0 }, &c));
    assert_int_equal(told.threads, 1);
    OK(q.contextFree(c, NULL));
    for (unsigned i = 0; i < 3; i++) {
        OK(load(data, &(struct options){ .all_cores = true, .budget_mb = i == 1 ? 5 : 0, .persistent = i == 2 }, &c));
        assert_int_equal(told.threads, cores());
        assert_int_equal(told.done, ALL_MIB * MIB);
        all_pick(c);
    }
    munmap(data, file_bytes);
}

/* Each bit of a section counts, with each reader. */
static void test_damage(void **state)
{
    (void)state;
    static const uint64_t where[] = { 1, 3, 5, 7 }; /* eighths of the file */
    Qnn_ContextHandle_t c;
    char *data = malloc(file_bytes);
    void *file = map_file(PROT_READ);
    memcpy(data, file, file_bytes);
    munmap(file, file_bytes);
    for (unsigned i = 0; i < COUNT(where); i++)
        for (unsigned fast = 0; fast < 2; fast++) {
            data[file_bytes / 8 * where[i]] ^= 16;
            FAILS_SAYING(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "damaged",
                         load(data, &(struct options){ .all_cores = fast }, &c));
            data[file_bytes / 8 * where[i]] ^= 16;
        }
    OK(load(data, &(struct options){ 0 }, &c));
    free(data);
    all_pick(c);
}

/* ---- signals ---------------------------------------------------------------------------------------------------------- */

static Qnn_SignalHandle_t new_signal(uint64_t timeout_us)
{
    Qnn_SignalHandle_t signal;
    QnnSignal_Config_t o = { .option = QNN_SIGNAL_CONFIG_OPTION_ABORT };
    if (timeout_us)
        o = (QnnSignal_Config_t){ .option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, .timeoutDurationUs = timeout_us };
    OK(q.signalCreate(backend, (const QnnSignal_Config_t *[]){ &o, NULL }, &signal));
    return signal;
}

/* A list of one context, whose signal is triggered when its first graph is told about. */
struct list {
    Qnn_SignalHandle_t signal;
    Qnn_ContextHandle_t context;
    Qnn_ErrorHandle_t status;
    unsigned graphs;
};

static void on_notify(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                      QnnContext_createFromBinaryAsyncNotifyType_t type, void *param, Qnn_ErrorHandle_t status)
{
    struct list *list = param;
    (void)name;
    if (type == QNN_CONTEXT_NOTIFY_TYPE_GRAPH_INIT) {
        list->graphs += graph != NULL;
        if (list->graphs == 1)
            OK(q.signalTrigger(list->signal));
        return;
    }
    list->context = context;
    list->status = status;
}

static void aborted(const void *data, const struct options *o, Qnn_SignalHandle_t signal)
{
    struct configs s;
    struct list list = { .signal = signal };
    QnnContext_Params_t p = { QNN_CONTEXT_PARAMS_VERSION_1,
                              .v1 = { configs_of(o, &s), data, file_bytes, NULL, on_notify, &list } };
    const QnnContext_Params_t *all[] = { &p, NULL };
    told = (struct told){ 0 };
    setenv("OPENQNN_LIST_WAIT", "1", 1);
    OK(q.contextCreateFromBinaryListAsync(backend, NULL, all, NULL, signal));
    unsetenv("OPENQNN_LIST_WAIT");
    FAILS(QNN_CONTEXT_ERROR_ABORTED, list.status);
    assert_null(list.context);
    assert_int_equal(list.graphs, 1);
    assert_int_equal(told.done, GRAPH_MIB * MIB);
}

/* Nothing is read any more: of a time that is over before, and of an abort when the first graph is loaded. */
static void test_signal(void **state)
{
    (void)state;
    static const struct options ways[] = { { 0 }, { .budget_mb = 25 }, { .persistent = true }, { .all_cores = true } };
    Qnn_SignalHandle_t late = new_signal(1), abort = new_signal(0);
    void *data = map_file(PROT_READ);
    for (unsigned i = 0; i < COUNT(ways); i++) {
        struct options o = ways[i];
        Qnn_ContextHandle_t c = NULL;
        o.signal = late;
        FAILS(QNN_CONTEXT_ERROR_TIMED_OUT, load(data, &o, &c));
        assert_null(c);
        assert_int_equal(told.done, 0);
        o.signal = NULL;
        aborted(data, &o, abort);
        OK(load(data, &o, &c));
        all_pick(c);
    }
    munmap(data, file_bytes);
    OK(q.signalFree(late));
    OK(q.signalFree(abort));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_budget), cmocka_unit_test(test_budget),
        cmocka_unit_test(test_in_file),        cmocka_unit_test(test_budget_without_file),
        cmocka_unit_test(test_only_enabled),   cmocka_unit_test(test_all_cores),
        cmocka_unit_test(test_damage),         cmocka_unit_test(test_signal),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
