/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors are the same memory whatever the order of operators, and what each operator needs besides.
 *
 *     %b = Reshape(%a)            a and b are one cell
 *     %y = Reshape(%b), y output  what a last view hands to the client is written into the client's buffer in the first
 *                                 place
 *
 * plan_order.c chooses an order of operators for these cells, plan_memory.c lets element-wise operators take the place of
 * what ends with them, and gives addresses. */
#include "prepare/cx.h"

enum { MACS_PER_TILE = 1 << 12 };

static uint64_t tensor_bytes(const struct ir_tensor *t)
{
    return t->raw_bytes ? t->raw_bytes : desc_bytes(&t->desc);
}

/* ---- kernels: tiles and workspaces ------------------------------------------------------------------------------------ */

static uint32_t tiles_for(const struct prepare_cx *cx, const struct kernel_bound *k)
{
    uint32_t phases = k->phases ? k->phases : 1;
    uint64_t by_grain = k->extent / phases / (k->grain ? k->grain : 1), by_work = k->macs / phases / MACS_PER_TILE;
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

enum status plan_node(struct prepare_cx *cx, uint32_t at)
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
        .extent = k.extent,
        .tiles = has_dynamic(&v) ? 1 : tiles_for(cx, &k),
        .work_bytes = cx->target->own_kernels ? 0 : k.work_bytes,
        .macs = k.macs,
        .state_bytes = k.state_bytes,
    };
    cx->nodes[at].phases = cx->nodes[at].tiles > 1 ? k.phases : 1; /* what one thread does it does in one go */
    RETURN_IF((k.state_bytes != 0) != op_stateful(&v.call), ST_INTERNAL, "node \"%s\": its kernel has %llu bytes of state",
              n->name, (unsigned long long)k.state_bytes);
    return ST_OK;
}

/* States live for ever: one behind the other, in a memory that holds nothing else. */
static void place_states(struct prepare_cx *cx)
{
    for (uint32_t k = 0; k < cx->g->nodes.n; k++) {
        struct node_plan *n = &cx->nodes[k];
        if (!n->state_bytes)
            continue;
        n->state_offset = (cx->persistent_bytes + KERNEL_STATE_ALIGN - 1) / KERNEL_STATE_ALIGN * KERNEL_STATE_ALIGN;
        cx->persistent_bytes = n->state_offset + n->state_bytes;
    }
}

/* ---- cells ------------------------------------------------------------------------------------------------------------ */

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

/* Same bytes, same type, same encoding. */
bool plan_is_view(const struct ir_graph *g, const struct ir_node *n)
{
    if (!(n->op->flags & OP_VIEW) || n->n_out != 1 || n->in[0] == IR_NONE)
        return false;
    const struct tensor_desc *x = &g->tensors.at[n->in[0]].desc, *y = &g->tensors.at[n->out[0]].desc;
    return same_bytes(g, n->in[0], n->out[0]) && x->type == y->type && quant_same(&x->q, &y->q);
}

static uint32_t new_cell(struct prepare_cx *cx, struct cell c)
{
    cx->cells[cx->n_cells] = c;
    return cx->n_cells++;
}

/* I/O tensors, constants, and what a last view hands to the client. */
static void outside_cells(struct prepare_cx *cx)
{
    const struct ir_graph *g = cx->g;
    for (uint32_t i = 0; i < g->tensors.n; i++)
        cx->cell_of[i] = IR_NONE;
    for (uint32_t i = 0; i < cx->n_inputs + cx->n_outputs; i++) {
        const struct ir_tensor *t = &g->tensors.at[cx->io[i]];
        cx->cell_of[cx->io[i]] = new_cell(cx, (struct cell){ .place = PLACE_IO,
                                                             .of = i,
                                                             .bytes = tensor_bytes(t),
                                                             .room = cx->target->io_in_scratch,
                                                             .early = t->role != IR_OUTPUT,
                                                             .late = t->role != IR_INPUT });
    }
    for (uint32_t i = 0; i < g->tensors.n; i++)
        if (g->tensors.at[i].role == IR_CONST && g->tensors.at[i].data)
            cx->cell_of[i] =
                new_cell(cx, (struct cell){ .place = PLACE_CONST, .of = i, .bytes = tensor_bytes(&g->tensors.at[i]) });
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        const struct ir_node *n = &g->nodes.at[k];
        if (plan_is_view(g, n) && g->tensors.at[n->out[0]].role == IR_OUTPUT && g->tensors.at[n->in[0]].role == IR_NATIVE)
            cx->cell_of[n->in[0]] = cx->cell_of[n->out[0]];
    }
}

static void inside_cells(struct prepare_cx *cx, const struct ir_node *n)
{
    const struct ir_graph *g = cx->g;
    uint32_t with = plan_is_view(g, n) ? cx->cell_of[n->in[0]] : IR_NONE;
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t t = n->out[i];
        const struct ir_tensor *x = &g->tensors.at[t];
        if (x->role != IR_NATIVE || cx->cell_of[t] != IR_NONE)
            continue;
        uint8_t place = cx->wanted ? cx->wanted[t] : PLACE_SCRATCH;
        cx->cell_of[t] =
            with != IR_NONE
                ? with
                : new_cell(cx, (struct cell){ .place = place,
                                              .bytes = place == PLACE_VTCM ? binary_vtcm_bytes(&x->desc) : tensor_bytes(x),
                                              .room = true });
    }
}

enum status plan_cells_again(struct prepare_cx *cx)
{
    uint32_t nt = (uint32_t)cx->g->tensors.n, nn = (uint32_t)cx->g->nodes.n;
    cx->cells = arena_array(&cx->arena, struct cell, nt);
    cx->cell_of = arena_array(&cx->arena, uint32_t, nt);
    RETURN_IF(!cx->cells || !cx->cell_of, ST_NO_MEMORY, "no memory to plan %u tensors", nt);
    cx->n_cells = cx->n_inputs = cx->n_outputs = 0;
    cx->persistent_bytes = 0;
    place_states(cx);
    TRY(list_io(cx));
    outside_cells(cx);
    for (uint32_t k = 0; k < nn; k++)
        inside_cells(cx, &cx->g->nodes.at[k]);
    for (uint32_t t = 0; t < nt && cx->slabs; t++) /* results that exist inside a chain only (tile_chain.c) */
        if (cx->slabs[t].bytes) {
            cx->cells[cx->cell_of[t]].place = PLACE_LINES;
            cx->cells[cx->cell_of[t]].room = false;
        }
    return ST_OK;
}

enum status plan_cells(struct prepare_cx *cx)
{
    uint32_t nn = (uint32_t)cx->g->nodes.n;
    cx->nodes = arena_array(&cx->arena, struct node_plan, nn);
    RETURN_IF(!cx->nodes, ST_NO_MEMORY, "no memory to plan %u operators", nn);
    for (uint32_t k = 0; k < nn; k++)
        TRY(plan_node(cx, k));
    return plan_cells_again(cx);
}

/* Rooms of I/O tensors are in scratch. */
static bool same_memory(const struct cell *a, const struct cell *b)
{
    return (a->place == PLACE_IO ? PLACE_SCRATCH : a->place) == (b->place == PLACE_IO ? PLACE_SCRATCH : b->place);
}

bool plan_may_replace(const struct prepare_cx *cx, const struct ir_node *n, uint32_t i)
{
    const struct ir_graph *g = cx->g;
    if (!(n->op->flags & OP_ELEMENTWISE) || n->n_out != 1 || n->in[i] == IR_NONE)
        return false;
    uint32_t from = cx->cell_of[n->in[i]], to = cx->cell_of[n->out[0]];
    return from != IR_NONE && from != to && cx->cells[from].room && cx->cells[to].room &&
           same_memory(&cx->cells[from], &cx->cells[to]) && !cx->cells[from].late && !cx->cells[to].early &&
           same_bytes(g, n->in[i], n->out[0]) &&
           desc_same_shape(&g->tensors.at[n->in[i]].desc, &g->tensors.at[n->out[0]].desc);
}
