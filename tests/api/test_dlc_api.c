/* SPDX-License-Identifier: Apache-2.0 */
/* DLC files as clients use them: written by the converter's library, opened by libQnnSystem.so, composed on libQnnCpu.so,
 * executed; the same through libQnnModelDlc.so; right and wrong use of every call. */
#include "api_test.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <QNN/QnnModelLib.h>
#include <QNN/System/QnnSystemInterface.h>

#include "convert/convert.h"

enum {
    HANDLE = QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
    ARGUMENT = QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
    FAILED = QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED,
    MALFORMED = QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY,
    UNSUPPORTED = QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE,
};

static char dir[200];
static void *system_library, *model_library;
static QNN_SYSTEM_INTERFACE_VER_TYPE sys;
static char heard[4096];

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args)
{
    (void)level, (void)time;
    vsnprintf(heard, sizeof heard, fmt, args);
}

static const char *path_of(const char *name)
{
    static char path[4][300];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

/* y = softmax(x * k) over 3 numbers; z, a second graph: relu of a quantized convolution. */
static const char softmax_text[] =
    "graph \"soft\" { in %x : f32[2,3] const %k : f32[3] = (1,2,-1) tmp %t : f32[2,3] out %y : f32[2,3]\n"
    "%t = ElementWiseMultiply \"mul\" (%x, %k) %y = Softmax \"s\" (%t) { axis=u32(1), beta=f32(0.5) } }";
static const char conv_text[] =
    "graph \"conv\" { in %x : uq8[1,2,2,1] scale=0.5 offset=-128 const %w : sq8[1,1,1,2] quant=2 axis=3 scales=(0.5,0.25) = "
    "(2,-4)\n"
    "const %b : sq32[2] scale=0 offset=0 def=2 = (4,8)\n"
    "tmp %t : uq8[1,2,2,2] scale=0.5 offset=-128 out %y : uq8[1,2,2,2] scale=0.5 offset=-128\n"
    "%t = Conv2d \"c\" (%x, %w, %b) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) } %y = Relu \"r\" (%t)\n"
    "from \"Relu:a/relu\", \"Clip:a:b\" }";

static void write_dlc(const char *name, const char *const *texts, uint32_t n)
{
    struct ir_graph *g[4] = { 0 };
    struct convert_write w = { .prefix = path_of(name) };
    for (uint32_t i = 0; i < n; i++)
        if (ir_parse(texts[i], strlen(texts[i]), &g[i]) != ST_OK)
            fail_msg("%s", status_text());
    if (convert_write_dlc((const struct ir_graph *const *)g, n, &w) != ST_OK)
        fail_msg("%s", status_text());
    for (uint32_t i = 0; i < n; i++)
        ir_graph_free(g[i]);
}

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/openqnn-dlc-api-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return -1;
    lib_open();
    system_library = lib_dlopen("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    model_library = lib_dlopen("libQnnModelDlc.so", RTLD_NOW | RTLD_LOCAL);
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) =
        dlsym(system_library, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list;
    uint32_t n;
    if (!get || get(&list, &n) != QNN_SUCCESS)
        return -1;
    sys = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    write_dlc("two", (const char *const[]){ softmax_text, conv_text }, 2);
    write_dlc("one", (const char *const[]){ softmax_text }, 1);
    return env_setup(state);
}

static int teardown(void **state)
{
    env_teardown(state);
    static const char *const names[] = { "two.dlc", "one.dlc", "copy.dlc", "odd.dlc" };
    for (size_t i = 0; i < COUNT(names); i++)
        unlink(path_of(names[i]));
    dlclose(model_library);
    dlclose(system_library);
    lib_close();
    return rmdir(dir);
}

static Qnn_ContextHandle_t new_context(void)
{
    Qnn_ContextHandle_t c = NULL;
    OK(q.contextCreate(env.backend, NULL, NULL, &c));
    return c;
}

static QnnSystemDlc_Handle_t open_dlc(const char *name)
{
    QnnSystemDlc_Handle_t d = NULL;
    OK(sys.systemDlcCreateFromFile(NULL, path_of(name), &d));
    return d;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------------- */

static void run_softmax(Qnn_GraphHandle_t graph, Qnn_Tensor_t in, Qnn_Tensor_t out)
{
    static const float x[6] = { 1, 0.5f, -2, 0, 3, 1 }, k[3] = { 1, 2, -1 };
    float y[6], want[6];
    for (int r = 0; r < 2; r++) {
        double e[3], sum = 0;
        for (int i = 0; i < 3; i++)
            sum += e[i] = exp(0.5 * (double)x[3 * r + i] * (double)k[i]);
        for (int i = 0; i < 3; i++)
            want[3 * r + i] = (float)(e[i] / sum);
    }
    OK(q.graphFinalize(graph, NULL, NULL));
    in = WITH(in, x);
    out = WITH(out, y);
    OK(q.graphExecute(graph, &in, 1, &out, 1, NULL, NULL));
    floats_are(y, want, 6, 1e-6f);
}

/* real x = 0.5 (q - 128); channel 0: x * 1 + 4 * 0.25, channel 1: x * -1 + 8 * 0.125; the bias takes its scale from both
 * operands. */
static void run_conv(Qnn_GraphHandle_t graph, Qnn_Tensor_t in, Qnn_Tensor_t out)
{
    static const uint8_t x[4] = { 128, 130, 120, 200 }, want[8] = { 130, 130, 132, 128, 128, 138, 202, 128 };
    uint8_t y[8];
    OK(q.graphFinalize(graph, NULL, NULL));
    in = WITH(in, x);
    out = WITH(out, y);
    OK(q.graphExecute(graph, &in, 1, &out, 1, NULL, NULL));
    assert_memory_equal(y, want, sizeof y);
}

static void composed_graphs_run(void **state)
{
    (void)state;
    for (uint32_t version = 1; version <= 3; version++) {
        Qnn_ContextHandle_t c = new_context();
        QnnSystemDlc_Handle_t d = open_dlc("two.dlc");
        QnnSystemContext_GraphInfo_t *graphs = NULL;
        uint32_t n = 0;
        OK(sys.systemDlcComposeGraphs(d, NULL, 0, env.backend, c, *provider, (QnnSystemContext_GraphInfoVersion_t)version,
                                      &graphs, &n));
        OK(sys.systemDlcFree(d)); /* the description does not need it */
        assert_int_equal(n, 2);
        for (uint32_t i = 0; i < n; i++) {
            Qnn_GraphHandle_t g;
            const QnnSystemContext_GraphInfoV1_t *v = &graphs[i].graphInfoV1;
            assert_int_equal(graphs[i].version, version);
            assert_string_equal(v->graphName, i ? "conv" : "soft");
            assert_int_equal(v->numGraphInputs, 1);
            assert_int_equal(v->numGraphOutputs, 1);
            assert_string_equal(v->graphInputs[0].v1.name, "x");
            assert_string_equal(v->graphOutputs[0].v1.name, "y");
            assert_int_not_equal(v->graphInputs[0].v1.id, 0);
            OK(q.graphRetrieve(c, v->graphName, &g));
            (i ? run_conv : run_softmax)(g, v->graphInputs[0], v->graphOutputs[0]);
        }
        const Qnn_QuantizeParams_t *p = &graphs[1].graphInfoV1.graphInputs[0].v1.quantizeParams;
        assert_int_equal(p->quantizationEncoding, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET);
        assert_float_equal(p->scaleOffsetEncoding.scale, 0.5f, 0);
        assert_int_equal(p->scaleOffsetEncoding.offset, -128);
        free(graphs);
        OK(q.contextFree(c, NULL));
    }
}

/* Callers whose headers have a shorter or a longer table hand over shorter or longer structs. */
#define OTHER_HEADERS(slots)                                                                                               \
    struct table_##slots {                                                                                                 \
        void (*slot[slots])(void);                                                                                         \
    };                                                                                                                     \
    struct interface_##slots {                                                                                             \
        uint32_t backend_id;                                                                                               \
        const char *name;                                                                                                  \
        Qnn_ApiVersion_t version;                                                                                          \
        struct table_##slots table;                                                                                        \
    };                                                                                                                     \
    static void composed_with_##slots##_slots(void **state)                                                                \
    {                                                                                                                      \
        (void)state;                                                                                                       \
        Qnn_ErrorHandle_t (*system_compose)(QnnSystemDlc_Handle_t, const QnnSystemDlc_GraphConfigInfo_t **, uint32_t,      \
                                            Qnn_BackendHandle_t, Qnn_ContextHandle_t, struct interface_##slots,            \
                                            QnnSystemContext_GraphInfoVersion_t, QnnSystemContext_GraphInfo_t **,          \
                                            uint32_t *) = dlsym(system_library, "QnnSystemDlc_composeGraphs");             \
        ModelError_t (*model_compose)(Qnn_BackendHandle_t, struct table_##slots, Qnn_ContextHandle_t,                      \
                                      const GraphConfigInfo_t **, const char *, uint32_t, GraphInfoPtr_t **, uint32_t *,   \
                                      bool, QnnLog_Callback_t, QnnLog_Level_t) =                                           \
            dlsym(model_library, "QnnModel_composeGraphsFromDlc");                                                         \
        struct interface_##slots copy;                                                                                     \
        memcpy(&copy, provider, sizeof copy);                                                                              \
        Qnn_ContextHandle_t c = new_context();                                                                             \
        QnnSystemDlc_Handle_t d = open_dlc("one.dlc");                                                                     \
        QnnSystemContext_GraphInfo_t *graphs = NULL;                                                                       \
        uint32_t n = 0;                                                                                                    \
        OK(system_compose(d, NULL, 0, env.backend, c, copy, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1, &graphs, &n));        \
        composed_one(c, graphs, n);                                                                                        \
        c = new_context();                                                                                                 \
        GraphInfoPtr_t *infos = NULL;                                                                                      \
        heard[0] = '\0';                                                                                                   \
        assert_int_equal(model_compose(env.backend, copy.table, c, NULL, path_of("one.dlc"), 0, &infos, &n, false, listen, \
                                       QNN_LOG_LEVEL_ERROR),                                                               \
                         MODEL_NO_ERROR);                                                                                  \
        assert_int_equal(infos[0]->numOutputTensors, 1);                                                                   \
        modelled_one(&infos, n);                                                                                           \
        assert_int_equal(model_compose(env.backend, copy.table, c, NULL, path_of("no.dlc"), 0, &infos, &n, false, listen,  \
                                       QNN_LOG_LEVEL_ERROR),                                                               \
                         MODEL_FILE_ERROR);                                                                                \
        assert_string_not_equal(heard, "");                                                                                \
        OK(q.contextFree(c, NULL));                                                                                        \
        OK(sys.systemDlcFree(d));                                                                                          \
    }

static void composed_one(Qnn_ContextHandle_t c, QnnSystemContext_GraphInfo_t *graphs, uint32_t n)
{
    Qnn_GraphHandle_t g;
    assert_int_equal(n, 1);
    OK(q.graphRetrieve(c, graphs[0].graphInfoV1.graphName, &g));
    run_softmax(g, graphs[0].graphInfoV1.graphInputs[0], graphs[0].graphInfoV1.graphOutputs[0]);
    free(graphs);
    OK(q.contextFree(c, NULL));
}

static void modelled_one(GraphInfoPtr_t **infos, uint32_t n)
{
    __typeof__(&QnnModel_freeGraphsInfo) release = dlsym(model_library, "QnnModel_freeGraphsInfo");
    assert_int_equal(n, 1);
    run_softmax((*infos)[0]->graph, (*infos)[0]->inputTensors[0], (*infos)[0]->outputTensors[0]);
    assert_int_equal(release(infos, n), MODEL_NO_ERROR);
}

OTHER_HEADERS(62)
OTHER_HEADERS(70)
OTHER_HEADERS(75)
OTHER_HEADERS(96)

static void model_library_runs(void **state)
{
    (void)state;
    __typeof__(&QnnModel_composeGraphsFromDlc) compose = dlsym(model_library, "QnnModel_composeGraphsFromDlc");
    __typeof__(&QnnModel_composeGraphs) plain = dlsym(model_library, "QnnModel_composeGraphs");
    __typeof__(&QnnModel_freeGraphsInfo) release = dlsym(model_library, "QnnModel_freeGraphsInfo");
    GraphInfoPtr_t *infos = NULL;
    uint32_t n = 0;
    assert_true(compose && plain && release);
    for (int debug = 0; debug < 2; debug++) {
        Qnn_ContextHandle_t c = new_context();
        assert_int_equal(
            compose(env.backend, q, c, NULL, path_of("two.dlc"), 0, &infos, &n, debug, listen, QNN_LOG_LEVEL_ERROR),
            MODEL_NO_ERROR);
        assert_int_equal(n, 2);
        assert_string_equal(infos[0]->graphName, "soft");
        assert_int_equal(infos[0]->numOutputTensors, 1 + debug); /* %t and %y */
        if (!debug) {
            run_softmax(infos[0]->graph, infos[0]->inputTensors[0], infos[0]->outputTensors[0]);
            run_conv(infos[1]->graph, infos[1]->inputTensors[0], infos[1]->outputTensors[0]);
        }
        /* The names are taken now. */
        GraphInfoPtr_t *none = NULL;
        assert_int_equal(
            compose(env.backend, q, c, NULL, path_of("two.dlc"), 0, &none, &n, false, listen, QNN_LOG_LEVEL_ERROR),
            MODEL_GRAPH_ERROR);
        assert_non_null(strstr(heard, "soft"));
        assert_null(none);
        assert_int_equal(release(&infos, 2), MODEL_NO_ERROR);
        assert_null(infos);
        OK(q.contextFree(c, NULL));
    }
    Qnn_ContextHandle_t c = new_context();
    assert_int_equal(compose(env.backend, q, c, NULL, path_of("no.dlc"), 0, &infos, &n, false, listen, QNN_LOG_LEVEL_ERROR),
                     MODEL_FILE_ERROR);
    assert_non_null(strstr(heard, "no.dlc"));
    assert_int_equal(compose(env.backend, q, c, NULL, NULL, 0, &infos, &n, false, NULL, QNN_LOG_LEVEL_ERROR),
                     MODEL_INVALID_ARGUMENT_ERROR);
    assert_int_equal(compose(env.backend, q, c, NULL, path_of("two.dlc"), 0, NULL, &n, false, NULL, QNN_LOG_LEVEL_ERROR),
                     MODEL_INVALID_ARGUMENT_ERROR);
    QNN_INTERFACE_VER_TYPE nothing = { 0 };
    assert_int_equal(
        compose(env.backend, nothing, c, NULL, path_of("two.dlc"), 0, &infos, &n, false, NULL, QNN_LOG_LEVEL_ERROR),
        MODEL_INVALID_ARGUMENT_ERROR);
    assert_int_equal(plain(env.backend, q, c, NULL, 0, &infos, &n, false, listen, QNN_LOG_LEVEL_ERROR),
                     MODEL_INVALID_ARGUMENT_ERROR);
    assert_non_null(strstr(heard, "--dlc_path"));
    assert_int_not_equal(release(NULL, 0), MODEL_NO_ERROR);
    assert_int_not_equal(release(&infos, 0), MODEL_NO_ERROR);
    OK(q.contextFree(c, NULL));
}

/* ---- settings and refusals of composing ------------------------------------------------------------------------------- */

static void compose_wrong_use(void **state)
{
    (void)state;
    const QnnSystemContext_GraphInfoVersion_t V1 = QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1;
    Qnn_ContextHandle_t c = new_context();
    QnnSystemDlc_Handle_t d = open_dlc("one.dlc"), empty;
    QnnSystemContext_GraphInfo_t *graphs = NULL;
    uint32_t n = 77;
    QnnInterface_t other = *provider, bare = *provider;
    other.apiVersion.coreApiVersion.major = 1;
    bare.QNN_INTERFACE_VER_NAME.graphAddNode = NULL;
    QnnSystemDlc_GraphConfigInfo_t config = { .version = QNN_SYSTEM_DLC_GRAPH_CONFIG_INFO_VERSION_1,
                                              .v1 = { "soft", NULL, 1 } };
    const QnnSystemDlc_GraphConfigInfo_t *configs[] = { &config, NULL };
    hush(true);
    FAILS(ARGUMENT, sys.systemDlcComposeGraphs(d, NULL, 0, env.backend, c, *provider, V1, NULL, &n));
    FAILS(ARGUMENT, sys.systemDlcComposeGraphs(d, NULL, 0, env.backend, c, *provider, V1, &graphs, NULL));
    FAILS(ARGUMENT, sys.systemDlcComposeGraphs(d, NULL, 0, env.backend, NULL, *provider, V1, &graphs, &n));
    FAILS(ARGUMENT, sys.systemDlcComposeGraphs(d, NULL, 0, env.backend, c, *provider, (QnnSystemContext_GraphInfoVersion_t)4,
                                               &graphs, &n));
    FAILS(ARGUMENT, sys.systemDlcComposeGraphs(d, NULL, 0, env.backend, c, other, V1, &graphs, &n));
    FAILS(ARGUMENT, sys.systemDlcComposeGraphs(d, NULL, 0, env.backend, c, bare, V1, &graphs, &n));
    FAILS(ARGUMENT, sys.systemDlcComposeGraphs(d, NULL, 1, env.backend, c, *provider, V1, &graphs, &n));
    FAILS(ARGUMENT,
          sys.systemDlcComposeGraphs(d, configs, 1, env.backend, c, *provider, V1, &graphs, &n)); /* one config, no list */
    FAILS(ARGUMENT, sys.systemDlcComposeGraphs(d, configs, 2, env.backend, c, *provider, V1, &graphs, &n));
    config.v1 = (QnnSystemDlc_GraphConfigInfoV1_t){ NULL, NULL, 0 };
    FAILS(ARGUMENT, sys.systemDlcComposeGraphs(d, configs, 1, env.backend, c, *provider, V1, &graphs, &n));
    FAILS(FAILED, sys.systemDlcComposeGraphs(d, NULL, 0, env.backend, (void *)0x1234, *provider, V1, &graphs, &n));
    OK(sys.systemDlcCreateWithDestinationDir(NULL, dir, &empty));
    FAILS(FAILED, sys.systemDlcComposeGraphs(empty, NULL, 0, env.backend, c, *provider, V1, &graphs, &n));
    OK(sys.systemDlcFree(empty));
    assert_null(graphs);
    assert_int_equal(n, 77);
    QnnGraph_Config_t priority = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_LOW };
    const QnnGraph_Config_t *list[] = { &priority };
    config.v1 = (QnnSystemDlc_GraphConfigInfoV1_t){ "soft", list, 1 };
    OK(sys.systemDlcComposeGraphs(d, configs, 1, env.backend, c, *provider, V1, &graphs, &n));
    free(graphs);
    FAILS(FAILED,
          sys.systemDlcComposeGraphs(d, NULL, 0, env.backend, c, *provider, V1, &graphs, &n)); /* the name is taken */
    hush(false);
    OK(sys.systemDlcFree(d));
    OK(q.contextFree(c, NULL));
}

/* ---- records ---------------------------------------------------------------------------------------------------------- */

static void records(void **state)
{
    (void)state;
    QnnSystemDlc_Handle_t d = open_dlc("one.dlc");
    QnnSystemDlc_RecordHandle_t r = NULL, *list = NULL;
    uint32_t n = 0;
    uint64_t size = 0;
    const uint8_t *data = NULL;
    hush(true);
    FAILS(FAILED, sys.systemDlcGetRecordByName(d, "htp.cache", &r));
    FAILS(ARGUMENT, sys.systemDlcGetRecordByName(d, NULL, &r));
    FAILS(ARGUMENT, sys.systemDlcGetRecordByName(d, "model", NULL));
    OK(sys.systemDlcGetRecordByName(d, "model", &r));
    FAILS(ARGUMENT, sys.systemDlcGetRecordDataSize(r, NULL));
    OK(sys.systemDlcGetRecordDataSize(r, &size));
    FAILS(ARGUMENT, sys.systemDlcReadRecordDataMemoryMapped(r, NULL, &size));
    FAILS(ARGUMENT, sys.systemDlcReadRecordDataMemoryMapped(r, &data, NULL));
    uint64_t again = 0;
    OK(sys.systemDlcReadRecordDataMemoryMapped(r, &data, &again));
    assert_int_equal(size, again);
    assert_memory_equal(data, "\xD5\x0A\4\0\0\0\0\0", 8);
    assert_memory_equal(data + 12, "NETD", 4);
    FAILS(HANDLE, sys.systemDlcGetRecordDataSize(d, &size)); /* a container is no record */
    FAILS(HANDLE, sys.systemDlcFree(r));
    OK(sys.systemDlcFreeRecord(r));
    FAILS(HANDLE, sys.systemDlcFreeRecord(r));
    FAILS(HANDLE, sys.systemDlcGetRecordDataSize(r, &size));
    FAILS(ARGUMENT, sys.systemDlcGetRecordsByType(d, QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_PARAMS, 0, NULL, &n));
    FAILS(ARGUMENT, sys.systemDlcGetRecordsByType(d, QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_PARAMS, 0, &list, NULL));
    OK(sys.systemDlcGetRecordsByType(d, QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_PARAMS, 0, &list, &n));
    assert_int_equal(n, 1);
    OK(sys.systemDlcReadRecordDataMemoryMapped(list[0], &data, &size));
    assert_memory_equal(data + 12, "NETP", 4);
    r = list[0];
    free(list);
    OK(sys.systemDlcGetRecordsByType(d, QNN_SYSTEM_DLC_RECORD_PREFIX_HTP_CACHE_RECORD, 1, &list, &n));
    assert_int_equal(n, 0);
    assert_null(list);
    OK(sys.systemDlcFree(d)); /* and its records */
    FAILS(HANDLE, sys.systemDlcGetRecordDataSize(r, &size));
    FAILS(HANDLE, sys.systemDlcFreeRecord(r));
    hush(false);
}

static void mappings(void **state)
{
    (void)state;
    QnnSystemDlc_Handle_t d = open_dlc("two.dlc");
    const Qnn_OpMapping_t *m = NULL, *again = NULL;
    uint32_t n = 0;
    hush(true);
    FAILS(ARGUMENT, sys.systemDlcGetOpMappings(d, NULL, &n));
    FAILS(ARGUMENT, sys.systemDlcGetOpMappings(d, &m, NULL));
    hush(false);
    OK(sys.systemDlcGetOpMappings(d, &m, &n));
    OK(sys.systemDlcGetOpMappings(d, &again, &n));
    assert_ptr_equal(m, again);
    assert_int_equal(n, 2);
    assert_string_equal(m[0].v1->graphName, "soft");
    assert_int_equal(m[0].v1->numOpMappings, 2);
    assert_string_equal(m[0].v1->opMappings[1].name, "s");
    assert_string_equal(m[0].v1->opMappings[1].pair[0].name, "s");
    assert_int_equal(m[0].v1->opMappings[1].pair[0].type, QNN_OP_MAPPING_TYPE_OP);
    assert_int_equal(m[1].v1->numTensorMappings, 5);
    const Qnn_Mapping_t *relu = &m[1].v1->opMappings[1]; /* made from two operators of the model */
    assert_string_equal(relu->name, "r");
    assert_int_equal(relu->numPairs, 2);
    assert_string_equal(relu->pair[0].name, "a/relu");
    assert_string_equal(relu->pair[1].name, "a:b");
    uint32_t made = 0; /* what it makes stands for itself, and comes from both */
    for (uint32_t i = 0; i < m[1].v1->numTensorMappings; i++) {
        const Qnn_Mapping_t *t = &m[1].v1->tensorMappings[i];
        assert_int_equal(t->pair[0].type, QNN_OP_MAPPING_TYPE_TENSOR);
        assert_string_equal(t->pair[0].name, t->name);
        if (t->numPairs == 3 && strcmp(t->pair[1].name, "a/relu") == 0 && strcmp(t->pair[2].name, "a:b") == 0)
            made += t->pair[1].type == QNN_OP_MAPPING_TYPE_OP;
    }
    assert_int_equal(made, 1);
    OK(sys.systemDlcFree(d));
}

static void binaries(void **state)
{
    (void)state;
    QnnSystemDlc_Handle_t d = open_dlc("one.dlc"), e = NULL;
    Qnn_SystemDlcBinarySize_t size = 0, written = 0;
    hush(true);
    FAILS(ARGUMENT, sys.systemDlcGetBinarySize(d, NULL));
    OK(sys.systemDlcGetBinarySize(d, &size));
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    FAILS(ARGUMENT, sys.systemDlcGetBinary(d, NULL, size, &written));
    FAILS(ARGUMENT, sys.systemDlcGetBinary(d, bytes, size, NULL));
    FAILS(ARGUMENT, sys.systemDlcGetBinary(d, bytes, size - 1, &written));
    OK(sys.systemDlcGetBinary(d, bytes, size, &written));
    assert_int_equal(size, written);
    FAILS(ARGUMENT, sys.systemDlcSave(d, NULL));
    FAILS(FAILED, sys.systemDlcSave(d, path_of("no/such/copy.dlc")));
    OK(sys.systemDlcSave(d, path_of("copy.dlc")));
    OK(sys.systemDlcFree(d));
    FAILS(HANDLE, sys.systemDlcFree(d));
    /* Both copies are models. */
    Qnn_ContextHandle_t c = new_context();
    QnnSystemContext_GraphInfo_t *graphs = NULL;
    uint32_t n = 0;
    OK(sys.systemDlcCreateFromBinary(NULL, bytes, size, &e));
    OK(sys.systemDlcComposeGraphs(e, NULL, 0, env.backend, c, *provider, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1, &graphs,
                                  &n));
    free(graphs);
    OK(sys.systemDlcFree(e));
    OK(q.contextFree(c, NULL));
    OK(sys.systemDlcCreateFromFileWithDestinationDir(NULL, path_of("copy.dlc"), dir, &e));
    OK(sys.systemDlcFree(e));
    /* Damaged ones are refused when they are opened. */
    for (size_t i = 0; i < 24; i++) {
        e = NULL;
        FAILS(MALFORMED, sys.systemDlcCreateFromBinary(NULL, bytes, size * i / 24 + 1, &e));
        assert_null(e);
    }
    hush(false);
    free(bytes);
}

/* A model with an operator that does not exist still gives its records; composing it names the operator. */
static void unknown_operators(void **state)
{
    (void)state;
    struct convert_dlc *d;
    void *image;
    size_t size;
    assert_int_equal(convert_dlc_open(path_of("one.dlc"), &d), ST_OK);
    const void *bytes;
    uint32_t at = 0;
    while (strcmp(convert_dlc_name(d, at), "model") != 0)
        at++;
    assert_int_equal(convert_dlc_record(d, at, &bytes), ST_OK);
    char *type =
        memmem(bytes, convert_dlc_size(d, at), "Softmax", 7); /* before the image is made: its checksum will be right */
    assert_non_null(type);
    memcpy(type, "Softest", 7);
    assert_int_equal(convert_dlc_image(d, &image, &size), ST_OK);
    convert_dlc_close(d);
    Qnn_LogHandle_t log;
    QnnSystemDlc_Handle_t h = NULL;
    QnnSystemDlc_RecordHandle_t r = NULL;
    QnnSystemContext_GraphInfo_t *graphs = NULL;
    uint32_t n = 0;
    OK(sys.systemLogCreate(listen, QNN_LOG_LEVEL_WARN, &log));
    heard[0] = 0;
    OK(sys.systemDlcCreateFromBinary(log, image, size, &h));
    assert_non_null(strstr(heard, "Softest"));
    OK(sys.systemDlcGetRecordByName(h, "dlc.metadata", &r));
    FAILS(UNSUPPORTED, sys.systemDlcComposeGraphs(h, NULL, 0, env.backend, env.context, *provider,
                                                  QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1, &graphs, &n));
    assert_non_null(strstr(heard, "Softest"));
    OK(sys.systemDlcFree(h));
    OK(sys.systemLogFree(log));
    free(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composed_graphs_run),
        cmocka_unit_test(composed_with_62_slots),
        cmocka_unit_test(composed_with_70_slots),
        cmocka_unit_test(composed_with_75_slots),
        cmocka_unit_test(composed_with_96_slots),
        cmocka_unit_test(model_library_runs),
        cmocka_unit_test(compose_wrong_use),
        cmocka_unit_test(records),
        cmocka_unit_test(mappings),
        cmocka_unit_test(binaries),
        cmocka_unit_test(unknown_operators),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
