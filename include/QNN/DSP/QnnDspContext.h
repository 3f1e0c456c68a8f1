/* SPDX-License-Identifier: Apache-2.0 */
/* QnnDspContext.h: context options of the DSP backend, and what its binaries tell. */
#ifndef OPENQNN_QNNDSPCONTEXT_H
#define OPENQNN_QNNDSPCONTEXT_H

#include <stdint.h>

#include "../QnnContext.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which setting a QnnDspContext_CustomConfig_t holds. */
typedef enum {
    QNN_DSP_CONTEXT_CONFIG_OPTION_FILE_READ_MEMORY_BUDGET = 10,
    QNN_DSP_CONTEXT_CONFIG_OPTION_UNKNOWN                 = 0x7FFFFFFF
} QnnDspContext_ConfigOption_t;

/* One setting. */
typedef struct {
    QnnDspContext_ConfigOption_t option;
    union {
        uint32_t fileReadMemoryBudgetInMb; /* 0: not used */
    };
} QnnDspContext_CustomConfig_t;

#define QNN_DSP_CONTEXT_CUSTOM_CONFIG_INIT {QNN_DSP_CONTEXT_CONFIG_OPTION_UNKNOWN, {0}}

/* Version of QnnDspSystemContext_ContextBlobInfo_t. */
typedef enum {
    QNN_SYSTEM_CONTEXT_DSP_CONTEXT_INFO_BLOB_VERSION_V1 = 1,
    QNN_SYSTEM_CONTEXT_DSP_CONTEXT_INFO_BLOB_UNDEFINED  = 0x7FFFFFFF
} QnnDspSystemContext_ContextInfoBlobVersion_t;

/* Facts on a binary, version 1. */
typedef struct {
    uint32_t dspArch;
} QnnDspSystemContext_ContextBlobInfoV1_t;

/* Facts on a binary. */
typedef struct {
    QnnDspSystemContext_ContextInfoBlobVersion_t version;
    union {
        QnnDspSystemContext_ContextBlobInfoV1_t contextBinaryContextBlobInfoV1;
    };
} QnnDspSystemContext_ContextBlobInfo_t;

#define QNN_DSP_SYSTEM_CONTEXT_CONTEXT_BLOB_INFO_INIT {QNN_SYSTEM_CONTEXT_DSP_CONTEXT_INFO_BLOB_UNDEFINED, {{0}}}

#ifdef __cplusplus
}
#endif

#endif
