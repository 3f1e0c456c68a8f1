/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the operators of attention beside each other, so that they can be a chain:
 *
 *     s = MatMul(q, k)                     v = Conv2d(x)
 *     p = Softmax(s)                       s = MatMul(q, k)
 *     v = Conv2d(x)               ->       p = Softmax(s)
 *     y = MatMul(p, v)                     y = MatMul(p, v)
 *
 * The order with the least memory alive makes values as late as it can, because scores are large. In a chain they are not
 * there at all. What stands between operators of a run cannot need their results, since only the run reads those. */
#include "prepare/chain.h"

enum { MOST_RUN = OP_CHAIN_MAX };

/* Nodes from one product of two results to the next one. */
struct run {
    uint32_t node[MOST_RUN], n; /* the last one first */
};

struct gather {
    const struct chain_graph *g;
    uint32_t *readers; /* per tensor */
    uint32_t *run_of;  /* per node: the last node of its run, IR_NONE: none */
};

/* It must not run before or after others of its kind, or reads what the client reads and writes. */
static bool keeps_place(const struct prepare_cx *cx, const struct ir_node *n)
{
    bool keeps = n->op->flags & OP_RANDOM;
    for (uint32_t i = 0; i < plan_ports(n); i++) {
        uint32_t t = plan_port(n, i), c = t == IR_NONE ? IR_NONE : cx->cell_of[t];
        keeps |= c != IR_NONE && cx->cells[c].place == PLACE_IO && cx->cells[c].early && cx->cells[c].late;
    }
    return keeps;
}

/* The member whose lines node k reads, and nobody else does; the latest of several. IR_NONE: none. */
static uint32_t before(const struct gather *a, uint32_t k)
{
    const struct chain_graph *g = a->g;
    uint32_t ret = IR_NONE;
    for (uint32_t i = g->first_input[k]; i < g->first_input[k + 1]; i++) {
        const struct chain_input *in = &g->inputs[i];
        uint32_t t = g->cx->g->nodes.at[k].in[in->input];
        if (!in->whole && g->member[in->maker] && !g->whole[t] && g->mates[t] == 1 && a->readers[t] == 1 &&
            (ret == IR_NONE || in->maker > ret))
            ret = in->maker;
    }
    return ret;
}

static bool find_run(const struct gather *a, uint32_t last, struct run *ret)
{
    ret->n = 0;
    if (!a->g->packs[last].bytes)
        return false;
    for (uint32_t k = last; k != IR_NONE && ret->n < MOST_RUN && a->run_of[k] == IR_NONE; k = before(a, k)) {
        if (keeps_place(a->g->cx, &a->g->cx->g->nodes.at[k]))
            return false;
        ret->node[ret->n++] = k;
        if (k != last && a->g->packs[k].bytes)
            return last - k >= ret->n; /* somebody stands between them */
    }
    return false;
}

static void list_order(const struct gather *a, uint32_t *order)
{
    uint32_t nn = (uint32_t)a->g->cx->g->nodes.n, n = 0;
    for (uint32_t k = 0; k < nn; k++) {
        if (a->run_of[k] == IR_NONE)
            order[n++] = k;
        for (uint32_t i = 0; a->run_of[k] == k && i <= k; i++)
            if (a->run_of[i] == k)
                order[n++] = i;
    }
}

enum status chain_gather(struct prepare_cx *cx, const struct chain_graph *g, struct chain_runs *ret)
{
    const struct ir_graph *ir = cx->g;
    uint32_t nn = (uint32_t)ir->nodes.n;
    struct gather a = { .g = g,
                        .readers = arena_array(&cx->arena, uint32_t, ir->tensors.n),
                        .run_of = arena_array(&cx->arena, uint32_t, nn) };
    struct run run;
    RETURN_IF(!a.readers || !a.run_of, ST_NO_MEMORY, "no memory to order %u operators", nn);
    for (uint32_t k = 0; k < nn; k++) {
        a.run_of[k] = ret->first_of[k] = IR_NONE;
        for (uint32_t i = 0; i < ir->nodes.at[k].n_in; i++)
            if (ir->nodes.at[k].in[i] != IR_NONE)
                a.readers[ir->nodes.at[k].in[i]]++;
    }
    ret->any = false;
    for (uint32_t k = 0; k < nn; k++) {
        if (ret->refused[k] || !find_run(&a, k, &run))
            continue;
        for (uint32_t i = 0; i < run.n; i++)
            a.run_of[run.node[i]] = k;
        ret->first_of[k] = run.node[run.n - 1];
        ret->any = true;
    }
    list_order(&a, ret->order);
    return ST_OK;
}
