/* SPDX-License-Identifier: Apache-2.0 */
/* Gives every tensor an address.
 *
 *     graph inputs, outputs   the client's buffers (PLACE_IO); where the target wants it, they also have room in scratch
 *     constants               the constant section (PLACE_CONST)
 *     everything between      one scratch arena, shared over time by the planner (plan_*.c); on targets with fast memory
 *                             instead the window of it and the spill-fill buffer, as tile_vtcm has decided: two more arenas
 *     states of nodes         persistent memory, one behind the other: they all live for ever (plan_cells.c)
 *
 * Tensors that are one memory in any order are cells (plan_cells.c). In the order that operators have now, an element-wise
 * operator writes over an input of equal size that dies there: cells that follow each other so are one block, and blocks are
 * what the planner moves.
 *
 *     step   0     1     2     3
 *     a      ####
 *     b            ####==.            b and c are one block: c = Relu(b) in place
 *     c                 .####
 *
 * Members of a chain (tile_chain.c) run at the same time: what one of them touches is in use while all of them run, nothing
 * is replaced, and the chain has one workspace, for slabs and for the kernels.
 *
 * Rooms of inputs and outputs in scratch take part: when the client brings a buffer of its own instead, nobody uses the
 * room. */
#include <string.h>

#include "prepare/cx.h"
#include "prepare/plan.h"
#include "prepare/plan_beside.h"

enum { FULL_SEARCH = 128, LONGER = 10 }; /* buffers; with more of them a search is shorter */

/* Memory of an arena that one cell after another uses. */
struct block {
    uint8_t arena; /* PLACE_SCRATCH, PLACE_VTCM, PLACE_SPILL */
    uint64_t bytes, offset;
    uint32_t first, last;
};

struct planner {
    struct prepare_cx *cx;
    uint32_t *first, *last; /* per cell: steps in which it is in use */
    uint32_t *block_of;     /* per cell, IR_NONE: none */
    struct block *blocks;   /* at most one per cell */
    uint32_t n_blocks;
    const uint32_t *until;  /* per block: the step with which its memory is free; NULL: its last one */
};

uint64_t plan_round(const struct prepare_cx *cx, uint64_t bytes)
{
    uint64_t align = cx->target->tensor_align;
    return (bytes + align - 1) / align * align;
}

/* An input is there from the beginning to its last reader, an output from its first writer to the end; buffers that the
 * client brings in their place live elsewhere. */
static void find_uses(struct planner *p)
{
    const struct prepare_cx *cx = p->cx;
    uint32_t n_nodes = (uint32_t)cx->g->nodes.n;
    for (uint32_t c = 0; c < cx->n_cells; c++)
        p->first[c] = cx->cells[c].early ? 0 : IR_NONE;
    for (uint32_t k = 0; k < n_nodes; k++) {
        const struct ir_node *n = &cx->g->nodes.at[k];
        const struct chain *chain = plan_chain(cx, k);
        uint32_t from = chain ? chain->first : k, to = chain ? chain->first + chain->n - 1 : k;
        for (uint32_t i = 0; i < plan_ports(n); i++) {
            uint32_t t = plan_port(n, i), c = t == IR_NONE ? IR_NONE : cx->cell_of[t];
            if (c == IR_NONE)
                continue;
            p->first[c] = from < p->first[c] ? from : p->first[c];
            p->last[c] = to;
        }
    }
    for (uint32_t c = 0; c < cx->n_cells; c++) {
        p->first[c] = p->first[c] == IR_NONE ? 0 : p->first[c];
        p->last[c] = cx->cells[c].late ? n_nodes - 1 : p->last[c];
        if (cx->target->no_sharing) { /* for ever */
            p->first[c] = 0;
            p->last[c] = n_nodes - 1;
        }
    }
}

static void new_block(struct planner *p, uint32_t cell)
{
    const struct cell *c = &p->cx->cells[cell];
    p->blocks[p->n_blocks] = (struct block){ .arena = c->place == PLACE_IO ? PLACE_SCRATCH : c->place,
                                             .bytes = c->bytes,
                                             .first = p->first[cell],
                                             .last = p->last[cell] };
    p->block_of[cell] = p->n_blocks++;
}

/* The block of an input that ends with node k and that its output may be laid over, IR_NONE: none. */
static uint32_t dying_block(const struct planner *p, const struct ir_node *n, uint32_t k)
{
    for (uint32_t i = 0; i < n->n_in && !p->cx->target->no_sharing && !plan_chain(p->cx, k); i++) {
        uint32_t block = plan_may_replace(p->cx, n, i) ? p->block_of[p->cx->cell_of[n->in[i]]] : IR_NONE;
        if (block != IR_NONE && p->blocks[block].last == k)
            return block;
    }
    return IR_NONE;
}

static void form_blocks(struct planner *p)
{
    const struct prepare_cx *cx = p->cx;
    for (uint32_t c = 0; c < cx->n_cells; c++) {
        p->block_of[c] = IR_NONE;
        if (cx->cells[c].room && cx->cells[c].place == PLACE_IO && cx->cells[c].early)
            new_block(p, c);
    }
    for (uint32_t k = 0; k < cx->g->nodes.n; k++) {
        const struct ir_node *n = &cx->g->nodes.at[k];
        for (uint32_t i = 0; i < n->n_out; i++) {
            uint32_t c = cx->cell_of[n->out[i]];
            if (c == IR_NONE || !cx->cells[c].room || p->block_of[c] != IR_NONE)
                continue;
            uint32_t block = dying_block(p, n, k);
            p->block_of[c] = block;
            if (block == IR_NONE)
                new_block(p, c);
            else
                p->blocks[block].last = p->last[c];
        }
    }
    for (uint32_t c = 0; c < cx->n_cells; c++) /* an output that nobody writes */
        if (cx->cells[c].room && p->block_of[c] == IR_NONE)
            new_block(p, c);
}

/* Counted search steps decide how far the planner looks, so that the same graph gives the same binary everywhere. A step
 * takes time in proportion to the buffers there are, so large graphs get fewer of them, and the time stays what the target
 * meant. Where levels are chosen by estimates, each of them searches longer than the one below. */
static uint64_t search_steps(const struct prepare_cx *cx, uint32_t n_bufs)
{
    uint64_t level_2 = cx->target->plan_nodes;
    uint64_t steps = !cx->target->device || cx->level == 2 ? level_2 : cx->level > 2 ? LONGER * level_2 : level_2 / LONGER;
    uint64_t scaled = n_bufs > FULL_SEARCH ? steps / n_bufs * FULL_SEARCH : steps;
    return scaled ? scaled : 1;
}

/* The workspace that begins with node k: its own, or that of the chain that it begins; size 0: none. */
static struct plan_buf work_buf(const struct prepare_cx *cx, uint32_t k)
{
    const struct chain *c = plan_chain(cx, k);
    uint64_t bytes = !c ? cx->nodes[k].work_bytes : c->first == k ? c->work_bytes : 0;
    return (struct plan_buf){ .size = plan_round(cx, bytes),
                              .align = cx->target->tensor_align,
                              .first = k,
                              .last = c ? c->first + c->n - 1 : k,
                              .fixed = PLAN_ANY };
}

static void place_work(struct prepare_cx *cx, uint32_t k, uint64_t offset)
{
    uint32_t at = cx->chain_of ? cx->chain_of[k] : IR_NONE;
    if (at == IR_NONE) {
        cx->nodes[k].work_offset = offset;
        return;
    }
    struct chain *c = &cx->chains[at];
    c->work_offset = offset;
    for (uint32_t i = 0; i < c->n; i++)
        cx->nodes[c->first + i].work_offset = offset + c->slab_bytes;
}

/* The room in the window that belongs to node k, while it or its chain runs; size 0: none. */
static struct plan_buf tile_buf(const struct prepare_cx *cx, uint32_t k)
{
    const struct chain *c = plan_chain(cx, k);
    return (struct plan_buf){ .size = plan_round(cx, cx->tiles ? cx->tiles[k].bytes : 0),
                              .align = cx->target->tensor_align,
                              .first = c ? c->first : k,
                              .last = k,
                              .fixed = PLAN_ANY };
}

/* What is asked of the planner. */
struct ask {
    uint64_t enough; /* no longer searched for below; 0: as small as it gets */
    uint64_t most;   /* a larger plan is not taken over; 0: any is */
    bool quick;      /* no search */
};

/* One arena: blocks, and what nodes need besides while they run: in scratch workspaces of kernels, in the window room for
 * tiles. */
static enum status solve(struct planner *p, uint8_t arena, const struct ask *ask, struct plan_result *ret)
{
    struct prepare_cx *cx = p->cx;
    uint32_t n_nodes = (uint32_t)cx->g->nodes.n, n = 0, align = cx->target->tensor_align;
    struct plan_buf (*own)(const struct prepare_cx *cx, uint32_t k) = arena == PLACE_SCRATCH ? work_buf
                                                                      : arena == PLACE_VTCM  ? tile_buf
                                                                                             : NULL;
    struct plan_buf *b = arena_array(&cx->arena, struct plan_buf, p->n_blocks + (own ? n_nodes : 0));
    RETURN_IF(!b, ST_NO_MEMORY, "no memory to plan %u buffers", p->n_blocks);
    for (uint32_t i = 0; i < p->n_blocks; i++)
        if (p->blocks[i].arena == arena)
            b[n++] = (struct plan_buf){ .size = plan_round(cx, p->blocks[i].bytes),
                                        .align = align,
                                        .first = p->blocks[i].first,
                                        .last = p->until ? p->until[i] : p->blocks[i].last,
                                        .fixed = PLAN_ANY };
    for (uint32_t k = 0; own && k < n_nodes; k++) {
        b[n] = own(cx, k);
        n += b[n].size > 0;
    }
    struct plan_opts o = { .deadline_ns = ask->quick ? 0 : PLAN_FOREVER,
                           .max_nodes = search_steps(cx, n),
                           .capacity = ask->enough };
    TRY(plan_solve(b, n, &o, ret));
    if (ask->most && ret->total > ask->most)
        return ST_OK;
    uint32_t n_own = 0;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        n_own += p->blocks[i].arena == arena;
    if (cx->target->max_tiles > 1 && !cx->target->no_sharing)
        plan_settle(b, n_own, n, ret->total);
    n = 0;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        if (p->blocks[i].arena == arena)
            p->blocks[i].offset = b[n++].offset;
    for (uint32_t k = 0; own && k < n_nodes; k++) {
        if (!own(cx, k).size)
            continue;
        uint64_t offset = b[n++].offset;
        if (arena == PLACE_VTCM)
            cx->tiles[k].offset = offset;
        else
            place_work(cx, k, offset);
    }
    return ST_OK;
}

static enum status solve_all(struct planner *p)
{
    struct prepare_cx *cx = p->cx;
    struct plan_result r;
    TRY(solve(p, PLACE_SCRATCH, &(struct ask){ 0 }, &r));
    cx->scratch_bytes = r.total;
    cx->live_bytes = r.lower_bound;
    cx->plan_optimal = r.optimal;
    if (!cx->wanted)
        return ST_OK;
    TRY(solve(p, PLACE_VTCM, &(struct ask){ .enough = cx->target->vtcm_bytes }, &r));
    cx->vtcm_used = r.total;
    TRY(solve(p, PLACE_SPILL, &(struct ask){ 0 }, &r));
    cx->spill_bytes = r.total;
    return ST_OK;
}

/* One arena again, with as much room for operators side by side as it may take: the further they are from each other, the
 * more. */
static enum status spread(struct planner *p, uint8_t arena, uint64_t limit, uint64_t *total)
{
    struct prepare_cx *cx = p->cx;
    uint64_t more = cx->target->beside_bytes, most = *total + (more < *total ? more : *total);
    uint32_t *until = arena_array(&cx->arena, uint32_t, p->n_blocks);
    struct plan_result r = { .total = UINT64_MAX };
    RETURN_IF(!until, ST_NO_MEMORY, "no memory to plan %u buffers", p->n_blocks);
    most = limit && limit < most ? limit : most;
    p->until = until;
    for (uint32_t near = PLAN_BESIDE; near && most && r.total > most; near /= 2) {
        bool longer = false;
        for (uint32_t i = 0; i < p->n_blocks; i++)
            until[i] = p->blocks[i].last;
        TRY(plan_beside(cx, p->block_of, p->n_blocks, near, until));
        for (uint32_t i = 0; i < p->n_blocks; i++)
            longer |= p->blocks[i].arena == arena && until[i] > p->blocks[i].last;
        if (!longer) /* the plan that there is will do */
            break;
        TRY(solve(p, arena, &(struct ask){ .enough = *total, .most = most, .quick = true }, &r));
    }
    cx->plan_optimal &= arena != PLACE_SCRATCH || r.total > most || r.total == *total;
    *total = r.total <= most ? r.total : *total;
    p->until = NULL;
    return ST_OK;
}

/* Memory for branches, where more than one thread may compute. */
static enum status spread_all(struct planner *p)
{
    struct prepare_cx *cx = p->cx;
    if (!cx->target->beside_bytes || cx->opts->hvx_threads == 1 || cx->target->no_sharing)
        return ST_OK;
    if (!cx->wanted)
        return spread(p, PLACE_SCRATCH, cx->target->scratch_limit, &cx->scratch_bytes);
    TRY(spread(p, PLACE_VTCM, cx->target->vtcm_bytes, &cx->vtcm_used));
    return spread(p, PLACE_SPILL, 0, &cx->spill_bytes);
}

static struct placement place_of(const struct planner *p, uint32_t cell, uint64_t bytes)
{
    const struct cell *c = &p->cx->cells[cell];
    bool planned = c->room && c->place != PLACE_IO;
    return (struct placement){ .place = c->place,
                               .bytes = bytes,
                               .offset = planned ? p->blocks[p->block_of[cell]].offset : c->of,
                               .first = planned ? p->first[cell] : 0,
                               .last = planned ? p->last[cell] : IR_NONE };
}

static enum status write_places(struct planner *p)
{
    struct prepare_cx *cx = p->cx;
    uint32_t n_io = cx->n_inputs + cx->n_outputs;
    for (uint32_t t = 0; t < cx->g->tensors.n; t++) {
        const struct ir_tensor *x = &cx->g->tensors.at[t];
        if (cx->slabs && cx->slabs[t].bytes)
            cx->places[t] = (struct placement){ .place = PLACE_LINES,
                                                .offset = cx->slabs[t].offset,
                                                .bytes = cx->slabs[t].bytes,
                                                .first = p->first[cx->cell_of[t]],
                                                .last = p->last[cx->cell_of[t]] };
        else if (cx->cell_of[t] != IR_NONE)
            cx->places[t] = place_of(p, cx->cell_of[t], x->raw_bytes ? x->raw_bytes : desc_bytes(&x->desc));
    }
    if (!cx->target->io_in_scratch)
        return ST_OK;
    cx->homes = arena_array(&cx->arena, struct placement, n_io);
    RETURN_IF(!cx->homes, ST_NO_MEMORY, "no memory to plan %u inputs and outputs", n_io);
    for (uint32_t i = 0; i < n_io; i++) {
        uint32_t c = cx->cell_of[cx->io[i]];
        cx->homes[i] = (struct placement){ .place = PLACE_SCRATCH,
                                           .bytes = cx->cells[c].bytes,
                                           .offset = p->blocks[p->block_of[c]].offset,
                                           .first = p->first[c],
                                           .last = p->last[c] };
    }
    return ST_OK;
}

static enum status start(struct prepare_cx *cx, struct planner *ret)
{
    uint32_t n = cx->n_cells;
    struct arena *a = &cx->arena;
    *ret = (struct planner){ .cx = cx,
                             .first = arena_array(a, uint32_t, n),
                             .last = arena_array(a, uint32_t, n),
                             .block_of = arena_array(a, uint32_t, n),
                             .blocks = arena_array(a, struct block, n) };
    RETURN_IF(!ret->first || !ret->last || !ret->block_of || !ret->blocks, ST_NO_MEMORY, "no memory to plan %zu tensors",
              cx->g->tensors.n);
    find_uses(ret);
    form_blocks(ret);
    return ST_OK;
}

enum status plan_vtcm_total(struct prepare_cx *cx, uint64_t enough, uint64_t *ret)
{
    struct planner p;
    struct plan_result r;
    TRY(start(cx, &p));
    TRY(solve(&p, PLACE_VTCM, &(struct ask){ .enough = enough }, &r));
    *ret = r.total;
    return ST_OK;
}

/* A plan for the order that operators have now. */
static enum status plan_now(struct prepare_cx *cx, struct planner *ret)
{
    TRY(start(cx, ret));
    return solve_all(ret);
}

/* The order chosen has the lower peak, yet its plan may have more gaps than the one for the order given. */
static enum status compare_with_given(struct prepare_cx *cx, struct planner *p, bool *progress)
{
    uint32_t n = (uint32_t)cx->g->nodes.n, *chosen = arena_array(&cx->arena, uint32_t, n);
    uint64_t total = cx->scratch_bytes;
    RETURN_IF(!chosen, ST_NO_MEMORY, "no memory to order %u operators", n);
    for (uint32_t k = 0; k < n; k++)
        chosen[cx->given_order[k]] = k;
    TRY(plan_reorder(cx, cx->given_order));
    TRY(plan_now(cx, p));
    *progress = cx->scratch_bytes <= total;
    if (*progress)
        return ST_OK;
    TRY(plan_reorder(cx, chosen));
    return plan_now(cx, p);
}

enum status plan_memory(struct prepare_cx *cx, bool *progress)
{
    struct planner p;
    if (!cx->cells)
        TRY(plan_cells(cx));
    TRY(plan_now(cx, &p));
    if (cx->given_order && cx->scratch_bytes > cx->given_live && !cx->n_chains) /* chains were found for this order */
        TRY(compare_with_given(cx, &p, progress));
    RETURN_IF(cx->target->scratch_limit && cx->scratch_bytes > cx->target->scratch_limit, ST_PREPARE_FAILED,
              "graph \"%s\" needs %llu bytes of scratch memory; the target allows %llu", cx->g->name,
              (unsigned long long)cx->scratch_bytes, (unsigned long long)cx->target->scratch_limit);
    TRY(spread_all(&p));
    cx->places = arena_array(&cx->arena, struct placement, cx->g->tensors.n);
    RETURN_IF(!cx->places, ST_NO_MEMORY, "no memory to plan %zu tensors", cx->g->tensors.n);
    return write_places(&p);
}
