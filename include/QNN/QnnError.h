/* SPDX-License-Identifier: Apache-2.0 */
/* QnnError.h: turns a result into text.
 * getMessage names the code; getVerboseMessage tells what exactly was refused in this call and must
 * be released with freeVerboseMessage. */
#ifndef OPENQNN_QNNERROR_H
#define OPENQNN_QNNERROR_H

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of QnnError functions. */
typedef enum {
    QNN_ERROR_MIN_ERROR            = QNN_MIN_ERROR_ERROR,
    QNN_ERROR_NO_ERROR             = QNN_SUCCESS,
    QNN_ERROR_INVALID_ARGUMENT     = QNN_MIN_ERROR_ERROR,
    QNN_ERROR_INVALID_ERROR_HANDLE = QNN_MIN_ERROR_ERROR + 1,
    QNN_ERROR_MAX_ERROR            = QNN_MAX_ERROR_ERROR,
    QNN_ERROR_UNDEFINED            = 0x7FFFFFFF
} QnnError_Error_t;

/* Points errorMessage at a static text for the code in errorHandle. Errors: INVALID_ARGUMENT,
 * INVALID_ERROR_HANDLE (unknown code). */
QNN_API Qnn_ErrorHandle_t QnnError_getMessage(Qnn_ErrorHandle_t errorHandle,
                                              const char **errorMessage);

/* Gives a text about the very failure that errorHandle came from; release it with
 * freeVerboseMessage. Errors: INVALID_ARGUMENT, INVALID_ERROR_HANDLE. */
QNN_API Qnn_ErrorHandle_t QnnError_getVerboseMessage(Qnn_ErrorHandle_t errorHandle,
                                                     const char **errorMessage);

/* Releases a verbose message. Error: INVALID_ARGUMENT for a text that did not come from
 * getVerboseMessage. */
QNN_API Qnn_ErrorHandle_t QnnError_freeVerboseMessage(const char *errorMessage);

#ifdef __cplusplus
}
#endif

#endif
