/* SPDX-License-Identifier: Apache-2.0 */
/* OPENQNN_LOG=LEVEL[:FILE]: what the library logs, also for programs that make no log and cannot be changed (private to
 * api/). Messages go to standard error, or behind what is in the file. */
#ifndef API_LOG_MIRROR_H
#define API_LOG_MIRROR_H

#include <stdarg.h>
#include <stdbool.h>

#include "api/log.h"

/* Whether a message of this level is wanted there. */
bool log_mirror_wants(enum log_level level);
void log_mirror(enum log_level level, const char *fmt, va_list ap);

/* Whether it goes to standard error, so that errors need not go there a second time. */
bool log_mirror_on_stderr(void);

/* Once per process: what OPENQNN_ variables say that means nothing, as warnings. */
void log_check_environment(void);

#endif
