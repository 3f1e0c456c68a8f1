/* SPDX-License-Identifier: Apache-2.0 */
/* From the records of a DLC to graphs.
 *
 *     model   Graph ── Tensor (name, type, shape, encoding)     Node (operator, names of tensors, attributes)
 *                        │ by name                               │ same position in the list
 *     params  Graph ── bytes of constants                        bytes of tensor attributes
 *
 * Nothing here trusts the file: positions are checked by the flatbuffer reader, names are looked up in sorted lists (no time
 * that grows with the square of the file), and the finished graph passes ir_verify. Operators that we do not have are all
 * reported. */
#include <stdlib.h>
#include <string.h>

#include "convert/builder.h"
#include "convert/dlc/dlc.h"

const uint8_t dlc_prefix[DLC_PREFIX_BYTES] = { 0xD5, 0x0A, 4, 0, 0, 0, 0, 0 };

enum { KIND_STRING = 0x0608, KIND_UNDEFINED = 0x7fffffff, TYPE_STATIC = 4 };

/* Tables with a name, sorted by it. */
struct named {
    const char *name;
    struct fb_table t;
};
struct index {
    struct named *at;
    uint32_t n;
};

struct reader {
    struct convert_report *report;
    struct fb model, params, outer, extra, sources;
    struct fb_vec buffers; /* NR64: constants in the order of their names, then tensor attributes */
    bool by_order;
    struct dlc_part weights; /* constants one behind the other, instead of in params */
    uint64_t next_weight;
    uint32_t next_buffer;
    struct arena scratch;
    struct ir_graph *g;        /* being read */
    struct index data, extras; /* of g */
    struct fb_vec node_data, node_sources;
    uint32_t unsupported;
    const char *first_unsupported;
};

enum status dlc_layout(const struct fb *b, const char *part)
{
    RETURN_IF(
        b->bad, ST_BAD_BINARY,
        "record \"%s\" of the DLC is malformed: %s at byte %llu of %llu; the file is cut off or damaged, make it again",
        part, b->bad, (unsigned long long)b->bad_at, (unsigned long long)b->n);
    return ST_OK;
}

/* ---- lists by name ---------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static enum status make_index(struct reader *r, struct fb_vec v, unsigned name_field, const char *what, struct index *ret)
{
    *ret = (struct index){ .at = arena_array(&r->scratch, struct named, v.n) };
    RETURN_IF(!ret->at, ST_NO_MEMORY, "no memory for a list of %u names", v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        struct fb_table t = fb_at_table(v, i);
        const char *name = fb_string(t, name_field);
        RETURN_IF(!name, ST_BAD_BINARY, "entry %u of the DLC's list of %s has no field \"name\"", i, what);
        ret->at[ret->n++] = (struct named){ name, t };
    }
    if (ret->n)
        qsort(ret->at, ret->n, sizeof *ret->at, by_name);
    return ST_OK;
}

static const struct named *find_name(const struct index *x, const char *name)
{
    struct named key = { .name = name };
    return x->n ? bsearch(&key, x->at, x->n, sizeof key, by_name) : NULL;
}

/* The entry of a short list; every look is charged to the budget of the file. */
static struct fb_table find_table(struct fb_vec v, unsigned name_field, const char *name)
{
    for (uint32_t i = 0; i < v.n && fb_charge(v.b, 1); i++) {
        const char *other = fb_string(fb_at_table(v, i), name_field);
        if (other && strcmp(other, name) == 0)
            return fb_at_table(v, i);
    }
    return (struct fb_table){ 0 };
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

static enum status take_buffer(struct reader *r, const char *name, struct fb_vec *ret)
{
    RETURN_IF(r->next_buffer >= r->buffers.n, ST_BAD_BINARY,
              "the DLC has %u buffers of constants; tensor \"%s\" would need one more", r->buffers.n, name);
    *ret = fb_vector(fb_at_table(r->buffers, r->next_buffer++), DLC_BUFFER_BYTES, 1);
    return ST_OK;
}

static enum status check_size(struct fb_vec bytes, const struct tensor_desc *d, const char *name)
{
    char text[DESC_TEXT_MAX];
    RETURN_IF(bytes.n != desc_bytes(d), ST_BAD_BINARY, "tensor \"%s\" is %s and has %u bytes in \"%s\"; %llu are expected",
              name, desc_text(d, text), bytes.n, DLC_PARAMS, (unsigned long long)desc_bytes(d));
    return ST_OK;
}

static enum status read_shape(struct fb_table t, const char *name, struct tensor_desc *d)
{
    struct fb_vec shape = fb_vector(t, DLC_TENSOR_SHAPE, 4);
    RETURN_IF(shape.n > MAX_RANK, ST_UNSUPPORTED_TENSOR, "tensor \"%s\" has %u dimensions; at most %d are supported", name,
              shape.n, MAX_RANK);
    d->rank = (uint8_t)shape.n;
    for (uint32_t i = 0; i < shape.n; i++) {
        int64_t size = fb_at_int(shape, i, 4);
        RETURN_IF(size < 1, ST_BAD_BINARY, "tensor \"%s\": dimension %u is %lld; at least 1 is expected", name, i,
                  (long long)size);
        d->dims[i] = (uint32_t)size;
    }
    return ST_OK;
}

static enum status read_desc(struct reader *r, struct fb_table t, const char *name, struct tensor_desc *d)
{
    uint32_t number = (uint32_t)fb_int(t, DLC_TENSOR_DTYPE, 4, 0);
    d->type = fb_has(t, DLC_TENSOR_DTYPE) ? dlc_dtype(number) : DT_NONE;
    TRY(dlc_layout(&r->model, DLC_MODEL));
    RETURN_IF(d->type == DT_NONE || d->type == DT_STR, ST_UNSUPPORTED_TENSOR,
              "tensor \"%s\": the field \"data type\" is %s0x%04x, which is not supported", name,
              fb_has(t, DLC_TENSOR_DTYPE) ? "" : "absent, taken as ", number);
    TRY(read_shape(t, name, d));
    return dlc_get_info(t, name, &r->scratch, d);
}

static bool aligned(const void *p, enum dtype t)
{
    unsigned bytes = dtype_bits(t) < 8 ? 1 : dtype_bits(t) / 8;
    return (uintptr_t)p % bytes == 0;
}

/* Every constant has a range of its own, so all of them together are not more than the record. */
static enum status read_outside(struct reader *r, struct ir_tensor *t, uint32_t *ret)
{
    uint64_t bytes = desc_bytes(&t->desc),
             at = (r->next_weight + DLC_WEIGHTS_ALIGN - 1) / DLC_WEIGHTS_ALIGN * DLC_WEIGHTS_ALIGN;
    RETURN_IF(at > r->weights.n || bytes > r->weights.n - at, ST_BAD_BINARY,
              "tensor \"%s\" has %llu bytes from byte %llu of record \"%s\" on, which has %llu", t->name,
              (unsigned long long)bytes, (unsigned long long)at, DLC_WEIGHTS, (unsigned long long)r->weights.n);
    r->next_weight = at + bytes;
    t->data = r->weights.at + at;
    return ir_add_const(r->g, t, aligned(t->data, t->desc.type), ret);
}

static enum status read_constant(struct reader *r, struct ir_tensor *t, uint32_t *ret)
{
    if (r->weights.at)
        return read_outside(r, t, ret);
    struct fb_vec bytes = { 0 };
    const struct named *entry = find_name(&r->data, t->name);
    if (r->by_order && entry) /* its buffer was noted when the names were sorted */
        bytes = fb_vector(entry->t, DLC_BUFFER_BYTES, 1);
    else if (entry)
        bytes = fb_vector(entry->t, DLC_DATA_BYTES, 1);
    RETURN_IF(!entry, ST_BAD_BINARY, "tensor \"%s\" is STATIC; record \"%s\" has no data for it", t->name, DLC_PARAMS);
    TRY(check_size(bytes, &t->desc, t->name));
    t->data = fb_bytes(bytes);
    bool borrow = aligned(t->data, t->desc.type);
    RETURN_IF(!borrow && !fb_charge(bytes.b, bytes.n), ST_BAD_BINARY,
              "the constants of the DLC describe more data than there is");
    return ir_add_const(r->g, t, borrow, ret);
}

static enum status read_tensor(struct reader *r, struct fb_table t, uint32_t i)
{
    struct ir_tensor c = { .name = fb_string(t, DLC_TENSOR_NAME) };
    uint32_t type = (uint32_t)fb_int(t, DLC_TENSOR_TYPE, 4, 0), at;
    TRY(dlc_layout(&r->model, DLC_MODEL));
    RETURN_IF(!c.name, ST_BAD_BINARY, "tensor %u of graph \"%s\" has no field \"name\"", i, r->g->name);
    RETURN_IF(ir_find_tensor(r->g, c.name) != IR_NONE, ST_BAD_BINARY, "graph \"%s\" has two tensors named \"%s\"",
              r->g->name, c.name);
    RETURN_IF(!dlc_type_to_role(type, &c), ST_BAD_BINARY, "tensor \"%s\": the field \"type\" is %u, which is not known",
              c.name, type);
    if (c.role == IR_ABSENT)
        return ir_add_tensor(r->g, &c, &at);
    TRY(read_desc(r, t, c.name, &c.desc));
    const struct named *extra = find_name(&r->extras, c.name);
    if (extra)
        TRY(dlc_get_extra(extra->t, c.name, &r->scratch, &c.desc));
    TRY(dlc_layout(&r->model, DLC_MODEL));
    TRY(dlc_layout(&r->extra, DLC_EXTRA));
    TRY(desc_check(&c.desc, c.name));
    return c.role == IR_CONST ? read_constant(r, &c, &at) : ir_add_tensor(r->g, &c, &at);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

static enum status read_scalar(struct reader *r, struct fb_table value, const char *name, struct op_value *ret)
{
    uint32_t kind = (uint32_t)fb_int(value, DLC_VALUE_KIND, 4, 0);
    enum dtype t = dlc_dtype(kind);
    int64_t number = fb_int(value, DLC_VALUE_INT, 4, 0);
    float real = fb_float(value, DLC_VALUE_FLOAT, 0);
    enum dtype_kind is = dtype_kind(t);
    RETURN_IF(!value.b || (t != DT_F32 && is != DK_INT && is != DK_UINT && is != DK_BOOL), ST_BAD_BINARY,
              "attribute \"%s\": the field \"%s\" is %s0x%04x; a number or bool is expected", name,
              value.b ? "value kind" : "value", value.b ? "" : "absent, ", kind);
    *ret = (struct op_value){ .type = t,
                              .count = 1,
                              .data = t == DT_F32 ? arena_dup(&r->scratch, &real, sizeof real)
                                                  : arena_dup(&r->scratch, &number, sizeof number) };
    RETURN_IF(!ret->data, ST_NO_MEMORY, "no memory for attribute \"%s\"", name);
    return ST_OK;
}

static enum status read_array(struct reader *r, struct fb_table t, struct fb_vec data, const char *name,
                              struct op_value *ret)
{
    struct tensor_desc d = { 0 };
    RETURN_IF(!t.b, ST_BAD_BINARY, "attribute \"%s\" has no field \"tensor\"", name);
    const char *tensor = fb_string(t, DLC_TENSOR_NAME);
    TRY(read_desc(r, t, name, &d));
    TRY(desc_check(&d, name));
    struct fb_vec bytes;
    if (r->by_order) {
        TRY(take_buffer(r, name, &bytes));
    } else {
        struct fb_table entry = find_table(data, DLC_DATA_NAME, tensor ? tensor : "");
        RETURN_IF(!entry.b, ST_BAD_BINARY,
                  "attribute \"%s\" is a tensor; record \"%s\" has no data for it under the name \"%s\"", name, DLC_PARAMS,
                  tensor ? tensor : "");
        bytes = fb_vector(entry, DLC_DATA_BYTES, 1);
    }
    TRY(check_size(bytes, &d, name));
    RETURN_IF(!fb_charge(bytes.b, bytes.n), ST_BAD_BINARY, "the attributes of the DLC describe more data than there is");
    *ret = (struct op_value){ .type = d.type,
                              .rank = d.rank,
                              .count = bytes.n ? (uint32_t)desc_count(&d) : 0,
                              .data = arena_dup(&r->scratch, fb_bytes(bytes), bytes.n) };
    memcpy(ret->dims, d.dims, sizeof ret->dims);
    RETURN_IF(!ret->data, ST_NO_MEMORY, "no memory for attribute \"%s\"", name);
    return ST_OK;
}

/* Texts say where a file comes from, never what an operator computes. */
static bool is_text(struct fb_table value)
{
    uint32_t kind = (uint32_t)fb_int(value, DLC_VALUE_KIND, 4, 0);
    return value.b && (kind == KIND_STRING || kind == KIND_UNDEFINED);
}

static enum status read_params(struct reader *r, struct fb_table node, uint32_t i, struct ir_node *n)
{
    struct fb_vec attributes = fb_vector(node, DLC_NODE_ATTRIBUTES, 4);
    struct fb_vec data = fb_vector(fb_at_table(r->node_data, i), DLC_NODE_PARAMS_TENSORS, 4);
    const char **names = arena_array(&r->scratch, const char *, attributes.n);
    struct op_value *values = arena_array(&r->scratch, struct op_value, attributes.n);
    n->params = arena_array(&r->scratch, struct op_value, op_param_count(n->op) + 1);
    RETURN_IF(!names || !values || !n->params, ST_NO_MEMORY, "no memory for the attributes of node \"%s\"", n->name);
    uint32_t count = 0;
    for (uint32_t k = 0; k < attributes.n; k++) {
        struct fb_table a = fb_at_table(attributes, k), value = fb_sub(a, DLC_ATTR_VALUE);
        int64_t kind = fb_int(a, DLC_ATTR_KIND, 4, DLC_ATTR_SCALAR);
        const char *name = fb_string(a, DLC_ATTR_NAME);
        TRY(dlc_layout(&r->model, DLC_MODEL));
        RETURN_IF(!name, ST_BAD_BINARY, "attribute %u has no field \"name\"", k);
        RETURN_IF(kind != DLC_ATTR_SCALAR && kind != DLC_ATTR_IS_TENSOR, ST_BAD_BINARY,
                  "attribute \"%s\": the field \"kind\" is %lld; 0 (scalar) and 1 (tensor) are known", name,
                  (long long)kind);
        if (kind == DLC_ATTR_SCALAR && is_text(value))
            continue;
        names[count] = name;
        TRY(kind == DLC_ATTR_SCALAR ? read_scalar(r, value, name, &values[count])
                                    : read_array(r, fb_sub(a, DLC_ATTR_TENSOR), data, name, &values[count]));
        count++;
    }
    TRY(dlc_layout(&r->params, DLC_PARAMS));
    TRY(dlc_layout(&r->outer, DLC_PARAMS));
    return op_params_bind(n->op, n->name, names, values, count, n->params);
}

static enum status read_ports(struct reader *r, struct fb_table node, unsigned field, const char *what, uint32_t **ret,
                              uint32_t *ret_n)
{
    struct fb_vec list = fb_vector(node, field, 4);
    RETURN_IF(list.n > MAX_PORTS, ST_BAD_BINARY, "%u %s; at most %d are possible", list.n, what, MAX_PORTS);
    *ret = arena_array(&r->scratch, uint32_t, list.n);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for a node");
    for (uint32_t i = 0; i < list.n; i++) {
        const char *name = fb_at_string(list, i);
        TRY(dlc_layout(&r->model, DLC_MODEL));
        (*ret)[i] = *name ? ir_find_tensor(r->g, name) : IR_NONE;
        RETURN_IF(*name && (*ret)[i] == IR_NONE, ST_BAD_BINARY, "%s: no tensor is named \"%s\"", what, name);
    }
    *ret_n = list.n;
    return ST_OK;
}

static enum status add_node(struct reader *r, struct fb_table t, uint32_t i, struct ir_node *n)
{
    uint32_t at;
    TRY(read_ports(r, t, DLC_NODE_INPUTS, "inputs", &n->in, &n->n_in));
    TRY(read_ports(r, t, DLC_NODE_OUTPUTS, "outputs", &n->out, &n->n_out));
    for (uint32_t k = 0; k < n->n_out; k++)
        RETURN_IF(n->out[k] == IR_NONE, ST_BAD_BINARY, "output %u has no name", k);
    TRY(read_params(r, t, i, n));
    n->source = i < r->node_sources.n ? fb_at_string(r->node_sources, i) : NULL;
    TRY(dlc_layout(&r->sources, DLC_SOURCES));
    if (n->source && !*n->source)
        n->source = NULL;
    return ir_add_node(r->g, n, &at);
}

static enum status read_node(struct reader *r, struct fb_table t, uint32_t i)
{
    const char *type = fb_string(t, DLC_NODE_TYPE), *name = fb_string(t, DLC_NODE_NAME);
    TRY(dlc_layout(&r->model, DLC_MODEL));
    RETURN_IF(!type, ST_BAD_BINARY, "node %u of graph \"%s\" has no field \"type\"", i, r->g->name);
    if (strcmp(type, "Input") == 0) /* the tensor itself says that it is an input */
        return ST_OK;
    struct ir_node n = { .name = name ? name : "", .op = op_find(type), .post = OP_POST_NONE };
    if (!n.op) {
        if (!r->unsupported++)
            r->first_unsupported = type;
        return r->report ? report_issue(r->report, n.name, type, "there is no such operator", NULL) : ST_OK;
    }
    enum status st = add_node(r, t, i, &n);
    return st == ST_OK ? ST_OK : status_prefix(st, "node \"%s\" (%s)", n.name, type);
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

/* NR64: the buffers of a graph's constants follow the order of their names. */
static enum status order_constants(struct reader *r, struct fb_vec tensors)
{
    struct index all;
    TRY(make_index(r, tensors, DLC_TENSOR_NAME, "tensors", &all));
    r->data = (struct index){ .at = all.at };
    for (uint32_t i = 0; i < all.n; i++) {
        if (fb_int(all.at[i].t, DLC_TENSOR_TYPE, 4, 0) != TYPE_STATIC)
            continue;
        RETURN_IF(r->next_buffer >= r->buffers.n, ST_BAD_BINARY,
                  "the DLC has %u buffers of constants; tensor \"%s\" would need one more", r->buffers.n, all.at[i].name);
        r->data.at[r->data.n++] = (struct named){ all.at[i].name, fb_at_table(r->buffers, r->next_buffer++) };
    }
    return ST_OK;
}

static enum status find_data(struct reader *r, const char *name, struct fb_vec tensors)
{
    struct fb_table p = { 0 }, x = { 0 }, s = { 0 };
    if (r->params.at)
        p = find_table(fb_vector(fb_root(&r->params), DLC_PARAMS_GRAPHS, 4), DLC_GRAPH_PARAMS_NAME, name);
    if (r->extra.at)
        x = find_table(fb_vector(fb_root(&r->extra), EXTRA_GRAPHS, 4), EXTRA_GRAPH_NAME, name);
    if (r->sources.at)
        s = find_table(fb_vector(fb_root(&r->sources), SOURCES_GRAPHS, 4), SOURCES_GRAPH_NAME, name);
    r->node_data = fb_vector(p, DLC_GRAPH_PARAMS_NODES, 4);
    r->node_sources = fb_vector(s, SOURCES_GRAPH_NODES, 4);
    if (r->by_order)
        TRY(order_constants(r, tensors));
    else
        TRY(make_index(r, fb_vector(p, DLC_GRAPH_PARAMS_TENSORS, 4), DLC_DATA_NAME, "constants", &r->data));
    TRY(make_index(r, fb_vector(x, EXTRA_GRAPH_TENSORS, 4), EXTRA_NAME, "encodings", &r->extras));
    TRY(dlc_layout(&r->params, DLC_PARAMS));
    TRY(dlc_layout(&r->sources, DLC_SOURCES));
    return dlc_layout(&r->extra, DLC_EXTRA);
}

static enum status read_graph(struct reader *r, struct fb_table t)
{
    struct fb_vec tensors = fb_vector(t, DLC_GRAPH_TENSORS, 4), nodes = fb_vector(t, DLC_GRAPH_NODES, 4);
    TRY(find_data(r, r->g->name, tensors));
    for (uint32_t i = 0; i < tensors.n; i++)
        TRY(read_tensor(r, fb_at_table(tensors, i), i));
    uint32_t unsupported = r->unsupported;
    for (uint32_t i = 0; i < nodes.n; i++)
        TRY(read_node(r, fb_at_table(nodes, i), i));
    TRY(dlc_layout(&r->model, DLC_MODEL));
    TRY(dlc_layout(&r->outer, DLC_PARAMS));
    return r->unsupported == unsupported ? ir_verify(r->g, "reading the DLC") : ST_OK;
}

/* ---- records ---------------------------------------------------------------------------------------------------------- */

/* The eight bytes in front and the identifier, then the flatbuffer. */
static enum status open_part(struct dlc_part p, const char *name, const char *identifiers, struct fb *ret)
{
    RETURN_IF(p.n < DLC_PREFIX_BYTES + 8, ST_BAD_BINARY, "record \"%s\" of the DLC has %llu bytes; at least 16 are expected",
              name, (unsigned long long)p.n);
    RETURN_IF(!memcmp(p.at + 4, "NETD", 4) || !memcmp(p.at + 4, "NETP", 4), ST_BINARY_VERSION,
              "record \"%s\" has the form of SNPE 1 (DLC version 3 without a prefix); version 4 is read: convert the model "
              "with a newer tool",
              name);
    RETURN_IF(p.at[0] != dlc_prefix[0] || p.at[1] != dlc_prefix[1], ST_BAD_BINARY,
              "record \"%s\" begins with %02x %02x; D5 0A is expected: this is no DLC", name, p.at[0], p.at[1]);
    unsigned version = p.at[2] | (unsigned)p.at[3] << 8;
    RETURN_IF(version != dlc_prefix[2], ST_BINARY_VERSION,
              "record \"%s\" is of DLC version %u; version 4 is read: convert the model with %s tool", name, version,
              version < 4 ? "a newer" : "an older");
    const char *seen = (const char *)p.at + DLC_PREFIX_BYTES + 4;
    for (const char *s = identifiers; *s; s += 4)
        if (!memcmp(s, seen, 4)) {
            fb_init(ret, p.at + DLC_PREFIX_BYTES, p.n - DLC_PREFIX_BYTES);
            return ST_OK;
        }
    return status_fail(ST_BAD_BINARY, "record \"%s\" has identifier \"%.4s\"; %s is expected", name, seen, identifiers);
}

static enum status open_params(struct reader *r, struct dlc_part p)
{
    if (!p.at)
        return ST_OK;
    TRY(open_part(p, DLC_PARAMS, "NETPNR64", &r->params));
    if (memcmp(p.at + DLC_PREFIX_BYTES + 4, "NR64", 4) != 0)
        return ST_OK;
    r->outer = r->params;
    struct fb_table root = fb_root(&r->outer);
    struct fb_vec inner = fb_vector(root, DLC_PARAMS64_PARAMS, 1);
    r->buffers = fb_vector(root, DLC_PARAMS64_BUFFERS, 4);
    r->by_order = r->buffers.n > 0;
    TRY(dlc_layout(&r->outer, DLC_PARAMS));
    RETURN_IF(!inner.n, ST_BAD_BINARY, "record \"%s\" of the DLC has no field \"params\"", DLC_PARAMS);
    fb_init(&r->params, fb_bytes(inner), inner.n);
    return ST_OK;
}

static enum status read_all(struct reader *r, const struct dlc_parts *parts, struct ir_graph **graphs, uint32_t *n)
{
    TRY(open_params(r, parts->params));
    if (parts->extra.at)
        TRY(open_part(parts->extra, DLC_EXTRA, "OQNX", &r->extra));
    if (parts->sources.at)
        TRY(open_part(parts->sources, DLC_SOURCES, "OQNS", &r->sources));
    struct fb_vec list = fb_vector(fb_root(&r->model), DLC_MODEL_GRAPHS, 4);
    for (uint32_t i = 0; i < list.n; i++) {
        struct fb_table t = fb_at_table(list, i);
        const char *name = fb_string(t, DLC_GRAPH_NAME);
        TRY(dlc_layout(&r->model, DLC_MODEL));
        RETURN_IF(!name, ST_BAD_BINARY, "graph %u of the DLC has no field \"name\"", i);
        for (uint32_t k = 0; k < *n && fb_charge(&r->model, 1); k++)
            RETURN_IF(!strcmp(graphs[k]->name, name), ST_BAD_BINARY, "the DLC has two graphs named \"%s\"", name);
        TRY(ir_graph_create(name, &graphs[*n]));
        r->g = graphs[(*n)++];
        enum status st = read_graph(r, t);
        if (st != ST_OK)
            return status_prefix(st == ST_NO_MEMORY ? st : ST_BAD_BINARY, "graph \"%s\" of the DLC", name);
    }
    TRY(dlc_layout(&r->model, DLC_MODEL));
    RETURN_IF(r->unsupported, ST_NOT_SUPPORTED,
              "the DLC has %u nodes of operators that do not exist here; the first is \"%s\"", r->unsupported,
              r->first_unsupported);
    return ST_OK;
}

enum status dlc_read_graphs(const struct dlc_parts *parts, struct convert_report *report, struct ir_graph ***ret,
                            uint32_t *ret_n)
{
    struct reader r = { .report = report, .weights = parts->weights };
    TRY(open_part(parts->model, DLC_MODEL, "NETD", &r.model));
    uint32_t n = 0, most = fb_vector(fb_root(&r.model), DLC_MODEL_GRAPHS, 4).n;
    TRY(dlc_layout(&r.model, DLC_MODEL));
    struct ir_graph **graphs = mem_array(struct ir_graph *, most + 1);
    RETURN_IF(!graphs, ST_NO_MEMORY, "no memory for %u graphs", most);
    arena_init(&r.scratch);
    enum status st = read_all(&r, parts, graphs, &n);
    arena_finish(&r.scratch);
    if (st != ST_OK) {
        while (n > 0)
            ir_graph_free(graphs[--n]);
        mem_free(graphs);
        return st;
    }
    *ret = graphs;
    *ret_n = n;
    return ST_OK;
}
