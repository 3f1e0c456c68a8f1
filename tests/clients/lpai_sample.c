/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of the LPAI sample application: picks the provider by backend id, works from a binary only, asks for
 * alignment and sizes, brings all memory, configures performance, affinity and priority, finalizes the retrieved graph and
 * executes while it is told to go on. The description of the binary is read as version 1 and used after the binary's buffer
 * is gone. */
#include <dlfcn.h>

#include "lpai_model.h"

/* Without a configuration; LPAI_TEST_TARGET asks for one that names the target. */
static Qnn_BackendHandle_t new_backend(void)
{
    Qnn_BackendHandle_t b;
    if (getenv("LPAI_TEST_TARGET"))
        return lpai_backend(QNN_LPAI_BACKEND_TARGET_X86, QNN_LPAI_BACKEND_HW_VERSION_V6);
    MUST(qnn.backendCreate(NULL, NULL, &b));
    return b;
}

static struct client_binary make_binary(void)
{
    Qnn_BackendHandle_t b = new_backend();
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    MUST(qnn.contextCreate(b, NULL, NULL, &c));
    MUST(qnn.graphCreate(c, "wake", NULL, &g));
    lpai_model_add(g, 1, NULL);
    MUST(qnn.graphFinalize(g, NULL, NULL));
    struct client_binary bin = client_save(c);
    MUST(qnn.contextFree(c, NULL));
    MUST(qnn.backendFree(b));
    return bin;
}

static void configure(Qnn_GraphHandle_t g)
{
    QnnLpaiGraph_PerfCfg_t perf = { 10, 0, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_NON_REAL_TIME };
    QnnLpaiGraph_CoreAffinity_t affinity = { QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT, 0 };
    QnnGraph_Config_t priority = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_NORMAL };
    const QnnGraph_Config_t *list[] = { &priority, NULL };
    MUST(lpai_graph_config(g, QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, &perf));
    MUST(lpai_graph_config(g, QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY, &affinity));
    MUST(qnn.graphSetConfig(g, list));
}

static void execute(Qnn_GraphHandle_t g, QnnSystemContext_GraphInfoV1_t *info, uint32_t align)
{
    int8_t *x = aligned_alloc(align, 256), *y = aligned_alloc(align, 256);
    info->graphInputs[0].v1.memType = info->graphOutputs[0].v1.memType = QNN_TENSORMEMTYPE_RAW;
    info->graphInputs[0].v1.clientBuf = (Qnn_ClientBuffer_t){ x, LPAI_N };
    info->graphOutputs[0].v1.clientBuf = (Qnn_ClientBuffer_t){ y, LPAI_N };
    for (int frame = 0; frame < 20; frame++) {
        Qnn_ErrorHandle_t e;
        for (int i = 0; i < LPAI_N; i++)
            x[i] = (int8_t)(i * 5 - 100 + frame);
        do
            e = qnn.graphExecute(g, info->graphInputs, info->numGraphInputs, info->graphOutputs, info->numGraphOutputs, NULL,
                                 NULL);
        while (e == QNN_GRAPH_ERROR_EARLY_TERMINATION);
        MUST(e);
        lpai_model_check(x, y);
    }
    free(x);
    free(y);
}

int main(void)
{
    void *lib = client_open("libQnnLpai.so", RTLD_NOW | RTLD_LOCAL),
         *system_lib = client_open("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    CHECK(client_provider(lib, FIRST_FITTING)->backendId == QNN_BACKEND_ID_LPAI);
    client_system_provider(system_lib, FIRST_FITTING);
    struct client_binary bin = make_binary();
    Qnn_BackendHandle_t backend = new_backend();
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    QnnLpaiBackend_BufferAlignmentReq_t req = { 0, 0 };
    uint32_t keep = 2;
    MUST(lpai_backend_property(backend, QNN_LPAI_BACKEND_GET_PROP_ALIGNMENT_REQ, &req));
    MUST(lpai_backend_property(backend, QNN_LPAI_BACKEND_GET_PROP_REQUIRE_PERSISTENT_BINARY, &keep));
    CHECK(req.startAddrAlignment && req.startAddrAlignment <= 256 && keep <= 1);
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info;
    uint64_t size;
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetBinaryInfo(reader, bin.data, bin.size, &info, &size));
    CHECK(info->version != QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3); /* everything but 2 is read as 1 */
    QnnSystemContext_GraphInfoV1_t *described = &info->contextBinaryInfoV1.graphs[0].graphInfoV1;
    QnnContext_Config_t persistent = { .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1 };
    const QnnContext_Config_t *list[] = { keep ? &persistent : NULL, NULL };
    MUST(qnn.contextCreateFromBinary(backend, NULL, list, bin.data, bin.size, &context, NULL));
    if (!keep)
        free(bin.data);
    MUST(qnn.graphRetrieve(context, described->graphName, &graph));
    void *scratch = lpai_pool(graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM);
    void *state = lpai_pool(graph, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM);
    configure(graph);
    MUST(qnn.graphFinalize(graph, NULL, NULL));
    execute(graph, described, req.startAddrAlignment);
    MUST(qnn.contextFree(context, NULL));
    MUST(qnn.backendFree(backend));
    MUST(sys.systemContextFree(reader));
    if (keep)
        free(bin.data);
    free(scratch);
    free(state);
    dlclose(system_lib);
    dlclose(lib);
    return 0;
}
