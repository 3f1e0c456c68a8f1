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

static Qnn_Tensor_t tensor(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type)
{
    static uint32_t dims[2] = { 1, SEED_IN };
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_8;
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t.v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){ 0.5f, -10 };
    MUST(QnnTensor_createGraphTensor(g, &t));
    return t;
}

static void node(Qnn_GraphHandle_t g, const char *name, const char *type, uint32_t n, Qnn_Tensor_t *in, Qnn_Tensor_t *out)
{
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    c.v1.name = name;
    c.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    c.v1.typeName = type;
    c.v1.numOfInputs = n;
    c.v1.inputTensors = in;
    c.v1.numOfOutputs = 1;
    c.v1.outputTensors = out;
    MUST(QnnGraph_addNode(g, c));
}

struct seed seed_open(void)
{
    struct seed s;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    uint64_t written;
    MUST(QnnBackend_create(NULL, NULL, &s.backend));
    MUST(QnnContext_create(s.backend, NULL, NULL, &c));
    MUST(QnnGraph_create(c, "model", NULL, &g));
    Qnn_Tensor_t in[2] = { tensor(g, "x", QNN_TENSOR_TYPE_APP_WRITE) }, mid = tensor(g, "relu_out", QNN_TENSOR_TYPE_NATIVE),
                 out = tensor(g, "y", QNN_TENSOR_TYPE_APP_READ);
    node(g, "relu", "Relu", 1, in, &mid);
    in[1] = mid;
    node(g, "add", "ElementWiseAdd", 2, in, &out);
    MUST(QnnGraph_finalize(g, NULL, NULL));
    MUST(QnnContext_getBinarySize(c, &s.binary_size));
    s.binary = seed_alloc(64, 64, (uint32_t)s.binary_size);
    MUST(QnnContext_getBinary(c, s.binary, s.binary_size, &written));
    MUST(QnnContext_free(c, NULL));
    MUST(QnnContext_createFromBinary(s.backend, NULL, NULL, s.binary, s.binary_size, &s.context, NULL));
    MUST(QnnGraph_retrieve(s.context, "model", &s.graph));
    return s;
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
