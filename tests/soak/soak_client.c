/* SPDX-License-Identifier: Apache-2.0 */
#include "soak.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include <QNN/LPAI/QnnLpaiGraph.h>

enum { EXECUTIONS = 5, MAX_PRINTED = 20 };
enum { MXCSR_DEFAULT = 0x1f80, MXCSR_FLUSH = 0x8040, MXCSR_UP = 0x4000, MXCSR_DOWN = 0x2000 };

atomic_bool soak_disturbed;

static _Alignas(64) float input[SOAK_VALUES], weights[SOAK_VALUES];
static _Alignas(64) uint8_t input_bytes[SOAK_VALUES], weight_bytes[SOAK_VALUES];
static atomic_uint printed;

static void quiet(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    (void)fmt, (void)level, (void)timestamp, (void)args;
}

bool soak_open(struct soak_backend *b)
{
    const char *folder = getenv("OPENQNN_LIB_DIR");
    Qnn_ErrorHandle_t (*providers)(const QnnInterface_t ***, uint32_t *) = NULL;
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    char path[4096];

    snprintf(path, sizeof(path), "%s%s%s", folder ? folder : "", folder ? "/" : "", b->library);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle)
        *(void **)&providers = dlsym(handle, "QnnInterface_getProviders");
    if (!providers || providers(&list, &n) != QNN_SUCCESS || n == 0) {
        printf("SKIP: %s: %s\n", b->name, handle ? "no interface" : dlerror());
        return false;
    }
    b->q = list[0]->QNN_INTERFACE_VER_NAME;
    if (!soak_begin(b)) {
        printf("SKIP: %s: no backend on this machine\n", b->name);
        return false;
    }
    return true;
}

bool soak_begin(struct soak_backend *b)
{
    return b->q.logCreate(quiet, QNN_LOG_LEVEL_ERROR, &b->log) == QNN_SUCCESS &&
           b->q.backendCreate(b->log, NULL, &b->backend) == QNN_SUCCESS;
}

void soak_end(struct soak_backend *b)
{
    if (b->backend && b->q.backendFree(b->backend) != QNN_SUCCESS)
        b->errors++;
    if (b->log)
        b->q.logFree(b->log);
    b->backend = NULL;
    b->log = NULL;
}

/* ---- the net --------------------------------------------------------------------------------- */

static Qnn_ClientBuffer_t buffer(const struct soak_backend *b, float *reals, uint8_t *bytes)
{
    size_t width = b->fixed ? sizeof(*bytes) : sizeof(*reals);

    return (Qnn_ClientBuffer_t){ b->fixed ? (void *)bytes : (void *)reals, (uint32_t)(SOAK_VALUES * width) };
}

static Qnn_Tensor_t tensor(const struct soak_backend *b, const char *name, Qnn_TensorType_t type)
{
    static uint32_t dims[] = { SOAK_SIDE, SOAK_SIDE };
    Qnn_Tensor_t t = { .version = QNN_TENSOR_VERSION_1, .v1 = QNN_TENSOR_V1_INIT };

    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = b->fixed ? QNN_DATATYPE_UFIXED_POINT_8 : QNN_DATATYPE_FLOAT_32;
    if (b->fixed) {
        t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        t.v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){ 1.0f, 0 };
    }
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    if (type == QNN_TENSOR_TYPE_STATIC)
        t.v1.clientBuf = buffer(b, weights, weight_bytes);
    return t;
}

enum { POOLS = 2, POOL_BYTES = 1 << 16 };

struct net {
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
    void *pools[POOLS];
};

static void net_free(struct net *n)
{
    for (int i = 0; i < POOLS; i++)
        free(n->pools[i]);
}

/* LPAI graphs compute in memory that the client gives them. */
static Qnn_ErrorHandle_t give_pools(struct soak_backend *b, struct net *n)
{
    static const uint32_t options[POOLS] = { QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM };

    if (!b->fixed)
        return QNN_SUCCESS;
    for (int i = 0; i < POOLS; i++) {
        if (!n->pools[i])
            n->pools[i] = aligned_alloc(4096, POOL_BYTES);
        QnnLpaiGraph_Mem_t memory = { QNN_LPAI_MEM_TYPE_DDR, POOL_BYTES, n->pools[i] };
        QnnLpaiGraph_CustomConfig_t custom = { options[i], &memory };
        QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
        const QnnGraph_Config_t *list[] = { &config, NULL };
        Qnn_ErrorHandle_t e = b->q.graphSetConfig(n->graph, list);
        if (e != QNN_SUCCESS)
            return e;
    }
    return b->q.graphFinalize(n->graph, NULL, NULL);
}

/* y = relu(x w) w; in fixed point, which is all that LPAI takes, y = x + w + w as far as a byte goes. */
static Qnn_ErrorHandle_t make(struct soak_backend *b, struct net *n)
{
    Qnn_Tensor_t w = tensor(b, "w", QNN_TENSOR_TYPE_STATIC);
    Qnn_Tensor_t m = tensor(b, "m", QNN_TENSOR_TYPE_NATIVE);
    Qnn_Tensor_t r = tensor(b, "r", QNN_TENSOR_TYPE_NATIVE);
    n->x = tensor(b, "x", QNN_TENSOR_TYPE_APP_WRITE);
    n->y = tensor(b, "y", QNN_TENSOR_TYPE_APP_READ);
    Qnn_Tensor_t *all[] = { &w, &m, &r, &n->x, &n->y };
    Qnn_ErrorHandle_t e = b->q.contextCreate(b->backend, NULL, NULL, &n->context);

    if (e == QNN_SUCCESS)
        e = b->q.graphCreate(n->context, "g", NULL, &n->graph);
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]) && e == QNN_SUCCESS; i++)
        e = b->q.tensorCreateGraphTensor(n->graph, all[i]);

    Qnn_Tensor_t first[] = { n->x, w };
    Qnn_Tensor_t last[] = { r, w };
    const char *type = b->fixed ? "ElementWiseAdd" : "MatMul";
    const Qnn_OpConfigV1_t nodes[] = {
        { "first", "qti.aisw", type, 0, NULL, 2, first, 1, &m },
        { "relu", "qti.aisw", "Relu", 0, NULL, 1, &m, 1, &r },
        { "last", "qti.aisw", type, 0, NULL, 2, last, 1, &n->y },
    };
    for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]) && e == QNN_SUCCESS; i++) {
        Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
        op.v1 = nodes[i];
        e = b->q.graphAddNode(n->graph, op);
    }
    if (e == QNN_SUCCESS)
        e = b->q.graphFinalize(n->graph, NULL, NULL);
    return e == QNN_SUCCESS ? give_pools(b, n) : e;
}

static Qnn_ErrorHandle_t execute(struct soak_backend *b, struct net *n, float result[SOAK_VALUES])
{
    n->x.v1.clientBuf = buffer(b, input, input_bytes);
    n->y.v1.clientBuf = buffer(b, result, (uint8_t *)result);
    return b->q.graphExecute(n->graph, &n->x, 1, &n->y, 1, NULL, NULL);
}

/* The saved context takes the place of the one it was made of. */
static Qnn_ErrorHandle_t reload(struct soak_backend *b, struct net *n)
{
    uint64_t size = 0;
    uint64_t written = 0;
    Qnn_ContextHandle_t loaded = NULL;
    Qnn_ErrorHandle_t e = b->q.contextGetBinarySize(n->context, &size);
    void *file = e == QNN_SUCCESS ? malloc(size) : NULL;

    if (file)
        e = b->q.contextGetBinary(n->context, file, size, &written);
    if (file && e == QNN_SUCCESS)
        e = b->q.contextCreateFromBinary(b->backend, NULL, NULL, file, written, &loaded, NULL);
    if (loaded) {
        b->q.contextFree(n->context, NULL);
        n->context = loaded;
        e = b->q.graphRetrieve(loaded, "g", &n->graph);
        if (e == QNN_SUCCESS)
            e = give_pools(b, n);
    }
    free(file);
    return e;
}

static void in_double(float ret[SOAK_VALUES])
{
    double mid[SOAK_VALUES];

    for (int i = 0; i < SOAK_VALUES; i++) {
        int row = i / SOAK_SIDE;
        int column = i % SOAK_SIDE;
        double sum = 0;
        for (int k = 0; k < SOAK_SIDE; k++)
            sum += (double)input[row * SOAK_SIDE + k] * (double)weights[k * SOAK_SIDE + column];
        mid[i] = sum > 0 ? sum : 0;
    }
    for (int i = 0; i < SOAK_VALUES; i++) {
        double sum = 0;
        for (int k = 0; k < SOAK_SIDE; k++)
            sum += mid[i / SOAK_SIDE * SOAK_SIDE + k] * (double)weights[k * SOAK_SIDE + i % SOAK_SIDE];
        ret[i] = (float)sum;
    }
}

/* A session that was killed makes calls fail; then the explanation is what we ask for. */
static void count_failure(struct soak_backend *b, Qnn_ErrorHandle_t e, const char *where)
{
    const char *text = NULL;
    bool explained = b->q.errorGetVerboseMessage(e, &text) == QNN_SUCCESS && text && text[0];

    if (explained && b->has_sessions && atomic_load(&soak_disturbed)) {
        b->lost++;
    } else {
        b->errors++;
        if (printed++ < MAX_PRINTED)
            printf("ERROR %s %s: %u %s\n", b->name, where, (unsigned)QNN_GET_ERROR_CODE(e), text ? text : "(not explained)");
    }
    if (text)
        b->q.errorFreeVerboseMessage(text);
}

static bool is_right(const struct soak_backend *b)
{
    float wanted[SOAK_VALUES];
    bool right = true;

    in_double(wanted);
    for (int i = 0; i < SOAK_VALUES; i++) {
        unsigned sum = input_bytes[i] + 2u * weight_bytes[i];
        if (b->fixed)
            right = right && ((const uint8_t *)b->expected)[i] == (sum < 255 ? sum : 255);
        else
            right = right && fabsf(b->expected[i] - wanted[i]) <= 1e-2f * (1.0f + fabsf(wanted[i]));
    }
    return right;
}

bool soak_learn(struct soak_backend *b)
{
    struct net n = { 0 };
    Qnn_ErrorHandle_t e;

    for (int i = 0; i < SOAK_VALUES; i++) {
        input[i] = (float)(i % 23 - 11) / 7.0f;
        weights[i] = (float)(i % 19 - 9) / 13.0f;
        input_bytes[i] = (uint8_t)(i * 7);
        weight_bytes[i] = (uint8_t)(i % 50);
    }
    e = make(b, &n);
    if (e == QNN_SUCCESS)
        e = execute(b, &n, b->expected);
    if (e != QNN_SUCCESS)
        count_failure(b, e, "first execution");
    if (n.context)
        b->q.contextFree(n.context, NULL);
    net_free(&n);
    return e == QNN_SUCCESS && is_right(b);
}

/* ---- cycles ---------------------------------------------------------------------------------- */

static bool executions(struct soak_backend *b, struct net *n)
{
    for (int i = 0; i < EXECUTIONS; i++) {
        _Alignas(64) float result[SOAK_VALUES] = { 0 };
        Qnn_ErrorHandle_t e = execute(b, n, result);
        if (e != QNN_SUCCESS) {
            count_failure(b, e, "execute");
            return false;
        }
        b->executes++;
        if (memcmp(result, b->expected, sizeof(result)) != 0) {
            b->wrong++;
            printf("WRONG %s: results differ from those of the first execution\n", b->name);
        }
    }
    return true;
}

void soak_cycle(struct soak_backend *b, uint64_t dice)
{
    static const unsigned modes[] = { MXCSR_DEFAULT, MXCSR_DEFAULT | MXCSR_FLUSH, MXCSR_DEFAULT | MXCSR_UP,
                                      MXCSR_DEFAULT | MXCSR_DOWN };
    struct net n = { 0 };
    unsigned before = _mm_getcsr();

    _mm_setcsr(modes[dice % 4]);
    Qnn_ErrorHandle_t e = make(b, &n);
    if (e != QNN_SUCCESS) {
        count_failure(b, e, "finalize");
    } else if (executions(b, &n) && dice >> 8 & 1) {
        e = reload(b, &n);
        if (e != QNN_SUCCESS)
            count_failure(b, e, "reload");
        else
            executions(b, &n);
    }
    if (n.context) {
        e = b->q.contextFree(n.context, NULL);
        if (e != QNN_SUCCESS)
            count_failure(b, e, "free");
    }
    net_free(&n);
    b->cycles++;
    _mm_setcsr(before);
}

bool soak_cycle_under_limits(struct soak_backend *b)
{
    struct net n = { 0 };
    _Alignas(64) float result[SOAK_VALUES] = { 0 };
    bool done = make(b, &n) == QNN_SUCCESS && execute(b, &n, result) == QNN_SUCCESS;

    if (n.context)
        b->q.contextFree(n.context, NULL);
    net_free(&n);
    return !done || memcmp(result, b->expected, sizeof(result)) == 0;
}
