/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that end early. A streaming operator may have nothing to say yet: then its outputs are missing in this run, nodes
 * that read a missing tensor are left out and their outputs are missing too, and all others run as ever, so that every state
 * sees every frame.
 *
 * A run in which nothing ends pays one comparison per command. */
#include <string.h>

#include "exec/program.h"

enum status early_load(struct exec_program *p)
{
    const struct binary_graph *g = p->g;
    p->producer = arena_array(&p->arena, uint32_t, g->n_tensors);
    p->missing = arena_array(&p->arena, _Atomic uint8_t, g->n_nodes);
    p->ended = arena_array(&p->arena, _Atomic uint32_t, g->n_nodes);
    RETURN_IF(!p->producer || !p->missing || !p->ended, ST_NO_MEMORY, "graph \"%s\": no memory for %u tensors", g->info.name,
              g->n_tensors);
    memset(p->producer, 0xff, g->n_tensors * sizeof(p->producer[0]));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_out; k++)
            if (g->nodes[i].out[k] != BINARY_NONE)
                p->producer[g->nodes[i].out[k]] = i;
    atomic_store_explicit(&p->first_ended, BINARY_NONE, memory_order_relaxed);
    return ST_OK;
}

void early_begin(struct exec_program *p)
{
    if (!early_any(p))
        return;
    for (uint32_t i = 0; i < p->g->n_nodes; i++) {
        atomic_store_explicit(&p->missing[i], 0, memory_order_relaxed);
        atomic_store_explicit(&p->ended[i], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&p->first_ended, BINARY_NONE, memory_order_relaxed);
}

static bool is_missing(const struct exec_program *p, uint32_t node)
{
    return atomic_load_explicit(&p->missing[node], memory_order_relaxed);
}

static bool tensor_missing(const struct exec_program *p, uint32_t t)
{
    uint32_t from = t == BINARY_NONE ? BINARY_NONE : p->producer[t];
    return from != BINARY_NONE && is_missing(p, from);
}

static bool input_missing(const struct exec_program *p, uint32_t node)
{
    const struct binary_node *n = &p->g->nodes[node];
    uint32_t first = 0, end = n->n_in;
    bool any = false;
    for (uint32_t i = 0; i < n->n_guards; i++)
        any |= tensor_missing(p, n->guards[2 * i]);
    if (n->op->id == OP_If && !tensor_missing(p, n->in[0])) { /* reads the side that ran */
        bool yes = *(const uint8_t *)p->nodes[node].data[0] != 0;
        first = yes ? 1 : 1 + n->n_out;
        end = first + n->n_out;
    }
    for (uint32_t i = first; i < end; i++)
        any |= tensor_missing(p, n->in[i]);
    return any;
}

bool early_skips(struct exec_program *p, uint32_t node)
{
    bool any = false;
    for (uint32_t k = p->nodes[node].chain ? p->nodes[node].chain->node : node; k <= node;
         k++) /* all of a chain or nothing */
        any |= input_missing(p, k);
    if (any)
        atomic_store_explicit(&p->missing[node], 1, memory_order_relaxed);
    return any;
}

/* The first one of a run is the one that is named, whoever was quicker. */
static void note_first(struct exec_program *p, uint32_t node)
{
    uint32_t first = atomic_load_explicit(&p->first_ended, memory_order_relaxed);
    while (node < first && !atomic_compare_exchange_weak(&p->first_ended, &first, node))
        ;
}

void early_after(struct exec_program *p, uint32_t node)
{
    if (!atomic_load_explicit(&p->ended[node], memory_order_relaxed))
        return;
    atomic_store_explicit(&p->missing[node], 1, memory_order_relaxed);
    note_first(p, node);
}

enum status early_end(const struct exec_program *p, const struct exec_binding *io)
{
    const struct binary_graph *g = p->g;
    for (uint32_t k = g->info.n_inputs; k < g->n_io; k++) {
        uint32_t from = p->producer[g->io[k]];
        if (io[k].produced)
            *io[k].produced = from == BINARY_NONE || !is_missing(p, from);
    }
    RETURN_IF(early_any(p), ST_ENDED_EARLY,
              "graph \"%s\": node \"%s\" waits for more; what depends on it is not computed in this execution", g->info.name,
              g->nodes[atomic_load_explicit(&p->first_ended, memory_order_relaxed)].name);
    return ST_OK;
}
