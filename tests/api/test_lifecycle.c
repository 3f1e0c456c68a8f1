/* SPDX-License-Identifier: Apache-2.0 */
/* Providers, versions, logs, properties, error texts, and the lives of backends, contexts and graphs. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api_test.h"

#include <QNN/CPU/QnnCpuCommon.h>
#include <QNN/HTP/QnnHtpCommon.h>
#include <QNN/QnnSdkBuildId.h>

/* ---- providers -------------------------------------------------------------------------------------------------------- */

enum { SLOTS = 72 };
_Static_assert(sizeof(QNN_INTERFACE_VER_TYPE) == SLOTS * sizeof(void (*)(void)), "the table has 72 slots");

static void test_providers(void **state)
{
    (void)state;
    void *lib = lib_dlopen(lib_name(), RTLD_NOW | RTLD_GLOBAL);
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = dlsym(lib, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 77;
    assert_non_null(get);
    assert_int_equal(get(&list, &n), QNN_SUCCESS);
    assert_int_equal(n, 1);
    assert_non_null(list);
    assert_int_equal(list[0]->backendId, lib_is_htp() ? QNN_BACKEND_ID_HTP : QNN_BACKEND_ID_CPU);
    assert_non_null(list[0]->providerName);
    assert_int_equal(list[0]->apiVersion.coreApiVersion.major, QNN_API_VERSION_MAJOR);
    assert_true(list[0]->apiVersion.coreApiVersion.minor >= QNN_API_VERSION_MINOR); /* test_next.c says more */
    assert_int_equal(list[0]->apiVersion.backendApiVersion.major,
                     lib_is_htp() ? QNN_HTP_API_VERSION_MAJOR : QNN_CPU_API_VERSION_MAJOR);
    assert_true(list[0]->apiVersion.backendApiVersion.minor >=
                (lib_is_htp() ? QNN_HTP_API_VERSION_MINOR : QNN_CPU_API_VERSION_MINOR));
    void (*slots[SLOTS])(void);
    memcpy(slots, &list[0]->QNN_INTERFACE_VER_NAME, sizeof slots);
    for (int i = 0; i < SLOTS; i++)
        if (!slots[i])
            fail_msg("slot %d is NULL", i);
    assert_int_equal(CODE(get(NULL, &n)), QNN_INTERFACE_ERROR_INVALID_PARAMETER);
    assert_int_equal(CODE(get(&list, NULL)), QNN_INTERFACE_ERROR_INVALID_PARAMETER);
    dlclose(lib);
}

static void test_versions(void **state)
{
    (void)state;
    Qnn_ApiVersion_t v;
    memset(&v, 0xEE, sizeof v);
    OK(q.backendGetApiVersion(&v));
    assert_memory_equal(&v, &provider->apiVersion, sizeof v);
    FAILS(QNN_BACKEND_ERROR_INVALID_ARGUMENT, q.backendGetApiVersion(NULL));
    const char *id = NULL;
    OK(q.backendGetBuildId(&id));
    assert_int_equal(strncmp(id, "v2.48.", 6), 0);
    assert_string_equal(id, QNN_SDK_BUILD_ID);
    int major, minor, patch;
    assert_int_equal(sscanf(id, "v%d.%d.%d", &major, &minor, &patch), 3);
    FAILS(QNN_BACKEND_ERROR_INVALID_ARGUMENT, q.backendGetBuildId(NULL));
}

/* A library that was closed starts anew: nothing of the last time may be left in statics, and nothing may be left behind. */
static void test_reopen(void **state)
{
    (void)state;
    float x[AFFINE_N] = { 1, 2, 3, 4, 5, 6, 7, 8 }, y[AFFINE_N], want[AFFINE_N];
    for (int i = 0; i < AFFINE_N; i++)
        want[i] = x[i] * 2 + 1;
    lib_close(); /* the fixture's: now the library really goes */
    for (int i = 0; i < 20; i++) {
        lib_open();
        struct net net;
        Qnn_BackendHandle_t b;
        Qnn_ContextHandle_t c;
        OK(q.backendCreate(NULL, NULL, &b));
        OK(q.contextCreate(b, NULL, NULL, &c));
        OK(net_affine(c, "again", 2, 1, &net));
        OK(q.graphFinalize(net.graph, NULL, NULL));
        OK(net_run(&net, x, y, AFFINE_N, AFFINE_N));
        floats_are(y, want, AFFINE_N, 0);
        if (i % 2)
            OK(q.contextFree(c, NULL));
        OK(q.backendFree(b));
        lib_close();
    }
    lib_open();
}

/* ---- logs ------------------------------------------------------------------------------------------------------------- */

static struct {
    unsigned calls, by_level[6];
    char text[2048];
} heard;

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    (void)timestamp;
    heard.calls++;
    heard.by_level[level <= 5 ? level : 0]++;
    vsnprintf(heard.text, sizeof heard.text, fmt, args);
}

static void make_an_error(Qnn_BackendHandle_t b)
{
    Qnn_ContextHandle_t c;
    OK(q.contextCreate(b, NULL, NULL, &c));
    Qnn_GraphHandle_t g;
    FAILS(QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST, q.graphRetrieve(c, "no_such_graph", &g));
    OK(q.contextFree(c, NULL));
}

/* Every client asks; where there are no devices, that is an answer and no error. */
static void test_device_question_is_no_error(void **state)
{
    (void)state;
    Qnn_LogHandle_t log;
    Qnn_DeviceHandle_t device = NULL;
    memset(&heard, 0, sizeof heard);
    OK(q.logCreate(listen, QNN_LOG_LEVEL_DEBUG, &log));
    Qnn_ErrorHandle_t answer = q.deviceCreate(log, NULL, &device);
    assert_int_equal(heard.by_level[QNN_LOG_LEVEL_ERROR], 0);
    if (answer == QNN_SUCCESS) {
        OK(q.deviceFree(device));
    } else {
        assert_int_equal(answer, QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE);
        assert_int_equal(heard.by_level[QNN_LOG_LEVEL_INFO], 1);
        assert_non_null(strstr(heard.text, "NULL device handle"));
    }
    OK(q.logFree(log));
}

static void test_log_callback(void **state)
{
    (void)state;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t b;
    memset(&heard, 0, sizeof heard);
    OK(q.logCreate(listen, QNN_LOG_LEVEL_ERROR, &log));
    OK(q.backendCreate(log, NULL, &b));
    make_an_error(b);
    assert_true(heard.by_level[QNN_LOG_LEVEL_ERROR] >= 1);
    assert_int_equal(heard.calls, heard.by_level[QNN_LOG_LEVEL_ERROR]); /* nothing less important */
    assert_non_null(strstr(heard.text, "no_such_graph"));
    assert_non_null(strstr(heard.text, "6002"));
    assert_int_equal(heard.text[strlen(heard.text) - 1], '\n'); /* callbacks that print it raw */
    for (QnnLog_Level_t level = QNN_LOG_LEVEL_ERROR; level <= QNN_LOG_LEVEL_DEBUG; level++)
        OK(q.logSetLogLevel(log, level));
    unsigned before = heard.by_level[QNN_LOG_LEVEL_ERROR];
    make_an_error(b);
    assert_true(heard.by_level[QNN_LOG_LEVEL_ERROR] > before);
    FAILS(QNN_LOG_ERROR_INVALID_ARGUMENT, q.logSetLogLevel(log, (QnnLog_Level_t)0));
    FAILS(QNN_LOG_ERROR_INVALID_ARGUMENT, q.logSetLogLevel(log, (QnnLog_Level_t)6));
    OK(q.backendFree(b));
    OK(q.logFree(log));
    FAILS(QNN_LOG_ERROR_INVALID_HANDLE, q.logFree(log));
    FAILS(QNN_LOG_ERROR_INVALID_HANDLE, q.logSetLogLevel(log, QNN_LOG_LEVEL_INFO));
}

/* The log is the client's and should outlive its users; when it does not, nothing worse happens than silence. */
static void test_log_freed_early(void **state)
{
    (void)state;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t b;
    OK(q.logCreate(listen, QNN_LOG_LEVEL_DEBUG, &log));
    OK(q.backendCreate(log, NULL, &b));
    OK(q.logFree(log));
    memset(&heard, 0, sizeof heard);
    make_an_error(b);
    assert_int_equal(heard.calls, 0);
    OK(q.backendFree(b));
}

/* Without a callback messages go to standard error; standard output belongs to the client. */
static void test_default_log(void **state)
{
    (void)state;
    FILE *out = tmpfile(), *err = tmpfile();
    assert_non_null(out);
    assert_non_null(err);
    fflush(stdout);
    fflush(stderr);
    int old_out = dup(1), old_err = dup(2);
    dup2(fileno(out), 1);
    dup2(fileno(err), 2);
    Qnn_LogHandle_t log = NULL;
    Qnn_BackendHandle_t b = NULL;
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g;
    Qnn_ErrorHandle_t e = q.logCreate(NULL, QNN_LOG_LEVEL_WARN, &log);
    e = e ? e : q.backendCreate(log, NULL, &b);
    e = e ? e : q.contextCreate(b, NULL, NULL, &c);
    q.graphRetrieve(c, "nowhere", &g);
    q.backendFree(b);
    q.logFree(log);
    fflush(stdout);
    fflush(stderr);
    dup2(old_out, 1);
    dup2(old_err, 2);
    close(old_out);
    close(old_err);
    OK(e);
    char text[1024] = "";
    fseek(out, 0, SEEK_END);
    assert_int_equal(ftell(out), 0);
    rewind(err);
    text[fread(text, 1, sizeof text - 1, err)] = 0;
    assert_non_null(strstr(text, "nowhere"));
    fclose(out);
    fclose(err);
}

/* ---- backends, contexts, graphs --------------------------------------------------------------------------------------- */

static void test_several_backends(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b[8];
    const QnnBackend_Config_t *none[] = { NULL };
    for (unsigned i = 0; i < COUNT(b); i++) {
        OK(q.backendCreate(NULL, i % 2 ? none : NULL, &b[i]));
        for (unsigned k = 0; k < i; k++)
            assert_ptr_not_equal(b[i], b[k]);
    }
    for (unsigned i = 0; i < COUNT(b); i++)
        OK(q.backendFree(b[i]));
    FAILS(QNN_BACKEND_ERROR_INVALID_HANDLE, q.backendFree(b[0]));
}

static void test_backend_config(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b = NULL;
    QnnBackend_Config_t reporting = { .option = QNN_BACKEND_CONFIG_OPTION_ERROR_REPORTING,
                                      .errorConfig = { QNN_ERROR_REPORTING_LEVEL_DETAILED, 16 } };
    QnnBackend_Config_t unknown = { .option = (QnnBackend_ConfigOption_t)99 };
    const QnnBackend_Config_t *good[] = { &reporting, &reporting, NULL }, *bad[] = { &reporting, &unknown, NULL };
    OK(q.backendCreate(NULL, good, &b));
    OK(q.backendSetConfig(b, good));
    FAILS(QNN_BACKEND_ERROR_INVALID_CONFIG, q.backendSetConfig(b, bad));
    OK(q.backendFree(b));
    FAILS_SAYING(QNN_BACKEND_ERROR_INVALID_CONFIG, "99", q.backendCreate(NULL, bad, &b));
}

static void test_parents_free_children(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c, other;
    Qnn_ProfileHandle_t p;
    Qnn_SignalHandle_t s;
    struct net net, net2;
    OK(q.backendCreate(NULL, NULL, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(q.contextCreate(b, NULL, NULL, &other));
    OK(q.profileCreate(b, QNN_PROFILE_LEVEL_BASIC, &p));
    OK(q.signalCreate(b, NULL, &s));
    OK(net_affine(c, "one", 1, 1, &net));
    OK(net_affine(other, "one", 1, 1, &net2)); /* names are per context */
    OK(q.graphFinalize(net.graph, NULL, NULL));
    OK(q.contextFree(c, NULL));
    FAILS(QNN_GRAPH_ERROR_INVALID_HANDLE, q.graphFinalize(net.graph, NULL, NULL));
    FAILS(QNN_CONTEXT_ERROR_INVALID_HANDLE, q.contextFree(c, NULL));
    OK(q.graphFinalize(net2.graph, NULL, NULL)); /* the other context does not care */
    OK(q.backendFree(b));
    FAILS(QNN_CONTEXT_ERROR_INVALID_HANDLE, q.contextFree(other, NULL));
    FAILS(QNN_GRAPH_ERROR_INVALID_HANDLE, q.graphFinalize(net2.graph, NULL, NULL));
    FAILS(QNN_PROFILE_ERROR_INVALID_HANDLE, q.profileFree(p));
    FAILS(QNN_SIGNAL_ERROR_INVALID_HANDLE, q.signalFree(s));
}

static void test_context_config(void **state)
{
    (void)state;
    static char custom[64]; /* an option of some other backend: all zero is none that the CPU knows */
    const QnnContext_Config_t ok[] = {
        { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_HIGH },
        { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_LOW }, /* the last one wins */
        { .option = QNN_CONTEXT_CONFIG_OPTION_ERROR_REPORTING, .errorConfig = { QNN_ERROR_REPORTING_LEVEL_BRIEF, 1 } },
        { .option = QNN_CONTEXT_CONFIG_OPTION_OEM_STRING, .oemString = "made for a test" },
        { .option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
          .asyncExeQueueDepth = { QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC, { 4 } } },
        { .option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT, .memoryLimitHint = 64 },
        { .option = QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY,
          .binaryCompatibilityType = QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT },
        { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = custom }, /* unknown customs must not be fatal */
    };
    const QnnContext_Config_t *list[COUNT(ok) + 1] = { NULL }, *only_null[] = { NULL };
    for (unsigned i = 0; i < COUNT(ok); i++)
        list[i] = &ok[i];
    Qnn_ContextHandle_t c;
    OK(q.contextCreate(env.backend, NULL, list, &c));
    const QnnContext_Config_t *priority[] = { &ok[0], NULL };
    OK(q.contextSetConfig(c, priority));
    OK(q.contextSetConfig(c, only_null));
    OK(q.contextSetConfig(c, NULL));
    OK(q.contextFree(c, NULL));
    OK(q.contextCreate(env.backend, NULL, only_null, &c));
    OK(q.contextFree(c, NULL));
    QnnContext_Config_t bad = { .option = (QnnContext_ConfigOption_t)77 };
    const QnnContext_Config_t *bads[] = { &bad, NULL };
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "77", q.contextCreate(env.backend, NULL, bads, &c));
    bad = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = (Qnn_Priority_t)12345 };
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "12345", q.contextCreate(env.backend, NULL, bads, &c));
}

/* ---- properties ------------------------------------------------------------------------------------------------------- */

static void test_properties(void **state)
{
    (void)state;
    static const uint32_t supported[] = {
        QNN_PROPERTY_GROUP_BACKEND,
        QNN_PROPERTY_GROUP_CONTEXT,
        QNN_PROPERTY_GROUP_GRAPH,
        QNN_PROPERTY_GROUP_TENSOR,
        QNN_PROPERTY_GROUP_ERROR,
        QNN_PROPERTY_GROUP_MEMORY,
        QNN_PROPERTY_GROUP_SIGNAL,
        QNN_PROPERTY_GROUP_LOG,
        QNN_PROPERTY_GROUP_PROFILE,
        QNN_PROPERTY_CONTEXT_SUPPORT_CACHING,
        QNN_PROPERTY_CONTEXT_SUPPORT_CONFIGURATION,
        QNN_PROPERTY_CONTEXT_SUPPORT_CONFIG_ENABLE_GRAPHS,
        QNN_PROPERTY_CONTEXT_SUPPORT_CONFIG_PERSISTENT_BINARY,
        QNN_PROPERTY_CONTEXT_SUPPORT_VALIDATE_BINARY,
        QNN_PROPERTY_CONTEXT_SUPPORT_CREATE_FROM_BINARY_WITH_SIGNALS,
        QNN_PROPERTY_CONTEXT_SUPPORT_CREATE_FROM_BINARY_LIST_ASYNC,
        QNN_PROPERTY_GRAPH_SUPPORT_NULL_INPUTS,
        QNN_PROPERTY_GRAPH_SUPPORT_ASYNC_EXECUTION,
        QNN_PROPERTY_GRAPH_SUPPORT_FINALIZE_SIGNAL,
        QNN_PROPERTY_GRAPH_SUPPORT_EXECUTE_SIGNAL,
        QNN_PROPERTY_GRAPH_SUPPORT_BATCH_MULTIPLE,
        QNN_PROPERTY_GRAPH_SUPPORT_EXECUTE,
        QNN_PROPERTY_TENSOR_SUPPORT_CONTEXT_TENSORS,
        QNN_PROPERTY_TENSOR_SUPPORT_DYNAMIC_DIMENSIONS,
        QNN_PROPERTY_TENSOR_SUPPORT_MEMHANDLE_TYPE,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_SCALE_OFFSET,
        QNN_PROPERTY_ERROR_GET_VERBOSE_MESSAGE,
        QNN_PROPERTY_MEMORY_SUPPORT_MEM_TYPE_ION,
        QNN_PROPERTY_MEMORY_SUPPORT_MEM_TYPE_DMA_BUF,
        QNN_PROPERTY_SIGNAL_SUPPORT_ABORT,
        QNN_PROPERTY_SIGNAL_SUPPORT_TIMEOUT,
        QNN_PROPERTY_LOG_SUPPORTS_DEFAULT_STREAM,
        QNN_PROPERTY_GRAPH_SUPPORT_EARLY_TERMINATION,
        QNN_PROPERTY_CONTEXT_SUPPORT_BINARY_UPDATES,
        QNN_PROPERTY_TENSOR_SUPPORT_UPDATEABLE_STATIC_TENSORS,
    };
    static const uint32_t not_supported[] = {
        QNN_PROPERTY_CONTEXT_SUPPORT_BINARY_SECTION_UPDATES,
        QNN_PROPERTY_CONTEXT_SUPPORT_INCREMENTAL_BINARY,
        QNN_PROPERTY_TENSOR_SUPPORT_SPARSITY,
        QNN_PROPERTY_GRAPH_SUPPORT_FINALIZE_DESERIALIZED_GRAPH,
        QNN_PROPERTY_TENSOR_SUPPORT_UBWC_NV12,
    };
    static const uint32_t unknown[] = { 0, 2, 100, 199, 600, 999999, 0xFFFFFFFF };
    for (unsigned i = 0; i < COUNT(supported); i++)
        if (q.propertyHasCapability(supported[i]) != QNN_PROPERTY_SUPPORTED)
            fail_msg("property %u is not supported", supported[i]);
    static const uint32_t devices[] = { QNN_PROPERTY_GROUP_DEVICE, QNN_PROPERTY_DEVICE_SUPPORT_INFRASTRUCTURE };
    for (unsigned i = 0; i < COUNT(devices); i++)
        FAILS(lib_is_htp() ? QNN_PROPERTY_SUPPORTED : QNN_PROPERTY_NOT_SUPPORTED, q.propertyHasCapability(devices[i]));
    for (unsigned i = 0; i < COUNT(not_supported); i++)
        if (CODE(q.propertyHasCapability(not_supported[i])) != QNN_PROPERTY_NOT_SUPPORTED)
            fail_msg("property %u is not answered NOT_SUPPORTED", not_supported[i]);
    for (unsigned i = 0; i < COUNT(unknown); i++)
        if (CODE(q.propertyHasCapability(unknown[i])) != QNN_PROPERTY_ERROR_UNKNOWN_KEY)
            fail_msg("property %u is not answered UNKNOWN_KEY", unknown[i]);
}

static void test_global_config(void **state)
{
    (void)state;
    QnnGlobalConfig_t soc = { .option = QNN_GLOBAL_CONFIG_OPTION_SOC_MODEL, .socModel = QNN_SOC_MODEL_SM8350 };
    QnnGlobalConfig_t bad = { .option = QNN_GLOBAL_CONFIG_OPTION_UNDEFINED };
    const QnnGlobalConfig_t *list[] = { &soc, NULL }, *bads[] = { &bad, NULL };
    OK(q.globalConfigSet(list));
    FAILS(QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG, q.globalConfigSet(bads));
    FAILS(QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG, q.globalConfigSet(NULL));
}

static void test_supported_operations(void **state)
{
    (void)state;
    static const char *const wanted[] = { "Conv2d",         "DepthWiseConv2d",
                                          "FullyConnected", "MatMul",
                                          "ElementWiseAdd", "ElementWiseBinary",
                                          "Relu",           "Softmax",
                                          "PoolMax2d",      "Concat",
                                          "Reshape",        "Transpose",
                                          "Lstm",           "Gru",
                                          "Quantize",       "Cast" };
    for (int with = 0; with < 2; with++) {
        uint32_t n = 0;
        const QnnBackend_OperationName_t *ops = NULL;
        OK(q.backendGetSupportedOperations(with ? env.backend : NULL, &n, &ops));
        assert_int_equal(n, 161); /* all of the public list */
        for (unsigned w = 0; w < COUNT(wanted); w++) {
            uint32_t i = 0;
            while (i < n && strcmp(ops[i].name, wanted[w]) != 0)
                i++;
            if (i == n)
                fail_msg("%s is not listed", wanted[w]);
            assert_string_equal(ops[i].packageName, QNN_OP_PACKAGE_NAME_QTI_AISW);
        }
    }
}

/* ---- texts of errors -------------------------------------------------------------------------------------------------- */

static void test_error_messages(void **state)
{
    (void)state;
    static const uint16_t codes[] = {
        0,    1000, 1002, 1003, 1004,  1005,  1006,  1007, 1008, 1009,  1010,  1011,  1100,  10000, 10001, 2000,  3000, 3001,
        3002, 3100, 3101, 3110, 3200,  4000,  4002,  4003, 4004, 4005,  4006,  4007,  4008,  4009,  4010,  4011,  4012, 5000,
        5001, 5002, 5003, 5004, 5005,  5006,  5007,  5008, 5009, 5010,  5011,  5012,  5013,  5014,  6000,  6001,  6002, 6003,
        6004, 6005, 6006, 6007, 6020,  6021,  6022,  6023, 6024, 6025,  6030,  6031,  6032,  6033,  6034,  6035,  6036, 6037,
        6038, 6039, 7001, 7002, 7003,  7004,  7005,  7006, 7007, 14000, 14001, 14002, 14003, 11002, 11003, 11004, 8000, 8001,
        8002, 8003, 8004, 8005, 12000, 12001, 12002, 9000, 9001, 9002,  9003,  9004,  9005,  15000,
    };
    for (unsigned i = 0; i < COUNT(codes); i++) {
        const char *text = NULL, *verbose = NULL, *upper = NULL;
        OK(q.errorGetMessage(codes[i], &text));
        assert_true(text && strlen(text) >= 5);
        if (codes[i]) { /* only the low 16 bits are the code */
            OK(q.errorGetMessage(codes[i] | (uint64_t)0xABC << 32, &upper));
            assert_ptr_equal(text, upper);
        }
        OK(q.errorGetVerboseMessage(codes[i], &verbose));
        assert_true(verbose && strlen(verbose) >= 5);
        OK(q.errorFreeVerboseMessage(verbose));
    }
    const char *text;
    FAILS(QNN_ERROR_INVALID_ERROR_HANDLE, q.errorGetMessage(1234, &text));
    FAILS(QNN_ERROR_INVALID_ERROR_HANDLE, q.errorGetVerboseMessage(0xFFFF, &text));
    FAILS(QNN_ERROR_INVALID_ARGUMENT, q.errorGetMessage(1000, NULL));
    FAILS(QNN_ERROR_INVALID_ARGUMENT, q.errorGetVerboseMessage(1000, NULL));
    FAILS(QNN_ERROR_INVALID_ARGUMENT, q.errorFreeVerboseMessage(NULL));
    FAILS(QNN_ERROR_INVALID_ARGUMENT, q.errorFreeVerboseMessage("not one of the library's"));
}

static void test_verbose_messages(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "g", NULL, &g));
    Qnn_Tensor_t t = TENSOR("flat_tensor", APP_WRITE, FLOAT_32, 4, 0, 2);
    Qnn_ErrorHandle_t e = q.tensorCreateGraphTensor(g, &t);
    FAILS(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, e);
    const char *one = NULL, *two = NULL;
    OK(q.errorGetVerboseMessage(e, &one));
    OK(q.errorGetVerboseMessage(e, &two)); /* each call gives a text of its own */
    assert_non_null(strstr(one, "flat_tensor"));
    assert_string_equal(one, two);
    assert_ptr_not_equal(one, two);
    OK(q.errorFreeVerboseMessage(one));
    OK(q.errorFreeVerboseMessage(two));
    FAILS(QNN_ERROR_INVALID_ARGUMENT, q.errorFreeVerboseMessage(two));
    struct op o = { .name = "lonely_node", .type = "Rellu" };
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "lonely_node", op_add(g, &o));
    explanation_has(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "Relu", __FILE__, __LINE__); /* what was probably meant */
}

/* A log's callback may call the library, and what it calls may fail and write to the log: that ends, and nothing waits for
 * itself. */
static struct {
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    unsigned calls, refused;
} inside;

static void log_that_frees(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args)
{
    (void)fmt, (void)level, (void)time, (void)args;
    Qnn_GraphHandle_t g;
    inside.calls++;
    inside.refused += CODE(q.logFree(inside.log)) == QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED;
    inside.refused += CODE(q.contextFree(inside.context, NULL)) == QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED;
    inside.refused += CODE(q.backendFree(inside.backend)) == QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED;
    inside.refused += CODE(q.graphRetrieve(inside.context, "none", &g)) ==
                      QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED; /* the context is locked */
}

static void test_log_callback_calls_back(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    memset(&inside, 0, sizeof inside);
    OK(q.logCreate(log_that_frees, QNN_LOG_LEVEL_ERROR, &inside.log));
    OK(q.backendCreate(inside.log, NULL, &inside.backend));
    OK(q.contextCreate(inside.backend, NULL, NULL, &inside.context));
    inside.calls = inside.refused = 0;
    FAILS(QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST, q.graphRetrieve(inside.context, "nowhere", &g));
    assert_int_equal(inside.calls, 1);
    assert_int_equal(inside.refused, 4);
    OK(q.contextFree(inside.context, NULL));
    OK(q.backendFree(inside.backend));
    OK(q.logFree(inside.log));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, env_setup, env_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_providers),
        CASE(test_versions),
        CASE(test_device_question_is_no_error),
        CASE(test_log_callback),
        CASE(test_log_freed_early),
        CASE(test_log_callback_calls_back),
        CASE(test_default_log),
        CASE(test_several_backends),
        CASE(test_backend_config),
        CASE(test_parents_free_children),
        CASE(test_context_config),
        CASE(test_properties),
        CASE(test_global_config),
        CASE(test_supported_operations),
        CASE(test_error_messages),
        CASE(test_verbose_messages),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    static const struct CMUnitTest reopening[] = { cmocka_unit_test(test_reopen) };
    lib_open();
    failed += cmocka_run_group_tests_name("reopening", reopening, NULL, NULL);
    lib_close();
    return failed != 0;
}
