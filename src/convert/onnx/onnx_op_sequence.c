/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences whose length and positions are known while converting: a list of values that never becomes part of the graph.
 * Exporters use them for what was a list of tensors in the program: parts of a split, results of turns that are joined in
 * the end.
 *
 *     s = SplitToSequence(x); a = SequenceAt(s, 0)   ->   a = StridedSlice(x) */
#include <string.h>

#include "convert/onnx/onnx.h"

static struct onnx_list *list_new(struct onnx_cx *cx, uint32_t n)
{
    struct onnx_list *l = arena_new(&cx->arena, struct onnx_list);
    if (!l || !(l->at = arena_array(&cx->arena, struct onnx_value *, (size_t)n + 1)))
        return NULL;
    l->n = n;
    return l;
}

static enum status out_list(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_list *l)
{
    if (!onnx_wants(n, 0))
        return ST_OK;
    struct onnx_value *v = l ? onnx_value_new(cx, n->out[0]) : NULL;
    RETURN_IF(!v, ST_NO_MEMORY, "no memory for a sequence");
    v->type = v->stored = l->n ? l->at[0]->type : DT_F32;
    v->tensor = v->real = IR_NONE;
    v->list = l;
    return ST_OK;
}

static enum status in_list(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_list **ret)
{
    struct onnx_value *v;
    TRY(onnx_in(cx, n, 0, &v));
    REFUSE_WHEN(!v->list, "input 0 is a tensor; a sequence that the model makes itself is expected");
    *ret = v->list;
    return ST_OK;
}

/* Input `port` as a place among `n`; not given: behind the last of them. */
static enum status position(struct onnx_cx *cx, const struct onnx_node *n, uint32_t port, uint32_t count, uint32_t missing,
                            uint32_t *ret)
{
    struct onnx_value *v;
    int64_t *at;
    uint32_t k;
    *ret = missing;
    TRY(onnx_in_opt(cx, n, port, &v));
    if (!v)
        return ST_OK;
    TRY(onnx_ints(cx, v, "position", &at, &k));
    int64_t p = k ? at[0] < 0 ? at[0] + count : at[0] : -1;
    RETURN_IF(p < 0 || p > missing, ST_INVALID_OP, "position %lld of a sequence of %u tensors", k ? (long long)at[0] : 0,
              count);
    *ret = (uint32_t)p;
    return ST_OK;
}

/* ---- making and reading -------------------------------------------------------------------------------------------- */

static enum status convert_construct(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_list *l = list_new(cx, n->n_in);
    RETURN_IF(!l, ST_NO_MEMORY, "no memory for a sequence of %u tensors", n->n_in);
    for (uint32_t i = 0; i < n->n_in; i++)
        TRY(onnx_in(cx, n, i, &l->at[i]));
    return out_list(cx, n, l);
}

static enum status convert_at(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_list *l;
    uint32_t at;
    TRY(in_list(cx, n, &l));
    RETURN_IF(!l->n, ST_INVALID_OP, "the sequence is empty");
    TRY(position(cx, n, 1, l->n, l->n - 1, &at));
    return onnx_out_view(cx, n, 0, l->at[at], NULL);
}

static enum status convert_length(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_list *l;
    TRY(in_list(cx, n, &l));
    int64_t *length = arena_new(&cx->b.g->arena, int64_t);
    RETURN_IF(!length, ST_NO_MEMORY, "no memory for a length");
    *length = l->n;
    return onnx_out_const(cx, n, 0, DT_I64, 0, (uint32_t[]){0}, length);
}

static enum status convert_insert(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_list *l;
    struct onnx_value *v;
    uint32_t at;
    enum { MOST = 2048 }; /* every insertion makes a new list */
    TRY(in_list(cx, n, &l));
    TRY(onnx_in(cx, n, 1, &v));
    REFUSE_WHEN(l->n >= MOST, "the sequence has %u tensors; at most %d are supported", l->n, MOST);
    TRY(position(cx, n, 2, l->n, l->n, &at));
    struct onnx_list *longer = list_new(cx, l->n + 1);
    RETURN_IF(!longer, ST_NO_MEMORY, "no memory for a sequence of %u tensors", l->n + 1);
    memcpy(longer->at, l->at, at * sizeof(*l->at));
    longer->at[at] = v;
    memcpy(longer->at + at + 1, l->at + at, (l->n - at) * sizeof(*l->at));
    return out_list(cx, n, longer);
}

static enum status convert_erase(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_list *l;
    uint32_t at;
    TRY(in_list(cx, n, &l));
    RETURN_IF(!l->n, ST_INVALID_OP, "the sequence is empty");
    TRY(position(cx, n, 1, l->n, l->n - 1, &at));
    struct onnx_list *shorter = list_new(cx, l->n - 1);
    RETURN_IF(!shorter, ST_NO_MEMORY, "no memory for a sequence of %u tensors", l->n - 1);
    memcpy(shorter->at, l->at, at * sizeof(*l->at));
    memcpy(shorter->at + at, l->at + at + 1, (l->n - 1 - at) * sizeof(*l->at));
    return out_list(cx, n, shorter);
}

/* ---- splits and joins, written out --------------------------------------------------------------------------------- */

static enum status finish(struct onnx_cx *cx, const struct onnx_node *n, struct str *s)
{
    enum status st = s->failed ? status_fail(ST_NO_MEMORY, "no memory to write out \"%s\"", cx->label)
                               : onnx_write_out(cx, n, str_text(s));
    str_finish(s);
    return st;
}

/* The end of each part: `split` is one size for all, the last being smaller, or one size per part; without it parts have one
 * element. */
static enum status part_ends(struct onnx_cx *cx, const struct onnx_node *n, uint32_t size, uint32_t **ret, uint32_t *count)
{
    struct onnx_value *v;
    int64_t one = 1, *sizes = &one;
    uint32_t k = 1, done = 0, parts = 0;
    enum { MOST = 4096 };
    TRY(onnx_in_opt(cx, n, 1, &v));
    if (v)
        TRY(onnx_ints(cx, v, "split", &sizes, &k));
    bool equal = !v || v->rank == 0;
    *ret = arena_array(&cx->arena, uint32_t, MOST);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for %d parts", MOST);
    while (done < size && (equal || parts < k)) {
        int64_t step = k ? sizes[equal ? 0 : parts] : 0;
        REFUSE_WHEN(step < 1 || parts == MOST, "parts of %lld elements, or more than %d of them", (long long)step, MOST);
        done = step > size - done ? size : done + (uint32_t)step;
        (*ret)[parts++] = done;
    }
    RETURN_IF(done != size || (!equal && parts != k), ST_INVALID_OP,
              "the parts do not add up to the %u elements that there are", size);
    *count = parts;
    return ST_OK;
}

static enum status convert_split(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t axis, *ends, parts;
    struct str s;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", 0), v->rank, &axis));
    TRY(part_ends(cx, n, v->dims[axis], &ends, &parts));
    bool drop = !onnx_has(n, 1) && !onnx_attr_int(cx, n, "keepdims", 1);
    str_init(&s);
    for (uint32_t i = 0; i < parts; i++) {
        str_addf(&s, "s%u = Slice(#0, {%u}, {%u}, {%u}); ", i, i ? ends[i - 1] : 0, ends[i], axis);
        if (drop)
            str_addf(&s, "p%u = Squeeze[axes=(%u)](s%u); ", i, axis, i);
        else
            str_addf(&s, "p%u = Identity(s%u); ", i, i);
    }
    str_add(&s, "@0 = SequenceConstruct(");
    for (uint32_t i = 0; i < parts; i++)
        str_addf(&s, "%sp%u", i ? ", " : "", i);
    str_add(&s, ")");
    return finish(cx, n, &s);
}

static enum status convert_join(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_list *l;
    struct str s;
    long long axis = onnx_attr_int(cx, n, "axis", 0);
    bool stack = onnx_attr_int(cx, n, "new_axis", 0);
    TRY(in_list(cx, n, &l));
    REFUSE_WHEN(!l->n, "the sequence is empty, and nothing joined is no tensor");
    struct onnx_node call = *n;
    const char **names = arena_array(&cx->arena, const char *, l->n);
    RETURN_IF(!names, ST_NO_MEMORY, "no memory for %u names", l->n);
    for (uint32_t i = 0; i < l->n; i++) {
        RETURN_IF(!(names[i] = arena_printf(&cx->arena, "%s~item~%u", cx->label, i)), ST_NO_MEMORY, "no memory for a name");
        TRY(onnx_bind(cx, names[i], l->at[i]));
    }
    call.in = names;
    call.n_in = l->n;
    str_init(&s);
    for (uint32_t i = 0; i < l->n; i++)
        if (stack)
            str_addf(&s, "u%u = Unsqueeze[axes=(%lld)](#%u); ", i, axis, i);
        else
            str_addf(&s, "u%u = Identity(#%u); ", i, i);
    str_addf(&s, "@0 = Concat[axis=%lld](", axis);
    for (uint32_t i = 0; i < l->n; i++)
        str_addf(&s, "%su%u", i ? ", " : "", i);
    str_add(&s, ")");
    return finish(cx, &call, &s);
}

const struct onnx_row onnx_rows_sequence[] = {
    {"SequenceEmpty", ONNX_RETYPES, convert_construct, NULL},
    {"SequenceConstruct", ONNX_RETYPES, convert_construct, NULL},
    {"SequenceAt", ONNX_RETYPES | ONNX_LISTS, convert_at, NULL},
    {"SequenceLength", ONNX_RETYPES | ONNX_LISTS, convert_length, NULL},
    {"SequenceInsert", ONNX_RETYPES | ONNX_LISTS, convert_insert, NULL},
    {"SequenceErase", ONNX_RETYPES | ONNX_LISTS, convert_erase, NULL},
    {"SplitToSequence", ONNX_RETYPES, convert_split, NULL},
    {"ConcatFromSequence", ONNX_RETYPES | ONNX_LISTS, convert_join, NULL},
    {0},
};
