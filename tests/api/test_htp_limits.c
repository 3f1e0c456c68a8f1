/* SPDX-License-Identifier: Apache-2.0 */
/* Options of libQnnHtp.so that a device would refuse: a value out of range, an architecture that does not have the option,
 * the wrong moment, options that exclude each other. And options without an effect, which say so once. */
#include "api_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpGraph.h>
#include <QNN/HTP/QnnHtpPerfInfrastructure.h>
#include <QNN/HTP/QnnHtpProfile.h>

#define BAD_GRAPH QNN_GRAPH_ERROR_INVALID_ARGUMENT
#define MIB (1u << 20)

/* ---- a context on a SoC, with the warnings that it caused ------------------------------------------------------------- */

static struct place {
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    Qnn_ContextHandle_t context;
} at;

static char warned[65536];

static void keep_warnings(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    size_t n = strlen(warned);

    (void)timestamp;
    if (level != QNN_LOG_LEVEL_WARN || n > sizeof warned - 2048)
        return;
    vsnprintf(warned + n, 1024, fmt, args);
    strcat(warned, "\n");
}

static unsigned times_warned(const char *text)
{
    unsigned n = 0;

    for (const char *p = warned; (p = strstr(p, text)); p++)
        n++;
    return n;
}

static void device_on(uint32_t soc)
{
    QnnHtpDevice_CustomConfig_t custom = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = soc };
    QnnDevice_Config_t config = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnDevice_Config_t *list[] = { &config, NULL };

    warned[0] = 0;
    at = (struct place){ 0 };
    OK(q.logCreate(keep_warnings, QNN_LOG_LEVEL_WARN, &at.log));
    OK(q.backendCreate(at.log, NULL, &at.backend));
    OK(q.deviceCreate(at.log, list, &at.device));
}

static Qnn_ErrorHandle_t context_with(QnnHtpContext_CustomConfig_t *custom, Qnn_ContextHandle_t *ret)
{
    QnnContext_Config_t config = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = custom };
    const QnnContext_Config_t *list[] = { custom ? &config : NULL, NULL };
    return q.contextCreate(at.backend, at.device, list, ret);
}

static void place_on(uint32_t soc)
{
    device_on(soc);
    OK(context_with(NULL, &at.context));
}

static void leave(void)
{
    if (at.context)
        OK(q.contextFree(at.context, NULL));
    OK(q.deviceFree(at.device));
    OK(q.backendFree(at.backend));
    OK(q.logFree(at.log));
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

enum { SM8350 = 30, SM8450 = 36, SM8550 = 43, SA8255 = 52, SM7550 = 64, SM8850 = 87 };

static Qnn_ErrorHandle_t graph_with(const QnnHtpGraph_CustomConfig_t *custom, unsigned n, Qnn_GraphHandle_t *ret)
{
    static unsigned serial;
    QnnGraph_Config_t configs[4];
    const QnnGraph_Config_t *list[5] = { NULL };

    for (unsigned i = 0; i < n; i++) {
        configs[i] =
            (QnnGraph_Config_t){ .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = (void *)(uintptr_t)&custom[i] };
        list[i] = &configs[i];
    }
    return q.graphCreate(at.context, keep_name("graph_%u", serial++), list, ret);
}

static Qnn_ErrorHandle_t graph_option(QnnHtpGraph_CustomConfig_t custom)
{
    Qnn_GraphHandle_t graph;
    return graph_with(&custom, 1, &graph);
}

static Qnn_ErrorHandle_t change(Qnn_GraphHandle_t graph, QnnHtpGraph_CustomConfig_t custom)
{
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnGraph_Config_t *list[] = { &config, NULL };
    return q.graphSetConfig(graph, list);
}

static QnnHtpGraph_CustomConfig_t optimization(uint32_t type, float value)
{
    return (QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
                                         .optimizationOption = { (QnnHtpGraph_OptimizationType_t)type, value } };
}

#define DLBC(on) optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC, on)
#define DLBC_WEIGHTS(on) optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC_WEIGHTS, on)
#define VTCM_MB(n) ((QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_MB, .vtcmSizeInMB = n })
#define VTCM_BYTES(n) \
    ((QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_BYTES, .vtcmSizeInBytes = n })
#define THREADS(n) \
    ((QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_NUM_HVX_THREADS, .numHvxThreads = n })
#define CORES(n) ((QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_NUM_CORES, .numCores = n })

/* y = Relu(x) over 8-bit values. */
static struct net relu_into(Qnn_GraphHandle_t graph)
{
    struct net n = { .graph = graph,
                     .x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 16), 1.0f, -128),
                     .y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 16), 1.0f, -128) };

    OK(q.tensorCreateGraphTensor(graph, &n.x));
    OK(q.tensorCreateGraphTensor(graph, &n.y));
    struct op relu = { "relu", "Relu", NULL, 0, 1, 1, { QNN_PARAM_INIT }, { n.x }, { n.y } };
    OK(op_add(graph, &relu));
    return n;
}

static Qnn_ErrorHandle_t finalize_relu(const QnnHtpGraph_CustomConfig_t *custom, unsigned n)
{
    Qnn_GraphHandle_t graph;

    OK(graph_with(custom, n, &graph));
    relu_into(graph);
    return q.graphFinalize(graph, NULL, NULL);
}

static Qnn_ErrorHandle_t run_relu(struct net *n, Qnn_ProfileHandle_t profile)
{
    uint8_t x[16] = { 0 };
    uint8_t y[16];
    Qnn_Tensor_t in = WITH(n->x, x);
    Qnn_Tensor_t out = WITH(n->y, y);
    return q.graphExecute(n->graph, &in, 1, &out, 1, profile, NULL);
}

/* ---- ranges ----------------------------------------------------------------------------------------------------------- */

static void test_vtcm_bytes(void **state)
{
    (void)state;
    place_on(SM8850);
    OK(graph_option(VTCM_BYTES(8 * MIB)));
    OK(graph_option(VTCM_BYTES(0)));
    FAILS_SAYING(BAD_GRAPH, "1000003", graph_option(VTCM_BYTES(1000003)));
    FAILS_SAYING(BAD_GRAPH, "multiples of 65536", graph_option(VTCM_BYTES(65535)));
    FAILS_SAYING(BAD_GRAPH, "8454144; the device has 8388608", graph_option(VTCM_BYTES(8 * MIB + 65536)));
    leave();

    place_on(SM8550);
    FAILS_SAYING(BAD_GRAPH, "needs architecture v81; the device has v73", graph_option(VTCM_BYTES(2 * MIB)));
    leave();
}

static void test_vtcm_mb_above_soc(void **state)
{
    (void)state;
    place_on(SM7550);
    OK(graph_option(VTCM_MB(2)));
    OK(graph_option(VTCM_MB(0)));
    assert_int_equal(times_warned("VTCM"), 0);
    OK(graph_option(VTCM_MB(8)));
    OK(graph_option(VTCM_MB(8)));
    assert_int_equal(times_warned("VTCM_SIZE_IN_MB is 8; the device has 2"), 1);

    setenv("OPENQNN_STRICT", "1", 1);
    FAILS_SAYING(BAD_GRAPH, "VTCM_SIZE_IN_MB is 8; the device has 2", graph_option(VTCM_MB(8)));
    unsetenv("OPENQNN_STRICT");
    leave();
}

static uint64_t threads_of(struct net *n)
{
    Qnn_ProfileHandle_t profile;

    OK(q.profileCreate(at.backend, QNN_PROFILE_LEVEL_BASIC, &profile));
    OK(run_relu(n, profile));
    const struct event *e = profile_find(profile, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_NUMBER_OF_HVX_THREADS);
    assert_non_null(e);
    uint64_t value = e->data.value;
    OK(q.profileFree(profile));
    return value;
}

/* A loaded graph takes another number until it has run. */
static void test_hvx_threads(void **state)
{
    (void)state;
    Qnn_GraphHandle_t graph;

    place_on(SM8550);
    OK(graph_with(&THREADS(2), 1, &graph));
    struct net n = relu_into(graph);
    OK(q.graphFinalize(graph, NULL, NULL));
    OK(change(graph, THREADS(3)));
    assert_int_equal(threads_of(&n), 3);
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_FINALIZED, "before the first execution", change(graph, THREADS(1)));
    assert_int_equal(threads_of(&n), 3);

    OK(graph_with(&THREADS(9), 1, &graph));
    n = relu_into(graph);
    OK(q.graphFinalize(graph, NULL, NULL));
    assert_int_equal(threads_of(&n), 4);
    assert_int_equal(times_warned("NUM_HVX_THREADS is 9; the device has 4"), 1);
    setenv("OPENQNN_STRICT", "1", 1);
    FAILS_SAYING(BAD_GRAPH, "NUM_HVX_THREADS is 9; the device has 4", graph_option(THREADS(9)));
    unsetenv("OPENQNN_STRICT");
    leave();
}

static void test_cores(void **state)
{
    (void)state;
    const QnnHtpGraph_CustomConfig_t both[] = {
        CORES(2),
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_PARALLEL_GRAPH_EXECUTION_CONFIG,
          .parallelGraphExecutionConfig = { .concurrency = QNN_HTP_GRAPH_CONCURRENCY_OPTION_ALL_SHARED } },
    };
    Qnn_GraphHandle_t graph;

    place_on(SM8550);
    OK(graph_option(CORES(1)));
    FAILS_SAYING(BAD_GRAPH, "NUM_CORES is 2; the device has 1", graph_option(CORES(2)));
    leave();

    place_on(SA8255);
    OK(graph_option(CORES(2)));
    FAILS_SAYING(BAD_GRAPH, "NUM_CORES is 3; the device has 2", graph_option(CORES(3)));
    FAILS_SAYING(BAD_GRAPH, "concurrency", graph_with(both, 2, &graph));
    assert_int_equal(times_warned("NUM_CORES"), 0);
    leave();
}

static void test_finalize_config(void **state)
{
    (void)state;
    QnnHtpGraph_CustomConfig_t c = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_FINALIZE_CONFIG,
                                     .finalizeConfig = { "P", { .uint32Value = 3 } } };

    place_on(SM8550);
    OK(graph_option(c));
    assert_int_equal(times_warned("FINALIZE_CONFIG is accepted"), 1);
    c.finalizeConfig.value.uint32Value = 99;
    FAILS_SAYING(BAD_GRAPH, "\"P\" is 99; allowed: key \"P\" with 0 to 6", graph_option(c));
    c.finalizeConfig.key = "bogus";
    FAILS_SAYING(BAD_GRAPH, "\"bogus\" is unknown; \"P\"", graph_option(c));
    leave();
}

static void test_needs_v81(void **state)
{
    (void)state;
    const QnnHtpGraph_CustomConfig_t on = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION_COMPENSATION,
                                            .foldReluActivationIntoConvOff = true };
    const QnnHtpGraph_CustomConfig_t off = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION_COMPENSATION };

    place_on(SM8550);
    OK(graph_option(off));
    FAILS_SAYING(BAD_GRAPH, "PRECISION_COMPENSATION needs architecture v81", graph_option(on));
    leave();
    place_on(SM8850);
    OK(graph_option(on));
    leave();
}

/* ---- how many graphs -------------------------------------------------------------------------------------------------- */

static void test_weight_sharing_limits(void **state)
{
    (void)state;
    enum { MOST = 64 };
    QnnHtpContext_CustomConfig_t share = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
                                           .weightSharingEnabled = true };
    Qnn_GraphHandle_t graph;
    Qnn_ContextHandle_t context;

    device_on(SM8550);
    OK(context_with(&share, &at.context));
    OK(graph_option(DLBC(1)));
    FAILS_SAYING(BAD_GRAPH, "WEIGHT_SHARING_ENABLED; use one", graph_option(DLBC_WEIGHTS(1)));
    for (unsigned i = 0; i < MOST; i++)
        OK(finalize_relu(NULL, 0));
    OK(graph_with(NULL, 0, &graph));
    relu_into(graph);
    FAILS_SAYING(BAD_GRAPH, "64 graphs of a context", q.graphFinalize(graph, NULL, NULL));
    leave();

    device_on(SM8450);
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "needs architecture v73; the device has v69",
                 context_with(&share, &context));
    share.weightSharingEnabled = false;
    OK(context_with(&share, &at.context));
    leave();
}

static void test_dlbc_limits(void **state)
{
    (void)state;
    const QnnHtpGraph_CustomConfig_t both[] = { DLBC(1), DLBC_WEIGHTS(2) };

    place_on(SM8550);
    FAILS_SAYING(BAD_GRAPH, "ENABLE_DLBC is 0.5; allowed: 0 (off), 1 and more", graph_option(DLBC(0.5f)));
    OK(finalize_relu(NULL, 0));
    for (unsigned i = 0; i < 32; i++)
        OK(finalize_relu(&both[i % 2], 1));
    FAILS_SAYING(BAD_GRAPH, "32 graphs of a context", finalize_relu(both, 1));
    OK(finalize_relu(NULL, 0));
    leave();

    place_on(SM8550);
    for (unsigned i = 0; i < 16; i++)
        OK(finalize_relu(both, 2));
    FAILS_SAYING(BAD_GRAPH, "16 graphs of a context", finalize_relu(both, 2));
    leave();
}

/* ---- what a graph becomes --------------------------------------------------------------------------------------------- */

/* Operators that a detailed profile tells times of; each has a time and its cycles. */
static unsigned operators_of(struct net *n, const void *x, uint32_t x_bytes)
{
    static uint8_t y[4096];
    Qnn_ProfileHandle_t profile;
    uint32_t count;
    unsigned nodes = 0;
    Qnn_Tensor_t in = tensor_data(n->x, x, x_bytes);
    Qnn_Tensor_t out = tensor_data(n->y, y, sizeof y);

    OK(q.profileCreate(at.backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
    OK(q.graphExecute(n->graph, &in, 1, &out, 1, profile, NULL));
    const struct event *e = profile_events(profile, &count);
    for (uint32_t i = 0; i < count; i++)
        nodes += e[i].data.type == QNN_PROFILE_EVENTTYPE_NODE && e[i].data.unit == QNN_PROFILE_EVENTUNIT_CYCLES;
    OK(q.profileFree(profile));
    return nodes;
}

/* y = Relu(x * w), with one encoding. */
static unsigned operators_of_layer(bool off)
{
    static const uint8_t filter[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
    static const uint8_t x[4] = { 100, 130, 160, 190 };
    QnnHtpGraph_CustomConfig_t c = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_FOLD_RELU_ACTIVATION_INTO_CONV_OFF,
                                     .foldReluActivationIntoConvOff = off };
    struct net n = { .x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, 4), 1.0f, -128),
                     .y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, 4), 8.0f, -128) };
    Qnn_Tensor_t w = WITH(tensor_quant(TENSOR("w", STATIC, UFIXED_POINT_8, 4, 4), 1.0f, -8), filter);
    Qnn_Tensor_t t = tensor_quant(TENSOR("t", NATIVE, UFIXED_POINT_8, 1, 4), 8.0f, -128);

    OK(graph_with(&c, 1, &n.graph));
    OK(q.tensorCreateGraphTensor(n.graph, &n.x));
    OK(q.tensorCreateGraphTensor(n.graph, &n.y));
    OK(q.tensorCreateGraphTensor(n.graph, &w));
    OK(q.tensorCreateGraphTensor(n.graph, &t));
    struct op product = { "product", "FullyConnected", NULL, 0, 2, 1, { QNN_PARAM_INIT }, { n.x, w }, { t } };
    struct op relu = { "relu", "Relu", NULL, 0, 1, 1, { QNN_PARAM_INIT }, { t }, { n.y } };
    OK(op_add(n.graph, &product));
    OK(op_add(n.graph, &relu));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return operators_of(&n, x, sizeof x);
}

/* y = x * w, both in 16 bits, with one weight. */
static Qnn_ErrorHandle_t finalize_a16w16(int16_t weight, const char *type)
{
    int16_t filter[4] = { 0, 1, -32768, weight };
    bool convolution = strcmp(type, "FullyConnected") != 0;
    uint32_t rank = convolution ? 5 : 2;
    static const uint32_t strides[] = { 1, 1, 1 };
    static const uint32_t sides[] = { 3 };
    static const uint32_t edges[] = { 3, 2 };
    static const uint32_t no_pad[6];
    Qnn_GraphHandle_t graph;

    OK(graph_with(NULL, 0, &graph));
    Qnn_Tensor_t x = tensor_make(QNN_TENSOR_VERSION_1, "x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_16, rank,
                                 convolution ? (uint32_t[]){ 1, 1, 1, 1, 1 } : (uint32_t[]){ 1, 2 });
    Qnn_Tensor_t w = tensor_make(QNN_TENSOR_VERSION_1, "w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_16, rank,
                                 convolution ? (uint32_t[]){ 1, 1, 1, 1, 2 } : (uint32_t[]){ 2, 2 });
    Qnn_Tensor_t y = tensor_make(QNN_TENSOR_VERSION_1, "y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_16, rank,
                                 convolution ? (uint32_t[]){ 1, 1, 1, 1, 2 } : (uint32_t[]){ 1, 2 });

    x = tensor_quant(x, 1.0f, -32768);
    w = tensor_quant(w, 1.0f, 0);
    y = tensor_quant(y, 65536.0f, -32768);
    w = tensor_data(w, convolution ? &filter[2] : filter, convolution ? 4 : 8);
    OK(q.tensorCreateGraphTensor(graph, &x));
    OK(q.tensorCreateGraphTensor(graph, &w));
    OK(q.tensorCreateGraphTensor(graph, &y));
    struct op product = { "product", type, NULL, 0, 2, 1, { QNN_PARAM_INIT }, { x, w }, { y } };
    if (convolution) {
        product.p[product.np++] = param_u32s(graph, "stride", 1, sides, strides);
        product.p[product.np++] = param_u32s(graph, "pad_amount", 2, edges, no_pad);
    }
    OK(op_add(graph, &product));
    return q.graphFinalize(graph, NULL, NULL);
}

static void test_weights_of_16_bits(void **state)
{
    (void)state;
    place_on(SM8550);
    OK(finalize_a16w16(0x7F7F, "FullyConnected"));
    assert_int_equal(times_warned("0x7F7F"), 0);
    OK(finalize_a16w16(0x7F80, "FullyConnected"));
    OK(finalize_a16w16(0x7FFF, "FullyConnected"));
    assert_int_equal(times_warned("go up to 0x7F80; a device takes -0x8000 to 0x7F7F"), 1);
    OK(finalize_a16w16(1, "Conv3d"));
    assert_int_equal(times_warned("Conv3d is computed all the same"), 1);

    setenv("OPENQNN_STRICT", "1", 1);
    OK(finalize_a16w16(0x7F7F, "FullyConnected"));
    FAILS_SAYING(QNN_COMMON_ERROR_NOT_SUPPORTED, "go up to 0x7FFF", finalize_a16w16(0x7FFF, "FullyConnected"));
    FAILS_SAYING(QNN_COMMON_ERROR_NOT_SUPPORTED, "Conv3d", finalize_a16w16(1, "Conv3d"));
    unsetenv("OPENQNN_STRICT");
    leave();
}

static void test_fold_relu_off(void **state)
{
    (void)state;
    place_on(SM8550);
    assert_int_equal(operators_of_layer(false), 1);
    assert_int_equal(operators_of_layer(true), 2);
    leave();
}

/* A client that makes all terms first and adds them up then: a search for a better order keeps fewer of them at a time. */
static uint64_t spilled_at(float level)
{
    enum { SIDE = 512, TERMS = 8 };
    static const uint32_t turned[] = { 1, 0 };
    QnnHtpContext_CustomProperty_t p = { .option = QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE };
    QnnContext_Property_t property = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p };
    QnnContext_Property_t *properties[] = { &property, NULL };
    const QnnHtpGraph_CustomConfig_t c[] = {
        optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, level),
        VTCM_MB(2),
    };
    Qnn_Tensor_t terms[TERMS];
    Qnn_GraphHandle_t graph;

    place_on(SM8550);
    OK(graph_with(c, 2, &graph));
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, SIDE, SIDE);
    OK(q.tensorCreateGraphTensor(graph, &x));
    for (unsigned i = 0; i < TERMS; i++) {
        terms[i] = TENSOR(keep_name("t%u", i), NATIVE, FLOAT_32, SIDE, SIDE);
        OK(q.tensorCreateGraphTensor(graph, &terms[i]));
        Qnn_Tensor_t from = i ? TENSOR(keep_name("u%u", i), NATIVE, FLOAT_32, SIDE, SIDE) : x;
        if (i) {
            OK(q.tensorCreateGraphTensor(graph, &from));
            struct op times = { keep_name("times%u", i), "ElementWisePower", NULL,    0, 2, 1,
                                { QNN_PARAM_INIT },      { x, x },           { from } };
            OK(op_add(graph, &times));
        }
        struct op turn = { keep_name("turn%u", i),
                           "Transpose",
                           NULL,
                           1,
                           1,
                           1,
                           { param_u32s(graph, "perm", 1, (uint32_t[]){ 2 }, turned) },
                           { from },
                           { terms[i] } };
        OK(op_add(graph, &turn));
    }
    Qnn_Tensor_t sum = terms[0];
    for (unsigned i = 1; i < TERMS; i++) {
        Qnn_Tensor_t next = i + 1 < TERMS ? TENSOR(keep_name("s%u", i), NATIVE, FLOAT_32, SIDE, SIDE)
                                          : TENSOR("y", APP_READ, FLOAT_32, SIDE, SIDE);
        OK(q.tensorCreateGraphTensor(graph, &next));
        struct op add = { keep_name("add%u", i), "ElementWiseAdd",  NULL,    0, 2, 1,
                          { QNN_PARAM_INIT },    { sum, terms[i] }, { next } };
        OK(op_add(graph, &add));
        sum = next;
    }
    OK(q.graphFinalize(graph, NULL, NULL));
    OK(q.contextGetProperty(at.context, properties));
    leave();
    return p.spillfillBufferSize;
}

static void test_levels(void **state)
{
    (void)state;
    uint64_t fast = spilled_at(1);
    uint64_t thorough = spilled_at(2);

    print_message("spilled at O1 %llu, at O2 %llu bytes\n", (unsigned long long)fast, (unsigned long long)thorough);
    assert_true(thorough < fast);
}

/* ---- moments ---------------------------------------------------------------------------------------------------------- */

static void test_after_finalize(void **state)
{
    (void)state;
    Qnn_GraphHandle_t graph;

    place_on(SM8550);
    OK(graph_with(NULL, 0, &graph));
    struct net n = relu_into(graph);
    OK(change(graph, VTCM_MB(2)));
    FAILS_SAYING(BAD_GRAPH, "NUM_CORES is 2", change(graph, CORES(2)));
    OK(q.graphFinalize(graph, NULL, NULL)); /* the refused one left no trace */
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_FINALIZED, "VTCM_SIZE_IN_MB", change(graph, VTCM_MB(1)));
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_FINALIZED, "ENABLE_DLBC", change(graph, DLBC(1)));
    OK(run_relu(&n, NULL));
    OK(change(graph, optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SLC_ALLOCATOR, 0)));
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_FINALIZED, "finalized without it",
                 change(graph, optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SLC_ALLOCATOR, 1)));
    leave();
}

/* ---- devices ---------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t device_with(const void *custom, QnnDevice_PlatformInfo_t *platform, Qnn_DeviceHandle_t *ret)
{
    QnnDevice_Config_t c[2] = {
        { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = (void *)(uintptr_t)custom },
        { .option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO, .hardwareInfo = platform },
    };
    const QnnDevice_Config_t *list[] = { custom ? &c[0] : &c[1], NULL };
    return q.deviceCreate(NULL, list, ret);
}

static void test_device_ids(void **state)
{
    (void)state;
    const QnnHtpDevice_CustomConfig_t second = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH,
                                                 .arch = { 3, QNN_HTP_DEVICE_ARCH_V73 } };
    const uint32_t old_layout[4] = { QNN_HTP_DEVICE_CONFIG_OPTION_ARCH, 1, 79, 0 };
    Qnn_DeviceHandle_t device;

    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "device 3; there is one", device_with(&second, NULL, &device));
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "device 1; there is one", device_with(old_layout, NULL, &device));
}

/* What a client says of hardware that it does not have is used, as far as there is such a SoC. */
static void test_described_hardware(void **state)
{
    (void)state;
    QnnHtpDevice_DeviceInfoExtension_t extension = { .devType = QNN_HTP_DEVICE_TYPE_ON_CHIP,
                                                     .onChipDevice = { .vtcmSize = 3, .socModel = SM8550 } };
    QnnDevice_CoreInfo_t cores[] = { { .version = QNN_DEVICE_CORE_INFO_VERSION_1, .v1 = { .coreId = 0 } },
                                     { .version = QNN_DEVICE_CORE_INFO_VERSION_1, .v1 = { .coreId = 1 } } };
    QnnDevice_HardwareDeviceInfo_t hardware = {
        .version = QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1,
        .v1 = { .numCores = 1, .cores = cores, .deviceInfoExtension = &extension },
    };
    QnnDevice_PlatformInfo_t platform = { .version = QNN_DEVICE_PLATFORM_INFO_VERSION_1, .v1 = { 1, &hardware } };
    const QnnDevice_PlatformInfo_t *info;

    warned[0] = 0;
    at = (struct place){ 0 };
    OK(q.logCreate(keep_warnings, QNN_LOG_LEVEL_WARN, &at.log));
    OK(q.backendCreate(at.log, NULL, &at.backend));
    OK(device_with(NULL, &platform, &at.device));
    OK(q.deviceGetInfo(at.device, &info));
    assert_int_equal(info->v1.hwDevices->v1.deviceInfoExtension->onChipDevice.vtcmSize, 3);
    OK(context_with(NULL, &at.context));
    OK(graph_option(VTCM_MB(3)));
    setenv("OPENQNN_STRICT", "1", 1);
    FAILS_SAYING(BAD_GRAPH, "the device has 3", graph_option(VTCM_MB(4)));

    Qnn_DeviceHandle_t device;
    extension.onChipDevice.vtcmSize = 16;
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG,
                 "16 MB of VTCM; SoC SM8550 has "
                 "8",
                 device_with(NULL, &platform, &device));
    unsetenv("OPENQNN_STRICT");
    OK(device_with(NULL, &platform, &device));
    OK(q.deviceGetInfo(device, &info));
    assert_int_equal(info->v1.hwDevices->v1.deviceInfoExtension->onChipDevice.vtcmSize, 8);
    OK(q.deviceFree(device));

    hardware.v1.numCores = 2;
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "core 1; SoC SM8550 has 1", device_with(NULL, &platform, &device));
    extension.onChipDevice.socModel = SA8255;
    extension.onChipDevice.vtcmSize = 8;
    OK(device_with(NULL, &platform, &device));
    OK(q.deviceFree(device));
    cores[1].v1.coreType = QNN_HTP_CORE_TYPE_HPASS;
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "type 1", device_with(NULL, &platform, &device));
    hardware.v1.deviceId = 1;
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "device 1; there is one", device_with(NULL, &platform, &device));
    leave();
}

/* A vote's core is one of the device that was made last. */
static void test_cores_of_votes(void **state)
{
    (void)state;
    QnnDevice_Infrastructure_t infrastructure = NULL;
    uint32_t id;

    OK(q.deviceGetInfrastructure(&infrastructure));
    const QnnHtpDevice_PerfInfrastructure_t *perf = &((QnnHtpDevice_Infrastructure_t *)infrastructure)->perfInfra;
    place_on(SA8255);
    OK(perf->createPowerConfigId(0, 1, &id));
    OK(perf->destroyPowerConfigId(id));
    assert_int_equal(perf->createPowerConfigId(0, 2, &id), QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT);
    assert_int_equal(perf->createPowerConfigId(1, 0, &id), QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT);
    leave();
    place_on(SM8550);
    assert_int_equal(perf->createPowerConfigId(0, 1, &id), QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT);
    leave();
}

/* ---- told once -------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define GRAPH(name) QNN_HTP_GRAPH_CONFIG_OPTION_##name
static const uint32_t told_flags[] = {
    GRAPH(ASSUME_SAME_QUANT), GRAPH(SHARE_IO_BUFFER),
    GRAPH(HIGH_PRECISION_SIGMOID), GRAPH(RESERVED),
};
static const char *const told_names[] = {
    "ASSUME_SAME_QUANT", "SHARE_IO_BUFFER", "HIGH_PRECISION_SIGMOID",
    "graph config: RESERVED", "SCHEDULE_THRESHOLD", "FINALIZE_RETRIES",
    "ENABLE_VTCM_RETENTION", "ENABLE_CACHED_WEIGHTS",
    "SHARE_RESOURCES is for lists",
    "USE_EXTENDED_UDMA",
    "LORA_WEIGHT_SHARING_ENABLED", "RESERVED_14", "RESERVED_15",
    "LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED", "REUSED_IO_LIMIT", "REFERENCE_WEIGHT_SHARING_ENABLED",
    "CONCURRENT_DESERIALIZATION_EXTRA_SIZE", "GRAPH_SPLITTING_ENABLED", "CONCURRENT_DESERIALIZATION_PATCH",
    "GRAPH_SPLITTING_CONFIGS",
};
/* clang-format on */

static void test_told_once(void **state)
{
    (void)state;
    static const uint32_t types[] = { 1, 2, 8, 9 };

    place_on(SM8550);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < COUNT(told_flags); i++) {
            QnnHtpGraph_CustomConfig_t c = { .option = (QnnHtpGraph_ConfigOption_t)told_flags[i],
                                             .foldReluActivationIntoConvOff = true };
            OK(graph_option(c));
        }
        for (unsigned i = 0; i < COUNT(types); i++)
            OK(graph_option(optimization(types[i], 1)));
        OK(graph_option((QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_ADVANCED_ACTIVATION_FUSION }));
        for (uint32_t o = QNN_HTP_CONTEXT_CONFIG_OPTION_FILE_READ_MEMORY_BUDGET; o <= 22; o++) {
            QnnHtpContext_CustomConfig_t c;
            Qnn_ContextHandle_t context;

            memset(&c, 0, sizeof c);
            c.option = (QnnHtpContext_ConfigOption_t)o;
            c.weightSharingEnabled = true;
            if (o == QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_CONCURRENT_RESOURCE_SHARING)
                continue; /* of newer devices (test_htp_share.c) */
            OK(context_with(&c, &context));
            OK(q.contextFree(context, NULL));
        }
    }
    for (unsigned i = 0; i < COUNT(told_names); i++)
        if (times_warned(keep_name("%s%s", told_names[i], strchr(told_names[i], ' ') ? "" : " is accepted")) != 1)
            fail_msg("%s: %u warnings in\n%s", told_names[i], times_warned(told_names[i]), warned);
    assert_int_equal(times_warned("PREPARE_ONLY"), 0);
    assert_int_equal(times_warned("IO_MEM_ESTIMATION"), 0);
    assert_int_equal(times_warned("FILE_READ_MEMORY_BUDGET"), 0);
    assert_int_equal(times_warned("INIT_ACCELERATION"), 0);
    leave();
}

static void test_device_told_once(void **state)
{
    (void)state;
    static const char *const names[] = { "ASYNC_EXECUTE", "DYNAMIC_PARTITIONING", "APP_UID", "HTP_EXTENSION" };

    place_on(SM8550);
    for (int round = 0; round < 2; round++) {
        for (uint32_t o = QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD; o <= QNN_HTP_DEVICE_CONFIG_OPTION_APP_UID + 1; o++) {
            bool last = o > QNN_HTP_DEVICE_CONFIG_OPTION_APP_UID;
            const uint32_t words[4] = { last ? QNN_HTP_DEVICE_CONFIG_OPTION_HTP_EXTENSION : o, 0, 1, 1 };
            QnnDevice_Config_t config = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM,
                                          .customConfig = (void *)(uintptr_t)words };
            const QnnDevice_Config_t *list[] = { &config, NULL };
            Qnn_DeviceHandle_t device;

            OK(q.deviceCreate(at.log, list, &device));
            OK(q.deviceFree(device));
        }
    }
    for (unsigned i = 0; i < COUNT(names); i++)
        assert_int_equal(times_warned(keep_name("%s is accepted", names[i])), 1);
    leave();
}

static void test_power_told_once(void **state)
{
    (void)state;
    static const char *const names[] = { "DDR_PERF_MODE", "CENG", "GROW_SIZE" };
    QnnDevice_Infrastructure_t infrastructure = NULL;
    QnnHtpPerfInfrastructure_PowerConfig_t c[5];
    const QnnHtpPerfInfrastructure_PowerConfig_t *list[] = { &c[0], &c[1], &c[2], &c[3], &c[4], NULL };
    const QnnHtpPerfInfrastructure_MemoryConfig_t grow = { .option =
                                                               QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_GROW_SIZE,
                                                           .memGrowSizeConfig = 4096 };
    const QnnHtpPerfInfrastructure_MemoryConfig_t *grows[] = { &grow, NULL };
    uint32_t id;

    place_on(SM8550);
    OK(q.deviceGetInfrastructure(&infrastructure));
    const QnnHtpDevice_PerfInfrastructure_t *perf = &((QnnHtpDevice_Infrastructure_t *)infrastructure)->perfInfra;
    memset(c, 0, sizeof c);
    c[0].option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3;
    c[0].dcvsV3Config.setSleepLatency = 1;
    c[0].dcvsV3Config.sleepLatency = 40;
    c[1].option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY;
    c[1].rpcControlLatencyConfig = 100;
    c[2].option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_TIMEOUT_INTERVAL_US;
    c[2].hmxTimeoutIntervalUsConfig = 1000;
    c[3].option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DDR_PERF_MODE;
    c[3].ddrPerfModeConfig = 1;
    c[4].option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG;
    c[4].cengConfig.cengVoltageCornerMin = c[4].cengConfig.cengVoltageCornerTarget = c[4].cengConfig.cengVoltageCornerMax =
        DCVS_VOLTAGE_VCORNER_NOM;
    for (int round = 0; round < 2; round++) {
        OK(perf->createPowerConfigId(0, 0, &id));
        OK(perf->setPowerConfig(id, list));
        OK(perf->setMemoryConfig(0, 0, grows));
        OK(perf->destroyPowerConfigId(id));
    }
    for (unsigned i = 0; i < COUNT(names); i++)
        assert_int_equal(times_warned(keep_name(": %s is accepted", names[i])), 1);
    leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vtcm_bytes),
        cmocka_unit_test(test_vtcm_mb_above_soc),
        cmocka_unit_test(test_hvx_threads),
        cmocka_unit_test(test_cores),
        cmocka_unit_test(test_finalize_config),
        cmocka_unit_test(test_needs_v81),
        cmocka_unit_test(test_weight_sharing_limits),
        cmocka_unit_test(test_dlbc_limits),
        cmocka_unit_test(test_weights_of_16_bits),
        cmocka_unit_test(test_fold_relu_off),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_after_finalize),
        cmocka_unit_test(test_device_ids),
        cmocka_unit_test(test_described_hardware),
        cmocka_unit_test(test_cores_of_votes),
        cmocka_unit_test(test_told_once),
        cmocka_unit_test(test_device_told_once),
        cmocka_unit_test(test_power_told_once),
    };
    lib_open();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lib_close();
    return failed;
}
