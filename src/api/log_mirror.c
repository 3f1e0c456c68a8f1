/* SPDX-License-Identifier: Apache-2.0 */
/* See log_mirror.h. */
#include "api/log_mirror.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/line_append.h"

enum { PATH_SIZE = 4096, TEXT_SIZE = 1400, LINE_SIZE = TEXT_SIZE + 100 };

static const char *const words[] = { "", "error", "warn", "info", "verbose", "debug" };

static enum log_level most;  /* 0: nothing is wanted */
static char path[PATH_SIZE]; /* "": standard error */
static uint64_t begun_ns;

static void to_stderr(const char *text)
{
    fprintf(stderr, "[WARN] openqnn: %s\n", text);
}

static enum log_level read_level(const char *text, size_t n)
{
    for (enum log_level level = LOG_ERROR; level <= LOG_DEBUG; level++) {
        if (strlen(words[level]) == n && strncmp(words[level], text, n) == 0)
            return level;
    }
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("OPENQNN_LOG");
    char text[TEXT_SIZE];
    if (!wanted || !*wanted)
        return;

    const char *colon = strchr(wanted, ':');
    const enum log_level level = read_level(wanted, colon ? (size_t)(colon - wanted) : strlen(wanted));
    begun_ns = clock_ns();
    if (!level) {
        snprintf(text, sizeof(text),
                 "OPENQNN_LOG=%.60s is ignored; error, warn, info, verbose or debug is expected, and :FILE may follow",
                 wanted);
        to_stderr(text);
        return;
    }
    if (colon && snprintf(path, sizeof(path), "%s", colon + 1) >= (int)sizeof(path)) {
        to_stderr("OPENQNN_LOG: the path of the file is too long; the log goes to standard error");
        path[0] = '\0';
    }
    if (path[0] && !line_append(path, "", 0)) {
        snprintf(text, sizeof(text), "OPENQNN_LOG: %.1000s cannot be written (%s); the log goes to standard error", path,
                 strerrordesc_np(errno));
        to_stderr(text);
        path[0] = '\0';
    }
    most = level;
}

bool log_mirror_wants(enum log_level level)
{
    return level <= most;
}

bool log_mirror_on_stderr(void)
{
    return most && !path[0];
}

void log_mirror(enum log_level level, const char *fmt, va_list ap)
{
    char text[TEXT_SIZE], line[LINE_SIZE];
    const double seconds = (double)(clock_ns() - begun_ns) / 1e9;

    vsnprintf(text, sizeof(text), fmt, ap);
    const int n = snprintf(line, sizeof(line), "%9.6f %d %-7s openqnn: %s\n", seconds, (int)getpid(), words[level], text);
    if (n <= 0)
        return;
    const size_t size = (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1;
    if (path[0])
        line_append(path, line, size);
    else
        fwrite(line, 1, size, stderr);
}

static void warn(void *arg, const char *sentence)
{
    (void)arg;
    api_log(LOG_WARN, "%s", sentence);
}

void log_check_environment(void)
{
    static _Atomic bool done;

    if (!atomic_exchange(&done, true))
        environment_check(warn, NULL);
}
