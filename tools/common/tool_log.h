/* SPDX-License-Identifier: Apache-2.0 */
/* What a program says: plain progress lines on stdout, log lines with time and level, and a progress counter on a terminal.
 *
 *     tool_say("Composing Graphs");                       always, stdout
 *     tool_log(TOOL_WARN, "graph \"%s\" has no outputs", name);
 *                                                         "     3.1ms [ WARNING ] graph "x" has no outputs"
 *
 * Errors and warnings go to stderr, the rest to stdout. Every function may be called from any thread. */
#ifndef TOOLS_COMMON_TOOL_LOG_H
#define TOOLS_COMMON_TOOL_LOG_H

#include <stdarg.h>
#include <stdint.h>

#include "base/status.h"

/* The numbers are those of QnnLog_Level_t. */
enum tool_level { TOOL_ERROR = 1, TOOL_WARN, TOOL_INFO, TOOL_VERBOSE, TOOL_DEBUG };

void tool_log_start(void);                /* time 0 of the log lines */
void tool_log_level(enum tool_level max); /* warnings and errors when never called */
enum tool_level tool_log_max(void);
void tool_log(enum tool_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tool_vlog(enum tool_level level, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void tool_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints the explanation kept for this thread as an error, "stage: explanation", and returns the exit code of a failure. */
int tool_report(const char *stage, enum status st);

/* "what 12/300" rewritten in place, only when stderr is a terminal, at most ten times a second. done == total ends it. */
void tool_progress(const char *what, uint64_t done, uint64_t total);

#endif
