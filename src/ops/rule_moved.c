/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings with one scale per channel through operators that only move values: the values stay as they are, so the output
 * must have the scales that its values came with, along the axis that they went to. */
#include "ops/op_rules.h"

/* Entry `at + k` of the output's encoding along `axis` is entry `from + k * step` of the input's, for k below `count`. */
struct moved {
    uint32_t axis, at, count;
    int64_t from, step;
};

/* in[i] to out[o]; m starts as "the same axis, all entries". False: the channels do not stay together along one axis. */
typedef bool (*move_fn)(const struct op_call *c, uint32_t i, uint32_t o, struct moved *m);

static uint32_t axis_param(const struct op_call *c, const char *name, uint32_t at, uint32_t rank)
{
    int64_t a = op_int(c, name, at);
    return (uint32_t)(a < 0 ? a + rank : a);
}

static uint64_t before(const struct tensor_desc *d, uint32_t axis)
{
    uint64_t n = 1;
    for (uint32_t k = 0; k < axis; k++)
        n *= d->dims[k];
    return n;
}

/* The axis stays one when as many elements lie before it and it has its size; the client says which one it means. */
static bool move_flat(const struct op_call *c, uint32_t i, uint32_t o, struct moved *m)
{
    const struct tensor_desc *x = c->in[i], *y = c->out[o];
    uint32_t to = (uint32_t)y->q.axis;
    if (x->dynamic || y->dynamic || to >= y->rank || y->dims[to] != m->count || before(x, m->axis) != before(y, to))
        return false;
    m->axis = to;
    return true;
}

static bool move_transpose(const struct op_call *c, uint32_t i, uint32_t o, struct moved *m)
{
    uint32_t rank = c->in[i]->rank, to = 0;
    while (to < rank && axis_param(c, "perm", to, rank) != m->axis)
        to++;
    m->axis = to;
    return to < c->out[o]->rank;
}

static bool move_concat(const struct op_call *c, uint32_t i, uint32_t o, struct moved *m)
{
    (void)o;
    if (axis_param(c, "axis", 0, c->in[i]->rank) == m->axis)
        for (uint32_t k = 0; k < i; k++)
            m->at += c->in[k]->dims[m->axis];
    return true;
}

static bool move_split(const struct op_call *c, uint32_t i, uint32_t o, struct moved *m)
{
    if (axis_param(c, "axis", 0, c->in[i]->rank) != m->axis)
        return true;
    m->from = o ? op_int(c, "split_index", o - 1) : 0;
    m->count = c->out[o]->dims[m->axis];
    return true;
}

static bool move_slice(const struct op_call *c, uint32_t i, uint32_t o, struct moved *m)
{
    (void)i, (void)o;
    struct op_slice s[OP_SLICE_MAX];
    uint32_t n = 0, to = 0;
    if (op_slice(c, s, &n) != ST_OK)
        return false;
    for (uint32_t k = 0; k < n; k++) {
        if (s[k].axis == (int32_t)m->axis) {
            *m = (struct moved){to, 0, s[k].count, s[k].begin, s[k].stride};
            return !s[k].shrink;
        }
        to += !s[k].shrink;
    }
    return false;
}

/* Where an index points nowhere, a zero is stored: it needs an offset of its own, not one per channel. */
static bool move_gather(const struct op_call *c, uint32_t i, uint32_t o, struct moved *m)
{
    (void)o;
    const struct tensor_desc *x = c->in[i];
    uint32_t axis = axis_param(c, "axis", 0, x->rank), from = m->axis;
    for (uint32_t k = 1; k < x->q.n; k++)
        if (quant_offset(&x->q, k) != quant_offset(&x->q, 0))
            return false;
    m->axis += from > axis ? c->in[1]->rank - 1u : 0;
    return from != axis;
}

static bool move_pack(const struct op_call *c, uint32_t i, uint32_t o, struct moved *m)
{
    (void)i;
    m->axis += m->axis >= axis_param(c, "axis", 0, c->out[o]->rank);
    return true;
}

static bool move_unpack(const struct op_call *c, uint32_t i, uint32_t o, struct moved *m)
{
    (void)o;
    uint32_t axis = axis_param(c, "axis", 0, c->in[i]->rank), from = m->axis;
    m->axis -= from > axis;
    return from != axis;
}

static const struct {
    uint16_t op;
    move_fn where;
} moves[] = {
    { OP_Reshape, move_flat },        { OP_Squeeze, move_flat },  { OP_ExpandDims, move_flat },
    { OP_Transpose, move_transpose }, { OP_Concat, move_concat }, { OP_Split, move_split },
    { OP_StridedSlice, move_slice },  { OP_Gather, move_gather }, { OP_Pack, move_pack },
    { OP_UnPack, move_unpack },
};

static move_fn move_of(enum op_id op)
{
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
        if (moves[i].op == op)
            return moves[i].where;
    return NULL;
}

static enum status check_entries(const struct op_call *c, const struct tensor_desc *x, uint32_t o, const struct moved *m)
{
    const struct quant *a = &x->q, *b = &c->out[o]->q;
    REFUSE_IF((uint32_t)b->axis != m->axis, c,
              "output %u has one scale per element of axis %d; the input's channels are along axis %u there", o, b->axis,
              m->axis);
    REFUSE_IF(a->bits != b->bits || a->mapping != b->mapping, c,
              "output %u has an encoding of %u bits and mapping %u; the input's %u and %u are expected", o, b->bits,
              b->mapping, a->bits, a->mapping);
    for (uint32_t k = 0; k < m->count; k++) {
        uint32_t from = (uint32_t)(m->from + k * m->step), to = m->at + k;
        REFUSE_IF(from >= a->n || to >= b->n || quant_scale(a, from) != quant_scale(b, to) ||
                      quant_offset(a, from) != quant_offset(b, to),
                  c,
                  "scale or offset %u of output %u differs from %u of the input, where the values come from; values of "
                  "channels move without being "
                  "requantized, so equal ones are expected",
                  to, o, from);
    }
    return ST_OK;
}

static enum status check_pair(const struct op_call *c, move_fn where, uint32_t i, uint32_t o)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[i], *y = c->out[o];
    if (x->q.kind != Q_AXIS && y->q.kind != Q_AXIS)
        return ST_OK;
    REFUSE_IF(
        x->q.kind != y->q.kind, c,
        "of input %u (%s) and output %u (%s) one has a scale per channel and the other has not; both or none is expected", i,
        desc_text(x, a), o, desc_text(y, b));
    struct moved m = {.axis = (uint32_t)x->q.axis, .count = x->q.n, .step = 1};
    REFUSE_IF(x->dynamic >> m.axis & 1, c,
              "input %u is %s with one scale per element of its dynamic axis %u; a fixed axis is expected", i,
              desc_text(x, a), m.axis);
    REFUSE_IF(!where(c, i, o, &m), c,
              "input %u is %s with one scale per element of axis %u, which is not an axis of output %u (%s) any more; move "
              "along other axes, or use one scale",
              i, desc_text(x, a), m.axis, o, desc_text(y, b));
    return check_entries(c, x, o, &m);
}

bool rule_moves_channels(enum op_id op)
{
    return move_of(op) != NULL;
}

enum status rule_moved_channels(const struct op_call *c)
{
    move_fn where = move_of(c->op->id);
    for (uint32_t i = 0; where && i < c->n_in; i++)
        for (uint32_t o = 0; o < c->n_out && c->in[i] && dtype_is_fixed(c->in[i]->type); o++)
            if (c->out[o])
                TRY(check_pair(c, where, i, o));
    return ST_OK;
}
