/* SPDX-License-Identifier: Apache-2.0 */
/* Scales and zero points of ONNX nodes, for the files that convert quantized operators. */
#ifndef CONVERT_ONNX_ONNX_QUANT_H
#define CONVERT_ONNX_ONNX_QUANT_H

#include "convert/onnx/onnx.h"

/* Scale, zero point and axis of a node, as far as they are constants. */
struct onnx_quant {
    struct onnx_value *scale, *zero;
    int64_t axis, block;
    enum dtype type; /* of the quantized side */
};

/* Scale and zero point are inputs `first` and the next; the type is for the caller to say. */
enum status onnx_quant_params(struct onnx_cx *cx, const struct onnx_node *n, uint32_t first, struct onnx_quant *p);
bool onnx_plain_const(const struct onnx_value *v);

/* The encoding for a tensor of `rank` dimensions; false when it cannot be one. */
bool onnx_encoding(struct onnx_cx *cx, const struct onnx_quant *p, uint32_t rank, const uint32_t *dims,
                   struct tensor_desc *ret);
/* The float value behind quantized `v`: a view of it where there is an encoding, else computed. */
enum status onnx_dequantized(struct onnx_cx *cx, struct onnx_value *v, const struct onnx_quant *p, struct onnx_value **ret);

/* Where there is none, arithmetic is written out. spread: scales or zero points `v` in a shape that fits those of `x`. */
enum status onnx_spread(struct onnx_cx *cx, struct onnx_value *v, const struct onnx_value *x, const struct onnx_quant *p,
                        uint32_t *ret);
enum status onnx_quantize_written(struct onnx_cx *cx, struct onnx_value *v, const struct onnx_quant *p, const uint8_t *perm,
                                  uint32_t *ret);

#endif
