/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of data type: Cast cuts to integers and takes the stored number where there is no encoding; the others round. */
#include "ops/op_rules.h"

RULE(cast)
{
    rule_shape_of(&want[0], c->in[0]);
    REFUSE_IF(want[0].type == DT_NONE, c, "output 0 has no data type; it says what to cast to");
    return ST_OK;
}

/* The encoding says what every element is worth. */
static enum status check_encoding(const struct op_call *c, const struct tensor_desc *d, const char *which)
{
    const struct quant *q = &d->q;
    TRY(rule_encoded(c, d, which));
    if (!dtype_is_fixed(d->type))
        return ST_OK;
    REFUSE_IF(q->kind == Q_VECTOR, c,
              "%s has a vector (code book) encoding; what its indices mean is not public, so it is not supported: "
              "scales per tensor, per axis or per block are expected",
              which);
    REFUSE_IF(q->mapping > 2, c, "%s has mapping %u; 0, 1 or 2 is expected", which, q->mapping);
    if (q->kind != Q_EXPANSION)
        return ST_OK;
    REFUSE_IF(
        d->rank < 2, c,
        "%s has rank %u and a block expansion; blocks divide another dimension than axis %d, so at least rank 2 is expected",
        which, d->rank, q->axis);
    uint32_t last = d->rank - 1u, in = q->axis == (int32_t)last ? last - 1 : last;
    REFUSE_IF(d->dims[in] % q->blocks_per_axis, c,
              "%s has %u blocks per axis; a divisor of the %u elements in dimension %u is expected", which,
              q->blocks_per_axis, d->dims[in], in);
    return ST_OK;
}

RULE(convert)
{
    TRY(rule_cast(c, want));
    TRY(check_encoding(c, c->in[0], "input 0"));
    return check_encoding(c, &want[0], "output 0");
}

RULE(quantize)
{
    rule_shape_of(&want[0], c->in[0]);
    REFUSE_IF(want[0].type == DT_NONE, c, "output 0 has no data type; it says what to quantize to");
    TRY(check_encoding(c, c->in[0], "input 0"));
    return check_encoding(c, &want[0], "output 0");
}

RULE(dequantize)
{
    rule_shape_of(&want[0], c->in[0]);
    rule_type_free(&want[0], DT_F32);
    return check_encoding(c, c->in[0], "input 0");
}
