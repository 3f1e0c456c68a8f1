/* SPDX-License-Identifier: Apache-2.0 */
/* QnnContext.h: a context holds graphs and the tensors they share, and is what a context binary
 * stores.
 * Either create an empty context, build and finalize graphs in it, and save it with getBinary; or
 * create it from such a binary and retrieve the graphs. Nothing can be added to a context that came
 * from a binary. QnnContext_free frees its graphs and tensors. */
#ifndef OPENQNN_QNNCONTEXT_H
#define OPENQNN_QNNCONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnMem.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of QnnContext functions. */
typedef enum {
    QNN_CONTEXT_MIN_ERROR                      = QNN_MIN_ERROR_CONTEXT,
    QNN_CONTEXT_NO_ERROR                       = QNN_SUCCESS,
    QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE      = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_CONTEXT_ERROR_MEM_ALLOC                = QNN_COMMON_ERROR_MEM_ALLOC,
    QNN_CONTEXT_ERROR_INVALID_ARGUMENT         = QNN_MIN_ERROR_CONTEXT,
    QNN_CONTEXT_ERROR_CTX_DOES_NOT_EXIST       = QNN_MIN_ERROR_CONTEXT + 1,
    QNN_CONTEXT_ERROR_INVALID_HANDLE           = QNN_MIN_ERROR_CONTEXT + 2,
    QNN_CONTEXT_ERROR_NOT_FINALIZED            = QNN_MIN_ERROR_CONTEXT + 3,
    QNN_CONTEXT_ERROR_BINARY_VERSION           = QNN_MIN_ERROR_CONTEXT + 4,
    QNN_CONTEXT_ERROR_CREATE_FROM_BINARY       = QNN_MIN_ERROR_CONTEXT + 5,
    QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED   = QNN_MIN_ERROR_CONTEXT + 6,
    QNN_CONTEXT_ERROR_GET_BINARY_FAILED        = QNN_MIN_ERROR_CONTEXT + 7,
    QNN_CONTEXT_ERROR_BINARY_CONFIGURATION     = QNN_MIN_ERROR_CONTEXT + 8,
    QNN_CONTEXT_ERROR_SET_PROFILE              = QNN_MIN_ERROR_CONTEXT + 9,
    QNN_CONTEXT_ERROR_INVALID_CONFIG           = QNN_MIN_ERROR_CONTEXT + 10,
    QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL        = QNN_MIN_ERROR_CONTEXT + 11,
    QNN_CONTEXT_ERROR_ABORTED                  = QNN_MIN_ERROR_CONTEXT + 12,
    QNN_CONTEXT_ERROR_TIMED_OUT                = QNN_MIN_ERROR_CONTEXT + 13,
    QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER = QNN_MIN_ERROR_CONTEXT + 14,
    QNN_CONTEXT_MAX_ERROR                      = QNN_MAX_ERROR_CONTEXT,
    QNN_CONTEXT_ERROR_UNDEFINED                = 0x7FFFFFFF
} QnnContext_Error_t;

/* Versions of the raw-buffer callbacks. */
typedef enum {
    QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_1         = 1,
    QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_UNDEFINED = 0x7FFFFFFF
} Qnn_ContextBinaryRawBufferCallbackVersion_t;

/* Versions of the DMA-buffer callbacks. */
typedef enum {
    QNN_CONTEXT_CALLBACK_DMA_BUFFER_VERSION_1         = 1,
    QNN_CONTEXT_CALLBACK_DMA_BUFFER_VERSION_UNDEFINED = 0x7FFFFFFF
} Qnn_ContextBinaryDmaBufferCallbackVersion_t;

/* How parts of a binary are handed over. */
typedef enum {
    QNN_CONTEXT_CALLBACK_RAW_BUFFER = 1,
    QNN_CONTEXT_CALLBACK_DMA_BUFFER = 2,
    QNN_CONTEXT_CALLBACK_UNDEFINED  = 0x7FFFFFFF
} Qnn_ContextBinaryCallbackType_t;

/* How the depth is given. The undefined value has seven digits, as clients have it. */
typedef enum {
    QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC   = 0,
    QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_UNDEFINED = 0x7FFFFFF
} QnnContext_AsyncExecutionQueueDepthType_t;

/* How many asynchronous executions may wait. */
typedef struct {
    QnnContext_AsyncExecutionQueueDepthType_t type;
    union {
        uint32_t depth;
    };
} QnnContext_AsyncExecutionQueueDepth_t;

#define QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_INIT                \
    {                                                               \
        QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_UNDEFINED, {0} \
    }

/* Which member of a QnnContext_Config_t is used. */
typedef enum {
    QNN_CONTEXT_CONFIG_OPTION_CUSTOM               = 0,
    QNN_CONTEXT_CONFIG_OPTION_PRIORITY             = 1,
    QNN_CONTEXT_CONFIG_OPTION_ERROR_REPORTING      = 2,
    /* text kept with the context */
    QNN_CONTEXT_CONFIG_OPTION_OEM_STRING           = 3,
    QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH = 4,
    /* only these graphs of the binary can be used */
    QNN_CONTEXT_CONFIG_ENABLE_GRAPHS               = 5,
    /* in megabytes */
    QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT           = 6,
    /* the client keeps the binary in place until the context is freed */
    QNN_CONTEXT_CONFIG_PERSISTENT_BINARY           = 7,
    QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY        = 8,
    /* QnnContext_finalize completes the creation */
    QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT     = 9,
    /* which graphs to keep in memory, most wanted first */
    QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER       = 10,
    QNN_CONTEXT_CONFIG_UNDEFINED                   = 0x7FFFFFFF
} QnnContext_ConfigOption_t;

/* A backend's own config struct. */
typedef void *QnnContext_CustomConfig_t;

/* What to do with a binary that runs, but not at its best. */
typedef enum {
    QNN_CONTEXT_BINARY_COMPATIBILITY_PERMISSIVE     = 0,
    QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT         = 1,  /* refuse it with BINARY_SUBOPTIMAL */
    QNN_CONTEXT_BINARY_COMPATIBILITY_TYPE_UNDEFINED = 0x7FFFFFF
} QnnContext_BinaryCompatibilityType_t;

/* One setting of a context; lists of names are null-terminated. */
typedef struct {
    QnnContext_ConfigOption_t option;
    union {
        QnnContext_CustomConfig_t customConfig;
        Qnn_Priority_t priority;
        Qnn_ErrorReportingConfig_t errorConfig;
        const char *oemString;
        QnnContext_AsyncExecutionQueueDepth_t asyncExeQueueDepth;
        const char *const *enableGraphs;
        uint64_t memoryLimitHint;
        uint64_t memoryLimitHintConfig;  /* the same, as the documents call it */
        uint8_t isPersistentBinary;
        QnnContext_BinaryCompatibilityType_t binaryCompatibilityType;
        uint8_t isGraphInitDeferred;
        const char *const *graphRetentionOrder;
    };
} QnnContext_Config_t;

#define QNN_CONTEXT_CONFIG_INIT {QNN_CONTEXT_CONFIG_UNDEFINED, {NULL}}

/* What was completed. */
typedef enum {
    QNN_CONTEXT_NOTIFY_TYPE_GRAPH_INIT   = 0,
    QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT = 1,
    QNN_CONTEXT_NOTIFY_TYPE_UNDEFINED    = 0x7FFFFFF
} QnnContext_createFromBinaryAsyncNotifyType_t;

/* Called from a thread of the library when a graph or a whole context is ready, or failed with
 * status. */
typedef void (*QnnContext_createFromBinaryNotifyFn_t)(
    Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *graphName,
    QnnContext_createFromBinaryAsyncNotifyType_t notifyType, void *notifyParam,
    Qnn_ErrorHandle_t status);

/* One context of a list to create. */
typedef struct {
    const QnnContext_Config_t **config;
    const void *binaryBuffer;
    const Qnn_ContextBinarySize_t binaryBufferSize;
    Qnn_ProfileHandle_t profile;
    QnnContext_createFromBinaryNotifyFn_t notifyFunc;
    void *notifyParam;
} QnnContext_ParamsV1_t;

/* The part of a binary that the library needs now. */
typedef struct {
    Qnn_ContextBinarySize_t offset;
    Qnn_ContextBinarySize_t size;
    uint8_t isBackendMappingNeeded;
} Qnn_ContextBinaryDataRequest_t;

/* Plain memory that holds the part asked for. */
typedef struct {
    void *memPtr;
    Qnn_ContextBinarySize_t dataStartOffset;
    Qnn_ContextBinarySize_t alignedSize;
} Qnn_ContextBinaryRawDataResponse_t;

/* A DMA buffer that holds the part asked for. */
typedef struct {
    Qnn_MemDmaBufInfo_t dmaBuffer;
    Qnn_ContextBinarySize_t dataStartOffset;
    Qnn_ContextBinarySize_t alignedSize;
} Qnn_ContextBinaryDmaDataResponse_t;

/* Plain memory to release. */
typedef struct {
    void *memPtr;
    Qnn_ContextBinarySize_t memSize;
} Qnn_ContextBinaryRawDataMem_t;

/* DMA buffer to release. */
typedef struct {
    Qnn_MemDmaBufInfo_t dmaBuffer;
    Qnn_ContextBinarySize_t memSize;
} Qnn_ContextBinaryDmaDataMem_t;

/* Provides a part of the binary in plain memory; it must stay valid until released. */
typedef Qnn_ErrorHandle_t (*Qnn_ContextBinaryRawDataProviderFn_t)(
    Qnn_ContextBinaryDataRequest_t req, Qnn_ContextBinaryRawDataResponse_t *rawDataResponse,
    void *notifyParam);

/* Takes back what the provider gave. */
typedef Qnn_ErrorHandle_t (*Qnn_ContextBinaryRawDataReleaseFn_t)(
    Qnn_ContextBinaryRawDataMem_t rawDataMem, void *notifyParam);

/* Callbacks for plain memory. */
typedef struct {
    Qnn_ContextBinaryRawDataProviderFn_t dataProvide;
    Qnn_ContextBinaryRawDataReleaseFn_t dataRelease;
    void *notifyParam;
} Qnn_ContextBinaryRawBufferCallbackV1_t;

/* Provides a part of the binary in a DMA buffer; it must stay valid until released. */
typedef Qnn_ErrorHandle_t (*Qnn_ContextBinaryDmaDataProviderFn_t)(
    Qnn_ContextBinaryDataRequest_t req, Qnn_ContextBinaryDmaDataResponse_t *dmaDataResponse,
    void *notifyParam);

/* Takes back what the provider gave. */
typedef Qnn_ErrorHandle_t (*Qnn_ContextBinaryDmaDataReleaseFn_t)(
    Qnn_ContextBinaryDmaDataMem_t dmaDataMem, void *notifyParam);

/* Callbacks for DMA buffers. */
typedef struct {
    Qnn_ContextBinaryDmaDataProviderFn_t dataProvide;
    Qnn_ContextBinaryDmaDataReleaseFn_t dataRelease;
    void *notifyParam;
} Qnn_ContextBinaryDmaBufferCallbackV1_t;

/* Versioned raw-buffer callbacks. */
typedef struct {
    Qnn_ContextBinaryRawBufferCallbackVersion_t version;
    union {
        Qnn_ContextBinaryRawBufferCallbackV1_t v1;
    };
} Qnn_ContextBinaryRawBufferCallback_t;

/* Versioned DMA-buffer callbacks. */
typedef struct {
    Qnn_ContextBinaryDmaBufferCallbackVersion_t version;
    union {
        Qnn_ContextBinaryDmaBufferCallbackV1_t v1;
    };
} Qnn_ContextBinaryDmaBufferCallback_t;

/* Callbacks of one kind or the other. */
typedef struct {
    Qnn_ContextBinaryCallbackType_t type;
    union {
        Qnn_ContextBinaryRawBufferCallback_t rawBufferCallback;
        Qnn_ContextBinaryDmaBufferCallback_t dmaBufferCallback;
    };
} Qnn_ContextBinaryCallback_t;

/* As version 1, with callbacks that provide the binary. */
typedef struct {
    const QnnContext_Config_t **config;
    const void *binaryBuffer;
    const Qnn_ContextBinarySize_t binaryBufferSize;
    Qnn_ProfileHandle_t profile;
    QnnContext_createFromBinaryNotifyFn_t notifyFunc;
    void *notifyParam;
    const Qnn_ContextBinaryCallback_t *callback;
} QnnContext_ParamsV2_t;

/* Versions of QnnContext_Params_t. */
typedef enum {
    QNN_CONTEXT_PARAMS_VERSION_1         = 1,
    QNN_CONTEXT_PARAMS_VERSION_2         = 2,
    QNN_CONTEXT_PARAMS_VERSION_UNDEFINED = 0x7FFFFFFF
} QnnContext_ParamsVersion_t;

/* Versioned parameters of one context of a list. */
typedef struct {
    QnnContext_ParamsVersion_t version;
    union {
        QnnContext_ParamsV1_t v1;
        QnnContext_ParamsV2_t *v2;
    };
} QnnContext_Params_t;

/* Memory that holds a binary or a section of one. */
typedef struct {
    void *data;
    Qnn_ContextBinarySize_t dataSize;
} Qnn_BinaryBuffer_t;

/* Which member of a QnnContext_BufferV1_t is used. */
typedef enum {
    QNN_CONTEXTMEMTYPE_RAW       = 0,
    QNN_CONTEXTMEMTYPE_MEMHANDLE = 1,
    QNN_CONTEXTMEMTYPE_UNDEFINED = 0x7FFFFFFF
} QnnContext_MemType_t;

/* A buffer: client memory or registered memory. */
typedef struct {
    QnnContext_MemType_t memType;
    union {
        Qnn_BinaryBuffer_t binaryBuf;
        Qnn_MemHandle_t memHandle;
    };
} QnnContext_BufferV1_t;

/* Versions of QnnContext_Buffer_t. */
typedef enum {
    QNN_CONTEXT_BUFFER_VERSION_1         = 1,
    QNN_CONTEXT_BUFFER_VERSION_UNDEFINED = 0x7FFFFFFF
} QnnContext_BufferVersion_t;

/* Versioned QnnContext_BufferV1_t. */
typedef struct {
    QnnContext_BufferVersion_t version;
    union {
        QnnContext_BufferV1_t v1;
    };
} QnnContext_Buffer_t;

/* Which member of a QnnContext_Property_t is used. */
typedef enum {
    QNN_CONTEXT_PROPERTY_OPTION_CUSTOM    = 0,
    QNN_CONTEXT_PROPERTY_OPTION_UNDEFINED = 0x7FFFFFFF
} QnnContext_PropertyOption_t;

/* A backend's own property struct. */
typedef void *QnnContext_CustomProperty_t;

/* One property to read; the option is set by the caller, the value by the library. */
typedef struct {
    QnnContext_PropertyOption_t option;
    union {
        QnnContext_CustomProperty_t customProperty;
    };
} QnnContext_Property_t;

#define QNN_CONTEXT_PROPERTY_INIT {QNN_CONTEXT_PROPERTY_OPTION_UNDEFINED, {NULL}}

/* Parts of a binary that can be stored and replaced on their own. */
typedef enum {
    QNN_CONTEXT_SECTION_UPDATABLE              = 1,  /* everything updateable */
    QNN_CONTEXT_SECTION_UPDATABLE_WEIGHTS      = 2,
    QNN_CONTEXT_SECTION_UPDATABLE_QUANT_PARAMS = 3,
    QNN_CONTEXT_SECTION_UNDEFINED              = 0x7FFFFFFF
} QnnContext_SectionType_t;

/* Creates an empty context; a null device is the default one. config is a null-terminated list or
 * null.
 * Errors: INVALID_ARGUMENT, INVALID_CONFIG, MEM_ALLOC, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnContext_create(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                            const QnnContext_Config_t **config,
                                            Qnn_ContextHandle_t *context);

/* Changes settings of a context; some can only be given at creation. Errors: INVALID_HANDLE,
 * INVALID_CONFIG, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnContext_setConfig(Qnn_ContextHandle_t context,
                                               const QnnContext_Config_t **config);

/* Writes how many bytes getBinary needs. All graphs must be finalized. Errors: NOT_FINALIZED,
 * GET_BINARY_SIZE_FAILED, INVALID_HANDLE, QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED (the context
 * came from a binary). */
QNN_API Qnn_ErrorHandle_t QnnContext_getBinarySize(Qnn_ContextHandle_t context,
                                                   Qnn_ContextBinarySize_t *binaryBufferSize);

/* Writes the context binary into the caller's buffer and its real size, which may be smaller.
 * Errors: as getBinarySize, INVALID_ARGUMENT (buffer too small), GET_BINARY_FAILED. */
QNN_API Qnn_ErrorHandle_t QnnContext_getBinary(Qnn_ContextHandle_t context, void *binaryBuffer,
                                               Qnn_ContextBinarySize_t binaryBufferSize,
                                               Qnn_ContextBinarySize_t *writtenBufferSize);

/* Adds the context binary as a record to an open DLC, which keeps its own copy. Errors:
 * INVALID_HANDLE, NOT_FINALIZED, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnContext_addToDlc(Qnn_ContextHandle_t context,
                                              QnnSystemDlc_Handle_t dlcHandle);

/* Checks whether createFromBinary would accept this binary, creating nothing. Errors: as
 * createFromBinary. */
QNN_API Qnn_ErrorHandle_t QnnContext_validateBinary(Qnn_BackendHandle_t backend,
                                                    Qnn_DeviceHandle_t device,
                                                    const QnnContext_Config_t **config,
                                                    const void *binaryBuffer,
                                                    Qnn_ContextBinarySize_t binaryBufferSize);

/* Creates a context with all graphs of a binary. The buffer may be freed afterwards unless
 * PERSISTENT_BINARY is set.
 * Errors: BINARY_VERSION, CREATE_FROM_BINARY, BINARY_CONFIGURATION (made for other hardware),
 * BINARY_SUBOPTIMAL, INVALID_CONFIG, SET_PROFILE, INVALID_ARGUMENT, MEM_ALLOC. */
QNN_API Qnn_ErrorHandle_t QnnContext_createFromBinary(Qnn_BackendHandle_t backend,
                                                      Qnn_DeviceHandle_t device,
                                                      const QnnContext_Config_t **config,
                                                      const void *binaryBuffer,
                                                      Qnn_ContextBinarySize_t binaryBufferSize,
                                                      Qnn_ContextHandle_t *context,
                                                      Qnn_ProfileHandle_t profile);

/* As createFromBinary, and can be interrupted. Further errors: ABORTED, TIMED_OUT. */
QNN_API Qnn_ErrorHandle_t QnnContext_createFromBinaryWithSignal(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize,
    Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);

/* Creates several contexts and returns at once; each parameter set names the function to call when
 * its context is ready. Nothing may be done with a context before that. listConfig applies to all
 * and wins over the settings of one. Errors: as createFromBinary. */
QNN_API Qnn_ErrorHandle_t QnnContext_createFromBinaryListAsync(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
    const QnnContext_Params_t **contextParams, const QnnContext_Config_t **listConfig,
    Qnn_SignalHandle_t signal);

/* Completes a context that was created with DEFER_GRAPH_INIT. Errors: INVALID_HANDLE, SET_PROFILE,
 * MEM_ALLOC. */
QNN_API Qnn_ErrorHandle_t QnnContext_finalize(Qnn_ContextHandle_t context,
                                              Qnn_ProfileHandle_t profile);

/* As createFromBinaryWithSignal; the library asks for the parts of the binary through callbacks. */
QNN_API Qnn_ErrorHandle_t QnnContext_createFromBinaryWithCallback(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const Qnn_ContextBinaryCallback_t *callback, const void *binaryBuffer,
    Qnn_ContextBinarySize_t binaryBufferSize, Qnn_ContextHandle_t *context,
    Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);

/* Writes how many bytes getBinarySection needs. Errors: INVALID_HANDLE, NOT_FINALIZED,
 * UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnContext_getBinarySectionSize(Qnn_ContextHandle_t context,
                                                          Qnn_GraphHandle_t graph,
                                                          QnnContext_SectionType_t section,
                                                          Qnn_ContextBinarySize_t *binaryBufferSize);

/* Writes one section, as it is after tensor updates and another finalize, into the caller's buffer.
 * A null graph means the whole context. Errors: as getBinarySectionSize, GET_BINARY_FAILED,
 * ABORTED, TIMED_OUT. */
QNN_API Qnn_ErrorHandle_t QnnContext_getBinarySection(Qnn_ContextHandle_t context,
                                                      Qnn_GraphHandle_t graph,
                                                      QnnContext_SectionType_t section,
                                                      const QnnContext_Buffer_t *binaryBuffer,
                                                      Qnn_ContextBinarySize_t *writtenBufferSize,
                                                      Qnn_ProfileHandle_t profile,
                                                      Qnn_SignalHandle_t signal);

/* Replaces a section of a context made from a binary. On failure the old section stays in use.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, BINARY_VERSION, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnContext_applyBinarySection(Qnn_ContextHandle_t context,
                                                        Qnn_GraphHandle_t graph,
                                                        QnnContext_SectionType_t section,
                                                        const QnnContext_Buffer_t *binaryBuffer,
                                                        Qnn_ProfileHandle_t profile,
                                                        Qnn_SignalHandle_t signal);

/* Patches a stored section with new tensor data, without a context. The result is allocated by the
 * library. Errors: INVALID_ARGUMENT, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnContext_getBinarySectionUpdate(
    const QnnContext_Buffer_t *binaryBuffer, const QnnContext_Buffer_t *auxiliaryBuffer,
    const Qnn_Tensor_t **tensors, uint64_t numTensors, uint8_t keepUpdatable,
    Qnn_LogHandle_t logger, Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal,
    QnnContext_Buffer_t *binarySectionUpdate);

/* Frees what getBinarySectionUpdate allocated. Error: INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnContext_freeBinarySectionUpdate(
    QnnContext_Buffer_t binarySectionUpdate, Qnn_LogHandle_t logger);

/* Fills the null-terminated list of properties. Errors: INVALID_HANDLE, INVALID_ARGUMENT,
 * UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnContext_getProperty(Qnn_ContextHandle_t contextHandle,
                                                 QnnContext_Property_t **properties);

/* Gives the next piece of the context binary and where it belongs; a size of 0 ends the series. The
 * piece belongs to the library until released. Errors: as getBinary. */
QNN_API Qnn_ErrorHandle_t QnnContext_getIncrementalBinary(
    Qnn_ContextHandle_t context, const void **binaryBuffer, Qnn_ContextBinarySize_t *startOffset,
    Qnn_ContextBinarySize_t *writtenBufferSize);

/* Gives a piece back. Error: INCREMENT_INVALID_BUFFER for one that was not handed out. */
QNN_API Qnn_ErrorHandle_t QnnContext_releaseIncrementalBinary(
    Qnn_ContextHandle_t context, const void *binaryBuffer, Qnn_ContextBinarySize_t startOffset);

/* Frees the context with its graphs, tensors and registrations. Errors: INVALID_HANDLE,
 * SET_PROFILE. */
QNN_API Qnn_ErrorHandle_t QnnContext_free(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t profile);

#ifdef __cplusplus
}
#endif

#endif
