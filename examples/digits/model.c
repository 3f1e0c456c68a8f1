/* SPDX-License-Identifier: Apache-2.0 */
/* The digit recogniser as a model library, written by hand to be read:
 *
 *     x uq8[1,16,16,1] -> conv1 3x3 -> relu1 -> pool1 2x2 -> conv2 3x3 -> relu2 -> pool2 2x2 -> fc -> logits -> softmax ->
 *     probabilities
 *
 * Weights come from model.bin, which qnn-model-lib-generator embeds; encodings from digits_params.h. Both are written by
 * train.py. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "QnnModelLib.h"
#include "QnnOpDef.h"
#include "digits_params.h"

#define WEIGHTS(name) extern const uint8_t _binary_obj_binary_##name##_raw_start[], _binary_obj_binary_##name##_raw_end[]
WEIGHTS(w1);
WEIGHTS(b1);
WEIGHTS(w2);
WEIGHTS(b2);
WEIGHTS(w3);
WEIGHTS(b3);
#define DATA(name)                                 \
    (void *)_binary_obj_binary_##name##_raw_start, \
        (uint32_t)(_binary_obj_binary_##name##_raw_end - _binary_obj_binary_##name##_raw_start)

#define GRAPH_NAME "digits"

/* Tensors, by index; the order is that of their creation. */
enum { X, W1, B1, CONV1, RELU1, POOL1, W2, B2, CONV2, RELU2, POOL2, W3, B3, LOGITS, PROBABILITIES, N_TENSORS };

struct builder {
    QNN_INTERFACE_VER_TYPE api;
    Qnn_BackendHandle_t backend;
    Qnn_GraphHandle_t graph;
    QnnLog_Callback_t log;
    QnnLog_Level_t level;
    Qnn_Tensor_t tensors[N_TENSORS];
};

static void say(const struct builder *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (b->log && b->level >= QNN_LOG_LEVEL_ERROR)
        b->log(fmt, QNN_LOG_LEVEL_ERROR, 0, ap);
    va_end(ap);
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

static Qnn_QuantizeParams_t per_tensor(float scale, int32_t offset)
{
    Qnn_QuantizeParams_t q = QNN_QUANTIZE_PARAMS_INIT;
    q.encodingDefinition = QNN_DEFINITION_DEFINED;
    q.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    q.scaleOffsetEncoding.scale = scale;
    q.scaleOffsetEncoding.offset = offset;
    return q;
}

static Qnn_QuantizeParams_t per_channel(int32_t axis, uint32_t n, Qnn_ScaleOffset_t *scales)
{
    Qnn_QuantizeParams_t q = QNN_QUANTIZE_PARAMS_INIT;
    q.encodingDefinition = QNN_DEFINITION_DEFINED;
    q.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    q.axisScaleOffsetEncoding.axis = axis;
    q.axisScaleOffsetEncoding.numScaleOffsets = n;
    q.axisScaleOffsetEncoding.scaleOffset = scales;
    return q;
}

struct spec {
    const char *name;
    Qnn_TensorType_t type;
    Qnn_DataType_t data_type;
    uint32_t rank, dims[4];
    Qnn_QuantizeParams_t encoding;
    void *data;
    uint32_t size;
};

static uint32_t *copy_dims(const uint32_t *dims, uint32_t rank)
{
    uint32_t *copy = malloc(rank * sizeof(*copy));
    return copy ? memcpy(copy, dims, rank * sizeof(*copy)) : NULL;
}

static ModelError_t create_tensor(struct builder *b, int index, const struct spec *s, bool debug)
{
    Qnn_Tensor_t *t = &b->tensors[index];
    *t = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    t->v1.name = s->name;
    t->v1.type = debug && s->type == QNN_TENSOR_TYPE_NATIVE ? QNN_TENSOR_TYPE_APP_READ : s->type;
    t->v1.dataType = s->data_type;
    t->v1.quantizeParams = s->encoding;
    t->v1.rank = s->rank;
    t->v1.dimensions = copy_dims(s->dims, s->rank);
    t->v1.memType = QNN_TENSORMEMTYPE_RAW;
    t->v1.clientBuf.data = s->data;
    t->v1.clientBuf.dataSize = s->size;
    if (!t->v1.dimensions)
        return MODEL_MEMORY_ALLOCATE_ERROR;
    Qnn_ErrorHandle_t error = b->api.tensorCreateGraphTensor(b->graph, t);
    t->v1.clientBuf = (Qnn_ClientBuffer_t)QNN_CLIENT_BUFFER_INIT;
    if (error == QNN_SUCCESS)
        return MODEL_NO_ERROR;
    say(b, "tensor \"%s\" was refused: error %u", s->name, (unsigned)QNN_GET_ERROR_CODE(error));
    return MODEL_TENSOR_ERROR;
}

static ModelError_t create_tensors(struct builder *b, bool debug)
{
    enum { S = DIGITS_SIZE, C1 = DIGITS_C1, C2 = DIGITS_C2, FLAT = S / 4 * (S / 4) * C2 };
    const Qnn_DataType_t u8 = QNN_DATATYPE_UFIXED_POINT_8, s8 = QNN_DATATYPE_SFIXED_POINT_8, s32 = QNN_DATATYPE_INT_32;
    const Qnn_TensorType_t in = QNN_TENSOR_TYPE_APP_WRITE, native = QNN_TENSOR_TYPE_NATIVE, fixed = QNN_TENSOR_TYPE_STATIC;
    Qnn_QuantizeParams_t relu1 = per_tensor(DIGITS_RELU1_SCALE, DIGITS_RELU1_OFFSET),
                         relu2 = per_tensor(DIGITS_RELU2_SCALE, DIGITS_RELU2_OFFSET);
    const Qnn_QuantizeParams_t accumulator =
        QNN_QUANTIZE_PARAMS_INIT; /* biases have the scale of the sum they are added to */
    const struct spec specs[N_TENSORS] = {
        [X] = { "x", in, u8, 4, { 1, S, S, 1 }, per_tensor(DIGITS_X_SCALE, DIGITS_X_OFFSET), NULL, 0 },
        [W1] = { "conv1_weight", fixed, s8, 4, { 3, 3, 1, C1 }, per_channel(3, C1, digits_w1_scales), DATA(w1) },
        [B1] = { "conv1_bias", fixed, s32, 1, { C1 }, accumulator, DATA(b1) },
        [CONV1] = { "conv1_out", native, u8, 4, { 1, S, S, C1 }, relu1, NULL, 0 },
        [RELU1] = { "relu1_out", native, u8, 4, { 1, S, S, C1 }, relu1, NULL, 0 },
        [POOL1] = { "pool1_out", native, u8, 4, { 1, S / 2, S / 2, C1 }, relu1, NULL, 0 },
        [W2] = { "conv2_weight", fixed, s8, 4, { 3, 3, C1, C2 }, per_channel(3, C2, digits_w2_scales), DATA(w2) },
        [B2] = { "conv2_bias", fixed, s32, 1, { C2 }, accumulator, DATA(b2) },
        [CONV2] = { "conv2_out", native, u8, 4, { 1, S / 2, S / 2, C2 }, relu2, NULL, 0 },
        [RELU2] = { "relu2_out", native, u8, 4, { 1, S / 2, S / 2, C2 }, relu2, NULL, 0 },
        [POOL2] = { "pool2_out", native, u8, 4, { 1, S / 4, S / 4, C2 }, relu2, NULL, 0 },
        [W3] = { "fc_weight", fixed, s8, 2, { 10, FLAT }, per_channel(0, 10, digits_w3_scales), DATA(w3) },
        [B3] = { "fc_bias", fixed, s32, 1, { 10 }, accumulator, DATA(b3) },
        [LOGITS] = { "logits", native, u8, 2, { 1, 10 }, per_tensor(DIGITS_LOGITS_SCALE, DIGITS_LOGITS_OFFSET), NULL, 0 },
        [PROBABILITIES] = { "probabilities",
                            QNN_TENSOR_TYPE_APP_READ,
                            u8,
                            2,
                            { 1, 10 },
                            per_tensor(DIGITS_PROBABILITIES_SCALE, DIGITS_PROBABILITIES_OFFSET),
                            NULL,
                            0 },
    };
    for (int i = 0; i < N_TENSORS; i++) {
        ModelError_t error = create_tensor(b, i, &specs[i], debug);
        if (error != MODEL_NO_ERROR)
            return error;
    }
    return MODEL_NO_ERROR;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

/* A parameter that is a small table of numbers: strides, paddings. It is a tensor of its own. */
static ModelError_t table_param(struct builder *b, Qnn_Param_t *p, const char *name, const char *tensor, uint32_t rank,
                                uint32_t *values)
{
    static uint32_t dims[2][2] = { { 2, 0 }, { 2, 2 } };
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = tensor;
    t.v1.type = QNN_TENSOR_TYPE_STATIC;
    t.v1.dataType = QNN_DATATYPE_UINT_32;
    t.v1.rank = rank;
    t.v1.dimensions = dims[rank - 1];
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    t.v1.clientBuf.data = values;
    t.v1.clientBuf.dataSize = (rank == 1 ? 2 : 4) * sizeof(uint32_t);
    if (b->api.tensorCreateGraphTensor(b->graph, &t) != QNN_SUCCESS) {
        say(b, "parameter \"%s\" was refused", tensor);
        return MODEL_PARAMS_ERROR;
    }
    *p = (Qnn_Param_t){ .paramType = QNN_PARAMTYPE_TENSOR, .name = name, .tensorParam = t };
    return MODEL_NO_ERROR;
}

struct node {
    const char *name, *type;
    int inputs[3], n_inputs, output;
    Qnn_Param_t params[3];
    uint32_t n_params;
};

static ModelError_t add_node(struct builder *b, struct node *n)
{
    Qnn_Tensor_t inputs[3];
    for (int i = 0; i < n->n_inputs; i++)
        inputs[i] = b->tensors[n->inputs[i]];
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = n->name;
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = n->type;
    op.v1.numOfParams = n->n_params;
    op.v1.params = n->params;
    op.v1.numOfInputs = (uint32_t)n->n_inputs;
    op.v1.inputTensors = inputs;
    op.v1.numOfOutputs = 1;
    op.v1.outputTensors = &b->tensors[n->output];
    Qnn_ErrorHandle_t error = b->api.backendValidateOpConfig(b->backend, op);
    if (error == QNN_SUCCESS)
        error = b->api.graphAddNode(b->graph, op);
    if (error == QNN_SUCCESS)
        return MODEL_NO_ERROR;
    say(b, "node \"%s\" was refused: error %u", n->name, (unsigned)QNN_GET_ERROR_CODE(error));
    return MODEL_NODES_ERROR;
}

#define CHECKED(call)                 \
    do {                              \
        ModelError_t error_ = (call); \
        if (error_ != MODEL_NO_ERROR) \
            return error_;            \
    } while (0)

static ModelError_t add_conv(struct builder *b, const char *const *names, const int *in, int out)
{
    static uint32_t ones[] = { 1, 1 }, pads[] = { 1, 1, 1, 1 };
    struct node n = { .name = names[0],
                      .type = QNN_OP_CONV_2D,
                      .inputs = { in[0], in[1], in[2] },
                      .n_inputs = 3,
                      .output = out,
                      .n_params = 2 };
    CHECKED(table_param(b, &n.params[0], QNN_OP_CONV_2D_PARAM_STRIDE, names[1], 1, ones));
    CHECKED(table_param(b, &n.params[1], QNN_OP_CONV_2D_PARAM_PAD_AMOUNT, names[2], 2, pads));
    return add_node(b, &n);
}

static ModelError_t add_pool(struct builder *b, const char *const *names, int in, int out)
{
    static uint32_t twos[] = { 2, 2 }, zeros[] = { 0, 0, 0, 0 };
    struct node n = {
        .name = names[0], .type = QNN_OP_POOL_MAX_2D, .inputs = { in }, .n_inputs = 1, .output = out, .n_params = 3
    };
    CHECKED(table_param(b, &n.params[0], QNN_OP_POOL_MAX_2D_PARAM_FILTER_SIZE, names[1], 1, twos));
    CHECKED(table_param(b, &n.params[1], QNN_OP_POOL_MAX_2D_PARAM_STRIDE, names[2], 1, twos));
    CHECKED(table_param(b, &n.params[2], QNN_OP_POOL_MAX_2D_PARAM_PAD_AMOUNT, names[3], 2, zeros));
    return add_node(b, &n);
}

static ModelError_t add_nodes(struct builder *b)
{
    struct node relu1 = { .name = "relu1", .type = QNN_OP_RELU, .inputs = { CONV1 }, .n_inputs = 1, .output = RELU1 };
    struct node relu2 = { .name = "relu2", .type = QNN_OP_RELU, .inputs = { CONV2 }, .n_inputs = 1, .output = RELU2 };
    struct node fc = {
        .name = "fc", .type = QNN_OP_FULLY_CONNECTED, .inputs = { POOL2, W3, B3 }, .n_inputs = 3, .output = LOGITS
    };
    struct node softmax = {
        .name = "softmax", .type = QNN_OP_SOFTMAX, .inputs = { LOGITS }, .n_inputs = 1, .output = PROBABILITIES
    };
    CHECKED(add_conv(b, (const char *const[]){ "conv1", "conv1_stride", "conv1_pad" }, (const int[]){ X, W1, B1 }, CONV1));
    CHECKED(add_node(b, &relu1));
    CHECKED(add_pool(b, (const char *const[]){ "pool1", "pool1_size", "pool1_stride", "pool1_pad" }, RELU1, POOL1));
    CHECKED(
        add_conv(b, (const char *const[]){ "conv2", "conv2_stride", "conv2_pad" }, (const int[]){ POOL1, W2, B2 }, CONV2));
    CHECKED(add_node(b, &relu2));
    CHECKED(add_pool(b, (const char *const[]){ "pool2", "pool2_size", "pool2_stride", "pool2_pad" }, RELU2, POOL2));
    CHECKED(add_node(b, &fc));
    return add_node(b, &softmax);
}

/* ---- what the tools call ---------------------------------------------------------------------------------------------- */

/* One allocation holds everything that is described: the list, the graph, its tensors. */
struct description {
    GraphInfo_t *list[1];
    GraphInfo_t graph;
    char name[sizeof(GRAPH_NAME)];
    Qnn_Tensor_t inputs[1], outputs[N_TENSORS];
    uint32_t *dims[N_TENSORS];
};

static ModelError_t describe(struct builder *b, GraphInfoPtr_t **infos, uint32_t *n)
{
    struct description *d = calloc(1, sizeof(*d));
    if (!d)
        return MODEL_MEMORY_ALLOCATE_ERROR;
    memcpy(d->name, GRAPH_NAME, sizeof(d->name));
    d->list[0] = &d->graph;
    d->graph = (GraphInfo_t){
        .graph = b->graph, .graphName = d->name, .inputTensors = d->inputs, .numInputTensors = 1, .outputTensors = d->outputs
    };
    d->inputs[0] = b->tensors[X];
    for (int i = 0; i < N_TENSORS; i++) {
        d->dims[i] = b->tensors[i].v1.dimensions;
        if (b->tensors[i].v1.type == QNN_TENSOR_TYPE_APP_READ)
            d->outputs[d->graph.numOutputTensors++] = b->tensors[i];
    }
    *infos = d->list;
    *n = 1;
    return MODEL_NO_ERROR;
}

ModelError_t QnnModel_composeGraphs(Qnn_BackendHandle_t backend, QNN_INTERFACE_VER_TYPE interface,
                                    Qnn_ContextHandle_t context, const GraphConfigInfo_t **configs, const uint32_t n_configs,
                                    GraphInfoPtr_t **infos, uint32_t *n_infos, bool debug, QnnLog_Callback_t log,
                                    QnnLog_Level_t level)
{
    struct builder b = { .api = interface, .backend = backend, .log = log, .level = level };
    const QnnGraph_Config_t **config = NULL;
    if (!infos || !n_infos)
        return MODEL_INVALID_ARGUMENT_ERROR;
    for (uint32_t i = 0; i < n_configs; i++) {
        if (!strcmp(configs[i]->graphName, GRAPH_NAME))
            config = configs[i]->graphConfigs;
    }
    if (b.api.graphCreate(context, GRAPH_NAME, config, &b.graph) != QNN_SUCCESS)
        return MODEL_GRAPH_ERROR;
    ModelError_t error = create_tensors(&b, debug);
    if (error == MODEL_NO_ERROR)
        error = add_nodes(&b);
    if (error == MODEL_NO_ERROR)
        error = describe(&b, infos, n_infos);
    for (int i = 0; error != MODEL_NO_ERROR && i < N_TENSORS; i++)
        free(b.tensors[i].v1.dimensions);
    return error;
}

ModelError_t QnnModel_freeGraphsInfo(GraphInfoPtr_t **infos, uint32_t n)
{
    if (!infos || !*infos || n != 1)
        return MODEL_INVALID_ARGUMENT_ERROR;
    struct description *d = (struct description *)*infos;
    for (int i = 0; i < N_TENSORS; i++)
        free(d->dims[i]);
    free(d);
    *infos = NULL;
    return MODEL_NO_ERROR;
}
