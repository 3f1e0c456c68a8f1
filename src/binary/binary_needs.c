/* SPDX-License-Identifier: Apache-2.0 */
/* What graphs of a file want to compute in, from their records alone: for those who plan before they load. */
#include <string.h>

#include "binary/binary_format.h"

static void raise_to(uint64_t *bytes, uint64_t to)
{
    *bytes = to > *bytes ? to : *bytes;
}

enum status binary_needs_read(const void *data, size_t size, struct binary_needs *ret)
{
    struct arena arena;
    struct bin_file file = { 0 };
    arena_init(&arena);
    enum status st = bin_read_file(data, size, &arena, &file);

    for (uint32_t i = 0; st == ST_OK && i < file.header.n_sections; i++) {
        const struct bin_section *s = &file.sections[i];
        struct bin_graph g;
        if (s->kind != SEC_GRAPH || s->size < sizeof g)
            continue;
        memcpy(&g, file.data + s->offset, sizeof g);
        raise_to(&ret->scratch_bytes, g.scratch_bytes);
        raise_to(&ret->spill_fill_bytes, g.spill_fill_bytes);
        raise_to(&ret->io_bytes, g.io_bytes);
        uint32_t n_io = g.n_inputs + g.n_outputs;
        ret->n_io = n_io > ret->n_io ? n_io : ret->n_io;
    }
    arena_finish(&arena);
    return st;
}
