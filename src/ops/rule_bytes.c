/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes whose zero point and scale are computed while running, and the bytes themselves. Only the compiler makes
 * them; what reads a binary checks them. */
#include "ops/op_rules.h"

enum { ZERO = 2, WHOLE, SCALE, BIAS };

/* Shapes are those of the operator on floats. */
static enum status as_float(const struct op_call *c, struct tensor_desc *want, enum op_id like)
{
    struct tensor_desc x = *c->in[0], w = *c->in[1];
    const struct tensor_desc *in[] = { &x, &w };
    struct op_call f = *c;
    REFUSE_IF(w.q.kind != Q_TENSOR || w.q.mapping || w.q.offset < -127 || w.q.offset > 128, c,
              "input 1 has an encoding of kind %u with offset %d; one offset of -127 … 128 for all weights is expected",
              w.q.kind, w.q.offset);
    x.type = w.type = DT_F32;
    w.q = (struct quant){ 0 };
    f.op = op_get(like);
    f.in = in;
    f.n_in = 2;
    f.in_data = NULL;
    return f.op->infer(&f, want);
}

static enum status per_channel(const struct op_call *c, const struct tensor_desc *want)
{
    uint32_t n = want->dims[want->rank - 1];
    TRY(rule_vector(c, ZERO, 1, "one for all of input 0"));
    TRY(rule_vector(c, WHOLE, n, "one per output channel"));
    TRY(rule_vector(c, BIAS, n, "one per output channel"));
    const struct tensor_desc *s = rule_in(c, SCALE);
    return s && desc_count(s) == 1 ? ST_OK : rule_vector(c, SCALE, n, "one, or one per output channel");
}

RULE(bytes_conv2d)
{
    TRY(as_float(c, want, OP_Conv2d));
    int64_t group = op_int(c, "group", 0);
    REFUSE_IF(group > 1 && (uint64_t)group == c->in[0]->dims[3], c,
              "parameter \"group\" is %lld, the number of input channels; fewer groups are expected", (long long)group);
    return per_channel(c, &want[0]);
}

RULE(bytes_matmul)
{
    TRY(as_float(c, want, OP_MatMul));
    return per_channel(c, &want[0]);
}

RULE(bytes_quantize)
{
    TRY(rule_vector(c, 1, 1, "one for all of input 0"));
    TRY(rule_vector(c, 2, 1, "one for all of input 0"));
    rule_shape_of(&want[0], c->in[0]);
    want[0].type = DT_U8;
    return ST_OK;
}
