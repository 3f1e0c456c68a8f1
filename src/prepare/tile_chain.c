/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses chains: runs of operators that are computed slab by slab, depth first, so that what they hand to each other stays in the cache of a core
 * (in fast memory, on a device) and a whole chain is one step.
 *
 *     conv 3x3 -> t -> conv 1x1 -> u -> add -> y        for every few lines of y: those of t, of u, of y
 *
 * A window over lines of the same chain needs lines that its neighbour's part computes as well; they are computed twice, once per border between commands. So a
 * window is free at the head of a chain, where it reads a whole tensor, and costs inside. The best division of the operators' order into chains is found by dynamic
 * programming over where chains end. It depends on shapes alone: a binary does not depend on the machine it was made on. */
#include "prepare/chain.h"

enum {
    PARTS = 8,               /* commands that any chain may be cut into without computing too much twice */
    SLAB_ROWS = 48,          /* pixels that products want at a time, so that weights are worth loading */
    STEP_WORTH = 16 << 10,   /* a step less, in bytes that need not be moved */
    MACS_PER_TILE = 1 << 16,
};

/* The most lines per slab that fit; 0: not even one. */
static uint32_t fit_height(const struct prepare_cx *cx, struct chain_shape *s)
{
    uint32_t low = 0, high = s->lines;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (chain_slab_bytes(s, middle) <= cx->target->chains.bytes)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Work that is done twice when the lines are cut into `parts`, in percent. */
static uint64_t twice_percent(const struct prepare_cx *cx, const struct chain_shape *s, uint32_t parts)
{
    uint64_t twice = 0, all = 1;
    uint32_t height = s->lines / parts ? s->lines / parts : 1, heights[OP_CHAIN_MAX];
    op_chain_heights(&s->chain, s->lines, height, heights);
    for (uint32_t i = 0; i < s->chain.n; i++) {
        uint64_t macs = cx->nodes[s->node + i].macs, share = s->line[i].n / parts;
        all += macs;
        twice += heights[i] > share ? macs / s->line[i].n * (heights[i] - share) * parts : 0;
    }
    return twice * 100 / all;
}

/* What it is worth to compute these nodes as a chain, in bytes that need not be moved; 0: nothing, or it cannot be. */
static uint64_t worth(const struct prepare_cx *cx, struct chain_shape *s)
{
    uint64_t bytes = 0, weights = 0;
    if (s->lines < cx->target->chains.lines)
        return 0;
    uint32_t height = fit_height(cx, s);
    for (uint32_t i = 0; i < s->chain.n; i++) {
        bytes += i + 1 < s->chain.n ? 2 * s->line[i].n * s->line[i].bytes : 0;
        weights += s->weights[i];
    }
    /* Products walk over their weights once per slab. */
    uint64_t pixels = (uint64_t)height * s->pixels;
    if (!height || (weights > cx->target->chains.bytes / 8 && height < s->lines && pixels < SLAB_ROWS))
        return 0;
    if (twice_percent(cx, s, PARTS) > cx->target->chains.twice)
        return 0;
    return bytes + (s->chain.n - 1) * (uint64_t)STEP_WORTH;
}

/* ---- the division ----------------------------------------------------------------------------------------------------- */

struct choice {
    uint64_t worth; /* of the best division of everything up to here */
    uint32_t n;     /* nodes of its last chain, 1: none */
};

static enum status choose(struct prepare_cx *cx, const struct chain_graph *g, struct choice *best)
{
    struct chain_shape s;
    for (uint32_t k = 0; k < cx->g->nodes.n; k++) {
        best[k] = (struct choice){ k ? best[k - 1].worth : 0, 1 };
        for (uint32_t n = 2; n <= OP_CHAIN_MAX && n <= k + 1 && g->member[k + 1 - n]; n++) {
            if (!chain_shape(g, k + 1 - n, n, &s)) /* what is wrong with it stays wrong with more nodes in front */
                break;
            uint64_t w = worth(cx, &s), before = n <= k ? best[k - n].worth : 0;
            if (w && before + w > best[k].worth)
                best[k] = (struct choice){ before + w, n };
        }
        TRY(prepare_interrupted(cx));
    }
    return ST_OK;
}

static uint32_t tiles_of(const struct prepare_cx *cx, const struct chain_shape *s)
{
    uint64_t macs = 0, n = cx->target->max_tiles;
    for (uint32_t i = 0; i < s->chain.n; i++)
        macs += cx->nodes[s->node + i].macs;
    n = s->lines < n ? s->lines : n;
    n = macs / MACS_PER_TILE < n ? macs / MACS_PER_TILE : n;
    while (n > PARTS && twice_percent(cx, s, (uint32_t)n) > cx->target->chains.twice)
        n--;
    return n ? (uint32_t)n : 1;
}

static void add_chain(struct prepare_cx *cx, const struct chain_graph *g, uint32_t first, uint32_t n)
{
    struct chain_shape s;
    chain_shape(g, first, n, &s);
    struct chain *c = &cx->chains[cx->n_chains];
    uint32_t heights[OP_CHAIN_MAX];
    uint64_t work = 0;
    *c = (struct chain){ .first = first, .n = n, .lines = s.lines, .height = fit_height(cx, &s), .tiles = tiles_of(cx, &s) };
    op_chain_heights(&s.chain, s.lines, c->height, heights);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t t = cx->g->nodes.at[first + i].out[0];
        cx->chain_of[first + i] = cx->n_chains;
        work = cx->nodes[first + i].work_bytes > work ? cx->nodes[first + i].work_bytes : work;
        if (i + 1 == n)
            continue;
        cx->slabs[t] = (struct chain_slab){ c->slab_bytes, heights[i] * s.line[i].bytes };
        c->slab_bytes += plan_round(cx, cx->slabs[t].bytes);
        cx->cells[cx->cell_of[t]].place = PLACE_LINES;
        cx->cells[cx->cell_of[t]].room = false;
    }
    c->work_bytes = c->slab_bytes + plan_round(cx, work);
    cx->n_chains++;
}

enum status tile_chain(struct prepare_cx *cx, bool *progress)
{
    (void)progress;
    uint32_t nn = (uint32_t)cx->g->nodes.n;
    struct chain_graph g;
    if (!cx->target->chains.bytes || cx->target->own_kernels || nn < 2)
        return ST_OK;
    if (!cx->cells)
        TRY(plan_cells(cx));
    TRY(chain_graph(cx, &g));
    struct choice *best = arena_array(&cx->arena, struct choice, nn);
    uint32_t *ends = arena_array(&cx->arena, uint32_t, nn), n = 0;
    cx->chains = arena_array(&cx->arena, struct chain, nn / 2);
    cx->chain_of = arena_array(&cx->arena, uint32_t, nn);
    cx->slabs = arena_array(&cx->arena, struct chain_slab, cx->g->tensors.n);
    RETURN_IF(!best || !ends || !cx->chains || !cx->chain_of || !cx->slabs, ST_NO_MEMORY, "no memory to find chains among %u nodes", nn);
    TRY(choose(cx, &g, best));
    for (uint32_t k = nn; k > 0; k -= best[k - 1].n)
        ends[n++] = k;
    for (uint32_t k = 0; k < nn; k++)
        cx->chain_of[k] = IR_NONE;
    while (n-- > 0)
        if (best[ends[n] - 1].n > 1)
            add_chain(cx, &g, ends[n] - best[ends[n] - 1].n, best[ends[n] - 1].n);
    return ST_OK;
}
