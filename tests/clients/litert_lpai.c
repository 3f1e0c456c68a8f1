/* SPDX-License-Identifier: Apache-2.0 */
/* LiteRT's LPAI path: HW_INFO for every target, no device (creating one is refused), PREPARE given with graphCreate, tensors
 * of version 2; then the binary is loaded, performance and affinity are set on the retrieved graph, and it is finalized
 * again. */
#include <dlfcn.h>

#include "lpai_model.h"

static struct client_binary compile(QnnLpaiBackend_Target_t target, QnnLpaiBackend_HwVersion_t version)
{
    Qnn_BackendHandle_t b = lpai_backend(target, version);
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    const QnnContext_Config_t *none[] = { NULL };
    QnnLpaiGraph_CustomConfigPrepare_t prepare = QNN_LPAI_GRAPH_CUSTOM_CONFIG_PREPARE_INIT;
    QnnLpaiGraph_CustomConfig_t custom = { QNN_LPAI_GRAPH_SET_CFG_PREPARE, &prepare };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnGraph_Config_t *list[] = { &config, NULL };
    MUST(qnn.contextCreate(b, NULL, none, &c));
    MUST(qnn.graphCreate(c, "qnn_partition_0", list, &g));
    lpai_model_add(g, 2, b);
    MUST(qnn.graphFinalize(g, NULL, NULL));
    struct client_binary bin = client_save(c);
    MUST(qnn.contextFree(c, NULL));
    MUST(qnn.backendFree(b));
    return bin;
}

static void run(const struct client_binary *bin, QnnLpaiBackend_Target_t target, QnnLpaiBackend_HwVersion_t version)
{
    static _Alignas(64) int8_t x[64], y[64];
    Qnn_BackendHandle_t b = lpai_backend(target, version);
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info;
    uint64_t size;
    QnnContext_Config_t keep = { .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1 };
    const QnnContext_Config_t *list[] = { &keep, NULL };
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetBinaryInfo(reader, bin->data, bin->size, &info, &size));
    struct client_graph_info i = client_first_graph(info);
    MUST(qnn.contextCreateFromBinary(b, NULL, list, bin->data, bin->size, &c, NULL));
    MUST(qnn.graphRetrieve(c, i.name, &g));
    void *scratch = lpai_pool(g, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM);
    void *state = lpai_pool(g, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM);
    QnnLpaiGraph_PerfCfg_t perf = QNN_LPAI_GRAPH_PERF_CFG_INIT;
    QnnLpaiGraph_CoreAffinity_t affinity = QNN_LPAI_GRAPH_CORE_AFFINITY_INIT;
    MUST(lpai_graph_config(g, QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, &perf));
    MUST(lpai_graph_config(g, QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY, &affinity));
    MUST(qnn.graphFinalize(g, NULL, NULL));
    for (int k = 0; k < LPAI_N; k++)
        x[k] = (int8_t)(k * 3 - 60);
    Qnn_Tensor_t in = client_bind(i.in[0], x, LPAI_N), out = client_bind(i.out[0], y, LPAI_N);
    MUST(qnn.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    lpai_model_check(x, y);
    MUST(qnn.contextFree(c, NULL));
    MUST(qnn.backendFree(b));
    MUST(sys.systemContextFree(reader));
    free(scratch);
    free(state);
}

int main(void)
{
    static const QnnLpaiBackend_Target_t targets[] = { QNN_LPAI_BACKEND_TARGET_X86, QNN_LPAI_BACKEND_TARGET_ARM,
                                                       QNN_LPAI_BACKEND_TARGET_ADSP };
    static const QnnLpaiBackend_HwVersion_t versions[] = { QNN_LPAI_BACKEND_HW_VERSION_V5, QNN_LPAI_BACKEND_HW_VERSION_V6 };
    void *lib = client_open("libQnnLpai.so", RTLD_LAZY), *system_lib = client_open("libQnnSystem.so", RTLD_LAZY);
    const QnnInterface_t *p = client_provider(lib, ONLY_ONE);
    client_system_provider(system_lib, ONLY_ONE);
    CHECK(p->apiVersion.backendApiVersion.major == QNN_LPAI_API_VERSION_MAJOR &&
          p->apiVersion.backendApiVersion.minor >= QNN_LPAI_API_VERSION_MINOR);
    Qnn_DeviceHandle_t device = NULL;
    CHECK(qnn.deviceCreate(NULL, NULL, &device) != QNN_SUCCESS);
    for (unsigned v = 0; v < COUNT(versions); v++)
        for (unsigned t = 0; t < COUNT(targets); t++) {
            struct client_binary bin = compile(targets[t], versions[v]);
            run(&bin, targets[t], versions[v]);
            free(bin.data);
        }
    dlclose(system_lib);
    dlclose(lib);
    return 0;
}
