/* SPDX-License-Identifier: Apache-2.0 */
/* Fast memory: which tensors lie in the window of the graph's VTCM while which operators run, and what goes to DRAM and
 * comes back for lack of room.
 *
 * tile_vtcm_walk.c decides for one order and one policy, tile_vtcm_apply.c puts transfers into the graph, the planner gives
 * addresses. The sum of what is in the window may fit while no plan does, because tensors do not move: then the walk is done
 * again as if there were less room.
 *
 * Optimization levels differ in how many ways are tried; of all of them the one that moves the fewest bytes is taken, so a
 * higher level never moves more. Results are the same bits in any case: every operator sees the same values. */
#include "prepare/tile_vtcm.h"

#include "prepare/cx.h"

enum { LARGE_SLABS = 3, MAX_TRIES = 32, MAX_SHARES = 3, MAX_CHAINS = 5, MAX_ORDERS = 2 * MAX_CHAINS, ROOM_STEPS = 64 };

/* The first is for all levels. */
static const struct vtcm_shares shares[MAX_SHARES] = { { 8, 16 }, { 32, 4 }, { 3, 2 } };
static const struct chain_taste tastes[MAX_CHAINS] = { { 0, 0 }, { 16, 1 }, { 2, 1 }, { 0, 4 }, { 0, 16 } };

/* An order of operators, with its chains, as problems with different shares. */
struct order {
    struct vtcm_state state;
    struct vtcm_problem problems[MAX_SHARES];
    uint32_t n_problems;
};

/* One way to do it. */
struct attempt {
    const struct order *order;
    const struct vtcm_problem *problem;
    struct vtcm_policy policy;
    struct vtcm_plan plan;
    struct binary_tile *tiles;    /* per node of the order */
    uint64_t moved; /* bytes that a device moves: transfers, weights, what streams, what the client brings and takes */
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

/* ---- the problem ------------------------------------------------------------------------------------------------------ */

static enum status list_bytes(struct tiling *t)
{
    const struct ir_graph *g = t->cx->g;
    t->bytes = arena_array(&t->cx->arena, uint64_t, g->tensors.n);
    t->moved = arena_array(&t->cx->arena, uint64_t, g->tensors.n);
    RETURN_IF(!t->bytes || !t->moved, ST_NO_MEMORY, "no memory to place %zu tensors", g->tensors.n);
    for (uint32_t i = 0; i < g->tensors.n; i++)
        if (g->tensors.at[i].role == IR_NATIVE) { /* also what is inside a chain now: another order has other chains */
            t->moved[i] = binary_tile_bytes(&g->tensors.at[i].desc);
            t->bytes[i] = plan_round(t->cx, binary_vtcm_bytes(&g->tensors.at[i].desc));
        }
    return ST_OK;
}

static enum status make_problem(struct tiling *t, const struct vtcm_shares *s, struct vtcm_problem *ret)
{
    struct prepare_cx *cx = t->cx;
    uint32_t n = (uint32_t)cx->g->nodes.n, n_jobs = 0;
    struct vtcm_job *jobs = arena_array(&cx->arena, struct vtcm_job, n);
    RETURN_IF(!jobs, ST_NO_MEMORY, "no memory to place the operands of %u operators", n);
    for (uint32_t k = 0; k < n;) {
        const struct chain *c = plan_chain(cx, k);
        TRY(vtcm_job(cx, k, c ? c->n : 1, s, &jobs[n_jobs++]));
        k += c ? c->n : 1;
    }
    *ret = (struct vtcm_problem){
        .n_values = (uint32_t)cx->g->tensors.n, .n_jobs = n_jobs, .bytes = t->bytes, .moved = t->moved, .jobs = jobs
    };
    return ST_OK;
}

static enum status add_order(struct tiling *t, uint32_t n_shares)
{
    struct order *o = &t->orders[t->n_orders++];
    TRY(vtcm_save(t->cx, &o->state));
    for (; o->n_problems < n_shares; o->n_problems++)
        TRY(make_problem(t, &shares[o->n_problems], &o->problems[o->n_problems]));
    return ST_OK;
}

/* Other chains for the order that operators have now. */
static enum status chain_again(struct prepare_cx *cx, struct chain_taste taste)
{
    bool progress;
    uint32_t *given = cx->given_order; /* counts from the order of the first attempt */
    cx->chains = NULL;
    cx->chain_of = NULL;
    cx->slabs = NULL;
    cx->n_chains = 0;
    cx->chain_taste = taste;
    TRY(plan_cells_again(cx));
    TRY(tile_chain(cx, &progress));
    cx->given_order = given;
    return ST_OK;
}

/* The order that operators have now: with its chains, and at level 3 with others. */
static enum status add_orders(struct tiling *t, uint32_t level)
{
    TRY(add_order(t, level > 2 ? MAX_SHARES : 1));
    bool chains = t->cx->target->chains.bytes && !t->cx->unchained;
    for (uint32_t i = 1; level > 2 && i < MAX_CHAINS && chains; i++) {
        TRY(chain_again(t->cx, tastes[i]));
        TRY(add_order(t, 1));
    }
    return ST_OK;
}

/* ---- attempts --------------------------------------------------------------------------------------------------------- */

/* How every job goes through its result, now that it is known what streams and what room there is; and all that
 * moves then. */
static enum status list_tiles(struct prepare_cx *cx, struct attempt *a)
{
    const struct vtcm_problem *p = a->problem;
    a->moved = a->plan.spilled + a->plan.filled;
    vtcm_restore(cx, &a->order->state);
    a->tiles = arena_array(&cx->arena, struct binary_tile, cx->g->nodes.n);
    RETURN_IF(!a->tiles, ST_NO_MEMORY, "no memory for the tiles of %zu operators", cx->g->nodes.n);
    for (uint32_t j = 0, k = 0; j < p->n_jobs; j++) {
        const struct chain *c = plan_chain(cx, k);
        struct vtcm_unit u = { k, c ? c->n : 1, &p->jobs[j], a->plan.streams + a->plan.first[j], a->plan.budget[j] };
        a->moved += vtcm_unit_tiles(cx, &u, &a->tiles[k]);
        k += u.n;
    }
    return ST_OK;
}

static uint64_t moved(const struct vtcm_plan *p)
{
    return p->spilled + p->filled + p->streamed;
}

/* A result that leaves before anybody has read it may as well be written to DRAM: the same bytes move, and nothing is
 * copied. */
static enum status try_direct(struct tiling *t, struct attempt *a)
{
    struct vtcm_plan second;
    struct vtcm_policy policy = a->policy;
    bool any = false;
    for (uint32_t v = 0; v < a->problem->n_values; v++)
        any |= a->plan.unread[v];
    if (!any)
        return ST_OK;
    policy.direct = arena_dup(&t->cx->arena, a->plan.unread, a->problem->n_values);
    RETURN_IF(!policy.direct, ST_NO_MEMORY, "no memory to place %u tensors", a->problem->n_values);
    TRY(vtcm_walk(a->problem, &policy, &second));
    bool better = moved(&second) <= moved(&a->plan);
    struct vtcm_plan drop = better ? a->plan : second;
    a->plan = better ? second : a->plan;
    vtcm_plan_finish(&drop);
    return ST_OK;
}

static enum status walk(struct tiling *t, struct attempt *a)
{
    vtcm_plan_finish(&a->plan);
    TRY(vtcm_walk(a->problem, &a->policy, &a->plan));
    TRY(try_direct(t, a));
    return list_tiles(t->cx, a);
}

static enum status add_try(struct tiling *t, const struct order *order, uint32_t share, uint32_t clean_bonus)
{
    struct attempt *a = &t->tries[t->n_tries++];
    *a = (struct attempt){ .order = order,
                           .problem = &order->problems[share],
                           .policy = { .room = t->cx->target->vtcm_bytes, .clean_bonus = clean_bonus } };
    return walk(t, a);
}

/* Where something has to leave, or streams, chains with larger slabs may save more than they lose in a cache: lines of large
 * images are longer than what is usual for all of a slab. */
static enum status add_longer_chains(struct tiling *t)
{
    struct prepare_cx *cx = t->cx;
    const struct vtcm_plan *first = &t->tries[0].plan;
    if (!cx->target->chains.bytes || !moved(first))
        return ST_OK;
    for (uint32_t i = LARGE_SLABS; i < MAX_CHAINS; i++) {
        vtcm_restore(cx, &t->orders[0].state);
        TRY(chain_again(cx, tastes[i]));
        TRY(add_order(t, 1));
        TRY(add_try(t, &t->orders[t->n_orders - 1], 0, 0));
    }
    return ST_OK;
}

/* Level 1 takes one order, level 2 the client's and the one with the lowest peak, and for the latter also longer chains
 * where something does not fit, level 3 also other chains, other shares of the window for boxes and other rules for what
 * leaves. */
static enum status add_tries(struct tiling *t)
{
    static const uint32_t bonuses[] = { 0, 16, 128 };
    struct prepare_cx *cx = t->cx;
    uint32_t level = cx->level;
    TRY(add_orders(t, level));
    if (cx->given_order && level > 1) {
        vtcm_restore(cx, &t->orders[0].state);
        TRY(plan_reorder(cx, cx->given_order));
        TRY(chain_again(cx, tastes[0]));
        TRY(add_orders(t, level));
    }
    for (uint32_t k = 0; k < t->n_orders; k++)
        for (uint32_t s = 0; s < t->orders[k].n_problems; s++)
            for (uint32_t i = 0; i < (t->orders[k].n_problems > 1 ? sizeof bonuses / sizeof bonuses[0] : 1); i++)
                TRY(add_try(t, &t->orders[k], s, bonuses[i]));
    return level == 2 ? add_longer_chains(t) : ST_OK;
}

/* Of equal ones the first. */
static struct attempt *best_of(struct tiling *t)
{
    struct attempt *best = &t->tries[0];
    for (uint32_t i = 1; i < t->n_tries; i++)
        best = t->tries[i].moved < best->moved ? &t->tries[i] : best;
    return best;
}

/* Puts the attempt into the graph; *ret is what its plan takes of the window. */
static enum status apply(struct prepare_cx *cx, const struct attempt *a, uint64_t *ret)
{
    vtcm_restore(cx, &a->order->state);
    TRY(vtcm_apply(cx, &a->plan, a->tiles));
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
        RETURN_IF(!a->policy.room, ST_INTERNAL, "%llu bytes of fast memory are used where everything should be in DRAM",
                  (unsigned long long)total);
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
