/* SPDX-License-Identifier: Apache-2.0 */
/* The building blocks of the rules: ranks, axes, broadcasts, types, and the wording of refusals. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops/op_rules.h"

enum status op_refuse(const struct op_call *c, const char *fmt, ...)
{
    char text[STATUS_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (c->node && c->node[0])
        return status_fail(ST_INVALID_OP, "%s \"%s\": %s", c->op->name, c->node, text);
    return status_fail(ST_INVALID_OP, "%s: %s", c->op->name, text);
}

const struct tensor_desc *rule_in(const struct op_call *c, uint32_t i)
{
    return i < c->n_in ? c->in[i] : NULL;
}

const char *rule_in_name(const struct op_call *c, uint32_t i)
{
    const struct op_port *p = op_in_port(c->op, i);
    return p ? p->name : "?";
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

enum status rule_rank(const struct op_call *c, uint32_t i, uint32_t rank, const char *layout)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *d = rule_in(c, i);
    REFUSE_IF(d && d->rank != rank, c, "input %u (\"%s\") is %s of rank %u; rank %u is expected (%s)", i, rule_in_name(c, i),
              desc_text(d, text), d->rank, rank, layout);
    return ST_OK;
}

enum status rule_rank_min(const struct op_call *c, uint32_t i, uint32_t rank)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *d = rule_in(c, i);
    REFUSE_IF(d && d->rank < rank, c, "input %u (\"%s\") is %s of rank %u; rank %u or more is expected", i,
              rule_in_name(c, i), desc_text(d, text), d->rank, rank);
    return ST_OK;
}

enum status rule_vector(const struct op_call *c, uint32_t i, uint64_t count, const char *of)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *d = rule_in(c, i);
    REFUSE_IF(d && desc_count(d) != count, c, "input %u (\"%s\") is %s; %llu values are expected (%s)", i,
              rule_in_name(c, i), desc_text(d, text), (unsigned long long)count, of);
    return ST_OK;
}

enum status rule_dims(const struct op_call *c, uint32_t i, uint32_t rank, const uint32_t *dims, const char *layout)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *d = rule_in(c, i);
    if (!d)
        return ST_OK;
    TRY(rule_rank(c, i, rank, layout));
    for (uint32_t k = 0; k < rank; k++)
        REFUSE_IF(dims[k] && d->dims[k] != dims[k], c, "input %u (\"%s\") is %s; dimension %u must be %u (%s)", i,
                  rule_in_name(c, i), desc_text(d, text), k, dims[k], layout);
    return ST_OK;
}

enum status rule_same_dims(const struct op_call *c, uint32_t i, uint32_t j)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    const struct tensor_desc *x = rule_in(c, i), *y = rule_in(c, j);
    REFUSE_IF(x && y && !desc_same_shape(x, y), c,
              "input %u (\"%s\") is %s and input %u (\"%s\") is %s; equal shapes are expected", i, rule_in_name(c, i),
              desc_text(x, a), j, rule_in_name(c, j), desc_text(y, b));
    return ST_OK;
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

enum status rule_axis_at(const struct op_call *c, const char *name, uint32_t at, uint32_t rank, uint32_t *ret)
{
    int64_t a = op_int(c, name, at);
    bool may_be_negative = c->op->params[op_param_index(c->op, name)].type == DT_I32;
    int64_t lo = may_be_negative ? -(int64_t)rank : 0;
    REFUSE_IF(rank == 0, c, "parameter \"%s\" names axis %lld of a scalar; a tensor of rank 1 or more is expected", name,
              (long long)a);
    REFUSE_IF(a < lo || a >= rank, c, "parameter \"%s\" is %lld; %lld … %u are allowed for rank %u", name, (long long)a,
              (long long)lo, rank - 1, rank);
    *ret = (uint32_t)(a < 0 ? a + rank : a);
    return ST_OK;
}

enum status rule_axis(const struct op_call *c, const char *name, uint32_t rank, uint32_t *ret)
{
    return rule_axis_at(c, name, 0, rank, ret);
}

enum status rule_axes(const struct op_call *c, const char *name, uint32_t rank, uint32_t *ret_mask)
{
    uint32_t n = op_count(c, name), mask = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a;
        TRY(rule_axis_at(c, name, i, rank, &a));
        REFUSE_IF(mask >> a & 1, c, "parameter \"%s\" names axis %u twice; each axis may be named once", name, a);
        mask |= 1u << a;
    }
    *ret_mask = mask;
    return ST_OK;
}

enum status rule_positive(const struct op_call *c, const char *name)
{
    uint32_t n = op_count(c, name);
    for (uint32_t i = 0; i < n; i++)
        REFUSE_IF(op_int(c, name, i) < 1, c, "parameter \"%s\"[%u] is %lld; at least 1 is expected", name, i,
                  (long long)op_int(c, name, i));
    return ST_OK;
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

void rule_shape_of(struct tensor_desc *want, const struct tensor_desc *like)
{
    want->rank = like->rank;
    want->dynamic = like->dynamic;
    memcpy(want->dims, like->dims, sizeof(want->dims));
}

enum status rule_set_rank(const struct op_call *c, struct tensor_desc *want, uint64_t rank)
{
    REFUSE_IF(rank > MAX_RANK, c, "the output would have rank %llu; at most %d is supported", (unsigned long long)rank,
              MAX_RANK);
    want->rank = (uint8_t)rank;
    want->dynamic = 0;
    memset(want->dims, 0, sizeof(want->dims));
    return ST_OK;
}

enum status rule_set_dim(const struct op_call *c, struct tensor_desc *want, uint32_t at, uint64_t size)
{
    REFUSE_IF(size == 0 || size > UINT32_MAX, c, "output dimension %u would have %llu elements; 1 … %u are possible", at,
              (unsigned long long)size, UINT32_MAX);
    want->dims[at] = (uint32_t)size;
    return ST_OK;
}

enum status rule_set(const struct op_call *c, struct tensor_desc *want, uint32_t rank, const uint64_t *dims)
{
    TRY(rule_set_rank(c, want, rank));
    for (uint32_t i = 0; i < rank; i++)
        TRY(rule_set_dim(c, want, i, dims[i]));
    return ST_OK;
}

bool rule_fill(struct tensor_desc *want, const struct tensor_desc *in, uint64_t count)
{
    if (desc_count(want) == count)
        return true;
    if (!want->dynamic)
        return false;
    /* All dynamic dimensions but the last are those of the input at the same place; the last takes what remains. */
    uint32_t last = 31u - (uint32_t)__builtin_clz(want->dynamic);
    for (uint32_t i = 0; i < last; i++)
        if (want->dynamic >> i & 1 && i < in->rank && in->dynamic >> i & 1)
            want->dims[i] = in->dims[i];
    uint32_t most = want->dims[last];
    want->dims[last] = 1;
    uint64_t rest = desc_count(want);
    if (count % rest || count / rest > most)
        return false;
    want->dims[last] = (uint32_t)(count / rest);
    return true;
}

static enum status broadcast_one(const struct op_call *c, struct tensor_desc *want, uint32_t i)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *d = c->in[i];
    for (uint32_t k = 0; k < d->rank; k++) {
        uint32_t at = want->rank - d->rank + k, size = d->dims[k];
        bool dynamic = d->dynamic >> k & 1;
        if (size != 1 || dynamic) {
            REFUSE_IF(want->dims[at] != 1 && size != 1 && want->dims[at] != size, c,
                      "input %u (\"%s\") is %s; its dimension %u does not broadcast with %u: equal sizes or 1 are expected",
                      i, rule_in_name(c, i), desc_text(d, text), k, want->dims[at]);
            want->dims[at] = size > want->dims[at] ? size : want->dims[at];
            want->dynamic |= (uint8_t)(dynamic << at);
        }
    }
    return ST_OK;
}

enum status rule_broadcast(const struct op_call *c, struct tensor_desc *want, uint32_t first, uint32_t last)
{
    uint32_t rank = 0;
    for (uint32_t i = first; i <= last && i < c->n_in; i++)
        if (c->in[i] && c->in[i]->rank > rank)
            rank = c->in[i]->rank;
    TRY(rule_set_rank(c, want, rank));
    for (uint32_t k = 0; k < rank; k++)
        want->dims[k] = 1;
    for (uint32_t i = first; i <= last && i < c->n_in; i++)
        if (c->in[i])
            TRY(broadcast_one(c, want, i));
    return ST_OK;
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

bool rule_is_fixed_activation(enum dtype t)
{
    return t < DT_COUNT && T_(t) & T_Q;
}

void rule_type(struct tensor_desc *want, const struct tensor_desc *like)
{
    if (want->type == DT_NONE)
        want->q = like->q;
    want->type = like->type;
}

void rule_type_computed(struct tensor_desc *want, const struct tensor_desc *in)
{
    if (dtype_is_fixed(in->type) && rule_is_fixed_activation(want->type))
        return;
    rule_type(want, in);
}

void rule_type_free(struct tensor_desc *want, enum dtype fallback)
{
    if (want->type == DT_NONE)
        want->type = fallback;
}

enum status rule_same_kind(const struct op_call *c, uint32_t first, uint32_t last)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    const struct tensor_desc *like = NULL;
    uint32_t like_at = first;
    for (uint32_t i = first; i <= last && i < c->n_in; i++) {
        const struct tensor_desc *d = c->in[i];
        if (!d)
            continue;
        if (!like) {
            like = d;
            like_at = i;
        }
        bool same = like->type == d->type || (dtype_is_fixed(like->type) && dtype_is_fixed(d->type));
        REFUSE_IF(
            !same, c,
            "input %u (\"%s\") is %s but input %u (\"%s\") is %s; the same data type is expected, or fixed point for both",
            i, rule_in_name(c, i), desc_text(d, a), like_at, rule_in_name(c, like_at), desc_text(like, b));
    }
    return ST_OK;
}

enum status rule_same_type(const struct op_call *c, uint32_t i, uint32_t j)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    const struct tensor_desc *x = rule_in(c, i), *y = rule_in(c, j);
    REFUSE_IF(x && y && x->type != y->type, c,
              "input %u (\"%s\") is %s and input %u (\"%s\") is %s; the same data type is expected", i, rule_in_name(c, i),
              desc_text(x, a), j, rule_in_name(c, j), desc_text(y, b));
    return ST_OK;
}

enum status rule_affine_types(const struct op_call *c, uint32_t first, uint32_t last)
{
    char text[DESC_TEXT_MAX];
    enum dtype x = c->in[0]->type;
    for (uint32_t i = first; i <= last && i < c->n_in; i++) {
        const struct tensor_desc *d = c->in[i];
        if (!d)
            continue;
        bool ok = dtype_is_fixed(x) ? dtype_is_fixed(d->type) || d->type == DT_F32 || d->type == DT_I32
                                    : d->type == x || (dtype_is_float(x) && d->type == DT_F32);
        REFUSE_IF(!ok, c, "input %u (\"%s\") is %s; beside an input of type %s, %s is expected", i, rule_in_name(c, i),
                  desc_text(d, text), dtype_name(x),
                  dtype_is_fixed(x) ? "a fixed-point type, i32 or f32" : "the same type or f32");
    }
    return ST_OK;
}

enum status rule_encoded(const struct op_call *c, const struct tensor_desc *d, const char *which)
{
    char text[DESC_TEXT_MAX];
    REFUSE_IF(dtype_is_fixed(d->type) && d->q.kind == Q_NONE, c,
              "%s is %s without a quantization encoding; give it a scale and an offset", which, desc_text(d, text));
    return ST_OK;
}
