/* SPDX-License-Identifier: Apache-2.0 */
/* How much scratch memory a graph needs. */
#include "seed_kit.h"

int main(void)
{
    struct seed s = seed_open();
    uint32_t size = UINT32_MAX, *scratchSize = &size;
    QnnLpaiGraph_CustomProperty_t customGraphProp;
    customGraphProp.option = QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE;
    customGraphProp.property = scratchSize;

    QnnGraph_Property_t graphProp;
    graphProp.option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM;
    graphProp.customProperty = &customGraphProp;

    QnnGraph_Property_t *graphPropPtrs[2] = { 0 };
    graphPropPtrs[0] = &graphProp;
    MUST(QnnGraph_getProperty(s.graph, graphPropPtrs));
    CHECK(size > 0 && size % 64 == 0);
    seed_close(&s);
    return 0;
}
