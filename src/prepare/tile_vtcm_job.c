/* SPDX-License-Identifier: Apache-2.0 */
/* A node, or a chain of them, as a job for tile_vtcm_walk.c: its operands, and what it needs of fast memory besides.
 *
 *     fixed     the tile of its weights, pieces of what the client brings and takes, lines inside a chain
 *     pieces    of operands that stay in DRAM: what one box needs of them
 *
 * Both are counted for a modest box, so that little has to leave for them. When the walk is done it is known what streams and what room nobody needs, and the box grows into that. */
#include "prepare/cx.h"
#include "prepare/tile_vtcm.h"

enum { MODEST = 8 }; /* share of the window that a box may take before anything else is known */

static bool placed_here(const struct prepare_cx *cx, uint32_t tensor)
{
    uint32_t c = tensor == IR_NONE ? IR_NONE : cx->cell_of[tensor];
    return c != IR_NONE && cx->cells[c].place == PLACE_SCRATCH;
}

/* ---- operands -------------------------------------------------------------------------------------------------------------------- */

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
    uint32_t *in = arena_array(&cx->arena, uint32_t, ins), *out = arena_array(&cx->arena, uint32_t, outs), *over = arena_array(&cx->arena, uint32_t, ins);
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
    ret->view = n == 1 && needed > 0 && ret->n_out == 1 && plan_is_view(cx->g, nodes) && cx->cell_of[nodes->in[0]] == cx->cell_of[nodes->out[0]];
    return ST_OK;
}

/* ---- boxes ----------------------------------------------------------------------------------------------------------------------- */

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
static void look_at(const struct prepare_cx *cx, uint32_t k, const struct vtcm_job *job, const uint8_t *streams, struct look *l)
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

/* The box within the budget; a member of a chain has no choice. */
static struct tile_choice box_of(const struct prepare_cx *cx, uint32_t k, const struct look *l, uint64_t budget)
{
    if (!plan_chain(cx, k))
        return tile_box(&(struct tile_ask){ &l->op, l->roles, budget });
    struct binary_box b = binary_box_lines(&l->op, lines_of(cx, k));
    uint64_t bytes = binary_box_bytes(&l->op, &b, l->roles);
    return (struct tile_choice){ .box = b, .bytes = bytes, .found = bytes <= budget };
}

/* What one node needs besides operands that are whole in the window; false: not even the smallest box fits. */
static bool add_needs(const struct prepare_cx *cx, uint32_t k, struct vtcm_job *job, uint64_t *piece)
{
    struct look l;
    look_at(cx, k, job, NULL, &l);
    struct tile_choice c = box_of(cx, k, &l, cx->target->vtcm_bytes / MODEST);
    if (!c.found)
        c = box_of(cx, k, &l, cx->target->vtcm_bytes);
    for (uint32_t i = 0; c.found && i < l.v.call.n_in + l.v.call.n_out; i++) {
        bool counts = l.roles[i] == ROLE_CONSTANT || l.roles[i] == ROLE_STREAMS || (l.roles[i] == ROLE_LINES && i >= l.v.call.n_in);
        if (counts)
            *(l.at[i] == VTCM_NONE ? &job->fixed : &piece[l.at[i]]) += binary_box_operand(&l.op, &c.box, i);
    }
    return c.found;
}

enum status vtcm_job(struct prepare_cx *cx, uint32_t k, uint32_t n, struct vtcm_job *ret)
{
    TRY(list_operands(cx, k, n, ret));
    if (ret->view)
        return ST_OK;
    uint64_t *piece = arena_array(&cx->arena, uint64_t, (size_t)ret->n_in + ret->n_out), sum = 0;
    RETURN_IF(!piece, ST_NO_MEMORY, "no memory to place the operands of node \"%s\"", cx->g->nodes.at[k].name);
    bool fits = true;
    for (uint32_t i = 0; i < n && fits; i++)
        fits = add_needs(cx, k + i, ret, piece);
    for (uint32_t i = 0; i < ret->n_in + ret->n_out; i++)
        sum += piece[i];
    fits &= ret->fixed + sum <= cx->target->vtcm_bytes;
    ret->piece = fits ? piece : NULL;
    ret->fixed = fits ? ret->fixed : 0;
    return ST_OK;
}

void vtcm_unit_tile(const struct prepare_cx *cx, const struct vtcm_unit *u, struct binary_tile *ret)
{
    *ret = (struct binary_tile){ .bytes = 0 };
    for (uint32_t i = 0; u->job->piece && i < u->n; i++) {
        struct look l;
        look_at(cx, u->k + i, u->job, u->streams, &l);
        struct tile_choice c = box_of(cx, u->k + i, &l, u->n > 1 ? UINT64_MAX : u->budget);
        ret->box = c.box;
        ret->bytes += c.bytes;
    }
}
