/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGpuCommon.h: identity and version of the GPU backend, libQnnGpu.so.
 * Graphs become OpenCL programs; tensors are float. */
#ifndef OPENQNN_QNNGPUCOMMON_H
#define OPENQNN_QNNGPUCOMMON_H

#include "../QnnTypes.h"

/* Backend id and provider name. */
#define QNN_BACKEND_ID_GPU              4
#define QNN_GPU_INTERFACE_PROVIDER_NAME "GPU_QTI_AISW"

/* Version of the GPU API. */
#define QNN_GPU_API_VERSION_MAJOR 3
#define QNN_GPU_API_VERSION_MINOR 15
#define QNN_GPU_API_VERSION_PATCH 0

#define QNN_GPU_API_VERSION_INIT                                                          \
    {                                                                                     \
        {QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH},            \
        {QNN_GPU_API_VERSION_MAJOR, QNN_GPU_API_VERSION_MINOR, QNN_GPU_API_VERSION_PATCH} \
    }

#endif
