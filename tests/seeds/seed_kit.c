/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of this folder share. */
#include "seed_kit.h"

void seed_must(Qnn_ErrorHandle_t e, const char *call)
{
    const char *text = "no explanation";
    if (e == QNN_SUCCESS)
        return;
    QnnError_getVerboseMessage(e, &text);
    fprintf(stderr, "%s returned %llu: %s\n", call, (unsigned long long)QNN_GET_ERROR_CODE(e), text);
    exit(1);
}

void *seed_alloc(uint32_t align, uint32_t size_align, uint32_t bytes)
{
    if (!bytes)
        return NULL;
    uint32_t unit = align > size_align ? align : size_align;
    void *p = aligned_alloc(align, (bytes + unit - 1) / unit * unit);
    CHECK(p);
    return p;
}

uint32_t seed_size(Qnn_GraphHandle_t graph, uint32_t option)
{
    uint32_t size = 0;
    QnnLpaiGraph_CustomProperty_t custom = { option, &size };
    QnnGraph_Property_t property = { .option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM };
    property.customProperty = &custom;
    QnnGraph_Property_t *list[2] = { &property, NULL };
    MUST(QnnGraph_getProperty(graph, list));
    return size;
}

void seed_give(Qnn_GraphHandle_t graph, uint32_t option, void *buffer, uint32_t size)
{
    QnnLpaiGraph_Mem_t mem = { .memType = QNN_LPAI_MEM_TYPE_DDR, .size = size, .addr = buffer };
    QnnLpaiGraph_CustomConfig_t custom = { .option = option, .config = &mem };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM };
    config.customConfig = &custom;
    QnnGraph_Config_t *list[2] = { &config, NULL };
    MUST(QnnGraph_setConfig(graph, (const QnnGraph_Config_t **)list));
}

static Qnn_Tensor_t shaped(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type, uint32_t rank, uint32_t *dims)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_8;
    t.v1.rank = rank;
    t.v1.dimensions = dims;
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t.v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){ 0.5f, -10 };
    MUST(QnnTensor_createGraphTensor(g, &t));
    return t;
}

static Qnn_Tensor_t tensor(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type)
{
    static uint32_t dims[2] = { 1, SEED_IN };
    return shaped(g, name, type, 2, dims);
}

static Qnn_OpConfig_t node_of(const char *name, const char *type, uint32_t n, Qnn_Tensor_t *in, Qnn_Tensor_t *out)
{
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    c.v1.name = name;
    c.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    c.v1.typeName = type;
    c.v1.numOfInputs = n;
    c.v1.inputTensors = in;
    c.v1.numOfOutputs = 1;
    c.v1.outputTensors = out;
    return c;
}

static void build_sum(Qnn_GraphHandle_t g)
{
    Qnn_Tensor_t in[2] = { tensor(g, "x", QNN_TENSOR_TYPE_APP_WRITE) }, mid = tensor(g, "relu_out", QNN_TENSOR_TYPE_NATIVE),
                 out = tensor(g, "y", QNN_TENSOR_TYPE_APP_READ);
    MUST(QnnGraph_addNode(g, node_of("relu", "Relu", 1, in, &mid)));
    in[1] = mid;
    MUST(QnnGraph_addNode(g, node_of("add", "ElementWiseAdd", 2, in, &out)));
}

static void build_window(Qnn_GraphHandle_t g)
{
    static uint32_t one[3] = { 1, 1, SEED_IN }, all[3] = { 1, SEED_FRAMES, SEED_IN };
    Qnn_Tensor_t in = shaped(g, "x", QNN_TENSOR_TYPE_APP_WRITE, 3, one),
                 out = shaped(g, "y", QNN_TENSOR_TYPE_APP_READ, 3, all);
    Qnn_Param_t params[2] = { { .paramType = QNN_PARAMTYPE_SCALAR, .name = QNN_OP_BUFFER_PARAM_BUFFER_SIZE },
                              { .paramType = QNN_PARAMTYPE_SCALAR, .name = QNN_OP_BUFFER_PARAM_BUFFER_DIM } };
    params[0].scalarParam = (Qnn_Scalar_t){ .dataType = QNN_DATATYPE_UINT_32, .uint32Value = SEED_FRAMES };
    params[1].scalarParam = (Qnn_Scalar_t){ .dataType = QNN_DATATYPE_UINT_32, .uint32Value = 1 };
    Qnn_OpConfig_t c = node_of("window", QNN_OP_BUFFER, 1, &in, &out);
    c.v1.numOfParams = 2;
    c.v1.params = params;
    MUST(QnnGraph_addNode(g, c));
}

static struct seed open_with(void (*build)(Qnn_GraphHandle_t g))
{
    struct seed s;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    uint64_t written;
    MUST(QnnBackend_create(NULL, NULL, &s.backend));
    MUST(QnnContext_create(s.backend, NULL, NULL, &c));
    MUST(QnnGraph_create(c, "model", NULL, &g));
    build(g);
    MUST(QnnGraph_finalize(g, NULL, NULL));
    MUST(QnnContext_getBinarySize(c, &s.binary_size));
    s.binary = seed_alloc(64, 64, (uint32_t)s.binary_size);
    MUST(QnnContext_getBinary(c, s.binary, s.binary_size, &written));
    MUST(QnnContext_free(c, NULL));
    MUST(QnnContext_createFromBinary(s.backend, NULL, NULL, s.binary, s.binary_size, &s.context, NULL));
    MUST(QnnGraph_retrieve(s.context, "model", &s.graph));
    return s;
}

struct seed seed_open(void)
{
    return open_with(build_sum);
}

struct seed seed_open_streaming(void)
{
    return open_with(build_window);
}

void seed_close(struct seed *s)
{
    MUST(QnnContext_free(s->context, NULL));
    MUST(QnnBackend_free(s->backend));
    free(s->binary);
}

void seed_finalize_and_run(const struct seed *s, void *scratch)
{
    static _Alignas(64) uint8_t x[128], y[128];
    Qnn_Tensor_t in = QNN_TENSOR_INIT, out = QNN_TENSOR_INIT;
    if (scratch)
        MUST(QnnGraph_finalize(s->graph, NULL, NULL));
    in.v1.id = 1;
    in.v1.clientBuf = (Qnn_ClientBuffer_t){ x, SEED_IN };
    out.v1.id = 3;
    out.v1.clientBuf = (Qnn_ClientBuffer_t){ y, SEED_OUT };
    for (int i = 0; i < SEED_IN; i++)
        x[i] = (uint8_t)i;
    MUST(QnnGraph_execute(s->graph, &in, 1, &out, 1, NULL, NULL));
    for (int i = 0; i < SEED_OUT; i++) { /* real = (q - 10) / 2 */
        int real2 = i - 10, sum2 = real2 + (real2 > 0 ? real2 : 0);
        int want = sum2 + 10 < 0 ? 0 : sum2 + 10;
        CHECK(y[i] == want);
    }
}
