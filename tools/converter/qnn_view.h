/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of src/ops as the structs of the public API. */
#ifndef TOOLS_CONVERTER_QNN_VIEW_H
#define TOOLS_CONVERTER_QNN_VIEW_H

#include "QNN/QnnTypes.h"
#include "convert/convert.h"

/* The tensor points into *d and the arena. */
enum status qnn_view_tensor(const char *name, const struct tensor_desc *d, Qnn_TensorType_t type, struct arena *a,
                            Qnn_Tensor_t *ret);
/* A tensor for an optional input that is not given. */
Qnn_Tensor_t qnn_view_absent(void);

/* Parameters that are given, in the order of the row. Tensors among them are named NODE_PARAMETER and hold their data. */
enum status qnn_view_params(const struct op_def *op, const char *node, const struct op_value *values, struct arena *a,
                            Qnn_Param_t **ret, uint32_t *ret_n);

#endif
