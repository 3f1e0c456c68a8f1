/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemDlc.h: DLC files, containers of models and what was compiled from them.
 * Open or create a container, build its graphs in a context or read its records, save it, free it.
 * Functions with a destination directory put temporary data there. */
#ifndef OPENQNN_QNNSYSTEMDLC_H
#define OPENQNN_QNNSYSTEMDLC_H

#include <stdint.h>

#include "../QnnCommon.h"
#include "../QnnGraph.h"
#include "../QnnInterface.h"
#include "../QnnTypes.h"
#include "QnnSystemCommon.h"
#include "QnnSystemContext.h"
#include "QnnSystemLog.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of QnnSystemDlc functions. */
typedef enum {
    QNN_SYSTEM_DLC_MINERROR                  = QNN_MIN_ERROR_SYSTEM,
    QNN_SYSTEM_DLC_NO_ERROR                  = QNN_SUCCESS,
    QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE      = QNN_MIN_ERROR_SYSTEM,
    QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT    = QNN_MIN_ERROR_SYSTEM + 1,
    QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED    = QNN_MIN_ERROR_SYSTEM + 2,
    QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY    = QNN_MIN_ERROR_SYSTEM + 10,
    QNN_SYSTEM_DLC_MAXERROR                  = QNN_MAX_ERROR_SYSTEM
} QnnSystemDlc_Error_t;

/* Settings for one graph, found by its name. */
typedef struct {
    const char *graphName;
    const QnnGraph_Config_t **graphConfigs;
    uint32_t numConfigs;
} QnnSystemDlc_GraphConfigInfoV1_t;

/* Versions of QnnSystemDlc_GraphConfigInfo_t. */
typedef enum {
    QNN_SYSTEM_DLC_GRAPH_CONFIG_INFO_VERSION_1 = 1,
    QNN_SYSTEM_DLC_GRAPH_CONFIG_INFO_UNDEFINED = 0x7FFFFFFF
} QnnSystemContext_GraphConfigInfoVersion_t;

/* Versioned settings for a graph. */
typedef struct {
    QnnSystemContext_GraphConfigInfoVersion_t version;
    union {
        QnnSystemDlc_GraphConfigInfoV1_t v1;
    };
} QnnSystemDlc_GraphConfigInfo_t;

/* What a record of a DLC holds. */
typedef enum {
    QNN_SYSTEM_DLC_RECORD_TYPE_DLC_METADATA                       = 1,
    QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_TOPOLOGY                     = 2,
    QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_PARAMS                       = 3,
    QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_RAW_WIEGHTS                  = 4,
    QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_ENCODINGS                    = 5,
    QNN_SYSTEM_DLC_RECORD_TYPE_LORA_CONVERTER_METADATA            = 6,
    QNN_SYSTEM_DLC_RECORD_PREFIX_HTP_CACHE_RECORD                 = 7,
    QNN_SYSTEM_DLC_RECORD_PREFIX_AIP_CACHE_RECORD                 = 8,
    QNN_SYSTEM_DLC_RECORD_PREFIX_HTA_CACHE_RECORD                 = 9,
    QNN_SYSTEM_DLC_RECORD_PREFIX_AIX_CACHE_RECORD                 = 10,
    QNN_SYSTEM_DLC_RECORD_PREFIX_GPU_CACHE_RECORD                 = 11,
    QNN_SYSTEM_DLC_RECORD_PREFIX_HEXNNV2_CACHE_RECORD             = 12,
    QNN_SYSTEM_DLC_RECORD_TYPE_SOURCE_MAPPING                     = 13,
    QNN_SYSTEM_DLC_RECORD_TYPE_SOURCE_TOPOLOGY                    = 14,
    QNN_SYSTEM_DLC_RECORD_TYPE_HTP_SCHEMATIC_BIN                  = 15,
    QNN_SYSTEM_DLC_RECORD_TYPE_HTP_GRAPH_MAPPING                  = 16,
    QNN_SYSTEM_DLC_RECORD_TYPE_GENAI_METADATA                     = 17,
    QNN_SYSTEM_DLC_RECORD_TYPE_GENAI_ARTIFACT                     = 18,
    QNN_SYSTEM_DLC_RECORD_TYPE_HTP_SHARED_WEIGHTS_RECORD          = 19,
    QNN_SYSTEM_DLC_RECORD_TYPE_HTP_SHARED_WEIGHTS_METADATA_RECORD = 20,
    QNN_SYSTEM_DLC_RECORD_NAME_UNKNOWN                            = 0x7FFFFFFF
} QnnSystemDlc_RecordType_t;

/* A record of a DLC. */
typedef void *QnnSystemDlc_RecordHandle_t;

/* Opens a DLC file. Errors: INVALID_ARGUMENT, OPERATION_FAILED, MALFORMED_BINARY. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_createFromFile(Qnn_LogHandle_t logger, const char *dlcPath,
                                                      QnnSystemDlc_Handle_t *dlcHandle);

/* As createFromFile, with a directory for temporary data. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_createFromFileWithDestinationDir(
    Qnn_LogHandle_t logger, const char *dlcPath, const char *destinationDirectoryHint,
    QnnSystemDlc_Handle_t *dlcHandle);

/* Opens a DLC in memory; the buffer stays the caller's and must live as long as the handle. Errors:
 * as createFromFile. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_createFromBinary(Qnn_LogHandle_t logger,
                                                        const uint8_t *buffer,
                                                        const Qnn_ContextBinarySize_t bufferSize,
                                                        QnnSystemDlc_Handle_t *dlcHandle);

/* As createFromBinary, with a directory for temporary data. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_createFromBinaryWithDestinationDir(
    Qnn_LogHandle_t logger, const uint8_t *buffer, const Qnn_ContextBinarySize_t bufferSize,
    const char *destinationDirectoryHint, QnnSystemDlc_Handle_t *dlcHandle);

/* Builds the graphs of the model in a context, through the interface given by value. The array of
 * descriptions is released with free(). Errors: INVALID_HANDLE, INVALID_ARGUMENT, OPERATION_FAILED,
 * MALFORMED_BINARY. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_composeGraphs(
    QnnSystemDlc_Handle_t dlcHandle, const QnnSystemDlc_GraphConfigInfo_t **graphConfigs,
    const uint32_t numGraphConfigs, Qnn_BackendHandle_t backend, Qnn_ContextHandle_t context,
    QnnInterface_t backendInterface, QnnSystemContext_GraphInfoVersion_t graphVersion,
    QnnSystemContext_GraphInfo_t **graphs, uint32_t *numGraphs);

/* Tells how ops and tensors relate to the source model; the array belongs to the handle. Errors:
 * INVALID_HANDLE, INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_getOpMappings(QnnSystemDlc_Handle_t dlcHandle,
                                                     const Qnn_OpMapping_t **opMappings,
                                                     uint32_t *numOpMappings);

/* Finds a record; release it with freeRecord. Errors: INVALID_HANDLE, INVALID_ARGUMENT,
 * OPERATION_FAILED. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_getRecordByName(QnnSystemDlc_Handle_t dlcHandle,
                                                       const char *recordName,
                                                       QnnSystemDlc_RecordHandle_t *recordHandle);

/* Lists the records of a type, or only the context binary that fits best. Release each with
 * freeRecord. Errors: as getRecordByName. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_getRecordsByType(QnnSystemDlc_Handle_t dlcHandle,
                                                        QnnSystemDlc_RecordType_t recordType,
                                                        uint8_t getMostOptimalContextBinary,
                                                        QnnSystemDlc_RecordHandle_t **recordHandles,
                                                        uint32_t *numRecordHandles);

/* Writes the size of a record. Errors: INVALID_HANDLE, INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_getRecordDataSize(QnnSystemDlc_RecordHandle_t recordHandle,
                                                         uint64_t *dataSize);

/* Maps the data of a record; it stays mapped until freeRecord. Errors: INVALID_HANDLE,
 * INVALID_ARGUMENT, OPERATION_FAILED. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_readRecordDataMemoryMapped(
    QnnSystemDlc_RecordHandle_t recordHandle, const uint8_t **data, uint64_t *dataSize);

/* Releases a record. Error: INVALID_HANDLE. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_freeRecord(QnnSystemDlc_RecordHandle_t recordHandle);

/* Closes a DLC. Error: INVALID_HANDLE. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_free(QnnSystemDlc_Handle_t dlcHandle);

/* Writes a DLC to a file. Errors: INVALID_HANDLE, INVALID_ARGUMENT, OPERATION_FAILED. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_save(QnnSystemDlc_Handle_t dlcHandle, const char *path);

/* Writes how many bytes getBinary needs. Error: INVALID_HANDLE. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_getBinarySize(QnnSystemDlc_Handle_t dlcHandle,
                                                     Qnn_SystemDlcBinarySize_t *binaryBufferSize);

/* Writes a DLC into the caller's buffer. Errors: INVALID_HANDLE, INVALID_ARGUMENT (too small). */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_getBinary(QnnSystemDlc_Handle_t dlcHandle,
                                                 uint8_t *binaryBuffer,
                                                 Qnn_SystemDlcBinarySize_t binaryBufferSize,
                                                 Qnn_SystemDlcBinarySize_t *writtenBufferSize);

/* Creates an empty DLC. Errors: INVALID_ARGUMENT, OPERATION_FAILED. */
QNN_API Qnn_ErrorHandle_t QnnSystemDlc_createWithDestinationDir(
    Qnn_LogHandle_t logger, const char *destinationDirectoryHint, QnnSystemDlc_Handle_t *dlcHandle);

#ifdef __cplusplus
}
#endif

#endif
