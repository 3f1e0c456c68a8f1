/* SPDX-License-Identifier: Apache-2.0 */
/* Activation functions: those that QNN has with parameters, and those that are made of several nodes. */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"

/* A function of x in steps: each adds a node with a scalar or another step. */
struct steps {
    struct onnx_cx *cx;
    struct onnx_value *v;
    enum dtype type;
    uint32_t x;
};

static enum status begin(struct onnx_cx *cx, const struct onnx_node *n, struct steps *s)
{
    TRY(onnx_in(cx, n, 0, &s->v));
    s->cx = cx;
    TRY(onnx_tensor(cx, s->v, s->v->perm, &s->x));
    s->type = build_desc(B, s->x)->type;
    return ST_OK;
}

static enum status end(struct steps *s, const struct onnx_node *n, uint32_t y)
{
    TRY(onnx_out(s->cx, n, 0, y, s->v->perm));
    if (dtype_is_float(s->v->type) && !s->cx->fixed)
        onnx_out_type(s->cx, n, 0, s->v->type);
    return ST_OK;
}

static enum status number(struct steps *s, double v, uint32_t *ret)
{
    struct onnx_cx *cx = s->cx;
    return build_scalar(B, onnx_name(cx, "k"), s->type == DT_F16 && cx->b.float16 ? DT_F32 : s->type, v, ret);
}

static enum status unary(struct steps *s, const char *op, uint32_t a, uint32_t *ret)
{
    struct onnx_cx *cx = s->cx;
    return build_unary(B, op, onnx_name(cx, op), a, ret);
}

static enum status binary(struct steps *s, const char *op, uint32_t a, uint32_t b, uint32_t *ret)
{
    struct onnx_cx *cx = s->cx;
    return build_binary(B, op, onnx_name(cx, op), a, b, ret);
}

static enum status with(struct steps *s, const char *op, uint32_t a, double k, uint32_t *ret)
{
    uint32_t b;
    TRY(number(s, k, &b));
    return binary(s, op, a, b, ret);
}

static enum status from(struct steps *s, const char *op, double k, uint32_t a, uint32_t *ret)
{
    uint32_t b;
    TRY(number(s, k, &b));
    return binary(s, op, b, a, ret);
}

#define ADD "ElementWiseAdd"
#define SUB "ElementWiseSubtract"
#define MUL "ElementWiseMultiply"
#define DIV "ElementWiseDivide"

/* ---- one node ----------------------------------------------------------------------------------------------------- */

static enum status convert_elu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(begin(cx, n, &s));
    TRY(onnx_emit(cx,
                  (struct build_spec){ .op = "Elu",
                                       .name = cx->label,
                                       BUILD_IN(s.x),
                                       .params = { BUILD_F32("alpha", onnx_attr_float(cx, n, "alpha", 1)) } },
                  &y));
    return end(&s, n, y);
}

static enum status convert_leaky_relu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y, slope;
    float alpha = onnx_attr_float(cx, n, "alpha", 0.01f);
    TRY(begin(cx, n, &s));
    if (cx->fixed) { /* the slope is one number: 8 bits with itself as the scale, or none of that sign */
        REFUSE_WHEN(!(alpha > 0), "slope %g cannot be an 8-bit scale", (double)alpha);
        struct tensor_desc d = {.type = DT_UQ8, .q = {.kind = Q_TENSOR, .definition = 1, .scale = alpha}};
        uint8_t one = 1;
        TRY(build_const(B, onnx_name(cx, "slope"), &d, &one, false, &slope));
    } else {
        TRY(number(&s, alpha, &slope));
    }
    TRY(onnx_emit(cx, (struct build_spec){.op = "Prelu", .name = cx->label, BUILD_IN(s.x, slope)}, &y));
    return end(&s, n, y);
}

static enum status convert_prelu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    struct onnx_value *slope;
    uint32_t y, b;
    TRY(begin(cx, n, &s));
    TRY(onnx_in(cx, n, 1, &slope));
    if (slope->rank == 1 && s.v->rank > 2 && slope->dims[0] == s.v->dims[1] && cx->model.opset < 9) {
        /* one slope per channel; before opset 9 it stood alone */
        uint32_t dims[MAX_RANK], t;
        for (uint32_t i = 0; i < s.v->rank; i++)
            dims[i] = i == 1 ? slope->dims[0] : 1;
        TRY(onnx_tensor(cx, slope, NULL, &t));
        TRY(build_reshape(B, onnx_name(cx, "slope"), t, s.v->rank, dims, &t));
        TRY(build_transpose(B, onnx_name(cx, "slope"), t, s.v->perm, &b));
    } else {
        REFUSE_WHEN(slope->rank > s.v->rank, "the slope has rank %u, the input %u", slope->rank, s.v->rank);
        TRY(onnx_broadcast(cx, slope, s.v->rank, s.v->perm, &b));
    }
    TRY(onnx_emit(cx, (struct build_spec){.op = "Prelu", .name = cx->label, BUILD_IN(s.x, b)}, &y));
    return end(&s, n, y);
}

static enum status convert_hard_sigmoid(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    enum { HARD_SIGMOID = 2 };
    TRY(begin(cx, n, &s));
    TRY(onnx_emit(cx,
                  (struct build_spec){ .op = "ElementWiseNeuron",
                                       .name = cx->label,
                                       BUILD_IN(s.x),
                                       .params = { BUILD_U32("operation", HARD_SIGMOID),
                                                   BUILD_F32("alpha", onnx_attr_float(cx, n, "alpha", 0.2f)),
                                                   BUILD_F32("beta", onnx_attr_float(cx, n, "beta", 0.5f)) } },
                  &y));
    return end(&s, n, y);
}

static enum status convert_softplus(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(begin(cx, n, &s));
    TRY(unary(&s, "ElementWiseSoftplus", s.x, &y));
    return end(&s, n, y);
}

/* ---- clip --------------------------------------------------------------------------------------------------------- */

static enum status clip_bound(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, const char *name,
                              struct onnx_value **v, double *ret, bool *given)
{
    const struct onnx_attr *a = onnx_attr(cx, n, name);
    *v = NULL;
    *given = a != NULL;
    if (a)
        *ret = a->f;
    if (cx->model.opset < 11)
        return ST_OK;
    TRY(onnx_in_opt(cx, n, i, v));
    *given = *v != NULL;
    if (*v && onnx_is_const(*v) && !(*v)->view && onnx_count(*v) == 1)
        *ret = number_get((*v)->stored, (*v)->data, 0);
    return ST_OK;
}

static enum status convert_clip(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    struct onnx_value *low, *high;
    double lo = -INFINITY, hi = INFINITY;
    bool has_lo, has_hi;
    uint32_t y, t;
    TRY(begin(cx, n, &s));
    TRY(clip_bound(cx, n, 1, "min", &low, &lo, &has_lo));
    TRY(clip_bound(cx, n, 2, "max", &high, &hi, &has_hi));
    bool known = (!low || onnx_is_const(low)) && (!high || onnx_is_const(high));
    if (known && (dtype_is_float(s.type) || cx->fixed) && lo <= hi) {
        if (!has_lo && !has_hi)
            return onnx_out_view(cx, n, 0, s.v, NULL);
        TRY(onnx_emit(cx,
                      (struct build_spec){ .op = "ReluMinMax",
                                           .name = cx->label,
                                           BUILD_IN(s.x),
                                           .params = { BUILD_F32("min_value", lo < -3.402823466e38 ? -3.402823466e38 : lo),
                                                       BUILD_F32("max_value", hi > 3.402823466e38 ? 3.402823466e38 : hi) } },
                      &y));
        return end(&s, n, y);
    }
    REFUSE_WHEN(cx->fixed, "bounds are computed at run time");
    y = s.x;
    if (has_lo) {
        TRY(low ? onnx_tensor(cx, low, NULL, &t) : number(&s, lo, &t));
        TRY(binary(&s, "ElementWiseMaximum", y, t, &y));
    }
    if (has_hi) {
        TRY(high ? onnx_tensor(cx, high, NULL, &t) : number(&s, hi, &t));
        TRY(binary(&s, "ElementWiseMinimum", y, t, &y));
    }
    return y == s.x ? onnx_out_view(cx, n, 0, s.v, NULL) : end(&s, n, y);
}

/* ---- composed ----------------------------------------------------------------------------------------------------- */

static enum status convert_selu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    float alpha = onnx_attr_float(cx, n, "alpha", cx->model.opset < 6 ? 1.6732f : 1.67326319217681884765625f);
    TRY(begin(cx, n, &s));
    TRY(build_node(B,
                   &(struct build_spec){
                       .op = "Elu", .name = onnx_name(cx, "elu"), BUILD_IN(s.x), .params = { BUILD_F32("alpha", alpha) } },
                   &y));
    TRY(with(&s, MUL, y, onnx_attr_float(cx, n, "gamma", cx->model.opset < 6 ? 1.0507f : 1.05070102214813232421875f), &y));
    return end(&s, n, y);
}

static enum status convert_celu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    float alpha = onnx_attr_float(cx, n, "alpha", 1);
    TRY(begin(cx, n, &s));
    TRY(with(&s, DIV, s.x, alpha, &y));
    TRY(unary(&s, "Elu", y, &y));
    TRY(with(&s, MUL, y, alpha, &y));
    return end(&s, n, y);
}

static enum status convert_thresholded(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y, c, zero;
    TRY(begin(cx, n, &s));
    TRY(with(&s, "ElementWiseGreater", s.x, onnx_attr_float(cx, n, "alpha", 1), &c));
    TRY(number(&s, 0, &zero));
    TRY(build_node(B, &(struct build_spec){.op = "ElementWiseSelect", .name = cx->label, BUILD_IN(c, s.x, zero)}, &y));
    return end(&s, n, y);
}

/* x < -lambd: x + bias; x > lambd: x - bias; 0 between. */
static enum status convert_shrink(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    float lambd = onnx_attr_float(cx, n, "lambd", 0.5f), bias = onnx_attr_float(cx, n, "bias", 0);
    uint32_t y, below, above, plus, minus, zero;
    TRY(begin(cx, n, &s));
    TRY(number(&s, 0, &zero));
    TRY(with(&s, ADD, s.x, bias, &plus));
    TRY(with(&s, SUB, s.x, bias, &minus));
    TRY(with(&s, "ElementWiseLess", s.x, -lambd, &below));
    TRY(with(&s, "ElementWiseGreater", s.x, lambd, &above));
    TRY(build_node(
        B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "above"), BUILD_IN(above, minus, zero) },
        &y));
    TRY(build_node(B, &(struct build_spec){.op = "ElementWiseSelect", .name = cx->label, BUILD_IN(below, plus, y)}, &y));
    return end(&s, n, y);
}

static enum status convert_softsign(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(begin(cx, n, &s));
    TRY(unary(&s, "ElementWiseAbs", s.x, &y));
    TRY(with(&s, ADD, y, 1, &y));
    TRY(binary(&s, DIV, s.x, y, &y));
    return end(&s, n, y);
}

static enum status convert_mish(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(begin(cx, n, &s));
    TRY(unary(&s, "ElementWiseSoftplus", s.x, &y));
    TRY(unary(&s, "Tanh", y, &y));
    TRY(binary(&s, MUL, s.x, y, &y));
    return end(&s, n, y);
}

static enum status convert_swish(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    float alpha = onnx_attr_float(cx, n, "alpha", !strcmp(n->op, "QuickGelu") ? 1.702f : 1);
    TRY(begin(cx, n, &s));
    y = s.x;
    if (alpha != 1)
        TRY(with(&s, MUL, s.x, alpha, &y));
    TRY(unary(&s, "Sigmoid", y, &y));
    TRY(binary(&s, MUL, s.x, y, &y));
    return end(&s, n, y);
}

static enum status convert_gelu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(begin(cx, n, &s));
    if (strcmp(onnx_attr_text(cx, n, "approximate", "none"), "tanh") != 0) {
        TRY(onnx_emit(cx, (struct build_spec){.op = "Gelu", .name = cx->label, BUILD_IN(s.x)}, &y));
        return end(&s, n, y);
    }
    REFUSE_WHEN(cx->fixed, "several nodes");
    TRY(binary(&s, MUL, s.x, s.x, &y)); /* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    TRY(with(&s, MUL, y, 0.044715, &y));
    TRY(with(&s, ADD, y, 1, &y));
    TRY(binary(&s, MUL, s.x, y, &y));
    TRY(with(&s, MUL, y, 0.7978845608028654, &y));
    TRY(unary(&s, "Tanh", y, &y));
    TRY(with(&s, ADD, y, 1, &y));
    TRY(with(&s, MUL, y, 0.5, &y));
    TRY(binary(&s, MUL, s.x, y, &y));
    return end(&s, n, y);
}

/* erf(x) = 2 Gelu(t) / t - 1 with t = sqrt(2) x, and 0 where x is. */
static enum status convert_erf(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t t, y, zero, at;
    TRY(begin(cx, n, &s));
    TRY(number(&s, 0, &zero));
    TRY(with(&s, MUL, s.x, 1.4142135623730951, &t));
    TRY(unary(&s, "Gelu", t, &y));
    TRY(binary(&s, DIV, y, t, &y));
    TRY(with(&s, MUL, y, 2, &y));
    TRY(with(&s, SUB, y, 1, &y));
    TRY(binary(&s, "ElementWiseEqual", t, zero, &at));
    TRY(build_node(B, &(struct build_spec){.op = "ElementWiseSelect", .name = cx->label, BUILD_IN(at, zero, y)}, &y));
    return end(&s, n, y);
}

/* ---- circular and hyperbolic functions ---------------------------------------------------------------------------- */

static enum status convert_acos(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(begin(cx, n, &s));
    TRY(unary(&s, "ElementWiseAsin", s.x, &y));
    TRY(from(&s, SUB, 1.5707963267948966, y, &y));
    return end(&s, n, y);
}

static enum status convert_tan(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t a, b;
    TRY(begin(cx, n, &s));
    TRY(unary(&s, "ElementWiseSin", s.x, &a));
    TRY(unary(&s, "ElementWiseCos", s.x, &b));
    TRY(binary(&s, DIV, a, b, &a));
    return end(&s, n, a);
}

/* (e^x - e^-x) / 2, or with a plus */
static enum status convert_sinh_cosh(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t a, b;
    TRY(begin(cx, n, &s));
    TRY(unary(&s, "ElementWiseExp", s.x, &a));
    TRY(unary(&s, "ElementWiseNeg", s.x, &b));
    TRY(unary(&s, "ElementWiseExp", b, &b));
    TRY(binary(&s, onnx_row_arg(n), a, b, &a));
    TRY(with(&s, MUL, a, 0.5, &a));
    return end(&s, n, a);
}

/* sign(x) log(|x| + sqrt(x² + 1)): without the sign the sum would cancel for negative x */
static enum status convert_asinh(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y, a, sign;
    TRY(begin(cx, n, &s));
    TRY(binary(&s, MUL, s.x, s.x, &y));
    TRY(with(&s, ADD, y, 1, &y));
    TRY(unary(&s, "ElementWiseSquareRoot", y, &y));
    TRY(unary(&s, "ElementWiseAbs", s.x, &a));
    TRY(unary(&s, "ElementWiseSign", s.x, &sign));
    TRY(binary(&s, ADD, a, y, &y));
    TRY(unary(&s, "ElementWiseLog", y, &y));
    TRY(binary(&s, MUL, y, sign, &y));
    return end(&s, n, y);
}

static enum status convert_acosh(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(begin(cx, n, &s));
    TRY(binary(&s, MUL, s.x, s.x, &y));
    TRY(with(&s, SUB, y, 1, &y));
    TRY(unary(&s, "ElementWiseSquareRoot", y, &y));
    TRY(binary(&s, ADD, s.x, y, &y));
    TRY(unary(&s, "ElementWiseLog", y, &y));
    return end(&s, n, y);
}

static enum status convert_atanh(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t a, b;
    TRY(begin(cx, n, &s));
    TRY(with(&s, ADD, s.x, 1, &a));
    TRY(from(&s, SUB, 1, s.x, &b));
    TRY(binary(&s, DIV, a, b, &a));
    TRY(unary(&s, "ElementWiseLog", a, &a));
    TRY(with(&s, MUL, a, 0.5, &a));
    return end(&s, n, a);
}

const struct onnx_row onnx_rows_activation[] = {
    {"Elu", ONNX_FREE | ONNX_FIXED, convert_elu, NULL},
    {"LeakyRelu", ONNX_FREE | ONNX_FIXED, convert_leaky_relu, NULL},
    {"PRelu", ONNX_FREE | ONNX_FIXED, convert_prelu, NULL},
    {"HardSigmoid", ONNX_FREE | ONNX_FIXED, convert_hard_sigmoid, NULL},
    {"Softplus", ONNX_FREE, convert_softplus, NULL},
    {"Clip", ONNX_FREE | ONNX_FIXED | ONNX_CLAMP, convert_clip, NULL},
    {"Selu", ONNX_FREE, convert_selu, NULL},
    {"Celu", ONNX_FREE, convert_celu, NULL},
    {"ThresholdedRelu", ONNX_FREE, convert_thresholded, NULL},
    {"Shrink", ONNX_FREE, convert_shrink, NULL},
    {"Softsign", ONNX_FREE, convert_softsign, NULL},
    {"Mish", ONNX_FREE, convert_mish, NULL},
    {"Swish", ONNX_FREE, convert_swish, NULL},
    {"QuickGelu", ONNX_FREE, convert_swish, NULL},
    {"Gelu", ONNX_FREE | ONNX_FIXED, convert_gelu, NULL},
    {"Erf", ONNX_FREE, convert_erf, NULL},
    {"Acos", ONNX_FREE, convert_acos, NULL},
    {"Tan", ONNX_FREE, convert_tan, NULL},
    {"Sinh", ONNX_FREE, convert_sinh_cosh, SUB},
    {"Cosh", ONNX_FREE, convert_sinh_cosh, ADD},
    {"Asinh", ONNX_FREE, convert_asinh, NULL},
    {"Acosh", ONNX_FREE, convert_acosh, NULL},
    {"Atanh", ONNX_FREE, convert_atanh, NULL},
    {0},
};
