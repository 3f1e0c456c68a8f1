/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that operators move, by where they lie: every operand once, workspaces and states once in and once out. */
#include "binary/binary.h"

/* Lines of a chain are where they are, whatever their shape. */
static bool same_memory(const struct binary_tensor *a, const struct binary_tensor *b)
{
    return a->place == b->place && (a->offset == b->offset || a->place == PLACE_LINES);
}

/* A view over its own memory moves nothing. */
static bool moves_nothing(const struct binary_graph *g, const struct binary_node *n)
{
    return n->op->flags & OP_VIEW && n->n_in > 0 && n->n_out == 1 && n->in[0] != BINARY_NONE && n->out[0] != BINARY_NONE &&
           same_memory(&g->tensors[n->in[0]], &g->tensors[n->out[0]]);
}

static void add_list(const struct binary_graph *g, const uint32_t *list, uint32_t n, uint64_t *sums)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct binary_tensor *t = list[i] == BINARY_NONE ? NULL : &g->tensors[list[i]];
        if (t) /* of lines, the bytes are those that are there at once */
            sums[t->place] += t->place == PLACE_LINES ? desc_bytes(&t->desc) : t->bytes;
    }
}

void binary_node_traffic(const struct binary_graph *g, uint32_t node, struct binary_traffic *ret)
{
    const struct binary_node *n = &g->nodes[node];
    *ret = (struct binary_traffic){ 0 };
    if (moves_nothing(g, n))
        return;
    add_list(g, n->in, n->n_in, ret->read);
    add_list(g, n->aux, n->n_aux, ret->read);
    add_list(g, n->out, n->n_out, ret->written);
    ret->read[PLACE_SCRATCH] += n->work_bytes;
    ret->written[PLACE_SCRATCH] += n->work_bytes;
    ret->read[PLACE_PERSISTENT] += n->state_bytes;
    ret->written[PLACE_PERSISTENT] += n->state_bytes;
    ret->read[PLACE_NONE] = ret->written[PLACE_NONE] = 0;
}

bool binary_is_transfer(const struct binary_node *n)
{
    return n->op->id == OP_DramToTcm || n->op->id == OP_TcmToDram;
}

static uint64_t streamed(const struct binary_graph *g, const uint32_t *list, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool counts = list[i] != BINARY_NONE && g->tensors[list[i]].place == PLACE_SPILL;
        for (uint32_t k = 0; k < i; k++)
            counts &= list[k] != list[i];
        sum += counts ? binary_vtcm_bytes(&g->tensors[list[i]].desc) : 0;
    }
    return sum;
}

void binary_transfers(const struct binary_graph *g, struct binary_transfers *ret)
{
    *ret = (struct binary_transfers){ 0 };
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct binary_node *n = &g->nodes[k];
        uint64_t bytes = binary_is_transfer(n) ? binary_vtcm_bytes(&g->tensors[n->in[0]].desc) : 0;
        ret->spilled += n->op->id == OP_TcmToDram ? bytes : 0;
        ret->filled += n->op->id == OP_DramToTcm ? bytes : 0;
        if (binary_is_transfer(n) || moves_nothing(g, n))
            continue;
        ret->read += streamed(g, n->in, n->n_in);
        ret->written += streamed(g, n->out, n->n_out);
    }
}

void binary_graph_traffic(const struct binary_graph *g, struct binary_traffic *ret)
{
    *ret = (struct binary_traffic){ 0 };
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        struct binary_traffic t;
        binary_node_traffic(g, k, &t);
        for (int p = 0; p < PLACE_COUNT; p++) {
            ret->read[p] += t.read[p];
            ret->written[p] += t.written[p];
        }
    }
}
