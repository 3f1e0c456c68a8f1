/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemContext.h: reads what a context binary says about itself: graphs, tensors, versions,
 * hardware.
 * Create a handle, ask it about one binary at a time, free it. Answers belong to the handle and
 * live until the next question or free. */
#ifndef OPENQNN_QNNSYSTEMCONTEXT_H
#define OPENQNN_QNNSYSTEMCONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnCommon.h"
#include "../QnnDevice.h"
#include "../QnnTypes.h"
#include "QnnSystemCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of QnnSystemContext functions. */
typedef enum {
    QNN_SYSTEM_CONTEXT_MINERROR                  = QNN_MIN_ERROR_SYSTEM,
    QNN_SYSTEM_CONTEXT_NO_ERROR                  = QNN_SUCCESS,
    QNN_SYSTEM_CONTEXT_ERROR_UNSUPPORTED_FEATURE = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE      = QNN_MIN_ERROR_SYSTEM,
    QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT    = QNN_MIN_ERROR_SYSTEM + 1,
    QNN_SYSTEM_CONTEXT_ERROR_OPERATION_FAILED    = QNN_MIN_ERROR_SYSTEM + 2,
    QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY    = QNN_MIN_ERROR_SYSTEM + 10,
    QNN_SYSTEM_CONTEXT_MAXERROR                  = QNN_MAX_ERROR_SYSTEM
} QnnSystemContext_Error_t;

/* A graph: name, inputs, outputs. */
typedef struct {
    const char *graphName;
    uint32_t numGraphInputs;
    Qnn_Tensor_t *graphInputs;
    uint32_t numGraphOutputs;
    Qnn_Tensor_t *graphOutputs;
} QnnSystemContext_GraphInfoV1_t;

#define QNN_SYSTEM_CONTEXT_GRAPH_INFO_V1_INIT {NULL, 0, NULL, 0, NULL}

/* As version 1, and updateable tensors. */
typedef struct {
    const char *graphName;
    uint32_t numGraphInputs;
    Qnn_Tensor_t *graphInputs;
    uint32_t numGraphOutputs;
    Qnn_Tensor_t *graphOutputs;
    uint32_t numUpdateableTensors;
    Qnn_Tensor_t *updateableTensors;
} QnnSystemContext_GraphInfoV2_t;

#define QNN_SYSTEM_CONTEXT_GRAPH_INFO_V2_INIT {NULL, 0, NULL, 0, NULL, 0, NULL}

/* As version 2, and the backend's own facts. */
typedef struct {
    const char *graphName;
    uint32_t numGraphInputs;
    Qnn_Tensor_t *graphInputs;
    uint32_t numGraphOutputs;
    Qnn_Tensor_t *graphOutputs;
    uint32_t numUpdateableTensors;
    Qnn_Tensor_t *updateableTensors;
    uint32_t graphBlobInfoSize;
    void *graphBlobInfo;  /* see the backend's system context header */
    uint32_t startOpIndex;
    uint32_t endOpIndex;
} QnnSystemContext_GraphInfoV3_t;

#define QNN_SYSTEM_CONTEXT_GRAPH_INFO_V3_INIT {NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0}

/* Versions of QnnSystemContext_GraphInfo_t. */
typedef enum {
    QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1 = 1,
    QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_2 = 2,
    QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3 = 3,
    QNN_SYSTEM_CONTEXT_GRAPH_INFO_UNDEFINED = 0x7FFFFFFF
} QnnSystemContext_GraphInfoVersion_t;

/* Versioned facts on a graph. */
typedef struct {
    QnnSystemContext_GraphInfoVersion_t version;
    union {
        QnnSystemContext_GraphInfoV1_t graphInfoV1;
        QnnSystemContext_GraphInfoV2_t graphInfoV2;
        QnnSystemContext_GraphInfoV3_t graphInfoV3;
    };
} QnnSystemContext_GraphInfo_t;

#define QNN_SYSTEM_CONTEXT_GRAPH_INFO_INIT                                               \
    {                                                                                    \
        QNN_SYSTEM_CONTEXT_GRAPH_INFO_UNDEFINED, {QNN_SYSTEM_CONTEXT_GRAPH_INFO_V1_INIT} \
    }

/* A context binary: who made it, for what, and what is in it. */
typedef struct {
    uint32_t backendId;
    const char *buildId;
    Qnn_Version_t coreApiVersion;
    Qnn_Version_t backendApiVersion;
    const char *socVersion;
    Qnn_Version_t hwInfoBlobVersion;
    Qnn_Version_t contextBlobVersion;
    uint32_t hwInfoBlobSize;
    void *hwInfoBlob;
    uint64_t contextBlobSize;
    uint32_t numContextTensors;
    Qnn_Tensor_t *contextTensors;
    uint32_t numGraphs;
    QnnSystemContext_GraphInfo_t *graphs;
} QnnSystemContext_BinaryInfoV1_t;

#define QNN_SYSTEM_CONTEXT_BINARY_INFO_V1_INIT                                                 \
    {                                                                                          \
        0, NULL, QNN_VERSION_INIT, QNN_VERSION_INIT, NULL, QNN_VERSION_INIT, QNN_VERSION_INIT, \
        0, NULL, 0, 0, NULL, 0, NULL                                                           \
    }

/* As version 1, and the platform it was made for. */
typedef struct {
    uint32_t backendId;
    const char *buildId;
    Qnn_Version_t coreApiVersion;
    Qnn_Version_t backendApiVersion;
    const char *socVersion;
    Qnn_Version_t hwInfoBlobVersion;
    Qnn_Version_t contextBlobVersion;
    uint32_t hwInfoBlobSize;
    void *hwInfoBlob;
    uint64_t contextBlobSize;
    uint32_t numContextTensors;
    Qnn_Tensor_t *contextTensors;
    uint32_t numGraphs;
    QnnSystemContext_GraphInfo_t *graphs;
    QnnDevice_PlatformInfo_t *platformInfo;
} QnnSystemContext_BinaryInfoV2_t;

#define QNN_SYSTEM_CONTEXT_BINARY_INFO_V2_INIT                                                 \
    {                                                                                          \
        0, NULL, QNN_VERSION_INIT, QNN_VERSION_INIT, NULL, QNN_VERSION_INIT, QNN_VERSION_INIT, \
        0, NULL, 0, 0, NULL, 0, NULL, NULL                                                     \
    }

/* As version 2, with the backend's own facts in place of hardware info. */
typedef struct {
    uint32_t backendId;
    const char *buildId;
    Qnn_Version_t coreApiVersion;
    Qnn_Version_t backendApiVersion;
    const char *socVersion;
    Qnn_Version_t contextBlobVersion;
    uint64_t contextBlobSize;
    uint32_t numContextTensors;
    Qnn_Tensor_t *contextTensors;
    uint32_t numGraphs;
    QnnSystemContext_GraphInfo_t *graphs;
    QnnDevice_PlatformInfo_t *platformInfo;
    uint32_t contextMetadataSize;
    void *contextMetadata;
    uint32_t socModel;
} QnnSystemContext_BinaryInfoV3_t;

#define QNN_SYSTEM_CONTEXT_BINARY_INFO_V3_INIT                                              \
    {                                                                                       \
        0, NULL, QNN_VERSION_INIT, QNN_VERSION_INIT, NULL, QNN_VERSION_INIT, 0, 0, NULL, 0, \
        NULL, NULL, 0, NULL, 0                                                              \
    }

/* Versions of QnnSystemContext_BinaryInfo_t. */
typedef enum {
    QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1 = 1,
    QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_2 = 2,
    QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3 = 3,
    QNN_SYSTEM_CONTEXT_BINARY_INFO_UNDEFINED = 0x7FFFFFFF
} QnnSystemContext_BinaryInfoVersion_t;

/* Versioned facts on a context binary. */
typedef struct {
    QnnSystemContext_BinaryInfoVersion_t version;
    union {
        QnnSystemContext_BinaryInfoV1_t contextBinaryInfoV1;
        QnnSystemContext_BinaryInfoV2_t contextBinaryInfoV2;
        QnnSystemContext_BinaryInfoV3_t contextBinaryInfoV3;
    };
} QnnSystemContext_BinaryInfo_t;

#define QNN_SYSTEM_CONTEXT_BINARYINFO_INIT                                                 \
    {                                                                                      \
        QNN_SYSTEM_CONTEXT_BINARY_INFO_UNDEFINED, {QNN_SYSTEM_CONTEXT_BINARY_INFO_V1_INIT} \
    }

/* A reader of context binaries. */
typedef void *QnnSystemContext_Handle_t;

/* Creates a reader. Errors: INVALID_ARGUMENT, QNN_COMMON_ERROR_MEM_ALLOC. */
QNN_API Qnn_ErrorHandle_t QnnSystemContext_create(QnnSystemContext_Handle_t *sysCtxHandle);

/* Older form of getMetadata; also writes the size of the description. Errors: as getMetadata. */
QNN_API Qnn_ErrorHandle_t QnnSystemContext_getBinaryInfo(
    QnnSystemContext_Handle_t sysCtxHandle, void *binaryBuffer, uint64_t binaryBufferSize,
    const QnnSystemContext_BinaryInfo_t **binaryInfo, Qnn_ContextBinarySize_t *binaryInfoSize);

/* Describes a binary. The buffer may be freed afterwards. Errors: INVALID_HANDLE, INVALID_ARGUMENT,
 * MALFORMED_BINARY, OPERATION_FAILED, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnSystemContext_getMetadata(
    QnnSystemContext_Handle_t sysCtxHandle, const void *binaryBuffer,
    Qnn_ContextBinarySize_t binaryBufferSize, const QnnSystemContext_BinaryInfo_t **binaryInfo);

/* Frees a reader and its answers. Error: INVALID_HANDLE. */
QNN_API Qnn_ErrorHandle_t QnnSystemContext_free(QnnSystemContext_Handle_t sysCtxHandle);

#ifdef __cplusplus
}
#endif

#endif
