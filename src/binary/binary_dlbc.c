/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors between operators that a device moves compressed (ENABLE_DLBC). How small they get depends on what is computed,
 * which is not known when a graph is prepared, so shares are those that were measured on real networks with real inputs, by
 * the codes that constants are stored with, the better of sparse and groups for each tensor (bench/dlbc.c; docs/cost.md has
 * how and what). */
#include "binary/binary_format.h"

enum { PERCENT = 100 };
enum { BYTES = 73, WORDS = 84, FLOATS = 81 /* of 16 bits, which all floats are on a device */ };

static uint32_t percent_of(const struct tensor_desc *d)
{
    if (d->type == DT_F16 || d->type == DT_BF16 || d->type == DT_F32)
        return FLOATS;
    if (dtype_bits(d->type) == 8)
        return BYTES;
    return dtype_bits(d->type) == 16 ? WORDS : PERCENT;
}

uint64_t binary_moved_compressed(const struct binary_graph *g, const struct tensor_desc *d, uint64_t bytes)
{
    return g->info.dlbc && d ? bytes * percent_of(d) / PERCENT : bytes;
}

uint64_t binary_compressed_bytes(const uint8_t *data, uint64_t bytes)
{
    uint64_t sparse = binary_stored_bytes(STORE_SPARSE, data, bytes);
    uint64_t groups = binary_stored_bytes(STORE_GROUPS, data, bytes);

    return sparse < groups ? sparse : groups;
}
