/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices: unit matrices, small determinants, products with flags or packed weights of com.microsoft. */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"

static enum status convert_eye(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    int32_t elem = (int32_t)onnx_attr_int(cx, n, "dtype", 0);
    int64_t k = onnx_attr_int(cx, n, "k", 0);
    TRY(onnx_in(cx, n, 0, &v));
    enum dtype type = elem ? onnx_dtype(elem) : v->type;
    RETURN_IF(v->rank != 2, ST_INVALID_OP, "the input has rank %u; 2 is expected", v->rank);
    REFUSE_WHEN(type == DT_NONE || dtype_bits(type) < 8, "\"dtype\" is %s; no tensor of the graph can have that",
                onnx_elem_name(elem));
    TRY(onnx_charge(cx, "a matrix", onnx_count(v), dtype_bits(type) / 8));
    void *out = arena_alloc(&cx->b.g->arena, dtype_bytes(type, onnx_count(v)));
    RETURN_IF(!out, ST_NO_MEMORY, "no memory for a matrix");
    for (int64_t i = 0; i < v->dims[0]; i++)
        if (i + k >= 0 && i + k < v->dims[1])
            number_put(type, out, (uint64_t)(i * v->dims[1] + i + k), 1);
    return onnx_out_const(cx, n, 0, type, 2, v->dims, out);
}

/* ---- determinants ------------------------------------------------------------------------------------------------- */

static enum status entry(struct onnx_cx *cx, uint32_t x, uint32_t at, uint32_t *ret)
{
    struct tensor_desc d = *build_desc(B, x); /* [matrices, entries] */
    int32_t ranges[6] = {0, (int32_t)d.dims[0], 1, (int32_t)at, (int32_t)at + 1, 1};
    return build_node(B,
                      &(struct build_spec){ .op = "StridedSlice",
                                            .name = onnx_name(cx, "entry"),
                                            BUILD_IN(x),
                                            .params = { BUILD_RANGES("ranges", 2, ranges) } },
                      ret);
}

/* a b - c d of entries */
static enum status minor_of(struct onnx_cx *cx, uint32_t x, const uint8_t *at, uint32_t *ret)
{
    uint32_t e[4], p, q;
    for (unsigned i = 0; i < 4; i++)
        TRY(entry(cx, x, at[i], &e[i]));
    TRY(build_binary(B, "ElementWiseMultiply", onnx_name(cx, "product"), e[0], e[1], &p));
    TRY(build_binary(B, "ElementWiseMultiply", onnx_name(cx, "product"), e[2], e[3], &q));
    return build_binary(B, "ElementWiseSubtract", onnx_name(cx, "minor"), p, q, ret);
}

static enum status convert_det(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const uint8_t two[4] = {0, 3, 1, 2}, three[3][4] = {{4, 8, 5, 7}, {5, 6, 3, 8}, {3, 7, 4, 6}};
    struct onnx_value *v;
    uint32_t x, y = IR_NONE, t, e, size;
    TRY(onnx_in(cx, n, 0, &v));
    size = v->rank >= 2 ? v->dims[v->rank - 1] : 0;
    RETURN_IF(!size || v->dims[v->rank - 2] != size, ST_INVALID_OP, "the last two dimensions are not a square");
    REFUSE_WHEN(size > 3, "matrices of %u x %u; up to 3 x 3 are supported", size, size);
    uint32_t flat[2] = {(uint32_t)(onnx_count(v) / ((uint64_t)size * size)), size * size};
    TRY(onnx_tensor(cx, v, NULL, &x));
    TRY(build_reshape(B, onnx_name(cx, "matrices"), x, 2, flat, &x));
    if (size == 1)
        y = x;
    else if (size == 2)
        TRY(minor_of(cx, x, two, &y));
    for (uint8_t i = 0; size == 3 && i < 3; i++) {
        TRY(minor_of(cx, x, three[i], &t));
        TRY(entry(cx, x, i, &e));
        TRY(build_binary(B, "ElementWiseMultiply", onnx_name(cx, "cofactor"), e, t, &t));
        if (i)
            TRY(build_binary(B, "ElementWiseAdd", onnx_name(cx, "sum"), y, t, &t));
        y = t;
    }
    TRY(build_reshape(B, cx->label, y, v->rank - 2u, v->dims, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

/* ---- products of com.microsoft ------------------------------------------------------------------------------------ */

/* The value with its last two dimensions the other way round. */
static enum status swapped(struct onnx_cx *cx, struct onnx_value **v)
{
    struct onnx_value *r = arena_dup(&cx->arena, *v, sizeof(**v));
    uint32_t t, a = (*v)->rank - 2u, b = (*v)->rank - 1u;
    RETURN_IF(!r, ST_NO_MEMORY, "no memory for a value");
    RETURN_IF((*v)->rank < 2, ST_INVALID_OP, "an operand of rank %u cannot be transposed", (*v)->rank);
    TRY(onnx_tensor(cx, *v, NULL, &t));
    *r = (struct onnx_value){ .name = (*v)->name,
                              .type = (*v)->type,
                              .stored = build_desc(B, t)->type,
                              .tensor = t,
                              .real = IR_NONE,
                              .rank = (*v)->rank };
    memcpy(r->dims, (*v)->dims, sizeof(r->dims));
    perm_identity(r->perm, MAX_RANK);
    r->dims[a] = (*v)->dims[b];
    r->dims[b] = (*v)->dims[a];
    r->perm[a] = (uint8_t)b;
    r->perm[b] = (uint8_t)a;
    *v = r;
    return ST_OK;
}

static enum status convert_fused_matmul(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *a, *b;
    uint32_t y, k;
    float alpha = onnx_attr_float(cx, n, "alpha", 1);
    REFUSE_WHEN(onnx_attr_int(cx, n, "transBatchA", 0) || onnx_attr_int(cx, n, "transBatchB", 0),
                "batch dimensions are transposed, too");
    TRY(onnx_in(cx, n, 0, &a));
    TRY(onnx_in(cx, n, 1, &b));
    if (onnx_attr_int(cx, n, "transA", 0))
        TRY(swapped(cx, &a));
    if (onnx_attr_int(cx, n, "transB", 0))
        TRY(swapped(cx, &b));
    TRY(onnx_matmul(cx, a, b, &y));
    if (alpha != 1) {
        enum dtype t = build_desc(B, y)->type;
        TRY(build_scalar(B, onnx_name(cx, "alpha"), t == DT_F16 && cx->b.float16 ? DT_F32 : t, alpha, &k));
        TRY(build_binary(B, "ElementWiseMultiply", onnx_name(cx, "scaled"), y, k, &y));
    }
    return onnx_out(cx, n, 0, y, NULL);
}

struct packed {
    struct onnx_value *b, *scale, *zero;
    uint32_t k, n, bits, block, blocks;
};

static uint32_t bits_at(const struct onnx_value *v, uint64_t byte_row, uint64_t index, uint32_t bits)
{
    uint64_t bit = index * bits;
    return (uint32_t)number_get_int(v->stored, v->data, byte_row + bit / 8) >> (bit % 8) & ((1u << bits) - 1);
}

/* Row by row, blocks of `block` weights with a scale and a zero point each; packed from the lowest bits up. */
static enum status unpack(struct onnx_cx *cx, const struct packed *p, uint32_t *ret)
{
    struct tensor_desc d = {.type = DT_F32, .rank = 2, .dims = {p->n, p->k}};
    float *w = arena_array(&cx->b.g->arena, float, desc_count(&d));
    uint64_t row_bytes = (uint64_t)p->blocks * p->block * p->bits / 8, zero_bytes = ((uint64_t)p->blocks * p->bits + 7) / 8;
    RETURN_IF(!w, ST_NO_MEMORY, "no memory for weights");
    bool real = p->zero && dtype_is_float(p->zero->stored);
    for (uint64_t i = 0; i < desc_count(&d); i++) {
        uint64_t row = i / p->k, at = i % p->k, block = row * p->blocks + at / p->block;
        double zero = !p->zero ? 1u << (p->bits - 1)
                      : real   ? number_get(p->zero->stored, p->zero->data, block)
                               : bits_at(p->zero, row * zero_bytes, at / p->block, p->bits);
        w[i] = (float)((bits_at(p->b, row * row_bytes, at, p->bits) - zero) *
                       number_get(p->scale->stored, p->scale->data, block));
    }
    return build_const(B, onnx_name(cx, "weights"), &d, w, true, ret);
}

/* One encoding entry per block, when that says the same: whole blocks, scales above 0, zero points that are integers. The
 * offset is that of signed values, 2^(bits - 1) below the unsigned ones of the file. */
static bool block_entries(const struct packed *p, float *scales, int32_t *offsets)
{
    int32_t half = 1 << (p->bits - 1);
    uint64_t zero_bytes = ((uint64_t)p->blocks * p->bits + 7) / 8;
    for (uint64_t i = 0; i < (uint64_t)p->n * p->blocks; i++) {
        scales[i] = (float)number_get(p->scale->stored, p->scale->data, i);
        offsets[i] = p->zero ? half - (int32_t)bits_at(p->zero, i / p->blocks * zero_bytes, i % p->blocks, p->bits) : 0;
        if (!(scales[i] > 0) || isinf(scales[i]))
            return false;
    }
    return true;
}

/* The packed weights as they are, but signed: the highest bit of each turned. IR_NONE: a block encoding cannot say it. */
static enum status keep_packed(struct onnx_cx *cx, const struct packed *p, uint32_t *ret)
{
    static const enum dtype types[] = {[2] = DT_SQ2, [4] = DT_SQ4, [8] = DT_SQ8};
    static const uint8_t high[] = {[2] = 0xaa, [4] = 0x88, [8] = 0x80};
    uint64_t n = (uint64_t)p->n * p->blocks, bytes = onnx_count(p->b);
    struct tensor_desc d = { .type = types[p->bits],
                             .rank = 2,
                             .dims = { p->n, p->k },
                             .q = { .kind = Q_BLOCK, .definition = 1, .n = (uint32_t)n, .block = { 1, p->block } } };
    *ret = IR_NONE;
    if (p->k % p->block || (p->zero && dtype_is_float(p->zero->stored)) || n > UINT32_MAX)
        return ST_OK;
    float *scales = arena_array(&cx->b.g->arena, float, n);
    int32_t *offsets = arena_array(&cx->b.g->arena, int32_t, n);
    RETURN_IF(!scales || !offsets, ST_NO_MEMORY, "no memory for %llu scales", (unsigned long long)n);
    if (!block_entries(p, scales, offsets))
        return ST_OK;
    uint8_t *w = arena_alloc(&cx->b.g->arena, bytes);
    RETURN_IF(!w, ST_NO_MEMORY, "no memory for weights");
    for (uint64_t i = 0; i < bytes; i++)
        w[i] = ((const uint8_t *)p->b->data)[i] ^ high[p->bits];
    d.q.scales = scales;
    d.q.offsets = p->zero ? offsets : NULL;
    return build_const(B, onnx_name(cx, "weights"), &d, w, true, ret);
}

static enum status check_packed(const struct packed *p)
{
    uint64_t row_bytes = (uint64_t)p->blocks * p->block * p->bits / 8, zero_bytes = ((uint64_t)p->blocks * p->bits + 7) / 8;
    RETURN_IF(onnx_count(p->b) != row_bytes * p->n || onnx_count(p->scale) != (uint64_t)p->blocks * p->n, ST_INVALID_OP,
              "the packed weights or scales have the wrong size");
    bool real = p->zero && dtype_is_float(p->zero->stored);
    RETURN_IF(p->zero && onnx_count(p->zero) != (real ? (uint64_t)p->blocks : zero_bytes) * p->n, ST_INVALID_OP,
              "the zero points have the wrong size");
    return ST_OK;
}

static enum status convert_packed(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct packed p = { .k = (uint32_t)onnx_attr_int(cx, n, "K", 0),
                        .n = (uint32_t)onnx_attr_int(cx, n, "N", 0),
                        .bits = (uint32_t)onnx_attr_int(cx, n, "bits", 4),
                        .block = (uint32_t)onnx_attr_int(cx, n, "block_size", 0) };
    struct onnx_value *v;
    uint32_t x, w, bias, y, dims[MAX_RANK];
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &p.b));
    TRY(onnx_in(cx, n, 2, &p.scale));
    TRY(onnx_in_opt(cx, n, 3, &p.zero));
    REFUSE_WHEN(onnx_has(n, 4), "weights in another order (\"g_idx\") are not supported");
    REFUSE_WHEN(!onnx_is_const(p.b) || !onnx_is_const(p.scale) || (p.zero && !onnx_is_const(p.zero)),
                "weights are computed at run time; they must be constants of the model");
    REFUSE_WHEN(p.b->stored != DT_U8 || (p.zero && p.zero->stored != DT_U8 && !dtype_is_float(p.zero->stored)),
                "weights are packed in other types than uint8");
    RETURN_IF(!p.k || !p.n || p.k > 1u << 24 || p.n > 1u << 24 || p.block < 8 || p.block > 1u << 16 ||
                  (p.bits != 2 && p.bits != 4 && p.bits != 8) || v->rank < 1 || v->dims[v->rank - 1] != p.k,
              ST_INVALID_OP, "%u x %u weights of %u bits in blocks of %u", p.n, p.k, p.bits, p.block);
    p.blocks = (p.k + p.block - 1) / p.block;
    TRY(check_packed(&p));
    TRY(keep_packed(cx, &p, &w));
    if (w == IR_NONE)
        TRY(unpack(cx, &p, &w));
    TRY(onnx_tensor(cx, v, NULL, &x));
    TRY(onnx_in_tensor_opt(cx, n, 5, &bias));
    uint32_t flat[2] = {(uint32_t)(onnx_count(v) / p.k), p.k};
    TRY(build_reshape(B, onnx_name(cx, "rows"), x, 2, flat, &x));
    if (dtype_is_float(build_desc(B, w)->type))
        TRY(onnx_cast(cx, "weights_type", w, build_desc(B, x)->type, &w));
    TRY(build_node(B, &(struct build_spec){.op = "FullyConnected", .name = cx->label, BUILD_IN(x, w, bias)}, &y));
    memcpy(dims, v->dims, sizeof(dims));
    dims[v->rank - 1] = p.n;
    TRY(build_reshape(B, onnx_name(cx, "shape"), y, v->rank, dims, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

const struct onnx_row onnx_rows_matrix[] = {
    { "EyeLike", ONNX_RETYPES, convert_eye, NULL },   { "Det", 0, convert_det, NULL },
    { "FusedMatMul", 0, convert_fused_matmul, NULL }, { "TransposeMatMul", 0, convert_fused_matmul, NULL },
    { "MatMulNBits", 0, convert_packed, NULL },       { 0 },
};
