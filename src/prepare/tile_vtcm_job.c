/* SPDX-License-Identifier: Apache-2.0 */
/* A node, or a chain of them, as a job for tile_vtcm_walk.c: its operands, and what it needs of fast memory besides.
 *
 *     fixed     the tile of its weights, pieces of what the client brings and takes, lines inside a chain
 *     pieces    of operands that stay in DRAM: what one box needs of them
 *
 * Both are counted for a modest box, so that little has to leave for them. When the walk is done it is known what streams
 * and what room nobody needs, and the box grows into that. */
#include <string.h>

#include "prepare/chain.h"
#include "prepare/tile_vtcm.h"

static bool placed_here(const struct prepare_cx *cx, uint32_t tensor)
{
    uint32_t c = tensor == IR_NONE ? IR_NONE : cx->cell_of[tensor];
    return c != IR_NONE && cx->cells[c].place == PLACE_SCRATCH;
}

/* ---- operands --------------------------------------------------------------------------------------------------------- */

/* A tensor of which nothing is kept between nodes is not listed; one that is in the list already is the same operand. */
static void add_operand(const struct prepare_cx *cx, uint32_t tensor, uint32_t *list, uint32_t *n)
{
    bool listed = !placed_here(cx, tensor);
    for (uint32_t i = 0; i < *n && !listed; i++)
        listed = list[i] == tensor;
    if (!listed)
        list[(*n)++] = tensor;
}

static enum status list_operands(struct prepare_cx *cx, uint32_t k, uint32_t n, struct vtcm_job *ret)
{
    const struct ir_node *nodes = cx->g->nodes.at + k;
    uint32_t ins = 0, outs = 0;
    for (uint32_t i = 0; i < n; i++)
        ins += nodes[i].n_in + nodes[i].n_guards, outs += nodes[i].n_out;
    uint32_t *in = arena_array(&cx->arena, uint32_t, ins), *out = arena_array(&cx->arena, uint32_t, outs),
             *over = arena_array(&cx->arena, uint32_t, ins);
    RETURN_IF(!in || !out || !over, ST_NO_MEMORY, "no memory to place the operands of node \"%s\"", nodes->name);
    *ret = (struct vtcm_job){ .in = in, .out = out, .over = over };
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t i = 0; i < nodes[m].n_in; i++)
            add_operand(cx, nodes[m].in[i], in, &ret->n_in);
    for (uint32_t i = 0; n == 1 && i < nodes->n_in; i++) /* nothing is replaced inside a chain */
        if (placed_here(cx, nodes->in[i]) && plan_may_replace(cx, nodes, i))
            over[ret->n_over++] = nodes->in[i];
    uint32_t needed = ret->n_in;
    for (uint32_t i = 0; i < nodes->n_guards; i++)
        add_operand(cx, nodes->guards[i].tensor, in, &ret->n_in);
    ret->n_glance = ret->n_in - needed;
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t i = 0; i < nodes[m].n_out; i++)
            add_operand(cx, nodes[m].out[i], out, &ret->n_out);
    ret->view = n == 1 && needed > 0 && ret->n_out == 1 && plan_is_view(cx->g, nodes) &&
                cx->cell_of[nodes->in[0]] == cx->cell_of[nodes->out[0]];
    return ST_OK;
}

/* ---- boxes ------------------------------------------------------------------------------------------------------------ */

/* A node, its operands' roles, and what it is asked. */
struct look {
    struct ir_call v;
    struct binary_box_op op;
    uint8_t roles[2 * MAX_PORTS];
    uint32_t at[2 * MAX_PORTS]; /* per operand: its place in the job, VTCM_NONE: not there */
};

static uint32_t place_in(const struct vtcm_job *job, uint32_t tensor)
{
    for (uint32_t i = 0; i < job->n_in; i++)
        if (job->in[i] == tensor)
            return i;
    for (uint32_t i = 0; i < job->n_out; i++)
        if (job->out[i] == tensor)
            return job->n_in + i;
    return VTCM_NONE;
}

/* Operands of the job stream where `streams` says so; NULL: all of them. */
static void look_at(const struct prepare_cx *cx, uint32_t k, const struct vtcm_job *job, const uint8_t *streams,
                    struct look *l)
{
    const struct ir_node *n = &cx->g->nodes.at[k];
    ir_call(cx->g, n, &l->v);
    binary_box_op(&l->v.call, &l->op);
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t t = i < n->n_in ? n->in[i] : n->out[i - n->n_in], c = t == IR_NONE ? IR_NONE : cx->cell_of[t];
        l->at[i] = t == IR_NONE ? VTCM_NONE : place_in(job, t);
        if (l->at[i] != VTCM_NONE)
            l->roles[i] = !streams || streams[l->at[i]] ? ROLE_STREAMS : ROLE_STAYS;
        else
            l->roles[i] = t == IR_NONE ? ROLE_STAYS : binary_role_of(c == IR_NONE ? PLACE_NONE : cx->cells[c].place);
    }
}

/* How many lines of its result a member of a chain has at a time. */
static uint32_t lines_of(const struct prepare_cx *cx, uint32_t k)
{
    const struct chain *c = plan_chain(cx, k);
    uint32_t t = cx->g->nodes.at[k].out[0];
    struct op_lines lines;
    if (k + 1 == c->first + c->n || !desc_lines(&cx->g->tensors.at[t].desc, &lines))
        return c->height;
    return (uint32_t)(cx->slabs[t].bytes / lines.bytes);
}

/* Of a member of a chain only weights can be cut. */
static struct tile_choice member_box(const struct prepare_cx *cx, uint32_t k, const struct look *l, uint64_t weights)
{
    struct binary_box b = binary_box_lines(&l->op, lines_of(cx, k), weights);
    return (struct tile_choice){ .box = b, .bytes = binary_box_bytes(&l->op, &b, l->roles), .found = true };
}

/* Windows in pieces take little room, but where they overlap they come again: then the whole of them may be worth more. */
static struct tile_choice modest_box(const struct prepare_cx *cx, const struct look *l, const struct vtcm_shares *shares)
{
    const uint64_t window = cx->target->vtcm_bytes;
    const struct tile_choice small = tile_box(&(struct tile_ask){ &l->op, l->roles, window / shares->box });

    if (small.found && (!l->op.terms || small.box.depth == 1))
        return small;

    const struct tile_choice large = tile_box(&(struct tile_ask){ &l->op, l->roles, window });
    return small.found && large.cost > small.cost / 2 ? small : large;
}

/* What one node needs besides operands that are whole in the window; false: not even the smallest box fits. */
static bool add_needs(const struct prepare_cx *cx, uint32_t k, const struct vtcm_shares *shares, struct vtcm_job *job,
                      uint64_t *piece)
{
    struct look l;
    struct tile_choice c;
    look_at(cx, k, job, NULL, &l);
    if (plan_chain(cx, k))
        c = member_box(cx, k, &l, cx->target->vtcm_bytes / shares->weights);
    else
        c = modest_box(cx, &l, shares);
    for (uint32_t i = 0; c.found && i < l.v.call.n_in + l.v.call.n_out; i++)
        if (l.roles[i] != ROLE_STAYS && (l.roles[i] != ROLE_LINES || i >= l.v.call.n_in))
            *(l.at[i] == VTCM_NONE ? &job->fixed : &piece[l.at[i]]) += binary_box_operand(&l.op, &c.box, i);
    return c.found;
}

/* Fills fixed and pieces; false: together they are more than the window. */
static bool count_needs(const struct prepare_cx *cx, uint32_t k, uint32_t n, const struct vtcm_shares *shares,
                        struct vtcm_job *job)
{
    uint64_t *piece = (uint64_t *)job->piece, sum = 0;
    uint32_t operands = job->n_in + job->n_out;
    bool fits = true;
    job->fixed = 0;
    memset(piece, 0, operands * sizeof(piece[0]));
    for (uint32_t i = 0; i < n && fits; i++)
        fits = add_needs(cx, k + i, shares, job, piece);
    for (uint32_t i = 0; i < operands; i++)
        sum += piece[i];
    return fits && job->fixed + sum <= cx->target->vtcm_bytes;
}

/* A view over its own memory. */
static bool does_nothing(const struct prepare_cx *cx, uint32_t k)
{
    const struct ir_node *n = &cx->g->nodes.at[k];
    return plan_is_view(cx->g, n) && cx->cell_of[n->in[0]] == cx->cell_of[n->out[0]];
}

enum status vtcm_job(struct prepare_cx *cx, uint32_t k, uint32_t n, const struct vtcm_shares *shares, struct vtcm_job *ret)
{
    const struct vtcm_shares least = { shares->box, CHAIN_WEIGHTS };
    TRY(list_operands(cx, k, n, ret));
    if (n == 1 && does_nothing(cx, k))
        return ST_OK;
    ret->piece = arena_array(&cx->arena, uint64_t, (size_t)ret->n_in + ret->n_out);
    RETURN_IF(!ret->piece, ST_NO_MEMORY, "no memory to place the operands of node \"%s\"", cx->g->nodes.at[k].name);
    if (count_needs(cx, k, n, shares, ret) || count_needs(cx, k, n, &least, ret))
        return ST_OK;
    ret->piece = NULL;
    ret->fixed = 0;
    return ST_OK;
}

enum { AHEAD = 1 }; /* a share of what moves */

/* ---- tiles ------------------------------------------------------------------------------------------------------------ */

static uint64_t sum_of(const struct binary_moves *m)
{
    return binary_moves_in(m) + binary_moves_out(m);
}

/* All members; their room is that of the last one. */
static uint64_t chain_tiles(const struct prepare_cx *cx, const struct vtcm_unit *u, uint64_t weights,
                            struct binary_tile *ret)
{
    const struct chain *c = plan_chain(cx, u->k);
    uint64_t room = 0, moved = 0;
    for (uint32_t i = 0; i < u->n; i++) {
        struct look l;
        struct binary_moves m;
        look_at(cx, u->k + i, u->job, u->streams, &l);
        struct tile_choice box = member_box(cx, u->k + i, &l, weights);
        binary_box_slab_moves(&l.op, &box.box, l.roles, c->images * ((c->lines / c->images + c->height - 1) / c->height),
                              &m);
        moved += sum_of(&m);
        room += box.bytes;
        ret[i] = (struct binary_tile){ .box = box.box };
    }
    ret[u->n - 1].bytes = room;
    return moved;
}

/* Boxes of which two fit, so that the next one comes while the one before it is computed, are worth some bytes more. */
static uint64_t node_tile(const struct prepare_cx *cx, const struct vtcm_unit *u, struct binary_tile *ret)
{
    struct look l;
    struct binary_moves m;
    look_at(cx, u->k, u->job, u->streams, &l);
    struct tile_choice c = { .box = l.op.whole };
    if (u->job->piece) {
        c = tile_box(&(struct tile_ask){ &l.op, l.roles, u->budget });
        struct tile_choice two = tile_box(&(struct tile_ask){ &l.op, l.roles, u->budget / 2 });
        if (two.found && (cx->boxes == BOXES_PAIRS || (cx->boxes == BOXES_USUAL && two.cost <= c.cost + c.cost / AHEAD)))
            c = two;
        *ret = (struct binary_tile){ .box = c.box, .bytes = c.bytes };
    }
    binary_box_moves(&l.op, &c.box, l.roles, &m);
    return sum_of(&m);
}

uint64_t vtcm_unit_tiles(const struct prepare_cx *cx, const struct vtcm_unit *u, struct binary_tile *ret)
{
    uint64_t weights = UINT64_MAX, window = cx->target->vtcm_bytes, least = window / CHAIN_WEIGHTS, moved;
    if (u->n == 1)
        return does_nothing(cx, u->k) ? 0 : node_tile(cx, u, ret);
    for (;;) {
        moved = chain_tiles(cx, u, weights, ret);
        if (ret[u->n - 1].bytes <= u->budget || weights <= least)
            break;
        weights = weights > window ? window / 2 : weights / 2 > least ? weights / 2 : least;
    }
    if (!u->job->piece)
        memset(ret, 0, u->n * sizeof(ret[0]));
    return moved;
}
