/* SPDX-License-Identifier: Apache-2.0 */
/* Gives every tensor an address.
 *
 *     graph inputs, outputs   the client's buffers (PLACE_IO); where the target wants it, they also have room in scratch
 *     constants               the constant section (PLACE_CONST)
 *     everything between      one scratch arena, shared over time by the planner (plan_*.c)
 *
 * Before planning, tensors that can be the same memory become one buffer ("group"): the output of a view is its input, and an element-wise
 * operator writes over an input of equal size that dies there. A group is a native buffer, or hangs on an I/O tensor or a constant.
 *
 *     step   0     1     2     3
 *     a      ####
 *     b            ####==.            b and c are one group: c = Relu(b) in place
 *     c                 .####
 */
#include <string.h>

#include "prepare/cx.h"
#include "prepare/plan.h"

enum { MACS_PER_TILE = 1 << 16 };

/* One buffer that one or more tensors share. */
struct group {
    uint8_t place;   /* PLACE_SCRATCH, PLACE_IO (io: index) or PLACE_CONST (of: tensor) */
    uint32_t io, of;
    uint64_t bytes;
    uint32_t first, last;
    uint64_t offset;
};

struct planner {
    struct prepare_cx *cx;
    uint32_t *group_of;   /* per tensor, IR_NONE: no memory */
    uint32_t *last_use;   /* per tensor: last step that reads or writes it */
    struct group *groups; /* at most one per tensor */
    uint32_t n_groups;
};

static uint32_t new_group(struct planner *p, struct group g)
{
    p->groups[p->n_groups] = g;
    return p->n_groups++;
}

static uint64_t tensor_bytes(const struct ir_tensor *t)
{
    return t->raw_bytes ? t->raw_bytes : desc_bytes(&t->desc);
}

/* ---- kernels: tiles and workspaces ------------------------------------------------------------------------------------ */

static uint32_t tiles_for(const struct prepare_cx *cx, const struct kernel_bound *k)
{
    uint64_t by_grain = k->extent / (k->grain ? k->grain : 1), by_work = k->macs / MACS_PER_TILE;
    uint64_t n = cx->target->max_tiles;
    n = by_grain < n ? by_grain : n;
    n = by_work < n ? by_work : n;
    return n ? (uint32_t)n : 1;
}

static bool has_dynamic(const struct ir_call *v)
{
    bool dynamic = false;
    for (uint32_t i = 0; i < v->call.n_in; i++)
        dynamic |= v->in[i] && v->in[i]->dynamic;
    for (uint32_t i = 0; i < v->call.n_out; i++)
        dynamic |= v->out[i]->dynamic != 0;
    return dynamic;
}

static enum status plan_node(struct prepare_cx *cx, uint32_t at)
{
    const struct ir_node *n = &cx->g->nodes.at[at];
    struct ir_call v;
    struct kernel_bound k;
    ir_call(cx->g, n, &v);
    void *args = arena_alloc(&cx->arena, kernel_args_size(n->op->id));
    RETURN_IF(!args, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    v.call.work_budget = cx->target->work_budget;
    TRY(kernel_bind(&v.call, ISA_REF, args, &k));
    cx->nodes[at] = (struct node_plan){
        .extent = k.extent, .tiles = has_dynamic(&v) ? 1 : tiles_for(cx, &k), .work_bytes = k.work_bytes, .macs = k.macs,
    };
    return ST_OK;
}

/* ---- groups ----------------------------------------------------------------------------------------------------------- */

static void find_last_uses(struct planner *p)
{
    const struct ir_graph *g = p->cx->g;
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        const struct ir_node *n = &g->nodes.at[k];
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i] != IR_NONE)
                p->last_use[n->in[i]] = k;
        for (uint32_t i = 0; i < n->n_out; i++)
            p->last_use[n->out[i]] = k;
    }
}

static enum status list_io(struct prepare_cx *cx)
{
    const struct ir_graph *g = cx->g;
    cx->io = arena_array(&cx->arena, uint32_t, g->tensors.n * 2);
    RETURN_IF(!cx->io, ST_NO_MEMORY, "no memory for the I/O table");
    for (uint32_t i = 0; i < g->tensors.n; i++)
        if (g->tensors.at[i].role == IR_INPUT || g->tensors.at[i].role == IR_INOUT)
            cx->io[cx->n_inputs++] = i;
    for (uint32_t i = 0; i < g->tensors.n; i++)
        if (g->tensors.at[i].role == IR_OUTPUT)
            cx->io[cx->n_inputs + cx->n_outputs++] = i;
    return ST_OK;
}

static bool same_bytes(const struct ir_graph *g, uint32_t a, uint32_t b)
{
    const struct tensor_desc *x = &g->tensors.at[a].desc, *y = &g->tensors.at[b].desc;
    return dtype_bits(x->type) == dtype_bits(y->type) && desc_count(x) == desc_count(y);
}

/* The output of node n is its first input in other clothes: same bytes, same type, same encoding. */
static bool is_view(const struct ir_graph *g, const struct ir_node *n)
{
    if (!(n->op->flags & OP_VIEW) || n->n_out != 1 || n->in[0] == IR_NONE)
        return false;
    const struct tensor_desc *x = &g->tensors.at[n->in[0]].desc, *y = &g->tensors.at[n->out[0]].desc;
    return same_bytes(g, n->in[0], n->out[0]) && x->type == y->type && quant_same(&x->q, &y->q);
}

static void outside_groups(struct planner *p)
{
    const struct ir_graph *g = p->cx->g;
    for (uint32_t i = 0; i < g->tensors.n; i++)
        p->group_of[i] = IR_NONE;
    for (uint32_t i = 0; i < p->cx->n_inputs + p->cx->n_outputs; i++)
        p->group_of[p->cx->io[i]] =
            new_group(p, (struct group){ .place = PLACE_IO, .io = i, .bytes = tensor_bytes(&g->tensors.at[p->cx->io[i]]), .last = IR_NONE });
    for (uint32_t i = 0; i < g->tensors.n; i++)
        if (g->tensors.at[i].role == IR_CONST && g->tensors.at[i].data)
            p->group_of[i] = new_group(p, (struct group){ .place = PLACE_CONST, .of = i, .bytes = tensor_bytes(&g->tensors.at[i]), .last = IR_NONE });
    /* What a last view hands to the client is written into the client's buffer in the first place. */
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        const struct ir_node *n = &g->nodes.at[k];
        if (is_view(g, n) && g->tensors.at[n->out[0]].role == IR_OUTPUT && g->tensors.at[n->in[0]].role == IR_NATIVE)
            p->group_of[n->in[0]] = p->group_of[n->out[0]];
    }
}

/* Which input the output of node k can live in, IR_NONE: none. */
static uint32_t share_with(const struct planner *p, const struct ir_node *n, uint32_t k)
{
    const struct ir_graph *g = p->cx->g;
    uint32_t out = n->out[0];
    if (is_view(g, n))
        return n->in[0];
    for (uint32_t i = 0; i < n->n_in && n->op->flags & OP_ELEMENTWISE; i++) {
        uint32_t gr = n->in[i] == IR_NONE ? IR_NONE : p->group_of[n->in[i]];
        if (gr != IR_NONE && p->groups[gr].place == PLACE_SCRATCH && p->groups[gr].last == k && same_bytes(g, n->in[i], out) &&
            desc_same_shape(&g->tensors.at[n->in[i]].desc, &g->tensors.at[out].desc))
            return n->in[i];
    }
    return IR_NONE;
}

static void place_outputs(struct planner *p, uint32_t k)
{
    const struct ir_graph *g = p->cx->g;
    const struct ir_node *n = &g->nodes.at[k];
    uint32_t with = n->n_out == 1 && g->tensors.at[n->out[0]].role == IR_NATIVE ? share_with(p, n, k) : IR_NONE;
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t t = n->out[i];
        if (g->tensors.at[t].role != IR_NATIVE || p->group_of[t] != IR_NONE)
            continue;
        if (with != IR_NONE && p->group_of[with] != IR_NONE) {
            struct group *gr = &p->groups[p->group_of[with]];
            p->group_of[t] = p->group_of[with];
            gr->last = gr->last == IR_NONE || gr->last > p->last_use[t] ? gr->last : p->last_use[t];
        } else {
            p->group_of[t] = new_group(p, (struct group){ .place = PLACE_SCRATCH, .bytes = tensor_bytes(&g->tensors.at[t]), .first = k,
                                                          .last = p->last_use[t] });
        }
    }
}

/* ---- the plan --------------------------------------------------------------------------------------------------------- */

/* An input is there from the beginning to its last reader, an output from its first writer to the end; buffers that the client brings in their
 * place live elsewhere, so nothing is ever computed over an input. */
static enum status io_homes(struct planner *p)
{
    struct prepare_cx *cx = p->cx;
    uint32_t n_io = cx->n_inputs + cx->n_outputs, n_nodes = (uint32_t)cx->g->nodes.n;
    struct placement *h = cx->homes = arena_array(&cx->arena, struct placement, n_io);
    RETURN_IF(!h, ST_NO_MEMORY, "no memory to plan %u inputs and outputs", n_io);
    for (uint32_t i = 0; i < n_io; i++)
        h[i] = (struct placement){ .bytes = tensor_bytes(&cx->g->tensors.at[cx->io[i]]), .first = i < cx->n_inputs ? 0 : n_nodes };
    for (uint32_t k = 0; k < n_nodes; k++) {
        const struct ir_node *n = &cx->g->nodes.at[k];
        for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
            uint32_t t = i < n->n_in ? n->in[i] : n->out[i - n->n_in], gr = t == IR_NONE ? IR_NONE : p->group_of[t];
            if (gr == IR_NONE || p->groups[gr].place != PLACE_IO)
                continue;
            struct placement *at = &h[p->groups[gr].io];
            at->first = k < at->first ? k : at->first;
            at->last = k;
        }
    }
    for (uint32_t i = 0; i < n_io; i++)
        if (cx->g->tensors.at[cx->io[i]].role != IR_INPUT)
            h[i].last = n_nodes - 1, h[i].first = h[i].first < n_nodes ? h[i].first : 0;
    return ST_OK;
}

static uint64_t round_up(uint64_t v, uint64_t align)
{
    return (v + align - 1) / align * align;
}

static enum status solve(struct planner *p)
{
    struct prepare_cx *cx = p->cx;
    uint32_t n_nodes = (uint32_t)cx->g->nodes.n, n = 0, align = cx->target->tensor_align, n_homes = cx->homes ? cx->n_inputs + cx->n_outputs : 0;
    struct plan_buf *b = arena_array(&cx->arena, struct plan_buf, p->n_groups * 2 + n_nodes);
    RETURN_IF(!b, ST_NO_MEMORY, "no memory to plan %u buffers", p->n_groups);
    for (uint32_t i = 0; i < p->n_groups; i++)
        if (p->groups[i].place == PLACE_SCRATCH)
            b[n++] = (struct plan_buf){ .size = round_up(p->groups[i].bytes, align), .align = align, .first = p->groups[i].first,
                                        .last = p->groups[i].last, .fixed = PLAN_ANY };
    for (uint32_t i = 0; i < n_homes; i++)
        b[n++] = (struct plan_buf){ .size = round_up(cx->homes[i].bytes, align), .align = align, .first = cx->homes[i].first,
                                    .last = cx->homes[i].last, .fixed = PLAN_ANY };
    for (uint32_t k = 0; k < n_nodes; k++)
        if (cx->nodes[k].work_bytes)
            b[n++] = (struct plan_buf){ .size = round_up(cx->nodes[k].work_bytes, align), .align = align, .first = k,
                                        .last = k, .fixed = PLAN_ANY };
    /* Counted search steps decide how far the planner looks, so that the same graph gives the same binary everywhere. */
    struct plan_opts o = { .deadline_ns = PLAN_FOREVER, .max_nodes = cx->target->plan_nodes ? cx->target->plan_nodes : 1 };
    struct plan_result r;
    TRY(plan_solve(b, n, &o, &r));
    RETURN_IF(cx->target->scratch_limit && r.total > cx->target->scratch_limit, ST_PREPARE_FAILED,
              "graph \"%s\" needs %llu bytes of scratch memory; the target allows %llu", cx->g->name, (unsigned long long)r.total,
              (unsigned long long)cx->target->scratch_limit);
    n = 0;
    for (uint32_t i = 0; i < p->n_groups; i++)
        if (p->groups[i].place == PLACE_SCRATCH)
            p->groups[i].offset = b[n++].offset;
    for (uint32_t i = 0; i < n_homes; i++)
        cx->homes[i].offset = b[n++].offset;
    for (uint32_t k = 0; k < n_nodes; k++)
        if (cx->nodes[k].work_bytes)
            cx->nodes[k].work_offset = b[n++].offset;
    cx->scratch_bytes = r.total;
    cx->live_bytes = r.lower_bound;
    cx->plan_optimal = r.optimal;
    return ST_OK;
}

static void write_places(struct planner *p)
{
    struct prepare_cx *cx = p->cx;
    for (uint32_t t = 0; t < cx->g->tensors.n; t++) {
        if (p->group_of[t] == IR_NONE)
            continue;
        const struct group *gr = &p->groups[p->group_of[t]];
        uint64_t offset[PLACE_COUNT] = { [PLACE_SCRATCH] = gr->offset, [PLACE_IO] = gr->io, [PLACE_CONST] = gr->of };
        cx->places[t] = (struct placement){ .place = gr->place, .offset = offset[gr->place], .bytes = tensor_bytes(&cx->g->tensors.at[t]),
                                            .first = gr->first, .last = gr->last };
    }
}

enum status plan_memory(struct prepare_cx *cx, bool *progress)
{
    (void)progress; /* the graph itself does not change */
    uint32_t nt = (uint32_t)cx->g->tensors.n, nn = (uint32_t)cx->g->nodes.n;
    struct arena *a = &cx->arena;
    struct planner p = { .cx = cx, .group_of = arena_array(a, uint32_t, nt), .last_use = arena_array(a, uint32_t, nt),
                         .groups = arena_array(a, struct group, nt) };
    cx->places = arena_array(a, struct placement, nt);
    cx->nodes = arena_array(a, struct node_plan, nn);
    RETURN_IF(!p.group_of || !p.last_use || !p.groups || !cx->places || !cx->nodes, ST_NO_MEMORY, "no memory to plan %u tensors", nt);
    for (uint32_t k = 0; k < nn; k++)
        TRY(plan_node(cx, k));
    find_last_uses(&p);
    TRY(list_io(cx));
    outside_groups(&p);
    for (uint32_t k = 0; k < nn; k++)
        place_outputs(&p, k);
    if (cx->target->io_in_scratch)
        TRY(io_homes(&p));
    TRY(solve(&p));
    write_places(&p);
    return ST_OK;
}
