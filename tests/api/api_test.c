/* SPDX-License-Identifier: Apache-2.0 */
/* The harness of the API tests: the library, result checks, tensors and nodes. */
#include "api_test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const QnnInterface_t *provider;
QNN_INTERFACE_VER_TYPE q;
struct env env;

static void *library;
static unsigned opened;

/* ---- the library ------------------------------------------------------------------------------------------------------ */

void *lib_dlopen(const char *name, int flags)
{
    const char *dir = getenv("OPENQNN_LIB_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", dir ? dir : "", dir ? "/" : "", name);
    void *lib = dlopen(path, flags);
    if (!lib) {
        fprintf(stderr, "cannot open %s: %s; set OPENQNN_LIB_DIR\n", path, dlerror());
        exit(1);
    }
    return lib;
}

const char *lib_name(void)
{
    const char *name = getenv("OPENQNN_TEST_LIB");
    return name ? name : "libQnnCpu.so";
}

bool lib_is_htp(void)
{
    return strcmp(lib_name(), "libQnnHtp.so") == 0;
}

/* libQnnGpu.so says when creating a backend that OpenCL has nothing to run on. */
static void skip_without_device(void)
{
    Qnn_BackendHandle_t b = NULL;
    Qnn_ErrorHandle_t e = q.backendCreate(NULL, NULL, &b);
    if (e == QNN_SUCCESS) {
        q.backendFree(b);
        return;
    }
    printf("SKIP: %s\n", explain(e));
    exit(77);
}

void lib_open(void)
{
    if (opened++)
        return;
    library = lib_dlopen(lib_name(), RTLD_NOW | RTLD_LOCAL);
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = dlsym(library, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    if (!get || get(&list, &n) != QNN_SUCCESS || n < 1 || !list) {
        fprintf(stderr, "%s gives no provider\n", lib_name());
        exit(1);
    }
    provider = list[0];
    q = provider->QNN_INTERFACE_VER_NAME;
    if (strcmp(lib_name(), "libQnnGpu.so") == 0)
        skip_without_device();
}

void lib_close(void)
{
    if (--opened)
        return;
    dlclose(library);
    provider = NULL;
    memset(&q, 0, sizeof q);
}

/* ---- results ---------------------------------------------------------------------------------------------------------- */

const char *explain(Qnn_ErrorHandle_t e)
{
    static _Thread_local char text[2048];
    const char *message = NULL;
    text[0] = 0;
    if (q.errorGetVerboseMessage(e, &message) == QNN_SUCCESS) {
        snprintf(text, sizeof text, "%s", message);
        q.errorFreeVerboseMessage(message);
    }
    return text;
}

void result_is(Qnn_ErrorHandle_t got, uint32_t wanted, const char *call, const char *file, int line)
{
    if (CODE(got) == wanted)
        return;
    print_error("%s\n    returned %u, not %u: %s\n", call, CODE(got), wanted, explain(got));
    _fail(file, line);
}

void explanation_has(uint32_t code, const char *text, const char *file, int line)
{
    const char *got = explain(code);
    if (strstr(got, text))
        return;
    print_error("the explanation of %u does not mention \"%s\": %s\n", code, text, got);
    _fail(file, line);
}

void __sanitizer_set_report_fd(void *fd)
    __attribute__((weak)); /* of the sanitizer, where there is one: what it finds is never hushed */

void hush(bool on)
{
    static int loud = -1, nowhere = -1;
    fflush(stderr);
    if (loud < 0) {
        loud = fcntl(2, F_DUPFD_CLOEXEC, 3);
        nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (__sanitizer_set_report_fd)
            __sanitizer_set_report_fd((void *)(intptr_t)loud);
    }
    dup2(on ? nowhere : loud, 2);
}

void floats_are(const float *got, const float *wanted, uint32_t n, float tolerance)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - wanted[i]) <= tolerance))
            fail_msg("element %u is %.9g, not %.9g", i, (double)got[i], (double)wanted[i]);
}

/* ---- profiles --------------------------------------------------------------------------------------------------------- */

enum { EVENTS_MAX = 1024 };
static _Thread_local struct {
    struct event at[EVENTS_MAX];
    uint32_t n;
} events;

static void add_events(const QnnProfile_EventId_t *ids, uint32_t n, unsigned depth)
{
    for (uint32_t i = 0; i < n; i++) {
        const QnnProfile_EventId_t *below;
        uint32_t n_below;
        assert_in_range(events.n, 0, EVENTS_MAX - 1);
        events.at[events.n].depth = depth;
        OK(q.profileGetEventData(ids[i], &events.at[events.n++].data));
        OK(q.profileGetSubEvents(ids[i], &below, &n_below));
        add_events(below, n_below, depth + 1);
    }
}

const struct event *profile_events(Qnn_ProfileHandle_t p, uint32_t *n)
{
    const QnnProfile_EventId_t *ids;
    uint32_t n_ids;
    events.n = 0;
    OK(q.profileGetEvents(p, &ids, &n_ids));
    add_events(ids, n_ids, 0);
    *n = events.n;
    return events.at;
}

const struct event *profile_find(Qnn_ProfileHandle_t p, uint32_t type)
{
    uint32_t n;
    const struct event *e = profile_events(p, &n);
    for (uint32_t i = 0; i < n; i++)
        if (e[i].data.type == type)
            return &e[i];
    return NULL;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

/* Sixteen-byte steps, so that dimensions are aligned. */
static void *keep(size_t bytes)
{
    static _Thread_local _Alignas(16) char pool[1 << 16];
    static _Thread_local size_t used;
    bytes = (bytes + 15) & ~(size_t)15;
    if (used + bytes > sizeof pool)
        used = 0;
    used += bytes;
    return pool + used - bytes;
}

const char *keep_name(const char *fmt, ...)
{
    char text[128];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    char *kept = keep((size_t)n + 1);
    memcpy(kept, text, (size_t)n + 1);
    return kept;
}

static uint32_t *keep_dims(uint32_t rank, const uint32_t *dims)
{
    return rank ? memcpy(keep(rank * sizeof *dims), dims, rank * sizeof *dims) : NULL;
}

Qnn_Tensor_t tensor_make(Qnn_TensorVersion_t version, const char *name, Qnn_TensorType_t type, Qnn_DataType_t dtype,
                         uint32_t rank, const uint32_t *dims)
{
    Qnn_Tensor_t t = { .version = version };
    if (version == QNN_TENSOR_VERSION_2)
        t.v2 = (Qnn_TensorV2_t)QNN_TENSOR_V2_INIT;
    else
        t.v1 = (Qnn_TensorV1_t)QNN_TENSOR_V1_INIT;
    TV(t).name = name;
    TV(t).type = type;
    TV(t).dataType = dtype;
    TV(t).rank = rank;
    TV(t).dimensions = keep_dims(rank, dims);
    TV(t).memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

Qnn_Tensor_t tensor_data(Qnn_Tensor_t t, const void *data, uint32_t bytes)
{
    TV(t).clientBuf = (Qnn_ClientBuffer_t){ (void *)(uintptr_t)data, bytes };
    return t;
}

Qnn_Tensor_t tensor_quant(Qnn_Tensor_t t, float scale, int32_t offset)
{
    TV(t).quantizeParams = (Qnn_QuantizeParams_t){
        .encodingDefinition = QNN_DEFINITION_DEFINED,
        .quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
        .scaleOffsetEncoding = { scale, offset },
    };
    return t;
}

Qnn_Tensor_t tensor_absent(void)
{
    return tensor_make(QNN_TENSOR_VERSION_1, "", QNN_TENSOR_TYPE_NULL, QNN_DATATYPE_UNDEFINED, 0, NULL);
}

Qnn_Tensor_t tensor_shaped(Qnn_Tensor_t t, uint32_t rank, const uint32_t *dims)
{
    TV(t).rank = rank;
    TV(t).dimensions = keep_dims(rank, dims);
    return t;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

Qnn_OpConfig_t op_config(struct op *o)
{
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    c.v1 = (Qnn_OpConfigV1_t){
        .name = o->name,
        .packageName = o->package ? o->package : QNN_OP_PACKAGE_NAME_QTI_AISW,
        .typeName = o->type,
        .numOfParams = o->np,
        .params = o->p,
        .numOfInputs = o->ni,
        .inputTensors = o->in,
        .numOfOutputs = o->no,
        .outputTensors = o->out,
    };
    return c;
}

Qnn_ErrorHandle_t op_add(Qnn_GraphHandle_t g, struct op *o)
{
    return q.graphAddNode(g, op_config(o));
}

Qnn_ErrorHandle_t op_validate(Qnn_BackendHandle_t b, struct op *o)
{
    return q.backendValidateOpConfig(b, op_config(o));
}

static Qnn_Param_t param_scalar(const char *name, Qnn_DataType_t type)
{
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_SCALAR;
    p.name = name;
    p.scalarParam.dataType = type;
    return p;
}

Qnn_Param_t param_u32(const char *name, uint32_t value)
{
    Qnn_Param_t p = param_scalar(name, QNN_DATATYPE_UINT_32);
    p.scalarParam.uint32Value = value;
    return p;
}

Qnn_Param_t param_f32(const char *name, float value)
{
    Qnn_Param_t p = param_scalar(name, QNN_DATATYPE_FLOAT_32);
    p.scalarParam.floatValue = value;
    return p;
}

Qnn_Param_t param_bool(const char *name, bool value)
{
    Qnn_Param_t p = param_scalar(name, QNN_DATATYPE_BOOL_8);
    p.scalarParam.bool8Value = value;
    return p;
}

Qnn_Param_t param_text(const char *name, const char *text)
{
    Qnn_Param_t p = param_scalar(name, QNN_DATATYPE_STRING);
    p.scalarParam.stringValue = text;
    return p;
}

Qnn_Param_t param_u32s(Qnn_GraphHandle_t g, const char *name, uint32_t rank, const uint32_t *dims, const uint32_t *values)
{
    static _Thread_local unsigned serial;
    uint32_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_TENSOR;
    p.name = name;
    p.tensorParam = tensor_make(QNN_TENSOR_VERSION_1, keep_name("%s_%u", name, serial++), QNN_TENSOR_TYPE_STATIC,
                                QNN_DATATYPE_UINT_32, rank, dims);
    p.tensorParam = tensor_data(p.tensorParam, values, n * (uint32_t)sizeof *values);
    if (g)
        q.tensorCreateGraphTensor(g, &p.tensorParam); /* a failure shows when the node is added */
    return p;
}

/* ---- fixtures --------------------------------------------------------------------------------------------------------- */

int env_setup(void **state)
{
    (void)state;
    lib_open();
    env = (struct env){ 0 };
    return q.backendCreate(NULL, NULL, &env.backend) != QNN_SUCCESS ||
           q.contextCreate(env.backend, NULL, NULL, &env.context) != QNN_SUCCESS;
}

int env_teardown(void **state)
{
    (void)state;
    Qnn_ErrorHandle_t e = q.backendFree(env.backend); /* the context goes with it */
    lib_close();
    return e != QNN_SUCCESS;
}
