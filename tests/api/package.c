/* SPDX-License-Identifier: Apache-2.0 */
/* An op package as clients write them, with every mistake that a table can have: each provider is a package of its own.
 *
 *   Increment  y = x + constant (1, or 2 in the package of version 2)
 *   Relu       floats, and bytes with an encoding
 *   Mix        y = gain * x + table, z = x - table; table is a tensor with a number per channel, mode a text
 *   Order      y = how many times it has run
 *   Fails      refuses to run when its first number is negative
 *   Hook       calls back
 *   Spy        what it was told about its input
 *   Where      the process that it runs in, and whether a file can be opened there
 *   Crash      as Increment, but ends its process when its first number is negative
 *   NoImpl, BadImpl, Refused  fail when a graph is finalized
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <QNN/CPU/QnnCpuOpPackage.h>

#include "package_kit.h"

#define EXPORT __attribute__((visibility("default")))

static struct package_state state;

EXPORT struct package_state *package_state(void);
struct package_state *package_state(void)
{
    return &state;
}

/* ---- operators -------------------------------------------------------------------------------------------------------- */

/* What an implementation remembers: pointers into the node, as packages do. */
struct impl {
    QnnCpuOpPackage_OpImpl_t base;
    QnnCpuOpPackage_Tensor_t *in[4], *out[2], *table;
    double constant, gain, n_params;
    const char *mode;
};

static size_t count_of(const QnnCpuOpPackage_Tensor_t *t)
{
    size_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->currentDimensions[i];
    return n;
}

static Qnn_ErrorHandle_t increment(void *arg)
{
    struct impl *m = arg;
    const float *x = m->in[0]->data;
    float *y = m->out[0]->data;
    for (size_t i = 0; i < count_of(m->in[0]); i++)
        y[i] = x[i] + (float)m->constant;
    state.runs++;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t relu(void *arg)
{
    struct impl *m = arg;
    if (m->in[0]->dataType == QNN_CPU_DATATYPE_FLOAT_32) {
        const float *x = m->in[0]->data;
        float *y = m->out[0]->data;
        for (size_t i = 0; i < count_of(m->in[0]); i++)
            y[i] = x[i] > 0 ? x[i] : 0;
        return QNN_SUCCESS;
    }
    const uint8_t *x = m->in[0]->data;
    uint8_t *y = m->out[0]->data, zero = (uint8_t)-m->in[0]->quantizeParams.scaleOffsetEncoding.offset;
    for (size_t i = 0; i < count_of(m->in[0]); i++)
        y[i] = x[i] > zero ? x[i] : zero;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t mix(void *arg)
{
    struct impl *m = arg;
    const float *x = m->in[0]->data, *table = m->table->data;
    float *y = m->out[0]->data, *z = m->out[1]->data, sign = m->mode && !strcmp(m->mode, "minus") ? -1 : 1;
    size_t channels = count_of(m->table);
    for (size_t i = 0; i < count_of(m->in[0]); i++) {
        y[i] = (float)m->gain * x[i] + sign * table[i % channels];
        z[i] = x[i] - table[i % channels];
    }
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t order(void *arg)
{
    struct impl *m = arg;
    int now = ++state.inside;
    float *y = m->out[0]->data, sum = 0;
    if (now > state.most)
        state.most = now;
    for (volatile int i = 0; i < state.slow; i++)
        sum += 1;
    for (size_t i = 0; i < count_of(m->out[0]); i++)
        y[i] = (float)(state.runs + 1) + 0 * sum;
    state.runs++;
    state.inside--;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t fails(void *arg)
{
    struct impl *m = arg;
    return *(const float *)m->in[0]->data < 0 ? QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT : increment(arg);
}

static Qnn_ErrorHandle_t hook(void *arg)
{
    if (state.hook)
        state.hook();
    return increment(arg);
}

static Qnn_ErrorHandle_t spy(void *arg)
{
    struct impl *m = arg;
    const QnnCpuOpPackage_Tensor_t *x = m->in[0];
    float *y = m->out[0]->data;
    memset(y, 0, SPY_COUNT * sizeof(y[0]));
    y[SPY_TYPE] = (float)x->dataType;
    y[SPY_RANK] = (float)x->rank;
    y[SPY_DIM0] = (float)x->currentDimensions[0];
    y[SPY_DIM1] = (float)x->maxDimensions[1];
    if (x->quantizeParams.quantizationEncoding == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET) {
        y[SPY_SCALE] = x->quantizeParams.scaleOffsetEncoding.scale;
        y[SPY_OFFSET] = (float)x->quantizeParams.scaleOffsetEncoding.offset;
    }
    y[SPY_FORMAT] = (float)x->dataFormat;
    y[SPY_PARAMS] = (float)m->n_params;
    y[SPY_SECOND] = m->in[1] && m->in[1]->data ? 1 : 0;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t where(void *arg)
{
    struct impl *m = arg;
    float *y = m->out[0]->data;
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

    memset(y, 0, count_of(m->out[0]) * sizeof(y[0]));
    y[WHERE_PROCESS] = (float)getpid();
    y[WHERE_FILES] = file >= 0;
    if (file >= 0)
        close(file);
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t crash(void *arg)
{
    struct impl *m = arg;

    if (*(const float *)m->in[0]->data < 0)
        _exit(3);
    return increment(arg);
}

static const struct {
    const char *name;
    QnnCpuOpPackage_OpImplFn_t fn;
    uint32_t n_out;
} operators[] = {
    { "Increment", increment, 1 }, { "Relu", relu, 1 },         { "Mix", mix, 2 },     { "Order", order, 1 },
    { "Fails", fails, 1 },         { "Hook", hook, 1 },         { "Spy", spy, 1 },     { "NoImpl", increment, 1 },
    { "BadImpl", NULL, 1 },        { "Refused", increment, 1 }, { "Where", where, 1 }, { "Crash", crash, 1 },
};
enum { N_OPERATORS = sizeof(operators) / sizeof(operators[0]) };

static int find(const char *name)
{
    for (int i = 0; i < N_OPERATORS; i++)
        if (!strcmp(operators[i].name, name))
            return i;
    return -1;
}

/* ---- the functions of both versions ----------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t validate(Qnn_OpConfig_t config)
{
    const Qnn_OpConfigV1_t *c = &config.v1;
    int at = find(c->typeName);
    if (at < 0 || c->numOfInputs < 1 || c->numOfOutputs != operators[at].n_out)
        return QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
    const Qnn_TensorV1_t *x = &c->inputTensors[0].v1, *y = &c->outputTensors[0].v1;
    bool bytes = x->dataType == QNN_DATATYPE_UFIXED_POINT_8 && !strcmp(c->typeName, "Relu"),
         any = !strcmp(c->typeName, "Spy");
    if (!any && (x->dataType != y->dataType || (x->dataType != QNN_DATATYPE_FLOAT_32 && !bytes)))
        return QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
    for (uint32_t i = 0; i < c->numOfParams; i++)
        if (c->params[i].paramType == QNN_PARAMTYPE_TENSOR && !c->params[i].tensorParam.v1.clientBuf.data)
            return QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
    return QNN_SUCCESS;
}

static void read_param(struct impl *m, const QnnCpuOpPackage_Param_t *p)
{
    if (p->type == QNN_CPU_PARAMTYPE_TENSOR && !strcmp(p->name, "table") && p->tensorParam->data)
        m->table = p->tensorParam;
    if (p->type == QNN_CPU_PARAMTYPE_STRING && !strcmp(p->name, "mode"))
        m->mode = p->string;
    if (p->type == QNN_CPU_PARAMTYPE_SCALAR && !strcmp(p->name, "constant"))
        m->constant = p->scalarParam;
    if (p->type == QNN_CPU_PARAMTYPE_SCALAR && !strcmp(p->name, "gain"))
        m->gain = p->scalarParam;
}

static Qnn_ErrorHandle_t create_op(double constant, const QnnCpuOpPackage_Node_t *n, QnnOpPackage_OpImpl_t *ret)
{
    if (!strcmp(n->typeName, "Refused"))
        return QNN_OP_PACKAGE_ERROR_GENERAL;
    if (!strcmp(n->typeName, "NoImpl"))
        return QNN_SUCCESS;
    struct impl *m = calloc(1, sizeof(*m));
    if (!m)
        return QNN_OP_PACKAGE_ERROR_GENERAL;
    m->constant = constant;
    m->gain = 1;
    m->n_params = n->numOfParams;
    for (uint32_t i = 0; i < n->numOfInputs && i < 4; i++)
        m->in[i] = n->inputs[i];
    for (uint32_t i = 0; i < n->numOfOutputs && i < 2; i++)
        m->out[i] = n->outputs[i];
    for (uint32_t i = 0; i < n->numOfParams; i++)
        read_param(m, n->params[i]);
    m->base = (QnnCpuOpPackage_OpImpl_t){ operators[find(n->typeName)].fn, m };
    *ret = &m->base;
    state.created++;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t free_op(QnnOpPackage_OpImpl_t impl)
{
    state.freed++;
    free(impl->userData);
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t tell(const char *name, uint32_t n, const QnnOpPackage_Info_t **ret)
{
    static const char *names[N_OPERATORS];
    static QnnOpPackage_Info_t infos[8];
    static uint32_t used;
    for (int i = 0; i < N_OPERATORS; i++)
        names[i] = operators[i].name;
    QnnOpPackage_Info_t *info = &infos[used++ % 8];
    *info = (QnnOpPackage_Info_t){ .packageName = name, .operationNames = names, .numOperations = n };
    *ret = info;
    return QNN_SUCCESS;
}

/* ---- version 1.4 ------------------------------------------------------------------------------------------------------ */

static bool initialized;

static Qnn_ErrorHandle_t init(QnnOpPackage_GlobalInfrastructure_t infra)
{
    if (initialized)
        return QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED;
    if (!infra || !infra->reportMessage || !infra->profile)
        return QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE;
    infra->reportMessage(QNN_CPU_MSG_HIGH, "package number %d begins", 1);
    infra->profile(QNN_CPU_PROFILE_BASIC, 1.0);
    initialized = true;
    state.begun++;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t terminate(void)
{
    initialized = false;
    state.ended++;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t info_one(const QnnOpPackage_Info_t **ret)
{
    return tell("tests.one", N_OPERATORS, ret);
}

static Qnn_ErrorHandle_t create_1(QnnOpPackage_GraphInfrastructure_t graph, QnnOpPackage_Node_t node,
                                  QnnOpPackage_OpImpl_t *ret)
{
    (void)graph;
    return create_op(1, node, ret);
}

static void say(QnnLog_Callback_t callback, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    callback(fmt, QNN_LOG_LEVEL_INFO, 0, ap);
    va_end(ap);
}

static Qnn_ErrorHandle_t log_init(QnnLog_Callback_t callback, QnnLog_Level_t level)
{
    (void)level;
    say(callback, "package log of %s", "one");
    state.logged++;
    return QNN_SUCCESS;
}

static QnnOpPackage_Interface_t table_one(void)
{
    return (QnnOpPackage_Interface_t){ .interfaceVersion = { 1, 4, 0 },
                                       .v1_4 = { .init = init,
                                                 .terminate = terminate,
                                                 .getInfo = info_one,
                                                 .validateOpConfig = validate,
                                                 .createOpImpl = create_1,
                                                 .freeOpImpl = free_op,
                                                 .logInitialize = log_init } };
}

/* ---- version 2.0 ------------------------------------------------------------------------------------------------------ */

static Qnn_ErrorHandle_t create_package(QnnOpPackage_GlobalInfrastructure_t infra, QnnLog_Callback_t callback,
                                        QnnLog_Level_t level, Qnn_OpPackageHandle_t *ret)
{
    static int two = 2;
    (void)infra;
    (void)level;
    say(callback, "package log of %s", "two");
    state.begun++;
    *ret = (Qnn_OpPackageHandle_t)&two;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t info_two(const QnnOpPackage_Info_t **ret)
{
    return tell("tests.two", 2, ret);
}

static Qnn_ErrorHandle_t validate_2(Qnn_OpPackageHandle_t package, Qnn_OpConfig_t config)
{
    return package ? validate(config) : QNN_OP_PACKAGE_ERROR_INVALID_HANDLE;
}

static Qnn_ErrorHandle_t create_2(Qnn_OpPackageHandle_t package, QnnOpPackage_GraphInfrastructure_t graph,
                                  QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *ret)
{
    (void)graph;
    return create_op(*(const int *)package, node, ret);
}

static Qnn_ErrorHandle_t free_2(Qnn_OpPackageHandle_t package, QnnOpPackage_OpImpl_t impl)
{
    return package ? free_op(impl) : QNN_OP_PACKAGE_ERROR_INVALID_HANDLE;
}

static Qnn_ErrorHandle_t free_package(Qnn_OpPackageHandle_t package)
{
    state.ended++;
    return package ? QNN_SUCCESS : QNN_OP_PACKAGE_ERROR_INVALID_HANDLE;
}

static QnnOpPackage_Interface_t table_two(void)
{
    return (QnnOpPackage_Interface_t){ .interfaceVersion = { 2, 0, 0 },
                                       .v2_0 = { .create = create_package,
                                                 .getInfo = info_two,
                                                 .validateOpConfig = validate_2,
                                                 .createOpImpl = create_2,
                                                 .freeOpImpl = free_2,
                                                 .free = free_package } };
}

/* ONNX Runtime takes the name of a package from that of its provider: what stands before "InterfaceProvider". */
static Qnn_ErrorHandle_t info_runtime(const QnnOpPackage_Info_t **ret)
{
    return tell("TestsOpPackage", N_OPERATORS, ret);
}

/* ---- mistakes --------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t always_fails(QnnOpPackage_GlobalInfrastructure_t infra)
{
    (void)infra;
    return QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE;
}

static Qnn_ErrorHandle_t info_fails(const QnnOpPackage_Info_t **ret)
{
    (void)ret;
    return QNN_OP_PACKAGE_ERROR_INVALID_INFO;
}

static Qnn_ErrorHandle_t info_null(const QnnOpPackage_Info_t **ret)
{
    *ret = NULL;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t info_nameless(const QnnOpPackage_Info_t **ret)
{
    return tell(NULL, 1, ret);
}

static Qnn_ErrorHandle_t info_builtin(const QnnOpPackage_Info_t **ret)
{
    return tell("qti.aisw", 1, ret);
}

static Qnn_ErrorHandle_t info_empty(const QnnOpPackage_Info_t **ret)
{
    return tell("tests.empty", 0, ret);
}

static Qnn_ErrorHandle_t info_listless(const QnnOpPackage_Info_t **ret)
{
    static const QnnOpPackage_Info_t info = { .packageName = "tests.listless", .numOperations = 2 };
    *ret = &info;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t info_holes(const QnnOpPackage_Info_t **ret)
{
    static const char *names[] = { "Increment", NULL };
    static const QnnOpPackage_Info_t info = { .packageName = "tests.holes", .operationNames = names, .numOperations = 2 };
    *ret = &info;
    return QNN_SUCCESS;
}

#define PROVIDER(name, table, change)                             \
    EXPORT Qnn_ErrorHandle_t name(QnnOpPackage_Interface_t *ret); \
    Qnn_ErrorHandle_t name(QnnOpPackage_Interface_t *ret)         \
    {                                                             \
        *ret = table();                                           \
        change;                                                   \
        return QNN_SUCCESS;                                       \
    }
PROVIDER(package_one, table_one, )
PROVIDER(package_old, table_one, ret->interfaceVersion = ((Qnn_Version_t){ 1, 0, 0 }); ret->v1_4.logInitialize = NULL)
PROVIDER(package_two, table_two, )
PROVIDER(TestsOpPackageInterfaceProvider, table_one, ret->v1_4.getInfo = info_runtime)
PROVIDER(package_version_3, table_two, ret->interfaceVersion.major = 3)
PROVIDER(package_version_0, table_one, ret->interfaceVersion = ((Qnn_Version_t){ 0, 0, 0 }))
PROVIDER(package_no_init, table_one, ret->v1_4.init = NULL)
PROVIDER(package_no_terminate, table_one, ret->v1_4.terminate = NULL)
PROVIDER(package_no_get_info, table_one, ret->v1_4.getInfo = NULL)
PROVIDER(package_no_validate, table_one, ret->v1_4.validateOpConfig = NULL)
PROVIDER(package_no_create_op, table_one, ret->v1_4.createOpImpl = NULL)
PROVIDER(package_no_free_op, table_one, ret->v1_4.freeOpImpl = NULL)
PROVIDER(package_no_create, table_two, ret->v2_0.create = NULL)
PROVIDER(package_no_free, table_two, ret->v2_0.free = NULL)
PROVIDER(package_init_fails, table_one, ret->v1_4.init = always_fails)
PROVIDER(package_info_fails, table_one, ret->v1_4.getInfo = info_fails)
PROVIDER(package_info_null, table_one, ret->v1_4.getInfo = info_null)
PROVIDER(package_nameless, table_two, ret->v2_0.getInfo = info_nameless)
PROVIDER(package_builtin, table_one, ret->v1_4.getInfo = info_builtin)
PROVIDER(package_empty, table_one, ret->v1_4.getInfo = info_empty)
PROVIDER(package_listless, table_one, ret->v1_4.getInfo = info_listless)
PROVIDER(package_holes, table_one, ret->v1_4.getInfo = info_holes)

/* Fills nothing, or says that it cannot. */
EXPORT Qnn_ErrorHandle_t package_blank(QnnOpPackage_Interface_t *ret);
Qnn_ErrorHandle_t package_blank(QnnOpPackage_Interface_t *ret)
{
    (void)ret;
    return QNN_SUCCESS;
}

EXPORT Qnn_ErrorHandle_t package_provider_fails(QnnOpPackage_Interface_t *ret);
Qnn_ErrorHandle_t package_provider_fails(QnnOpPackage_Interface_t *ret)
{
    (void)ret;
    return QNN_OP_PACKAGE_ERROR_GENERAL;
}
