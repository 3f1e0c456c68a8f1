/* SPDX-License-Identifier: Apache-2.0 */
/* What tensors take of fast memory (VTCM), in the device's tile layout. */
#include "binary/binary.h"

static uint64_t round_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b * b;
}

uint32_t binary_tile_bits(enum dtype t)
{
    enum { FLOAT = 16 };
    return dtype_is_float(t) ? FLOAT : dtype_bits(t);
}

uint64_t binary_tile_bytes(const struct tensor_desc *d)
{
    uint32_t bits = binary_tile_bits(d->type), r = d->rank;
    uint64_t n = 1;
    for (uint32_t i = 0; i < r; i++)
        n *= round_up(d->dims[i], binary_tile_side(d, i));
    return (n * bits + 7) / 8;
}

uint64_t binary_vtcm_bytes(const struct tensor_desc *d)
{
    uint64_t plain = desc_bytes(d), tiles = binary_tile_bytes(d);
    return plain > tiles ? plain : tiles;
}
