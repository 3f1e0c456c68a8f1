/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a graph apart: tensors and the I/O table. Every string, encoding, place and range is checked here, once. */
#include <inttypes.h>
#include <string.h>

#include "binary/binary_format.h"

enum status bin_string(const struct bin_reader *r, uint32_t at, const char *what, const char **ret)
{
    /* The section ends with a terminator, so every position inside it starts a string. */
    RETURN_IF(at >= r->sec[SEC_STRINGS].size, ST_BAD_BINARY,
              "context binary, %s: the name of a %s is at %u; the names have %" PRIu64 " bytes", r->graph, what, at,
              r->sec[SEC_STRINGS].size);
    *ret = r->strings + at;
    return ST_OK;
}

enum status bin_value(const struct bin_reader *r, uint32_t at, uint64_t bytes, const void **ret)
{
    *ret = NULL;
    if (at == BINARY_NONE)
        return ST_OK;
    uint64_t start = (uint64_t)at * BIN_VALUE_ALIGN, size = r->sec[SEC_VALUES].size;
    RETURN_IF(start > size || bytes > size - start, ST_BAD_BINARY,
              "context binary, %s: %" PRIu64 " bytes of values at %" PRIu64 "; there are %" PRIu64, r->graph, bytes, start,
              size);
    *ret = r->values + start;
    return ST_OK;
}

static enum status read_quant(const struct bin_reader *r, const struct bin_tensor *rec, const char *name, struct quant *q)
{
    *q = (struct quant){
        .kind = rec->quant_kind,
        .definition = rec->quant_definition,
        .bits = rec->quant_bits,
        .mapping = rec->quant_mapping,
        .scale = rec->quant_scale,
        .offset = rec->quant_offset,
    };
    RETURN_IF(q->kind >= QUANT_KIND_COUNT, ST_BAD_BINARY, "context binary, tensor \"%s\": unknown kind of encoding %u", name,
              q->kind);
    if (q->kind == Q_NONE || q->kind == Q_TENSOR)
        return ST_OK;
    RETURN_IF(rec->quant >= r->sec[SEC_QUANTS].n, ST_BAD_BINARY, "context binary, tensor \"%s\": encoding %u; there are %u",
              name, rec->quant, r->sec[SEC_QUANTS].n);
    struct bin_quant b;
    memcpy(&b, r->sec[SEC_QUANTS].data + rec->quant * sizeof(b), sizeof(b));
    q->axis = b.axis;
    q->n = b.n;
    q->blocks_per_axis = b.blocks_per_axis;
    q->block_scale_bits = b.block_scale_bits;
    q->block_scale_storage = b.block_scale_storage;
    memcpy(q->block, b.block, sizeof(q->block));
    uint64_t n = b.n, block_bytes = b.block_scale_storage == 16 ? 2 : 1;
    TRY(bin_value(r, b.scales, n * sizeof(float), (const void **)&q->scales));
    TRY(bin_value(r, b.offsets, n * sizeof(int32_t), (const void **)&q->offsets));
    TRY(bin_value(r, b.float_offsets, n * sizeof(float), (const void **)&q->float_offsets));
    RETURN_IF(n && b.blocks_per_axis > UINT64_MAX / 2 / n, ST_BAD_BINARY, "context binary, tensor \"%s\": %u blocks", name,
              b.blocks_per_axis);
    return bin_value(r, b.block_scales, n * b.blocks_per_axis * block_bytes, &q->block_scales);
}

/* How many bytes each place has; the I/O table is checked on its own. */
static uint64_t place_size(const struct binary_graph *g, enum binary_place place)
{
    const uint64_t sizes[PLACE_COUNT] = {
        [PLACE_CONST] = g->constant_bytes,
        [PLACE_SCRATCH] = g->info.scratch_bytes,
        [PLACE_PERSISTENT] = g->info.persistent_bytes,
        [PLACE_IO] = UINT64_MAX,
        [PLACE_VTCM] = g->info.vtcm_used,
        [PLACE_SPILL] = g->info.spill_fill_bytes,
    };
    return sizes[place];
}

static enum status check_place(const struct bin_reader *r, const struct binary_tensor *t)
{
    RETURN_IF(t->place >= PLACE_COUNT, ST_BAD_BINARY, "context binary, tensor \"%s\": unknown place %u", t->name, t->place);
    RETURN_IF(t->io > IO_BOTH || (t->io && t->place != PLACE_IO), ST_BAD_BINARY,
              "context binary, tensor \"%s\": I/O kind %u in place %u", t->name, t->io, t->place);
    if (t->place == PLACE_NONE || t->place == PLACE_LINES) /* lines: see binary_chains.c */
        return ST_OK;
    uint64_t need = desc_bytes(&t->desc), size = place_size(r->g, t->place);
    RETURN_IF(t->bytes < need, ST_BAD_BINARY,
              "context binary, tensor \"%s\": %" PRIu64 " bytes of memory; its shape needs %" PRIu64, t->name, t->bytes,
              need);
    if (t->place == PLACE_IO)
        return ST_OK;
    RETURN_IF(t->offset > size || t->bytes > size - t->offset, ST_BAD_BINARY,
              "context binary, tensor \"%s\": %" PRIu64 " bytes at %" PRIu64 "; its place has %" PRIu64, t->name, t->bytes,
              t->offset, size);
    /* Constants also hold records that kernels read in place, whatever type their tensor has. */
    const unsigned align = t->place == PLACE_CONST ? BIN_ALIGN : dtype_bits(t->desc.type) / 8;
    RETURN_IF(align > 1 && t->offset % align, ST_BAD_BINARY,
              "context binary, tensor \"%s\": offset %" PRIu64 " is no multiple of %u", t->name, t->offset, align);
    return ST_OK;
}

static enum status read_tensor(const struct bin_reader *r, uint32_t i, struct binary_tensor *t)
{
    struct bin_tensor rec;
    memcpy(&rec, r->sec[SEC_TENSORS].data + (size_t)i * sizeof(rec), sizeof(rec));
    TRY(bin_string(r, rec.name, "tensor", &t->name));
    t->desc.type = rec.type;
    t->desc.rank = rec.rank;
    t->desc.dynamic = rec.dynamic;
    t->desc.format = rec.format;
    memcpy(t->desc.dims, rec.dims, sizeof(t->desc.dims));
    TRY(read_quant(r, &rec, t->name, &t->desc.q));
    TRY(desc_check(&t->desc, t->name));
    t->place = rec.place;
    t->io = rec.io;
    t->optional = rec.optional;
    t->updateable = rec.updateable;
    t->mem_handle = rec.mem_handle;
    t->storage = rec.storage < STORE_COUNT ? rec.storage : STORE_PLAIN;
    t->client_id = rec.client_id;
    t->client_type = rec.client_type;
    t->offset = rec.offset;
    t->bytes = rec.bytes;
    t->first = rec.first;
    t->last = rec.last;
    return check_place(r, t);
}

/* Entry k of the table names a tensor whose offset is k, inputs first; every I/O tensor is in the table. */
static enum status read_io(struct bin_reader *r, uint32_t first)
{
    struct binary_graph *g = r->g;
    uint64_t n = (uint64_t)g->info.n_inputs + g->info.n_outputs;
    RETURN_IF(n > g->n_tensors || first > r->sec[SEC_LISTS].n || n > r->sec[SEC_LISTS].n - first, ST_BAD_BINARY,
              "context binary, %s: %" PRIu64 " inputs and outputs; it has %u tensors", r->graph, n, g->n_tensors);
    g->n_io = (uint32_t)n;
    g->io = r->lists + first;
    for (uint32_t k = 0; k < g->n_io; k++) {
        RETURN_IF(g->io[k] >= g->n_tensors, ST_BAD_BINARY, "context binary, %s: I/O entry %u names tensor %u of %u",
                  r->graph, k, g->io[k], g->n_tensors);
        const struct binary_tensor *t = &g->tensors[g->io[k]];
        bool input = k < g->info.n_inputs;
        RETURN_IF(t->io == IO_NONE || (t->io == IO_OUTPUT) == input || t->offset != k, ST_BAD_BINARY,
                  "context binary, %s: I/O entry %u names tensor \"%s\", which is something else", r->graph, k, t->name);
    }
    return ST_OK;
}

static enum status check_io(const struct bin_reader *r)
{
    const struct binary_graph *g = r->g;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const struct binary_tensor *t = &g->tensors[i];
        n += t->io != IO_NONE;
        if (t->place != PLACE_IO)
            continue;
        RETURN_IF(t->offset >= g->n_io, ST_BAD_BINARY, "context binary, tensor \"%s\": I/O entry %" PRIu64 " of %u", t->name,
                  t->offset, g->n_io);
        /* The client brings the bytes of the I/O tensor, not more. */
        uint64_t have = desc_bytes(&g->tensors[g->io[t->offset]].desc);
        RETURN_IF(desc_bytes(&t->desc) > have, ST_BAD_BINARY,
                  "context binary, tensor \"%s\": it needs %" PRIu64 " bytes of an I/O buffer of %" PRIu64, t->name,
                  desc_bytes(&t->desc), have);
    }
    RETURN_IF(n != g->n_io, ST_BAD_BINARY, "context binary, %s: %u I/O tensors, %u in the table", r->graph, n, g->n_io);
    return ST_OK;
}

enum status bin_read_tensors(struct bin_reader *r)
{
    struct binary_graph *g = r->g;
    g->n_tensors = r->sec[SEC_TENSORS].n;
    struct binary_tensor *tensors = arena_array(r->arena, struct binary_tensor, g->n_tensors);
    RETURN_IF(!tensors, ST_NO_MEMORY, "context binary, %s: no memory for %u tensors", r->graph, g->n_tensors);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        TRY(read_tensor(r, i, &tensors[i]));
    g->tensors = tensors;
    struct bin_graph rec;
    memcpy(&rec, r->sec[SEC_GRAPH].data, sizeof(rec));
    TRY(read_io(r, rec.io_list));
    return check_io(r);
}
