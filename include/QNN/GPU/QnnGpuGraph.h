/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGpuGraph.h: settings of GPU graphs, for QnnGraph_Config_t::customConfig.
 * There are two forms: a plain struct with all settings, and version 2, which holds one setting and
 * is told apart by its handshake value. */
#ifndef OPENQNN_QNNGPUGRAPH_H
#define OPENQNN_QNNGPUGRAPH_H

#include <stdint.h>

#include "../QnnGraph.h"
#include "QnnGpuCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* First word of a QnnGpuGraph_CustomConfigV2_t; no precision has this value. */
#define QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG 0x7FFFFFFF

/* Arithmetic of a graph. */
typedef enum {
    QNN_GPU_PRECISION_FP32          = 0,
    QNN_GPU_PRECISION_FP16          = 1,
    QNN_GPU_PRECISION_HYBRID        = 2,  /* tensors fp16, sums fp32 */
    QNN_GPU_PRECISION_USER_PROVIDED = 3,  /* as the tensors say */
    QNN_GPU_PRECISION_UNDEFINED     = 0x7FFFFFFF
} QnnGpu_Precision_t;

/* All GPU settings of a graph. */
typedef struct {
    QnnGpu_Precision_t precision;
    uint8_t disableMemoryOptimizations;
    uint8_t disableNodeOptimizations;
    uint8_t disableQueueRecording;
} QnnGpuGraph_CustomConfig_t;

#define QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT {QNN_GPU_PRECISION_USER_PROVIDED, 0, 0, 0}

/* Descriptors of synchronization fences. */
typedef int32_t *FenceHandle;

/* Fences to wait for before an execution, and one to signal after it. */
typedef struct {
    uint32_t *numInputFences;
    FenceHandle *inputFenceHandles;
    uint8_t enableOutputFence;
    FenceHandle outputFence;
} QnnGpuGraph_FenceConfigV1_t;

/* Versions of QnnGpuGraph_FenceConfig_t. */
typedef enum {
    QNN_GPU_GRAPH_FENCE_CONFIG_VERSION_V1        = 0,
    QNN_GPU_GRAPH_FENCE_CONFIG_VERSION_UNDEFINED = 0x7FFFFFFF
} QnnGpuGraph_FenceConfigVersion_t;

/* Versioned QnnGpuGraph_FenceConfigV1_t. */
typedef struct {
    QnnGpuGraph_FenceConfigVersion_t version;
    union {
        QnnGpuGraph_FenceConfigV1_t fenceConfigV1;
    };
} QnnGpuGraph_FenceConfig_t;

/* Which setting a QnnGpuGraph_CustomConfigV2_t holds. */
typedef enum {
    QNN_GPU_GRAPH_CONFIG_OPTION_PRECISION                    = 0,
    QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_MEMORY_OPTIMIZATIONS = 1,
    QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_NODE_OPTIMIZATIONS   = 2,
    QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_QUEUE_RECORDING      = 3,
    QNN_GPU_GRAPH_CONFIG_OPTION_FENCE_CONFIG                 = 4,
    QNN_GPU_GRAPH_CONFIG_OPTION_UNDEFINED                    = 0x7FFFFFFF
} QnnGpuGraph_ConfigOption_t;

/* One GPU setting of a graph. */
typedef struct {
    uint32_t handshake;  /* QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG */
    QnnGpuGraph_ConfigOption_t option;
    union {
        QnnGpu_Precision_t precision;
        uint8_t disableMemoryOptimizations;
        uint8_t disableNodeOptimizations;
        uint8_t disableQueueRecording;
        QnnGpuGraph_FenceConfig_t fenceConfig;
    };
} QnnGpuGraph_CustomConfigV2_t;

#ifdef __cplusplus
}
#endif

#endif
