/* SPDX-License-Identifier: Apache-2.0 */
/* Some graphs of a file as a file of their own, without a copy of their constants: those stay where they are and are mapped
 * behind the rest.
 *
 *     the file    header | table | sections of A, B, C | constants of A | constants of B and C
 *     the pick    header | table | sections of B, C    | constants of B and C
 *                 `head`, in memory, whole pages         the file's own bytes
 *
 * Graphs that have one constant section stay together. */
#include <string.h>

#include "base/mem.h"
#include "binary/binary_format.h"

struct pick {
    struct bin_pieces pieces;
    const struct binary *b;
    uint32_t *number; /* per graph of the file: the one it has in the pick, BINARY_NONE: it is left out */
    uint32_t n_graphs;
};

static bool belongs(const struct binary *b, uint32_t graph, uint32_t other)
{
    return other == graph || (b->graphs[graph].constant_bytes && b->graphs[other].constant_bytes &&
                              b->graphs[graph].constants == b->graphs[other].constants);
}

static enum status choose_graphs(struct pick *p, uint32_t graph)
{
    p->number = mem_array(uint32_t, p->b->n_graphs);
    RETURN_IF(!p->number, ST_NO_MEMORY, "context binary: no memory to pick a graph of %u", p->b->n_graphs);
    for (uint32_t i = 0; i < p->b->n_graphs; i++)
        p->number[i] = belongs(p->b, graph, i) ? p->n_graphs++ : BINARY_NONE;
    return ST_OK;
}

static bool is_of_graph(const struct bin_section *s)
{
    bool known = s->kind && s->kind < SEC_COUNT;
    bool of_file = s->kind == SEC_CONSTANTS || s->kind == SEC_PACKED || s->kind == SEC_OEM || s->kind == SEC_OWN;
    return known && !of_file;
}

/* Sections of the graphs as they are; the constants are number 0 of the new file. */
static enum status add_sections(struct pick *p, const uint8_t *constants)
{
    const uint8_t *data = p->b->map;
    struct bin_piece last = { 0 };
    struct bin_header h;
    memcpy(&h, data, sizeof(h));

    for (uint32_t i = 0; i < h.n_sections; i++) {
        struct bin_section s;
        memcpy(&s, data + sizeof(h) + (size_t)i * sizeof(s), sizeof(s));

        struct bin_piece piece = { .kind = s.kind, .link = s.link, .size = s.size, .crc = s.crc, .has_crc = true };
        if (s.kind == SEC_CONSTANTS && data + s.offset == constants)
            last = piece;
        if (!is_of_graph(&s) || p->number[s.index] == BINARY_NONE)
            continue;

        piece.index = p->number[s.index];
        piece.data = data + s.offset;
        if (s.kind == SEC_GRAPH)
            piece.link = constants ? 0 : BINARY_NONE;
        TRY(bin_add(&p->pieces, piece));
    }
    return last.kind ? bin_add(&p->pieces, last) : ST_OK;
}

static enum status build_head(struct pick *p, const struct binary_graph *g, struct binary_pick *ret)
{
    uint64_t size;
    TRY(bin_layout(&p->pieces, &size));

    struct binary_pick pick = { .n_graphs = p->n_graphs, .rest = g->constants, .rest_bytes = g->constant_bytes };
    TRY(bin_image_build(&p->pieces, size - g->constant_bytes, &pick.head));

    uint64_t head_bytes = pick.head.size;
    pick.head.size = size; /* what the header says */
    bin_image_seal(&p->pieces, &p->b->target, p->n_graphs, &pick.head);
    pick.head.size = head_bytes;
    *ret = pick;
    return ST_OK;
}

enum status binary_pick(const struct binary *b, uint32_t graph, struct binary_pick *ret)
{
    const struct binary_graph *g = &b->graphs[graph];
    struct pick p = { .b = b };
    enum status st = choose_graphs(&p, graph);
    if (st == ST_OK)
        st = add_sections(&p, g->constant_bytes ? g->constants : NULL);
    if (st == ST_OK)
        st = build_head(&p, g, ret);
    if (st == ST_OK)
        ret->graph = p.number[graph];
    vec_finish(&p.pieces);
    mem_free(p.number);
    return st;
}

void binary_pick_free(struct binary_pick *p)
{
    binary_image_free(&p->head);
}
