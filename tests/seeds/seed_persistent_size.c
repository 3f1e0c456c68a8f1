/* SPDX-License-Identifier: Apache-2.0 */
/* How much persistent memory a graph needs: room for what it remembers, none when it remembers nothing. */
#include "seed_kit.h"

static uint32_t ask(Qnn_GraphHandle_t graphHandle)
{
    uint32_t size = UINT32_MAX, *persistentSize = &size;
    QnnLpaiGraph_CustomProperty_t customGraphProp;
    customGraphProp.option = QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE;
    customGraphProp.property = persistentSize;

    QnnGraph_Property_t graphProp;
    graphProp.option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM;
    graphProp.customProperty = &customGraphProp;

    QnnGraph_Property_t *graphPropPtrs[2] = { 0 };
    graphPropPtrs[0] = &graphProp;
    MUST(QnnGraph_getProperty(graphHandle, graphPropPtrs));
    return size;
}

int main(void)
{
    struct seed without = seed_open(), with = seed_open_streaming();
    CHECK(ask(without.graph) == 0);
    uint32_t size = ask(with.graph);
    CHECK(size >= (SEED_FRAMES - 1) * SEED_IN && size % 64 == 0);
    seed_close(&without);
    seed_close(&with);
    return 0;
}
