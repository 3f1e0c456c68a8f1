/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of ExecuTorch's backend: looks first whether the library is loaded already, wants exactly one provider and a
 * backend version from getApiVersion, uses tensors of version 2 and getMetaData, and takes a binary that is refused for
 * something else. */
#include <dlfcn.h>

#include "client_htp.h"

static Qnn_BackendHandle_t backend;

static void build(Qnn_ContextHandle_t c)
{
    static const uint32_t axes[1] = { 1 };
    Qnn_GraphHandle_t g;
    Qnn_DataType_t f = QNN_DATATYPE_FLOAT_32;
    MUST(qnn.graphCreate(c, "forward", NULL, &g));
    Qnn_Tensor_t in =
        client_create(g, (struct tensor_spec){ 2, "input_0", QNN_TENSOR_TYPE_APP_WRITE, f, 2, { 2, 4 }, NULL, 0, 0, 0 });
    Qnn_Tensor_t mid =
        client_create(g, (struct tensor_spec){ 2, "sig", QNN_TENSOR_TYPE_NATIVE, f, 2, { 2, 4 }, NULL, 0, 0, 0 });
    Qnn_Tensor_t out =
        client_create(g, (struct tensor_spec){ 2, "output_0", QNN_TENSOR_TYPE_APP_READ, f, 2, { 2, 1 }, NULL, 0, 0, 0 });
    struct node_spec relu = { "relu", "Relu", 0, 1, 1, { { 0 } }, { in }, { mid } };
    struct node_spec mean = {
        "mean",  "ReduceMean",
        2,       1,
        1,       { client_u32s(g, 2, "axes", 1, (uint32_t[]){ 1 }, axes), client_bool("keep_dims", true) },
        { mid }, { out }
    };
    MUST(qnn.backendValidateOpConfig(backend, client_config(&relu)));
    MUST(qnn.graphAddNode(g, client_config(&relu)));
    MUST(qnn.backendValidateOpConfig(backend, client_config(&mean)));
    MUST(qnn.graphAddNode(g, client_config(&mean)));
    MUST(qnn.graphFinalize(g, NULL, NULL));
}

static void run(Qnn_GraphHandle_t g, const struct client_graph_info *i, Qnn_ProfileHandle_t p)
{
    static const float x[8] = { 1, -2, 3, 4, -5, -6, 7, 9 };
    float y[2];
    Qnn_Tensor_t in = client_bind(i->in[0], x, sizeof x), out = client_bind(i->out[0], y, sizeof y);
    MUST(qnn.graphExecute(g, &in, 1, &out, 1, p, NULL));
    client_floats(y, (float[]){ 2, 4 }, 2, 1e-6f);
}

static void load(struct client_binary b, Qnn_ProfileHandle_t p)
{
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetMetaData(reader, b.data, b.size, &info));
    htp_check_blobs(info);
    struct client_graph_info i = client_first_graph(info);
    CHECK(i.binary_version >= 1 && i.binary_version <= 3 && i.graph_version >= 1 && i.graph_version <= 3);
    CHECK(i.n_in == 1 && i.n_out == 1 && strcmp(TV(i.in[0]).name, "input_0") == 0 &&
          strcmp(TV(i.out[0]).name, "output_0") == 0);
    const QnnContext_Config_t *none[] = { NULL };
    MUST(qnn.contextCreateFromBinary(backend, NULL, none, b.data, b.size, &c, p));
    MUST(qnn.graphRetrieve(c, i.name, &g));
    run(g, &i, p);
    MUST(qnn.contextFree(c, p)); /* heap use is asked for here: a live profile */
    MUST(sys.systemContextFree(reader));
}

/* A blob that is no context binary is then tried as a DLC; it must be refused in both places, not believed. */
static void refuse(struct client_binary b)
{
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextHandle_t c;
    char *bad = malloc(b.size);
    memcpy(bad, b.data, b.size);
    memset(bad, 'P', 64);
    MUST(sys.systemContextCreate(&reader));
    CHECK(sys.systemContextGetMetaData(reader, bad, b.size, &info) != QNN_SUCCESS);
    CHECK(qnn.contextCreateFromBinary(backend, NULL, NULL, bad, b.size, &c, NULL) != QNN_SUCCESS);
    QnnSystemDlc_Handle_t dlc;
    CHECK(sys.systemDlcCreateFromBinary(NULL, (uint8_t *)bad, b.size, &dlc) != QNN_SUCCESS);
    MUST(sys.systemContextFree(reader));
    free(bad);
}

int main(void)
{
    CHECK(!client_open(client_library(), RTLD_NOW | RTLD_NOLOAD));
    void *lib = client_open(client_library(), RTLD_NOW | RTLD_GLOBAL),
         *system_lib = client_open("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    void *again = client_open(client_library(), RTLD_NOW | RTLD_NOLOAD);
    CHECK(again == lib);
    CHECK(!dlsym(lib, "QnnSaver_initialize"));
    client_provider(lib, ONLY_ONE);
    client_system_provider(system_lib, ONLY_ONE);
    Qnn_ApiVersion_t v;
    MUST(qnn.backendGetApiVersion(&v));
    CHECK(v.backendApiVersion.major == (client_on_htp() ? QNN_HTP_API_VERSION_MAJOR : QNN_CPU_API_VERSION_MAJOR));
    CHECK(v.backendApiVersion.minor >= (client_on_htp() ? QNN_HTP_API_VERSION_MINOR : QNN_CPU_API_VERSION_MINOR));
    Qnn_LogHandle_t log;
    Qnn_ContextHandle_t c;
    Qnn_ProfileHandle_t profile;
    const QnnBackend_Config_t *no_backend_config[] = { NULL };
    const QnnContext_Config_t *no_context_config[] = { NULL };
    MUST(qnn.logCreate(NULL, QNN_LOG_LEVEL_ERROR, &log));
    MUST(qnn.backendCreate(log, no_backend_config, &backend));
    Qnn_DeviceHandle_t device = htp_device_from_platform(log, 57, QNN_HTP_DEVICE_ARCH_V75);
    MUST(qnn.contextCreate(backend, device, no_context_config, &c));
    build(c);
    struct client_binary b = client_save(c);
    MUST(qnn.contextFree(c, NULL));
    MUST(qnn.profileCreate(backend, QNN_PROFILE_LEVEL_BASIC, &profile));
    load(b, profile);
    MUST(qnn.profileFree(profile));
    htp_device_free(device);
    MUST(qnn.logSetLogLevel(log, QNN_LOG_LEVEL_ERROR));
    MUST(qnn.backendFree(backend));
    MUST(qnn.backendCreate(NULL, NULL, &backend));
    refuse(b);
    MUST(qnn.backendFree(backend));
    MUST(qnn.logFree(log));
    free(b.data);
    dlclose(system_lib);
    dlclose(again);
    dlclose(lib);
    return 0;
}
