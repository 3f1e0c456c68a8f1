/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of mllm's backend: tensors of version 2, an op package that may be missing, many property questions, a small
 * attention step, and a binary that is loaded by a second context. */
#include <dlfcn.h>
#include <math.h>

#include "client.h"

static Qnn_BackendHandle_t backend;

static void ask_properties(void)
{
    static const uint32_t keys[] = {
        QNN_PROPERTY_GROUP_DEVICE,
        QNN_PROPERTY_TENSOR_SUPPORT_DYNAMIC_DIMENSIONS,
        QNN_PROPERTY_TENSOR_SUPPORT_SPARSITY,
        QNN_PROPERTY_TENSOR_SUPPORT_UPDATEABLE_STATIC_TENSORS,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BLOCK,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_VECTOR,
        QNN_PROPERTY_GRAPH_SUPPORT_BATCH_MULTIPLE,
        QNN_PROPERTY_GRAPH_SUPPORT_EARLY_TERMINATION,
        QNN_PROPERTY_CONTEXT_SUPPORT_CREATE_FROM_BINARY_LIST_ASYNC,
    };
    for (unsigned i = 0; i < COUNT(keys); i++) {
        uint32_t code = CODE(qnn.propertyHasCapability(keys[i]));
        CHECK(code == QNN_PROPERTY_SUPPORTED || code == QNN_PROPERTY_NOT_SUPPORTED);
    }
}

/* out = softmax(q * transpose(k)) * v, two tokens of three features. */
static void build(Qnn_ContextHandle_t c)
{
    Qnn_GraphHandle_t g;
    struct tensor_spec s = { 2, "q", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 3, { 1, 2, 3 }, NULL, 0, 0, 0 };
    MUST(qnn.graphCreate(c, "attention", NULL, &g));
    Qnn_Tensor_t tq = client_create(g, s);
    s.name = "k";
    Qnn_Tensor_t tk = client_create(g, s);
    s.name = "v";
    Qnn_Tensor_t tv = client_create(g, s);
    s.name = "out", s.type = QNN_TENSOR_TYPE_APP_READ;
    Qnn_Tensor_t out = client_create(g, s);
    s.name = "score", s.type = QNN_TENSOR_TYPE_NATIVE, s.dims[2] = 2;
    Qnn_Tensor_t score = client_create(g, s);
    s.name = "weight";
    Qnn_Tensor_t weight = client_create(g, s);
    struct node_spec qk = { "qk", "MatMul", 1, 2, 1, { client_bool("transpose_in1", true) }, { tq, tk }, { score } };
    struct node_spec soft = { "soft", "Softmax", 1, 1, 1, { client_u32("axis", 2) }, { score }, { weight } };
    struct node_spec av = { "av", "MatMul", 0, 2, 1, { { 0 } }, { weight, tv }, { out } };
    struct node_spec *all[] = { &qk, &soft, &av };
    for (unsigned i = 0; i < COUNT(all); i++) {
        MUST(qnn.backendValidateOpConfig(backend, client_config(all[i])));
        MUST(qnn.graphAddNode(g, client_config(all[i])));
    }
    MUST(qnn.graphFinalize(g, NULL, NULL));
}

static const float data[3][6] = { { 1, 0, 2, -1, 1, 0 }, { 0, 1, 1, 2, 0, -1 }, { 1, 2, 3, 4, 5, 6 } };

static void expected(float *out)
{
    for (int i = 0; i < 2; i++) {
        double s[2], total = 0;
        for (int j = 0; j < 2; j++) {
            s[j] = 0;
            for (int k = 0; k < 3; k++)
                s[j] += (double)data[0][i * 3 + k] * (double)data[1][j * 3 + k];
            s[j] = exp(s[j]);
            total += s[j];
        }
        for (int k = 0; k < 3; k++)
            out[i * 3 + k] = (float)((s[0] * (double)data[2][k] + s[1] * (double)data[2][3 + k]) / total);
    }
}

static void load_and_run(struct client_binary b)
{
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info;
    uint64_t size;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetBinaryInfo(reader, b.data, b.size, &info, &size));
    struct client_graph_info i = client_first_graph(info);
    CHECK(i.binary_version <= 3 && (i.graph_version == 1 || i.graph_version == 3));
    CHECK(i.n_in == 3 && i.n_out == 1);
    MUST(qnn.contextCreateFromBinary(backend, NULL, NULL, b.data, b.size, &c, NULL));
    MUST(qnn.graphRetrieve(c, i.name, &g));
    float got[6], want[6];
    Qnn_Tensor_t ins[3], out = client_bind(i.out[0], got, sizeof got);
    for (uint32_t k = 0; k < 3; k++) {
        const char *name = TV(i.in[k]).name;
        ins[k] = client_bind(i.in[k], data[*name == 'q' ? 0 : *name == 'k' ? 1 : 2], sizeof data[0]);
    }
    MUST(qnn.graphExecute(g, ins, 3, &out, 1, NULL, NULL));
    expected(want);
    client_floats(got, want, 6, 1e-5f);
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
    Qnn_DeviceHandle_t device = NULL;
    const char *id;
    MUST(qnn.logCreate(NULL, QNN_LOG_LEVEL_ERROR, &log));
    MUST(qnn.backendCreate(log, NULL, &backend));
    MUST(qnn.backendGetBuildId(&id));
    ask_properties();
    uint32_t code =
        CODE(qnn.backendRegisterOpPackage(backend, "libQnnMissingPackage_CPU.so", "MissingPackageInterfaceProvider", "CPU"));
    CHECK(code == QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND);
    code = CODE(qnn.deviceCreate(log, NULL, &device));
    CHECK(code == QNN_SUCCESS || code == QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE);
    MUST(qnn.contextCreate(backend, device, NULL, &c));
    build(c);
    struct client_binary b = client_save(c);
    MUST(qnn.contextFree(c, NULL));
    load_and_run(b);
    free(b.data);
    if (device)
        MUST(qnn.deviceFree(device));
    MUST(qnn.backendFree(backend));
    MUST(qnn.logFree(log));
    dlclose(system_lib);
    dlclose(lib);
    return 0;
}
