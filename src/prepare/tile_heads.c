/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with heads, where a core's cache is all the fast memory there is: heads become matrices one behind the other, so
 * that a chain (tile_chain.c) can go through it row by row and not only head by head:
 *
 *     s [1,12,512,512] = MatMul(q [1,12,512,64], k)  p = Softmax(s)  y = MatMul(p, v)
 *       -> q' [12,512,64] = Reshape(q)  k' = Reshape(k)  v' = Reshape(v)
 *          s [12,512,512] = MatMul(q', k')  p = Softmax(s)  y' = MatMul(p, v')
 *          y = Reshape(y')
 *
 * The new shapes are views, which nobody copies. */
#include "prepare/tile_run.h"

enum { WIDE = 4, FLAT = 3 }; /* ranks */

struct heads {
    struct prepare_cx *cx;
    struct ir_graph *g;
    struct ir_uses uses;
    uint32_t batch, heads;     /* of the run at hand */
    VEC(struct ir_node) nodes; /* the new list */
};

/* ---- which runs ------------------------------------------------------------------------------------------------------- */

/* In three dimensions an operand means the same: it has all matrices, or one for all of them. */
static bool can_be_flat(const struct heads *h, const struct ir_tensor *t)
{
    const uint32_t *d = t->desc.dims;
    if (t->desc.rank < FLAT)
        return true;
    if (t->stripped || t->raw_bytes)
        return false;
    if (t->desc.rank == FLAT)
        return h->batch == 1 || d[0] == 1;
    return t->desc.rank == WIDE && ((d[0] == h->batch && d[1] == h->heads) || (d[0] == 1 && d[1] == 1));
}

static bool operands_can(const struct heads *h, const struct tile_run *run)
{
    for (uint32_t i = 0; i < run->n; i++) {
        const struct ir_node *n = &h->g->nodes.at[run->node[i]];
        for (uint32_t p = 0; p < n->n_in; p++)
            if (n->in[p] != IR_NONE && !can_be_flat(h, &h->g->tensors.at[n->in[p]]))
                return false;
    }
    return true;
}

/* The scores of one head, as often as they are there, are more than a chain may keep; or heads are too few to share out. */
static bool worth_it(const struct heads *h, const struct tile_run *run)
{
    const struct chain_limits *limits = &h->cx->target->chains;
    uint64_t bytes = 0, matrices = (uint64_t)h->batch * h->heads;
    for (uint32_t i = 0; i + 1 < run->n; i++)
        bytes += desc_bytes(&h->g->tensors.at[h->g->nodes.at[run->node[i]].out[0]].desc);
    return bytes > limits->bytes && (bytes / matrices > limits->bytes / 2 || matrices < limits->lines);
}

static bool suits(struct heads *h, const struct tile_run *run)
{
    const struct tensor_desc *y = &h->g->tensors.at[h->g->nodes.at[run->node[run->n - 1]].out[0]].desc;
    if (y->rank != WIDE || y->dims[1] < 2)
        return false;
    h->batch = y->dims[0];
    h->heads = y->dims[1];
    return operands_can(h, run) && worth_it(h, run);
}

/* ---- the new nodes ---------------------------------------------------------------------------------------------------- */

static enum status push(struct heads *h, const struct ir_node *n)
{
    struct ir_node *slot = vec_push(&h->nodes);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for %zu nodes", h->nodes.n);
    *slot = *n;
    return ST_OK;
}

static void flatten(struct tensor_desc *d)
{
    d->dims[0] *= d->dims[1];
    d->dims[1] = d->dims[2];
    d->dims[2] = d->dims[3];
    d->rank = FLAT;
}

/* A tensor like this one in three dimensions; a constant has the same data. */
static enum status add_flat(struct heads *h, uint32_t tensor, uint32_t node, uint32_t *ret)
{
    struct ir_tensor t = h->g->tensors.at[tensor];
    t.name = arena_printf(&h->g->arena, "%s.heads%u", t.name, node);
    RETURN_IF(!t.name, ST_NO_MEMORY, "no memory for tensor \"%s\"", h->g->tensors.at[tensor].name);
    flatten(&t.desc);
    t.client_id = t.client_type = 0;
    t.updateable = t.optional = t.mem_handle = false;
    if (t.role == IR_CONST)
        return ir_add_const(h->g, &t, true, ret);
    t.role = IR_NATIVE;
    return ir_add_tensor(h->g, &t, ret);
}

static enum status push_view(struct heads *h, const struct ir_node *like, uint32_t from, uint32_t to)
{
    struct arena *a = &h->g->arena;
    struct ir_node n = { .op = op_get(OP_Reshape), .source = like->source, .n_in = 1, .n_out = 1, .post = OP_POST_NONE };
    n.name = arena_printf(a, "%s.heads.%s", like->name, h->g->tensors.at[from].name);
    n.params = arena_array(a, struct op_value, op_param_count(n.op));
    n.in = arena_dup(a, &from, sizeof from);
    n.out = arena_dup(a, &to, sizeof to);
    RETURN_IF(!n.name || !n.params || !n.in || !n.out, ST_NO_MEMORY, "no memory for a view of node \"%s\"", like->name);
    return push(h, &n);
}

/* Softmax over the last dimension, whose number is another one now. */
static enum status last_axis(struct heads *h, struct ir_node *n)
{
    static const uint32_t axis = FLAT - 1;
    uint32_t count = op_param_count(n->op);
    int at = op_param_index(n->op, "axis");
    n->params = arena_dup(&h->g->arena, n->params, count * sizeof n->params[0]);
    void *data = arena_dup(&h->g->arena, &axis, sizeof axis);
    RETURN_IF(!n->params || !data || at < 0, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    n->params[at] = (struct op_value){ .type = DT_U32, .count = 1, .data = data };
    return ST_OK;
}

/* One node of the run in three dimensions, behind the views that it needs. */
static enum status push_node(struct heads *h, const struct tile_run *run, uint32_t i)
{
    uint32_t k = run->node[i];
    struct ir_node n = h->g->nodes.at[k];
    n.in = arena_dup(&h->g->arena, n.in, n.n_in * sizeof n.in[0]);
    n.out = arena_dup(&h->g->arena, n.out, n.n_out * sizeof n.out[0]);
    RETURN_IF(!n.in || !n.out, ST_NO_MEMORY, "no memory for node \"%s\"", n.name);
    for (uint32_t p = 0; p < n.n_in; p++) {
        uint32_t t = n.in[p];
        if (t == IR_NONE || (i && p == run->from[i]) || h->g->tensors.at[t].desc.rank != WIDE)
            continue;
        TRY(add_flat(h, t, k * MAX_PORTS + p, &n.in[p]));
        if (h->g->tensors.at[t].role != IR_CONST)
            TRY(push_view(h, &n, t, n.in[p]));
    }
    if (n.op->id == OP_Softmax)
        TRY(last_axis(h, &n));
    if (i + 1 < run->n)
        flatten(&h->g->tensors.at[n.out[0]].desc); /* only the next node sees it */
    else
        TRY(add_flat(h, h->g->nodes.at[k].out[0], k * MAX_PORTS + n.n_in, &n.out[0]));
    return push(h, &n);
}

static enum status push_run(struct heads *h, const struct tile_run *run)
{
    const struct ir_node *last = &h->g->nodes.at[run->node[run->n - 1]];
    for (uint32_t i = 0; i < run->n; i++)
        TRY(push_node(h, run, i));
    return push_view(h, last, h->nodes.at[h->nodes.n - 1].out[0], last->out[0]);
}

/* ---- the pass --------------------------------------------------------------------------------------------------------- */

static enum status rewrite(struct heads *h, bool *any)
{
    struct ir_graph *g = h->g;
    bool *gone = arena_array(&h->cx->arena, bool, g->nodes.n);
    struct tile_run *runs = arena_array(&h->cx->arena, struct tile_run, g->nodes.n);
    RETURN_IF(!gone || !runs, ST_NO_MEMORY, "no memory to look through %zu nodes", g->nodes.n);
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        if (!tile_run_find(g, &h->uses, k, &runs[k]) || !suits(h, &runs[k])) {
            runs[k].n = 0;
            continue;
        }
        for (uint32_t i = 0; i < runs[k].n; i++)
            gone[runs[k].node[i]] = true;
        *any = true;
    }
    for (uint32_t k = 0; *any && k < g->nodes.n; k++) {
        if (runs[k].n)
            TRY(push_run(h, &runs[k]));
        else if (!gone[k])
            TRY(push(h, &g->nodes.at[k]));
    }
    return ST_OK;
}

enum status tile_heads(struct prepare_cx *cx, bool *progress)
{
    struct heads h = { .cx = cx, .g = cx->g };
    bool any = false;
    if (cx->target->vtcm_bytes || !cx->target->chains.bytes || cx->target->own_kernels)
        return ST_OK;
    TRY(ir_uses(cx->g, &cx->arena, &h.uses));
    enum status st = rewrite(&h, &any);
    if (st != ST_OK || !any) {
        vec_finish(&h.nodes);
        return st;
    }
    *progress = true;
    vec_move(&cx->g->nodes, &h.nodes);
    return ir_compact(cx->g);
}
