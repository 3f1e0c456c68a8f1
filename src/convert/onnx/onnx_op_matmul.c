/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. Constant weights of two dimensions make a FullyConnected, anything else a MatMul, whose transpose flags
 * take the place of swapping the last two dimensions. */
#include <string.h>

#include "convert/onnx/onnx.h"

/* Kept with its last two dimensions swapped and nothing else: the product can swap them back. */
static bool is_swapped(const struct onnx_value *v)
{
    if (v->rank < 2 || onnx_is_const(v))
        return false;
    for (uint32_t i = 0; i + 2 < v->rank; i++)
        if (v->perm[i] != i)
            return false;
    return v->perm[v->rank - 1] == v->rank - 2;
}

static enum status operand(struct onnx_cx *cx, struct onnx_value *v, bool second, uint32_t *t, bool *swapped)
{
    *swapped = is_swapped(v);
    TRY(onnx_tensor(cx, v, *swapped ? v->perm : NULL, t));
    if (v->rank >= 2)
        return ST_OK;
    RETURN_IF(v->rank == 0, ST_INVALID_OP, "an operand is a scalar");
    uint32_t dims[2] = {second ? v->dims[0] : 1, second ? 1 : v->dims[0]};
    return build_reshape(B, onnx_name(cx, "matrix"), *t, 2, dims, t);
}

/* [k, n] constants as the [n, k] of FullyConnected. */
static enum status fully_connected(struct onnx_cx *cx, struct onnx_value *a, struct onnx_value *b, uint32_t *ret)
{
    static const uint8_t swap[2] = {1, 0};
    uint32_t x, w;
    TRY(onnx_tensor(cx, a, NULL, &x));
    TRY(onnx_tensor(cx, b, swap, &w));
    return onnx_emit(cx, (struct build_spec){.op = "FullyConnected", .name = cx->label, BUILD_IN(x, w)}, ret);
}

enum status onnx_matmul(struct onnx_cx *cx, struct onnx_value *a, struct onnx_value *b, uint32_t *ret)
{
    uint32_t x, y, dims[MAX_RANK], k = 0;
    bool ta, tb;
    if (a->rank == 2 && b->rank == 2 && onnx_is_const(b) && !onnx_is_const(a) && a->dims[1] == b->dims[0])
        return fully_connected(cx, a, b, ret);
    TRY(operand(cx, a, false, &x, &ta));
    TRY(operand(cx, b, true, &y, &tb));
    TRY(onnx_emit(cx, (struct build_spec){.op = "MatMul", .name = cx->label, BUILD_IN(x, y),
                                          .params = {BUILD_B8("transpose_in0", ta), BUILD_B8("transpose_in1", tb)}}, ret));
    if (a->rank >= 2 && b->rank >= 2)
        return ST_OK;
    struct tensor_desc d = *build_desc(B, *ret);
    for (uint32_t i = 0; i < d.rank; i++)
        if (!(a->rank == 1 && i + 2 == d.rank) && !(b->rank == 1 && i + 1 == d.rank))
            dims[k++] = d.dims[i];
    return build_reshape(B, onnx_name(cx, "shape"), *ret, k, dims, ret);
}

static enum status convert_matmul(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *a, *b;
    uint32_t y;
    TRY(onnx_in(cx, n, 0, &a));
    TRY(onnx_in(cx, n, 1, &b));
    TRY(onnx_matmul(cx, a, b, &y));
    TRY(onnx_out(cx, n, 0, y, NULL));
    if (!cx->fixed)
        onnx_out_type(cx, n, 0, a->type);
    return ST_OK;
}

/* ---- Gemm --------------------------------------------------------------------------------------------------------- */

static enum status scaled(struct onnx_cx *cx, uint32_t x, float by, const char *suffix, uint32_t *ret)
{
    uint32_t k;
    *ret = x;
    if (by == 1)
        return ST_OK;
    enum dtype t = build_desc(B, x)->type;
    TRY(build_scalar(B, onnx_name(cx, suffix), t == DT_F16 && cx->b.float16 ? DT_F32 : t, by, &k));
    return build_binary(B, "ElementWiseMultiply", onnx_name(cx, "scaled"), x, k, ret);
}

/* A vector of n values, or one row of them. */
static bool is_row(const struct onnx_value *c, uint32_t n)
{
    return c && onnx_count(c) == n && c->rank >= 1 && c->dims[c->rank - 1] == n;
}

static enum status gemm_connected(struct onnx_cx *cx, struct onnx_value *a, struct onnx_value *b, struct onnx_value *c,
                                  bool trans_b, uint32_t *ret)
{
    static const uint8_t swap[2] = {1, 0};
    uint32_t x, w, bias = IR_NONE;
    TRY(onnx_tensor(cx, a, NULL, &x));
    TRY(onnx_tensor(cx, b, trans_b ? NULL : swap, &w));
    if (c) {
        uint32_t n[1] = {(uint32_t)onnx_count(c)};
        TRY(onnx_tensor(cx, c, NULL, &bias));
        TRY(build_reshape(B, onnx_name(cx, "bias"), bias, 1, n, &bias));
    }
    return onnx_emit(cx, (struct build_spec){.op = "FullyConnected", .name = cx->label, BUILD_IN(x, w, bias)}, ret);
}

static enum status convert_gemm(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *a, *b, *c;
    uint32_t x, w, y, t;
    bool ta = onnx_attr_int(cx, n, "transA", 0), tb = onnx_attr_int(cx, n, "transB", 0);
    float alpha = onnx_attr_float(cx, n, "alpha", 1), beta = onnx_attr_float(cx, n, "beta", 1);
    TRY(onnx_in(cx, n, 0, &a));
    TRY(onnx_in(cx, n, 1, &b));
    TRY(onnx_in_opt(cx, n, 2, &c));
    RETURN_IF(a->rank != 2 || b->rank != 2, ST_INVALID_OP, "the operands have rank %u and %u; 2 is expected", a->rank,
              b->rank);
    uint32_t columns = b->dims[tb ? 0 : 1];
    if (!ta && alpha == 1 && beta == 1 && (!c || is_row(c, columns)) && build_type(B, a->type) != DT_I32) {
        TRY(gemm_connected(cx, a, b, c, tb, &y));
        TRY(onnx_out(cx, n, 0, y, NULL));
        if (!cx->fixed)
            onnx_out_type(cx, n, 0, a->type);
        return ST_OK;
    }
    REFUSE_WHEN(cx->fixed, "several nodes");
    TRY(onnx_tensor(cx, a, NULL, &x));
    TRY(onnx_tensor(cx, b, NULL, &w));
    TRY(build_node(B, &(struct build_spec){.op = "MatMul", .name = cx->label, BUILD_IN(x, w),
                                           .params = {BUILD_B8("transpose_in0", ta), BUILD_B8("transpose_in1", tb)}}, &y));
    TRY(scaled(cx, y, alpha, "alpha", &y));
    if (c && beta != 0) {
        TRY(onnx_tensor(cx, c, NULL, &t));
        TRY(scaled(cx, t, beta, "beta", &t));
        TRY(build_binary(B, "ElementWiseAdd", onnx_name(cx, "sum"), y, t, &y));
    }
    TRY(onnx_out(cx, n, 0, y, NULL));
    onnx_out_type(cx, n, 0, a->type);
    return ST_OK;
}

enum status onnx_convert_einsum(struct onnx_cx *cx, const struct onnx_node *n);

const struct onnx_row onnx_rows_matmul[] = {
    {"MatMul", ONNX_FIXED, convert_matmul, NULL},
    {"Gemm", ONNX_FIXED, convert_gemm, NULL},
    {"Einsum", 0, onnx_convert_einsum, NULL},
    {0},
};
