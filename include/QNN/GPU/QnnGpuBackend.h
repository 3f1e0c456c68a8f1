/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGpuBackend.h: settings of the GPU backend, for QnnBackend_Config_t::customConfig. */
#ifndef OPENQNN_QNNGPUBACKEND_H
#define OPENQNN_QNNGPUBACKEND_H

#include <stdint.h>

#include "../QnnBackend.h"
#include "QnnGpuCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which setting a QnnGpuBackend_CustomConfig_t holds. */
typedef enum {
    /* measure work sizes and remember them */
    QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE           = 0,
    QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR        = 1,
    QNN_GPU_BACKEND_CONFIG_OPTION_INVALIDATE_PERFORMANCE_CACHE = 2,
    QNN_GPU_BACKEND_CONFIG_OPTION_WEIGHT_SHARING_ENABLED       = 3,
    QNN_GPU_BACKEND_CONFIG_OPTION_DISABLE_KERNEL_PROFILING     = 4,
    QNN_GPU_BACKEND_CONFIG_OPTION_UNDEFINED                    = 0x7FFFFFFF
} QnnGpuBackend_ConfigOption_t;

/* One GPU setting of the backend. */
typedef struct {
    QnnGpuBackend_ConfigOption_t option;
    union {
        uint8_t enableTuningMode;
        const char *performanceCacheDir;
        uint8_t invalidatePerformanceCache;
        uint8_t weightSharingEnabled;
        uint8_t disableKernelProfiling;
    };
} QnnGpuBackend_CustomConfig_t;

#define QNN_GPU_BACKEND_CUSTOM_CONFIG_INIT {QNN_GPU_BACKEND_CONFIG_OPTION_UNDEFINED, {0}}

#ifdef __cplusplus
}
#endif

#endif
