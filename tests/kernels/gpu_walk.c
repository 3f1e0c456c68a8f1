/* SPDX-License-Identifier: Apache-2.0 */
/* Test-only shared library: the cases of the kernel probe (probe.h) on libQnnGpu.so, through its public table, so that the
 * GPU backend walks what the other backends' oracles walk. A case becomes a graph of one node; a clamp behind it becomes a
 * second one. Nothing here knows any operator. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/QnnInterface.h>
#include <QNN/QnnOpDef.h>
#include <QNN/QnnOpPackage.h>

#include "probe.h"

enum { GRAPHS_PER_CONTEXT = 500, MOST = KERNEL_MAX_OPERANDS, PARAMS = 16 };
enum { WALK_RAN, WALK_REFUSED, WALK_FAILED };

static QNN_INTERFACE_VER_TYPE q;
static Qnn_BackendHandle_t backend;
static Qnn_ContextHandle_t context;
static Qnn_LogHandle_t quiet;
static uint32_t graphs;

/* What a graph is made of; the last one is kept, so that a case with a state can run it again. */
static struct {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t in[MOST], out[MOST], inner[MOST], param_tensors[PARAMS];
    Qnn_Param_t params[PARAMS], limits[2];
    uint32_t n_in, n_out;
    uint8_t port[MOST];
    Qnn_Tensor_t inputs[MOST], outputs[MOST];
    char names[4 * MOST][40];
    uint32_t n_names;
} made;

static void no_log(const char *fmt, QnnLog_Level_t level, uint64_t t, va_list args)
{
    (void)fmt;
    (void)level;
    (void)t;
    (void)args;
}

static int say(struct probe_case *c, int result, Qnn_ErrorHandle_t e, const char *where)
{
    const char *text = NULL;
    if (q.errorGetVerboseMessage(e, &text) != QNN_SUCCESS || !text)
        text = "no explanation";
    snprintf(c->text, sizeof c->text, "%s: %u: %.900s", where, (unsigned)QNN_GET_ERROR_CODE(e), text);
    return result;
}

/* ---- from the probe's structures to the API's ------------------------------------------------------------------------- */

static Qnn_DataType_t client_type(uint32_t t)
{
    static const uint32_t kinds[] = { [DK_INT] = 0x0000,    [DK_UINT] = 0x0100,   [DK_FLOAT] = 0x0200,
                                      [DK_SFIXED] = 0x0300, [DK_UFIXED] = 0x0400, [DK_BOOL] = 0x0500 };
    static const uint32_t widths[] = { [2] = 0x02, [4] = 0x04, [8] = 0x08, [16] = 0x16, [32] = 0x32, [64] = 0x64 };
    return t == DT_BF16 ? QNN_DATATYPE_BFLOAT_16
                        : (Qnn_DataType_t)(kinds[dtype_kind((enum dtype)t)] | widths[dtype_bits((enum dtype)t)]);
}

static const char *new_name(const char *stem, uint32_t i)
{
    char *name = made.names[made.n_names++];
    snprintf(name, sizeof made.names[0], "%s_%u_%u", stem, i, graphs);
    return name;
}

static Qnn_Tensor_t tensor_of(const struct probe_tensor *t, Qnn_TensorType_t kind, const char *name)
{
    Qnn_Tensor_t r = QNN_TENSOR_INIT;
    r.v1 = (Qnn_TensorV1_t)QNN_TENSOR_V1_INIT;
    r.v1.name = name;
    r.v1.type = kind;
    if (kind == QNN_TENSOR_TYPE_NULL)
        return r;
    r.v1.dataType = client_type(t->type);
    r.v1.rank = t->rank;
    r.v1.dimensions = (uint32_t *)t->dims;
    r.v1.memType = QNN_TENSORMEMTYPE_RAW;
    if (kind == QNN_TENSOR_TYPE_STATIC)
        r.v1.clientBuf = (Qnn_ClientBuffer_t){ t->data, (uint32_t)t->bytes };
    if (t->quant_kind == Q_TENSOR) {
        r.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        r.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        r.v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){ t->scales[0], t->offsets ? t->offsets[0] : 0 };
    }
    return r;
}

/* Per-tensor scales are all that a GPU case needs: the rest is refused for its type anyway. */
static bool expressible(const struct probe_case *c)
{
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
        const struct probe_tensor *t = i < c->n_in ? &c->in[i] : &c->out[i - c->n_in];
        if (!t->absent && (t->quant_kind > Q_TENSOR || t->bits || t->mapping))
            return false;
    }
    return c->n_in + c->n_out <= MOST && c->n_params <= PARAMS;
}

static Qnn_ErrorHandle_t make_params(const struct probe_case *c)
{
    for (uint32_t i = 0; i < c->n_params; i++) {
        const struct probe_param *p = &c->params[i];
        Qnn_Param_t *r = &made.params[i];
        *r = (Qnn_Param_t){ .name = p->name };
        if (p->rank == 0) {
            r->paramType = QNN_PARAMTYPE_SCALAR;
            r->scalarParam.dataType = client_type(p->type);
            memcpy(&r->scalarParam.uint64Value, p->data, dtype_bytes((enum dtype)p->type, 1));
            continue;
        }
        struct probe_tensor t = {
            .type = p->type, .rank = p->rank, .data = (void *)p->data, .bytes = dtype_bytes((enum dtype)p->type, p->count)
        };
        memcpy(t.dims, p->dims, sizeof t.dims);
        r->paramType = QNN_PARAMTYPE_TENSOR;
        r->tensorParam = tensor_of(&t, QNN_TENSOR_TYPE_STATIC, new_name("p", i));
        r->tensorParam.v1.dimensions = (uint32_t *)p->dims;
        Qnn_ErrorHandle_t e = q.tensorCreateGraphTensor(made.graph, &r->tensorParam);
        if (e != QNN_SUCCESS)
            return e;
    }
    return QNN_SUCCESS;
}

/* Where everything is constant there would be nothing left to run: then only what must be constant is. */
static Qnn_TensorType_t kind_of(const struct probe_case *c, uint32_t i)
{
    bool all = true;
    if (c->in[i].absent)
        return QNN_TENSOR_TYPE_NULL;
    for (uint32_t k = 0; k < c->n_in; k++)
        all &= c->in[k].absent || c->in[k].is_constant;
    const struct op_port *port = op_in_port(op_find(c->op), i);
    return c->in[i].is_constant && (!all || (port && port->flags & PORT_STATIC)) ? QNN_TENSOR_TYPE_STATIC
                                                                                 : QNN_TENSOR_TYPE_APP_WRITE;
}

static Qnn_ErrorHandle_t make_tensors(const struct probe_case *c, bool clamped)
{
    Qnn_ErrorHandle_t e = QNN_SUCCESS;
    made.n_in = made.n_out = 0;
    for (uint32_t i = 0; i < c->n_in && e == QNN_SUCCESS; i++) {
        Qnn_TensorType_t kind = kind_of(c, i);
        made.in[i] = tensor_of(&c->in[i], kind, new_name("in", i));
        if (kind != QNN_TENSOR_TYPE_NULL)
            e = q.tensorCreateGraphTensor(made.graph, &made.in[i]);
        if (kind == QNN_TENSOR_TYPE_APP_WRITE) {
            made.port[made.n_in] = (uint8_t)i;
            made.inputs[made.n_in++] = made.in[i];
        }
    }
    for (uint32_t i = 0; i < c->n_out && e == QNN_SUCCESS; i++) {
        made.outputs[i] = tensor_of(&c->out[i], QNN_TENSOR_TYPE_APP_READ, new_name("out", i));
        e = q.tensorCreateGraphTensor(made.graph, &made.outputs[i]);
        made.out[i] = made.outputs[i];
        if (i == 0 && clamped && e == QNN_SUCCESS) {
            made.out[0] = tensor_of(&c->out[0], QNN_TENSOR_TYPE_NATIVE, new_name("inner", 0));
            e = q.tensorCreateGraphTensor(made.graph, &made.out[0]);
        }
    }
    made.n_out = c->n_out;
    return e;
}

static Qnn_OpConfig_t config_of(const struct probe_case *c)
{
    Qnn_OpConfig_t r = QNN_OPCONFIG_INIT;
    r.v1 = (Qnn_OpConfigV1_t){ .name = "node",
                               .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                               .typeName = c->op,
                               .numOfParams = c->n_params,
                               .params = made.params,
                               .numOfInputs = c->n_in,
                               .inputTensors = made.in,
                               .numOfOutputs = c->n_out,
                               .outputTensors = made.out };
    return r;
}

static Qnn_ErrorHandle_t add_clamp(const struct probe_case *c)
{
    Qnn_OpConfig_t r = QNN_OPCONFIG_INIT;
    for (int i = 0; i < 2; i++) {
        made.limits[i] = (Qnn_Param_t){ .paramType = QNN_PARAMTYPE_SCALAR, .name = i ? "max_value" : "min_value" };
        made.limits[i].scalarParam.dataType = QNN_DATATYPE_FLOAT_32;
        made.limits[i].scalarParam.floatValue = i ? c->post_hi : c->post_lo;
    }
    r.v1 = (Qnn_OpConfigV1_t){ .name = "clamp",
                               .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                               .typeName = "ReluMinMax",
                               .numOfParams = 2,
                               .params = made.limits,
                               .numOfInputs = 1,
                               .inputTensors = made.out,
                               .numOfOutputs = 1,
                               .outputTensors = made.outputs };
    return q.graphAddNode(made.graph, r);
}

/* ---- entries ---------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t new_context(void)
{
    if (context)
        q.contextFree(context, NULL);
    context = NULL;
    return q.contextCreate(backend, NULL, NULL, &context);
}

/* 0, or 77: there is no OpenCL device; `text` has room for 1024 characters. */
EXPORT int gpu_walk_open(const char *path, char *text)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) =
        lib ? (Qnn_ErrorHandle_t(*)(const QnnInterface_t ***, uint32_t *))dlsym(lib, "QnnInterface_getProviders") : NULL;
    if (!get || get(&list, &n) != QNN_SUCCESS || !n) {
        snprintf(text, 1024, "%s", lib ? "no providers" : dlerror());
        return 1;
    }
    q = list[0]->QNN_INTERFACE_VER_NAME;
    struct probe_case c = { 0 };
    Qnn_ErrorHandle_t e = q.logCreate(no_log, QNN_LOG_LEVEL_ERROR, &quiet);
    e = e == QNN_SUCCESS ? q.backendCreate(quiet, NULL, &backend) : e;
    e = e == QNN_SUCCESS ? new_context() : e;
    if (e == QNN_SUCCESS)
        return 0;
    say(&c, 0, e, "opening");
    snprintf(text, 1024, "%s", c.text);
    return 77;
}

static int build(struct probe_case *c)
{
    char name[32];
    bool clamped = isfinite(c->post_lo) || isfinite(c->post_hi);
    snprintf(name, sizeof name, "case_%u", graphs);
    made.n_names = 0;
    Qnn_ErrorHandle_t e = graphs++ % GRAPHS_PER_CONTEXT == GRAPHS_PER_CONTEXT - 1 ? new_context() : QNN_SUCCESS;
    e = e == QNN_SUCCESS ? q.graphCreate(context, name, NULL, &made.graph) : e;
    e = e == QNN_SUCCESS ? make_params(c) : e;
    e = e == QNN_SUCCESS ? make_tensors(c, clamped) : e;
    if (e != QNN_SUCCESS)
        return say(c, WALK_FAILED, e, "tensors");
    Qnn_OpConfig_t config = config_of(c);
    e = q.backendValidateOpConfig(backend, config);
    if (e != QNN_SUCCESS)
        return say(c, WALK_REFUSED, e, "validate");
    e = q.graphAddNode(made.graph, config);
    e = e == QNN_SUCCESS && clamped ? add_clamp(c) : e;
    if (e != QNN_SUCCESS)
        return say(c, WALK_FAILED, e, "add");
    e = q.graphFinalize(made.graph, NULL, NULL);
    return e == QNN_SUCCESS ? WALK_RAN : say(c, WALK_FAILED, e, "finalize");
}

static void use_data(Qnn_Tensor_t *t, const struct probe_tensor *from)
{
    t->v1.dimensions = (uint32_t *)from->dims;
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ from->data, (uint32_t)from->bytes };
}

/* again: the graph of the call before, whose state goes on. Outputs are written where the case says. */
EXPORT int gpu_walk_run(struct probe_case *c, int again)
{
    if (!expressible(c)) {
        snprintf(c->text, sizeof c->text, "validate: encodings other than one scale and offset per tensor");
        return WALK_REFUSED;
    }
    int result = again ? WALK_RAN : build(c);
    if (result != WALK_RAN)
        return result;
    for (uint32_t i = 0; i < made.n_in; i++)
        use_data(&made.inputs[i], &c->in[made.port[i]]);
    for (uint32_t i = 0; i < made.n_out; i++)
        use_data(&made.outputs[i], &c->out[i]);
    Qnn_ErrorHandle_t e = q.graphExecute(made.graph, made.inputs, made.n_in, made.outputs, made.n_out, NULL, NULL);
    return e == QNN_SUCCESS ? WALK_RAN : say(c, WALK_FAILED, e, "execute");
}
