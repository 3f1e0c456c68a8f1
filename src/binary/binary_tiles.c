/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a graph apart: tiles. A node's box is one of its operator, the room that it has in the window is what that box
 * needs (binary_box.c), and it lies inside the window. A chain's room is that of all its members, and its last node
 * has it. */
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

/* Lines of a member's result that its chain has at a time. */
static uint32_t lines_of(const struct binary_graph *g, const struct binary_chain *c, uint32_t k)
{
    const struct binary_tensor *t = &g->tensors[g->nodes[k].out[0]];
    struct op_lines lines;
    return t->place == PLACE_LINES && desc_lines(&t->desc, &lines) ? (uint32_t)(t->bytes / lines.bytes) : c->height;
}

/* Members of a chain have boxes of whole lines, as many as the chain has at a time. */
static enum status check_box(const struct binary_graph *g, uint32_t k)
{
    const struct binary_node *n = &g->nodes[k];
    const struct binary_box *box = &n->tile.box;
    const struct binary_chain *c = chain_of(g, k);
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    struct op_call call;
    struct binary_box_op op;
    bin_call(g, n, in, out, &call);
    binary_box_op(&call, &op);
    struct binary_box whole = c ? binary_box_lines(&op, lines_of(g, c, k), UINT64_MAX) : op.whole;
    bool ok = binary_box_fits(&op, box) &&
              (!c || (box->lines == whole.lines && box->columns == whole.columns && box->depth == whole.depth));
    RETURN_IF(!ok, ST_BAD_BINARY,
              "context binary, node \"%s\": a tile of %u lines, %u columns, %u channels, %u deep; there are %u, %u, %u, %u",
              n->name, box->lines, box->columns, box->channels, box->depth, whole.lines, whole.columns, whole.channels,
              whole.depth);
    return ST_OK;
}

static enum status check_tile(const struct bin_reader *r, uint32_t k)
{
    const struct binary_graph *g = r->g;
    const struct binary_node *n = &g->nodes[k];
    const struct binary_tile *t = &n->tile;
    const struct binary_chain *c = chain_of(g, k);
    static const struct binary_box none;
    bool empty = same_box(&t->box, &none), last = !c || k + 1 == c->first + c->n;
    RETURN_IF((empty || !last) && (t->bytes || t->offset), ST_BAD_BINARY,
              "context binary, node \"%s\": %" PRIu64 " bytes of the window at %" PRIu64 "; it has no tile of its own",
              n->name, t->bytes, t->offset);
    if (empty)
        return ST_OK;
    TRY(check_box(g, k));
    if (!last)
        return ST_OK;
    uint64_t bytes = needed(g, k);
    RETURN_IF(t->bytes != bytes, ST_BAD_BINARY,
              "context binary, node \"%s\": %" PRIu64 " bytes of the window for a tile that needs %" PRIu64, n->name,
              t->bytes, bytes);
    RETURN_IF(t->offset > g->info.vtcm_used || t->bytes > g->info.vtcm_used - t->offset || t->offset % BIN_ALIGN,
              ST_BAD_BINARY,
              "context binary, node \"%s\": its tile takes %" PRIu64 " bytes at %" PRIu64
              " of the window; the plan has %" PRIu64 ", and a multiple of %d is expected",
              n->name, t->bytes, t->offset, g->info.vtcm_used, BIN_ALIGN);
    return ST_OK;
}

enum status bin_read_tiles(struct bin_reader *r)
{
    const struct bin_span *s = &r->sec[SEC_TILES];
    struct binary_node *nodes = (struct binary_node *)r->g->nodes;
    if (!s->n)
        return ST_OK;
    RETURN_IF(s->n != r->g->n_nodes, ST_BAD_BINARY, "context binary, %s: %u tiles for %u nodes", r->graph, s->n,
              r->g->n_nodes);
    for (uint32_t k = 0; k < s->n; k++) {
        struct bin_tile rec;
        memcpy(&rec, s->data + (size_t)k * sizeof(rec), sizeof(rec));
        nodes[k].tile = (struct binary_tile){ { rec.lines, rec.columns, rec.channels, rec.depth }, rec.offset, rec.bytes };
        TRY(check_tile(r, k));
    }
    return ST_OK;
}
