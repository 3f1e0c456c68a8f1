/* SPDX-License-Identifier: Apache-2.0 */
/* Netron knows the description that converters write beside a model source ("model.cpp"): tensors by name with a type, nodes
 * by name with the names of their tensors, and parameters as { "data type": value }. Names are keys there, so those that
 * occur twice get a number. */
#include "analysis/htp_json.h"

#include <stdio.h>
#include <string.h>

#include "analysis/page.h"
#include "base/mem.h"

/* Types of tensors and of scalar parameters in that form. */
enum { NET_INPUT = 0, NET_OUTPUT = 1, NET_NATIVE = 3, NET_CONSTANT = 4, NET_UNDEFINED = 0x7fffffff };
enum { NET_FLOAT32 = 0x0232, NET_UINT64 = 0x0164, NET_STRING = 0x0608, NET_BOOL = 0x0508 };

/* 0x0316 is a signed fixed-point number of 16 bits: the kind, and bits written as if they were decimal. */
static uint32_t net_type(enum dtype t)
{
    static const uint8_t kinds[] = {
        [DK_INT] = 0, [DK_UINT] = 1, [DK_FLOAT] = 2, [DK_SFIXED] = 3, [DK_UFIXED] = 4, [DK_BOOL] = 5, [DK_STRING] = 6
    };
    enum dtype_kind kind = dtype_kind(t);
    unsigned bits = dtype_bits(t);
    bool plain = kind == DK_INT || kind == DK_UINT;

    if (kind == DK_NONE || bits < 4 || t == DT_BF16 || t == DT_F64 || (plain && bits < 8))
        return NET_UNDEFINED;
    return (uint32_t)kinds[kind] << 8 | (bits / 10 << 4) | bits % 10;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

/* A name that the object does not have yet. */
static char *free_name(const json_t *o, const char *name, struct arena *a)
{
    const char *base = name[0] ? name : "unnamed";
    char *text = arena_strdup(a, base);

    for (unsigned i = 2; text && json_object_get(o, text); i++)
        text = arena_printf(a, "%s#%u", base, i);
    return text;
}

static json_t *dims_json(uint32_t rank, const uint32_t *dims)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < rank; i++)
        json_array_append_new(list, json_integer(dims[i]));
    return list;
}

static uint32_t net_kind(const struct binary_tensor *t)
{
    if (t->io == IO_INPUT || t->io == IO_BOTH)
        return NET_INPUT;
    if (t->io == IO_OUTPUT)
        return NET_OUTPUT;
    /* without a place: weights whose packed form is all that is there */
    return t->place == PLACE_CONST || t->place == PLACE_NONE ? NET_CONSTANT : NET_NATIVE;
}

static const char *place_name(const struct binary_tensor *t)
{
    static const char *const names[PLACE_COUNT] = { "none",       "constants",          "scratch", "persistent",
                                                    "I/O buffer", "lines of its chain", "VTCM",    "spill-fill buffer" };
    return names[t->place];
}

static json_t *tensor_json(const struct binary_tensor *t, uint32_t id)
{
    const struct quant *q = &t->desc.q;
    json_t *o = json_object();

    json_object_set_new(o, "id", json_integer(id));
    json_object_set_new(o, "type", json_integer(net_kind(t)));
    json_object_set_new(o, "data_type", json_integer(net_type(t->desc.type)));
    json_object_set_new(o, "dims", dims_json(t->desc.rank, t->desc.dims));
    if (dtype_is_fixed(t->desc.type) && !q->n)
        json_object_set_new(o, "quant_params",
                            json_pack("{s:i,s:i,s:{s:f,s:i}}", "definition", 1, "encoding", 0, "scale_offset", "scale",
                                      (double)q->scale, "offset", (int)q->offset));
    json_object_set_new(o, "place", page_text(place_name(t)));
    json_object_set_new(o, "offset", json_integer((json_int_t)t->offset));
    json_object_set_new(o, "bytes", json_integer((json_int_t)t->bytes));
    return o;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

static json_t *names_json(const uint32_t *list, uint32_t n, char *const *names)
{
    json_t *o = json_array();

    for (uint32_t i = 0; i < n; i++)
        if (list[i] != BINARY_NONE)
            json_array_append_new(o, page_text(names[list[i]]));
    return o;
}

static void set_scalar(json_t *to, const char *key, uint32_t type, json_t *value)
{
    char code[16];
    json_t *o = json_object();

    snprintf(code, sizeof code, "%u", type);
    json_object_set_new(o, code, value);
    json_object_set_new(to, key, o);
}

/* What the report says of an operator, but for what the node has anyway. */
static void set_report(json_t *scalars, const json_t *op)
{
    static const char *const elsewhere[] = { "op", "short_name", "type", "inputs", "outputs", NULL };
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)op, key, value)
    {
        bool known = false;
        for (int i = 0; elsewhere[i]; i++)
            known |= strcmp(key, elsewhere[i]) == 0;
        if (known)
            continue;
        uint32_t type = NET_STRING;
        if (json_is_integer(value))
            type = NET_UINT64;
        else if (json_is_real(value))
            type = NET_FLOAT32;
        else if (json_is_boolean(value))
            type = NET_BOOL;
        set_scalar(scalars, key, type, json_incref(value));
    }
}

static json_t *element(const struct op_value *v, uint32_t i)
{
    const char *at = (const char *)v->data + (size_t)i * dtype_bits(v->type) / 8;
    int64_t wide = 0;
    float real;

    if (v->type == DT_F32) {
        memcpy(&real, at, sizeof real);
        return json_real((double)real);
    }
    if (dtype_is_float(v->type) || dtype_bits(v->type) < 8)
        return NULL;
    memcpy(&wide, at, dtype_bits(v->type) / 8);
    unsigned unused = 64 - dtype_bits(v->type);
    bool below_zero = dtype_kind(v->type) == DK_INT || dtype_kind(v->type) == DK_SFIXED;
    if (below_zero && unused)
        wide = (int64_t)((uint64_t)wide << unused) >> unused;
    return json_integer((json_int_t)wide);
}

static json_t *values_json(const struct op_value *v)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < v->count; i++) {
        json_t *e = element(v, i);
        if (!e)
            break;
        json_array_append_new(list, e);
    }
    return list;
}

/* Parameters of the operator: scalars beside the report, arrays as tensors. */
static void set_params(const struct binary_node *n, json_t *scalars, json_t *tensors)
{
    enum { MOST = 4096 /* elements that are shown */ };

    for (uint32_t i = 0; i < op_param_count(n->op); i++) {
        const struct op_value *v = &n->params[i];
        char type[16];
        json_t *first;

        if (!v->data || v->type == DT_STR || v->count > MOST)
            continue;
        if (v->rank) {
            snprintf(type, sizeof type, "%u", net_type(v->type));
            json_t *tensor = json_pack("{s:i,s:o,s:o}", "data_type", net_type(v->type), "dims", dims_json(v->rank, v->dims),
                                       "data", values_json(v));
            json_t *o = json_object();
            json_object_set_new(o, n->op->params[i].name, tensor);
            json_object_set_new(tensors, n->op->params[i].name, o);
            continue;
        }
        first = v->count ? element(v, 0) : NULL;
        if (first)
            set_scalar(scalars, n->op->params[i].name, net_type(v->type), first);
    }
}

static json_t *node_json(const struct binary_graph *g, const json_t *op, char *const *names)
{
    const struct binary_node *n = &g->nodes[json_integer_value(json_object_get(op, "id"))];
    json_t *o = json_object();
    json_t *scalars = json_object(), *tensors = json_object();

    set_report(scalars, op);
    set_params(n, scalars, tensors);
    json_object_set_new(o, "package", page_text("qti.aisw"));
    json_object_set_new(o, "type", page_text(n->op->name));
    json_object_set_new(o, "tensor_params", tensors);
    json_object_set_new(o, "scalar_params", scalars);
    json_object_set_new(o, "input_names", names_json(n->in, n->n_in, names));
    json_object_set_new(o, "output_names", names_json(n->out, n->n_out, names));
    return o;
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */

/* Tensors of operators that are wanted, and those of the client. */
static void mark_used(const struct qhas_graph *q, bool *used)
{
    const struct binary_graph *g = q->g;

    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct binary_node *n = &g->nodes[k];
        for (uint32_t i = 0; qhas_wanted(q, k) && i < n->n_in + n->n_out; i++) {
            uint32_t t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
            if (t != BINARY_NONE)
                used[t] = true;
        }
    }
}

json_t *htp_json(const struct qhas_graph *q, const json_t *report)
{
    CLEANUP(arena_finish) struct arena a;
    const struct binary_graph *g = q->g;
    json_t *op;
    size_t i;

    arena_init(&a);
    char **names = arena_array(&a, char *, g->n_tensors + 1);
    bool *used = arena_array(&a, bool, g->n_tensors + 1);
    if (!names || !used)
        return NULL;

    json_t *tensors = json_object(), *nodes = json_object();
    mark_used(q, used);
    for (uint32_t t = 0; t < g->n_tensors; t++) {
        names[t] = used[t] ? free_name(tensors, g->tensors[t].name, &a) : NULL;
        if (names[t])
            json_object_set_new(tensors, names[t], tensor_json(&g->tensors[t], t));
    }
    json_array_foreach(json_object_get(report, "qnn_op"), i, op)
    {
        const char *name = json_string_value(json_object_get(op, "op"));
        json_object_set_new(nodes, free_name(nodes, name, &a), node_json(g, op, names));
    }
    json_t *graph = json_pack("{s:o,s:o}", "tensors", tensors, "nodes", nodes);
    return json_pack("{s:s,s:s,s:s,s:s,s:o}", "model.cpp", "", "model.bin", "", "converter_command",
                     "qnn-profile-viewer (topology and estimate of the HTP graph)", "copyright_str", "", "graph", graph);
}
