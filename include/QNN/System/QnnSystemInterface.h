/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemInterface.h: the table of all functions of the system library.
 * Used as QnnInterface.h is: look up QnnSystemInterface_getProviders, pick a provider by version,
 * call through its table. Slots are only ever appended. */
#ifndef OPENQNN_QNNSYSTEMINTERFACE_H
#define OPENQNN_QNNSYSTEMINTERFACE_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnCommon.h"
#include "../QnnInterface.h"
#include "../QnnLog.h"
#include "../QnnTypes.h"
#include "QnnSystemCommon.h"
#include "QnnSystemContext.h"
#include "QnnSystemDlc.h"
#include "QnnSystemLog.h"
#include "QnnSystemProfile.h"
#include "QnnSystemTensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The table that belongs to these headers: QNN_SYSTEM_INTERFACE_VER_TYPE names its type and
 * QNN_SYSTEM_INTERFACE_VER_NAME its member in QnnSystemInterface_t. */
#define QNN_SYSTEM_INTERFACE_VER_EVAL(major, minor) major##_##minor
#define QNN_SYSTEM_INTERFACE_NAME_EVAL(prefix, body, suffix) QNN_PASTE_THREE(prefix, body, suffix)
#define QNN_SYSTEM_INTERFACE_VER_TYPE_EVAL(ver_major, ver_minor) \
    QNN_SYSTEM_INTERFACE_NAME_EVAL(QnnSystemInterface_ImplementationV, QNN_SYSTEM_INTERFACE_VER_EVAL(ver_major, ver_minor), _t)
#define QNN_SYSTEM_INTERFACE_VER_NAME_EVAL(ver_major, ver_minor) \
    QNN_SYSTEM_INTERFACE_NAME_EVAL(v, QNN_SYSTEM_INTERFACE_VER_EVAL(ver_major, ver_minor), )
#define QNN_SYSTEM_INTERFACE_VER_TYPE \
    QNN_SYSTEM_INTERFACE_VER_TYPE_EVAL(QNN_SYSTEM_API_VERSION_MAJOR, QNN_SYSTEM_API_VERSION_MINOR)
#define QNN_SYSTEM_INTERFACE_VER_NAME \
    QNN_SYSTEM_INTERFACE_VER_NAME_EVAL(QNN_SYSTEM_API_VERSION_MAJOR, QNN_SYSTEM_API_VERSION_MINOR)

/* Result codes of QnnSystemInterface_getProviders(). */
typedef enum {
    QNN_SYSTEM_INTERFACE_MIN_ERROR               = QNN_MIN_ERROR_SYSTEM,
    QNN_SYSTEM_INTERFACE_NO_ERROR                = QNN_SUCCESS,
    QNN_SYSTEM_INTERFACE_ERROR_NOT_SUPPORTED     = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_SYSTEM_INTERFACE_ERROR_INVALID_PARAMETER = QNN_COMMON_ERROR_INVALID_ARGUMENT,
    QNN_SYSTEM_INTERFACE_MAX_ERROR               = QNN_MAX_ERROR_SYSTEM
} QnnSystemInterface_Error_t;

/* Pointer to QnnSystemContext_create(). */
typedef Qnn_ErrorHandle_t (*QnnSystemContext_CreateFn_t)(QnnSystemContext_Handle_t *sysCtxHandle);

/* Pointer to QnnSystemContext_getBinaryInfo(). */
typedef Qnn_ErrorHandle_t (*QnnSystemContext_GetBinaryInfoFn_t)(
    QnnSystemContext_Handle_t sysCtxHandle, void *binaryBuffer, uint64_t binaryBufferSize,
    const QnnSystemContext_BinaryInfo_t **binaryInfo, Qnn_ContextBinarySize_t *binaryInfoSize);

/* Pointer to QnnSystemContext_getMetadata(). */
typedef Qnn_ErrorHandle_t (*QnnSystemContext_GetMetaDataFn_t)(
    QnnSystemContext_Handle_t sysCtxHandle, const void *binaryBuffer, uint64_t binaryBufferSize,
    const QnnSystemContext_BinaryInfo_t **binaryInfo);

/* Pointer to QnnSystemContext_free(). */
typedef Qnn_ErrorHandle_t (*QnnSystemContext_FreeFn_t)(QnnSystemContext_Handle_t sysCtxHandle);

/* Pointer to QnnSystemTensor_getMemoryFootprint(). */
typedef Qnn_ErrorHandle_t (*QnnSystemTensor_getMemoryFootprintFn_t)(
    Qnn_Tensor_t tensor, uint64_t *footprint);

/* Pointer to QnnSystemLog_create(). */
typedef Qnn_ErrorHandle_t (*QnnSystemLog_createFn_t)(QnnLog_Callback_t callback,
                                                     QnnLog_Level_t maxLogLevel,
                                                     Qnn_LogHandle_t *logger);

/* Pointer to QnnSystemLog_setLogLevel(). */
typedef Qnn_ErrorHandle_t (*QnnSystemLog_setLogLevelFn_t)(Qnn_LogHandle_t logger,
                                                          QnnLog_Level_t maxLogLevel);

/* Pointer to QnnSystemLog_free(). */
typedef Qnn_ErrorHandle_t (*QnnSystemLog_freeFn_t)(Qnn_LogHandle_t logger);

/* Pointer to QnnSystemDlc_createFromFile(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_createFromFileFn_t)(
    Qnn_LogHandle_t logger, const char *dlcPath, QnnSystemDlc_Handle_t *dlcHandle);

/* Pointer to QnnSystemDlc_createFromBinary(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_createFromBinaryFn_t)(
    Qnn_LogHandle_t logger, const uint8_t *buffer, const Qnn_ContextBinarySize_t bufferSize,
    QnnSystemDlc_Handle_t *dlcHandle);

/* Pointer to QnnSystemDlc_composeGraphs(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_composeGraphsFn_t)(
    QnnSystemDlc_Handle_t dlcHandle, const QnnSystemDlc_GraphConfigInfo_t **graphConfigs,
    const uint32_t numGraphConfigs, Qnn_BackendHandle_t backend, Qnn_ContextHandle_t context,
    QnnInterface_t backendInterface, QnnSystemContext_GraphInfoVersion_t graphVersion,
    QnnSystemContext_GraphInfo_t **graphs, uint32_t *numGraphs);

/* Pointer to QnnSystemDlc_getOpMappings(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getOpMappingsFn_t)(QnnSystemDlc_Handle_t dlcHandle,
                                                            const Qnn_OpMapping_t **opMappings,
                                                            uint32_t *numOpMappings);

/* Pointer to QnnSystemDlc_free(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_freeFn_t)(QnnSystemDlc_Handle_t dlcHandle);

/* Pointer to QnnSystemProfile_createSerializationTarget(). */
typedef Qnn_ErrorHandle_t (*QnnSystemProfile_createSerializationTargetFn_t)(
    QnnSystemProfile_SerializationTarget_t serializationTargetInfo,
    QnnSystemProfile_SerializationTargetConfig_t *configs, uint32_t numConfigs,
    QnnSystemProfile_SerializationTargetHandle_t *serializationTarget);

/* Pointer to QnnSystemProfile_serializeEventData(). */
typedef Qnn_ErrorHandle_t (*QnnSystemProfile_serializeEventDataFn_t)(
    QnnSystemProfile_SerializationTargetHandle_t serializationTarget,
    const QnnSystemProfile_ProfileData_t **eventData, uint32_t numEvents);

/* Pointer to QnnSystemProfile_freeSerializationTarget(). */
typedef Qnn_ErrorHandle_t (*QnnSystemProfile_freeSerializationTargetFn_t)(
    QnnSystemProfile_SerializationTargetHandle_t serializationTarget);

/* Pointer to QnnSystemDlc_getRecordByName(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getRecordByNameFn_t)(
    QnnSystemDlc_Handle_t dlcHandle, const char *recordName,
    QnnSystemDlc_RecordHandle_t *recordHandle);

/* Pointer to QnnSystemDlc_getRecordsByType(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getRecordsByTypeFn_t)(
    QnnSystemDlc_Handle_t dlcHandle, QnnSystemDlc_RecordType_t recordType,
    uint8_t getMostOptimalContextBinary, QnnSystemDlc_RecordHandle_t **recordHandles,
    uint32_t *numRecordHandles);

/* Pointer to QnnSystemDlc_getRecordDataSize(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getRecordDataSizeFn_t)(
    QnnSystemDlc_RecordHandle_t recordHandle, uint64_t *dataSize);

/* Pointer to QnnSystemDlc_readRecordDataMemoryMapped(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_readRecordDataMemoryMappedFn_t)(
    QnnSystemDlc_RecordHandle_t recordHandle, const uint8_t **data, uint64_t *dataSize);

/* Pointer to QnnSystemDlc_freeRecord(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_freeRecordFn_t)(QnnSystemDlc_RecordHandle_t recordHandle);

/* Pointer to QnnSystemDlc_save(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_saveFn_t)(QnnSystemDlc_Handle_t dlcHandle,
                                                   const char *path);

/* Pointer to QnnSystemDlc_createFromFileWithDestinationDir(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_createFromFileWithDestinationDirFn_t)(
    Qnn_LogHandle_t logger, const char *dlcPath, const char *destinationDirectoryHint,
    QnnSystemDlc_Handle_t *dlcHandle);

/* Pointer to QnnSystemDlc_createFromBinaryWithDestinationDir(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_createFromBinaryWithDestinationDirFn_t)(
    Qnn_LogHandle_t logger, const uint8_t *buffer, const Qnn_ContextBinarySize_t bufferSize,
    const char *destinationDirectoryHint, QnnSystemDlc_Handle_t *dlcHandle);

/* Pointer to QnnSystemDlc_getBinarySize(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getBinarySizeFn_t)(
    QnnSystemDlc_Handle_t dlcHandle, Qnn_SystemDlcBinarySize_t *binaryBufferSize);

/* Pointer to QnnSystemDlc_getBinary(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getBinaryFn_t)(
    QnnSystemDlc_Handle_t dlcHandle, uint8_t *binaryBuffer,
    Qnn_SystemDlcBinarySize_t binaryBufferSize, Qnn_SystemDlcBinarySize_t *writtenBufferSize);

/* Pointer to QnnSystemDlc_createWithDestinationDir(). */
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_createWithDestinationDirFn_t)(
    Qnn_LogHandle_t logger, const char *destinationDirectoryHint, QnnSystemDlc_Handle_t *dlcHandle);

/* The functions of the system library, in the order they were added. */
typedef struct {
    QnnSystemContext_CreateFn_t systemContextCreate;
    QnnSystemContext_GetBinaryInfoFn_t systemContextGetBinaryInfo;
    QnnSystemContext_GetMetaDataFn_t systemContextGetMetaData;
    QnnSystemContext_FreeFn_t systemContextFree;
    QnnSystemTensor_getMemoryFootprintFn_t systemTensorGetMemoryFootprint;
    QnnSystemLog_createFn_t systemLogCreate;
    QnnSystemLog_setLogLevelFn_t systemLogSetLogLevel;
    QnnSystemLog_freeFn_t systemLogFree;
    QnnSystemDlc_createFromFileFn_t systemDlcCreateFromFile;
    QnnSystemDlc_createFromBinaryFn_t systemDlcCreateFromBinary;
    QnnSystemDlc_composeGraphsFn_t systemDlcComposeGraphs;
    QnnSystemDlc_getOpMappingsFn_t systemDlcGetOpMappings;
    QnnSystemDlc_freeFn_t systemDlcFree;
    QnnSystemProfile_createSerializationTargetFn_t systemProfileCreateSerializationTarget;
    QnnSystemProfile_serializeEventDataFn_t systemProfileSerializeEventData;
    QnnSystemProfile_freeSerializationTargetFn_t systemProfileFreeSerializationTarget;
    QnnSystemDlc_getRecordByNameFn_t systemDlcGetRecordByName;
    QnnSystemDlc_getRecordsByTypeFn_t systemDlcGetRecordsByType;
    QnnSystemDlc_getRecordDataSizeFn_t systemDlcGetRecordDataSize;
    QnnSystemDlc_readRecordDataMemoryMappedFn_t systemDlcReadRecordDataMemoryMapped;
    QnnSystemDlc_freeRecordFn_t systemDlcFreeRecord;
    QnnSystemDlc_saveFn_t systemDlcSave;
    QnnSystemDlc_createFromFileWithDestinationDirFn_t systemDlcCreateFromFileWithDestinationDir;
    QnnSystemDlc_createFromBinaryWithDestinationDirFn_t systemDlcCreateFromBinaryWithDestinationDir;
    QnnSystemDlc_getBinarySizeFn_t systemDlcGetBinarySize;
    QnnSystemDlc_getBinaryFn_t systemDlcGetBinary;
    QnnSystemDlc_createWithDestinationDirFn_t systemDlcCreateWithDestinationDir;
} QnnSystemInterface_ImplementationV1_12_t;

#define QNN_SYSTEM_INTERFACE_VER_TYPE_INIT                                                  \
    {                                                                                       \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL        \
    }

/* A provider: who it is, its version, and its table. */
typedef struct {
    uint32_t backendId;
    const char *providerName;
    Qnn_Version_t systemApiVersion;
    union {
        QnnSystemInterface_ImplementationV1_12_t v1_12;
    };
} QnnSystemInterface_t;

#define QNN_SYSTEM_INTERFACE_INIT {0, NULL, QNN_VERSION_INIT, {QNN_SYSTEM_INTERFACE_VER_TYPE_INIT}}

/* Lists the providers; usable as soon as the library is loaded. List and tables belong to the
 * library. Errors: INVALID_PARAMETER, NOT_SUPPORTED. */
QNN_API Qnn_ErrorHandle_t QnnSystemInterface_getProviders(
    const QnnSystemInterface_t ***providerList, uint32_t *numProviders);

#ifdef __cplusplus
}
#endif

#endif
