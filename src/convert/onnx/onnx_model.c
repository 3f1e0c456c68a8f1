/* SPDX-License-Identifier: Apache-2.0 */
/* From bytes to the structs of onnx_model.h. Field numbers are those of the ONNX schema; unknown fields are passed over. */
#include "convert/onnx/onnx_model.h"

#include <string.h>

#define NO_MEMORY(p) RETURN_IF(!(p), ST_NO_MEMORY, "no memory to read the ONNX file")

/* number in the file, our type, name */
#define ELEM_LIST(X)           \
    X(1, DT_F32, "float")      \
    X(2, DT_U8, "uint8")       \
    X(3, DT_I8, "int8")        \
    X(4, DT_U16, "uint16")     \
    X(5, DT_I16, "int16")      \
    X(6, DT_I32, "int32")      \
    X(7, DT_I64, "int64")      \
    X(8, DT_NONE, "string")    \
    X(9, DT_B8, "bool")        \
    X(10, DT_F16, "float16")   \
    X(11, DT_F64, "double")    \
    X(12, DT_U32, "uint32")    \
    X(13, DT_U64, "uint64")    \
    X(14, DT_NONE, "complex64")    \
    X(15, DT_NONE, "complex128")   \
    X(16, DT_BF16, "bfloat16")     \
    X(17, DT_NONE, "float8e4m3fn") \
    X(18, DT_NONE, "float8e4m3fnuz") \
    X(19, DT_NONE, "float8e5m2")     \
    X(20, DT_NONE, "float8e5m2fnuz") \
    X(21, DT_UQ4, "uint4")           \
    X(22, DT_SQ4, "int4")            \
    X(23, DT_NONE, "float4e2m1")     \
    X(24, DT_NONE, "float8e8m0")     \
    X(25, DT_UQ2, "uint2")           \
    X(26, DT_SQ2, "int2")

static const struct {
    enum dtype type;
    const char *name;
} elems[] = {
#define ELEM_ROW(n, t, text) [n] = {t, text},
    ELEM_LIST(ELEM_ROW)
};

enum dtype onnx_dtype(int32_t elem)
{
    size_t index = (size_t)elem; /* what is below 0 is too large then */

    return index < sizeof(elems) / sizeof(elems[0]) ? elems[index].type : DT_NONE;
}

const char *onnx_elem_name(int32_t elem)
{
    size_t index = (size_t)elem;
    bool known = index < sizeof(elems) / sizeof(elems[0]) && elems[index].name;

    return known ? elems[index].name : "unknown";
}

/* ---- tensors ------------------------------------------------------------------------------------------------------ */

static enum status parse_entry(struct arena *a, struct wire w, struct onnx_tensor *t)
{
    struct wire_field f;
    bool more;
    const char *key = "", *value = "";
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            break;
        if (f.type != WIRE_BYTES || (f.number != 1 && f.number != 2))
            continue;
        const char *text = wire_text(a, f.bytes);
        NO_MEMORY(text);
        *(f.number == 1 ? &key : &value) = text;
    }
    uint64_t number = 0;
    for (const char *p = value; *p >= '0' && *p <= '9'; p++)
        number = number * 10 + (uint64_t)(*p - '0');
    if (!strcmp(key, "location"))
        t->location = value;
    else if (!strcmp(key, "offset"))
        t->offset = number;
    else if (!strcmp(key, "length"))
        t->length = number;
    return ST_OK;
}

static enum status tensor_dims(struct onnx_tensor *t)
{
    struct wire_numbers n;
    uint64_t v;
    bool more;
    wire_numbers_begin(&n, t->message, 1, WIRE_VARINT);
    for (;;) {
        TRY(wire_numbers_next(&n, &v, &more));
        if (!more)
            return ST_OK;
        RETURN_IF(t->rank == ONNX_RANK_MAX, ST_NOT_SUPPORTED,
                  "tensor \"%s\" has more than %d dimensions; at most %d are supported", t->name, ONNX_RANK_MAX, MAX_RANK);
        RETURN_IF((int64_t)v < 0 || v > UINT32_MAX, ST_BAD_TEXT,
                  "tensor \"%s\" has %lld elements in dimension %u; 0 … %u are possible", t->name, (long long)v, t->rank,
                  UINT32_MAX);
        t->dims[t->rank++] = (int64_t)v;
    }
}

enum status onnx_parse_tensor(struct arena *a, struct wire w, struct onnx_tensor *t)
{
    struct wire_field f;
    bool more;
    *t = (struct onnx_tensor){.name = "", .message = w};
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            break;
        if (f.number == 2)
            t->elem = (int32_t)f.value;
        else if (f.number == 8 && f.type == WIRE_BYTES)
            NO_MEMORY(t->name = wire_text(a, f.bytes));
        else if (f.number == 9 && f.type == WIRE_BYTES) {
            t->raw = f.bytes;
            t->has_raw = true;
        } else if (f.number == 13 && f.type == WIRE_BYTES)
            TRY(parse_entry(a, f.bytes, t));
        else if (f.number == 14)
            t->external = f.value == 1;
    }
    t->type = onnx_dtype(t->elem);
    return tensor_dims(t);
}

/* ---- attributes and nodes ----------------------------------------------------------------------------------------- */

static enum status attr_numbers(struct arena *a, struct wire message, struct onnx_attr *at, uint32_t number)
{
    for (int pass = 0; pass < 2; pass++) {
        struct wire_numbers n;
        uint64_t v;
        bool more;
        uint32_t k = 0;
        wire_numbers_begin(&n, message, number, number == 7 ? WIRE_FIXED32 : WIRE_VARINT);
        for (;; k++) {
            TRY(wire_numbers_next(&n, &v, &more));
            if (!more)
                break;
            if (pass && number == 7)
                at->floats[k] = wire_float(v);
            else if (pass)
                at->ints[k] = (int64_t)v;
        }
        if (pass)
            break;
        if (number == 7)
            NO_MEMORY(at->floats = arena_array(a, float, k));
        else
            NO_MEMORY(at->ints = arena_array(a, int64_t, k));
        *(number == 7 ? &at->n_floats : &at->n_ints) = k;
    }
    return ST_OK;
}

/* All occurrences of a field as texts. */
static enum status texts(struct arena *a, struct wire w, uint32_t number, const char ***ret, uint32_t *ret_n)
{
    struct wire_field f;
    bool more;
    size_t n;
    TRY(wire_count(w, number, &n));
    NO_MEMORY(*ret = arena_array(a, const char *, n));
    *ret_n = 0;
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            return ST_OK;
        if (f.number != number)
            continue;
        RETURN_IF(f.type != WIRE_BYTES, ST_BAD_TEXT, "the ONNX file is malformed: a name is a number");
        NO_MEMORY((*ret)[*ret_n] = wire_text(a, f.bytes));
        ++*ret_n;
    }
}

static enum status parse_attr(struct arena *a, struct wire message, struct onnx_attr *at)
{
    struct wire w = message;
    struct wire_field f;
    bool more;
    *at = (struct onnx_attr){.name = "", .s = ""};
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            break;
        bool is_bytes = f.type == WIRE_BYTES;
        if (f.number == 1 && is_bytes)
            NO_MEMORY(at->name = wire_text(a, f.bytes));
        else if (f.number == 2)
            at->f = wire_float(f.value);
        else if (f.number == 3)
            at->i = (int64_t)f.value;
        else if (f.number == 4 && is_bytes)
            NO_MEMORY(at->s = wire_text(a, f.bytes));
        else if (f.number == 5 && is_bytes) {
            NO_MEMORY(at->t = arena_new(a, struct onnx_tensor));
            TRY(onnx_parse_tensor(a, f.bytes, at->t));
        } else if (f.number == 6 && is_bytes)
            at->graph = f.bytes;
        else if (f.number == 20)
            at->type = (int32_t)f.value;
        else if (f.number == 21 && is_bytes)
            NO_MEMORY(at->ref = wire_text(a, f.bytes));
    }
    TRY(attr_numbers(a, message, at, 7));
    TRY(attr_numbers(a, message, at, 8));
    return texts(a, message, 9, &at->strings, &at->n_strings);
}

static enum status parse_node(struct arena *a, struct wire message, struct onnx_node *n)
{
    struct wire w = message;
    struct wire_field f;
    bool more;
    size_t n_attrs;
    n->name = n->op = n->domain = "";
    TRY(wire_count(w, 5, &n_attrs));
    NO_MEMORY(n->attrs = arena_array(a, struct onnx_attr, n_attrs));
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            break;
        if (f.type != WIRE_BYTES)
            continue;
        if (f.number == 3)
            NO_MEMORY(n->name = wire_text(a, f.bytes));
        else if (f.number == 4)
            NO_MEMORY(n->op = wire_text(a, f.bytes));
        else if (f.number == 7)
            NO_MEMORY(n->domain = wire_text(a, f.bytes));
        else if (f.number == 5)
            TRY(parse_attr(a, f.bytes, &n->attrs[n->n_attrs++]));
    }
    TRY(texts(a, message, 1, &n->in, &n->n_in));
    return texts(a, message, 2, &n->out, &n->n_out);
}

enum status onnx_parse_list(struct arena *a, struct wire message, uint32_t field, struct onnx_node **ret, size_t *ret_n)
{
    struct wire_field f;
    bool more;
    size_t n, k = 0;
    TRY(wire_count(message, field, &n));
    NO_MEMORY(*ret = arena_array(a, struct onnx_node, n));
    for (;;) {
        TRY(wire_next(&message, &f, &more));
        if (!more)
            break;
        if (f.number != field || f.type != WIRE_BYTES)
            continue;
        (*ret)[k].at = (uint32_t)k;
        TRY(parse_node(a, f.bytes, &(*ret)[k]));
        k++;
    }
    *ret_n = k;
    return ST_OK;
}

enum status onnx_parse_nodes(struct arena *a, struct wire message, uint32_t field, struct onnx_node **ret, size_t *ret_n)
{
    TRY(onnx_parse_list(a, message, field, ret, ret_n));
    return onnx_order(a, ret, *ret_n);
}

/* ---- inputs and outputs ------------------------------------------------------------------------------------------- */

static enum status parse_dim(struct arena *a, struct wire w, struct onnx_info *info)
{
    struct wire_field f;
    bool more;
    RETURN_IF(info->rank == ONNX_RANK_MAX, ST_NOT_SUPPORTED, "\"%s\" has more than %d dimensions; at most %d are supported",
              info->name, ONNX_RANK_MAX, MAX_RANK);
    uint32_t k = info->rank++;
    info->dims[k] = -1;
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            return ST_OK;
        if (f.number == 1 && f.type == WIRE_VARINT)
            info->dims[k] = (int64_t)f.value < 0 ? -1 : (int64_t)f.value;
        else if (f.number == 2 && f.type == WIRE_BYTES)
            NO_MEMORY(info->symbols[k] = wire_text(a, f.bytes));
    }
}

/* TypeProto -> tensor_type (1) -> { elem_type 1, shape 2 { dim 1 } }, one level per call. */
static enum status parse_type(struct arena *a, struct wire w, unsigned level, struct onnx_info *info)
{
    struct wire_field f;
    bool more;
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            return ST_OK;
        if (level == 0 && f.number == 1 && f.type == WIRE_BYTES)
            TRY(parse_type(a, f.bytes, 1, info));
        else if (level == 1 && f.number == 1 && f.type == WIRE_VARINT)
            info->elem = (int32_t)f.value;
        else if (level == 1 && f.number == 2 && f.type == WIRE_BYTES) {
            info->has_shape = true;
            TRY(parse_type(a, f.bytes, 2, info));
        } else if (level == 2 && f.number == 1 && f.type == WIRE_BYTES)
            TRY(parse_dim(a, f.bytes, info));
    }
}

static enum status parse_info(struct arena *a, struct wire w, struct onnx_info *info)
{
    struct wire_field f;
    bool more;
    *info = (struct onnx_info){.name = ""};
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            break;
        if (f.number == 1 && f.type == WIRE_BYTES)
            NO_MEMORY(info->name = wire_text(a, f.bytes));
        else if (f.number == 2 && f.type == WIRE_BYTES)
            TRY(parse_type(a, f.bytes, 0, info));
    }
    info->type = onnx_dtype(info->elem);
    return ST_OK;
}

static enum status parse_infos(struct arena *a, struct wire message, uint32_t field, struct onnx_info **ret, size_t *ret_n)
{
    struct wire_field f;
    bool more;
    size_t n, k = 0;
    TRY(wire_count(message, field, &n));
    NO_MEMORY(*ret = arena_array(a, struct onnx_info, n));
    for (;;) {
        TRY(wire_next(&message, &f, &more));
        if (!more)
            break;
        if (f.number == field && f.type == WIRE_BYTES)
            TRY(parse_info(a, f.bytes, &(*ret)[k++]));
    }
    *ret_n = k;
    return ST_OK;
}

/* ---- graph and model ---------------------------------------------------------------------------------------------- */

enum status onnx_parse_graph(struct arena *a, struct wire message, struct onnx_graph *g)
{
    struct wire w = message;
    struct wire_field f;
    bool more;
    size_t n;
    *g = (struct onnx_graph){.name = ""};
    TRY(wire_count(w, 5, &n));
    NO_MEMORY(g->initializers = arena_array(a, struct onnx_tensor, n));
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            break;
        if (f.number == 2 && f.type == WIRE_BYTES)
            NO_MEMORY(g->name = wire_text(a, f.bytes));
        else if (f.number == 5 && f.type == WIRE_BYTES)
            TRY(onnx_parse_tensor(a, f.bytes, &g->initializers[g->n_initializers++]));
        g->sparse |= f.number == 15;
    }
    TRY(onnx_parse_nodes(a, message, 1, &g->nodes, &g->n_nodes));
    TRY(parse_infos(a, message, 11, &g->inputs, &g->n_inputs));
    return parse_infos(a, message, 12, &g->outputs, &g->n_outputs);
}

static enum status parse_opset(struct arena *a, struct wire w, struct onnx_model *m)
{
    struct wire_field f;
    bool more;
    const char *domain = "";
    int64_t version = 0;
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            break;
        if (f.number == 1 && f.type == WIRE_BYTES)
            NO_MEMORY(domain = wire_text(a, f.bytes));
        else if (f.number == 2)
            version = (int64_t)f.value;
    }
    if (!domain[0] || !strcmp(domain, "ai.onnx"))
        m->opset = version;
    return ST_OK;
}

static enum status parse_function(struct arena *a, struct wire message, struct onnx_function *fn)
{
    struct wire w = message;
    struct wire_field f;
    bool more;
    *fn = (struct onnx_function){.name = "", .domain = "", .message = message};
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            break;
        if (f.number == 1 && f.type == WIRE_BYTES)
            NO_MEMORY(fn->name = wire_text(a, f.bytes));
        else if (f.number == 10 && f.type == WIRE_BYTES)
            NO_MEMORY(fn->domain = wire_text(a, f.bytes));
    }
    TRY(texts(a, message, 4, &fn->in, &fn->n_in));
    return texts(a, message, 5, &fn->out, &fn->n_out);
}

enum status onnx_parse_model(struct arena *a, const void *data, size_t size, struct onnx_model *m)
{
    struct wire message = {data, (const uint8_t *)data + size}, w = message;
    struct wire_field f;
    bool more, graph = false;
    size_t n;
    *m = (struct onnx_model){.opset = 0};
    TRY(wire_count(w, 25, &n));
    NO_MEMORY(m->functions = arena_array(a, struct onnx_function, n));
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            break;
        if (f.number == 1 && f.type == WIRE_VARINT)
            m->ir_version = (int64_t)f.value;
        else if (f.number == 8 && f.type == WIRE_BYTES)
            TRY(parse_opset(a, f.bytes, m));
        else if (f.number == 25 && f.type == WIRE_BYTES)
            TRY(parse_function(a, f.bytes, &m->functions[m->n_functions++]));
        else if (f.number == 7 && f.type == WIRE_BYTES) {
            RETURN_IF(graph, ST_BAD_TEXT, "the ONNX file is malformed: it has two graphs");
            TRY(onnx_parse_graph(a, f.bytes, &m->graph));
            graph = true;
        }
    }
    RETURN_IF(!graph, ST_BAD_TEXT, "the file has no graph; is it an ONNX model?");
    if (m->opset <= 0)
        m->opset = 1; /* files of IR version 1 and 2 do not say it */
    return ST_OK;
}
