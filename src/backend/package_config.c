/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of op packages that are code for this computer: a node as QnnCpuOpPackage.h describes it, made when a graph
 * is loaded. The package keeps pointers into it, and finds the data of an execution in its tensors. libQnnCpu.so runs
 * them where the client calls, libQnnHtp.so in its sessions. */
#include <QNN/CPU/QnnCpuOpPackage.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/mem.h"
#include "base/named_list.h"
#include "exec/exec.h"

enum { MAX_PARAMS = 64 };

/* ---- what packages may call ------------------------------------------------------------------------------------------- */

static void report_message(QnnCpuOpPackage_MsgType_t type, const char *fmt, ...)
{
    static const uint8_t levels[] = { [QNN_CPU_MSG_ERROR] = BACKEND_ERROR,
                                      [QNN_CPU_MSG_DEBUG] = BACKEND_DEBUG,
                                      [QNN_CPU_MSG_LOW] = BACKEND_DEBUG,
                                      [QNN_CPU_MSG_MED] = BACKEND_VERBOSE,
                                      [QNN_CPU_MSG_HIGH] = BACKEND_INFO };
    char text[STATUS_TEXT_MAX];
    va_list ap;
    if (!fmt)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    bool known = type >= QNN_CPU_MSG_ERROR && type <= QNN_CPU_MSG_HIGH;
    backend_log(known ? levels[type] : BACKEND_INFO, "op package: %s", text);
}

/* Times of nodes are measured around them. */
static void profile(QnnCpuOpPackage_ProfileType_t type, QnnCpuOpPackage_ProfileData_t data)
{
    (void)type;
    (void)data;
}

void *backend_package_infrastructure(void)
{
    static QnnCpuOpPackage_GlobalInfra_t infra = { report_message, profile };
    return &infra;
}

/* ---- a node ----------------------------------------------------------------------------------------------------------- */

struct package_node {
    const struct backend_package *package;
    struct arena arena;
    QnnCpuOpPackage_Node_t node;
    QnnCpuOpPackage_Tensor_t *tensors; /* inputs, among them those that are parameters, then outputs */
    uint32_t n_tensors;
    QnnCpuOpPackage_OpImpl_t *impl;
};

/* Packages see how numbers are stored; what they mean is in the encoding. 16-bit fixed point has no name of its own in
 * QnnCpuOpPackage.h and keeps the one of Qnn_DataType_t, as every other type does. */
static QnnCpuOpPackage_DataType_t stored_as(Qnn_DataType_t t)
{
    switch (t) {
    case QNN_DATATYPE_SFIXED_POINT_8: return QNN_CPU_DATATYPE_INT_8;
    case QNN_DATATYPE_UFIXED_POINT_8: return QNN_CPU_DATATYPE_UINT_8;
    case QNN_DATATYPE_SFIXED_POINT_32: return QNN_CPU_DATATYPE_INT_32;
    case QNN_DATATYPE_UFIXED_POINT_32: return QNN_CPU_DATATYPE_UINT_32;
    default: return (QnnCpuOpPackage_DataType_t)t;
    }
}

static enum status make_tensor(struct package_node *n, const struct tensor_desc *d, QnnCpuOpPackage_Tensor_t *ret)
{
    Qnn_Tensor_t t;
    *ret = (QnnCpuOpPackage_Tensor_t)QNN_CPU_OP_PACKAGE_TENSOR_INIT;
    if (!d) /* left out: a tensor of no type without data */
        return ST_OK;
    TRY(backend_host.describe_tensor(d, &n->arena, &t));
    ret->dataFormat = QNN_CPUOPPACKAGE_TENSOR_DATA_FORMAT_FLAT_BUFFER;
    ret->dataType = stored_as(t.v1.dataType);
    ret->rank = t.v1.rank;
    ret->maxDimensions = t.v1.dimensions;
    ret->currentDimensions = arena_dup(&n->arena, d->dims, sizeof(d->dims)); /* the package may write there */
    ret->quantizeParams = t.v1.quantizeParams;
    RETURN_IF(!ret->currentDimensions, ST_NO_MEMORY, "no memory for node \"%s\"", n->node.name);
    return ST_OK;
}

static enum status make_tensors(struct package_node *n, const struct op_call *c, QnnCpuOpPackage_Tensor_t ***at)
{
    n->n_tensors = c->n_in + c->n_out;
    n->tensors = arena_array(&n->arena, QnnCpuOpPackage_Tensor_t, n->n_tensors);
    *at = arena_array(&n->arena, QnnCpuOpPackage_Tensor_t *, n->n_tensors);
    RETURN_IF(!n->tensors || !*at, ST_NO_MEMORY, "no memory for node \"%s\"", c->node);
    for (uint32_t i = 0; i < n->n_tensors; i++) {
        TRY(make_tensor(n, i < c->n_in ? c->in[i] : c->out[i - c->n_in], &n->tensors[i]));
        if (i < c->n_in)
            n->tensors[i].data = (void *)c->in_data[i]; /* what is constant is there from the beginning */
        (*at)[i] = &n->tensors[i];
    }
    return ST_OK;
}

/* A scalar parameter; clients have integers, floats and bools. */
static double number(const struct named_value *v)
{
    bool is_signed = dtype_is_signed((enum dtype)v->type);
    union {
        float f32;
        double f64;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint64_t u;
    } n = { .u = 0 };
    memcpy(&n, v->data, v->bytes < sizeof(n) ? v->bytes : sizeof(n));
    if (dtype_is_float((enum dtype)v->type))
        return v->bytes == sizeof(n.f64) ? n.f64 : (double)n.f32;
    if (!is_signed)
        return (double)n.u;
    return v->bytes == 1 ? n.i8 : v->bytes == 2 ? n.i16 : v->bytes == 4 ? n.i32 : (double)n.i64;
}

static QnnCpuOpPackage_Param_t make_param(const struct named_value *v)
{
    if (v->type == DT_STR)
        return (QnnCpuOpPackage_Param_t){ QNN_CPU_PARAMTYPE_STRING, v->name, .string = v->data };
    return (QnnCpuOpPackage_Param_t){ QNN_CPU_PARAMTYPE_SCALAR, v->name, .scalarParam = number(v) };
}

/* Returns how many of them are tensors, the last inputs. */
static enum status make_params(struct package_node *n, const struct op_call *c, uint32_t *ret_tensors)
{
    const struct op_value *values = &c->params[op_param_index(c->op, "values")];
    struct named_value list[MAX_PARAMS];
    uint32_t count = 0, tensors = 0;
    if (values->data) /* op_check has read it */
        named_list_read(values->data, values->count, list, MAX_PARAMS, &count);
    QnnCpuOpPackage_Param_t *params = arena_array(&n->arena, QnnCpuOpPackage_Param_t, count);
    QnnCpuOpPackage_Param_t **at = arena_array(&n->arena, QnnCpuOpPackage_Param_t *, count);
    RETURN_IF(!params || !at, ST_NO_MEMORY, "no memory for node \"%s\"", c->node);
    for (uint32_t i = 0; i < count; i++)
        tensors += list[i].elsewhere;
    for (uint32_t i = 0, next = c->n_in - tensors; i < count; i++) {
        at[i] = &params[i];
        if (list[i].elsewhere)
            params[i] =
                (QnnCpuOpPackage_Param_t){ QNN_CPU_PARAMTYPE_TENSOR, list[i].name, .tensorParam = &n->tensors[next++] };
        else
            params[i] = make_param(&list[i]);
    }
    n->node.numOfParams = count;
    n->node.params = at;
    *ret_tensors = tensors;
    return ST_OK;
}

static const char *text_of(const struct op_call *c, const char *param)
{
    return c->params[op_param_index(c->op, param)].data;
}

static enum status make_node(struct package_node *n, const struct op_call *c)
{
    QnnCpuOpPackage_Tensor_t **tensors;
    uint32_t params;
    n->node = (QnnCpuOpPackage_Node_t){ .name = c->node,
                                        .packageName = text_of(c, "package"),
                                        .typeName = text_of(c, "operator") };
    TRY(make_tensors(n, c, &tensors));
    TRY(make_params(n, c, &params));
    n->node.numOfInputs = c->n_in - params;
    n->node.inputs = tensors;
    n->node.numOfOutputs = c->n_out;
    n->node.outputs = tensors + c->n_in;
    return ST_OK;
}

static void close_node(void *node)
{
    struct package_node *n = node;
    if (n->impl)
        n->package->free(n->package, n->impl);
    arena_finish(&n->arena);
    mem_free(n);
}

static enum status implement(struct package_node *n, const struct op_call *c)
{
    void *impl = NULL;
    TRY(make_node(n, c));
    uint64_t code = n->package->create(n->package, &n->node, &impl);
    RETURN_IF(code, ST_PREPARE_FAILED,
              "node \"%s\": op package \"%s\" made no implementation of operator \"%s\": createOpImpl returned %llu",
              c->node, n->node.packageName, n->node.typeName, (unsigned long long)code);
    n->impl = impl;
    RETURN_IF(!n->impl || !n->impl->opImplFn, ST_PREPARE_FAILED,
              "node \"%s\": op package \"%s\" gave %s for operator \"%s\"; createOpImpl sets one with an opImplFn", c->node,
              n->node.packageName, n->impl ? "an implementation without opImplFn" : "no implementation", n->node.typeName);
    return ST_OK;
}

static enum status open_node(void *packages, const struct op_call *c, void **ret)
{
    const struct backend_package *p;
    RETURN_IF(!packages || !backend_host.find_package, ST_UNKNOWN_PACKAGE, "node \"%s\": there are no op packages", c->node);
    TRY(backend_host.find_package(packages, c->node, text_of(c, "package"), text_of(c, "operator"), &p));
    struct package_node *n = mem_new(struct package_node);
    RETURN_IF(!n, ST_NO_MEMORY, "no memory for node \"%s\"", c->node);
    n->package = p;
    arena_init(&n->arena);
    enum status st = implement(n, c);
    if (st != ST_OK) {
        close_node(n);
        return st;
    }
    *ret = n;
    return ST_OK;
}

static uint64_t run_node(void *node, void *const *data)
{
    struct package_node *n = node;
    for (uint32_t i = 0; i < n->n_tensors; i++)
        n->tensors[i].data = data[i];
    return n->package->call(n->package, n->impl->opImplFn, n->impl->userData);
}

void backend_package_outside(void *packages, struct exec_outside *ret)
{
    *ret = (struct exec_outside){ .open = open_node, .run = run_node, .close = close_node, .arg = packages };
}
