/* SPDX-License-Identifier: Apache-2.0 */
/* One table maps our status to the codes of each component; what a component does not name falls back to the
 * common codes. */
#include "api/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/log.h"
#include "api/thread_words.h"

static const uint16_t common[ST_COUNT] = {
    [ST_NO_MEMORY] = 1002, [ST_INVALID_ARG] = 1004, [ST_INVALID_HANDLE] = 1004, [ST_INVALID_CONFIG] = 1004,
    [ST_NOT_SUPPORTED] = 1000,
    [ST_NOT_PERMITTED] = 1005, [ST_FINALIZED] = 1005, [ST_IO] = 1003, [ST_SYSTEM] = 1003, [ST_MAPPING] = 1003,
    [ST_COMMUNICATION] = 1007, [ST_LOADING] = 1009, [ST_COMMUNICATION_FATAL] = 1011,
};

static const uint16_t codes[COMP_COUNT][ST_COUNT] = {
    [COMP_BACKEND] = {
        [ST_INVALID_ARG] = 4004, [ST_INVALID_HANDLE] = 4011, [ST_INVALID_CONFIG] = 4012, [ST_NOT_SUPPORTED] = 4003,
        [ST_UNKNOWN_PACKAGE] = 4005, [ST_PROVIDER] = 4006, [ST_EXISTS] = 4009,
        [ST_PACKAGE] = 4007, [ST_PACKAGE_VERSION] = 4008,
    },
    [COMP_VALIDATE] = {
        [ST_INVALID_ARG] = 4004, [ST_INVALID_HANDLE] = 4011, [ST_UNKNOWN_PACKAGE] = 4005, [ST_INVALID_OP] = 3110,
        [ST_INVALID_TENSOR] = 3110, [ST_UNSUPPORTED_TENSOR] = 3110, [ST_NOT_SUPPORTED] = 3110, [ST_DYNAMIC_SHAPE] = 3110,
        [ST_PREPARE_FAILED] = 3110, [ST_INTERNAL] = 3110,
    },
    [COMP_CONTEXT] = {
        [ST_INVALID_ARG] = 5000, [ST_INVALID_HANDLE] = 5002, [ST_NOT_FINALIZED] = 5003, [ST_BINARY_VERSION] = 5004,
        [ST_BAD_BINARY] = 5005, [ST_BINARY_CONFIG] = 5008, [ST_SET_PROFILE] = 5009, [ST_PROFILE_IN_USE] = 5009,
        [ST_INVALID_CONFIG] = 5010, [ST_SUBOPTIMAL] = 5011, [ST_ABORTED] = 5012, [ST_TIMED_OUT] = 5013,
        [ST_INVALID_OP] = 5005,
        [ST_INVALID_TENSOR] = 5005,
        [ST_UNSUPPORTED_TENSOR] = 5005, [ST_UNKNOWN_PACKAGE] = 5005, [ST_PREPARE_FAILED] = 5005,
    },
    [COMP_GRAPH] = {
        [ST_INVALID_ARG] = 6000, [ST_INVALID_HANDLE] = 6001, [ST_INVALID_CONFIG] = 6000, [ST_NOT_FOUND] = 6002,
        [ST_INVALID_NAME] = 6003,
        [ST_EXISTS] = 6003, [ST_INVALID_TENSOR] = 6004, [ST_UNSUPPORTED_TENSOR] = 6004, [ST_INVALID_OP] = 6005,
        [ST_UNKNOWN_PACKAGE] = 6005, [ST_SET_PROFILE] = 6006, [ST_UNCONNECTED] = 6007, [ST_EMPTY_GRAPH] = 6022,
        [ST_PREPARE_FAILED] = 6022, [ST_INTERNAL] = 6022, [ST_NOT_FINALIZED] = 6023, [ST_FINALIZED] = 6024,
        [ST_QUEUE_FULL] = 6025,
        [ST_SIGNAL_IN_USE] = 6030, [ST_ABORTED] = 6031, [ST_PROFILE_IN_USE] = 6032, [ST_TIMED_OUT] = 6033,
        [ST_SUBGRAPH] = 6034,
        [ST_DISABLED] = 6035, [ST_DYNAMIC_SHAPE] = 6036, [ST_ENDED_EARLY] = 6038, [ST_PAUSED] = 6031,
        [ST_CONTEXT_GONE] = 6039,
    },
    [COMP_TENSOR] = {
        [ST_INVALID_ARG] = 7004, [ST_INVALID_HANDLE] = 7001, [ST_NOT_FOUND] = 7002, [ST_EXISTS] = 7003,
        [ST_INVALID_TENSOR] = 7004,
        [ST_UNSUPPORTED_TENSOR] = 7005, [ST_SHAPE] = 7007,
    },
    [COMP_MEM] = {
        [ST_INVALID_ARG] = 8000, [ST_INVALID_HANDLE] = 8001, [ST_EXISTS] = 8002, [ST_MAPPING] = 8003, [ST_SYSTEM] = 8003,
        [ST_SHAPE] = 8004, [ST_MEM_TYPE] = 8005,
    },
    [COMP_PROFILE] = { [ST_INVALID_HANDLE] = 12000, [ST_IN_USE] = 12001, [ST_PROFILE_IN_USE] = 12001 },
    [COMP_SIGNAL] = {
        [ST_SIGNAL_IN_USE] = 9000, [ST_IN_USE] = 9000, [ST_IDLE] = 9001, [ST_INVALID_ARG] = 9002, [ST_INVALID_CONFIG] = 9002,
        [ST_INVALID_HANDLE] = 9003, [ST_SIGNAL_TYPE] = 9005,
    },
    [COMP_LOG] = { [ST_INVALID_ARG] = 11003, [ST_INVALID_HANDLE] = 11004 },
    [COMP_DEVICE] = { [ST_INVALID_HANDLE] = 14000, [ST_INVALID_CONFIG] = 14001, [ST_ASSOCIATED] = 14003 },
    [COMP_GLOBAL] = { [ST_INVALID_CONFIG] = 15000, [ST_INVALID_ARG] = 15000 },
    [COMP_SYSTEM] = {
        [ST_INVALID_ARG] = 30001, [ST_INVALID_HANDLE] = 30000, [ST_BAD_BINARY] = 30010, [ST_BINARY_VERSION] = 30010,
        [ST_INTERNAL] = 30002, [ST_IO] = 30002, [ST_NOT_FOUND] = 30002, [ST_PREPARE_FAILED] = 30002,
        [ST_INVALID_OP] = 30010, [ST_INVALID_TENSOR] = 30010, [ST_UNSUPPORTED_TENSOR] = 30010,
    },
    [COMP_SYSTEM_PROFILE] = { [ST_INVALID_ARG] = 30001, [ST_INVALID_HANDLE] = 30000, [ST_NO_MEMORY] = 31000 },
    [COMP_SYSTEM_TENSOR] = { [ST_INVALID_ARG] = 30001, [ST_INVALID_TENSOR] = 30002 },
};

enum { GENERAL = 1100 };

static uint32_t code_of(enum component c, enum status st)
{
    uint32_t code = codes[c][st] ? codes[c][st] : common[st];
    return code ? code : GENERAL;
}

static void report(enum log_level level, uint32_t code, const char *text)
{
    const struct qnn_error *row = qnn_error_find(code);
    thread_words()->last_code = code; /* its explanation is status_text() as long as nothing else has failed */
    api_log(level, "%s %u 0x%x: %s", row ? row->name : "QNN_ERROR", code, code, text);
}

static Qnn_ErrorHandle_t explain(enum component c, enum status st, enum log_level level)
{
    uint32_t code = code_of(c, st);

    report(level, code, *status_text() ? status_text() : status_default_text(st));
    return code;
}

Qnn_ErrorHandle_t api_error(enum component c, enum status st)
{
    if (st == ST_OK)
        return QNN_SUCCESS;

    /* Streams end early all the time, and a pause is what the client asked for; neither is an error. */
    enum log_level level = st == ST_ENDED_EARLY || st == ST_PAUSED ? LOG_DEBUG : LOG_ERROR;
    return explain(c, st, level);
}

Qnn_ErrorHandle_t api_answer(enum component c, enum status st)
{
    return explain(c, st, LOG_INFO);
}

void error_returned(uint32_t code)
{
    log_enter(NULL);
    report(LOG_ERROR, code, status_text());
}

Qnn_ErrorHandle_t api_fail(enum component c, enum status st, const char *fmt, ...)
{
    char text[STATUS_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    status_fail(st, "%s", text);
    return api_error(c, st);
}

const char *error_last_text(uint32_t code)
{
    return thread_words()->last_code == code && *status_text() ? status_text() : NULL;
}
