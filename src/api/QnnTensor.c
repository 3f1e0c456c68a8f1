/* SPDX-License-Identifier: Apache-2.0 */
/* QnnTensor.h: tensors of graphs and contexts. Ids count up through a context; an id says which graph and which tensor it
 * is. */
#include "QNN/QnnTensor.h"

#include <string.h>

#include "api/objects.h"
#include "api/translate.h"

enum { CONTEXT_OWNER = UINT32_MAX };

/* Where a new tensor goes. */
struct owner {
    struct api_context *context;
    struct ir_graph *ir;
    void *graph;    /* handle, NULL for context tensors */
    uint32_t index; /* of the graph, CONTEXT_OWNER */
};

static enum status check_new(const struct owner *o, const Qnn_TensorV1_t *v, const struct ir_tensor *t)
{
    bool inout = t->role == IR_INOUT;
    RETURN_IF(o->graph && inout, ST_INVALID_TENSOR,
              "tensor \"%s\" is APP_READWRITE; such tensors belong to a context (QnnTensor_createContextTensor)", t->name);
    RETURN_IF(!o->graph && t->role == IR_NATIVE, ST_INVALID_TENSOR,
              "tensor \"%s\" is NATIVE; such tensors belong to a graph", t->name);
    RETURN_IF(t->role != IR_CONST && v->memType == QNN_TENSORMEMTYPE_RAW && v->clientBuf.data, ST_INVALID_TENSOR,
              "tensor \"%s\" is not STATIC and has data at creation; give it when executing", t->name);
    if (!*t->name)
        return ST_OK; /* unnamed: found by id only */
    RETURN_IF(ir_find_tensor(o->ir, t->name) != IR_NONE || (o->context->shared && o->context->shared != o->ir &&
                                                            ir_find_tensor(o->context->shared, t->name) != IR_NONE),
              ST_EXISTS, "a tensor named \"%s\" exists already", t->name);
    return ST_OK;
}

/* Data that the client hands out through callbacks instead of keeping it all in memory. */
static enum status retrieve_raw(const struct owner *o, const Qnn_Tensor_t *client, uint32_t id, struct ir_tensor *t,
                                Qnn_ClientBuffer_t *buf)
{
    const Qnn_TensorRetrieveRaw_t *r = client->version == QNN_TENSOR_VERSION_2 ? client->v2.retrieveRaw : NULL;
    RETURN_IF(!r || !r->getTensorData || !r->freeTensorData, ST_INVALID_TENSOR,
              "tensor \"%s\" is RETRIEVE_RAW without both callbacks; getTensorData and freeTensorData are needed", t->name);
    enum callback_kind former = callback_enter(CALLBACK_BUSY);
    Qnn_ErrorHandle_t e = r->getTensorData(o->context->self, o->graph, id, buf);
    callback_leave(former);
    RETURN_IF(e != QNN_SUCCESS, ST_INVALID_TENSOR, "tensor \"%s\": getTensorData returned %llu", t->name,
              (unsigned long long)e);
    RETURN_IF(!buf->data || buf->dataSize < desc_bytes(&t->desc), ST_INVALID_TENSOR,
              "tensor \"%s\": getTensorData gave %u bytes; %llu are needed", t->name, buf->dataSize,
              (unsigned long long)desc_bytes(&t->desc));
    t->data = buf->data;
    return ST_OK;
}

static enum status add_tensor(const struct owner *o, const Qnn_Tensor_t *client, struct ir_tensor *t, uint32_t *id)
{
    struct tensor_entry *e = vec_push(&o->context->tensors);
    RETURN_IF(!e, ST_NO_MEMORY, "no memory for tensor \"%s\"", t->name);
    *id = t->client_id = (uint32_t)o->context->tensors.n;
    Qnn_ClientBuffer_t buf = QNN_CLIENT_BUFFER_INIT;
    bool retrieved = t->role == IR_CONST && tensor_v1(client)->memType == QNN_TENSORMEMTYPE_RETRIEVE_RAW;
    enum status st = retrieved ? retrieve_raw(o, client, *id, t, &buf) : ST_OK;
    if (!*t->name)
        t->name = NULL; /* ir/ makes one up */
    if (st == ST_OK)
        st = ir_add_tensor(o->ir, t, &e->index);
    e->graph = o->index;
    enum callback_kind former = callback_enter(CALLBACK_BUSY);
    if (buf.data)
        client->v2.retrieveRaw->freeTensorData(o->context->self, o->graph, *id);
    callback_leave(former);
    if (st != ST_OK)
        o->context->tensors.n--;
    return st;
}

static enum status create_tensor(const struct owner *o, Qnn_Tensor_t *tensor)
{
    CLEANUP(arena_finish) struct arena a;
    arena_init(&a);
    struct ir_tensor t;
    uint32_t id;
    TRY(tensor_from_client(tensor, true, &a, &t));
    TRY(check_new(o, tensor_v1(tensor), &t));
    TRY(add_tensor(o, tensor, &t, &id));
    tensor_v1_rw(tensor)->id = id;
    return ST_OK;
}

static enum status create_shared(struct api_context *c, Qnn_Tensor_t *tensor)
{
    if (!c->shared)
        TRY(ir_graph_create("context", &c->shared));
    struct owner o = { .context = c, .ir = c->shared, .index = CONTEXT_OWNER };
    return create_tensor(&o, tensor);
}

Qnn_ErrorHandle_t QnnTensor_createContextTensor(Qnn_ContextHandle_t context, Qnn_Tensor_t *tensor)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_TENSOR);
    log_enter(c->log);
    API_CHECK(tensor, COMP_TENSOR, ST_INVALID_TENSOR, "tensor is NULL; give a tensor, which receives its id");
    API_CHECK(!c->from_binary, COMP_TENSOR, ST_NOT_PERMITTED,
              "the context was made from a binary; nothing can be added to it");
    LOCKED(&c->lock);
    return api_error(COMP_TENSOR, create_shared(c, tensor));
}

Qnn_ErrorHandle_t QnnTensor_createGraphTensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *tensor)
{
    API_OBJECT(struct api_graph, g, graph, HANDLE_GRAPH, COMP_TENSOR);
    struct api_context *c = g->context;
    log_enter(c->log);
    API_CHECK(tensor, COMP_TENSOR, ST_INVALID_TENSOR, "tensor is NULL; give a tensor, which receives its id");
    API_CHECK(!c->from_binary, COMP_TENSOR, ST_NOT_PERMITTED,
              "the context was made from a binary; nothing can be added to it");
    LOCKED(&c->lock);
    enum status open = graph_check_open(g);
    if (open != ST_OK)
        return api_error(COMP_TENSOR, open);
    struct owner o = { .context = c, .ir = g->ir, .graph = graph, .index = g->index };
    return api_error(COMP_TENSOR, create_tensor(&o, tensor));
}

static Qnn_ErrorHandle_t no_updates(const char *what)
{
    return api_fail(COMP_TENSOR, ST_NOT_SUPPORTED, "%s: the %s backend does not support updateable tensors yet", what,
                    backend_this->name);
}

Qnn_ErrorHandle_t QnnTensor_updateGraphTensors(Qnn_GraphHandle_t graph, const Qnn_Tensor_t **tensor, uint64_t numTensors)
{
    API_OBJECT(struct api_graph, g, graph, HANDLE_GRAPH, COMP_TENSOR);
    log_enter(g->context->log);
    API_CHECK(tensor && numTensors, COMP_TENSOR, ST_INVALID_TENSOR,
              "tensor is NULL or numTensors is 0; give at least one tensor");
    return no_updates("QnnTensor_updateGraphTensors");
}

Qnn_ErrorHandle_t QnnTensor_updateContextTensors(Qnn_ContextHandle_t context, const Qnn_Tensor_t **tensor,
                                                 uint64_t numTensors)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_TENSOR);
    log_enter(c->log);
    API_CHECK(tensor && numTensors, COMP_TENSOR, ST_INVALID_TENSOR,
              "tensor is NULL or numTensors is 0; give at least one tensor");
    return no_updates("QnnTensor_updateContextTensors");
}
