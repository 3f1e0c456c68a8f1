/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps wait for which. A step waits for an earlier one when one of them writes memory that the other one touches
 * (touch.c): results of the other, memory that the plan uses a second time, guards, states.
 *
 * Steps are compared with the EXEC_WINDOW before them; a step starts only when everything further back is done. A step that
 * touches too many places waits for all. */
#include "base/mem.h"
#include "exec/touch.h"

enum { HEAVY_MACS = 1 << 14 }; /* what is worth another thread */

/* The last steps seen, at their number modulo EXEC_WINDOW. */
struct window {
    struct touched touched[EXEC_WINDOW];
    uint32_t all[EXEC_WINDOW]; /* what each waits for, directly or not; bits as in exec_step.waits */
};

/* Steps from `from` steps before the last one on. The nearest first: whatever those wait for need not be looked at. */
static uint32_t waits_of(struct window *w, uint32_t step, uint32_t from, uint32_t *ret_all)
{
    const struct touched *own = &w->touched[step % EXEC_WINDOW];
    uint32_t waits = 0, all = 0;
    for (uint32_t i = from; i + 1 < EXEC_WINDOW && i < step; i++) {
        uint32_t before = (step - 1 - i) % EXEC_WINDOW;
        if (all >> i & 1 || !touched_meet(&w->touched[before], own))
            continue;
        waits |= 1u << i;
        all |= 1u << i | (uint32_t)((uint64_t)w->all[before] << (i + 1));
    }
    *ret_all = all;
    return waits;
}

/* Steps behind which this one may come before they are done. */
static void note_beside(const struct window *w, struct exec_step *steps, uint32_t step)
{
    for (uint32_t i = 0, free = ~w->all[step % EXEC_WINDOW]; i + 1 < EXEC_WINDOW && i < step; i++)
        if (free >> i & 1)
            steps[step - 1 - i].beside = step + 1;
}

static void find(const struct binary_graph *g, const uint8_t *phased, struct window *w, struct exec_step *steps)
{
    for (uint32_t s = 0, i = 0; s < g->n_steps; s++) {
        struct touched *t = &w->touched[s % EXEC_WINDOW];
        t->macs = t->n = 0;
        for (uint32_t last = BINARY_NONE; i < g->n_commands && g->commands[i].step == s; last = g->commands[i++].node) {
            if (g->commands[i].node != last)
                touch_nodes(t, g, phased, g->commands[i].node);
        }
        steps[s].beside = s + 1;
        steps[s].heavy = t->macs >= HEAVY_MACS;
        steps[s].waits = waits_of(w, s, 0, &w->all[s % EXEC_WINDOW]);
        if (steps[s].waits & 1)
            steps[s].far = waits_of(w, s, 1, &steps[s].far_all);
        note_beside(w, steps, s);
    }
}

enum status depend_phases(const struct binary_graph *g, uint8_t *phased)
{
    uint32_t *first = mem_array(uint32_t, g->n_nodes); /* step + 1 */
    RETURN_IF(!first, ST_NO_MEMORY, "graph \"%s\": no memory for %u nodes", g->info.name, g->n_nodes);
    for (uint32_t i = 0; i < g->n_commands; i++) {
        uint32_t node = g->commands[i].node, step = g->commands[i].step + 1;
        first[node] = first[node] ? first[node] : step;
        phased[node] |= first[node] != step;
    }
    mem_free(first);
    return ST_OK;
}

enum status depend_load(const struct binary_graph *g, const uint8_t *phased, struct exec_step *steps)
{
    struct window *w = mem_new(struct window);
    RETURN_IF(!w, ST_NO_MEMORY, "graph \"%s\": no memory to find out which steps wait for which", g->info.name);
    find(g, phased, w, steps);
    mem_free(w);
    return ST_OK;
}

/* Two steps that are worth a thread each. */
static bool side_by_side(const struct exec_step *steps, uint32_t n)
{
    for (uint32_t s = 0; s < n; s++)
        for (uint32_t k = s + 1; steps[s].heavy && k < steps[s].beside; k++)
            if (steps[k].heavy)
                return true;
    return false;
}

enum status exec_wants_team(const struct binary_graph *g, bool *ret)
{
    *ret = g->n_commands > g->n_steps;
    if (*ret || g->n_steps < 2)
        return ST_OK;
    struct exec_step *steps = mem_array(struct exec_step, g->n_steps);
    uint8_t *phased = mem_array(uint8_t, g->n_nodes);
    enum status st = steps && phased
                         ? depend_load(g, phased, steps)
                         : status_fail(ST_NO_MEMORY, "graph \"%s\": no memory for %u steps", g->info.name, g->n_steps);
    *ret = st == ST_OK && side_by_side(steps, g->n_steps);
    mem_free(steps);
    mem_free(phased);
    return st;
}
