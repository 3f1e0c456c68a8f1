/* SPDX-License-Identifier: Apache-2.0 */
/* Lifetimes for operators that run side by side. Exec lets a step run before those in front of it with which it shares no
 * memory (exec/depend.c), so memory that is used again too early makes branches wait for each other that could run together:
 *
 *     %q0 = …      head 0      q1 in the memory of q0 is the smallest plan, and the second head waits for the first one;
 *     %s0 = f(%q0)             when q0 keeps its memory until every operator behind waits for f anyway, it does not
 *     %q1 = …      head 1
 *     %s1 = f(%q1)
 *     %y = join(%s0, %s1)
 *
 * So a block of memory stays taken while operators are near that wait for no result of those that use it. "Near" is at most
 * what exec looks ahead, and less where that takes too much memory (plan_memory.c). */
#include "prepare/plan_beside.h"

/* What runs as one step: a node or a chain. */
struct unit {
    uint32_t last_node;
    uint32_t waits; /* units before it that it waits for, directly or not: bit i is the one i + 1 before it */
};

/* The units that use a block, counted back from the last one of them. */
struct users {
    uint32_t last, mask; /* bit i: unit last - i */
    bool any;
};

struct beside {
    const struct prepare_cx *cx;
    struct unit *units;
    uint32_t *unit_of;  /* per node */
    uint32_t *maker;    /* per tensor: unit, IR_NONE: none */
    struct users *users; /* per block */
    uint32_t n_units;
};

static void wait_for(struct beside *b, uint32_t unit, uint32_t before)
{
    uint32_t back = unit - before - 1;
    if (before < unit && back < PLAN_BESIDE)
        b->units[unit].waits |= 1u << back | (uint32_t)((uint64_t)b->units[before].waits << (back + 1));
}

/* Inputs and guards; a node with state also waits for others like it, but those do not make each other's memory. */
static void add_waits(struct beside *b, uint32_t k)
{
    const struct ir_node *n = &b->cx->g->nodes.at[k];
    for (uint32_t i = 0; i < plan_ports(n); i++) {
        uint32_t t = plan_port(n, i);
        bool read = i < n->n_in || i >= n->n_in + n->n_out;
        if (t != IR_NONE && read && b->maker[t] != IR_NONE)
            wait_for(b, b->unit_of[k], b->maker[t]);
        else if (t != IR_NONE && !read)
            b->maker[t] = b->unit_of[k];
    }
}

static void add_user(struct users *u, uint32_t unit)
{
    uint32_t on = u->any ? unit - u->last : 0;
    u->mask = (on < 32 ? u->mask << on : 0) | 1;
    u->last = unit;
    u->any = true;
}

static void walk(struct beside *b, const uint32_t *block_of)
{
    const struct prepare_cx *cx = b->cx;
    for (uint32_t k = 0; k < cx->g->nodes.n; k++) {
        const struct chain *c = plan_chain(cx, k);
        if (!c || c->first == k)
            b->n_units++;
        b->unit_of[k] = b->n_units - 1;
        b->units[b->n_units - 1].last_node = k;
        add_waits(b, k);
        for (uint32_t i = 0; i < plan_ports(&cx->g->nodes.at[k]); i++) {
            uint32_t t = plan_port(&cx->g->nodes.at[k], i), cell = t == IR_NONE ? IR_NONE : cx->cell_of[t];
            if (cell != IR_NONE && block_of[cell] != IR_NONE)
                add_user(&b->users[block_of[cell]], b->unit_of[k]);
        }
    }
}

/* The last unit near the users of a block that does not wait for all of them. */
static uint32_t stays_until(const struct beside *b, const struct users *u, uint32_t near)
{
    for (uint32_t on = near; on > 0; on--) {
        uint32_t unit = u->last + on, seen = (uint32_t)((uint64_t)u->mask << (on - 1)) & PLAN_BESIDE_MASK;
        if (unit < b->n_units && seen & ~b->units[unit].waits)
            return unit;
    }
    return u->last;
}

enum status plan_beside(struct prepare_cx *cx, const uint32_t *block_of, uint32_t n_blocks, uint32_t near, uint32_t *last)
{
    struct arena *a = &cx->arena;
    size_t nn = cx->g->nodes.n, nt = cx->g->tensors.n;
    struct beside b = { .cx = cx,
                        .units = arena_array(a, struct unit, nn),
                        .unit_of = arena_array(a, uint32_t, nn),
                        .maker = arena_array(a, uint32_t, nt),
                        .users = arena_array(a, struct users, n_blocks) };
    RETURN_IF(!b.units || !b.unit_of || !b.maker || !b.users, ST_NO_MEMORY, "no memory to plan %zu operators side by side",
              nn);
    for (size_t t = 0; t < nt; t++)
        b.maker[t] = IR_NONE;
    walk(&b, block_of);
    for (uint32_t i = 0; i < n_blocks; i++) {
        uint32_t until = b.users[i].any ? b.units[stays_until(&b, &b.users[i], near)].last_node : last[i];
        last[i] = until > last[i] ? until : last[i];
    }
    return ST_OK;
}
