/* SPDX-License-Identifier: Apache-2.0 */
/* A list of layers as a graph, the way exporters write it: activation functions are nodes of their own. */
#include "net_qnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel_util.h"

static const Qnn_DataType_t act_types[NET_TYPES] = { QNN_DATATYPE_UFIXED_POINT_8, QNN_DATATYPE_UFIXED_POINT_16,
                                                     QNN_DATATYPE_FLOAT_16, QNN_DATATYPE_FLOAT_32 };
const char *const net_type_names[NET_TYPES] = { "int8", "a16w8", "f16", "f32" };

static bool fixed(const struct net_builder *b)
{
    return b->type == NET_INT8 || b->type == NET_A16;
}

static void *checked(void *p)
{
    if (!p)
        client_check(QNN_COMMON_ERROR_MEM_ALLOC, "allocation");
    return p;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

static uint32_t draw(struct net_builder *b)
{
    b->seed = b->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(b->seed >> 33);
}

static float draw_unit(struct net_builder *b)
{
    return (float)(draw(b) % 2001) / 1000.0f - 1.0f;
}

static Qnn_Tensor_t tensor(struct net_builder *b, const char *what, Qnn_DataType_t type, uint32_t rank, const uint32_t *dims)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.version = QNN_TENSOR_VERSION_1;
    t.v1.name = checked(arena_printf(&b->arena, "%s%u", what, b->serial++));
    t.v1.type = QNN_TENSOR_TYPE_STATIC;
    t.v1.dataType = type;
    t.v1.rank = rank;
    t.v1.dimensions = checked(arena_dup(&b->arena, dims, rank * sizeof *dims));
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

static void set_scale(Qnn_Tensor_t *t, float scale, int32_t offset)
{
    t->v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t->v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t->v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){ .scale = scale, .offset = offset };
}

/* Results of clamps and softmax use their whole range from zero; others are symmetric. */
static void set_range(const struct net_builder *b, Qnn_Tensor_t *t, float top, bool from_zero)
{
    const float steps = b->type == NET_INT8 ? 255 : 65535;
    if (fixed(b))
        set_scale(t, (from_zero ? top : 2 * top) / steps, from_zero ? 0 : -(int32_t)(steps + 1) / 2);
}

static Qnn_Tensor_t activation(struct net_builder *b, Qnn_TensorType_t type, uint32_t rank, const uint32_t *dims)
{
    Qnn_Tensor_t t = tensor(b, "t", act_types[b->type], rank, dims);
    t.v1.type = type;
    set_range(b, &t, 4, false);
    return t;
}

static void register_tensor(struct net_builder *b, Qnn_Tensor_t *t)
{
    CHECK(qnn.tensorCreateGraphTensor(b->graph, t));
}

/* The library copies constants: ours can go at once. */
static void register_data(struct net_builder *b, Qnn_Tensor_t *t, void *data, uint32_t bytes)
{
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ .data = data, .dataSize = bytes };
    register_tensor(b, t);
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ .data = NULL, .dataSize = 0 };
    free(data);
}

static Qnn_Tensor_t float_constant(struct net_builder *b, uint32_t rank, const uint32_t *dims, float spread)
{
    uint32_t n = 1, size = b->type == NET_F16 ? 2 : 4;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    Qnn_Tensor_t t = tensor(b, "w", act_types[b->type], rank, dims);
    char *data = checked(malloc((size_t)n * size));
    for (uint32_t i = 0; i < n; i++) {
        float v = spread * draw_unit(b);
        uint16_t half = ku_f32_to_f16(v);
        memcpy(data + (size_t)i * size, size == 2 ? (void *)&half : (void *)&v, size);
    }
    register_data(b, &t, data, n * size);
    return t;
}

/* Uniform, with the spread that keeps the size of activations over `fan_in` products. axis < 0: one scale for all. */
static Qnn_Tensor_t weights(struct net_builder *b, uint32_t rank, const uint32_t *dims, int axis, uint32_t fan_in)
{
    float spread = sqrtf(6.0f / (float)fan_in);
    if (!fixed(b))
        return float_constant(b, rank, dims, spread);
    uint32_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    Qnn_Tensor_t t = tensor(b, "w", QNN_DATATYPE_SFIXED_POINT_8, rank, dims);
    int8_t *data = checked(malloc(n));
    for (uint32_t i = 0; i < n; i++)
        data[i] = (int8_t)((int)(draw(b) % 255) - 127);
    if (axis < 0) {
        set_scale(&t, spread / 127, 0);
        register_data(b, &t, data, n);
        return t;
    }
    Qnn_ScaleOffset_t *scales = checked(arena_array(&b->arena, Qnn_ScaleOffset_t, dims[axis]));
    for (uint32_t i = 0; i < dims[axis]; i++)
        scales[i].scale = spread / 127 * (0.5f + (float)(draw(b) % 1000) / 1000.0f);
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    t.v1.quantizeParams.axisScaleOffsetEncoding =
        (Qnn_AxisScaleOffset_t){ .axis = axis, .numScaleOffsets = dims[axis], .scaleOffset = scales };
    register_data(b, &t, data, n);
    return t;
}

static Qnn_Tensor_t bias(struct net_builder *b, uint32_t n)
{
    if (!fixed(b))
        return float_constant(b, 1, &n, 0.1f);
    Qnn_Tensor_t t = tensor(b, "b", QNN_DATATYPE_SFIXED_POINT_32, 1, &n);
    int32_t *data = checked(malloc(n * sizeof *data));
    for (uint32_t i = 0; i < n; i++)
        data[i] = (int32_t)(100.0f * draw_unit(b));
    set_scale(&t, 0, 0); /* in the scale of the accumulator */
    register_data(b, &t, data, n * (uint32_t)sizeof *data);
    return t;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

struct node {
    const char *type;
    Qnn_Param_t params[4];
    Qnn_Tensor_t in[24], out[3];
    uint32_t n_params, n_in, n_out;
};

static void add_param(struct net_builder *b, struct node *n, const char *name, uint32_t rank, const uint32_t *dims,
                      const uint32_t *values)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= dims[i];
    uint32_t *data = checked(arena_dup(&b->arena, values, count * sizeof *data));
    Qnn_Tensor_t t = tensor(b, name, QNN_DATATYPE_UINT_32, rank, dims);
    t.v1.clientBuf = (Qnn_ClientBuffer_t){ .data = data, .dataSize = count * (uint32_t)sizeof *data };
    register_tensor(b, &t);
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_TENSOR;
    p.name = name;
    p.tensorParam = t;
    n->params[n->n_params++] = p;
}

static void add_scalar(struct node *n, const char *name, Qnn_Scalar_t value)
{
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_SCALAR;
    p.name = name;
    p.scalarParam = value;
    n->params[n->n_params++] = p;
}

static void add_flag(struct node *n, const char *name, bool value)
{
    add_scalar(n, name, (Qnn_Scalar_t){ .dataType = QNN_DATATYPE_BOOL_8, .bool8Value = value });
}

static void add_number(struct node *n, const char *name, uint32_t value)
{
    add_scalar(n, name, (Qnn_Scalar_t){ .dataType = QNN_DATATYPE_UINT_32, .uint32Value = value });
}

static void add_node(struct net_builder *b, struct node *n)
{
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    c.v1.name = checked(arena_printf(&b->arena, "%s_%u", n->type, b->serial++));
    c.v1.packageName = "qti.aisw";
    c.v1.typeName = n->type;
    c.v1.numOfParams = n->n_params;
    c.v1.params = n->params;
    c.v1.numOfInputs = n->n_in;
    c.v1.inputTensors = n->in;
    c.v1.numOfOutputs = n->n_out;
    c.v1.outputTensors = n->out;
    CHECK(qnn.graphAddNode(b->graph, c));
}

/* ---- layers ----------------------------------------------------------------------------------------------------------- */

static void window_params(struct net_builder *b, struct node *n, const struct layer *l)
{
    add_param(b, n, "stride", 1, (uint32_t[]){ 2 }, l->stride);
    add_param(b, n, "pad_amount", 2, (uint32_t[]){ 2, 2 }, l->pad[0]);
    if (l->kind != LAYER_CONV)
        add_param(b, n, "filter_size", 1, (uint32_t[]){ 2 }, l->kernel);
}

static void conv_layer(struct net_builder *b, struct node *n, const struct layer *l)
{
    const uint32_t in = b->net->layers[l->in[0]].dims[3], out = l->dims[3];
    n->type = l->group > 1 ? "DepthWiseConv2d" : "Conv2d";
    n->in[1] = weights(b, 4, (uint32_t[]){ l->kernel[0], l->kernel[1], in / l->group, out }, 3, net_fan_in(b->net, l));
    n->in[2] = bias(b, out);
    n->n_in = 3;
    window_params(b, n, l);
}

static void dense_layer(struct net_builder *b, struct node *n, const struct layer *l)
{
    uint32_t in = net_fan_in(b->net, l);
    n->type = "FullyConnected";
    n->in[1] = weights(b, 2, (uint32_t[]){ l->dims[1], in }, 0, in);
    n->in[2] = bias(b, l->dims[1]);
    n->n_in = 3;
}

static void norm_layer(struct net_builder *b, struct node *n, const struct layer *l)
{
    uint32_t last = l->rank - 1, width = l->dims[last];
    n->type = "LayerNorm";
    n->in[1] = fixed(b) ? weights(b, 1, &width, -1, 6) : float_constant(b, 1, &width, 1);
    n->in[2] = fixed(b) ? bias(b, width) : float_constant(b, 1, &width, 0.1f);
    if (fixed(b))
        set_scale(&n->in[2], 0.001f, 0);
    n->n_in = 3;
    add_param(b, n, "axes", 1, (uint32_t[]){ 1 }, &last);
}

static void lstm_layer(struct net_builder *b, struct node *n, const struct layer *l)
{
    static const uint8_t from_x[] = { 1, 2, 3, 16 }, from_h[] = { 4, 5, 6, 17 }, biases[] = { 7, 8, 9, 21 };
    uint32_t in = b->net->layers[l->in[0]].dims[2], units = l->dims[2], batch = l->dims[0];
    Qnn_Tensor_t none = QNN_TENSOR_INIT;
    none.v1.type = QNN_TENSOR_TYPE_NULL;
    n->type = "Lstm";
    for (uint32_t i = 10; i < 22; i++)
        n->in[i] = none;
    for (int g = 0; g < 4; g++) {
        n->in[from_x[g]] = weights(b, 2, (uint32_t[]){ units, in }, -1, in);
        n->in[from_h[g]] = weights(b, 2, (uint32_t[]){ units, units }, -1, units);
        n->in[biases[g]] = bias(b, units);
    }
    n->n_in = 22;
    for (int i = 1; i < 3; i++) {
        n->out[i] = activation(b, QNN_TENSOR_TYPE_NATIVE, 2, (uint32_t[]){ batch, units });
        register_tensor(b, &n->out[i]);
    }
    n->n_out = 3;
    add_number(n, "direction", l->reverse);
}

static void plain_layer(struct net_builder *b, struct node *n, const struct layer *l)
{
    static const char *const names[] = {
        [LAYER_POOL_MAX] = "PoolMax2d", [LAYER_POOL_AVG] = "PoolAvg2d", [LAYER_ADD] = "ElementWiseAdd",
        [LAYER_MATMUL] = "MatMul",      [LAYER_SOFTMAX] = "Softmax",    [LAYER_GELU] = "Gelu",
        [LAYER_RELU] = "Relu",          [LAYER_RESHAPE] = "Reshape",    [LAYER_TRANSPOSE] = "Transpose",
        [LAYER_CONCAT] = "Concat"
    };
    n->type = names[l->kind];
    if (l->kind == LAYER_ADD || l->kind == LAYER_MATMUL)
        n->in[n->n_in++] = b->tensors[l->in[1]];
    for (uint32_t i = 1; i < l->n_in; i++)
        n->in[n->n_in++] = b->tensors[l->in[i]];
    if (l->kind == LAYER_CONCAT)
        add_number(n, "axis", l->rank - 1);
    if (l->kind == LAYER_POOL_MAX || l->kind == LAYER_POOL_AVG)
        window_params(b, n, l);
    if (l->kind == LAYER_TRANSPOSE)
        add_param(b, n, "perm", 1, &l->rank, l->perm);
    if (l->kind == LAYER_MATMUL)
        add_flag(n, "transpose_in1", l->transpose);
}

/* The tensor of a layer's result; what only moves or compares values keeps the encoding of its input. */
static Qnn_Tensor_t result(struct net_builder *b, const struct layer *l, Qnn_TensorType_t type)
{
    Qnn_Tensor_t t = activation(b, type, l->rank, l->dims);
    if (l->kind == LAYER_SOFTMAX)
        set_range(b, &t, 1, true);
    else if (l->act != LINEAR)
        set_range(b, &t, 6, true);
    else if (l->kind == LAYER_POOL_MAX || l->kind == LAYER_POOL_AVG || l->kind == LAYER_RESHAPE ||
             l->kind == LAYER_TRANSPOSE || l->kind == LAYER_CONCAT)
        t.v1.quantizeParams = b->tensors[l->in[0]].v1.quantizeParams;
    register_tensor(b, &t);
    return t;
}

static void add_layer(struct net_builder *b, uint32_t at)
{
    const struct layer *l = &b->net->layers[at];
    Qnn_TensorType_t type = at + 1 == b->net->n ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_NATIVE;
    struct node n = { .n_in = 1, .n_out = 1 };
    n.in[0] = b->tensors[l->in[0]];
    n.out[0] = result(b, l, l->act == LINEAR ? type : QNN_TENSOR_TYPE_NATIVE);
    if (l->kind == LAYER_CONV)
        conv_layer(b, &n, l);
    else if (l->kind == LAYER_DENSE)
        dense_layer(b, &n, l);
    else if (l->kind == LAYER_NORM)
        norm_layer(b, &n, l);
    else if (l->kind == LAYER_LSTM)
        lstm_layer(b, &n, l);
    else
        plain_layer(b, &n, l);
    add_node(b, &n);
    b->tensors[at] = n.out[0];
    if (l->act == LINEAR)
        return;
    struct node act = { .type = l->act == RELU ? "Relu" : "Relu6", .n_in = 1, .n_out = 1 };
    act.in[0] = n.out[0];
    b->tensors[at] = act.out[0] = result(b, l, type);
    add_node(b, &act);
}

void net_build(struct net_builder *b)
{
    const struct layer *in = &b->net->layers[0];
    b->seed = 1;
    b->serial = 0;
    arena_init(&b->arena);
    b->tensors[0] = activation(b, QNN_TENSOR_TYPE_APP_WRITE, in->rank, in->dims);
    register_tensor(b, &b->tensors[0]);
    for (uint32_t i = 1; i < b->net->n; i++)
        add_layer(b, i);
}

void net_builder_finish(struct net_builder *b)
{
    arena_finish(&b->arena);
}
