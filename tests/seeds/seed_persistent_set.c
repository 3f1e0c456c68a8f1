/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent memory: given before the graph is finalized, kept until the context is freed, the same while scratch is
 * replaced. */
#include "seed_kit.h"

int main(void)
{
    struct seed s = seed_open_streaming();
    uint32_t scratchSize = seed_size(s.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE);
    uint32_t persistentSize = seed_size(s.graph, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE);
    void *scratchBuffer = seed_alloc(64, 64, scratchSize), *another = seed_alloc(64, 64, scratchSize);
    void *persistentBuffer = seed_alloc(64, 64, persistentSize);
    QnnLpaiMem_MemType_t memType = QNN_LPAI_MEM_TYPE_DDR;

    QnnLpaiGraph_Mem_t lpaiGraphMem;
    lpaiGraphMem.memType = memType;
    lpaiGraphMem.size = persistentSize;
    lpaiGraphMem.addr = persistentBuffer;

    QnnLpaiGraph_CustomConfig_t customGraphCfg;
    customGraphCfg.option = QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM;
    customGraphCfg.config = &lpaiGraphMem;

    QnnGraph_Config_t graphConfig;
    graphConfig.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM;
    graphConfig.customConfig = &customGraphCfg;

    QnnGraph_Config_t *graphCfgPtrs[2] = { 0 };
    graphCfgPtrs[0] = &graphConfig;
    MUST(QnnGraph_setConfig(s.graph, (const QnnGraph_Config_t **)graphCfgPtrs));

    seed_give(s.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, scratchBuffer, scratchSize);
    MUST(QnnGraph_finalize(s.graph, NULL, NULL));
    static _Alignas(64) uint8_t x[SEED_IN], y[SEED_FRAMES * SEED_IN];
    Qnn_Tensor_t in = QNN_TENSOR_INIT, out = QNN_TENSOR_INIT;
    in.v1.id = 1;
    in.v1.clientBuf = (Qnn_ClientBuffer_t){ x, sizeof x };
    out.v1.id = 2;
    out.v1.clientBuf = (Qnn_ClientBuffer_t){ y, sizeof y };
    for (int frame = 0; frame < 20; frame++) {
        memset(x, frame, sizeof x);
        Qnn_ErrorHandle_t error = QnnGraph_execute(s.graph, &in, 1, &out, 1, NULL, NULL);
        CHECK(QNN_GET_ERROR_CODE(error) == (frame < SEED_FRAMES - 1 ? QNN_GRAPH_ERROR_EARLY_TERMINATION : QNN_SUCCESS));
        for (int i = 0; error == QNN_SUCCESS && i < SEED_FRAMES; i++)
            CHECK(y[i * SEED_IN] == frame - SEED_FRAMES + 1 + i);
        if (scratchSize)
            seed_give(s.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, frame % 2 ? scratchBuffer : another, scratchSize);
    }
    seed_close(&s);
    free(scratchBuffer);
    free(another);
    free(persistentBuffer);
    return 0;
}
