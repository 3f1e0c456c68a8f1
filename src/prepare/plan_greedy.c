/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy plans: take the buffers in some order, put each into a gap between those already there (plan_placed.c). First fit
 * takes the lowest gap, best fit the smallest one. No order is good everywhere, so plan_heuristics tries several and keeps
 * the best. */
#include "prepare/plan.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

enum {
    HURRY_FROM = 4096, /* so many buffers may be too many for a deadline */
    CLOCK_EVERY = 64,  /* buffers between looks at the clock */
};

struct ranked {
    double major, minor;   /* larger comes first */
    uint32_t first, index; /* then the earlier one, so that sorting is deterministic */
};

struct greedy {
    const struct plan_buf *b;
    uint32_t n;
    struct ranked *order;
    struct plan_placed *placed;
    uint64_t *offset; /* the plan being made */
    bool no_memory;
};

typedef double (*greedy_key)(const struct plan_buf *b);

static double lifetime(const struct plan_buf *b)
{
    return (double)b->last - (double)b->first + 1;
}

static double key_size(const struct plan_buf *b)
{
    return (double)b->size;
}

static double key_area(const struct plan_buf *b)
{
    return (double)b->size * lifetime(b);
}

static double key_early(const struct plan_buf *b)
{
    return -(double)b->first;
}

struct greedy_order {
    greedy_key major, minor;
    bool best_fit;
};
static const struct greedy_order greedy_orders[] = { /* the first is the plain baseline */
    { key_size, lifetime, true },  { key_area, key_size, false },  { key_size, lifetime, false },
    { lifetime, key_size, false }, { key_early, lifetime, false }, { key_early, key_size, true },
};
enum { GREEDY_ORDERS = sizeof(greedy_orders) / sizeof(greedy_orders[0]) };

static int compare_ranked(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    if (a->major != b->major)
        return a->major > b->major ? -1 : 1;
    if (a->minor != b->minor)
        return a->minor > b->minor ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void rank_all(struct greedy *g, const struct greedy_order *o)
{
    for (uint32_t i = 0; i < g->n; i++)
        g->order[i] = (struct ranked){ o->major(&g->b[i]), o->minor(&g->b[i]), g->b[i].first, i };
    qsort(g->order, g->n, sizeof(*g->order), compare_ranked);
}

static void put(struct greedy *g, uint32_t index, uint64_t offset)
{
    g->offset[index] = offset;
    g->no_memory |= !plan_placed_put(g->placed, &g->b[index], offset);
}

/* One plan; returns its total, or PLAN_ANY when there is none or it would be ready too late. */
static uint64_t greedy_run(struct greedy *g, const struct greedy_order *o, uint64_t until_ns)
{
    uint64_t total = 0;
    plan_placed_clear(g->placed);
    rank_all(g, o);
    for (uint32_t i = 0; i < g->n; i++) {
        g->offset[i] = g->b[i].fixed == PLAN_ANY ? 0 : g->b[i].fixed;
        if (g->b[i].fixed != PLAN_ANY && g->b[i].size)
            put(g, i, g->b[i].fixed);
    }
    for (uint32_t k = 0; k < g->n; k++) {
        uint32_t i = g->order[k].index;
        if (until_ns != PLAN_FOREVER && k % CLOCK_EVERY == 0 && clock_ns() > until_ns)
            return PLAN_ANY;
        if (g->b[i].size && g->b[i].fixed == PLAN_ANY) {
            uint64_t at = plan_placed_gap(g->placed, &g->b[i], o->best_fit);
            if (at == PLAN_ANY)
                return PLAN_ANY;
            put(g, i, at);
        }
        if (g->offset[i] + g->b[i].size > total)
            total = g->offset[i] + g->b[i].size;
    }
    return g->no_memory ? PLAN_ANY : total;
}

static void greedy_finish(struct greedy *g)
{
    plan_placed_free(g->placed);
    mem_free(g->order);
    mem_free(g->offset);
}

static enum status greedy_init(struct greedy *g, const struct plan_buf *b, uint32_t n)
{
    *g = (struct greedy){ .b = b,
                          .n = n,
                          .order = mem_array(struct ranked, n),
                          .placed = plan_placed_new(b, n),
                          .offset = mem_array(uint64_t, n) };
    if (g->order && g->placed && g->offset)
        return ST_OK;
    greedy_finish(g);
    return status_fail(ST_NO_MEMORY, "memory plan: greedy plan of %u buffers", n);
}

static void take_offsets(const struct greedy *g, struct plan_buf *b)
{
    for (uint32_t i = 0; i < g->n; i++)
        b[i].offset = g->offset[i];
}

enum status plan_heuristics(struct plan_buf *b, uint32_t n, uint64_t goal, uint64_t until_ns, uint64_t *ret_total)
{
    /* Whoever is placed began to live before, and few of them still do: this is quick. */
    static const struct greedy_order hurry = { key_early, key_size, false };
    struct greedy g;
    TRY(greedy_init(&g, b, n));
    /* very large parts get fewer tries; with a deadline there must be some plan soon, whatever it is */
    int tries = n > 65536 ? 1 : n > 16384 ? 2 : GREEDY_ORDERS;
    uint64_t best = PLAN_ANY;
    for (int k = n > HURRY_FROM && until_ns != PLAN_FOREVER ? -1 : 0; k < tries && (best == PLAN_ANY || best > goal); k++) {
        uint64_t total = greedy_run(&g, k < 0 ? &hurry : &greedy_orders[k], best == PLAN_ANY ? PLAN_FOREVER : until_ns);
        if (total < best) {
            best = total;
            take_offsets(&g, b);
        }
    }
    bool no_memory = g.no_memory;
    greedy_finish(&g);
    RETURN_IF(no_memory && best == PLAN_ANY, ST_NO_MEMORY, "memory plan: greedy plan of %u buffers", n);
    *ret_total = best;
    return ST_OK;
}

uint64_t plan_greedy_by_size(struct plan_buf *b, size_t n)
{
    struct greedy g;
    if (n > UINT32_MAX / 2 || greedy_init(&g, b, (uint32_t)n) != ST_OK)
        return PLAN_ANY;
    for (size_t i = 0; i < n; i++)
        if (b[i].align == 0)
            b[i].align = 1;
    uint64_t total = greedy_run(&g, &greedy_orders[0], PLAN_FOREVER);
    if (total != PLAN_ANY)
        take_offsets(&g, b);
    greedy_finish(&g);
    return total;
}
