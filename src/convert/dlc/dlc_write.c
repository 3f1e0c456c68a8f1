/* SPDX-License-Identifier: Apache-2.0 */
/* From graphs to a DLC. The bytes of constants are copied once, into the flatbuffer of "model.params", which is allocated at
 * its full size. */
#include <math.h>
#include <string.h>

#include "convert/dlc/dlc.h"
#include "convert/dlc/dlc_container.h"
#include "convert/write.h"

enum { PARTS = 4 }; /* model, params, extra, sources */
static const uint64_t inline_max = UINT64_C(0x7f000000); /* a flatbuffer ends at 2 GiB */

struct writer {
    struct fbw model, params, extra, sources;
    bool has_extra, has_sources;
    bool outside;                 /* constants are in a record of their own … */
    VEC(struct dlc_piece) weights; /* … which these make */
    uint64_t weight_bytes;
    struct arena names;
};

/* A list of places in one of the flatbuffers. */
struct places {
    uint32_t *at;
    uint32_t n;
};

static enum status places_init(struct writer *w, struct places *p, size_t n)
{
    *p = (struct places){ .at = arena_array(&w->names, uint32_t, n) };
    RETURN_IF(!p->at || n > UINT32_MAX, ST_NO_MEMORY, "no memory for a list of %zu entries", n);
    return ST_OK;
}

/* ---- parameters ------------------------------------------------------------------------------------------------------- */

/* Scalars of the types that every reader knows; others are written as tensors without dimensions. */
static bool is_plain_scalar(const struct op_value *v)
{
    return v->rank == 0 &&
           (v->type == DT_I32 || v->type == DT_U32 || v->type == DT_U8 || v->type == DT_B8 || v->type == DT_F32);
}

static uint32_t put_value(struct fbw *w, const struct op_value *v)
{
    int32_t number = 0;
    float real;
    memcpy(&real, v->data, v->type == DT_F32 ? sizeof real : 0);
    memcpy(&number, v->data, dtype_bytes(v->type, 1));
    fbw_begin(w);
    if (v->type == DT_F32)
        fbw_f32(w, DLC_VALUE_FLOAT, real);
    else
        fbw_i32(w, DLC_VALUE_INT, number, 0);
    fbw_i32(w, DLC_VALUE_KIND, (int32_t)convert_dtype_number(v->type), 0);
    return fbw_end(w);
}

static uint32_t put_tensor_table(struct fbw *w, uint32_t id, const char *name, uint32_t type, const struct tensor_desc *d)
{
    uint32_t info = dlc_put_info(w, d), shape = fbw_words(w, d->dims, d->rank), text = fbw_string(w, name);
    int32_t dtype = (int32_t)convert_dtype_number(d->type);
    fbw_begin(w);
    fbw_i32(w, DLC_TENSOR_OUT_DTYPE, dtype, 0);
    fbw_i32(w, DLC_TENSOR_DTYPE, dtype, 0);
    fbw_ref(w, DLC_TENSOR_INFO, info);
    fbw_ref(w, DLC_TENSOR_SHAPE, shape);
    fbw_i32(w, DLC_TENSOR_TYPE, (int32_t)type, 0);
    fbw_ref(w, DLC_TENSOR_NAME, text);
    fbw_i32(w, DLC_TENSOR_ID, (int32_t)id, 0);
    return fbw_end(w);
}

static uint32_t put_bytes(struct fbw *w, const char *name, const void *data, uint64_t bytes)
{
    uint32_t at = fbw_bytes(w, data, bytes), text = fbw_string(w, name);
    fbw_begin(w);
    fbw_ref(w, DLC_DATA_BYTES, at);
    fbw_ref(w, DLC_DATA_NAME, text);
    return fbw_end(w);
}

static enum status put_param(struct writer *w, const struct ir_node *n, uint32_t i, struct places *attributes,
                             struct places *data)
{
    const struct op_value *v = &n->params[i];
    const char *name = n->op->params[i].name;
    uint32_t value = 0, tensor = 0;
    if (is_plain_scalar(v)) {
        value = put_value(&w->model, v);
    } else {
        struct tensor_desc d = { .type = v->type, .rank = v->rank };
        const char *full = arena_printf(&w->names, "%s_%s", n->name, name);
        RETURN_IF(!full, ST_NO_MEMORY, "no memory for the parameters of node \"%s\"", n->name);
        memcpy(d.dims, v->dims, sizeof d.dims);
        tensor = put_tensor_table(&w->model, 0, full, 4, &d);
        data->at[data->n++] = put_bytes(&w->params, full, v->data, dtype_bytes(v->type, v->count));
    }
    uint32_t text = fbw_string(&w->model, name);
    fbw_begin(&w->model);
    fbw_ref(&w->model, DLC_ATTR_TENSOR, tensor);
    fbw_ref(&w->model, DLC_ATTR_VALUE, value);
    fbw_i32(&w->model, DLC_ATTR_KIND, tensor ? DLC_ATTR_IS_TENSOR : DLC_ATTR_SCALAR, 0);
    fbw_ref(&w->model, DLC_ATTR_NAME, text);
    attributes->at[attributes->n++] = fbw_end(&w->model);
    return ST_OK;
}

/* ---- nodes and tensors ------------------------------------------------------------------------------------------------ */

static enum status put_ports(struct writer *w, const struct ir_graph *g, const uint32_t *list, uint32_t n, uint32_t *ret)
{
    struct places p;
    TRY(places_init(w, &p, n));
    for (uint32_t i = 0; i < n; i++)
        p.at[i] = fbw_string(&w->model, list[i] == IR_NONE ? "" : g->tensors.at[list[i]].name);
    *ret = fbw_refs(&w->model, p.at, n);
    return ST_OK;
}

static enum status put_node(struct writer *w, const struct ir_graph *g, const struct ir_node *n, struct places *nodes,
                            struct places *data)
{
    struct places attributes, bytes;
    uint32_t in, out, count = op_param_count(n->op);
    RETURN_IF(n->dead || n->n_aux || n->post.lo != -INFINITY || n->post.hi != INFINITY, ST_INVALID_ARG,
              "node \"%s\" was rewritten for execution; a DLC holds graphs as they were converted", n->name);
    TRY(places_init(w, &attributes, count));
    TRY(places_init(w, &bytes, count));
    for (uint32_t i = 0; i < count; i++)
        if (n->params[i].data)
            TRY(put_param(w, n, i, &attributes, &bytes));
    TRY(put_ports(w, g, n->in, n->n_in, &in));
    TRY(put_ports(w, g, n->out, n->n_out, &out));
    uint32_t list = fbw_refs(&w->model, attributes.at, attributes.n), type = fbw_string(&w->model, n->op->name),
             name = fbw_string(&w->model, n->name);
    fbw_begin(&w->model);
    fbw_ref(&w->model, DLC_NODE_ATTRIBUTES, list);
    fbw_ref(&w->model, DLC_NODE_OUTPUTS, out);
    fbw_ref(&w->model, DLC_NODE_INPUTS, in);
    fbw_ref(&w->model, DLC_NODE_TYPE, type);
    fbw_ref(&w->model, DLC_NODE_NAME, name);
    nodes->at[nodes->n++] = fbw_end(&w->model);

    uint32_t tensors = fbw_refs(&w->params, bytes.at, bytes.n);
    fbw_begin(&w->params);
    fbw_ref(&w->params, DLC_NODE_PARAMS_TENSORS, tensors);
    data->at[data->n++] = fbw_end(&w->params);
    return ST_OK;
}

/* The bytes stay where they are until the file is written. */
static enum status put_outside(struct writer *w, const struct ir_tensor *t)
{
    static const uint8_t zeros[DLC_WEIGHTS_ALIGN];
    uint64_t gap = (DLC_WEIGHTS_ALIGN - w->weight_bytes % DLC_WEIGHTS_ALIGN) % DLC_WEIGHTS_ALIGN;
    struct dlc_piece *pad = gap ? vec_push(&w->weights) : NULL;
    RETURN_IF(gap && !pad, ST_NO_MEMORY, "no memory for the list of constants");
    if (pad)
        *pad = (struct dlc_piece){ zeros, gap };
    struct dlc_piece *p = vec_push(&w->weights);
    RETURN_IF(!p, ST_NO_MEMORY, "no memory for the list of constants");
    *p = (struct dlc_piece){ t->data, desc_bytes(&t->desc) };
    w->weight_bytes += gap + p->size;
    return ST_OK;
}

static enum status put_tensor(struct writer *w, const struct ir_tensor *t, struct places *tensors, struct places *data,
                              struct places *extras)
{
    uint32_t type;
    bool constant = t->role == IR_CONST;
    RETURN_IF(t->stripped || t->raw_bytes || (constant && !t->data), ST_INVALID_ARG,
              "tensor \"%s\" was rewritten for execution; a DLC holds graphs as they were converted", t->name);
    RETURN_IF(!dlc_type_from_role(t, &type), ST_UNSUPPORTED_TENSOR,
              "tensor \"%s\" is updateable or optional in a way that no tensor type says", t->name);
    tensors->at[tensors->n] = put_tensor_table(&w->model, tensors->n + 1, t->name, type, &t->desc);
    tensors->n++;
    if (constant && w->outside)
        TRY(put_outside(w, t));
    else if (constant)
        data->at[data->n++] = put_bytes(&w->params, t->name, t->data, desc_bytes(&t->desc));
    if (t->role != IR_ABSENT && dlc_needs_extra(&t->desc))
        extras->at[extras->n++] = dlc_put_extra(&w->extra, t);
    return ST_OK;
}

/* Viewers find the inputs of a graph by nodes that stand for them; readers that execute pass them by. */
static enum status put_input(struct writer *w, const struct ir_tensor *t, struct places *nodes, struct places *data)
{
    struct fbw *m = &w->model;
    uint32_t name = fbw_string(m, t->name), list = fbw_refs(m, &name, 1), none = fbw_refs(m, NULL, 0),
             type = fbw_string(m, "Input");
    fbw_begin(m);
    fbw_ref(m, DLC_NODE_ATTRIBUTES, none);
    fbw_ref(m, DLC_NODE_OUTPUTS, none);
    fbw_ref(m, DLC_NODE_INPUTS, list);
    fbw_ref(m, DLC_NODE_TYPE, type);
    fbw_ref(m, DLC_NODE_NAME, name);
    nodes->at[nodes->n++] = fbw_end(m);
    uint32_t empty = fbw_refs(&w->params, NULL, 0);
    fbw_begin(&w->params);
    fbw_ref(&w->params, DLC_NODE_PARAMS_TENSORS, empty);
    data->at[data->n++] = fbw_end(&w->params);
    return ST_OK;
}

static bool is_input(const struct ir_tensor *t)
{
    return t->role == IR_INPUT || t->role == IR_INOUT;
}

static enum status put_nodes(struct writer *w, const struct ir_graph *g, uint32_t *nodes_at, uint32_t *data_at)
{
    struct places nodes, data;
    size_t n = g->nodes.n;
    for (size_t i = 0; i < g->tensors.n; i++)
        n += is_input(&g->tensors.at[i]);
    TRY(places_init(w, &nodes, n));
    TRY(places_init(w, &data, n));
    for (size_t i = 0; i < g->tensors.n; i++)
        if (is_input(&g->tensors.at[i]))
            TRY(put_input(w, &g->tensors.at[i], &nodes, &data));
    for (size_t i = 0; i < g->nodes.n; i++)
        TRY(put_node(w, g, &g->nodes.at[i], &nodes, &data));
    *nodes_at = fbw_refs(&w->model, nodes.at, nodes.n);
    *data_at = fbw_refs(&w->params, data.at, data.n);
    return ST_OK;
}

/* Same positions as the nodes have. */
static enum status put_sources(struct writer *w, const struct ir_graph *g, uint32_t *ret)
{
    struct places list;
    struct fbw *s = &w->sources;
    TRY(places_init(w, &list, g->tensors.n + g->nodes.n));
    uint32_t none = fbw_string(s, "");
    for (size_t i = 0; i < g->tensors.n; i++)
        if (is_input(&g->tensors.at[i]))
            list.at[list.n++] = none;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const char *source = g->nodes.at[i].source;
        list.at[list.n++] = source ? fbw_string(s, source) : none;
        w->has_sources |= source != NULL;
    }
    uint32_t refs = fbw_refs(s, list.at, list.n), name = fbw_string(s, g->name);
    fbw_begin(s);
    fbw_ref(s, SOURCES_GRAPH_NODES, refs);
    fbw_ref(s, SOURCES_GRAPH_NAME, name);
    *ret = fbw_end(s);
    return ST_OK;
}

static enum status put_graph(struct writer *w, const struct ir_graph *g, uint32_t place[PARTS])
{
    struct places tensors, data, extras;
    uint32_t node_list, node_data_list;
    TRY(places_init(w, &tensors, g->tensors.n));
    TRY(places_init(w, &data, g->tensors.n));
    TRY(places_init(w, &extras, g->tensors.n));
    for (size_t i = 0; i < g->tensors.n; i++)
        TRY(put_tensor(w, &g->tensors.at[i], &tensors, &data, &extras));
    TRY(put_nodes(w, g, &node_list, &node_data_list));
    TRY(put_sources(w, g, &place[3]));
    struct fbw *m = &w->model, *p = &w->params, *x = &w->extra;
    uint32_t tensor_list = fbw_refs(m, tensors.at, tensors.n), name = fbw_string(m, g->name);
    fbw_begin(m);
    fbw_ref(m, DLC_GRAPH_TENSORS, tensor_list);
    fbw_ref(m, DLC_GRAPH_NODES, node_list);
    fbw_ref(m, DLC_GRAPH_NAME, name);
    place[0] = fbw_end(m);

    uint32_t data_list = fbw_refs(p, data.at, data.n);
    name = fbw_string(p, g->name);
    fbw_begin(p);
    fbw_ref(p, DLC_GRAPH_PARAMS_NODES, node_data_list);
    fbw_ref(p, DLC_GRAPH_PARAMS_TENSORS, data_list);
    fbw_ref(p, DLC_GRAPH_PARAMS_NAME, name);
    place[1] = fbw_end(p);

    w->has_extra |= extras.n > 0;
    uint32_t extra_list = fbw_refs(x, extras.at, extras.n);
    name = fbw_string(x, g->name);
    fbw_begin(x);
    fbw_ref(x, EXTRA_GRAPH_TENSORS, extra_list);
    fbw_ref(x, EXTRA_GRAPH_NAME, name);
    place[2] = fbw_end(x);
    return ST_OK;
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */

static enum status close_part(struct fbw *w, const uint32_t *graphs, uint32_t n, const char *identifier,
                              struct dlc_record *ret)
{
    size_t size;
    uint32_t list = fbw_refs(w, graphs, n);
    fbw_begin(w);
    fbw_ref(w, DLC_MODEL_GRAPHS, list); /* the first field of all roots */
    uint32_t root = fbw_end(w);
    TRY(fbw_finish(w, root, identifier, dlc_prefix, (const uint8_t **)&ret->data, &size));
    ret->size = size;
    return ST_OK;
}

/* One line per key; what would end the line early becomes a space. */
static void put_line(struct str *s, const char *key, const char *value)
{
    str_addf(s, "%s=", key);
    for (; value && *value; value++)
        str_addn(s, *value == '\n' || *value == '\r' ? " " : value, 1);
    str_add(s, "\n");
}

static enum status put_records(struct writer *w, const struct ir_graph *const *graphs, uint32_t n,
                               const struct convert_write *o)
{
    struct dlc_record records[PARTS + 2] = { { .name = DLC_METADATA }, { .name = DLC_MODEL }, { .name = DLC_PARAMS } };
    uint32_t count = 3, *places = arena_array(&w->names, uint32_t, PARTS * (size_t)n);
    RETURN_IF(!places, ST_NO_MEMORY, "no memory for %u graphs", n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place[PARTS];
        TRY(put_graph(w, graphs[i], place));
        for (uint32_t k = 0; k < PARTS; k++)
            places[k * n + i] = place[k];
    }
    TRY(close_part(&w->model, places, n, "NETD", &records[1]));
    TRY(close_part(&w->params, places + n, n, "NETP", &records[2]));
    if (w->has_extra) {
        records[count].name = DLC_EXTRA;
        TRY(close_part(&w->extra, places + 2 * n, n, "OQNX", &records[count++]));
    }
    if (w->has_sources) {
        records[count].name = DLC_SOURCES;
        TRY(close_part(&w->sources, places + 3 * n, n, "OQNS", &records[count++]));
    }
    if (w->weights.n)
        records[count++] =
            (struct dlc_record){ .name = DLC_WEIGHTS, .pieces = w->weights.at, .n_pieces = (uint32_t)w->weights.n };

    struct str metadata, path;
    str_init(&metadata);
    str_init(&path);
    put_line(&metadata, "model-version", o->version);
    put_line(&metadata, "converter-command", o->command);
    if (o->copyright)
        put_line(&metadata, "model-copyright", o->copyright);
    str_addf(&path, "%s%s", o->path ? o->path : o->prefix, o->path ? "" : ".dlc");
    records[0].data = metadata.at;
    records[0].size = metadata.n;
    enum status st = metadata.failed || path.failed ? status_fail(ST_NO_MEMORY, "no memory for the path of a DLC")
                                                    : dlc_write_file(path.at, records, count);
    str_finish(&path);
    str_finish(&metadata);
    return st;
}

enum status convert_write_dlc(const struct ir_graph *const *graphs, uint32_t n, const struct convert_write *o)
{
    size_t constants = 4096;
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < graphs[i]->tensors.n; k++)
            if (write_archived(&graphs[i]->tensors.at[k]))
                constants += write_bytes(&graphs[i]->tensors.at[k]) + 64 + strlen(graphs[i]->tensors.at[k].name);
    struct writer w = { .outside = constants > (o->inline_max ? o->inline_max : inline_max) };
    arena_init(&w.names);
    fbw_init(&w.model, 1 << 16);
    fbw_init(&w.params, w.outside ? 1 << 16 : constants);
    fbw_init(&w.extra, 0);
    fbw_init(&w.sources, 0);
    enum status st = put_records(&w, graphs, n, o);
    fbw_free(&w.model);
    fbw_free(&w.params);
    fbw_free(&w.extra);
    fbw_free(&w.sources);
    vec_finish(&w.weights);
    arena_finish(&w.names);
    return st;
}
