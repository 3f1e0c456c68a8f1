/* SPDX-License-Identifier: Apache-2.0 */
/* Logs: the client's callback, or standard error. QnnLog.c and QnnSystemLog.c are the ways in. */
#include "api/log.h"

#include <stdatomic.h>
#include <stdio.h>

#include "api/errors.h"
#include "api/log_mirror.h"
#include "api/thread_words.h"
#include "base/clock.h"
#include "base/handle.h"
#include "base/mem.h"

struct log {
    QnnLog_Callback_t callback;
    _Atomic uint32_t level;
};

enum { FMT_MAX = 512 };

static const char *tag;

enum callback_kind callback_enter(enum callback_kind kind)
{
    struct thread_words *words = thread_words();
    enum callback_kind former = words->callback;

    if (kind > former)
        words->callback = kind;
    return former;
}

void callback_leave(enum callback_kind former)
{
    thread_words()->callback = former;
}

enum callback_kind in_callback(void)
{
    return thread_words()->callback;
}

void *log_enter(void *log_handle)
{
    struct thread_words *words = thread_words();
    void *former = words->log;

    words->log = log_handle;
    words->is_quiet = false;
    return former;
}

void log_enter_quiet(void *log_handle)
{
    log_enter(log_handle);
    thread_words()->is_quiet = true;
}

void log_set_tag(const char *new_tag)
{
    tag = new_tag;
}

/* The format as callbacks get it: the tag in front, by which clients know messages of some backends, and a newline at
 * the end, because many callbacks print what they get and add nothing. One that does not fit goes as it is. */
static const char *framed(const char *fmt, enum log_level level, char room[FMT_MAX])
{
    int n = 0;

    if (tag)
        n = snprintf(room, FMT_MAX, "%s <%c> %s\n", tag, " EWIVD"[level], fmt);
    else
        n = snprintf(room, FMT_MAX, "%s\n", fmt);

    return n >= 0 && n < FMT_MAX ? room : fmt;
}

static void to_stream(const char *fmt, enum log_level level, va_list ap)
{
    static const char *const names[] = { "", "ERROR", "WARN", "INFO", "VERBOSE", "DEBUG" };
    char text[1400];
    vsnprintf(text, sizeof text, fmt, ap);
    fprintf(stderr, "[%s] openqnn: %s\n", names[level], text);
}

/* What the callback calls may fail and write to the log again: that is not passed on, or it would never end. */
static void to_client(const struct log *l, const char *fmt, enum log_level level, va_list ap)
{
    struct thread_words *words = thread_words();
    if (words->is_logging)
        return;

    char room[FMT_MAX];
    void *handle = words->log;
    bool was_quiet = words->is_quiet;

    words->is_logging = true;
    enum callback_kind former = callback_enter(CALLBACK_BUSY);
    l->callback(framed(fmt, level, room), (QnnLog_Level_t)level, clock_ns(), ap);
    callback_leave(former);

    words = thread_words(); /* calls of the callback may have moved them */
    words->is_logging = false;
    words->log = handle;
    words->is_quiet = was_quiet;
}

void api_log(enum log_level level, const char *fmt, ...)
{
    const struct thread_words *words = thread_words();
    void *handle = words->log; /* the client's callback may enter the library again */
    bool is_quiet = words->is_quiet;
    struct log *l = handle ? handle_get(handle, HANDLE_LOG) : NULL;
    va_list ap;

    if (log_mirror_wants(level) && !is_quiet) {
        va_start(ap, fmt);
        log_mirror(level, fmt, ap);
        va_end(ap);
    }
    va_start(ap, fmt);
    if (l && level <= atomic_load_explicit(&l->level, memory_order_relaxed)) {
        if (l->callback)
            to_client(l, fmt, level, ap);
        else
            to_stream(fmt, level, ap);
    } else if (!handle && level == LOG_ERROR && !is_quiet && !log_mirror_on_stderr()) {
        to_stream(fmt, level, ap);
    }
    va_end(ap);

    if (l)
        handle_put(handle);
}

static bool level_ok(QnnLog_Level_t level)
{
    return (level >= QNN_LOG_LEVEL_ERROR && level <= QNN_LOG_LEVEL_DEBUG) || level == QNN_LOG_LEVEL_MAX;
}

Qnn_ErrorHandle_t log_create(QnnLog_Callback_t callback, QnnLog_Level_t maxLogLevel, Qnn_LogHandle_t *logger)
{
    log_enter(NULL);
    API_CHECK(logger, COMP_LOG, ST_INVALID_ARG, "logger is NULL; give a pointer that receives the handle");
    API_CHECK(level_ok(maxLogLevel), COMP_LOG, ST_INVALID_ARG, "maxLogLevel is %u; 1 (error) to 5 (debug) are allowed",
              (unsigned)maxLogLevel);
    struct log *l = mem_new(struct log);
    void *h = l ? handle_open(HANDLE_LOG, l) : NULL;
    if (!h) {
        mem_free(l);
        return api_fail(COMP_LOG, ST_NO_MEMORY, "no memory for a log");
    }
    l->callback = callback;
    l->level = (uint32_t)maxLogLevel;
    *logger = h;
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t log_set_level(Qnn_LogHandle_t logger, QnnLog_Level_t maxLogLevel)
{
    log_enter(logger);
    API_CHECK(level_ok(maxLogLevel), COMP_LOG, ST_INVALID_ARG, "maxLogLevel is %u; 1 (error) to 5 (debug) are allowed",
              (unsigned)maxLogLevel);
    struct log *l = handle_get(logger, HANDLE_LOG);
    API_CHECK(l, COMP_LOG, ST_INVALID_HANDLE, "the log handle is %s", handle_describe(logger, HANDLE_LOG));
    atomic_store_explicit(&l->level, (uint32_t)maxLogLevel, memory_order_relaxed);
    handle_put(logger);
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t log_free(Qnn_LogHandle_t logger)
{
    log_enter(NULL);
    API_CHECK(in_callback() == CALLBACK_NONE, COMP_LOG, ST_NOT_PERMITTED,
              "a log cannot be freed from a function that the library called; free it afterwards");
    struct log *l = handle_close(logger, HANDLE_LOG, 0);
    API_CHECK(l, COMP_LOG, ST_INVALID_HANDLE, "the log handle is %s", handle_describe(logger, HANDLE_LOG));
    mem_free(l);
    return QNN_SUCCESS;
}
