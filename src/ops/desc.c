/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor descriptors: sizes, text, and the check that every tensor from outside passes once. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"

uint64_t desc_count(const struct tensor_desc *d)
{
    uint64_t n = 1;
    for (unsigned i = 0; i < d->rank && i < MAX_RANK; i++)
        n *= d->dims[i];
    return n;
}

uint64_t desc_bytes(const struct tensor_desc *d)
{
    return dtype_bytes(d->type, desc_count(d));
}

bool desc_same_shape(const struct tensor_desc *a, const struct tensor_desc *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * sizeof(a->dims[0]));
}

const char *desc_text(const struct tensor_desc *d, char buf[DESC_TEXT_MAX])
{
    int n = snprintf(buf, DESC_TEXT_MAX, "%s[", dtype_name(d->type));
    /* MAX_RANK dimensions of ten digits with their marks always fit. */
    for (unsigned i = 0; i < d->rank && i < MAX_RANK; i++)
        n += snprintf(buf + n, (size_t)(DESC_TEXT_MAX - n), "%s%u%s", i ? "," : "", d->dims[i],
                      d->dynamic >> i & 1 ? "?" : "");
    snprintf(buf + n, (size_t)(DESC_TEXT_MAX - n), "]");
    return buf;
}

void desc_strides(const struct tensor_desc *d, uint64_t strides[MAX_RANK])
{
    uint64_t s = 1;
    for (unsigned i = MAX_RANK; i-- > 0;) {
        strides[i] = i < d->rank ? s : 0;
        if (i < d->rank)
            s *= d->dims[i];
    }
}

static enum status check_scale(const struct tensor_desc *d, const char *name, uint32_t i, float scale, int32_t offset)
{
    /* Bias of layers with per-channel weights: scale 0, offset 0 says "derived from input and weights". */
    if (scale == 0.0f && offset == 0 && d->type == DT_SQ32)
        return ST_OK;
    RETURN_IF(!isfinite(scale) || scale <= 0.0f, ST_INVALID_TENSOR,
              "tensor \"%s\": quantization scale %u is %g; a finite scale above 0 is expected", name, i, (double)scale);
    return ST_OK;
}

static enum status check_scales(const struct tensor_desc *d, const char *name)
{
    const struct quant *q = &d->q;
    RETURN_IF(!q->scales, ST_INVALID_TENSOR, "tensor \"%s\": the encoding has no array of scales; %u are expected", name,
              q->n);
    for (uint32_t i = 0; i < q->n; i++)
        TRY(check_scale(d, name, i, q->scales[i], q->offsets ? q->offsets[i] : 0));
    return ST_OK;
}

static enum status check_axis(const struct tensor_desc *d, const char *name)
{
    const struct quant *q = &d->q;
    RETURN_IF(q->axis < 0 || q->axis >= d->rank, ST_INVALID_TENSOR,
              "tensor \"%s\": the encoding is along axis %d; the tensor has rank %u, so 0 … %d are allowed", name, q->axis,
              d->rank, d->rank - 1);
    RETURN_IF(q->n != d->dims[q->axis], ST_INVALID_TENSOR,
              "tensor \"%s\": the encoding has %u scales; axis %d has %u elements and needs one scale each", name, q->n,
              q->axis, d->dims[q->axis]);
    return check_scales(d, name);
}

static enum status check_blocks(const struct tensor_desc *d, const char *name)
{
    uint64_t n = 1;
    for (unsigned i = 0; i < d->rank; i++) {
        uint32_t b = d->q.block[i];
        RETURN_IF(b == 0 || d->dims[i] % b, ST_INVALID_TENSOR,
                  "tensor \"%s\": block size %u of dimension %u; a divisor of its size %u is expected", name, b, i,
                  d->dims[i]);
        n *= d->dims[i] / b;
    }
    RETURN_IF(d->q.n != n, ST_INVALID_TENSOR, "tensor \"%s\": the encoding has %u scales; its blocks need %llu", name,
              d->q.n, (unsigned long long)n);
    return check_scales(d, name);
}

static enum status check_expansion(const struct tensor_desc *d, const char *name)
{
    const struct quant *q = &d->q;
    TRY(check_axis(d, name));
    RETURN_IF(
        q->blocks_per_axis == 0 || !q->block_scales, ST_INVALID_TENSOR,
        "tensor \"%s\": a block expansion encoding without blocks; at least one block per axis and its scales are expected",
        name);
    RETURN_IF(q->block_scale_storage != 8 && q->block_scale_storage != 16, ST_INVALID_TENSOR,
              "tensor \"%s\": block scales are stored in %u bits; 8 or 16 are expected", name, q->block_scale_storage);
    RETURN_IF(q->block_scale_bits == 0 || q->block_scale_bits > q->block_scale_storage, ST_INVALID_TENSOR,
              "tensor \"%s\": block scales of %u bits; 1 … %u are expected", name, q->block_scale_bits,
              q->block_scale_storage);
    return ST_OK;
}

static enum status check_quant(const struct tensor_desc *d, const char *name)
{
    const struct quant *q = &d->q;
    unsigned width = dtype_bits(d->type);
    RETURN_IF(q->kind >= QUANT_KIND_COUNT, ST_INVALID_TENSOR, "tensor \"%s\": unknown encoding %u", name, q->kind);
    RETURN_IF(q->bits > width, ST_INVALID_TENSOR,
              "tensor \"%s\": an encoding of %u bits in a %u-bit type; 1 … %u are expected", name, q->bits, width, width);
    switch (q->kind) {
    case Q_TENSOR:
        return check_scale(d, name, 0, q->scale, q->offset);
    case Q_AXIS:
        return check_axis(d, name);
    case Q_BLOCK:
    case Q_FLOAT_BLOCK:
        return check_blocks(d, name);
    case Q_EXPANSION:
        return check_expansion(d, name);
    default:
        return ST_OK;
    }
}

enum status desc_check(const struct tensor_desc *d, const char *name)
{
    if (!name)
        name = "";
    RETURN_IF(d->type <= DT_NONE || d->type >= DT_COUNT, ST_INVALID_TENSOR, "tensor \"%s\": no data type is given", name);
    RETURN_IF(d->rank > MAX_RANK, ST_UNSUPPORTED_TENSOR, "tensor \"%s\": rank %u; at most %d is supported", name, d->rank,
              MAX_RANK);
    uint64_t bits = dtype_bits(d->type);
    for (unsigned i = 0; i < d->rank; i++) {
        RETURN_IF(d->dims[i] == 0, ST_INVALID_TENSOR, "tensor \"%s\": dimension %u is 0; every dimension must be at least 1",
                  name, i);
        /* Stays below 2^62 before the product, and a dimension is below 2^32: a 64-bit product can wrap, so divide. */
        RETURN_IF(bits > (UINT64_C(1) << 62) / d->dims[i], ST_INVALID_TENSOR,
                  "tensor \"%s\": its dimensions multiply to more than 2^62 bits; check dimension %u (%u)", name, i,
                  d->dims[i]);
        bits *= d->dims[i];
    }
    /* Encodings of other types are never read: clients leave anything there. */
    return dtype_is_fixed(d->type) ? check_quant(d, name) : ST_OK;
}
