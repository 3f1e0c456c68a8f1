/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: FullyConnected and MatMul, and attention, which is made of them. */
#include "ops/op_rules.h"

/* Without keep_dims the page speaks of [batch, m]; clients also declare [m] for one row, or leading dimensions of their own. */
static bool rows_as_declared(struct tensor_desc *got, const struct tensor_desc *in, uint64_t rows, uint32_t m)
{
    return got->rank >= 1 && got->dims[got->rank - 1] == m && rule_fill(got, in, rows * m);
}

RULE(fully_connected)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[0];
    TRY(rule_rank_min(c, 0, 1));
    TRY(rule_rank(c, 1, 2, "[out, in]"));
    uint32_t m = c->in[1]->dims[0], n = c->in[1]->dims[1];
    uint64_t count = desc_count(x);
    TRY(rule_vector(c, 2, m, "one per output"));
    bool keep = op_int(c, "keep_dims", 0);
    REFUSE_IF(keep ? x->dims[x->rank - 1] != n : count % n != 0, c,
              "input 0 (\"%s\") is %s; %s is expected, since input 1 (\"%s\") takes rows of %u", rule_in_name(c, 0), desc_text(x, text),
              keep ? "that many in the last dimension" : "a multiple of that many elements", rule_in_name(c, 1), n);
    TRY(rule_product_types(c, want, 0, true));
    if (keep) {
        rule_shape_of(&want[0], x);
        want[0].dynamic &= (uint8_t)~(1u << (x->rank - 1));
        return rule_set_dim(c, &want[0], x->rank - 1, m);
    }
    if (rows_as_declared(&want[0], x, count / n, m))
        return ST_OK;
    uint8_t dynamic = x->dynamic ? 1 : 0;
    TRY(rule_set(c, &want[0], 2, (uint64_t[]){count / n, m}));
    want[0].dynamic = dynamic;
    return ST_OK;
}

/* The batch dimensions of both operands, broadcast, followed by [m, n]. */
static enum status matmul_shape(const struct op_call *c, struct tensor_desc *want, uint32_t row_at, uint32_t col_at)
{
    const struct tensor_desc *a = c->in[0], *b = c->in[1];
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    TRY(rule_set_rank(c, want, rank));
    for (uint32_t k = 0; k + 2 < rank; k++) {
        uint32_t i = k + a->rank - rank, j = k + b->rank - rank; /* wrap to huge where the operand has no such dimension */
        uint32_t x = i < a->rank ? a->dims[i] : 1, y = j < b->rank ? b->dims[j] : 1;
        REFUSE_IF(x != y && x != 1 && y != 1, c, "batch dimension %u is %u in input 0 and %u in input 1; equal sizes or 1 are expected", k, x,
                  y);
        want->dims[k] = x > y ? x : y;
        if ((i < a->rank && a->dynamic >> i & 1) || (j < b->rank && b->dynamic >> j & 1))
            want->dynamic |= (uint8_t)(1u << k);
    }
    want->dims[rank - 2] = a->dims[row_at];
    want->dims[rank - 1] = b->dims[col_at];
    want->dynamic |= (uint8_t)((a->dynamic >> row_at & 1) << (rank - 2) | (b->dynamic >> col_at & 1) << (rank - 1));
    return ST_OK;
}

RULE(matmul)
{
    char s[DESC_TEXT_MAX], t[DESC_TEXT_MAX];
    const struct tensor_desc *a = c->in[0], *b = c->in[1];
    TRY(rule_rank_min(c, 0, 2));
    TRY(rule_rank_min(c, 1, 2));
    bool ta = op_int(c, "transpose_in0", 0), tb = op_int(c, "transpose_in1", 0);
    uint32_t row = a->rank - (ta ? 1 : 2), inner_a = a->rank - (ta ? 2 : 1);
    uint32_t col = b->rank - (tb ? 2 : 1), inner_b = b->rank - (tb ? 1 : 2);
    REFUSE_IF(a->dims[inner_a] != b->dims[inner_b], c,
              "input 0 is %s%s and input 1 is %s%s; the inner dimensions %u and %u must be equal", desc_text(a, s),
              ta ? " (transposed)" : "", desc_text(b, t), tb ? " (transposed)" : "", a->dims[inner_a], b->dims[inner_b]);
    TRY(rule_vector(c, 2, b->dims[col], "one per output column"));
    TRY(rule_product_types(c, want, col, false));
    return matmul_shape(c, &want[0], row, col);
}

/* query [batch, sequence, heads * size]; the first output has its shape, the caches are as declared. */
RULE(group_query_attention)
{
    int64_t heads = op_int(c, "num_heads", 0), kv = op_int(c, "kv_num_heads", 0);
    TRY(rule_positive(c, "num_heads"));
    TRY(rule_positive(c, "kv_num_heads"));
    REFUSE_IF(heads % kv, c, "parameter \"num_heads\" is %lld; a multiple of \"kv_num_heads\" %lld is expected", (long long)heads,
              (long long)kv);
    for (uint32_t i = 0; i < c->n_out; i++)
        rule_type_free(&want[i], c->in[0]->type);
    if (rule_in(c, 1))
        rule_shape_of(&want[0], c->in[0]);
    return ST_OK;
}
