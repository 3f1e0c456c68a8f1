/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of ggml's backend: exactly one provider, a log it cannot do without, device questions on every backend with
 * answers read without a NULL check, matrix products of rank 2 to 4 with transposed inputs, batches repeated by Gather, no
 * validation, graphs kept and executed again and again. */
#include <dlfcn.h>
#include <stdarg.h>

#include "client_htp.h"

static void log_line(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[4096];
    (void)level, (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
}

/* On success it follows the extension pointer, whatever the backend. */
static void look_at_devices(Qnn_LogHandle_t log)
{
    const QnnDevice_PlatformInfo_t *p = NULL;
    if (qnn.deviceGetPlatformInfo(log, &p) != QNN_SUCCESS)
        return;
    for (uint32_t i = 0; i < p->v1.numHwDevices; i++)
        CHECK(p->v1.hwDevices[i].v1.deviceInfoExtension);
    MUST(qnn.deviceFreePlatformInfo(log, p));
}

struct product {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t a, b, out;
};

/* out = a * transpose(b), rank 2 to 4; leading dimensions are 1 except the first of rank 4, which is 2. */
static struct product make_product(Qnn_ContextHandle_t c, const char *name, uint32_t rank)
{
    struct product p;
    struct tensor_spec s = {
        1, "src0", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, rank, { 1, 1, 1, 1 }, NULL, 0, 0, 0
    };
    QnnHtpGraph_CustomConfig_t options[] = {
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_NUM_HVX_THREADS, .numHvxThreads = 8 },
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
          .optimizationOption = { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC, 1 } },
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
          .optimizationOption = { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, 1 } },
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE, .vtcmSizeInMB = 8 },
    };
    MUST(qnn.graphCreate(c, name, htp_graph_config(options, COUNT(options)), &p.graph));
    s.dims[0] = rank == 4 ? 2 : 1;
    s.dims[rank - 2] = 2, s.dims[rank - 1] = 3;
    p.a = client_create(p.graph, s);
    s.name = "src1";
    p.b = client_create(p.graph, s);
    s.name = "dst", s.type = QNN_TENSOR_TYPE_APP_READ, s.dims[rank - 1] = 2;
    p.out = client_create(p.graph, s);
    struct node_spec n = {
        "mul_mat",    "MatMul", 2, 2, 1, { client_bool("transpose_in0", false), client_bool("transpose_in1", true) },
        { p.a, p.b }, { p.out }
    };
    MUST(qnn.graphAddNode(p.graph, client_config(&n)));
    MUST(qnn.graphFinalize(p.graph, NULL, NULL));
    return p;
}

static void run_product(const struct product *p, uint32_t batches)
{
    float a[12], b[12], got[8], want[8];
    for (int i = 0; i < 12; i++) {
        a[i] = (float)(i - 4) * 0.25f;
        b[i] = (float)(7 - i) * 0.5f;
    }
    for (uint32_t n = 0; n < batches; n++)
        for (int i = 0; i < 4; i++) {
            float sum = 0;
            for (int k = 0; k < 3; k++)
                sum += a[n * 6 + (uint32_t)(i / 2 * 3 + k)] * b[n * 6 + (uint32_t)(i % 2 * 3 + k)];
            want[n * 4 + (uint32_t)i] = sum;
        }
    uint32_t bytes = batches * 6 * (uint32_t)sizeof(float), out_bytes = batches * 4 * (uint32_t)sizeof(float);
    Qnn_Tensor_t ins[] = { client_bind(p->a, a, bytes), client_bind(p->b, b, bytes) },
                 out = client_bind(p->out, got, out_bytes);
    MUST(qnn.graphExecute(p->graph, ins, 2, &out, 1, NULL, NULL));
    client_floats(got, want, batches * 4, 1e-6f);
}

/* Repeats one matrix for two batches. */
static void run_gather(Qnn_ContextHandle_t c)
{
    static const uint32_t index[2] = { 0, 0 };
    static const float x[3] = { 1, 2, 3 };
    Qnn_GraphHandle_t g;
    MUST(qnn.graphCreate(c, "repeat", NULL, &g));
    Qnn_Tensor_t in = client_create(
        g, (struct tensor_spec){ 1, "in", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 3, { 1, 1, 3 }, NULL, 0, 0, 0 });
    Qnn_Tensor_t at = client_create(
        g,
        (struct tensor_spec){ 1, "at", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, 1, { 2 }, index, sizeof index, 0, 0 });
    Qnn_Tensor_t out = client_create(
        g, (struct tensor_spec){ 1, "out", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 3, { 2, 1, 3 }, NULL, 0, 0, 0 });
    Qnn_Param_t axis = { .paramType = QNN_PARAMTYPE_SCALAR,
                         .name = "axis",
                         .scalarParam = { .dataType = QNN_DATATYPE_INT_32, .int32Value = 0 } };
    struct node_spec n = { "gather", "Gather", 1, 2, 1, { axis }, { in, at }, { out } };
    MUST(qnn.graphAddNode(g, client_config(&n)));
    MUST(qnn.graphFinalize(g, NULL, NULL));
    float got[6];
    Qnn_Tensor_t ix = client_bind(in, x, sizeof x), oy = client_bind(out, got, sizeof got);
    MUST(qnn.graphExecute(g, &ix, 1, &oy, 1, NULL, NULL));
    client_floats(got, (float[]){ 1, 2, 3, 1, 2, 3 }, 6, 0);
}

int main(void)
{
    void *lib = client_open(client_library(), RTLD_NOW | RTLD_LOCAL);
    client_provider(lib, ONLY_ONE);
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_DeviceHandle_t device = NULL;
    Qnn_ApiVersion_t v;
    MUST(qnn.logCreate(log_line, QNN_LOG_LEVEL_DEBUG, &log));
    const QnnBackend_Config_t *none[] = { NULL };
    MUST(qnn.backendCreate(log, none, &backend));
    MUST(qnn.backendGetApiVersion(&v));
    Qnn_ErrorHandle_t e = qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE);
    CHECK(e == QNN_PROPERTY_SUPPORTED || CODE(e) == QNN_PROPERTY_NOT_SUPPORTED);
    look_at_devices(log);
    uint32_t code = CODE(qnn.deviceCreate(log, NULL, &device));
    CHECK(code == QNN_SUCCESS || code == QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE);
    QnnDevice_Infrastructure_t infra = NULL;
    CHECK((qnn.deviceGetInfrastructure(&infra) == QNN_SUCCESS) == client_on_htp()); /* nothing to vote for on a CPU */
    uint32_t power = htp_power_on();
    htp_power_set(power, true);
    MUST(qnn.contextCreate(backend, device, NULL, &context));
    struct product products[3];
    for (uint32_t rank = 2; rank <= 4; rank++)
        products[rank - 2] = make_product(context, rank == 2 ? "rank2" : rank == 3 ? "rank3" : "rank4", rank);
    for (int round = 0; round < 20; round++)
        for (uint32_t rank = 2; rank <= 4; rank++)
            run_product(&products[rank - 2], rank == 4 ? 2 : 1);
    run_gather(context);
    MUST(qnn.contextFree(context, NULL));
    htp_power_off(power);
    if (device)
        MUST(qnn.deviceFree(device));
    MUST(qnn.backendFree(backend));
    MUST(qnn.logFree(log));
    dlclose(lib);
    return 0;
}
