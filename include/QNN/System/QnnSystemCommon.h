/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemCommon.h: versions and result codes of the system library, libQnnSystem.so, which works
 * on files and data without a backend. */
#ifndef OPENQNN_QNNSYSTEMCOMMON_H
#define OPENQNN_QNNSYSTEMCOMMON_H

#include <stdint.h>

#include "../QnnCommon.h"

/* Ranges of result codes. */
#define QNN_SYSTEM_COMMON_MIN_ERROR  30000
#define QNN_SYSTEM_COMMON_MAX_ERROR  30999
#define QNN_SYSTEM_PROFILE_MIN_ERROR 31000
#define QNN_SYSTEM_PROFILE_MAX_ERROR 31999

/* Provider name. */
#define QNN_SYSTEM_INTERFACE_PROVIDER_NAME "SYSTEM_QTI_AISW"

/* Version of the system API. */
#define QNN_SYSTEM_API_VERSION_MAJOR 1
#define QNN_SYSTEM_API_VERSION_MINOR 12
#define QNN_SYSTEM_API_VERSION_PATCH 0

/* Older names of the common range. */
#define QNN_SYSTEM_CONTEXT_MIN_ERROR 30000
#define QNN_SYSTEM_CONTEXT_MAX_ERROR 30999

/* Result codes that all system functions share. */
typedef enum {
    QNN_SYSTEM_COMMON_NO_ERROR                  = QNN_SUCCESS,
    QNN_SYSTEM_COMMON_ERROR_UNSUPPORTED_FEATURE = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_SYSTEM_COMMON_ERROR_INVALID_HANDLE      = QNN_MIN_ERROR_SYSTEM,
    QNN_SYSTEM_COMMON_ERROR_INVALID_ARGUMENT    = QNN_MIN_ERROR_SYSTEM + 1
} QnnSystemCommon_Error_t;

/* Size of a DLC in bytes. */
typedef uint64_t Qnn_SystemDlcBinarySize_t;

#endif
