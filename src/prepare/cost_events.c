/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a graph on a device whose parts work side by side: what there is to do for each command, in the order of the
 * binary. cost_place.c says when it is done.
 *
 * What a command adds to the end of all work so far are its cycles, and those of its node; members of a chain share them by
 * their work. */
#include "prepare/cost_sim.h"

/* Bytes from and to DRAM. */
struct moves {
    uint64_t weights, read, written, exchanged;
};

struct events {
    struct cost_sim sim;
    struct cost_work *work;
    struct cost_tensor *tensors;
    struct moves *moves;
    uint32_t *activation; /* per product: the activation whose work is its own, BINARY_NONE: none, or a clamp */
    uint64_t *resident; /* per step, bytes of fast memory; NULL: not known */
};

/* ---- what there is to do ---------------------------------------------------------------------------------------------- */

/* x * Sigmoid(x), which a device computes in one go: the tensor x, BINARY_NONE: it is something else. */
static uint32_t swish_of(const struct events *e, const uint32_t *readers, const struct binary_node *n)
{
    for (uint32_t i = 0; i < 2 && n->op->id == OP_ElementWiseMultiply && n->n_in == 2; i++) {
        uint32_t x = n->in[1 - i], from = n->in[i] == BINARY_NONE ? BINARY_NONE : e->sim.producer[n->in[i]];
        if (from != BINARY_NONE && e->sim.g->nodes[from].op->id == OP_Sigmoid && e->sim.g->nodes[from].in[0] == x &&
            readers[n->in[i]] == 1)
            return x;
    }
    return BINARY_NONE;
}

/* The operand of an activation that may be work of the product which makes it, if nobody else reads it; BINARY_NONE: it is
 * no activation. */
static uint32_t activated(struct events *e, const uint32_t *readers, uint32_t k, uint32_t *most_readers)
{
    const struct binary_node *n = &e->sim.g->nodes[k];
    uint32_t x = swish_of(e, readers, n);
    *most_readers = x == BINARY_NONE ? 1 : 2;
    if (x == BINARY_NONE)
        return n->n_in && cost_follows(n) ? n->in[0] : BINARY_NONE;
    uint32_t sigmoid = e->sim.producer[n->in[n->in[0] == x]];
    e->work[sigmoid] = (struct cost_work){ .none = true };
    e->work[k].vector = cost_swish(e->sim.d, e->sim.g, n, e->tensors);
    return x;
}

/* What is between two operators that are computed as one is nowhere. */
static void not_stored(struct events *e, uint32_t from, uint32_t to, uint32_t t)
{
    const struct binary_tensor *between = &e->sim.g->tensors[t];
    uint64_t bytes = between->place == PLACE_SPILL
                         ? binary_moved_compressed(e->sim.g, &between->desc, binary_tile_bytes(&between->desc))
                         : 0,
             *sums[2] = { &e->moves[from].written, &e->moves[to].read };
    for (int i = 0; i < 2; i++)
        *sums[i] -= bytes < *sums[i] ? bytes : *sums[i];
}

/* Whether an activation behind operator `from` is to stay an operator of its own. */
static bool is_apart(const struct events *e, const struct binary_node *activation, uint32_t from)
{
    enum op_id op = e->sim.g->nodes[from].op->id;
    bool convolves = cost_is_product(&e->sim.g->nodes[from]) || op == OP_DepthWiseConv2d || op == OP_DepthWiseConv1d;

    return convolves && (cost_clamps(activation) ? e->sim.d->clamps_apart : e->sim.d->activations_apart);
}

/* A view over its own memory is no work; an activation behind a product that nobody else reads is work of that product; a
 * clamp behind many others is none. */
static void settle(struct events *e, const uint32_t *readers, uint32_t k)
{
    const struct binary_graph *g = e->sim.g;
    const struct binary_node *n = &g->nodes[k];
    struct binary_traffic t;
    binary_node_traffic(g, k, &t);
    uint64_t moved = 0;
    for (int p = 0; p < PLACE_COUNT; p++)
        moved += t.read[p] + t.written[p];
    if (binary_is_transfer(n)) { /* work of the DMA engine alone */
        e->work[k] = (struct cost_work){ .none = true };
        return;
    }
    bool still = binary_node_in_tiles(g, n) && !(e->moves[k].weights + e->moves[k].read + e->moves[k].written);
    e->work[k].none = !moved || still;
    if (!moved) { /* it is where it was, and whoever reads it brings it */
        e->moves[k] = (struct moves){ 0 };
        return;
    }
    uint32_t most_readers, x = activated(e, readers, k, &most_readers),
                           from = x == BINARY_NONE ? BINARY_NONE : e->sim.producer[x];
    if (from == BINARY_NONE || readers[x] > most_readers || is_apart(e, n, from))
        return;
    uint64_t vector = e->work[k].vector;
    bool clamped = readers[x] == 1 && cost_clamps(n) && cost_stores_clamped(&g->nodes[from]);
    if (clamped)
        not_stored(e, from, k, x);
    else if (cost_is_product(&g->nodes[from]))
        e->work[from].vector += vector;
    else
        return;
    e->work[k] = (struct cost_work){ .none = true };
    if (!clamped && !cost_clamps(n)) {
        e->work[k].within = vector;
        e->activation[from] = k;
    }
}

static enum status list_work(struct events *e, struct arena *a)
{
    const struct binary_graph *g = e->sim.g;
    uint32_t *readers = arena_array(a, uint32_t, g->n_tensors);
    e->tensors = arena_array(a, struct cost_tensor, g->n_tensors);
    RETURN_IF(!readers || !e->tensors, ST_NO_MEMORY, "no memory to estimate %u operators", g->n_nodes);
    cost_list_tensors(g, e->tensors);
    for (uint32_t t = 0; t < g->n_tensors; t++)
        e->sim.producer[t] = BINARY_NONE;
    for (uint32_t k = 0; k < g->n_nodes; k++)
        e->activation[k] = BINARY_NONE;
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct binary_node *n = &g->nodes[k];
        cost_work(e->sim.d, g, k, e->tensors, &e->work[k]);
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i] != BINARY_NONE)
                readers[n->in[i]]++;
        for (uint32_t i = 0; i < n->n_out; i++)
            if (n->out[i] != BINARY_NONE)
                e->sim.producer[n->out[i]] = k;
    }
    for (uint32_t k = 0; k < g->n_nodes; k++)
        settle(e, readers, k);
    return ST_OK;
}

/* What part of the spill-fill buffer stays in the system level cache, and how much sooner it comes from there. */
static uint64_t through_cache(const struct events *e, uint64_t bytes)
{
    enum { PERCENT = 100 };
    const struct cost_device *d = e->sim.d;
    uint64_t buffer = e->sim.g->info.spill_fill_bytes;

    if (!d->slc_bytes || !buffer || !d->slc_percent)
        return bytes;
    uint64_t kept = d->slc_bytes < buffer ? d->slc_bytes : buffer;
    uint64_t cached = (uint64_t)((unsigned __int128)bytes * kept / buffer);
    return bytes - cached + cached * PERCENT / d->slc_percent;
}

static void list_moves(struct events *e)
{
    for (uint32_t k = 0; k < e->sim.g->n_nodes; k++) {
        struct binary_moves m;
        struct cost_steps steps;
        binary_node_moves(e->sim.g, k, &m);
        if (cost_steps_apart(e->sim.d, e->sim.g, &e->sim.g->nodes[k], &steps))
            m.weights += (steps.n - 1) * steps.weights;
        e->moves[k] = (struct moves){ m.weights, m.inputs + through_cache(e, m.fill), m.outputs + through_cache(e, m.spill),
                                      m.exchanged };
    }
}

/* ---- commands --------------------------------------------------------------------------------------------------------- */

static struct cost_member member_of(const struct events *e, uint32_t k)
{
    const struct cost_work *w = &e->work[k];
    const struct cost_device *d = e->sim.d;
    struct cost_member m = { .node = k, .product = cost_is_product(&e->sim.g->nodes[k]) };
    uint64_t busy = w->matrix ? w->matrix : w->vector, whole = w->move > busy ? w->move : busy;
    if (w->none)
        return m;
    m.delay = d->launch[w->matrix ? 0 : 1];
    m.matrix = w->matrix ? whole : 0;
    m.vector = (w->matrix ? w->vector : whole) * e->sim.n_threads;
    return m;
}

static uint32_t boxes_of(const struct binary_graph *g, const struct binary_node *n)
{
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    struct op_call c = { .op = n->op,
                         .node = n->name,
                         .n_in = n->n_in,
                         .n_out = n->n_out,
                         .in = in,
                         .out = out,
                         .params = n->params,
                         .post = n->post };
    struct binary_box_op o;
    struct binary_box sides;
    if (!n->tile.box.lines)
        return 1;
    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == BINARY_NONE ? NULL : &g->tensors[n->in[i]].desc;
    for (uint32_t i = 0; i < n->n_out; i++)
        out[i] = n->out[i] == BINARY_NONE ? NULL : &g->tensors[n->out[i]].desc;
    binary_box_op(&c, &o);
    uint64_t boxes = binary_box_count(&o, &n->tile.box, &sides);
    return boxes < UINT32_MAX ? (uint32_t)boxes : UINT32_MAX;
}

/* The commands from number `first` on that belong to one node; of a chain, to its last node. */
static void group_at(const struct events *e, uint32_t first, struct cost_group *ret)
{
    const struct cost_sim *s = &e->sim;
    const struct binary_graph *g = s->g;
    uint32_t node = s->g->commands[first].node, at = g->chain_of ? g->chain_of[node] : BINARY_NONE,
             step = s->g->commands[first].step;
    *ret = (struct cost_group){ .first = first, .boxes = 1 };
    while (first + ret->n < s->g->n_commands && s->g->commands[first + ret->n].node == node)
        ret->n++;
    for (uint32_t k = at == BINARY_NONE ? node : g->chains[at].first; k <= node; k++) {
        struct cost_member *m = &ret->members[ret->n_members++];
        *m = member_of(e, k);
        ret->in += e->moves[k].weights + e->moves[k].read;
        ret->out += e->moves[k].written;
        ret->exchanged += e->moves[k].exchanged;
        ret->reads_back |= e->moves[k].read > 0;
    }
    const struct binary_node *n = &g->nodes[node];
    ret->transfer = binary_is_transfer(n);
    ret->stores = n->op->id == OP_TcmToDram;
    ret->boxes = at == BINARY_NONE ? boxes_of(g, n) : 1;
    ret->boxes = ret->boxes < ret->n ? ret->boxes : ret->n;
    ret->room = e->resident ? n->tile.bytes : ret->in;
    ret->capacity = e->resident
                        ? s->d->vtcm_bytes - (e->resident[step] < s->d->vtcm_bytes ? e->resident[step] : s->d->vtcm_bytes)
                        : s->d->vtcm_bytes / 2;
}

/* ---- cycles ----------------------------------------------------------------------------------------------------------- */

static uint64_t ended(const struct cost_sim *s, const struct cost_group *gr)
{
    uint64_t when = 0;

    for (uint32_t i = 0; i < gr->n; i++)
        when = s->done[gr->first + i] > when ? s->done[gr->first + i] : when;
    return when;
}

/* Of the cycles of a product, what it would be faster by without its activation. */
static void charge_activation(const struct events *e, uint32_t product, struct binary_node *nodes)
{
    const struct cost_work *w = &e->work[product];
    uint32_t k = e->activation[product];
    if (k == BINARY_NONE)
        return;

    uint64_t without = w->vector - e->work[k].within;
    uint64_t whole = w->vector > w->matrix ? w->vector : w->matrix;
    uint64_t rest = without > w->matrix ? without : w->matrix;
    uint64_t part = whole ? (uint64_t)((unsigned __int128)nodes[product].cycles * (whole - rest) / whole) : 0;
    nodes[k].cycles += part;
    nodes[product].cycles -= part;
}

/* What a group adds to the end of all work, among its members by what they keep busy. */
static void share_out(const struct events *e, const struct cost_group *gr, uint64_t added, struct binary_node *nodes)
{
    uint64_t all = 0, given = 0, so_far = 0;
    for (uint32_t m = 0; m < gr->n_members; m++)
        all += gr->members[m].matrix + gr->members[m].vector / e->sim.n_threads;
    for (uint32_t m = 0; m < gr->n_members; m++) {
        const struct cost_member *w = &gr->members[m];
        so_far += w->matrix + w->vector / e->sim.n_threads;
        uint64_t upto = m + 1 == gr->n_members || !all ? added : (uint64_t)((unsigned __int128)added * so_far / all);
        nodes[w->node].cycles += upto - given;
        charge_activation(e, w->node, nodes);
        given = upto;
    }
}

static uint32_t resources_of(const struct events *e, uint32_t k)
{
    const struct cost_work *w = &e->work[k];
    const struct moves *m = &e->moves[k];
    bool dma = m->weights + m->read + m->written + m->exchanged > 0;
    if (binary_is_transfer(&e->sim.g->nodes[k]))
        return RESOURCE_DMA;
    return (w->matrix ? RESOURCE_MATRIX : 0u) | (w->vector || w->within ? RESOURCE_VECTOR : 0u) | (dma ? RESOURCE_DMA : 0u);
}

static enum status run(struct events *e, struct binary_node *nodes, uint64_t *end)
{
    struct cost_sim *s = &e->sim;
    struct cost_group gr;
    *end = 0;
    for (uint32_t k = 0; k < s->g->n_nodes; k++) {
        nodes[k].cycles = 0;
        nodes[k].resources = resources_of(e, k);
    }
    for (uint32_t i = 0; i < s->g->n_commands; i += gr.n) {
        group_at(e, i, &gr);
        TRY(cost_sim_group(s, &gr));
        uint64_t finish = ended(s, &gr), added = finish > *end ? finish - *end : 0;
        share_out(e, &gr, added, nodes);
        *end += added;
    }
    return ST_OK;
}

static enum status list_resident(struct events *e, struct arena *a)
{
    const struct cost_sim *s = &e->sim;
    uint32_t n_steps = s->g->n_commands ? s->g->commands[s->g->n_commands - 1].step + 1 : 0;
    if (!s->g->info.vtcm_bytes)
        return ST_OK;
    e->resident = arena_array(a, uint64_t, n_steps + 1);
    RETURN_IF(!e->resident, ST_NO_MEMORY, "no memory to estimate %u steps", n_steps);
    return cost_resident(s->g, n_steps, e->resident);
}

enum status cost_events(const struct cost_device *d, const struct binary_graph *g, struct binary_node *nodes,
                        struct cost_result *ret)
{
    CLEANUP(arena_finish) struct arena a;
    arena_init(&a);
    struct events e = { .sim = { .d = d, .g = g, .producer = arena_array(&a, uint32_t, g->n_tensors), .spans = ret->spans },
                        .work = arena_array(&a, struct cost_work, g->n_nodes),
                        .activation = arena_array(&a, uint32_t, g->n_nodes),
                        .moves = arena_array(&a, struct moves, g->n_nodes) };
    RETURN_IF(!e.work || !e.moves || !e.activation || !e.sim.producer, ST_NO_MEMORY, "no memory to estimate %u operators",
              g->n_nodes);
    list_moves(&e);
    TRY(list_work(&e, &a));
    TRY(cost_sim_init(&e.sim, &a));
    TRY(list_resident(&e, &a));
    return run(&e, nodes, &ret->cycles);
}
