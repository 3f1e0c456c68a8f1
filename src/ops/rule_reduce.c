/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes, and operators that run along one axis. */
#include "ops/op_rules.h"

static enum status reduced_shape(const struct op_call *c, struct tensor_desc *want, uint32_t mask, bool keep)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t at = 0, gone = (uint32_t)__builtin_popcount(mask);
    TRY(rule_set_rank(c, want, keep ? x->rank : x->rank - gone));
    for (uint32_t i = 0; i < x->rank; i++) {
        if (mask >> i & 1) {
            if (keep)
                want->dims[at++] = 1;
            continue;
        }
        want->dynamic |= (uint8_t)((x->dynamic >> i & 1) << at);
        want->dims[at++] = x->dims[i];
    }
    return ST_OK;
}

RULE(reduce)
{
    uint32_t mask;
    TRY(rule_axes(c, "axes", c->in[0]->rank, &mask));
    TRY(reduced_shape(c, &want[0], mask, op_int(c, "keep_dims", 0)));
    rule_type_computed(&want[0], c->in[0]);
    return ST_OK;
}

RULE(arg_extreme)
{
    uint32_t axis;
    TRY(rule_axis(c, "axis", c->in[0]->rank, &axis));
    TRY(reduced_shape(c, &want[0], 1u << axis, op_int(c, "keep_dims", 0)));
    rule_type_free(&want[0], DT_I32);
    return ST_OK;
}

RULE(top_k)
{
    const struct tensor_desc *x = c->in[0];
    int64_t k = op_int(c, "k", 0);
    TRY(rule_rank_min(c, 0, 1));
    REFUSE_IF(k < 1 || k > x->dims[x->rank - 1], c, "parameter \"k\" is %lld; 1 … %u (the last dimension) are allowed",
              (long long)k, x->dims[x->rank - 1]);
    for (uint32_t i = 0; i < c->n_out; i++) {
        rule_shape_of(&want[i], x);
        want[i].dims[x->rank - 1] = (uint32_t)k;
        want[i].dynamic &= (uint8_t)~(1u << (x->rank - 1));
    }
    rule_type(&want[0], x);
    if (c->n_out > 1)
        rule_type_free(&want[1], DT_U32);
    return ST_OK;
}

RULE(cumulative_sum)
{
    uint32_t axis;
    TRY(rule_axis(c, "axis", c->in[0]->rank, &axis));
    rule_shape_of(&want[0], c->in[0]);
    rule_type_computed(&want[0], c->in[0]);
    return ST_OK;
}

RULE(moments)
{
    uint32_t mask;
    TRY(rule_axes(c, "axes", c->in[0]->rank, &mask));
    for (uint32_t i = 0; i < c->n_out; i++) {
        TRY(reduced_shape(c, &want[i], mask, op_int(c, "keep_dims", 0)));
        rule_type_computed(&want[i], c->in[0]);
    }
    return ST_OK;
}
