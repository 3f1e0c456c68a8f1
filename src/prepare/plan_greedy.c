/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy plans: take the buffers in some order, put each into a gap between those already there.
 *
 * The buffers placed so far are kept sorted by offset, so one walk upwards sees every gap of the new buffer's lifetime:
 *
 *     walk:  ... | p |  gap  | q | r |  gap  | s | open end      only p, q, r, s that are alive together with it count
 *
 * First fit takes the lowest gap, best fit the smallest one. No order is good everywhere, so plan_heuristics tries
 * several and keeps the best. Cost: n walks of at most n entries for each order. */
#include "prepare/plan.h"

#include <stdlib.h>

#include "base/mem.h"

struct placed {
    uint64_t offset, end;
    uint32_t first, last;
};

struct ranked {
    double major, minor;   /* larger comes first */
    uint32_t first, index; /* then the earlier one, so that sorting is deterministic */
};

struct greedy {
    const struct plan_buf *b;
    uint32_t n;
    struct ranked *order;
    struct placed *placed; /* sorted by offset */
    uint32_t count;
    uint64_t *offset;      /* the plan being made */
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

/* Offset of the chosen gap, PLAN_ANY when the buffer would end beyond PLAN_MAX. */
static uint64_t find_gap(const struct greedy *g, const struct plan_buf *b, bool best_fit)
{
    uint64_t floor = 0, best = PLAN_ANY, best_room = UINT64_MAX;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct placed *p = &g->placed[i];
        if (p->first > b->last || b->first > p->last)
            continue;
        uint64_t at = plan_align_up(floor, b->align);
        if (at < p->offset && p->offset - at >= b->size) {
            if (!best_fit)
                return at;
            if (p->offset - floor < best_room) {
                best_room = p->offset - floor;
                best = at;
            }
        }
        if (p->end > floor)
            floor = p->end;
    }
    if (best != PLAN_ANY)
        return best;
    uint64_t at = plan_align_up(floor, b->align);
    return at <= PLAN_MAX && b->size <= PLAN_MAX - at ? at : PLAN_ANY;
}

static void insert_placed(struct greedy *g, uint32_t index, uint64_t offset)
{
    const struct plan_buf *b = &g->b[index];
    uint32_t at = g->count++;
    for (; at > 0 && g->placed[at - 1].offset > offset; at--)
        g->placed[at] = g->placed[at - 1];
    g->placed[at] = (struct placed){ offset, offset + b->size, b->first, b->last };
    g->offset[index] = offset;
}

/* One plan; returns its total or PLAN_ANY. */
static uint64_t greedy_run(struct greedy *g, const struct greedy_order *o)
{
    uint64_t total = 0;
    g->count = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        g->order[i] = (struct ranked){ o->major(&g->b[i]), o->minor(&g->b[i]), g->b[i].first, i };
        g->offset[i] = g->b[i].fixed == PLAN_ANY ? 0 : g->b[i].fixed;
        if (g->b[i].fixed != PLAN_ANY && g->b[i].size)
            insert_placed(g, i, g->b[i].fixed);
    }
    qsort(g->order, g->n, sizeof(*g->order), compare_ranked);
    for (uint32_t k = 0; k < g->n; k++) {
        uint32_t i = g->order[k].index;
        if (g->b[i].size && g->b[i].fixed == PLAN_ANY) {
            uint64_t at = find_gap(g, &g->b[i], o->best_fit);
            if (at == PLAN_ANY)
                return PLAN_ANY;
            insert_placed(g, i, at);
        }
        if (g->offset[i] + g->b[i].size > total)
            total = g->offset[i] + g->b[i].size;
    }
    return total;
}

static void greedy_finish(struct greedy *g)
{
    mem_free(g->order);
    mem_free(g->placed);
    mem_free(g->offset);
}

static enum status greedy_init(struct greedy *g, const struct plan_buf *b, uint32_t n)
{
    *g = (struct greedy){ .b = b, .n = n, .order = mem_array(struct ranked, n), .placed = mem_array(struct placed, n),
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

enum status plan_heuristics(struct plan_buf *b, uint32_t n, uint64_t goal, uint64_t *ret_total)
{
    struct greedy g;
    TRY(greedy_init(&g, b, n));
    /* the walks are quadratic: very large parts get fewer of them */
    int tries = n > 16384 ? 1 : n > 4096 ? 2 : GREEDY_ORDERS;
    uint64_t best = PLAN_ANY;
    for (int k = 0; k < tries && (best == PLAN_ANY || best > goal); k++) {
        uint64_t total = greedy_run(&g, &greedy_orders[k]);
        if (total < best) {
            best = total;
            take_offsets(&g, b);
        }
    }
    greedy_finish(&g);
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
    uint64_t total = greedy_run(&g, &greedy_orders[0]);
    if (total != PLAN_ANY)
        take_offsets(&g, b);
    greedy_finish(&g);
    return total;
}
