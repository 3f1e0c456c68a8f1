/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the graphs of If in its place. Every node of a branch gets the guard that it runs under, and what is left of the If
 * hands on the results of the branch that ran.
 *
 *     graph "a" { in %i  out %o  %o = Relu(%i) }             tmp %if1.then.o, tmp %if1.else.o
 *     graph "b" { in %i  out %o  %o = Tanh(%i) }      ->     %if1.then.o = Relu(%x) when (%c)
 *     %y = If "if1" (%c, %x, %x) { "a", "b" }                %if1.else.o = Tanh(%x) when (!%c)
 *                                                            %y = If "if1" (%c, %if1.then.o, %if1.else.o)
 *
 * Every tensor still has one producer. What a branch that does not run would have written is read by nobody: its readers
 * have the same guards, and the last If looks at the side that ran. If inside If: guards add up. */
#include <string.h>

#include "prepare/cx.h"

/* Nodes on their way from the graph they are in (`from`) into the graph that is prepared. */
struct inlining {
    struct prepare_cx *cx;
    const struct ir_graph *from;
    const uint32_t *map; /* tensors of `from` -> tensors of the graph that is prepared */
    const char *prefix;  /* of names: where in the nest of Ifs this is */
    struct ir_guard guards[IR_MAX_GUARDS];
    uint32_t n_guards;
};

static const char *const side_names[2] = { "else", "then" };

static void remap(const uint32_t *map, const uint32_t *list, uint32_t n, uint32_t *ret)
{
    for (uint32_t i = 0; i < n; i++)
        ret[i] = list[i] == IR_NONE ? IR_NONE : map[list[i]];
}

static enum status put_node(const struct inlining *in, const struct ir_node *n)
{
    uint32_t ins[MAX_PORTS], outs[MAX_PORTS], index;
    struct ir_node copy = *n;
    remap(in->map, n->in, n->n_in, ins);
    remap(in->map, n->out, n->n_out, outs);
    copy.in = ins;
    copy.out = outs;
    copy.guards = (struct ir_guard *)in->guards;
    copy.n_guards = in->n_guards;
    TRY(ir_add_node(in->cx->g, &copy, &index));
    in->cx->g->nodes.at[index].post = n->post;
    return ST_OK;
}

/* Tensors of a branch: inputs are those of the node, all others are new. */
static enum status map_tensors(const struct inlining *in, const struct ir_node *node, int side,
                               const struct ir_graph *branch, uint32_t *at, uint32_t *map)
{
    struct ir_graph *g = in->cx->g;
    for (uint32_t i = 0; i < branch->tensors.n; i++) {
        struct ir_tensor t = branch->tensors.at[i];
        if (t.role == IR_INPUT) {
            map[i] = in->map[node->in[(*at)++]];
            continue;
        }
        t.name = arena_printf(&in->cx->arena, "%s%s.%s.%s", in->prefix, node->name, side_names[side], t.name);
        RETURN_IF(!t.name, ST_NO_MEMORY, "no memory for the tensors of If \"%s\"", node->name);
        t.role = t.role == IR_OUTPUT ? IR_NATIVE : t.role;
        t.client_id = 0;
        TRY(t.role == IR_CONST ? ir_add_const(g, &t, true, &map[i]) : ir_add_tensor(g, &t, &map[i]));
    }
    return ST_OK;
}

static enum status put_any(const struct inlining *in, const struct ir_node *n);

/* Both sides have the results of their outputs in `results`: those of then, those of else. */
static enum status put_branch(const struct inlining *in, const struct ir_node *node, int side, const struct ir_graph *branch,
                              uint32_t *at, uint32_t *results)
{
    struct inlining inner = *in;
    uint32_t *map = arena_array(&in->cx->arena, uint32_t, branch->tensors.n);
    RETURN_IF(!map, ST_NO_MEMORY, "no memory for the tensors of If \"%s\"", node->name);
    RETURN_IF(in->n_guards == IR_MAX_GUARDS, ST_PREPARE_FAILED, "If \"%s\" is inside %d others; fewer are allowed",
              node->name, IR_MAX_GUARDS);
    TRY(map_tensors(in, node, side, branch, at, map));
    inner.from = branch;
    inner.map = map;
    inner.prefix = arena_printf(&in->cx->arena, "%s%s.%s.", in->prefix, node->name, side_names[side]);
    RETURN_IF(!inner.prefix, ST_NO_MEMORY, "no memory for the names of If \"%s\"", node->name);
    inner.guards[inner.n_guards++] = (struct ir_guard){ in->map[node->in[0]], (uint32_t)side };
    for (size_t k = 0; k < branch->nodes.n; k++)
        TRY(put_any(&inner, &branch->nodes.at[k]));
    for (uint32_t i = 0; i < branch->tensors.n; i++)
        if (branch->tensors.at[i].role == IR_OUTPUT)
            *results++ = map[i];
    return ST_OK;
}

static enum status put_if(const struct inlining *in, const struct ir_node *n)
{
    struct ir_graph *branch[2];
    uint32_t at = 1, ins[MAX_PORTS], outs[MAX_PORTS], index;
    TRY(ir_if(in->from, n, branch));
    RETURN_IF(1 + 2 * n->n_out > MAX_PORTS, ST_PREPARE_FAILED, "If \"%s\" has %u outputs; at most %d are supported", n->name,
              n->n_out, (MAX_PORTS - 1) / 2);
    ins[0] = in->map[n->in[0]];
    TRY(put_branch(in, n, 1, branch[1], &at, ins + 1));
    TRY(put_branch(in, n, 0, branch[0], &at, ins + 1 + n->n_out));
    remap(in->map, n->out, n->n_out, outs);
    struct ir_node select = { .name = n->name,
                              .source = n->source,
                              .op = n->op,
                              .n_in = 1 + 2 * n->n_out,
                              .in = ins,
                              .n_out = n->n_out,
                              .out = outs,
                              .post = OP_POST_NONE,
                              .guards = (struct ir_guard *)in->guards,
                              .n_guards = in->n_guards };
    return ir_add_node(in->cx->g, &select, &index);
}

static enum status put_any(const struct inlining *in, const struct ir_node *n)
{
    if (n->dead)
        return ST_OK;
    return ir_is_if(n) ? put_if(in, n) : put_node(in, n);
}

static enum status rebuild(struct prepare_cx *cx, const struct ir_node *old, size_t n)
{
    uint32_t nt = (uint32_t)cx->g->tensors.n, *same = arena_array(&cx->arena, uint32_t, nt);
    RETURN_IF(!same, ST_NO_MEMORY, "no memory to put graphs in place");
    for (uint32_t i = 0; i < nt; i++)
        same[i] = i;
    struct inlining in = { .cx = cx, .from = cx->g, .map = same, .prefix = "" };
    for (size_t k = 0; k < n; k++) {
        TRY(prepare_interrupted(cx));
        TRY(put_any(&in, &old[k]));
    }
    return ST_OK;
}

enum status lower_if(struct prepare_cx *cx, bool *progress)
{
    struct ir_graph *g = cx->g;
    size_t n = g->nodes.n;
    for (size_t k = 0; k < n; k++)
        *progress |= ir_is_if(&g->nodes.at[k]);
    if (!*progress)
        return ST_OK;
    struct ir_node *old = arena_dup(&cx->arena, g->nodes.at, n * sizeof(*old));
    RETURN_IF(!old, ST_NO_MEMORY, "no memory to put graphs in place");
    g->nodes.n = 0;
    TRY(rebuild(cx, old, n));
    for (size_t i = 0; i < g->children.n; i++) { /* constants are still theirs */
        struct ir_graph **slot = vec_push(&g->spent);
        RETURN_IF(!slot, ST_NO_MEMORY, "no memory to put graphs in place");
        *slot = g->children.at[i];
        g->children.at[i] = NULL;
    }
    g->children.n = 0;
    return ST_OK;
}
