/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of sherpa-onnx: models come as context binaries; only description version 3 with graphs of version 3 is
 * understood; the buffer of the binary is freed while the description is still read. */
#include <dlfcn.h>
#include <stdarg.h>

#include "client.h"

static void log_line(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[1024];
    (void)level, (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
}

int main(void)
{
    void *lib = client_open(client_library(), RTLD_NOW | RTLD_LOCAL),
         *system_lib = client_open("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    client_provider(lib, FIRST_FITTING);
    client_system_provider(system_lib, FIRST_FITTING);
    struct client_binary b = client_model();
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device = NULL;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    const char *id;
    MUST(qnn.logCreate(log_line, QNN_LOG_LEVEL_INFO, &log));
    MUST(qnn.backendCreate(log, NULL, &backend));
    MUST(qnn.backendGetBuildId(&id));
    uint32_t code = CODE(qnn.deviceCreate(log, NULL, &device));
    CHECK(code == QNN_SUCCESS || code == QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE);
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    uint64_t size = 0;
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetBinaryInfo(reader, b.data, b.size, &info, &size));
    CHECK(info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3);
    const QnnSystemContext_BinaryInfoV3_t *v = &info->contextBinaryInfoV3;
    CHECK(v->numGraphs == 1 && v->graphs[0].version == QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3);
    MUST(qnn.contextCreateFromBinary(backend, device, NULL, b.data, b.size, &context, NULL));
    memset(b.data, 0, b.size);
    free(b.data);
    const QnnSystemContext_GraphInfoV3_t *g = &v->graphs[0].graphInfoV3;
    MUST(qnn.graphRetrieve(context, g->graphName, &graph));
    CHECK(g->numGraphInputs == 1 && g->numGraphOutputs == 1);
    CHECK(TV(g->graphInputs[0]).rank == 2 && TV(g->graphInputs[0]).dimensions[1] == MODEL_N);
    for (int round = 0; round < 10; round++) {
        float x[MODEL_N], y[MODEL_N], want[MODEL_N];
        for (int i = 0; i < MODEL_N; i++)
            x[i] = (float)(i * round - 7);
        Qnn_Tensor_t in = client_bind(g->graphInputs[0], x, sizeof x), out = client_bind(g->graphOutputs[0], y, sizeof y);
        MUST(qnn.graphExecute(graph, &in, 1, &out, 1, NULL, NULL));
        client_model_expected(x, want);
        client_floats(y, want, MODEL_N, 0);
    }
    MUST(qnn.contextFree(context, NULL));
    MUST(sys.systemContextFree(reader));
    if (device)
        MUST(qnn.deviceFree(device));
    MUST(qnn.backendFree(backend));
    MUST(qnn.logFree(log));
    dlclose(system_lib);
    dlclose(lib);
    return 0;
}
