/* SPDX-License-Identifier: Apache-2.0 */
/* Puts transfers into the graph. Every copy is a tensor of its own, and readers name the copy that is there when they run:
 *
 *     %a = Conv2d(…)                 %a = Conv2d(…)                 in the window
 *     …                        ->    %a.dram = TcmToDram(%a)        in the spill-fill buffer
 *     %y = ElementWiseAdd(%a, %b)    …
 *                                    %a.tcm = DramToTcm(%a.dram)    in the window again
 *                                    %y = ElementWiseAdd(%a.tcm, %b)
 *
 * A chain stays together: its copies come before all of it. */
#include <string.h>

#include "prepare/cx.h"
#include "prepare/tile_vtcm.h"

struct apply {
    struct prepare_cx *cx;
    uint32_t *here, *there;   /* per tensor of the graph as it was: the copy in the window, in DRAM; IR_NONE: none */
    struct ir_node *nodes;    /* the new list */
    struct node_plan *plans;
    struct chain *chains;
    struct binary_tile *tiles; /* per node; of a chain, the last one */
    uint32_t *chain_of;
    uint32_t *unit;           /* per job: its first node */
    uint32_t n_nodes, n_tensors, n_chains, copies;
};

static enum status no_memory(void)
{
    return status_fail(ST_NO_MEMORY, "no memory for transfers");
}

static enum status add_copy(struct apply *a, uint32_t from, const char *suffix, uint32_t *ret)
{
    struct ir_graph *g = a->cx->g;
    const struct ir_tensor *x = &g->tensors.at[from];
    struct ir_tensor copy = { .name = arena_printf(&g->arena, "%s.%s%u", x->name, suffix, a->copies++),
                              .desc = x->desc,
                              .role = IR_NATIVE };
    return copy.name ? ir_add_tensor(g, &copy, ret) : no_memory();
}

static enum status add_transfer(struct apply *a, enum op_id op, uint32_t from, uint32_t to)
{
    struct arena *arena = &a->cx->g->arena;
    struct ir_node *n = &a->nodes[a->n_nodes];
    if (a->chain_of)
        a->chain_of[a->n_nodes] = IR_NONE;
    a->n_nodes++;
    *n = (struct ir_node){ .name = a->cx->g->tensors.at[to].name,
                           .op = op_get(op),
                           .n_in = 1,
                           .n_out = 1,
                           .in = arena_array(arena, uint32_t, 1),
                           .out = arena_array(arena, uint32_t, 1),
                           .params = arena_array(arena, struct op_value, 1),
                           .post = OP_POST_NONE };
    if (!n->in || !n->out || !n->params)
        return no_memory();
    n->in[0] = from;
    n->out[0] = to;
    return ST_OK;
}

static uint32_t copy_of(const struct apply *a, uint32_t t)
{
    if (t == IR_NONE || (a->here[t] == IR_NONE && a->there[t] == IR_NONE))
        return t; /* not ours to place */
    return a->here[t] != IR_NONE ? a->here[t] : a->there[t];
}

/* The node with its operands as they are now; lists are copied where that changes them, so that the old node stays what it
 * was. */
static enum status run_node(struct apply *a, uint32_t k, const struct vtcm_plan *plan)
{
    struct prepare_cx *cx = a->cx;
    const struct ir_node *old = &cx->g->nodes.at[k];
    struct ir_node *n = &a->nodes[a->n_nodes];
    *n = *old;
    if (a->chain_of)
        a->chain_of[a->n_nodes] = cx->chain_of[k];
    a->plans[a->n_nodes++] = cx->nodes[k];
    n->in = arena_dup(&cx->g->arena, old->in, old->n_in * sizeof(old->in[0]));
    n->guards = old->n_guards ? arena_dup(&cx->g->arena, old->guards, old->n_guards * sizeof(old->guards[0])) : old->guards;
    if (!n->in || (old->n_guards && !n->guards))
        return no_memory();
    for (uint32_t i = 0; i < n->n_in; i++)
        n->in[i] = copy_of(a, old->in[i]);
    for (uint32_t i = 0; i < n->n_guards; i++)
        n->guards[i].tensor = copy_of(a, old->guards[i].tensor);
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t t = n->out[i], c = cx->cell_of[t];
        if (c != IR_NONE && cx->cells[c].place == PLACE_SCRATCH)
            *(plan->in_dram[t] ? &a->there[t] : &a->here[t]) = t;
    }
    return ST_OK;
}

static enum status run_unit(struct apply *a, uint32_t k, const struct vtcm_plan *plan, const struct binary_tile *tiles)
{
    const struct chain *c = plan_chain(a->cx, k);
    if (c) {
        a->chains[a->n_chains] = *c;
        a->chains[a->n_chains++].first = a->n_nodes;
    }
    for (uint32_t i = 0; i < (c ? c->n : 1); i++) {
        a->tiles[a->n_nodes] = tiles[k + i];
        TRY(run_node(a, k + i, plan));
    }
    return ST_OK;
}

static enum status run_act(struct apply *a, const struct vtcm_act *act, const struct vtcm_plan *plan,
                           const struct binary_tile *tiles)
{
    uint32_t v = act->what;
    switch (act->kind) {
    case VTCM_RUN:
        return run_unit(a, a->unit[v], plan, tiles);
    case VTCM_SPILL:
        TRY(add_copy(a, v, "dram", &a->there[v]));
        return add_transfer(a, OP_TcmToDram, a->here[v], a->there[v]);
    case VTCM_FILL:
        TRY(add_copy(a, v, "tcm", &a->here[v]));
        return add_transfer(a, OP_DramToTcm, a->there[v], a->here[v]);
    case VTCM_DROP:
        a->here[v] = IR_NONE;
        return ST_OK;
    }
    return ST_OK;
}

/* Where every tensor of the new graph is to lie. */
static enum status list_wanted(struct apply *a, const struct vtcm_plan *plan)
{
    struct prepare_cx *cx = a->cx;
    size_t n = cx->g->tensors.n;
    cx->wanted = arena_array(&cx->arena, uint8_t, n);
    if (!cx->wanted)
        return no_memory();
    for (size_t t = 0; t < n; t++)
        cx->wanted[t] = t < a->n_tensors && plan->in_dram[t] ? PLACE_SPILL : PLACE_VTCM;
    for (uint32_t k = 0; k < a->n_nodes; k++)
        if (a->nodes[k].op->id == OP_TcmToDram)
            cx->wanted[a->nodes[k].out[0]] = PLACE_SPILL;
    return ST_OK;
}

static enum status install(struct apply *a, const struct vtcm_plan *plan)
{
    struct prepare_cx *cx = a->cx;
    if (!vec_reserve(&cx->g->nodes, a->n_nodes))
        return no_memory();
    memcpy(cx->g->nodes.at, a->nodes, a->n_nodes * sizeof(a->nodes[0]));
    cx->g->nodes.n = a->n_nodes;
    cx->nodes = a->plans;
    cx->chains = a->chains;
    cx->chain_of = a->chain_of;
    cx->tiles = a->tiles;
    if (cx->slabs) { /* copies are none */
        struct chain_slab *slabs = arena_array(&cx->arena, struct chain_slab, cx->g->tensors.n);
        if (!slabs)
            return no_memory();
        memcpy(slabs, cx->slabs, a->n_tensors * sizeof(slabs[0]));
        cx->slabs = slabs;
    }
    TRY(list_wanted(a, plan));
    for (uint32_t k = 0; k < a->n_nodes; k++)
        if (a->nodes[k].op->id >= OP_PUBLIC_END)
            TRY(plan_node(cx, k));
    return plan_cells_again(cx);
}

static bool list_units(struct apply *a)
{
    uint32_t n = (uint32_t)a->cx->g->nodes.n;
    a->unit = arena_array(&a->cx->arena, uint32_t, n);
    for (uint32_t k = 0, job = 0; a->unit && k < n; job++) {
        const struct chain *c = plan_chain(a->cx, k);
        a->unit[job] = k;
        k += c ? c->n : 1;
    }
    return a->unit != NULL;
}

enum status vtcm_apply(struct prepare_cx *cx, const struct vtcm_plan *plan, const struct binary_tile *tiles)
{
    struct ir_graph *g = cx->g;
    size_t nt = g->tensors.n, nn = g->nodes.n, transfers = 0;
    for (size_t i = 0; i < plan->acts.n; i++)
        transfers += plan->acts.at[i].kind == VTCM_SPILL || plan->acts.at[i].kind == VTCM_FILL;
    struct apply a = { .cx = cx,
                       .here = arena_array(&cx->arena, uint32_t, nt),
                       .there = arena_array(&cx->arena, uint32_t, nt),
                       .nodes = arena_array(&cx->arena, struct ir_node, nn + transfers),
                       .plans = arena_array(&cx->arena, struct node_plan, nn + transfers),
                       .chains = arena_array(&cx->arena, struct chain, cx->n_chains),
                       .n_tensors = (uint32_t)nt,
                       .tiles = arena_array(&cx->arena, struct binary_tile, nn + transfers),
                       .chain_of = cx->chain_of ? arena_array(&cx->arena, uint32_t, nn + transfers) : NULL };
    if (!a.here || !a.there || !a.nodes || !a.plans || !a.tiles || !a.chains || (cx->chain_of && !a.chain_of) ||
        !list_units(&a))
        return no_memory();
    memset(a.here, 0xff, nt * sizeof(a.here[0]));
    memset(a.there, 0xff, nt * sizeof(a.there[0]));
    for (size_t i = 0; i < plan->acts.n; i++)
        TRY(run_act(&a, &plan->acts.at[i], plan, tiles));
    return install(&a, plan);
}

enum status vtcm_save(struct prepare_cx *cx, struct vtcm_state *ret)
{
    const struct ir_graph *g = cx->g;
    *ret = (struct vtcm_state){
        .nodes = arena_dup(&cx->arena, g->nodes.at, g->nodes.n * sizeof(g->nodes.at[0])),
        .plans = arena_dup(&cx->arena, cx->nodes, g->nodes.n * sizeof(cx->nodes[0])),
        .cells = cx->cells,
        .cell_of = cx->cell_of,
        .n_cells = cx->n_cells,
        .chains = cx->chains,
        .chain_of = cx->chain_of,
        .slabs = cx->slabs,
        .n_nodes = (uint32_t)g->nodes.n,
        .n_tensors = (uint32_t)g->tensors.n,
        .n_chains = cx->n_chains,
    };
    return ret->nodes && ret->plans ? ST_OK : no_memory();
}

void vtcm_restore(struct prepare_cx *cx, const struct vtcm_state *s)
{
    memcpy(cx->g->nodes.at, s->nodes, s->n_nodes * sizeof(s->nodes[0]));
    cx->g->nodes.n = s->n_nodes;
    cx->g->tensors.n = s->n_tensors;
    cx->nodes = s->plans;
    cx->cells = s->cells;
    cx->cell_of = s->cell_of;
    cx->n_cells = s->n_cells;
    cx->chains = s->chains;
    cx->n_chains = s->n_chains;
    cx->chain_of = s->chain_of;
    cx->slabs = s->slabs;
    cx->tiles = NULL;
    cx->wanted = NULL;
}
