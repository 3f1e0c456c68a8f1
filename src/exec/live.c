/* SPDX-License-Identifier: Apache-2.0 */
/* What of the window of fast memory is live between two steps: each tensor there from the end of the step that makes it to
 * the last step that reads it. A run that gives way to another one keeps only that.
 *
 *     step      0     1     2     3
 *     a      made  read        read      live before steps 1, 2 and 3
 *     b            made  read            live before step 2 */
#include <string.h>

#include "base/mem.h"
#include "exec/program.h"

struct steps {
    uint32_t first, last;
};

/* A node that no command names would be everywhere. Members of a chain run with its last node. */
static void steps_of_nodes(const struct exec_program *p, struct steps *ret)
{
    const struct binary_graph *g = p->g;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        ret[i] = (struct steps){ UINT32_MAX, 0 };
    for (uint32_t i = 0; i < g->n_commands; i++) {
        struct steps *s = &ret[g->commands[i].node];
        s->first = g->commands[i].step < s->first ? g->commands[i].step : s->first;
        s->last = g->commands[i].step > s->last ? g->commands[i].step : s->last;
    }
    for (uint32_t i = 0; i < g->n_chains; i++)
        for (uint32_t k = 0; k + 1 < g->chains[i].n; k++)
            ret[g->chains[i].first + k] = ret[g->chains[i].first + g->chains[i].n - 1];
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (ret[i].first == UINT32_MAX)
            ret[i] = (struct steps){ 0, g->n_steps };
}

static void widen(struct exec_live *t, struct steps s)
{
    t->first = s.first < t->first ? s.first : t->first;
    t->last = s.last > t->last ? s.last : t->last;
}

static void collect(struct exec_program *p, const struct steps *steps, uint32_t *index)
{
    for (uint32_t i = 0; i < p->g->n_tensors; i++) {
        const struct binary_tensor *t = &p->g->tensors[i];
        index[i] = p->n_live;
        if (t->place == PLACE_VTCM)
            p->live[p->n_live++] = (struct exec_live){ t->offset, t->bytes, UINT32_MAX, 0 };
    }
    for (uint32_t i = 0; i < p->g->n_nodes; i++)
        for (uint32_t k = 0; k < program_operands(&p->g->nodes[i]); k++) {
            uint32_t t = program_operand(&p->g->nodes[i], k);
            if (t != BINARY_NONE && p->g->tensors[t].place == PLACE_VTCM)
                widen(&p->live[index[t]], steps[i]);
        }
}

enum status live_load(struct exec_program *p)
{
    const struct binary_graph *g = p->g;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        n += g->tensors[i].place == PLACE_VTCM;
    if (!n)
        return ST_OK;
    struct steps *steps = mem_array(struct steps, g->n_nodes);
    uint32_t *index = mem_array(uint32_t, g->n_tensors);
    p->live = arena_array(&p->arena, struct exec_live, n);
    bool ok = steps && index && p->live;
    if (ok) {
        steps_of_nodes(p, steps);
        collect(p, steps, index);
    }
    mem_free(steps);
    mem_free(index);
    RETURN_IF(!ok, ST_NO_MEMORY, "graph \"%s\": no memory for %u tensors in fast memory", g->info.name, n);
    return ST_OK;
}

/* Steps from `step` on that have been begun are half done: what they have made counts as well as what they read. Everything
 * keeps its offset: tensors that share memory, as views do, are then the same bytes twice, and a copy is never larger than
 * the window. */
static uint64_t copy(const struct exec_program *p, uint32_t step, uint8_t *to, const uint8_t *from)
{
    uint64_t bytes = 0;
    uint32_t begun = p->begun > step ? p->begun : step;
    for (uint32_t i = 0; i < p->n_live; i++) {
        const struct exec_live *t = &p->live[i];
        if (t->first >= begun || step > t->last)
            continue;
        memcpy(to + t->offset, from + t->offset, t->bytes);
        bytes += t->bytes;
    }
    return bytes;
}

uint64_t exec_save_window(const struct exec_program *p, uint32_t step, void *to)
{
    return copy(p, step, to, p->vtcm);
}

void exec_restore_window(struct exec_program *p, uint32_t step, const void *from)
{
    copy(p, step, p->vtcm, from);
}
