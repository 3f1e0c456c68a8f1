/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses what does not fit into fast memory even in the smallest boxes (binary_box.c), in the words of the device. Most
 * operators go over their operands piece by piece, and then a few tiles are enough, in a product also the window and weights
 * of 32 result channels. A few have to see a whole axis, or everything. Boxes are generous: nothing is refused here that a
 * device might run. */
#include "prepare/cx.h"

/* Every operand, since the smallest box of each has to be there. */
static uint64_t least_bytes(const struct prepare_cx *cx, const struct ir_node *n)
{
    struct ir_call v;
    struct binary_box_op o;
    uint64_t sum = 0;
    if (plan_is_view(cx->g, n))
        return 0;
    ir_call(cx->g, n, &v);
    binary_box_op(&v.call, &o);
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++)
        sum += binary_box_operand(&o, &o.least, i);
    return sum;
}

enum status tile_vtcm_least(struct prepare_cx *cx, bool *progress)
{
    (void)progress;
    for (uint32_t k = 0; k < cx->g->nodes.n; k++) {
        const struct ir_node *n = &cx->g->nodes.at[k];
        uint64_t need = least_bytes(cx, n), have = cx->target->vtcm_bytes;
        RETURN_IF(need > have, ST_NO_MEMORY,
                  "A single op, \"q::%s\" (Op ID: %x), requires 0x%llx bytes of TCM, which is greater than the TCM size of "
                  "0x%llx! It is node \"%s\"; give the graph more VTCM (vtcm_mb), "
                  "or make the operator smaller",
                  n->op->name, k, (unsigned long long)need, (unsigned long long)have, n->name);
    }
    return ST_OK;
}
