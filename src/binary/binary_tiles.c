/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a graph apart: tiles. A node's box is one of its operator, the room that it has in the window is what that box needs (binary_box.c), and it lies inside the window. A chain's
 * room is that of all its members, and its last node has it. */
#include <inttypes.h>
#include <string.h>

#include "binary/binary_format.h"

static const struct binary_chain *chain_of(const struct binary_graph *g, uint32_t k)
{
    return g->chain_of && g->chain_of[k] != BINARY_NONE ? &g->chains[g->chain_of[k]] : NULL;
}

static bool same_box(const struct binary_box *a, const struct binary_box *b)
{
    return a->lines == b->lines && a->columns == b->columns && a->channels == b->channels && a->depth == b->depth;
}

static uint64_t needed(const struct binary_graph *g, uint32_t k)
{
    const struct binary_chain *c = chain_of(g, k);
    uint64_t sum = 0;
    for (uint32_t i = c ? c->first : k; i <= k; i++)
        sum += binary_node_box_bytes(g, i);
    return sum;
}

static enum status check_tile(const struct bin_reader *r, uint32_t k)
{
    const struct binary_graph *g = r->g;
    const struct binary_node *n = &g->nodes[k];
    const struct binary_tile *t = &n->tile;
    const struct binary_chain *c = chain_of(g, k);
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    static const struct binary_box none;
    struct op_call call;
    struct binary_box_op op;
    if (same_box(&t->box, &none)) {
        RETURN_IF(t->bytes || t->offset, ST_BAD_BINARY, "context binary, node \"%s\": %" PRIu64 " bytes of the window for no tile", n->name, t->bytes);
        return ST_OK;
    }
    bin_call(g, n, in, out, &call);
    binary_box_op(&call, &op);
    bool last = !c || k + 1 == c->first + c->n, ok = last && binary_box_fits(&op, &t->box);
    if (ok && c) {
        struct binary_box lines = binary_box_lines(&op, c->height);
        ok = same_box(&lines, &t->box);
    }
    RETURN_IF(!ok, ST_BAD_BINARY, "context binary, node \"%s\": a tile of %u lines, %u columns, %u channels, %u deep; the result has %u, %u, %u, %u", n->name, t->box.lines, t->box.columns,
              t->box.channels, t->box.depth, op.whole.lines, op.whole.columns, op.whole.channels, op.whole.depth);
    uint64_t bytes = needed(g, k);
    RETURN_IF(t->bytes != bytes, ST_BAD_BINARY, "context binary, node \"%s\": %" PRIu64 " bytes of the window for a tile that needs %" PRIu64, n->name, t->bytes, bytes);
    RETURN_IF(t->offset > g->info.vtcm_used || t->bytes > g->info.vtcm_used - t->offset, ST_BAD_BINARY,
              "context binary, node \"%s\": its tile takes %" PRIu64 " bytes at %" PRIu64 " of the window; the plan has %" PRIu64, n->name, t->bytes, t->offset, g->info.vtcm_used);
    return ST_OK;
}

enum status bin_read_tiles(struct bin_reader *r)
{
    const struct bin_span *s = &r->sec[SEC_TILES];
    struct binary_node *nodes = (struct binary_node *)r->g->nodes;
    if (!s->n)
        return ST_OK;
    RETURN_IF(s->n != r->g->n_nodes, ST_BAD_BINARY, "context binary, %s: %u tiles for %u nodes", r->graph, s->n, r->g->n_nodes);
    for (uint32_t k = 0; k < s->n; k++) {
        struct bin_tile rec;
        memcpy(&rec, s->data + (size_t)k * sizeof(rec), sizeof(rec));
        nodes[k].tile = (struct binary_tile){ { rec.lines, rec.columns, rec.channels, rec.depth }, rec.offset, rec.bytes };
        TRY(check_tile(r, k));
    }
    return ST_OK;
}
