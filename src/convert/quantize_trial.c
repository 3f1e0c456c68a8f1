/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a node can work in fixed point: its constants quantized, its encodings put in place, and op_check asked. */
#include "convert/quantize_rewrite.h"

static uint32_t find_made(const struct rewrite *w, uint32_t t, const struct plan_port *port)
{
    for (size_t i = 0; i < w->constants.n && port->use != PLAN_BIAS; i++) {
        const struct made *m = &w->constants.at[i];
        if (m->from == t && m->use == port->use && m->axis == port->axis && m->per_channel == port->per_channel &&
            m->like == port->like)
            return m->tensor;
    }
    return IR_NONE;
}

static enum status make_constant(struct rewrite *w, const struct ir_node *n, uint32_t i, struct trial *t)
{
    t->known[i] = find_made(w, n->in[i], &t->ports[i]);
    if (t->known[i] != IR_NONE) {
        t->in[i] = w->to->tensors.at[t->known[i]].desc;
        t->data[i] = w->to->tensors.at[t->known[i]].data;
        return ST_OK;
    }
    bool whole = !t->ports[i].product ||
                 (t->in_at[0] && t->in_at[1] && dtype_is_fixed(t->in[0].type) && dtype_is_fixed(t->in[1].type));
    if (whole)
        TRY(plan_constant(&w->plan, n->in[i], &t->ports[i], &t->in[0], &t->in[1], &t->consts[i]));
    if (!t->consts[i].data)
        t->why = "a constant has no encoding";
    t->in[i] = t->consts[i].desc;
    t->data[i] = t->consts[i].data;
    return ST_OK;
}

static enum status try_constant(struct rewrite *w, const struct ir_node *n, uint32_t i, struct trial *t)
{
    struct plan_port *port = &t->ports[i];
    *port = plan_port(&w->plan, n, i);
    if (port->product && t->shift &&
        desc_count(&w->plan.g->tensors.at[n->in[i]].desc) == t->in[1].dims[plan_port(&w->plan, n, 1).axis])
        port->shift = t->shift;
    TRY(make_constant(w, n, i, t));
    return plan_shift(&w->plan, n->in[i], port, &t->in[i], t->data[i], &t->shift);
}

static enum status try_input(struct rewrite *w, const struct ir_node *n, uint32_t i, struct trial *t)
{
    const struct plan *p = &w->plan;
    uint32_t x = n->in[i];
    if (x == IR_NONE || p->g->tensors.at[x].role == IR_ABSENT)
        return ST_OK;
    t->in_at[i] = &t->in[i];
    t->in[i] = p->g->tensors.at[x].desc;
    t->data[i] = p->g->tensors.at[x].data;
    if (!rewrite_is_float(w, x))
        return ST_OK;
    if (p->g->tensors.at[x].role == IR_CONST)
        return try_constant(w, n, i, t);
    if (p->tensors[x].origin == QUANTIZE_FLOAT)
        t->why = "an input has no encoding";
    else
        t->in[i] = rewrite_fixed_desc(w, x);
    if (p->tensors[x].alias != IR_NONE)
        t->data[i] = p->g->tensors.at[p->tensors[x].alias].data;
    return ST_OK;
}

/* Results of moved constants have the encoding of the constant; it is known only now. */
static void adopt_constant(struct rewrite *w, const struct ir_node *n, const struct trial *t)
{
    struct plan *p = &w->plan;
    bool table = n->op->id == OP_Gather || n->op->id == OP_GatherNd || n->op->id == OP_GatherElements;
    if (!table || n->in[0] == IR_NONE || p->g->tensors.at[n->in[0]].role != IR_CONST || t->in[0].q.kind != Q_TENSOR)
        return;
    struct plan_tensor *y = &p->tensors[n->out[0]];
    if (y->origin != QUANTIZE_CALIBRATED || !dtype_is_fixed(t->in[0].type))
        return;
    y->e.type = t->in[0].type;
    y->e.scale = t->in[0].q.scale;
    y->e.offset = t->in[0].q.offset;
    y->origin = QUANTIZE_PROPAGATED;
}

enum status rewrite_try(struct rewrite *w, const struct ir_node *n, struct trial *t)
{
    const struct plan *p = &w->plan;
    for (uint32_t i = 0; i < n->n_in && !t->why; i++)
        TRY(try_input(w, n, i, t));
    if (t->why)
        return ST_OK;
    adopt_constant(w, n, t);
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t y = n->out[i];
        t->out_at[i] = &t->out[i];
        t->out[i] = p->g->tensors.at[y].desc;
        if (rewrite_is_float(w, y) && p->tensors[y].origin == QUANTIZE_FLOAT)
            t->why = "a result has no encoding";
        else if (rewrite_is_float(w, y))
            t->out[i] = rewrite_fixed_desc(w, y);
    }
    struct op_call c = { .op = n->op,
                         .node = n->name,
                         .n_in = n->n_in,
                         .n_out = n->n_out,
                         .in = t->in_at,
                         .out = t->out_at,
                         .params = n->params,
                         .in_data = t->data,
                         .post = n->post };
    if (!t->why && (op_check(&c) != ST_OK || (p->o->supported && p->o->supported(p->o->arg, &c) != ST_OK)))
        t->why = status_text();
    return ST_OK;
}
