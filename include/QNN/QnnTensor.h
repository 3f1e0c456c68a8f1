/* SPDX-License-Identifier: Apache-2.0 */
/* QnnTensor.h: creates tensors in a graph or a context, and changes updateable ones.
 * A tensor is known by the id that the library writes into the struct; nodes and executions refer
 * to it by that id. There is no way to remove a tensor: it goes with its graph or context. */
#ifndef OPENQNN_QNNTENSOR_H
#define OPENQNN_QNNTENSOR_H

#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of QnnTensor functions. */
typedef enum {
    QNN_TENSOR_MIN_ERROR                        = QNN_MIN_ERROR_TENSOR,
    QNN_TENSOR_NO_ERROR                         = QNN_SUCCESS,
    QNN_TENSOR_ERROR_INVALID_HANDLE             = QNN_MIN_ERROR_TENSOR + 1,
    QNN_TENSOR_ERROR_DOES_NOT_EXIST             = QNN_MIN_ERROR_TENSOR + 2,
    QNN_TENSOR_ERROR_ALREADY_EXISTS             = QNN_MIN_ERROR_TENSOR + 3,
    QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM       = QNN_MIN_ERROR_TENSOR + 4,
    QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM   = QNN_MIN_ERROR_TENSOR + 5,
    QNN_TENSOR_ERROR_NAME_HASH_COLLISION        = QNN_MIN_ERROR_TENSOR + 6,
    QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE = QNN_MIN_ERROR_TENSOR + 7,
    QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE        = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_TENSOR_MAX_ERROR                        = QNN_MAX_ERROR_TENSOR,
    QNN_TENSOR_ERROR_UNDEFINED                  = 0x7FFFFFFF
} QnnTensor_Error_t;

/* Creates a tensor that several graphs of the context can use, and writes its id into the struct.
 * NATIVE is not allowed. Errors: as createGraphTensor. */
QNN_API Qnn_ErrorHandle_t QnnTensor_createContextTensor(Qnn_ContextHandle_t context,
                                                        Qnn_Tensor_t *tensor);

/* Creates a tensor of one graph and writes its id into the struct. STATIC tensors bring their data,
 * which is copied; all others have none. APP_READWRITE is not allowed. Names are unique in the
 * context.
 * Errors: INVALID_HANDLE, ALREADY_EXISTS, INVALID_TENSOR_PARAM, UNSUPPORTED_TENSOR_PARAM,
 * NAME_HASH_COLLISION. */
QNN_API Qnn_ErrorHandle_t QnnTensor_createGraphTensor(Qnn_GraphHandle_t graph,
                                                      Qnn_Tensor_t *tensor);

/* Gives updateable tensors new data or encodings, in use after the next finalize. Errors:
 * INVALID_HANDLE, DOES_NOT_EXIST, INCOMPATIBLE_TENSOR_UPDATE, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnTensor_updateGraphTensors(Qnn_GraphHandle_t graph,
                                                       const Qnn_Tensor_t **tensor,
                                                       uint64_t numTensors);

/* The same for tensors of a context. */
QNN_API Qnn_ErrorHandle_t QnnTensor_updateContextTensors(Qnn_ContextHandle_t context,
                                                         const Qnn_Tensor_t **tensor,
                                                         uint64_t numTensors);

#ifdef __cplusplus
}
#endif

#endif
