/* SPDX-License-Identifier: Apache-2.0 */
/* QnnCommon.h: what every component shares: the API version, handle types, the result type and the
 * map of error ranges.
 * A handle is opaque; it is made by a create function, is valid until the matching free function,
 * and must not be used with another library. A result is 64 bits wide; its low 16 bits are the
 * code, 0 is success. */
#ifndef OPENQNN_QNNCOMMON_H
#define OPENQNN_QNNCOMMON_H

#include <stddef.h>
#include <stdint.h>

/* Marks what a library exports. The libraries are built with hidden visibility; whoever needs
 * another linkage defines QNN_API before including any of these headers. */
#ifndef QNN_API
#define QNN_API __attribute__((visibility("default")))
#endif

/* Version of the core API. */
#define QNN_API_VERSION_MAJOR 2
#define QNN_API_VERSION_MINOR 37
#define QNN_API_VERSION_PATCH 0

/* Backend id of an interface that is no backend. */
#define QNN_BACKEND_ID_NULL 0

/* The result of every call that did what it should. */
#define QNN_SUCCESS 0

/* Each component has its own range of codes. */
#define QNN_MIN_ERROR_COMMON              1000
#define QNN_MAX_ERROR_COMMON              1999
#define QNN_MIN_ERROR_PROPERTY            2000
#define QNN_MAX_ERROR_PROPERTY            2999
#define QNN_MIN_ERROR_OP_PACKAGE          3000
#define QNN_MAX_ERROR_OP_PACKAGE          3999
#define QNN_MIN_ERROR_BACKEND             4000
#define QNN_MIN_ERROR_BACKEND_SAVER       4950
#define QNN_MAX_ERROR_BACKEND_SAVER       4998
#define QNN_MAX_ERROR_BACKEND             4999
#define QNN_MIN_ERROR_CONTEXT             5000
#define QNN_MAX_ERROR_CONTEXT             5999
#define QNN_MIN_ERROR_GRAPH               6000
#define QNN_MAX_ERROR_GRAPH               6999
#define QNN_MIN_ERROR_TENSOR              7000
#define QNN_MAX_ERROR_TENSOR              7999
#define QNN_MIN_ERROR_MEM                 8000
#define QNN_MAX_ERROR_MEM                 8999
#define QNN_MIN_ERROR_SIGNAL              9000
#define QNN_MAX_ERROR_SIGNAL              9999
#define QNN_MIN_ERROR_ERROR               10000
#define QNN_MAX_ERROR_ERROR               10999
#define QNN_MIN_ERROR_LOG                 11000
#define QNN_MAX_ERROR_LOG                 11999
#define QNN_MIN_ERROR_PROFILE             12000
#define QNN_MAX_ERROR_PROFILE             12999
#define QNN_MIN_ERROR_PERF_INFRASTRUCTURE 13000
#define QNN_MAX_ERROR_PERF_INFRASTRUCTURE 13999
#define QNN_MIN_ERROR_DEVICE              14000
#define QNN_MAX_ERROR_DEVICE              14999
#define QNN_MIN_ERROR_GLOBAL_CONFIG       15000
#define QNN_MAX_ERROR_GLOBAL_CONFIG       15999
#define QNN_MIN_ERROR_SYSTEM              30000
#define QNN_MAX_ERROR_SYSTEM              49999
#define QNN_MIN_ERROR_INTERFACE           60000
#define QNN_MAX_ERROR_INTERFACE           60999

/* Joins three tokens. */
#define QNN_PASTE_THREE(a, b, c) a##b##c

/* The code in a result: compare this, not the whole handle, with the error enums. */
#define QNN_GET_ERROR_CODE(errorHandle) ((errorHandle) & 0xFFFF)

/* Codes that any function may return. */
typedef enum {
    QNN_COMMON_MIN_ERROR                        = QNN_MIN_ERROR_COMMON,
    /* optional feature that this library lacks */
    QNN_COMMON_ERROR_NOT_SUPPORTED              = QNN_MIN_ERROR_COMMON,
    /* out of memory */
    QNN_COMMON_ERROR_MEM_ALLOC                  = QNN_MIN_ERROR_COMMON + 2,
    /* the operating system or a transport failed */
    QNN_COMMON_ERROR_SYSTEM                     = QNN_MIN_ERROR_COMMON + 3,
    QNN_COMMON_ERROR_INVALID_ARGUMENT           = QNN_MIN_ERROR_COMMON + 4,
    /* not in this state of the object */
    QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED    = QNN_MIN_ERROR_COMMON + 5,
    /* not on this machine */
    QNN_COMMON_ERROR_PLATFORM_NOT_SUPPORTED     = QNN_MIN_ERROR_COMMON + 6,
    /* the accelerator restarted; rebuild contexts */
    QNN_COMMON_ERROR_SYSTEM_COMMUNICATION       = QNN_MIN_ERROR_COMMON + 7,
    /* libraries of different builds */
    QNN_COMMON_ERROR_INCOMPATIBLE_BINARIES      = QNN_MIN_ERROR_COMMON + 8,
    /* a library could not be loaded */
    QNN_COMMON_ERROR_LOADING_BINARIES           = QNN_MIN_ERROR_COMMON + 9,
    /* taken by somebody else for now */
    QNN_COMMON_ERROR_RESOURCE_UNAVAILABLE       = QNN_MIN_ERROR_COMMON + 10,
    /* the accelerator did not come back */
    QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL = QNN_MIN_ERROR_COMMON + 11,
    QNN_COMMON_ERROR_GENERAL                    = QNN_MIN_ERROR_COMMON + 100,
    QNN_COMMON_MAX_ERROR                        = QNN_MAX_ERROR_COMMON,
    QNN_COMMON_ERROR_UNDEFINED                  = 0x7FFFFFFF
} QnnCommon_Error_t;

/* Result of a call: QNN_GET_ERROR_CODE() of it is the code, the rest may lead to a verbose message. */
typedef uint64_t Qnn_ErrorHandle_t;
/* Any object of the library. */
typedef void *Qnn_Handle_t;
typedef Qnn_Handle_t Qnn_BackendHandle_t;
typedef Qnn_Handle_t Qnn_ContextHandle_t;
typedef Qnn_Handle_t Qnn_DeviceHandle_t;
typedef Qnn_Handle_t Qnn_GraphHandle_t;
typedef Qnn_Handle_t Qnn_LogHandle_t;
typedef Qnn_Handle_t Qnn_MemHandle_t;
typedef Qnn_Handle_t Qnn_ProfileHandle_t;
typedef Qnn_Handle_t Qnn_SignalHandle_t;
typedef Qnn_Handle_t QnnSystemDlc_Handle_t;

#endif
