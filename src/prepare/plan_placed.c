/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that have their place already, and the gaps that they leave for another one.
 *
 * They are kept sorted by offset, so one walk upwards sees every gap of the new buffer's lifetime:
 *
 *     walk:  ... | p |  gap  | q | r |  gap  | s | open end      only p, q, r, s that are alive together with it count
 *
 * The list is cut into blocks. A block knows enough of those in it to be stepped over as a whole: when none of them is
 * alive together with the new buffer, or all of them are and no gap between them is large enough.
 *
 * Of many buffers most live at other times. Time is cut into slots, slots are put together in twos, fours and so on, and a
 * buffer stands on the level whose shares of time are as long as its life, so in one of them or two. Where those that share
 * time with a new buffer are few, they are collected and sorted, and the walk is over them alone. */
#include "prepare/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

enum {
    BLOCK = 64,
    SLOTS_FROM = 512, /* so many buffers make slots worth while */
    MAX_SLOTS = 2048,
    MAX_LEVELS = 12,    /* the last one is a single share */
    SORTING_COSTS = 16, /* as much per entry as walking over so many */
};

struct placed {
    uint64_t offset, end;
    uint32_t first, last;
};

struct block {
    uint32_t n, first_min, first_max, last_min, last_max;
    uint64_t end_max, gap_max; /* of gaps inside the block, if all of it counts */
    struct placed in[BLOCK];   /* sorted by offset */
};

struct share {
    VEC(struct placed) in;
};

struct plan_placed {
    uint32_t n; /* placed */
    uint32_t n_blocks;
    struct block *blocks; /* in the order in which they were begun */
    uint32_t *sorted;     /* blocks by offset */
    uint32_t n_slots, n_levels;
    struct share *levels[MAX_LEVELS]; /* all in one piece, the first one's; none: without */
    uint64_t origin, span;            /* steps: the first, and how many to a slot */
    struct placed *near;              /* those that one buffer meets */
};

/* ---- by offset -------------------------------------------------------------------------------------------------------- */

static void block_sum_up(struct block *k)
{
    k->first_min = k->last_min = UINT32_MAX;
    k->first_max = k->last_max = 0;
    k->end_max = k->gap_max = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        const struct placed *p = &k->in[i];
        if (i && p->offset > k->end_max && p->offset - k->end_max > k->gap_max)
            k->gap_max = p->offset - k->end_max;
        k->end_max = p->end > k->end_max ? p->end : k->end_max;
        k->first_min = p->first < k->first_min ? p->first : k->first_min;
        k->first_max = p->first > k->first_max ? p->first : k->first_max;
        k->last_min = p->last < k->last_min ? p->last : k->last_min;
        k->last_max = p->last > k->last_max ? p->last : k->last_max;
    }
}

/* The last block that begins at this offset or below, or the first. */
static uint32_t block_for(const struct plan_placed *x, uint64_t offset)
{
    uint32_t lo = 1, hi = x->n_blocks;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->blocks[x->sorted[mid]].in[0].offset <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo - 1;
}

/* The upper half of a full block becomes one of its own. */
static void block_split(struct plan_placed *x, uint32_t at)
{
    struct block *k = &x->blocks[x->sorted[at]], *upper = &x->blocks[x->n_blocks];
    upper->n = BLOCK / 2;
    k->n = BLOCK - BLOCK / 2;
    memcpy(upper->in, k->in + k->n, upper->n * sizeof(*k->in));
    block_sum_up(upper);
    memmove(x->sorted + at + 2, x->sorted + at + 1, (x->n_blocks - at - 1) * sizeof(*x->sorted));
    x->sorted[at + 1] = x->n_blocks++;
}

static void put_by_offset(struct plan_placed *x, struct placed p)
{
    uint32_t at = block_for(x, p.offset);
    if (x->blocks[x->sorted[at]].n == BLOCK) {
        block_split(x, at);
        at = block_for(x, p.offset);
    }
    struct block *k = &x->blocks[x->sorted[at]];
    uint32_t i = k->n++;
    for (; i && k->in[i - 1].offset > p.offset; i--)
        k->in[i] = k->in[i - 1];
    k->in[i] = p;
    block_sum_up(k);
}

/* ---- by time ---------------------------------------------------------------------------------------------------------- */

static uint32_t slot_of(const struct plan_placed *x, uint32_t step)
{
    return (uint32_t)((step - x->origin) / x->span);
}

static bool put_by_time(struct plan_placed *x, struct placed p)
{
    uint32_t from = slot_of(x, p.first), to = slot_of(x, p.last), level = 0;
    while ((to - from) >> level)
        level++;
    for (uint32_t s = from >> level; s <= to >> level; s++) {
        struct placed *in = vec_push(&x->levels[level][s].in);
        if (!in)
            return false;
        *in = p;
    }
    return true;
}

static int compare_placed(const void *pa, const void *pb)
{
    const struct placed *a = pa, *b = pb;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Collecting and sorting those of its shares of time is less work than walking over all. */
static bool meets_few(const struct plan_placed *x, const struct plan_buf *b)
{
    size_t n = 0, few = x->n / SORTING_COSTS;
    for (uint32_t level = 0; level < x->n_levels; level++)
        for (uint32_t s = slot_of(x, b->first) >> level; s <= slot_of(x, b->last) >> level && n < few; s++)
            n += x->levels[level][s].in.n;
    return x->n_levels && n < few;
}

/* Who is placed in the lifetime of b, sorted by offset; some may be there twice. */
static uint32_t collect_near(const struct plan_placed *x, const struct plan_buf *b)
{
    uint32_t n = 0;
    for (uint32_t level = 0; level < x->n_levels; level++)
        for (uint32_t s = slot_of(x, b->first) >> level; s <= slot_of(x, b->last) >> level; s++)
            for (size_t i = 0; i < x->levels[level][s].in.n; i++) {
                const struct placed *p = &x->levels[level][s].in.at[i];
                if (p->first <= b->last && b->first <= p->last)
                    x->near[n++] = *p;
            }
    qsort(x->near, n, sizeof(*x->near), compare_placed);
    return n;
}

/* ---- gaps ------------------------------------------------------------------------------------------------------------- */

struct walk {
    const struct plan_buf *b;
    bool best_fit, found; /* found: there is no better one to come */
    uint64_t floor;       /* all that count so far end here or below */
    uint64_t best, best_room;
};

static void walk_over(struct walk *w, const struct placed *list, uint32_t n)
{
    const struct plan_buf *b = w->b;
    for (uint32_t i = 0; i < n; i++) {
        const struct placed *p = &list[i];
        if (p->first > b->last || b->first > p->last)
            continue;
        uint64_t at = plan_align_up(w->floor, b->align);
        if (at < p->offset && p->offset - at >= b->size && p->offset - w->floor < w->best_room) {
            w->best_room = p->offset - w->floor;
            w->best = at;
            if ((w->found = !w->best_fit))
                return;
        }
        if (p->end > w->floor)
            w->floor = p->end;
    }
}

/* What a walk over this block would do, where that is clear without one. */
static bool step_over(struct walk *w, const struct block *k)
{
    const struct plan_buf *b = w->b;
    if (k->end_max <= w->floor || k->first_min > b->last || b->first > k->last_max)
        return true;
    if (k->first_max > b->last || b->first > k->last_min || k->gap_max >= b->size)
        return false;
    if (k->in[0].offset > w->floor && k->in[0].offset - w->floor >= b->size)
        return false;
    w->floor = k->end_max;
    return true;
}

uint64_t plan_placed_gap(const struct plan_placed *x, const struct plan_buf *b, bool best_fit)
{
    struct walk w = { .b = b, .best_fit = best_fit, .best = PLAN_ANY, .best_room = UINT64_MAX };
    if (meets_few(x, b)) {
        walk_over(&w, x->near, collect_near(x, b));
    } else {
        for (uint32_t i = 0; i < x->n_blocks && !w.found; i++) {
            const struct block *k = &x->blocks[x->sorted[i]];
            if (!step_over(&w, k))
                walk_over(&w, k->in, k->n);
        }
    }
    if (w.best != PLAN_ANY)
        return w.best;
    uint64_t at = plan_align_up(w.floor, b->align);
    return at <= PLAN_MAX && b->size <= PLAN_MAX - at ? at : PLAN_ANY;
}

bool plan_placed_put(struct plan_placed *x, const struct plan_buf *b, uint64_t offset)
{
    struct placed p = { offset, offset + b->size, b->first, b->last };
    x->n++;
    put_by_offset(x, p);
    return !x->n_levels || put_by_time(x, p);
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static uint32_t count_shares(const struct plan_placed *x)
{
    uint32_t n = 0;
    for (uint32_t level = 0; level < x->n_levels; level++)
        n += ((x->n_slots - 1) >> level) + 1;
    return n;
}

static bool make_levels(struct plan_placed *x, const struct plan_buf *b, uint32_t n)
{
    uint64_t first = UINT32_MAX, last = 0;
    for (uint32_t i = 0; i < n; i++) {
        first = b[i].first < first ? b[i].first : first;
        last = b[i].last > last ? b[i].last : last;
    }
    x->n_slots = n / 16 < MAX_SLOTS ? n / 16 : MAX_SLOTS;
    x->origin = first;
    x->span = (last - first) / x->n_slots + 1;
    for (x->n_levels = 1; (x->n_slots - 1) >> (x->n_levels - 1);)
        x->n_levels++;
    x->near = mem_array(struct placed, n / SORTING_COSTS);
    x->levels[0] = mem_array(struct share, count_shares(x));
    for (uint32_t level = 1; x->levels[0] && level < x->n_levels; level++)
        x->levels[level] = x->levels[level - 1] + ((x->n_slots - 1) >> (level - 1)) + 1;
    return x->near && x->levels[0];
}

void plan_placed_clear(struct plan_placed *x)
{
    uint32_t shares = count_shares(x);
    for (uint32_t i = 0; i < shares; i++)
        x->levels[0][i].in.n = 0;
    x->n = 0;
    x->n_blocks = 1; /* an empty one */
    x->sorted[0] = 0;
    x->blocks[0].n = 0;
    block_sum_up(&x->blocks[0]);
}

void plan_placed_free(struct plan_placed *x)
{
    if (!x)
        return;
    uint32_t shares = x->levels[0] ? count_shares(x) : 0;
    for (uint32_t i = 0; i < shares; i++)
        vec_finish(&x->levels[0][i].in);
    mem_free(x->levels[0]);
    mem_free(x->near);
    mem_free(x->sorted);
    mem_free(x->blocks);
    mem_free(x);
}

struct plan_placed *plan_placed_new(const struct plan_buf *b, uint32_t n)
{
    uint32_t most = n / (BLOCK / 2) + 1; /* blocks are at least half full when there are several */
    struct plan_placed *x = mem_new(struct plan_placed);
    if (!x)
        return NULL;
    x->blocks = mem_array(struct block, most);
    x->sorted = mem_array(uint32_t, most);
    if (!x->blocks || !x->sorted || (n >= SLOTS_FROM && !make_levels(x, b, n))) {
        plan_placed_free(x);
        return NULL;
    }
    plan_placed_clear(x);
    return x;
}
