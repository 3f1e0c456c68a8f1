/* SPDX-License-Identifier: Apache-2.0 */
/* Drops nodes none of whose outputs reaches a graph output, and tensors that nobody uses. An input that is declared absent
 * is no input.
 *
 *     %t = Relu(%x)          (nothing)
 *     %u = Tanh(%x)     ->
 *     %y = Add(%u, %u)       %u = Tanh(%x)  %y = Add(%u, %u)
 */
#include "base/mem.h"
#include "prepare/cx.h"

static bool wanted(const struct ir_graph *g, const struct ir_node *n, const bool *needed)
{
    if (ir_stateful(g, n) || n->op->id == OP_NONE /* code of an op package */)
        return true;
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint8_t role = g->tensors.at[n->out[i]].role;
        if (needed[n->out[i]] || role == IR_OUTPUT || role == IR_INOUT)
            return true;
    }
    return false;
}

static bool drop_absent(struct ir_graph *g)
{
    bool any = false;
    for (size_t k = 0; k < g->nodes.n; k++)
        for (uint32_t i = 0; i < g->nodes.at[k].n_in; i++) {
            uint32_t *t = &g->nodes.at[k].in[i];
            if (*t == IR_NONE || g->tensors.at[*t].role != IR_ABSENT)
                continue;
            *t = IR_NONE;
            any = true;
        }
    return any;
}

enum status opt_dead(struct prepare_cx *cx, bool *progress)
{
    struct ir_graph *g = cx->g;
    *progress |= drop_absent(g);
    CLEANUP(mem_freep) bool *needed = mem_array(bool, g->tensors.n);
    RETURN_IF(!needed, ST_NO_MEMORY, "no memory for %zu tensors", g->tensors.n);
    bool any = false;
    for (size_t k = 0; k < g->nodes.n; k++) { /* a graph of which nothing is read is run as it stands */
        const struct ir_node *n = &g->nodes.at[k];
        any = any || wanted(g, n, needed);
    }
    for (size_t k = g->nodes.n; any && k-- > 0;) {
        struct ir_node *n = &g->nodes.at[k];
        n->dead = !wanted(g, n, needed);
        *progress |= n->dead;
        for (uint32_t i = 0; i < n->n_in && !n->dead; i++)
            if (n->in[i] != IR_NONE)
                needed[n->in[i]] = true;
        for (uint32_t i = 0; i < n->n_guards && !n->dead; i++)
            needed[n->guards[i].tensor] = true;
    }
    size_t before = g->tensors.n;
    TRY(ir_compact(g));
    *progress |= g->tensors.n != before;
    return ST_OK;
}
