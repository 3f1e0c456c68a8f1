/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGpuContext.h: settings of GPU contexts, for QnnContext_Config_t::customConfig. */
#ifndef OPENQNN_QNNGPUCONTEXT_H
#define OPENQNN_QNNGPUCONTEXT_H

#include <stdint.h>

#include "../QnnContext.h"
#include "QnnGpuCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which setting a QnnGpuContext_CustomConfig_t holds. */
typedef enum {
    QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT              = 0,
    QNN_GPU_CONTEXT_CONFIG_OPTION_USE_GL_BUFFERS         = 1,
    QNN_GPU_CONTEXT_CONFIG_OPTION_KERNEL_REPO_DIR        = 2,  /* where compiled kernels are kept */
    QNN_GPU_CONTEXT_CONFIG_OPTION_INVALIDATE_KERNEL_REPO = 3,
    QNN_GPU_CONTEXT_CONFIG_OPTION_UNDEFINED              = 0x7FFFFFFF
} QnnGpuContext_ConfigOption_t;

/* Speed against power. */
typedef enum {
    QNN_GPU_CONTEXT_PERF_HINT_HIGH   = 0,
    QNN_GPU_CONTEXT_PERF_HINT_NORMAL = 1,
    QNN_GPU_CONTEXT_PERF_HINT_LOW    = 2
} QnnGpuContext_PerfHint_t;

/* One GPU setting of a context. */
typedef struct {
    QnnGpuContext_ConfigOption_t option;
    union {
        QnnGpuContext_PerfHint_t perfHint;
        uint8_t useGLBuffers;
        const char *kernelRepoDir;
        uint8_t invalidateKernelRepo;
    };
} QnnGpuContext_CustomConfig_t;

#define QNN_GPU_CONTEXT_CUSTOM_CONFIG_INIT                                        \
    {                                                                             \
        QNN_GPU_CONTEXT_CONFIG_OPTION_UNDEFINED, {QNN_GPU_CONTEXT_PERF_HINT_HIGH} \
    }

#ifdef __cplusplus
}
#endif

#endif
