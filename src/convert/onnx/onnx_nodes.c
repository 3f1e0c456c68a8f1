/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes one after the other: functions of the model are put in place, what is known is computed, everything else goes to the
 * handler of its row. A node that cannot be converted is written into the report and its outputs are poisoned, so that the
 * rest is still looked at and everything unsupported is told at once. */
#include <string.h>

#include "convert/onnx/onnx.h"

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
            TRY(onnx_poison(cx, n->out[i]));
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

static enum status node_issue(struct onnx_cx *cx, const struct onnx_node *n, enum status why)
{
    if (!cx->poisoned) {
        cx->n_refused += why != ST_SHAPE;
        const char *nearest = onnx_row_find(n->op) ? NULL : onnx_row_nearest(n->op);
        TRY(report_issue(cx->r, cx->label, n->op, status_text(), nearest));
    }
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i][0])
            TRY(onnx_poison(cx, n->out[i]));
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

bool onnx_is_needed(struct onnx_cx *cx, const struct onnx_node *n)
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
    cx->label = n->name[0] ? arena_printf(&cx->arena, "%s%s", prefix, n->name)
                           : arena_printf(&cx->arena, "%s%s_%zu", prefix, n->op, number);
    RETURN_IF(!cx->label, ST_NO_MEMORY, "no memory for the name of a node");
    size_t built = cx->b.g->nodes.n;
    build_source(&cx->b, n->op, cx->label);
    enum status st = convert_node(cx, n);
    if (st == ST_OK && built == cx->b.g->nodes.n)
        note_absorbed(cx, n);
    return st == ST_OK || st == ST_NO_MEMORY ? st : node_issue(cx, n, st);
}

enum status onnx_node_at(struct onnx_cx *cx, const struct onnx_node *nodes, size_t number)
{
    const struct onnx_node *outer = cx->node;
    const char *outer_label = cx->label;
    if (!onnx_is_needed(cx, &nodes[number]))
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
