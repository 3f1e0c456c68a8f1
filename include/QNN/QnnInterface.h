/* SPDX-License-Identifier: Apache-2.0 */
/* QnnInterface.h: the table of all functions of a backend library.
 * A client opens the library, looks up QnnInterface_getProviders, takes the provider whose core API
 * has the same major and at least the wanted minor version, and calls through the table. Slots are
 * only ever appended, so a client of an older table works with a newer library. */
#ifndef OPENQNN_QNNINTERFACE_H
#define OPENQNN_QNNINTERFACE_H

#include <stddef.h>
#include <stdint.h>

#include "QnnBackend.h"
#include "QnnCommon.h"
#include "QnnContext.h"
#include "QnnDevice.h"
#include "QnnError.h"
#include "QnnGlobalConfig.h"
#include "QnnGraph.h"
#include "QnnLog.h"
#include "QnnMem.h"
#include "QnnOpDef.h"
#include "QnnOpPackage.h"
#include "QnnProfile.h"
#include "QnnProperty.h"
#include "QnnSignal.h"
#include "QnnTensor.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The table that belongs to these headers: QNN_INTERFACE_VER_TYPE names its type and
 * QNN_INTERFACE_VER_NAME its member in QnnInterface_t. */
#define QNN_INTERFACE_VER_EVAL(major, minor) major##_##minor
#define QNN_INTERFACE_NAME_EVAL(prefix, body, suffix) QNN_PASTE_THREE(prefix, body, suffix)
#define QNN_INTERFACE_VER_TYPE_EVAL(ver_major, ver_minor) \
    QNN_INTERFACE_NAME_EVAL(QnnInterface_ImplementationV, QNN_INTERFACE_VER_EVAL(ver_major, ver_minor), _t)
#define QNN_INTERFACE_VER_NAME_EVAL(ver_major, ver_minor) \
    QNN_INTERFACE_NAME_EVAL(v, QNN_INTERFACE_VER_EVAL(ver_major, ver_minor), )
#define QNN_INTERFACE_VER_TYPE \
    QNN_INTERFACE_VER_TYPE_EVAL(QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR)
#define QNN_INTERFACE_VER_NAME \
    QNN_INTERFACE_VER_NAME_EVAL(QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR)

/* Result codes of QnnInterface functions. */
typedef enum {
    QNN_INTERFACE_MIN_ERROR               = QNN_MIN_ERROR_INTERFACE,
    QNN_INTERFACE_NO_ERROR                = QNN_SUCCESS,
    QNN_INTERFACE_ERROR_NOT_SUPPORTED     = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_INTERFACE_ERROR_INVALID_PARAMETER = QNN_COMMON_ERROR_INVALID_ARGUMENT,
    QNN_INTERFACE_MAX_ERROR               = QNN_MAX_ERROR_INTERFACE
} QnnInterface_Error_t;

/* Pointer to QnnProperty_hasCapability(). */
typedef Qnn_ErrorHandle_t (*QnnProperty_HasCapabilityFn_t)(QnnProperty_Key_t key);

/* Pointer to QnnBackend_create(). */
typedef Qnn_ErrorHandle_t (*QnnBackend_CreateFn_t)(Qnn_LogHandle_t logger,
                                                   const QnnBackend_Config_t **config,
                                                   Qnn_BackendHandle_t *backend);

/* Pointer to QnnBackend_setConfig(). */
typedef Qnn_ErrorHandle_t (*QnnBackend_SetConfigFn_t)(Qnn_BackendHandle_t backend,
                                                      const QnnBackend_Config_t **config);

/* Pointer to QnnBackend_getApiVersion(). */
typedef Qnn_ErrorHandle_t (*QnnBackend_GetApiVersionFn_t)(Qnn_ApiVersion_t *pVersion);

/* Pointer to QnnBackend_getBuildId(). */
typedef Qnn_ErrorHandle_t (*QnnBackend_GetBuildIdFn_t)(const char **id);

/* Pointer to QnnBackend_registerOpPackage(). */
typedef Qnn_ErrorHandle_t (*QnnBackend_RegisterOpPackageFn_t)(
    Qnn_BackendHandle_t backend, const char *packagePath, const char *interfaceProvider,
    const char *target);

/* Pointer to QnnBackend_getSupportedOperations(). */
typedef Qnn_ErrorHandle_t (*QnnBackend_GetSupportedOperationsFn_t)(
    Qnn_BackendHandle_t backend, uint32_t *numOperations,
    const QnnBackend_OperationName_t **operations);

/* Pointer to QnnBackend_validateOpConfig(). */
typedef Qnn_ErrorHandle_t (*QnnBackend_ValidateOpConfigFn_t)(
    Qnn_BackendHandle_t backend, Qnn_OpConfig_t opConfig);

/* Pointer to QnnBackend_free(). */
typedef Qnn_ErrorHandle_t (*QnnBackend_FreeFn_t)(Qnn_BackendHandle_t backend);

/* Pointer to QnnContext_create(). */
typedef Qnn_ErrorHandle_t (*QnnContext_CreateFn_t)(Qnn_BackendHandle_t backend,
                                                   Qnn_DeviceHandle_t device,
                                                   const QnnContext_Config_t **config,
                                                   Qnn_ContextHandle_t *context);

/* Pointer to QnnContext_setConfig(). */
typedef Qnn_ErrorHandle_t (*QnnContext_SetConfigFn_t)(Qnn_ContextHandle_t context,
                                                      const QnnContext_Config_t **config);

/* Pointer to QnnContext_getBinarySize(). */
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinarySizeFn_t)(Qnn_ContextHandle_t context,
                                                          Qnn_ContextBinarySize_t *binaryBufferSize);

/* Pointer to QnnContext_getBinary(). */
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinaryFn_t)(Qnn_ContextHandle_t context,
                                                      void *binaryBuffer,
                                                      Qnn_ContextBinarySize_t binaryBufferSize,
                                                      Qnn_ContextBinarySize_t *writtenBufferSize);

/* Pointer to QnnContext_createFromBinary(). */
typedef Qnn_ErrorHandle_t (*QnnContext_CreateFromBinaryFn_t)(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize,
    Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile);

/* Pointer to QnnContext_free(). */
typedef Qnn_ErrorHandle_t (*QnnContext_FreeFn_t)(Qnn_ContextHandle_t context,
                                                 Qnn_ProfileHandle_t profile);

/* Pointer to QnnGraph_create(). */
typedef Qnn_ErrorHandle_t (*QnnGraph_CreateFn_t)(Qnn_ContextHandle_t contextHandle,
                                                 const char *graphName,
                                                 const QnnGraph_Config_t **config,
                                                 Qnn_GraphHandle_t *graphHandle);

/* Pointer to QnnGraph_createSubgraph(). */
typedef Qnn_ErrorHandle_t (*QnnGraph_CreateSubgraphFn_t)(Qnn_GraphHandle_t graphHandle,
                                                         const char *graphName,
                                                         Qnn_GraphHandle_t *subgraphHandle);

/* Pointer to QnnGraph_setConfig(). */
typedef Qnn_ErrorHandle_t (*QnnGraph_SetConfigFn_t)(Qnn_GraphHandle_t graphHandle,
                                                    const QnnGraph_Config_t **config);

/* Pointer to QnnGraph_addNode(). */
typedef Qnn_ErrorHandle_t (*QnnGraph_AddNodeFn_t)(Qnn_GraphHandle_t graphHandle,
                                                  Qnn_OpConfig_t opConfig);

/* Pointer to QnnGraph_finalize(). */
typedef Qnn_ErrorHandle_t (*QnnGraph_FinalizeFn_t)(Qnn_GraphHandle_t graphHandle,
                                                   Qnn_ProfileHandle_t profileHandle,
                                                   Qnn_SignalHandle_t signalHandle);

/* Pointer to QnnGraph_retrieve(). */
typedef Qnn_ErrorHandle_t (*QnnGraph_RetrieveFn_t)(Qnn_ContextHandle_t contextHandle,
                                                   const char *graphName,
                                                   Qnn_GraphHandle_t *graphHandle);

/* Pointer to QnnGraph_execute(). */
typedef Qnn_ErrorHandle_t (*QnnGraph_ExecuteFn_t)(Qnn_GraphHandle_t graphHandle,
                                                  const Qnn_Tensor_t *inputs, uint32_t numInputs,
                                                  Qnn_Tensor_t *outputs, uint32_t numOutputs,
                                                  Qnn_ProfileHandle_t profileHandle,
                                                  Qnn_SignalHandle_t signalHandle);

/* Pointer to QnnGraph_executeAsync(). */
typedef Qnn_ErrorHandle_t (*QnnGraph_ExecuteAsyncFn_t)(Qnn_GraphHandle_t graphHandle,
                                                       const Qnn_Tensor_t *inputs,
                                                       uint32_t numInputs, Qnn_Tensor_t *outputs,
                                                       uint32_t numOutputs,
                                                       Qnn_ProfileHandle_t profileHandle,
                                                       Qnn_SignalHandle_t signalHandle,
                                                       Qnn_NotifyFn_t notifyFn, void *notifyParam);

/* Pointer to QnnTensor_createContextTensor(). */
typedef Qnn_ErrorHandle_t (*QnnTensor_CreateContextTensorFn_t)(
    Qnn_ContextHandle_t context, Qnn_Tensor_t *tensor);

/* Pointer to QnnTensor_createGraphTensor(). */
typedef Qnn_ErrorHandle_t (*QnnTensor_CreateGraphTensorFn_t)(
    Qnn_GraphHandle_t graph, Qnn_Tensor_t *tensor);

/* Pointer to QnnLog_create(). */
typedef Qnn_ErrorHandle_t (*QnnLog_CreateFn_t)(QnnLog_Callback_t callback,
                                               QnnLog_Level_t maxLogLevel, Qnn_LogHandle_t *logger);

/* Pointer to QnnLog_setLogLevel(). */
typedef Qnn_ErrorHandle_t (*QnnLog_SetLogLevelFn_t)(Qnn_LogHandle_t logger,
                                                    QnnLog_Level_t maxLogLevel);

/* Pointer to QnnLog_free(). */
typedef Qnn_ErrorHandle_t (*QnnLog_FreeFn_t)(Qnn_LogHandle_t logger);

/* Pointer to QnnProfile_create(). */
typedef Qnn_ErrorHandle_t (*QnnProfile_CreateFn_t)(Qnn_BackendHandle_t backend,
                                                   QnnProfile_Level_t level,
                                                   Qnn_ProfileHandle_t *profile);

/* Pointer to QnnProfile_setConfig(). */
typedef Qnn_ErrorHandle_t (*QnnProfile_SetConfigFn_t)(Qnn_ProfileHandle_t profileHandle,
                                                      const QnnProfile_Config_t **config);

/* Pointer to QnnProfile_getEvents(). */
typedef Qnn_ErrorHandle_t (*QnnProfile_GetEventsFn_t)(Qnn_ProfileHandle_t profile,
                                                      const QnnProfile_EventId_t **profileEventIds,
                                                      uint32_t *numEvents);

/* Pointer to QnnProfile_getSubEvents(). */
typedef Qnn_ErrorHandle_t (*QnnProfile_GetSubEventsFn_t)(QnnProfile_EventId_t eventId,
                                                         const QnnProfile_EventId_t **subEventIds,
                                                         uint32_t *numSubEvents);

/* Pointer to QnnProfile_getEventData(). */
typedef Qnn_ErrorHandle_t (*QnnProfile_GetEventDataFn_t)(QnnProfile_EventId_t eventId,
                                                         QnnProfile_EventData_t *eventData);

/* Pointer to QnnProfile_getExtendedEventData(). */
typedef Qnn_ErrorHandle_t (*QnnProfile_GetExtendedEventDataFn_t)(
    QnnProfile_EventId_t eventId, QnnProfile_ExtendedEventData_t *eventData);

/* Pointer to QnnProfile_free(). */
typedef Qnn_ErrorHandle_t (*QnnProfile_FreeFn_t)(Qnn_ProfileHandle_t profile);

/* Pointer to QnnMem_register(). */
typedef Qnn_ErrorHandle_t (*QnnMem_RegisterFn_t)(Qnn_ContextHandle_t context,
                                                 const Qnn_MemDescriptor_t *memDescriptors,
                                                 uint32_t numDescriptors,
                                                 Qnn_MemHandle_t *memHandles);

/* Pointer to QnnMem_deRegister(). */
typedef Qnn_ErrorHandle_t (*QnnMem_DeRegisterFn_t)(const Qnn_MemHandle_t *memHandles,
                                                   uint32_t numHandles);

/* Pointer to QnnDevice_getPlatformInfo(). */
typedef Qnn_ErrorHandle_t (*QnnDevice_GetPlatformInfoFn_t)(
    Qnn_LogHandle_t logger, const QnnDevice_PlatformInfo_t **platformInfo);

/* Pointer to QnnDevice_freePlatformInfo(). */
typedef Qnn_ErrorHandle_t (*QnnDevice_FreePlatformInfoFn_t)(
    Qnn_LogHandle_t logger, const QnnDevice_PlatformInfo_t *platformInfo);

/* Pointer to QnnDevice_getInfrastructure(). */
typedef Qnn_ErrorHandle_t (*QnnDevice_GetInfrastructureFn_t)(
    const QnnDevice_Infrastructure_t *deviceInfra);

/* Pointer to QnnDevice_create(). */
typedef Qnn_ErrorHandle_t (*QnnDevice_CreateFn_t)(Qnn_LogHandle_t logger,
                                                  const QnnDevice_Config_t **config,
                                                  Qnn_DeviceHandle_t *device);

/* Pointer to QnnDevice_setConfig(). */
typedef Qnn_ErrorHandle_t (*QnnDevice_SetConfigFn_t)(Qnn_DeviceHandle_t device,
                                                     const QnnDevice_Config_t **config);

/* Pointer to QnnDevice_getInfo(). */
typedef Qnn_ErrorHandle_t (*QnnDevice_GetInfoFn_t)(Qnn_DeviceHandle_t device,
                                                   const QnnDevice_PlatformInfo_t **platformInfo);

/* Pointer to QnnDevice_free(). */
typedef Qnn_ErrorHandle_t (*QnnDevice_FreeFn_t)(Qnn_DeviceHandle_t device);

/* Pointer to QnnSignal_create(). */
typedef Qnn_ErrorHandle_t (*QnnSignal_CreateFn_t)(Qnn_BackendHandle_t backend,
                                                  const QnnSignal_Config_t **config,
                                                  Qnn_SignalHandle_t *signal);

/* Pointer to QnnSignal_setConfig(). */
typedef Qnn_ErrorHandle_t (*QnnSignal_SetConfigFn_t)(Qnn_SignalHandle_t signal,
                                                     const QnnSignal_Config_t **config);

/* Pointer to QnnSignal_trigger(). */
typedef Qnn_ErrorHandle_t (*QnnSignal_TriggerFn_t)(Qnn_SignalHandle_t signal);

/* Pointer to QnnSignal_free(). */
typedef Qnn_ErrorHandle_t (*QnnSignal_FreeFn_t)(Qnn_SignalHandle_t signal);

/* Pointer to QnnError_getMessage(). */
typedef Qnn_ErrorHandle_t (*QnnError_GetMessageFn_t)(Qnn_ErrorHandle_t errorHandle,
                                                     const char **errorMessage);

/* Pointer to QnnError_getVerboseMessage(). */
typedef Qnn_ErrorHandle_t (*QnnError_GetVerboseMessageFn_t)(Qnn_ErrorHandle_t errorHandle,
                                                            const char **errorMessage);

/* Pointer to QnnError_freeVerboseMessage(). */
typedef Qnn_ErrorHandle_t (*QnnError_FreeVerboseMessageFn_t)(const char *errorMessage);

/* Pointer to QnnGraph_prepareExecutionEnvironment(). */
typedef Qnn_ErrorHandle_t (*QnnGraph_PrepareExecutionEnvironmentFn_t)(
    Qnn_GraphHandle_t graphHandle, QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize);

/* Pointer to QnnGraph_releaseExecutionEnvironment(). */
typedef Qnn_ErrorHandle_t (*QnnGraph_ReleaseExecutionEnvironmentFn_t)(
    Qnn_GraphHandle_t graphHandle, const QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize);

/* Pointer to QnnGraph_getProperty(). */
typedef Qnn_ErrorHandle_t (*QnnGraph_GetPropertyFn_t)(Qnn_GraphHandle_t graphHandle,
                                                      QnnGraph_Property_t **properties);

/* Pointer to QnnContext_validateBinary(). */
typedef Qnn_ErrorHandle_t (*QnnContext_ValidateBinaryFn_t)(Qnn_BackendHandle_t backend,
                                                           Qnn_DeviceHandle_t device,
                                                           const QnnContext_Config_t **config,
                                                           const void *binaryBuffer,
                                                           Qnn_ContextBinarySize_t binaryBufferSize);

/* Pointer to QnnContext_createFromBinaryWithSignal(). */
typedef Qnn_ErrorHandle_t (*QnnContext_CreateFromBinaryWithSignalFn_t)(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize,
    Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);

/* Pointer to QnnContext_createFromBinaryListAsync(). */
typedef Qnn_ErrorHandle_t (*QnnContext_CreateFromBinaryListAsyncFn_t)(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
    const QnnContext_Params_t **contextParams, const QnnContext_Config_t **listConfig,
    Qnn_SignalHandle_t signal);

/* Pointer to QnnTensor_updateGraphTensors(). */
typedef Qnn_ErrorHandle_t (*QnnTensor_UpdateGraphTensorsFn_t)(
    Qnn_GraphHandle_t graph, const Qnn_Tensor_t **tensor, uint64_t numTensors);

/* Pointer to QnnTensor_updateContextTensors(). */
typedef Qnn_ErrorHandle_t (*QnnTensor_UpdateContextTensorsFn_t)(
    Qnn_ContextHandle_t context, const Qnn_Tensor_t **tensor, uint64_t numTensors);

/* Pointer to QnnContext_getBinarySectionSize(). */
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinarySectionSizeFn_t)(
    Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, QnnContext_SectionType_t section,
    Qnn_ContextBinarySize_t *binaryBufferSize);

/* Pointer to QnnContext_getBinarySection(). */
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinarySectionFn_t)(
    Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, QnnContext_SectionType_t section,
    const QnnContext_Buffer_t *binaryBuffer, Qnn_ContextBinarySize_t *writtenBufferSize,
    Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);

/* Pointer to QnnContext_applyBinarySection(). */
typedef Qnn_ErrorHandle_t (*QnnContext_ApplyBinarySectionFn_t)(
    Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, QnnContext_SectionType_t section,
    const QnnContext_Buffer_t *binaryBuffer, Qnn_ProfileHandle_t profile,
    Qnn_SignalHandle_t signal);

/* Pointer to QnnBackend_getProperty(). */
typedef Qnn_ErrorHandle_t (*QnnBackend_GetPropertyFn_t)(Qnn_BackendHandle_t backendHandle,
                                                        QnnBackend_Property_t **properties);

/* Pointer to QnnContext_getProperty(). */
typedef Qnn_ErrorHandle_t (*QnnContext_GetPropertyFn_t)(Qnn_ContextHandle_t contextHandle,
                                                        QnnContext_Property_t **properties);

/* Pointer to QnnContext_getIncrementalBinary(). */
typedef Qnn_ErrorHandle_t (*QnnContext_GetIncrementalBinaryFn_t)(
    Qnn_ContextHandle_t context, const void **binaryBuffer, Qnn_ContextBinarySize_t *startOffset,
    Qnn_ContextBinarySize_t *writtenBufferSize);

/* Pointer to QnnContext_releaseIncrementalBinary(). */
typedef Qnn_ErrorHandle_t (*QnnContext_ReleaseIncrementalBinaryFn_t)(
    Qnn_ContextHandle_t context, const void *binaryBuffer, Qnn_ContextBinarySize_t startOffset);

/* Pointer to QnnContext_finalize(). */
typedef Qnn_ErrorHandle_t (*QnnContext_FinalizeFn_t)(Qnn_ContextHandle_t context,
                                                     Qnn_ProfileHandle_t profile);

/* Pointer to QnnGlobalConfig_Set(). */
typedef Qnn_ErrorHandle_t (*QnnGlobalConfig_SetFn_t)(const QnnGlobalConfig_t **config);

/* Pointer to QnnContext_createFromBinaryWithCallback(). */
typedef Qnn_ErrorHandle_t (*QnnContext_CreateFromBinaryWithCallbackFn_t)(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const Qnn_ContextBinaryCallback_t *callback, const void *binaryBuffer,
    Qnn_ContextBinarySize_t binaryBufferSize, Qnn_ContextHandle_t *context,
    Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);

/* Pointer to QnnContext_getBinarySectionUpdate(). */
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinarySectionUpdateFn_t)(
    const QnnContext_Buffer_t *binaryBuffer, const QnnContext_Buffer_t *auxiliaryBuffer,
    const Qnn_Tensor_t **tensors, uint64_t numTensors, uint8_t keepUpdatable,
    Qnn_LogHandle_t logger, Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal,
    QnnContext_Buffer_t *binarySectionUpdate);

/* Pointer to QnnContext_freeBinarySectionUpdate(). */
typedef Qnn_ErrorHandle_t (*QnnContext_FreeBinarySectionUpdateFn_t)(
    QnnContext_Buffer_t binarySectionUpdate, Qnn_LogHandle_t logger);

/* Pointer to QnnContext_addToDlc(). */
typedef Qnn_ErrorHandle_t (*QnnContext_AddToDlcFn_t)(Qnn_ContextHandle_t context,
                                                     QnnSystemDlc_Handle_t dlcHandle);

/* The functions of a backend, in the order they were added. A null slot is a function that the
 * library lacks. */
typedef struct {
    QnnProperty_HasCapabilityFn_t propertyHasCapability;
    QnnBackend_CreateFn_t backendCreate;
    QnnBackend_SetConfigFn_t backendSetConfig;
    QnnBackend_GetApiVersionFn_t backendGetApiVersion;
    QnnBackend_GetBuildIdFn_t backendGetBuildId;
    QnnBackend_RegisterOpPackageFn_t backendRegisterOpPackage;
    QnnBackend_GetSupportedOperationsFn_t backendGetSupportedOperations;
    QnnBackend_ValidateOpConfigFn_t backendValidateOpConfig;
    QnnBackend_FreeFn_t backendFree;
    QnnContext_CreateFn_t contextCreate;
    QnnContext_SetConfigFn_t contextSetConfig;
    QnnContext_GetBinarySizeFn_t contextGetBinarySize;
    QnnContext_GetBinaryFn_t contextGetBinary;
    QnnContext_CreateFromBinaryFn_t contextCreateFromBinary;
    QnnContext_FreeFn_t contextFree;
    QnnGraph_CreateFn_t graphCreate;
    QnnGraph_CreateSubgraphFn_t graphCreateSubgraph;
    QnnGraph_SetConfigFn_t graphSetConfig;
    QnnGraph_AddNodeFn_t graphAddNode;
    QnnGraph_FinalizeFn_t graphFinalize;
    QnnGraph_RetrieveFn_t graphRetrieve;
    QnnGraph_ExecuteFn_t graphExecute;
    QnnGraph_ExecuteAsyncFn_t graphExecuteAsync;
    QnnTensor_CreateContextTensorFn_t tensorCreateContextTensor;
    QnnTensor_CreateGraphTensorFn_t tensorCreateGraphTensor;
    QnnLog_CreateFn_t logCreate;
    QnnLog_SetLogLevelFn_t logSetLogLevel;
    QnnLog_FreeFn_t logFree;
    QnnProfile_CreateFn_t profileCreate;
    QnnProfile_SetConfigFn_t profileSetConfig;
    QnnProfile_GetEventsFn_t profileGetEvents;
    QnnProfile_GetSubEventsFn_t profileGetSubEvents;
    QnnProfile_GetEventDataFn_t profileGetEventData;
    QnnProfile_GetExtendedEventDataFn_t profileGetExtendedEventData;
    QnnProfile_FreeFn_t profileFree;
    QnnMem_RegisterFn_t memRegister;
    QnnMem_DeRegisterFn_t memDeRegister;
    QnnDevice_GetPlatformInfoFn_t deviceGetPlatformInfo;
    QnnDevice_FreePlatformInfoFn_t deviceFreePlatformInfo;
    QnnDevice_GetInfrastructureFn_t deviceGetInfrastructure;
    QnnDevice_CreateFn_t deviceCreate;
    QnnDevice_SetConfigFn_t deviceSetConfig;
    QnnDevice_GetInfoFn_t deviceGetInfo;
    QnnDevice_FreeFn_t deviceFree;
    QnnSignal_CreateFn_t signalCreate;
    QnnSignal_SetConfigFn_t signalSetConfig;
    QnnSignal_TriggerFn_t signalTrigger;
    QnnSignal_FreeFn_t signalFree;
    QnnError_GetMessageFn_t errorGetMessage;
    QnnError_GetVerboseMessageFn_t errorGetVerboseMessage;
    QnnError_FreeVerboseMessageFn_t errorFreeVerboseMessage;
    QnnGraph_PrepareExecutionEnvironmentFn_t graphPrepareExecutionEnvironment;
    QnnGraph_ReleaseExecutionEnvironmentFn_t graphReleaseExecutionEnvironment;
    QnnGraph_GetPropertyFn_t graphGetProperty;
    QnnContext_ValidateBinaryFn_t contextValidateBinary;
    QnnContext_CreateFromBinaryWithSignalFn_t contextCreateFromBinaryWithSignal;
    QnnContext_CreateFromBinaryListAsyncFn_t contextCreateFromBinaryListAsync;
    QnnTensor_UpdateGraphTensorsFn_t tensorUpdateGraphTensors;
    QnnTensor_UpdateContextTensorsFn_t tensorUpdateContextTensors;
    QnnContext_GetBinarySectionSizeFn_t contextGetBinarySectionSize;
    QnnContext_GetBinarySectionFn_t contextGetBinarySection;
    QnnContext_ApplyBinarySectionFn_t contextApplyBinarySection;
    QnnBackend_GetPropertyFn_t backendGetProperty;
    QnnContext_GetPropertyFn_t contextGetProperty;
    QnnContext_GetIncrementalBinaryFn_t contextGetIncrementalBinary;
    QnnContext_ReleaseIncrementalBinaryFn_t contextReleaseIncrementalBinary;
    QnnContext_FinalizeFn_t contextFinalize;
    QnnGlobalConfig_SetFn_t globalConfigSet;
    QnnContext_CreateFromBinaryWithCallbackFn_t contextCreateFromBinaryWithCallback;
    QnnContext_GetBinarySectionUpdateFn_t contextGetBinarySectionUpdate;
    QnnContext_FreeBinarySectionUpdateFn_t contextFreeBinarySectionUpdate;
    QnnContext_AddToDlcFn_t contextAddToDlc;
} QnnInterface_ImplementationV2_37_t;

#define QNN_INTERFACE_VER_TYPE_INIT                                                         \
    {                                                                                       \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, NULL                                                                          \
    }

/* A provider: who it is, its versions, and its table. */
typedef struct {
    uint32_t backendId;
    const char *providerName;
    Qnn_ApiVersion_t apiVersion;
    union {
        QnnInterface_ImplementationV2_37_t v2_37;
    };
} QnnInterface_t;

#define QNN_INTERFACE_INIT {0, NULL, QNN_API_VERSION_INIT, {QNN_INTERFACE_VER_TYPE_INIT}}

/* Lists the providers of this library; usable as soon as it is loaded. List and tables belong to
 * the library. Errors: INVALID_PARAMETER, NOT_SUPPORTED. */
QNN_API Qnn_ErrorHandle_t QnnInterface_getProviders(const QnnInterface_t ***providerList,
                                                    uint32_t *numProviders);

#ifdef __cplusplus
}
#endif

#endif
