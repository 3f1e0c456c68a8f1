/* SPDX-License-Identifier: Apache-2.0 */
/* The check of one backend: open, create, and y = relu(x) on four numbers; see platform_check.h. */
#include "platform_validator/platform_check.h"

#include <stdio.h>
#include <string.h>

#include "QNN/QnnOpDef.h"
#include "common/tool_library.h"

enum { N = 4 };

static Qnn_Tensor_t make_tensor(const char *name, Qnn_TensorType_t type, uint32_t *dims)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

static enum status run_graph(const QNN_INTERFACE_VER_TYPE *api, Qnn_ContextHandle_t context)
{
    static float in[N] = { -1.5f, 0.0f, 2.25f, -3.0f };
    static const float want[N] = { 0.0f, 0.0f, 2.25f, 0.0f };
    float out[N] = { 9, 9, 9, 9 };
    uint32_t dims[] = { 1, N };
    Qnn_GraphHandle_t graph = NULL;
    Qnn_Tensor_t x = make_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, dims), y = make_tensor("y", QNN_TENSOR_TYPE_APP_READ, dims);
    Qnn_ErrorHandle_t error = api->graphCreate(context, "validate", NULL, &graph);
    if (error == QNN_SUCCESS)
        error = api->tensorCreateGraphTensor(graph, &x);
    if (error == QNN_SUCCESS)
        error = api->tensorCreateGraphTensor(graph, &y);
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1 = (Qnn_OpConfigV1_t){ .name = "relu",
                                .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                                .typeName = QNN_OP_RELU,
                                .numOfInputs = 1,
                                .inputTensors = &x,
                                .numOfOutputs = 1,
                                .outputTensors = &y };
    if (error == QNN_SUCCESS)
        error = api->graphAddNode(graph, op);
    if (error == QNN_SUCCESS)
        error = api->graphFinalize(graph, NULL, NULL);
    x.v1.clientBuf = (Qnn_ClientBuffer_t){ in, sizeof(in) };
    y.v1.clientBuf = (Qnn_ClientBuffer_t){ out, sizeof(out) };
    if (error == QNN_SUCCESS)
        error = api->graphExecute(graph, &x, 1, &y, 1, NULL, NULL);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "the test graph");
    RETURN_IF(memcmp(out, want, sizeof(out)), ST_INTERNAL, "the test graph gave %g %g %g %g instead of 0 0 2.25 0",
              (double)out[0], (double)out[1], (double)out[2], (double)out[3]);
    return ST_OK;
}

static enum status test_backend(const QNN_INTERFACE_VER_TYPE *api, Qnn_BackendHandle_t backend)
{
    Qnn_ContextHandle_t context = NULL;
    Qnn_ErrorHandle_t error = api->contextCreate(backend, NULL, NULL, &context);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "creating a context");
    enum status st = run_graph(api, context);
    api->contextFree(context, NULL);
    return st;
}

static enum status check(const char *library, bool test, struct platform_report *ret, struct library_backend *b)
{
    Qnn_BackendHandle_t handle = NULL;
    const char *build_id = "";
    TRY(library_open_backend(library, b));
    ret->found = true;
    Qnn_Version_t core = b->version.coreApiVersion, own = b->version.backendApiVersion;
    b->api.backendGetBuildId(&build_id);
    snprintf(ret->version, sizeof(ret->version), "%u.%u.%u (%s)", own.major, own.minor, own.patch, build_id);
    snprintf(ret->core, sizeof(ret->core), "%u.%u.%u", core.major, core.minor, core.patch);
    Qnn_ErrorHandle_t error = b->api.backendCreate(NULL, NULL, &handle);
    if (error != QNN_SUCCESS)
        return library_fail(&b->api, error, "initializing the backend");
    ret->supported = true;
    ret->tested = test;
    enum status st = test ? test_backend(&b->api, handle) : ST_OK;
    ret->passed = test && st == ST_OK;
    b->api.backendFree(handle);
    return st;
}

void platform_check(const char *library, bool test, struct platform_report *ret)
{
    struct library_backend b = { 0 };
    snprintf(ret->library, sizeof(ret->library), "%s", library);
    status_clear();
    if (check(library, test, ret, &b) != ST_OK)
        snprintf(ret->why, sizeof(ret->why), "%s", status_text());
    library_close(b.library);
}
