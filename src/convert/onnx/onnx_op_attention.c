/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, written out: scaled product of queries and keys, masks, softmax, product with the values. Tensors are [batch,
 * heads, sequence, size] inside. */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"

#define ADD "ElementWiseAdd"
#define MUL "ElementWiseMultiply"

struct attention {
    uint32_t q, k, v;
    uint32_t batch, q_heads, kv_heads, q_len, k_len, past, size, v_size;
    bool packed; /* [batch, sequence, heads * size] in the source */
    enum dtype type;
};

static enum status number(struct onnx_cx *cx, enum dtype t, double v, uint32_t *ret)
{
    return build_scalar(B, onnx_name(cx, "k"), t == DT_F16 && cx->b.float16 ? DT_F32 : t, v, ret);
}

/* ---- operands ----------------------------------------------------------------------------------------------------- */

static enum status heads(struct onnx_cx *cx, struct onnx_value *v, uint32_t count, uint32_t *ret)
{
    static const uint8_t swap[4] = {0, 2, 1, 3};
    TRY(onnx_tensor(cx, v, NULL, ret));
    if (v->rank == 4)
        return ST_OK;
    RETURN_IF(v->rank != 3 || count == 0 || v->dims[2] % count, ST_INVALID_OP,
              "an operand of rank %u cannot be divided into %u heads", v->rank, count);
    uint32_t dims[4] = {v->dims[0], v->dims[1], count, v->dims[2] / count};
    TRY(build_reshape(B, onnx_name(cx, "heads"), *ret, 4, dims, ret));
    return build_transpose(B, onnx_name(cx, "per_head"), *ret, swap, ret);
}

/* Past keys or values in front; the whole is an output, too. */
static enum status with_past(struct onnx_cx *cx, const struct onnx_node *n, uint32_t past_at, uint32_t out_at, uint32_t *t)
{
    uint32_t past;
    TRY(onnx_in_tensor_opt(cx, n, past_at, &past));
    if (past != IR_NONE)
        TRY(build_node(
            B,
            &(struct build_spec){
                .op = "Concat", .name = onnx_name(cx, "with_past"), BUILD_IN(past, *t), .params = { BUILD_U32("axis", 2) } },
            t));
    return onnx_out(cx, n, out_at, *t, NULL);
}

/* A key head serves several query heads. */
static enum status repeat_heads(struct onnx_cx *cx, uint32_t times, uint32_t *t)
{
    struct tensor_desc d = *build_desc(B, *t);
    if (times == 1)
        return ST_OK;
    uint32_t wide[5] = { d.dims[0], d.dims[1], 1, d.dims[2], d.dims[3] }, repeat[5] = { 1, 1, times, 1, 1 },
             dims[4] = { d.dims[0], d.dims[1] * times, d.dims[2], d.dims[3] };
    TRY(build_reshape(B, onnx_name(cx, "group"), *t, 5, wide, t));
    TRY(build_node(
        B,
        &(struct build_spec){
            .op = "Tile", .name = onnx_name(cx, "repeat"), BUILD_IN(*t), .params = { BUILD_U32S("multiples", 5, repeat) } },
        t));
    return build_reshape(B, onnx_name(cx, "repeated"), *t, 4, dims, t);
}

static enum status operands(struct onnx_cx *cx, const struct onnx_node *n, struct attention *a)
{
    struct onnx_value *q, *k, *v;
    uint32_t q_heads = (uint32_t)onnx_attr_int(cx, n, "q_num_heads", 0),
             kv_heads = (uint32_t)onnx_attr_int(cx, n, "kv_num_heads", 0);
    TRY(onnx_in(cx, n, 0, &q));
    TRY(onnx_in(cx, n, 1, &k));
    TRY(onnx_in(cx, n, 2, &v));
    a->packed = q->rank == 3;
    TRY(heads(cx, q, q_heads, &a->q));
    TRY(heads(cx, k, kv_heads, &a->k));
    TRY(heads(cx, v, kv_heads, &a->v));
    const struct tensor_desc *dq = build_desc(B, a->q), *dk = build_desc(B, a->k), *dv = build_desc(B, a->v);
    a->batch = dq->dims[0];
    a->q_heads = dq->dims[1];
    a->q_len = dq->dims[2];
    a->size = dq->dims[3];
    a->kv_heads = dk->dims[1];
    a->v_size = dv->dims[3];
    a->past = dk->dims[2];
    a->type = dq->type;
    RETURN_IF(a->kv_heads == 0 || a->q_heads % a->kv_heads, ST_INVALID_OP, "%u query heads for %u key heads", a->q_heads,
              a->kv_heads);
    TRY(with_past(cx, n, 4, 1, &a->k));
    TRY(with_past(cx, n, 5, 2, &a->v));
    a->k_len = build_desc(B, a->k)->dims[2];
    a->past = a->k_len - a->past;
    TRY(repeat_heads(cx, a->q_heads / a->kv_heads, &a->k));
    return repeat_heads(cx, a->q_heads / a->kv_heads, &a->v);
}

/* ---- masks -------------------------------------------------------------------------------------------------------- */

/* A mask that ends early forbids what it does not reach. */
static enum status complete(struct onnx_cx *cx, const struct attention *a, bool truth, uint32_t *mask)
{
    struct tensor_desc d = *build_desc(B, *mask);
    uint32_t pads[2 * MAX_RANK] = {0};
    if (d.rank == 0 || d.dims[d.rank - 1] >= a->k_len || d.dims[d.rank - 1] == 1)
        return ST_OK;
    pads[2 * d.rank - 1] = a->k_len - d.dims[d.rank - 1];
    return build_node(B, &(struct build_spec){.op = "Pad", .name = onnx_name(cx, "mask_end"), BUILD_IN(*mask),
                                              .params = {BUILD_U32("scheme", 0), BUILD_PAIRS("pad_amount", d.rank, pads),
                                                         BUILD_F32("pad_constant_value", truth ? 0 : -INFINITY)}}, mask);
}

/* True where attention is allowed -> 0, elsewhere minus infinity. */
static enum status allow(struct onnx_cx *cx, const struct attention *a, uint32_t allowed, uint32_t *ret)
{
    uint32_t zero, low;
    TRY(number(cx, a->type, 0, &zero));
    TRY(number(cx, a->type, -INFINITY, &low));
    return build_node(
        B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "mask"), BUILD_IN(allowed, zero, low) },
        ret);
}

static enum status add_bias(struct onnx_cx *cx, uint32_t *bias, uint32_t more)
{
    if (*bias == IR_NONE) {
        *bias = more;
        return ST_OK;
    }
    return build_binary(B, "ElementWiseMinimum", onnx_name(cx, "masks"), *bias, more,
                        bias); /* both are 0 or minus infinity */
}

/* Which keys a query may see besides what masks say; -1: no limit on that side. */
struct window {
    bool causal;
    int64_t left, right;
};

enum { MASK_MAX = 1 << 30 }; /* a file of a few bytes may claim any length */

/* A side beyond every length has no limit. */
static int64_t window_side(struct onnx_cx *cx, const struct onnx_node *n, const char *name)
{
    int64_t size = onnx_attr_int(cx, n, name, -1);
    return size > 2 * (int64_t)UINT32_MAX ? -1 : size;
}

static enum status visible(struct onnx_cx *cx, const struct attention *a, const struct window *w, uint32_t *ret)
{
    struct tensor_desc d = {.type = DT_B8, .rank = 2, .dims = {a->q_len, a->k_len}};
    TRY(onnx_charge(cx, "a mask", (uint64_t)a->q_len * a->k_len, 1));
    uint8_t *keep = arena_alloc(&cx->b.g->arena, (size_t)a->q_len * a->k_len);
    RETURN_IF(!keep, ST_NO_MEMORY, "no memory for the mask");
    for (uint32_t i = 0; i < a->q_len; i++)
        for (uint32_t j = 0; j < a->k_len; j++)
            keep[(size_t)i * a->k_len + j] = (!w->causal || j <= i + a->past) &&
                                             (w->left < 0 || (int64_t)j + w->left >= (int64_t)i + a->past) &&
                                             (w->right < 0 || (int64_t)j <= (int64_t)i + a->past + w->right);
    TRY(build_const(B, onnx_name(cx, "causal"), &d, keep, true, ret));
    return allow(cx, a, *ret, ret);
}

/* With lengths the queries end where the keys do: query i stands at i + length - q_len. */
static enum status positions(struct onnx_cx *cx, const struct attention *a, const struct window *w, bool left, uint32_t *ret)
{
    struct tensor_desc d = {.type = DT_I64, .rank = 2, .dims = {a->q_len, a->k_len}};
    TRY(onnx_charge(cx, "a mask", (uint64_t)a->q_len * a->k_len, 8));
    int64_t *at = arena_array(&cx->b.g->arena, int64_t, desc_count(&d));
    RETURN_IF(!at, ST_NO_MEMORY, "no memory for the mask");
    for (uint32_t i = 0; i < a->q_len; i++)
        for (uint32_t j = 0; j < a->k_len; j++) {
            int64_t from = (int64_t)j - i + a->q_len, *to = &at[(size_t)i * a->k_len + j];
            *to = left ? from + w->left : j;
            if (!left && w->causal && from - 1 > *to)
                *to = from - 1;
            if (!left && w->right >= 0 && from - 1 - w->right > *to)
                *to = from - 1 - w->right;
        }
    return build_const(B, onnx_name(cx, "positions"), &d, at, true, ret);
}

/* Keys behind nonpad_kv_seqlen[batch] are padding. */
static enum status padding(struct onnx_cx *cx, const struct attention *a, uint32_t lengths, const struct window *w,
                           uint32_t *ret)
{
    uint32_t position, dims[4] = {a->batch, 1, 1, 1}, more;
    TRY(onnx_cast(cx, "lengths", lengths, DT_I64, &lengths));
    TRY(build_reshape(B, onnx_name(cx, "per_batch"), lengths, 4, dims, &lengths));
    TRY(positions(cx, a, w, false, &position));
    TRY(build_binary(B, "ElementWiseLess", onnx_name(cx, "inside"), position, lengths, ret));
    if (w->left >= 0) {
        TRY(positions(cx, a, w, true, &position));
        TRY(build_binary(B, "ElementWiseGreaterEqual", onnx_name(cx, "near"), position, lengths, &more));
        TRY(build_binary(B, "ElementWiseAnd", onnx_name(cx, "window"), *ret, more, ret));
    }
    return allow(cx, a, *ret, ret);
}

/* Everything that is added to the scores; IR_NONE: nothing. */
static enum status mask_bias(struct onnx_cx *cx, const struct onnx_node *n, const struct attention *a, uint32_t *ret)
{
    uint32_t mask, more, lengths;
    struct window w = { onnx_attr_int(cx, n, "is_causal", 0), window_side(cx, n, "left_window_size"),
                        window_side(cx, n, "right_window_size") };
    *ret = IR_NONE;
    TRY(onnx_in_tensor_opt(cx, n, 6, &lengths));
    bool made = lengths != IR_NONE || w.causal || w.left >= 0 || w.right >= 0;
    REFUSE_WHEN(made && (uint64_t)a->q_len * a->k_len > MASK_MAX,
                "a mask for %u queries and %u keys; at most %d entries are made while converting", a->q_len, a->k_len,
                MASK_MAX);
    if (lengths != IR_NONE) {
        TRY(padding(cx, a, lengths, &w, &more));
        TRY(add_bias(cx, ret, more));
    } else if (w.causal || w.left >= 0 || w.right >= 0) {
        TRY(visible(cx, a, &w, &more));
        TRY(add_bias(cx, ret, more));
    }
    TRY(onnx_in_tensor_opt(cx, n, 3, &mask));
    if (mask == IR_NONE)
        return ST_OK;
    bool truth = build_desc(B, mask)->type == DT_B8;
    TRY(complete(cx, a, truth, &mask));
    if (truth) {
        TRY(allow(cx, a, mask, &mask));
        return add_bias(cx, ret, mask);
    }
    if (*ret == IR_NONE) {
        *ret = mask;
        return ST_OK;
    }
    return build_binary(B, ADD, onnx_name(cx, "masks"), *ret, mask, ret);
}

/* ---- scores ------------------------------------------------------------------------------------------------------- */

static enum status soften(struct onnx_cx *cx, enum dtype type, double cap, uint32_t *x)
{
    uint32_t k;
    if (cap == 0)
        return ST_OK;
    TRY(number(cx, type, 1 / cap, &k));
    TRY(build_binary(B, MUL, onnx_name(cx, "cap"), *x, k, x));
    TRY(build_unary(B, "Tanh", onnx_name(cx, "soft"), *x, x));
    TRY(number(cx, type, cap, &k));
    return build_binary(B, MUL, onnx_name(cx, "capped"), *x, k, x);
}

/* A query that may attend to nothing gets zeros, not the quotient of nothing by nothing. */
static enum status zero_empty_rows(struct onnx_cx *cx, uint32_t masked, uint32_t *x)
{
    const struct tensor_desc *d = build_desc(B, masked);
    enum dtype type = d->type;
    uint32_t axis = d->rank - 1u, most, nothing, empty, zero;
    TRY(build_node(B,
                   &(struct build_spec){ .op = "ReduceMax",
                                         .name = onnx_name(cx, "most"),
                                         BUILD_IN(masked),
                                         .params = { BUILD_U32S("axes", 1, &axis), BUILD_B8("keep_dims", 1) } },
                   &most));
    TRY(number(cx, type, -INFINITY, &nothing));
    TRY(number(cx, type, 0, &zero));
    TRY(build_binary(B, "ElementWiseEqual", onnx_name(cx, "empty"), most, nothing, &empty));
    return build_node(
        B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "defined"), BUILD_IN(empty, zero, *x) },
        x);
}

static enum status scores(struct onnx_cx *cx, const struct onnx_node *n, const struct attention *a, uint32_t *ret)
{
    uint32_t x, k, bias, stage[4];
    bool may_be_empty;
    double scale = onnx_attr_float(cx, n, "scale", 0), cap = onnx_attr_float(cx, n, "softcap", 0);
    int64_t mode = onnx_attr_int(cx, n, "qk_matmul_output_mode", 0);
    TRY(number(cx, a->type, scale != 0 ? scale : 1 / sqrt(a->size), &k));
    TRY(build_binary(B, MUL, onnx_name(cx, "scaled"), a->q, k, &x));
    TRY(build_node(
        B,
        &(struct build_spec){
            .op = "MatMul", .name = onnx_name(cx, "scores"), BUILD_IN(x, a->k), .params = { BUILD_B8("transpose_in1", 1) } },
        &x));
    stage[0] = x;
    TRY(mask_bias(cx, n, a, &bias));
    may_be_empty = onnx_has(n, 3) || onnx_has(n, 6) || onnx_attr_int(cx, n, "left_window_size", -1) >= 0;
    TRY(soften(cx, a->type, cap, &x)); /* before the mask: a cap would let through what the mask forbids */
    stage[1] = x;
    if (bias != IR_NONE)
        TRY(build_binary(B, ADD, onnx_name(cx, "masked"), x, bias, &x));
    stage[2] = x;
    bool wide = a->type == DT_F16 && onnx_attr_int(cx, n, "softmax_precision", 0) == 1 && !cx->b.float16;
    if (wide)
        TRY(onnx_cast(cx, "wide", x, DT_F32, &x));
    uint32_t masked = x;
    TRY(build_node(B, &(struct build_spec){.op = "Softmax", .name = onnx_name(cx, "softmax"), BUILD_IN(x)}, &x));
    if (may_be_empty)
        TRY(zero_empty_rows(cx, masked, &x));
    if (wide)
        TRY(onnx_cast(cx, "narrow", x, DT_F16, &x));
    stage[3] = x;
    RETURN_IF(mode < 0 || mode > 3, ST_INVALID_OP, "\"qk_matmul_output_mode\" is %lld", (long long)mode);
    TRY(onnx_out(cx, n, 3, stage[mode], NULL));
    *ret = x;
    return ST_OK;
}

static enum status convert_attention(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const uint8_t swap[4] = {0, 2, 1, 3};
    struct attention a = {0};
    uint32_t x;
    REFUSE_WHEN(!strcmp(n->domain, "com.microsoft"), "the operator of this name in domain com.microsoft takes other inputs");
    TRY(operands(cx, n, &a));
    TRY(scores(cx, n, &a, &x));
    TRY(build_node(B, &(struct build_spec){.op = "MatMul", .name = cx->label, BUILD_IN(x, a.v)}, &x));
    if (a.packed) {
        uint32_t dims[3] = {a.batch, a.q_len, a.q_heads * a.v_size};
        TRY(build_transpose(B, onnx_name(cx, "sequence"), x, swap, &x));
        TRY(build_reshape(B, onnx_name(cx, "packed"), x, 3, dims, &x));
    }
    return onnx_out(cx, n, 0, x, NULL);
}

/* ---- rotary embedding --------------------------------------------------------------------------------------------- */

static enum status convert_rotary(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const uint8_t swap[4] = {0, 2, 1, 3};
    struct onnx_value *v;
    uint32_t x, cosine, sine, ids, y;
    int64_t count = onnx_attr_int(cx, n, "num_heads", 0);
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in_tensor(cx, n, 0, &x));
    TRY(onnx_in_tensor(cx, n, 1, &cosine));
    TRY(onnx_in_tensor(cx, n, 2, &sine));
    TRY(onnx_in_tensor_opt(cx, n, 3, &ids));
    bool packed = v->rank == 3 && count > 0;
    if (packed)
        TRY(heads(cx, v, (uint32_t)count, &x));
    TRY(build_node(B,
                   &(struct build_spec){
                       .op = "RotaryEmbedding",
                       .name = cx->label,
                       BUILD_IN(x, cosine, sine, ids),
                       .params = { BUILD_B8("interleaved", onnx_attr_int(cx, n, "interleaved", 0)),
                                   BUILD_U32("rotary_embedding_dim", onnx_attr_int(cx, n, "rotary_embedding_dim", 0)) } },
                   &y));
    if (packed) {
        TRY(build_transpose(B, onnx_name(cx, "sequence"), y, swap, &y));
        TRY(build_reshape(B, onnx_name(cx, "packed"), y, 3, v->dims, &y));
    }
    return onnx_out(cx, n, 0, y, NULL);
}

const struct onnx_row onnx_rows_attention[] = {
    {"Attention", 0, convert_attention, NULL},
    {"RotaryEmbedding", 0, convert_rotary, NULL},
    {0},
};
