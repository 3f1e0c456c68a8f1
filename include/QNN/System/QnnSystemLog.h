/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemLog.h: the log of the system library; see QnnLog.h. */
#ifndef OPENQNN_QNNSYSTEMLOG_H
#define OPENQNN_QNNSYSTEMLOG_H

#include "../QnnCommon.h"
#include "../QnnLog.h"
#include "QnnSystemCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As QnnLog_create(). */
QNN_API Qnn_ErrorHandle_t QnnSystemLog_create(QnnLog_Callback_t callback,
                                              QnnLog_Level_t maxLogLevel, Qnn_LogHandle_t *logger);

/* As QnnLog_setLogLevel(). */
QNN_API Qnn_ErrorHandle_t QnnSystemLog_setLogLevel(Qnn_LogHandle_t logger,
                                                   QnnLog_Level_t maxLogLevel);

/* As QnnLog_free(). */
QNN_API Qnn_ErrorHandle_t QnnSystemLog_free(Qnn_LogHandle_t logger);

#ifdef __cplusplus
}
#endif

#endif
