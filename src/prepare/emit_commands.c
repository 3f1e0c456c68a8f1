/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts every node into tiles: one step per node, its tiles side by side.
 *
 * A step is a barrier: commands of one step run in any order on any thread, the next step starts when all are done. One node per step keeps
 * memory at its minimum, because lifetimes are counted in steps. */
#include "prepare/cx.h"

enum status emit_commands(struct prepare_cx *cx, bool *progress)
{
    (void)progress;
    for (uint32_t k = 0; k < cx->g->nodes.n; k++) {
        const struct node_plan *n = &cx->nodes[k];
        for (uint32_t i = 0; i < n->tiles; i++) {
            struct binary_command *c = vec_push(&cx->commands);
            RETURN_IF(!c, ST_NO_MEMORY, "no memory for %zu commands", cx->commands.n);
            uint64_t begin = (uint64_t)n->extent * i / n->tiles, end = (uint64_t)n->extent * (i + 1) / n->tiles;
            /* The only tile of a node takes all there is: with dynamic dimensions the extent is known when it runs. */
            *c = (struct binary_command){ .node = k, .begin = (uint32_t)begin, .end = n->tiles == 1 ? UINT32_MAX : (uint32_t)end, .step = k };
        }
    }
    return ST_OK;
}
