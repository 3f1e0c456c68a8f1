/* SPDX-License-Identifier: Apache-2.0 */
/* NUM_CORES: several cores of a device share the work of a graph, in the binary, the estimate and profiles. */
#include "api_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpGraph.h>
#include <QNN/HTP/QnnHtpProfile.h>

enum { SM8550 = 43, SA8255 = 52, SA8797 = 72, ONE_CORE = SM8550, TWO_CORES = SA8255 };
enum { HMX_BUSY = 30022, EXCHANGED = 30024, WEIGHT_BYTES = 30006 };
#define BAD_GRAPH QNN_GRAPH_ERROR_INVALID_ARGUMENT

static char warned[8192];

static void keep_warnings(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    size_t n = strlen(warned);

    (void)timestamp;
    if (level == QNN_LOG_LEVEL_WARN && n < sizeof warned - 1024)
        vsnprintf(warned + n, 1024, fmt, args);
}

static struct place {
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    Qnn_ContextHandle_t context;
} at;

static void device_on(uint32_t soc)
{
    QnnHtpDevice_CustomConfig_t custom = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = soc };
    QnnDevice_Config_t config = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnDevice_Config_t *list[] = { &config, NULL };

    at = (struct place){ NULL };
    OK(q.logCreate(keep_warnings, QNN_LOG_LEVEL_WARN, &at.log));
    OK(q.backendCreate(at.log, NULL, &at.backend));
    OK(q.deviceCreate(at.log, list, &at.device));
}

static void place_on(uint32_t soc)
{
    device_on(soc);
    OK(q.contextCreate(at.backend, at.device, NULL, &at.context));
}

static void leave(void)
{
    if (at.context)
        OK(q.contextFree(at.context, NULL));
    OK(q.deviceFree(at.device));
    OK(q.backendFree(at.backend));
    OK(q.logFree(at.log));
}

static Qnn_ErrorHandle_t graph_on(uint32_t cores, const char *name, Qnn_GraphHandle_t *ret)
{
    QnnHtpGraph_CustomConfig_t custom = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_NUM_CORES, .numCores = cores };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnGraph_Config_t *list[] = { cores ? &config : NULL, NULL };

    return q.graphCreate(at.context, name, list, ret);
}

/* ---- convolutions ----------------------------------------------------------------------------------------------------- */

/* One of 1 x 1; behind it one of 3 x 3, and another reader, so that what is between them is a whole tensor. */

enum { SIDE = 64, CHANNELS = 64, PIXELS = SIDE * SIDE * CHANNELS };

static Qnn_Tensor_t add_weights(Qnn_GraphHandle_t graph, const char *name, uint32_t window)
{
    static uint8_t values[3 * 3 * CHANNELS * CHANNELS];
    Qnn_Tensor_t w = tensor_quant(TENSOR(name, STATIC, UFIXED_POINT_8, window, window, CHANNELS, CHANNELS), 1.0f, -7);

    for (unsigned i = 0; i < sizeof values; i++)
        values[i] = (uint8_t)(i * 7 % 15);
    w = tensor_data(w, values, window * window * CHANNELS * CHANNELS);
    OK(q.tensorCreateGraphTensor(graph, &w));
    return w;
}

static void add_convolution(Qnn_GraphHandle_t graph, const char *name, uint32_t window, Qnn_Tensor_t x, Qnn_Tensor_t y)
{
    static const uint32_t two[] = { 2 };
    static const uint32_t edges[] = { 2, 2 };
    const uint32_t ones[] = { 1, 1 };
    const uint32_t pads[] = { window / 2, window / 2, window / 2, window / 2 };
    struct op conv = { name,
                       "Conv2d",
                       NULL,
                       2,
                       2,
                       1,
                       { param_u32s(graph, "stride", 1, two, ones), param_u32s(graph, "pad_amount", 2, edges, pads) },
                       { x, add_weights(graph, keep_name("%s_w", name), window) },
                       { y } };

    OK(op_add(graph, &conv));
}

struct pair {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y, z;
};

static struct pair build(uint32_t cores, const char *name)
{
    struct pair n = { .x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, SIDE, SIDE, CHANNELS), 1.0f, -128),
                      .y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, SIDE, SIDE, CHANNELS), 4096.0f, -128),
                      .z = tensor_quant(TENSOR("z", APP_READ, UFIXED_POINT_8, 1, SIDE, SIDE, CHANNELS), 64.0f, -128) };
    Qnn_Tensor_t t = tensor_quant(TENSOR("t", NATIVE, UFIXED_POINT_8, 1, SIDE, SIDE, CHANNELS), 64.0f, -128);

    OK(graph_on(cores, name, &n.graph));
    OK(q.tensorCreateGraphTensor(n.graph, &n.x));
    OK(q.tensorCreateGraphTensor(n.graph, &n.y));
    OK(q.tensorCreateGraphTensor(n.graph, &t));
    add_convolution(n.graph, "one", 1, n.x, t);
    add_convolution(n.graph, "three", 3, t, n.y);
    OK(q.tensorCreateGraphTensor(n.graph, &n.z));
    struct op relu = { "relu", "Relu", NULL, 0, 1, 1, { QNN_PARAM_INIT }, { t }, { n.z } };
    OK(op_add(n.graph, &relu));
    return n;
}

/* What profiles say of preparing and of one execution. */
struct told {
    uint64_t cycles, exchanged, exchanged_run, weights, input_fill, hmx_busy[4];
    uint32_t htps, cores;
    uint8_t y[PIXELS], z[PIXELS];
};

static void read_events(Qnn_ProfileHandle_t profile, struct told *ret)
{
    uint32_t n;
    const struct event *e = profile_events(profile, &n);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t value = e[i].data.value;
        switch (e[i].data.type) {
        case QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_PERF_ESTIMATE_SIM_EXEC_CYCLES: ret->cycles = value; break;
        case QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_PERF_ESTIMATE_BANDWIDTH_STATS_HTP_ID:
            assert_int_equal(value, ret->htps++);
            break;
        case QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_PERF_ESTIMATE_INPUT_FILL: ret->input_fill += value; break;
        case QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_PERF_ESTIMATE_INTER_HTP_FILL: ret->exchanged += value; break;
        case WEIGHT_BYTES: ret->weights = value; break;
        case HMX_BUSY: ret->hmx_busy[ret->cores++] = value; break;
        case EXCHANGED: ret->exchanged_run = value; break;
        default: break;
        }
    }
}

static void run(struct pair *n, uint32_t level, struct told *ret)
{
    static uint8_t x[PIXELS];
    Qnn_ProfileHandle_t profile;

    for (unsigned i = 0; i < PIXELS; i++)
        x[i] = (uint8_t)(i * 31 % 251);
    Qnn_Tensor_t in = WITH(n->x, x);
    Qnn_Tensor_t out[2] = { WITH(n->y, ret->y), WITH(n->z, ret->z) };
    OK(q.profileCreate(at.backend, level, &profile));
    OK(q.graphExecute(n->graph, &in, 1, out, 2, profile, NULL));
    read_events(profile, ret);
    OK(q.profileFree(profile));
}

static struct pair prepare(uint32_t cores, struct told *ret)
{
    static unsigned serial;
    Qnn_ProfileHandle_t profile;
    struct pair n = build(cores, keep_name("graph_%u", serial++));

    memset(ret, 0, sizeof *ret);
    OK(q.profileCreate(at.backend, QNN_PROFILE_LEVEL_BASIC, &profile));
    OK(q.graphFinalize(n.graph, profile, NULL));
    read_events(profile, ret);
    OK(q.profileFree(profile));
    return n;
}

static void prepare_and_run(uint32_t cores, struct told *ret)
{
    struct pair n = prepare(cores, ret);

    run(&n, QNN_PROFILE_LEVEL_DETAILED, ret);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

static struct told one, same, two, four;

/* Two cores take less time, but not half of it: weights come twice, and lines at the border go from one to the other: of 65
 * of 8 x 8 x 32 pixels, some tiles. The matrix units of both work as long as the one. */
static void test_work_is_split(void **state)
{
    (void)state;
    const uint64_t weights = (1 + 9) * CHANNELS * CHANNELS, line_of_tiles = 8 * SIDE * CHANNELS;

    place_on(TWO_CORES);
    prepare_and_run(0, &same);
    prepare_and_run(1, &one);
    prepare_and_run(2, &two);
    assert_memory_equal(one.y, two.y, PIXELS);
    assert_memory_equal(&one, &same, sizeof one);
    assert_int_equal(one.htps, 1);
    assert_int_equal(one.cores, 0);
    assert_int_equal(one.exchanged, 0);
    assert_int_equal(two.htps, 2);
    assert_int_equal(two.cores, 2);
    assert_in_range(two.cycles, one.cycles / 2, one.cycles * 9 / 10);
    assert_in_range(two.exchanged, 1, 4 * line_of_tiles);
    assert_int_equal(two.exchanged_run, two.exchanged);
    assert_int_equal(two.weights, 2 * weights);
    assert_int_equal(two.input_fill, one.input_fill + weights);
    assert_true(two.hmx_busy[0] > 0);
    assert_in_range(two.hmx_busy[0], two.hmx_busy[1] * 99 / 100, two.hmx_busy[1] * 101 / 100);
    leave();
}

/* SA8797 has four. It is of another architecture, so there is no session for it in this process. */
static void test_four(void **state)
{
    (void)state;
    QnnHtpContext_CustomConfig_t only = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_PREPARE_ONLY, .isPrepareOnly = true };
    QnnContext_Config_t config = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &only };
    const QnnContext_Config_t *list[] = { &config, NULL };

    device_on(SA8797);
    OK(q.contextCreate(at.backend, at.device, list, &at.context));
    prepare(1, &one);
    prepare(2, &two);
    prepare(4, &four);
    assert_int_equal(four.htps, 4);
    assert_true(four.cycles < two.cycles && two.cycles < one.cycles);
    leave();
}

/* One row of many channels is split by channels: each weight goes to one core only. */
static void test_one_row(void **state)
{
    (void)state;
    enum { WIDE = 1024 };
    static uint8_t filter[WIDE * WIDE];
    static uint8_t x[WIDE];
    static uint8_t y[WIDE];
    struct told t[2];

    place_on(TWO_CORES);
    for (uint32_t i = 0; i < 2; i++) {
        struct net n = { .x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, WIDE), 1.0f, 0),
                         .y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, WIDE), 4.0f, 0) };
        Qnn_Tensor_t w = WITH(tensor_quant(TENSOR("w", STATIC, UFIXED_POINT_8, WIDE, WIDE), 1.0f, 0), filter);
        Qnn_ProfileHandle_t profile;

        OK(graph_on(1 + i, i ? "two" : "one", &n.graph));
        OK(q.tensorCreateGraphTensor(n.graph, &n.x));
        OK(q.tensorCreateGraphTensor(n.graph, &n.y));
        OK(q.tensorCreateGraphTensor(n.graph, &w));
        struct op product = { "product", "FullyConnected", NULL, 0, 2, 1, { QNN_PARAM_INIT }, { n.x, w }, { n.y } };
        OK(op_add(n.graph, &product));
        OK(q.graphFinalize(n.graph, NULL, NULL));
        OK(q.profileCreate(at.backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
        Qnn_Tensor_t in = WITH(n.x, x);
        Qnn_Tensor_t out = WITH(n.y, y);
        OK(q.graphExecute(n.graph, &in, 1, &out, 1, profile, NULL));
        memset(&t[i], 0, sizeof t[i]);
        read_events(profile, &t[i]);
        OK(q.profileFree(profile));
    }
    assert_int_equal(t[0].weights, WIDE * WIDE);
    assert_int_equal(t[1].weights, WIDE * WIDE);
    leave();
}

/* A binary for two cores runs where there are two. */
static void test_loaded(void **state)
{
    (void)state;
    Qnn_ContextHandle_t context;
    uint64_t size, written;

    place_on(TWO_CORES);
    struct pair n = build(2, "net");
    OK(q.graphFinalize(n.graph, NULL, NULL));
    OK(q.contextGetBinarySize(at.context, &size));
    void *file = malloc(size);
    assert_non_null(file);
    OK(q.contextGetBinary(at.context, file, size, &written));
    OK(q.contextCreateFromBinary(at.backend, at.device, NULL, file, size, &context, NULL));
    OK(q.graphRetrieve(context, "net", &n.graph));
    memset(&two, 0, sizeof two);
    run(&n, QNN_HTP_PROFILE_LEVEL_LINTING, &two);
    assert_int_equal(two.cores, 2);
    assert_non_null(strstr(warned, "level linting are not available"));
    OK(q.contextFree(context, NULL));
    leave();

    device_on(ONE_CORE);
    FAILS_SAYING(QNN_CONTEXT_ERROR_BINARY_CONFIGURATION, "for 2 cores (NUM_CORES); the device has 1",
                 q.contextCreateFromBinary(at.backend, at.device, NULL, file, size, &context, NULL));
    leave();
    free(file);
}

static void test_excluded(void **state)
{
    (void)state;
    QnnHtpContext_CustomConfig_t share = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
                                           .weightSharingEnabled = true };
    QnnContext_Config_t config = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &share };
    const QnnContext_Config_t *list[] = { &config, NULL };
    Qnn_GraphHandle_t graph;

    device_on(TWO_CORES);
    OK(q.contextCreate(at.backend, at.device, list, &at.context));
    OK(graph_on(1, "one", &graph));
    FAILS_SAYING(BAD_GRAPH, "NUM_CORES is 2 in a context with WEIGHT_SHARING_ENABLED", graph_on(2, "two", &graph));
    OK(q.contextFree(at.context, NULL));
    share = (QnnHtpContext_CustomConfig_t){ .option = QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS,
                                            .groupRegistration = { .maxSpillFillBuffer = 1 << 20 } };
    OK(q.contextCreate(at.backend, at.device, list, &at.context));
    FAILS_SAYING(BAD_GRAPH, "NUM_CORES is 2 in a context that shares a spill-fill buffer", graph_on(2, "two", &graph));
    leave();
}

int main(void)
{
    lib_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_is_split), cmocka_unit_test(test_four),     cmocka_unit_test(test_one_row),
        cmocka_unit_test(test_loaded),        cmocka_unit_test(test_excluded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
