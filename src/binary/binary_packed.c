/* SPDX-License-Identifier: Apache-2.0 */
/* Files whose constants take fewer bytes than in memory, and back. Such a file has, in place of a constant section, one of
 * packed constants with the same number; everything else is as it was. Whoever reads a file gets the plain one: unpacked
 * where it is wanted (binary_unpack), or by binary_open into memory of its own. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "binary/binary_format.h"

enum {
    LEAST_SAVED = 64, /* bytes; else a constant stays plain */
    MOST_TIMES = 64   /* no constant has more bytes than so many times what is stored */
};

/* ---- packing ---------------------------------------------------------------------------------------------------------- */

/* A constant that its tensor wants stored otherwise. */
struct wanted {
    uint64_t offset, bytes, stored;
    uint8_t storage;
};

struct packing {
    const struct binary *b;
    const struct bin_section *sections; /* of the plain file */
    uint32_t n_sections;
    struct arena arena;
    struct bin_pieces pieces;
    bool saved;
};

static int by_offset(const void *a, const void *b)
{
    const struct wanted *l = a;
    const struct wanted *r = b;

    if (l->offset != r->offset)
        return l->offset < r->offset ? -1 : 1;
    return (l->storage < r->storage) - (l->storage > r->storage); /* what saves more first */
}

static bool wants(const struct binary_tensor *t)
{
    return t->place == PLACE_CONST && t->storage != STORE_PLAIN && t->bytes > LEAST_SAVED;
}

/* Constants of one section that are to be packed and get smaller by it, each once, in the order of their offsets. */
static enum status list_wanted(struct packing *p, const uint8_t *constants, struct wanted **ret, uint32_t *ret_n)
{
    uint64_t most = 0;
    uint32_t n = 0, kept = 0;

    for (uint32_t g = 0; g < p->b->n_graphs; g++)
        most += p->b->graphs[g].constants == constants ? p->b->graphs[g].n_tensors : 0;
    struct wanted *list = arena_array(&p->arena, struct wanted, most + 1);
    RETURN_IF(!list, ST_NO_MEMORY, "context binary: no memory to pack constants of %" PRIu64 " tensors", most);

    for (uint32_t g = 0; g < p->b->n_graphs; g++) {
        const struct binary_graph *graph = &p->b->graphs[g];
        for (uint32_t i = 0; graph->constants == constants && i < graph->n_tensors; i++)
            if (wants(&graph->tensors[i]))
                list[n++] = (struct wanted){ .offset = graph->tensors[i].offset,
                                             .bytes = graph->tensors[i].bytes,
                                             .storage = graph->tensors[i].storage };
    }
    qsort(list, n, sizeof *list, by_offset);
    for (uint32_t i = 0; i < n; i++) {
        struct wanted w = list[i];
        if (kept && w.offset < list[kept - 1].offset + list[kept - 1].bytes)
            continue; /* another graph's, the same */
        w.stored = binary_stored_bytes(w.storage, constants + w.offset, w.bytes);
        if (w.stored + LEAST_SAVED <= w.bytes)
            list[kept++] = w;
    }
    *ret = list;
    *ret_n = kept;
    return ST_OK;
}

/* Entries for what is packed, and one for all that is plain between two of them. */
static uint32_t make_entries(const struct wanted *list, uint32_t n, uint64_t all, struct bin_packed_entry *ret)
{
    uint64_t done = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i <= n; i++) {
        uint64_t next = i < n ? list[i].offset : all;
        if (next > done)
            ret[count++] = (struct bin_packed_entry){ .offset = done, .bytes = next - done, .stored = next - done };
        if (i == n)
            break;
        ret[count++] = (struct bin_packed_entry){
            .offset = next, .bytes = list[i].bytes, .stored = list[i].stored, .storage = list[i].storage
        };
        done = next + list[i].bytes;
    }
    return count;
}

static enum status add_packed(struct packing *p, const struct bin_section *s)
{
    const uint8_t *constants = (const uint8_t *)p->b->map + s->offset;
    struct bin_piece piece = { .kind = SEC_PACKED, .index = s->index, .link = s->link };
    struct wanted *list;
    uint32_t n;

    TRY(list_wanted(p, constants, &list, &n));
    if (!n)
        return bin_add(&p->pieces, (struct bin_piece){ .kind = s->kind,
                                                       .index = s->index,
                                                       .link = s->link,
                                                       .data = constants,
                                                       .size = s->size,
                                                       .crc = s->crc,
                                                       .has_crc = true });

    p->saved = true;
    struct bin_packed_entry *entries = arena_array(&p->arena, struct bin_packed_entry, 2 * (size_t)n + 1);
    RETURN_IF(!entries, ST_NO_MEMORY, "context binary: no memory for %u packed constants", n);
    struct bin_packed head = { .bytes = s->size, .crc = s->crc, .n = make_entries(list, n, s->size, entries) };
    piece.size = sizeof head + head.n * sizeof *entries;
    for (uint32_t i = 0; i < head.n; i++) {
        entries[i].at = piece.size;
        piece.size += entries[i].stored;
    }

    uint8_t *data = arena_alloc(&p->arena, piece.size);
    RETURN_IF(!data, ST_NO_MEMORY, "context binary: no memory for %" PRIu64 " bytes of packed constants", piece.size);
    memcpy(data, &head, sizeof head);
    memcpy(data + sizeof head, entries, head.n * sizeof *entries);
    for (uint32_t i = 0; i < head.n; i++) {
        const struct bin_packed_entry *e = &entries[i];
        if (e->storage == STORE_PLAIN)
            memcpy(data + e->at, constants + e->offset, e->bytes);
        else
            bin_encode(e->storage, constants + e->offset, e->bytes, data + e->at);
    }
    piece.data = data;
    return bin_add(&p->pieces, piece);
}

static enum status pack_all(struct packing *p, struct binary_image *ret)
{
    uint64_t size;

    for (uint32_t i = 0; i < p->n_sections; i++) {
        const struct bin_section *s = &p->sections[i];
        if (s->kind == SEC_CONSTANTS)
            TRY(add_packed(p, s));
        else
            TRY(bin_add(&p->pieces, (struct bin_piece){ .kind = s->kind,
                                                        .index = s->index,
                                                        .link = s->link,
                                                        .crc = s->crc,
                                                        .has_crc = true,
                                                        .size = s->size,
                                                        .data = (const uint8_t *)p->b->map + s->offset }));
    }
    if (!p->saved)
        return ST_OK;
    TRY(bin_layout(&p->pieces, &size));
    TRY(bin_image_build(&p->pieces, size, ret));
    bin_image_seal(&p->pieces, &p->b->target, p->b->n_graphs, ret);
    return ST_OK;
}

enum status binary_pack(const void *data, size_t size, struct binary_image *ret)
{
    struct packing p = { .b = NULL };
    struct bin_file file;
    struct binary b;

    *ret = (struct binary_image){ .data = NULL };
    TRY(binary_open(data, size, &b));
    arena_init(&p.arena);
    p.b = &b;
    enum status st = bin_read_file(b.map, b.size, &p.arena, &file);
    if (st == ST_OK) {
        p.sections = file.sections;
        p.n_sections = file.header.n_sections;
        st = pack_all(&p, ret);
    }
    vec_finish(&p.pieces);
    arena_finish(&p.arena);
    binary_close(&b);
    return st;
}

/* ---- unpacking -------------------------------------------------------------------------------------------------------- */

bool bin_is_packed(const struct bin_file *f)
{
    for (uint32_t i = 0; i < f->header.n_sections; i++)
        if (f->sections[i].kind == SEC_PACKED)
            return true;
    return false;
}

static struct bin_packed_entry entry_at(const uint8_t *section, uint32_t i)
{
    struct bin_packed_entry e;

    memcpy(&e, section + sizeof(struct bin_packed) + (size_t)i * sizeof e, sizeof e);
    return e;
}

/* Entries are in order, in the section, and not much larger than what is stored of them. */
static enum status check_packed(const uint8_t *data, const struct bin_section *s, struct bin_packed *ret)
{
    uint64_t done = 0, at;

    RETURN_IF(s->size < sizeof *ret, ST_BAD_BINARY, "context binary: packed constants of %" PRIu64 " bytes have no head",
              s->size);
    memcpy(ret, data, sizeof *ret);
    RETURN_IF(ret->n > (s->size - sizeof *ret) / sizeof(struct bin_packed_entry), ST_BAD_BINARY,
              "context binary: %u packed constants in %" PRIu64 " bytes", ret->n, s->size);
    at = sizeof *ret + ret->n * sizeof(struct bin_packed_entry);
    for (uint32_t i = 0; i < ret->n; i++) {
        struct bin_packed_entry e = entry_at(data, i);
        bool there = e.offset == done && e.at == at && e.stored <= s->size - at;
        bool right = e.bytes && e.stored && e.bytes / MOST_TIMES <= e.stored && e.storage < STORE_COUNT;
        RETURN_IF(!there || !right, ST_BAD_BINARY,
                  "context binary: packed constant %u has %" PRIu64 " bytes, %" PRIu64 " at %" PRIu64 " of %" PRIu64, i,
                  e.bytes, e.stored, e.at, s->size);
        done += e.bytes;
        at += e.stored;
    }
    RETURN_IF(done != ret->bytes, ST_BAD_BINARY, "context binary: packed constants of %" PRIu64 " bytes have %" PRIu64,
              ret->bytes, done);
    return ST_OK;
}

/* The sections of the plain file, without the contents of constants. */
static enum status list_plain(const struct bin_file *f, struct bin_pieces *p)
{
    struct bin_packed head;

    for (uint32_t i = 0; i < f->header.n_sections; i++) {
        const struct bin_section *s = &f->sections[i];
        struct bin_piece piece = { .kind = s->kind,
                                   .index = s->index,
                                   .link = s->link,
                                   .crc = s->crc,
                                   .has_crc = true,
                                   .size = s->size,
                                   .data = f->data + s->offset };
        if (s->kind == SEC_PACKED) {
            TRY(check_packed(f->data + s->offset, s, &head));
            piece.kind = SEC_CONSTANTS;
            piece.data = NULL;
            piece.size = head.bytes;
            piece.crc = head.crc;
        }
        TRY(bin_add(p, piece));
    }
    return ST_OK;
}

static enum status open_packed(const void *data, size_t size, struct arena *a, struct bin_file *f, struct bin_pieces *p,
                               uint64_t *ret_size)
{
    *ret_size = 0;
    TRY(bin_read_file(data, size, a, f));
    if (!bin_is_packed(f))
        return ST_OK;
    TRY(list_plain(f, p));
    return bin_layout(p, ret_size);
}

/* By the section table alone, unchecked: plain files, which are most, are not read twice. */
static bool may_be_packed(const void *data, size_t size)
{
    struct bin_header h;
    struct bin_section s;

    if (size < sizeof h || memcmp(data, BIN_MAGIC, 4) != 0)
        return false;
    memcpy(&h, data, sizeof h);
    uint64_t most = (size - sizeof h) / sizeof s;
    for (uint64_t i = 0; i < h.n_sections && i < most; i++) {
        memcpy(&s, (const uint8_t *)data + sizeof h + i * sizeof s, sizeof s);
        if (s.kind == SEC_PACKED)
            return true;
    }
    return false;
}

uint64_t binary_unpacked_size(const void *data, size_t size)
{
    struct bin_pieces pieces = { 0 };
    CLEANUP(arena_finish) struct arena a;
    struct bin_file file;
    uint64_t plain = 0;

    arena_init(&a);
    if (may_be_packed(data, size) && open_packed(data, size, &a, &file, &pieces, &plain) != ST_OK)
        plain = 0;
    vec_finish(&pieces);
    return plain;
}

static enum status unpack_section(const uint8_t *data, uint32_t n, uint8_t *dst)
{
    for (uint32_t i = 0; i < n; i++) {
        struct bin_packed_entry e = entry_at(data, i);
        TRY(bin_decode(e.storage, data + e.at, e.stored, dst + e.offset, e.bytes));
    }
    return ST_OK;
}

static enum status unpack_all(const struct bin_file *f, const struct bin_pieces *p, void *dst, uint64_t size)
{
    struct binary_target target = { .backend_id = f->header.backend_id,
                                    .soc_model = f->header.soc_model,
                                    .arch = f->header.arch };
    struct binary_image image = { .data = dst, .size = size };
    struct bin_packed head;

    memcpy(target.core_version, f->header.core_version, sizeof target.core_version);
    memcpy(target.backend_version, f->header.backend_version, sizeof target.backend_version);
    memcpy(target.build_id, f->header.build_id, sizeof target.build_id);
    memset(dst, 0, size);
    for (size_t i = 0; i < p->n; i++) {
        uint8_t *to = (uint8_t *)dst + p->at[i].offset;
        const uint8_t *from = f->data + f->sections[i].offset;
        if (p->at[i].data) {
            memcpy(to, from, p->at[i].size);
            continue;
        }
        memcpy(&head, from, sizeof head);
        TRY(unpack_section(from, head.n, to));
    }
    bin_image_seal(p, &target, f->header.n_graphs, &image);
    return ST_OK;
}

enum status binary_unpack(const void *data, size_t size, void *dst, uint64_t dst_bytes)
{
    struct bin_pieces pieces = { 0 };
    CLEANUP(arena_finish) struct arena a;
    struct bin_file file;
    uint64_t plain;

    arena_init(&a);
    enum status st = open_packed(data, size, &a, &file, &pieces, &plain);
    if (st == ST_OK && (!plain || plain != dst_bytes))
        st = status_fail(ST_INTERNAL, "context binary: %" PRIu64 " bytes for a plain file of %" PRIu64, dst_bytes, plain);
    if (st == ST_OK)
        st = unpack_all(&file, &pieces, dst, plain);
    vec_finish(&pieces);
    return st;
}
