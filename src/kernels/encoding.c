/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings element by element (see encoding.h). */
#include "kernels/encoding.h"

#include <string.h>

#include "kernels/kernel_util.h"

static bool in_blocks(const struct quant *q)
{
    return q->kind == Q_BLOCK || q->kind == Q_FLOAT_BLOCK;
}

bool encoding_is_simple(const struct quant *q)
{
    return q->mapping == 0 && (q->kind == Q_NONE || q->kind == Q_TENSOR || q->kind == Q_AXIS);
}

void encoding_init(struct encoding *e, const struct tensor_desc *d)
{
    *e = (struct encoding){.type = d->type, .bits = quant_bits(&d->q, d->type), .rank = d->rank, .q = d->q};
    memcpy(e->dims, d->dims, sizeof(e->dims));
    desc_strides(d, e->strides);
    uint32_t last = d->rank ? d->rank - 1u : 0;
    e->dim_in = d->q.axis == (int32_t)last && last > 0 ? last - 1 : last;
}

static uint32_t coordinate(const struct encoding *e, uint64_t at, uint32_t dim)
{
    return (uint32_t)(at / e->strides[dim] % e->dims[dim]);
}

uint32_t encoding_entry(const struct encoding *e, uint64_t at)
{
    const struct quant *q = &e->q;
    if (q->kind == Q_AXIS || q->kind == Q_EXPANSION)
        return coordinate(e, at, (uint32_t)q->axis);
    if (!in_blocks(q))
        return 0;
    uint32_t block[MAX_RANK];
    for (uint32_t i = 0; i < e->rank; i++)
        block[i] = coordinate(e, at, i) / q->block[i];
    return quant_block_entry(q, e->dims, e->rank, block);
}

uint32_t encoding_block_scale(const struct quant *q, uint64_t i)
{
    return q->block_scale_storage == 16 ? ((const uint16_t *)q->block_scales)[i] : ((const uint8_t *)q->block_scales)[i];
}

static int64_t block_scale(const struct encoding *e, uint64_t at)
{
    const struct quant *q = &e->q;
    if (q->kind != Q_EXPANSION)
        return 1;
    uint32_t per_block = e->dims[e->dim_in] / q->blocks_per_axis;
    return encoding_block_scale(q, (uint64_t)encoding_entry(e, at) * q->blocks_per_axis +
                                       coordinate(e, at, e->dim_in) / per_block);
}

int64_t encoding_mapped(const struct encoding *e, int64_t v)
{
    return e->q.mapping == 2 ? 2 * v + 1 : e->q.mapping == 1 ? v + 1 : v;
}

int64_t encoding_stored(const struct encoding *e, const void *p, uint64_t at)
{
    return ku_narrow(ku_load_int(p, e->type, at), e->bits, dtype_is_signed(e->type));
}

int64_t encoding_integer(const struct encoding *e, const void *p, uint64_t at)
{
    return encoding_mapped(e, encoding_stored(e, p, at) + quant_offset(&e->q, encoding_entry(e, at))) * block_scale(e, at);
}

double encoding_scale(const struct encoding *e, uint64_t at)
{
    return (double)quant_scale(&e->q, encoding_entry(e, at)) * (e->q.mapping == 2 ? 0.5 : 1.0);
}

double encoding_float_offset(const struct encoding *e, uint64_t at)
{
    return e->q.kind == Q_FLOAT_BLOCK && e->q.float_offsets ? (double)e->q.float_offsets[encoding_entry(e, at)] : 0.0;
}

float encoding_real(const struct encoding *e, const void *p, uint64_t at)
{
    float real = (float)encoding_integer(e, p, at) * (float)encoding_scale(e, at);
    return e->q.kind == Q_FLOAT_BLOCK && e->q.float_offsets ? real + (float)encoding_float_offset(e, at) : real;
}

int64_t encoding_nearest(const struct encoding *e, float x, uint64_t at, int64_t lo, int64_t hi)
{
    double step = (double)quant_scale(&e->q, encoding_entry(e, at)) * (double)block_scale(e, at);
    double v = step > 0 ? ((double)x - encoding_float_offset(e, at)) / step : 0.0;
    if (x != x)
        v = 0.0;
    v -= e->q.mapping == 2 ? 0.5 : e->q.mapping == 1 ? 1.0 : 0.0;
    return ku_clamp(ku_sub(ku_rne64(v), quant_offset(&e->q, encoding_entry(e, at))), lo, hi);
}
