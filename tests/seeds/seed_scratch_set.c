/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory: allocated by the client, given to the graph, replaced between executions. */
#include "seed_kit.h"

static void give(Qnn_GraphHandle_t graph, void *buffer, uint32_t size)
{
    QnnLpaiGraph_Mem_t mem = { .memType = QNN_LPAI_MEM_TYPE_DDR, .size = size, .addr = buffer };
    QnnLpaiGraph_CustomConfig_t custom = { .option = QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, .config = &mem };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM };
    config.customConfig = &custom;
    QnnGraph_Config_t *list[2] = { &config, NULL };
    MUST(QnnGraph_setConfig(graph, (const QnnGraph_Config_t **)list));
}

int main(void)
{
    struct seed s = seed_open();
    uint32_t size = 0;
    QnnLpaiGraph_CustomProperty_t custom = { QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE, &size };
    QnnGraph_Property_t property = { .option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM };
    property.customProperty = &custom;
    QnnGraph_Property_t *list[2] = { &property, NULL };
    MUST(QnnGraph_getProperty(s.graph, list));
    void *first = seed_alloc(64, 64, size), *second = seed_alloc(64, 64, size);
    give(s.graph, first, size);
    seed_finalize_and_run(&s, first);
    give(s.graph, second, size);
    free(first);
    seed_finalize_and_run(&s, NULL);
    seed_close(&s);
    free(second);
    return 0;
}
