/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites a float graph in fixed point, node by node.
 *
 *     %t = Conv2d(%x, %w, %b)          %x : uq8, %w : sq8, %b : sq32, %t : uq8
 *     %y = IsNan(%t)                   %t_float = Dequantize(%t); %y = IsNan(%t_float)
 *
 * Every tensor of the source has up to two forms in the new graph, float and fixed; a form is made when somebody asks for
 * it. A node becomes fixed point when all its float tensors have encodings and op_check (and the engine) accept the result,
 * otherwise it stays as it is. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "convert/quantize_plan.h"

struct forms {
    uint32_t real, fixed, plain; /* tensors of the new graph; IR_NONE: not made. plain: neither float nor touched */
};

/* A constant that was quantized before. */
struct made {
    uint32_t from, tensor;
    enum plan_use use;
    int32_t axis;
    bool per_channel;
    uint32_t like;
};

struct rewrite {
    struct plan plan;
    struct ir_graph *to;
    struct forms *forms;
    VEC(struct made) constants;
    struct quantize_report *report;
};

void quantize_report_init(struct quantize_report *r)
{
    memset(r, 0, sizeof(*r));
    arena_init(&r->arena);
}

void quantize_report_finish(struct quantize_report *r)
{
    vec_finish(&r->rows);
    vec_finish(&r->float_nodes);
    arena_finish(&r->arena);
}

/* ---- names and tensors -------------------------------------------------------------------------------------------- */

/* A name that neither graph uses. */
static const char *fresh_name(struct rewrite *w, const char *name, const char *suffix)
{
    for (unsigned i = 0; i < 1000000; i++) {
        const char *s =
            i ? arena_printf(w->plan.arena, "%s%s_%u", name, suffix, i) : arena_printf(w->plan.arena, "%s%s", name, suffix);
        if (!s || (ir_find_tensor(w->plan.g, s) == IR_NONE && ir_find_tensor(w->to, s) == IR_NONE))
            return s;
    }
    return NULL;
}

/* A constant keeps its name unless its other form has it already. */
static const char *constant_name(struct rewrite *w, const char *name, const char *suffix)
{
    return ir_find_tensor(w->to, name) == IR_NONE ? name : fresh_name(w, name, suffix);
}

static struct tensor_desc fixed_desc(const struct rewrite *w, uint32_t t)
{
    struct tensor_desc d = w->plan.g->tensors.at[t].desc;
    const struct quantize_encoding *e = &w->plan.tensors[t].e;
    if (w->plan.tensors[t].alias != IR_NONE)
        return w->plan.g->tensors.at[w->plan.tensors[t].alias].desc;
    d.type = e->type;
    d.q = (struct quant){ .kind = Q_TENSOR, .definition = 1, .scale = e->scale, .offset = e->offset };
    return d;
}

static enum status add_native(struct rewrite *w, const char *name, const struct tensor_desc *d, uint32_t *ret)
{
    struct ir_tensor t = { .name = name, .desc = *d, .role = IR_NATIVE };
    RETURN_IF(!name, ST_NO_MEMORY, "no memory for the name of a tensor");
    return ir_add_tensor(w->to, &t, ret);
}

static enum status add_conversion(struct rewrite *w, enum op_id op, uint32_t from, uint32_t to)
{
    uint32_t at;
    struct ir_node n = { .name = arena_printf(w->plan.arena, "%s_%s", w->to->tensors.at[to].name,
                                              op == OP_Quantize ? "quantize" : "dequantize"),
                         .op = op_get(op),
                         .n_in = 1,
                         .n_out = 1,
                         .in = &from,
                         .out = &to };
    return ir_add_node(w->to, &n, &at);
}

static enum status plain_form(struct rewrite *w, uint32_t t, uint32_t *ret)
{
    struct forms *f = &w->forms[t];
    const struct ir_tensor *from = &w->plan.g->tensors.at[t];
    if (f->plain == IR_NONE)
        TRY(from->role == IR_CONST ? ir_add_const(w->to, from, true, &f->plain) : ir_add_tensor(w->to, from, &f->plain));
    *ret = f->plain;
    return ST_OK;
}

static enum status real_form(struct rewrite *w, uint32_t t, uint32_t *ret)
{
    struct forms *f = &w->forms[t];
    const struct ir_tensor *from = &w->plan.g->tensors.at[t];
    if (f->real == IR_NONE && from->role == IR_CONST) {
        struct ir_tensor c = *from;
        c.name = constant_name(w, from->name, "_float");
        RETURN_IF(!c.name, ST_NO_MEMORY, "no memory for the name of a constant");
        TRY(ir_add_const(w->to, &c, true, &f->real));
    }
    if (f->real == IR_NONE) {
        if (w->plan.tensors[t].alias != IR_NONE)
            TRY(plain_form(w, w->plan.tensors[t].alias, &f->fixed));
        TRY(add_native(w, fresh_name(w, from->name, "_float"), &from->desc, &f->real));
        TRY(add_conversion(w, OP_Dequantize, f->fixed, f->real));
    }
    *ret = f->real;
    return ST_OK;
}

static enum status fixed_form(struct rewrite *w, uint32_t t, uint32_t *ret)
{
    struct forms *f = &w->forms[t];
    if (w->plan.tensors[t].alias != IR_NONE)
        return plain_form(w, w->plan.tensors[t].alias, ret);
    if (f->fixed == IR_NONE) {
        struct tensor_desc d = fixed_desc(w, t);
        TRY(add_native(w, fresh_name(w, w->plan.g->tensors.at[t].name, "_fixed"), &d, &f->fixed));
        TRY(add_conversion(w, OP_Quantize, f->real, f->fixed));
    }
    *ret = f->fixed;
    return ST_OK;
}

static bool is_float(const struct rewrite *w, uint32_t t)
{
    return t != IR_NONE && dtype_is_float(w->plan.g->tensors.at[t].desc.type);
}

/* ---- a node in fixed point ---------------------------------------------------------------------------------------- */

struct trial {
    struct plan_const consts[MAX_PORTS];
    struct tensor_desc in[MAX_PORTS], out[MAX_PORTS];
    const struct tensor_desc *in_at[MAX_PORTS], *out_at[MAX_PORTS];
    const void *data[MAX_PORTS];
    uint32_t known[MAX_PORTS]; /* tensor of the new graph that is this constant already; IR_NONE: none */
    float *shift;              /* what the weights add to the mean of each output; NULL: unknown */
    struct plan_port ports[MAX_PORTS];
    const char *why;
};

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
    if (!is_float(w, x))
        return ST_OK;
    if (p->g->tensors.at[x].role == IR_CONST)
        return try_constant(w, n, i, t);
    if (p->tensors[x].origin == QUANTIZE_FLOAT)
        t->why = "an input has no encoding";
    else
        t->in[i] = fixed_desc(w, x);
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

static enum status try_node(struct rewrite *w, const struct ir_node *n, struct trial *t)
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
        if (is_float(w, y) && p->tensors[y].origin == QUANTIZE_FLOAT)
            t->why = "a result has no encoding";
        else if (is_float(w, y))
            t->out[i] = fixed_desc(w, y);
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

/* ---- copying ------------------------------------------------------------------------------------------------------ */

static bool touches_float(const struct rewrite *w, const struct ir_node *n)
{
    bool any = false;
    for (uint32_t i = 0; i < n->n_in; i++)
        any |= is_float(w, n->in[i]);
    for (uint32_t i = 0; i < n->n_out; i++)
        any |= is_float(w, n->out[i]);
    return any;
}

static enum status add_row(struct rewrite *w, const struct quantize_row *row)
{
    struct quantize_row r = *row;
    struct arena *a = &w->report->arena;
    r.name = arena_strdup(a, row->name);
    r.scales = row->scales ? arena_dup(a, row->scales, row->n * sizeof(float)) : NULL;
    r.offsets = row->offsets ? arena_dup(a, row->offsets, row->n * sizeof(int32_t)) : NULL;
    struct quantize_row *slot = r.name ? vec_push(&w->report->rows) : NULL;
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for the report");
    *slot = r;
    return ST_OK;
}

static enum status keep_constant(struct rewrite *w, const struct ir_node *n, uint32_t i, const struct trial *t,
                                 uint32_t *ret)
{
    const struct ir_tensor *from = &w->plan.g->tensors.at[n->in[i]];
    *ret = t->known[i];
    if (*ret != IR_NONE)
        return ST_OK;
    struct ir_tensor c = *from;
    c.name = constant_name(w, from->name, "_fixed");
    RETURN_IF(!c.name, ST_NO_MEMORY, "no memory for the name of a constant");
    c.desc = t->consts[i].desc;
    c.data = t->consts[i].data; /* in the new graph's arena */
    TRY(ir_add_const(w->to, &c, true, ret));
    TRY(add_row(w, &t->consts[i].row));
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
    if (!is_float(w, x))
        return plain_form(w, x, ret);
    if (t->why)
        return real_form(w, x, ret);
    return w->plan.g->tensors.at[x].role == IR_CONST ? keep_constant(w, n, i, t, ret) : fixed_form(w, x, ret);
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
    if (!is_float(w, y))
        return plain_form(w, y, ret);
    if (fixed) {
        if (t.role != IR_NATIVE && preserved(w, t.name)) {
            t.name = fresh_name(w, t.name, "_fixed");
            t.role = IR_NATIVE;
            RETURN_IF(!t.name, ST_NO_MEMORY, "no memory for the name of a tensor");
        }
        t.desc = fixed_desc(w, y);
    }
    TRY(ir_add_tensor(w->to, &t, ret));
    *(fixed ? &f->fixed : &f->real) = *ret;
    return ST_OK;
}

static enum status finish_output(struct rewrite *w, uint32_t y)
{
    const struct ir_tensor *t = &w->plan.g->tensors.at[y];
    struct forms *f = &w->forms[y];
    if (!is_float(w, y) || f->fixed == IR_NONE || t->role == IR_NATIVE || w->to->tensors.at[f->fixed].role == t->role)
        return ST_OK;
    TRY(ir_add_tensor(w->to, t, &f->real));
    return add_conversion(w, OP_Dequantize, f->fixed, f->real);
}

static enum status note_float(struct rewrite *w, const struct ir_node *n, const char *why)
{
    const char **slot = vec_push(&w->report->float_nodes);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for the report");
    *slot = arena_printf(&w->report->arena, "%s \"%s\": %s", n->op->name, n->name, why);
    RETURN_IF(!*slot, ST_NO_MEMORY, "no memory for the report");
    return ST_OK;
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
        TRY(try_node(w, n, t));
    if (t->why)
        TRY(note_float(w, n, t->why));
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
        uint32_t *to = is_float(w, x) ? &f->real : &f->plain;
        if (t.role != IR_INPUT && t.role != IR_INOUT)
            continue;
        bool fixed =
            is_float(w, x) && w->plan.tensors[x].origin != QUANTIZE_FLOAT && !preserved(w, t.name) && wanted_fixed(w, x);
        if (fixed) {
            t.desc = fixed_desc(w, x);
            to = &f->fixed;
        }
        TRY(ir_add_tensor(w->to, &t, to));
    }
    return ST_OK;
}

static enum status report_activations(struct rewrite *w)
{
    const struct plan *p = &w->plan;
    for (uint32_t t = 0; t < p->g->tensors.n; t++) {
        const struct ir_tensor *from = &p->g->tensors.at[t];
        const struct plan_tensor *x = &p->tensors[t];
        struct quantize_row row = {
            .name = from->name, .type = from->desc.type, .n = 1, .min = x->min, .max = x->max, .sqnr = NAN
        };
        if (dtype_is_fixed(from->desc.type) && from->desc.q.kind == Q_TENSOR) {
            row.origin = QUANTIZE_MODEL;
            row.scales = &from->desc.q.scale;
            row.offsets = &from->desc.q.offset;
            row.constant = from->role == IR_CONST;
            row.min = row.max = NAN;
        } else if (!quantize_is_activation(from) || x->alias != IR_NONE) {
            continue;
        } else if (w->forms[t].fixed != IR_NONE) {
            row.type = x->e.type;
            row.origin = x->origin;
            row.scales = &x->e.scale;
            row.offsets = &x->e.offset;
            row.sqnr = x->sqnr;
        }
        TRY(add_row(w, &row));
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
