/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of PowerServe: context binaries with a context config that has a CUSTOM entry meant for other hardware,
 * several contexts from one backend, memory offered in a kind that only the HTP knows, and plain buffers when that is
 * refused. */
#include <dlfcn.h>

#include "client_htp.h"

#include <QNN/HTP/QnnHtpMem.h>
#include <sys/mman.h>
#include <unistd.h>

static Qnn_ContextHandle_t load(Qnn_BackendHandle_t backend, struct client_binary b)
{
    static QnnHtpContext_CustomConfig_t htp = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_IO_MEM_ESTIMATION,
                                                .ioMemEstimation = true };
    QnnContext_Config_t custom = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &htp },
                        priority = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_HIGH };
    const QnnContext_Config_t *config[] = { &custom, &priority, NULL };
    Qnn_ContextHandle_t c;
    MUST(qnn.contextCreateFromBinary(backend, NULL, config, b.data, b.size, &c, NULL));
    return c;
}

/* Shared memory of the HTP's own kind: on a CPU there is none, and the answer says so. */
static bool shared_memory_works(Qnn_ContextHandle_t c)
{
    static uint32_t dims[] = { 1, MODEL_N };
    QnnMemHtp_Descriptor_t htp = { .type = QNN_HTP_MEM_SHARED_BUFFER, .size = 4096 };
    htp.sharedBufferConfig = (QnnHtpMem_SharedBufferConfig_t){ memfd_create("kv", MFD_CLOEXEC), 1024 };
    CHECK(ftruncate(htp.sharedBufferConfig.fd, 4096) == 0);
    Qnn_MemDescriptor_t d = {
        .memShape = { 2, dims, NULL }, .dataType = QNN_DATATYPE_FLOAT_32, .memType = QNN_MEM_TYPE_CUSTOM, .customInfo = &htp
    };
    Qnn_MemHandle_t h = &d;
    uint32_t code = CODE(qnn.memRegister(c, &d, 1, &h));
    close(htp.sharedBufferConfig.fd);
    CHECK(code == QNN_SUCCESS ? h != NULL : h == NULL);
    if (code == QNN_SUCCESS)
        MUST(qnn.memDeRegister(&h, 1));
    return code == QNN_SUCCESS;
}

static void run(Qnn_ContextHandle_t c, const struct client_graph_info *i, float first)
{
    Qnn_GraphHandle_t g;
    QnnGraph_Config_t priority = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_NORMAL };
    const QnnGraph_Config_t *config[] = { &priority, NULL };
    float x[MODEL_N], y[MODEL_N], want[MODEL_N];
    MUST(qnn.graphRetrieve(c, i->name, &g));
    MUST(qnn.graphSetConfig(g, config));
    for (int k = 0; k < MODEL_N; k++)
        x[k] = first + (float)k;
    Qnn_Tensor_t in = client_bind(i->in[0], x, sizeof x), out = client_bind(i->out[0], y, sizeof y);
    MUST(qnn.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    client_model_expected(x, want);
    client_floats(y, want, MODEL_N, 0);
}

int main(void)
{
    enum { CONTEXTS = 4 };
    void *lib = client_open(client_library(), RTLD_NOW | RTLD_LOCAL),
         *system_lib = client_open("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    client_provider(lib, FIRST_FITTING);
    client_system_provider(system_lib, FIRST_FITTING);
    struct client_binary b = client_model();
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t contexts[CONTEXTS];
    Qnn_ApiVersion_t v;
    MUST(qnn.logCreate(NULL, QNN_LOG_LEVEL_ERROR, &log));
    MUST(qnn.backendCreate(log, NULL, &backend));
    MUST(qnn.backendGetApiVersion(&v));
    uint32_t code = CODE(qnn.propertyHasCapability(QNN_PROPERTY_CONTEXT_SUPPORT_CREATE_FROM_BINARY_LIST_ASYNC));
    CHECK(code == QNN_PROPERTY_SUPPORTED || code == QNN_PROPERTY_NOT_SUPPORTED);
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info;
    uint64_t size;
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetBinaryInfo(reader, b.data, b.size, &info, &size));
    htp_check_blobs(info);
    struct client_graph_info i = client_first_graph(info);
    for (int k = 0; k < CONTEXTS; k++)
        contexts[k] = load(backend, b);
    CHECK(shared_memory_works(contexts[0]) == client_on_htp());
    for (int k = 0; k < CONTEXTS; k++)
        run(contexts[k], &i, (float)k - 3);
    for (int k = 0; k < CONTEXTS; k++)
        MUST(qnn.contextFree(contexts[k], NULL));
    MUST(sys.systemContextFree(reader));
    MUST(qnn.backendFree(backend));
    MUST(qnn.logFree(log));
    free(b.data);
    dlclose(system_lib);
    dlclose(lib);
    return 0;
}
