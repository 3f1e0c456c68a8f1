/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the box that an operator goes through its result with. Of those that fit, the cheapest one counts, by bytes that
 * move and something for every box; and of those that cost hardly more the one that takes the least room, since others may
 * use it.
 *
 * Lines and channels are halved in all ways. Columns, and the terms of sums, are cut only as much as is needed for anything
 * to fit: columns at borders come twice, and with partial sums weights come again for every part of the image. So are the
 * windows of pools, whose pieces come again for every box. */
#include "prepare/tile_vtcm.h"

enum { BOX_COST = 4096, NEARLY = 16 }; /* a box, in bytes that move; a share of the cost that room is worth */

struct search {
    const struct tile_ask *ask;
    uint64_t limit; /* what a box may cost; UINT64_MAX: the cheapest one is looked for */
    struct tile_choice best;
};

/* The next smaller one, 0: there is none. */
static uint32_t smaller(uint32_t n, uint32_t step, uint32_t least)
{
    uint32_t half = (n / 2 + step - 1) / step * step;
    return n <= least ? 0 : half < least ? least : half < n ? half : least;
}

static void consider(struct search *s, const struct binary_box *b)
{
    const struct tile_ask *a = s->ask;
    struct binary_box sides;
    struct binary_moves m;
    uint64_t bytes = binary_box_bytes(a->op, b, a->roles);
    if (bytes > a->budget)
        return;
    binary_box_moves(a->op, b, a->roles, &m);
    uint64_t boxes = binary_box_count(a->op, b, &sides),
             cost = binary_moves_in(&m) + binary_moves_out(&m) + BOX_COST * boxes * sides.depth;
    bool better = s->limit == UINT64_MAX ? cost < s->best.cost : cost <= s->limit && bytes < s->best.bytes;
    if (!s->best.found || better)
        s->best = (struct tile_choice){ *b, bytes, cost, true };
}

/* All ways to cut lines and channels. */
static void consider_all(struct search *s, struct binary_box b)
{
    const struct binary_box_op *o = s->ask->op;
    for (b.lines = o->whole.lines; b.lines; b.lines = smaller(b.lines, o->step.lines, o->least.lines))
        for (b.channels = o->whole.channels; b.channels;
             b.channels = smaller(b.channels, o->step.channels, o->least.channels))
            consider(s, &b);
}

/* The n-th smaller one, 0: there is none. */
static uint32_t cut(uint32_t whole, uint32_t step, uint32_t least, uint32_t n)
{
    while (n-- && whole)
        whole = smaller(whole, step, least);
    return whole;
}

static uint32_t cut_depth(const struct binary_box_op *o, uint32_t n)
{
    const uint32_t whole = n && o->terms ? o->terms : o->whole.depth;
    return cut(whole, o->step.depth, o->least.depth, n);
}

/* Columns and terms are cut so many times together; false: that cannot be. */
static bool consider_cuts(struct search *s, uint32_t cuts)
{
    const struct binary_box_op *o = s->ask->op;
    bool any = false;
    for (uint32_t depths = 0; depths <= cuts; depths++) {
        struct binary_box b = { .depth = cut_depth(o, depths),
                                .columns = cut(o->whole.columns, o->step.columns, o->least.columns, cuts - depths) };
        if (!b.depth || !b.columns)
            continue;
        any = true;
        consider_all(s, b);
    }
    return any;
}

struct tile_choice tile_box(const struct tile_ask *a)
{
    struct search s = { .ask = a, .limit = UINT64_MAX };
    uint32_t cuts = 0;
    if (binary_box_bytes(a->op, &a->op->least, a->roles) > a->budget)
        return s.best;
    while (consider_cuts(&s, cuts) && !s.best.found)
        cuts++;
    s.limit = s.best.cost + s.best.cost / NEARLY;
    consider_cuts(&s, cuts);
    return s.best;
}
