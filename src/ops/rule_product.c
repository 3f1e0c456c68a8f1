/* SPDX-License-Identifier: Apache-2.0 */
/* Which types and encodings may meet in a sum of products (Conv, FullyConnected, MatMul).
 *
 *     float         activations of one float type; weights of any float or fixed-point type; bias in float or with a scale
 *                   of its own
 *     fixed point   activations of 8 or 16 bits; weights of 2, 4 or 8 bits, or of 16 bits beside 16-bit activations, or
 *                   float; bias in the accumulator's scale (sq32, i32, i64) or in its own (8 and 16 bits, float)
 *     encodings     activations per tensor; weights per tensor, per output channel, per block, or blockwise expansion, of
 *                   matrices also per element of another axis; bias per tensor or axis */
#include "ops/op_rules.h"

static enum status weight_type(const struct op_call *c)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[0], *w = c->in[1];
    const char *name = rule_in_name(c, 1);
    if (dtype_is_float(w->type) || dtype_bits(w->type) <= 8)
        return ST_OK;
    REFUSE_IF(dtype_bits(x->type) != 16, c,
              "input 1 (\"%s\") is %s beside an input of type %s; 16 bits need a 16-bit input, 8, 4 or 2 bits are expected",
              name, desc_text(w, text), dtype_name(x->type));
    return ST_OK;
}

/* Zero points outside the type's range would widen the operands beyond what the accumulators are made for. */
static enum status zero_point(const struct op_call *c, const struct tensor_desc *d, const char *which)
{
    TRY(rule_encoded(c, d, which));
    int64_t z = -(int64_t)d->q.offset;
    REFUSE_IF(d->q.kind == Q_TENSOR && (z < dtype_min(d->type) || z > dtype_max(d->type)), c,
              "%s has quantization offset %d; for %s, %lld … %lld are allowed", which, d->q.offset, dtype_name(d->type),
              (long long)-dtype_max(d->type), (long long)-dtype_min(d->type));
    return ST_OK;
}

/* Of channels and of blocks. */
static enum status weight_offsets(const struct op_call *c)
{
    const struct tensor_desc *w = c->in[1];
    bool several = w->q.kind == Q_BLOCK || w->q.kind == Q_AXIS || w->q.kind == Q_EXPANSION;
    for (uint32_t i = 0; several && w->q.offsets && i < w->q.n; i++) {
        int64_t z = -(int64_t)w->q.offsets[i];
        REFUSE_IF(z < dtype_min(w->type) || z > dtype_max(w->type), c,
                  "input 1 (\"%s\"): offset %u of the encoding is %d; for %s, %lld … %lld are allowed", rule_in_name(c, 1),
                  i, w->q.offsets[i], dtype_name(w->type), (long long)-dtype_max(w->type), (long long)-dtype_min(w->type));
    }
    return ST_OK;
}

/* Blocks of an expansion divide the input channels of an output channel, the other one of the two last dimensions. */
static enum status expansion_blocks(const struct op_call *c, uint32_t axis)
{
    const struct tensor_desc *w = c->in[1];
    uint32_t in = axis == w->rank - 1u ? axis - 1 : w->rank - 1u;
    REFUSE_IF(
        w->q.kind == Q_EXPANSION && w->dims[in] % w->q.blocks_per_axis, c,
        "input 1 (\"%s\") has %u blocks per output channel; a divisor of the %u input channels in dimension %u is expected",
        rule_in_name(c, 1), w->q.blocks_per_axis, w->dims[in], in);
    return ST_OK;
}

/* Terms of a sum have scales of their own: of an axis of a matrix that is not the one of its outputs. */
static bool scales_terms(const struct op_call *c, uint32_t axis)
{
    const struct quant *q = &c->in[1]->q;
    const bool matrix = c->op->id == OP_FullyConnected || c->op->id == OP_MatMul;
    return matrix && q->kind == Q_AXIS && q->axis != (int32_t)axis;
}

static enum status weight_encoding(const struct op_call *c, uint32_t axis)
{
    const struct tensor_desc *w = c->in[1];
    const char *name = rule_in_name(c, 1);
    TRY(zero_point(c, w, "input 1"));
    REFUSE_IF(w->q.kind == Q_VECTOR, c,
              "input 1 (\"%s\") has a vector (code book) encoding; what its indices mean is not public, so it is not "
              "supported: one scale for the tensor, per output channel or per block is expected",
              name);
    REFUSE_IF(w->q.mapping > 2, c, "input 1 (\"%s\") has mapping %u; 0, 1 or 2 is expected", name, w->q.mapping);
    TRY(weight_offsets(c));
    if (w->q.kind != Q_AXIS && w->q.kind != Q_EXPANSION)
        return ST_OK;
    if (scales_terms(c, axis))
        return ST_OK;
    REFUSE_IF(w->q.axis != (int32_t)axis, c,
              "input 1 (\"%s\") has one scale per element of axis %d; only the output-channel axis %u can have that", name,
              w->q.axis, axis);
    return expansion_blocks(c, axis);
}

/* The accumulator of block scales, of scales of terms and of float weights has no unit that a bias could share. */
static bool has_unit(const struct op_call *c, uint32_t axis)
{
    const struct tensor_desc *w = c->in[1];
    if (scales_terms(c, axis))
        return false;
    return dtype_is_fixed(c->in[0]->type) && dtype_is_fixed(w->type) && w->q.kind != Q_BLOCK && w->q.kind != Q_FLOAT_BLOCK;
}

static const char *without_unit(const struct op_call *c)
{
    if (dtype_is_float(c->in[0]->type))
        return "a float input";
    if (dtype_is_float(c->in[1]->type))
        return "float weights";
    return c->in[1]->q.kind == Q_AXIS ? "weights with a scale per term of the sum" : "weights with block scales";
}

static enum status bias_type(const struct op_call *c, uint32_t axis)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *b = rule_in(c, 2);
    uint32_t allowed = T_(DT_SQ32) | T_Q | T_(DT_I32) | T_(DT_I64) | T_FLOAT;
    if (!b)
        return ST_OK;
    const char *name = rule_in_name(c, 2);
    REFUSE_IF(!(T_(b->type) & allowed), c,
              "input 2 (\"%s\") is %s; sq32, i32, i64, uq8, sq8, uq16, sq16, f32 or f16 is expected", name,
              desc_text(b, text));
    bool plain = b->q.kind == Q_NONE || b->q.kind == Q_TENSOR || b->q.kind == Q_AXIS;
    REFUSE_IF(dtype_is_fixed(b->type) && (!plain || b->q.mapping), c,
              "input 2 (\"%s\") is %s with encoding %u and mapping %u; one scale, or one per output channel, is expected",
              name, desc_text(b, text), b->q.kind, b->q.mapping);
    bool unscaled = b->type == DT_I32 || b->type == DT_I64 || (dtype_is_fixed(b->type) && quant_scale(&b->q, 0) == 0);
    REFUSE_IF(unscaled && !has_unit(c, axis), c,
              "input 2 (\"%s\") is %s without a scale, but beside %s there is none to derive it from; give it a scale, or "
              "make it f32",
              name, desc_text(b, text), without_unit(c));
    REFUSE_IF(dtype_is_fixed(b->type) && b->q.kind == Q_NONE && b->type != DT_SQ32, c,
              "input 2 (\"%s\") is %s without a quantization encoding; give it a scale and an offset", name,
              desc_text(b, text));
    return ST_OK;
}

enum status rule_product_types(const struct op_call *c, struct tensor_desc *want, uint32_t axis)
{
    char text[DESC_TEXT_MAX];
    bool is_float = dtype_is_float(c->in[0]->type);
    if (!is_float) {
        TRY(weight_type(c));
        TRY(zero_point(c, c->in[0], "input 0"));
    }
    if (dtype_is_fixed(c->in[1]->type))
        TRY(weight_encoding(c, axis));
    TRY(bias_type(c, axis));
    if (is_float) {
        rule_type(&want[0], c->in[0]);
        return ST_OK;
    }
    if (want[0].type == DT_NONE) {
        rule_type(&want[0], c->in[0]);
        return ST_OK;
    }
    REFUSE_IF(!rule_is_fixed_activation(want[0].type), c,
              "output 0 is %s beside an input of type %s; uq8, sq8, uq16 or sq16 is expected", desc_text(&want[0], text),
              dtype_name(c->in[0]->type));
    return zero_point(c, &want[0], "output 0");
}
