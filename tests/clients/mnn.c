/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of MNN's backend: no log callback, platform info asked for and its absence tolerated, graphs whose inputs
 * are all constants, binaries validated before they are loaded. */
#include <dlfcn.h>

#include "client_htp.h"

static Qnn_BackendHandle_t backend;
static Qnn_DeviceHandle_t device;
static uint32_t power;

static void add(Qnn_GraphHandle_t g, struct node_spec *n)
{
    MUST(qnn.backendValidateOpConfig(backend, client_config(n)));
    MUST(qnn.graphAddNode(g, client_config(n)));
}

/* out = transpose(reshape(constant)) + constant: executed with no inputs at all. */
static void constant_graph(Qnn_ContextHandle_t c)
{
    static const float a[6] = { 1, 2, 3, 4, 5, 6 }, b[6] = { 10, 20, 30, 40, 50, 60 };
    static const uint32_t perm[2] = { 1, 0 };
    Qnn_GraphHandle_t g;
    Qnn_DataType_t f = QNN_DATATYPE_FLOAT_32;
    QnnHtpGraph_CustomConfig_t options[] = {
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION, .precision = QNN_PRECISION_FLOAT16 },
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
          .optimizationOption = { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, 2 } },
    };
    MUST(qnn.graphCreate(c, "express", htp_graph_config(options, COUNT(options)), &g));
    Qnn_Tensor_t ta =
        client_create(g, (struct tensor_spec){ 1, "a", QNN_TENSOR_TYPE_STATIC, f, 1, { 6 }, a, sizeof a, 0, 0 });
    Qnn_Tensor_t tb =
        client_create(g, (struct tensor_spec){ 1, "b", QNN_TENSOR_TYPE_STATIC, f, 2, { 3, 2 }, b, sizeof b, 0, 0 });
    Qnn_Tensor_t shaped =
        client_create(g, (struct tensor_spec){ 1, "shaped", QNN_TENSOR_TYPE_NATIVE, f, 2, { 2, 3 }, NULL, 0, 0, 0 });
    Qnn_Tensor_t turned =
        client_create(g, (struct tensor_spec){ 1, "turned", QNN_TENSOR_TYPE_NATIVE, f, 2, { 3, 2 }, NULL, 0, 0, 0 });
    Qnn_Tensor_t out =
        client_create(g, (struct tensor_spec){ 1, "out", QNN_TENSOR_TYPE_APP_READ, f, 2, { 3, 2 }, NULL, 0, 0, 0 });
    struct node_spec reshape = { "reshape", "Reshape", 0, 1, 1, { { 0 } }, { ta }, { shaped } };
    struct node_spec turn = { "turn",     "Transpose", 1, 1, 1, { client_u32s(g, 1, "perm", 1, (uint32_t[]){ 2 }, perm) },
                              { shaped }, { turned } };
    struct node_spec sum = { "sum", "ElementWiseAdd", 0, 2, 1, { { 0 } }, { turned, tb }, { out } };
    add(g, &reshape);
    add(g, &turn);
    add(g, &sum);
    MUST(qnn.graphFinalize(g, NULL, NULL));
    float got[6];
    Qnn_Tensor_t bound = client_bind(out, got, sizeof got);
    for (int i = 0; i < 3; i++) {
        memset(got, 0, sizeof got);
        htp_power_set(power, true);
        MUST(qnn.graphExecute(g, NULL, 0, &bound, 1, NULL, NULL));
        htp_power_set(power, false);
        client_floats(got, (float[]){ 11, 24, 32, 45, 53, 66 }, 6, 1e-3f);
    }
}

static void load(struct client_binary b)
{
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info;
    uint64_t size;
    float x[MODEL_N] = { 1, 2, 3, -4, -5, 6 }, y[MODEL_N], want[MODEL_N];
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetBinaryInfo(reader, b.data, b.size, &info, &size));
    struct client_graph_info i = client_first_graph(info);
    CHECK(i.graph_version == 1 || i.graph_version == 3);
    MUST(qnn.contextValidateBinary(backend, device, NULL, b.data, b.size));
    MUST(qnn.contextCreateFromBinary(backend, device, NULL, b.data, b.size, &c, NULL));
    MUST(qnn.graphRetrieve(c, i.name, &g));
    Qnn_Tensor_t in = client_bind(i.in[0], x, sizeof x), out = client_bind(i.out[0], y, sizeof y);
    MUST(qnn.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    client_model_expected(x, want);
    client_floats(y, want, MODEL_N, 0);
    MUST(qnn.contextFree(c, NULL));
    MUST(sys.systemContextFree(reader));
}

int main(void)
{
    void *lib = client_open(client_library(), RTLD_NOW | RTLD_LOCAL),
         *system_lib = client_open("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    client_provider(lib, FIRST_FITTING);
    client_system_provider(system_lib, FIRST_FITTING);
    Qnn_LogHandle_t log;
    Qnn_ContextHandle_t c;
    const QnnDevice_PlatformInfo_t *platform = NULL;
    MUST(qnn.logCreate(NULL, QNN_LOG_LEVEL_ERROR, &log));
    MUST(qnn.backendCreate(log, NULL, &backend));
    CHECK(CODE(qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE)) != QNN_PROPERTY_ERROR_UNKNOWN_KEY);
    CHECK(qnn.deviceGetPlatformInfo(log, &platform) != QNN_SUCCESS || platform); /* then there is no arch to read */
    if (client_on_htp()) { /* read without a look at versions, and never given back */
        const QnnHtpDevice_OnChipDeviceInfoExtension_t *chip =
            &platform->v1.hwDevices[0].v1.deviceInfoExtension->onChipDevice;
        CHECK(chip->arch >= QNN_HTP_DEVICE_ARCH_V68 && chip->socModel);
        device = htp_device(log, chip->socModel, QNN_HTP_DEVICE_ARCH_NONE);
    }
    power = htp_power_on();
    MUST(qnn.contextCreate(backend, device, NULL, &c));
    constant_graph(c);
    MUST(qnn.contextFree(c, NULL));
    struct client_binary b = client_model();
    load(b);
    free(b.data);
    htp_power_off(power);
    htp_device_free(device);
    MUST(qnn.backendFree(backend));
    MUST(qnn.logFree(log));
    dlclose(system_lib);
    dlclose(lib);
    return 0;
}
