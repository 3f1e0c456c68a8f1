/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of one input that become a few nodes. */
#ifndef CONVERT_ONNX_STEPS_H
#define CONVERT_ONNX_STEPS_H

#include "convert/onnx/onnx.h"

#define ADD "ElementWiseAdd"
#define SUB "ElementWiseSubtract"
#define MUL "ElementWiseMultiply"
#define DIV "ElementWiseDivide"

/* A function of x in steps: each adds a node with a scalar or another step. */
struct steps {
    struct onnx_cx *cx;
    struct onnx_value *v;
    enum dtype type;
    uint32_t x;
};

enum status steps_begin(struct onnx_cx *cx, const struct onnx_node *n, struct steps *s);
enum status steps_end(struct steps *s, const struct onnx_node *n, uint32_t y);
enum status steps_number(struct steps *s, double v, uint32_t *ret);
enum status steps_unary(struct steps *s, const char *op, uint32_t a, uint32_t *ret);
enum status steps_binary(struct steps *s, const char *op, uint32_t a, uint32_t b, uint32_t *ret);
enum status steps_with(struct steps *s, const char *op, uint32_t a, double k, uint32_t *ret);
enum status steps_from(struct steps *s, const char *op, double k, uint32_t a, uint32_t *ret);

#endif
