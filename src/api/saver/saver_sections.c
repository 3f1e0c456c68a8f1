/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of QnnContext.h about sections and pieces of a binary, and binaries that come through callbacks, as they are
 * recorded. */
#include "QNN/QnnContext.h"
#include "api/log.h"
#include "api/saver/saver.h"

/* ---- sections --------------------------------------------------------------------------------------------------------- */

static void section_of(struct saver_call *c, Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                       QnnContext_SectionType_t section)
{
    saver_on(c, HANDLE_CONTEXT, context);
    saver_maybe(c, HANDLE_GRAPH, graph);
    saver_arg(c, "%u", (unsigned)section);
}

static void buffer_arg(struct saver_call *c, enum saver_role role, const QnnContext_Buffer_t *b)
{
    if (b && b->version != QNN_CONTEXT_BUFFER_VERSION_1)
        saver_fail(c, ST_INVALID_ARG, "a buffer of version %u; 1 is known", (unsigned)b->version);
    c->role = role;
    saver_array_arg(c, &saver_context_buffer, b, b ? 1 : 0);
    c->role = ROLE_DEFINE;
}

Qnn_ErrorHandle_t QnnContext_getBinarySectionSize(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                                  QnnContext_SectionType_t section,
                                                  Qnn_ContextBinarySize_t *binaryBufferSize)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_getBinarySectionSize", COMP_CONTEXT);
    section_of(&c, context, graph, section);
    saver_need(&c, binaryBufferSize, "binaryBufferSize");
    saver_arg(&c, "&section_size");
    if (c.status == ST_OK)
        *binaryBufferSize = 0;
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnContext_getBinarySection(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                              QnnContext_SectionType_t section, const QnnContext_Buffer_t *binaryBuffer,
                                              Qnn_ContextBinarySize_t *writtenBufferSize, Qnn_ProfileHandle_t profile,
                                              Qnn_SignalHandle_t signal)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_getBinarySection", COMP_CONTEXT);
    section_of(&c, context, graph, section);
    saver_need(&c, binaryBuffer, "binaryBuffer");
    saver_need(&c, writtenBufferSize, "writtenBufferSize");
    buffer_arg(&c, ROLE_OUTPUT, binaryBuffer);
    str_add(&c.before, "    Qnn_ContextBinarySize_t written = 0;\n");
    str_addf(&c.after, "    keep_section(%u, a%u, written);\n", c.number, c.names);
    saver_arg(&c, "&written");
    saver_maybe(&c, HANDLE_PROFILE, profile);
    saver_maybe(&c, HANDLE_SIGNAL, signal);
    if (c.status == ST_OK)
        *writtenBufferSize = 0;
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnContext_applyBinarySection(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                                QnnContext_SectionType_t section, const QnnContext_Buffer_t *binaryBuffer,
                                                Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_applyBinarySection", COMP_CONTEXT);
    section_of(&c, context, graph, section);
    saver_need(&c, binaryBuffer, "binaryBuffer");
    buffer_arg(&c, ROLE_INPUT, binaryBuffer);
    saver_maybe(&c, HANDLE_PROFILE, profile);
    saver_maybe(&c, HANDLE_SIGNAL, signal);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnContext_getBinarySectionUpdate(const QnnContext_Buffer_t *binaryBuffer,
                                                    const QnnContext_Buffer_t *auxiliaryBuffer, const Qnn_Tensor_t **tensors,
                                                    uint64_t numTensors, uint8_t keepUpdatable, Qnn_LogHandle_t logger,
                                                    Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal,
                                                    QnnContext_Buffer_t *binarySectionUpdate)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_getBinarySectionUpdate", COMP_CONTEXT);
    saver_need(&c, binaryBuffer, "binaryBuffer");
    saver_need(&c, binarySectionUpdate, "binarySectionUpdate");
    buffer_arg(&c, ROLE_INPUT, binaryBuffer);
    buffer_arg(&c, ROLE_INPUT, auxiliaryBuffer);
    c.foreign_ids = true;
    saver_list_arg(&c, &saver_tensor, tensors, numTensors);
    saver_arg(&c, "%lluu, %u", (unsigned long long)numTensors, keepUpdatable);
    saver_maybe(&c, HANDLE_LOG, logger);
    saver_maybe(&c, HANDLE_PROFILE, profile);
    saver_maybe(&c, HANDLE_SIGNAL, signal);
    saver_arg(&c, "&section_update");
    str_addf(&c.after,
             "    keep(\"section\", %u, section_update.v1.binaryBuf.data, section_update.v1.binaryBuf.dataSize);\n",
             c.number);
    if (c.status == ST_OK)
        *binarySectionUpdate = (QnnContext_Buffer_t){ .version = QNN_CONTEXT_BUFFER_VERSION_1 };
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnContext_freeBinarySectionUpdate(QnnContext_Buffer_t binarySectionUpdate, Qnn_LogHandle_t logger)
{
    struct saver_call c;
    (void)binarySectionUpdate;
    saver_begin(&c, "QnnContext_freeBinarySectionUpdate", COMP_CONTEXT);
    saver_arg(&c, "section_update");
    saver_maybe(&c, HANDLE_LOG, logger);
    c.question = true;
    return saver_end(&c);
}

/* ---- pieces ----------------------------------------------------------------------------------------------------------- */

Qnn_ErrorHandle_t QnnContext_getIncrementalBinary(Qnn_ContextHandle_t context, const void **binaryBuffer,
                                                  Qnn_ContextBinarySize_t *startOffset,
                                                  Qnn_ContextBinarySize_t *writtenBufferSize)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_getIncrementalBinary", COMP_CONTEXT);
    saver_on(&c, HANDLE_CONTEXT, context);
    saver_need(&c, binaryBuffer, "binaryBuffer");
    saver_need(&c, startOffset, "startOffset");
    saver_need(&c, writtenBufferSize, "writtenBufferSize");
    str_add(&c.before, "    Qnn_ContextBinarySize_t written = 0;\n");
    saver_arg(&c, "&piece, &piece_offset, &written");
    str_addf(&c.after, "    keep(\"context\", %u, piece, written);\n", c.number);
    if (c.status == ST_OK)
        *binaryBuffer = NULL, *startOffset = 0, *writtenBufferSize = 0;
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnContext_releaseIncrementalBinary(Qnn_ContextHandle_t context, const void *binaryBuffer,
                                                      Qnn_ContextBinarySize_t startOffset)
{
    struct saver_call c;
    (void)binaryBuffer, (void)startOffset;
    saver_begin(&c, "QnnContext_releaseIncrementalBinary", COMP_CONTEXT);
    saver_on(&c, HANDLE_CONTEXT, context);
    saver_arg(&c, "piece, piece_offset");
    c.question = true;
    return saver_end(&c);
}

/* A DLC is an object of libQnnSystem.so, which records nothing. */
Qnn_ErrorHandle_t QnnContext_addToDlc(Qnn_ContextHandle_t context, QnnSystemDlc_Handle_t dlcHandle)
{
    (void)context, (void)dlcHandle;
    log_enter(NULL);
    return api_fail(COMP_CONTEXT, ST_NOT_SUPPORTED,
                    "QnnContext_addToDlc cannot be recorded; leave it out while calls are "
                    "recorded");
}

/* ---- binaries that come in parts: the program has all of them at once ------------------------------------------------- */

static Qnn_ErrorHandle_t fetch(const Qnn_ContextBinaryCallback_t *callback, Qnn_ContextBinarySize_t size,
                               Qnn_ContextBinaryRawDataResponse_t *ret)
{
    const Qnn_ContextBinaryRawBufferCallbackV1_t *cb = &callback->rawBufferCallback.v1;
    API_CHECK(callback->type == QNN_CONTEXT_CALLBACK_RAW_BUFFER &&
                  callback->rawBufferCallback.version == QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_1,
              COMP_CONTEXT, ST_NOT_SUPPORTED, "callback type %u is not supported; raw-buffer callbacks (version 1) are",
              (unsigned)callback->type);
    API_CHECK(cb->dataProvide && cb->dataRelease, COMP_CONTEXT, ST_INVALID_ARG,
              "the raw-buffer callbacks are not both given; dataProvide and dataRelease are needed");
    Qnn_ErrorHandle_t e = cb->dataProvide((Qnn_ContextBinaryDataRequest_t){ .size = size }, ret, cb->notifyParam);
    API_CHECK(e == QNN_SUCCESS && ret->memPtr, COMP_CONTEXT, ST_BAD_BINARY,
              "dataProvide returned %llu and %s for bytes 0 to %llu", (unsigned long long)e,
              ret->memPtr ? "a buffer" : "no buffer", (unsigned long long)size);
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnContext_createFromBinaryWithCallback(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                                          const QnnContext_Config_t **config,
                                                          const Qnn_ContextBinaryCallback_t *callback,
                                                          const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize,
                                                          Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile,
                                                          Qnn_SignalHandle_t signal)
{
    Qnn_ContextBinaryRawDataResponse_t got = { 0 };
    (void)binaryBuffer; /* the callbacks bring every byte */
    log_enter(NULL);
    API_CHECK(callback, COMP_CONTEXT, ST_INVALID_ARG, "callback is NULL; use QnnContext_createFromBinary without callbacks");
    Qnn_ErrorHandle_t e = fetch(callback, binaryBufferSize, &got);
    if (e != QNN_SUCCESS)
        return e;
    const Qnn_ContextBinaryRawBufferCallbackV1_t *cb = &callback->rawBufferCallback.v1;
    const char *bytes = (const char *)got.memPtr + got.dataStartOffset;
    e = QnnContext_createFromBinaryWithSignal(backend, device, config, bytes, binaryBufferSize, context, profile, signal);
    cb->dataRelease((Qnn_ContextBinaryRawDataMem_t){ got.memPtr, got.alignedSize }, cb->notifyParam);
    return e;
}
