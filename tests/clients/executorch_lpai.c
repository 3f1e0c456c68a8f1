/* SPDX-License-Identifier: Apache-2.0 */
/* ExecuTorch's LPAI path: ENABLE_ISLAND in the context's config, PREPARE with graphSetConfig right after graphCreate,
 * reflection through getMetaData; after retrieving, performance and affinity in one list and no word about memory, then
 * graphFinalize again. */
#include <dlfcn.h>

#include "lpai_model.h"

static const QnnContext_Config_t **island(void)
{
    static QnnLpaiContext_CustomConfig_t custom = { QNN_LPAI_CONTEXT_SET_CFG_ENABLE_ISLAND, NULL };
    static QnnContext_Config_t config = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM };
    static const QnnContext_Config_t *list[] = { &config, NULL };
    config.customConfig = &custom;
    return list;
}

static struct client_binary compile(Qnn_BackendHandle_t b)
{
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    QnnLpaiGraph_CustomConfigPrepare_t prepare = { 1, NULL };
    MUST(qnn.contextCreate(b, NULL, island(), &c));
    MUST(qnn.graphCreate(c, "forward", NULL, &g));
    MUST(lpai_graph_config(g, QNN_LPAI_GRAPH_SET_CFG_PREPARE, &prepare));
    lpai_model_add(g, 2, b);
    MUST(qnn.graphFinalize(g, NULL, NULL));
    struct client_binary bin = client_save(c);
    MUST(qnn.contextFree(c, NULL));
    return bin;
}

/* All settings in one call. */
static void configure(Qnn_GraphHandle_t g)
{
    QnnLpaiGraph_PerfCfg_t perf = { 30, 10, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME };
    QnnLpaiGraph_CoreAffinity_t affinity = { QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT, 0 };
    QnnLpaiGraph_CustomConfig_t customs[] = { { QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, &perf },
                                              { QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY, &affinity } };
    QnnGraph_Config_t configs[COUNT(customs)];
    const QnnGraph_Config_t *list[COUNT(customs) + 1] = { NULL };
    for (unsigned i = 0; i < COUNT(customs); i++) {
        configs[i] = (QnnGraph_Config_t){ .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &customs[i] };
        list[i] = &configs[i];
    }
    MUST(qnn.graphSetConfig(g, list));
}

int main(void)
{
    static _Alignas(64) int8_t buffers[2][64 + 16];
    int8_t *x = buffers[0] + 16, *y = buffers[1] + 16; /* its planner aligns to 16 bytes */
    void *lib = client_open("libQnnLpai.so", RTLD_NOW | RTLD_GLOBAL),
         *system_lib = client_open("libQnnSystem.so", RTLD_NOW | RTLD_GLOBAL);
    client_provider(lib, ONLY_ONE);
    client_system_provider(system_lib, ONLY_ONE);
    Qnn_ApiVersion_t v;
    MUST(qnn.backendGetApiVersion(&v));
    CHECK(v.backendApiVersion.major == QNN_LPAI_API_VERSION_MAJOR);
    Qnn_BackendHandle_t backend = lpai_backend(QNN_LPAI_BACKEND_TARGET_X86, QNN_LPAI_BACKEND_HW_VERSION_V6);
    struct client_binary bin = compile(backend);
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetMetaData(reader, bin.data, bin.size, &info));
    struct client_graph_info i = client_first_graph(info);
    MUST(qnn.contextCreateFromBinary(backend, NULL, island(), bin.data, bin.size, &c, NULL));
    MUST(qnn.graphRetrieve(c, i.name, &g));
    configure(g);
    MUST(qnn.graphFinalize(g, NULL, NULL));
    for (int k = 0; k < LPAI_N; k++)
        x[k] = (int8_t)(7 * k);
    Qnn_Tensor_t in = client_bind(i.in[0], x, LPAI_N), out = client_bind(i.out[0], y, LPAI_N);
    MUST(qnn.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    lpai_model_check(x, y);
    MUST(qnn.contextFree(c, NULL));
    MUST(sys.systemContextFree(reader));
    MUST(qnn.backendFree(backend));
    free(bin.data);
    dlclose(system_lib);
    dlclose(lib);
    return 0;
}
