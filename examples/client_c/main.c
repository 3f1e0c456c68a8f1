/* SPDX-License-Identifier: Apache-2.0 */
/* A QNN client in C, from dlopen to dlclose: composes a small quantized network, runs it, saves it, loads it again, and
 * shows that both runs give the same bits.
 *
 *     client_c path/to/libQnnCpu.so path/to/libQnnSystem.so
 *
 *     image uq8[1,12,12,3] -> conv 3x3 -> relu -> max pool 2x2 -> fully connected -> scores uq8[1,10] */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "QnnInterface.h"
#include "QnnOpDef.h"
#include "System/QnnSystemInterface.h"

enum { SIZE = 12, IN = 3, CHANNELS = 8, HALF = SIZE / 2, CLASSES = 10, FLAT = HALF * HALF * CHANNELS };

static QNN_INTERFACE_VER_TYPE qnn;
static QNN_SYSTEM_INTERFACE_VER_TYPE qnn_system;

/* ---- failing ---------------------------------------------------------------------------------------------------------- */

static void check(Qnn_ErrorHandle_t error, const char *what)
{
    const char *text = NULL;
    if (error == QNN_SUCCESS)
        return;
    if (qnn.errorGetVerboseMessage)
        qnn.errorGetVerboseMessage(error, &text);
    fprintf(stderr, "%s failed: error %u: %s\n", what, (unsigned)QNN_GET_ERROR_CODE(error), text ? text : "");
    exit(1);
}

static void require(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* ---- libraries -------------------------------------------------------------------------------------------------------- */

static void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    require(library != NULL, library ? "" : dlerror());
    return library;
}

static void load_backend(void *library)
{
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    __typeof__(&QnnInterface_getProviders) get = (__typeof__(get))dlsym(library, "QnnInterface_getProviders");
    require(get != NULL, "the backend exports no QnnInterface_getProviders");
    check(get(&list, &n), "QnnInterface_getProviders");
    for (uint32_t i = 0; i < n; i++) {
        Qnn_Version_t v = list[i]->apiVersion.coreApiVersion;
        if (v.major == QNN_API_VERSION_MAJOR && v.minor >= QNN_API_VERSION_MINOR) {
            qnn = list[i]->QNN_INTERFACE_VER_NAME;
            printf("backend %s, core API %u.%u.%u\n", list[i]->providerName, v.major, v.minor, v.patch);
            return;
        }
    }
    require(0, "no provider has the API version of these headers");
}

static void load_system(void *library)
{
    const QnnSystemInterface_t **list = NULL;
    uint32_t n = 0;
    __typeof__(&QnnSystemInterface_getProviders) get = (__typeof__(get))dlsym(library, "QnnSystemInterface_getProviders");
    require(get != NULL, "the system library exports no QnnSystemInterface_getProviders");
    check(get(&list, &n), "QnnSystemInterface_getProviders");
    require(n > 0, "the system library has no provider");
    qnn_system = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
}

/* ---- composing -------------------------------------------------------------------------------------------------------- */

static Qnn_Tensor_t new_tensor(const char *name, Qnn_TensorType_t type, Qnn_DataType_t data_type, uint32_t rank,
                               uint32_t *dims)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = data_type;
    t.v1.rank = rank;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

static Qnn_Tensor_t activation(const char *name, Qnn_TensorType_t type, uint32_t rank, uint32_t *dims,
                               Qnn_ScaleOffset_t encoding)
{
    Qnn_Tensor_t t = new_tensor(name, type, QNN_DATATYPE_UFIXED_POINT_8, rank, dims);
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t.v1.quantizeParams.scaleOffsetEncoding = encoding;
    return t;
}

static void create(Qnn_GraphHandle_t graph, Qnn_Tensor_t *t)
{
    check(qnn.tensorCreateGraphTensor(graph, t), t->v1.name);
}

/* A constant. Its data is copied by the call. */
static void create_static(Qnn_GraphHandle_t graph, Qnn_Tensor_t *t, void *data, size_t size)
{
    t->v1.clientBuf.data = data;
    t->v1.clientBuf.dataSize = (uint32_t)size;
    create(graph, t);
}

static Qnn_Param_t table_param(Qnn_GraphHandle_t graph, const char *param, const char *tensor, uint32_t rows,
                               const uint32_t *values)
{
    static uint32_t dims[] = { 2, 2 }; /* the struct points at it when the node is added */
    Qnn_Param_t p = { .paramType = QNN_PARAMTYPE_TENSOR, .name = param };
    p.tensorParam = new_tensor(tensor, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, rows == 1 ? 1 : 2, dims);
    create_static(graph, &p.tensorParam, (void *)values, rows * 2 * sizeof(uint32_t));
    return p;
}

struct node {
    const char *name, *type;
    Qnn_Tensor_t inputs[3], output;
    uint32_t n_inputs, n_params;
    Qnn_Param_t params[3];
};

static void add_node(Qnn_BackendHandle_t backend, Qnn_GraphHandle_t graph, struct node *n)
{
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1 = (Qnn_OpConfigV1_t){
        n->name, QNN_OP_PACKAGE_NAME_QTI_AISW, n->type, n->n_params, n->params, n->n_inputs, n->inputs, 1, &n->output
    };
    check(qnn.backendValidateOpConfig(backend, op), n->name);
    check(qnn.graphAddNode(graph, op), n->name);
}

/* Numbers that look like weights: the low bits of a congruential generator are poor, the high ones are used. */
static void fill_weights(int8_t *w, size_t n)
{
    uint32_t x = 12345;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        w[i] = (int8_t)(x >> 24);
    }
}

static void compose(Qnn_BackendHandle_t backend, Qnn_GraphHandle_t graph)
{
    static int8_t filter_data[3 * 3 * IN * CHANNELS], fc_data[CLASSES * FLAT];
    static int32_t bias_data[CHANNELS] = { 100, -200, 300, 0, 50, -50, 700, -900 };
    static const uint32_t ones[] = { 1, 1 }, twos[] = { 2, 2 }, pads[] = { 1, 1, 1, 1 }, zeros[] = { 0, 0, 0, 0 };
    uint32_t image_dims[] = { 1, SIZE, SIZE, IN }, conv_dims[] = { 1, SIZE, SIZE, CHANNELS },
             pool_dims[] = { 1, HALF, HALF, CHANNELS };
    uint32_t filter_dims[] = { 3, 3, IN, CHANNELS }, bias_dims[] = { CHANNELS }, fc_dims[] = { CLASSES, FLAT },
             score_dims[] = { 1, CLASSES };
    Qnn_ScaleOffset_t channel_scales[CHANNELS], hidden = { 0.05f, 0 };
    for (int i = 0; i < CHANNELS; i++)
        channel_scales[i] = (Qnn_ScaleOffset_t){ 0.001f * (float)(i + 1), 0 };
    fill_weights(filter_data, sizeof(filter_data));
    fill_weights(fc_data, sizeof(fc_data));

    Qnn_Tensor_t image = activation("image", QNN_TENSOR_TYPE_APP_WRITE, 4, image_dims, (Qnn_ScaleOffset_t){ 1.0f / 255, 0 });
    Qnn_Tensor_t conv = activation("conv_out", QNN_TENSOR_TYPE_NATIVE, 4, conv_dims, (Qnn_ScaleOffset_t){ 0.05f, -128 });
    Qnn_Tensor_t relu = activation("relu_out", QNN_TENSOR_TYPE_NATIVE, 4, conv_dims, hidden);
    Qnn_Tensor_t pool = activation("pool_out", QNN_TENSOR_TYPE_NATIVE, 4, pool_dims, hidden);
    Qnn_Tensor_t scores = activation("scores", QNN_TENSOR_TYPE_APP_READ, 2, score_dims, (Qnn_ScaleOffset_t){ 0.5f, -128 });
    Qnn_Tensor_t filter = new_tensor("filter", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_8, 4, filter_dims);
    filter.v1.quantizeParams = (Qnn_QuantizeParams_t){ QNN_DEFINITION_DEFINED,
                                                       QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET,
                                                       { .axisScaleOffsetEncoding = { 3, CHANNELS, channel_scales } } };
    Qnn_Tensor_t bias = new_tensor("bias", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_INT_32, 1, bias_dims);
    Qnn_Tensor_t fc = new_tensor("fc_weight", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_8, 2, fc_dims);
    fc.v1.quantizeParams = (Qnn_QuantizeParams_t){ QNN_DEFINITION_DEFINED,
                                                   QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
                                                   { .scaleOffsetEncoding = { 0.002f, 0 } } };
    create(graph, &image);
    create(graph, &conv);
    create(graph, &relu);
    create(graph, &pool);
    create(graph, &scores);
    create_static(graph, &filter, filter_data, sizeof(filter_data));
    create_static(graph, &bias, bias_data, sizeof(bias_data));
    create_static(graph, &fc, fc_data, sizeof(fc_data));

    struct node conv_node = { "conv",
                              QNN_OP_CONV_2D,
                              { image, filter, bias },
                              conv,
                              3,
                              2,
                              { table_param(graph, QNN_OP_CONV_2D_PARAM_STRIDE, "conv_stride", 1, ones),
                                table_param(graph, QNN_OP_CONV_2D_PARAM_PAD_AMOUNT, "conv_pad", 2, pads) } };
    struct node relu_node = { .name = "relu", .type = QNN_OP_RELU, .inputs = { conv }, .output = relu, .n_inputs = 1 };
    struct node pool_node = { "pool",
                              QNN_OP_POOL_MAX_2D,
                              { relu },
                              pool,
                              1,
                              3,
                              { table_param(graph, QNN_OP_POOL_MAX_2D_PARAM_FILTER_SIZE, "pool_size", 1, twos),
                                table_param(graph, QNN_OP_POOL_MAX_2D_PARAM_STRIDE, "pool_stride", 1, twos),
                                table_param(graph, QNN_OP_POOL_MAX_2D_PARAM_PAD_AMOUNT, "pool_pad", 2, zeros) } };
    struct node fc_node = {
        .name = "fc", .type = QNN_OP_FULLY_CONNECTED, .inputs = { pool, fc }, .output = scores, .n_inputs = 2
    };
    add_node(backend, graph, &conv_node);
    add_node(backend, graph, &relu_node);
    add_node(backend, graph, &pool_node);
    add_node(backend, graph, &fc_node);
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

/* Inputs and outputs are found in the binary's own description, as an application that did not compose the graph has to. */
static void execute(Qnn_GraphHandle_t graph, const QnnSystemContext_GraphInfoV1_t *info, uint8_t *scores)
{
    static uint8_t image[SIZE * SIZE * IN];
    for (size_t i = 0; i < sizeof(image); i++)
        image[i] = (uint8_t)(i * 37 % 256);
    Qnn_Tensor_t in = info->graphInputs[0], out = info->graphOutputs[0];
    in.v1.memType = out.v1.memType = QNN_TENSORMEMTYPE_RAW;
    in.v1.clientBuf = (Qnn_ClientBuffer_t){ image, sizeof(image) };
    out.v1.clientBuf = (Qnn_ClientBuffer_t){ scores, CLASSES };
    check(qnn.graphExecute(graph, &in, 1, &out, 1, NULL, NULL), "graphExecute");
}

static const QnnSystemContext_GraphInfoV1_t *describe(QnnSystemContext_Handle_t reader, void *binary, uint64_t size)
{
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextBinarySize_t info_size = 0;
    check(qnn_system.systemContextGetBinaryInfo(reader, binary, size, &info, &info_size), "systemContextGetBinaryInfo");
    const QnnSystemContext_GraphInfo_t *graphs = info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3
                                                     ? info->contextBinaryInfoV3.graphs
                                                     : info->contextBinaryInfoV1.graphs;
    return &graphs[0].graphInfoV1; /* the later versions begin alike */
}

static void print_scores(const char *title, const uint8_t *scores)
{
    printf("%-9s", title);
    for (int i = 0; i < CLASSES; i++)
        printf(" %3d", scores[i]);
    printf("\n");
}

static int run(Qnn_BackendHandle_t backend)
{
    Qnn_ContextHandle_t context = NULL, loaded = NULL;
    Qnn_GraphHandle_t graph = NULL, again = NULL;
    QnnSystemContext_Handle_t reader = NULL;
    Qnn_ContextBinarySize_t size = 0, written = 0;
    uint8_t first[CLASSES] = { 0 }, second[CLASSES] = { 0 };

    check(qnn.contextCreate(backend, NULL, NULL, &context), "contextCreate");
    check(qnn.graphCreate(context, "example", NULL, &graph), "graphCreate");
    compose(backend, graph);
    check(qnn.graphFinalize(graph, NULL, NULL), "graphFinalize");

    check(qnn.contextGetBinarySize(context, &size), "contextGetBinarySize");
    void *binary = malloc(size);
    require(binary != NULL, "out of memory");
    check(qnn.contextGetBinary(context, binary, size, &written), "contextGetBinary");
    check(qnn_system.systemContextCreate(&reader), "systemContextCreate");
    const QnnSystemContext_GraphInfoV1_t *info = describe(reader, binary, written);
    execute(graph, info, first);
    check(qnn.contextFree(context, NULL), "contextFree");

    check(qnn.contextCreateFromBinary(backend, NULL, NULL, binary, written, &loaded, NULL), "contextCreateFromBinary");
    check(qnn.graphRetrieve(loaded, info->graphName, &again), "graphRetrieve");
    execute(again, info, second);
    check(qnn.contextFree(loaded, NULL), "contextFree");
    check(qnn_system.systemContextFree(reader), "systemContextFree");
    free(binary);

    print_scores("composed", first);
    print_scores("loaded", second);
    int same = !memcmp(first, second, sizeof(first));
    printf("context binary of %" PRIu64 " bytes; %s\n", written, same ? "same bits" : "DIFFERENT");
    return same ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s path/to/libQnnCpu.so path/to/libQnnSystem.so\n", argv[0]);
        return 2;
    }
    Qnn_BackendHandle_t backend = NULL;
    void *backend_library = open_library(argv[1]), *system_library = open_library(argv[2]);
    load_backend(backend_library);
    load_system(system_library);
    check(qnn.backendCreate(NULL, NULL, &backend), "backendCreate");
    int code = run(backend);
    check(qnn.backendFree(backend), "backendFree");
    dlclose(system_library);
    dlclose(backend_library);
    return code;
}
