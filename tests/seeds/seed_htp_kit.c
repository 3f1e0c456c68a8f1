/* SPDX-License-Identifier: Apache-2.0 */
/* Around the shared-buffer programs: libraries, model, and the result with plain pointers. */
#include "seed_htp_kit.h"

#include <dlfcn.h>

static void *open_library(const char *name)
{
    char path[4096];
    const char *dir = getenv("OPENQNN_LIB_DIR");
    snprintf(path, sizeof path, "%s%s%s", dir ? dir : "", dir ? "/" : "", name);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "cannot open %s: %s; set OPENQNN_LIB_DIR\n", path, dlerror());
        exit(1);
    }
    return lib;
}

static void open_interface(struct htp_seed *s)
{
    void *lib = open_library("libQnnHtp.so"), *rpc = open_library("libcdsprpc.so");
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = dlsym(lib, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    CHECK(get && get(&list, &n) == QNN_SUCCESS && n == 1);
    s->qnn = list[0]->QNN_INTERFACE_VER_NAME;
    s->rpcmem_alloc = (RpcMemAllocFn_t)dlsym(rpc, "rpcmem_alloc");
    s->rpcmem_free = (RpcMemFreeFn_t)dlsym(rpc, "rpcmem_free");
    s->rpcmem_to_fd = (RpcMemToFdFn_t)dlsym(rpc, "rpcmem_to_fd");
    CHECK(s->rpcmem_alloc && s->rpcmem_free && s->rpcmem_to_fd);
}

static Qnn_Tensor_t tensor(struct htp_seed *s, const char *name, Qnn_TensorType_t type, uint32_t *dims, float scale,
                           const void *data, uint32_t bytes)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_8;
    t.v1.quantizeParams = (Qnn_QuantizeParams_t){ .encodingDefinition = QNN_DEFINITION_DEFINED,
                                                  .quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
                                                  .scaleOffsetEncoding = { scale, -128 } };
    t.v1.rank = 4;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    t.v1.clientBuf = (Qnn_ClientBuffer_t){ (void *)(uintptr_t)data, bytes };
    CHECK(s->qnn.tensorCreateGraphTensor(s->graph, &t) == QNN_SUCCESS);
    return t;
}

static Qnn_Param_t pair(struct htp_seed *s, const char *name, uint32_t rank, uint32_t *dims, uint32_t *values)
{
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_TENSOR;
    p.name = name;
    p.tensorParam = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    p.tensorParam.v1.name = name;
    p.tensorParam.v1.type = QNN_TENSOR_TYPE_STATIC;
    p.tensorParam.v1.dataType = QNN_DATATYPE_UINT_32;
    p.tensorParam.v1.rank = rank;
    p.tensorParam.v1.dimensions = dims;
    p.tensorParam.v1.clientBuf = (Qnn_ClientBuffer_t){ values, rank == 1 ? 8 : 16 };
    CHECK(s->qnn.tensorCreateGraphTensor(s->graph, &p.tensorParam) == QNN_SUCCESS);
    return p;
}

static void add(struct htp_seed *s, const char *type, Qnn_Param_t *params, uint32_t n, Qnn_Tensor_t *in, Qnn_Tensor_t *out)
{
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1 = (Qnn_OpConfigV1_t){ .name = type,
                                .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                                .typeName = type,
                                .numOfParams = n,
                                .params = params,
                                .numOfInputs = 2,
                                .inputTensors = in,
                                .numOfOutputs = 1,
                                .outputTensors = out };
    CHECK(s->qnn.graphAddNode(s->graph, op) == QNN_SUCCESS);
}

static void build(struct htp_seed *s)
{
    static uint32_t image[4] = { 1, SEED_SIDE, SEED_SIDE, SEED_CHANNELS },
                    filter[4] = { 3, 3, SEED_CHANNELS, SEED_CHANNELS };
    static uint32_t two[1] = { 2 }, square[2] = { 2, 2 }, stride[2] = { 1, 1 }, pad[4] = { 1, 1, 1, 1 };
    static uint8_t weights[9 * SEED_CHANNELS * SEED_CHANNELS];
    for (size_t i = 0; i < sizeof weights; i++)
        weights[i] = (uint8_t)(i * 37 + 11);
    s->tensors[0] = tensor(s, "image", QNN_TENSOR_TYPE_APP_WRITE, image, 0.02f, NULL, 0);
    s->tensors[1] = tensor(s, "other", QNN_TENSOR_TYPE_APP_WRITE, image, 0.05f, NULL, 0);
    s->tensors[2] = tensor(s, "result", QNN_TENSOR_TYPE_APP_READ, image, 0.2f, NULL, 0);
    Qnn_Tensor_t w = tensor(s, "filter", QNN_TENSOR_TYPE_STATIC, filter, 0.01f, weights, sizeof weights);
    Qnn_Tensor_t mid = tensor(s, "convolved", QNN_TENSOR_TYPE_NATIVE, image, 0.1f, NULL, 0);
    Qnn_Param_t params[2] = { pair(s, "stride", 1, two, stride), pair(s, "pad_amount", 2, square, pad) };
    add(s, "Conv2d", params, 2, (Qnn_Tensor_t[]){ s->tensors[0], w }, &mid);
    add(s, "ElementWiseAdd", NULL, 0, (Qnn_Tensor_t[]){ mid, s->tensors[1] }, &s->tensors[2]);
    CHECK(s->qnn.graphFinalize(s->graph, NULL, NULL) == QNN_SUCCESS);
}

void htp_seed_execute(struct htp_seed *s)
{
    CHECK(s->qnn.graphExecute(s->graph, s->tensors, 2, &s->tensors[2], 1, NULL, NULL) == QNN_SUCCESS);
}

static void execute_plainly(struct htp_seed *s)
{
    unsigned distinct[256] = { 0 }, kinds = 0;
    for (size_t i = 0; i < SEED_IN; i++) {
        s->data[0][i] = (uint8_t)(i * 13 + 5);
        s->data[1][i] = (uint8_t)(200 - i * 7);
    }
    for (int i = 0; i < SEED_TENSORS; i++)
        s->tensors[i].v1.clientBuf = (Qnn_ClientBuffer_t){ s->data[i], SEED_IN };
    htp_seed_execute(s);
    for (size_t i = 0; i < SEED_IN; i++)
        kinds += distinct[s->data[2][i]]++ == 0;
    CHECK(kinds > 10); /* a result that would tell */
}

void htp_seed_open(struct htp_seed *s)
{
    memset(s, 0, sizeof *s);
    open_interface(s);
    CHECK(s->qnn.backendCreate(NULL, NULL, &s->backend) == QNN_SUCCESS);
    CHECK(s->qnn.contextCreate(s->backend, NULL, NULL, &s->context) == QNN_SUCCESS);
    CHECK(s->qnn.graphCreate(s->context, "seed", NULL, &s->graph) == QNN_SUCCESS);
    build(s);
    execute_plainly(s);
}

void htp_seed_close(struct htp_seed *s)
{
    CHECK(s->qnn.contextFree(s->context, NULL) == QNN_SUCCESS);
    CHECK(s->qnn.backendFree(s->backend) == QNN_SUCCESS);
}
