/* SPDX-License-Identifier: Apache-2.0 */
/* What one truth value picks from need not be computed twice: nodes that only one side of a Select needs run only when that side is picked. Converters write an If of the
 * source that way, since every form of a model can carry it.
 *
 *     %a = Conv2d(%x, %w)                     %a = Conv2d(%x, %w) when (%c)
 *     %b = Tanh(%x)                    ->     %b = Tanh(%x) when (!%c)
 *     %y = ElementWiseSelect(%c, %a, %b)      %y = If(%c, %a, %b)
 *
 * Such nodes move behind everything else that stands before the first Select that reads them, where the condition is known; all others keep their order. Selects are taken from
 * the last to the first, so that a choice inside a choice comes after the one around it, and guards add up from the outside in. */
#include <string.h>

#include "prepare/cx.h"

/* Per tensor: readers in all, and those that run only on the side in question. */
struct uses {
    uint32_t *all, *side;
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
    bool fits = cond->role != IR_CONST && cond->desc.type == DT_B8 && desc_count(&cond->desc) == 1 && !cond->desc.dynamic && !y->dynamic;
    for (int i = 1; i < 3 && fits; i++) {
        const struct tensor_desc *x = &g->tensors.at[n->in[i]].desc;
        fits = x->type == y->type && desc_same_shape(x, y) && quant_same(&x->q, &y->q) && !x->dynamic;
    }
    return fits;
}

/* Whether a node may be left out, and moved, when nobody else needs it. */
static bool may_wait(const struct ir_graph *g, const struct ir_node *n)
{
    if (n->dead || n->n_guards + 2 > IR_MAX_GUARDS || ir_stateful(g, n) || ir_is_if(n))
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
        waits[k] = !choice && may_wait(g, n) && only_here(n, u);
        if (!waits[k])
            continue;
        count(n, u->side);
        any = any || !(n->op->flags & OP_VIEW);
    }
    return any;
}

/* The nodes that wait come right before the first of the others that needs them. */
static enum status reorder(struct prepare_cx *cx, const bool *waits)
{
    struct ir_graph *g = cx->g;
    size_t n = g->nodes.n, done = 0;
    struct ir_node *old = arena_dup(&cx->arena, g->nodes.at, n * sizeof(*old));
    bool *moved = arena_array(&cx->arena, bool, n), *needed = arena_array(&cx->arena, bool, g->tensors.n), *now = arena_array(&cx->arena, bool, n);
    RETURN_IF(!old || !moved || !needed || !now, ST_NO_MEMORY, "no memory to move %zu nodes", n);
    for (size_t k = 0; k < n; k++) {
        if (waits[k])
            continue;
        for (size_t j = k + 1; j-- > 0 && (old[k].op->id == OP_If || old[k].op->id == OP_ElementWiseSelect);) { /* nobody else reads what waits */
            bool take = j == k;
            for (uint32_t i = 0; waits[j] && !moved[j] && i < old[j].n_out; i++)
                take = take || needed[old[j].out[i]];
            for (uint32_t i = 0; take && i < old[j].n_in; i++)
                if (old[j].in[i] != IR_NONE)
                    needed[old[j].in[i]] = true;
            now[j] = take && j < k;
        }
        for (size_t j = 0; j < k; j++)
            if (now[j]) {
                g->nodes.at[done++] = old[j];
                moved[j] = true;
                now[j] = false;
            }
        g->nodes.at[done++] = old[k];
    }
    g->nodes.n = done;
    return ST_OK;
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
static enum status guard_choices(struct prepare_cx *cx, size_t k, const struct uses *u, bool *progress)
{
    struct ir_graph *g = cx->g;
    uint32_t cond = g->nodes.at[k].in[0];
    bool any = false, *waits[2];
    for (uint32_t value = 0; value < 2; value++) {
        waits[value] = arena_array(&cx->arena, bool, g->nodes.n);
        RETURN_IF(!waits[value], ST_NO_MEMORY, "no memory to guard %zu nodes", g->nodes.n);
        any |= find_side(g, cond, value, u, waits[value]);
    }
    if (!any)
        return ST_OK; /* views cost nothing */
    for (size_t i = 0; i < g->nodes.n; i++) {
        for (uint32_t value = 0; value < 2; value++) {
            if (!waits[value][i])
                continue;
            TRY(add_guard(g, &g->nodes.at[i], cond, value));
            u->all[cond]++;
        }
        waits[0][i] |= waits[1][i];
    }
    TRY(reorder(cx, waits[0]));
    *progress = true;
    return hand_on(cx, cond);
}

enum status opt_guard(struct prepare_cx *cx, bool *progress)
{
    struct ir_graph *g = cx->g;
    struct uses u = { 0 };
    for (size_t k = g->nodes.n; k-- > 0;) {
        if (!is_choice(g, &g->nodes.at[k]))
            continue;
        if (!u.all) {
            u = (struct uses){ arena_array(&cx->arena, uint32_t, g->tensors.n), arena_array(&cx->arena, uint32_t, g->tensors.n) };
            RETURN_IF(!u.all || !u.side, ST_NO_MEMORY, "no memory for %zu tensors", g->tensors.n);
            for (size_t i = 0; i < g->nodes.n; i++)
                if (!g->nodes.at[i].dead)
                    count(&g->nodes.at[i], u.all);
        }
        TRY(prepare_interrupted(cx));
        TRY(guard_choices(cx, k, &u, progress));
    }
    return ST_OK;
}
