/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations. Statistics that are constants are folded into one factor and one term per channel. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "convert/onnx/onnx.h"

#define ADD "ElementWiseAdd"
#define SUB "ElementWiseSubtract"
#define MUL "ElementWiseMultiply"
#define DIV "ElementWiseDivide"

static enum status number(struct onnx_cx *cx, uint32_t like, double v, uint32_t *ret)
{
    enum dtype t = build_desc(B, like)->type;
    return build_scalar(B, onnx_name(cx, "k"), t == DT_F16 && cx->b.float16 ? DT_F32 : t, v, ret);
}

static enum status step(struct onnx_cx *cx, const char *op, uint32_t a, uint32_t b, uint32_t *ret)
{
    return build_binary(B, op, onnx_name(cx, op), a, b, ret);
}

/* ---- batch -------------------------------------------------------------------------------------------------------- */

static enum status constant_factors(struct onnx_cx *cx, struct onnx_value *const *p, double epsilon, uint32_t *gamma,
                                    uint32_t *beta)
{
    double *scale, *bias, *mean, *var;
    uint32_t n[4];
    TRY(onnx_numbers(cx, p[0], "scale", &scale, &n[0]));
    TRY(onnx_numbers(cx, p[1], "B", &bias, &n[1]));
    TRY(onnx_numbers(cx, p[2], "mean", &mean, &n[2]));
    TRY(onnx_numbers(cx, p[3], "var", &var, &n[3]));
    RETURN_IF(n[0] != n[1] || n[0] != n[2] || n[0] != n[3] || n[0] == 0, ST_INVALID_OP,
              "scale, B, mean and var have %u, %u, %u and %u elements", n[0], n[1], n[2], n[3]);
    float *f = arena_array(&cx->arena, float, n[0]), *t = arena_array(&cx->arena, float, n[0]);
    RETURN_IF(!f || !t, ST_NO_MEMORY, "no memory for factors");
    for (uint32_t i = 0; i < n[0]; i++) {
        double g = scale[i] / sqrt(var[i] + epsilon);
        f[i] = (float)g;
        t[i] = (float)(bias[i] - mean[i] * g);
    }
    TRY(build_const_f32(B, onnx_name(cx, "gamma"), 1, n, f, gamma));
    return build_const_f32(B, onnx_name(cx, "beta"), 1, n, t, beta);
}

static enum status computed_factors(struct onnx_cx *cx, struct onnx_value *const *p, double epsilon, uint32_t *gamma,
                                    uint32_t *beta)
{
    uint32_t t[4], k;
    for (uint32_t i = 0; i < 4; i++)
        TRY(onnx_tensor(cx, p[i], NULL, &t[i]));
    TRY(number(cx, t[3], epsilon, &k));
    TRY(step(cx, ADD, t[3], k, &k));
    TRY(build_unary(B, "ElementWiseSquareRoot", onnx_name(cx, "deviation"), k, &k));
    TRY(step(cx, DIV, t[0], k, gamma));
    TRY(step(cx, MUL, t[2], *gamma, &k));
    return step(cx, SUB, t[1], k, beta);
}

/* In training mode the statistics are those of the batch, and what is kept of them moves towards these. */
static enum status batch_statistics(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *v)
{
    double momentum = onnx_attr_float(cx, n, "momentum", 0.9f), epsilon = onnx_attr_float(cx, n, "epsilon", 1e-5f);
    char axes[4 * MAX_RANK] = "0", shape[32 + 2 * MAX_RANK], text[1200];
    REFUSE_WHEN(v->rank < 2, "the input has rank %u; 2 and more are supported", v->rank);
    snprintf(shape, sizeof(shape), "1,%u", v->dims[1]);
    for (uint32_t i = 2; i < v->rank; i++) {
        snprintf(axes + strlen(axes), sizeof(axes) - strlen(axes), ",%u", i);
        strcat(shape, ",1");
    }
    snprintf(text, sizeof(text),
             "m = ReduceMean[axes=(%s),keepdims=1](#0); d = Sub(#0, m); q = Mul(d, d); v = "
             "ReduceMean[axes=(%s),keepdims=1](q); e = Add(v, %.12f); r = Sqrt(e); u = Div(d, r); "
             "s = Reshape(#1, {%s}); b = Reshape(#2, {%s}); y = Mul(u, s); @0 = Add(y, b); "
             "mm = Reshape(m, {-1}); a0 = Mul(#3, %.12f); a1 = Mul(mm, %.12f); @1 = Add(a0, a1); vv = Reshape(v, {-1}); c0 "
             "= Mul(#4, %.12f); c1 = Mul(vv, %.12f); @2 = Add(c0, c1)",
             axes, axes, epsilon, shape, shape, momentum, 1 - momentum, momentum, 1 - momentum);
    return onnx_write_out(cx, n, text);
}

static enum status convert_batch_norm(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *p[4];
    uint32_t x, gamma, beta, y;
    uint8_t last[MAX_RANK];
    bool constant = true;
    double epsilon = onnx_attr_float(cx, n, "epsilon", 1e-5f);
    TRY(onnx_in(cx, n, 0, &v));
    if (onnx_attr_int(cx, n, "training_mode", 0)) {
        REFUSE_WHEN(cx->fixed, "statistics of a batch are computed in float");
        return batch_statistics(cx, n, v);
    }
    for (uint32_t i = 0; i < 4; i++) {
        TRY(onnx_in(cx, n, i + 1, &p[i]));
        constant &= onnx_is_const(p[i]) && !p[i]->view;
        REFUSE_WHEN(p[i]->rank != 1, "statistics of rank %u; one number per channel is supported", p[i]->rank);
    }
    perm_channel_last(last, v->rank);
    TRY(onnx_tensor(cx, v, last, &x));
    TRY(constant ? constant_factors(cx, p, epsilon, &gamma, &beta) : computed_factors(cx, p, epsilon, &gamma, &beta));
    TRY(build_node(B, &(struct build_spec){.op = "Batchnorm", .name = cx->label, BUILD_IN(x, gamma, beta)}, &y));
    TRY(onnx_out(cx, n, 0, y, last));
    onnx_out_type(cx, n, 0, v->type);
    return ST_OK;
}

/* ---- instance and group ------------------------------------------------------------------------------------------- */

static enum status convert_instance_norm(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, gamma, beta, y;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in_last(cx, n, 0, &x));
    TRY(onnx_in_tensor(cx, n, 1, &gamma));
    TRY(onnx_in_tensor(cx, n, 2, &beta));
    TRY(build_node(B, &(struct build_spec){.op = "InstanceNorm", .name = cx->label, BUILD_IN(x, gamma, beta),
                                           .params = {BUILD_F32("epsilon", onnx_attr_float(cx, n, "epsilon", 1e-5f))}}, &y));
    return onnx_out_last(cx, n, 0, y);
}

/* One value per group becomes one per channel. */
static enum status per_channel(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t groups, uint32_t channels,
                               uint32_t *ret)
{
    TRY(onnx_in_tensor(cx, n, i, ret));
    if (desc_count(build_desc(B, *ret)) == channels)
        return ST_OK;
    uint32_t wide[2] = {groups, 1}, times[2] = {1, channels / groups}, flat[1] = {channels};
    TRY(build_reshape(B, onnx_name(cx, "groups"), *ret, 2, wide, ret));
    TRY(build_node(B,
                   &(struct build_spec){ .op = "Tile",
                                         .name = onnx_name(cx, "channels"),
                                         BUILD_IN(*ret),
                                         .params = { BUILD_U32S("multiples", 2, times) } },
                   ret));
    return build_reshape(B, onnx_name(cx, "per_channel"), *ret, 1, flat, ret);
}

static enum status convert_group_norm(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, gamma, beta, y;
    TRY(onnx_in(cx, n, 0, &v));
    int64_t groups = onnx_attr_int(cx, n, "num_groups", 1);
    RETURN_IF(v->rank < 2 || groups < 1 || v->dims[1] % groups, ST_INVALID_OP, "%lld groups of %u channels",
              (long long)groups, v->rank > 1 ? v->dims[1] : 0);
    TRY(onnx_in_last(cx, n, 0, &x));
    TRY(per_channel(cx, n, 1, (uint32_t)groups, v->dims[1], &gamma));
    TRY(per_channel(cx, n, 2, (uint32_t)groups, v->dims[1], &beta));
    TRY(build_node(B,
                   &(struct build_spec){ .op = "GroupNorm",
                                         .name = cx->label,
                                         BUILD_IN(x, gamma, beta),
                                         .params = { BUILD_F32("epsilon", onnx_attr_float(cx, n, "epsilon", 1e-5f)),
                                                     BUILD_U32("group", groups) } },
                   &y));
    return onnx_out_last(cx, n, 0, y);
}

/* ---- layer and rms ------------------------------------------------------------------------------------------------ */

struct layer {
    struct onnx_value *v, *gamma, *beta;
    uint32_t x, axis, n_axes, axes[MAX_RANK];
    uint64_t count; /* elements of the normalized dimensions */
    float epsilon;
};

static enum status layer_begin(struct onnx_cx *cx, const struct onnx_node *n, struct layer *l)
{
    TRY(onnx_in(cx, n, 0, &l->v));
    TRY(onnx_in_opt(cx, n, 1, &l->gamma));
    TRY(onnx_in_opt(cx, n, 2, &l->beta));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", -1), l->v->rank, &l->axis));
    TRY(onnx_tensor(cx, l->v, NULL, &l->x));
    l->epsilon = onnx_attr_float(cx, n, "epsilon", 1e-5f);
    l->count = 1;
    l->n_axes = l->v->rank - l->axis;
    for (uint32_t i = 0; i < l->n_axes; i++) {
        l->axes[i] = l->axis + i;
        l->count *= l->v->dims[l->axis + i];
    }
    return ST_OK;
}

/* A factor of the normalized shape goes into the node; one that broadcasts stays outside. */
static bool fits(const struct layer *l, const struct onnx_value *p)
{
    return !p || onnx_count(p) == l->count;
}

static enum status layer_nodes(struct onnx_cx *cx, const char *op, const struct layer *l, uint32_t *ret)
{
    uint32_t gamma = IR_NONE, beta = IR_NONE;
    bool inside = fits(l, l->gamma) && fits(l, l->beta);
    if (l->gamma)
        TRY(onnx_tensor(cx, l->gamma, NULL, &gamma));
    if (l->beta)
        TRY(onnx_tensor(cx, l->beta, NULL, &beta));
    TRY(onnx_emit(
        cx,
        (struct build_spec){ .op = op,
                             .name = cx->label,
                             BUILD_IN(l->x, inside ? gamma : IR_NONE, inside ? beta : IR_NONE),
                             .params = { BUILD_F32("epsilon", l->epsilon), BUILD_U32S("axes", l->n_axes, l->axes) } },
        ret));
    if (!inside && gamma != IR_NONE)
        TRY(step(cx, MUL, *ret, gamma, ret));
    if (!inside && beta != IR_NONE)
        TRY(step(cx, ADD, *ret, beta, ret));
    return ST_OK;
}

/* The optional outputs: mean, and one over the deviation. */
static enum status layer_statistics(struct onnx_cx *cx, const struct onnx_node *n, const struct layer *l)
{
    uint32_t mean, d, k;
    if (!onnx_wants(n, 1) && !onnx_wants(n, 2))
        return ST_OK;
    struct build_spec s = { .op = "ReduceMean",
                            .name = onnx_name(cx, "mean"),
                            BUILD_IN(l->x),
                            .params = { BUILD_U32S("axes", l->n_axes, l->axes), BUILD_B8("keep_dims", 1) } };
    TRY(build_node(B, &s, &mean));
    TRY(onnx_out(cx, n, 1, mean, NULL));
    TRY(step(cx, SUB, l->x, mean, &d));
    TRY(step(cx, MUL, d, d, &d));
    s.in = &d;
    TRY(build_node(B, &s, &d));
    TRY(number(cx, d, l->epsilon, &k));
    TRY(step(cx, ADD, d, k, &d));
    TRY(build_unary(B, "ElementWiseRsqrt", onnx_name(cx, "inverse"), d, &d));
    return onnx_out(cx, n, 2, d, NULL);
}

static enum status convert_layer_norm(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct layer l;
    uint32_t y;
    TRY(layer_begin(cx, n, &l));
    TRY(layer_nodes(cx, "LayerNorm", &l, &y));
    TRY(onnx_out(cx, n, 0, y, NULL));
    if (!cx->fixed)
        onnx_out_type(cx, n, 0, l.v->type);
    REFUSE_WHEN(cx->fixed && (onnx_wants(n, 1) || onnx_wants(n, 2)), "statistics are asked for");
    return layer_statistics(cx, n, &l);
}

static enum status convert_rms_norm(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct layer l;
    uint32_t y;
    TRY(layer_begin(cx, n, &l));
    l.beta = NULL;
    TRY(layer_nodes(cx, "RmsNorm", &l, &y));
    TRY(onnx_out(cx, n, 0, y, NULL));
    if (!cx->fixed)
        onnx_out_type(cx, n, 0, l.v->type);
    return ST_OK;
}

/* SkipLayerNormalization and its simplified form: normalize(input + skip + bias). */
static enum status convert_skip_norm(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct layer l = {0};
    bool simple = !strcmp(n->op, "SkipSimplifiedLayerNormalization");
    uint32_t skip, bias, y;
    TRY(onnx_in(cx, n, 0, &l.v));
    TRY(onnx_in(cx, n, 2, &l.gamma));
    if (!simple)
        TRY(onnx_in_opt(cx, n, 3, &l.beta));
    TRY(onnx_in_tensor(cx, n, 0, &l.x));
    TRY(onnx_in_tensor(cx, n, 1, &skip));
    TRY(step(cx, ADD, l.x, skip, &l.x));
    TRY(onnx_in_tensor_opt(cx, n, simple ? 3 : 4, &bias));
    if (bias != IR_NONE)
        TRY(step(cx, ADD, l.x, bias, &l.x));
    l.epsilon = onnx_attr_float(cx, n, "epsilon", 1e-12f);
    l.n_axes = 1;
    l.axes[0] = l.v->rank - 1u;
    l.count = l.v->dims[l.v->rank - 1];
    TRY(layer_nodes(cx, simple ? "RmsNorm" : "LayerNorm", &l, &y));
    TRY(onnx_out(cx, n, 3, l.x, NULL));
    return onnx_out(cx, n, 0, y, NULL);
}

static enum status convert_mean_variance(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    const struct onnx_attr *a = onnx_attr(cx, n, "axes");
    static const int64_t usual[] = {0, 2, 3};
    uint32_t x, y, at, mask = 0, axes[MAX_RANK], k = 0;
    TRY(onnx_in(cx, n, 0, &v));
    for (uint32_t i = 0; i < (a ? a->n_ints : 3); i++) {
        TRY(onnx_axis(cx, a ? a->ints[i] : usual[i], v->rank, &at));
        mask |= 1u << at;
    }
    TRY(onnx_tensor(cx, v, v->perm, &x));
    for (uint32_t i = 0; i < v->rank; i++)
        if (mask >> v->perm[i] & 1)
            axes[k++] = i;
    TRY(build_node(B, &(struct build_spec){.op = "LayerNorm", .name = cx->label, BUILD_IN(x),
                                           .params = {BUILD_F32("epsilon", 1e-18f), BUILD_U32S("axes", k, axes)}}, &y));
    return onnx_out(cx, n, 0, y, v->perm);
}

/* ---- others ------------------------------------------------------------------------------------------------------- */

static enum status convert_lrn(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, y;
    int64_t size = onnx_attr_int(cx, n, "size", 1);
    TRY(onnx_in(cx, n, 0, &v));
    REFUSE_WHEN(size < 1 || size % 2 == 0, "\"size\" is %lld; odd sizes, the same to both sides, are supported",
                (long long)size);
    TRY(onnx_in_last(cx, n, 0, &x));
    TRY(build_node(
        B,
        &(struct build_spec){ .op = "Lrn",
                              .name = cx->label,
                              BUILD_IN(x),
                              .params = { BUILD_F32("alpha", onnx_attr_float(cx, n, "alpha", 1e-4f) / (float)size),
                                          BUILD_F32("beta", onnx_attr_float(cx, n, "beta", 0.75f)),
                                          BUILD_F32("bias", onnx_attr_float(cx, n, "bias", 1)),
                                          BUILD_I32("radius", (size - 1) / 2) } },
        &y));
    return onnx_out_last(cx, n, 0, y);
}

static enum status convert_lp_norm(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, y, axis, at;
    int64_t p = onnx_attr_int(cx, n, "p", 2);
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", -1), v->rank, &axis));
    TRY(onnx_tensor(cx, v, v->perm, &x));
    at = onnx_at(v->perm, v->rank, axis);
    if (p == 2) {
        TRY(build_node(
            B, &(struct build_spec){ .op = "L2Norm", .name = cx->label, BUILD_IN(x), .params = { BUILD_U32("axis", at) } },
            &y));
        return onnx_out(cx, n, 0, y, v->perm);
    }
    REFUSE_WHEN(p != 1, "\"p\" is %lld; 1 and 2 are supported", (long long)p);
    TRY(build_unary(B, "ElementWiseAbs", onnx_name(cx, "abs"), x, &y));
    TRY(build_node(B, &(struct build_spec){.op = "ReduceSum", .name = onnx_name(cx, "sum"), BUILD_IN(y),
                                           .params = {BUILD_U32S("axes", 1, &at), BUILD_B8("keep_dims", 1)}}, &y));
    uint32_t least;
    TRY(number(cx, y, 1e-12, &least)); /* zero stays zero */
    TRY(step(cx, "ElementWiseMaximum", y, least, &y));
    TRY(step(cx, DIV, x, y, &y));
    return onnx_out(cx, n, 0, y, v->perm);
}

const struct onnx_row onnx_rows_norm[] = {
    {"BatchNormalization", ONNX_SPATIAL, convert_batch_norm, NULL},
    {"InstanceNormalization", ONNX_SPATIAL, convert_instance_norm, NULL},
    {"GroupNormalization", ONNX_SPATIAL, convert_group_norm, NULL},
    {"LayerNormalization", 0, convert_layer_norm, NULL},
    {"RMSNormalization", 0, convert_rms_norm, NULL},
    {"SimplifiedLayerNormalization", 0, convert_rms_norm, NULL},
    {"SkipLayerNormalization", 0, convert_skip_norm, NULL},
    {"SkipSimplifiedLayerNormalization", 0, convert_skip_norm, NULL},
    {"MeanVarianceNormalization", 0, convert_mean_variance, NULL},
    {"LRN", ONNX_SPATIAL, convert_lrn, NULL},
    {"LpNormalization", 0, convert_lp_norm, NULL},
    {0},
};
