/* SPDX-License-Identifier: Apache-2.0 */
/* From an ONNX file to a graph: initializers, inputs, nodes in order, outputs. A node that cannot be converted is written into the report and its
 * outputs are poisoned, so that the rest is still looked at and everything unsupported is told at once. */
#include <string.h>

#include "convert/onnx/onnx.h"

/* ---- rows --------------------------------------------------------------------------------------------------------- */

static const struct onnx_row *const row_lists[] = {
    onnx_rows_elementwise, onnx_rows_activation, onnx_rows_conv,  onnx_rows_pool,  onnx_rows_shape,     onnx_rows_slice,
    onnx_rows_gather,      onnx_rows_reduce,     onnx_rows_norm,  onnx_rows_matmul, onnx_rows_quant,    onnx_rows_recurrent,
    onnx_rows_resize,      onnx_rows_attention,  onnx_rows_image, onnx_rows_control, onnx_rows_loop,
    onnx_rows_bits,        onnx_rows_signal,     onnx_rows_sample, onnx_rows_unpool, onnx_rows_matrix,
};

const struct onnx_row *onnx_row_find(const char *op)
{
    for (size_t k = 0; k < sizeof(row_lists) / sizeof(row_lists[0]); k++)
        for (const struct onnx_row *r = row_lists[k]; r->op; r++)
            if (!strcmp(r->op, op))
                return r;
    return NULL;
}

const char *onnx_row_nearest(const char *op)
{
    const char *best = NULL;
    unsigned least = 4;
    for (size_t k = 0; k < sizeof(row_lists) / sizeof(row_lists[0]); k++)
        for (const struct onnx_row *r = row_lists[k]; r->op; r++) {
            unsigned d = str_distance(r->op, op);
            if (d < least) {
                least = d;
                best = r->op;
            }
        }
    return best;
}

const char *onnx_row_arg(const struct onnx_node *n)
{
    const struct onnx_row *r = onnx_row_find(n->op);
    return r && r->arg ? r->arg : "";
}

/* ---- constants ---------------------------------------------------------------------------------------------------- */

static enum status add_constant(struct onnx_cx *cx, const char *name, const struct onnx_tensor *t)
{
    const void *data;
    REFUSE_WHEN(t->rank > MAX_RANK, "constant \"%s\" has rank %u; at most %d is supported", name, t->rank, MAX_RANK);
    TRY(onnx_tensor_bytes(&cx->b.g->arena, t, cx->folder, &data));
    struct onnx_value *v = onnx_value_new(cx, name);
    RETURN_IF(!v, ST_BAD_TEXT, "constant \"%s\" appears twice, or there is no memory for it", name);
    v->type = v->stored = t->type;
    v->rank = (uint8_t)t->rank;
    for (uint32_t i = 0; i < t->rank; i++)
        v->dims[i] = (uint32_t)t->dims[i];
    v->data = data;
    return ST_OK;
}

static enum status poison(struct onnx_cx *cx, const char *name)
{
    struct onnx_entry *e = onnx_entry(cx, cx->scope->prefix, name, true);
    RETURN_IF(!e, ST_NO_MEMORY, "no memory for the names of the model");
    if (e->value && e->value->name)
        return ST_OK;
    bool output = e->value && e->value->output;
    e->value = arena_new(&cx->arena, struct onnx_value);
    RETURN_IF(!e->value, ST_NO_MEMORY, "no memory for value \"%s\"", name);
    e->value->name = name;
    e->value->tensor = e->value->real = IR_NONE;
    e->value->output = output;
    return ST_OK;
}

enum status onnx_initializers(struct onnx_cx *cx, const struct onnx_graph *g)
{
    for (size_t i = 0; i < g->n_initializers; i++) {
        const struct onnx_tensor *t = &g->initializers[i];
        enum status st = add_constant(cx, t->name, t);
        if (st == ST_NO_MEMORY || st == ST_BAD_TEXT)
            return st;
        if (st != ST_OK) {
            TRY(report_issue(cx->r, t->name, "initializer", status_text(), NULL));
            TRY(poison(cx, t->name));
        }
    }
    return ST_OK;
}

static enum status given_constants(struct onnx_cx *cx)
{
    for (uint32_t i = 0; i < cx->o->n_constants; i++) {
        const struct convert_const *c = &cx->o->constants[i];
        struct onnx_value *v = onnx_find(cx, c->name) ? NULL : onnx_value_new(cx, c->name);
        RETURN_IF(!v, ST_INVALID_ARG, "constant \"%s\" is given, but the model has one of that name already", c->name);
        v->type = v->stored = c->desc.type;
        v->rank = c->desc.rank;
        memcpy(v->dims, c->desc.dims, sizeof(v->dims));
        v->data = c->data;
    }
    return ST_OK;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------- */

static const struct convert_input *said_of(const struct onnx_cx *cx, const char *name)
{
    for (uint32_t i = 0; i < cx->o->n_inputs; i++)
        if (!strcmp(cx->o->inputs[i].name, name))
            return &cx->o->inputs[i];
    return NULL;
}

static int64_t symbol_value(const struct onnx_cx *cx, const char *symbol)
{
    for (uint32_t i = 0; symbol && i < cx->o->n_symbols; i++)
        if (!strcmp(cx->o->symbols[i], symbol))
            return cx->o->symbol_values[i];
    return -1;
}

static enum status input_dims(struct onnx_cx *cx, const struct onnx_info *in, const struct convert_input *said, struct tensor_desc *d)
{
    if (said && said->rank) {
        REFUSE_WHEN(said->rank > MAX_RANK, "rank %u is given; at most %d is supported", said->rank, MAX_RANK);
        d->rank = said->rank;
        memcpy(d->dims, said->dims, sizeof(d->dims));
        return ST_OK;
    }
    REFUSE_WHEN(!in->has_shape, "the model does not say its shape; give it with --input_dim");
    REFUSE_WHEN(in->rank > MAX_RANK, "it has rank %u; at most %d is supported", in->rank, MAX_RANK);
    d->rank = (uint8_t)in->rank;
    for (uint32_t k = 0; k < in->rank; k++) {
        int64_t v = in->dims[k], symbol = symbol_value(cx, in->symbols[k]);
        if (v < 0)
            v = symbol;
        if (k == 0 && (v < 0 || cx->o->batch))
            v = cx->o->batch ? cx->o->batch : 1;
        REFUSE_WHEN(v < 0, "dimension %u is not fixed%s%s; give it with --input_dim or --define_symbol", k, in->symbols[k] ? ": " : "",
                    in->symbols[k] ? in->symbols[k] : "");
        REFUSE_WHEN(v > UINT32_MAX, "dimension %u has %lld elements; 1 … %u are possible", k, (long long)v, UINT32_MAX);
        d->dims[k] = (uint32_t)v;
    }
    return ST_OK;
}

/* Does the value reach an operator on images without anything in between that fixes the order? */
static bool feeds_spatial(struct onnx_cx *cx, const char *name, unsigned depth)
{
    const struct onnx_entry *e = onnx_entry(cx, "", name, false);
    for (const struct onnx_use *u = e ? e->uses : NULL; u; u = u->next) {
        const struct onnx_row *r = onnx_row_find(u->node->op);
        if (r && r->flags & ONNX_SPATIAL && u->port == 0)
            return true;
        if (r && r->flags & ONNX_FREE && depth < 8 && u->node->n_out && feeds_spatial(cx, u->node->out[0], depth + 1))
            return true;
    }
    return false;
}

static const char *const channel_first[] = {"", "", "", "NCF", "NCHW", "NCDHW"}, *const channel_last[] = {"", "", "", "NFC", "NHWC", "NDHWC"};

static bool wants_channel_last(struct onnx_cx *cx, const struct onnx_info *in, const struct convert_input *said, uint32_t rank)
{
    if (cx->o->preserve_io || rank < 3 || rank > 5)
        return false;
    if (said && said->layout)
        return !strcmp(said->layout, channel_first[rank]);
    return feeds_spatial(cx, in->name, 0);
}

/* The only thing that reads it is DequantizeLinear with constant parameters: the input itself becomes fixed point. */
static bool dequantized_input(struct onnx_cx *cx, const struct onnx_info *in, const struct tensor_desc *plain, struct tensor_desc *d)
{
    struct onnx_entry *e = onnx_entry(cx, "", in->name, false);
    if (!e || !e->uses || e->uses->next || strcmp(e->uses->node->op, "DequantizeLinear") != 0 || e->uses->port != 0)
        return false;
    const struct onnx_node *n = e->uses->node;
    const struct onnx_value *s = onnx_has(n, 1) ? onnx_find(cx, n->in[1]) : NULL, *z = onnx_has(n, 2) ? onnx_find(cx, n->in[2]) : NULL;
    static const enum dtype fixed[DT_COUNT] = {[DT_U8] = DT_UQ8, [DT_I8] = DT_SQ8, [DT_U16] = DT_UQ16, [DT_I16] = DT_SQ16};
    if (!fixed[plain->type] || !s || !s->data || onnx_count(s) != 1 || (onnx_has(n, 2) && (!z || !z->data || onnx_count(z) != 1)))
        return false;
    *d = *plain;
    d->type = fixed[plain->type];
    d->q = (struct quant){.kind = Q_TENSOR, .definition = 1, .scale = (float)number_get(s->stored, s->data, 0),
                          .offset = z ? (int32_t)-number_get_int(z->stored, z->data, 0) : 0};
    return desc_check(d, in->name) == ST_OK;
}

static enum status note_input(struct onnx_cx *cx, const struct onnx_value *v, const struct convert_input *said, bool last)
{
    const char *source = said && said->layout ? said->layout : last ? channel_first[v->rank] : "";
    struct convert_io io = {.source_name = v->name, .graph_name = cx->b.g->tensors.at[v->tensor].name, .source_layout = source,
                            .graph_layout = last ? channel_last[v->rank] : source};
    return report_io(cx->r, &io);
}

/* Type and shape are all there is to know of it; the graph has no such input. */
static enum status empty_input(struct onnx_cx *cx, const struct onnx_info *in, const struct tensor_desc *d)
{
    struct onnx_value *v = onnx_value_new(cx, in->name);
    RETURN_IF(!v, ST_BAD_TEXT, "input \"%s\" appears twice, or there is no memory for it", in->name);
    v->type = v->stored = d->type;
    v->rank = d->rank;
    memcpy(v->dims, d->dims, sizeof(v->dims));
    v->data = onnx_nothing;
    return ST_OK;
}

static bool only_cast(struct onnx_cx *cx, const char *name)
{
    const struct onnx_entry *e = onnx_entry(cx, "", name, false);
    for (const struct onnx_use *u = e ? e->uses : NULL; u; u = u->next)
        if (strncmp(u->node->op, "Cast", 4) != 0)
            return false;
    return true;
}

static enum status add_input(struct onnx_cx *cx, const struct onnx_info *in)
{
    const struct convert_input *said = said_of(cx, in->name);
    struct tensor_desc d = {.type = said && said->type != DT_NONE ? said->type : in->type}, fixed;
    uint8_t perm[MAX_RANK];
    uint32_t t;
    REFUSE_WHEN(d.type == DT_NONE, "its elements are of type %s; no tensor of the graph can have that", onnx_elem_name(in->elem));
    TRY(input_dims(cx, in, said, &d));
    REFUSE_WHEN(d.type == DT_F64 && !only_cast(cx, in->name), "its elements are float64, which is computed in float32 and may not fit; say that this is wanted with "
                "--input_dtype %s float32", in->name);
    if (desc_count(&d) == 0)
        return empty_input(cx, in, &d);
    bool last = wants_channel_last(cx, in, said, d.rank);
    struct tensor_desc source = d;
    perm_identity(perm, d.rank);
    if (last)
        perm_channel_last(perm, d.rank);
    for (uint32_t i = 0; i < d.rank; i++)
        d.dims[i] = source.dims[perm[i]];
    struct onnx_value *v = onnx_value_new(cx, in->name);
    RETURN_IF(!v, ST_BAD_TEXT, "input \"%s\" appears twice, or there is no memory for it", in->name);
    TRY(build_input(B, in->name, dequantized_input(cx, in, &d, &fixed) ? &fixed : &d, &t));
    v->tensor = t;
    v->rank = d.rank;
    memcpy(v->dims, source.dims, sizeof(v->dims));
    memcpy(v->perm, perm, d.rank);
    v->type = in->type;
    v->stored = build_desc(B, t)->type;
    TRY(note_input(cx, v, said, last));
    cx->label = in->name;
    if (onnx_inner_type(d.type) != d.type)
        TRY(onnx_cast(cx, "float32", t, DT_F32, &v->tensor));
    else if (d.type != in->type)
        TRY(onnx_cast(cx, "source_type", t, onnx_inner_type(in->type), &v->tensor));
    v->stored = build_desc(B, v->tensor)->type;
    return ST_OK;
}

static enum status add_inputs(struct onnx_cx *cx)
{
    const struct onnx_graph *g = &cx->model.graph;
    for (size_t i = 0; i < g->n_inputs; i++) {
        const struct onnx_info *in = &g->inputs[i];
        if (onnx_find(cx, in->name))
            continue; /* an initializer: old files list them among the inputs */
        enum status st = add_input(cx, in);
        if (st == ST_NO_MEMORY || st == ST_BAD_TEXT)
            return st;
        if (st != ST_OK) {
            TRY(report_issue(cx->r, in->name, "input", status_text(), NULL));
            TRY(poison(cx, in->name));
        }
    }
    return ST_OK;
}

/* ---- nodes -------------------------------------------------------------------------------------------------------- */

static bool is_default_domain(const struct onnx_node *n)
{
    return !n->domain[0] || !strcmp(n->domain, "ai.onnx") || !strcmp(n->domain, "com.microsoft");
}

static const struct onnx_function *find_function(const struct onnx_cx *cx, const struct onnx_node *n)
{
    for (size_t i = 0; i < cx->model.n_functions; i++)
        if (!strcmp(cx->model.functions[i].name, n->op) && !strcmp(cx->model.functions[i].domain, n->domain))
            return &cx->model.functions[i];
    return NULL;
}

/* The body of a function as if it stood here. */
static enum status call_function(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_function *f)
{
    struct onnx_node *body;
    size_t count;
    REFUSE_WHEN(cx->depth > 16, "functions call each other more than 16 deep");
    struct onnx_scope inner = {.prefix = arena_printf(&cx->arena, "%s/", cx->label), .parent = cx->scope, .call = n};
    const struct onnx_scope *outer = cx->scope;
    RETURN_IF(!inner.prefix, ST_NO_MEMORY, "no memory for function \"%s\"", f->name);
    TRY(onnx_parse_nodes(&cx->arena, f->message, 7, &body, &count));
    TRY(onnx_expand(cx, &body, &count));
    struct onnx_value *args[MAX_PORTS] = {0};
    REFUSE_WHEN(f->n_in > MAX_PORTS, "function \"%s\" has %u inputs; at most %d are supported", f->name, f->n_in, MAX_PORTS);
    for (uint32_t i = 0; i < f->n_in; i++)
        TRY(onnx_in_opt(cx, n, i, &args[i]));
    cx->scope = &inner;
    enum status st = ST_OK;
    for (uint32_t i = 0; i < f->n_in && st == ST_OK; i++)
        if (args[i])
            st = onnx_bind(cx, f->in[i], args[i]);
    if (st == ST_OK)
        st = onnx_nodes(cx, body, count);
    cx->scope = outer;
    TRY(st);
    for (uint32_t i = 0; i < f->n_out && i < n->n_out; i++) {
        struct onnx_entry *e = onnx_entry(cx, inner.prefix, f->out[i], false);
        if (e && e->value && e->value->type != DT_NONE)
            TRY(onnx_out_view(cx, n, i, e->value, NULL));
        else if (n->out[i][0])
            TRY(poison(cx, n->out[i]));
    }
    return ST_OK;
}

static enum status no_such_operator(struct onnx_cx *cx, const struct onnx_node *n)
{
    (void)cx;
    if (!is_default_domain(n))
        REFUSE("the operator belongs to domain \"%s\", which is not known", n->domain);
    REFUSE("the operator has no counterpart in QNN that it could be made of");
}

/* float64 and bfloat16 are float32 in the graph; what comes out is called what went in. */
static void inherit_type(struct onnx_cx *cx, const struct onnx_node *n)
{
    enum dtype type = DT_NONE;
    for (uint32_t i = 0; i < n->n_in && type == DT_NONE; i++) {
        const struct onnx_value *v = onnx_has(n, i) ? onnx_find(cx, n->in[i]) : NULL;
        type = v && dtype_is_float(v->type) ? v->type : DT_NONE;
    }
    for (uint32_t i = 0; type != DT_NONE && onnx_inner_type(type) != type && i < n->n_out; i++) {
        const struct onnx_value *v = onnx_wants(n, i) ? onnx_find(cx, n->out[i]) : NULL;
        if (v && v->type == DT_F32)
            onnx_out_type(cx, n, i, type);
    }
}

static enum status convert_in_mode(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_row *r)
{
    cx->fixed = r->flags & ONNX_FIXED && onnx_fixed_output(cx, n, &cx->fixed_out) && onnx_fixed_inputs(cx, n);
    if (cx->fixed) {
        enum status st = r->convert(cx, n);
        if (st == ST_OK || st == ST_NO_MEMORY)
            return st;
        cx->fixed = false; /* what fixed point cannot do, float can */
    }
    return r->convert(cx, n);
}

static enum status convert_node(struct onnx_cx *cx, const struct onnx_node *n)
{
    bool done = false;
    const struct onnx_function *f = find_function(cx, n);
    const struct onnx_row *r = is_default_domain(n) ? onnx_row_find(n->op) : NULL;
    cx->first_tensor = (uint32_t)cx->b.g->tensors.n;
    if (f)
        return call_function(cx, n, f);
    TRY(onnx_fold(cx, n, &done));
    if (done)
        return ST_OK;
    TRY(r ? convert_in_mode(cx, n, r) : no_such_operator(cx, n));
    if (!(r->flags & ONNX_RETYPES))
        inherit_type(cx, n);
    return ST_OK;
}

static enum status node_issue(struct onnx_cx *cx, const struct onnx_node *n)
{
    if (!cx->poisoned) {
        const char *nearest = onnx_row_find(n->op) ? NULL : onnx_row_nearest(n->op);
        TRY(report_issue(cx->r, cx->label, n->op, status_text(), nearest));
    }
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i][0])
            TRY(poison(cx, n->out[i]));
    return ST_OK;
}

/* A node that made none of its own became part of another one, or of a constant. */
static void note_absorbed(struct onnx_cx *cx, const struct onnx_node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++) {
        const struct onnx_entry *e = n->out[i][0] ? onnx_entry(cx, cx->scope->prefix, n->out[i], false) : NULL;
        if (e && e->value && e->value->tensor != IR_NONE)
            build_absorbed(&cx->b, e->value->tensor);
    }
}

static bool is_needed(struct onnx_cx *cx, const struct onnx_node *n)
{
    if (cx->scope->parent)
        return true;
    for (uint32_t i = 0; i < n->n_out; i++) {
        const struct onnx_entry *e = onnx_entry(cx, "", n->out[i], false);
        if (e && e->needed)
            return true;
    }
    return false;
}

static enum status try_node(struct onnx_cx *cx, const struct onnx_node *n, size_t number)
{
    const char *prefix = cx->scope->prefix;
    cx->node = n;
    cx->poisoned = false;
    cx->fixed = false;
    cx->label = n->name[0] ? arena_printf(&cx->arena, "%s%s", prefix, n->name) : arena_printf(&cx->arena, "%s%s_%zu", prefix, n->op, number);
    RETURN_IF(!cx->label, ST_NO_MEMORY, "no memory for the name of a node");
    size_t built = cx->b.g->nodes.n;
    build_source(&cx->b, n->op, cx->label);
    enum status st = convert_node(cx, n);
    if (st == ST_OK && built == cx->b.g->nodes.n)
        note_absorbed(cx, n);
    return st == ST_OK || st == ST_NO_MEMORY ? st : node_issue(cx, n);
}

enum status onnx_node_at(struct onnx_cx *cx, const struct onnx_node *nodes, size_t number)
{
    const struct onnx_node *outer = cx->node;
    const char *outer_label = cx->label;
    if (!is_needed(cx, &nodes[number]))
        return ST_OK;
    cx->depth++;
    TRY(try_node(cx, &nodes[number], number));
    cx->depth--;
    cx->node = outer;
    cx->label = outer_label;
    return ST_OK;
}

enum status onnx_nodes(struct onnx_cx *cx, const struct onnx_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        TRY(onnx_node_at(cx, nodes, i));
    return ST_OK;
}

/* ---- outputs ------------------------------------------------------------------------------------------------------ */

static enum status note_output(struct onnx_cx *cx, const struct onnx_value *v, uint32_t t, bool last)
{
    struct convert_io io = {.source_name = v->name, .graph_name = cx->b.g->tensors.at[t].name, .output = true,
                            .source_layout = last ? channel_first[v->rank] : "", .graph_layout = last ? channel_last[v->rank] : ""};
    return report_io(cx->r, &io);
}

static enum status add_output(struct onnx_cx *cx, const char *name)
{
    struct onnx_value *v = onnx_find(cx, name);
    uint8_t last[MAX_RANK];
    uint32_t t;
    REFUSE_WHEN(!v, "no node makes it");
    if (v->type == DT_NONE)
        return ST_OK; /* told already */
    cx->label = name;
    cx->fixed = false;
    perm_channel_last(last, v->rank);
    bool keep_last = !cx->o->preserve_io && !onnx_is_const(v) && v->rank >= 3 && v->rank <= 5 && !memcmp(last, v->perm, v->rank);
    if (dtype_is_fixed(v->stored) && !v->view)
        TRY(onnx_stored(cx, v, keep_last ? last : NULL, &t));
    else
        TRY(onnx_tensor(cx, v, keep_last ? last : NULL, &t));
    if (onnx_inner_type(v->type) != v->type && !cx->b.float16)
        TRY(onnx_cast(cx, "source_type", t, v->type, &t));
    TRY(build_output(B, t, name, &t));
    return note_output(cx, v, t, keep_last);
}

static enum status add_outputs(struct onnx_cx *cx)
{
    const struct onnx_graph *g = &cx->model.graph;
    size_t n = cx->o->n_outputs ? cx->o->n_outputs : g->n_outputs;
    for (size_t i = 0; i < n; i++) {
        const char *name = cx->o->n_outputs ? cx->o->outputs[i] : g->outputs[i].name;
        enum status st = add_output(cx, name);
        if (st == ST_NO_MEMORY)
            return st;
        if (st != ST_OK)
            TRY(report_issue(cx->r, name, "output", status_text(), NULL));
    }
    return ST_OK;
}

/* ---- before and after --------------------------------------------------------------------------------------------- */

static enum status note_uses(struct onnx_cx *cx)
{
    const struct onnx_graph *g = &cx->model.graph;
    for (size_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_in; k++) {
            if (!g->nodes[i].in[k][0])
                continue;
            struct onnx_entry *e = onnx_entry(cx, "", g->nodes[i].in[k], true);
            struct onnx_use *u = e ? arena_new(&cx->arena, struct onnx_use) : NULL;
            RETURN_IF(!u, ST_NO_MEMORY, "no memory for the names of the model");
            *u = (struct onnx_use){&g->nodes[i], k, e->uses};
            e->uses = u;
        }
    return ST_OK;
}

static bool has_subgraph(const struct onnx_node *n)
{
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].graph.p)
            return true;
    return false;
}

static enum status need(struct onnx_cx *cx, const char *name)
{
    struct onnx_entry *e = onnx_entry(cx, "", name, true);
    RETURN_IF(!e, ST_NO_MEMORY, "no memory for the names of the model");
    e->needed = true;
    return ST_OK;
}

/* What the outputs depend on. Bodies of control flow read names that are not listed: then everything counts. */
static enum status note_needed(struct onnx_cx *cx)
{
    const struct onnx_graph *g = &cx->model.graph;
    size_t n = cx->o->n_outputs ? cx->o->n_outputs : g->n_outputs;
    bool all = false;
    for (size_t i = 0; i < n; i++) {
        const char *name = cx->o->n_outputs ? cx->o->outputs[i] : g->outputs[i].name;
        TRY(need(cx, name));
        struct onnx_entry *e = onnx_entry(cx, "", name, true);
        if (!e->value)
            RETURN_IF(!(e->value = arena_new(&cx->arena, struct onnx_value)), ST_NO_MEMORY, "no memory for output \"%s\"", name);
        e->value->output = true;
    }
    for (size_t i = 0; i < g->n_nodes; i++)
        all |= has_subgraph(&g->nodes[i]);
    for (size_t i = g->n_nodes; i-- > 0;) {
        const struct onnx_node *node = &g->nodes[i];
        if (!all && !is_needed(cx, node))
            continue;
        for (uint32_t k = 0; k < node->n_in; k++)
            TRY(need(cx, node->in[k]));
        for (uint32_t k = 0; all && k < node->n_out; k++)
            TRY(need(cx, node->out[k]));
    }
    return ST_OK;
}

/* Drop what no output depends on: attempts that were given up, values that nobody asked for. */
static enum status drop_unused(struct onnx_cx *cx)
{
    struct ir_graph *g = cx->b.g;
    CLEANUP(mem_freep) bool *used = mem_array(bool, g->tensors.n);
    RETURN_IF(!used, ST_NO_MEMORY, "no memory for %zu tensors", g->tensors.n);
    for (size_t i = 0; i < g->tensors.n; i++)
        used[i] = g->tensors.at[i].role == IR_OUTPUT;
    for (size_t k = g->nodes.n; k-- > 0;) {
        struct ir_node *n = &g->nodes.at[k];
        n->dead = true;
        for (uint32_t i = 0; i < n->n_out; i++)
            n->dead &= !used[n->out[i]];
        for (uint32_t i = 0; !n->dead && i < n->n_in; i++)
            if (n->in[i] != IR_NONE)
                used[n->in[i]] = true;
    }
    return ir_compact(g);
}

/* Constants that stay and lie crookedly in the file are copied; those that were transposed have a copy already. */
static enum status align_constants(struct onnx_cx *cx)
{
    struct ir_graph *g = cx->b.g;
    for (size_t i = 0; i < g->tensors.n; i++) {
        struct ir_tensor *t = &g->tensors.at[i];
        if (t->role != IR_CONST || onnx_aligned(&t->desc, t->data))
            continue;
        const void *copy = arena_dup(&g->arena, t->data, desc_bytes(&t->desc));
        RETURN_IF(!copy, ST_NO_MEMORY, "no memory for constant \"%s\"", t->name);
        build_release(B, t->data, desc_bytes(&t->desc));
        t->data = copy;
    }
    return ST_OK;
}

static enum status check_model(const struct onnx_cx *cx)
{
    RETURN_IF(cx->model.graph.sparse, ST_NOT_SUPPORTED, "the model has sparse initializers; store them dense");
    RETURN_IF(cx->model.opset < 1 || cx->model.opset > 100, ST_BAD_TEXT, "the model asks for operator set %lld; 7 … 22 are supported, others tried",
              (long long)cx->model.opset);
    return ST_OK;
}

static enum status run(struct onnx_cx *cx)
{
    TRY(check_model(cx));
    TRY(onnx_expand(cx, &cx->model.graph.nodes, &cx->model.graph.n_nodes));
    TRY(note_uses(cx));
    TRY(note_needed(cx));
    TRY(onnx_initializers(cx, &cx->model.graph));
    TRY(given_constants(cx));
    TRY(add_inputs(cx));
    TRY(onnx_nodes(cx, cx->model.graph.nodes, cx->model.graph.n_nodes));
    TRY(add_outputs(cx));
    RETURN_IF(cx->r->issues.n, ST_NOT_SUPPORTED, "%zu part%s of the model %s not supported, the first: %s \"%s\": %s", cx->r->issues.n,
              cx->r->issues.n == 1 ? "" : "s", cx->r->issues.n == 1 ? "is" : "are", cx->r->issues.at[0].op, cx->r->issues.at[0].node,
              cx->r->issues.at[0].reason);
    TRY(drop_unused(cx));
    if (!cx->o->keep_patterns)
        TRY(convert_fuse(cx->b.g, cx->o->approximate));
    if (!cx->o->keep_batchnorm)
        TRY(convert_fold_batchnorm(cx->b.g));
    TRY(align_constants(cx));
    return ir_verify(cx->b.g, "conversion");
}

enum status convert_onnx(const void *data, size_t size, const char *folder, const struct convert_opts *o, struct convert_report *r,
                         struct ir_graph **ret)
{
    static const struct convert_opts none;
    struct onnx_scope root = {.prefix = ""};
    struct onnx_cx cx = {.o = o ? o : &none, .r = r, .folder = folder, .scope = &root, .label = ""};
    arena_init(&cx.arena);
    enum status st = onnx_parse_model(&cx.arena, data, size, &cx.model);
    if (st == ST_OK)
        st = build_init(&cx.b, cx.model.graph.name[0] ? cx.model.graph.name : "model", r);
    if (st == ST_OK) {
        cx.b.float16 = cx.o->float16;
        cx.b.opts = cx.o;
        st = run(&cx);
    }
    if (st == ST_OK)
        *ret = TAKE(cx.b.g);
    build_finish(&cx.b);
    mem_free(cx.names.slots);
    arena_finish(&cx.arena);
    return st;
}
