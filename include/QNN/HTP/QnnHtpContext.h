/* SPDX-License-Identifier: Apache-2.0 */
/* QnnHtpContext.h: settings and properties of HTP contexts.
 * A QnnHtpContext_CustomConfig_t travels in QnnContext_Config_t::customConfig, a
 * QnnHtpContext_CustomProperty_t in QnnContext_Property_t::customProperty. */
#ifndef OPENQNN_QNNHTPCONTEXT_H
#define OPENQNN_QNNHTPCONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "../QnnCommon.h"
#include "../QnnContext.h"
#include "QnnHtpCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Joins a group of contexts that share one spill-fill buffer. */
typedef struct {
    Qnn_ContextHandle_t firstGroupHandle;  /* null in the first context */
    uint64_t maxSpillFillBuffer;  /* bytes, set by the first context */
} QnnHtpContext_GroupRegistration_t;

/* Which setting a QnnHtpContext_CustomConfig_t holds. */
typedef enum {
    /* graphs of the context share equal weights */
    QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED                  = 1,
    /* join a group */
    QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS                 = 2,
    QNN_HTP_CONTEXT_CONFIG_OPTION_FILE_READ_MEMORY_BUDGET                 = 3,
    QNN_HTP_CONTEXT_CONFIG_OPTION_DSP_MEMORY_PROFILING_ENABLED            = 4,
    /* contexts of a list never run at the same time */
    QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES                         = 5,
    QNN_HTP_CONTEXT_CONFIG_OPTION_IO_MEM_ESTIMATION                       = 6,
    /* the context is only made to be saved */
    QNN_HTP_CONTEXT_CONFIG_OPTION_PREPARE_ONLY                            = 7,
    QNN_HTP_CONTEXT_CONFIG_OPTION_INIT_ACCELERATION                       = 8,
    QNN_HTP_CONTEXT_CONFIG_OPTION_SKIP_VALIDATION_ON_BINARY_SECTION       = 9,
    QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES_OPTIMIZATION_TYPE       = 10,
    QNN_HTP_CONTEXT_CONFIG_OPTION_USE_EXTENDED_UDMA                       = 11,
    QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_CONCURRENT_RESOURCE_SHARING    = 12,
    QNN_HTP_CONTEXT_CONFIG_OPTION_LORA_WEIGHT_SHARING_ENABLED             = 13,
    QNN_HTP_CONTEXT_CONFIG_OPTION_RESERVED_14                             = 14,
    QNN_HTP_CONTEXT_CONFIG_OPTION_RESERVED_15                             = 15,
    QNN_HTP_CONTEXT_CONFIG_OPTION_LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED = 16,
    QNN_HTP_CONTEXT_CONFIG_OPTION_REUSED_IO_LIMIT                         = 17,
    QNN_HTP_CONTEXT_CONFIG_OPTION_REFERENCE_WEIGHT_SHARING_ENABLED        = 18,
    QNN_HTP_CONTEXT_CONFIG_OPTION_CONCURRENT_DESERIALIZATION_EXTRA_SIZE   = 19,
    QNN_HTP_CONTEXT_CONFIG_OPTION_GRAPH_SPLITTING_ENABLED                 = 20,
    QNN_HTP_CONTEXT_CONFIG_OPTION_CONCURRENT_DESERIALIZATION_PATCH        = 21,
    QNN_HTP_CONTEXT_CONFIG_OPTION_UNKNOWN                                 = 0x7FFFFFFF
} QnnHtpContext_ConfigOption_t;

/* How contexts of a list share memory. */
typedef enum {
    SEQUENTIAL_WITH_VA_OPTIMIZATION    = 0,  /* one runs at a time, sharing addresses */
    SEQUENTIAL_WITHOUT_VA_OPTIMIZATION = 1,
    CONCURRENT_OPTIMIZATION            = 2  /* they may overlap */
} QnnHtpContext_ShareResourcesOptimizationType_t;

/* One HTP setting of a context. */
typedef struct QnnHtpContext_CustomConfig {
    QnnHtpContext_ConfigOption_t option;
    union {
        bool weightSharingEnabled;
        QnnHtpContext_GroupRegistration_t groupRegistration;
        uint64_t fileReadMemoryBudgetInMb;
        bool dspMemoryProfilingEnabled;
        bool shareResources;
        bool ioMemEstimation;
        bool ioMemoryEstimation;  /* the same, as the documents call it */
        bool isPrepareOnly;
        bool initAcceleration;
        bool skipValidationOnBinarySection;
        QnnHtpContext_ShareResourcesOptimizationType_t shareResOptType;
        bool useExtendedUdma;
        QnnHtpContext_GroupRegistration_t concurrentGroupRegistration;
        bool loraWeightSharingEnabled;
        bool loraWeightSharingRamPreloadEnabled;
        uint64_t reusedIoLimitMb;
        bool referenceWeightSharingEnabled;
        uint32_t concurrentDeserializationExtraSizeKB;
        bool graphSplittingEnabled;
        int concurrentDeserializationPatchFd;
    };
} QnnHtpContext_CustomConfig_t;

#define QNN_HTP_CONTEXT_CUSTOM_CONFIG_INIT {QNN_HTP_CONTEXT_CONFIG_OPTION_UNKNOWN, {false}}

/* Which property a QnnHtpContext_CustomProperty_t asks for. */
typedef enum {
    QNN_HTP_CONTEXT_GET_PROP_BUFFER_START_ALIGNMENT     = 1,  /* of external buffers */
    QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE  = 2,
    QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE        = 3,
    QNN_HTP_CONTEXT_GET_PROP_RESERVED_4                 = 4,
    QNN_HTP_CONTEXT_GET_PROP_RESERVED_5                 = 5,
    QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE = 6,
    QNN_HTP_CONTEXT_GET_PROP_RESERVED_7                 = 7,
    QNN_HTP_CONTEXT_GET_PROP_UNDEFINED                  = 0x7FFFFFFF
} QnnHtpContext_GetPropertyOption_t;

/* One HTP property of a context. */
typedef struct {
    QnnHtpContext_GetPropertyOption_t option;
    union {
        uint64_t bufferStartAlignment;
        uint64_t spillfillBufferSize;
        uint64_t weightsBufferSize;
        uint64_t vtcmBackupBufferSize;
    };
} QnnHtpContext_CustomProperty_t;

#define QNN_HTP_CONTEXT_CUSTOM_PROPERTY_INIT {QNN_HTP_CONTEXT_GET_PROP_UNDEFINED, {0}}

#ifdef __cplusplus
}
#endif

#endif
