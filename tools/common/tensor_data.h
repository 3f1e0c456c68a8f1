/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of tensors as float32: what the float files of the tools hold.
 *
 *     fixed point   real = (q + offset) * scale, the scale of the tensor, of the index of an axis, or with a narrower bit
 *                   width
 *     integers      the number; from float toward zero, saturating
 *     bool          0 or 1; from float "is not zero"
 *     floats        rounded to nearest even */
#ifndef TOOLS_COMMON_TENSOR_DATA_H
#define TOOLS_COMMON_TENSOR_DATA_H

#include "QNN/QnnTypes.h"
#include "base/status.h"

/* Whether both directions work for this tensor; says why not. */
enum status tensor_convertible(const Qnn_Tensor_t *t);

/* `n` elements that begin at element `first` of the tensor. The tensor is convertible. */
void tensor_to_float(const Qnn_Tensor_t *t, const void *native, uint64_t first, uint64_t n, float *to);
void tensor_from_float(const Qnn_Tensor_t *t, const float *from, uint64_t first, uint64_t n, void *native);

#endif
