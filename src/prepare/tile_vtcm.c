/* SPDX-License-Identifier: Apache-2.0 */
/* Fast memory: which tensors lie in the window of the graph's VTCM while which operators run, and what goes to DRAM and comes back for lack of room.
 *
 * tile_vtcm_walk.c decides for one order and one policy, tile_vtcm_apply.c puts transfers into the graph, the planner gives addresses. The sum of what is in the window may
 * fit while no plan does, because tensors do not move: then the walk is done again as if there were less room.
 *
 * Optimization levels differ in how many ways are tried; of all of them the one that moves the fewest bytes is taken, so a higher level never moves more. Results are the
 * same bits in any case: every operator sees the same values. */
#include "prepare/tile_vtcm.h"

#include "prepare/cx.h"

enum { MAX_TRIES = 8, MAX_ORDERS = 2, ROOM_STEPS = 64 };

/* An order of operators, with its chains. */
struct order {
    struct vtcm_state state;
    struct vtcm_problem problem;
};

/* One way to do it. */
struct attempt {
    const struct order *order;
    struct vtcm_policy policy;
    struct vtcm_plan plan;
};

struct tiling {
    struct prepare_cx *cx;
    uint64_t *bytes, *moved;      /* per tensor: in fast memory; of a transfer */
    struct order orders[MAX_ORDERS];
    struct attempt tries[MAX_TRIES];
    uint32_t n_orders, n_tries;
};

static void tiling_finish(struct tiling *t)
{
    for (uint32_t i = 0; i < t->n_tries; i++)
        vtcm_plan_finish(&t->tries[i].plan);
}

/* ---- the problem ----------------------------------------------------------------------------------------------------------------- */

static enum status list_bytes(struct tiling *t)
{
    const struct ir_graph *g = t->cx->g;
    t->bytes = arena_array(&t->cx->arena, uint64_t, g->tensors.n);
    t->moved = arena_array(&t->cx->arena, uint64_t, g->tensors.n);
    RETURN_IF(!t->bytes || !t->moved, ST_NO_MEMORY, "no memory to place %zu tensors", g->tensors.n);
    for (uint32_t i = 0; i < g->tensors.n; i++)
        if (g->tensors.at[i].role == IR_NATIVE) { /* also what is inside a chain now: another order has other chains */
            t->moved[i] = binary_vtcm_bytes(&g->tensors.at[i].desc);
            t->bytes[i] = plan_round(t->cx, t->moved[i]);
        }
    return ST_OK;
}

static enum status add_order(struct tiling *t)
{
    struct prepare_cx *cx = t->cx;
    uint32_t n = (uint32_t)cx->g->nodes.n, n_jobs = 0;
    struct vtcm_job *jobs = arena_array(&cx->arena, struct vtcm_job, n);
    struct order *o = &t->orders[t->n_orders++];
    RETURN_IF(!jobs, ST_NO_MEMORY, "no memory to place the operands of %u operators", n);
    TRY(vtcm_save(cx, &o->state));
    for (uint32_t k = 0; k < n;) {
        const struct chain *c = plan_chain(cx, k);
        TRY(vtcm_job(cx, k, c ? c->n : 1, &jobs[n_jobs++]));
        k += c ? c->n : 1;
    }
    o->problem = (struct vtcm_problem){ .n_values = (uint32_t)cx->g->tensors.n, .n_jobs = n_jobs, .bytes = t->bytes, .moved = t->moved, .jobs = jobs };
    return ST_OK;
}

/* The order that the client gave, with chains of its own. */
static enum status add_given_order(struct tiling *t)
{
    struct prepare_cx *cx = t->cx;
    bool progress;
    TRY(plan_reorder(cx, cx->given_order));
    cx->chains = NULL;
    cx->chain_of = NULL;
    cx->slabs = NULL;
    cx->n_chains = 0;
    TRY(plan_cells_again(cx));
    TRY(tile_chain(cx, &progress));
    return add_order(t);
}

/* ---- attempts -------------------------------------------------------------------------------------------------------------------- */

static uint64_t moved(const struct vtcm_plan *p)
{
    return p->spilled + p->filled + p->streamed;
}

/* A result that leaves before anybody has read it may as well be written to DRAM: the same bytes move, and nothing is copied. */
static enum status try_direct(struct tiling *t, struct attempt *a)
{
    struct vtcm_plan second;
    struct vtcm_policy policy = a->policy;
    bool any = false;
    for (uint32_t v = 0; v < a->order->problem.n_values; v++)
        any |= a->plan.unread[v];
    if (!any)
        return ST_OK;
    policy.direct = arena_dup(&t->cx->arena, a->plan.unread, a->order->problem.n_values);
    RETURN_IF(!policy.direct, ST_NO_MEMORY, "no memory to place %u tensors", a->order->problem.n_values);
    TRY(vtcm_walk(&a->order->problem, &policy, &second));
    bool better = moved(&second) <= moved(&a->plan);
    struct vtcm_plan drop = better ? a->plan : second;
    a->plan = better ? second : a->plan;
    vtcm_plan_finish(&drop);
    return ST_OK;
}

static enum status walk(struct tiling *t, struct attempt *a)
{
    vtcm_plan_finish(&a->plan);
    TRY(vtcm_walk(&a->order->problem, &a->policy, &a->plan));
    return try_direct(t, a);
}

static enum status add_try(struct tiling *t, const struct order *order, uint32_t clean_bonus)
{
    struct attempt *a = &t->tries[t->n_tries++];
    *a = (struct attempt){ .order = order, .policy = { .room = t->cx->target->vtcm_bytes, .clean_bonus = clean_bonus } };
    return walk(t, a);
}

/* Level 1 takes one order, level 2 the client's and the one with the lowest peak, level 3 also other rules for what leaves. */
static enum status add_tries(struct tiling *t)
{
    static const uint32_t bonuses[] = { 16, 128 };
    struct prepare_cx *cx = t->cx;
    uint32_t level = cx->opts->opt_level ? cx->opts->opt_level : 2;
    TRY(add_order(t));
    if (cx->given_order && level > 1)
        TRY(add_given_order(t));
    for (uint32_t k = 0; k < t->n_orders; k++) {
        TRY(add_try(t, &t->orders[k], 0));
        for (uint32_t i = 0; level > 2 && i < sizeof bonuses / sizeof bonuses[0]; i++)
            TRY(add_try(t, &t->orders[k], bonuses[i]));
    }
    return ST_OK;
}

/* Of equal ones the first. */
static struct attempt *best_of(struct tiling *t)
{
    struct attempt *best = &t->tries[0];
    for (uint32_t i = 1; i < t->n_tries; i++)
        best = moved(&t->tries[i].plan) < moved(&best->plan) ? &t->tries[i] : best;
    return best;
}

/* How every job goes through its result, now that it is known what streams and what room there is. */
static enum status list_tiles(struct prepare_cx *cx, const struct attempt *a, struct binary_tile **ret)
{
    const struct vtcm_problem *p = &a->order->problem;
    struct binary_tile *tiles = *ret = arena_array(&cx->arena, struct binary_tile, p->n_jobs);
    RETURN_IF(!tiles, ST_NO_MEMORY, "no memory for the tiles of %u operators", p->n_jobs);
    for (uint32_t j = 0, k = 0; j < p->n_jobs; j++) {
        const struct chain *c = plan_chain(cx, k);
        struct vtcm_unit u = { k, c ? c->n : 1, &p->jobs[j], a->plan.streams + a->plan.first[j], a->plan.budget[j] };
        vtcm_unit_tile(cx, &u, &tiles[j]);
        k += u.n;
    }
    return ST_OK;
}

/* Puts the attempt into the graph; *ret is what its plan takes of the window. */
static enum status apply(struct prepare_cx *cx, const struct attempt *a, uint64_t *ret)
{
    struct binary_tile *tiles;
    vtcm_restore(cx, &a->order->state);
    TRY(list_tiles(cx, a, &tiles));
    TRY(vtcm_apply(cx, &a->plan, tiles));
    return plan_vtcm_total(cx, cx->target->vtcm_bytes, ret);
}

static enum status settle(struct tiling *t)
{
    struct prepare_cx *cx = t->cx;
    uint64_t limit = cx->target->vtcm_bytes, step = limit / ROOM_STEPS + 1, total;
    for (;;) {
        struct attempt *a = best_of(t);
        TRY(prepare_interrupted(cx));
        TRY(apply(cx, a, &total));
        if (total <= limit)
            return ST_OK;
        RETURN_IF(!a->policy.room, ST_INTERNAL, "%llu bytes of fast memory are used where everything should be in DRAM", (unsigned long long)total);
        uint64_t less = total - limit > step ? total - limit : step;
        a->policy.room -= a->policy.room > less ? less : a->policy.room;
        TRY(walk(t, a));
    }
}

enum status tile_vtcm(struct prepare_cx *cx, bool *progress)
{
    CLEANUP(tiling_finish) struct tiling t = { .cx = cx };
    if (!cx->target->vtcm_bytes)
        return ST_OK;
    if (!cx->cells)
        TRY(plan_cells(cx));
    TRY(list_bytes(&t));
    TRY(add_tries(&t));
    TRY(settle(&t));
    *progress = true;
    cx->given_order = NULL; /* both have been tried */
    cx->order_bound = 0;    /* it was one of scratch memory */
    return ST_OK;
}
