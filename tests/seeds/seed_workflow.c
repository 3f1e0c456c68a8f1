/* SPDX-License-Identifier: Apache-2.0 */
/* The recommended workflow from end to end: alignment, both sizes, aligned buffers, setConfig, finalize, buffers for inputs
 * and outputs, execute. */
#include "seed_kit.h"

static uint32_t start_align, size_align;

static uint32_t bytes_of(const Qnn_TensorV1_t *t)
{
    uint32_t n = 1; /* one byte per element */
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dimensions[i];
    return n;
}

static void allocate(Qnn_Tensor_t *tensors, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bytes = bytes_of(&tensors[i].v1);
        tensors[i].v1.memType = QNN_TENSORMEMTYPE_RAW;
        tensors[i].v1.clientBuf.data = seed_alloc(start_align, size_align, bytes);
        tensors[i].v1.clientBuf.dataSize = bytes;
    }
}

static void ask_alignment(Qnn_BackendHandle_t backend)
{
    QnnLpaiBackend_BufferAlignmentReq_t req;
    QnnLpaiBackend_CustomProperty_t custom = { QNN_LPAI_BACKEND_GET_PROP_ALIGNMENT_REQ, &req };
    QnnBackend_Property_t property = { .option = QNN_BACKEND_PROPERTY_OPTION_CUSTOM };
    property.customProperty = &custom;
    QnnBackend_Property_t *list[2] = { &property, NULL };
    MUST(QnnBackend_getProperty(backend, list));
    start_align = req.startAddrAlignment;
    size_align = req.sizeAlignment;
}

static void *provide(Qnn_GraphHandle_t graph, uint32_t size_option, uint32_t mem_option)
{
    uint32_t size = 0;
    QnnLpaiGraph_CustomProperty_t ask = { size_option, &size };
    QnnGraph_Property_t property = { .option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM };
    property.customProperty = &ask;
    QnnGraph_Property_t *properties[2] = { &property, NULL };
    MUST(QnnGraph_getProperty(graph, properties));
    QnnLpaiGraph_Mem_t mem = { QNN_LPAI_MEM_TYPE_DDR, size, seed_alloc(start_align, size_align, size) };
    QnnLpaiGraph_CustomConfig_t custom = { mem_option, &mem };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM };
    config.customConfig = &custom;
    const QnnGraph_Config_t *configs[2] = { &config, NULL };
    MUST(QnnGraph_setConfig(graph, configs));
    return mem.addr;
}

int main(void)
{
    struct seed s = seed_open();
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextBinarySize_t info_size = 0;
    MUST(QnnSystemContext_create(&reader));
    MUST(QnnSystemContext_getBinaryInfo(reader, s.binary, s.binary_size, &info, &info_size));
    QnnSystemContext_GraphInfoV1_t *graph = &info->contextBinaryInfoV1.graphs[0].graphInfoV1;
    ask_alignment(s.backend);
    void *scratch = provide(s.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM);
    void *persistent = provide(s.graph, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM);
    MUST(QnnGraph_finalize(s.graph, NULL, NULL));
    allocate(graph->graphInputs, graph->numGraphInputs);
    allocate(graph->graphOutputs, graph->numGraphOutputs);
    uint8_t *x = graph->graphInputs[0].v1.clientBuf.data, *y = graph->graphOutputs[0].v1.clientBuf.data;
    for (int frame = 0; frame < 50; frame++) {
        memset(x, 10 + frame, SEED_IN);
        MUST(QnnGraph_execute(s.graph, graph->graphInputs, graph->numGraphInputs, graph->graphOutputs,
                              graph->numGraphOutputs, NULL, NULL));
        CHECK(y[0] == 10 + 2 * frame && y[SEED_OUT - 1] == y[0]);
    }
    MUST(QnnSystemContext_free(reader));
    seed_close(&s);
    free(x);
    free(y);
    free(scratch);
    free(persistent);
    return 0;
}
