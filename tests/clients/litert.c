/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of LiteRT's vendor code: exactly one provider, a build id that parses, tensors of version 2, the generic
 * element-wise operators, 8-bit weights with a scale per channel; every node must validate. */
#include <dlfcn.h>

#include "client_htp.h"

static Qnn_BackendHandle_t backend;
static Qnn_GraphHandle_t graph;

static void add(struct node_spec *n)
{
    MUST(qnn.backendValidateOpConfig(backend, client_config(n)));
    MUST(qnn.graphAddNode(graph, client_config(n)));
}

static Qnn_Tensor_t make(const char *name, Qnn_TensorType_t type, Qnn_DataType_t t, uint32_t n, float scale)
{
    return client_create(graph, (struct tensor_spec){ 2, name, type, t, 2, { 1, n }, NULL, 0, scale, 0 });
}

static void check_versions(const QnnInterface_t *p)
{
    const char *id = NULL;
    int major, minor, patch;
    Qnn_ApiVersion_t v;
    CHECK(p->apiVersion.backendApiVersion.major ==
          (client_on_htp() ? QNN_HTP_API_VERSION_MAJOR : QNN_CPU_API_VERSION_MAJOR));
    CHECK(p->apiVersion.backendApiVersion.minor >=
          (client_on_htp() ? QNN_HTP_API_VERSION_MINOR : QNN_CPU_API_VERSION_MINOR));
    MUST(qnn.backendGetApiVersion(&v));
    CHECK(v.backendApiVersion.minor == p->apiVersion.backendApiVersion.minor);
    MUST(qnn.backendGetBuildId(&id));
    CHECK(id && sscanf(id, "v%d.%d.%d", &major, &minor, &patch) == 3);
    CHECK(major == 2 && minor >= 43);
}

/* Weights [2,3], one scale per row: 1/2 and 1/4; bias in 32 bits with the product's scales. */
static void fully_connected(Qnn_Tensor_t in, Qnn_Tensor_t out)
{
    static const int8_t w[6] = { 2, 4, -2, 4, -8, 8 };
    static const int32_t b[2] = { 8, -16 };
    static Qnn_ScaleOffset_t rows[2] = { { 0.5f, 0 }, { 0.25f, 0 } }, bias_rows[2] = { { 0.125f, 0 }, { 0.0625f, 0 } };
    struct tensor_spec ws = { 2, "w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_8, 2, { 2, 3 }, w, sizeof w, 0, 0 };
    struct tensor_spec bs = { 2, "b", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_32, 1, { 2 }, b, sizeof b, 0, 0 };
    Qnn_Tensor_t wt = client_tensor(&ws), bt = client_tensor(&bs);
    wt.v2.quantizeParams = (Qnn_QuantizeParams_t){ .encodingDefinition = QNN_DEFINITION_DEFINED,
                                                   .quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET,
                                                   .axisScaleOffsetEncoding = { 0, 2, rows } };
    bt.v2.quantizeParams = wt.v2.quantizeParams;
    bt.v2.quantizeParams.axisScaleOffsetEncoding.scaleOffset = bias_rows;
    MUST(qnn.tensorCreateGraphTensor(graph, &wt));
    MUST(qnn.tensorCreateGraphTensor(graph, &bt));
    struct node_spec n = { "fc", "FullyConnected", 1, 3, 1, { client_bool("keep_dims", false) }, { in, wt, bt }, { out } };
    add(&n);
}

static void run(Qnn_GraphHandle_t g, Qnn_Tensor_t in, Qnn_Tensor_t out)
{
    /* x = 1, 2, 3 in steps of 1/4. Rows: 1*1 + 2*2 - 3*1 + 1 = 3 and 1*1 - 2*2 + 3*2 - 1 = 2; relu; then each
     * plus itself. */
    static const int8_t x[3] = { 4, 8, 12 };
    int8_t y[2] = { 0 };
    Qnn_Tensor_t ix = client_bind(in, x, sizeof x), oy = client_bind(out, y, sizeof y);
    MUST(qnn.graphExecute(g, &ix, 1, &oy, 1, NULL, NULL));
    CHECK(y[0] == 24 && y[1] == 16); /* 6 and 4 in steps of 1/4 */
}

int main(void)
{
    void *lib = client_open(client_library(), RTLD_LAZY), *system_lib = client_open("libQnnSystem.so", RTLD_LAZY);
    const QnnInterface_t *p = client_provider(lib, ONLY_ONE);
    client_system_provider(system_lib, ONLY_ONE);
    check_versions(p);
    const QnnBackend_Config_t *no_backend_config[] = { NULL };
    const QnnContext_Config_t *no_context_config[] = { NULL };
    const QnnGraph_Config_t *no_graph_config[] = { NULL };
    QnnHtpGraph_CustomConfig_t options[] = {
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE, .vtcmSizeInMB = QNN_HTP_GRAPH_CONFIG_OPTION_MAX },
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
          .optimizationOption = { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, 3 } },
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_FINALIZE_CONFIG,
          .finalizeConfig = { "P", { .dataType = QNN_DATATYPE_UINT_32, .uint32Value = 4 } } },
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_SHORT_DEPTH_CONV_ON_HMX_OFF, .shortDepthConvOnHmxOff = true },
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_FOLD_RELU_ACTIVATION_INTO_CONV_OFF, .foldReluActivationIntoConvOff = true },
    };
    Qnn_LogHandle_t log;
    Qnn_ContextHandle_t context, loaded;
    MUST(qnn.logCreate(NULL, QNN_LOG_LEVEL_WARN, &log));
    MUST(qnn.backendCreate(log, no_backend_config, &backend));
    static const uint32_t socs[] = { 57, 69, 87 };
    for (uint32_t i = 0; i < COUNT(socs); i++)
        htp_device_free(htp_device(log, socs[i], QNN_HTP_DEVICE_ARCH_NONE));
    Qnn_DeviceHandle_t device = htp_device(log, 69, QNN_HTP_DEVICE_ARCH_NONE);
    uint32_t power = htp_power_on();
    MUST(qnn.contextCreate(backend, device, no_context_config, &context));
    MUST(qnn.graphCreate(context, "subgraph_0",
                         client_on_htp() ? htp_graph_config(options, COUNT(options)) : no_graph_config, &graph));
    Qnn_DataType_t t = QNN_DATATYPE_SFIXED_POINT_8;
    Qnn_Tensor_t in = make("in", QNN_TENSOR_TYPE_APP_WRITE, t, 3, 0.25f),
                 fc = make("fc_out", QNN_TENSOR_TYPE_NATIVE, t, 2, 0.25f),
                 act = make("act", QNN_TENSOR_TYPE_NATIVE, t, 2, 0.25f),
                 out = make("out", QNN_TENSOR_TYPE_APP_READ, t, 2, 0.25f);
    fully_connected(in, fc);
    struct node_spec relu = { "relu", "ElementWiseNeuron",
                              1,      1,
                              1,      { client_u32("operation", QNN_OP_ELEMENT_WISE_NEURON_OPERATION_RELU) },
                              { fc }, { act } };
    struct node_spec sum = { "sum",
                             "ElementWiseBinary",
                             1,
                             2,
                             1,
                             { client_u32("operation", QNN_OP_ELEMENT_WISE_BINARY_OPERATION_ADD) },
                             { act, act },
                             { out } };
    add(&relu);
    add(&sum);
    MUST(qnn.graphFinalize(graph, NULL, NULL));
    htp_power_set(power, true);
    run(graph, in, out);
    htp_power_set(power, false);
    struct client_binary b = client_save(context);
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info;
    uint64_t size;
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetBinaryInfo(reader, b.data, b.size, &info, &size));
    struct client_graph_info g = client_first_graph(info);
    htp_check_blobs(info);
    MUST(qnn.contextCreateFromBinary(backend, device, NULL, b.data, b.size, &loaded, NULL));
    MUST(qnn.graphRetrieve(loaded, g.name, &graph));
    run(graph, g.in[0], g.out[0]);
    MUST(sys.systemContextFree(reader));
    MUST(qnn.contextFree(loaded, NULL));
    MUST(qnn.contextFree(context, NULL));
    htp_power_off(power);
    htp_device_free(device);
    MUST(qnn.backendFree(backend));
    MUST(qnn.logFree(log));
    free(b.data);
    dlclose(system_lib);
    dlclose(lib);
    return 0;
}
