/* SPDX-License-Identifier: Apache-2.0 */
/* Several files into one. Sections travel as they are; only the section table is new: graphs get new numbers. Constants that
 * several graphs have are stored once (binary_share.c), which is how graphs share weights. */
#include <string.h>

#include "binary/binary_format.h"

struct merge {
    struct bin_pieces pieces;
    struct bin_share share;
    struct arena arena; /* tensors of graphs, and their own records */
    const uint32_t *priorities;
    uint32_t n_graphs;
};

static void merge_finish(struct merge *m)
{
    vec_finish(&m->pieces);
    bin_share_finish(&m->share);
    arena_finish(&m->arena);
}

static struct bin_header header_of(const struct binary *b)
{
    struct bin_header h;
    memcpy(&h, b->map, sizeof(h));
    return h;
}

static struct bin_section section_at(const struct binary *b, uint32_t i)
{
    struct bin_section s;
    memcpy(&s, (const uint8_t *)b->map + sizeof(struct bin_header) + (size_t)i * sizeof(s), sizeof(s));
    return s;
}

static struct bin_piece piece_of(const struct binary *b, const struct bin_section *s)
{
    return (struct bin_piece){ .kind = s->kind,
                               .index = s->index,
                               .link = s->link,
                               .size = s->size,
                               .crc = s->crc,
                               .has_crc = true,
                               .data = (const uint8_t *)b->map + s->offset };
}

static bool find_section(const struct binary *b, enum bin_section_kind kind, uint32_t index, struct bin_section *ret)
{
    uint32_t n = header_of(b).n_sections;
    for (uint32_t i = 0; i < n; i++) {
        *ret = section_at(b, i);
        if (ret->kind == kind && ret->index == index)
            return true;
    }
    return false;
}

/* Tensors of a graph, which say where its constants are, and the number of the section with those in the merged file. */
static enum status add_tensors(struct merge *m, const struct binary *b, uint32_t graph, uint32_t *ret_link)
{
    struct bin_section tensors, own, consts;
    *ret_link = BINARY_NONE;
    if (!find_section(b, SEC_TENSORS, graph, &tensors) || !find_section(b, SEC_GRAPH, graph, &own))
        return status_fail(ST_INTERNAL, "context binary: graph %u has no tensors", graph);
    struct bin_piece piece = piece_of(b, &tensors);
    if (own.link != BINARY_NONE && find_section(b, SEC_CONSTANTS, own.link, &consts)) {
        struct bin_tensor *records = arena_dup(&m->arena, piece.data, piece.size);
        RETURN_IF(!records, ST_NO_MEMORY, "context binary: no memory for %llu bytes of tensors",
                  (unsigned long long)piece.size);
        TRY(bin_share_graph(&m->share, &b->graphs[graph], consts.crc, records, ret_link));
        piece.data = records;
        piece.has_crc = false;
    }
    piece.index += m->n_graphs;
    return bin_add(&m->pieces, piece);
}

/* It may have changed since the graph was written. */
static enum status set_priority(struct merge *m, uint32_t priority, struct bin_piece *piece)
{
    struct bin_graph *record = piece->size >= sizeof *record ? arena_dup(&m->arena, piece->data, piece->size) : NULL;
    RETURN_IF(!record, ST_NO_MEMORY, "context binary: no memory for the record of a graph");
    record->priority = priority;
    piece->data = record;
    piece->has_crc = false;
    return ST_OK;
}

static enum status add_part(struct merge *m, const struct binary *b)
{
    uint32_t n = header_of(b).n_sections;
    for (uint32_t i = 0; i < n; i++) {
        struct bin_section s = section_at(b, i);
        if (s.kind == 0 || s.kind >= SEC_COUNT || s.kind == SEC_CONSTANTS || s.kind == SEC_OEM || s.kind == SEC_OWN ||
            s.kind == SEC_TENSORS)
            continue; /* constants and tensors follow their graphs; the others are the merged file's own */
        struct bin_piece piece = piece_of(b, &s);
        if (s.kind == SEC_GRAPH)
            TRY(add_tensors(m, b, s.index, &piece.link));
        if (s.kind == SEC_GRAPH && m->priorities)
            TRY(set_priority(m, m->priorities[m->n_graphs + s.index], &piece));
        piece.index += m->n_graphs;
        TRY(bin_add(&m->pieces, piece));
    }
    m->n_graphs += b->n_graphs;
    return ST_OK;
}

static enum status check_names(const struct binary *const *parts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t g = 0; g < parts[i]->n_graphs; g++)
            for (uint32_t j = 0; j < i; j++)
                for (uint32_t k = 0; k < parts[j]->n_graphs; k++)
                    RETURN_IF(strcmp(parts[i]->graphs[g].info.name, parts[j]->graphs[k].info.name) == 0, ST_EXISTS,
                              "context binary: two graphs are named \"%s\"; names must differ within a file",
                              parts[i]->graphs[g].info.name);
    return ST_OK;
}

static enum status check_parts(const struct binary *const *parts, uint32_t n)
{
    RETURN_IF(n == 0, ST_INVALID_ARG, "context binary: nothing to merge; at least one graph is needed");
    uint64_t graphs = 0;
    for (uint32_t i = 0; i < n; i++) {
        graphs += parts[i]->n_graphs;
        const struct binary_target *a = &parts[0]->target, *b = &parts[i]->target;
        RETURN_IF(a->backend_id != b->backend_id || a->soc_model != b->soc_model || a->arch != b->arch, ST_BINARY_CONFIG,
                  "context binary: part %u is for backend %u, SoC %u, arch %u; part 0 is for backend %u, SoC %u, arch %u", i,
                  b->backend_id, b->soc_model, b->arch, a->backend_id, a->soc_model, a->arch);
    }
    RETURN_IF(graphs > BINARY_MAX_GRAPHS, ST_INVALID_ARG, "context binary: %llu graphs; at most %d fit one file",
              (unsigned long long)graphs, BINARY_MAX_GRAPHS);
    return check_names(parts, n);
}

/* Constant sections go last in the file, so that the metadata of many graphs is together. */
static enum status gather(const struct binary *const *parts, uint32_t n, const struct binary_extra *extra, struct merge *m)
{
    TRY(check_parts(parts, n));
    m->share.apart = extra && extra->apart;
    m->priorities = extra ? extra->priorities : NULL;
    for (uint32_t i = 0; i < n; i++)
        TRY(add_part(m, parts[i]));
    if (extra && extra->oem)
        TRY(bin_add(
            &m->pieces,
            (struct bin_piece){ .kind = SEC_OEM, .data = extra->oem, .size = strlen(extra->oem) + 1, .link = BINARY_NONE }));
    if (extra && extra->own_bytes)
        TRY(bin_add(&m->pieces, (struct bin_piece){
                                    .kind = SEC_OWN, .data = extra->own, .size = extra->own_bytes, .link = BINARY_NONE }));
    return bin_share_pieces(&m->share, &m->pieces);
}

static enum status merge_sized(const struct binary *const *parts, uint32_t n, const struct binary_extra *extra,
                               struct merge *m, uint64_t *size)
{
    TRY(gather(parts, n, extra, m));
    return bin_layout(&m->pieces, size);
}

enum status binary_merged_size(const struct binary *const *parts, uint32_t n, const struct binary_extra *extra,
                               uint64_t *ret)
{
    struct merge m = {};
    enum status st = merge_sized(parts, n, extra, &m, ret);
    merge_finish(&m);
    return st;
}

enum status binary_merge(const struct binary *const *parts, uint32_t n, const struct binary_extra *extra,
                         struct binary_image *ret)
{
    struct merge m = {};
    uint64_t size;
    enum status st = merge_sized(parts, n, extra, &m, &size);
    if (st == ST_OK)
        st = bin_image_build(&m.pieces, size, ret);
    if (st == ST_OK) {
        bin_share_fill(&m.share, &m.pieces, ret->data);
        bin_image_seal(&m.pieces, &parts[0]->target, m.n_graphs, ret);
    }
    merge_finish(&m);
    return st;
}
