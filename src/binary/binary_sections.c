/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a file apart, first half: header and section table. After bin_read_file every section is inside the file, does not
 * touch header and table, holds whole records and, constants excepted, has the right checksum. */
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "binary/binary_format.h"

static enum status check_header(const void *data, size_t size, struct bin_header *h)
{
    if (size < sizeof(*h) || memcmp(data, BIN_MAGIC, 4) != 0)
        return bin_foreign(data, size);
    memcpy(h, data, sizeof(*h));
    RETURN_IF(h->version > BINARY_VERSION, ST_BINARY_VERSION,
              "context binary: format version %u, made by a newer openqnn; this one reads version %d at most: update it, or "
              "prepare the model again with it",
              h->version, BINARY_VERSION);
    RETURN_IF(h->version < BINARY_OLDEST, ST_BINARY_VERSION,
              "context binary: format version %u, made by an older openqnn; this one reads version %d at least: prepare the "
              "model again",
              h->version, BINARY_OLDEST);
    RETURN_IF(h->size > size, ST_BAD_BINARY, "context binary: cut off: it has %" PRIu64 " bytes and %zu are given", h->size,
              size);
    RETURN_IF(h->header_bytes != sizeof(*h), ST_BAD_BINARY, "context binary: a header of %u bytes; %zu are expected",
              h->header_bytes, sizeof(*h));
    RETURN_IF(h->n_sections > BIN_MAX_SECTIONS || h->n_sections > (h->size - sizeof(*h)) / sizeof(struct bin_section),
              ST_BAD_BINARY, "context binary: %u sections do not fit a file of %" PRIu64 " bytes", h->n_sections, h->size);
    RETURN_IF(h->n_graphs == 0 || h->n_graphs > BINARY_MAX_GRAPHS || h->n_graphs > h->n_sections, ST_BAD_BINARY,
              "context binary: %u graphs in %u sections; 1 … %d graphs are expected", h->n_graphs, h->n_sections,
              BINARY_MAX_GRAPHS);
    RETURN_IF(!memchr(h->build_id, 0, sizeof(h->build_id)), ST_BAD_BINARY, "context binary: the build id has no end");
    return ST_OK;
}

static enum status check_table(const void *data, const struct bin_header *h)
{
    struct bin_header zero = *h;
    zero.crc = 0;
    uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)&zero, sizeof(zero));
    crc = (uint32_t)crc32_z(crc, (const Bytef *)data + sizeof(zero), h->n_sections * sizeof(struct bin_section));
    RETURN_IF(crc != h->crc, ST_BAD_BINARY,
              "context binary: header or section table is damaged: checksum %08x, expected %08x", crc, h->crc);
    return ST_OK;
}

static enum status check_section(const struct bin_file *f, uint32_t i)
{
    const struct bin_section *s = &f->sections[i];
    const char *name = bin_section_name(s->kind);
    uint64_t start = sizeof(f->header) + f->header.n_sections * sizeof(*s);
    uint64_t align = s->kind == SEC_CONSTANTS ? BIN_CONST_ALIGN : BIN_ALIGN;
    RETURN_IF(s->offset < start || s->offset > f->size || s->size > f->size - s->offset, ST_BAD_BINARY,
              "context binary: section %u (%s) has %" PRIu64 " bytes at offset %" PRIu64 "; the file has %" PRIu64 " bytes",
              i, name, s->size, s->offset, f->size);
    RETURN_IF(s->offset % align, ST_BAD_BINARY,
              "context binary: section %u (%s) is at offset %" PRIu64 "; a multiple of %" PRIu64 " is expected", i, name,
              s->offset, align);
    RETURN_IF(s->size % bin_record_size(s->kind) || s->size / bin_record_size(s->kind) >= BINARY_NONE
                  ? s->kind != SEC_CONSTANTS
                  : 0,
              ST_BAD_BINARY, "context binary: section %u (%s) has %" PRIu64 " bytes; whole records of %u bytes are expected",
              i, name, s->size, bin_record_size(s->kind));
    if (s->kind == SEC_CONSTANTS)
        return ST_OK;
    uint32_t crc = bin_crc(f->data + s->offset, s->size);
    RETURN_IF(crc != s->crc, ST_BAD_BINARY, "context binary: section %u (%s) is damaged: checksum %08x, expected %08x", i,
              name, crc, s->crc);
    return ST_OK;
}

enum status bin_check_head(const void *data, size_t size, struct bin_header *ret)
{
    TRY(check_header(data, size, ret));
    return check_table(data, ret);
}

enum status bin_read_file(const void *data, size_t size, struct arena *a, struct bin_file *ret)
{
    struct bin_file f = { .data = data };
    TRY(bin_check_head(data, size, &f.header));
    f.size = f.header.size;
    /* A copy: the table is used more than once, and the client's buffer may have any alignment. */
    f.sections = arena_dup(a, f.data + sizeof(f.header), f.header.n_sections * sizeof(struct bin_section));
    RETURN_IF(!f.sections, ST_NO_MEMORY, "context binary: no memory for %u sections", f.header.n_sections);
    /* Sections must not be the same bytes again and again: reading would cost more than the file's size. */
    uint64_t total = 0;
    for (uint32_t i = 0; i < f.header.n_sections; i++) {
        total += f.sections[i].size;
        RETURN_IF(f.sections[i].size > f.size || total > f.size, ST_BAD_BINARY,
                  "context binary: its sections have more bytes than the file (%" PRIu64 ")", f.size);
        TRY(check_section(&f, i));
    }
    *ret = f;
    return ST_OK;
}
