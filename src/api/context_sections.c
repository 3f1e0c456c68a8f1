/* SPDX-License-Identifier: Apache-2.0 */
/* QnnContext.h, the part about sections, pieces and DLC records of a binary: no backend has these features yet. Arguments
 * are checked first, so that a wrong call gets its own error. */
#include "QNN/QnnContext.h"
#include "api/objects.h"

static Qnn_ErrorHandle_t refuse(Qnn_ContextHandle_t context, const char *call, const char *instead)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_CONTEXT);
    log_enter(c->log);
    return api_fail(COMP_CONTEXT, ST_NOT_SUPPORTED, "%s is not supported by the %s backend; %s", call, backend_this->name,
                    instead);
}

Qnn_ErrorHandle_t QnnContext_getBinarySectionSize(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                                  QnnContext_SectionType_t section,
                                                  Qnn_ContextBinarySize_t *binaryBufferSize)
{
    (void)graph, (void)section, (void)binaryBufferSize;
    return refuse(context, "QnnContext_getBinarySectionSize", "save the whole binary");
}

Qnn_ErrorHandle_t QnnContext_getBinarySection(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                              QnnContext_SectionType_t section, const QnnContext_Buffer_t *binaryBuffer,
                                              Qnn_ContextBinarySize_t *writtenBufferSize, Qnn_ProfileHandle_t profile,
                                              Qnn_SignalHandle_t signal)
{
    (void)graph, (void)section, (void)binaryBuffer, (void)writtenBufferSize, (void)profile, (void)signal;
    return refuse(context, "QnnContext_getBinarySection", "save the whole binary");
}

Qnn_ErrorHandle_t QnnContext_applyBinarySection(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                                QnnContext_SectionType_t section, const QnnContext_Buffer_t *binaryBuffer,
                                                Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal)
{
    (void)graph, (void)section, (void)binaryBuffer, (void)profile, (void)signal;
    return refuse(context, "QnnContext_applyBinarySection", "load a whole binary");
}

Qnn_ErrorHandle_t QnnContext_getBinarySectionUpdate(const QnnContext_Buffer_t *binaryBuffer,
                                                    const QnnContext_Buffer_t *auxiliaryBuffer, const Qnn_Tensor_t **tensors,
                                                    uint64_t numTensors, uint8_t keepUpdatable, Qnn_LogHandle_t logger,
                                                    Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal,
                                                    QnnContext_Buffer_t *binarySectionUpdate)
{
    (void)auxiliaryBuffer, (void)keepUpdatable, (void)profile, (void)signal;
    log_enter(logger);
    API_CHECK(binaryBuffer && tensors && numTensors && binarySectionUpdate, COMP_CONTEXT, ST_INVALID_ARG,
              "a buffer or the list of tensors is missing");
    return api_fail(COMP_CONTEXT, ST_NOT_SUPPORTED, "QnnContext_getBinarySectionUpdate is not supported by the %s backend",
                    backend_this->name);
}

Qnn_ErrorHandle_t QnnContext_freeBinarySectionUpdate(QnnContext_Buffer_t binarySectionUpdate, Qnn_LogHandle_t logger)
{
    (void)binarySectionUpdate;
    log_enter(logger);
    return api_fail(COMP_CONTEXT, ST_NOT_SUPPORTED, "QnnContext_freeBinarySectionUpdate is not supported by the %s backend",
                    backend_this->name);
}

Qnn_ErrorHandle_t QnnContext_getIncrementalBinary(Qnn_ContextHandle_t context, const void **binaryBuffer,
                                                  Qnn_ContextBinarySize_t *startOffset,
                                                  Qnn_ContextBinarySize_t *writtenBufferSize)
{
    (void)binaryBuffer, (void)startOffset, (void)writtenBufferSize;
    return refuse(context, "QnnContext_getIncrementalBinary", "use QnnContext_getBinary");
}

Qnn_ErrorHandle_t QnnContext_releaseIncrementalBinary(Qnn_ContextHandle_t context, const void *binaryBuffer,
                                                      Qnn_ContextBinarySize_t startOffset)
{
    (void)binaryBuffer, (void)startOffset;
    return refuse(context, "QnnContext_releaseIncrementalBinary", "use QnnContext_getBinary");
}

Qnn_ErrorHandle_t QnnContext_addToDlc(Qnn_ContextHandle_t context, QnnSystemDlc_Handle_t dlcHandle)
{
    (void)dlcHandle;
    return refuse(context, "QnnContext_addToDlc", "save the binary to its own file");
}
