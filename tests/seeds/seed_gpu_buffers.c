/* SPDX-License-Identifier: Apache-2.0 */
/* One OpenCL buffer per tensor, of the client's own context: registered as custom memory, read and written by the graph in
 * place. The result, looked at through a mapped buffer, is the one of plain pointers. */
#include <QNN/GPU/QnnGpuMem.h>
#include <QNN/QnnInterface.h>
#include <QNN/QnnOpDef.h>
#include <QNN/QnnOpPackage.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../api/gpu_cl.h"

#define CHECK(cond)                                                            \
    do {                                                                       \
        if (!(cond)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

enum { ROWS = 64, COLS = 128, COUNT = ROWS * COLS };

static QNN_INTERFACE_VER_TYPE qnn;
static Qnn_BackendHandle_t backend;
static Qnn_ContextHandle_t context;
static Qnn_GraphHandle_t graph;
static uint32_t dims[2] = { ROWS, COLS };
static Qnn_Tensor_t tensors[2]; /* input, output */

static void open_library(void)
{
    char path[4096];
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    snprintf(path, sizeof path, "%s/libQnnGpu.so", getenv("OPENQNN_LIB_DIR") ? getenv("OPENQNN_LIB_DIR") : ".");
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(lib);
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = dlsym(lib, "QnnInterface_getProviders");
    CHECK(get && get(&list, &n) == QNN_SUCCESS && n == 1);
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
}

/* y = tanh(x) over {64, 128}. */
static void build_graph(void)
{
    static const char *const names[2] = { "x", "y" };
    for (int i = 0; i < 2; i++) {
        tensors[i] = (Qnn_Tensor_t)QNN_TENSOR_INIT;
        tensors[i].v1.name = names[i];
        tensors[i].v1.type = i ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_APP_WRITE;
        tensors[i].v1.dataType = QNN_DATATYPE_FLOAT_32;
        tensors[i].v1.rank = 2;
        tensors[i].v1.dimensions = dims;
    }
    CHECK(qnn.graphCreate(context, "graph", NULL, &graph) == QNN_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK(qnn.tensorCreateGraphTensor(graph, &tensors[i]) == QNN_SUCCESS);
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = "tanh";
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = QNN_OP_TANH;
    op.v1.numOfInputs = op.v1.numOfOutputs = 1;
    op.v1.inputTensors = &tensors[0];
    op.v1.outputTensors = &tensors[1];
    CHECK(qnn.graphAddNode(graph, op) == QNN_SUCCESS);
    CHECK(qnn.graphFinalize(graph, NULL, NULL) == QNN_SUCCESS);
}

static Qnn_MemHandle_t register_buffer(cl_mem buffer, const Qnn_Tensor_t *t)
{
    Qnn_MemHandle_t handle = NULL;
    Qnn_MemDescriptor_t descriptor = QNN_MEM_DESCRIPTOR_INIT;
    descriptor.memShape = (Qnn_MemShape_t){ t->v1.rank, t->v1.dimensions, NULL };
    descriptor.dataType = t->v1.dataType;
    descriptor.memType = QNN_MEM_TYPE_CUSTOM;
    QnnGpu_MemInfoCustom_t info = QNN_GPU_MEM_INFO_CUSTOM_INIT;
    info.memType = QNN_GPU_MEM_OPENCL;
    info.buffer = buffer;
    descriptor.customInfo = &info;
    CHECK(qnn.memRegister(context, &descriptor, 1u, &handle) == QNN_SUCCESS);
    return handle;
}

static void run_plain(float *x, float *y)
{
    Qnn_Tensor_t io[2] = { tensors[0], tensors[1] };
    float *data[2] = { x, y };
    for (int i = 0; i < 2; i++) {
        io[i].v1.memType = QNN_TENSORMEMTYPE_RAW;
        io[i].v1.clientBuf = (Qnn_ClientBuffer_t){ data[i], COUNT * sizeof(float) };
    }
    CHECK(qnn.graphExecute(graph, &io[0], 1, &io[1], 1, NULL, NULL) == QNN_SUCCESS);
}

static void run_buffers(const struct client_cl *cl, const float *x, const float *want)
{
    cl_mem buffers[2];
    size_t bytes = COUNT * sizeof(float);
    Qnn_MemHandle_t handles[2];
    Qnn_Tensor_t io[2] = { tensors[0], tensors[1] };
    for (int i = 0; i < 2; i++) {
        buffers[i] = client_cl_buffer(cl, CL_MEM_READ_WRITE, bytes);
        CHECK(buffers[i]);
        io[i].v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
        io[i].v1.memHandle = handles[i] = register_buffer(buffers[i], &tensors[i]);
    }
    float *mapped = client_cl_map(cl, buffers[0], CL_MAP_WRITE, bytes);
    memcpy(mapped, x, bytes);
    client_cl_unmap(cl, buffers[0], mapped);
    CHECK(qnn.graphExecute(graph, &io[0], 1, &io[1], 1, NULL, NULL) == QNN_SUCCESS);
    mapped = client_cl_map(cl, buffers[1], CL_MAP_READ, bytes);
    CHECK(memcmp(mapped, want, bytes) == 0);
    client_cl_unmap(cl, buffers[1], mapped);
    CHECK(qnn.memDeRegister(handles, 2) == QNN_SUCCESS);
    for (int i = 0; i < 2; i++)
        CL_CALL(cl, clReleaseMemObject)(buffers[i]);
}

int main(void)
{
    static float x[COUNT], y[COUNT];
    struct client_cl cl;
    if (client_cl_open(&cl)) {
        printf("SKIP: OpenCL has no device\n");
        return 77;
    }
    open_library();
    CHECK(qnn.backendCreate(NULL, NULL, &backend) == QNN_SUCCESS);
    CHECK(qnn.contextCreate(backend, NULL, NULL, &context) == QNN_SUCCESS);
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i % 257 - 128) / 32.0f;
    build_graph();
    run_plain(x, y);
    CHECK(y[128] == 0.0f && y[256] > 0.99f && y[0] < -0.99f);
    run_buffers(&cl, x, y);
    run_buffers(&cl, x, y); /* buffers come and go */
    CHECK(qnn.contextFree(context, NULL) == QNN_SUCCESS);
    CHECK(qnn.backendFree(backend) == QNN_SUCCESS);
    client_cl_close(&cl);
    return 0;
}
