/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGlobalConfig.h: settings of the whole library, made before any other object exists. */
#ifndef OPENQNN_QNNGLOBALCONFIG_H
#define OPENQNN_QNNGLOBALCONFIG_H

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of QnnGlobalConfig functions. */
typedef enum {
    QNN_GLOBAL_CONFIG_MIN_ERROR            = QNN_MIN_ERROR_GLOBAL_CONFIG,
    QNN_GLOBAL_CONFIG_NO_ERROR             = QNN_SUCCESS,
    QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG = QNN_MIN_ERROR_GLOBAL_CONFIG,
    QNN_GLOBAL_CONFIG_MAX_ERROR            = QNN_MAX_ERROR_GLOBAL_CONFIG,
    QNN_GLOBAL_CONFIG_ERROR_UNDEFINED      = 0x7FFFFFFF
} QnnGlobalConfig_Error_t;

/* Which member of a QnnGlobalConfig_t is used. */
typedef enum {
    QNN_GLOBAL_CONFIG_OPTION_SOC_MODEL = 0,
    QNN_GLOBAL_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF
} QnnGlobalConfig_ConfigOption_t;

/* One setting of the library. */
typedef struct {
    QnnGlobalConfig_ConfigOption_t option;
    union {
        Qnn_SocModel_t socModel;
    };
} QnnGlobalConfig_t;

#define QNN_GLOBAL_CONFIG_INIT {QNN_GLOBAL_CONFIG_OPTION_UNDEFINED, {QNN_SOC_MODEL_UNKNOWN}}

/* Makes settings of the library; call it before anything else. Error: INVALID_CONFIG. */
QNN_API Qnn_ErrorHandle_t QnnGlobalConfig_Set(const QnnGlobalConfig_t **config);

#ifdef __cplusplus
}
#endif

#endif
