/* SPDX-License-Identifier: Apache-2.0 */
/* Values picked by index tensors. Indices themselves are run-time data and not judged here. */
#include "ops/op_rules.h"

/* Append one dimension of `d` to the output. */
static void append(struct tensor_desc *want, uint32_t *at, const struct tensor_desc *d, uint32_t k)
{
    want->dynamic |= (uint8_t)((d->dynamic >> k & 1) << *at);
    want->dims[(*at)++] = d->dims[k];
}

/* A table in blocks comes out as floats where these are asked for: what is picked from it could not have its encoding. */
static bool is_table(const struct tensor_desc *x, enum dtype out)
{
    bool blocks = x->q.kind == Q_BLOCK || x->q.kind == Q_FLOAT_BLOCK;
    return dtype_is_fixed(x->type) && blocks && (out == DT_F32 || out == DT_F16);
}

bool rule_looks_up(const struct op_call *c)
{
    bool given = c->op->id == OP_Gather && c->in && c->n_in && c->in[0] && c->out && c->n_out && c->out[0];
    return given && is_table(c->in[0], c->out[0]->type);
}

RULE(gather)
{
    const struct tensor_desc *x = c->in[0], *index = c->in[1];
    uint32_t axis, at = 0;
    TRY(rule_axis(c, "axis", x->rank, &axis));
    TRY(rule_set_rank(c, &want[0], (uint64_t)x->rank + index->rank - 1));
    for (uint32_t k = 0; k < axis; k++)
        append(&want[0], &at, x, k);
    for (uint32_t k = 0; k < index->rank; k++)
        append(&want[0], &at, index, k);
    for (uint32_t k = axis + 1; k < x->rank; k++)
        append(&want[0], &at, x, k);
    if (!is_table(x, want[0].type))
        rule_type(&want[0], x);
    return ST_OK;
}

/* Every dimension of in[i] but the axis is at most that of in[0]. */
static enum status inside(const struct op_call *c, uint32_t i, uint32_t axis)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[0], *d = c->in[i];
    bool ok = d->rank == x->rank;
    for (uint32_t k = 0; ok && k < d->rank; k++)
        ok = k == axis || d->dims[k] <= x->dims[k];
    REFUSE_IF(
        !ok, c,
        "input %u (\"%s\") is %s and input 0 is %s; equal ranks and no dimension larger, but for axis %u, are expected", i,
        rule_in_name(c, i), desc_text(d, a), desc_text(x, b), axis);
    return ST_OK;
}

RULE(gather_elements)
{
    uint32_t axis;
    TRY(rule_axis(c, "axis", c->in[0]->rank, &axis));
    TRY(inside(c, 1, axis));
    rule_shape_of(&want[0], c->in[1]);
    rule_type(&want[0], c->in[0]);
    return ST_OK;
}

RULE(gather_nd)
{
    const struct tensor_desc *x = c->in[0], *index = c->in[1];
    uint32_t batch = (uint32_t)op_int(c, "batch_dims", 0), at = 0;
    TRY(rule_rank_min(c, 0, 1));
    TRY(rule_rank_min(c, 1, 1));
    uint32_t depth = index->dims[index->rank - 1];
    REFUSE_IF(batch >= x->rank || batch >= index->rank, c,
              "parameter \"batch_dims\" is %u; less than both ranks %u and %u is expected", batch, x->rank, index->rank);
    REFUSE_IF(depth > x->rank - batch, c,
              "input 1 holds indices of %u dimensions; at most %u are expected (rank %u less %u of the batch)", depth,
              x->rank - batch, x->rank, batch);
    for (uint32_t k = 0; k < batch; k++)
        REFUSE_IF(x->dims[k] != index->dims[k], c,
                  "batch dimension %u is %u in input 0 and %u in input 1; equal sizes are expected", k, x->dims[k],
                  index->dims[k]);
    TRY(rule_set_rank(c, &want[0], (uint64_t)index->rank - 1 + x->rank - batch - depth));
    for (uint32_t k = 0; k + 1 < index->rank; k++)
        append(&want[0], &at, index, k);
    for (uint32_t k = batch + depth; k < x->rank; k++)
        append(&want[0], &at, x, k);
    rule_type(&want[0], x);
    return ST_OK;
}

RULE(scatter_elements)
{
    uint32_t axis;
    TRY(rule_axis(c, "axis", c->in[0]->rank, &axis));
    TRY(inside(c, 1, axis));
    TRY(rule_same_dims(c, 2, 1));
    TRY(rule_same_type(c, 2, 0));
    return rule_like_input(c, want);
}

RULE(scatter_nd)
{
    char text[DESC_TEXT_MAX], expected[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[0], *index = c->in[1];
    struct tensor_desc update = {.type = x->type};
    uint32_t at = 0;
    TRY(rule_rank_min(c, 1, 1));
    TRY(rule_same_type(c, 2, 0));
    uint32_t depth = index->dims[index->rank - 1];
    REFUSE_IF(depth > x->rank, c, "input 1 holds indices of %u dimensions; at most %u (the rank of input 0) are expected",
              depth, x->rank);
    TRY(rule_set_rank(c, &update, (uint64_t)index->rank - 1 + x->rank - depth));
    for (uint32_t k = 0; k + 1 < index->rank; k++)
        append(&update, &at, index, k);
    for (uint32_t k = depth; k < x->rank; k++)
        append(&update, &at, x, k);
    REFUSE_IF(!desc_same_shape(&update, c->in[2]) && (desc_count(&update) != 1 || desc_count(c->in[2]) != 1), c,
              "input 2 (\"updates\") is %s; %s is expected", desc_text(c->in[2], text), desc_text(&update, expected));
    return rule_like_input(c, want);
}

RULE(batch_permutation)
{
    TRY(rule_rank_min(c, 0, 1));
    TRY(rule_vector(c, 1, c->in[0]->dims[0], "one per batch"));
    return rule_like_input(c, want);
}

/* As many rows as the client made room for; each holds one index per dimension. */
RULE(non_zero)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[0];
    rule_type_free(&want[0], DT_I32);
    if (want[0].rank == 0)
        return rule_set(c, &want[0], 2, (uint64_t[]){desc_count(x), x->rank ? x->rank : 1});
    REFUSE_IF(want[0].rank != 2 || want[0].dims[1] != x->rank, c, "output 0 is %s; [rows, %u] is expected",
              desc_text(&want[0], text), x->rank);
    return ST_OK;
}
