/* SPDX-License-Identifier: Apache-2.0 */
/* Exact search: is there a plan within a capacity?
 *
 * Any plan can be pushed down until every buffer rests on the ground or on another one, so only such plans are built,
 * from the ground up. Each buffer still to be placed has a lowest possible offset `low`; the floor of a section is the
 * least `low` in it. A valley is a run of sections with equal floor between higher walls:
 *
 *     floor  3 |#####         #######      the buffers whose `low` is the valley's floor lie inside it altogether, and
 *            2 |#####    #####             nothing can come below them any more. One of them is chosen, and either
 *            1 |     ####                    place:  it lies right there; all that overlap it in time move above its top
 *     section   0 1 2 3 4 5 6 7 8            raise:  it lies higher, above something not yet placed; its `low` becomes
 *                                                    the least top of what that could be (plan_state.c)
 *
 * The two cases exclude each other, so no plan is met twice. A case is refuted when a buffer's `low` + size, or a section's
 * floor + bytes still to place, exceeds the capacity, or when nothing is left that could carry a raised buffer.
 *
 * When no unplaced buffer crosses a boundary between sections any more, both sides are solved on their own: a failure on
 * one side does not retry the other. What is left of a side is summed up in a hash (who is left, and how low it may go);
 * refuted hashes are remembered, also across restarts with other orders. The method follows the idea of canonical
 * bottom-up plans with per-section bounds (M. D. Moffitt, "MiniMalloc", ASPLOS 2023); place/raise, valleys by fewest
 * choices and the memory of refuted remainders are ours. */
#include "prepare/plan_state.h"

#include "base/clock.h"

enum { CLOCK_EVERY = 256 }; /* steps between looks at the clock */


/* The section to fill next: in a valley, with the fewest ways to go on (waste counts as one way unless there is none to
 * spare), then the lowest, then the tightest. Or, by the other rule, the lowest, then the tightest. */
static uint32_t choose_section(const struct plan_exact *x, uint32_t lo, uint32_t hi)
{
    const struct plan_section *sec = x->section;
    bool fewest = x->how->rule == PLAN_FEWEST_CHOICES;
    uint32_t best = lo, best_ways = UINT32_MAX;
    uint64_t best_floor = UINT64_MAX, best_slack = UINT64_MAX;
    for (uint32_t s = lo, e; s < hi; s = e) {
        uint64_t floor = sec[s].floor;
        for (e = s + 1; e < hi && sec[e].floor == floor; e++)
            ;
        if ((s > lo && sec[s - 1].floor < floor) || (e < hi && sec[e].floor < floor))
            continue;
        for (uint32_t k = s; k < e; k++) {
            uint64_t slack = x->capacity - floor - sec[k].left;
            uint32_t ways = fewest ? sec[k].lowest + (slack > 0) : 0;
            if (ways > best_ways || (ways == best_ways && floor > best_floor) ||
                (ways == best_ways && floor == best_floor && slack >= best_slack))
                continue;
            best = k;
            best_ways = ways;
            best_floor = floor;
            best_slack = slack;
        }
    }
    return best;
}

/* The buffer to decide on, among those at the floor of the section. A raised, a fixed, or one that spans the whole side
 * leaves no choice and comes first; else the one with the largest key. */
static uint32_t choose_item(const struct plan_exact *x, const struct plan_frame *f, const struct plan_section *sec)
{
    uint32_t best = PLAN_NOBODY;
    for (uint32_t k = sec->live; k < sec->live_end; k++) {
        uint32_t i = x->live[k];
        if (x->low[i] != sec->floor)
            continue;
        if ((x->item[i].flags & (PLAN_RAISED | PLAN_FIXED)) || (x->item[i].a == f->lo && x->item[i].b == f->hi))
            return i;
        if (best == PLAN_NOBODY || x->how->key[i] > x->how->key[best])
            best = i;
    }
    return best;
}

/* Buffer i cannot lie at its lowest offset; then none of its equals can, for they could change places. */
static bool raise_kin(struct plan_exact *x, uint32_t i)
{
    const struct plan_item *it = &x->item[i];
    uint64_t low = x->low[i];
    if (x->no_memory || !plan_state_raise(x, i))
        return false;
    for (uint32_t k = it->links; k < it->links_end; k++) {
        const struct plan_item *o = &x->item[x->link[k]];
        if (o->kin == it->kin && x->low[x->link[k]] == low && !(o->flags & (PLAN_PLACED | PLAN_RAISED)) &&
            !plan_state_raise(x, x->link[k]))
            return false;
    }
    return true;
}

/* Decide on buffers of this side until one is placed; false: the side is refuted. */
static bool advance(struct plan_exact *x, struct plan_frame *f)
{
    for (;;) {
        uint32_t i = choose_item(x, f, &x->section[choose_section(x, f->lo, f->hi)]);
        bool apart = false;
        f->mark = x->trail.n;
        if (!(x->item[i].flags & PLAN_RAISED)) {
            if (plan_state_place(x, i, &apart)) {
                f->chosen = i;
                f->cursor = apart ? f->lo : PLAN_NOBODY;
                return true;
            }
            plan_state_undo(x, f->mark);
        }
        if (!raise_kin(x, i))
            return false;
    }
}

/* The next side below frame f that still has something to place; false: all done. */
static bool next_side(struct plan_exact *x, struct plan_frame *f, struct plan_frame *ret)
{
    *ret = (struct plan_frame){ .chosen = PLAN_NOBODY, .base = x->hash, .entry_mark = x->trail.n };
    if (f->cursor == PLAN_NOBODY) { /* still in one piece */
        ret->lo = f->lo;
        ret->hi = f->hi;
        ret->entry_hash = f->entry_hash + (x->hash - f->base);
        f->cursor = f->hi;
        return true;
    }
    uint32_t s = f->cursor, e;
    while (s < f->hi && x->section[s].live == x->section[s].live_end)
        s++;
    if (s == f->hi)
        return false;
    for (e = s + 1; e < f->hi && x->section[e].crossing > 0; e++)
        ;
    f->cursor = e;
    ret->lo = s;
    ret->hi = e;
    ret->entry_hash = plan_state_hash_side(x, s, e);
    return true;
}

/* What is refuted within one capacity may be possible within another. */
static uint64_t mix_capacity(uint64_t capacity)
{
    return (capacity + 1) * 0xd6e8feb86659fd93u;
}

static uint64_t memory_key(const struct plan_frame *f, uint64_t salt)
{
    return (f->entry_hash ^ salt) | (1ull << 63); /* never 0, which means empty */
}

static bool out_of_budget(const struct plan_budget *budget, uint64_t limit)
{
    if (budget->nodes >= limit)
        return true;
    return budget->until_ns != PLAN_FOREVER && budget->nodes % CLOCK_EVERY == 0 && clock_ns() >= budget->until_ns;
}

/* Depth-first over sides. Invariant: every frame below the top has a placed buffer and a cursor behind the side above it. */
static enum plan_answer run(struct plan_exact *x, struct plan_budget *budget, uint64_t limit)
{
    struct plan_frame root = { .hi = x->m, .chosen = PLAN_NOBODY }, *top = x->stack;
    uint64_t salt = mix_capacity(x->capacity);
    *top = root;
    for (;;) {
        bool solved = !next_side(x, top, top + 1);
        if (solved) {
            if (top == x->stack)
                return PLAN_FOUND;
            top--;
            continue;
        }
        top++;
        if (out_of_budget(budget, limit))
            return PLAN_GAVE_UP;
        budget->nodes++;
        uint64_t key = memory_key(top, salt);
        bool alive = x->refuted[key & x->refuted_mask] != key && advance(x, top);
        while (!alive && !x->no_memory) {
            x->refuted[key & x->refuted_mask] = key;
            plan_state_undo(x, top->entry_mark);
            if (--top == x->stack)
                return PLAN_REFUTED;
            key = memory_key(top, salt);
            plan_state_undo(x, top->mark);
            alive = raise_kin(x, top->chosen) && advance(x, top);
        }
        if (x->no_memory)
            return PLAN_OUT_OF_MEMORY;
    }
}

enum plan_answer plan_exact_try(struct plan_exact *x, const struct plan_try *t, struct plan_budget *budget)
{
    uint64_t room = budget->max_nodes - budget->nodes;
    x->how = t;
    x->capacity = t->capacity / x->unit;
    x->no_memory = false;
    if (!plan_state_reset(x))
        return x->no_memory ? PLAN_OUT_OF_MEMORY : PLAN_REFUTED;
    return run(x, budget, budget->nodes + (t->nodes < room ? t->nodes : room));
}
