/* SPDX-License-Identifier: Apache-2.0 */
/* QnnTensor.h: tensors of graphs and contexts. Ids count up through a context; an id says which graph and which tensor it
 * is. */
#include "QNN/QnnTensor.h"

#include <string.h>

#include "QNN/QnnProperty.h"

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
    enum status st = context_alive(c);
    return api_error(COMP_TENSOR, st == ST_OK ? create_shared(c, tensor) : st);
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
    enum status open = context_alive(c);
    if (open == ST_OK)
        open = graph_check_open(g);
    if (open != ST_OK)
        return api_error(COMP_TENSOR, open);
    struct owner o = { .context = c, .ir = g->ir, .graph = graph, .index = g->index };
    return api_error(COMP_TENSOR, create_tensor(&o, tensor));
}

/* ---- updates ---------------------------------------------------------------------------------------------------------- */

/* What an update says of one tensor. */
struct update {
    uint32_t id;
    const void *data; /* NULL: as they were */
    struct quant q;   /* where other_q is set */
    bool other_q;
};

static enum status find_updated(const struct owner *o, uint32_t id, const char *name, const struct ir_tensor **ret)
{
    const struct tensor_entry *e = id && id <= o->context->tensors.n ? &o->context->tensors.at[id - 1] : NULL;
    RETURN_IF(!e || e->graph != o->index, ST_NOT_FOUND, "tensor id %u (\"%s\") was not created in this %s", id, name,
              o->graph ? "graph" : "context");
    *ret = o->ir ? &o->ir->tensors.at[e->index] : NULL;
    RETURN_IF(!*ret || !(*ret)->updateable, ST_SHAPE,
              "tensor \"%s\" is not updateable; create it with one of the types UPDATEABLE_STATIC and so on", name);
    return ST_OK;
}

static enum status read_update(const struct owner *o, const Qnn_Tensor_t *client, struct arena *a, struct update *ret)
{
    const Qnn_TensorV1_t *v = client ? tensor_v1(client) : NULL;
    const struct ir_tensor *was;
    struct ir_tensor t;
    RETURN_IF(!v, ST_INVALID_TENSOR, "a tensor is NULL or has an unknown version; 1 and 2 are supported");
    const char *name = v->name ? v->name : "";
    TRY(find_updated(o, v->id, name, &was));
    TRY(tensor_from_client(client, false, a, &t));
    RETURN_IF(t.role != was->role || t.desc.type != was->desc.type || t.desc.dynamic != was->desc.dynamic ||
                  !desc_same_shape(&t.desc, &was->desc),
              ST_SHAPE, "tensor \"%s\": an update has the type, data type and dimensions of the tensor", name);
    const bool given = v->memType != QNN_TENSORMEMTYPE_RAW || v->clientBuf.data;
    RETURN_IF(given && was->role != IR_CONST, ST_INVALID_TENSOR,
              "tensor \"%s\" is not STATIC: an update can change its encoding only", name);
    RETURN_IF(given && !t.data, ST_INVALID_TENSOR,
              "tensor \"%s\" has memType %u and %u bytes of data; RAW (0) with %llu bytes is expected", name,
              (unsigned)v->memType, v->clientBuf.dataSize, (unsigned long long)desc_bytes(&was->desc));
    *ret = (struct update){ .id = v->id, .data = t.data, .q = t.desc.q };
    if (t.desc.q.kind == Q_NONE)
        return ST_OK; /* it says nothing about encodings */
    RETURN_IF(t.desc.q.kind != was->desc.q.kind || t.desc.q.n != was->desc.q.n, ST_SHAPE,
              "tensor \"%s\": an update has an encoding of the same kind and size as the tensor", name);
    ret->q.axis = was->desc.q.axis; /* as the operator reads it, which may be another than the client says */
    ret->other_q = !quant_same(&ret->q, &was->desc.q);
    return ST_OK;
}

/* Wherever the context has the tensor: graphs around a subgraph and those that use a tensor of the context have it, too. */
static void set_value(struct api_context *c, const struct update *u)
{
    const struct quant *quant = u->other_q ? &u->q : NULL;
    if (c->shared)
        ir_set_value(c->shared, u->id, u->data, quant);
    for (size_t i = 0; i < c->graphs.n; i++) {
        struct api_graph *g = c->graphs.at[i];
        if (!g->ir || !ir_set_value(g->ir, u->id, u->data, quant) || g->state == GRAPH_OPEN)
            continue;
        g->changed = true;
        g->other_data |= u->data != NULL;
        g->other_quants |= u->other_q;
    }
}

static enum status update_tensors(const struct owner *o, const Qnn_Tensor_t **tensors, uint64_t n)
{
    CLEANUP(arena_finish) struct arena a;
    arena_init(&a);
    RETURN_IF(!backend_capable(backend_this, QNN_PROPERTY_TENSOR_SUPPORT_UPDATEABLE_STATIC_TENSORS), ST_NOT_SUPPORTED,
              "the %s backend does not support updateable tensors", backend_this->name);
    RETURN_IF(o->context->from_binary, ST_NOT_PERMITTED,
              "the context was made from a binary; QnnContext_applyBinarySection gives its tensors new values");
    RETURN_IF(n > o->context->tensors.n, ST_INVALID_TENSOR, "%llu tensors are updated; the context has %zu",
              (unsigned long long)n, o->context->tensors.n);
    struct update *u = arena_array(&a, struct update, n);
    RETURN_IF(!u, ST_NO_MEMORY, "no memory to update %llu tensors", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        TRY(read_update(o, tensors[i], &a, &u[i]));
    for (uint64_t i = 0; i < n; i++)
        if (u[i].other_q)
            TRY(ir_keep_quant(o->ir, &u[i].q));
    for (uint64_t i = 0; i < n; i++)
        set_value(o->context, &u[i]); /* nothing can fail any more */
    return ST_OK;
}

Qnn_ErrorHandle_t QnnTensor_updateGraphTensors(Qnn_GraphHandle_t graph, const Qnn_Tensor_t **tensor, uint64_t numTensors)
{
    API_OBJECT(struct api_graph, g, graph, HANDLE_GRAPH, COMP_TENSOR);
    struct api_context *c = g->context;
    log_enter(c->log);
    API_CHECK(tensor && numTensors, COMP_TENSOR, ST_INVALID_TENSOR,
              "tensor is NULL or numTensors is 0; give at least one tensor");
    LOCKED(&c->lock);
    struct owner o = { .context = c, .ir = g->ir, .graph = graph, .index = g->index };
    enum status st = context_alive(c);
    return api_error(COMP_TENSOR, st != ST_OK ? st : update_tensors(&o, tensor, numTensors));
}

Qnn_ErrorHandle_t QnnTensor_updateContextTensors(Qnn_ContextHandle_t context, const Qnn_Tensor_t **tensor,
                                                 uint64_t numTensors)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_TENSOR);
    log_enter(c->log);
    API_CHECK(tensor && numTensors, COMP_TENSOR, ST_INVALID_TENSOR,
              "tensor is NULL or numTensors is 0; give at least one tensor");
    LOCKED(&c->lock);
    struct owner o = { .context = c, .ir = c->shared, .index = CONTEXT_OWNER };
    enum status st = context_alive(c);
    return api_error(COMP_TENSOR, st != ST_OK ? st : update_tensors(&o, tensor, numTensors));
}
