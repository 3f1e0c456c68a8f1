/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings of weights: which integers are stored for them, and what a step of a stored integer is worth (docs/numerics.md section 3).
 *
 *     per tensor, per axis     q + shift: the offset, as much of it as fits the element
 *     with a mapping           q + offset + 1, or 2 (q + offset) + 1 at half the scale
 *     expansion (LPBQ)         the same times the integer scale of the block, so that the ordinary kernels compute it
 *     block, float block       q + offset of the block; scales are applied run by run (conv_blocks_ref.c)
 *
 * All of them but the first are called effective here: the class of arithmetic follows from their range. */
#include "kernels/conv/conv.h"
#include "kernels/kernel_util.h"

static bool is_block_kind(const struct conv_args *a)
{
    return a->wq.kind == Q_BLOCK || a->wq.kind == Q_FLOAT_BLOCK;
}

/* ---- elements --------------------------------------------------------------------------------------------------- */

static uint32_t coordinate(const struct conv_args *a, uint64_t at, uint32_t dim)
{
    return (uint32_t)(at / a->w_strides[dim] % a->w_dims[dim]);
}

/* The entry of scales and offsets that belongs to an element. */
static uint32_t entry_of(const struct conv_args *a, uint64_t at)
{
    const struct quant *q = &a->wq;
    if (q->kind == Q_AXIS || q->kind == Q_EXPANSION)
        return coordinate(a, at, (uint32_t)q->axis);
    uint32_t entry = 0;
    for (uint32_t i = 0; is_block_kind(a) && i < a->w_rank; i++)
        entry = entry * (a->w_dims[i] / q->block[i]) + coordinate(a, at, i) / q->block[i];
    return entry;
}

static uint32_t stored_block_scale(const struct quant *q, uint64_t i)
{
    return q->block_scale_storage == 16 ? ((const uint16_t *)q->block_scales)[i] : ((const uint8_t *)q->block_scales)[i];
}

static int64_t block_scale(const struct conv_args *a, uint64_t at)
{
    const struct quant *q = &a->wq;
    if (q->kind != Q_EXPANSION)
        return 1;
    uint32_t per_block = a->w_dims[a->w_dim_in] / q->blocks_per_axis;
    return stored_block_scale(q, (uint64_t)entry_of(a, at) * q->blocks_per_axis + coordinate(a, at, a->w_dim_in) / per_block);
}

static int64_t mapped(const struct conv_args *a, int64_t v)
{
    return a->wq.mapping == 2 ? 2 * v + 1 : a->wq.mapping == 1 ? v + 1 : v;
}

int64_t conv_weight(const struct conv_args *a, const void *w, uint64_t at)
{
    int64_t q = ku_narrow(ku_load_int(w, a->w_type, at), a->w_bits, dtype_is_signed(a->w_type));
    if (!a->effective)
        return q + a->w_shift;
    return mapped(a, q + quant_offset(&a->wq, entry_of(a, at))) * block_scale(a, at);
}

double conv_weight_scale(const struct conv_args *a, uint64_t at)
{
    return (double)quant_scale(&a->wq, entry_of(a, at)) * (a->wq.mapping == 2 ? 0.5 : 1.0);
}

double conv_weight_real_offset(const struct conv_args *a, uint64_t at)
{
    return a->wq.kind == Q_FLOAT_BLOCK && a->wq.float_offsets ? (double)a->wq.float_offsets[entry_of(a, at)] : 0.0;
}

float conv_weight_real(const struct conv_args *a, const void *w, uint64_t at)
{
    float real = (float)conv_weight(a, w, at) * (float)conv_weight_scale(a, at);
    return a->wq.kind == Q_FLOAT_BLOCK && a->wq.float_offsets ? real + (float)conv_weight_real_offset(a, at) : real;
}

/* ---- ranges ----------------------------------------------------------------------------------------------------- */

/* Between which numbers all effective integers of this encoding lie. */
static struct ku_range effective_range(const struct conv_args *a)
{
    const struct quant *q = &a->wq;
    struct ku_range r = ku_range_of(a->w_type, q);
    int64_t least = quant_offset(q, 0), most = least, scale = q->kind == Q_EXPANSION ? 0 : 1;
    for (uint32_t i = 0; is_block_kind(a) && q->offsets && i < q->n; i++) {
        least = q->offsets[i] < least ? q->offsets[i] : least;
        most = q->offsets[i] > most ? q->offsets[i] : most;
    }
    for (uint64_t i = 0; q->kind == Q_EXPANSION && i < (uint64_t)q->n * q->blocks_per_axis; i++)
        scale = stored_block_scale(q, i) > scale ? stored_block_scale(q, i) : scale;
    r.lo = mapped(a, r.lo + least);
    r.hi = mapped(a, r.hi + most);
    /* Smaller block scales bring both ends nearer to 0. */
    return (struct ku_range){ r.lo < 0 ? r.lo * scale : 0, r.hi > 0 ? r.hi * scale : 0 };
}

/* How weights are stored: shifted by the whole offset where that fits the element, else to the middle of their range. */
static void choose_shift(struct conv_args *a)
{
    struct ku_range r = ku_range_of(a->w_type, &a->wq);
    int32_t half = dtype_bits(a->w_type) <= 8 ? 128 : 32768, offset = quant_offset(&a->wq, 0);
    bool fits = r.lo + offset >= -half && r.hi + offset < half;
    a->w_shift = fits ? offset : dtype_is_signed(a->w_type) ? 0 : -half;
    a->w_offset = offset - a->w_shift;
    a->w_max = half;
}

static uint32_t divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* ---- what it means for the operator ----------------------------------------------------------------------------- */

static enum status refuse_vector(const struct op_call *c, const struct quant *q)
{
    const char *node = c->node ? c->node : "";
    RETURN_IF(q->kind == Q_VECTOR, ST_NOT_SUPPORTED,
              "%s \"%s\": weights have a vector (code book) encoding; what its indices mean is not public, so no kernel takes them; use "
              "scales per tensor, per axis, per block or blockwise expansion", c->op->name, node);
    RETURN_IF(q->kind == Q_NONE || q->kind >= QUANT_KIND_COUNT || q->mapping > 2, ST_NOT_SUPPORTED,
              "%s \"%s\": weights have an encoding of kind %u with mapping %u; a scale per tensor, axis or block and mapping 0, 1 or 2 are expected",
              c->op->name, node, q->kind, q->mapping);
    return ST_OK;
}

/* Weights whose range decides how they are stored. */
static enum status describe_effective(const struct op_call *c, struct conv_args *a)
{
    struct ku_range r = effective_range(a);
    bool fits8 = r.lo >= -128 && r.hi <= 127, fits16 = r.lo >= -32768 && r.hi <= 32767;
    RETURN_IF(!fits16, ST_NOT_SUPPORTED,
              "%s \"%s\": weights with their offsets and integer block scales lie between %lld and %lld; kernels take -32768 … 32767: use "
              "smaller block scales or fewer bits", c->op->name, c->node ? c->node : "", (long long)r.lo, (long long)r.hi);
    a->effective = true;
    a->blocks = is_block_kind(a);
    a->w_max = -r.lo > r.hi ? -r.lo : r.hi;
    a->cls = !fits8 ? CONV_Q16W16 : a->blocks || dtype_bits(a->x_type) == 16 ? CONV_Q16 : CONV_Q8;
    return ST_OK;
}

static void describe_runs(struct conv_args *a)
{
    bool offsets = a->wq.kind == Q_FLOAT_BLOCK && a->wq.float_offsets;
    a->run = divisor(a->cig, a->wq.block[a->w_dim_in]);
    a->n_runs = a->taps * (a->cig / a->run);
    a->n_m = a->n_runs * (offsets ? 2 : 1) + 1;
}

enum status conv_weight_describe(const struct op_call *c, struct conv_args *a)
{
    a->wq = c->in[1]->q;
    a->w_bits = quant_bits(&a->wq, a->w_type);
    TRY(refuse_vector(c, &a->wq));
    RETURN_IF(a->wq.kind == Q_EXPANSION && a->w_dims[a->w_dim_in] % a->wq.blocks_per_axis, ST_NOT_SUPPORTED,
              "%s \"%s\": weights have %u blocks per output channel; a divisor of the %u input channels is expected", c->op->name,
              c->node ? c->node : "", a->wq.blocks_per_axis, a->w_dims[a->w_dim_in]);
    if (a->dequantized) {
        a->effective = true;
        return ST_OK;
    }
    if (a->wq.mapping == 0 && (a->wq.kind == Q_TENSOR || a->wq.kind == Q_AXIS)) {
        choose_shift(a);
        return ST_OK;
    }
    TRY(describe_effective(c, a));
    if (a->blocks)
        describe_runs(a);
    return ST_OK;
}
