/* SPDX-License-Identifier: Apache-2.0 */
/* Putting sections into one file: offsets, checksums, header. Shared by the writer and by merging. */
#include <string.h>

#include "base/mem.h"
#include "binary/binary_format.h"

static const struct {
    const char *name;
    uint32_t size;
} kinds[SEC_COUNT] = {
#define BIN_ROW(name, number, text, size) [number] = { text, size },
    BIN_SECTIONS(BIN_ROW)
#undef BIN_ROW
};

const char *bin_section_name(uint32_t kind)
{
    return kind < SEC_COUNT && kinds[kind].name ? kinds[kind].name : "unknown";
}

uint32_t bin_record_size(uint32_t kind)
{
    return kind < SEC_COUNT && kinds[kind].size ? kinds[kind].size : 1;
}

enum status bin_add(struct bin_pieces *p, struct bin_piece piece)
{
    struct bin_piece *slot = vec_push(p);
    RETURN_IF(!slot, ST_NO_MEMORY, "context binary: no memory for the list of sections");
    *slot = piece;
    return ST_OK;
}

static bool align_up(uint64_t *at, uint64_t align)
{
    if (*at > UINT64_MAX - align)
        return false;
    *at = (*at + align - 1) & ~(align - 1);
    return true;
}

enum status bin_layout(struct bin_pieces *p, uint64_t *ret_size)
{
    RETURN_IF(p->n > BIN_MAX_SECTIONS, ST_INVALID_ARG, "context binary: %zu sections; at most %d fit one file", p->n,
              BIN_MAX_SECTIONS);
    uint64_t at = sizeof(struct bin_header) + p->n * sizeof(struct bin_section);
    for (size_t i = 0; i < p->n; i++) {
        struct bin_piece *piece = &p->at[i];
        bool fits = align_up(&at, piece->kind == SEC_CONSTANTS ? BIN_CONST_ALIGN : BIN_ALIGN);
        RETURN_IF(!fits || __builtin_add_overflow(at, piece->size, &piece->offset), ST_INVALID_ARG,
                  "context binary: its sections are larger than 2^64 bytes together");
        piece->offset = at;
        at += piece->size;
    }
    RETURN_IF(at > SIZE_MAX / 2, ST_NO_MEMORY, "context binary: %llu bytes do not fit the address space",
              (unsigned long long)at);
    *ret_size = at;
    return ST_OK;
}

enum status bin_image_build(const struct bin_pieces *p, uint64_t size, struct binary_image *ret)
{
    uint8_t *data = mem_alloc_aligned(BIN_CONST_ALIGN, size);
    RETURN_IF(!data, ST_NO_MEMORY, "context binary: no memory for a file of %llu bytes", (unsigned long long)size);
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].data && p->at[i].size)
            memcpy(data + p->at[i].offset, p->at[i].data, p->at[i].size);
    *ret = (struct binary_image){ .data = data, .size = size };
    return ST_OK;
}

void bin_image_seal(const struct bin_pieces *p, const struct binary_target *t, uint32_t n_graphs, struct binary_image *im)
{
    uint8_t *data = im->data;
    struct bin_header h = {
        .magic = BIN_MAGIC,
        .version = BINARY_VERSION,
        .size = im->size,
        .n_sections = (uint32_t)p->n,
        .n_graphs = n_graphs,
        .header_bytes = sizeof(h),
        .backend_id = t->backend_id,
        .soc_model = t->soc_model,
        .arch = t->arch,
    };
    memcpy(h.core_version, t->core_version, sizeof(h.core_version));
    memcpy(h.backend_version, t->backend_version, sizeof(h.backend_version));
    memcpy(h.build_id, t->build_id, sizeof(h.build_id));
    h.build_id[sizeof(h.build_id) - 1] = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct bin_piece *piece = &p->at[i];
        struct bin_section s = { piece->kind, piece->index, piece->offset, piece->size, piece->crc, piece->link };
        if (!piece->has_crc)
            s.crc = bin_crc(data + piece->offset, piece->size);
        memcpy(data + sizeof(h) + i * sizeof(s), &s, sizeof(s));
    }
    memcpy(data, &h, sizeof(h));
    h.crc = bin_crc(data, sizeof(h) + p->n * sizeof(struct bin_section));
    memcpy(data, &h, sizeof(h));
}

void binary_image_free(struct binary_image *im)
{
    mem_free(im->data);
    *im = (struct binary_image){};
}
