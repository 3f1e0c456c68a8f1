/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a graph on a device whose parts work side by side, operator by operator in the order of the binary:
 *
 *   DMA       |w1|w2 |w3  |            weights come ahead of their operators, as far as half of the fast memory allows
 *   matrix       |1111|333333|         an operator begins when its unit is free and the first tiles of its inputs are there,
 *   vector          |2222|             and ends when it has done its work and the last tiles and weights have come
 *
 * A unit works on one operator at a time. What an operator adds to the end of all work so far are its cycles. */
#include "base/arena.h"
#include "prepare/cost.h"

enum { TILE_BYTES = 65536, MAX_TILES = 8, UNIT_MATRIX = 0, UNIT_VECTOR = 1, UNITS };

struct span {
    uint64_t start, finish, lead; /* lead: when the first tile of the results is there */
};

struct events {
    const struct cost_device *d;
    const struct binary_graph *g;
    struct cost_work *work;
    struct binary_vtcm_node *moves;
    struct span *spans;
    uint32_t *producer;       /* per tensor */
    uint64_t unit_free[UNITS], dma_free;
    uint32_t oldest;          /* operator whose weights are the oldest in fast memory */
    uint64_t ahead;           /* bytes of weights there */
    uint64_t gate;            /* no transfer for an operator begins before */
};

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t dma_cycles(const struct cost_device *d, uint64_t bytes)
{
    return bytes * d->clock_mhz / d->dram_mb_s;
}

/* ---- what there is to do -------------------------------------------------------------------------------------------------------- */

/* A view over its own memory is no work; an activation behind a product that nobody else reads is work of that product. */
static void settle(struct events *e, const uint32_t *readers, uint32_t k)
{
    const struct binary_node *n = &e->g->nodes[k];
    struct binary_traffic t;
    binary_node_traffic(e->g, k, &t);
    uint64_t moved = 0;
    for (int p = 0; p < PLACE_COUNT; p++)
        moved += t.read[p] + t.written[p];
    uint32_t x = n->n_in ? n->in[0] : BINARY_NONE, from = x == BINARY_NONE ? BINARY_NONE : e->producer[x];
    if (binary_is_transfer(n)) { /* work of the DMA engine alone */
        e->work[k] = (struct cost_work){ .none = true };
        return;
    }
    bool still = binary_node_in_tiles(e->g, n) && !(e->moves[k].constants + e->moves[k].read + e->moves[k].written);
    e->work[k].none = !moved || still;
    if (!moved || from == BINARY_NONE || !cost_follows(n) || !cost_is_product(&e->g->nodes[from]) || readers[x] != 1)
        return;
    e->work[from].vector += e->work[k].vector;
    e->work[k] = (struct cost_work){ .none = true };
}

static enum status list_work(struct events *e, struct arena *a)
{
    uint32_t *readers = arena_array(a, uint32_t, e->g->n_tensors);
    RETURN_IF(!readers, ST_NO_MEMORY, "no memory to estimate %u operators", e->g->n_nodes);
    for (uint32_t t = 0; t < e->g->n_tensors; t++)
        e->producer[t] = BINARY_NONE;
    for (uint32_t k = 0; k < e->g->n_nodes; k++) {
        const struct binary_node *n = &e->g->nodes[k];
        cost_work(e->d, e->g, n, &e->work[k]);
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i] != BINARY_NONE)
                readers[n->in[i]]++;
        for (uint32_t i = 0; i < n->n_out; i++)
            if (n->out[i] != BINARY_NONE)
                e->producer[n->out[i]] = k;
    }
    for (uint32_t k = 0; k < e->g->n_nodes; k++)
        settle(e, readers, k);
    return ST_OK;
}

/* ---- when it is done ------------------------------------------------------------------------------------------------------------ */

/* When what operator k reads from DRAM begins and has ended to come. */
static struct span fetch(struct events *e, uint32_t k)
{
    uint64_t bytes = e->moves[k].constants + e->moves[k].read, window = e->d->vtcm_bytes / 2;
    for (; e->oldest < k && e->ahead + bytes > window; e->oldest++) {
        e->gate = most(e->gate, e->spans[e->oldest].finish);
        e->ahead -= e->moves[e->oldest].constants + e->moves[e->oldest].read;
    }
    e->ahead += bytes;
    struct span s = { .start = bytes ? most(e->dma_free, e->gate) : 0 };
    s.finish = bytes ? s.start + dma_cycles(e->d, bytes) : 0;
    e->dma_free = most(e->dma_free, s.finish);
    return s;
}

static uint64_t tiles_of(const struct binary_graph *g, const struct binary_node *n)
{
    uint64_t bytes = n->n_out && n->out[0] != BINARY_NONE ? binary_tile_bytes(&g->tensors[n->out[0]].desc) : 0, tiles = bytes / TILE_BYTES + 1;
    return tiles < MAX_TILES ? tiles : MAX_TILES;
}

/* The operator's inputs: when their first tiles are there, when their last ones. */
static struct span inputs_of(const struct events *e, const struct binary_node *n)
{
    struct span s = { 0 };
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t from = n->in[i] == BINARY_NONE ? BINARY_NONE : e->producer[n->in[i]];
        if (from == BINARY_NONE)
            continue;
        s.lead = most(s.lead, e->spans[from].lead);
        s.finish = most(s.finish, e->spans[from].finish);
    }
    return s;
}

/* What leaves for lack of room and comes back waits for the DMA engine, and the engine for it. */
static void place_transfer(struct events *e, uint32_t k)
{
    uint64_t bytes = e->moves[k].read + e->moves[k].written;
    struct span in = inputs_of(e, &e->g->nodes[k]), *s = &e->spans[k];
    s->start = most(in.finish, e->dma_free);
    s->finish = e->dma_free = s->start + dma_cycles(e->d, bytes);
    s->lead = s->start + (s->finish - s->start) / MAX_TILES;
}

static void place(struct events *e, uint32_t k)
{
    const struct binary_node *n = &e->g->nodes[k];
    const struct cost_work *w = &e->work[k];
    struct span in = inputs_of(e, n), *s = &e->spans[k];
    if (binary_is_transfer(n) && e->moves[k].read + e->moves[k].written) {
        place_transfer(e, k);
        return;
    }
    if (w->none) {
        *s = (struct span){ in.lead, in.finish, in.lead };
        return;
    }
    struct span dma = fetch(e, k);
    uint64_t time = e->d->launch[w->matrix ? UNIT_MATRIX : UNIT_VECTOR] + most(w->move, most(w->matrix, w->vector)), tile = time / tiles_of(e->g, n);
    s->start = most(in.lead, dma.start);
    s->start = w->matrix ? most(s->start, e->unit_free[UNIT_MATRIX]) : s->start;
    s->start = w->vector ? most(s->start, e->unit_free[UNIT_VECTOR]) : s->start;
    s->finish = most(s->start + time, most(in.finish, dma.finish) + tile);
    s->lead = s->start + tile;
    if (w->matrix)
        e->unit_free[UNIT_MATRIX] = s->finish;
    if (w->vector) /* vectors that help a product leave the units when they are done */
        e->unit_free[UNIT_VECTOR] = w->matrix ? s->start + w->vector : s->finish;
    if (e->moves[k].written)
        e->dma_free = most(e->dma_free, s->lead) + dma_cycles(e->d, e->moves[k].written);
}

/* The graph is over when its last results are in DRAM; that belongs to the last operator. */
static uint64_t share_out(struct events *e, struct binary_node *nodes)
{
    uint64_t end = 0;
    for (uint32_t k = 0; k < e->g->n_nodes; k++) {
        place(e, k);
        uint64_t finish = k + 1 == e->g->n_nodes ? most(e->spans[k].finish, e->dma_free) : e->spans[k].finish;
        const struct cost_work *w = &e->work[k];
        bool dma = e->moves[k].constants + e->moves[k].read + e->moves[k].written > 0;
        nodes[k].resources = binary_is_transfer(&e->g->nodes[k]) ? RESOURCE_DMA :
                             (w->matrix ? RESOURCE_MATRIX : 0u) | (w->vector ? RESOURCE_VECTOR : 0u) | (dma ? RESOURCE_DMA : 0u);
        nodes[k].cycles = finish > end ? finish - end : 0;
        end = most(end, finish);
    }
    return end;
}

/* What the schedule of a graph with a window moves; for shapes alone, what a device would. */
static enum status list_moves(struct events *e, struct binary_vtcm *ret)
{
    const struct binary_graph *g = e->g;
    *ret = (struct binary_vtcm){ 0 };
    if (!g->info.vtcm_bytes)
        return binary_vtcm(g, e->d->vtcm_bytes, e->moves, ret);
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        struct binary_moves m;
        binary_node_moves(g, k, &m);
        e->moves[k] = (struct binary_vtcm_node){ m.weights, m.inputs + m.fill, m.outputs + m.spill };
    }
    return ST_OK;
}

enum status cost_events(const struct cost_device *d, const struct binary_graph *g, struct binary_node *nodes, struct cost_result *ret)
{
    CLEANUP(arena_finish) struct arena a;
    arena_init(&a);
    struct events e = { .d = d, .g = g, .work = arena_array(&a, struct cost_work, g->n_nodes),
                        .moves = arena_array(&a, struct binary_vtcm_node, g->n_nodes), .spans = arena_array(&a, struct span, g->n_nodes),
                        .producer = arena_array(&a, uint32_t, g->n_tensors) };
    RETURN_IF(!e.work || !e.moves || !e.spans || !e.producer, ST_NO_MEMORY, "no memory to estimate %u operators", g->n_nodes);
    TRY(list_moves(&e, &ret->vtcm));
    TRY(list_work(&e, &a));
    ret->cycles = share_out(&e, nodes);
    return ST_OK;
}
