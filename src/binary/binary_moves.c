/* SPDX-License-Identifier: Apache-2.0 */
/* What moves between DRAM and fast memory when an operator goes through its result box by box.
 *
 * Of two orders the one that moves less is taken: channels outside (the weights of some channels come once and stay while all lines pass, so operands in DRAM come once per part of the
 * channels), or lines outside (weights come again for every part of the lines). Lines that the box before has brought stay; columns at borders between boxes come twice. */
#include "binary/binary_format.h"

static uint64_t dense(const struct tensor_desc *d)
{
    return (desc_count(d) * binary_tile_bits(d->type) + 7) / 8;
}

static bool counts(const struct binary_box_op *o, const uint8_t *roles, uint32_t i)
{
    uint8_t role = roles[i];
    return role == ROLE_STREAMS || role == ROLE_CONSTANT || (role == ROLE_LINES && i >= o->call->n_in);
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

/* All operands once; the first two inputs that stream also apart. */
static void once(const struct binary_box_op *o, const uint8_t *roles, struct binary_moves *ret, uint64_t two[2])
{
    const struct op_call *c = o->call;
    for (uint32_t i = 0; i < c->n_in; i++) {
        bool counted = !c->in[i];
        for (uint32_t k = 0; k < i && !counted; k++)
            counted = c->in[k] == c->in[i];
        if (!counted && roles[i] == ROLE_CONSTANT)
            ret->weights += dense(c->in[i]);
        else if (!counted && roles[i] == ROLE_STREAMS)
            *(i < 2 ? &two[i] : &ret->in) += binary_vtcm_bytes(c->in[i]);
    }
    for (uint32_t i = 0; i < c->n_out; i++)
        ret->out += c->out[i] && roles[c->n_in + i] == ROLE_STREAMS ? binary_vtcm_bytes(c->out[i]) : 0;
}

void binary_box_moves(const struct binary_box_op *o, const struct binary_box *b, const uint8_t *roles, struct binary_moves *ret)
{
    struct binary_box n;
    uint64_t places = binary_box_count(o, b, &n) / n.channels, two[2] = { 0 }, again[2] = { 1, 1 }; /* how often the operands of a product come */
    *ret = (struct binary_moves){ 0 };
    once(o, roles, ret, two);
    two[0] = with_borders(o, n.columns, two[0]);
    if (o->whole.depth > 1) {
        uint64_t outside[2] = { n.channels, n.depth > 1 ? places : 1 }, inside[2] = { n.depth > 1 ? n.channels : 1, n.channels * n.depth > 1 ? places : 1 };
        uint64_t second = ret->weights + two[1];
        bool lines = two[0] * inside[0] + second * inside[1] < two[0] * outside[0] + second * outside[1];
        again[0] = lines ? inside[0] : outside[0];
        again[1] = lines ? inside[1] : outside[1];
    }
    ret->in += two[0] * again[0] + two[1] * again[1];
    ret->weights *= again[1];
}

struct binary_box binary_box_lines(const struct binary_box_op *o, uint32_t lines)
{
    struct binary_box b = o->whole;
    struct op_lines all;
    uint64_t each = 1;
    if (!o->image && o->call->n_out && desc_lines(o->call->out[0], &all) && all.n)
        each = o->whole.lines / all.n;
    b.lines = lines * each < b.lines ? (uint32_t)(lines * each) : b.lines;
    return b;
}

/* ---- nodes of a binary ---------------------------------------------------------------------------------------------------------- */

enum binary_role binary_role_of(enum binary_place place)
{
    static const uint8_t by_place[PLACE_COUNT] = { [PLACE_NONE] = ROLE_CONSTANT, [PLACE_CONST] = ROLE_CONSTANT, [PLACE_IO] = ROLE_STREAMS,
                                                   [PLACE_SPILL] = ROLE_STREAMS, [PLACE_LINES] = ROLE_LINES };
    return by_place[place];
}

static void list_roles(const struct binary_graph *g, const struct binary_node *n, uint8_t *ret)
{
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        ret[i] = t == BINARY_NONE ? ROLE_STAYS : binary_role_of(g->tensors[t].place);
    }
}

/* A node with its box: of its own, or as many lines as its chain computes at a time. */
struct seen {
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    uint8_t roles[2 * MAX_PORTS];
    struct op_call call;
    struct binary_box_op op;
    struct binary_box box;
};

static void see(const struct binary_graph *g, uint32_t k, struct seen *s)
{
    const struct binary_node *n = &g->nodes[k];
    const struct binary_chain *c = g->chain_of && g->chain_of[k] != BINARY_NONE ? &g->chains[g->chain_of[k]] : NULL;
    bin_call(g, n, s->in, s->out, &s->call);
    binary_box_op(&s->call, &s->op);
    list_roles(g, n, s->roles);
    s->box = n->tile.box.lines ? n->tile.box : s->op.whole;
    if (c) {
        const struct binary_tensor *t = &g->tensors[n->out[0]];
        struct op_lines lines;
        bool inside = t->place == PLACE_LINES && desc_lines(&t->desc, &lines);
        s->box = binary_box_lines(&s->op, inside ? (uint32_t)(t->bytes / lines.bytes) : c->height);
    }
}

uint64_t binary_node_box_bytes(const struct binary_graph *g, uint32_t node)
{
    struct seen s;
    see(g, node, &s);
    return binary_box_bytes(&s.op, &s.box, s.roles);
}

void binary_node_moves(const struct binary_graph *g, uint32_t node, struct binary_moves *ret)
{
    const struct binary_node *n = &g->nodes[node];
    struct binary_traffic t;
    struct seen s;
    binary_node_traffic(g, node, &t);
    uint64_t any = 0;
    for (int p = 0; p < PLACE_COUNT; p++)
        any |= t.read[p] | t.written[p];
    *ret = (struct binary_moves){ 0 };
    if (!any) /* a view over its own memory */
        return;
    see(g, node, &s);
    if (g->chain_of && g->chain_of[node] != BINARY_NONE)
        s.box = s.op.whole; /* weights of a chain are there while it runs, and lines go by once */
    binary_box_moves(&s.op, &s.box, s.roles, ret);
    if (binary_is_transfer(n)) { /* the DMA engine itself: one way */
        bool down = n->op->id == OP_DramToTcm;
        ret->in = down ? binary_vtcm_bytes(s.in[0]) : 0;
        ret->out = down ? 0 : binary_vtcm_bytes(s.out[0]);
    }
}

static void add(struct binary_moves *to, const struct binary_moves *m)
{
    to->in += m->in;
    to->out += m->out;
    to->weights += m->weights;
}

static uint64_t share(uint64_t all, uint64_t done, uint64_t units)
{
    return (uint64_t)((unsigned __int128)all * done / units);
}

void binary_command_moves(const struct binary_graph *g, struct binary_moves *ret)
{
    for (uint32_t i = 0, end; i < g->n_commands; i = end) {
        uint32_t node = g->commands[i].node, at = g->chain_of ? g->chain_of[node] : BINARY_NONE;
        uint64_t units = 0, done = 0;
        struct binary_moves all = { 0 }, m;
        for (end = i; end < g->n_commands && g->commands[end].node == node && g->commands[end].step == g->commands[i].step; end++)
            units += g->commands[end].end - g->commands[end].begin;
        for (uint32_t k = at == BINARY_NONE ? node : g->chains[at].first; k <= node; k++) {
            binary_node_moves(g, k, &m);
            add(&all, &m);
        }
        for (uint32_t k = i; k < end; k++) {
            uint64_t next = done + g->commands[k].end - g->commands[k].begin;
            ret[k] = (struct binary_moves){ share(all.in, next, units) - share(all.in, done, units), share(all.out, next, units) - share(all.out, done, units),
                                            share(all.weights, next, units) - share(all.weights, done, units) };
            done = next;
        }
    }
}
