/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse tensors. How they are stored is not public: here a sparse tensor is the dense one with zeros in it. Indices [n,
 * depth] name places in its first dimensions, values [n, …] are what lies there. */
#include "ops/op_rules.h"

/* values [n, …] against the dimensions of `dense` behind the first `depth`. */
static enum status check_values(const struct op_call *c, const struct tensor_desc *values, const struct tensor_desc *dense,
                                uint32_t depth)
{
    char v[DESC_TEXT_MAX], d[DESC_TEXT_MAX];
    bool same = values->rank == dense->rank - depth + 1;
    for (uint32_t i = depth; same && i < dense->rank; i++)
        same = values->dims[i - depth + 1] == dense->dims[i];
    REFUSE_IF(!same, c,
              "the values are %s and the tensor is %s; behind the number of values, the dimensions of the tensor behind its "
              "first %u are expected",
              desc_text(values, v), desc_text(dense, d), depth);
    return ST_OK;
}

RULE(create_sparse)
{
    const struct tensor_desc *index = c->in[0], *values = c->in[1];
    TRY(rule_rank(c, 0, 2, "[values, depth]"));
    REFUSE_IF(want[0].rank == 0, c, "output 0 is a scalar; it says the shape of the sparse tensor");
    REFUSE_IF(index->dims[1] == 0 || index->dims[1] > want[0].rank, c,
              "input 0 (\"indices\") names places in %u dimensions; 1 … %u are allowed", index->dims[1], want[0].rank);
    REFUSE_IF(values->rank == 0 || values->dims[0] != index->dims[0], c,
              "input 1 (\"values\") holds %u values; %u are expected, one per row of indices",
              values->rank ? values->dims[0] : 1, index->dims[0]);
    rule_type(&want[0], values);
    return check_values(c, values, &want[0], index->dims[1]);
}

RULE(get_sparse_indices)
{
    const struct tensor_desc *x = c->in[0];
    TRY(rule_rank_min(c, 0, 1));
    REFUSE_IF(want[0].rank != 2 || want[0].dims[1] == 0 || want[0].dims[1] > x->rank, c,
              "output 0 has rank %u; [most rows, depth] with a depth of 1 … %u is expected", want[0].rank, x->rank);
    rule_type_free(&want[0], DT_I32);
    return ST_OK;
}

RULE(get_sparse_values)
{
    const struct tensor_desc *x = c->in[0];
    TRY(rule_rank_min(c, 0, 1));
    REFUSE_IF(want[0].rank == 0 || want[0].rank > x->rank, c,
              "output 0 has rank %u; [most rows, …] of rank 1 … %u is expected", want[0].rank, x->rank);
    rule_type(&want[0], x);
    return check_values(c, &want[0], x, x->rank + 1u - want[0].rank);
}
