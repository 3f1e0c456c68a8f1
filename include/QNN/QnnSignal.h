/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSignal.h: interrupts long calls.
 * A signal is configured as an abort, which another thread triggers, or as a timeout, and passed to
 * one call at a time. */
#ifndef OPENQNN_QNNSIGNAL_H
#define OPENQNN_QNNSIGNAL_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of QnnSignal functions. */
typedef enum {
    QNN_SIGNAL_MIN_ERROR                      = QNN_MIN_ERROR_SIGNAL,
    QNN_SIGNAL_NO_ERROR                       = QNN_SUCCESS,
    QNN_SIGNAL_ERROR_UNSUPPORTED              = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_SIGNAL_ERROR_SIGNAL_IN_USE            = QNN_MIN_ERROR_SIGNAL,
    QNN_SIGNAL_ERROR_SIGNAL_IDLE              = QNN_MIN_ERROR_SIGNAL + 1,
    QNN_SIGNAL_ERROR_INVALID_ARGUMENT         = QNN_MIN_ERROR_SIGNAL + 2,
    QNN_SIGNAL_ERROR_INVALID_HANDLE           = QNN_MIN_ERROR_SIGNAL + 3,
    QNN_SIGNAL_ERROR_TIMEOUT                  = QNN_MIN_ERROR_SIGNAL + 4,
    QNN_SIGNAL_ERROR_INCOMPATIBLE_SIGNAL_TYPE = QNN_MIN_ERROR_SIGNAL + 5,
    QNN_SIGNAL_ERROR_MEM_ALLOC                = QNN_COMMON_ERROR_MEM_ALLOC,
    QNN_SIGNAL_MAX_ERROR                      = QNN_MAX_ERROR_SIGNAL,
    QNN_SIGNAL_ERROR_UNDEFINED                = 0x7FFFFFFF
} QnnSignal_Error_t;

/* What a signal is. */
typedef enum {
    QNN_SIGNAL_CONFIG_OPTION_CUSTOM  = 0,
    QNN_SIGNAL_CONFIG_OPTION_ABORT   = 1,
    QNN_SIGNAL_CONFIG_OPTION_TIMEOUT = 2,
    QNN_SIGNAL_CONFIG_UNDEFINED      = 0x7FFFFFFF
} QnnSignal_ConfigOption_t;

/* A backend's own config struct. */
typedef void *QnnSignal_CustomConfig_t;

/* One setting of a signal. */
typedef struct {
    QnnSignal_ConfigOption_t option;
    union {
        QnnSignal_CustomConfig_t customConfig;
        uint64_t timeoutDurationUs;
    };
} QnnSignal_Config_t;

#define QNN_SIGNAL_CONFIG_INIT {QNN_SIGNAL_CONFIG_UNDEFINED, {NULL}}

/* Creates a signal. Errors: INVALID_ARGUMENT, UNSUPPORTED, MEM_ALLOC. */
QNN_API Qnn_ErrorHandle_t QnnSignal_create(Qnn_BackendHandle_t backend,
                                           const QnnSignal_Config_t **config,
                                           Qnn_SignalHandle_t *signal);

/* Changes what an idle signal does. Errors: INVALID_HANDLE, INVALID_ARGUMENT, SIGNAL_IN_USE,
 * UNSUPPORTED. */
QNN_API Qnn_ErrorHandle_t QnnSignal_setConfig(Qnn_SignalHandle_t signal,
                                              const QnnSignal_Config_t **config);

/* Aborts the call that uses the signal and returns when that call has let go of its resources.
 * Errors: SIGNAL_IDLE, INCOMPATIBLE_SIGNAL_TYPE (a timeout), INVALID_HANDLE. */
QNN_API Qnn_ErrorHandle_t QnnSignal_trigger(Qnn_SignalHandle_t signal);

/* Frees an idle signal. Errors: INVALID_HANDLE, SIGNAL_IN_USE. */
QNN_API Qnn_ErrorHandle_t QnnSignal_free(Qnn_SignalHandle_t signal);

#ifdef __cplusplus
}
#endif

#endif
