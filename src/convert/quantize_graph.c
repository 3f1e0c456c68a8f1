/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites a float graph in fixed point, node by node.
 *
 *     %t = Conv2d(%x, %w, %b)          %x : uq8, %w : sq8, %b : sq32, %t : uq8
 *     %y = IsNan(%t)                   %t_float = Dequantize(%t); %y = IsNan(%t_float)
 *
 * Every tensor of the source has up to two forms in the new graph, float and fixed; a form is made when somebody asks for
 * it. A node becomes fixed point when all its float tensors have encodings and op_check (and the engine) accept the result,
 * otherwise it stays as it is. */
#include <string.h>

#include "base/str.h"
#include "convert/quantize_rewrite.h"

static bool touches_float(const struct rewrite *w, const struct ir_node *n)
{
    bool any = false;
    for (uint32_t i = 0; i < n->n_in; i++)
        any |= rewrite_is_float(w, n->in[i]);
    for (uint32_t i = 0; i < n->n_out; i++)
        any |= rewrite_is_float(w, n->out[i]);
    return any;
}

static enum status keep_constant(struct rewrite *w, const struct ir_node *n, uint32_t i, const struct trial *t,
                                 uint32_t *ret)
{
    const struct ir_tensor *from = &w->plan.g->tensors.at[n->in[i]];
    *ret = t->known[i];
    if (*ret != IR_NONE)
        return ST_OK;
    struct ir_tensor c = *from;
    c.name = rewrite_constant_name(w, from->name, "_fixed");
    RETURN_IF(!c.name, ST_NO_MEMORY, "no memory for the name of a constant");
    c.desc = t->consts[i].desc;
    c.data = t->consts[i].data; /* in the new graph's arena */
    TRY(ir_add_const(w->to, &c, true, ret));
    TRY(report_row(w, &t->consts[i].row));
    struct made *m = vec_push(&w->constants);
    RETURN_IF(!m, ST_NO_MEMORY, "no memory for constants");
    *m = (struct made){ n->in[i], *ret, t->ports[i].use, t->ports[i].axis, t->ports[i].per_channel, t->ports[i].like };
    return ST_OK;
}

static enum status put_input(struct rewrite *w, const struct ir_node *n, uint32_t i, const struct trial *t, uint32_t *ret)
{
    uint32_t x = n->in[i];
    *ret = IR_NONE;
    if (x == IR_NONE)
        return ST_OK;
    if (!rewrite_is_float(w, x))
        return rewrite_plain(w, x, ret);
    if (t->why)
        return rewrite_real(w, x, ret);
    return w->plan.g->tensors.at[x].role == IR_CONST ? keep_constant(w, n, i, t, ret) : rewrite_fixed(w, x, ret);
}

static bool preserved(const struct rewrite *w, const char *name)
{
    const struct quantize_opts *o = w->plan.o;
    for (uint32_t i = 0; i < o->n_preserved; i++) {
        const char *c = convert_name(w->plan.arena, o->preserved[i]);
        if (str_eq(o->preserved[i], name) || str_eq(c, name))
            return true;
    }
    return o->preserve_io && !o->n_preserved;
}

/* Where a node writes. A preserved output keeps name and float type; its fixed-point form gets a name of its own and a
 * Dequantize behind the node. */
static enum status put_output(struct rewrite *w, uint32_t y, bool fixed, uint32_t *ret)
{
    struct ir_tensor t = w->plan.g->tensors.at[y];
    struct forms *f = &w->forms[y];
    if (!rewrite_is_float(w, y))
        return rewrite_plain(w, y, ret);
    if (fixed) {
        if (t.role != IR_NATIVE && preserved(w, t.name)) {
            t.name = rewrite_fresh_name(w, t.name, "_fixed");
            t.role = IR_NATIVE;
            RETURN_IF(!t.name, ST_NO_MEMORY, "no memory for the name of a tensor");
        }
        t.desc = rewrite_fixed_desc(w, y);
    }
    TRY(ir_add_tensor(w->to, &t, ret));
    *(fixed ? &f->fixed : &f->real) = *ret;
    return ST_OK;
}

static enum status finish_output(struct rewrite *w, uint32_t y)
{
    const struct ir_tensor *t = &w->plan.g->tensors.at[y];
    struct forms *f = &w->forms[y];
    if (!rewrite_is_float(w, y) || f->fixed == IR_NONE || t->role == IR_NATIVE ||
        w->to->tensors.at[f->fixed].role == t->role)
        return ST_OK;
    TRY(ir_add_tensor(w->to, t, &f->real));
    return rewrite_conversion(w, OP_Dequantize, f->fixed, f->real);
}

/* Conversions of the source whose result exists already. */
static bool is_there(struct rewrite *w, const struct ir_node *n)
{
    if (n->op->id == OP_Dequantize)
        return w->plan.tensors[n->out[0]].alias != IR_NONE; /* made again where a float is needed */
    if (n->op->id != OP_Quantize || n->in[0] == IR_NONE || w->plan.g->tensors.at[n->out[0]].role != IR_NATIVE)
        return false;
    uint32_t x = w->forms[n->in[0]].fixed;
    const struct tensor_desc *z = &w->plan.g->tensors.at[n->out[0]].desc,
                             *d = x == IR_NONE ? NULL : &w->to->tensors.at[x].desc;
    if (!d || d->type != z->type || !quant_same(&d->q, &z->q))
        return false;
    w->forms[n->out[0]].plain = x;
    return true;
}

static enum status rewrite_node(struct rewrite *w, const struct ir_node *n)
{
    CLEANUP(mem_freep) struct trial *t = mem_new(struct trial);
    uint32_t in[MAX_PORTS], out[MAX_PORTS], at;
    RETURN_IF(!t, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    if (is_there(w, n))
        return ST_OK;
    bool any = touches_float(w, n);
    t->why = any ? plan_stays_float(&w->plan, n) : NULL;
    if (any && !t->why)
        TRY(rewrite_try(w, n, t));
    if (t->why)
        TRY(report_float(w, n, t->why));
    for (uint32_t i = 0; i < n->n_in; i++)
        TRY(put_input(w, n, i, t, &in[i]));
    for (uint32_t i = 0; i < n->n_out; i++)
        TRY(put_output(w, n->out[i], !t->why, &out[i]));
    struct ir_node c = *n;
    c.in = in;
    c.out = out;
    TRY(ir_add_node(w->to, &c, &at));
    w->to->nodes.at[at].post = n->post;
    for (uint32_t i = 0; i < n->n_out; i++)
        TRY(finish_output(w, n->out[i]));
    return ST_OK;
}

/* Whether some operator could read it in fixed point: coordinates should not lose precision for nothing. */
static bool wanted_fixed(const struct rewrite *w, uint32_t t)
{
    for (size_t k = 0; k < w->plan.g->nodes.n; k++) {
        const struct ir_node *n = &w->plan.g->nodes.at[k];
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i] == t && !plan_stays_float(&w->plan, n))
                return true;
    }
    return false;
}

/* Graph inputs come first, in their order. One is fixed point when it has an encoding and the caller did not want
 * it float. */
static enum status put_graph_inputs(struct rewrite *w)
{
    for (uint32_t x = 0; x < w->plan.g->tensors.n; x++) {
        struct ir_tensor t = w->plan.g->tensors.at[x];
        struct forms *f = &w->forms[x];
        uint32_t *to = rewrite_is_float(w, x) ? &f->real : &f->plain;
        if (t.role != IR_INPUT && t.role != IR_INOUT)
            continue;
        bool fixed = rewrite_is_float(w, x) && w->plan.tensors[x].origin != QUANTIZE_FLOAT && !preserved(w, t.name) &&
                     wanted_fixed(w, x);
        if (fixed) {
            t.desc = rewrite_fixed_desc(w, x);
            to = &f->fixed;
        }
        TRY(ir_add_tensor(w->to, &t, to));
    }
    return ST_OK;
}

static enum status run(struct rewrite *w)
{
    struct plan *p = &w->plan;
    TRY(ir_uses(p->g, p->arena, &p->uses));
    TRY(plan_activations(p));
    w->forms = arena_array(p->arena, struct forms, p->g->tensors.n);
    RETURN_IF(!w->forms, ST_NO_MEMORY, "no memory for %zu tensors", p->g->tensors.n);
    memset(w->forms, 0xff, p->g->tensors.n * sizeof(*w->forms));
    TRY(put_graph_inputs(w));
    for (size_t k = 0; k < p->g->nodes.n; k++)
        if (!p->g->nodes.at[k].dead)
            TRY(rewrite_node(w, &p->g->nodes.at[k]));
    TRY(report_activations(w));
    return ir_verify(w->to, "quantization");
}

enum status quantize_graph(struct ir_graph *g, const struct quantize_opts *o, struct quantize_report *report,
                           struct ir_graph **ret)
{
    struct arena scratch;
    struct rewrite w = { .plan = { .g = g, .o = o, .arena = &scratch }, .report = report };
    TRY(ir_graph_create(g->name, &w.to));
    arena_init(&scratch);
    w.plan.data = &w.to->arena;
    enum status st = run(&w);
    vec_finish(&w.constants);
    arena_finish(&scratch);
    if (st != ST_OK)
        ir_graph_free(w.to);
    else
        *ret = w.to;
    return st;
}
