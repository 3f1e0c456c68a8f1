/* SPDX-License-Identifier: Apache-2.0 */
/* From our graph to the calls of the public interface. */
#include "model_compose.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"

static const Qnn_TensorType_t client_role[IR_ROLE_COUNT] = {
    [IR_INPUT] = QNN_TENSOR_TYPE_APP_WRITE,
    [IR_OUTPUT] = QNN_TENSOR_TYPE_APP_READ,
    [IR_INOUT] = QNN_TENSOR_TYPE_APP_READWRITE,
    [IR_NATIVE] = QNN_TENSOR_TYPE_NATIVE,
    [IR_CONST] = QNN_TENSOR_TYPE_STATIC,
    [IR_ABSENT] = QNN_TENSOR_TYPE_NULL,
};

static bool done(struct compose *c, Qnn_ErrorHandle_t e, const char *what)
{
    const char *message = NULL;
    if (e == QNN_SUCCESS)
        return true;
    bool told = c->q.errorGetVerboseMessage && c->q.errorGetVerboseMessage(e, &message) == QNN_SUCCESS;
    snprintf(c->error, sizeof(c->error), "%s: error %u: %s", what, (unsigned)QNN_GET_ERROR_CODE(e), told ? message : "");
    if (told)
        c->q.errorFreeVerboseMessage(message);
    return false;
}

static bool fail(struct compose *c, const char *what)
{
    snprintf(c->error, sizeof(c->error), "%s", what);
    return false;
}

/* ---- the library ---------------------------------------------------------------------------------------------------- */

bool compose_open(struct compose *c, const char *library)
{
    memset(c, 0, sizeof(*c));
    arena_init(&c->arena);
    c->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!c->library)
        return fail(c, dlerror());
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = dlsym(c->library, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    if (!get || get(&list, &n) != QNN_SUCCESS || n < 1)
        return fail(c, "the library gives no provider");
    c->q = list[0]->QNN_INTERFACE_VER_NAME;
    return done(c, c->q.backendCreate(NULL, NULL, &c->backend), "backendCreate");
}

void compose_drop(struct compose *c)
{
    if (c->context)
        c->q.contextFree(c->context, NULL);
    c->context = NULL;
    c->graph = NULL;
    free(c->saved);
    c->saved = NULL;
    arena_finish(&c->arena);
}

void compose_close(struct compose *c)
{
    compose_drop(c);
    if (c->backend)
        c->q.backendFree(c->backend);
    if (c->library)
        dlclose(c->library);
    memset(c, 0, sizeof(*c));
}

/* ---- tensors -------------------------------------------------------------------------------------------------------- */

/* Per channel, or per block. */
static bool set_several(struct compose *c, const struct quant *q, Qnn_QuantizeParams_t *to)
{
    Qnn_ScaleOffset_t *each = arena_array(&c->arena, Qnn_ScaleOffset_t, q->n);
    if (!each)
        return fail(c, "out of memory");
    for (uint32_t i = 0; i < q->n; i++)
        each[i] = (Qnn_ScaleOffset_t){q->scales[i], q->offsets ? q->offsets[i] : 0};
    if (q->kind == Q_BLOCK) {
        to->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCK;
        to->blockEncoding = (Qnn_BlockEncoding_t){(uint32_t *)q->block, each};
        return true;
    }
    to->quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    to->axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){q->axis, q->n, each};
    return true;
}

static bool set_quant(struct compose *c, const struct tensor_desc *d, Qnn_QuantizeParams_t *to)
{
    if (!dtype_is_fixed(d->type) || d->q.kind == Q_NONE)
        return true;
    to->encodingDefinition = QNN_DEFINITION_DEFINED;
    if ((d->q.kind == Q_AXIS || d->q.kind == Q_BLOCK) && !d->q.bits)
        return set_several(c, &d->q, to);
    if (d->q.kind != Q_TENSOR || d->q.bits)
        return fail(c, "an encoding that is neither per tensor nor per channel nor per block");
    to->quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    to->scaleOffsetEncoding = (Qnn_ScaleOffset_t){d->q.scale, d->q.offset};
    return true;
}

static bool make_tensor(struct compose *c, const struct ir_tensor *t, Qnn_Tensor_t *ret)
{
    *ret = (Qnn_Tensor_t){.version = QNN_TENSOR_VERSION_1, .v1 = QNN_TENSOR_V1_INIT};
    Qnn_TensorV1_t *v = &ret->v1;
    v->name = t->name;
    v->type = client_role[t->role];
    v->dataType = (Qnn_DataType_t)convert_dtype_number(t->desc.type);
    v->rank = t->desc.rank;
    v->dimensions = arena_dup(&c->arena, t->desc.dims, sizeof(t->desc.dims));
    v->memType = QNN_TENSORMEMTYPE_RAW;
    if (!v->dimensions)
        return fail(c, "out of memory");
    if (t->role == IR_CONST)
        v->clientBuf = (Qnn_ClientBuffer_t){(void *)t->data, (uint32_t)desc_bytes(&t->desc)};
    return set_quant(c, &t->desc, &v->quantizeParams) && done(c, c->q.tensorCreateGraphTensor(c->graph, ret), t->name);
}

/* ---- nodes ---------------------------------------------------------------------------------------------------------- */

static bool make_param(struct compose *c, const struct ir_node *n, uint32_t i, Qnn_Param_t *ret)
{
    const struct op_value *v = &n->params[i];
    ret->name = n->op->params[i].name;
    if (v->rank == 0) {
        ret->paramType = QNN_PARAMTYPE_SCALAR;
        ret->scalarParam.dataType = (Qnn_DataType_t)convert_dtype_number(v->type);
        memcpy(&ret->scalarParam.uint64Value, v->data, dtype_bytes(v->type, 1));
        return true;
    }
    struct ir_tensor t = {.name = arena_printf(&c->arena, "%s_%s", n->name, ret->name), .role = IR_CONST, .data = v->data,
                          .desc = {.type = v->type, .rank = v->rank}};
    if (!t.name)
        return fail(c, "out of memory");
    memcpy(t.desc.dims, v->dims, sizeof(t.desc.dims));
    ret->paramType = QNN_PARAMTYPE_TENSOR;
    return make_tensor(c, &t, &ret->tensorParam);
}

static void list_tensors(const struct compose *c, const uint32_t *from, uint32_t n, Qnn_Tensor_t *to)
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] = (Qnn_Tensor_t){.version = QNN_TENSOR_VERSION_1, .v1 = QNN_TENSOR_V1_INIT};
        to[i].v1.type = QNN_TENSOR_TYPE_NULL;
        if (from[i] != IR_NONE)
            to[i] = c->tensors[from[i]];
    }
}

static bool make_node(struct compose *c, const struct ir_node *n)
{
    Qnn_Param_t params[16];
    Qnn_Tensor_t in[MAX_PORTS], out[MAX_PORTS];
    uint32_t np = 0;
    for (uint32_t i = 0; i < op_param_count(n->op); i++)
        if (n->params[i].data && !make_param(c, n, i, &params[np++]))
            return false;
    list_tensors(c, n->in, n->n_in, in);
    list_tensors(c, n->out, n->n_out, out);
    Qnn_OpConfig_t op = {.version = QNN_OPCONFIG_VERSION_1,
                         .v1 = {n->name, "qti.aisw", n->op->name, np, params, n->n_in, in, n->n_out, out}};
    return done(c, c->q.backendValidateOpConfig(c->backend, op), n->name) &&
           done(c, c->q.graphAddNode(c->graph, op), n->name);
}

bool compose_graph(struct compose *c, const struct ir_graph *g)
{
    c->g = g;
    if (!done(c, c->q.contextCreate(c->backend, NULL, NULL, &c->context), "contextCreate") ||
        !done(c, c->q.graphCreate(c->context, g->name, c->config, &c->graph), "graphCreate"))
        return false;
    c->tensors = arena_array(&c->arena, Qnn_Tensor_t, g->tensors.n);
    if (!c->tensors)
        return fail(c, "out of memory");
    for (size_t i = 0; i < g->tensors.n; i++)
        if (!make_tensor(c, &g->tensors.at[i], &c->tensors[i]))
            return false;
    for (size_t i = 0; i < g->nodes.n; i++)
        if (!make_node(c, &g->nodes.at[i]))
            return false;
    return done(c, c->q.graphFinalize(c->graph, NULL, NULL), "graphFinalize");
}

bool compose_reload(struct compose *c)
{
    uint64_t size = 0, written = 0;
    if (!done(c, c->q.contextGetBinarySize(c->context, &size), "contextGetBinarySize"))
        return false;
    free(c->saved);
    c->saved = malloc(size);
    if (!c->saved)
        return fail(c, "out of memory");
    if (!done(c, c->q.contextGetBinary(c->context, c->saved, size, &written), "contextGetBinary"))
        return false;
    c->q.contextFree(c->context, NULL);
    c->context = NULL;
    return done(c, c->q.contextCreateFromBinary(c->backend, NULL, NULL, c->saved, written, &c->context, NULL),
                "contextCreateFromBinary") &&
           done(c, c->q.graphRetrieve(c->context, c->g->name, &c->graph), "graphRetrieve");
}

bool compose_run(struct compose *c, void *const *data)
{
    enum { MAX_IO = 256 };
    Qnn_Tensor_t in[MAX_IO], out[MAX_IO];
    uint32_t n_in = 0, n_out = 0;
    for (size_t i = 0; i < c->g->tensors.n; i++) {
        const struct ir_tensor *t = &c->g->tensors.at[i];
        if (t->role != IR_INPUT && t->role != IR_OUTPUT)
            continue;
        if (n_in >= MAX_IO || n_out >= MAX_IO)
            return fail(c, "more inputs or outputs than this harness is made for");
        Qnn_Tensor_t *to = t->role == IR_INPUT ? &in[n_in++] : &out[n_out++];
        *to = c->tensors[i];
        to->v1.clientBuf = (Qnn_ClientBuffer_t){data[i], (uint32_t)desc_bytes(&t->desc)};
    }
    return done(c, c->q.graphExecute(c->graph, n_in ? in : NULL, n_in, n_out ? out : NULL, n_out, NULL, NULL),
                "graphExecute");
}
