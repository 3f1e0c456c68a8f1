/* SPDX-License-Identifier: Apache-2.0 */
/* Activation functions that QNN has, with their parameters. */
#include <math.h>

#include "convert/onnx/onnx_steps.h"

static enum status convert_elu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(steps_begin(cx, n, &s));
    TRY(onnx_emit(cx,
                  (struct build_spec){ .op = "Elu",
                                       .name = cx->label,
                                       BUILD_IN(s.x),
                                       .params = { BUILD_F32("alpha", onnx_attr_float(cx, n, "alpha", 1)) } },
                  &y));
    return steps_end(&s, n, y);
}

static enum status convert_leaky_relu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y, slope;
    float alpha = onnx_attr_float(cx, n, "alpha", 0.01f);
    TRY(steps_begin(cx, n, &s));
    if (cx->fixed) { /* the slope is one number: 8 bits with itself as the scale, or none of that sign */
        REFUSE_WHEN(!(alpha > 0), "slope %g cannot be an 8-bit scale", (double)alpha);
        struct tensor_desc d = {.type = DT_UQ8, .q = {.kind = Q_TENSOR, .definition = 1, .scale = alpha}};
        uint8_t one = 1;
        TRY(build_const(B, onnx_name(cx, "slope"), &d, &one, false, &slope));
    } else {
        TRY(steps_number(&s, alpha, &slope));
    }
    TRY(onnx_emit(cx, (struct build_spec){.op = "Prelu", .name = cx->label, BUILD_IN(s.x, slope)}, &y));
    return steps_end(&s, n, y);
}

static enum status convert_prelu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    struct onnx_value *slope;
    uint32_t y, b;
    TRY(steps_begin(cx, n, &s));
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
    return steps_end(&s, n, y);
}

static enum status convert_hard_sigmoid(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    enum { HARD_SIGMOID = 2 };
    TRY(steps_begin(cx, n, &s));
    TRY(onnx_emit(cx,
                  (struct build_spec){ .op = "ElementWiseNeuron",
                                       .name = cx->label,
                                       BUILD_IN(s.x),
                                       .params = { BUILD_U32("operation", HARD_SIGMOID),
                                                   BUILD_F32("alpha", onnx_attr_float(cx, n, "alpha", 0.2f)),
                                                   BUILD_F32("beta", onnx_attr_float(cx, n, "beta", 0.5f)) } },
                  &y));
    return steps_end(&s, n, y);
}

static enum status convert_softplus(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct steps s;
    uint32_t y;
    TRY(steps_begin(cx, n, &s));
    TRY(steps_unary(&s, "ElementWiseSoftplus", s.x, &y));
    return steps_end(&s, n, y);
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
    TRY(steps_begin(cx, n, &s));
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
        return steps_end(&s, n, y);
    }
    REFUSE_WHEN(cx->fixed, "bounds are computed at run time");
    y = s.x;
    if (has_lo) {
        TRY(low ? onnx_tensor(cx, low, NULL, &t) : steps_number(&s, lo, &t));
        TRY(steps_binary(&s, "ElementWiseMaximum", y, t, &y));
    }
    if (has_hi) {
        TRY(high ? onnx_tensor(cx, high, NULL, &t) : steps_number(&s, hi, &t));
        TRY(steps_binary(&s, "ElementWiseMinimum", y, t, &y));
    }
    return y == s.x ? onnx_out_view(cx, n, 0, s.v, NULL) : steps_end(&s, n, y);
}

const struct onnx_row onnx_rows_activation[] = {
    { "Elu", ONNX_FREE | ONNX_FIXED, convert_elu, NULL },
    { "LeakyRelu", ONNX_FREE | ONNX_FIXED, convert_leaky_relu, NULL },
    { "PRelu", ONNX_FREE | ONNX_FIXED, convert_prelu, NULL },
    { "HardSigmoid", ONNX_FREE | ONNX_FIXED, convert_hard_sigmoid, NULL },
    { "Softplus", ONNX_FREE, convert_softplus, NULL },
    { "Clip", ONNX_FREE | ONNX_FIXED | ONNX_CLAMP, convert_clip, NULL },
    { 0 },
};
