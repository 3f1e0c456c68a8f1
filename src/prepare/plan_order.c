/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the order of operators, within what they wait for, that needs the least memory at once (plan_schedule.c does the
 * search).
 *
 *     %b = Conv2d(%a)     %b = Conv2d(%a)
 *     %d = Conv2d(%a)     %c = PoolMax2d(%b)     b is gone before d comes
 *     %c = PoolMax2d(%b)  %d = Conv2d(%a)
 *     %e = PoolMax2d(%d)  %e = PoolMax2d(%d)
 *
 * The results are the same bits: every operator sees the same inputs. Operators that keep state, draw random numbers or
 * touch the same tensor of the client's that is read and written stay in the order they were given. */
#include <string.h>

#include "prepare/cx.h"
#include "prepare/plan.h"
#include "prepare/plan_schedule.h"

struct builder {
    struct prepare_cx *cx;
    uint32_t *producer;   /* per tensor, IR_NONE: none */
    uint32_t *last_touch; /* per cell that is read and written by the client: the last operator that touched it */
    uint32_t *seen;       /* per cell: operator + 1 that has it in its list */
    struct plan_cell *cells;
    struct plan_job *jobs;
    uint32_t ordered;     /* the last operator that keeps its place among its kind, IR_NONE: none */
};

/* Memory of scratch that a tensor takes, IR_NONE: none. */
static uint32_t scratch_cell(const struct prepare_cx *cx, uint32_t tensor)
{
    uint32_t c = tensor == IR_NONE ? IR_NONE : cx->cell_of[tensor];
    return c != IR_NONE && cx->cells[c].room ? c : IR_NONE;
}

static bool shared_with_client(const struct prepare_cx *cx, uint32_t cell)
{
    return cell != IR_NONE && cx->cells[cell].place == PLACE_IO && cx->cells[cell].early && cx->cells[cell].late;
}

static void add_after(struct builder *b, struct plan_job *job, uint32_t *list, uint32_t before)
{
    (void)b;
    if (before != IR_NONE)
        list[job->n_after++] = before;
}

static enum status add_job(struct builder *b, uint32_t k)
{
    struct prepare_cx *cx = b->cx;
    const struct ir_node *n = &cx->g->nodes.at[k];
    uint32_t ports = plan_ports(n), *touch = arena_array(&cx->arena, uint32_t, ports),
             *over = arena_array(&cx->arena, uint32_t, n->n_in);
    uint32_t *after = arena_array(&cx->arena, uint32_t, 2 * ports + 1);
    RETURN_IF(!touch || !over || !after, ST_NO_MEMORY, "no memory to order %zu operators", cx->g->nodes.n);
    struct plan_job *job = &b->jobs[k];
    *job = (struct plan_job){
        .work = plan_round(cx, cx->nodes[k].work_bytes), .touch = touch, .after = after, .over = over, .makes = PLAN_NO_CELL
    };
    for (uint32_t i = 0; i < ports; i++) {
        uint32_t t = plan_port(n, i), c = scratch_cell(cx, t), any = t == IR_NONE ? IR_NONE : cx->cell_of[t];
        if ((i < n->n_in || i >= n->n_in + n->n_out) && t != IR_NONE)
            add_after(b, job, after, b->producer[t]);
        if (shared_with_client(cx, any) && b->last_touch[any] != k) {
            add_after(b, job, after, b->last_touch[any]);
            b->last_touch[any] = k;
        }
        if (c != IR_NONE && b->seen[c] != k + 1) {
            b->seen[c] = k + 1;
            touch[job->n_touch++] = c;
        }
    }
    for (uint32_t i = 0; i < n->n_in; i++)
        if (plan_may_replace(cx, n, i))
            over[job->n_over++] = cx->cell_of[n->in[i]];
    job->makes = job->n_over ? cx->cell_of[n->out[0]] : PLAN_NO_CELL;
    if (n->op->flags & OP_RANDOM || ir_stateful(cx->g, n)) {
        add_after(b, job, after, b->ordered);
        b->ordered = k;
    }
    for (uint32_t i = 0; i < n->n_out; i++)
        b->producer[n->out[i]] = k;
    return ST_OK;
}

/* false: sizes that no memory has; the planner will say so. */
static bool fill_cells(struct builder *b)
{
    const struct prepare_cx *cx = b->cx;
    uint64_t sum = 0;
    bool fits = true;
    for (uint32_t c = 0; c < cx->n_cells; c++) {
        bool counts = cx->cells[c].room && b->seen[c];
        fits &= cx->cells[c].bytes < PLAN_MAX / 2;
        b->cells[c] = (struct plan_cell){ .bytes = counts && fits ? plan_round(cx, cx->cells[c].bytes) : 0,
                                          .early = counts && cx->cells[c].early,
                                          .late = cx->cells[c].late };
        fits &= !__builtin_add_overflow(sum, b->cells[c].bytes, &sum);
    }
    for (uint32_t k = 0; k < cx->g->nodes.n; k++)
        fits &= !__builtin_add_overflow(sum, b->jobs[k].work, &sum);
    return fits && sum <= PLAN_MAX;
}

static enum status build(struct builder *b)
{
    struct prepare_cx *cx = b->cx;
    size_t nt = cx->g->tensors.n, nn = cx->g->nodes.n;
    b->producer = arena_array(&cx->arena, uint32_t, nt);
    b->last_touch = arena_array(&cx->arena, uint32_t, nt);
    b->seen = arena_array(&cx->arena, uint32_t, nt);
    b->cells = arena_array(&cx->arena, struct plan_cell, nt);
    b->jobs = arena_array(&cx->arena, struct plan_job, nn);
    b->ordered = IR_NONE;
    RETURN_IF(!b->producer || !b->last_touch || !b->seen || !b->cells || !b->jobs, ST_NO_MEMORY,
              "no memory to order %zu operators", nn);
    memset(b->producer, 0xff, nt * sizeof(uint32_t));
    memset(b->last_touch, 0xff, nt * sizeof(uint32_t));
    for (uint32_t k = 0; k < nn; k++)
        TRY(add_job(b, k));
    return ST_OK;
}

enum status plan_reorder(struct prepare_cx *cx, const uint32_t *order)
{
    uint32_t n = (uint32_t)cx->g->nodes.n;
    struct ir_node *nodes = arena_array(&cx->arena, struct ir_node, n);
    struct node_plan *plans = arena_array(&cx->arena, struct node_plan, n);
    RETURN_IF(!nodes || !plans, ST_NO_MEMORY, "no memory to order %u operators", n);
    for (uint32_t k = 0; k < n; k++) {
        nodes[k] = cx->g->nodes.at[order[k]];
        plans[k] = cx->nodes[order[k]];
    }
    memcpy(cx->g->nodes.at, nodes, n * sizeof(*nodes));
    cx->nodes = plans; /* the old ones may belong to a state that is gone back to (tile_vtcm_apply.c) */
    return ST_OK;
}

enum status plan_order(struct prepare_cx *cx, bool *progress)
{
    struct builder b = { .cx = cx };
    uint32_t n = (uint32_t)cx->g->nodes.n, *order = arena_array(&cx->arena, uint32_t, n);
    RETURN_IF(!order, ST_NO_MEMORY, "no memory to order %u operators", n);
    TRY(plan_cells(cx));
    if (!cx->target->order_steps)
        return ST_OK;
    TRY(build(&b));
    if (!fill_cells(&b))
        return ST_OK;
    struct plan_order_result r;
    struct plan_jobs jobs = { .cells = b.cells, .jobs = b.jobs, .n_cells = cx->n_cells, .n_jobs = n };
    TRY(plan_schedule(&jobs, cx->target->order_steps, order, &r));
    cx->order_bound = r.lower_bound;
    if (r.peak == r.given)
        return ST_OK;
    *progress = true;
    cx->given_live = r.given;
    cx->given_order = order; /* becomes: where each operator of the given order stands now */
    TRY(plan_reorder(cx, order));
    uint32_t *back = arena_array(&cx->arena, uint32_t, n);
    RETURN_IF(!back, ST_NO_MEMORY, "no memory to order %u operators", n);
    for (uint32_t k = 0; k < n; k++)
        back[order[k]] = k;
    cx->given_order = back;
    return ST_OK;
}
