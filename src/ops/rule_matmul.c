/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: FullyConnected and MatMul, and attention, which is made of them. */
#include "ops/op_rules.h"

/* Without keep_dims the page speaks of [batch, m]; clients also declare [m] for one row, or leading dimensions of
 * their own. */
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
              "input 0 (\"%s\") is %s; %s is expected, since input 1 (\"%s\") takes rows of %u", rule_in_name(c, 0),
              desc_text(x, text), keep ? "that many in the last dimension" : "a multiple of that many elements",
              rule_in_name(c, 1), n);
    TRY(rule_product_types(c, want, 0));
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
        REFUSE_IF(x != y && x != 1 && y != 1, c,
                  "batch dimension %u is %u in input 0 and %u in input 1; equal sizes or 1 are expected", k, x, y);
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
    TRY(rule_product_types(c, want, col));
    return matmul_shape(c, &want[0], row, col);
}

int32_t op_scale_axis(const struct op_call *c)
{
    const struct tensor_desc *w = c->op->id == OP_MatMul && c->n_in > 1 ? c->in[1] : NULL;
    if (!w || w->rank < 2 || w->q.kind != Q_AXIS || !op_count(c, "transpose_in1")) /* nothing is checked yet */
        return -1;
    bool turned = op_int(c, "transpose_in1", 0);
    int32_t col = w->rank - (turned ? 2 : 1), inner = w->rank - (turned ? 1 : 2);
    return w->q.axis == inner && w->dims[col] == w->dims[inner] ? col : -1;
}

enum { GQA_SEQLENS = 1, GQA_KEY = 3, GQA_VALUE, GQA_PAST_KEY, GQA_PAST_VALUE, GQA_COS, GQA_SIN, GQA_POSITIONS };

static enum status both_or_neither(const struct op_call *c, uint32_t i)
{
    REFUSE_IF(!rule_in(c, i) != !rule_in(c, i + 1), c,
              "only one of inputs %u (\"%s\") and %u (\"%s\") is given; both or neither are expected", i, rule_in_name(c, i),
              i + 1, rule_in_name(c, i + 1));
    return ST_OK;
}

/* Caches [batch, key-value heads, positions, size]: past ones both or neither. */
static enum status attention_caches(const struct op_call *c, struct tensor_desc *want, uint32_t kv, uint32_t size)
{
    uint32_t dims[] = {c->in[0]->dims[0], kv, 0, size};
    static const char layout[] = "[batch, kv_num_heads, positions, size of a head]";
    TRY(both_or_neither(c, GQA_PAST_KEY));
    if (rule_in(c, GQA_PAST_KEY)) {
        TRY(rule_dims(c, GQA_PAST_KEY, 4, dims, layout));
        TRY(rule_same_dims(c, GQA_PAST_KEY, GQA_PAST_VALUE));
    }
    for (uint32_t i = 1; i < c->n_out; i++) {
        if (c->out && !c->out[i])
            continue;
        REFUSE_IF(want[i].rank != 4 || want[i].dims[2] == 0, c, "output %u has rank %u; %s is expected", i, want[i].rank,
                  layout);
        TRY(rule_set(c, &want[i], 4, (uint64_t[]){dims[0], kv, want[i].dims[2], size}));
    }
    REFUSE_IF(c->n_out > 2 && want[1].dims[2] != want[2].dims[2], c,
              "outputs 1 and 2 have %u and %u positions; equal numbers are expected", want[1].dims[2], want[2].dims[2]);
    return ST_OK;
}

static enum status attention_rotation(const struct op_call *c, uint32_t size)
{
    if (!op_int(c, "do_rotary", 0))
        return ST_OK;
    REFUSE_IF(!rule_in(c, GQA_COS) || !rule_in(c, GQA_SIN), c,
              "parameter \"do_rotary\" is true; inputs %d (\"cos_cache\") and %d (\"sin_cache\") are expected", GQA_COS,
              GQA_SIN);
    TRY(rule_rank(c, GQA_COS, 2, "[positions, half of the rotated values]"));
    TRY(rule_same_dims(c, GQA_COS, GQA_SIN));
    uint64_t turned = 2ull * c->in[GQA_COS]->dims[1];
    REFUSE_IF(turned > size, c, "input %d (\"cos_cache\") turns %llu values; a head has %u", GQA_COS,
              (unsigned long long)turned, size);
    if (!rule_in(c, GQA_POSITIONS))
        return ST_OK;
    return rule_dims(c, GQA_POSITIONS, 2, c->in[0]->dims, "[batch, sequence]");
}

/* query [batch, sequence, heads * size], or with keys and values behind it; the caches have as many positions as the client
 * says. */
RULE(group_query_attention)
{
    const struct tensor_desc *q = c->in[0];
    int64_t heads = op_int(c, "num_heads", 0), kv = op_int(c, "kv_num_heads", 0);
    TRY(rule_rank(c, 0, 3, "[batch, sequence, heads * size]"));
    TRY(rule_positive(c, "num_heads"));
    TRY(rule_positive(c, "kv_num_heads"));
    REFUSE_IF(heads % kv, c, "parameter \"num_heads\" is %lld; a multiple of \"kv_num_heads\" %lld is expected",
              (long long)heads, (long long)kv);
    for (uint32_t i = 0; i < c->n_out; i++)
        rule_type_free(&want[i], q->type);
    TRY(both_or_neither(c, GQA_KEY));
    int64_t rows = rule_in(c, GQA_KEY) ? heads : heads + 2 * kv;
    REFUSE_IF(q->dims[2] % rows || q->dims[2] == 0, c,
              "input 0 has %u values per position; a multiple of the %lld heads in it is expected", q->dims[2],
              (long long)rows);
    uint32_t size = (uint32_t)(q->dims[2] / rows);
    if (rule_in(c, GQA_KEY)) {
        TRY(rule_dims(c, GQA_KEY, 3, (uint32_t[]){ q->dims[0], q->dims[1], (uint32_t)kv * size },
                      "[batch, sequence, kv_num_heads * size]"));
        TRY(rule_same_dims(c, GQA_KEY, GQA_VALUE));
    }
    TRY(rule_vector(c, GQA_SEQLENS, q->dims[0], "one per batch entry"));
    TRY(attention_rotation(c, size));
    TRY(attention_caches(c, want, (uint32_t)kv, size));
    return rule_set(c, &want[0], 3, (uint64_t[]){q->dims[0], q->dims[1], (uint64_t)heads * size});
}
