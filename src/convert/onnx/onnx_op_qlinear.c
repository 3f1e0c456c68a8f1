/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that compute on quantized numbers themselves: QLinear, Integer, DynamicQuantizeLinear.
 *
 *     QLinearConv(x, w, b)     becomes   Conv2d (fixed point), when all encodings are constants
 *     MatMulInteger(x, w)      becomes   Cast and ElementWiseSubtract of both, MatMul in float, Cast
 */
#include <string.h>

#include "convert/onnx/onnx_quant.h"

static enum status quantized_operand(struct onnx_cx *cx, const struct onnx_node *n, uint32_t at, int64_t axis,
                                     struct onnx_value **ret, struct onnx_quant *p)
{
    struct onnx_value *v;
    TRY(onnx_in(cx, n, at, &v));
    TRY(onnx_quant_params(cx, n, at + 1, p));
    p->axis = axis;
    p->block = 0;
    p->type = v->type;
    return onnx_dequantized(cx, v, p, ret);
}

/* The int32 bias of QLinearConv has the scale of the products. */
static enum status quantized_bias(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_quant *x,
                                  const struct onnx_quant *w, struct onnx_value **ret)
{
    struct onnx_value *b;
    *ret = NULL;
    TRY(onnx_in_opt(cx, n, 8, &b));
    if (!b)
        return ST_OK;
    REFUSE_WHEN(!onnx_plain_const(x->scale) || !onnx_plain_const(w->scale),
                "scales are computed at run time; with a bias they must be constants of the model");
    uint64_t k = onnx_count(w->scale);
    float *scales = arena_array(&cx->b.g->arena, float, k);
    RETURN_IF(!scales, ST_NO_MEMORY, "no memory for an encoding");
    for (uint64_t i = 0; i < k; i++)
        scales[i] =
            (float)(number_get(x->scale->stored, x->scale->data, 0) * number_get(w->scale->stored, w->scale->data, i));
    struct onnx_value *s = arena_new(&cx->arena, struct onnx_value);
    RETURN_IF(!s, ST_NO_MEMORY, "no memory for a value");
    *s = *w->scale;
    s->data = scales;
    s->stored = s->type = DT_F32;
    return onnx_dequantized(cx, b, &(struct onnx_quant){ .scale = s, .axis = 0, .type = DT_I32 }, ret);
}

/* Built in fixed point when everything about the encodings is known, else between written-out arithmetic. */
static enum status qlinear(struct onnx_cx *cx, const struct onnx_node *n, bool conv)
{
    struct onnx_value *a, *b, *bias = NULL, *scale;
    struct onnx_quant pa, pb, py;
    struct tensor_desc d = { 0 };
    uint32_t y;
    TRY(quantized_operand(cx, n, 0, 1, &a, &pa));
    struct onnx_value *second;
    TRY(onnx_in(cx, n, 3, &second));
    TRY(quantized_operand(cx, n, 3, conv ? 0 : second->rank - 1, &b, &pb));
    TRY(onnx_in(cx, n, 6, &scale));
    TRY(onnx_quant_params(cx, n, 6, &py));
    py.type = py.zero ? py.zero->type : DT_U8;
    py.block = 0;
    if (conv)
        TRY(quantized_bias(cx, n, &pa, &pb, &bias));
    cx->fixed = onnx_count(scale) == 1 && onnx_encoding(cx, &py, 0, NULL, &d) && a->view && b->view && (!bias || bias->view);
    cx->fixed_out = d;
    enum status st = ST_INVALID_OP;
    if (cx->fixed)
        st = conv ? onnx_conv(cx, n, a, b, bias, &y) : onnx_matmul(cx, a, b, &y);
    if (st == ST_NO_MEMORY)
        return st;
    bool done = st == ST_OK;
    cx->fixed = false;
    if (!done) {
        struct onnx_value r = { .name = n->out[0], .type = DT_F32, .stored = DT_F32, .real = IR_NONE };
        TRY(conv ? onnx_conv(cx, n, a, b, bias, &r.tensor) : onnx_matmul(cx, a, b, &r.tensor));
        const struct tensor_desc *o = build_desc(B, r.tensor);
        r.rank = o->rank;
        perm_identity(r.perm, MAX_RANK);
        if (conv)
            perm_channel_last(r.perm, r.rank);
        for (uint32_t i = 0; i < r.rank; i++)
            r.dims[r.perm[i]] = o->dims[i];
        TRY(onnx_quantize_written(cx, &r, &py, NULL, &y));
        conv = false; /* written out in the source's order */
    }
    TRY(conv ? onnx_out_last(cx, n, 0, y) : onnx_out(cx, n, 0, y, NULL));
    onnx_out_type(cx, n, 0, py.type);
    return ST_OK;
}

static enum status convert_qlinear_conv(struct onnx_cx *cx, const struct onnx_node *n)
{
    return qlinear(cx, n, true);
}

static enum status convert_qlinear_matmul(struct onnx_cx *cx, const struct onnx_node *n)
{
    return qlinear(cx, n, false);
}

/* x less its zero point, as float: exact for 8 bits. With `last` the channels are brought to the end while they are bytes.
 */
static enum status centered(struct onnx_cx *cx, const struct onnx_node *n, uint32_t at, int64_t axis, bool last,
                            struct onnx_value **ret)
{
    struct onnx_value *v, *z, *r = arena_new(&cx->arena, struct onnx_value), one = { .type = DT_F32 };
    uint32_t x, t;
    RETURN_IF(!r, ST_NO_MEMORY, "no memory for a value");
    TRY(onnx_in(cx, n, at, &v));
    TRY(onnx_in_opt(cx, n, at + 2, &z));
    *r = (struct onnx_value){ .name = v->name, .type = DT_F32, .stored = DT_F32, .real = IR_NONE, .rank = v->rank };
    memcpy(r->dims, v->dims, sizeof(r->dims));
    perm_identity(r->perm, MAX_RANK);
    if (last && !onnx_is_const(v) && (!z || onnx_count(z) == 1))
        perm_channel_last(r->perm, v->rank);
    TRY(onnx_tensor(cx, v, r->perm, &x));
    TRY(onnx_cast(cx, "float", x, DT_F32, &x));
    if (z) {
        struct onnx_quant p = { .scale = &one, .axis = axis };
        TRY(onnx_spread(cx, z, v, &p, &t));
        TRY(build_binary(B, "ElementWiseSubtract", onnx_name(cx, "centered"), x, t, &x));
    }
    r->tensor = x;
    *ret = r;
    return ST_OK;
}

static enum status convert_integer(struct onnx_cx *cx, const struct onnx_node *n)
{
    bool conv = !strcmp(n->op, "ConvInteger");
    struct onnx_value *a, *b, *first;
    uint32_t y;
    TRY(onnx_in(cx, n, 0, &first));
    TRY(centered(cx, n, 0, conv ? 1 : (int64_t)first->rank - 2, conv, &a));
    TRY(centered(cx, n, 1, conv ? 0 : -1, false, &b));
    TRY(conv ? onnx_conv(cx, n, a, b, NULL, &y) : onnx_matmul(cx, a, b, &y));
    TRY(onnx_cast(cx, "whole", y, DT_I32, &y));
    return conv ? onnx_out_last(cx, n, 0, y) : onnx_out(cx, n, 0, y, NULL);
}

/* scale = (max(x, 0) - min(x, 0)) / 255, zero = clamp(round(-min / scale)) */
static enum status convert_dynamic_quantize(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, sv, zv;
    uint32_t x, lo, hi, zero, k, scale, z, axes[MAX_RANK], y;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_tensor(cx, v, v->perm, &x));
    for (uint32_t i = 0; i < v->rank; i++)
        axes[i] = i;
    struct build_spec s = {
        .op = "ReduceMin", .name = onnx_name(cx, "least"), BUILD_IN(x), .params = { BUILD_U32S("axes", v->rank, axes) }
    };
    TRY(build_node(B, &s, &lo));
    s.op = "ReduceMax";
    s.name = onnx_name(cx, "most");
    TRY(build_node(B, &s, &hi));
    TRY(build_scalar(B, onnx_name(cx, "zero"), DT_F32, 0, &zero));
    TRY(build_scalar(B, onnx_name(cx, "steps"), DT_F32, 255, &k));
    TRY(build_binary(B, "ElementWiseMinimum", onnx_name(cx, "low"), lo, zero, &lo));
    TRY(build_binary(B, "ElementWiseMaximum", onnx_name(cx, "high"), hi, zero, &hi));
    TRY(build_binary(B, "ElementWiseSubtract", onnx_name(cx, "range"), hi, lo, &scale));
    TRY(build_binary(B, "ElementWiseDivide", onnx_name(cx, "scale"), scale, k, &scale));
    TRY(build_unary(B, "ElementWiseNeg", onnx_name(cx, "minus"), lo, &z));
    TRY(build_binary(B, "ElementWiseDivide", onnx_name(cx, "position"), z, scale, &z));
    TRY(build_node(B,
                   &(struct build_spec){ .op = "ReluMinMax",
                                         .name = onnx_name(cx, "limited"),
                                         BUILD_IN(z),
                                         .params = { BUILD_F32("min_value", 0), BUILD_F32("max_value", 255) } },
                   &z));
    TRY(build_unary(B, "ElementWiseRound", onnx_name(cx, "zero_point"), z, &z));
    TRY(onnx_cast(cx, "zero_type", z, DT_U8, &z));
    sv = (struct onnx_value){ .name = "scale", .type = DT_F32, .stored = DT_F32, .tensor = scale, .real = IR_NONE };
    zv = (struct onnx_value){ .name = "zero", .type = DT_U8, .stored = DT_U8, .tensor = z, .real = IR_NONE };
    struct onnx_quant p = { .scale = &sv, .zero = &zv, .axis = 0, .type = DT_U8 };
    TRY(onnx_quantize_written(cx, v, &p, v->perm, &y));
    TRY(onnx_out(cx, n, 0, y, v->perm));
    TRY(onnx_out(cx, n, 1, scale, NULL));
    return onnx_out(cx, n, 2, z, NULL);
}

const struct onnx_row onnx_rows_qlinear[] = {
    { "QLinearConv", ONNX_SPATIAL, convert_qlinear_conv, NULL },    { "QLinearMatMul", 0, convert_qlinear_matmul, NULL },
    { "ConvInteger", ONNX_SPATIAL, convert_integer, NULL },         { "MatMulInteger", 0, convert_integer, NULL },
    { "DynamicQuantizeLinear", 0, convert_dynamic_quantize, NULL }, { 0 },
};
