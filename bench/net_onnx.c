/* SPDX-License-Identifier: Apache-2.0 */
/* See net_onnx.h. Names of values: v<layer> is what other layers read; x<number> are those in between. */
#include "net_onnx.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_message.h"

/* Field numbers of onnx.proto. */
enum { MODEL_IR = 1, MODEL_GRAPH = 7, MODEL_OPSET = 8, OPSET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_CONSTANT = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_TEXT = 4,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_KIND = 20,
    KIND_INT = 2,
    KIND_TEXT = 3,
    KIND_INTS = 7
};
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { INFO_NAME = 1, INFO_TYPE = 2, TYPE_TENSOR = 1, ELEMENT = 1, SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1 };
enum { F32 = 1, U8 = 2, S8 = 3, I32 = 6, I64 = 7 };
enum { NAME = 24, OPSET = 20, IR = 9 };

struct writer {
    const struct net *net;
    struct message graph;
    bool quantized;
    uint32_t serial;
    uint64_t seed;
    char name[NAME]; /* of the value written last */
};

static float draw(struct writer *w)
{
    w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
    return (float)((w->seed >> 33) % 2001) / 1000.0f - 1.0f;
}

static void fresh(struct writer *w, char name[NAME])
{
    snprintf(name, NAME, "x%u", w->serial++);
}

/* ---- constants -------------------------------------------------------------------------------------------------------- */

static void constant(struct writer *w, const char *name, int type, uint32_t rank, const uint32_t *dims, const void *data,
                     size_t bytes)
{
    struct message t = { 0 };
    for (uint32_t i = 0; i < rank; i++)
        message_varint(&t, TENSOR_DIMS, dims[i]);
    message_varint(&t, TENSOR_TYPE, (uint64_t)type);
    message_text(&t, TENSOR_NAME, name);
    message_bytes(&t, TENSOR_RAW, data, bytes);
    message_put(&w->graph, GRAPH_CONSTANT, &t);
}

static void ints_constant(struct writer *w, char name[NAME], const uint32_t *values, uint32_t n)
{
    int64_t wide[NET_RANK];
    for (uint32_t i = 0; i < n; i++)
        wide[i] = values[i];
    fresh(w, name);
    constant(w, name, I64, 1, &n, wide, n * sizeof *wide);
}

static void float_constant(struct writer *w, char name[NAME], float v)
{
    fresh(w, name);
    constant(w, name, F32, 0, NULL, &v, sizeof v);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

struct node {
    struct message m;
};

/* Inputs end with NULL. */
static struct node begin(const char *type, const char *out, ...)
{
    struct node n = { { 0 } };
    const char *in;
    va_list ap;
    va_start(ap, out);
    while ((in = va_arg(ap, const char *)))
        message_text(&n.m, NODE_INPUT, in);
    va_end(ap);
    message_text(&n.m, NODE_OUTPUT, out);
    message_text(&n.m, NODE_TYPE, type);
    return n;
}

static void with_ints(struct node *n, const char *name, const uint32_t *values, uint32_t count)
{
    struct message a = { 0 };
    message_text(&a, ATTRIBUTE_NAME, name);
    for (uint32_t i = 0; i < count; i++)
        message_varint(&a, ATTRIBUTE_INTS, values[i]);
    message_varint(&a, ATTRIBUTE_KIND, KIND_INTS);
    message_put(&n->m, NODE_ATTRIBUTE, &a);
}

static void with_int(struct node *n, const char *name, int64_t value)
{
    struct message a = { 0 };
    message_text(&a, ATTRIBUTE_NAME, name);
    message_varint(&a, ATTRIBUTE_INT, (uint64_t)value);
    message_varint(&a, ATTRIBUTE_KIND, KIND_INT);
    message_put(&n->m, NODE_ATTRIBUTE, &a);
}

static void with_text(struct node *n, const char *name, const char *value)
{
    struct message a = { 0 };
    message_text(&a, ATTRIBUTE_NAME, name);
    message_text(&a, ATTRIBUTE_TEXT, value);
    message_varint(&a, ATTRIBUTE_KIND, KIND_TEXT);
    message_put(&n->m, NODE_ATTRIBUTE, &a);
}

static void end(struct writer *w, struct node *n)
{
    message_put(&w->graph, GRAPH_NODE, &n->m);
}

/* ---- quantization ----------------------------------------------------------------------------------------------------- */

static float act_scale(const struct net *n, uint32_t at)
{
    const struct layer *l = &n->layers[at];
    if (l->kind == LAYER_POOL_MAX || l->kind == LAYER_POOL_AVG || l->kind == LAYER_RESHAPE || l->kind == LAYER_TRANSPOSE ||
        l->kind == LAYER_CONCAT)
        return act_scale(n, l->in[0]);
    return l->kind == LAYER_SOFTMAX ? 1.0f / 255 : l->act != LINEAR ? 6.0f / 255 : 8.0f / 255;
}

static uint8_t act_zero(const struct net *n, uint32_t at)
{
    float s = act_scale(n, at);
    return s == 8.0f / 255 ? 128 : 0;
}

/* Scale and zero point of a layer's result. */
static void encoding(struct writer *w, uint32_t at, char scale[NAME], char zero[NAME])
{
    uint8_t z = act_zero(w->net, at);
    float_constant(w, scale, act_scale(w->net, at));
    fresh(w, zero);
    constant(w, zero, U8, 0, NULL, &z, 1);
}

/* Through 8 bits. */
static void round_trip(struct writer *w, uint32_t at, const char *from, const char *to)
{
    char scale[NAME], zero[NAME], q[NAME];
    encoding(w, at, scale, zero);
    fresh(w, q);
    struct node n = begin("QuantizeLinear", q, from, scale, zero, NULL);
    end(w, &n);
    n = begin("DequantizeLinear", to, q, scale, zero, NULL);
    end(w, &n);
}

static float weight_scale(uint32_t fan_in, uint32_t channel)
{
    return sqrtf(6.0f / (float)fan_in) / 127 * (0.5f + (float)(channel * 37 % 100) / 100);
}

/* Weights with a scale per output channel, which is the given axis. */
static void weights(struct writer *w, char name[NAME], uint32_t rank, const uint32_t *dims, uint32_t axis)
{
    uint32_t n = 1, channels = dims[axis];
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    float spread = sqrtf(6.0f / (float)(n / channels)), *scales = malloc(channels * sizeof *scales);
    void *data = malloc((size_t)n * 4);
    if (!scales || !data)
        exit(1);
    for (uint32_t i = 0; i < n; i++)
        if (w->quantized)
            ((int8_t *)data)[i] = (int8_t)(127 * draw(w));
        else
            ((float *)data)[i] = spread * draw(w);
    for (uint32_t i = 0; i < channels; i++)
        scales[i] = weight_scale(n / channels, i);
    fresh(w, name);
    constant(w, name, w->quantized ? S8 : F32, rank, dims, data, (size_t)n * (w->quantized ? 1 : 4));
    if (w->quantized) {
        char q[NAME], scale[NAME], zero[NAME];
        memcpy(q, name, NAME);
        fresh(w, scale);
        fresh(w, zero);
        fresh(w, name);
        constant(w, scale, F32, 1, &channels, scales, channels * sizeof *scales);
        constant(w, zero, S8, 1, &channels, memset(data, 0, channels), channels);
        struct node d = begin("DequantizeLinear", name, q, scale, zero, NULL);
        with_int(&d, "axis", axis);
        end(w, &d);
    }
    free(scales);
    free(data);
}

/* Small ones, in f32 or in 32 bits with the scale of the products that they are added to, without which runtimes do not
 * fuse. */
static void bias(struct writer *w, char name[NAME], const struct layer *l, uint32_t n)
{
    float *data = malloc(n * sizeof *data), *scales = malloc(n * sizeof *scales);
    if (!data || !scales)
        exit(1);
    for (uint32_t i = 0; i < n; i++) {
        int32_t q = (int32_t)(100 * draw(w));
        data[i] = 0.1f * draw(w);
        scales[i] = act_scale(w->net, l->in[0]) * weight_scale(net_fan_in(w->net, l), i);
        if (w->quantized)
            memcpy(&data[i], &q, 4);
    }
    fresh(w, name);
    constant(w, name, w->quantized ? I32 : F32, 1, &n, data, n * 4);
    if (w->quantized) {
        char q[NAME], scale[NAME];
        memcpy(q, name, NAME);
        fresh(w, scale);
        fresh(w, name);
        constant(w, scale, F32, 1, &n, scales, n * 4);
        struct node d = begin("DequantizeLinear", name, q, scale, NULL);
        with_int(&d, "axis", 0);
        end(w, &d);
    }
    free(data);
    free(scales);
}

/* ---- layers ----------------------------------------------------------------------------------------------------------- */

static void window(struct node *n, const struct layer *l)
{
    with_ints(n, "kernel_shape", l->kernel, 2);
    with_ints(n, "strides", l->stride, 2);
    with_ints(n, "pads", (uint32_t[]){ l->pad[0][0], l->pad[1][0], l->pad[0][1], l->pad[1][1] }, 4);
}

static void conv(struct writer *w, const struct layer *l, const char *x, const char *y)
{
    char k[NAME], b[NAME];
    uint32_t in = w->net->layers[l->in[0]].dims[3];
    weights(w, k, 4, (uint32_t[]){ l->dims[3], in / l->group, l->kernel[0], l->kernel[1] }, 0);
    bias(w, b, l, l->dims[3]);
    struct node n = begin("Conv", y, x, k, b, NULL);
    window(&n, l);
    with_int(&n, "group", l->group);
    end(w, &n);
}

static void reshape(struct writer *w, const uint32_t *dims, uint32_t rank, const char *x, const char *y)
{
    char shape[NAME];
    ints_constant(w, shape, dims, rank);
    struct node n = begin("Reshape", y, x, shape, NULL);
    end(w, &n);
}

static void transpose(struct writer *w, const uint32_t *perm, uint32_t rank, const char *x, const char *y)
{
    struct node n = begin("Transpose", y, x, NULL);
    with_ints(&n, "perm", perm, rank);
    end(w, &n);
}

static void dense(struct writer *w, const struct layer *l, const char *x, const char *y)
{
    char k[NAME], b[NAME], flat[NAME];
    uint32_t in = net_fan_in(w->net, l);
    if (w->net->layers[l->in[0]].image) {
        fresh(w, flat);
        reshape(w, (uint32_t[]){ l->dims[0], in }, 2, x, flat);
        if (w->quantized) {
            char again[NAME];
            fresh(w, again);
            round_trip(w, l->in[0], flat, again);
            memcpy(flat, again, NAME);
        }
        x = flat;
    }
    weights(w, k, 2, (uint32_t[]){ in, l->dims[1] }, 1);
    bias(w, b, l, l->dims[1]);
    struct node n = begin("Gemm", y, x, k, b, NULL);
    end(w, &n);
}

static void matmul(struct writer *w, const struct layer *l, const char *x, const char *y)
{
    char b[NAME], t[NAME];
    snprintf(b, NAME, "v%u", l->in[1]);
    if (l->transpose) {
        fresh(w, t);
        transpose(w, (uint32_t[]){ 0, 1, 3, 2 }, 4, b, t);
        memcpy(b, t, NAME);
        if (w->quantized) {
            fresh(w, b);
            round_trip(w, l->in[1], t, b);
        }
    }
    struct node n = begin("MatMul", y, x, b, NULL);
    end(w, &n);
}

static void norm(struct writer *w, const struct layer *l, const char *x, const char *y)
{
    char scale[NAME], shift[NAME];
    bool quantized = w->quantized;
    w->quantized = false; /* runtimes have no such operator in 8 bits: its own constants stay float */
    bias(w, scale, l, l->dims[l->rank - 1]);
    bias(w, shift, l, l->dims[l->rank - 1]);
    w->quantized = quantized;
    struct node n = begin("LayerNormalization", y, x, scale, shift, NULL);
    end(w, &n);
}

/* [batch, time, values] to time first and back; the result has an axis for directions. */
static void lstm(struct writer *w, const struct layer *l, const char *x, const char *y)
{
    char first[NAME], k[NAME], r[NAME], b[NAME], out[NAME], squeezed[NAME];
    const uint32_t *in = w->net->layers[l->in[0]].dims, units = l->dims[2], eight = 8 * units;
    fresh(w, first);
    transpose(w, (uint32_t[]){ 1, 0, 2 }, 3, x, first);
    weights(w, k, 3, (uint32_t[]){ 1, 4 * units, in[2] }, 1);
    weights(w, r, 3, (uint32_t[]){ 1, 4 * units, units }, 1);
    bias(w, b, l, eight);
    char b2[NAME];
    fresh(w, b2);
    reshape(w, (uint32_t[]){ 1, eight }, 2, b, b2);
    fresh(w, out);
    struct node n = begin("LSTM", out, first, k, r, b2, NULL);
    with_int(&n, "hidden_size", units);
    with_text(&n, "direction", l->reverse ? "reverse" : "forward");
    end(w, &n);
    fresh(w, squeezed);
    reshape(w, (uint32_t[]){ l->dims[1], l->dims[0], units }, 3, out, squeezed);
    transpose(w, (uint32_t[]){ 1, 0, 2 }, 3, squeezed, y);
}

static void concat(struct writer *w, const struct layer *l, const char *y)
{
    char parts[NET_PARTS][NAME];
    const char *in[NET_PARTS] = { NULL };
    for (uint32_t i = 0; i < l->n_in; i++) {
        snprintf(parts[i], NAME, "v%u", l->in[i]);
        in[i] = parts[i];
    }
    struct node n = begin("Concat", y, in[0], in[1], in[2], in[3], NULL);
    with_int(&n, "axis", l->image ? 1 : l->rank - 1);
    end(w, &n);
}

static void plain(struct writer *w, const struct layer *l, const char *x, const char *y)
{
    static const char *const names[] = { [LAYER_POOL_MAX] = "MaxPool", [LAYER_POOL_AVG] = "GlobalAveragePool",
                                         [LAYER_ADD] = "Add",          [LAYER_SOFTMAX] = "Softmax",
                                         [LAYER_GELU] = "Gelu",        [LAYER_RELU] = "Relu" };
    char second[NAME];
    snprintf(second, NAME, "v%u", l->in[1]);
    struct node n = begin(names[l->kind], y, x, l->kind == LAYER_ADD ? second : NULL, NULL);
    if (l->kind == LAYER_POOL_MAX)
        window(&n, l);
    end(w, &n);
}

static void operator_of(struct writer *w, const struct layer *l, const char *x, const char *y)
{
    if (l->kind == LAYER_CONV)
        conv(w, l, x, y);
    else if (l->kind == LAYER_DENSE)
        dense(w, l, x, y);
    else if (l->kind == LAYER_MATMUL)
        matmul(w, l, x, y);
    else if (l->kind == LAYER_CONCAT)
        concat(w, l, y);
    else if (l->kind == LAYER_NORM)
        norm(w, l, x, y);
    else if (l->kind == LAYER_LSTM)
        lstm(w, l, x, y);
    else if (l->kind == LAYER_RESHAPE)
        reshape(w, l->dims, l->rank, x, y);
    else if (l->kind == LAYER_TRANSPOSE)
        transpose(w, l->perm, l->rank, x, y);
    else
        plain(w, l, x, y);
}

/* Operator, activation function, 8 bits. */
static void layer(struct writer *w, uint32_t at)
{
    const struct layer *l = &w->net->layers[at];
    char x[NAME], last[NAME], y[NAME], low[NAME], high[NAME];
    snprintf(x, NAME, "v%u", l->in[0]);
    snprintf(last, NAME, "v%u", at);
    fresh(w, y);
    operator_of(w, l, x, l->act != LINEAR || w->quantized ? y : last);
    if (l->act != LINEAR) {
        char clamped[NAME];
        fresh(w, clamped);
        if (l->act == RELU6) {
            float_constant(w, low, 0);
            float_constant(w, high, 6);
        }
        struct node n = begin(l->act == RELU6 ? "Clip" : "Relu", w->quantized ? clamped : last, y,
                              l->act == RELU6 ? low : NULL, high, NULL);
        end(w, &n);
        memcpy(y, clamped, NAME);
    }
    if (w->quantized)
        round_trip(w, at, y, last);
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */

static void info(struct writer *w, uint32_t field, const char *name, const struct layer *l)
{
    static const uint32_t second[] = { 0, 3, 1, 2 };
    struct message shape = { 0 }, tensor = { 0 }, type = { 0 }, v = { 0 };
    for (uint32_t i = 0; i < l->rank; i++) {
        struct message dim = { 0 };
        message_varint(&dim, DIM_VALUE, l->dims[l->image ? second[i] : i]);
        message_put(&shape, SHAPE_DIM, &dim);
    }
    message_varint(&tensor, ELEMENT, F32);
    message_put(&tensor, SHAPE, &shape);
    message_put(&type, TYPE_TENSOR, &tensor);
    message_text(&v, INFO_NAME, name);
    message_put(&v, INFO_TYPE, &type);
    message_put(&w->graph, field, &v);
}

bool net_write_onnx(const struct net *n, bool quantized, FILE *to)
{
    struct writer w = { .net = n, .quantized = quantized, .seed = 1 };
    struct message model = { 0 }, opset = { 0 };
    char last[NAME];
    for (uint32_t i = 0; i < n->n; i++)
        if (n->layers[i].kind == LAYER_LSTM && quantized)
            return false;
    info(&w, GRAPH_INPUT, quantized ? "in" : "v0", &n->layers[0]);
    if (quantized)
        round_trip(&w, 0, "in", "v0");
    for (uint32_t i = 1; i < n->n; i++)
        layer(&w, i);
    snprintf(last, NAME, "v%u", n->n - 1);
    info(&w, GRAPH_OUTPUT, last, &n->layers[n->n - 1]);
    message_text(&w.graph, GRAPH_NAME, "bench");
    message_varint(&model, MODEL_IR, IR);
    message_put(&model, MODEL_GRAPH, &w.graph);
    message_varint(&opset, OPSET_VERSION, OPSET);
    message_put(&model, MODEL_OPSET, &opset);
    bool ok = fwrite(model.data, 1, model.size, to) == model.size;
    message_free(&model);
    return ok;
}
