/* SPDX-License-Identifier: Apache-2.0 */
/* The alignment that buffers must have, asked from the backend. */
#include "seed_kit.h"

static Qnn_ErrorHandle_t ask(Qnn_BackendHandle_t backendHandle, uint32_t *startAddrAlignment, uint32_t *sizeAlignment)
{
    QnnLpaiBackend_BufferAlignmentReq_t bufferAlignmentReq;

    QnnLpaiBackend_CustomProperty_t customBackendProp;
    customBackendProp.option = QNN_LPAI_BACKEND_GET_PROP_ALIGNMENT_REQ;
    customBackendProp.property = &bufferAlignmentReq;

    QnnBackend_Property_t backendProp;
    backendProp.option = QNN_BACKEND_PROPERTY_OPTION_CUSTOM;
    backendProp.customProperty = &customBackendProp;

    QnnBackend_Property_t *backendPropPtrs[2] = { 0 };
    backendPropPtrs[0] = &backendProp;
    Qnn_ErrorHandle_t error = QnnBackend_getProperty(backendHandle, backendPropPtrs);
    if (!error) {
        *startAddrAlignment = bufferAlignmentReq.startAddrAlignment;
        *sizeAlignment = bufferAlignmentReq.sizeAlignment;
    }
    return error;
}

int main(void)
{
    struct seed s = seed_open();
    uint32_t start = 0, size = 0;
    MUST(ask(s.backend, &start, &size));
    CHECK(start > 0 && start <= 256 && (start & (start - 1)) == 0 && size > 0);
    seed_close(&s);
    return 0;
}
