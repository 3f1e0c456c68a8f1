/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that end early. A streaming operator may have nothing to say yet: then its outputs are missing in this run, nodes that read a missing
 * tensor are left out and their outputs are missing too, and all others run as ever, so that every state sees every frame.
 *
 * A run in which nothing ends pays one comparison per step. */
#include <string.h>

#include "exec/program.h"

enum status early_load(struct exec_program *p)
{
    const struct binary_graph *g = p->g;
    p->producer = arena_array(&p->arena, uint32_t, g->n_tensors);
    p->missing = arena_array(&p->arena, uint8_t, g->n_nodes);
    RETURN_IF(!p->producer || !p->missing, ST_NO_MEMORY, "graph \"%s\": no memory for %u tensors", g->info.name, g->n_tensors);
    memset(p->producer, 0xff, g->n_tensors * sizeof(p->producer[0]));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_out; k++)
            if (g->nodes[i].out[k] != BINARY_NONE)
                p->producer[g->nodes[i].out[k]] = i;
    p->first_ended = BINARY_NONE;
    return ST_OK;
}

void early_begin(struct exec_program *p)
{
    if (p->first_ended != BINARY_NONE)
        memset(p->missing, 0, p->g->n_nodes);
    p->first_ended = BINARY_NONE;
    atomic_store_explicit(&p->job->ended, 0, memory_order_relaxed);
}

static bool tensor_missing(const struct exec_program *p, uint32_t t)
{
    uint32_t from = t == BINARY_NONE ? BINARY_NONE : p->producer[t];
    return from != BINARY_NONE && p->missing[from];
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

void early_before(struct exec_program *p, uint32_t step)
{
    if (p->first_ended == BINARY_NONE)
        return;
    for (uint32_t i = p->step_begin[step]; i < p->step_begin[step + 1]; i++) {
        uint32_t node = p->commands[i].node;
        for (uint32_t k = p->nodes[node].chain ? p->nodes[node].chain->node : node; k <= node; k++) /* all of a chain or nothing */
            p->missing[node] |= input_missing(p, k);
    }
}

void early_after(struct exec_program *p, uint32_t step)
{
    if (!atomic_load_explicit(&p->job->ended, memory_order_relaxed))
        return;
    atomic_store_explicit(&p->job->ended, 0, memory_order_relaxed);
    if (p->first_ended == BINARY_NONE)
        p->first_ended = p->commands[p->step_begin[step]].node;
    for (uint32_t i = p->step_begin[step]; i < p->step_begin[step + 1]; i++) /* one node a step; of several all count as silent */
        p->missing[p->commands[i].node] = 1;
}

enum status early_end(const struct exec_program *p, const struct exec_binding *io)
{
    const struct binary_graph *g = p->g;
    for (uint32_t k = g->info.n_inputs; k < g->n_io; k++) {
        uint32_t from = p->producer[g->io[k]];
        if (io[k].produced)
            *io[k].produced = from == BINARY_NONE || !p->missing[from];
    }
    RETURN_IF(p->first_ended != BINARY_NONE, ST_ENDED_EARLY,
              "graph \"%s\": node \"%s\" waits for more; what depends on it is not computed in this execution", g->info.name,
              g->nodes[p->first_ended].name);
    return ST_OK;
}
