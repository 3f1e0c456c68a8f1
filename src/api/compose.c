/* SPDX-License-Identifier: Apache-2.0 */
/* Composing a graph through an interface table: all tensors, then the nodes in order. Tensor parameters become STATIC
 * tensors of their own. A table may be wrapped by its owner, so what a tensor has become is read from the struct after the
 * call, not from the graph. */
#include "api/compose.h"

#include <string.h>

#include "QNN/QnnOpDef.h"
#include "api/translate.h"

struct composer {
    const struct compose_target *t;
    const struct ir_graph *g;
    struct arena *a;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t *tensors; /* as created, one per tensor of g */
};

enum status compose_check(const QNN_INTERFACE_VER_TYPE *api)
{
    RETURN_IF(!api->graphCreate || !api->graphAddNode || !api->tensorCreateGraphTensor, ST_INVALID_ARG,
              "the backend's interface has no %s; give the table of QnnInterface_getProviders",
              !api->graphCreate ? "graphCreate" : !api->graphAddNode ? "graphAddNode" : "tensorCreateGraphTensor");
    return ST_OK;
}

/* With the backend's own explanation where it has one. */
static enum status refused(const struct composer *c, enum status st, Qnn_ErrorHandle_t e, const char *what, const char *name)
{
    const QNN_INTERFACE_VER_TYPE *api = c->t->api;
    const char *text = NULL;
    bool told = api->errorGetVerboseMessage && api->errorGetVerboseMessage(e, &text) == QNN_SUCCESS && text;
    st = status_fail(st, "the backend refused %s \"%s\" of graph \"%s\" with %llu%s%s", what, name, c->g->name,
                     (unsigned long long)QNN_GET_ERROR_CODE(e), told ? ": " : "", told ? text : "");
    if (told && api->errorFreeVerboseMessage)
        api->errorFreeVerboseMessage(text);
    return st;
}

static enum status no_memory(const struct composer *c)
{
    return status_fail(ST_NO_MEMORY, "no memory to compose graph \"%s\"", c->g->name);
}

static enum status give_data(Qnn_Tensor_t *t, const void *data, uint64_t bytes, const char *name)
{
    RETURN_IF(bytes > UINT32_MAX, ST_INVALID_TENSOR, "tensor \"%s\" has %llu bytes of data; the API carries at most 4 GiB",
              name, (unsigned long long)bytes);
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ (void *)data, (uint32_t)bytes };
    return ST_OK;
}

static enum status create_tensor(struct composer *c, const struct ir_tensor *t, Qnn_Tensor_t *ret)
{
    uint32_t type;
    if (t->role == IR_ABSENT) {
        *ret = (Qnn_Tensor_t)QNN_TENSOR_INIT;
        ret->v1.type = QNN_TENSOR_TYPE_NULL;
        return ST_OK;
    }
    RETURN_IF(!type_to_client(t, &type), ST_INVALID_TENSOR,
              "tensor \"%s\" is updateable or optional in a way that no tensor type says", t->name);
    if (c->t->all_outputs && type == QNN_TENSOR_TYPE_NATIVE)
        type = QNN_TENSOR_TYPE_APP_READ;
    TRY(tensor_to_client(&t->desc, t->name, 0, type, c->a, ret));
    if (t->role == IR_CONST)
        TRY(give_data(ret, t->data, desc_bytes(&t->desc), t->name));
    const QNN_INTERFACE_VER_TYPE *api = c->t->api;
    bool shared = t->role == IR_INOUT && api->tensorCreateContextTensor; /* belongs to all graphs of the context */
    Qnn_ErrorHandle_t e =
        shared ? api->tensorCreateContextTensor(c->t->context, ret) : api->tensorCreateGraphTensor(c->graph, ret);
    return e == QNN_SUCCESS ? ST_OK : refused(c, ST_INVALID_TENSOR, e, "tensor", t->name);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

static enum status make_param(struct composer *c, uint32_t node, uint32_t i, Qnn_Param_t *ret)
{
    const struct ir_node *n = &c->g->nodes.at[node];
    const struct op_value *v = &n->params[i];
    *ret = (Qnn_Param_t){ .paramType = QNN_PARAMTYPE_SCALAR, .name = n->op->params[i].name };
    if (!v->rank) {
        ret->scalarParam.dataType = dtype_to_client(v->type);
        memcpy(&ret->scalarParam.uint64Value, v->data, dtype_bytes(v->type, 1));
        return ST_OK;
    }
    struct ir_tensor t = { .role = IR_CONST, .desc = { .type = v->type, .rank = v->rank }, .data = v->data };
    memcpy(t.desc.dims, v->dims, sizeof t.desc.dims);
    t.name = arena_printf(c->a, "%s_%s_%u", n->name, ret->name, node); /* names of nodes may repeat */
    ret->paramType = QNN_PARAMTYPE_TENSOR;
    return t.name ? create_tensor(c, &t, &ret->tensorParam) : no_memory(c);
}

static Qnn_Tensor_t *make_ports(struct composer *c, const uint32_t *list, uint32_t n)
{
    Qnn_Tensor_t *ports = arena_array(c->a, Qnn_Tensor_t, n);
    for (uint32_t i = 0; ports && i < n; i++) {
        if (list[i] != IR_NONE) {
            ports[i] = c->tensors[list[i]];
        } else {
            ports[i] = (Qnn_Tensor_t)QNN_TENSOR_INIT;
            ports[i].v1.type = QNN_TENSOR_TYPE_NULL;
        }
    }
    return ports;
}

static enum status add_node(struct composer *c, uint32_t node)
{
    const struct ir_node *n = &c->g->nodes.at[node];
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    uint32_t count = op_param_count(n->op);
    op.v1.name = n->name;
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = n->op->name;
    op.v1.params = arena_array(c->a, Qnn_Param_t, count);
    op.v1.numOfInputs = n->n_in;
    op.v1.inputTensors = make_ports(c, n->in, n->n_in);
    op.v1.numOfOutputs = n->n_out;
    op.v1.outputTensors = make_ports(c, n->out, n->n_out);
    if (!op.v1.params || !op.v1.inputTensors || !op.v1.outputTensors)
        return no_memory(c);
    for (uint32_t i = 0; i < count; i++)
        if (n->params[i].data)
            TRY(make_param(c, node, i, &op.v1.params[op.v1.numOfParams++]));
    Qnn_ErrorHandle_t e = c->t->api->graphAddNode(c->graph, op);
    return e == QNN_SUCCESS ? ST_OK : refused(c, ST_INVALID_OP, e, "node", n->name);
}

/* ---- the graph -------------------------------------------------------------------------------------------------------- */

enum { LIST_IN = 1, LIST_OUT = 2, LIST_UPDATEABLE = 4 };

/* Which lists a tensor belongs to, by its type. */
static const uint8_t lists[] = {
    [QNN_TENSOR_TYPE_APP_WRITE] = LIST_IN,
    [QNN_TENSOR_TYPE_APP_READ] = LIST_OUT,
    [QNN_TENSOR_TYPE_APP_READWRITE] = LIST_IN | LIST_OUT,
    [QNN_TENSOR_TYPE_UPDATEABLE_STATIC] = LIST_UPDATEABLE,
    [QNN_TENSOR_TYPE_UPDATEABLE_NATIVE] = LIST_UPDATEABLE,
    [QNN_TENSOR_TYPE_UPDATEABLE_APP_WRITE] = LIST_IN | LIST_UPDATEABLE,
    [QNN_TENSOR_TYPE_UPDATEABLE_APP_READ] = LIST_OUT | LIST_UPDATEABLE,
    [QNN_TENSOR_TYPE_UPDATEABLE_APP_READWRITE] = LIST_IN | LIST_OUT | LIST_UPDATEABLE,
    [QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE] = LIST_IN,
    [QNN_TENSOR_TYPE_OPTIONAL_APP_READ] = LIST_OUT,
    [QNN_TENSOR_TYPE_OPTIONAL_APP_READWRITE] = LIST_IN | LIST_OUT,
};

static bool in_list(const Qnn_Tensor_t *t, uint8_t list)
{
    return (unsigned)t->v1.type < sizeof lists && (lists[t->v1.type] & list);
}

static enum status collect(struct composer *c, uint8_t list, struct compose_list *ret)
{
    uint32_t n = 0;
    for (size_t i = 0; i < c->g->tensors.n; i++)
        n += in_list(&c->tensors[i], list);
    *ret = (struct compose_list){ .at = arena_array(c->a, Qnn_Tensor_t, n) };
    if (!ret->at)
        return no_memory(c);
    for (size_t i = 0; i < c->g->tensors.n; i++) {
        if (!in_list(&c->tensors[i], list))
            continue;
        Qnn_Tensor_t *t = &ret->at[ret->n++];
        *t = c->tensors[i];
        if (t->v1.memType == QNN_TENSORMEMTYPE_RAW)
            t->v1.clientBuf = (Qnn_ClientBuffer_t)QNN_CLIENT_BUFFER_INIT; /* constants are the file's */
    }
    return ST_OK;
}

enum status compose_graph(const struct ir_graph *g, const struct compose_target *t, struct arena *a, struct composed *ret)
{
    struct composer c = { .t = t, .g = g, .a = a };
    *ret = (struct composed){ .name = arena_strdup(a, g->name) };
    c.tensors = arena_array(a, Qnn_Tensor_t, g->tensors.n);
    if (!ret->name || !c.tensors)
        return no_memory(&c);
    Qnn_ErrorHandle_t e = t->api->graphCreate(t->context, g->name, t->config, &c.graph);
    if (e != QNN_SUCCESS)
        return refused(&c, ST_PREPARE_FAILED, e, "graph", g->name);
    ret->graph = c.graph;
    for (size_t i = 0; i < g->tensors.n; i++)
        TRY(create_tensor(&c, &g->tensors.at[i], &c.tensors[i]));
    for (uint32_t i = 0; i < g->nodes.n; i++)
        TRY(add_node(&c, i));
    TRY(collect(&c, LIST_IN, &ret->inputs));
    TRY(collect(&c, LIST_OUT, &ret->outputs));
    return collect(&c, LIST_UPDATEABLE, &ret->updateable);
}
