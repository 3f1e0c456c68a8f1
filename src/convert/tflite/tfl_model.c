/* SPDX-License-Identifier: Apache-2.0 */
/* From the tables of the file to tensors with descriptors and operators with their code. */
#include "base/file_kind.h"
#include "convert/tflite/tfl_model.h"

#include <string.h>

#include "convert/tflite/tfl_schema.h"

enum { MAX_ITEMS = 1 << 20, FILE_VERSION = 3 };

static const struct {
    const char *refused;
    enum dtype plain, encoded;
} types[] = {
#define TFL_TYPE_ROW(number, text, plain_type, encoded_type) \
    [number] = { "its type is " text ", which no operator takes", plain_type, encoded_type },
    TFL_TYPE_LIST(TFL_TYPE_ROW)
#undef TFL_TYPE_ROW
};
enum { TYPE_COUNT = sizeof(types) / sizeof(types[0]) };

void tfl_model_finish(struct tfl_model *m)
{
    arena_finish(&m->arena);
}

enum status tfl_model_open(struct tfl_model *m, const void *data, size_t size)
{
    *m = (struct tfl_model){0};
    arena_init(&m->arena);
    fb_init(&m->fb, data, size);
    if (size < 8 || memcmp((const char *)data + 4, "TFL3", 4) != 0) {
        enum status st = status_fail(ST_INVALID_ARG, "the file is not a TFLite model: bytes 4 … 7 are not \"TFL3\"");
        return file_kind_explain(st, data, size, FILE_TFLITE, "a TFLite model");
    }
    m->root = fb_root(&m->fb);
    int64_t version = fb_int(m->root, MODEL_VERSION, 4, 0);
    m->codes = fb_vector(m->root, MODEL_OPERATOR_CODES, 4);
    m->graphs = fb_vector(m->root, MODEL_SUBGRAPHS, 4);
    m->buffers = fb_vector(m->root, MODEL_BUFFERS, 4);
    TRY(fb_status(&m->fb));
    RETURN_IF(version != FILE_VERSION, ST_INVALID_ARG, "the TFLite file has schema version %lld; version %d is supported",
              (long long)version, FILE_VERSION);
    RETURN_IF(m->graphs.n == 0, ST_INVALID_ARG, "the TFLite file has no subgraph; nothing can be converted");
    return ST_OK;
}

/* ---- tensors -------------------------------------------------------------------------------------------------------- */

static const char *read_shape(struct fb_table t, struct tfl_tensor *x)
{
    struct fb_vec shape = fb_vector(t, TENSOR_SHAPE, 4), open = fb_vector(t, TENSOR_SHAPE_SIGNATURE, 4);
    if (shape.n > MAX_RANK)
        return "it has more than 8 dimensions";
    x->desc.rank = (uint8_t)shape.n;
    x->batch = open.n && open.n == shape.n && fb_at_int(open, 0, 4) < 0;
    for (uint32_t i = 0; i < open.n; i++)
        x->open = x->open || fb_at_int(open, i, 4) < 0;
    for (uint32_t i = 0; i < shape.n; i++) {
        int64_t d = fb_at_int(shape, i, 4);
        x->empty = x->empty || d == 0;
        if (d <= 0)
            return d ? "a dimension is negative" : "a dimension is 0";
        x->desc.dims[i] = (uint32_t)d;
    }
    return NULL;
}

/* Scales and zero points; an encoding without scales (only min and max) is none. */
static const char *read_quant(struct tfl_model *m, struct fb_table q, struct tensor_desc *d)
{
    struct fb_vec scale = fb_vector(q, QUANT_SCALE, 4), zero = fb_vector(q, QUANT_ZERO_POINT, 8);
    if (fb_int(q, QUANT_DETAILS_TYPE, 1, 0))
        return "its encoding is custom or in blocks; one scale per tensor or channel is supported";
    if (scale.n == 0 || (scale.n == 1 && fb_at_float(scale, 0) == 0.0f))
        return NULL;
    d->q.definition = 1;
    bool zeros = true;
    for (uint32_t i = 0; i < zero.n; i++) {
        int64_t z = fb_at_int(zero, i, 8);
        if (z < -INT32_MAX || z > INT32_MAX)
            return "a zero point has more than 32 bits";
        zeros = zeros && z == 0;
    }
    if (scale.n == 1) {
        d->q.kind = Q_TENSOR;
        d->q.scale = fb_at_float(scale, 0);
        d->q.offset = zero.n ? -(int32_t)fb_at_int(zero, 0, 8) : 0;
        return NULL;
    }
    d->q.kind = Q_AXIS;
    d->q.n = scale.n;
    d->q.axis =
        d->rank == 1 ? 0 : (int32_t)fb_int(q, QUANT_DIMENSION, 4, 0); /* biases often name the axis of their weights */
    float *scales = arena_array(&m->arena, float, scale.n);
    int32_t *offsets = zeros ? NULL : arena_array(&m->arena, int32_t, scale.n);
    if (!scales || (!zeros && !offsets))
        return "there is no memory for its encoding";
    for (uint32_t i = 0; i < scale.n; i++) {
        scales[i] = fb_at_float(scale, i);
        if (offsets)
            offsets[i] = -(int32_t)fb_at_int(zero, i < zero.n ? i : 0, 8);
    }
    d->q.scales = scales;
    d->q.offsets = offsets;
    return NULL;
}

/* Data in the table, or, in files above 2 GB, behind it. */
static void read_data(struct tfl_model *m, uint32_t index, struct tfl_tensor *x)
{
    struct fb_table buffer = fb_at_table(m->buffers, index);
    struct fb_vec inside = fb_vector(buffer, BUFFER_DATA, 1);
    uint64_t at = (uint64_t)fb_int(buffer, BUFFER_OFFSET, 8, 0), n = (uint64_t)fb_int(buffer, BUFFER_SIZE, 8, 0);
    x->data = fb_bytes(inside);
    x->bytes = inside.n;
    if (x->data || at <= 1)
        return;
    if (at > m->fb.n || n > m->fb.n - at) {
        x->why = "its data lie outside the file";
        return;
    }
    x->data = n ? m->fb.at + at : NULL;
    x->bytes = n;
}

static const char *read_type(struct tfl_tensor *x)
{
    if (x->type >= TYPE_COUNT)
        return "its data type is not known";
    bool fixed = x->desc.q.kind != Q_NONE && types[x->type].encoded != DT_NONE;
    x->desc.type = fixed ? types[x->type].encoded : types[x->type].plain;
    if (!fixed)
        x->desc.q = (struct quant){0};
    x->complex = x->type == TFL_COMPLEX64 && x->desc.rank < MAX_RANK;
    if (x->complex) {
        x->desc.type = DT_F32;
        x->desc.dims[x->desc.rank++] = 2;
    }
    if (x->desc.type == DT_NONE)
        return types[x->type].refused;
    return NULL;
}

static void read_tensor(struct tfl_model *m, struct fb_table t, struct tfl_tensor *x)
{
    const char *name = fb_string(t, TENSOR_NAME), *why = NULL, *quant;
    x->name = name ? name : "";
    x->type = (uint8_t)fb_int(t, TENSOR_TYPE, 1, 0);
    x->variable = fb_int(t, TENSOR_IS_VARIABLE, 1, 0) != 0;
    why = read_shape(t, x);
    quant = read_quant(m, fb_sub(t, TENSOR_QUANTIZATION), &x->desc);
    why = why ? why : quant;
    quant = read_type(x);
    why = why ? why : quant;
    x->sparsity = fb_sub(t, TENSOR_SPARSITY);
    if (x->sparsity.b)
        x->packed = fb_vector(fb_at_table(m->buffers, (uint32_t)fb_int(t, TENSOR_BUFFER, 4, 0)), BUFFER_DATA, 1);
    else
        read_data(m, (uint32_t)fb_int(t, TENSOR_BUFFER, 4, 0), x);
    if (!why && desc_check(&x->desc, x->name) != ST_OK)
        why = "its shape or its encoding makes no sense";
    if (!why && !x->why && x->data && x->bytes < desc_bytes(&x->desc))
        why = "it has fewer bytes of data than its shape needs";
    if (why)
        x->why = why;
    if (x->why)
        x->desc.type = DT_NONE;
}

/* ---- operators ------------------------------------------------------------------------------------------------------ */

static void read_op(struct tfl_model *m, struct fb_table t, struct tfl_op *op)
{
    struct fb_table code = fb_at_table(m->codes, (uint32_t)fb_int(t, OPERATOR_CODE, 4, 0));
    int64_t old = fb_int(code, CODE_OLD_BUILTIN, 1, 0), now = fb_int(code, CODE_BUILTIN, 4, 0);
    op->code = code.b ? (int32_t)(now > old ? now : old) : -1;
    op->custom = fb_string(code, CODE_CUSTOM);
    op->in = fb_vector(t, OPERATOR_INPUTS, 4);
    op->out = fb_vector(t, OPERATOR_OUTPUTS, 4);
    op->inner = fb_vector(t, OPERATOR_INTERMEDIATES, 4);
    op->options = fb_sub(t, OPERATOR_OPTIONS);
    op->options2 = fb_sub(t, OPERATOR_OPTIONS_2);
    op->custom_options = fb_vector(t, OPERATOR_CUSTOM_OPTIONS, 1);
}

static bool numbers_fit(struct fb_vec v, uint32_t n, bool optional)
{
    for (uint32_t i = 0; i < v.n; i++) {
        int64_t t = fb_at_int(v, i, 4);
        if (t >= (int64_t)n || t < (optional ? -1 : 0))
            return false;
    }
    return true;
}

static enum status check_numbers(const struct tfl_graph *g)
{
    bool ok = numbers_fit(g->in, g->n_tensors, false) && numbers_fit(g->out, g->n_tensors, false);
    for (uint32_t i = 0; i < g->n_ops; i++)
        ok = ok && numbers_fit(g->ops[i].in, g->n_tensors, true) && numbers_fit(g->ops[i].out, g->n_tensors, true) &&
             numbers_fit(g->ops[i].inner, g->n_tensors, true);
    RETURN_IF(!ok, ST_INVALID_ARG,
              "the TFLite file is malformed: subgraph \"%s\" has %u tensors and names one outside of them", g->name,
              g->n_tensors);
    return ST_OK;
}

enum status tfl_model_graph(struct tfl_model *m, uint32_t index, struct tfl_graph *ret)
{
    RETURN_IF(index >= m->graphs.n, ST_INVALID_ARG, "the TFLite file is malformed: subgraph %u is wanted, it has %u", index,
              m->graphs.n);
    struct fb_table t = fb_at_table(m->graphs, index);
    struct fb_vec tensors = fb_vector(t, SUBGRAPH_TENSORS, 4), ops = fb_vector(t, SUBGRAPH_OPERATORS, 4);
    const char *name = fb_string(t, SUBGRAPH_NAME);
    *ret = (struct tfl_graph){ .name = name ? name : "",
                               .in = fb_vector(t, SUBGRAPH_INPUTS, 4),
                               .out = fb_vector(t, SUBGRAPH_OUTPUTS, 4) };
    TRY(fb_status(&m->fb));
    RETURN_IF(tensors.n > MAX_ITEMS || ops.n > MAX_ITEMS, ST_NOT_SUPPORTED,
              "subgraph \"%s\" has %u tensors and %u operators; at most %d of each", ret->name, tensors.n, ops.n, MAX_ITEMS);
    ret->tensors = arena_array(&m->arena, struct tfl_tensor, tensors.n);
    ret->ops = arena_array(&m->arena, struct tfl_op, ops.n);
    RETURN_IF(!ret->tensors || !ret->ops, ST_NO_MEMORY, "no memory for subgraph \"%s\"", ret->name);
    for (; ret->n_tensors < tensors.n && !m->fb.bad; ret->n_tensors++)
        read_tensor(m, fb_at_table(tensors, ret->n_tensors), &ret->tensors[ret->n_tensors]);
    for (; ret->n_ops < ops.n && !m->fb.bad; ret->n_ops++)
        read_op(m, fb_at_table(ops, ret->n_ops), &ret->ops[ret->n_ops]);
    TRY(fb_status(&m->fb));
    return check_numbers(ret);
}
