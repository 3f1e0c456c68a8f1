/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings of weights: which integers are stored for them, and what a step of a stored integer is worth (docs/numerics.md
 * section 3).
 *
 *     per tensor, per axis     q + shift: the offset, as much of it as fits the element
 *     per axis with offsets    q + offset of the channel
 *     with a mapping           q + offset + 1, or 2 (q + offset) + 1 at half the scale
 *     expansion (LPBQ)         the same times the integer scale of the block, so that the ordinary kernels compute it
 *     block, float block       q + offset of the block; scales are applied run by run (conv_blocks_ref.c)
 *     per term of the sum      f32 beside x as f32: matrices with a scale per element of another axis than the outputs'
 *
 * All of them but the first are called effective here: the class of arithmetic follows from their range. */
#include "kernels/conv/conv.h"
#include "kernels/kernel_util.h"

static bool is_block_kind(const struct conv_args *a)
{
    return a->w_enc.q.kind == Q_BLOCK || a->w_enc.q.kind == Q_FLOAT_BLOCK;
}

int64_t conv_weight(const struct conv_args *a, const void *w, uint64_t at)
{
    return a->effective ? encoding_integer(&a->w_enc, w, at) : encoding_stored(&a->w_enc, w, at) + a->w_shift;
}

/* ---- ranges ----------------------------------------------------------------------------------------------------- */

/* Between which numbers all effective integers of this encoding lie. */
static struct ku_range effective_range(const struct conv_args *a)
{
    const struct quant *q = &a->w_enc.q;
    struct ku_range r = ku_range_of(a->w_type, q);
    int64_t least = quant_offset(q, 0), most = least, scale = q->kind == Q_EXPANSION ? 0 : 1;
    for (uint32_t i = 0; q->offsets && i < q->n; i++) {
        least = q->offsets[i] < least ? q->offsets[i] : least;
        most = q->offsets[i] > most ? q->offsets[i] : most;
    }
    for (uint64_t i = 0; q->kind == Q_EXPANSION && i < (uint64_t)q->n * q->blocks_per_axis; i++)
        scale = encoding_block_scale(q, i) > scale ? encoding_block_scale(q, i) : scale;
    r.lo = encoding_mapped(&a->w_enc, r.lo + least);
    r.hi = encoding_mapped(&a->w_enc, r.hi + most);
    /* Smaller block scales bring both ends nearer to 0. */
    return (struct ku_range){ r.lo < 0 ? r.lo * scale : 0, r.hi > 0 ? r.hi * scale : 0 };
}

/* How weights are stored: shifted by the whole offset where that fits the element, else to the middle of their range. */
static void choose_shift(struct conv_args *a)
{
    struct ku_range r = ku_range_of(a->w_type, &a->w_enc.q);
    int32_t half = dtype_bits(a->w_type) <= 8 ? 128 : 32768, offset = quant_offset(&a->w_enc.q, 0);
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

/* One offset for all weights, which every kernel knows. */
static bool is_plain(const struct quant *q)
{
    for (uint32_t i = 0; q->kind == Q_AXIS && q->offsets && i < q->n; i++)
        if (q->offsets[i])
            return false;
    return q->mapping == 0 && (q->kind == Q_TENSOR || q->kind == Q_AXIS);
}

static enum status refuse_vector(const struct op_call *c, const struct quant *q)
{
    const char *node = c->node ? c->node : "";
    RETURN_IF(q->kind == Q_VECTOR, ST_NOT_SUPPORTED,
              "%s \"%s\": weights have a vector (code book) encoding; what its indices mean is not public, so no kernel "
              "takes them; use "
              "scales per tensor, per axis, per block or blockwise expansion",
              c->op->name, node);
    RETURN_IF(q->kind == Q_NONE || q->kind >= QUANT_KIND_COUNT || q->mapping > 2, ST_NOT_SUPPORTED,
              "%s \"%s\": weights have an encoding of kind %u with mapping %u; a scale per tensor, axis or block and "
              "mapping 0, 1 or 2 are expected",
              c->op->name, node, q->kind, q->mapping);
    return ST_OK;
}

/* No sum of integers has a unit then. */
static bool scales_terms(const struct conv_args *a)
{
    const struct encoding *e = &a->w_enc;
    if (a->kind != CONV_MATRIX || e->q.kind != Q_AXIS || e->q.n < 2)
        return false;

    const uint32_t outputs = e->dim_in + 1 == e->rank ? e->rank - 2 : e->rank - 1;
    return e->q.axis != (int32_t)outputs;
}

static void describe_real(struct conv_args *a)
{
    a->effective = true;
    a->cls = CONV_F32;
    a->dequantized = a->mixed = true;
}

/* Weights whose range decides how they are stored. */
static void describe_effective(struct conv_args *a)
{
    struct ku_range r = effective_range(a);
    bool fits8 = r.lo >= -128 && r.hi <= 127, fits16 = r.lo >= -32768 && r.hi <= 32767;
    a->effective = true;
    if (!fits16) { /* no integer product holds them */
        describe_real(a);
        return;
    }
    a->blocks = is_block_kind(a);
    a->w_max = -r.lo > r.hi ? -r.lo : r.hi;
    a->cls = !fits8 ? CONV_Q16W16 : a->blocks || dtype_bits(a->x_type) == 16 ? CONV_Q16 : CONV_Q8;
}

static void describe_runs(struct conv_args *a)
{
    bool offsets = a->w_enc.q.kind == Q_FLOAT_BLOCK && a->w_enc.q.float_offsets;
    a->run = divisor(a->cig, a->w_enc.q.block[a->w_enc.dim_in]);
    a->n_runs = a->taps * (a->cig / a->run);
    a->n_m = a->n_runs * (offsets ? 2 : 1) + 1;
}

enum status conv_weight_describe(const struct op_call *c, struct conv_args *a)
{
    TRY(refuse_vector(c, &a->w_enc.q));
    RETURN_IF(a->w_enc.q.kind == Q_EXPANSION && a->w_enc.dims[a->w_enc.dim_in] % a->w_enc.q.blocks_per_axis,
              ST_NOT_SUPPORTED,
              "%s \"%s\": weights have %u blocks per output channel; a divisor of the %u input channels is expected",
              c->op->name, c->node ? c->node : "", a->w_enc.q.blocks_per_axis, a->w_enc.dims[a->w_enc.dim_in]);
    if (a->dequantized) {
        a->effective = true;
        return ST_OK;
    }
    if (scales_terms(a)) {
        describe_real(a);
        return ST_OK;
    }
    if (is_plain(&a->w_enc.q)) {
        choose_shift(a);
        return ST_OK;
    }
    describe_effective(a);
    if (a->blocks)
        describe_runs(a);
    return ST_OK;
}
