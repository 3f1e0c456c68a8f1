/* SPDX-License-Identifier: Apache-2.0 */
/* Updates: what a graph became when tensors of it got new values, for those who have the file it was before. An update holds
 * the new file of each graph but for the constants that are in the old one, too:
 *
 *     new file:  header tables | weights  adapter'  more weights      update:  header tables | adapter' | holes: what of
 *     old file:  header tables | weights  adapter   more weights               the old constants goes where
 *
 * Constants are found by their size and crc32, so the two files may have them at different places. Whatever comes of it goes
 * through binary_open like any other file. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "binary/binary_format.h"

#define UPDATE_MAGIC "OQNU"
enum { UPDATE_VERSION = 1, LEAST_HOLE = 64, LEAST_IMAGE = sizeof(struct bin_header) };

struct update_header {
    char magic[4];
    uint32_t version;
    uint64_t size;
    uint32_t crc; /* of the file with this field 0 */
    uint32_t n_parts;
    uint32_t backend_id, reserved;
};

/* A graph; positions in the update. */
struct update_part {
    uint64_t name, holes, data, data_bytes, image_bytes;
    uint32_t n_holes, reserved;
};

struct update_hole {
    uint64_t offset, bytes; /* in the new file */
    uint32_t crc, reserved;
};

static_assert(sizeof(struct update_header) == 32, "docs/binary-format.md");
static_assert(sizeof(struct update_part) == 48, "docs/binary-format.md");
static_assert(sizeof(struct update_hole) == 24, "docs/binary-format.md");

static enum status no_memory(void)
{
    return status_fail(ST_NO_MEMORY, "binary update: no memory");
}

/* ---- constants by contents -------------------------------------------------------------------------------------------- */

static int by_contents(const void *a, const void *b)
{
    const struct binary_constant *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->crc > y->crc) - (x->crc < y->crc);
}

/* Leaves out those that size and crc32 do not tell apart from others with other bytes: an update has them itself. */
static size_t keep_clear(struct binary_constant *at, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < n; i = end) {
        bool clear = true;
        for (end = i + 1; end < n && by_contents(&at[i], &at[end]) == 0; end++)
            clear = clear && memcmp(at[i].data, at[end].data, at[i].bytes) == 0;
        for (size_t k = i; clear && k < end; k++)
            at[kept++] = at[k];
    }
    return kept;
}

enum status binary_list_constants(const struct binary_graph *g, struct binary_constants *ret)
{
    struct binary_constant *at = mem_array(struct binary_constant, g->n_tensors);
    size_t n = 0;
    if (!at)
        return no_memory();
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const struct binary_tensor *t = &g->tensors[i];
        const uint8_t *data = g->constants + t->offset;
        if (t->place == PLACE_CONST && t->bytes >= LEAST_HOLE)
            at[n++] = (struct binary_constant){ t->bytes, data, bin_crc(data, t->bytes) };
    }
    qsort(at, n, sizeof(*at), by_contents);
    *ret = (struct binary_constants){ .at = at, .n = keep_clear(at, n), .bytes = g->constant_bytes };
    return ST_OK;
}

void binary_constants_finish(struct binary_constants *c)
{
    mem_free(c->at);
    *c = (struct binary_constants){ 0 };
}

static const struct binary_constant *find(const struct binary_constants *c, uint64_t bytes, uint32_t crc)
{
    struct binary_constant want = { .bytes = bytes, .crc = crc };
    return c->n ? bsearch(&want, c->at, c->n, sizeof(want), by_contents) : NULL;
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

static int by_offset(const void *a, const void *b)
{
    const struct update_hole *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Constants that the graph must find in the old file: those that are there and that no update touches. */
static enum status list_holes(const struct binary *b, const struct binary_constants *base, struct update_hole **ret,
                              struct update_part *part)
{
    const struct binary_graph *g = &b->graphs[0];
    const uint64_t start = g->constants ? (uint64_t)(g->constants - (const uint8_t *)b->map) : 0;
    struct update_hole *at = mem_array(struct update_hole, g->n_tensors);
    uint32_t n = 0, kept = 0;
    uint64_t end = 0, sum = 0;
    if (!at)
        return no_memory();
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const struct binary_tensor *t = &g->tensors[i];
        if (t->place == PLACE_CONST && t->bytes >= LEAST_HOLE && !t->updateable)
            at[n++] = (struct update_hole){ .offset = start + t->offset, .bytes = t->bytes };
    }
    qsort(at, n, sizeof(*at), by_offset);
    for (uint32_t i = 0; i < n; i++) {
        struct update_hole h = at[i];
        if (h.offset < end || h.bytes > base->bytes - sum) /* another tensor has it already */
            continue;
        h.crc = bin_crc((const uint8_t *)b->map + h.offset, h.bytes);
        if (!find(base, h.bytes, h.crc))
            continue;
        end = h.offset + h.bytes;
        sum += h.bytes;
        at[kept++] = h;
    }
    *part = (struct update_part){ .n_holes = kept, .image_bytes = b->size, .data_bytes = b->size - sum };
    *ret = at;
    return ST_OK;
}

struct writer {
    const struct binary *const *parts;
    struct update_part *at;
    struct update_hole **holes;
    uint32_t n;
    uint64_t size;
};

static void writer_finish(struct writer *w)
{
    for (uint32_t i = 0; w->holes && i < w->n; i++)
        mem_free(w->holes[i]);
    mem_free(w->holes);
    mem_free(w->at);
}

static uint64_t take(struct writer *w, uint64_t bytes)
{
    uint64_t at = w->size;
    w->size += (bytes + 7) & ~(uint64_t)7;
    return at;
}

static enum status lay_out(struct writer *w, const struct binary_constants *const *base)
{
    w->at = mem_array(struct update_part, w->n);
    w->holes = mem_array(struct update_hole *, w->n);
    if (!w->at || !w->holes)
        return no_memory();
    w->size = sizeof(struct update_header) + w->n * sizeof(struct update_part);
    for (uint32_t i = 0; i < w->n; i++) {
        struct update_part *p = &w->at[i];
        TRY(list_holes(w->parts[i], base[i], &w->holes[i], p));
        p->name = take(w, strlen(w->parts[i]->graphs[0].info.name) + 1);
        p->holes = take(w, p->n_holes * sizeof(struct update_hole));
        p->data = take(w, p->data_bytes);
    }
    return ST_OK;
}

static void fill_part(const struct writer *w, uint32_t i, uint8_t *file)
{
    const struct update_part *p = &w->at[i];
    const uint8_t *from = w->parts[i]->map;
    const char *name = w->parts[i]->graphs[0].info.name;
    uint64_t at = 0, to = p->data;
    memcpy(file + p->name, name, strlen(name) + 1);
    memcpy(file + p->holes, w->holes[i], p->n_holes * sizeof(struct update_hole));
    for (uint32_t k = 0; k <= p->n_holes; k++) {
        uint64_t next = k < p->n_holes ? w->holes[i][k].offset : p->image_bytes;
        memcpy(file + to, from + at, next - at);
        to += next - at;
        at = k < p->n_holes ? next + w->holes[i][k].bytes : next;
    }
}

static enum status build(const struct writer *w, struct binary_image *ret)
{
    uint8_t *file = mem_alloc_aligned(BIN_ALIGN, w->size);
    if (!file)
        return no_memory();
    struct update_header h = { .magic = UPDATE_MAGIC,
                               .version = UPDATE_VERSION,
                               .size = w->size,
                               .n_parts = w->n,
                               .backend_id = w->parts[0]->target.backend_id };
    memcpy(file, &h, sizeof(h));
    memcpy(file + sizeof(h), w->at, w->n * sizeof(*w->at));
    for (uint32_t i = 0; i < w->n; i++)
        fill_part(w, i, file);
    h.crc = bin_crc(file, w->size);
    memcpy(file, &h, sizeof(h));
    *ret = (struct binary_image){ file, w->size };
    return ST_OK;
}

enum status binary_update_write(const struct binary *const *parts, const struct binary_constants *const *base, uint32_t n,
                                struct binary_image *ret)
{
    struct writer w = { .parts = parts, .n = n };
    enum status st = lay_out(&w, base);
    if (st == ST_OK)
        st = build(&w, ret);
    writer_finish(&w);
    return st;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

static bool inside(const struct binary_update *u, uint64_t at, uint64_t bytes)
{
    return at <= u->size && bytes <= u->size - at;
}

static struct update_part part_at(const struct binary_update *u, uint32_t i)
{
    struct update_part p;
    memcpy(&p, u->data + sizeof(struct update_header) + i * sizeof(p), sizeof(p));
    return p;
}

static struct update_hole hole_at(const struct binary_update *u, const struct update_part *p, uint32_t i)
{
    struct update_hole h;
    memcpy(&h, u->data + p->holes + i * sizeof(h), sizeof(h));
    return h;
}

static enum status check_part(const struct binary_update *u, uint32_t i)
{
    struct update_part p = part_at(u, i);
    uint64_t at = 0, sum = 0;
    RETURN_IF(p.name >= u->size || !memchr(u->data + p.name, 0, u->size - p.name) || !inside(u, p.data, p.data_bytes) ||
                  !inside(u, p.holes, (uint64_t)p.n_holes * sizeof(struct update_hole)),
              ST_BAD_BINARY, "binary update: part %u reaches beyond the file", i);
    for (uint32_t k = 0; k < p.n_holes; k++) {
        struct update_hole h = hole_at(u, &p, k);
        RETURN_IF(h.offset < at || h.offset > p.image_bytes || h.bytes > p.image_bytes - h.offset, ST_BAD_BINARY,
                  "binary update: hole %u of part %u is not in order", k, i);
        at = h.offset + h.bytes;
        sum += h.bytes;
    }
    RETURN_IF(p.image_bytes < LEAST_IMAGE || p.image_bytes - sum != p.data_bytes, ST_BAD_BINARY,
              "binary update: part %u has %llu bytes for a file of %llu with holes of %llu", i,
              (unsigned long long)p.data_bytes, (unsigned long long)p.image_bytes, (unsigned long long)sum);
    return ST_OK;
}

static enum status check_sum(const struct binary_update *u)
{
    struct update_header h;
    memcpy(&h, u->data, sizeof(h));

    uint32_t crc = h.crc;
    h.crc = 0;
    uint32_t got = binary_crc(binary_crc(0, &h, sizeof(h)), u->data + sizeof(h), u->size - sizeof(h));
    RETURN_IF(got != crc, ST_BAD_BINARY, "binary section: its checksum is %08x, the header says %08x; it is damaged", got,
              crc);
    return ST_OK;
}

static enum status open_update(const void *data, size_t size, bool summed, struct binary_update *ret)
{
    struct binary_update u = { .data = data, .size = size };
    struct update_header h;
    RETURN_IF(size >= 4 && !memcmp(data, BIN_MAGIC, 4), ST_BAD_BINARY,
              "this is a whole context binary, not a section of one; load it with QnnContext_createFromBinary");
    RETURN_IF(size < sizeof(h) || memcmp(data, UPDATE_MAGIC, 4) != 0, ST_BAD_BINARY,
              "%zu bytes that are no binary section; give what QnnContext_getBinarySection wrote", size);
    memcpy(&h, data, sizeof(h));
    RETURN_IF(h.version != UPDATE_VERSION, ST_BINARY_VERSION, "binary section of version %u; %d is known", h.version,
              UPDATE_VERSION);
    RETURN_IF(h.size > size || h.size < sizeof(h), ST_BAD_BINARY, "binary section of %llu bytes, of which %zu are there",
              (unsigned long long)h.size, size);
    u.size = h.size;
    if (summed)
        TRY(check_sum(&u));
    RETURN_IF(!h.n_parts || !inside(&u, sizeof(h), (uint64_t)h.n_parts * sizeof(struct update_part)), ST_BAD_BINARY,
              "binary section of %u graphs in %llu bytes", h.n_parts, (unsigned long long)u.size);
    u.n_parts = h.n_parts;
    u.backend_id = h.backend_id;
    for (uint32_t i = 0; i < u.n_parts; i++)
        TRY(check_part(&u, i));
    *ret = u;
    return ST_OK;
}

enum status binary_update_open(const void *data, size_t size, struct binary_update *ret)
{
    return open_update(data, size, true, ret);
}

enum status binary_update_open_unsummed(const void *data, size_t size, struct binary_update *ret)
{
    return open_update(data, size, false, ret);
}

const char *binary_update_name(const struct binary_update *u, uint32_t part)
{
    return (const char *)u->data + part_at(u, part).name;
}

/* Every hole with what belongs there. */
static enum status find_all(const struct binary_update *u, const struct update_part *p, const struct binary_constants *base,
                            const char *graph)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->n_holes; i++) {
        struct update_hole h = hole_at(u, p, i);
        RETURN_IF(h.bytes > base->bytes - sum || !find(base, h.bytes, h.crc), ST_BINARY_CONFIG,
                  "the section was made for another graph than \"%s\" of this context: a constant of %llu bytes is not here",
                  graph, (unsigned long long)h.bytes);
        sum += h.bytes;
    }
    return ST_OK;
}

static void put_together(const struct binary_update *u, const struct update_part *p, const struct binary_constants *base,
                         uint8_t *to)
{
    const uint8_t *from = u->data + p->data;
    uint64_t at = 0;
    for (uint32_t i = 0; i <= p->n_holes; i++) {
        struct update_hole h = i < p->n_holes ? hole_at(u, p, i) : (struct update_hole){ .offset = p->image_bytes };
        memcpy(to + at, from, h.offset - at);
        from += h.offset - at;
        at = h.offset + h.bytes;
        if (h.bytes)
            memcpy(to + h.offset, find(base, h.bytes, h.crc)->data, h.bytes);
    }
}

enum status binary_update_build(const struct binary_update *u, uint32_t part, const struct binary_constants *base,
                                struct binary_image *ret)
{
    struct update_part p = part_at(u, part);
    TRY(find_all(u, &p, base, binary_update_name(u, part)));
    uint8_t *to = mem_alloc_pages(p.image_bytes);
    if (!to)
        return no_memory();
    put_together(u, &p, base, to);
    *ret = (struct binary_image){ to, p.image_bytes };
    return ST_OK;
}
