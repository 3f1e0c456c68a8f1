/* SPDX-License-Identifier: Apache-2.0 */
/* Attention masks that are conditions, as exporters of language models write them for the HTP:
 *
 *     %m = ReduceMin(%x); %low = Add(%m, -20); %w = Select(%keep, %x, %low); %y = Softmax(%w)
 *         ->   %y = MaskedSoftmax(%x, %keep)
 *
 * In fixed point only, as on the device. Entries whose condition is false become exactly zero, and the encoding of %w, which
 * has to hold min - 20 beside the scores, no longer matters. A condition that is no bool is compared with zero first. */
#include <string.h>

#include "prepare/cx.h"

/* The largest constant that the device takes below the minimum. */
#define LOW (-20.0f)

enum { BINARY_ADD = 0 };

struct match {
    struct ir_graph *g;
    struct ir_uses uses;
};

static const struct tensor_desc *desc_of(const struct match *m, uint32_t t)
{
    return &m->g->tensors.at[t].desc;
}

static struct ir_node *maker_of(const struct match *m, uint32_t t)
{
    uint32_t k = t == IR_NONE ? IR_NONE : m->uses.producer[t];
    struct ir_node *n = k == IR_NONE ? NULL : &m->g->nodes.at[k];

    return n && !n->dead && !n->n_guards ? n : NULL;
}

static bool is_add(const struct match *m, const struct ir_node *n)
{
    struct ir_call v;

    if (n->op->id == OP_ElementWiseAdd)
        return true;
    if (n->op->id != OP_ElementWiseBinary)
        return false;
    ir_call(m->g, n, &v);
    return op_int(&v.call, "operation", 0) == BINARY_ADD;
}

static bool is_fixed(const struct tensor_desc *d)
{
    return dtype_is_fixed(d->type) && d->q.kind == Q_TENSOR && dtype_bits(d->type) >= 8 && dtype_bits(d->type) <= 16;
}

/* Element i as it is stored, of 8 or 16 bits. */
static int32_t stored_at(enum dtype type, const void *data, uint64_t i)
{
    const bool is_signed = dtype_is_signed(type);

    if (dtype_bits(type) == 8)
        return is_signed ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
    return is_signed ? ((const int16_t *)data)[i] : ((const uint16_t *)data)[i];
}

/* Whether every element of a constant is at most -20, rounded to its own grid. */
static bool is_low(const struct match *m, uint32_t t)
{
    const struct ir_tensor *b = &m->g->tensors.at[t];
    const struct tensor_desc *d = &b->desc;

    if (b->role != IR_CONST || !b->data || b->updateable || !is_fixed(d))
        return false;
    for (uint64_t i = 0, n = desc_count(d); i < n; i++) {
        const float real = d->q.scale * (float)((int64_t)stored_at(d->type, b->data, i) + d->q.offset);
        if (!(real <= LOW + d->q.scale))
            return false;
    }
    return true;
}

/* Whether t is the minimum of x, over its last axis or more. */
static bool is_minimum(const struct match *m, uint32_t t, uint32_t x)
{
    const struct ir_node *n = maker_of(m, t);
    const uint32_t rank = desc_of(m, x)->rank;
    struct ir_call v;

    if (!n || n->op->id != OP_ReduceMin || n->in[0] != x)
        return false;
    ir_call(m->g, n, &v);
    return op_axes_mask(&v.call, "axes") >> (rank - 1) & 1;
}

/* Whether t is min(x) + B. */
static bool is_floor(const struct match *m, uint32_t t, uint32_t x)
{
    const struct ir_node *n = maker_of(m, t);

    if (!n || !is_add(m, n))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (is_minimum(m, n->in[i], x) && is_low(m, n->in[1 - i]))
            return true;
    }
    return false;
}

/* The Select in front of a softmax, if the pattern is there. */
static struct ir_node *find_select(const struct match *m, const struct ir_node *softmax)
{
    const uint32_t w = softmax->in[0];
    struct ir_node *select = maker_of(m, w);
    struct ir_call v;

    if (!select || select->op->id != OP_ElementWiseSelect)
        return NULL;
    if (m->uses.n_consumers[w] != 1 || m->g->tensors.at[w].role != IR_NATIVE)
        return NULL; /* the client sees what the Select makes */

    const uint32_t x = select->in[1];
    const struct tensor_desc *scores = desc_of(m, x);
    const struct tensor_desc *out = desc_of(m, softmax->out[0]);
    if (!scores->rank || scores->dynamic || !is_fixed(scores) || out->type != scores->type)
        return NULL;
    if (!desc_same_shape(scores, desc_of(m, w)))
        return NULL; /* the scores themselves are broadcast */

    ir_call(m->g, softmax, &v);
    if (op_axis(&v.call, "axis", 0, scores->rank) != scores->rank - 1u || op_real(&v.call, "beta", 0) != 1.0)
        return NULL;
    return is_floor(m, select->in[2], x) ? select : NULL;
}

/* A constant like t whose one element is zero. *ret is IR_NONE where t's encoding has no zero. */
static enum status add_zero(struct match *m, uint32_t t, uint32_t *ret)
{
    const struct tensor_desc *d = desc_of(m, t);
    const int64_t zero = dtype_is_fixed(d->type) ? -(int64_t)d->q.offset : 0;
    int32_t *data = arena_array(&m->g->arena, int32_t, 1);

    *ret = IR_NONE;
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for the zero that \"%s\" is compared with", m->g->tensors.at[t].name);
    if (dtype_is_fixed(d->type) && (d->q.kind != Q_TENSOR || zero < dtype_min(d->type) || zero > dtype_max(d->type)))
        return ST_OK;

    *data = (int32_t)zero; /* little endian: the first bytes are the element */
    struct ir_tensor c = { .desc = *d, .data = data };
    c.name = arena_printf(&m->g->arena, "%s.zero", m->g->tensors.at[t].name);
    c.desc.rank = 1;
    c.desc.dims[0] = 1;
    return ir_add_const(m->g, &c, true, ret);
}

/* The Select becomes the comparison of its condition with zero; *ret is the result, a bool. */
static enum status compare(struct match *m, struct ir_node *select, uint32_t *ret)
{
    const uint32_t condition = select->in[0];
    uint32_t zero;
    uint32_t *in = arena_array(&m->g->arena, uint32_t, 2);
    uint32_t *out = arena_array(&m->g->arena, uint32_t, 1);

    *ret = IR_NONE;
    RETURN_IF(!in || !out, ST_NO_MEMORY, "no memory for the condition of \"%s\"", select->name);
    TRY(add_zero(m, condition, &zero));
    if (zero == IR_NONE)
        return ST_OK;

    struct ir_tensor t = { .desc = *desc_of(m, condition), .role = IR_NATIVE };
    t.name = arena_printf(&m->g->arena, "%s.keep", select->name);
    t.desc.type = DT_B8;
    t.desc.q = (struct quant){ 0 };
    TRY(ir_add_tensor(m->g, &t, &out[0]));

    in[0] = condition;
    in[1] = zero;
    select->op = op_get(OP_ElementWiseNotEqual);
    select->in = in;
    select->n_in = 2;
    select->out = out;
    *ret = out[0];
    return ST_OK;
}

static enum status fuse(struct match *m, struct ir_node *softmax, struct ir_node *select, bool *progress)
{
    const uint32_t x = select->in[1];
    uint32_t keep = select->in[0];
    uint32_t *in = arena_array(&m->g->arena, uint32_t, 2);
    const struct op_def *op = op_get(OP_MaskedSoftmax);
    struct op_value *params = arena_array(&m->g->arena, struct op_value, op_param_count(op));

    RETURN_IF(!in || !params, ST_NO_MEMORY, "no memory for node \"%s\"", softmax->name);
    if (desc_of(m, keep)->type == DT_B8)
        select->dead = true;
    else
        TRY(compare(m, select, &keep));
    if (keep == IR_NONE)
        return ST_OK;

    memset(params, 0, op_param_count(op) * sizeof(*params));
    in[0] = x;
    in[1] = keep;
    softmax->op = op;
    softmax->in = in;
    softmax->n_in = 2;
    softmax->params = params;
    softmax->source = ir_join_sources(&m->g->arena, select->source, softmax->source);
    *progress = true;
    return ST_OK;
}

enum status opt_fuse_mask(struct prepare_cx *cx, bool *progress)
{
    struct match m = { .g = cx->g };

    TRY(ir_uses(m.g, &cx->arena, &m.uses));
    for (uint32_t k = 0; k < m.g->nodes.n; k++) {
        struct ir_node *softmax = &m.g->nodes.at[k];
        if (softmax->dead || softmax->n_guards || softmax->op->id != OP_Softmax)
            continue;

        struct ir_node *select = find_select(&m, softmax);
        if (select)
            TRY(fuse(&m, softmax, select, progress));
    }
    return *progress ? opt_dead(cx, progress) : ST_OK; /* the minimum, which nothing reads now */
}
