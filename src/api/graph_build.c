/* SPDX-License-Identifier: Apache-2.0 */
/* A client's node becomes an ir_node: tensors are found by id, context tensors are brought into the graph on first use, and the operator is
 * checked as QnnBackend_validateOpConfig would, so that nothing unknown reaches the compiler. */
#include "api/graph_build.h"

#include <string.h>

#include "api/op_config.h"
#include "api/translate.h"

enum { CONTEXT_OWNER = UINT32_MAX };

static uint32_t find_imported(const struct api_graph *g, uint32_t id)
{
    for (size_t i = 0; i < g->ir->tensors.n; i++)
        if (g->ir->tensors.at[i].client_id == id)
            return (uint32_t)i;
    return IR_NONE;
}

static enum status import(struct api_graph *g, uint32_t shared_index, uint32_t id, uint32_t *ret)
{
    *ret = find_imported(g, id);
    if (*ret != IR_NONE)
        return ST_OK;
    return ir_add_tensor(g->ir, &g->context->shared->tensors.at[shared_index], ret);
}

/* The index of a client's tensor in the graph; IR_NONE for a NULL tensor. */
static enum status resolve(struct api_graph *g, const Qnn_Tensor_t *client, const char *what, uint32_t at, uint32_t *ret)
{
    const Qnn_TensorV1_t *v = tensor_v1(client);
    RETURN_IF(!v, ST_INVALID_TENSOR, "%s[%u] has tensor version %u; 1 and 2 are supported", what, at, (unsigned)client->version);
    *ret = IR_NONE;
    if (v->type == QNN_TENSOR_TYPE_NULL)
        return ST_OK;
    RETURN_IF(!v->id || v->id > g->context->tensors.n, ST_INVALID_TENSOR, "%s[%u] \"%s\" has id %u, which was not created in this context", what, at,
              v->name ? v->name : "", v->id);
    const struct tensor_entry *e = &g->context->tensors.at[v->id - 1];
    RETURN_IF(e->graph != g->index && e->graph != CONTEXT_OWNER, ST_INVALID_TENSOR, "%s[%u] \"%s\" belongs to another graph, \"%s\"", what, at,
              v->name ? v->name : "", g->context->graphs.at[e->graph]->name);
    if (e->graph == CONTEXT_OWNER)
        return import(g, e->index, v->id, ret);
    *ret = e->index;
    return ST_OK;
}

static bool is_produced(const struct api_graph *g, uint32_t t)
{
    return t < g->produced.n && g->produced.at[t];
}

static enum status check_input(const struct api_graph *g, uint32_t t)
{
    if (t == IR_NONE)
        return ST_OK;
    const struct ir_tensor *x = &g->ir->tensors.at[t];
    bool needs = x->role == IR_NATIVE || x->role == IR_OUTPUT;
    RETURN_IF(needs && !is_produced(g, t), ST_UNCONNECTED, "input \"%s\" is not written by any node added before", x->name);
    return ST_OK;
}

static enum status check_output(const struct api_graph *g, uint32_t t, uint32_t at)
{
    RETURN_IF(t == IR_NONE, ST_INVALID_TENSOR, "out[%u] is a NULL tensor; leave optional outputs out at the end", at);
    const struct ir_tensor *x = &g->ir->tensors.at[t];
    RETURN_IF(x->role == IR_INPUT || x->role == IR_CONST || x->role == IR_ABSENT, ST_INVALID_TENSOR,
              "output \"%s\" is APP_WRITE or STATIC; a node cannot write it", x->name);
    RETURN_IF(is_produced(g, t), ST_INVALID_TENSOR, "output \"%s\" is written by another node already", x->name);
    return ST_OK;
}

static enum status mark_produced(struct api_graph *g, const struct ir_node *n)
{
    while (g->produced.n < g->ir->tensors.n)
        RETURN_IF(!vec_push(&g->produced), ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    for (uint32_t i = 0; i < n->n_out; i++)
        g->produced.at[n->out[i]] = 1;
    return ST_OK;
}

static enum status connect(struct api_graph *g, const Qnn_OpConfigV1_t *c, struct ir_node *n)
{
    RETURN_IF(c->numOfInputs > MAX_PORTS || c->numOfOutputs > MAX_PORTS, ST_INVALID_OP, "%u inputs and %u outputs; at most %d of each", c->numOfInputs,
              c->numOfOutputs, MAX_PORTS);
    n->n_in = c->numOfInputs;
    n->n_out = c->numOfOutputs;
    for (uint32_t i = 0; i < n->n_in; i++) {
        TRY(resolve(g, &c->inputTensors[i], "in", i, &n->in[i]));
        TRY(check_input(g, n->in[i]));
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        TRY(resolve(g, &c->outputTensors[i], "out", i, &n->out[i]));
        TRY(check_output(g, n->out[i], i));
    }
    return ST_OK;
}

static const void *param_data(void *arg, uint32_t id)
{
    struct api_graph *g = arg;
    if (!id || id > g->context->tensors.n || g->context->tensors.at[id - 1].graph != g->index)
        return NULL;
    return g->ir->tensors.at[g->context->tensors.at[id - 1].index].data;
}

static enum status check_node(struct api_graph *g, const struct ir_node *n)
{
    struct ir_call v;
    ir_call(g->ir, n, &v);
    TRY(op_check(&v.call));
    enum status st = backend_supports(backend_this, &v.call);
    return st == ST_NOT_SUPPORTED ? ST_INVALID_OP : st;
}

static enum status add_node(struct api_graph *g, const Qnn_OpConfig_t *config, struct arena *a)
{
    uint32_t in[MAX_PORTS], out[MAX_PORTS], index;
    struct ir_node n = { .name = config->v1.name, .in = in, .out = out, .post = OP_POST_NONE };
    struct param_source source = { param_data, g };
    TRY(op_config_op(config, a, &source, &n.op, &n.params));
    if (!n.name)
        n.name = n.op->name;
    enum status st = connect(g, &config->v1, &n);
    if (st != ST_OK)
        return status_prefix(st, "%s \"%s\"", n.op->name, n.name);
    TRY(check_node(g, &n));
    TRY(mark_produced(g, &n));
    st = ir_add_node(g->ir, &n, &index);
    for (uint32_t i = 0; i < n.n_out && st != ST_OK; i++)
        g->produced.at[n.out[i]] = 0;
    return st;
}

enum status graph_add_node(struct api_graph *g, const Qnn_OpConfig_t *config)
{
    struct arena a;
    arena_init(&a);
    enum status st = add_node(g, config, &a);
    arena_finish(&a);
    return st;
}
