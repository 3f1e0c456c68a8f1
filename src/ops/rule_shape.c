/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move values without looking at them: joins, splits, and other views of the same elements. */
#include "ops/op_rules.h"

static enum status same_elements(const struct op_call *c, struct tensor_desc *want)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[0];
    uint64_t declared = desc_count(&want[0]);
    REFUSE_IF(!rule_fill(&want[0], x, desc_count(x)), c,
              "input 0 is %s with %llu elements, output 0 is %s with %llu; equal counts are expected", desc_text(x, a),
              (unsigned long long)desc_count(x), desc_text(&want[0], b), (unsigned long long)declared);
    rule_type(&want[0], x);
    return ST_OK;
}

RULE(reshape)
{
    return same_elements(c, want);
}

/* The axes, when given, say which dimensions go; otherwise the declared output does. */
RULE(squeeze)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t mask, at = 0;
    if (!op_has(c, "axes"))
        return same_elements(c, want);
    TRY(rule_axes(c, "axes", x->rank, &mask));
    TRY(rule_set_rank(c, &want[0], x->rank - (uint32_t)__builtin_popcount(mask)));
    for (uint32_t i = 0; i < x->rank; i++) {
        REFUSE_IF(mask >> i & 1 && x->dims[i] != 1, c,
                  "parameter \"axes\" names axis %u, which has %u elements; 1 is expected", i, x->dims[i]);
        if (mask >> i & 1)
            continue;
        want[0].dynamic |= (uint8_t)((x->dynamic >> i & 1) << at);
        want[0].dims[at++] = x->dims[i];
    }
    rule_type(&want[0], x);
    return ST_OK;
}

RULE(expand_dims)
{
    const struct tensor_desc *x = c->in[0];
    bool several = op_has(c, "axes");
    const char *name = several ? "axes" : "axis";
    uint32_t added = several ? op_count(c, "axes") : 1, mask, at = 0;
    REFUSE_IF(!several && !op_has(c, "axis"), c, "parameter \"axis\" is missing; it or \"axes\" is expected");
    TRY(rule_set_rank(c, &want[0], (uint64_t)x->rank + added));
    TRY(rule_axes(c, name, want[0].rank, &mask));
    for (uint32_t i = 0; i < want[0].rank; i++) {
        if (mask >> i & 1) {
            want[0].dims[i] = 1;
            continue;
        }
        want[0].dynamic |= (uint8_t)((x->dynamic >> at & 1) << i);
        want[0].dims[i] = x->dims[at++];
    }
    rule_type(&want[0], x);
    return ST_OK;
}

RULE(transpose)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t mask, from;
    TRY(rule_axes(c, "perm", x->rank, &mask));
    TRY(rule_set_rank(c, &want[0], x->rank));
    for (uint32_t i = 0; i < x->rank; i++) {
        TRY(rule_axis_at(c, "perm", i, x->rank, &from));
        want[0].dims[i] = x->dims[from];
        want[0].dynamic |= (uint8_t)((x->dynamic >> from & 1) << i);
    }
    rule_type(&want[0], x);
    return ST_OK;
}

RULE(concat)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    const struct tensor_desc *first = c->in[0];
    uint64_t sum = 0;
    uint32_t axis;
    TRY(rule_axis(c, "axis", first->rank, &axis));
    rule_shape_of(&want[0], first);
    for (uint32_t i = 0; i < c->n_in; i++) {
        const struct tensor_desc *d = c->in[i];
        TRY(rule_same_type(c, i, 0));
        bool fits = d->rank == first->rank;
        for (uint32_t k = 0; fits && k < d->rank; k++)
            fits = k == axis || d->dims[k] == first->dims[k];
        REFUSE_IF(!fits, c, "input %u is %s and input 0 is %s; all dimensions but axis %u must be equal", i, desc_text(d, a),
                  desc_text(first, b), axis);
        want[0].dynamic |= d->dynamic;
        sum += d->dims[axis];
    }
    rule_type(&want[0], first);
    return rule_set_dim(c, &want[0], axis, sum);
}

RULE(split)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t axis, n = op_count(c, "split_index");
    int64_t begin = 0;
    TRY(rule_axis(c, "axis", x->rank, &axis));
    REFUSE_IF(c->n_out != n + 1, c, "parameter \"split_index\" has %u element%s, which make %u slices; %u output%s given", n,
              n == 1 ? "" : "s", n + 1, c->n_out, c->n_out == 1 ? " is" : "s are");
    for (uint32_t i = 0; i <= n; i++) {
        int64_t end = i < n ? op_int(c, "split_index", i) : x->dims[axis];
        REFUSE_IF(
            end <= begin || end > x->dims[axis], c,
            "parameter \"split_index\": slice %u would be [%lld, %lld); ascending positions between 1 and %u are expected",
            i, (long long)begin, (long long)end, x->dims[axis] - 1);
        rule_shape_of(&want[i], x);
        rule_type(&want[i], x);
        want[i].dims[axis] = (uint32_t)(end - begin);
        want[i].dynamic &= (uint8_t)~(1u << axis);
        begin = end;
    }
    return ST_OK;
}

RULE(tile)
{
    const struct tensor_desc *x = c->in[0];
    TRY(rule_positive(c, "multiples"));
    rule_shape_of(&want[0], x);
    rule_type(&want[0], x);
    for (uint32_t i = 0; i < x->rank; i++)
        TRY(rule_set_dim(c, &want[0], i, (uint64_t)x->dims[i] * (uint64_t)op_int(c, "multiples", i)));
    return ST_OK;
}

RULE(pack)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t axis, from = 0;
    TRY(rule_set_rank(c, &want[0], (uint64_t)x->rank + 1));
    TRY(rule_axis(c, "axis", want[0].rank, &axis));
    for (uint32_t i = 1; i < c->n_in; i++) {
        TRY(rule_same_type(c, i, 0));
        TRY(rule_same_dims(c, i, 0));
    }
    for (uint32_t i = 0; i < want[0].rank; i++) {
        if (i == axis) {
            want[0].dims[i] = c->n_in;
            continue;
        }
        want[0].dynamic |= (uint8_t)((x->dynamic >> from & 1) << i);
        want[0].dims[i] = x->dims[from++];
    }
    rule_type(&want[0], x);
    return ST_OK;
}

RULE(unpack)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t axis;
    TRY(rule_axis(c, "axis", x->rank, &axis));
    REFUSE_IF(c->n_out != x->dims[axis], c, "axis %u has %u elements; as many outputs are expected, %u are given", axis,
              x->dims[axis], c->n_out);
    for (uint32_t i = 0; i < c->n_out; i++) {
        uint32_t at = 0;
        TRY(rule_set_rank(c, &want[i], x->rank - 1u));
        for (uint32_t k = 0; k < x->rank; k++) {
            if (k == axis)
                continue;
            want[i].dynamic |= (uint8_t)((x->dynamic >> k & 1) << at);
            want[i].dims[at++] = x->dims[k];
        }
        rule_type(&want[i], x);
    }
    return ST_OK;
}

RULE(shape)
{
    int64_t rank = c->in[0]->rank, start = op_int(c, "start", 0), end = op_int(c, "end", 0);
    end = end > rank ? rank : end;
    REFUSE_IF(start >= end, c,
              "parameters \"start\" %lld and \"end\" %lld select nothing of a tensor of rank %lld; at least one dimension "
              "is expected",
              (long long)start, (long long)end, (long long)rank);
    rule_type_free(&want[0], DT_U32);
    return rule_set(c, &want[0], 1, (uint64_t[]){(uint64_t)(end - start)});
}

/* in[0] lists the dimensions; they are checked once its contents are known. */
RULE(constant_of_shape)
{
    const struct tensor_desc *x = c->in[0];
    REFUSE_IF(x->rank > 1, c, "input 0 has rank %u; a list of dimensions (rank 1) is expected", x->rank);
    REFUSE_IF(want[0].type != DT_NONE && desc_count(x) != want[0].rank, c,
              "input 0 lists %llu dimensions; the output has rank %u", (unsigned long long)desc_count(x), want[0].rank);
    rule_type_free(&want[0], DT_F32);
    return ST_OK;
}

RULE(one_hot)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t axis, from = 0;
    TRY(rule_positive(c, "depth"));
    TRY(rule_set_rank(c, &want[0], (uint64_t)x->rank + 1));
    TRY(rule_axis(c, "axis", want[0].rank, &axis));
    for (uint32_t i = 0; i < want[0].rank; i++)
        want[0].dims[i] = i == axis ? (uint32_t)op_int(c, "depth", 0) : x->dims[from++];
    rule_type_free(&want[0], DT_F32);
    return ST_OK;
}
