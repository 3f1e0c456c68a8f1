/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations: the output looks like the input; factors and terms match the normalized dimensions. */
#include "ops/op_rules.h"

static enum status per_channel(const struct op_call *c, struct tensor_desc *want)
{
    const struct tensor_desc *x = c->in[0];
    TRY(rule_rank_min(c, 0, 1));
    TRY(rule_vector(c, 1, x->dims[x->rank - 1], "one per channel"));
    TRY(rule_vector(c, 2, x->dims[x->rank - 1], "one per channel"));
    TRY(rule_affine_types(c, 1, 2));
    return rule_unary(c, want);
}

static enum status epsilon(const struct op_call *c)
{
    double e = op_real(c, "epsilon", 0);
    REFUSE_IF(!(e >= 0), c, "parameter \"epsilon\" is %g; 0 or more is expected", e);
    return ST_OK;
}

RULE(batchnorm)
{
    return per_channel(c, want);
}

/* gamma and beta hold one value per position of the normalized axes. */
static enum status over_axes(const struct op_call *c, struct tensor_desc *want)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t mask;
    uint64_t n = 1;
    TRY(epsilon(c));
    TRY(rule_axes(c, "axes", x->rank, &mask));
    for (uint32_t i = 0; i < x->rank; i++)
        n *= mask >> i & 1 ? x->dims[i] : 1;
    TRY(rule_vector(c, 1, n, "one per element of the normalized axes"));
    TRY(rule_vector(c, 2, n, "one per element of the normalized axes"));
    TRY(rule_affine_types(c, 1, 2));
    return rule_unary(c, want);
}

RULE(layer_norm)
{
    return over_axes(c, want);
}

RULE(rms_norm)
{
    return over_axes(c, want);
}

RULE(instance_norm)
{
    TRY(epsilon(c));
    TRY(rule_rank_min(c, 0, 2));
    return per_channel(c, want);
}

RULE(group_norm)
{
    const struct tensor_desc *x = c->in[0];
    TRY(epsilon(c));
    TRY(rule_rank_min(c, 0, 2));
    TRY(rule_positive(c, "group"));
    REFUSE_IF(x->dims[x->rank - 1] % (uint64_t)op_int(c, "group", 0), c,
              "parameter \"group\" is %lld; a divisor of the %u channels is expected", (long long)op_int(c, "group", 0),
              x->dims[x->rank - 1]);
    return per_channel(c, want);
}

RULE(l2_norm)
{
    uint32_t mask, axis;
    TRY(epsilon(c));
    TRY(op_has(c, "axes") ? rule_axes(c, "axes", c->in[0]->rank, &mask) : rule_axis(c, "axis", c->in[0]->rank, &axis));
    return rule_unary(c, want);
}

RULE(lrn)
{
    REFUSE_IF(op_int(c, "radius", 0) < 0, c, "parameter \"radius\" is %lld; 0 or more is expected",
              (long long)op_int(c, "radius", 0));
    TRY(rule_rank_min(c, 0, op_int(c, "region", 0) ? 3 : 1));
    return rule_unary(c, want);
}

RULE(hadamard)
{
    const struct tensor_desc *x = c->in[0];
    TRY(rule_rank_min(c, 0, 1));
    uint32_t n = x->dims[x->rank - 1];
    REFUSE_IF(n & (n - 1), c, "the last dimension has %u elements; a power of two is expected", n);
    return rule_unary(c, want);
}

/* Pairs of values are turned: the rotated part of a head is even. */
RULE(rotary_embedding)
{
    const struct tensor_desc *x = c->in[0], *cos = c->in[1], *ids = rule_in(c, 3);
    int64_t dim = op_int(c, "rotary_embedding_dim", 0);
    REFUSE_IF(x->rank != 3 && x->rank != 4, c,
              "input 0 has rank %u; 3 ([batch, sequence, heads * size]) or 4 ([batch, heads, sequence, size]) is expected",
              x->rank);
    REFUSE_IF(dim % 2, c, "parameter \"rotary_embedding_dim\" is %lld; an even number is expected", (long long)dim);
    uint32_t batch = x->dims[0], sequence = x->dims[x->rank - 2], last = x->dims[x->rank - 1];
    if (ids)
        TRY(rule_rank(c, 1, 2, "[positions, half of the rotated values]"));
    else
        TRY(rule_dims(c, 1, 3, (uint32_t[]){batch, sequence, 0}, "[batch, sequence, half of the rotated values]"));
    TRY(rule_same_dims(c, 1, 2));
    TRY(rule_vector(c, 3, (uint64_t)batch * sequence, "one per position"));
    uint64_t turned = 2ull * cos->dims[cos->rank - 1], size = x->rank == 4 || dim ? last : turned;
    REFUSE_IF(turned == 0 || turned > last || last % size ||
                  (uint64_t)(dim            ? dim
                             : x->rank == 4 ? last
                                            : (int64_t)turned) != turned,
              c,
              "input 1 (\"cos\") turns %llu values of a head; input 0 has %u and \"rotary_embedding_dim\" is %lld (0: all "
              "of them)",
              (unsigned long long)turned, last, (long long)dim);
    return rule_unary(c, want);
}
