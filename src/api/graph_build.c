/* SPDX-License-Identifier: Apache-2.0 */
/* A client's node becomes an ir_node: tensors are found by id, context tensors are brought into the graph on first use, and
 * the operator is checked as QnnBackend_validateOpConfig would, so that nothing unknown reaches the compiler. */
#include "api/graph_build.h"

#include <stdio.h>
#include <string.h>

#include "api/op_config.h"
#include "api/translate.h"
#include "api/wide_node.h"

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

/* The graph with that index is g, or one that g is inside of. */
static bool is_around(const struct api_graph *g, uint32_t index)
{
    while (g->index != index && g->subgraph)
        g = g->context->graphs.at[g->parent];
    return g->index == index;
}

static enum status resolve_id(struct api_graph *g, uint32_t id, uint32_t *ret);

/* A tensor of a graph around this one becomes an input, which the If node that runs this graph will fill; a constant is
 * simply known here, too. */
static enum status capture(struct api_graph *g, uint32_t id, uint32_t *ret)
{
    struct api_graph *outer = g->context->graphs.at[g->parent];
    uint32_t at;
    *ret = find_imported(g, id);
    if (*ret != IR_NONE)
        return ST_OK;
    TRY(resolve_id(outer, id, &at));
    struct ir_tensor t = outer->ir->tensors.at[at];
    RETURN_IF(t.role == IR_INOUT || t.optional, ST_INVALID_TENSOR,
              "tensor \"%s\" is optional or read and written by the client; a subgraph cannot use it", t.name);
    if (t.role == IR_CONST)
        return ir_add_const(g->ir, &t, true, ret);
    uint32_t *slot = vec_push(&g->captured);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for tensor \"%s\"", t.name);
    t.role = IR_INPUT;
    enum status st = ir_add_tensor(g->ir, &t, ret);
    *slot = *ret;
    g->captured.n -= st != ST_OK;
    return st;
}

static enum status resolve_id(struct api_graph *g, uint32_t id, uint32_t *ret)
{
    const struct tensor_entry *e = &g->context->tensors.at[id - 1];
    if (e->graph == CONTEXT_OWNER)
        return import(g, e->index, id, ret);
    if (e->graph != g->index)
        return capture(g, id, ret);
    *ret = e->index;
    return ST_OK;
}

/* The index of a client's tensor in the graph; IR_NONE for a NULL tensor. */
static enum status resolve(struct api_graph *g, const Qnn_Tensor_t *client, const char *what, uint32_t at, uint32_t *ret)
{
    const Qnn_TensorV1_t *v = tensor_v1(client);
    RETURN_IF(!v, ST_INVALID_TENSOR, "%s[%u] has tensor version %u; 1 and 2 are supported", what, at,
              (unsigned)client->version);
    *ret = IR_NONE;
    if (v->type == QNN_TENSOR_TYPE_NULL)
        return ST_OK;
    RETURN_IF(!v->id || v->id > g->context->tensors.n, ST_INVALID_TENSOR,
              "%s[%u] \"%s\" has id %u, which was not created in this context", what, at, v->name ? v->name : "", v->id);
    const struct tensor_entry *e = &g->context->tensors.at[v->id - 1];
    RETURN_IF(e->graph != CONTEXT_OWNER && !is_around(g, e->graph), ST_INVALID_TENSOR,
              "%s[%u] \"%s\" belongs to another graph, \"%s\"", what, at, v->name ? v->name : "",
              g->context->graphs.at[e->graph]->name);
    return resolve_id(g, v->id, ret);
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
    RETURN_IF(needs && !is_produced(g, t), ST_UNCONNECTED,
              "input \"%s\" is not written by any node added before; add nodes in the order of the data", x->name);
    return ST_OK;
}

static enum status check_output(const struct api_graph *g, uint32_t t, uint32_t at)
{
    RETURN_IF(t == IR_NONE, ST_INVALID_TENSOR, "out[%u] is a NULL tensor; leave optional outputs out at the end", at);
    const struct ir_tensor *x = &g->ir->tensors.at[t];
    RETURN_IF(x->role == IR_INPUT || x->role == IR_CONST || x->role == IR_ABSENT, ST_INVALID_TENSOR,
              "output \"%s\" is APP_WRITE or STATIC; a node cannot write it", x->name);
    RETURN_IF(is_produced(g, t), ST_INVALID_TENSOR,
              "output \"%s\" is written by another node already; a tensor has one writer", x->name);
    return ST_OK;
}

static void unmark_produced(struct api_graph *g, const struct ir_node *n, uint32_t n_out)
{
    for (uint32_t i = 0; i < n_out; i++)
        g->produced.at[n->out[i]] = 0;
}

static enum status mark_produced(struct api_graph *g, const struct ir_node *n)
{
    while (g->produced.n < g->ir->tensors.n)
        RETURN_IF(!vec_push(&g->produced), ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (g->produced.at[n->out[i]]) {
            unmark_produced(g, n, i);
            return status_fail(ST_INVALID_TENSOR,
                               "%s \"%s\": output \"%s\" is given twice; each output is a tensor of its own", n->op->name,
                               n->name, g->ir->tensors.at[n->out[i]].name);
        }
        g->produced.at[n->out[i]] = 1;
    }
    return ST_OK;
}

static enum status connect(struct api_graph *g, const Qnn_OpConfigV1_t *c, struct arena *a, struct ir_node *n)
{
    n->n_in = c->numOfInputs;
    n->n_out = op_config_outputs(c);
    n->in = arena_array(a, uint32_t, n->n_in > MAX_PORTS ? n->n_in : MAX_PORTS);
    n->out = arena_array(a, uint32_t, n->n_out);
    RETURN_IF(!n->in || !n->out, ST_NO_MEMORY, "no memory for %u tensors", n->n_in + n->n_out);
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

/* ---- If --------------------------------------------------------------------------------------------------------------- */

static enum status find_subgraph(struct api_graph *g, const struct ir_node *n, uint32_t param, struct api_graph **ret)
{
    const char *name = n->params[param].data;
    *ret = n->params[param].type == DT_STR ? context_find_graph(g->context, name) : NULL;
    RETURN_IF(n->params[param].type != DT_STR, ST_INVALID_OP,
              "parameter \"%s\" is of type %s; the name (STRING) or the handle (UINT_64) of a subgraph is expected",
              n->op->params[param].name, dtype_name(n->params[param].type));
    RETURN_IF(!*ret || !(*ret)->subgraph || (*ret)->parent != g->index, ST_INVALID_OP,
              "parameter \"%s\" names \"%s\", which is %s; a graph made with QnnGraph_createSubgraph of \"%s\" is expected",
              n->op->params[param].name, name, *ret ? "not a subgraph of this graph" : "no graph of this context", g->name);
    return ST_OK;
}

static bool is_captured(const struct api_graph *s, uint32_t t)
{
    for (size_t i = 0; i < s->captured.n; i++)
        if (s->captured.at[i] == t)
            return true;
    return false;
}

/* Inputs of a subgraph: those it declares are in[1] … of the node, in order; what it uses from outside is found by id. */
static enum status feed_subgraph(struct api_graph *g, const struct api_graph *s, const uint32_t *given, uint32_t n_given,
                                 struct ir_node *n)
{
    uint32_t declared = 0;
    for (uint32_t i = 0; i < s->ir->tensors.n; i++) {
        const struct ir_tensor *t = &s->ir->tensors.at[i];
        RETURN_IF(t->role == IR_OUTPUT && !is_produced(s, i), ST_UNCONNECTED,
                  "output \"%s\" of subgraph \"%s\" is not written by any node; add the node that computes it before the If",
                  t->name, s->name);
        if (t->role != IR_INPUT)
            continue;
        bool captured = is_captured(s, i);
        RETURN_IF(!captured && declared == n_given, ST_INVALID_OP,
                  "subgraph \"%s\" has more inputs than the %u that stand behind the condition", s->name, n_given);
        RETURN_IF(n->n_in == MAX_PORTS, ST_INVALID_OP, "its subgraphs use more than %d tensors from outside", MAX_PORTS - 1);
        if (captured)
            TRY(resolve_id(g, t->client_id, &n->in[n->n_in]));
        else
            n->in[n->n_in] = given[declared++];
        TRY(check_input(g, n->in[n->n_in++]));
    }
    RETURN_IF(declared && declared != n_given, ST_INVALID_OP,
              "subgraph \"%s\" has %u inputs; %u stand behind the condition (none, or as many, are expected)", s->name,
              declared, n_given);
    return ST_OK;
}

/* The client's If becomes that of ir.h: its graphs are copied into this one, and what they use stands among its inputs. */
static enum status connect_if(struct api_graph *g, struct ir_node *n)
{
    uint32_t given[MAX_PORTS], n_given = n->n_in ? n->n_in - 1 : 0;
    struct api_graph *s[2];
    RETURN_IF(!n->n_in || n->in[0] == IR_NONE, ST_INVALID_OP, "the condition is missing; it is the first input");
    memcpy(given, n->in + 1, n_given * sizeof(given[0]));
    n->n_in = 1;
    for (uint32_t i = 0; i < 2; i++) {
        TRY(find_subgraph(g, n, i, &s[i]));
        TRY(feed_subgraph(g, s[i], given, n_given, n));
        if (!ir_find_child(g->ir, s[i]->name))
            TRY(ir_add_child(g->ir, s[i]->ir));
    }
    return ST_OK;
}

static void take_subgraphs(struct api_graph *g, const struct ir_node *n)
{
    for (uint32_t i = 0; i < 2; i++)
        context_find_graph(g->context, n->params[i].data)->used = true;
}

/* Copies of graphs that a refused node left behind. */
static void drop_children(struct api_graph *g, size_t keep)
{
    while (g->ir->children.n > keep)
        ir_graph_free(g->ir->children.at[--g->ir->children.n]);
}

static const void *param_data(void *arg, uint32_t id, uint64_t *bytes)
{
    struct api_graph *g = arg;
    if (!id || id > g->context->tensors.n || g->context->tensors.at[id - 1].graph != g->index)
        return NULL;
    const struct ir_tensor *t = &g->ir->tensors.at[g->context->tensors.at[id - 1].index];
    *bytes = desc_bytes(&t->desc);
    return t->data;
}

static enum status check_node(struct api_graph *g, const struct ir_node *n)
{
    struct ir_call v;
    ir_call(g->ir, n, &v);
    struct ir_graph *branch[2];
    int32_t axis = op_scale_axis(&v.call);
    if (axis >= 0)
        g->ir->tensors.at[n->in[1]].desc.q.axis = axis;
    TRY(op_check(&v.call));
    if (ir_is_if(n))
        TRY(ir_if(g->ir, n, branch));
    enum status st = backend_supports(backend_this, &v.call);
    return st == ST_NOT_SUPPORTED ? ST_INVALID_OP : st;
}

static enum status add_checked(struct api_graph *g, const struct ir_node *n)
{
    uint32_t index;
    TRY(check_node(g, n));
    TRY(mark_produced(g, n));
    enum status st = ir_add_node(g->ir, n, &index);
    if (st != ST_OK)
        unmark_produced(g, n, n->n_out);
    return st;
}

/* ---- wide nodes ------------------------------------------------------------------------------------------------------- */

static enum status call_of(struct api_graph *g, const struct ir_node *n, struct arena *a, struct op_call *ret)
{
    const struct tensor_desc **descs = arena_array(a, const struct tensor_desc *, n->n_in + n->n_out);
    RETURN_IF(!descs, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        descs[i] = t == IR_NONE ? NULL : &g->ir->tensors.at[t].desc;
    }
    *ret = (struct op_call){ .op = n->op,
                             .node = n->name,
                             .n_in = n->n_in,
                             .n_out = n->n_out,
                             .in = descs,
                             .out = descs + n->n_in,
                             .params = n->params,
                             .post = OP_POST_NONE };
    return ST_OK;
}

/* Tensors between the parts, at `first` and on. */
static enum status add_between(struct api_graph *g, const struct ir_node *n, const struct wide_plan *p, uint32_t *first)
{
    char name[64];
    *first = (uint32_t)g->ir->tensors.n;
    for (uint32_t i = 0; i < p->n_between; i++) {
        uint32_t index;
        snprintf(name, sizeof name, "%.40s/part%zu", n->name, g->ir->tensors.n);
        TRY(ir_add_tensor(g->ir, &(struct ir_tensor){ .name = name, .role = IR_NATIVE, .desc = p->between[i] }, &index));
    }
    return ST_OK;
}

static enum status add_wide(struct api_graph *g, const struct ir_node *n, const struct op_call *c, struct arena *a)
{
    struct wide_plan p;
    uint32_t first;
    TRY(wide_plan(c, a, &p));
    size_t nodes = g->ir->nodes.n;
    enum status st = add_between(g, n, &p, &first);
    for (uint32_t k = 0; k < p.n_parts && st == ST_OK; k++) {
        struct wide_part *w = &p.parts[k];
        for (uint32_t i = 0; i < w->n_in; i++)
            w->in[i] = w->in[i] >= WIDE_BETWEEN ? first + (w->in[i] - WIDE_BETWEEN) : n->in[w->in[i]];
        for (uint32_t i = 0; i < w->n_out; i++)
            w->out[i] = w->out[i] >= WIDE_BETWEEN ? first + (w->out[i] - WIDE_BETWEEN) : n->out[w->out[i]];
        st = add_checked(g, &(struct ir_node){ .name = n->name,
                                               .op = w->op,
                                               .n_in = w->n_in,
                                               .n_out = w->n_out,
                                               .in = w->in,
                                               .out = w->out,
                                               .params = w->params,
                                               .post = OP_POST_NONE });
        if (st != ST_OK)
            st = status_prefix(st, WIDE_PART_TEXT, k + 1, p.n_parts);
    }
    for (size_t i = nodes; i < g->ir->nodes.n && st != ST_OK; i++)
        unmark_produced(g, &g->ir->nodes.at[i], g->ir->nodes.at[i].n_out);
    g->ir->nodes.n = st == ST_OK ? g->ir->nodes.n : nodes;
    return st;
}

/* ---- op packages ------------------------------------------------------------------------------------------------------ */

/* A parameter that is a tensor: one that was created in this graph, or, named by nothing but its data, one made here. */
static enum status connect_param(struct api_graph *g, const Qnn_Tensor_t *client, struct arena *a, uint32_t *ret)
{
    struct ir_tensor t;
    const Qnn_TensorV1_t *v = tensor_v1(client);
    if (v && v->id) {
        TRY(resolve(g, client, "parameter", 0, ret));
        const struct ir_tensor *own = *ret == IR_NONE ? NULL : &g->ir->tensors.at[*ret];
        RETURN_IF(!own || own->role != IR_CONST || !own->data, ST_INVALID_TENSOR,
                  "parameter tensor \"%s\" is not STATIC or has no data", v->name ? v->name : "");
        return ST_OK;
    }
    TRY(tensor_from_client(client, true, a, &t));
    t.client_id = 0;
    return ir_add_const(g->ir, &t, false, ret);
}

/* The client's tensors as the graph has them: in the node only their ids need be right. */
static enum status describe_tensors(const struct api_graph *g, const uint32_t *at, uint32_t n, struct arena *a,
                                    Qnn_Tensor_t **ret)
{
    *ret = arena_array(a, Qnn_Tensor_t, n);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for %u tensors", n);
    for (uint32_t i = 0; i < n; i++) {
        if (at[i] == IR_NONE) {
            (*ret)[i] = (Qnn_Tensor_t)QNN_TENSOR_INIT;
            (*ret)[i].v1.type = QNN_TENSOR_TYPE_NULL;
            continue;
        }
        const struct ir_tensor *t = &g->ir->tensors.at[at[i]];
        TRY(tensor_to_client(&t->desc, t->name, t->client_id, t->client_type, a, &(*ret)[i]));
        if (t->role == IR_CONST) {
            (*ret)[i].v1.clientBuf.data = (void *)t->data;
            (*ret)[i].v1.clientBuf.dataSize = (uint32_t)desc_bytes(&t->desc);
        }
    }
    return ST_OK;
}

static enum status ask_package(struct api_graph *g, const struct backend_package *p, const Qnn_OpConfig_t *config,
                               const struct ir_node *n, struct arena *a)
{
    Qnn_OpConfig_t told = *config;
    Qnn_OpConfigV1_t *c = &told.v1;
    Qnn_Tensor_t *params;
    uint32_t next = 0;
    TRY(check_node(g, n));
    TRY(describe_tensors(g, n->in, c->numOfInputs, a, &c->inputTensors));
    TRY(describe_tensors(g, n->in + c->numOfInputs, n->n_in - c->numOfInputs, a, &params));
    TRY(describe_tensors(g, n->out, n->n_out, a, &c->outputTensors));
    c->name = n->name;
    c->numOfOutputs = n->n_out;
    c->params = arena_dup(a, c->params, c->numOfParams * sizeof(c->params[0]));
    RETURN_IF(!c->params, ST_NO_MEMORY, "no memory for %u parameters", c->numOfParams);
    for (uint32_t i = 0; i < c->numOfParams; i++)
        if (c->params[i].paramType == QNN_PARAMTYPE_TENSOR)
            c->params[i].tensorParam = params[next++];
    return package_validate(p, &told);
}

/* Inputs behind the client's: parameters. */
static enum status connect_params(struct api_graph *g, const struct op_parts *parts, struct arena *a, struct ir_node *n)
{
    for (uint32_t i = 0; i < parts->n_tensors; i++)
        TRY(connect_param(g, parts->tensors[i], a, &n->in[n->n_in++])); /* of MAX_PORTS, as op_config_op saw to */
    return ST_OK;
}

static enum status add_node(struct api_graph *g, const Qnn_OpConfig_t *config, struct arena *a)
{
    struct ir_node n = { .name = config->v1.name, .post = OP_POST_NONE };
    struct param_source source = { param_data, g };
    struct op_parts parts;
    TRY(op_config_op(config, g->context->cfg.packages, a, &source, &parts));
    n.op = parts.op;
    n.params = parts.params;
    const char *type = config->v1.typeName;
    if (!n.name)
        n.name = type;
    enum status st = connect(g, &config->v1, a, &n);
    if (st == ST_OK && n.op->id == OP_If)
        st = connect_if(g, &n);
    if (st == ST_OK)
        st = connect_params(g, &parts, a, &n);
    if (st != ST_OK)
        return status_prefix(st, "%s \"%s\"", type, n.name);
    if (parts.package)
        TRY(ask_package(g, parts.package, config, &n, a));
    struct op_call c;
    TRY(call_of(g, &n, a, &c));
    if (n.n_in > MAX_PORTS || n.n_out > MAX_PORTS || wide_is(&c))
        return add_wide(g, &n, &c, a);
    TRY(add_checked(g, &n));
    if (n.op->id == OP_If)
        take_subgraphs(g, &n);
    return ST_OK;
}

enum status graph_add_node(struct api_graph *g, const Qnn_OpConfig_t *config)
{
    struct arena a;
    arena_init(&a);
    size_t children = g->ir->children.n;
    enum status st = add_node(g, config, &a);
    if (st != ST_OK)
        drop_children(g, children);
    arena_finish(&a);
    return st;
}
