/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the client's log (private to api/).
 *
 * Objects keep the handle of their log, never a pointer, so that a client which frees its log too early loses messages, not
 * the process. Each entry point says which log it works for with log_enter. Without a log, errors go to standard error. */
#ifndef API_LOG_H
#define API_LOG_H

#include <stdarg.h>

#include "QNN/QnnLog.h"

enum log_level { LOG_ERROR = 1, LOG_WARN = 2, LOG_INFO = 3, LOG_VERBOSE = 4, LOG_DEBUG = 5 };

/* Messages of this thread go to the log with this handle (NULL: none) from now on. Returns the former one. */
void *log_enter(void *log_handle);

/* log_enter for operator validation: refusals are an answer, not an accident, so without a log they are not printed. */
void log_enter_quiet(void *log_handle);

/* What messages to callbacks begin with, before the letter of their level: "tag <E> ". Said when the library is loaded;
 * NULL: nothing. */
void log_set_tag(const char *tag);

void api_log(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Around every call of a function of the client: what its thread holds meanwhile, and a call from there would wait for. */
enum callback_kind {
    CALLBACK_NONE,
    CALLBACK_OWNED,  /* backends, devices and logs: they cannot be freed */
    CALLBACK_PINNED, /* contexts as well */
    CALLBACK_BUSY,   /* locks: every call with a handle is refused */
};
enum callback_kind callback_enter(enum callback_kind kind); /* the former one, for callback_leave */
void callback_leave(enum callback_kind former);
enum callback_kind in_callback(void); /* of this thread: the strictest */

/* What QnnLog.h and QnnSystemLog.h both do. */
Qnn_ErrorHandle_t log_create(QnnLog_Callback_t callback, QnnLog_Level_t maxLogLevel, Qnn_LogHandle_t *logger);
Qnn_ErrorHandle_t log_set_level(Qnn_LogHandle_t logger, QnnLog_Level_t maxLogLevel);
Qnn_ErrorHandle_t log_free(Qnn_LogHandle_t logger);

#endif
