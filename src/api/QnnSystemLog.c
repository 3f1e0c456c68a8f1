/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemLog.h: the entry points; logs themselves are in log.c. */
#include "QNN/System/QnnSystemLog.h"

#include "api/log.h"

Qnn_ErrorHandle_t QnnSystemLog_create(QnnLog_Callback_t callback, QnnLog_Level_t maxLogLevel, Qnn_LogHandle_t *logger)
{
    return log_create(callback, maxLogLevel, logger);
}

Qnn_ErrorHandle_t QnnSystemLog_setLogLevel(Qnn_LogHandle_t logger, QnnLog_Level_t maxLogLevel)
{
    return log_set_level(logger, maxLogLevel);
}

Qnn_ErrorHandle_t QnnSystemLog_free(Qnn_LogHandle_t logger)
{
    return log_free(logger);
}
