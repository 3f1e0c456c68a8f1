/* SPDX-License-Identifier: Apache-2.0 */
/* QnnHtpSystemContext.h: what QnnSystemContext_getMetadata returns in the blobs of an HTP context
 * binary.
 * A blob starts with its version. Sizes are in bytes unless said otherwise. */
#ifndef OPENQNN_QNNHTPSYSTEMCONTEXT_H
#define OPENQNN_QNNHTPSYSTEMCONTEXT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Facts on the hardware info of a binary. */
typedef struct QnnHtpSystemContext_HwBlobInfoV1 {
    uint32_t graphListIndex;
    uint64_t spillFillBufferSize;
} QnnHtpSystemContext_HwBlobInfoV1_t;

/* Versions of QnnHtpSystemContext_HwBlobInfo_t. */
typedef enum {
    QNN_SYSTEM_CONTEXT_HTP_HW_INFO_BLOB_VERSION_V1 = 1,
    QNN_SYSTEM_CONTEXT_HTP_HW_INFO_BLOB_UNDEFINED  = 0x7FFFFFFF
} QnnHtpSystemContext_HwInfoBlobVersion_t;

/* Versioned facts on the hardware info of a binary. */
typedef struct {
    QnnHtpSystemContext_HwInfoBlobVersion_t version;
    union {
        QnnHtpSystemContext_HwBlobInfoV1_t contextBinaryHwInfoBlobV1_t;
    };
} QnnHtpSystemContext_HwBlobInfo_t;

/* Facts on a graph. */
typedef struct {
    uint64_t spillFillBufferSize;
    uint32_t vtcmSize;  /* in megabytes */
    uint32_t optimizationLevel;
    uint8_t htpDlbc;  /* 1: activations are compressed */
    uint64_t numHvxThreads;
} QnnHtpSystemContext_GraphBlobInfoV1_t;

/* Versions of QnnHtpSystemContext_GraphBlobInfo_t. */
typedef enum {
    QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1 = 1,
    QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V2 = 2,
    QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_UNDEFINED  = 0x7FFFFFFF
} QnnHtpSystemContext_GraphInfoBlobVersion_t;

/* Further facts on a graph; follows version 1 in the blob. */
typedef struct {
    QnnHtpSystemContext_GraphInfoBlobVersion_t version;
    uint64_t nativeKChannelSize;
    uint64_t nativeVChannelSize;
    uint32_t isSafeShareIO;
    uint64_t ioTensorSize;
    uint64_t opDataSize;
    uint64_t constSize;
    uint64_t ddrTensorSize;
    uint64_t sharedWeightsSize;
} QnnHtpSystemContext_GraphBlobInfoV2_t;

/* Versioned facts on a graph. */
typedef struct {
    QnnHtpSystemContext_GraphInfoBlobVersion_t version;
    union {
        QnnHtpSystemContext_GraphBlobInfoV1_t contextBinaryGraphBlobInfoV1;
    };
} QnnHtpSystemContext_GraphBlobInfo_t;

/* Facts on a context. */
typedef struct {
    uint32_t dspArch;
} QnnHtpSystemContext_ContextBlobInfoV1_t;

/* Versions of QnnHtpSystemContext_ContextBlobInfo_t. */
typedef enum {
    QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1 = 1,
    QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_UNDEFINED  = 0x7FFFFFFF
} QnnHtpSystemContext_ContextInfoBlobVersion_t;

/* Versioned facts on a context. */
typedef struct {
    QnnHtpSystemContext_ContextInfoBlobVersion_t version;
    union {
        QnnHtpSystemContext_ContextBlobInfoV1_t contextBinaryContextBlobInfoV1;
    };
} QnnHtpSystemContext_ContextBlobInfo_t;

#ifdef __cplusplus
}
#endif

#endif
