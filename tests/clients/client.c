/* SPDX-License-Identifier: Apache-2.0 */
/* What the small clients share. */
#include "client.h"

#include <dlfcn.h>
#include <math.h>

QNN_INTERFACE_VER_TYPE qnn;
QNN_SYSTEM_INTERFACE_VER_TYPE sys;

void client_must(Qnn_ErrorHandle_t e, const char *call, const char *file, int line)
{
    const char *text = NULL;
    if (CODE(e) == QNN_SUCCESS)
        return;
    if (!qnn.errorGetVerboseMessage || qnn.errorGetVerboseMessage(e, &text) != QNN_SUCCESS)
        text = "no explanation";
    fprintf(stderr, "%s:%d: %s\n    returned %u: %s\n", file, line, call, CODE(e), text);
    exit(1);
}

/* ---- libraries -------------------------------------------------------------------------------------------------------- */

void *client_open(const char *name, int flags)
{
    const char *dir = getenv("OPENQNN_LIB_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", dir ? dir : "", dir ? "/" : "", name);
    void *lib = dlopen(path, flags);
    if (!lib && !(flags & RTLD_NOLOAD)) {
        fprintf(stderr, "cannot open %s: %s; set OPENQNN_LIB_DIR\n", path, dlerror());
        exit(1);
    }
    return lib;
}

const char *client_library(void)
{
    const char *name = getenv("OPENQNN_TEST_LIB");
    return name ? name : "libQnnCpu.so";
}

bool client_on_htp(void)
{
    return strcmp(client_library(), "libQnnHtp.so") == 0;
}

const QnnInterface_t *client_provider(void *lib, enum choice how)
{
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = dlsym(lib, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    CHECK(get);
    CHECK(get(&list, &n) == QNN_SUCCESS && list);
    CHECK(how == ONLY_ONE ? n == 1 : n >= 1);
    for (uint32_t i = 0; i < n; i++) {
        const Qnn_Version_t *v = &list[i]->apiVersion.coreApiVersion;
        if (v->major != QNN_API_VERSION_MAJOR || v->minor < QNN_API_VERSION_MINOR)
            continue;
        CHECK(list[i]->providerName);
        qnn = list[i]->QNN_INTERFACE_VER_NAME;
        return list[i];
    }
    CHECK(!"a provider with a fitting version");
    return NULL;
}

void client_system_provider(void *lib, enum choice how)
{
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) = dlsym(lib, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list = NULL;
    uint32_t n = 0;
    CHECK(get);
    CHECK(get(&list, &n) == QNN_SUCCESS && list);
    CHECK(how == ONLY_ONE ? n == 1 : n >= 1);
    CHECK(list[0]->systemApiVersion.major == QNN_SYSTEM_API_VERSION_MAJOR && list[0]->systemApiVersion.minor >= 7);
    sys = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
}

/* ---- structs ---------------------------------------------------------------------------------------------------------- */

Qnn_Tensor_t client_tensor(const struct tensor_spec *s)
{
    static uint32_t pool[1024];
    static size_t used;
    CHECK(used + s->rank <= COUNT(pool));
    Qnn_Tensor_t t = { .version = s->version == 2 ? QNN_TENSOR_VERSION_2 : QNN_TENSOR_VERSION_1 };
    if (s->version == 2)
        t.v2 = (Qnn_TensorV2_t)QNN_TENSOR_V2_INIT;
    else
        t.v1 = (Qnn_TensorV1_t)QNN_TENSOR_V1_INIT;
    memcpy(pool + used, s->dims, s->rank * sizeof *pool);
    TV(t).name = s->name;
    TV(t).type = s->type;
    TV(t).dataType = s->dtype;
    TV(t).rank = s->rank;
    TV(t).dimensions = pool + used;
    TV(t).memType = QNN_TENSORMEMTYPE_RAW;
    TV(t).clientBuf = (Qnn_ClientBuffer_t){ (void *)(uintptr_t)s->data, s->bytes };
    if (s->scale > 0)
        TV(t).quantizeParams = (Qnn_QuantizeParams_t){ .encodingDefinition = QNN_DEFINITION_DEFINED,
                                                       .quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
                                                       .scaleOffsetEncoding = { s->scale, s->offset } };
    used += s->rank;
    return t;
}

Qnn_Tensor_t client_create(Qnn_GraphHandle_t g, struct tensor_spec s)
{
    Qnn_Tensor_t t = client_tensor(&s);
    MUST(qnn.tensorCreateGraphTensor(g, &t));
    CHECK(TV(t).id != 0);
    return t;
}

Qnn_Tensor_t client_bind(Qnn_Tensor_t t, const void *data, uint32_t bytes)
{
    TV(t).memType = QNN_TENSORMEMTYPE_RAW;
    TV(t).clientBuf = (Qnn_ClientBuffer_t){ (void *)(uintptr_t)data, bytes };
    return t;
}

Qnn_Param_t client_u32(const char *name, uint32_t value)
{
    Qnn_Param_t p = { .paramType = QNN_PARAMTYPE_SCALAR, .name = name };
    p.scalarParam = (Qnn_Scalar_t){ .dataType = QNN_DATATYPE_UINT_32, .uint32Value = value };
    return p;
}

Qnn_Param_t client_bool(const char *name, bool value)
{
    Qnn_Param_t p = { .paramType = QNN_PARAMTYPE_SCALAR, .name = name };
    p.scalarParam = (Qnn_Scalar_t){ .dataType = QNN_DATATYPE_BOOL_8, .bool8Value = value };
    return p;
}

Qnn_Param_t client_u32s(Qnn_GraphHandle_t g, int version, const char *name, uint32_t rank, const uint32_t *dims,
                        const uint32_t *values)
{
    struct tensor_spec s = {
        version, name, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, rank, { 0 }, values, sizeof *values, 0, 0
    };
    for (uint32_t i = 0; i < rank; i++) {
        s.dims[i] = dims[i];
        s.bytes *= dims[i];
    }
    Qnn_Param_t p = { .paramType = QNN_PARAMTYPE_TENSOR, .name = name };
    p.tensorParam = client_create(g, s);
    return p;
}

Qnn_OpConfig_t client_config(struct node_spec *n)
{
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    c.v1 = (Qnn_OpConfigV1_t){ .name = n->name,
                               .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                               .typeName = n->type,
                               .numOfParams = n->np,
                               .params = n->p,
                               .numOfInputs = n->ni,
                               .inputTensors = n->in,
                               .numOfOutputs = n->no,
                               .outputTensors = n->out };
    return c;
}

/* ---- numbers and binaries --------------------------------------------------------------------------------------------- */

void client_floats(const float *got, const float *want, uint32_t n, float tolerance)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= tolerance)) {
            fprintf(stderr, "element %u is %g, not %g\n", i, (double)got[i], (double)want[i]);
            exit(1);
        }
}

struct client_binary client_save(Qnn_ContextHandle_t c)
{
    struct client_binary b = { NULL, 0 };
    uint64_t written = 0;
    MUST(qnn.contextGetBinarySize(c, &b.size));
    CHECK(b.size > 0);
    b.data = malloc(b.size);
    MUST(qnn.contextGetBinary(c, b.data, b.size, &written));
    CHECK(written <= b.size);
    b.size = written;
    return b;
}

static const float model_bias[MODEL_N] = { 1, -1, 2, -2, 0.5f, -0.5f };

void client_model_expected(const float *in, float *out)
{
    for (int i = 0; i < MODEL_N; i++)
        out[i] = in[i] + model_bias[i] > 0 ? in[i] + model_bias[i] : 0;
}

struct client_binary client_model(void)
{
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    MUST(qnn.backendCreate(NULL, NULL, &b));
    MUST(qnn.contextCreate(b, NULL, NULL, &c));
    MUST(qnn.graphCreate(c, "model", NULL, &g));
    struct tensor_spec s = {
        1, "input", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, { 1, MODEL_N }, NULL, 0, 0, 0
    };
    Qnn_Tensor_t in = client_create(g, s);
    s.name = "sum", s.type = QNN_TENSOR_TYPE_NATIVE;
    Qnn_Tensor_t sum = client_create(g, s);
    s.name = "output", s.type = QNN_TENSOR_TYPE_APP_READ;
    Qnn_Tensor_t out = client_create(g, s);
    s.name = "bias", s.type = QNN_TENSOR_TYPE_STATIC, s.data = model_bias, s.bytes = sizeof model_bias;
    Qnn_Tensor_t bias = client_create(g, s);
    struct node_spec add = { "add", "ElementWiseAdd", 0, 2, 1, { { 0 } }, { in, bias }, { sum } };
    struct node_spec relu = { "relu", "Relu", 0, 1, 1, { { 0 } }, { sum }, { out } };
    MUST(qnn.graphAddNode(g, client_config(&add)));
    MUST(qnn.graphAddNode(g, client_config(&relu)));
    MUST(qnn.graphFinalize(g, NULL, NULL));
    struct client_binary saved = client_save(c);
    MUST(qnn.contextFree(c, NULL));
    MUST(qnn.backendFree(b));
    return saved;
}

struct client_graph_info client_first_graph(const QnnSystemContext_BinaryInfo_t *info)
{
    struct client_graph_info r = { .binary_version = (uint32_t)info->version };
    const QnnSystemContext_GraphInfo_t *g = NULL;
    if (info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1)
        g = info->contextBinaryInfoV1.graphs, r.n_graphs = info->contextBinaryInfoV1.numGraphs;
    else if (info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_2)
        g = info->contextBinaryInfoV2.graphs, r.n_graphs = info->contextBinaryInfoV2.numGraphs;
    else if (info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3)
        g = info->contextBinaryInfoV3.graphs, r.n_graphs = info->contextBinaryInfoV3.numGraphs;
    CHECK(g && r.n_graphs >= 1);
    r.graph_version = (uint32_t)g->version;
    const QnnSystemContext_GraphInfoV1_t *v = &g->graphInfoV1; /* the prefix of all */
    r.name = v->graphName;
    r.n_in = v->numGraphInputs;
    r.n_out = v->numGraphOutputs;
    r.in = v->graphInputs;
    r.out = v->graphOutputs;
    CHECK(r.name && (r.in || !r.n_in) && r.out);
    return r;
}
