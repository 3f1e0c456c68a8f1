/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines with time and level; see tool_log.h. */
#include "common/tool_log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { PROGRESS_PERIOD_NS = 100 * 1000 * 1000 };

static const char *const level_names[] = { "ERROR", "ERROR", "WARNING", "INFO", "VERBOSE", "DEBUG" };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum tool_level max_level = TOOL_WARN;
static uint64_t started_ns, progress_ns;
static bool progress_shown;

static void clear_progress(void)
{
    if (progress_shown)
        fputs("\r\033[K", stderr);
    progress_shown = false;
}

void tool_log_start(void)
{
    started_ns = clock_ns();
}

void tool_log_level(enum tool_level max)
{
    max_level = max;
}

enum tool_level tool_log_max(void)
{
    return max_level;
}

/* Messages of the libraries do, those of the tools do not. */
static bool ends_line(const char *fmt)
{
    size_t length = strlen(fmt);
    return length > 0 && fmt[length - 1] == '\n';
}

void tool_vlog(enum tool_level level, const char *fmt, va_list ap)
{
    if (level > max_level)
        return;
    pthread_mutex_lock(&lock);
    clear_progress();
    FILE *to = level <= TOOL_WARN ? stderr : stdout;
    fflush(stdout); /* keeps the order when both go to one place */
    fprintf(to, "%8.1fms [ %s ] ", (double)(clock_ns() - started_ns) / 1e6,
            level_names[level <= TOOL_DEBUG ? level : TOOL_DEBUG]);
    vfprintf(to, fmt, ap);
    if (!ends_line(fmt))
        fputc('\n', to);
    pthread_mutex_unlock(&lock);
}

void tool_log(enum tool_level level, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tool_vlog(level, fmt, ap);
    va_end(ap);
}

void tool_say(const char *fmt, ...)
{
    va_list ap;
    pthread_mutex_lock(&lock);
    clear_progress();
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}

int tool_report(const char *stage, enum status st)
{
    const char *why = status_text();
    tool_log(TOOL_ERROR, "%s: %s", stage, why[0] ? why : status_default_text(st));
    return 1;
}

void tool_progress(const char *what, uint64_t done, uint64_t total)
{
    if (!isatty(STDERR_FILENO))
        return;
    pthread_mutex_lock(&lock);
    uint64_t now = clock_ns();
    if (done >= total) {
        clear_progress();
    } else if (now - progress_ns >= PROGRESS_PERIOD_NS) {
        fprintf(stderr, "\r%s %" PRIu64 "/%" PRIu64 " (%.0f%%)\033[K", what, done, total,
                100.0 * (double)done / (double)total);
        fflush(stderr);
        progress_ns = now;
        progress_shown = true;
    }
    pthread_mutex_unlock(&lock);
}
