/* SPDX-License-Identifier: Apache-2.0 */
/* How much persistent memory a graph needs. */
#include "seed_kit.h"

int main(void)
{
    struct seed s = seed_open();
    uint32_t size = UINT32_MAX;
    QnnLpaiGraph_CustomProperty_t custom = { QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE, &size };
    QnnGraph_Property_t property = { .option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM };
    property.customProperty = &custom;
    QnnGraph_Property_t *list[2] = { &property, NULL };
    MUST(QnnGraph_getProperty(s.graph, list));
    CHECK(size == 0); /* nothing in this model keeps a state */
    seed_close(&s);
    return 0;
}
