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
    uint32_t *touched, n_touched; /* tensors with such readers */
};

/* Nodes among which is all that a condition decides; the last one is a choice by it. A network with many choices has many
 * nodes, too: looking at all of them for each choice would take long. */
struct stretch {
    size_t first, last;
};

/* Made once, for all choices. */
struct work {
    struct uses uses;
    bool *waits[2];       /* per node: only this side needs it */
    struct ir_node *old;  /* the order before */
    bool *moved, *now;    /* per node */
    uint32_t *maker;      /* per tensor: the node of the stretch that makes it, IR_NONE */
    bool *made;           /* per tensor: by a node */
    uint32_t *choices;    /* per tensor: choices by it */
    uint32_t *last;       /* per tensor: the last choice by it, IR_NONE: not seen yet */
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

/* One reader on this side; returns 1 when it is the first of what a node makes. */
static uint32_t count_side(struct work *w, uint32_t t)
{
    if (w->uses.side[t]++)
        return 0;
    w->uses.touched[w->uses.n_touched++] = t;
    return w->made[t];
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

/* Readers of a node's operands are on this side; returns how many makers are still to come. */
static uint32_t count_operands(struct work *w, const struct ir_node *n)
{
    uint32_t makers = 0;
    for (uint32_t i = 0; i < n->n_in; i++)
        makers += n->in[i] != IR_NONE ? count_side(w, n->in[i]) : 0;
    for (uint32_t i = 0; i < n->n_guards; i++)
        makers += count_side(w, n->guards[i].tensor);
    return makers;
}

static void forget_side(struct uses *u)
{
    while (u->n_touched)
        u->side[u->touched[--u->n_touched]] = 0;
}

/* All nodes that only choices by `cond` need, and of these only side `value`: from the last of these choices back to *first,
 * where all of them, and all makers of what this side reads, have been seen. Returns whether a node that waits has work. */
static bool find_side(const struct ir_graph *g, struct work *w, uint32_t cond, uint32_t value, size_t *first)
{
    bool any = false, *waits = w->waits[value];
    uint32_t left = w->choices[cond], makers = 0;
    size_t k = (size_t)w->last[cond] + 1;
    while (k > 0 && (left || makers)) {
        const struct ir_node *n = &g->nodes.at[--k];
        bool choice = is_choice(g, n) && n->in[0] == cond;
        for (uint32_t i = 0; i < n->n_out; i++)
            makers -= w->uses.side[n->out[i]] != 0;
        if (choice) {
            makers += count_side(w, n->in[value ? 1 : 2]);
            left--;
        }
        waits[k] = !choice && only_here(n, &w->uses) && may_wait(g, n);
        if (!waits[k])
            continue;
        makers += count_operands(w, n);
        any = any || !(n->op->flags & OP_VIEW);
    }
    forget_side(&w->uses);
    *first = k;
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
static void reorder(struct ir_graph *g, struct work *w, struct stretch s)
{
    size_t done = s.first, n = s.last - s.first + 1;
    memcpy(w->old + s.first, g->nodes.at + s.first, n * sizeof(*w->old));
    memset(w->moved + s.first, 0, n * sizeof(*w->moved));
    for (size_t k = s.first; k <= s.last; k++)
        for (uint32_t i = 0; i < w->old[k].n_out; i++)
            w->maker[w->old[k].out[i]] = (uint32_t)k;
    for (size_t k = s.first; k <= s.last; k++) {
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
    for (size_t k = s.first; k <= s.last; k++)
        for (uint32_t i = 0; i < w->old[k].n_out; i++)
            w->maker[w->old[k].out[i]] = IR_NONE;
}

/* The parameters of a Select are none, as are those of what is left of an If. */
static enum status hand_on(struct prepare_cx *cx, uint32_t cond, struct stretch s)
{
    struct ir_graph *g = cx->g;
    for (size_t k = s.first; k <= s.last; k++) {
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
    size_t first[2];
    bool any = false;
    if (w->last[cond] == IR_NONE)
        w->last[cond] = (uint32_t)k;
    for (uint32_t value = 0; value < 2; value++)
        any |= find_side(g, w, cond, value, &first[value]);
    if (!any)
        return ST_OK; /* views cost nothing */
    struct stretch s = { first[0] < first[1] ? first[0] : first[1], w->last[cond] };
    for (uint32_t value = 0; value < 2; value++)
        memset(w->waits[value] + s.first, 0, (first[value] - s.first) * sizeof(bool));
    for (size_t i = s.first; i <= s.last; i++) {
        for (uint32_t value = 0; value < 2; value++) {
            if (!w->waits[value][i])
                continue;
            TRY(add_guard(g, &g->nodes.at[i], cond, value));
            w->uses.all[cond]++;
        }
        w->waits[0][i] |= w->waits[1][i];
    }
    reorder(g, w, s);
    for (size_t i = s.first; i <= s.last; i++) { /* those that were seen and left as they are may have moved */
        uint32_t *last = is_choice(g, &g->nodes.at[i]) ? &w->last[g->nodes.at[i].in[0]] : NULL;
        if (last && *last != IR_NONE && *last <= s.last)
            *last = (uint32_t)i;
    }
    *progress = true;
    return hand_on(cx, cond, s);
}

static void look_around(const struct ir_graph *g, struct work *w)
{
    memset(w->maker, 0xff, g->tensors.n * sizeof(*w->maker));
    memset(w->last, 0xff, g->tensors.n * sizeof(*w->last));
    for (size_t k = 0; k < g->nodes.n; k++) {
        const struct ir_node *n = &g->nodes.at[k];
        if (!n->dead)
            count(n, w->uses.all);
        if (is_choice(g, n))
            w->choices[n->in[0]]++;
        for (uint32_t i = 0; i < n->n_out; i++)
            w->made[n->out[i]] = true;
    }
}

static enum status begin(struct prepare_cx *cx, struct work *w)
{
    struct arena *a = &cx->arena;
    size_t nodes = cx->g->nodes.n, tensors = cx->g->tensors.n;
    *w = (struct work){ .uses = { .all = arena_array(a, uint32_t, tensors),
                                  .side = arena_array(a, uint32_t, tensors),
                                  .touched = arena_array(a, uint32_t, tensors) },
                        .waits = { arena_array(a, bool, nodes), arena_array(a, bool, nodes) },
                        .old = arena_array(a, struct ir_node, nodes),
                        .moved = arena_array(a, bool, nodes),
                        .now = arena_array(a, bool, nodes),
                        .maker = arena_array(a, uint32_t, tensors),
                        .made = arena_array(a, bool, tensors),
                        .choices = arena_array(a, uint32_t, tensors),
                        .last = arena_array(a, uint32_t, tensors),
                        .stack = arena_array(a, uint32_t, nodes + 1) };
    bool ok = w->uses.all && w->uses.side && w->uses.touched && w->waits[0] && w->waits[1] && w->old && w->moved && w->now &&
              w->maker && w->made && w->choices && w->last && w->stack;
    RETURN_IF(!ok, ST_NO_MEMORY, "no memory to guard %zu nodes", nodes);
    look_around(cx->g, w);
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
