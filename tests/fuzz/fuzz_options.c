/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: lists of options. An input is read as one life of a library: a backend, a device, a context and a graph, each
 * made with the options that the input says, changed by setConfig, finalized, saved and executed. Custom options are structs
 * of each library's own headers: a number, then values; rows say which of them hold pointers. */
#include "fuzz_api.h"

enum kind { BACKEND, DEVICE, CONTEXT, GRAPH, KINDS };
enum payload { VALUES, TEXT, BLOCK, MEMORY, PREPARE };
enum { LISTED = 3, WORDS = 16, ELEMENTS = 8, MAX_BINARY = 1 << 18 };

static const char *const libraries[] = { "libQnnCpu.so", "libQnnHtp.so", "libQnnLpai.so" };
enum { CPU, HTP, LPAI, LIBRARIES };

/* Custom options whose first value is a pointer. LPAI has them all behind one. Options that are not here hold values. */
static const struct {
    unsigned library;
    enum kind kind;
    uint32_t option;
    enum payload payload;
} pointers[] = {
    { HTP, GRAPH, 7, TEXT },                                      /* FINALIZE_CONFIG: the key */
    { LPAI, GRAPH, 1, MEMORY },                                   /* SCRATCH_MEM */
    { LPAI, GRAPH, 101, MEMORY },                                 /* PERSISTENT_MEM */
    { LPAI, GRAPH, 10001, PREPARE }, { LPAI, CONTEXT, 11, TEXT }, /* ENABLE_ISLAND */
    { LPAI, KINDS, 0, BLOCK },
};

/* Numbers of custom options that some library knows. */
static const uint32_t customs[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,   10,  11,  12,  13,  14,  15,    16,       17,
                                    18, 19, 20, 21, 22, 23, 24, 50, 51, 101, 201, 301, 401, 501, 601, 10001, INT32_MAX };
static const uint32_t values[] = { 0,  1,  2,   3,    4,       5,       6,         7,        8,         16,
                                   73, 79, 100, 1000, 1 << 16, 1 << 20, INT32_MAX, 1u << 31, UINT32_MAX };
static const char *const texts[] = { "g", "", "a", "finalize", "key:value", "cpu_threads:2", ";;;", "\xff\xfe", "%s%n" };

/* Options of the public headers, by kind; those of devices and backends are few. */
static const uint32_t n_options[KINDS] = { 4, 3, 13, 9 };

struct life {
    unsigned which;
    struct fuzz_library *l;
    struct fuzz_bytes *b;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    Qnn_ProfileHandle_t profile;
};

/* ---- options --------------------------------------------------------------------------------- */

static enum payload payload_of(unsigned library, enum kind kind, uint32_t option)
{
    for (unsigned i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
        bool any = pointers[i].kind == KINDS;
        if (pointers[i].library == library && (any || (pointers[i].kind == kind && pointers[i].option == option)))
            return pointers[i].payload;
    }
    return VALUES;
}

static const char *text(struct fuzz_bytes *b)
{
    const char *from = FUZZ_ONE_OF(b, texts);
    char *copy = fuzz_block(strlen(from) + 1);

    return strcpy(copy, from);
}

static void *numbers(struct fuzz_bytes *b, uint32_t n)
{
    uint32_t *p = fuzz_block(n * sizeof(*p));

    for (uint32_t i = 0; i < n; i++)
        p[i] = fuzz_one_in(b, 16) ? 0x7fc00000 : FUZZ_ONE_OF(b, values);
    return p;
}

static void *memory(struct fuzz_bytes *b)
{
    struct {
        uint32_t type, size;
        void *addr;
    } *m = fuzz_block(sizeof(*m));

    m->type = FUZZ_ONE_OF(b, values);
    m->size = fuzz_below(b, 1 << 16);
    m->addr = fuzz_one_in(b, 8) ? NULL : fuzz_block(m->size);
    return m;
}

/* QnnLpaiGraph_CustomConfigPrepare_t */
static void *prepare(struct fuzz_bytes *b)
{
    struct {
        uint32_t per_layer;
        const char *cores;
    } *p = fuzz_block(sizeof(*p));

    p->per_layer = FUZZ_ONE_OF(b, values);
    p->cores = fuzz_one_in(b, 8) ? NULL : text(b);
    return p;
}

static void *pointed_at(struct fuzz_bytes *b, enum payload payload)
{
    switch (payload) {
    case TEXT: return (void *)text(b);
    case MEMORY: return memory(b);
    case PREPARE: return prepare(b);
    default: return numbers(b, 64);
    }
}

static void *custom(struct life *f, enum kind kind)
{
    struct fuzz_bytes *b = f->b;
    uint32_t option = FUZZ_ONE_OF(b, customs);
    uint32_t *words = numbers(b, 2 * WORDS);
    enum payload payload = payload_of(f->which, kind, option);
    void *pointer = NULL;

    words[0] = option;
    if (payload == VALUES)
        return words;
    if (!fuzz_one_in(b, 8))
        pointer = pointed_at(b, payload);
    memset(words + 1, 0, sizeof(uint32_t));
    memcpy(words + 2, &pointer, sizeof(pointer));
    return words;
}

static const char *const *names(struct fuzz_bytes *b)
{
    const char **list = fuzz_block(4 * sizeof(*list));

    for (uint32_t i = 0, n = fuzz_below(b, 4); i < n; i++)
        list[i] = text(b);
    return list;
}

/* What follows the option's number, in all four structs: a value or a pointer at byte 8. */
static uint64_t public_value(struct life *f, enum kind kind, uint32_t option)
{
    struct fuzz_bytes *b = f->b;
    const void *p = NULL;
    bool is_text = (kind == BACKEND && option == 2) || (kind == CONTEXT && option == 3);
    bool is_names = kind == CONTEXT && (option == 5 || option == 10);

    if (option == 0)
        p = fuzz_one_in(b, 16) ? NULL : custom(f, kind);
    else if (is_text)
        p = fuzz_one_in(b, 16) ? NULL : text(b);
    else if (is_names)
        p = names(b);
    else if (kind == GRAPH && option == 4)
        p = f->profile;
    else if (kind == DEVICE && option == 1)
        p = NULL; /* hardware infos are trees, made below */
    else
        return FUZZ_ONE_OF(b, values);
    return (uint64_t)(uintptr_t)p;
}

static QnnDevice_PlatformInfo_t *platform(struct life *f)
{
    const QnnDevice_PlatformInfo_t *told = NULL;
    QnnDevice_PlatformInfo_t *info = fuzz_block(sizeof(*info));
    QnnDevice_HardwareDeviceInfo_t *device = fuzz_block(sizeof(*device));

    if (f->l->q.deviceGetPlatformInfo(f->l->log, &told) != QNN_SUCCESS)
        return info;
    *info = *told;
    if (told->v1.numHwDevices > 0) {
        *device = told->v1.hwDevices[0];
        device->v1.deviceId = FUZZ_ONE_OF(f->b, values);
        device->v1.numCores = device->v1.numCores ? fuzz_below(f->b, device->v1.numCores + 1) : 0;
        info->v1.hwDevices = device;
        info->v1.numHwDevices = fuzz_below(f->b, 2);
    }
    return info;
}

/* A NULL-terminated list of structs that begin with a number; each has 64 bytes, more than any of them. */
static const void *list(struct life *f, enum kind kind)
{
    void **ret = fuzz_block((LISTED + 1) * sizeof(*ret));

    for (uint32_t i = 0, n = fuzz_below(f->b, LISTED + 1); i < n; i++) {
        uint32_t *entry = fuzz_block(64);
        uint32_t option = fuzz_one_in(f->b, 32) ? FUZZ_ONE_OF(f->b, values) : fuzz_below(f->b, n_options[kind]);
        uint64_t value = public_value(f, kind, option);

        if (kind == DEVICE && option == 1)
            value = (uint64_t)(uintptr_t)platform(f);
        if (kind == CONTEXT && option == 4) /* two numbers: the kind of depth, the depth */
            value &= 0xffffffff00000000 | fuzz_below(f->b, 2);
        entry[0] = option;
        memcpy(entry + 2, &value, sizeof(value));
        ret[i] = entry;
    }
    return fuzz_one_in(f->b, 16) ? NULL : ret;
}

/* ---- a life ---------------------------------------------------------------------------------- */

static Qnn_Tensor_t tensor(const char *name, Qnn_TensorType_t type)
{
    static uint32_t dims[] = { 2, ELEMENTS / 2 };
    Qnn_Tensor_t t = { .version = QNN_TENSOR_VERSION_1, .v1 = QNN_TENSOR_V1_INIT };

    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    return t;
}

static void compute(struct life *f)
{
    const QNN_INTERFACE_VER_TYPE *q = &f->l->q;
    Qnn_Tensor_t t[2] = { tensor("x", QNN_TENSOR_TYPE_APP_WRITE), tensor("y", QNN_TENSOR_TYPE_APP_READ) };
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    uint64_t size = 0;
    uint64_t written = 0;

    if (!fuzz_done(f->l, q->tensorCreateGraphTensor(f->graph, &t[0])) ||
        !fuzz_done(f->l, q->tensorCreateGraphTensor(f->graph, &t[1])))
        return;
    op.v1 = (Qnn_OpConfigV1_t){ "node", "qti.aisw", "Softmax", 0, NULL, 1, &t[0], 1, &t[1] };
    if (!fuzz_done(f->l, q->graphAddNode(f->graph, op)) || !fuzz_done(f->l, q->graphFinalize(f->graph, f->profile, NULL)))
        return;
    (void)fuzz_done(f->l, q->graphSetConfig(f->graph, (const QnnGraph_Config_t **)list(f, GRAPH)));
    fuzz_execute(f->l, f->b, f->graph, &t[0], 1, &t[1], 1);
    if (!fuzz_done(f->l, q->contextGetBinarySize(f->context, &size)) || size > MAX_BINARY)
        return;

    Qnn_ContextHandle_t loaded = NULL;
    void *file = fuzz_block(size);
    if (fuzz_done(f->l, q->contextGetBinary(f->context, file, size, &written)) &&
        fuzz_done(f->l, q->contextCreateFromBinary(f->backend, f->device, (const QnnContext_Config_t **)list(f, CONTEXT),
                                                   file, written, &loaded, f->profile)))
        require(q->contextFree(loaded, NULL) == QNN_SUCCESS);
}

static void live(struct life *f)
{
    const QNN_INTERFACE_VER_TYPE *q = &f->l->q;

    if (!fuzz_done(f->l, q->backendCreate(f->l->log, (const QnnBackend_Config_t **)list(f, BACKEND), &f->backend)))
        return;
    (void)fuzz_done(f->l, q->profileCreate(f->backend, QNN_PROFILE_LEVEL_BASIC, &f->profile));
    if (!fuzz_done(f->l, q->deviceCreate(f->l->log, (const QnnDevice_Config_t **)list(f, DEVICE), &f->device)))
        f->device = NULL;
    if (f->device)
        (void)fuzz_done(f->l, q->deviceSetConfig(f->device, (const QnnDevice_Config_t **)list(f, DEVICE)));

    if (!fuzz_done(f->l,
                   q->contextCreate(f->backend, f->device, (const QnnContext_Config_t **)list(f, CONTEXT), &f->context)))
        return;
    (void)fuzz_done(f->l, q->contextSetConfig(f->context, (const QnnContext_Config_t **)list(f, CONTEXT)));
    if (fuzz_done(f->l, q->graphCreate(f->context, "g", (const QnnGraph_Config_t **)list(f, GRAPH), &f->graph)))
        compute(f);
}

static void end(struct life *f)
{
    const QNN_INTERFACE_VER_TYPE *q = &f->l->q;

    if (f->context)
        require(q->contextFree(f->context, NULL) == QNN_SUCCESS);
    if (f->device)
        require(q->deviceFree(f->device) == QNN_SUCCESS);
    if (f->profile)
        require(q->profileFree(f->profile) == QNN_SUCCESS);
    if (f->backend)
        require(q->backendFree(f->backend) == QNN_SUCCESS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes b = fuzz_bytes_of(data, size);
    struct life f = { .which = fuzz_below(&b, LIBRARIES), .b = &b };

    f.l = fuzz_library(libraries[f.which]);
    live(&f);
    end(&f);
    fuzz_blocks_free();
    return 0;
}
