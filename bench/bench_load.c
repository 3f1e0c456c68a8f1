/* SPDX-License-Identifier: Apache-2.0 */
/* What loading a context costs on libQnnHtp.so, by option: time, and bytes of this process in memory,
 * at the peak and afterwards. The file is mapped, and in the page cache but for the last row. Options
 * take turns, so that other work on the machine is shared by all. Then four contexts one after the
 * other, and the same four as a list.
 *
 *     bench_load LIB_DIR JSONL_FILE [ROUNDS] */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpContext.h>

#include "base/clock.h"
#include "bench_client.h"
#include "bench_lines.h"
#include "net_qnn.h"

enum { ROUNDS = 15, MOST_ROUNDS = 200, LISTED = 4, MIB = 1 << 20, TABLE_WIDTH = 4096, BUDGET_MB = 8 };

static Qnn_BackendHandle_t backend;

/* ---- the file --------------------------------------------------------------------------------------------------------- */

struct file {
    const char *name;
    char path[64];
    uint64_t bytes;
};

static void save(struct file *f, Qnn_ContextHandle_t c)
{
    CHECK(qnn.contextGetBinarySize(c, &f->bytes));
    snprintf(f->path, sizeof f->path, "/tmp/openqnn_bench_XXXXXX");
    int fd = mkstemp(f->path);
    void *at = fd >= 0 && ftruncate(fd, (off_t)f->bytes) == 0
                   ? mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                   : MAP_FAILED;
    if (at == MAP_FAILED) {
        perror(f->path);
        exit(1);
    }
    CHECK(qnn.contextGetBinary(c, at, f->bytes, &f->bytes));
    munmap(at, f->bytes);
    close(fd);
    CHECK(qnn.contextFree(c, NULL));
}

static struct file resnet50(void)
{
    static struct net net;
    struct file f = { .name = "resnet50 int8" };
    Qnn_ContextHandle_t c;
    struct net_builder b = { .net = &net, .type = NET_INT8 };
    for (int i = 0; net_list[i].name; i++)
        if (strcmp(net_list[i].name, "resnet50") == 0)
            net_make(&net, net_list[i].build, 1);
    CHECK(qnn.contextCreate(backend, NULL, NULL, &c));
    CHECK(qnn.graphCreate(c, "resnet50", NULL, &b.graph));
    net_build(&b);
    net_builder_finish(&b);
    CHECK(qnn.graphFinalize(b.graph, NULL, NULL));
    save(&f, c);
    return f;
}

static Qnn_Tensor_t tensor(const char *name, Qnn_TensorType_t type, Qnn_DataType_t data, uint32_t rank, uint32_t *dims)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.version = QNN_TENSOR_VERSION_1;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = data;
    t.v1.rank = rank;
    t.v1.dimensions = dims;
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_UNDEFINED;
    if (data != QNN_DATATYPE_INT_32) {
        t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        t.v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){ .scale = 1, .offset = 0 };
    }
    return t;
}

/* Constants alone: a table of so many megabytes that rows are picked from. */
static struct file table(uint32_t mib)
{
    struct file f = { .name = "table of 40 MiB" };
    uint32_t dims[2] = { mib * (MIB / TABLE_WIDTH), TABLE_WIDTH }, one[1] = { 1 }, out[2] = { 1, TABLE_WIDTH };
    uint64_t bytes = (uint64_t)dims[0] * dims[1];
    uint8_t *data = malloc(bytes);
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    for (uint64_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 11);
    Qnn_Tensor_t t[] = { tensor("table", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UFIXED_POINT_8, 2, dims),
                         tensor("row", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_INT_32, 1, one),
                         tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 2, out) };
    t[0].v1.clientBuf = (Qnn_ClientBuffer_t){ data, (uint32_t)bytes };
    CHECK(qnn.contextCreate(backend, NULL, NULL, &c));
    CHECK(qnn.graphCreate(c, "table", NULL, &g));
    for (int i = 0; i < 3; i++)
        CHECK(qnn.tensorCreateGraphTensor(g, &t[i]));
    Qnn_Param_t axis = { .paramType = QNN_PARAMTYPE_SCALAR,
                         .name = "axis",
                         .scalarParam = { .dataType = QNN_DATATYPE_INT_32, .int32Value = 0 } };
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1 = (Qnn_OpConfigV1_t){ .name = "pick",
                                .packageName = "qti.aisw",
                                .typeName = "Gather",
                                .numOfParams = 1,
                                .params = &axis,
                                .numOfInputs = 2,
                                .inputTensors = t,
                                .numOfOutputs = 1,
                                .outputTensors = &t[2] };
    CHECK(qnn.graphAddNode(g, op));
    CHECK(qnn.graphFinalize(g, NULL, NULL));
    free(data);
    save(&f, c);
    return f;
}

/* ---- one load --------------------------------------------------------------------------------------------------------- */

struct way {
    const char *name;
    uint64_t budget_mb;
    bool persistent, all_cores, cold; /* cold: the file is not in the page cache */
};

static const struct way ways[] = {
    { .name = "no option" },
    { .name = "INIT_ACCELERATION", .all_cores = true },
    { .name = "FILE_READ_MEMORY_BUDGET 8", .budget_mb = BUDGET_MB },
    { .name = "PERSISTENT_BINARY", .persistent = true },
    { .name = "both of the last", .budget_mb = BUDGET_MB, .persistent = true },
    { .name = "no option, cold file", .cold = true },
};
enum { WAYS = sizeof ways / sizeof ways[0] };

struct cost {
    uint64_t ns[MOST_ROUNDS], peak, steady; /* bytes, the largest of all rounds */
};

static uint64_t status_of(const char *key)
{
    char line[256];
    unsigned long long kb = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            sscanf(line + strlen(key), ": %llu", &kb);
    if (f)
        fclose(f);
    return kb << 10;
}

static void reset_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "5", 1) != 1)
        fprintf(stderr, "the peak of this process cannot be reset\n");
    close(fd);
}

static void *map(const struct file *f, bool cold)
{
    int fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (cold && (fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0))
        perror(f->path);
    void *at = fd >= 0 ? mmap(NULL, f->bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
        perror(f->path);
        exit(1);
    }
    close(fd);
    return at;
}

static uint64_t above(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static void load_once(const struct file *f, const struct way *w, struct cost *cost, unsigned round)
{
    QnnHtpContext_CustomConfig_t budget = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_FILE_READ_MEMORY_BUDGET,
                                            .fileReadMemoryBudgetInMb = w->budget_mb },
                                 fast = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_INIT_ACCELERATION,
                                          .initAcceleration = w->all_cores };
    QnnContext_Config_t c[] = { { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &budget },
                                { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &fast },
                                { .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = w->persistent } };
    const QnnContext_Config_t *all[] = { &c[0], &c[1], &c[2], NULL };
    Qnn_ContextHandle_t context;
    void *at = map(f, w->cold);
    reset_peak();
    uint64_t before = status_of("VmRSS"), begin = clock_ns();
    CHECK(qnn.contextCreateFromBinary(backend, NULL, all, at, f->bytes, &context, NULL));
    cost->ns[round] = clock_ns() - begin;
    uint64_t peak = above(status_of("VmHWM"), before);
    if (!w->persistent)
        munmap(at, f->bytes);
    uint64_t steady = above(status_of("VmRSS"), before);
    cost->peak = peak > cost->peak ? peak : cost->peak;
    cost->steady = steady > cost->steady ? steady : cost->steady;
    CHECK(qnn.contextFree(context, NULL));
    if (w->persistent)
        munmap(at, f->bytes);
}

static void bench_options(const struct file *f, unsigned rounds)
{
    static struct cost costs[WAYS];
    memset(costs, 0, sizeof costs);
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < WAYS; i++)
            load_once(f, &ways[i], &costs[i], round);
    for (unsigned i = 0; i < WAYS; i++) {
        struct timing t = timing_summary(costs[i].ns, rounds);
        double peak = (double)costs[i].peak / MIB, steady = (double)costs[i].steady / MIB;
        printf("%-16s %-26s %8.1f %10.1f %10.1f %10.1f %10.1f\n", f->name, ways[i].name, (double)f->bytes / MIB,
               to_ms(t.best), to_ms(t.median), peak, steady);
        lines_add(
            "{\"kind\":\"load_option\",\"name\":\"%s\",\"option\":\"%s\",\"bytes\":%llu,\"best_ms\":%.3f,\"median_ms\":%.3f,"
            "\"peak_mib\":%.2f,\"steady_mib\":%.2f}",
            f->name, ways[i].name, (unsigned long long)f->bytes, to_ms(t.best), to_ms(t.median), peak, steady);
    }
}

/* ---- several ---------------------------------------------------------------------------------------------------------- */

static void on_notify(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                      QnnContext_createFromBinaryAsyncNotifyType_t type, void *param, Qnn_ErrorHandle_t status)
{
    (void)graph, (void)name;
    if (type != QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT)
        return;
    CHECK(status);
    *(Qnn_ContextHandle_t *)param = context;
}

static uint64_t load_four(const struct file *f, bool as_list)
{
    Qnn_ContextHandle_t contexts[LISTED];
    void *at = map(f, false);
#define PARAMS(i)                                                                                 \
    {                                                                                             \
        QNN_CONTEXT_PARAMS_VERSION_1, .v1 = { NULL, at, f->bytes, NULL, on_notify, &contexts[i] } \
    }
    QnnContext_Params_t p[LISTED] = { PARAMS(0), PARAMS(1), PARAMS(2), PARAMS(3) };
    const QnnContext_Params_t *all[] = { &p[0], &p[1], &p[2], &p[3], NULL };
    uint64_t begin = clock_ns();
    if (as_list)
        CHECK(qnn.contextCreateFromBinaryListAsync(backend, NULL, all, NULL, NULL));
    for (int i = 0; i < LISTED && !as_list; i++)
        CHECK(qnn.contextCreateFromBinary(backend, NULL, NULL, at, f->bytes, &contexts[i], NULL));
    uint64_t ns = clock_ns() - begin;
    for (int i = 0; i < LISTED; i++)
        CHECK(qnn.contextFree(contexts[i], NULL));
    munmap(at, f->bytes);
    return ns;
}

static void bench_list(const struct file *f, unsigned rounds)
{
    static uint64_t ns[2][MOST_ROUNDS], ratios[MOST_ROUNDS];
    setenv("OPENQNN_LIST_WAIT", "1", 1);
    for (unsigned round = 0; round < rounds; round++) {
        for (int i = 0; i < 2; i++)
            ns[i][round] = load_four(f, i);
        ratios[round] = ns[0][round] * 1000 / ns[1][round];
    }
    struct timing one = timing_summary(ns[0], rounds), list = timing_summary(ns[1], rounds),
                  ratio = timing_summary(ratios, rounds);
    printf(
        "\n4 × %-12s %ld cores: one after the other %.1f ms, list %.1f ms (best); ratio of the best %.2f, median of rounds "
        "%.2f\n",
        f->name, sysconf(_SC_NPROCESSORS_ONLN), to_ms(one.best), to_ms(list.best), (double)one.best / (double)list.best,
        (double)ratio.median / 1000);
    lines_add("{\"kind\":\"load_list\",\"name\":\"%s\",\"one_ms\":%.3f,\"list_ms\":%.3f,\"ratio\":%.3f}", f->name,
              to_ms(one.best), to_ms(list.best), (double)ratio.median / 1000);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc == 4 ? (unsigned)atoi(argv[3]) : ROUNDS;
    if (argc < 3 || argc > 4 || rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: bench_load LIB_DIR JSONL_FILE [ROUNDS, 1 to %d]\n", MOST_ROUNDS);
        return 2;
    }
    lines_open(argv[2], "w");
    client_open(argv[1], "libQnnHtp.so");
    CHECK(qnn.backendCreate(NULL, NULL, &backend));
    struct file files[] = { resnet50(), table(40) };
    printf("%-16s %-26s %8s %10s %10s %10s %10s\n", "load", "option", "MiB", "best ms", "median ms", "peak MiB", "then MiB");
    for (int i = 0; i < 2; i++)
        bench_options(&files[i], rounds);
    bench_list(&files[1], rounds);
    for (int i = 0; i < 2; i++)
        unlink(files[i].path);
    CHECK(qnn.backendFree(backend));
    lines_close();
    return 0;
}
