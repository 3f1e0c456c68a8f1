/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of a file, for readers that bring them in and check them piece by piece: where they lie, and checksums
 * that go on where the last piece ended. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "binary/binary_format.h"

static int by_offset(const void *a, const void *b)
{
    uint64_t x = ((const struct binary_section *)a)->offset;
    uint64_t y = ((const struct binary_section *)b)->offset;

    return (x > y) - (x < y);
}

static uint32_t count_constants(const uint8_t *table, uint32_t n)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct bin_section s;
        memcpy(&s, table + (size_t)i * sizeof(s), sizeof(s));
        found += s.kind == SEC_CONSTANTS;
    }
    return found;
}

static enum status take_section(const uint8_t *table, uint32_t i, const struct bin_header *h, struct binary_sections *to)
{
    struct bin_section s;
    memcpy(&s, table + (size_t)i * sizeof(s), sizeof(s));
    if (s.kind != SEC_CONSTANTS)
        return ST_OK;

    RETURN_IF(s.offset > h->size || s.size > h->size - s.offset, ST_BAD_BINARY,
              "context binary: section %u (constants) has %" PRIu64 " bytes at offset %" PRIu64 "; the file has %" PRIu64
              " bytes",
              i, s.size, s.offset, h->size);
    to->at[to->n++] =
        (struct binary_section){ .offset = s.offset, .bytes = s.size, .crc = s.crc, .number = s.index };
    return ST_OK;
}

enum status binary_sections_read(const void *data, size_t size, struct binary_sections *ret)
{
    struct bin_header h;
    struct binary_sections found = { 0 };
    const uint8_t *table = (const uint8_t *)data + sizeof(h);

    TRY(bin_check_head(data, size, &h));
    found.file_bytes = h.size;
    found.table_bytes = sizeof(h) + (uint64_t)h.n_sections * sizeof(struct bin_section);
    found.at = mem_array(struct binary_section, count_constants(table, h.n_sections));
    RETURN_IF(!found.at, ST_NO_MEMORY, "context binary: no memory for %u sections", h.n_sections);

    enum status st = ST_OK;
    for (uint32_t i = 0; i < h.n_sections && st == ST_OK; i++)
        st = take_section(table, i, &h, &found);
    if (st != ST_OK) {
        binary_sections_finish(&found);
        return st;
    }

    qsort(found.at, found.n, sizeof(found.at[0]), by_offset);
    *ret = found;
    return ST_OK;
}

void binary_sections_finish(struct binary_sections *s)
{
    mem_free(s->at);
    *s = (struct binary_sections){ 0 };
}

uint32_t binary_crc_join(uint32_t first, uint32_t second, uint64_t second_bytes)
{
    return (uint32_t)crc32_combine(first, second, (z_off_t)second_bytes);
}

enum status binary_section_check(const struct binary_section *s, uint32_t crc)
{
    RETURN_IF(crc != s->crc, ST_BAD_BINARY,
              "context binary: constant section %u is damaged: checksum %08x, expected %08x; copy the file again or "
              "prepare the model again",
              s->number, crc, s->crc);
    return ST_OK;
}
