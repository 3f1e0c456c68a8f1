/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators of one, two or more inputs, and casts. They keep whatever order of dimensions their inputs
 * are in. */
#include <string.h>

#include "convert/onnx/onnx.h"
#include "convert/onnx/onnx_fold.h"

/* Before opset 7 the second input broadcast along `axis` only when "broadcast" said so. */
static enum status old_broadcast(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v,
                                 struct onnx_value *store)
{
    const struct onnx_attr *axis = onnx_attr(cx, n, "axis");
    if (!onnx_attr_int(cx, n, "broadcast", 0) || !axis || v[1]->rank >= v[0]->rank)
        return ST_OK;
    uint32_t at, t, dims[MAX_RANK];
    TRY(onnx_axis(cx, axis->i, v[0]->rank, &at));
    REFUSE_WHEN(at + v[1]->rank > v[0]->rank, "\"axis\" %u does not fit inputs of rank %u and %u", at, v[0]->rank,
                v[1]->rank);
    uint32_t rank = v[0]->rank - at;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i < v[1]->rank ? v[1]->dims[i] : 1;
    TRY(onnx_tensor(cx, v[1], NULL, &t));
    TRY(build_reshape(B, onnx_name(cx, "rank"), t, rank, dims, &t));
    *store = (struct onnx_value){
        .name = v[1]->name, .type = v[1]->type, .stored = v[1]->stored, .tensor = t, .real = IR_NONE, .rank = (uint8_t)rank
    };
    memcpy(store->dims, dims, sizeof(dims));
    perm_identity(store->perm, MAX_RANK);
    v[1] = store;
    return ST_OK;
}

static enum status emit_binary(struct onnx_cx *cx, const char *op, const char *name, uint32_t a, uint32_t b, uint32_t *ret)
{
    return onnx_emit(cx, (struct build_spec){.op = op, .name = name, BUILD_IN(a, b)}, ret);
}

static enum status convert_binary(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v[2], old;
    uint8_t perm[MAX_RANK];
    uint32_t rank, a, b, y;
    TRY(onnx_in(cx, n, 0, &v[0]));
    TRY(onnx_in(cx, n, 1, &v[1]));
    if (cx->model.opset < 7)
        TRY(old_broadcast(cx, n, v, &old));
    onnx_common_perm(v, 2, perm, &rank);
    TRY(onnx_broadcast(cx, v[0], rank, perm, &a));
    TRY(onnx_broadcast(cx, v[1], rank, perm, &b));
    const char *op = onnx_row_arg(n);
    if (!strcmp(n->op, "Mod") && onnx_attr_int(cx, n, "fmod", 0))
        op = "ElementWiseFmod";
    TRY(emit_binary(cx, op, cx->label, a, b, &y));
    TRY(onnx_out(cx, n, 0, y, build_desc(B, y)->rank == rank ? perm : NULL));
    if (dtype_is_float(v[0]->type) && build_desc(B, y)->type != DT_B8)
        onnx_out_type(cx, n, 0, v[0]->type);
    return ST_OK;
}

/* One of two truth values decides alone when it is known: conditions that count turns and look at results end a loop this
 * way. */
static enum status convert_logic(struct onnx_cx *cx, const struct onnx_node *n)
{
    enum { MOST = 4096 };
    struct onnx_value *v[2];
    uint32_t rank, dims[MAX_RANK];
    const uint8_t deciding = !strcmp(n->op, "Or");
    TRY(onnx_in(cx, n, 0, &v[0]));
    TRY(onnx_in(cx, n, 1, &v[1]));
    if (cx->model.opset < 7 || !fold_broadcast_dims(v, 2, &rank, dims))
        return convert_binary(cx, n);
    uint64_t count = 1;
    for (uint32_t k = 0; k < rank; k++)
        count *= dims[k];
    for (uint32_t i = 0; i < 2 && count <= MOST; i++) {
        if (!onnx_is_const(v[i]) || v[i]->stored != DT_B8)
            continue;
        const uint8_t *truth = v[i]->data;
        uint64_t k = 0, of = onnx_count(v[i]);
        while (k < of && !truth[k] == !deciding)
            k++;
        if (k < of)
            continue;
        uint8_t *out = arena_alloc(&cx->b.g->arena, count + 1);
        RETURN_IF(!out, ST_NO_MEMORY, "no memory for %llu truth values", (unsigned long long)count);
        memset(out, deciding, count + 1);
        return onnx_out_const(cx, n, 0, DT_B8, rank, dims, out);
    }
    return convert_binary(cx, n);
}

/* Max, Min, Sum, Mean of any number of inputs: a chain. */
static enum status convert_variadic(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value **v = arena_array(&cx->arena, struct onnx_value *, n->n_in + 1);
    uint8_t perm[MAX_RANK];
    uint32_t rank, y, t, count = n->n_in;
    RETURN_IF(!v, ST_NO_MEMORY, "no memory for %u inputs", count);
    REFUSE_WHEN(count == 0, "there is no input");
    for (uint32_t i = 0; i < count; i++)
        TRY(onnx_in(cx, n, i, &v[i]));
    onnx_common_perm(v, count, perm, &rank);
    TRY(onnx_broadcast(cx, v[0], rank, perm, &y));
    for (uint32_t i = 1; i < count; i++) {
        TRY(onnx_broadcast(cx, v[i], rank, perm, &t));
        TRY(emit_binary(cx, onnx_row_arg(n), i == 1 ? cx->label : onnx_name(cx, "more"), y, t, &y));
    }
    if (!strcmp(n->op, "Mean") && count > 1) {
        TRY(build_scalar(B, onnx_name(cx, "share"), onnx_inner_type(v[0]->type), 1.0 / count, &t));
        TRY(build_binary(B, "ElementWiseMultiply", onnx_name(cx, "mean"), y, t, &y));
    }
    if (count == 1)
        return onnx_out_view(cx, n, 0, v[0], NULL);
    TRY(onnx_out(cx, n, 0, y, perm));
    if (dtype_is_float(v[0]->type))
        onnx_out_type(cx, n, 0, v[0]->type);
    return ST_OK;
}

static enum status convert_where(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v[3];
    uint8_t perm[MAX_RANK];
    uint32_t rank, t[3], y;
    for (uint32_t i = 0; i < 3; i++)
        TRY(onnx_in(cx, n, i, &v[i]));
    onnx_common_perm(v, 3, perm, &rank);
    for (uint32_t i = 0; i < 3; i++)
        TRY(onnx_broadcast(cx, v[i], rank, perm, &t[i]));
    TRY(onnx_emit(cx, (struct build_spec){.op = "ElementWiseSelect", .name = cx->label, BUILD_IN(t[0], t[1], t[2])}, &y));
    TRY(onnx_out(cx, n, 0, y, perm));
    onnx_out_type(cx, n, 0, v[1]->type);
    return ST_OK;
}

static enum status convert_unary(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, y;
    TRY(onnx_in(cx, n, 0, &v));
    uint8_t perm[MAX_RANK];
    memcpy(perm, v->perm, sizeof(perm));
    TRY(onnx_tensor(cx, v, perm, &x));
    TRY(onnx_emit(cx, (struct build_spec){.op = onnx_row_arg(n), .name = cx->label, BUILD_IN(x)}, &y));
    TRY(onnx_out(cx, n, 0, y, perm));
    if (dtype_is_float(v->type) && build_desc(B, y)->type != DT_B8 && !cx->fixed)
        onnx_out_type(cx, n, 0, v->type);
    return ST_OK;
}

static enum status convert_reciprocal(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, y;
    enum { RECIPROCAL = 10 };
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_tensor(cx, v, v->perm, &x));
    TRY(onnx_emit(
        cx,
        (struct build_spec){
            .op = "ElementWiseUnary", .name = cx->label, BUILD_IN(x), .params = { BUILD_U32("operation", RECIPROCAL) } },
        &y));
    return onnx_out(cx, n, 0, y, v->perm);
}

static enum status convert_is_inf(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, y;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_tensor(cx, v, v->perm, &x));
    TRY(build_node(
        B,
        &(struct build_spec){ .op = "IsInf",
                              .name = cx->label,
                              BUILD_IN(x),
                              .params = { BUILD_B8("detect_negative", onnx_attr_int(cx, n, "detect_negative", 1)),
                                          BUILD_B8("detect_positive", onnx_attr_int(cx, n, "detect_positive", 1)) } },
        &y));
    return onnx_out(cx, n, 0, y, v->perm);
}

static enum status convert_identity(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    TRY(onnx_in(cx, n, 0, &v));
    return onnx_out_view(cx, n, 0, v, NULL);
}

static enum status drops_something(struct onnx_cx *cx, const struct onnx_node *n, bool *ret)
{
    struct onnx_value *ratio, *training;
    int64_t *on;
    double *part;
    uint32_t k;
    *ret = false;
    TRY(onnx_in_opt(cx, n, 1, &ratio));
    TRY(onnx_in_opt(cx, n, 2, &training));
    if (!training)
        return ST_OK;
    TRY(onnx_ints(cx, training, "training_mode", &on, &k));
    *ret = k && on[0];
    if (!*ret || !ratio)
        return ST_OK;
    TRY(onnx_numbers(cx, ratio, "ratio", &part, &k));
    *ret = !k || part[0] != 0;
    return ST_OK;
}

/* Without training nothing is dropped; the mask is all true. */
static enum status convert_dropout(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    bool drops;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(drops_something(cx, n, &drops));
    REFUSE_WHEN(drops, "in training mode it drops at random; export the model for inference, or with a ratio of 0");
    if (onnx_wants(n, 1)) {
        uint64_t count = onnx_count(v);
        TRY(onnx_charge(cx, "a mask", count, 1));
        uint8_t *ones = arena_alloc(&cx->b.g->arena, count);
        RETURN_IF(!ones, ST_NO_MEMORY, "no memory for the mask");
        memset(ones, 1, count);
        TRY(onnx_out_const(cx, n, 1, DT_B8, v->rank, v->dims, ones));
    }
    return onnx_out_view(cx, n, 0, v, NULL);
}

/* ---- casts -------------------------------------------------------------------------------------------------------- */

static enum status cast_to(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value *v, enum dtype to)
{
    uint32_t x, y;
    if (v->type == to)
        return onnx_out_view(cx, n, 0, v, NULL);
    TRY(onnx_tensor(cx, v, v->perm, &x));
    enum dtype inner = onnx_inner_type(to), from = build_desc(B, x)->type;
    if (dtype_bits(to) < 8 &&
        dtype_is_float(from)) /* a float cannot be packed at once; the lowest bits of the whole number stay */
        TRY(onnx_cast(cx, "whole", x, DT_I32, &x));
    if (to == DT_BF16 && from != DT_BF16) {
        TRY(onnx_cast(cx, "rounded", x, DT_BF16, &x));
        TRY(onnx_cast(cx, "float32", x, DT_F32, &y));
    } else {
        TRY(onnx_cast(cx, "cast", x, inner, &y));
    }
    if (y == x) /* the same type in the graph: only the source's differs */
        TRY(onnx_out_view(cx, n, 0, v, NULL));
    else
        TRY(onnx_out(cx, n, 0, y, v->perm));
    onnx_out_type(cx, n, 0, to);
    return ST_OK;
}

static enum status convert_cast(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    int32_t elem = (int32_t)onnx_attr_int(cx, n, "to", 0);
    const struct onnx_attr *a = onnx_attr(cx, n, "to");
    enum dtype to = onnx_dtype(elem);
    if (a && a->s[0] && !elem) /* opset 1 spelled it */
        to = !strcmp(a->s, "FLOAT")     ? DT_F32
             : !strcmp(a->s, "FLOAT16") ? DT_F16
             : !strcmp(a->s, "INT64")   ? DT_I64
             : !strcmp(a->s, "INT32")   ? DT_I32
             : !strcmp(a->s, "BOOL")    ? DT_B8
                                        : DT_NONE;
    TRY(onnx_in(cx, n, 0, &v));
    REFUSE_WHEN(to == DT_NONE, "to elements of type %s; no tensor of the graph can have that", onnx_elem_name(elem));
    return cast_to(cx, n, v, to);
}

static enum status convert_cast_like(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *like;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &like));
    return cast_to(cx, n, v, like->type);
}

/* The bits of whole numbers, read with or without a sign, are what a cast between them keeps. */
static enum status convert_bit_cast(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    int32_t elem = (int32_t)onnx_attr_int(cx, n, "to", 0);
    enum dtype to = onnx_dtype(elem);
    TRY(onnx_in(cx, n, 0, &v));
    REFUSE_WHEN(to == DT_NONE, "to elements of type %s; no tensor of the graph can have that", onnx_elem_name(elem));
    RETURN_IF(dtype_bits(to) != dtype_bits(v->type), ST_INVALID_OP, "from %s to %s, which have different sizes",
              dtype_name(v->type), dtype_name(to));
    if (onnx_is_const(v) && !v->view && v->type == v->stored)
        return onnx_out_const(cx, n, 0, to, v->rank, v->dims, v->data);
    REFUSE_WHEN(
        to != v->type && (dtype_is_float(to) || dtype_is_float(v->type) || to == DT_B8),
        "from %s to %s, and no operator of a graph sees the bits of a float; constants and whole numbers can be converted",
        dtype_name(v->type), dtype_name(to));
    return cast_to(cx, n, v, to);
}

const struct onnx_row onnx_rows_elementwise[] = {
    { "Add", ONNX_FREE | ONNX_FIXED, convert_binary, "ElementWiseAdd" },
    { "Sub", ONNX_FREE | ONNX_FIXED, convert_binary, "ElementWiseSubtract" },
    { "Mul", ONNX_FREE | ONNX_FIXED, convert_binary, "ElementWiseMultiply" },
    { "Div", ONNX_FREE | ONNX_FIXED, convert_binary, "ElementWiseDivide" },
    { "Pow", ONNX_FREE | ONNX_FIXED, convert_binary, "ElementWisePower" },
    { "Mod", ONNX_FREE, convert_binary, "ElementWiseMod" },
    { "Equal", ONNX_FREE, convert_binary, "ElementWiseEqual" },
    { "Less", ONNX_FREE, convert_binary, "ElementWiseLess" },
    { "LessOrEqual", ONNX_FREE, convert_binary, "ElementWiseLessEqual" },
    { "Greater", ONNX_FREE, convert_binary, "ElementWiseGreater" },
    { "GreaterOrEqual", ONNX_FREE, convert_binary, "ElementWiseGreaterEqual" },
    { "And", ONNX_FREE, convert_logic, "ElementWiseAnd" },
    { "Or", ONNX_FREE, convert_logic, "ElementWiseOr" },
    { "Xor", ONNX_FREE, convert_binary, "ElementWiseXor" },
    { "Max", ONNX_FREE, convert_variadic, "ElementWiseMaximum" },
    { "Min", ONNX_FREE, convert_variadic, "ElementWiseMinimum" },
    { "Sum", ONNX_FREE, convert_variadic, "ElementWiseAdd" },
    { "Mean", ONNX_FREE, convert_variadic, "ElementWiseAdd" },
    { "Where", ONNX_FREE, convert_where, NULL },
    { "Abs", ONNX_FREE | ONNX_FIXED, convert_unary, "ElementWiseAbs" },
    { "Asin", ONNX_FREE, convert_unary, "ElementWiseAsin" },
    { "Atan", ONNX_FREE, convert_unary, "ElementWiseAtan" },
    { "Ceil", ONNX_FREE, convert_unary, "ElementWiseCeil" },
    { "Cos", ONNX_FREE, convert_unary, "ElementWiseCos" },
    { "Exp", ONNX_FREE | ONNX_FIXED, convert_unary, "ElementWiseExp" },
    { "Floor", ONNX_FREE, convert_unary, "ElementWiseFloor" },
    { "Log", ONNX_FREE | ONNX_FIXED, convert_unary, "ElementWiseLog" },
    { "Neg", ONNX_FREE | ONNX_FIXED, convert_unary, "ElementWiseNeg" },
    { "Not", ONNX_FREE, convert_unary, "ElementWiseNot" },
    { "Round", ONNX_FREE, convert_unary, "ElementWiseRound" },
    { "Sign", ONNX_FREE, convert_unary, "ElementWiseSign" },
    { "Sin", ONNX_FREE, convert_unary, "ElementWiseSin" },
    { "Sqrt", ONNX_FREE | ONNX_FIXED, convert_unary, "ElementWiseSquareRoot" },
    { "IsNaN", ONNX_FREE, convert_unary, "IsNan" },
    { "IsInf", ONNX_FREE, convert_is_inf, NULL },
    { "Reciprocal", ONNX_FREE, convert_reciprocal, NULL },
    { "Relu", ONNX_FREE | ONNX_FIXED | ONNX_CLAMP, convert_unary, "Relu" },
    { "Sigmoid", ONNX_FREE | ONNX_FIXED, convert_unary, "Sigmoid" },
    { "Tanh", ONNX_FREE | ONNX_FIXED, convert_unary, "Tanh" },
    { "HardSwish", ONNX_FREE | ONNX_FIXED, convert_unary, "HardSwish" },
    { "Identity", ONNX_FREE | ONNX_LISTS, convert_identity, NULL },
    { "Dropout", ONNX_FREE, convert_dropout, NULL },
    { "Cast", ONNX_FREE | ONNX_RETYPES, convert_cast, NULL },
    { "CastLike", ONNX_FREE | ONNX_RETYPES, convert_cast_like, NULL },
    { "BitCast", ONNX_FREE | ONNX_RETYPES, convert_bit_cast, NULL },
    { 0 },
};
