/* SPDX-License-Identifier: Apache-2.0 */
/* QnnLog.h, as it is recorded. What the recorder has to say goes to the client's function; the replay has none of the
 * client's functions, and writes to the default stream. */
#include "api/log.h"

#include "api/saver/saver.h"

Qnn_ErrorHandle_t QnnLog_create(QnnLog_Callback_t callback, QnnLog_Level_t maxLogLevel, Qnn_LogHandle_t *logger)
{
    struct saver_call c;
    Qnn_LogHandle_t log = NULL;
    Qnn_ErrorHandle_t e = log_create(callback, maxLogLevel, logger ? &log : NULL);
    if (e != QNN_SUCCESS)
        return e;
    saver_begin(&c, "QnnLog_create", COMP_LOG);
    saver_arg(&c, "NULL, %u", (unsigned)maxLogLevel);
    struct saver_object *o = saver_add(&c, HANDLE_LOG, NULL, log);
    if (!o) {
        log_free(log);
    } else {
        saver_arg(&c, "&%s[%u]", saver_array(HANDLE_LOG), o->number);
        c.ret = logger;
        c.ret_handle = log;
    }
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnLog_setLogLevel(Qnn_LogHandle_t logger, QnnLog_Level_t maxLogLevel)
{
    struct saver_call c;
    Qnn_ErrorHandle_t e = log_set_level(logger, maxLogLevel);
    if (e != QNN_SUCCESS)
        return e;
    saver_begin(&c, "QnnLog_setLogLevel", COMP_LOG);
    saver_on(&c, HANDLE_LOG, logger);
    saver_arg(&c, "%u", (unsigned)maxLogLevel);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnLog_free(Qnn_LogHandle_t logger)
{
    struct saver_call c;
    saver_begin(&c, "QnnLog_free", COMP_LOG);
    struct saver_object *o = saver_on(&c, HANDLE_LOG, logger);
    return saver_end_free(&c, o);
}
