/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a DLC: the operator, its tensors by name, and its parameters, which are attributes of the node. */
#include <string.h>

#include "convert/builder.h"
#include "convert/dlc/dlc_reader.h"

enum { KIND_STRING = 0x0608, KIND_UNDEFINED = 0x7fffffff };

static enum status read_scalar(struct dlc_reader *r, struct fb_table value, const char *name, struct op_value *ret)
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

static enum status read_array(struct dlc_reader *r, struct fb_table t, struct fb_vec data, const char *name,
                              struct op_value *ret)
{
    struct tensor_desc d = { 0 };
    RETURN_IF(!t.b, ST_BAD_BINARY, "attribute \"%s\" has no field \"tensor\"", name);
    const char *tensor = fb_string(t, DLC_TENSOR_NAME);
    TRY(dlc_read_desc(r, t, name, &d));
    TRY(desc_check(&d, name));
    struct fb_vec bytes;
    if (r->by_order) {
        TRY(dlc_take_buffer(r, name, &bytes));
    } else {
        struct fb_table entry = dlc_find_table(data, DLC_DATA_NAME, tensor ? tensor : "");
        RETURN_IF(!entry.b, ST_BAD_BINARY,
                  "attribute \"%s\" is a tensor; record \"%s\" has no data for it under the name \"%s\"", name, DLC_PARAMS,
                  tensor ? tensor : "");
        bytes = fb_vector(entry, DLC_DATA_BYTES, 1);
    }
    TRY(dlc_check_size(bytes, &d, name));
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

static enum status read_params(struct dlc_reader *r, struct fb_table node, uint32_t i, struct ir_node *n)
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

static enum status read_ports(struct dlc_reader *r, struct fb_table node, unsigned field, const char *what, uint32_t **ret,
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

static enum status add_node(struct dlc_reader *r, struct fb_table t, uint32_t i, struct ir_node *n)
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

enum status dlc_read_node(struct dlc_reader *r, struct fb_table t, uint32_t i)
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
