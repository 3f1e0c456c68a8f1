/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a function: nodes with a scalar, or with each other. */
#include "convert/onnx/onnx_steps.h"

enum status steps_begin(struct onnx_cx *cx, const struct onnx_node *n, struct steps *s)
{
    TRY(onnx_in(cx, n, 0, &s->v));
    s->cx = cx;
    TRY(onnx_tensor(cx, s->v, s->v->perm, &s->x));
    s->type = build_desc(B, s->x)->type;
    return ST_OK;
}

enum status steps_end(struct steps *s, const struct onnx_node *n, uint32_t y)
{
    TRY(onnx_out(s->cx, n, 0, y, s->v->perm));
    if (dtype_is_float(s->v->type) && !s->cx->fixed)
        onnx_out_type(s->cx, n, 0, s->v->type);
    return ST_OK;
}

enum status steps_number(struct steps *s, double v, uint32_t *ret)
{
    struct onnx_cx *cx = s->cx;
    return build_scalar(B, onnx_name(cx, "k"), s->type == DT_F16 && cx->b.float16 ? DT_F32 : s->type, v, ret);
}

enum status steps_unary(struct steps *s, const char *op, uint32_t a, uint32_t *ret)
{
    struct onnx_cx *cx = s->cx;
    return build_unary(B, op, onnx_name(cx, op), a, ret);
}

enum status steps_binary(struct steps *s, const char *op, uint32_t a, uint32_t b, uint32_t *ret)
{
    struct onnx_cx *cx = s->cx;
    return build_binary(B, op, onnx_name(cx, op), a, b, ret);
}

enum status steps_with(struct steps *s, const char *op, uint32_t a, double k, uint32_t *ret)
{
    uint32_t b;
    TRY(steps_number(s, k, &b));
    return steps_binary(s, op, a, b, ret);
}

enum status steps_from(struct steps *s, const char *op, double k, uint32_t a, uint32_t *ret)
{
    uint32_t b;
    TRY(steps_number(s, k, &b));
    return steps_binary(s, op, b, a, ret);
}
