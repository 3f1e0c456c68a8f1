/* SPDX-License-Identifier: Apache-2.0 */
/* What moves between DRAM and fast memory when an operator goes through its result box by box.
 *
 * Of two orders the one that moves less is taken: channels outside (the weights of some channels come once and stay while
 * all lines pass, so operands in DRAM come once per part of the channels), or lines outside (weights come again for every
 * part of the lines). Lines that the box before has brought stay; columns at borders between boxes come twice. */
#include "binary/binary_format.h"

static uint64_t dense(const struct tensor_desc *d)
{
    return (desc_count(d) * binary_tile_bits(d->type) + 7) / 8;
}

static bool counts(const struct binary_box_op *o, const uint8_t *roles, uint32_t i)
{
    uint8_t role = roles[i];
    return role == ROLE_STREAMS || role == ROLE_CLIENT || role == ROLE_CONSTANT ||
           (role == ROLE_LINES && i >= o->call->n_in);
}

uint64_t binary_box_bytes(const struct binary_box_op *o, const struct binary_box *b, const uint8_t *roles)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < o->call->n_in + o->call->n_out; i++)
        sum += counts(o, roles, i) ? binary_box_operand(o, b, i) : 0;
    return sum;
}

/* Borders between columns, for a window. */
static uint64_t with_borders(const struct binary_box_op *o, uint64_t columns, uint64_t bytes)
{
    uint64_t border = o->window[0] > o->stride[0] ? o->window[0] - o->stride[0] : 0, width = o->whole.columns * o->stride[0];
    return o->image ? bytes + bytes * border * (columns - 1) / width : bytes;
}

/* By where an operand lies. */
static uint64_t *sum_of(struct binary_moves *m, uint8_t role, bool out)
{
    return role == ROLE_CONSTANT  ? &m->weights
           : role == ROLE_CLIENT  ? (out ? &m->outputs : &m->inputs)
           : role == ROLE_STREAMS ? (out ? &m->spill : &m->fill)
                                  : NULL;
}

static bool repeated(const struct op_call *c, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (c->in[k] == c->in[i])
            return true;
    return false;
}

/* The client's tensors have the layout of the API in DRAM, all others that of tiles. */
static uint64_t bytes_as(const struct tensor_desc *d, uint8_t role)
{
    return role == ROLE_CONSTANT || role == ROLE_CLIENT ? dense(d) : binary_tile_bytes(d);
}

/* Of a table of which some rows are looked up nothing else comes. */
static bool looks_up(const struct op_call *c)
{
    return c->op->id == OP_Gather || c->op->id == OP_GatherNd;
}

static uint64_t input_bytes(const struct binary_box_op *o, const uint8_t *roles, uint32_t i)
{
    const struct tensor_desc *x = i < o->call->n_in ? o->call->in[i] : NULL;
    if (!x || repeated(o->call, i) || roles[i] == ROLE_STAYS || roles[i] == ROLE_LINES)
        return 0;
    uint64_t all = bytes_as(x, roles[i]),
             part = i == 0 && looks_up(o->call) && o->call->out[0] ? bytes_as(o->call->out[0], roles[i]) : all;
    return part < all ? part : all;
}

/* How often the operands of a product come: the first one, the others. */
struct again {
    uint64_t first, others;
};

static struct again passes(const struct binary_box_op *o, const struct binary_box *b, const uint8_t *roles)
{
    struct binary_box n;
    uint64_t boxes = binary_box_count(o, b, &n), places = boxes / n.channels, first = input_bytes(o, roles, 0), others = 0;
    if (o->whole.depth == 1)
        return (struct again){ 1, 1 };
    for (uint32_t i = 1; i < o->call->n_in; i++)
        others += input_bytes(o, roles, i);
    struct again outside = { n.channels, n.depth > 1 ? places : 1 },
                 inside = { n.depth > 1 ? n.channels : 1, n.channels * n.depth > 1 ? places : 1 };
    bool lines = first * inside.first + others * inside.others < first * outside.first + others * outside.others;
    return lines ? inside : outside;
}

/* Parts of a whole, in tiles: a tile that is in DRAM and is to be there stays where it is. */
static void parts_moves(const struct op_call *c, const uint8_t *roles, struct binary_moves *ret)
{
    bool join = c->op->id == OP_Concat;
    for (uint32_t i = 0; i < (join ? c->n_in : c->n_out); i++) {
        uint8_t from = roles[join ? i : 0], to = roles[c->n_in + (join ? 0 : i)];
        const struct tensor_desc *part = join ? c->in[i] : c->out[i];
        uint64_t *in = sum_of(ret, from, false), *out = sum_of(ret, to, true);
        if (from == ROLE_STREAMS && to == ROLE_STREAMS)
            continue;
        if (in && !(join && repeated(c, i)))
            *in += bytes_as(part, from);
        if (out && to != ROLE_CONSTANT)
            *out += bytes_as(part, to);
    }
}

void binary_box_moves(const struct binary_box_op *o, const struct binary_box *b, const uint8_t *roles,
                      struct binary_moves *ret)
{
    const struct op_call *c = o->call;
    if (binary_in_tiles(c)) {
        *ret = (struct binary_moves){ 0 };
        parts_moves(c, roles, ret);
        return;
    }
    struct again again = passes(o, b, roles);
    *ret = (struct binary_moves){ 0 };
    for (uint32_t i = 0; i < c->n_in; i++) {
        uint64_t bytes = input_bytes(o, roles, i), *sum = sum_of(ret, roles[i], false);
        if (bytes && i == 0 && o->terms && b->depth > 1)
            *sum += binary_box_again(o, b, bytes);
        else if (bytes && i == 0)
            *sum += with_borders(o, (o->whole.columns + b->columns - 1) / b->columns, bytes) * again.first;
        else if (bytes)
            *sum += bytes * again.others;
    }
    for (uint32_t i = 0; i < c->n_out; i++) {
        uint64_t *sum = c->out[i] ? sum_of(ret, roles[c->n_in + i], true) : NULL;
        if (sum && roles[c->n_in + i] != ROLE_CONSTANT)
            *sum += bytes_as(c->out[i], roles[c->n_in + i]);
    }
}

/* Of the second operand of MatMul, each for some of the lines. */
static uint64_t matrices(const struct binary_box_op *o)
{
    uint64_t one = (uint64_t)o->whole.depth * o->whole.channels, all = 1;
    if (o->call->op->id == OP_MatMul && o->call->n_in > 1 && o->call->in[1] && one)
        all = desc_count(o->call->in[1]) / one;
    return all ? all : 1;
}

/* Lines go by once; weights that are not there whole come again for every slab, and so does a result that takes their
 * place. */
void binary_box_slab_moves(const struct binary_box_op *o, const struct binary_box *b, const uint8_t *roles, uint32_t slabs,
                           struct binary_moves *ret)
{
    uint64_t times = b->channels == o->whole.channels ? 1 : (slabs + matrices(o) - 1) / matrices(o);
    bool weights = o->whole.depth > 1 && o->call->n_in > 1 && (roles[1] == ROLE_STREAMS || roles[1] == ROLE_CLIENT);
    binary_box_moves(o, &o->whole, roles, ret);
    ret->weights *= times;
    if (weights)
        *sum_of(ret, roles[1], false) += input_bytes(o, roles, 1) * (times - 1);
}

struct binary_box binary_box_lines(const struct binary_box_op *o, uint32_t lines, uint64_t weights)
{
    struct binary_box b = o->whole;
    struct op_lines all;
    uint64_t each = 1;
    if (!o->image && o->call->n_out && desc_lines(o->call->out[0], &all) && all.n)
        each = o->whole.lines / all.n;
    b.lines = lines * each < b.lines ? (uint32_t)(lines * each) : b.lines;
    while (o->whole.depth > 1 && b.channels > o->step.channels && binary_box_operand(o, &b, 1) > weights)
        b.channels = (b.channels / 2 + o->step.channels - 1) / o->step.channels * o->step.channels;
    return b;
}

/* ---- nodes of a binary ------------------------------------------------------------------------------------------------ */

enum binary_role binary_role_of(enum binary_place place)
{
    static const uint8_t by_place[PLACE_COUNT] = { [PLACE_NONE] = ROLE_CONSTANT,
                                                   [PLACE_CONST] = ROLE_CONSTANT,
                                                   [PLACE_IO] = ROLE_CLIENT,
                                                   [PLACE_SPILL] = ROLE_STREAMS,
                                                   [PLACE_LINES] = ROLE_LINES };
    return by_place[place];
}

static void list_roles(const struct binary_graph *g, const struct binary_node *n, uint8_t *ret)
{
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        ret[i] = t == BINARY_NONE ? ROLE_STAYS : binary_role_of(g->tensors[t].place);
    }
}

static void see(const struct binary_graph *g, uint32_t k, struct bin_seen *s)
{
    const struct binary_node *n = &g->nodes[k];
    const struct binary_chain *c = g->chain_of && g->chain_of[k] != BINARY_NONE ? &g->chains[g->chain_of[k]] : NULL;
    bin_call(g, n, s->in, s->out, &s->call);
    binary_box_op(&s->call, &s->op);
    list_roles(g, n, s->roles);
    s->box = n->tile.box.lines ? n->tile.box : s->op.whole;
    if (c && !n->tile.box.lines) {
        const struct binary_tensor *t = &g->tensors[n->out[0]];
        struct op_lines lines;
        bool inside = t->place == PLACE_LINES && desc_lines(&t->desc, &lines);
        s->box = binary_box_lines(&s->op, inside ? (uint32_t)(t->bytes / lines.bytes) : c->height, UINT64_MAX);
    }
}

uint64_t binary_node_box_bytes(const struct binary_graph *g, uint32_t node)
{
    struct bin_seen s;
    see(g, node, &s);
    return binary_box_bytes(&s.op, &s.box, s.roles);
}

static void plan_moves(const struct binary_graph *g, uint32_t node, struct bin_seen *s, struct binary_moves *ret)
{
    const struct binary_node *n = &g->nodes[node];
    *ret = (struct binary_moves){ 0 };
    see(g, node, s);
    if (g->chain_of && g->chain_of[node] != BINARY_NONE) {
        const struct binary_chain *c = &g->chains[g->chain_of[node]];
        uint32_t per = c->lines / c->images;
        binary_box_slab_moves(&s->op, &s->box, s->roles, c->images * ((per + c->height - 1) / c->height), ret);
        return;
    }
    binary_box_moves(&s->op, &s->box, s->roles, ret);
    if (binary_is_transfer(n)) { /* the DMA engine itself: one way */
        *ret = (struct binary_moves){ 0 };
        *(n->op->id == OP_DramToTcm ? &ret->fill : &ret->spill) = binary_tile_bytes(s->in[0]);
    }
}

/* A view over its own memory moves nothing. Constants move as they are stored. */
void binary_node_moves(const struct binary_graph *g, uint32_t node, struct binary_moves *ret)
{
    const struct binary_node *n = &g->nodes[node];
    uint32_t share = n->stored_share;
    struct binary_traffic t;
    struct bin_seen s;
    uint64_t any = 0;

    *ret = (struct binary_moves){ 0 };
    binary_node_traffic(g, node, &t);
    for (int p = 0; p < PLACE_COUNT; p++)
        any |= t.read[p] | t.written[p];
    if (!any)
        return;

    plan_moves(g, node, &s, ret);
    if (g->info.cores > 1 && !binary_is_transfer(n) && !binary_node_in_tiles(g, n))
        bin_add_core_moves(g, node, &s, ret);
    ret->fill = binary_moved_compressed(g, s.in[0], ret->fill);
    ret->exchanged = binary_moved_compressed(g, s.in[0], ret->exchanged);
    ret->spill = binary_moved_compressed(g, s.out[0], ret->spill);
    if (share)
        ret->weights = (uint64_t)((unsigned __int128)ret->weights * share / BINARY_WHOLE);
}

static void add(struct binary_moves *to, const struct binary_moves *m)
{
    to->weights += m->weights;
    to->inputs += m->inputs;
    to->outputs += m->outputs;
    to->fill += m->fill;
    to->spill += m->spill;
    to->exchanged += m->exchanged;
}

void binary_graph_moves(const struct binary_graph *g, struct binary_moves *ret)
{
    *ret = (struct binary_moves){ 0 };
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        struct binary_moves m;
        binary_node_moves(g, k, &m);
        add(ret, &m);
    }
}

/* What units `from` … `to` of all of them have. */
struct share {
    uint64_t from, to, all;
};

static uint64_t part(uint64_t n, const struct share *s)
{
    return (uint64_t)((unsigned __int128)n * s->to / s->all) - (uint64_t)((unsigned __int128)n * s->from / s->all);
}

void binary_command_moves(const struct binary_graph *g, struct binary_moves *ret)
{
    for (uint32_t i = 0, end; i < g->n_commands; i = end) {
        uint32_t node = g->commands[i].node, at = g->chain_of ? g->chain_of[node] : BINARY_NONE;
        struct binary_moves all = { 0 }, m;
        struct share s = { 0 };
        for (end = i; end < g->n_commands && g->commands[end].node == node; end++)
            s.all += g->commands[end].end - g->commands[end].begin;
        for (uint32_t k = at == BINARY_NONE ? node : g->chains[at].first; k <= node; k++) {
            binary_node_moves(g, k, &m);
            add(&all, &m);
        }
        for (uint32_t k = i; k < end; k++, s.from = s.to) {
            s.to = s.from + g->commands[k].end - g->commands[k].begin;
            ret[k] = (struct binary_moves){ part(all.weights, &s), part(all.inputs, &s), part(all.outputs, &s),
                                            part(all.fill, &s),    part(all.spill, &s),  part(all.exchanged, &s) };
        }
    }
}
