/* SPDX-License-Identifier: Apache-2.0 */
/* Options of libQnnHtp.so's contexts and graphs: every valid one is taken, what does not make sense is refused, and what
 * belongs into the description of a binary is found there. Float graphs compute in float16 unless the switch of openqnn is
 * set. What a device would refuse is in test_htp_limits.c. */
#include "api_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpGraph.h>
#include <QNN/HTP/QnnHtpSystemContext.h>
#include <QNN/System/QnnSystemContext.h>

#undef COUNT
#include "system_lib.h"

/* ---- contexts --------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t context_with(QnnHtpContext_CustomConfig_t *c, Qnn_ContextHandle_t *ret)
{
    QnnContext_Config_t custom = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = c };
    const QnnContext_Config_t *list[] = { &custom, NULL };
    return q.contextCreate(env.backend, NULL, list, ret);
}

static void test_context_options(void **state)
{
    (void)state;
    for (uint32_t o = 1; o <= 25; o++) {
        QnnHtpContext_CustomConfig_t c;
        Qnn_ContextHandle_t h = NULL;
        if (o == QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_CONCURRENT_RESOURCE_SHARING)
            continue; /* of newer devices (test_htp_share.c) */
        memset(&c, 0, sizeof c);
        c.option = (QnnHtpContext_ConfigOption_t)o;
        OK(context_with(&c, &h));
        memset((char *)&c + offsetof(QnnHtpContext_CustomConfig_t, weightSharingEnabled), 0,
               sizeof c - offsetof(QnnHtpContext_CustomConfig_t, weightSharingEnabled));
        if (o == QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS)
            c.groupRegistration.maxSpillFillBuffer = 1;
        else
            c.weightSharingEnabled = true;
        OK(context_with(&c, &h));
    }
    QnnHtpContext_CustomConfig_t bad = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES_OPTIMIZATION_TYPE,
                                         .shareResOptType = 3 };
    QnnHtpContext_CustomConfig_t unknown = { .option = (QnnHtpContext_ConfigOption_t)4711 };
    Qnn_ContextHandle_t h;
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "SHARE_RESOURCES_OPTIMIZATION_TYPE", context_with(&bad, &h));
    OK(context_with(&unknown, &h)); /* clients send what newer backends know */
    QnnHtpContext_CustomConfig_t mode = { .option = (QnnHtpContext_ConfigOption_t)25,
                                          .shareResOptType = 2 }; /* PARALLEL_WEIGHT_LOADING, its mode first */
    OK(context_with(&mode, &h));
    mode.shareResOptType = 3;
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG,
                 "PARALLEL_WEIGHT_LOADING is 3; allowed: modes 0 to "
                 "2",
                 context_with(&mode, &h));
}

static void test_async_depth(void **state)
{
    (void)state;
    Qnn_ContextHandle_t h;
    QnnContext_Config_t depth = { .option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
                                  .asyncExeQueueDepth = { QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC, { 300 } } };
    const QnnContext_Config_t *list[] = { &depth, NULL };
    OK(q.contextCreate(env.backend, NULL, list, &h));
    depth.asyncExeQueueDepth.depth = 301;
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "300", q.contextCreate(env.backend, NULL, list, &h));
}

static void test_prepare_only(void **state)
{
    (void)state;
    static char bytes[65536];
    uint64_t size;
    struct net n;
    Qnn_ContextHandle_t h, loaded;
    float x[AFFINE_N] = { 1 }, y[AFFINE_N];
    QnnHtpContext_CustomConfig_t c = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_PREPARE_ONLY, .isPrepareOnly = true };
    OK(context_with(&c, &h));
    OK(net_affine(h, "net", 2, 1, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    FAILS_SAYING(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, "PREPARE_ONLY", net_run(&n, x, y, AFFINE_N, AFFINE_N));
    OK(q.contextGetBinary(h, bytes, sizeof bytes, &size));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, size, &loaded, NULL));
    OK(q.graphRetrieve(loaded, "net", &n.graph));
    OK(net_run(&n, x, y, AFFINE_N, AFFINE_N));
    assert_true(y[0] == 3);
}

static void test_context_properties(void **state)
{
    (void)state;
    static const QnnHtpContext_GetPropertyOption_t known[] = { QNN_HTP_CONTEXT_GET_PROP_BUFFER_START_ALIGNMENT,
                                                               QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE,
                                                               QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE,
                                                               QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE };
    QnnHtpContext_CustomProperty_t p;
    QnnContext_Property_t property = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p },
                          *list[] = { &property, NULL };
    for (unsigned i = 0; i < COUNT(known); i++) {
        memset(&p, 0xEE, sizeof p);
        p.option = known[i];
        OK(q.contextGetProperty(env.context, list));
        if (i == 0)
            assert_int_equal(p.bufferStartAlignment & (p.bufferStartAlignment - 1), 0);
        assert_true(p.spillfillBufferSize < (uint64_t)1 << 32);
    }
    p.option = (QnnHtpContext_GetPropertyOption_t)99;
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, q.contextGetProperty(env.context, list));
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t graph_with(const QnnHtpGraph_CustomConfig_t *c, unsigned n, const char *name,
                                    Qnn_GraphHandle_t *ret)
{
    QnnGraph_Config_t configs[8];
    const QnnGraph_Config_t *list[9] = { NULL };
    for (unsigned i = 0; i < n; i++) {
        configs[i] =
            (QnnGraph_Config_t){ .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = (void *)(uintptr_t)&c[i] };
        list[i] = &configs[i];
    }
    return q.graphCreate(env.context, name, list, ret);
}

static QnnHtpGraph_CustomConfig_t optimization(uint32_t type, float value)
{
    return (QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
                                         .optimizationOption = { (QnnHtpGraph_OptimizationType_t)type, value } };
}

static void test_graph_options(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    for (uint32_t o = 1; o <= QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION_COMPENSATION; o++) {
        if (o == QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_BYTES)
            continue; /* from v81 on */
        QnnHtpGraph_CustomConfig_t c;
        memset(&c, 0, sizeof c);
        c.option = (QnnHtpGraph_ConfigOption_t)o;
        if (o == QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION)
            c = optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, 3);
        if (o == QNN_HTP_GRAPH_CONFIG_OPTION_FINALIZE_CONFIG)
            c.finalizeConfig.key = "P";
        OK(graph_with(&c, 1, keep_name("option_%u", o), &g));
    }
    for (uint32_t t = 1; t <= QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_CACHED_WEIGHTS; t++) {
        QnnHtpGraph_CustomConfig_t c = optimization(t, 1);
        OK(graph_with(&c, 1, keep_name("optimization_%u", t), &g));
    }
    QnnHtpGraph_CustomConfig_t unknown = {
        .option = (QnnHtpGraph_ConfigOption_t)1234
    }; /* a client that never sets the option of its config */
    OK(graph_with(&unknown, 1, "unknown", &g));
}

static void test_graph_options_refused(void **state)
{
    (void)state;
    const struct {
        QnnHtpGraph_CustomConfig_t c;
        const char *says;
    } cases[] = {
        { optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, 0), "level 0" },
        { optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, 4), "level 4" },
        { optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, 1.5f), "1.5" },
        { optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, NAN), "level" },
        { optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_SCHEDULE_THRESHOLD, -1), "-1" },
        { optimization(77, 1), "77" },
        { { .option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION, .precision = (Qnn_Precision_t)2 }, "precision 2" },
        { { .option = QNN_HTP_GRAPH_CONFIG_OPTION_NUM_CORES, .numCores = 100 }, "NUM_CORES is 100" },
        { { .option = QNN_HTP_GRAPH_CONFIG_OPTION_FINALIZE_CONFIG, .finalizeConfig = { NULL, { 0 } } }, "key" },
    };
    Qnn_GraphHandle_t g;
    for (unsigned i = 0; i < COUNT(cases); i++)
        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, cases[i].says, graph_with(&cases[i].c, 1, "refused", &g));
}

/* y = x * x over 4 floats in the graph. */
static struct net square(Qnn_GraphHandle_t g)
{
    struct net n = { .graph = g,
                     .x = TENSOR("x", APP_WRITE, FLOAT_32, AFFINE_N),
                     .y = TENSOR("y", APP_READ, FLOAT_32, AFFINE_N) };
    OK(q.tensorCreateGraphTensor(g, &n.x));
    OK(q.tensorCreateGraphTensor(g, &n.y));
    struct op mul = { "mul", "ElementWiseMultiply", NULL, 0, 2, 1, { QNN_PARAM_INIT }, { n.x, n.x }, { n.y } };
    OK(op_add(g, &mul));
    OK(q.graphFinalize(g, NULL, NULL));
    return n;
}

static const QnnHtpSystemContext_GraphBlobInfoV1_t *blob_of(const QnnSystemContext_BinaryInfo_t *info)
{
    assert_int_equal(info->version, QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3);
    const QnnSystemContext_BinaryInfoV3_t *v = &info->contextBinaryInfoV3;
    assert_int_equal(v->socModel, 43);
    assert_int_equal(
        ((const QnnHtpSystemContext_ContextBlobInfo_t *)v->contextMetadata)->contextBinaryContextBlobInfoV1.dspArch, 73);
    assert_int_equal(v->graphs[0].version, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3);
    const QnnHtpSystemContext_GraphBlobInfo_t *b = v->graphs[0].graphInfoV3.graphBlobInfo;
    assert_int_equal(b->version, QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1);
    return &b->contextBinaryGraphBlobInfoV1;
}

static void test_in_binary_info(void **state)
{
    (void)state;
    static char bytes[65536];
    static const struct {
        uint32_t vtcm, level, threads, want_vtcm, want_threads;
        float dlbc;
    } cases[] = { { 2, 3, 2, 2, 2, 1 }, { 0, 1, 0, 8, 4, 0 }, { 64, 2, 99, 8, 4, 0 } };
    void *lib = system_open();
    QNN_SYSTEM_INTERFACE_VER_TYPE sys = system_provider(lib)->QNN_SYSTEM_INTERFACE_VER_NAME;
    for (unsigned i = 0; i < COUNT(cases); i++) {
        QnnHtpGraph_CustomConfig_t c[] = {
            { .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE, .vtcmSizeInMB = cases[i].vtcm },
            optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, (float)cases[i].level),
            optimization(QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC, cases[i].dlbc),
            { .option = QNN_HTP_GRAPH_CONFIG_OPTION_NUM_HVX_THREADS, .numHvxThreads = cases[i].threads },
        };
        QnnSystemContext_Handle_t reader;
        const QnnSystemContext_BinaryInfo_t *info;
        Qnn_GraphHandle_t g;
        uint64_t size, info_size;
        OK(graph_with(c, COUNT(c), "net", &g));
        square(g);
        OK(q.contextGetBinary(env.context, bytes, sizeof bytes, &size));
        OK(sys.systemContextCreate(&reader));
        OK(sys.systemContextGetBinaryInfo(reader, bytes, size, &info, &info_size));
        const QnnHtpSystemContext_GraphBlobInfoV1_t *b = blob_of(info);
        assert_int_equal(b->vtcmSize, cases[i].want_vtcm);
        assert_int_equal(b->optimizationLevel, cases[i].level);
        assert_int_equal(b->numHvxThreads, cases[i].want_threads);
        assert_int_equal(b->htpDlbc, cases[i].dlbc != 0);
        OK(sys.systemContextFree(reader));
        OK(q.contextFree(env.context, NULL));
        OK(q.contextCreate(env.backend, NULL, NULL, &env.context));
    }
    dlclose(lib);
}

/* ---- precision -------------------------------------------------------------------------------------------------------- */

enum precision_switch { NO_SWITCH, BY_OPTION, BY_ENVIRONMENT };

/* y = x * x, computed after a PRECISION option (0: none) and a switch of ours. */
static void square_of(const float *x, float *y, uint32_t precision, enum precision_switch how)
{
    QnnHtpGraph_CustomConfig_t c[2];
    Qnn_GraphHandle_t g;
    unsigned n = 0;

    memset(c, 0, sizeof c);
    if (precision) {
        c[n].option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION;
        c[n++].precision = precision == 16 ? QNN_PRECISION_FLOAT16 : QNN_PRECISION_FLOAT32;
    }
    if (how == BY_OPTION) {
        c[n].option = (QnnHtpGraph_ConfigOption_t)0x4F510001;
        c[n++].foldReluActivationIntoConvOff = true; /* any flag */
    }
    if (how == BY_ENVIRONMENT)
        setenv("OPENQNN_FLOAT32", "1", 1);
    OK(graph_with(c, n, keep_name("square_%u_%u", precision, how), &g));
    struct net net = square(g);
    unsetenv("OPENQNN_FLOAT32");
    OK(net_run(&net, x, y, AFFINE_N, AFFINE_N));
}

/* One rounding of the input, one of the product; 70000 has no float16. */
static void test_precision(void **state)
{
    (void)state;
    static const uint32_t precisions[] = { 0, 16, 32 };
    const float x[AFFINE_N] = { 1.0003f, 3.14159265f, -2.7182818f, 100.123f, 1e-3f, 0.1f, 300.0f, 70000.0f };
    float half[AFFINE_N];
    float full[AFFINE_N];

    for (unsigned p = 0; p < COUNT(precisions); p++) {
        square_of(x, half, precisions[p], NO_SWITCH);
        for (int i = 0; i < AFFINE_N; i++)
            assert_true(half[i] == (float)(_Float16)((float)(_Float16)x[i] * (float)(_Float16)x[i]));
        assert_true(isinf(half[6]) && isinf(half[7]));
    }
    for (enum precision_switch how = BY_OPTION; how <= BY_ENVIRONMENT; how++) {
        square_of(x, full, 0, how);
        for (int i = 0; i < AFFINE_N; i++)
            assert_true(full[i] == x[i] * x[i]);
    }
}

static unsigned warnings;

static void count_warnings(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    (void)timestamp;
    char text[1024];
    vsnprintf(text, sizeof text, fmt, args);
    warnings += level == QNN_LOG_LEVEL_WARN && strstr(text, "would refuse it");
}

/* SM8350 has no float16. Public suites run float graphs there all the same, and expect float32 results. */
static void before_float16(const char *soc, bool strict)
{
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t former = env.context;
    Qnn_GraphHandle_t g;
    const float x[AFFINE_N] = { 1.0003f, 3.14159265f, -2.7182818f, 100.123f, 1e-3f, 0.1f, 7.77f, 123.456f };
    float y[AFFINE_N];
    QnnHtpGraph_CustomConfig_t half = {
        .option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION,
        .precision = QNN_PRECISION_FLOAT16,
    };

    warnings = 0;
    setenv("OPENQNN_SOC", soc, 1);
    OK(q.logCreate(count_warnings, QNN_LOG_LEVEL_WARN, &log));
    OK(q.backendCreate(log, NULL, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &env.context));
    OK(graph_with(&half, 1, "half", &g));
    if (strict) {
        struct net net;

        OK(net_affine(env.context, "strict", 2, 1, &net));
        setenv("OPENQNN_STRICT", "1", 1);
        FAILS_SAYING(QNN_COMMON_ERROR_NOT_SUPPORTED, "computes in float, which needs architecture v73",
                     q.graphFinalize(net.graph, NULL, NULL));
        unsetenv("OPENQNN_STRICT");
    } else {
        struct net n = square(g);

        OK(net_run(&n, x, y, AFFINE_N, AFFINE_N));
        for (int i = 0; i < AFFINE_N; i++)
            assert_true(y[i] == x[i] * x[i]);
        assert_int_equal(warnings, 1);
    }

    OK(q.contextFree(env.context, NULL));
    env.context = former;
    OK(q.backendFree(backend));
    OK(q.logFree(log));
    unsetenv("OPENQNN_SOC");
}

static void test_before_float16(void **state)
{
    (void)state;
    before_float16("SM8350", false);
    before_float16("SM8350", true);
}

/* Quantized graphs with floats at their edges are at home on all architectures, and the edges keep float32's digits. */
static void test_quantized_edges(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    const float x[AFFINE_N] = { 0.50001f, 1.00001f, 2.49999f, 2.50001f, 1000.49f, 2048.51f, 2049.51f, 4097.49f };
    float y[AFFINE_N];

    setenv("OPENQNN_STRICT", "1", 1);
    OK(q.graphCreate(env.context, "edges", NULL, &g));
    struct net n = { .graph = g,
                     .x = TENSOR("x", APP_WRITE, FLOAT_32, AFFINE_N),
                     .y = TENSOR("y", APP_READ, FLOAT_32, AFFINE_N) };
    Qnn_Tensor_t t = tensor_quant(TENSOR("t", NATIVE, UFIXED_POINT_16, AFFINE_N), 1.0f, 0);
    OK(q.tensorCreateGraphTensor(g, &n.x));
    OK(q.tensorCreateGraphTensor(g, &n.y));
    OK(q.tensorCreateGraphTensor(g, &t));
    struct op quantize = { "q", "Quantize", NULL, 0, 1, 1, { QNN_PARAM_INIT }, { n.x }, { t } };
    struct op dequantize = { "d", "Dequantize", NULL, 0, 1, 1, { QNN_PARAM_INIT }, { t }, { n.y } };
    OK(op_add(g, &quantize));
    OK(op_add(g, &dequantize));
    OK(q.graphFinalize(g, NULL, NULL));
    OK(net_run(&n, x, y, AFFINE_N, AFFINE_N));
    for (int i = 0; i < AFFINE_N; i++)
        assert_true(y[i] == rintf(x[i]));
    unsetenv("OPENQNN_STRICT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, env_setup, env_teardown)
        TEST(test_context_options),    TEST(test_async_depth),   TEST(test_prepare_only),
        TEST(test_context_properties), TEST(test_graph_options), TEST(test_graph_options_refused),
        TEST(test_in_binary_info),     TEST(test_precision),     TEST(test_before_float16),
        TEST(test_quantized_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
