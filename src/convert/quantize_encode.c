/* SPDX-License-Identifier: Apache-2.0 */
/* From a range to an encoding, and from floats to the steps of an encoding. */
#include <math.h>
#include <string.h>

#include "convert/builder.h"

const char *const quantize_schema_names[] = { "asymmetric", "symmetric", "unsignedsymmetric", NULL };
const char *const quantize_method_names[] = { "min-max", "percentile", "mse", "entropy", "sqnr", NULL };
const char *const quantize_origin_names[] = { "float",      "calibrated", "override", "model",
                                              "propagated", "operator",   "constant", "product" };

static const double least_range = 0.0001;

static enum dtype fixed_type(unsigned bits, bool is_signed)
{
    static const enum dtype types[2][4] = { { DT_UQ4, DT_UQ8, DT_UQ16, DT_UQ32 }, { DT_SQ4, DT_SQ8, DT_SQ16, DT_SQ32 } };
    return types[is_signed][bits <= 4 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 3];
}

/* Whether the restriction is meant for this width: the narrowest signed type that holds both ends. */
static bool restricted(const struct quantize_rule *r)
{
    int64_t half = 1ll << (r->bits - 1);
    bool fits = r->step_min >= -half && r->step_max < half;
    bool narrower = r->bits > 4 && r->step_min >= -(half >> (r->bits / 2)) && r->step_max < half >> (r->bits / 2);
    return r->step_min < r->step_max && fits && !narrower;
}

static void encode_symmetric(const struct quantize_rule *r, double most, struct quantize_encoding *ret)
{
    int64_t half = 1ll << (r->bits - 1), top = half - 1, bottom = -half;
    if (restricted(r)) {
        top = r->step_max;
        bottom = r->step_min;
    }
    int64_t reach = top < -bottom ? top : -bottom;
    ret->type = fixed_type(r->bits, true);
    ret->scale = (float)(fmax(most, least_range) / (double)reach);
    ret->offset = 0;
    ret->min = (double)bottom * ret->scale;
    ret->max = (double)top * ret->scale;
}

void quantize_encode(const struct quantize_rule *r, double min, double max, struct quantize_encoding *ret)
{
    min = isfinite(min) ? fmin(min, 0) : 0; /* zero is a step */
    max = isfinite(max) ? fmax(max, 0) : 0;
    bool positive = r->schema == QUANTIZE_UNSIGNED_SYMMETRIC && min >= 0;
    if (r->schema != QUANTIZE_ASYMMETRIC && !positive) {
        encode_symmetric(r, fmax(-min, max), ret);
        return;
    }
    if (max - min < least_range)
        max > -min || min == 0 ? (max = min + least_range) : (min = max - least_range);
    double steps = restricted(r) ? (double)r->step_max - r->step_min : (double)((1ull << r->bits) - 1);
    double scale = (max - min) / steps, zero = nearbyint(-min / scale);
    ret->type = fixed_type(r->bits, false);
    ret->scale = (float)scale;
    ret->offset = (int32_t)-zero;
    ret->min = -zero * ret->scale;
    ret->max = (steps - zero) * ret->scale;
}

/* ---- data --------------------------------------------------------------------------------------------------------- */

static void store(enum dtype type, void *to, uint64_t i, int64_t q)
{
    switch (dtype_bits(type)) {
    case 4: {
        uint8_t *p = (uint8_t *)to + i / 2;
        *p = i % 2 ? (uint8_t)((*p & 15) | (q & 15) << 4) : (uint8_t)((*p & 0xf0) | (q & 15));
        break;
    }
    case 8: ((uint8_t *)to)[i] = (uint8_t)q; break;
    case 16: ((uint16_t *)to)[i] = (uint16_t)q; break;
    default: ((uint32_t *)to)[i] = (uint32_t)q; break;
    }
}

static uint32_t coordinate(const struct tensor_desc *d, uint64_t i, uint32_t dim)
{
    for (uint32_t k = dim + 1; k < d->rank; k++)
        i /= d->dims[k];
    return (uint32_t)(i % d->dims[dim]);
}

/* The entry of scales and offsets that element i has. */
static uint32_t entry_of(const struct tensor_desc *d, uint64_t i)
{
    const struct quant *q = &d->q;
    if (q->kind == Q_AXIS || q->kind == Q_EXPANSION)
        return coordinate(d, i, (uint32_t)q->axis);
    if (q->kind != Q_BLOCK)
        return 0;
    uint32_t block[MAX_RANK];
    for (uint32_t k = 0; k < d->rank; k++)
        block[k] = coordinate(d, i, k) / q->block[k];
    return quant_block_entry(q, d->dims, d->rank, block);
}

/* Blocks of an expansion divide the input channels: the other one of the last two dimensions. */
static double block_factor(const struct tensor_desc *d, uint64_t i, uint32_t entry)
{
    const struct quant *q = &d->q;
    uint32_t in = q->axis == d->rank - 1 ? d->rank - 2u : d->rank - 1u;
    uint64_t at = (uint64_t)entry * q->blocks_per_axis + coordinate(d, i, in) / (d->dims[in] / q->blocks_per_axis);
    return q->block_scale_storage == 16 ? ((const uint16_t *)q->block_scales)[at] : ((const uint8_t *)q->block_scales)[at];
}

double quantize_step(const struct tensor_desc *d, uint64_t i)
{
    if (d->q.kind == Q_TENSOR)
        return d->q.scale;
    uint32_t entry = entry_of(d, i);
    return quant_scale(&d->q, entry) * (d->q.kind == Q_EXPANSION ? block_factor(d, i, entry) : 1);
}

int64_t quantize_step_offset(const struct tensor_desc *d, uint64_t i)
{
    return d->q.kind == Q_TENSOR ? d->q.offset : d->q.offsets ? quant_offset(&d->q, entry_of(d, i)) : 0;
}

double quantize_data(const struct tensor_desc *d, const float *from, void *to)
{
    uint64_t n = desc_count(d);
    unsigned spare = dtype_bits(d->type) - quant_bits(&d->q, d->type);
    int64_t least = dtype_min(d->type) >> spare, most = dtype_max(d->type) >> spare;
    for (uint64_t i = 0; i < n; i++) {
        double scale = quantize_step(d, i), x = isnan(from[i]) ? 0 : from[i];
        double wide = nearbyint((double)((float)x / (float)scale)) - (double)quantize_step_offset(d, i);
        store(d->type, to, i, wide <= (double)least ? least : wide >= (double)most ? most : (int64_t)wide);
    }
    return quantize_data_sqnr(d, from, to);
}

double quantize_data_sqnr(const struct tensor_desc *d, const float *from, const void *data)
{
    uint64_t n = desc_count(d);
    double noise = 0, signal = 0;
    for (uint64_t i = 0; i < n; i++) {
        double x = isnan(from[i]) ? 0 : from[i];
        if (isinf(x))
            continue; /* a mask: the least or the greatest step, and no noise */
        double error = (double)(number_get_int(d->type, data, i) + quantize_step_offset(d, i)) * quantize_step(d, i) - x;
        noise += error * error;
        signal += x * x;
    }
    return noise > 0 ? 10 * log10(signal / noise) : INFINITY;
}
