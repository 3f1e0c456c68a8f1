/* SPDX-License-Identifier: Apache-2.0 */
/* Library, sessions and layers for the benchmarks. */
#include "bench_client.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

QNN_INTERFACE_VER_TYPE qnn;

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

static void *checked(void *p)
{
    if (!p)
        give_up("allocation", "out of memory");
    return p;
}

void client_open(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libQnnCpu.so", folder);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        give_up(path, dlerror());
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = dlsym(lib, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    if (!get || get(&list, &n) != QNN_SUCCESS || !n)
        give_up(path, "it gives no interface provider");
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
}

void client_check(Qnn_ErrorHandle_t e, const char *call)
{
    const char *why = NULL;
    if (e == QNN_SUCCESS)
        return;
    qnn.errorGetVerboseMessage(e, &why);
    give_up(call, why ? why : "failed");
}

/* ---- sessions --------------------------------------------------------------------------------------------------------- */

static void set_threads(unsigned threads)
{
    char text[16];
    snprintf(text, sizeof text, "%u", threads);
    setenv("OPENQNN_THREADS", text, 1);
}

void session_open(struct session *s, unsigned threads)
{
    set_threads(threads);
    CHECK(qnn.backendCreate(NULL, NULL, &s->backend));
    CHECK(qnn.contextCreate(s->backend, NULL, NULL, &s->context));
}

void session_load(struct session *s, unsigned threads, const void *binary, uint64_t size, bool persistent)
{
    QnnContext_Config_t c = QNN_CONTEXT_CONFIG_INIT;
    const QnnContext_Config_t *configs[] = { &c, NULL };
    c.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY;
    c.isPersistentBinary = 1;
    set_threads(threads);
    if (!s->backend)
        CHECK(qnn.backendCreate(NULL, NULL, &s->backend));
    CHECK(qnn.contextCreateFromBinary(s->backend, NULL, persistent ? configs : NULL, binary, size, &s->context, NULL));
}

void session_close(struct session *s)
{
    CHECK(qnn.contextFree(s->context, NULL));
    CHECK(qnn.backendFree(s->backend));
    *s = (struct session){ NULL, NULL };
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

static uint32_t draw(struct builder *b)
{
    b->seed = b->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(b->seed >> 33);
}

static Qnn_Tensor_t tensor(struct builder *b, const char *what, Qnn_TensorType_t type, Qnn_DataType_t dtype, uint32_t rank,
                           const uint32_t *dims)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.version = QNN_TENSOR_VERSION_1;
    t.v1.name = checked(arena_printf(&b->arena, "%s%u", what, b->serial++));
    t.v1.type = type;
    t.v1.dataType = dtype;
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

/* Clamped activations use their whole range from zero; others are symmetric. */
static void set_activation_scale(Qnn_Tensor_t *t, enum activation act)
{
    if (act == LINEAR)
        set_scale(t, 8.0f / 255, -128);
    else
        set_scale(t, 6.0f / 255, 0);
}

static Qnn_Tensor_t activation(struct builder *b, Qnn_TensorType_t type, uint32_t rank, const uint32_t *dims, enum activation act)
{
    Qnn_Tensor_t t = tensor(b, "t", type, b->fixed ? QNN_DATATYPE_UFIXED_POINT_8 : QNN_DATATYPE_FLOAT_32, rank, dims);
    if (b->fixed)
        set_activation_scale(&t, act);
    return t;
}

static struct act new_act(struct builder *b, uint32_t h, uint32_t w, uint32_t c, enum activation act)
{
    struct act a = { .h = h, .w = w, .c = c };
    a.t = activation(b, QNN_TENSOR_TYPE_NATIVE, 4, (uint32_t[]){ 1, h, w, c }, act);
    CHECK(qnn.tensorCreateGraphTensor(b->graph, &a.t));
    return a;
}

/* The library copies constants: ours can go at once. */
static void create_static(struct builder *b, Qnn_Tensor_t *t, void *data, uint32_t bytes)
{
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ .data = data, .dataSize = bytes };
    CHECK(qnn.tensorCreateGraphTensor(b->graph, t));
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ .data = NULL, .dataSize = 0 };
    free(data);
}

/* Uniform, with the spread that keeps the size of activations over `fan_in` products. */
static Qnn_Tensor_t weights(struct builder *b, uint32_t rank, const uint32_t *dims, uint32_t axis, uint32_t fan_in)
{
    uint32_t n = 1;
    float spread = sqrtf(6.0f / (float)fan_in);
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    Qnn_Tensor_t t = tensor(b, "w", QNN_TENSOR_TYPE_STATIC, b->fixed ? QNN_DATATYPE_SFIXED_POINT_8 : QNN_DATATYPE_FLOAT_32, rank, dims);
    if (!b->fixed) {
        float *data = checked(malloc(n * sizeof *data));
        for (uint32_t i = 0; i < n; i++)
            data[i] = spread * ((float)(draw(b) % 2001) / 1000.0f - 1.0f);
        create_static(b, &t, data, n * (uint32_t)sizeof *data);
        return t;
    }
    int8_t *data = checked(malloc(n));
    Qnn_ScaleOffset_t *scales = checked(arena_array(&b->arena, Qnn_ScaleOffset_t, dims[axis]));
    for (uint32_t i = 0; i < n; i++)
        data[i] = (int8_t)((int)(draw(b) % 255) - 127);
    for (uint32_t i = 0; i < dims[axis]; i++)
        scales[i].scale = spread / 127 * (0.5f + (float)(draw(b) % 1000) / 1000.0f);
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    t.v1.quantizeParams.axisScaleOffsetEncoding =
        (Qnn_AxisScaleOffset_t){ .axis = (int32_t)axis, .numScaleOffsets = dims[axis], .scaleOffset = scales };
    create_static(b, &t, data, n);
    return t;
}

static Qnn_Tensor_t bias(struct builder *b, uint32_t n)
{
    Qnn_Tensor_t t = tensor(b, "b", QNN_TENSOR_TYPE_STATIC, b->fixed ? QNN_DATATYPE_SFIXED_POINT_32 : QNN_DATATYPE_FLOAT_32, 1, &n);
    int32_t *data = checked(malloc(n * sizeof *data));
    for (uint32_t i = 0; i < n; i++) {
        float real = 0.1f * ((float)(draw(b) % 2001) / 1000.0f - 1.0f);
        data[i] = (int32_t)(real * 1000.0f);
        if (!b->fixed)
            memcpy(&data[i], &real, sizeof real);
    }
    if (b->fixed)
        set_scale(&t, 0, 0); /* in the scale of the accumulator */
    create_static(b, &t, data, n * (uint32_t)sizeof *data);
    return t;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

struct node {
    const char *type;
    Qnn_Param_t params[4];
    Qnn_Tensor_t in[3], out;
    uint32_t n_params, n_in;
};

static void add_param(struct builder *b, struct node *n, const char *name, uint32_t rank, const uint32_t *dims, const uint32_t *values)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= dims[i];
    uint32_t *data = checked(malloc(count * sizeof *data));
    memcpy(data, values, count * sizeof *data);
    Qnn_Tensor_t t = tensor(b, name, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, rank, dims);
    t.v1.clientBuf = (Qnn_ClientBuffer_t){ .data = data, .dataSize = count * (uint32_t)sizeof *data };
    CHECK(qnn.tensorCreateGraphTensor(b->graph, &t));
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_TENSOR;
    p.name = name;
    p.tensorParam = t;
    n->params[n->n_params++] = p;
}

static void add_window(struct builder *b, struct node *n, uint32_t stride, uint32_t before, uint32_t after)
{
    add_param(b, n, "stride", 1, (uint32_t[]){ 2 }, (uint32_t[]){ stride, stride });
    add_param(b, n, "pad_amount", 2, (uint32_t[]){ 2, 2 }, (uint32_t[]){ before, after, before, after });
}

static void add_node(struct builder *b, struct node *n)
{
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    c.v1.name = checked(arena_printf(&b->arena, "%s_%u", n->type, b->serial++));
    c.v1.packageName = "qti.aisw";
    c.v1.typeName = n->type;
    c.v1.numOfParams = n->n_params;
    c.v1.params = n->params;
    c.v1.numOfInputs = n->n_in;
    c.v1.inputTensors = n->in;
    c.v1.numOfOutputs = 1;
    c.v1.outputTensors = &n->out;
    CHECK(qnn.graphAddNode(b->graph, c));
    for (uint32_t i = 0; i < n->n_params; i++)
        free(n->params[i].tensorParam.v1.clientBuf.data);
}

/* As exporters write it: a node of its own, in the encoding of what it reads. */
static struct act activate(struct builder *b, struct act x, enum activation act)
{
    if (act == LINEAR)
        return x;
    struct act y = new_act(b, x.h, x.w, x.c, act);
    struct node n = { .type = act == RELU ? "Relu" : "Relu6", .n_in = 1, .in = { x.t }, .out = y.t };
    add_node(b, &n);
    return y;
}

struct act build_input(struct builder *b, uint32_t h, uint32_t w, uint32_t c)
{
    struct act a = { .h = h, .w = w, .c = c };
    a.t = activation(b, QNN_TENSOR_TYPE_APP_WRITE, 4, (uint32_t[]){ 1, h, w, c }, LINEAR);
    CHECK(qnn.tensorCreateGraphTensor(b->graph, &a.t));
    b->input = a.t;
    return a;
}

struct act build_conv(struct builder *b, struct act x, struct conv how)
{
    uint32_t h = (x.h + how.stride - 1) / how.stride, w = (x.w + how.stride - 1) / how.stride;
    uint32_t total = (h - 1) * how.stride + how.kernel > x.h ? (h - 1) * how.stride + how.kernel - x.h : 0; /* images are square */
    uint32_t ci = how.depthwise ? 1 : x.c;
    struct act y = new_act(b, h, w, how.out, how.act);
    struct node n = { .type = how.depthwise ? "DepthWiseConv2d" : "Conv2d", .n_in = 3, .out = y.t };
    n.in[0] = x.t;
    n.in[1] = weights(b, 4, (uint32_t[]){ how.kernel, how.kernel, ci, how.out }, 3, how.kernel * how.kernel * ci);
    n.in[2] = bias(b, how.out);
    add_window(b, &n, how.stride, total / 2, total - total / 2);
    add_node(b, &n);
    return activate(b, y, how.act);
}

struct act build_add(struct builder *b, struct act x, struct act y, enum activation act)
{
    struct act z = new_act(b, x.h, x.w, x.c, act);
    struct node n = { .type = "ElementWiseAdd", .n_in = 2, .in = { x.t, y.t }, .out = z.t };
    add_node(b, &n);
    return activate(b, z, act);
}

struct act build_pool(struct builder *b, struct act x, const char *op, uint32_t kernel, uint32_t stride, uint32_t pad)
{
    struct act y = new_act(b, (x.h + 2 * pad - kernel) / stride + 1, (x.w + 2 * pad - kernel) / stride + 1, x.c, RELU);
    struct node n = { .type = op, .n_in = 1, .in = { x.t }, .out = y.t };
    add_param(b, &n, "filter_size", 1, (uint32_t[]){ 2 }, (uint32_t[]){ kernel, kernel });
    add_window(b, &n, stride, pad, pad);
    add_node(b, &n);
    return y;
}

struct act build_dense(struct builder *b, struct act x, uint32_t out, enum activation act)
{
    struct act y = { .h = 1, .w = 1, .c = out };
    uint32_t in = x.h * x.w * x.c;
    y.t = activation(b, QNN_TENSOR_TYPE_NATIVE, 2, (uint32_t[]){ 1, out }, act);
    CHECK(qnn.tensorCreateGraphTensor(b->graph, &y.t));
    struct node n = { .type = "FullyConnected", .n_in = 3, .out = y.t };
    n.in[0] = x.t;
    n.in[1] = weights(b, 2, (uint32_t[]){ out, in }, 0, in);
    n.in[2] = bias(b, out);
    add_node(b, &n);
    if (act == LINEAR)
        return y;
    struct act z = y;
    z.t = activation(b, QNN_TENSOR_TYPE_NATIVE, 2, (uint32_t[]){ 1, out }, act);
    CHECK(qnn.tensorCreateGraphTensor(b->graph, &z.t));
    struct node r = { .type = "Relu", .n_in = 1, .in = { y.t }, .out = z.t };
    add_node(b, &r);
    return z;
}

void build_output(struct builder *b, struct act x, const char *op)
{
    Qnn_Tensor_t y = activation(b, QNN_TENSOR_TYPE_APP_READ, x.t.v1.rank, x.t.v1.dimensions, LINEAR);
    if (b->fixed)
        set_scale(&y, 1.0f / 256, 0);
    CHECK(qnn.tensorCreateGraphTensor(b->graph, &y));
    struct node n = { .type = op, .n_in = 1, .in = { x.t }, .out = y };
    add_node(b, &n);
    b->output = y;
}
