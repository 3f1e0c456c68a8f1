/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses chains: runs of operators that are computed slab by slab, depth first, so that what they hand to each other stays
 * in the cache of a core (in fast memory, on a device) and a whole chain is one step.
 *
 *     conv 3x3 -> t -> conv 1x1 -> u -> add -> y        for every few lines of y: those of t, of u, of y
 *
 * A window over lines of the same chain needs lines that its neighbour's part computes as well; they are computed twice,
 * once per border between commands. So a window is free at the head of a chain, where it reads a whole tensor, and costs
 * inside. The best division of the operators' order into chains is found by dynamic programming over where chains end. It
 * depends on shapes alone: a binary does not depend on the machine it was made on. */
#include "prepare/chain.h"

enum {
    PARTS = 8,             /* commands that any chain may be cut into without computing too much twice */
    USUAL_PARTS = 4,       /* commands of two threads, for which slabs are measured */
    PANEL = 48,            /* pixels for which products walk over their weights once */
    STEP_WORTH = 32 << 10, /* a step less, in bytes that need not be moved */
    TURN_COST = 2 << 10,   /* one more call of a kernel, likewise */
    PACK_COST = 1,         /* one byte of a matrix that is packed once more, likewise */
    PLACE_COST = 3,        /* bytes that are moved for each byte of a result that cannot lie over an input, likewise */
    MACS_PER_BYTE = 32,    /* that are computed while a byte is moved */
    MACS_PER_TILE = 1 << 16,
    LONGEST = 16, /* nodes of a chain; the time that this pass takes grows with its square */
    ALIKE = 3,    /* slabs that are followed, the last one for all behind it */
};

/* Of some commands. */
struct sums {
    uint64_t lines[OP_CHAIN_MAX], panels[OP_CHAIN_MAX], packed[OP_CHAIN_MAX], slabs;
};

/* What a chain does beyond what its operators would do one after the other. */
struct more {
    uint64_t macs, all_macs; /* computed twice; of the operators as they are */
    uint64_t weights;        /* bytes of weights that are loaded again */
    uint64_t turns;          /* calls of kernels */
};

/* Lines and panels of every member in lines of one image. The first slab has all of them to compute, those behind it are
 * alike. */
static void follow_image(const struct chain_shape *s, uint32_t begin, uint32_t n, uint32_t height, uint32_t images,
                         struct sums *sums)
{
    struct op_chain_span spans[OP_CHAIN_MAX] = { { 0 } };
    uint32_t slabs = (n + height - 1) / height;
    for (uint32_t k = 0; k < slabs && k < ALIKE; k++) {
        uint64_t times = images * (uint64_t)(k + 1 == ALIKE ? slabs - k : 1);
        op_chain_next(&s->chain, begin + (uint32_t)((uint64_t)n * k / slabs),
                      begin + (uint32_t)((uint64_t)n * (k + 1) / slabs), spans);
        for (uint32_t i = 0; i < s->chain.n; i++) {
            uint32_t fresh = spans[i].end - spans[i].from;
            sums->lines[i] += times * fresh;
            sums->panels[i] += times * (((uint64_t)fresh * s->pixels[i] + PANEL - 1) / PANEL);
            if (s->packs[i].bytes)
                sums->packed[i] += times * s->packs[i].bytes * ((fresh + s->packs[i].lines - 1) / s->packs[i].lines);
        }
    }
    sums->slabs += (uint64_t)images * slabs;
}

/* One command: lines of one image, or of several. Whole images are alike. */
static void follow(const struct chain_shape *s, uint32_t begin, uint32_t n, uint32_t height, struct sums *sums)
{
    uint32_t at = begin % s->lines, first = n < s->lines - at ? n : s->lines - at, whole = (n - first) / s->lines;
    follow_image(s, at, first, height, 1, sums);
    if (whole)
        follow_image(s, 0, s->lines, height, whole, sums);
    if ((n - first) % s->lines)
        follow_image(s, 0, (n - first) % s->lines, height, 1, sums);
}

/* Two commands side by side stand for all `parts`; at the ends of the image a little less is computed. */
static struct more measure(const struct prepare_cx *cx, const struct chain_shape *s, uint32_t parts, uint32_t height)
{
    struct more m = { 0 };
    struct sums sums = { 0 };
    uint32_t p = parts > 2 ? parts / 2 : 0, two = parts - p < 2 ? 1 : 2;
    uint64_t at[3], all = (uint64_t)s->lines * s->images;
    for (uint32_t k = 0; k <= two; k++)
        at[k] = all * (p + k) / parts;
    for (uint32_t k = 0; k < two; k++)
        if (at[k] < at[k + 1])
            follow(s, (uint32_t)at[k], (uint32_t)(at[k + 1] - at[k]), height, &sums);
    uint64_t part = at[two] - at[0] ? at[two] - at[0] : 1;
    for (uint32_t i = 0; i < s->chain.n; i++) {
        uint64_t macs = cx->nodes[s->node + i].macs, n = s->line[i].n, least = (n * s->pixels[i] + PANEL - 1) / PANEL;
        uint64_t lines = sums.lines[i] * all / part, panels = sums.panels[i] * all / part;
        m.all_macs += macs;
        m.macs += lines > n ? macs / n * (lines - n) / parts * (parts - 1) : 0;
        m.weights += panels > least ? (panels - least) * s->weights[i] : 0;
        m.weights += sums.packed[i] * all / part * PACK_COST;
    }
    m.turns = sums.slabs * all / part * s->chain.n;
    return m;
}

static uint64_t cost_of(struct more m)
{
    return m.weights + m.turns * TURN_COST + m.macs / MACS_PER_BYTE;
}

static uint64_t twice_percent(const struct prepare_cx *cx, const struct chain_shape *s, uint32_t parts)
{
    struct more m = measure(cx, s, parts, s->lines);
    return m.macs * 100 / (m.all_macs + 1);
}

/* Slabs in the cache of a core, and on a device all that the chain needs in its window, with some room for what
 * passes by. */
static bool fits(const struct chain_graph *g, const struct chain_shape *s, uint32_t height)
{
    const struct prepare_target *t = g->cx->target;
    uint64_t most = t->chains.bytes * (g->cx->chain_taste.times ? g->cx->chain_taste.times : 1);
    return chain_slab_bytes(s, height) <= most && (!g->box || chain_window_bytes(g, s, height) <= t->vtcm_bytes / 4 * 3);
}

/* Weights that a device brings again, slab by slab. */
static uint64_t again(const struct chain_graph *g, const struct chain_shape *s, uint32_t height)
{
    uint64_t bytes = 0, slabs = (uint64_t)s->images * ((s->lines + height - 1) / height);
    for (uint32_t i = 0; g->box && i < s->chain.n; i++) {
        uint64_t once = g->again[s->node + i] ? chain_matrices(g, s->node + i) : slabs;
        bytes += slabs > once ? g->again[s->node + i] * (slabs - once) : 0;
    }
    return bytes;
}

/* Of a slab: those of a command, in one image. Where images follow each other without borders, a slab may be of several, but
 * boxes are not. */
static uint32_t most_lines(const struct chain_graph *g, const struct chain_shape *s)
{
    uint32_t last = s->chain.n - 1, image = s->line[last].n / s->line[last].images,
             part = (s->images * s->lines + USUAL_PARTS - 1) / USUAL_PARTS, most = s->lines;
    for (uint32_t i = 0; g->box && i <= last; i++)
        most = g->box[s->node + i].image ? image : most;
    return part < most ? part : most;
}

/* The height of slabs that fit and cost the least, 0: not even one line fits. Few slabs are tried one by one, many in
 * growing steps. */
static uint32_t best_height(const struct chain_graph *g, const struct chain_shape *s, uint64_t *cost)
{
    const struct prepare_cx *cx = g->cx;
    uint32_t part = most_lines(g, s), best = 0;
    for (uint32_t slabs = 1, height = 0; slabs <= part; slabs += 1 + slabs / 4) {
        uint32_t next = (part + slabs - 1) / slabs;
        if (next == height || !fits(g, s, next))
            continue;
        height = next;
        uint64_t c = cost_of(measure(cx, s, USUAL_PARTS, height)) + again(g, s, height);
        if (!best || c < *cost) {
            best = height;
            *cost = c;
        }
    }
    if (!best && fits(g, s, 1)) {
        best = 1;
        *cost = cost_of(measure(cx, s, USUAL_PARTS, 1)) + again(g, s, 1);
    }
    return best;
}

/* Small chains are not shared out anyway. */
static uint64_t lines_wanted(const struct prepare_cx *cx, uint64_t macs)
{
    return macs / MACS_PER_TILE < cx->target->chains.lines ? macs / MACS_PER_TILE : cx->target->chains.lines;
}

/* By itself the last operator would write over an input that ends there. In a chain it has to write to other memory, which
 * is not in any cache. */
static uint64_t lost_place(const struct chain_graph *g, const struct chain_shape *s)
{
    const struct prepare_cx *cx = g->cx;
    uint32_t last = s->node + s->chain.n - 1;
    const struct ir_node *n = &cx->g->nodes.at[last];
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t t = n->in[i];
        bool inside = t != IR_NONE && g->maker[t] != IR_NONE && g->maker[t] >= s->node;
        if (t != IR_NONE && !inside && g->last_reader[t] == last && plan_may_replace(cx, n, i))
            return PLACE_COST * s->line[s->chain.n - 1].n * s->line[s->chain.n - 1].bytes;
    }
    return 0;
}

/* What it is worth to compute these nodes as a chain, in bytes that need not be moved; 0: nothing, or it cannot be. */
static uint64_t worth(const struct chain_graph *g, const struct chain_shape *s)
{
    const struct prepare_cx *cx = g->cx;
    uint64_t moved = 0, macs = 0, cost = 0, steps = 0;
    bool scores = false; /* on a device, of more bytes than stay there (chain_shape.c): they would go to DRAM and back */
    for (uint32_t i = 0; i < s->chain.n; i++) {
        const uint64_t bytes = s->line[i].n * s->line[i].bytes;
        moved += i + 1 < s->chain.n && !s->view[i] && bytes >= cx->target->chains.stays ? 2 * bytes : 0;
        steps += !s->view[i];
        macs += cx->nodes[s->node + i].macs;
        scores |= g->box && s->packs[i].bytes;
    }
    uint64_t gain = (steps ? steps - 1 : 0) * STEP_WORTH + (scores ? 2 : 1) * moved;
    uint32_t lines = s->lines * s->images;
    if (s->open || lines < lines_wanted(cx, macs) ||
        twice_percent(cx, s, lines < PARTS ? lines : PARTS) > cx->target->chains.twice || !best_height(g, s, &cost))
        return 0;
    cost += lost_place(g, s);
    return gain > cost ? gain - cost : 0;
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
        for (uint32_t n = 2; n <= LONGEST && n <= k + 1 && g->member[k + 1 - n]; n++) {
            if (!chain_shape(g, k + 1 - n, n, &s)) /* what is wrong with it stays wrong with more nodes in front */
                break;
            uint64_t w = worth(g, &s), before = n <= k ? best[k - n].worth : 0;
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
    n = (uint64_t)s->lines * s->images < n ? s->lines * s->images : n;
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
    uint64_t work = 0, cost;
    *c = (struct chain){ .first = first,
                         .n = n,
                         .lines = s.lines * s.images,
                         .images = s.images,
                         .height = best_height(g, &s, &cost),
                         .tiles = tiles_of(cx, &s) };
    op_chain_heights(&s.chain, s.lines, c->height, heights);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t t = cx->g->nodes.at[first + i].out[0];
        cx->chain_of[first + i] = cx->n_chains;
        work = cx->nodes[first + i].work_bytes > work ? cx->nodes[first + i].work_bytes : work;
        if (i + 1 == n)
            continue;
        /* Windows that reach nothing but padding want no line at all. */
        cx->slabs[t] = (struct chain_slab){ c->slab_bytes, (heights[i] ? heights[i] : 1) * s.line[i].bytes };
        c->slab_bytes += plan_round(cx, cx->slabs[t].bytes);
        cx->cells[cx->cell_of[t]].place = PLACE_LINES;
        cx->cells[cx->cell_of[t]].room = false;
    }
    c->work_bytes = c->slab_bytes + plan_round(cx, work);
    cx->n_chains++;
}

/* ---- the order -------------------------------------------------------------------------------------------------------- */

/* A division of the order that there is now. */
struct division {
    struct chain_graph g;
    struct choice *best;
    uint32_t *begin; /* per node: where its chain begins */
};

static enum status divide(struct prepare_cx *cx, struct division *d)
{
    uint32_t nn = (uint32_t)cx->g->nodes.n;
    TRY(choose(cx, &d->g, d->best));
    for (uint32_t k = nn; k > 0; k -= d->best[k - 1].n)
        for (uint32_t i = 0; i < d->best[k - 1].n; i++)
            d->begin[k - 1 - i] = k - d->best[k - 1].n;
    return ST_OK;
}

/* Operators into the order of the runs; `back` is the way back. */
static enum status gather(struct prepare_cx *cx, const struct chain_runs *runs, uint32_t *back, struct division *d)
{
    for (uint32_t k = 0; k < cx->g->nodes.n; k++)
        back[runs->order[k]] = k;
    TRY(plan_reorder(cx, runs->order));
    TRY(chain_graph(cx, &d->g));
    return divide(cx, d);
}

/* Runs that were brought together for nothing are refused. */
static bool all_chained(const struct chain_runs *runs, const uint32_t *back, const struct division *d, uint32_t nn)
{
    bool all = true;
    for (uint32_t k = 0; k < nn; k++) {
        bool lost = runs->first_of[k] != IR_NONE && d->begin[back[k]] > back[runs->first_of[k]];
        runs->refused[k] |= lost;
        all &= !lost;
    }
    return all;
}

/* Attention is brought together where that gives a chain. */
static enum status order_runs(struct prepare_cx *cx, struct division *d)
{
    uint32_t nn = (uint32_t)cx->g->nodes.n, *back = arena_array(&cx->arena, uint32_t, nn), *given = cx->given_order,
             *then = given ? arena_array(&cx->arena, uint32_t, nn) : NULL;
    struct chain_runs runs = { arena_array(&cx->arena, bool, nn), arena_array(&cx->arena, uint32_t, nn),
                               arena_array(&cx->arena, uint32_t, nn), false };
    RETURN_IF(!back || (given && !then) || !runs.refused || !runs.first_of || !runs.order, ST_NO_MEMORY,
              "no memory to order %u operators", nn);
    TRY(chain_gather(cx, &d->g, &runs));
    if (!runs.any)
        return divide(cx, d);
    TRY(gather(cx, &runs, back, d));
    if (!all_chained(&runs, back, d, nn)) {
        TRY(plan_reorder(cx, back));
        TRY(chain_graph(cx, &d->g));
        TRY(chain_gather(cx, &d->g, &runs));
        TRY(gather(cx, &runs, back, d));
    }
    for (uint32_t k = 0; given && k < nn; k++)
        then[k] = back[given[k]];
    cx->given_order = then;
    return ST_OK;
}

enum status tile_chain(struct prepare_cx *cx, bool *progress)
{
    (void)progress;
    uint32_t nn = (uint32_t)cx->g->nodes.n;
    if (!cx->target->chains.bytes || cx->unchained || cx->target->own_kernels || nn < 2)
        return ST_OK;
    if (!cx->cells)
        TRY(plan_cells(cx));
    struct division d = { .best = arena_array(&cx->arena, struct choice, nn),
                          .begin = arena_array(&cx->arena, uint32_t, nn) };
    TRY(chain_graph(cx, &d.g));
    cx->chains = arena_array(&cx->arena, struct chain, nn / 2);
    cx->chain_of = arena_array(&cx->arena, uint32_t, nn);
    cx->slabs = arena_array(&cx->arena, struct chain_slab, cx->g->tensors.n);
    RETURN_IF(!d.best || !d.begin || !cx->chains || !cx->chain_of || !cx->slabs, ST_NO_MEMORY,
              "no memory to find chains among %u nodes", nn);
    TRY(order_runs(cx, &d));
    for (uint32_t k = 0; k < nn; k++)
        cx->chain_of[k] = IR_NONE;
    for (uint32_t k = 0, n; k < nn; k += n) {
        for (n = 1; k + n < nn && d.begin[k + n] == k; n++)
            ;
        if (n > 1)
            add_chain(cx, &d.g, k, n);
    }
    return ST_OK;
}
