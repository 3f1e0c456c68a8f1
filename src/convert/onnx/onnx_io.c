/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs of the model: shapes that the user says, layouts, types, and how the client sees them. */
#include <string.h>

#include "convert/onnx/onnx.h"

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

static enum status input_dims(struct onnx_cx *cx, const struct onnx_info *in, const struct convert_input *said,
                              struct tensor_desc *d)
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
        REFUSE_WHEN(v < 0, "dimension %u is not fixed%s%s; give it with --input_dim or --define_symbol", k,
                    in->symbols[k] ? ": " : "", in->symbols[k] ? in->symbols[k] : "");
        REFUSE_WHEN(v > UINT32_MAX, "dimension %u has %lld elements; 1 … %u are possible", k, (long long)v, UINT32_MAX);
        d->dims[k] = (uint32_t)v;
    }
    return ST_OK;
}

/* Without elements nothing overflows; with too many a product of dimensions means nothing. */
static enum status count_elements(const struct tensor_desc *d, const char *name, uint64_t *ret)
{
    *ret = 0;
    for (uint32_t i = 0; i < d->rank; i++)
        if (!d->dims[i])
            return ST_OK;
    TRY(desc_check(d, name));
    *ret = desc_count(d);
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

static const char *const channel_first[] = { "", "", "", "NCF", "NCHW", "NCDHW" }, *const channel_last[] = {
    "", "", "", "NFC", "NHWC", "NDHWC"
};

static bool wants_channel_last(struct onnx_cx *cx, const struct onnx_info *in, const struct convert_input *said,
                               uint32_t rank)
{
    if (cx->o->preserve_io || rank < 3 || rank > 5)
        return false;
    if (said && said->layout)
        return !strcmp(said->layout, channel_first[rank]);
    return feeds_spatial(cx, in->name, 0);
}

/* The only thing that reads it is DequantizeLinear with constant parameters: the input itself becomes fixed point. */
static bool dequantized_input(struct onnx_cx *cx, const struct onnx_info *in, const struct tensor_desc *plain,
                              struct tensor_desc *d)
{
    struct onnx_entry *e = onnx_entry(cx, "", in->name, false);
    if (!e || !e->uses || e->uses->next || strcmp(e->uses->node->op, "DequantizeLinear") != 0 || e->uses->port != 0)
        return false;
    const struct onnx_node *n = e->uses->node;
    const struct onnx_value *s = onnx_has(n, 1) ? onnx_find(cx, n->in[1]) : NULL,
                            *z = onnx_has(n, 2) ? onnx_find(cx, n->in[2]) : NULL;
    static const enum dtype fixed[DT_COUNT] = {[DT_U8] = DT_UQ8, [DT_I8] = DT_SQ8, [DT_U16] = DT_UQ16, [DT_I16] = DT_SQ16};
    if (!fixed[plain->type] || !s || !s->data || onnx_count(s) != 1 ||
        (onnx_has(n, 2) && (!z || !z->data || onnx_count(z) != 1)))
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
    struct convert_io io = { .source_name = v->name,
                             .graph_name = cx->b.g->tensors.at[v->tensor].name,
                             .source_layout = source,
                             .graph_layout = last ? channel_last[v->rank] : source };
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
    uint64_t count;
    REFUSE_WHEN(d.type == DT_NONE, "its elements are of type %s; no tensor of the graph can have that",
                onnx_elem_name(in->elem));
    TRY(input_dims(cx, in, said, &d));
    REFUSE_WHEN(d.type == DT_F64 && !only_cast(cx, in->name),
                "its elements are float64, which is computed in float32 and may not fit; say that this is wanted with "
                "--input_dtype %s float32",
                in->name);
    TRY(count_elements(&d, in->name, &count));
    if (count == 0)
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
    bool half = cx->b.float16, keep = half && d.type == DT_F32 && convert_keeps_type(&cx->arena, cx->o, in->name);
    cx->b.float16 = half && !keep;
    enum status st = build_input(B, in->name, dequantized_input(cx, in, &d, &fixed) ? &fixed : &d, &t);
    cx->b.float16 = half;
    TRY(st);
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
    else if (keep || d.type != in->type)
        TRY(onnx_cast(cx, "source_type", t, onnx_inner_type(in->type), &v->tensor));
    v->stored = build_desc(B, v->tensor)->type;
    return ST_OK;
}

enum status onnx_inputs(struct onnx_cx *cx)
{
    const struct onnx_graph *g = &cx->model.graph;
    TRY(given_constants(cx));
    for (size_t i = 0; i < g->n_inputs; i++) {
        const struct onnx_info *in = &g->inputs[i];
        if (onnx_find(cx, in->name))
            continue; /* an initializer: old files list them among the inputs */
        enum status st = add_input(cx, in);
        if (st == ST_NO_MEMORY || st == ST_BAD_TEXT)
            return st;
        if (st != ST_OK) {
            TRY(report_issue(cx->r, in->name, "input", status_text(), NULL));
            TRY(onnx_poison(cx, in->name));
        }
    }
    return ST_OK;
}

/* ---- outputs ------------------------------------------------------------------------------------------------------ */

static enum status note_output(struct onnx_cx *cx, const struct onnx_value *v, uint32_t t, bool last)
{
    struct convert_io io = { .source_name = v->name,
                             .graph_name = cx->b.g->tensors.at[t].name,
                             .output = true,
                             .source_layout = last ? channel_first[v->rank] : "",
                             .graph_layout = last ? channel_last[v->rank] : "" };
    return report_io(cx->r, &io);
}

/* What the source says of an output; a tensor that is none there is what the graph makes of it. */
static enum dtype declared_type(const struct onnx_cx *cx, const char *name, enum dtype dflt)
{
    const struct onnx_graph *g = &cx->model.graph;
    for (size_t i = 0; i < g->n_outputs; i++)
        if (!strcmp(g->outputs[i].name, name) && g->outputs[i].type != DT_NONE)
            return g->outputs[i].type;
    return dflt;
}

/* In a graph of f16: an output that has the type of the source all the same. */
static enum status keep_type(struct onnx_cx *cx, enum dtype type, uint32_t *t)
{
    enum status st = ST_OK;
    if (build_desc(B, *t)->type != DT_F16 || type == DT_F16 || dtype_kind(type) != DK_FLOAT)
        return ST_OK;
    cx->b.float16 = false;
    if (type != DT_F32)
        st = onnx_cast(cx, "float32", *t, DT_F32, t);
    if (st == ST_OK)
        st = onnx_cast(cx, "source_type", *t, type, t);
    cx->b.float16 = true;
    return st;
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
    bool keep_last =
        !cx->o->preserve_io && !onnx_is_const(v) && v->rank >= 3 && v->rank <= 5 && !memcmp(last, v->perm, v->rank);
    if (dtype_is_fixed(v->stored) && !v->view)
        TRY(onnx_stored(cx, v, keep_last ? last : NULL, &t));
    else
        TRY(onnx_tensor(cx, v, keep_last ? last : NULL, &t));
    if (convert_keeps_type(&cx->arena, cx->o, name))
        TRY(keep_type(cx, declared_type(cx, name, v->type), &t));
    else if (onnx_inner_type(v->type) != v->type && !cx->b.float16)
        TRY(onnx_cast(cx, "source_type", t, v->type, &t));
    TRY(build_output(B, t, name, &t));
    return note_output(cx, v, t, keep_last);
}

enum status onnx_outputs(struct onnx_cx *cx)
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
