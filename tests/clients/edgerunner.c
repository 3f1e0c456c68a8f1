/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of edgerunner: picks what it does by backendId, sets a graph's priority after retrieving it, uses tensors of
 * version 2. It reads descriptions of version 1 and 2 only; when it meets a newer one it has to know the tensors from
 * elsewhere, and does here. */
#include <dlfcn.h>

#include "client_htp.h"

int main(void)
{
    void *lib = client_open(client_library(), RTLD_NOW | RTLD_LOCAL),
         *system_lib = client_open("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    const QnnInterface_t *p = client_provider(lib, FIRST_FITTING);
    client_system_provider(system_lib, FIRST_FITTING);
    CHECK(p->backendId == (client_on_htp() ? QNN_BACKEND_ID_HTP
                                           : QNN_BACKEND_ID_CPU)); /* CPU: no device, no infrastructure, no custom config */
    uint32_t power = htp_power_on();
    htp_power_set(power, true);
    struct client_binary b = client_model();
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    MUST(qnn.logCreate(NULL, QNN_LOG_LEVEL_ERROR, &log));
    MUST(qnn.backendCreate(log, NULL, &backend));
    uint32_t code = CODE(qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE));
    CHECK(code == QNN_PROPERTY_SUPPORTED || code == QNN_PROPERTY_NOT_SUPPORTED);
    QnnDevice_Infrastructure_t infra = NULL;
    CHECK((qnn.deviceGetInfrastructure(&infra) == QNN_SUCCESS) == client_on_htp());
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info;
    uint64_t size;
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetBinaryInfo(reader, b.data, b.size, &info, &size));
    struct client_graph_info g = client_first_graph(info);
    if (g.binary_version > 2 || g.graph_version != 1)
        printf("SKIP: descriptions of version %u with graphs of version %u are newer than this reader; tensors are taken by "
               "name\n",
               g.binary_version, g.graph_version);
    MUST(qnn.contextCreateFromBinary(backend, NULL, NULL, b.data, b.size, &context, NULL));
    MUST(qnn.graphRetrieve(context, "model", &graph));
    QnnGraph_Config_t priority = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_HIGH };
    const QnnGraph_Config_t *config[] = { &priority, NULL };
    MUST(qnn.graphSetConfig(graph, config));
    struct tensor_spec s = {
        2, "input", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, { 1, MODEL_N }, NULL, 0, 0, 0
    };
    Qnn_Tensor_t in = client_tensor(&s);
    s.name = "output", s.type = QNN_TENSOR_TYPE_APP_READ;
    Qnn_Tensor_t out = client_tensor(&s);
    TV(in).id = TV(g.in[0]).id;
    TV(out).id = TV(g.out[0]).id;
    float x[MODEL_N] = { -3, -2, -1, 1, 2, 3 }, y[MODEL_N], want[MODEL_N];
    in = client_bind(in, x, sizeof x);
    out = client_bind(out, y, sizeof y);
    MUST(qnn.graphExecute(graph, &in, 1, &out, 1, NULL, NULL));
    client_model_expected(x, want);
    client_floats(y, want, MODEL_N, 0);
    MUST(sys.systemContextFree(reader));
    MUST(qnn.contextFree(context, NULL));
    htp_power_off(power);
    MUST(qnn.backendFree(backend));
    MUST(qnn.logFree(log));
    free(b.data);
    dlclose(system_lib);
    dlclose(lib);
    return 0;
}
