/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps wait for which. A step waits for an earlier one when one of them writes memory that the other one touches:
 * results of the other, memory that the plan uses a second time, guards, states. Nothing is taken from the graph's edges, so
 * whatever a file says, two steps that could see each other run one after the other.
 *
 * Steps are compared with the EXEC_WINDOW before them; a step starts only when everything further back is done. A step that
 * touches too many places waits for all. Workspaces are no such memory: a team does not use those of the plan, every worker
 * has its own. Only nodes with phases keep something in theirs. */
#include "base/mem.h"
#include "exec/program.h"

enum {
    MOST_SPANS = 24,       /* of a step that is compared */
    HEAVY_MACS = 1 << 14,  /* what is worth another thread */
};

/* `space` tells memory apart: a place, or PLACE_COUNT + the entry of the I/O table. */
struct span {
    uint64_t space, begin, end;
    bool write;
};

struct touched {
    const uint8_t *phased;
    uint64_t macs;
    uint32_t n; /* > MOST_SPANS: too many */
    struct span at[MOST_SPANS];
};

static void touch(struct touched *t, struct span s)
{
    if (s.begin >= s.end || t->n > MOST_SPANS)
        return;
    if (t->n < MOST_SPANS)
        t->at[t->n] = s;
    t->n++;
}

static void touch_tensor(struct touched *t, const struct binary_graph *g, uint32_t tensor, bool write)
{
    const struct binary_tensor *b = tensor == BINARY_NONE ? NULL : &g->tensors[tensor];
    if (!b || b->place == PLACE_NONE || b->place == PLACE_CONST || b->place == PLACE_LINES)
        return;
    uint64_t begin = b->place == PLACE_IO ? 0 : b->offset;
    touch(t, (struct span){ .space = b->place == PLACE_IO ? PLACE_COUNT + b->offset : b->place,
                            .begin = begin,
                            .end = begin + desc_bytes(&b->desc),
                            .write = write });
}

/* Nothing to do: the result is where the input is. Its readers wait for whoever wrote that. */
static bool is_quiet(const struct binary_graph *g, const struct binary_node *n)
{
    if (!(n->op->flags & OP_VIEW) || n->n_out != 1 || !n->n_in || n->in[0] == BINARY_NONE || n->out[0] == BINARY_NONE)
        return false;
    const struct binary_tensor *in = &g->tensors[n->in[0]], *out = &g->tensors[n->out[0]];
    return in->place == out->place && in->offset == out->offset;
}

static void touch_node(struct touched *t, const struct binary_graph *g, uint32_t node)
{
    const struct binary_node *n = &g->nodes[node];
    if (is_quiet(g, n))
        return;
    t->macs += n->macs;
    for (uint32_t i = 0; i < n->n_in; i++)
        touch_tensor(t, g, n->in[i], false);
    for (uint32_t i = 0; i < n->n_out; i++)
        touch_tensor(t, g, n->out[i], true);
    for (uint32_t i = 0; i < n->n_guards; i++)
        touch_tensor(t, g, n->guards[2 * i], false);
    if (n->op->id == OP_NONE) /* an op package: a memory that only the client's library knows */
        touch(t, (struct span){ .space = PLACE_COUNT + (uint64_t)UINT32_MAX + 1, .begin = 0, .end = 1, .write = true });
    if (t->phased[node])
        touch(t,
              (struct span){
                  .space = PLACE_SCRATCH, .begin = n->work_offset, .end = n->work_offset + n->work_bytes, .write = true });
    touch(t,
          (struct span){
              .space = PLACE_PERSISTENT, .begin = n->state_offset, .end = n->state_offset + n->state_bytes, .write = true });
}

static void touch_command(struct touched *t, const struct binary_graph *g, uint32_t node)
{
    const struct binary_chain *c = g->chain_of && g->chain_of[node] != BINARY_NONE ? &g->chains[g->chain_of[node]] : NULL;
    for (uint32_t i = c ? c->first : node; i <= node; i++)
        touch_node(t, g, i);
}

static bool meet(const struct span *a, const struct span *b)
{
    return a->space == b->space && a->begin < b->end && b->begin < a->end && (a->write || b->write);
}

static bool depends(const struct touched *a, const struct touched *b)
{
    if (a->n > MOST_SPANS || b->n > MOST_SPANS)
        return true;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n; k++)
            if (meet(&a->at[i], &b->at[k]))
                return true;
    return false;
}

/* The last steps seen, at their number modulo EXEC_WINDOW. */
struct window {
    struct touched touched[EXEC_WINDOW];
    uint32_t all[EXEC_WINDOW]; /* what each waits for, directly or not; bits as in exec_step.waits */
};

/* The nearest first: whatever those wait for need not be looked at. */
static uint32_t waits_of(struct window *w, uint32_t step)
{
    const struct touched *own = &w->touched[step % EXEC_WINDOW];
    uint32_t waits = 0, all = 0;
    for (uint32_t i = 0; i + 1 < EXEC_WINDOW && i < step; i++) {
        uint32_t before = (step - 1 - i) % EXEC_WINDOW;
        if (all >> i & 1 || !depends(&w->touched[before], own))
            continue;
        waits |= 1u << i;
        all |= 1u << i | (uint32_t)((uint64_t)w->all[before] << (i + 1));
    }
    w->all[step % EXEC_WINDOW] = all;
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
        t->phased = phased;
        t->macs = t->n = 0;
        for (uint32_t last = BINARY_NONE; i < g->n_commands && g->commands[i].step == s; last = g->commands[i++].node) {
            if (g->commands[i].node != last)
                touch_command(t, g, g->commands[i].node);
        }
        steps[s].beside = s + 1;
        steps[s].heavy = t->macs >= HEAVY_MACS;
        steps[s].waits = waits_of(w, s);
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
