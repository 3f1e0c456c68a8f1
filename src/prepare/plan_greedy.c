/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy plans: take the buffers in some order, put each into a gap between those already there.
 *
 * The buffers placed so far are kept sorted by offset, so one walk upwards sees every gap of the new buffer's lifetime:
 *
 *     walk:  ... | p |  gap  | q | r |  gap  | s | open end      only p, q, r, s that are alive together with it count
 *
 * First fit takes the lowest gap, best fit the smallest one. No order is good everywhere, so plan_heuristics tries
 * several and keeps the best. Cost: n walks of at most n entries for each order. With many buffers the walk is over a list
 * that is collected for it: time is cut into slots, each slot knows who is placed in it. */
#include "prepare/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"

enum {
    SLOTS_FROM = 512, /* so many buffers make slots worth while */
    MAX_SLOTS = 2048,
    SWEEP_FROM = 4096,
    SORTING_COSTS = 16, /* as much per entry as walking over so many */
    CLOCK_EVERY = 64, /* buffers between looks at the clock */
};

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
    struct placed *near;   /* with slots: those that one buffer meets */
    struct slot *slots;    /* NULL: without */
    uint32_t n_slots;
    uint64_t origin, span; /* steps: the first, and how many to a slot */
    bool no_memory;
};

/* A share of time, and who is placed in it. */
struct slot {
    VEC(struct placed) in;
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

static uint32_t slot_of(const struct greedy *g, uint32_t step)
{
    return (uint32_t)((step - g->origin) / g->span);
}

static int compare_placed(const void *pa, const void *pb)
{
    const struct placed *a = pa, *b = pb;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Who is placed in the lifetime of b, sorted by offset; each is taken in the first slot it shares with b. */
static uint32_t collect_near(const struct greedy *g, const struct plan_buf *b)
{
    uint32_t n = 0, from = slot_of(g, b->first), to = slot_of(g, b->last);
    for (uint32_t s = from; s <= to; s++)
        for (size_t i = 0; i < g->slots[s].in.n; i++) {
            const struct placed *p = &g->slots[s].in.at[i];
            if (p->first <= b->last && b->first <= p->last && (s == from || slot_of(g, p->first) == s))
                g->near[n++] = *p;
        }
    qsort(g->near, n, sizeof(*g->near), compare_placed);
    return n;
}

/* Collecting and sorting those of its slots is less work than walking over all. */
static bool meets_few(const struct greedy *g, const struct plan_buf *b)
{
    size_t n = 0;
    for (uint32_t s = g->slots ? slot_of(g, b->first) : 1; g->slots && s <= slot_of(g, b->last) && n < g->count; s++)
        n += g->slots[s].in.n;
    return g->slots && n < g->count / SORTING_COSTS;
}

/* Offset of the chosen gap, PLAN_ANY when the buffer would end beyond PLAN_MAX. */
static uint64_t find_gap(const struct greedy *g, const struct plan_buf *b, bool best_fit)
{
    uint64_t floor = 0, best = PLAN_ANY, best_room = UINT64_MAX;
    bool few = meets_few(g, b);
    uint32_t count = few ? collect_near(g, b) : g->count;
    const struct placed *list = few ? g->near : g->placed;
    for (uint32_t i = 0; i < count; i++) {
        const struct placed *p = &list[i];
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

/* Behind all that lie at this offset or below. */
static uint32_t place_for(const struct greedy *g, uint64_t offset)
{
    uint32_t lo = 0, hi = g->count;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (g->placed[mid].offset <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void insert_placed(struct greedy *g, uint32_t index, uint64_t offset)
{
    const struct plan_buf *b = &g->b[index];
    g->offset[index] = offset;
    for (uint32_t s = g->slots ? slot_of(g, b->first) : 1; g->slots && s <= slot_of(g, b->last); s++) {
        struct placed *p = vec_push(&g->slots[s].in);
        g->no_memory |= !p;
        if (p)
            *p = (struct placed){ offset, offset + b->size, b->first, b->last };
    }
    uint32_t at = place_for(g, offset);
    memmove(g->placed + at + 1, g->placed + at, (g->count++ - at) * sizeof(*g->placed));
    g->placed[at] = (struct placed){ offset, offset + b->size, b->first, b->last };
}

/* Buffers in the order in which their lives begin, each into the lowest gap: only those alive then count, so this is quick.
 * Without fixed buffers. */
static uint64_t greedy_sweep(struct greedy *g)
{
    static const struct greedy_order order = { key_early, key_size, false };
    struct placed *live = g->placed;
    uint32_t n = 0;
    uint64_t total = 0;
    rank_all(g, &order);
    for (uint32_t k = 0; k < g->n; k++) {
        const struct plan_buf *b = &g->b[g->order[k].index];
        uint64_t floor = 0, at = PLAN_ANY;
        uint32_t kept = 0, place = 0;
        for (uint32_t i = 0; i < n; i++)
            if (live[i].last >= b->first)
                live[kept++] = live[i];
        n = kept;
        for (; place < n; place++) {
            at = plan_align_up(floor, b->align);
            if (at < live[place].offset && live[place].offset - at >= b->size)
                break;
            floor = live[place].end > floor ? live[place].end : floor;
        }
        at = plan_align_up(floor, b->align);
        if (at > PLAN_MAX || b->size > PLAN_MAX - at)
            return PLAN_ANY;
        for (uint32_t i = n++; i > place; i--)
            live[i] = live[i - 1];
        live[place] = (struct placed){ at, at + b->size, b->first, b->last };
        g->offset[g->order[k].index] = at;
        total = at + b->size > total ? at + b->size : total;
    }
    return total;
}

/* One plan; returns its total, or PLAN_ANY when there is none or it would be ready too late. */
static uint64_t greedy_run(struct greedy *g, const struct greedy_order *o, uint64_t until_ns)
{
    uint64_t total = 0;
    g->count = 0;
    for (uint32_t s = 0; s < g->n_slots; s++)
        g->slots[s].in.n = 0;
    rank_all(g, o);
    for (uint32_t i = 0; i < g->n; i++) {
        g->offset[i] = g->b[i].fixed == PLAN_ANY ? 0 : g->b[i].fixed;
        if (g->b[i].fixed != PLAN_ANY && g->b[i].size)
            insert_placed(g, i, g->b[i].fixed);
    }
    for (uint32_t k = 0; k < g->n; k++) {
        uint32_t i = g->order[k].index;
        if (until_ns != PLAN_FOREVER && k % CLOCK_EVERY == 0 && clock_ns() > until_ns)
            return PLAN_ANY;
        if (g->b[i].size && g->b[i].fixed == PLAN_ANY) {
            uint64_t at = find_gap(g, &g->b[i], o->best_fit);
            if (at == PLAN_ANY)
                return PLAN_ANY;
            insert_placed(g, i, at);
        }
        if (g->offset[i] + g->b[i].size > total)
            total = g->offset[i] + g->b[i].size;
    }
    return g->no_memory ? PLAN_ANY : total;
}

static void greedy_finish(struct greedy *g)
{
    for (uint32_t s = 0; s < g->n_slots; s++)
        vec_finish(&g->slots[s].in);
    mem_free(g->slots);
    mem_free(g->near);
    mem_free(g->order);
    mem_free(g->placed);
    mem_free(g->offset);
}

static bool make_slots(struct greedy *g)
{
    uint64_t first = UINT32_MAX, last = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        first = g->b[i].first < first ? g->b[i].first : first;
        last = g->b[i].last > last ? g->b[i].last : last;
    }
    uint32_t wanted = g->n / 16 < MAX_SLOTS ? g->n / 16 : MAX_SLOTS;
    g->origin = first;
    g->span = (last - first) / wanted + 1;
    g->near = mem_array(struct placed, g->n);
    g->slots = mem_array(struct slot, wanted);
    g->n_slots = g->slots ? wanted : 0;
    return g->near && g->slots;
}

static enum status greedy_init(struct greedy *g, const struct plan_buf *b, uint32_t n)
{
    *g = (struct greedy){ .b = b, .n = n, .order = mem_array(struct ranked, n), .placed = mem_array(struct placed, n),
                          .offset = mem_array(uint64_t, n) };
    if (g->order && g->placed && g->offset && (n < SLOTS_FROM || make_slots(g)))
        return ST_OK;
    greedy_finish(g);
    return status_fail(ST_NO_MEMORY, "memory plan: greedy plan of %u buffers", n);
}

static void take_offsets(const struct greedy *g, struct plan_buf *b)
{
    for (uint32_t i = 0; i < g->n; i++)
        b[i].offset = g->offset[i];
}

static bool any_fixed(const struct plan_buf *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (b[i].fixed != PLAN_ANY)
            return true;
    return false;
}

enum status plan_heuristics(struct plan_buf *b, uint32_t n, uint64_t goal, uint64_t until_ns, uint64_t *ret_total)
{
    struct greedy g;
    TRY(greedy_init(&g, b, n));
    /* very large parts get fewer tries; with a deadline there must be some plan soon, whatever it is */
    int tries = n > 65536 ? 1 : n > 16384 ? 2 : GREEDY_ORDERS;
    uint64_t best = n > SWEEP_FROM && until_ns != PLAN_FOREVER && !any_fixed(b, n) ? greedy_sweep(&g) : PLAN_ANY;
    if (best != PLAN_ANY)
        take_offsets(&g, b);
    for (int k = 0; k < tries && (best == PLAN_ANY || best > goal); k++) {
        uint64_t total = greedy_run(&g, &greedy_orders[k], best == PLAN_ANY ? PLAN_FOREVER : until_ns);
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
