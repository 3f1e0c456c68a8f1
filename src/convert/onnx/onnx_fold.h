/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of constant evaluation share. Private to convert/onnx. */
#ifndef CONVERT_ONNX_FOLD_H
#define CONVERT_ONNX_FOLD_H

#include "convert/onnx/onnx.h"

/* Output 0 is a constant whose zeroed bytes are at *ret. */
enum status fold_out(struct onnx_cx *cx, const struct onnx_node *n, enum dtype type, uint32_t rank, const uint32_t *dims,
                     void **ret);
/* The shape that shapes broadcast to; false: they do not. And element `i` of such a result, as an element of v. */
bool fold_broadcast_dims(struct onnx_value *const *v, uint32_t n, uint32_t *rank, uint32_t *dims);
uint64_t fold_broadcast_index(const struct onnx_value *v, uint32_t rank, const uint32_t *dims, uint64_t i);
/* Element-wise operators; *done false when it is none of them. */
enum status fold_element(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v, bool *done);
/* Gather, Slice, Concat, Transpose of constants; *done false when it is none of them. */
enum status fold_move(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v, bool *done);

/* Slice with negative, clamped and missing bounds resolved, one entry per dimension. */
struct onnx_range {
    int64_t begin, step;
    uint32_t count;
};
enum status onnx_slice_ranges(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *x,
                              struct onnx_range *ret);

#endif
