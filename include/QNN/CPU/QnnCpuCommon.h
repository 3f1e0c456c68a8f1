/* SPDX-License-Identifier: Apache-2.0 */
/* QnnCpuCommon.h: identity and version of the CPU backend, libQnnCpu.so, the reference for results. */
#ifndef OPENQNN_QNNCPUCOMMON_H
#define OPENQNN_QNNCPUCOMMON_H

#include "../QnnTypes.h"

/* Backend id and provider name. */
#define QNN_BACKEND_ID_CPU              3
#define QNN_CPU_INTERFACE_PROVIDER_NAME "CPU_QTI_AISW"

/* Version of the CPU API. */
#define QNN_CPU_API_VERSION_MAJOR 1
#define QNN_CPU_API_VERSION_MINOR 1
#define QNN_CPU_API_VERSION_PATCH 0

#define QNN_CPU_API_VERSION_INIT                                                          \
    {                                                                                     \
        {QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH},            \
        {QNN_CPU_API_VERSION_MAJOR, QNN_CPU_API_VERSION_MINOR, QNN_CPU_API_VERSION_PATCH} \
    }

#endif
