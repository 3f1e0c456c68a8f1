/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent memory: given before the graph is finalized, kept until the context is freed. */
#include "seed_kit.h"

static void give(Qnn_GraphHandle_t graph, uint32_t option, void *buffer, uint32_t size)
{
    QnnLpaiGraph_Mem_t mem = { .memType = QNN_LPAI_MEM_TYPE_DDR, .size = size, .addr = buffer };
    QnnLpaiGraph_CustomConfig_t custom = { .option = option, .config = &mem };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM };
    config.customConfig = &custom;
    QnnGraph_Config_t *list[2] = { &config, NULL };
    MUST(QnnGraph_setConfig(graph, (const QnnGraph_Config_t **)list));
}

static uint32_t size_of(Qnn_GraphHandle_t graph, uint32_t option)
{
    uint32_t size = 0;
    QnnLpaiGraph_CustomProperty_t custom = { option, &size };
    QnnGraph_Property_t property = { .option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM };
    property.customProperty = &custom;
    QnnGraph_Property_t *list[2] = { &property, NULL };
    MUST(QnnGraph_getProperty(graph, list));
    return size;
}

int main(void)
{
    struct seed s = seed_open();
    uint32_t scratch_size = size_of(s.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE);
    uint32_t persistent_size = size_of(s.graph, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE);
    void *scratch = seed_alloc(64, 64, scratch_size), *persistent = seed_alloc(64, 64, persistent_size);
    give(s.graph, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM, persistent, persistent_size);
    give(s.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, scratch, scratch_size);
    seed_finalize_and_run(&s, scratch);
    seed_close(&s);
    free(scratch);
    free(persistent);
    return 0;
}
