/* SPDX-License-Identifier: Apache-2.0 */
/* The check of one backend: open, create, and y = relu(x) on four numbers, in floats or bytes; see platform_check.h. */
#include "platform_validator/platform_check.h"

#include <stdio.h>
#include <string.h>

#include "QNN/LPAI/QnnLpaiGraph.h"
#include "QNN/QnnOpDef.h"
#include "common/tool_library.h"

enum { N = 4 };

/* y = relu(x), as floats or as bytes of steps of 0.25 around 128. */
static const float float_in[N] = { -1.5f, 0.0f, 2.25f, -3.0f };
static const float float_want[N] = { 0.0f, 0.0f, 2.25f, 0.0f };
static const uint8_t byte_in[N] = { 122, 128, 137, 116 };
static const uint8_t byte_want[N] = { 128, 128, 137, 128 };

/* The graph in the type that the backend computes in. */
struct form {
    Qnn_DataType_t type;
    const void *in, *want;
    uint32_t size;
    bool attach; /* the first finalize compiles, the second one attaches the graph to memory */
};

static const struct form forms[] = {
    { QNN_DATATYPE_FLOAT_32, float_in, float_want, sizeof(float_in), false },
    { QNN_DATATYPE_UFIXED_POINT_8, byte_in, byte_want, sizeof(byte_in), true },
};

static Qnn_Tensor_t make_tensor(const struct form *form, const char *name, Qnn_TensorType_t type, uint32_t *dims)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;

    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = form->type;
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    if (form->type != QNN_DATATYPE_FLOAT_32)
        t.v1.quantizeParams = (Qnn_QuantizeParams_t){ .encodingDefinition = QNN_DEFINITION_DEFINED,
                                                      .quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
                                                      .scaleOffsetEncoding = { .scale = 0.25f, .offset = -128 } };
    return t;
}

/* Leaves the pools of memory to the library: says how fast and where the graph runs, and nothing of memory. */
static Qnn_ErrorHandle_t attach(const QNN_INTERFACE_VER_TYPE *api, Qnn_GraphHandle_t graph)
{
    QnnLpaiGraph_PerfCfg_t perf = QNN_LPAI_GRAPH_PERF_CFG_INIT;
    QnnLpaiGraph_CoreAffinity_t affinity = QNN_LPAI_GRAPH_CORE_AFFINITY_INIT;
    QnnLpaiGraph_CustomConfig_t custom[] = { { QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, &perf },
                                             { QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY, &affinity } };
    QnnGraph_Config_t configs[] = { { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom[0] },
                                    { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom[1] } };
    const QnnGraph_Config_t *list[] = { &configs[0], &configs[1], NULL };
    Qnn_ErrorHandle_t error = api->graphSetConfig(graph, list);

    return error == QNN_SUCCESS ? api->graphFinalize(graph, NULL, NULL) : error;
}

static Qnn_ErrorHandle_t build(const QNN_INTERFACE_VER_TYPE *api, const struct form *form, Qnn_GraphHandle_t graph,
                               Qnn_Tensor_t *x, Qnn_Tensor_t *y)
{
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    Qnn_ErrorHandle_t error = api->tensorCreateGraphTensor(graph, x);

    if (error == QNN_SUCCESS)
        error = api->tensorCreateGraphTensor(graph, y);
    op.v1 = (Qnn_OpConfigV1_t){ .name = "relu",
                                .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                                .typeName = QNN_OP_RELU,
                                .numOfInputs = 1,
                                .inputTensors = x,
                                .numOfOutputs = 1,
                                .outputTensors = y };
    if (error == QNN_SUCCESS)
        error = api->graphAddNode(graph, op);
    if (error == QNN_SUCCESS)
        error = api->graphFinalize(graph, NULL, NULL);
    if (error == QNN_SUCCESS && form->attach)
        error = attach(api, graph);
    return error;
}

static enum status run_graph(const QNN_INTERFACE_VER_TYPE *api, const struct form *form, Qnn_ContextHandle_t context)
{
    uint32_t dims[] = { 1, N };
    float in[N], out[N] = { 9, 9, 9, 9 }; /* room for the larger form */
    Qnn_GraphHandle_t graph = NULL;
    Qnn_Tensor_t x = make_tensor(form, "x", QNN_TENSOR_TYPE_APP_WRITE, dims);
    Qnn_Tensor_t y = make_tensor(form, "y", QNN_TENSOR_TYPE_APP_READ, dims);
    Qnn_ErrorHandle_t error = api->graphCreate(context, "validate", NULL, &graph);

    if (error == QNN_SUCCESS)
        error = build(api, form, graph, &x, &y);
    memcpy(in, form->in, form->size);
    x.v1.clientBuf = (Qnn_ClientBuffer_t){ in, form->size };
    y.v1.clientBuf = (Qnn_ClientBuffer_t){ out, form->size };
    if (error == QNN_SUCCESS)
        error = api->graphExecute(graph, &x, 1, &y, 1, NULL, NULL);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "the test graph");

    RETURN_IF(memcmp(out, form->want, form->size), ST_INTERNAL,
              "the test graph, a Relu of four numbers, gave other numbers");
    return ST_OK;
}

static enum status test_backend(const QNN_INTERFACE_VER_TYPE *api, const struct form *form, Qnn_BackendHandle_t backend)
{
    Qnn_ContextHandle_t context = NULL;
    Qnn_ErrorHandle_t error = api->contextCreate(backend, NULL, NULL, &context);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "creating a context");
    enum status st = run_graph(api, form, context);
    api->contextFree(context, NULL);
    return st;
}

/* A backend without a log works, too: says nothing, so the check goes on. */
static Qnn_LogHandle_t open_log(const QNN_INTERFACE_VER_TYPE *api, QnnLog_Callback_t log)
{
    Qnn_LogHandle_t handle = NULL;

    if (!log || !api->logCreate || api->logCreate(log, QNN_LOG_LEVEL_INFO, &handle) != QNN_SUCCESS)
        return NULL;
    return handle;
}

static enum status check_opened(const struct library_backend *b, Qnn_LogHandle_t log, enum platform_test test,
                                struct platform_report *ret)
{
    Qnn_BackendHandle_t handle = NULL;
    Qnn_ErrorHandle_t error = b->api.backendCreate(log, NULL, &handle);
    enum status st = ST_OK;

    if (error != QNN_SUCCESS)
        return library_fail(&b->api, error, "initializing the backend");
    ret->supported = true;
    ret->tested = test != PLATFORM_NO_TEST;
    if (ret->tested)
        st = test_backend(&b->api, &forms[test == PLATFORM_TEST_BYTES], handle);
    ret->passed = ret->tested && st == ST_OK;
    b->api.backendFree(handle);
    return st;
}

static enum status check(const char *library, enum platform_test test, QnnLog_Callback_t log,
                         struct platform_report *ret, struct library_backend *b)
{
    const char *build_id = "";
    TRY(library_open_backend(library, b));
    ret->found = true;
    Qnn_Version_t core = b->version.coreApiVersion, own = b->version.backendApiVersion;
    b->api.backendGetBuildId(&build_id);
    snprintf(ret->version, sizeof(ret->version), "%u.%u.%u (%s)", own.major, own.minor, own.patch, build_id);
    snprintf(ret->core, sizeof(ret->core), "%u.%u.%u", core.major, core.minor, core.patch);
    Qnn_LogHandle_t handle = open_log(&b->api, log);
    enum status st = check_opened(b, handle, test, ret);
    if (handle)
        b->api.logFree(handle);
    return st;
}

void platform_check(const char *library, enum platform_test test, QnnLog_Callback_t log, struct platform_report *ret)
{
    struct library_backend b = { 0 };
    snprintf(ret->library, sizeof(ret->library), "%s", library);
    status_clear();
    if (check(library, test, log, ret, &b) != ST_OK)
        snprintf(ret->why, sizeof(ret->why), "%s", status_text());
    library_close(b.library);
}
