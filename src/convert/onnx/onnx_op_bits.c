/* SPDX-License-Identifier: Apache-2.0 */
/* Shifts and bitwise logic. QNN has neither: a shift is a product or quotient with a power of two, and logic is arithmetic
 * on the single bits, which stand in a dimension of their own for a while:
 *
 *     a -> [.., 1] -> floor(a / [1, 2, 4, …]) mod 2 = bits of a
 *     and: product, or: larger one, xor: difference
 *     sum of bits times [1, 2, 4, …]
 */
#include <string.h>

#include "convert/onnx/onnx.h"

static enum status step(struct onnx_cx *cx, const char *op, const char *suffix, uint32_t a, uint32_t b, uint32_t *ret)
{
    return build_binary(B, op, onnx_name(cx, suffix), a, b, ret);
}

/* 1, 2, 4, … of a type, `n` of them; the last one negative where it is the sign. */
static enum status powers(struct onnx_cx *cx, enum dtype type, uint32_t n, bool sign, uint32_t *ret)
{
    struct tensor_desc d = {.type = type, .rank = 1, .dims = {n}};
    char *data = arena_alloc(&cx->b.g->arena, desc_bytes(&d));
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for powers of two");
    for (uint32_t i = 0; i < n; i++) {
        uint64_t v = (uint64_t)1 << i;
        if (sign && i + 1 == n)
            v = -v;
        memcpy(data + (size_t)i * (dtype_bits(type) / 8), &v, dtype_bits(type) / 8);
    }
    return build_const(B, onnx_name(cx, "powers"), &d, data, true, ret);
}

/* 2^(half of k, or the other half) for k = 0 … bits; all bits are shifted out by the last one, where a product must be 0. */
static enum status halves(struct onnx_cx *cx, enum dtype type, bool left, unsigned which, uint32_t *ret)
{
    uint32_t bits = dtype_bits(type);
    struct tensor_desc d = {.type = type, .rank = 1, .dims = {bits + 1}};
    char *data = arena_alloc(&cx->b.g->arena, desc_bytes(&d));
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for powers of two");
    for (uint32_t k = 0; k <= bits; k++) {
        uint64_t v = left && k == bits ? 0 : (uint64_t)1 << (which ? k - k / 2 : k / 2);
        memcpy(data + (size_t)k * (bits / 8), &v, bits / 8);
    }
    return build_const(B, onnx_name(cx, "powers"), &d, data, true, ret);
}

/* Distances outside 0 … bits count as bits. */
static enum status distance(struct onnx_cx *cx, uint32_t by, uint32_t bits, uint32_t *ret)
{
    uint32_t zero, most, inside;
    TRY(onnx_cast(cx, "distance", by, DT_I32, &by));
    TRY(build_scalar(B, onnx_name(cx, "zero"), DT_I32, 0, &zero));
    TRY(build_scalar(B, onnx_name(cx, "most"), DT_I32, bits, &most));
    TRY(step(cx, "ElementWiseMinimum", "limited", by, most, &by));
    TRY(step(cx, "ElementWiseGreaterEqual", "forward", by, zero, &inside));
    return build_node(
        B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "index"), BUILD_IN(inside, by, most) },
        ret);
}

/* In two steps: the factor of one could be too large for a type with a sign. */
static enum status convert_shift(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *s;
    uint32_t y, by, table, factor;
    bool left = !strcmp(onnx_attr_text(cx, n, "direction", ""), "LEFT");
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &s));
    enum dtype type = onnx_inner_type(v->type);
    REFUSE_WHEN(dtype_bits(type) < 8 || dtype_is_float(type), "the input is not of whole numbers of 8 bits and more");
    TRY(onnx_tensor(cx, v, NULL, &y));
    TRY(onnx_tensor(cx, s, NULL, &by));
    TRY(distance(cx, by, dtype_bits(type), &by));
    for (unsigned i = 0; i < 2; i++) {
        TRY(halves(cx, type, left, i, &table));
        TRY(build_node(
            B,
            &(struct build_spec){
                .op = "Gather", .name = onnx_name(cx, "factor"), BUILD_IN(table, by), .params = { BUILD_I32("axis", 0) } },
            &factor));
        TRY(step(cx, left ? "ElementWiseMultiply" : "ElementWiseFloorDiv", "shifted", y, factor, &y));
    }
    return onnx_out(cx, n, 0, y, NULL);
}

/* x as its bits along a new last dimension. */
static enum status bits_of(struct onnx_cx *cx, struct onnx_value *v, enum dtype wide, uint32_t powers_of, uint32_t *ret)
{
    uint32_t x, two, dims[MAX_RANK];
    REFUSE_WHEN(v->rank == MAX_RANK, "an input of rank %u; at most %d is supported", v->rank, MAX_RANK - 1);
    TRY(onnx_tensor(cx, v, NULL, &x));
    TRY(onnx_cast(cx, "wide", x, wide, &x));
    memcpy(dims, v->dims, sizeof(dims));
    dims[v->rank] = 1;
    TRY(build_reshape(B, onnx_name(cx, "column"), x, v->rank + 1u, dims, &x));
    TRY(step(cx, "ElementWiseFloorDiv", "shifted", x, powers_of, &x));
    TRY(build_scalar(B, onnx_name(cx, "two"), wide, 2, &two));
    return step(cx, "ElementWiseMod", "bits", x, two, ret);
}

static enum status convert_logic(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v[2];
    uint32_t a, b, divisors, weights, y, t, axis;
    TRY(onnx_in(cx, n, 0, &v[0]));
    TRY(onnx_in(cx, n, 1, &v[1]));
    enum dtype type = onnx_inner_type(v[0]->type), wide = type == DT_U64 ? DT_U64 : DT_I64;
    REFUSE_WHEN(type == DT_I64,
                "the inputs are of 64 bits with a sign; up to 32 bits, and 64 without a sign, are supported");
    TRY(powers(cx, wide, dtype_bits(type), false, &divisors));
    TRY(powers(cx, wide, dtype_bits(type), dtype_is_signed(type), &weights));
    TRY(bits_of(cx, v[0], wide, divisors, &a));
    TRY(bits_of(cx, v[1], wide, divisors, &b));
    if (!strcmp(n->op, "BitwiseAnd")) {
        TRY(step(cx, "ElementWiseMultiply", "and", a, b, &y));
    } else {
        TRY(step(cx, "ElementWiseMaximum", "or", a, b, &y));
        if (!strcmp(n->op, "BitwiseXor")) {
            TRY(step(cx, "ElementWiseMultiply", "and", a, b, &t));
            TRY(step(cx, "ElementWiseSubtract", "xor", y, t, &y));
        }
    }
    TRY(step(cx, "ElementWiseMultiply", "weighted", y, weights, &y));
    axis = build_desc(B, y)->rank - 1u;
    TRY(build_node(
        B,
        &(struct build_spec){
            .op = "ReduceSum", .name = onnx_name(cx, "sum"), BUILD_IN(y), .params = { BUILD_U32S("axes", 1, &axis) } },
        &y));
    TRY(onnx_cast(cx, "narrow", y, type, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

/* -1 - x, or the largest number less x: all bits turned. */
static enum status convert_not(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, ones, y;
    uint64_t all = UINT64_MAX;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_tensor(cx, v, v->perm, &x));
    struct tensor_desc d = {.type = build_desc(B, x)->type};
    TRY(build_const(B, onnx_name(cx, "ones"), &d, &all, false, &ones));
    TRY(step(cx, "ElementWiseSubtract", "not", ones, x, &y));
    return onnx_out(cx, n, 0, y, v->perm);
}

const struct onnx_row onnx_rows_bits[] = {
    {"BitShift", 0, convert_shift, NULL},  {"BitwiseAnd", 0, convert_logic, NULL}, {"BitwiseOr", 0, convert_logic, NULL},
    {"BitwiseXor", 0, convert_logic, NULL}, {"BitwiseNot", ONNX_FREE, convert_not, NULL}, {0},
};
