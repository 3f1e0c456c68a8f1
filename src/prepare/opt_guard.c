/* SPDX-License-Identifier: Apache-2.0 */
/* What one truth value picks from need not be computed twice: nodes that only one side of a Select needs run only when that
 * side is picked. Converters write an If of the source that way, since every form of a model can carry it.
 *
 *     %a = Conv2d(%x, %w)                     %a = Conv2d(%x, %w) when (%c)
 *     %b = Tanh(%x)                    ->     %b = Tanh(%x) when (!%c)
 *     %y = ElementWiseSelect(%c, %a, %b)      %y = If(%c, %a, %b)
 *
 * Such nodes move behind everything else that stands before the first Select that reads them, where the condition is known;
 * all others keep their order. Selects are taken from the last to the first, so that a choice inside a choice comes after
 * the one around it, and guards add up from the outside in. */
#include <string.h>

#include "prepare/cx.h"

/* Per tensor: readers in all, and those that run only on the side in question. */
struct uses {
    uint32_t *all, *side;
};

/* Made once: a network with many choices has many nodes, too. */
struct work {
    struct uses uses;
    bool *waits[2];       /* per node: only this side needs it */
    struct ir_node *old;  /* the order before */
    bool *moved, *now;    /* per node */
    uint32_t *maker;      /* per tensor: the node that makes it, IR_NONE */
    uint32_t *stack;
};

static void count(const struct ir_node *n, uint32_t *uses)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != IR_NONE)
            uses[n->in[i]]++;
    for (uint32_t i = 0; i < n->n_guards; i++)
        uses[n->guards[i].tensor]++;
}

/* The If that hands on results wants both sides to be what the output is. */
static bool is_choice(const struct ir_graph *g, const struct ir_node *n)
{
    if (n->dead || n->op->id != OP_ElementWiseSelect)
        return false;
    const struct ir_tensor *cond = &g->tensors.at[n->in[0]];
    const struct tensor_desc *y = &g->tensors.at[n->out[0]].desc;
    bool fits = cond->role != IR_CONST && cond->desc.type == DT_B8 && desc_count(&cond->desc) == 1 && !cond->desc.dynamic &&
                !y->dynamic;
    for (int i = 1; i < 3 && fits; i++) {
        const struct tensor_desc *x = &g->tensors.at[n->in[i]].desc;
        fits = x->type == y->type && desc_same_shape(x, y) && quant_same(&x->q, &y->q) && !x->dynamic;
    }
    return fits;
}

/* Whether a node may be left out, and moved, when nobody else needs it. */
static bool may_wait(const struct ir_graph *g, const struct ir_node *n)
{
    if (n->dead || n->n_guards + 2 > IR_MAX_GUARDS || ir_stateful(g, n) || n->op->id == OP_NONE || ir_is_if(n))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != IR_NONE && g->tensors.at[n->in[i]].role == IR_INOUT)
            return false;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (g->tensors.at[n->out[i]].role != IR_NATIVE)
            return false;
    return true;
}

static bool only_here(const struct ir_node *n, const struct uses *u)
{
    bool read = false;
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (u->side[n->out[i]] != u->all[n->out[i]])
            return false;
        read = read || u->all[n->out[i]];
    }
    return read;
}

static enum status add_guard(struct ir_graph *g, struct ir_node *n, uint32_t cond, uint32_t value)
{
    struct ir_guard *list = arena_array(&g->arena, struct ir_guard, n->n_guards + 1);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for the conditions of a node");
    memcpy(list, n->guards, n->n_guards * sizeof(*list));
    list[n->n_guards] = (struct ir_guard){ cond, value };
    n->guards = list;
    n->n_guards++;
    return ST_OK;
}

/* All nodes that only choices by `cond` need, and of these only side `value`; returns whether one of them has work to do. */
static bool find_side(const struct ir_graph *g, uint32_t cond, uint32_t value, const struct uses *u, bool *waits)
{
    bool any = false;
    memset(u->side, 0, g->tensors.n * sizeof(*u->side));
    for (size_t k = g->nodes.n; k-- > 0;) {
        const struct ir_node *n = &g->nodes.at[k];
        bool choice = is_choice(g, n) && n->in[0] == cond;
        if (choice)
            u->side[n->in[value ? 1 : 2]]++;
        waits[k] = !choice && only_here(n, u) && may_wait(g, n);
        if (!waits[k])
            continue;
        count(n, u->side);
        any = any || !(n->op->flags & OP_VIEW);
    }
    return any;
}

/* The nodes that wait and that node k needs, by themselves or through others of them, are marked in w->now; returns the
 * first of them, k when there is none. */
static size_t mark_needed(struct work *w, size_t k)
{
    size_t first = k, n = 0;
    w->stack[n++] = (uint32_t)k;
    while (n) {
        const struct ir_node *x = &w->old[w->stack[--n]];
        for (uint32_t i = 0; i < x->n_in; i++) {
            uint32_t j = x->in[i] == IR_NONE ? IR_NONE : w->maker[x->in[i]];
            if (j == IR_NONE || !w->waits[0][j] || w->moved[j] || w->now[j])
                continue;
            w->now[j] = true;
            w->stack[n++] = j;
            first = j < first ? j : first;
        }
    }
    return first;
}

/* The nodes that wait come right before the first of the others that needs them: a choice, since nobody else reads what
 * waits. */
static void reorder(struct ir_graph *g, struct work *w)
{
    size_t n = g->nodes.n, done = 0;
    memcpy(w->old, g->nodes.at, n * sizeof(*w->old));
    memset(w->moved, 0, n * sizeof(*w->moved));
    memset(w->maker, 0xff, g->tensors.n * sizeof(*w->maker));
    for (size_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < w->old[k].n_out; i++)
            w->maker[w->old[k].out[i]] = (uint32_t)k;
    for (size_t k = 0; k < n; k++) {
        if (w->waits[0][k])
            continue;
        bool choice = w->old[k].op->id == OP_If || w->old[k].op->id == OP_ElementWiseSelect;
        for (size_t j = choice ? mark_needed(w, k) : k; j < k; j++)
            if (w->now[j]) {
                g->nodes.at[done++] = w->old[j];
                w->moved[j] = true;
                w->now[j] = false;
            }
        g->nodes.at[done++] = w->old[k];
    }
    g->nodes.n = done;
}

/* The parameters of a Select are none, as are those of what is left of an If. */
static enum status hand_on(struct prepare_cx *cx, uint32_t cond)
{
    struct ir_graph *g = cx->g;
    for (size_t k = 0; k < g->nodes.n; k++) {
        struct ir_node *n = &g->nodes.at[k];
        if (!is_choice(g, n) || n->in[0] != cond)
            continue;
        n->op = op_get(OP_If);
        n->params = arena_array(&g->arena, struct op_value, op_param_count(n->op));
        RETURN_IF(!n->params, ST_NO_MEMORY, "no memory for an If");
    }
    return ST_OK;
}

/* Every choice by the condition of node k. */
static enum status guard_choices(struct prepare_cx *cx, size_t k, struct work *w, bool *progress)
{
    struct ir_graph *g = cx->g;
    uint32_t cond = g->nodes.at[k].in[0];
    bool any = false;
    for (uint32_t value = 0; value < 2; value++)
        any |= find_side(g, cond, value, &w->uses, w->waits[value]);
    if (!any)
        return ST_OK; /* views cost nothing */
    for (size_t i = 0; i < g->nodes.n; i++) {
        for (uint32_t value = 0; value < 2; value++) {
            if (!w->waits[value][i])
                continue;
            TRY(add_guard(g, &g->nodes.at[i], cond, value));
            w->uses.all[cond]++;
        }
        w->waits[0][i] |= w->waits[1][i];
    }
    reorder(g, w);
    *progress = true;
    return hand_on(cx, cond);
}

static enum status begin(struct prepare_cx *cx, struct work *w)
{
    struct ir_graph *g = cx->g;
    size_t nodes = g->nodes.n, tensors = g->tensors.n;
    *w = (struct work){ .uses = { arena_array(&cx->arena, uint32_t, tensors), arena_array(&cx->arena, uint32_t, tensors) },
                        .waits = { arena_array(&cx->arena, bool, nodes), arena_array(&cx->arena, bool, nodes) },
                        .old = arena_array(&cx->arena, struct ir_node, nodes), .moved = arena_array(&cx->arena, bool, nodes),
                        .now = arena_array(&cx->arena, bool, nodes), .maker = arena_array(&cx->arena, uint32_t, tensors),
                        .stack = arena_array(&cx->arena, uint32_t, nodes + 1) };
    bool ok =
        w->uses.all && w->uses.side && w->waits[0] && w->waits[1] && w->old && w->moved && w->now && w->maker && w->stack;
    RETURN_IF(!ok, ST_NO_MEMORY, "no memory to guard %zu nodes", nodes);
    for (size_t i = 0; i < nodes; i++)
        if (!g->nodes.at[i].dead)
            count(&g->nodes.at[i], w->uses.all);
    return ST_OK;
}

enum status opt_guard(struct prepare_cx *cx, bool *progress)
{
    struct ir_graph *g = cx->g;
    struct work w = { 0 };
    for (size_t k = g->nodes.n; k-- > 0;) {
        if (!is_choice(g, &g->nodes.at[k]))
            continue;
        if (!w.stack)
            TRY(begin(cx, &w));
        TRY(prepare_interrupted(cx));
        TRY(guard_choices(cx, k, &w, progress));
    }
    return ST_OK;
}
