/* SPDX-License-Identifier: Apache-2.0 */
/* The wake-word network as a context binary for LPAI: what a build machine does once.
 *
 *     build libQnnLpai.so wake_word.bin
 *
 *     x uq8[1,24] -> fc1 -> relu -> gru (state in persistent memory) -> fc2 -> sigmoid -> probability uq8[1,1] */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <QNN/QnnInterface.h>
#include <QNN/QnnOpDef.h>

#include "wake_params.h"

#define MUST(call)                                                                  \
    do {                                                                            \
        Qnn_ErrorHandle_t error_ = (call);                                          \
        if (error_ != QNN_SUCCESS) {                                                \
            fprintf(stderr, "%s: error %llu\n", #call, (unsigned long long)error_); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

/* Tensors, by index. */
enum {
    X,
    RESET,
    W1,
    B1,
    FC1,
    RELU,
    STEP,
    XZ,
    XR,
    XN,
    HZ,
    HR,
    HN,
    BZ,
    BR,
    BN,
    GRU,
    LAST,
    FLAT,
    W2,
    B2,
    LOGIT,
    PROBABILITY,
    N_TENSORS,
    NONE = -1
};

static QNN_INTERFACE_VER_TYPE qnn;
static Qnn_Tensor_t tensors[N_TENSORS];

#define U8 QNN_DATATYPE_UFIXED_POINT_8
#define S8 QNN_DATATYPE_SFIXED_POINT_8
#define S16 QNN_DATATYPE_SFIXED_POINT_16
#define S32 QNN_DATATYPE_SFIXED_POINT_32
#define IN QNN_TENSOR_TYPE_APP_WRITE
#define OUT QNN_TENSOR_TYPE_APP_READ
#define MID QNN_TENSOR_TYPE_NATIVE
#define FIXED QNN_TENSOR_TYPE_STATIC
#define DATA(name) wake_##name, sizeof(wake_##name)

static struct spec {
    const char *name;
    Qnn_TensorType_t type;
    Qnn_DataType_t data_type;
    uint32_t rank, dims[3];
    float scale; /* 0: not quantized */
    const void *data;
    uint32_t size;
} specs[N_TENSORS] = {
    [X] = { "x", IN, U8, 2, { 1, WAKE_BANDS }, WAKE_SCALE_X, NULL, 0 },
    [RESET] = { "reset", IN, QNN_DATATYPE_BOOL_8, 1, { 1 }, 0, NULL, 0 },
    [W1] = { "w1", FIXED, S8, 2, { WAKE_HIDDEN, WAKE_BANDS }, WAKE_SCALE_W1, DATA(w1) },
    [B1] = { "b1", FIXED, S32, 1, { WAKE_HIDDEN }, WAKE_SCALE_B1, DATA(b1) },
    [FC1] = { "fc1_out", MID, S16, 2, { 1, WAKE_HIDDEN }, WAKE_SCALE_A, NULL, 0 },
    [RELU] = { "relu_out", MID, S16, 2, { 1, WAKE_HIDDEN }, WAKE_SCALE_A, NULL, 0 },
    [STEP] = { "step", MID, S16, 3, { 1, 1, WAKE_HIDDEN }, WAKE_SCALE_A, NULL, 0 },
    [XZ] = { "w_xz", FIXED, S8, 2, { WAKE_UNITS, WAKE_HIDDEN }, WAKE_SCALE_XZ, DATA(xz) },
    [XR] = { "w_xr", FIXED, S8, 2, { WAKE_UNITS, WAKE_HIDDEN }, WAKE_SCALE_XR, DATA(xr) },
    [XN] = { "w_xn", FIXED, S8, 2, { WAKE_UNITS, WAKE_HIDDEN }, WAKE_SCALE_XN, DATA(xn) },
    [HZ] = { "w_hz", FIXED, S8, 2, { WAKE_UNITS, WAKE_UNITS }, WAKE_SCALE_HZ, DATA(hz) },
    [HR] = { "w_hr", FIXED, S8, 2, { WAKE_UNITS, WAKE_UNITS }, WAKE_SCALE_HR, DATA(hr) },
    [HN] = { "w_hn", FIXED, S8, 2, { WAKE_UNITS, WAKE_UNITS }, WAKE_SCALE_HN, DATA(hn) },
    [BZ] = { "b_z", FIXED, S32, 1, { WAKE_UNITS }, WAKE_SCALE_BZ, DATA(bz) },
    [BR] = { "b_r", FIXED, S32, 1, { WAKE_UNITS }, WAKE_SCALE_BR, DATA(br) },
    [BN] = { "b_n", FIXED, S32, 1, { WAKE_UNITS }, WAKE_SCALE_BN, DATA(bn) },
    [GRU] = { "gru_out", MID, S16, 3, { 1, 1, WAKE_UNITS }, WAKE_SCALE_H, NULL, 0 },
    [LAST] = { "gru_last", MID, S16, 3, { 1, 1, WAKE_UNITS }, WAKE_SCALE_H, NULL, 0 },
    [FLAT] = { "heard", MID, S16, 2, { 1, WAKE_UNITS }, WAKE_SCALE_H, NULL, 0 },
    [W2] = { "w2", FIXED, S8, 2, { 1, WAKE_UNITS }, WAKE_SCALE_W2, DATA(w2) },
    [B2] = { "b2", FIXED, S32, 1, { 1 }, WAKE_SCALE_B2, DATA(b2) },
    [LOGIT] = { "logit", MID, S16, 2, { 1, 1 }, WAKE_SCALE_LOGIT, NULL, 0 },
    [PROBABILITY] = { "probability", OUT, U8, 2, { 1, 1 }, 1 / 256.0f, NULL, 0 },
};

/* Inputs end with the last index that is given; NONE stands for an optional input that is left out. */
static const struct node {
    const char *name, *type;
    int n_in, in[15], n_out, out[2];
} nodes[] = {
    { "fc1", QNN_OP_FULLY_CONNECTED, 3, { X, W1, B1 }, 1, { FC1 } },
    { "relu", QNN_OP_RELU, 1, { FC1 }, 1, { RELU } },
    { "one_step", QNN_OP_RESHAPE, 1, { RELU }, 1, { STEP } },
    /* The reset input makes the layer remember: its state goes on from execution to execution. */
    { "gru", QNN_OP_GRU, 15, { STEP, XZ, XR, XN, HZ, HR, HN, BZ, BR, BN, NONE, NONE, NONE, NONE, RESET }, 2, { GRU, LAST } },
    { "flat", QNN_OP_RESHAPE, 1, { GRU }, 1, { FLAT } },
    { "fc2", QNN_OP_FULLY_CONNECTED, 3, { FLAT, W2, B2 }, 1, { LOGIT } },
    { "sigmoid", QNN_OP_SIGMOID, 1, { LOGIT }, 1, { PROBABILITY } },
};

static void create_tensor(Qnn_GraphHandle_t graph, int i)
{
    struct spec *s = &specs[i];
    Qnn_Tensor_t *t = &tensors[i];
    *t = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    t->v1.name = s->name;
    t->v1.type = s->type;
    t->v1.dataType = s->data_type;
    t->v1.rank = s->rank;
    t->v1.dimensions = s->dims;
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ (void *)s->data, s->size };
    if (s->scale > 0) {
        t->v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        t->v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        t->v1.quantizeParams.scaleOffsetEncoding.scale = s->scale;
    }
    MUST(qnn.tensorCreateGraphTensor(graph, t));
}

static void add_node(Qnn_BackendHandle_t backend, Qnn_GraphHandle_t graph, const struct node *n)
{
    Qnn_Tensor_t in[15], out[2], absent = QNN_TENSOR_INIT;
    absent.v1.type = QNN_TENSOR_TYPE_NULL;
    for (int i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == NONE ? absent : tensors[n->in[i]];
    for (int i = 0; i < n->n_out; i++)
        out[i] = tensors[n->out[i]];
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = n->name;
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = n->type;
    op.v1.numOfInputs = (uint32_t)n->n_in;
    op.v1.inputTensors = in;
    op.v1.numOfOutputs = (uint32_t)n->n_out;
    op.v1.outputTensors = out;
    MUST(qnn.backendValidateOpConfig(backend, op));
    MUST(qnn.graphAddNode(graph, op));
}

static void write_binary(Qnn_ContextHandle_t context, const char *path)
{
    Qnn_ContextBinarySize_t size = 0, written = 0;
    MUST(qnn.contextGetBinarySize(context, &size));
    void *data = malloc(size);
    FILE *f = fopen(path, "wb");
    if (!data || !f) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(1);
    }
    MUST(qnn.contextGetBinary(context, data, size, &written));
    if (fwrite(data, 1, written, f) != written || fclose(f)) {
        fprintf(stderr, "%s could not be written\n", path);
        exit(1);
    }
    free(data);
    printf("%s: %llu bytes\n", path, (unsigned long long)written);
}

int main(int argc, char **argv)
{
    const QnnInterface_t **providers = NULL;
    uint32_t n = 0;
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "usage: build libQnnLpai.so OUTPUT.bin\n%s\n", argc == 3 ? dlerror() : "");
        return 2;
    }
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *);
    *(void **)&get = dlsym(library, "QnnInterface_getProviders");
    MUST(get(&providers, &n));
    qnn = providers[0]->QNN_INTERFACE_VER_NAME;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    MUST(qnn.backendCreate(NULL, NULL, &backend));
    MUST(qnn.contextCreate(backend, NULL, NULL, &context));
    MUST(qnn.graphCreate(context, "wake_word", NULL, &graph));
    for (int i = 0; i < N_TENSORS; i++)
        create_tensor(graph, i);
    for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        add_node(backend, graph, &nodes[i]);
    MUST(qnn.graphFinalize(graph, NULL, NULL));
    write_binary(context, argv[2]);
    MUST(qnn.contextFree(context, NULL));
    MUST(qnn.backendFree(backend));
    return dlclose(library);
}
