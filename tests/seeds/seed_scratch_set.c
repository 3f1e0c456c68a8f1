/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory: allocated by the client, given to the graph, replaced between executions. */
#include "seed_kit.h"

static void give(Qnn_GraphHandle_t graphHandle, QnnLpaiMem_MemType_t memType, void *scratchBuffer, uint32_t scratchSize)
{
    QnnLpaiGraph_Mem_t lpaiGraphMem;
    lpaiGraphMem.memType = memType;
    lpaiGraphMem.size = scratchSize;
    lpaiGraphMem.addr = scratchBuffer;

    QnnLpaiGraph_CustomConfig_t customGraphCfg;
    customGraphCfg.option = QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM;
    customGraphCfg.config = &lpaiGraphMem;

    QnnGraph_Config_t graphConfig;
    graphConfig.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM;
    graphConfig.customConfig = &customGraphCfg;

    QnnGraph_Config_t *graphCfgPtrs[2] = { 0 };
    graphCfgPtrs[0] = &graphConfig;
    MUST(QnnGraph_setConfig(graphHandle, (const QnnGraph_Config_t **)graphCfgPtrs));
}

int main(void)
{
    struct seed s = seed_open();
    uint32_t size = seed_size(s.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE);
    void *first = seed_alloc(64, 64, size), *second = seed_alloc(64, 64, size);
    give(s.graph, QNN_LPAI_MEM_TYPE_DDR, first, size);
    seed_finalize_and_run(&s, first);
    give(s.graph, QNN_LPAI_MEM_TYPE_DDR, second, size);
    free(first);
    seed_finalize_and_run(&s, NULL);
    seed_close(&s);
    free(second);
    return 0;
}
