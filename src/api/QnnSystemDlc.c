/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemDlc.h: DLC containers are not read or written yet. Arguments are checked as they will be; what is left is answered with
 * UNSUPPORTED_FEATURE. As nothing can be opened, no handle of a container or record is ever valid. */
#include "QNN/System/QnnSystemDlc.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/errors.h"
#include "api/log.h"
#include "base/handle.h"

static enum status check_out(Qnn_LogHandle_t logger, const void *out)
{
    RETURN_IF(!out, ST_INVALID_ARG, "dlcHandle is NULL; give a pointer that receives the handle");
    if (!logger)
        return ST_OK;
    void *log = handle_get(logger, HANDLE_LOG);
    RETURN_IF(!log, ST_INVALID_ARG, "the logger is %s; give one of QnnSystemLog_create, or NULL", handle_describe(logger, HANDLE_LOG));
    handle_put(logger);
    return ST_OK;
}

static enum status from_file(Qnn_LogHandle_t logger, const char *path, const void *out)
{
    TRY(check_out(logger, out));
    RETURN_IF(!path, ST_INVALID_ARG, "dlcPath is NULL; give the path of a DLC");
    RETURN_IF(access(path, R_OK) != 0, ST_IO, "\"%s\" cannot be read: %s", path, strerror(errno));
    return status_fail(ST_NOT_SUPPORTED, "\"%s\": this library does not read DLC files yet; use a context binary or a model library", path);
}

static enum status from_binary(Qnn_LogHandle_t logger, const uint8_t *buffer, Qnn_ContextBinarySize_t size, const void *out)
{
    TRY(check_out(logger, out));
    RETURN_IF(!buffer || size == 0, ST_INVALID_ARG, "the buffer is %s and has %llu bytes; give the bytes of a DLC", buffer ? "given" : "NULL",
              (unsigned long long)size);
    return status_fail(ST_NOT_SUPPORTED, "this library does not read DLC data yet; use a context binary or a model library");
}

/* Functions on a container or record: the handle is wrong in one way or another. */
static Qnn_ErrorHandle_t refuse(const char *what, const void *handle)
{
    log_enter(NULL);
    return api_fail(COMP_SYSTEM, ST_INVALID_HANDLE, "the %s handle is %s; this library does not open DLC containers yet", what,
                    handle_describe(handle, HANDLE_SYSTEM_DLC));
}

Qnn_ErrorHandle_t QnnSystemDlc_createFromFile(Qnn_LogHandle_t logger, const char *dlcPath, QnnSystemDlc_Handle_t *dlcHandle)
{
    log_enter(logger);
    return api_error(COMP_SYSTEM, from_file(logger, dlcPath, dlcHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_createFromFileWithDestinationDir(Qnn_LogHandle_t logger, const char *dlcPath,
                                                                const char *destinationDirectoryHint, QnnSystemDlc_Handle_t *dlcHandle)
{
    (void)destinationDirectoryHint;
    log_enter(logger);
    return api_error(COMP_SYSTEM, from_file(logger, dlcPath, dlcHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_createFromBinary(Qnn_LogHandle_t logger, const uint8_t *buffer, const Qnn_ContextBinarySize_t bufferSize,
                                                QnnSystemDlc_Handle_t *dlcHandle)
{
    log_enter(logger);
    return api_error(COMP_SYSTEM, from_binary(logger, buffer, bufferSize, dlcHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_createFromBinaryWithDestinationDir(Qnn_LogHandle_t logger, const uint8_t *buffer,
                                                                  const Qnn_ContextBinarySize_t bufferSize,
                                                                  const char *destinationDirectoryHint, QnnSystemDlc_Handle_t *dlcHandle)
{
    (void)destinationDirectoryHint;
    log_enter(logger);
    return api_error(COMP_SYSTEM, from_binary(logger, buffer, bufferSize, dlcHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_createWithDestinationDir(Qnn_LogHandle_t logger, const char *destinationDirectoryHint,
                                                        QnnSystemDlc_Handle_t *dlcHandle)
{
    (void)destinationDirectoryHint;
    log_enter(logger);
    enum status st = check_out(logger, dlcHandle);
    if (st != ST_OK)
        return api_error(COMP_SYSTEM, st);
    return api_fail(COMP_SYSTEM, ST_NOT_SUPPORTED, "this library does not write DLC containers yet; save a context binary instead");
}

Qnn_ErrorHandle_t QnnSystemDlc_composeGraphs(QnnSystemDlc_Handle_t dlcHandle, const QnnSystemDlc_GraphConfigInfo_t **graphConfigs,
                                             const uint32_t numGraphConfigs, Qnn_BackendHandle_t backend, Qnn_ContextHandle_t context,
                                             QnnInterface_t backendInterface, QnnSystemContext_GraphInfoVersion_t graphVersion,
                                             QnnSystemContext_GraphInfo_t **graphs, uint32_t *numGraphs)
{
    (void)graphConfigs, (void)numGraphConfigs, (void)backend, (void)context, (void)backendInterface, (void)graphVersion;
    (void)graphs, (void)numGraphs;
    return refuse("DLC", dlcHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_getOpMappings(QnnSystemDlc_Handle_t dlcHandle, const Qnn_OpMapping_t **opMappings, uint32_t *numOpMappings)
{
    (void)opMappings, (void)numOpMappings;
    return refuse("DLC", dlcHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_getRecordByName(QnnSystemDlc_Handle_t dlcHandle, const char *recordName,
                                               QnnSystemDlc_RecordHandle_t *recordHandle)
{
    (void)recordName, (void)recordHandle;
    return refuse("DLC", dlcHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_getRecordsByType(QnnSystemDlc_Handle_t dlcHandle, QnnSystemDlc_RecordType_t recordType,
                                                uint8_t getMostOptimalContextBinary, QnnSystemDlc_RecordHandle_t **recordHandles,
                                                uint32_t *numRecordHandles)
{
    (void)recordType, (void)getMostOptimalContextBinary, (void)recordHandles, (void)numRecordHandles;
    return refuse("DLC", dlcHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_getRecordDataSize(QnnSystemDlc_RecordHandle_t recordHandle, uint64_t *dataSize)
{
    (void)dataSize;
    return refuse("DLC record", recordHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_readRecordDataMemoryMapped(QnnSystemDlc_RecordHandle_t recordHandle, const uint8_t **data,
                                                          uint64_t *dataSize)
{
    (void)data, (void)dataSize;
    return refuse("DLC record", recordHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_freeRecord(QnnSystemDlc_RecordHandle_t recordHandle)
{
    return refuse("DLC record", recordHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_free(QnnSystemDlc_Handle_t dlcHandle)
{
    return refuse("DLC", dlcHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_save(QnnSystemDlc_Handle_t dlcHandle, const char *path)
{
    (void)path;
    return refuse("DLC", dlcHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_getBinarySize(QnnSystemDlc_Handle_t dlcHandle, Qnn_SystemDlcBinarySize_t *binaryBufferSize)
{
    (void)binaryBufferSize;
    return refuse("DLC", dlcHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_getBinary(QnnSystemDlc_Handle_t dlcHandle, uint8_t *binaryBuffer,
                                         Qnn_SystemDlcBinarySize_t binaryBufferSize, Qnn_SystemDlcBinarySize_t *writtenBufferSize)
{
    (void)binaryBuffer, (void)binaryBufferSize, (void)writtenBufferSize;
    return refuse("DLC", dlcHandle);
}
