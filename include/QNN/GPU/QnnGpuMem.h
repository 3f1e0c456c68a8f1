/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGpuMem.h: registers the client's own OpenCL memory, through Qnn_MemDescriptor_t::customInfo. */
#ifndef OPENQNN_QNNGPUMEM_H
#define OPENQNN_QNNGPUMEM_H

#include <stddef.h>

#include "../QnnMem.h"
#include "QnnGpuCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of GPU memory. The undefined value has seven digits, as clients have it. */
typedef enum {
    QNN_GPU_MEM_OPENCL    = 0,
    QNN_GPU_MEM_UNDEFINED = 0x7FFFFFF
} QnnGpu_MemType_t;

/* A cl_mem. */
typedef void *QnnGpuMem_Buffer_t;

/* GPU memory to register; one buffer per tensor. */
typedef struct {
    QnnGpu_MemType_t memType;
    union {
        QnnGpuMem_Buffer_t buffer;
    };
} QnnGpu_MemInfoCustom_t;

#define QNN_GPU_MEMINFO_CUSTOM_INIT {QNN_GPU_MEM_UNDEFINED, {NULL}}

/* The name that documents use for it. */
#define QNN_GPU_MEM_INFO_CUSTOM_INIT QNN_GPU_MEMINFO_CUSTOM_INIT

#ifdef __cplusplus
}
#endif

#endif
