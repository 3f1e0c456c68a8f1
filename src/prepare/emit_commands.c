/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts every node, and every chain of nodes, into tiles: a step each, its tiles side by side.
 *
 * Commands of one step run in any order on any thread. One node or chain per step keeps memory at its minimum, because
 * lifetimes are counted in nodes; which steps may run beside each other in that memory exec finds out (depend.c). Commands
 * of a chain name its last node and lines of the result.
 *
 * Where there is a window of fast memory, a node that goes through its result in many boxes (tile_vtcm_job.c) has at least a
 * command for each, and commands do not reach over the border between two boxes. */
#include "prepare/cx.h"

enum { MAX_COMMANDS = 4096 }; /* of a node */

static enum status cut(struct prepare_cx *cx, uint32_t node, struct range units, uint32_t tiles, uint32_t step)
{
    uint32_t extent = units.end - units.begin;
    for (uint32_t i = 0; i < tiles; i++) {
        struct binary_command *c = vec_push(&cx->commands);
        RETURN_IF(!c, ST_NO_MEMORY, "no memory for %zu commands", cx->commands.n);
        uint64_t begin = (uint64_t)extent * i / tiles, end = (uint64_t)extent * (i + 1) / tiles;
        /* The only tile of a node takes all there is: with dynamic dimensions the extent is known when it runs. */
        *c = (struct binary_command){ .node = node,
                                      .begin = units.begin + (uint32_t)begin,
                                      .end = tiles == 1 ? UINT32_MAX : units.begin + (uint32_t)end,
                                      .step = step };
    }
    return ST_OK;
}

/* As many as there are boxes, or a few for each of them. What is too small for a second command stays one, and its boxes are
 * done in turn. */
static uint32_t commands_of(const struct prepare_cx *cx, uint32_t k)
{
    uint32_t extent = cx->nodes[k].extent, tiles = cx->nodes[k].tiles;
    struct binary_box_op o;
    struct binary_box sides;
    struct ir_call v;
    if (!cx->tiles || !cx->tiles[k].box.lines || tiles == 1)
        return tiles;
    ir_call(cx->g, &cx->g->nodes.at[k], &v);
    binary_box_op(&v.call, &o);
    uint64_t boxes = binary_box_count(&o, &cx->tiles[k].box, &sides), n = boxes < tiles ? tiles / boxes * boxes : boxes;
    n = n < MAX_COMMANDS ? n : MAX_COMMANDS;
    return n < extent ? (uint32_t)n : extent;
}

/* Phases are steps. */
static enum status cut_phases(struct prepare_cx *cx, uint32_t k, uint32_t *step)
{
    uint32_t units = cx->nodes[k].extent / cx->nodes[k].phases;
    for (uint32_t i = 0; i < cx->nodes[k].phases; i++)
        TRY(cut(cx, k, (struct range){ i * units, (i + 1) * units }, cx->nodes[k].tiles, (*step)++));
    return ST_OK;
}

enum status emit_commands(struct prepare_cx *cx, bool *progress)
{
    (void)progress;
    uint32_t step = 0;
    cx->step_of = arena_array(&cx->arena, uint32_t, cx->g->nodes.n);
    cx->last_step = arena_array(&cx->arena, uint32_t, cx->g->nodes.n);
    RETURN_IF(!cx->step_of || !cx->last_step, ST_NO_MEMORY, "no memory for %zu nodes", cx->g->nodes.n);
    for (uint32_t k = 0; k < cx->g->nodes.n; k++) {
        const struct chain *c = plan_chain(cx, k);
        cx->step_of[k] = step;
        if (!c && cx->nodes[k].phases > 1)
            TRY(cut_phases(cx, k, &step));
        else if (!c)
            TRY(cut(cx, k, (struct range){ 0, cx->nodes[k].extent }, commands_of(cx, k), step++));
        else if (k == c->first + c->n - 1)
            TRY(cut(cx, k, (struct range){ 0, c->lines }, c->tiles, step++));
        cx->last_step[k] = step > cx->step_of[k] ? step - 1 : step; /* members of a chain run with its last node */
    }
    cx->n_steps = step;
    return ST_OK;
}
