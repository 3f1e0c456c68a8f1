/* SPDX-License-Identifier: Apache-2.0 */
/* Which types and encodings may meet in a sum of products (Conv, FullyConnected, MatMul).
 *
 *     float         all of one float type
 *     fixed point   activations of 8 or 16 bits; weights of 4 or 8 bits, or of 16 bits beside 16-bit activations;
 *                   bias in the accumulator's scale (sq32, i32) or in its own (uq8, sq8, f32) */
#include "ops/op_rules.h"

static enum status float_types(const struct op_call *c, struct tensor_desc *want)
{
    TRY(rule_same_type(c, 1, 0));
    TRY(rule_same_type(c, 2, 0));
    rule_type(&want[0], c->in[0]);
    return ST_OK;
}

static enum status weight_type(const struct op_call *c, bool weights)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[0], *w = c->in[1];
    const char *name = rule_in_name(c, 1);
    REFUSE_IF(!dtype_is_fixed(w->type), c, "input 1 (\"%s\") is %s beside an input of type %s; a fixed-point type is expected", name,
              desc_text(w, text), dtype_name(x->type));
    if (dtype_bits(w->type) <= 8)
        return ST_OK;
    REFUSE_IF(dtype_bits(x->type) != 16, c,
              "input 1 (\"%s\") is %s beside an input of type %s; 16 bits need a 16-bit input, 8 or 4 bits are expected", name,
              desc_text(w, text), dtype_name(x->type));
    REFUSE_IF(weights && w->type != DT_SQ16, c, "input 1 (\"%s\") is %s; 16-bit weights must be sq16", name, desc_text(w, text));
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

static enum status weight_encoding(const struct op_call *c, uint32_t axis)
{
    const struct tensor_desc *w = c->in[1];
    const char *name = rule_in_name(c, 1);
    TRY(zero_point(c, w, "input 1"));
    if (w->q.kind == Q_TENSOR || w->q.kind == Q_BLOCK || w->q.kind == Q_FLOAT_BLOCK)
        return ST_OK;
    REFUSE_IF(w->q.kind != Q_AXIS && w->q.kind != Q_EXPANSION, c, "input 1 (\"%s\") has an encoding of kind %u; one scale for the tensor "
              "or one per output channel is expected", name, w->q.kind);
    REFUSE_IF(w->q.axis != (int32_t)axis, c,
              "input 1 (\"%s\") has one scale per element of axis %d; only the output-channel axis %u can have that", name, w->q.axis, axis);
    for (uint32_t i = 0; w->q.offsets && i < w->q.n; i++)
        REFUSE_IF(w->q.offsets[i] != 0, c, "input 1 (\"%s\"): offset %u of the per-channel encoding is %d; only 0 (symmetric) is supported",
                  name, i, w->q.offsets[i]);
    return ST_OK;
}

static enum status bias_type(const struct op_call *c)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *b = rule_in(c, 2);
    uint32_t allowed = T_(DT_SQ32) | T_Q8 | T_(DT_I32) | T_F32;
    REFUSE_IF(b && !(T_(b->type) & allowed), c,
              "input 2 (\"%s\") is %s beside an input of type %s; sq32, i32, uq8, sq8 or f32 is expected", rule_in_name(c, 2),
              desc_text(b, text), dtype_name(c->in[0]->type));
    return ST_OK;
}

enum status rule_product_types(const struct op_call *c, struct tensor_desc *want, uint32_t axis, bool weights)
{
    char text[DESC_TEXT_MAX];
    if (dtype_is_float(c->in[0]->type))
        return float_types(c, want);
    TRY(weight_type(c, weights));
    TRY(zero_point(c, c->in[0], "input 0"));
    TRY(weight_encoding(c, axis));
    TRY(bias_type(c));
    if (want[0].type == DT_NONE) {
        rule_type(&want[0], c->in[0]);
        return ST_OK;
    }
    REFUSE_IF(!rule_is_fixed_activation(want[0].type), c, "output 0 is %s beside an input of type %s; uq8, sq8, uq16 or sq16 is expected",
              desc_text(&want[0], text), dtype_name(c->in[0]->type));
    return zero_point(c, &want[0], "output 0");
}
