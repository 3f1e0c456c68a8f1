/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnSaver.so: calls are recorded as a C program, and the program repeats them. The oracle are the other
 * libraries: the same calls made on them directly give the same outputs as the compiled recording.
 *
 *     test_saver COMPILER INCLUDE_FOLDER      without arguments nothing is compiled */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpDeviceConfigShared.h>
#include <QNN/HTP/QnnHtpGraph.h>

#include "saver_kit.h"

/* ---- a net ------------------------------------------------------------------------------------------------------------ */

enum { SIDE = 6, CHANNELS = 300, OUT = SIDE * SIDE * CHANNELS };

struct quantized {
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
};

static Qnn_ScaleOffset_t channel_scales[CHANNELS]; /* more than a line of text */
static int8_t filter[9 * CHANNELS];
static int32_t bias[CHANNELS];
static uint8_t addend[CHANNELS];

static void fill(void)
{
    for (int i = 0; i < CHANNELS; i++) {
        channel_scales[i] = (Qnn_ScaleOffset_t){ 0.001f + 0.0001f * (float)i, 0 };
        bias[i] = i * 37 - 3000;
        addend[i] = (uint8_t)(i * 11);
    }
    for (int i = 0; i < 9 * CHANNELS; i++)
        filter[i] = (int8_t)(i * 29 % 251 - 125);
}

static Qnn_Tensor_t per_channel(Qnn_Tensor_t t, int32_t axis)
{
    t.v1.quantizeParams = (Qnn_QuantizeParams_t){ .encodingDefinition = QNN_DEFINITION_DEFINED,
                                                  .quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET,
                                                  .axisScaleOffsetEncoding = { axis, CHANNELS, channel_scales } };
    return t;
}

static void build(struct quantized *n)
{
    OK(q.backendCreate(NULL, NULL, &n->backend));
    QnnContext_Config_t priority = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_HIGH };
    const QnnContext_Config_t *config[] = { &priority, NULL };
    OK(q.contextCreate(n->backend, NULL, config, &n->context));
    OK(q.graphCreate(n->context, "quantized \"net\"\n?\?/", NULL, &n->graph));
    Qnn_Tensor_t x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, SIDE, SIDE, 1), 0.02f, -128);
    Qnn_Tensor_t w = per_channel(WITH(TENSOR("w", STATIC, SFIXED_POINT_8, 3, 3, 1, CHANNELS), filter), 3);
    Qnn_Tensor_t b = tensor_quant(WITH(TENSOR("b", STATIC, SFIXED_POINT_32, CHANNELS), bias), 1e-5f, 0);
    Qnn_Tensor_t a = tensor_quant(WITH(TENSOR2("a", STATIC, UFIXED_POINT_8, CHANNELS), addend), 0.01f, -100);
    Qnn_Tensor_t c = tensor_quant(TENSOR("c", NATIVE, UFIXED_POINT_8, 1, SIDE, SIDE, CHANNELS), 0.05f, -120);
    Qnn_Tensor_t s = tensor_quant(TENSOR2("s", NATIVE, UFIXED_POINT_8, 1, SIDE, SIDE, CHANNELS), 0.06f, -120);
    Qnn_Tensor_t y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, SIDE, SIDE, CHANNELS), 1 / 256.0f, 0);
    Qnn_Tensor_t *all[] = { &x, &w, &b, &a, &c, &s, &y };
    for (size_t i = 0; i < COUNT(all); i++)
        OK(q.tensorCreateGraphTensor(n->graph, all[i]));
    struct op conv = { .name = "conv", .type = QNN_OP_CONV_2D, .ni = 3, .in = { x, w, b }, .no = 1, .out = { c }, .np = 2 };
    conv.p[0] = param_u32s(n->graph, QNN_OP_CONV_2D_PARAM_STRIDE, 1, (uint32_t[]){ 2 }, (uint32_t[]){ 1, 1 });
    conv.p[1] = param_u32s(n->graph, QNN_OP_CONV_2D_PARAM_PAD_AMOUNT, 2, (uint32_t[]){ 2, 2 }, (uint32_t[]){ 1, 1, 1, 1 });
    OK(op_validate(n->backend, &conv));
    OK(op_add(n->graph, &conv));
    OK(op_add(
        n->graph,
        &(struct op){ .name = "add", .type = QNN_OP_ELEMENT_WISE_ADD, .ni = 2, .in = { c, a }, .no = 1, .out = { s } }));
    OK(op_add(n->graph, &(struct op){ .name = "softmax",
                                      .type = QNN_OP_SOFTMAX,
                                      .ni = 1,
                                      .in = { s },
                                      .no = 1,
                                      .out = { y },
                                      .np = 1,
                                      .p = { param_f32(QNN_OP_SOFTMAX_PARAM_BETA, 0.7f) } }));
    OK(q.graphFinalize(n->graph, NULL, NULL));
    n->x = x;
    n->y = y;
}

static void run(struct quantized *n, int seed, uint8_t out[OUT])
{
    uint8_t in[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        in[i] = (uint8_t)(i * seed + 3);
    Qnn_Tensor_t x = WITH(n->x, in), y = tensor_data(n->y, out, OUT);
    OK(q.graphExecute(n->graph, &x, 1, &y, 1, NULL, NULL));
}

static void end(struct quantized *n)
{
    OK(q.contextFree(n->context, NULL));
    OK(q.backendFree(n->backend));
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

/* What the replay on a library kept is what the library gives directly. */
static void same_outputs(const char *library)
{
    static uint8_t wanted[2][OUT], got[OUT + 1];
    struct quantized n;
    void *lib = open_table(library);
    build(&n);
    run(&n, 7, wanted[0]);
    run(&n, 31, wanted[1]);
    end(&n);
    dlclose(lib);
    assert_memory_not_equal(wanted[0], wanted[1], OUT);
    assert_int_equal(replay("net", library), 0);
    for (unsigned i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "net/execute_%u_0.raw", replayed_call("net", "QnnGraph_execute", i));
        assert_int_equal(read_file(name, got, sizeof got), OUT);
        assert_memory_equal(got, wanted[i], OUT);
    }
    assert_int_equal(replayed_call("net", "QnnGraph_execute", 2), 0);
}

static void test_replay(void **state)
{
    (void)state;
    static uint8_t out[OUT];
    struct quantized n;
    fill();
    void *lib = open_saver();
    OK(record_to("net", 0));
    build(&n);
    run(&n, 7, out);
    run(&n, 31, out);
    end(&n);
    dlclose(lib);
    if (!compile("net"))
        skip();
    for (size_t i = 0; i < COUNT(replay_libraries); i++)
        same_outputs(replay_libraries[i]);
}

static void test_identity(void **state)
{
    (void)state;
    void *lib = open_saver();
    Qnn_ApiVersion_t v;
    const char *id = NULL;
    assert_int_equal(provider->backendId, QNN_BACKEND_ID_SAVER);
    assert_string_equal(provider->providerName, "SAVER_QTI_AISW");
    OK(q.backendGetApiVersion(&v));
    assert_int_equal(v.backendApiVersion.major, 1);
    assert_int_equal(v.backendApiVersion.minor, 1);
    OK(q.backendGetBuildId(&id));
    assert_non_null(id);
    dlclose(lib);
}

/* What only the replay can know. */
static void test_dummies(void **state)
{
    (void)state;
    void *lib = open_saver();
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_ProfileHandle_t p;
    Qnn_ContextBinarySize_t size = 5;
    const QnnProfile_EventId_t *events;
    QnnDevice_Infrastructure_t infra = NULL;
    uint32_t count;
    OK(record_to("dummies", 0));
    OK(q.backendCreate(NULL, NULL, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(q.profileCreate(b, QNN_PROFILE_LEVEL_BASIC, &p));
    FAILS(QNN_SAVER_ERROR_DUMMY_RETVALUE, q.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE));
    FAILS(QNN_SAVER_ERROR_DUMMY_RETVALUE, q.deviceGetInfrastructure(&infra));
    FAILS(QNN_SAVER_ERROR_DUMMY_RETVALUE, q.contextGetBinarySize(c, &size));
    FAILS(QNN_SAVER_ERROR_DUMMY_RETVALUE, q.contextGetBinary(c, NULL, 0, &size));
    FAILS(QNN_SAVER_ERROR_DUMMY_RETVALUE, q.profileGetEvents(p, &events, &count));
    OK(q.backendFree(b));
    FAILS(QNN_CONTEXT_ERROR_INVALID_HANDLE, q.contextFree(c, NULL)); /* went with its backend */
    char *text = text_of("dummies/saver_output.c");
    assert_non_null(strstr(text, "q.propertyHasCapability("));
    assert_non_null(strstr(text, "q.contextGetBinary(contexts[1]"));
    free(text);
    if (compile("dummies"))
        assert_in_range(replay("dummies", "libQnnCpu.so"), 0, 1);
    dlclose(lib);
}

/* Settings of the HTP are told when the Saver knows that they are the HTP's. */
static void test_custom(void **state)
{
    (void)state;
    void *lib = open_saver();
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    QnnHtpGraph_CustomConfig_t level = {
        .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
        .optimizationOption = { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, 3.0f },
    };
    QnnHtpContext_CustomConfig_t sharing = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
                                             .weightSharingEnabled = true };
    QnnHtpDevice_CustomConfig_t arch = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH,
                                         .arch = { 0, QNN_HTP_DEVICE_ARCH_V75 } };
    QnnGraph_Config_t gc = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &level };
    QnnContext_Config_t cc = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &sharing };
    QnnDevice_Config_t dc = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &arch };
    Qnn_DeviceHandle_t d;
    for (int known = 0; known < 2; known++) {
        OK(record_to(known ? "custom" : "unknown", known ? QNN_BACKEND_ID_HTP : 0));
        OK(q.backendCreate(NULL, NULL, &b));
        OK(q.deviceCreate(NULL, (const QnnDevice_Config_t *[]){ &dc, NULL }, &d));
        OK(q.contextCreate(b, d, (const QnnContext_Config_t *[]){ &cc, NULL }, &c));
        OK(q.graphCreate(c, "g", (const QnnGraph_Config_t *[]){ &gc, NULL }, &g));
        OK(q.deviceFree(d));
        OK(q.backendFree(b));
        char *text = text_of(known ? "custom/saver_output.c" : "unknown/saver_output.c");
        assert_int_equal(!!strstr(text, ".optimizationOption = { .type = 3, .floatValue = 3.0f }"), known);
        assert_int_equal(!!strstr(text, ".weightSharingEnabled = 1"), known);
        assert_int_equal(!!strstr(text, ".arch = { .arch = 75 }"), known);
        assert_int_equal(!!strstr(text, "/* a custom setting is left out"), !known);
        assert_int_equal(!!strstr(text, ".customConfig = "), known);
        free(text);
        compile(known ? "custom" : "unknown");
    }
    dlclose(lib);
}

static void test_files(void **state)
{
    (void)state;
    void *lib = open_saver();
    Qnn_BackendHandle_t b;
    char here[PATH_MAX];
    QnnSaver_Config_t names = { .option = QNN_SAVER_CONFIG_OPTION_FILE_CONFIG, .fileConfig = { "calls.c", "bytes.bin" } };
    QnnSaver_Config_t where = { .option = QNN_SAVER_CONFIG_OPTION_OUTPUT_DIRECTORY, .outputDirectory = "a/b" };
    QnnSaver_Config_t stamp = { .option = QNN_SAVER_CONFIG_OPTION_APPEND_TIMESTAMP, .appendTimestamp = 1 };
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(path_of("")), 0);
    OK(saver_initialize((const QnnSaver_Config_t *[]){ &where, &names, NULL }));
    assert_int_equal(access("a/b/calls.c", F_OK), 0);
    assert_int_equal(access("a/b/bytes.bin", F_OK), 0);
    FAILS(QNN_COMMON_ERROR_INVALID_ARGUMENT, saver_initialize((const QnnSaver_Config_t *[]){ &names, &stamp, NULL }));
    OK(saver_initialize(NULL));
    assert_int_equal(access("saver_output/saver_output.c", F_OK), 0);
    assert_int_equal(access("saver_output/params.bin", F_OK), 0);
    OK(q.backendCreate(NULL, NULL, &b));
    FAILS_SAYING(QNN_SAVER_ERROR_ALREADY_INSTANTIATED, "free it first", saver_initialize(NULL));
    OK(saver_initialize((const QnnSaver_Config_t *[]){ &names, NULL })); /* the recording goes on there */
    OK(q.backendFree(b));
    char *text = text_of("saver_output/calls.c");
    assert_non_null(strstr(text, "q.backendFree(backends[1])"));
    free(text);
    assert_int_equal(chdir(here), 0);
    dlclose(lib);
}

static void test_misuse(void **state)
{
    (void)state;
    void *lib = open_saver();
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    QnnSaver_Config_t bad = { .option = QNN_SAVER_CONFIG_OPTION_FILE_CONFIG, .fileConfig = { "../x.c", NULL } };
    QnnSaver_Config_t unknown = { .option = (QnnSaver_ConfigOption_t)77 };
    QnnSaver_Config_t no_folder = { .option = QNN_SAVER_CONFIG_OPTION_OUTPUT_DIRECTORY };
    hush(true);
    FAILS_SAYING(QNN_COMMON_ERROR_INVALID_ARGUMENT, "without /",
                 saver_initialize((const QnnSaver_Config_t *[]){ &bad, NULL }));
    FAILS(QNN_COMMON_ERROR_INVALID_ARGUMENT, saver_initialize((const QnnSaver_Config_t *[]){ &unknown, NULL }));
    FAILS(QNN_COMMON_ERROR_INVALID_ARGUMENT, saver_initialize((const QnnSaver_Config_t *[]){ &no_folder, NULL }));
    no_folder.outputDirectory = "/proc/no/such";
    FAILS_SAYING(QNN_COMMON_ERROR_SYSTEM, "/proc/no/such",
                 saver_initialize((const QnnSaver_Config_t *[]){ &no_folder, NULL }));
    FAILS(QNN_COMMON_ERROR_SYSTEM, q.backendCreate(NULL, NULL, &b)); /* still there: not recorded, not done */
    OK(record_to("misuse", 0));
    FAILS(QNN_BACKEND_ERROR_INVALID_ARGUMENT, q.backendCreate(NULL, NULL, NULL));
    OK(q.backendCreate(NULL, NULL, &b));
    FAILS(QNN_CONTEXT_ERROR_INVALID_HANDLE, q.contextCreate(NULL, NULL, NULL, &c));
    FAILS(QNN_CONTEXT_ERROR_INVALID_HANDLE, q.contextCreate((Qnn_BackendHandle_t)0x1234, NULL, NULL, &c));
    OK(q.contextCreate(b, NULL, NULL, &c));
    FAILS(QNN_GRAPH_ERROR_INVALID_ARGUMENT, q.graphCreate(c, NULL, NULL, &g));
    OK(q.graphCreate(c, "g", NULL, &g));
    FAILS(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, q.tensorCreateGraphTensor(g, NULL));
    Qnn_Tensor_t t = TENSOR("t", NATIVE, FLOAT_32, 1);
    t.v1.rank = 4000000000u;
    FAILS(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, q.tensorCreateGraphTensor(g, &t));
    t.version = (Qnn_TensorVersion_t)9;
    FAILS(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, q.tensorCreateGraphTensor(g, &t));
    Qnn_OpConfig_t op = { .version = QNN_OPCONFIG_VERSION_1, .v1 = { .numOfInputs = UINT32_MAX, .inputTensors = &t } };
    FAILS(QNN_GRAPH_ERROR_INVALID_ARGUMENT, q.graphAddNode(g, op));
    FAILS(QNN_GRAPH_ERROR_INVALID_ARGUMENT, q.graphExecute(g, NULL, 3, NULL, 0, NULL, NULL));
    FAILS(QNN_GRAPH_ERROR_INVALID_HANDLE, q.graphFinalize((Qnn_GraphHandle_t)c, NULL, NULL));
    hush(false);
    OK(q.backendFree(b));
    dlclose(lib);
}

/* Threads record side by side; each call is whole. */
static void *make_contexts(void *backend)
{
    for (int i = 0; i < 40; i++) {
        Qnn_ContextHandle_t c;
        if (q.contextCreate(backend, NULL, NULL, &c) != QNN_SUCCESS || q.contextFree(c, NULL) != QNN_SUCCESS)
            return "failed";
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    void *lib = open_saver();
    pthread_t threads[4];
    Qnn_BackendHandle_t b;
    OK(record_to("threads", 0));
    OK(q.backendCreate(NULL, NULL, &b));
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_contexts, b), 0);
    for (size_t i = 0; i < COUNT(threads); i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    OK(q.backendFree(b));
    if (compile("threads"))
        assert_int_equal(replay("threads", "libQnnCpu.so"), 0);
    dlclose(lib);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay),  cmocka_unit_test(test_identity), cmocka_unit_test(test_dummies),
        cmocka_unit_test(test_custom),  cmocka_unit_test(test_files),    cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_threads),
    };
    if (saver_kit_begin(argc, argv))
        return 1;
    return cmocka_run_group_tests(tests, NULL, saver_kit_end);
}
