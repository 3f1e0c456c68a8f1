/* SPDX-License-Identifier: Apache-2.0 */
/* Changed graphs: a copy of the tables of a binary, in which a rule changes an operator or a tensor, estimated again. The
 * plan stays as it is: what lies where, the order, and boxes. */
#include <string.h>

#include "analysis/advise.h"
#include "base/mem.h"

enum { OPTIONS = 8 };
/* How many changed graphs are estimated: fewer of large graphs, so that advice comes within seconds. */
enum { LEAST_TRIES = 16, MOST_TRIES = 256, WORK = 4000000 /* commands and operators of all of them */ };
enum { LEAST = 1000 /* of the cycles, the part that is worth being told */ };

static uint32_t most_tries(const struct binary_graph *g)
{
    uint32_t tries = WORK / (g->n_commands + g->n_nodes + 1);

    if (tries < LEAST_TRIES)
        return LEAST_TRIES;
    return tries < MOST_TRIES ? tries : MOST_TRIES;
}

bool what_if_start(struct advisor *a)
{
    if (a->failed != ST_OK || a->tries >= most_tries(a->g))
        return false;

    a->tries++;
    memcpy(a->tensors, a->g->tensors, a->g->n_tensors * sizeof *a->tensors);
    memcpy(a->nodes, a->g->nodes, a->g->n_nodes * sizeof *a->nodes);
    a->changed = *a->g;
    a->changed.tensors = a->tensors;
    a->changed.nodes = a->nodes;
    return true;
}

uint64_t what_if_cycles(struct advisor *a)
{
    uint64_t cycles = UINT64_MAX;
    enum status st = estimate_graph(&a->device, &a->changed, a->nodes, &cycles);

    if (st != ST_OK)
        a->failed = st;
    return cycles;
}

void what_if_narrow(struct advisor *a, uint32_t tensor, unsigned bits)
{
    struct binary_tensor *t = &a->tensors[tensor];
    bool numbers = dtype_is_float(t->desc.type) || dtype_is_fixed(t->desc.type);
    bool sum = dtype_is_fixed(t->desc.type) && dtype_bits(t->desc.type) == 32; /* a bias */
    bool sign = dtype_is_signed(t->desc.type) || dtype_is_float(t->desc.type);

    if (!numbers || sum || dtype_bits(t->desc.type) <= bits)
        return;
    if (bits == 4)
        t->desc.type = DT_SQ4;
    else if (bits == 8)
        t->desc.type = sign ? DT_SQ8 : DT_UQ8;
    else
        t->desc.type = sign ? DT_SQ16 : DT_UQ16;
}

/* What has no work of its own, as PReLU behind a convolution, is work of another operator. */
bool advise_worth(const struct advisor *a, uint32_t node)
{
    const struct qhas_node *n = &a->model.nodes[node];
    uint64_t most = a->g->nodes[node].cycles;

    for (uint32_t u = 0; u < UNIT_COUNT; u++)
        most = n->busy[u] > most ? n->busy[u] : most;
    return !most || most * LEAST >= a->base;
}

void advise_add(struct advisor *a, const struct advise_rule *rule, uint32_t node, uint64_t cycles, const char *reason)
{
    bool estimated = cycles != UINT64_MAX;
    if (estimated && (cycles >= a->base || (a->base - cycles) * LEAST < a->base))
        return; /* nothing to gain */

    struct advice *one = reason ? vec_push(&a->list) : NULL;

    if (!one) {
        a->failed = status_fail(ST_NO_MEMORY, "no memory for advice");
        return;
    }
    *one = (struct advice){ .rule = rule, .node = node, .reason = reason, .estimated = estimated, .cycles = cycles };
}

/* Some options of a graph change its estimate and are not in the binary: those that give its cycles are taken. */
static enum status find_options(struct advisor *a)
{
    for (uint32_t bits = 0; bits < OPTIONS; bits++) {
        a->device.clamps_apart = bits & 1;
        a->device.activations_apart = bits & 2;
        a->device.short_on_vectors = bits & 4;
        TRY(estimate_graph(&a->device, a->g, a->nodes, &a->base));
        if (a->base == a->g->info.cycles)
            return ST_OK;
    }
    a->device.clamps_apart = a->device.activations_apart = a->device.short_on_vectors = false;
    return estimate_graph(&a->device, a->g, a->nodes, &a->base);
}

enum status advisor_open(const struct qhas_graph *q, const struct binary_target *target, struct arena *arena,
                         struct advisor *ret)
{
    const struct binary_graph *g = q->g;
    struct advisor a = { .q = q, .g = g, .arena = arena };

    a.device.soc_model = target->soc_model;
    a.device.arch = target->arch;
    a.tensors = arena_array(arena, struct binary_tensor, g->n_tensors + 1);
    a.nodes = arena_array(arena, struct binary_node, g->n_nodes + 1);
    RETURN_IF(!a.tensors || !a.nodes, ST_NO_MEMORY, "no memory to advise on %u operators", g->n_nodes);
    TRY(qhas_model_make(q, arena, &a.model));
    memcpy(a.nodes, g->nodes, g->n_nodes * sizeof *a.nodes);
    TRY(find_options(&a));
    *ret = a;
    return ST_OK;
}

void advisor_close(struct advisor *a)
{
    vec_finish(&a->list);
}
