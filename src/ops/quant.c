/* SPDX-License-Identifier: Apache-2.0 */
/* Reading quantization encodings: real = scale * (q + offset). */
#include <string.h>

#include "ops/ops.h"

float quant_scale(const struct quant *q, uint32_t index)
{
    if (q->kind == Q_NONE)
        return 1.0f;
    if (q->kind == Q_TENSOR || !q->scales)
        return q->scale;
    return q->scales[index < q->n ? index : 0];
}

int32_t quant_offset(const struct quant *q, uint32_t index)
{
    if (q->kind == Q_NONE)
        return 0;
    if (q->kind == Q_TENSOR)
        return q->offset;
    return q->offsets ? q->offsets[index < q->n ? index : 0] : 0;
}

static bool same_arrays(const struct quant *a, const struct quant *b)
{
    if (a->n != b->n || a->axis != b->axis)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (quant_scale(a, i) != quant_scale(b, i) || quant_offset(a, i) != quant_offset(b, i))
            return false;
    return true;
}

static bool same_float_offsets(const struct quant *a, const struct quant *b)
{
    for (uint32_t i = 0; i < a->n; i++) {
        float x = a->float_offsets ? a->float_offsets[i] : 0.0f;
        float y = b->float_offsets ? b->float_offsets[i] : 0.0f;
        if (x != y)
            return false;
    }
    return true;
}

static bool same_block_scales(const struct quant *a, const struct quant *b)
{
    if (a->blocks_per_axis != b->blocks_per_axis || a->block_scale_bits != b->block_scale_bits ||
        a->block_scale_storage != b->block_scale_storage)
        return false;
    if (a->block_scales == b->block_scales)
        return true;
    if (!a->block_scales || !b->block_scales)
        return false;
    return !memcmp(a->block_scales, b->block_scales,
                   (size_t)a->n * a->blocks_per_axis * (a->block_scale_storage == 16 ? 2 : 1));
}

bool quant_same(const struct quant *a, const struct quant *b)
{
    if (a->kind != b->kind || a->bits != b->bits || a->mapping != b->mapping)
        return false;
    switch (a->kind) {
    case Q_NONE:
        return true;
    case Q_TENSOR:
        return a->scale == b->scale && a->offset == b->offset;
    case Q_AXIS:
        return same_arrays(a, b);
    case Q_BLOCK:
        return same_arrays(a, b) && !memcmp(a->block, b->block, sizeof(a->block));
    case Q_FLOAT_BLOCK:
        return same_arrays(a, b) && !memcmp(a->block, b->block, sizeof(a->block)) && same_float_offsets(a, b);
    case Q_EXPANSION:
        return same_arrays(a, b) && same_block_scales(a, b);
    default:
        return false;
    }
}

uint32_t quant_block_entry(const struct quant *q, const uint32_t *dims, unsigned rank, const uint32_t *at)
{
    uint32_t entry = 0;
    unsigned last = rank > 0 ? rank - 1 : 0;
    if (rank < 2 || q->block[last] != 1) {
        for (unsigned i = 0; i < rank; i++)
            entry = entry * (dims[i] / q->block[i]) + at[i];
        return entry;
    }
    entry = at[last] * (dims[last - 1] / q->block[last - 1]) + at[last - 1];
    for (unsigned i = 0; i + 2 < rank; i++)
        entry = entry * (dims[i] / q->block[i]) + at[i];
    return entry;
}

unsigned quant_bits(const struct quant *q, enum dtype t)
{
    return q->kind != Q_NONE && q->bits ? q->bits : dtype_bits(t);
}
