/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that QNN does not have, or not in every form, from those that it has. */
#include <string.h>

#include "convert/onnx/onnx_steps.h"

/* ---- activations -------------------------------------------------------------------------------------------------- */

static enum status convert_selu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    float alpha = onnx_attr_float(cx, n, "alpha", cx->model.opset < 6 ? 1.6732f : 1.67326319217681884765625f);
    TRY(steps_begin(cx, n, &s));
    TRY(build_node(B,
                   &(struct build_spec){
                       .op = "Elu", .name = onnx_name(cx, "elu"), BUILD_IN(s.x), .params = { BUILD_F32("alpha", alpha) } },
                   &y));
    TRY(steps_with(&s, MUL, y, onnx_attr_float(cx, n, "gamma", cx->model.opset < 6 ? 1.0507f : 1.05070102214813232421875f),
                   &y));
    return steps_end(&s, n, y);
}

static enum status convert_celu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    float alpha = onnx_attr_float(cx, n, "alpha", 1);
    TRY(steps_begin(cx, n, &s));
    TRY(steps_with(&s, DIV, s.x, alpha, &y));
    TRY(steps_unary(&s, "Elu", y, &y));
    TRY(steps_with(&s, MUL, y, alpha, &y));
    return steps_end(&s, n, y);
}

static enum status convert_thresholded(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y, c, zero;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_with(&s, "ElementWiseGreater", s.x, onnx_attr_float(cx, n, "alpha", 1), &c));
    TRY(steps_number(&s, 0, &zero));
    TRY(build_node(B, &(struct build_spec){ .op = "ElementWiseSelect", .name = cx->label, BUILD_IN(c, s.x, zero) }, &y));
    return steps_end(&s, n, y);
}

/* x < -lambd: x + bias; x > lambd: x - bias; 0 between. */
static enum status convert_shrink(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    float lambd = onnx_attr_float(cx, n, "lambd", 0.5f), bias = onnx_attr_float(cx, n, "bias", 0);
    uint32_t y, below, above, plus, minus, zero;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_number(&s, 0, &zero));
    TRY(steps_with(&s, ADD, s.x, bias, &plus));
    TRY(steps_with(&s, SUB, s.x, bias, &minus));
    TRY(steps_with(&s, "ElementWiseLess", s.x, -lambd, &below));
    TRY(steps_with(&s, "ElementWiseGreater", s.x, lambd, &above));
    TRY(build_node(
        B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "above"), BUILD_IN(above, minus, zero) },
        &y));
    TRY(build_node(B, &(struct build_spec){ .op = "ElementWiseSelect", .name = cx->label, BUILD_IN(below, plus, y) }, &y));
    return steps_end(&s, n, y);
}

static enum status convert_softsign(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_unary(&s, "ElementWiseAbs", s.x, &y));
    TRY(steps_with(&s, ADD, y, 1, &y));
    TRY(steps_binary(&s, DIV, s.x, y, &y));
    return steps_end(&s, n, y);
}

static enum status convert_mish(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_unary(&s, "ElementWiseSoftplus", s.x, &y));
    TRY(steps_unary(&s, "Tanh", y, &y));
    TRY(steps_binary(&s, MUL, s.x, y, &y));
    return steps_end(&s, n, y);
}

static enum status convert_swish(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    float alpha = onnx_attr_float(cx, n, "alpha", !strcmp(n->op, "QuickGelu") ? 1.702f : 1);
    TRY(steps_begin(cx, n, &s));
    y = s.x;
    if (alpha != 1)
        TRY(steps_with(&s, MUL, s.x, alpha, &y));
    TRY(steps_unary(&s, "Sigmoid", y, &y));
    TRY(steps_binary(&s, MUL, s.x, y, &y));
    return steps_end(&s, n, y);
}

static enum status convert_gelu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(steps_begin(cx, n, &s));
    if (strcmp(onnx_attr_text(cx, n, "approximate", "none"), "tanh") != 0) {
        TRY(onnx_emit(cx, (struct build_spec){ .op = "Gelu", .name = cx->label, BUILD_IN(s.x) }, &y));
        return steps_end(&s, n, y);
    }
    REFUSE_WHEN(cx->fixed, "several nodes");
    TRY(steps_binary(&s, MUL, s.x, s.x, &y)); /* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    TRY(steps_with(&s, MUL, y, 0.044715, &y));
    TRY(steps_with(&s, ADD, y, 1, &y));
    TRY(steps_binary(&s, MUL, s.x, y, &y));
    TRY(steps_with(&s, MUL, y, 0.7978845608028654, &y));
    TRY(steps_unary(&s, "Tanh", y, &y));
    TRY(steps_with(&s, ADD, y, 1, &y));
    TRY(steps_with(&s, MUL, y, 0.5, &y));
    TRY(steps_binary(&s, MUL, s.x, y, &y));
    return steps_end(&s, n, y);
}

/* erf(x) = 2 Gelu(t) / t - 1 with t = sqrt(2) x, and 0 where x is. */
static enum status convert_erf(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t t, y, zero, at;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_number(&s, 0, &zero));
    TRY(steps_with(&s, MUL, s.x, 1.4142135623730951, &t));
    TRY(steps_unary(&s, "Gelu", t, &y));
    TRY(steps_binary(&s, DIV, y, t, &y));
    TRY(steps_with(&s, MUL, y, 2, &y));
    TRY(steps_with(&s, SUB, y, 1, &y));
    TRY(steps_binary(&s, "ElementWiseEqual", t, zero, &at));
    TRY(build_node(B, &(struct build_spec){ .op = "ElementWiseSelect", .name = cx->label, BUILD_IN(at, zero, y) }, &y));
    return steps_end(&s, n, y);
}

/* ---- circular and hyperbolic functions ---------------------------------------------------------------------------- */

static enum status convert_acos(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_unary(&s, "ElementWiseAsin", s.x, &y));
    TRY(steps_from(&s, SUB, 1.5707963267948966, y, &y));
    return steps_end(&s, n, y);
}

static enum status convert_tan(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t a, b;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_unary(&s, "ElementWiseSin", s.x, &a));
    TRY(steps_unary(&s, "ElementWiseCos", s.x, &b));
    TRY(steps_binary(&s, DIV, a, b, &a));
    return steps_end(&s, n, a);
}

/* (e^x - e^-x) / 2, or with a plus */
static enum status convert_sinh_cosh(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t a, b;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_unary(&s, "ElementWiseExp", s.x, &a));
    TRY(steps_unary(&s, "ElementWiseNeg", s.x, &b));
    TRY(steps_unary(&s, "ElementWiseExp", b, &b));
    TRY(steps_binary(&s, onnx_row_arg(n), a, b, &a));
    TRY(steps_with(&s, MUL, a, 0.5, &a));
    return steps_end(&s, n, a);
}

/* sign(x) log(|x| + sqrt(x² + 1)): without the sign the sum would cancel for negative x */
static enum status convert_asinh(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y, a, sign;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_binary(&s, MUL, s.x, s.x, &y));
    TRY(steps_with(&s, ADD, y, 1, &y));
    TRY(steps_unary(&s, "ElementWiseSquareRoot", y, &y));
    TRY(steps_unary(&s, "ElementWiseAbs", s.x, &a));
    TRY(steps_unary(&s, "ElementWiseSign", s.x, &sign));
    TRY(steps_binary(&s, ADD, a, y, &y));
    TRY(steps_unary(&s, "ElementWiseLog", y, &y));
    TRY(steps_binary(&s, MUL, y, sign, &y));
    return steps_end(&s, n, y);
}

static enum status convert_acosh(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_binary(&s, MUL, s.x, s.x, &y));
    TRY(steps_with(&s, SUB, y, 1, &y));
    TRY(steps_unary(&s, "ElementWiseSquareRoot", y, &y));
    TRY(steps_binary(&s, ADD, s.x, y, &y));
    TRY(steps_unary(&s, "ElementWiseLog", y, &y));
    return steps_end(&s, n, y);
}

static enum status convert_atanh(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t a, b;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_with(&s, ADD, s.x, 1, &a));
    TRY(steps_from(&s, SUB, 1, s.x, &b));
    TRY(steps_binary(&s, DIV, a, b, &a));
    TRY(steps_unary(&s, "ElementWiseLog", a, &a));
    TRY(steps_with(&s, MUL, a, 0.5, &a));
    return steps_end(&s, n, a);
}

const struct onnx_row onnx_rows_composed[] = {
    { "Selu", ONNX_FREE, convert_selu, NULL },
    { "Celu", ONNX_FREE, convert_celu, NULL },
    { "ThresholdedRelu", ONNX_FREE, convert_thresholded, NULL },
    { "Shrink", ONNX_FREE, convert_shrink, NULL },
    { "Softsign", ONNX_FREE, convert_softsign, NULL },
    { "Mish", ONNX_FREE, convert_mish, NULL },
    { "Swish", ONNX_FREE, convert_swish, NULL },
    { "QuickGelu", ONNX_FREE, convert_swish, NULL },
    { "Gelu", ONNX_FREE | ONNX_FIXED, convert_gelu, NULL },
    { "Erf", ONNX_FREE, convert_erf, NULL },
    { "Acos", ONNX_FREE, convert_acos, NULL },
    { "Tan", ONNX_FREE, convert_tan, NULL },
    { "Sinh", ONNX_FREE, convert_sinh_cosh, SUB },
    { "Cosh", ONNX_FREE, convert_sinh_cosh, ADD },
    { "Asinh", ONNX_FREE, convert_asinh, NULL },
    { "Acosh", ONNX_FREE, convert_acosh, NULL },
    { "Atanh", ONNX_FREE, convert_atanh, NULL },
    { 0 },
};
