/* SPDX-License-Identifier: Apache-2.0 */
/* What the LPAI tests share. */
#include "lpai_kit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const QnnInterface_t *found[KIT_LIBS];
static void *opened[KIT_LIBS];

void kit_use(enum kit_lib which)
{
    static const char *const names[] = {
        [KIT_CPU] = "libQnnCpu.so", [KIT_LPAI] = "libQnnLpai.so", [KIT_HTP] = "libQnnHtp.so"
    };
    if (!found[which]) {
        opened[which] = lib_dlopen(names[which], RTLD_NOW | RTLD_LOCAL);
        Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = dlsym(opened[which], "QnnInterface_getProviders");
        const QnnInterface_t **list = NULL;
        uint32_t n = 0;
        assert_true(get && get(&list, &n) == QNN_SUCCESS && n == 1);
        found[which] = list[0];
    }
    provider = found[which];
    q = provider->QNN_INTERFACE_VER_NAME;
}

void kit_unuse(enum kit_lib which)
{
    if (opened[which])
        dlclose(opened[which]);
    opened[which] = NULL;
    found[which] = NULL;
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

struct guarded guarded_new(size_t bytes, bool high)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
    struct guarded m = { .map_bytes = inner + 2 * page, .bytes = bytes };
    m.map = mmap(NULL, m.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(m.map, MAP_FAILED);
    assert_int_equal(mprotect(m.map + page, inner, PROT_READ | PROT_WRITE), 0);
    memset(m.map + page, 0xA5, inner);
    m.data = m.map + page + (high ? inner - bytes : 0);
    return m;
}

void guarded_free(struct guarded *m)
{
    munmap(m->map, m->map_bytes);
}

/* ---- networks --------------------------------------------------------------------------------------------------------- */

#define STEP(call)                        \
    do {                                  \
        Qnn_ErrorHandle_t step_ = (call); \
        if (step_ != QNN_SUCCESS)         \
            return step_;                 \
    } while (0)

static uint32_t next(uint32_t *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

void kit_fill(uint8_t *x, uint32_t bytes, uint32_t seed)
{
    for (uint32_t i = 0; i < bytes; i++)
        x[i] = (uint8_t)next(&seed);
}

/* Activations; the encodings keep values in the range of the type without saturating everything. */
static Qnn_Tensor_t act(const char *graph, const char *name, Qnn_TensorType_t type, int bits, uint32_t rank,
                        const uint32_t *dims, float range)
{
    Qnn_DataType_t t = bits == 8 ? QNN_DATATYPE_UFIXED_POINT_8 : QNN_DATATYPE_UFIXED_POINT_16;
    float levels = bits == 8 ? 255 : 65535;
    return tensor_quant(tensor_make(QNN_TENSOR_VERSION_1, keep_name("%s_%s", graph, name), type, t, rank, dims),
                        range / levels, bits == 8 ? -128 : -32768);
}

static Qnn_ErrorHandle_t weights(Qnn_GraphHandle_t g, const char *name, uint32_t rank, const uint32_t *dims, uint32_t seed,
                                 Qnn_Tensor_t *ret)
{
    static uint8_t data[4096];
    uint32_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    kit_fill(data, n, seed);
    *ret = tensor_make(QNN_TENSOR_VERSION_1, keep_name("%s", name), QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_8,
                       rank, dims);
    *ret = tensor_data(tensor_quant(*ret, 1.0f / 256, 0), data, n);
    return q.tensorCreateGraphTensor(g, ret);
}

static Qnn_ErrorHandle_t conv(Qnn_GraphHandle_t g, const char *name, uint32_t k, const Qnn_Tensor_t *x,
                              const Qnn_Tensor_t *y)
{
    const uint32_t ones[2] = { 1, 1 }, pads[4] = { k / 2, k / 2, k / 2, k / 2 };
    Qnn_Tensor_t w;
    STEP(weights(g, keep_name("%s_w", name), 4, (uint32_t[]){ k, k, 4, 8 }, k, &w));
    struct op o = { .name = name, .type = "Conv2d", .np = 2, .ni = 2, .in = { *x, w }, .no = 1, .out = { *y } };
    o.p[0] = param_u32s(g, "stride", 1, (uint32_t[]){ 2 }, ones);
    o.p[1] = param_u32s(g, "pad_amount", 2, (uint32_t[]){ 2, 2 }, pads);
    return op_add(g, &o);
}

static Qnn_ErrorHandle_t pool(Qnn_GraphHandle_t g, const char *name, const Qnn_Tensor_t *x, const Qnn_Tensor_t *y)
{
    const uint32_t two[2] = { 2, 2 }, zeros[4] = { 0 };
    struct op o = { .name = name, .type = "PoolAvg2d", .np = 3, .ni = 1, .in = { *x }, .no = 1, .out = { *y } };
    o.p[0] = param_u32s(g, "filter_size", 1, (uint32_t[]){ 2 }, two);
    o.p[1] = param_u32s(g, "stride", 1, (uint32_t[]){ 2 }, two);
    o.p[2] = param_u32s(g, "pad_amount", 2, (uint32_t[]){ 2, 2 }, zeros);
    return op_add(g, &o);
}

static Qnn_ErrorHandle_t simple(Qnn_GraphHandle_t g, const char *name, const char *type, const Qnn_Tensor_t *in, uint32_t ni,
                                const Qnn_Tensor_t *out)
{
    struct op o = { .name = name, .type = type, .ni = ni, .no = 1, .out = { *out } };
    memcpy(o.in, in, ni * sizeof *in);
    return op_add(g, &o);
}

Qnn_ErrorHandle_t kit_build(Qnn_ContextHandle_t c, const char *name, int bits, const QnnGraph_Config_t **config,
                            struct kit_net *ret)
{
    enum { X, A, R, B, S, P, F, L, Y, N };
    static const struct {
        const char *name;
        uint32_t rank, dims[4];
        float range;
    } shapes[N] = {
        { "x", 4, { 1, 8, 8, 4 }, 4 }, { "a", 4, { 1, 8, 8, 8 }, 8 },  { "r", 4, { 1, 8, 8, 8 }, 8 },
        { "b", 4, { 1, 8, 8, 8 }, 4 }, { "s", 4, { 1, 8, 8, 8 }, 8 },  { "p", 4, { 1, 4, 4, 8 }, 8 },
        { "f", 2, { 1, 128 }, 8 },     { "l", 2, { 1, KIT_OUT }, 16 }, { "y", 2, { 1, KIT_OUT }, 2 },
    };
    Qnn_Tensor_t t[N], w;
    Qnn_GraphHandle_t g;
    STEP(q.graphCreate(c, name, config, &g));
    ret->graph = g;
    for (int i = 0; i < N; i++) {
        Qnn_TensorType_t type = i == X   ? QNN_TENSOR_TYPE_APP_WRITE
                                : i == Y ? QNN_TENSOR_TYPE_APP_READ
                                         : QNN_TENSOR_TYPE_NATIVE;
        t[i] = act(name, shapes[i].name, type, bits, shapes[i].rank, shapes[i].dims, shapes[i].range);
        STEP(q.tensorCreateGraphTensor(g, &t[i]));
    }
    STEP(conv(g, keep_name("%s_conv3", name), 3, &t[X], &t[A]));
    STEP(simple(g, keep_name("%s_relu", name), "Relu", &t[A], 1, &t[R]));
    STEP(conv(g, keep_name("%s_conv1", name), 1, &t[X], &t[B]));
    STEP(simple(g, keep_name("%s_add", name), "ElementWiseAdd", (Qnn_Tensor_t[]){ t[R], t[B] }, 2, &t[S]));
    STEP(pool(g, keep_name("%s_pool", name), &t[S], &t[P]));
    STEP(simple(g, keep_name("%s_flat", name), "Reshape", &t[P], 1, &t[F]));
    STEP(weights(g, keep_name("%s_fc_w", name), 2, (uint32_t[]){ KIT_OUT, 128 }, 77, &w));
    STEP(simple(g, keep_name("%s_fc", name), "FullyConnected", (Qnn_Tensor_t[]){ t[F], w }, 2, &t[L]));
    STEP(simple(g, keep_name("%s_softmax", name), "Softmax", &t[L], 1, &t[Y]));
    ret->x = t[X];
    ret->y = t[Y];
    ret->x_bytes = KIT_IN * (uint32_t)bits / 8;
    ret->y_bytes = KIT_OUT * (uint32_t)bits / 8;
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t kit_run(const struct kit_net *n, void *x, void *y)
{
    Qnn_Tensor_t in = tensor_data(n->x, x, x ? n->x_bytes : 0), out = tensor_data(n->y, y, y ? n->y_bytes : 0);
    return q.graphExecute(n->graph, &in, 1, &out, 1, NULL, NULL);
}

void kit_expected(int bits, uint32_t seed, uint8_t *y)
{
    uint8_t x[KIT_IN * 2];
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    struct kit_net n;
    kit_use(KIT_CPU);
    OK(q.backendCreate(NULL, NULL, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(kit_build(c, "net", bits, NULL, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    kit_fill(x, n.x_bytes, seed);
    OK(kit_run(&n, x, y));
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(b));
    kit_use(KIT_LPAI);
}

/* ---- LPAI calls ------------------------------------------------------------------------------------------------------- */

bool kit_on_arm(void)
{
    const char *target = getenv("LPAI_TEST_TARGET");
    return target && strcmp(target, "arm") == 0;
}

Qnn_ErrorHandle_t kit_backend(uint32_t hw_version, QnnLpaiBackend_Target_t target, Qnn_BackendHandle_t *ret)
{
    bool arm = kit_on_arm() && target == QNN_LPAI_BACKEND_TARGET_X86 && provider->backendId == QNN_BACKEND_ID_LPAI;
    QnnLpaiBackend_CustomConfigHwInfo_t hw = { arm ? QNN_LPAI_BACKEND_TARGET_ARM : target,
                                               (QnnLpaiBackend_HwVersion_t)hw_version };
    QnnLpaiBackend_CustomConfig_t custom = { QNN_LPAI_BACKEND_CUSTOM_CFG_HW_INFO, &hw };
    QnnBackend_Config_t config = { .option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnBackend_Config_t *list[] = { &config, NULL };
    return q.backendCreate(NULL, hw_version || arm ? list : NULL, ret);
}

Qnn_ErrorHandle_t kit_property(Qnn_GraphHandle_t g, uint32_t option, void *value)
{
    QnnLpaiGraph_CustomProperty_t custom = { option, value };
    QnnGraph_Property_t p = { .option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM, .customProperty = &custom };
    QnnGraph_Property_t *list[] = { &p, NULL };
    return q.graphGetProperty(g, list);
}

uint32_t kit_size(Qnn_GraphHandle_t g, uint32_t option)
{
    uint32_t size = UINT32_MAX;
    OK(kit_property(g, option, &size));
    return size;
}

Qnn_ErrorHandle_t kit_config(Qnn_GraphHandle_t g, uint32_t option, void *config)
{
    QnnLpaiGraph_CustomConfig_t custom = { option, config };
    QnnGraph_Config_t c = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnGraph_Config_t *list[] = { &c, NULL };
    return q.graphSetConfig(g, list);
}

Qnn_ErrorHandle_t kit_pool(Qnn_GraphHandle_t g, uint32_t option, void *addr, uint32_t size)
{
    QnnLpaiGraph_Mem_t m = { QNN_LPAI_MEM_TYPE_DDR, size, addr };
    return kit_config(g, option, &m);
}

struct kit_binary kit_save(Qnn_ContextHandle_t c)
{
    struct kit_binary b = { 0 };
    uint64_t written = 0;
    OK(q.contextGetBinarySize(c, &b.size));
    b.data = aligned_alloc(64, (b.size + 63) / 64 * 64);
    assert_non_null(b.data);
    OK(q.contextGetBinary(c, b.data, b.size, &written));
    assert_int_equal(written, b.size);
    return b;
}

struct kit_binary kit_binary(int bits, uint32_t hw_version)
{
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t c;
    struct kit_net n;
    OK(kit_backend(hw_version, QNN_LPAI_BACKEND_TARGET_X86, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(kit_build(c, "net", bits, NULL, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    struct kit_binary b = kit_save(c);
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(backend));
    return b;
}

void kit_load(const struct kit_binary *b, int bits, struct kit_loaded *ret)
{
    /* Ids are given in the order of creation, so a second build gives the tensors. */
    Qnn_ContextHandle_t again;
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &ret->backend));
    OK(q.contextCreate(ret->backend, NULL, NULL, &again));
    OK(kit_build(again, "net", bits, NULL, &ret->net));
    OK(q.contextFree(again, NULL));
    OK(q.contextCreateFromBinary(ret->backend, NULL, NULL, b->data, b->size, &ret->context, NULL));
    OK(q.graphRetrieve(ret->context, "net", &ret->net.graph));
    ret->scratch = kit_size(ret->net.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE);
    ret->persistent = kit_size(ret->net.graph, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE);
}

void kit_unload(struct kit_loaded *l)
{
    OK(q.contextFree(l->context, NULL));
    OK(q.backendFree(l->backend));
}
