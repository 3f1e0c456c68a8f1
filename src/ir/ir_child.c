/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs inside a graph: what If runs. */
#include <string.h>

#include "ir/ir.h"

struct ir_graph *ir_find_child(const struct ir_graph *g, const char *name)
{
    for (size_t i = 0; i < g->children.n; i++)
        if (strcmp(g->children.at[i]->name, name) == 0)
            return g->children.at[i];
    return NULL;
}

enum status ir_take_child(struct ir_graph *g, struct ir_graph *child)
{
    struct ir_graph **slot = vec_push(&g->children);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for graph \"%s\"", child->name);
    *slot = child;
    return ST_OK;
}

enum status ir_add_child(struct ir_graph *g, const struct ir_graph *child)
{
    struct ir_graph *copy;
    RETURN_IF(ir_find_child(g, child->name), ST_EXISTS, "graph \"%s\" has a graph named \"%s\" already", g->name,
              child->name);
    TRY(ir_clone(child, &copy));
    enum status st = ir_take_child(g, copy);
    if (st != ST_OK)
        ir_graph_free(copy);
    return st;
}

bool ir_is_if(const struct ir_node *n)
{
    return n->op->id == OP_If && n->params[op_param_index(n->op, "then_graph")].data;
}

static enum status find_branch(const struct ir_graph *g, const struct ir_node *n, const char *param, struct ir_graph **ret)
{
    const char *name = n->params[op_param_index(n->op, param)].data;
    *ret = ir_find_child(g, name);
    RETURN_IF(!*ret, ST_INVALID_OP,
              "If \"%s\": parameter \"%s\" names graph \"%s\"; graph \"%s\" has no such graph inside it", n->name, param,
              name, g->name);
    return ST_OK;
}

/* A tensor of the branch and the one that it stands for outside are the same kind of tensor. */
static enum status same_kind(const struct ir_node *n, const struct ir_graph *branch, const struct ir_tensor *in,
                             const struct ir_tensor *out)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    RETURN_IF(in->desc.type != out->desc.type || !desc_same_shape(&in->desc, &out->desc) ||
                  !quant_same(&in->desc.q, &out->desc.q),
              ST_INVALID_OP,
              "If \"%s\": tensor \"%s\" of graph \"%s\" is %s and stands for \"%s\", which is %s; type, shape and encoding "
              "must be the same",
              n->name, in->name, branch->name, desc_text(&in->desc, a), out->name, desc_text(&out->desc, b));
    return ST_OK;
}

/* Inputs of the branch against the node's from *at on, outputs against all of the node's. */
static enum status check_branch(const struct ir_graph *g, const struct ir_node *n, const struct ir_graph *branch,
                                uint32_t *at)
{
    uint32_t outs = 0;
    for (size_t i = 0; i < branch->tensors.n; i++) {
        const struct ir_tensor *t = &branch->tensors.at[i];
        RETURN_IF(t->role == IR_INOUT || t->optional, ST_INVALID_OP,
                  "If \"%s\": tensor \"%s\" of graph \"%s\" is optional or read and written by the client; inside of If it "
                  "cannot be",
                  n->name, t->name, branch->name);
        if (t->role == IR_INPUT) {
            RETURN_IF(*at >= n->n_in || n->in[*at] == IR_NONE || n->in[*at] >= g->tensors.n, ST_INVALID_OP,
                      "If \"%s\": graph \"%s\" has more inputs than the node gives it", n->name, branch->name);
            TRY(same_kind(n, branch, t, &g->tensors.at[n->in[(*at)++]]));
        } else if (t->role == IR_OUTPUT) {
            RETURN_IF(outs >= n->n_out, ST_INVALID_OP,
                      "If \"%s\": graph \"%s\" has more outputs than the node, which has %u", n->name, branch->name,
                      n->n_out);
            TRY(same_kind(n, branch, t, &g->tensors.at[n->out[outs++]]));
        }
    }
    RETURN_IF(outs != n->n_out, ST_INVALID_OP, "If \"%s\": graph \"%s\" has %u outputs, the node has %u", n->name,
              branch->name, outs, n->n_out);
    return ST_OK;
}

enum status ir_if(const struct ir_graph *g, const struct ir_node *n, struct ir_graph *ret[2])
{
    uint32_t at = 1;
    TRY(find_branch(g, n, "then_graph", &ret[1]));
    TRY(find_branch(g, n, "else_graph", &ret[0]));
    TRY(check_branch(g, n, ret[1], &at));
    TRY(check_branch(g, n, ret[0], &at));
    RETURN_IF(at != n->n_in, ST_INVALID_OP, "If \"%s\" has %u inputs; its graphs take %u and the condition is one", n->name,
              n->n_in, at - 1);
    return ST_OK;
}
