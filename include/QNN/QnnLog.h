/* SPDX-License-Identifier: Apache-2.0 */
/* QnnLog.h: where a library's messages go.
 * A log is created before the objects that write to it and freed after them. Without a callback
 * messages go to the library's own stream. */
#ifndef OPENQNN_QNNLOG_H
#define OPENQNN_QNNLOG_H

#include <stdarg.h>
#include <stdint.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of QnnLog functions. */
typedef enum {
    QNN_LOG_MIN_ERROR              = QNN_MIN_ERROR_LOG,
    QNN_LOG_NO_ERROR               = QNN_SUCCESS,
    QNN_LOG_ERROR_MEM_ALLOC        = QNN_COMMON_ERROR_MEM_ALLOC,
    QNN_LOG_ERROR_INITIALIZATION   = QNN_MIN_ERROR_LOG + 2,
    QNN_LOG_ERROR_INVALID_ARGUMENT = QNN_MIN_ERROR_LOG + 3,
    QNN_LOG_ERROR_INVALID_HANDLE   = QNN_MIN_ERROR_LOG + 4,
    QNN_LOG_MAX_ERROR              = QNN_MAX_ERROR_LOG,
    QNN_LOG_ERROR_UNDEFINED        = 0x7FFFFFFF
} QnnLog_Error_t;

/* Importance of a message; a log passes on its own level and everything more important. */
typedef enum {
    QNN_LOG_LEVEL_ERROR   = 1,
    QNN_LOG_LEVEL_WARN    = 2,
    QNN_LOG_LEVEL_INFO    = 3,
    QNN_LOG_LEVEL_VERBOSE = 4,
    QNN_LOG_LEVEL_DEBUG   = 5,
    QNN_LOG_LEVEL_MAX     = 0x7FFFFFFF
} QnnLog_Level_t;

/* Receives a message as a printf format with arguments; timestamp is in nanoseconds. It may be
 * called from any thread and must not call the API. */
typedef void (*QnnLog_Callback_t)(const char *fmt, QnnLog_Level_t level, uint64_t timestamp,
                                  va_list args);

/* Creates a log; a null callback means the default stream. Errors: INVALID_ARGUMENT,
 * INITIALIZATION, MEM_ALLOC. */
QNN_API Qnn_ErrorHandle_t QnnLog_create(QnnLog_Callback_t callback, QnnLog_Level_t maxLogLevel,
                                        Qnn_LogHandle_t *logger);

/* Changes the level. Errors: INVALID_ARGUMENT, INVALID_HANDLE. */
QNN_API Qnn_ErrorHandle_t QnnLog_setLogLevel(Qnn_LogHandle_t logger, QnnLog_Level_t maxLogLevel);

/* Frees a log that no object uses any more. Error: INVALID_HANDLE. */
QNN_API Qnn_ErrorHandle_t QnnLog_free(Qnn_LogHandle_t logger);

#ifdef __cplusplus
}
#endif

#endif
