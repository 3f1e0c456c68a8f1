/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemTensor.h: calculations on tensor descriptions. */
#ifndef OPENQNN_QNNSYSTEMTENSOR_H
#define OPENQNN_QNNSYSTEMTENSOR_H

#include <stdint.h>

#include "../QnnCommon.h"
#include "../QnnTypes.h"
#include "QnnSystemCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of QnnSystemTensor functions. */
typedef enum {
    QNN_SYSTEM_TENSOR_MIN_ERROR                 = QNN_MIN_ERROR_SYSTEM,
    QNN_SYSTEM_TENSOR_NO_ERROR                  = QNN_SUCCESS,
    QNN_SYSTEM_TENSOR_ERROR_UNSUPPORTED_FEATURE = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_SYSTEM_TENSOR_ERROR_INVALID_ARGUMENT    = QNN_MIN_ERROR_SYSTEM + 1,
    QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR      = QNN_MIN_ERROR_SYSTEM + 2,
    QNN_SYSTEM_TENSOR_MAX_ERROR                 = QNN_MAX_ERROR_SYSTEM
} QnnSystemTensor_Error_t;

/* Writes how many bytes the data of a tensor takes, from its type, dimensions and encoding. Errors:
 * INVALID_ARGUMENT, INVALID_TENSOR. */
QNN_API Qnn_ErrorHandle_t QnnSystemTensor_getMemoryFootprint(
    Qnn_Tensor_t tensor, uint64_t *footprint);

#ifdef __cplusplus
}
#endif

#endif
