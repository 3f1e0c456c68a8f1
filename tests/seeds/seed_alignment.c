/* SPDX-License-Identifier: Apache-2.0 */
/* The alignment that buffers must have, asked from the backend. */
#include "seed_kit.h"

int main(void)
{
    struct seed s = seed_open();
    QnnLpaiBackend_BufferAlignmentReq_t req = QNN_LPAI_BACKEND_ALIGNMENT_REQ_INIT;
    QnnLpaiBackend_CustomProperty_t custom = { QNN_LPAI_BACKEND_GET_PROP_ALIGNMENT_REQ, &req };
    QnnBackend_Property_t property = { .option = QNN_BACKEND_PROPERTY_OPTION_CUSTOM };
    property.customProperty = &custom;
    QnnBackend_Property_t *list[2] = { &property, NULL };
    MUST(QnnBackend_getProperty(s.backend, list));
    CHECK(req.startAddrAlignment > 0 && req.startAddrAlignment <= 256 && req.sizeAlignment > 0);
    seed_close(&s);
    return 0;
}
