/* SPDX-License-Identifier: Apache-2.0 */
/* The client's fourteen encodings become a few kinds: the BW_ forms are the plain ones with a bit width, the MAPPED forms
 * the plain ones with a mapping. Only fixed-point tensors have an encoding; a zeroed or undefined one on them means scale 1,
 * offset 0 (for 32 bits: scale 0, which stands for "derived from the operands"). */
#include "api/translate_quant.h"

#include <string.h>

#include "base/mem.h"

enum { DEF_GENERATED = 0, DEF_DEFINED = 1, DEF_UNDEFINED = 2 };

struct pairs {
    const Qnn_ScaleOffset_t *at;
    uint64_t n;
};

static enum status take_pairs(struct pairs p, const char *name, struct arena *a, struct quant *q)
{
    RETURN_IF(!p.at, ST_INVALID_TENSOR, "tensor \"%s\": the encoding needs %llu scales, but the pointer to them is NULL",
              name, (unsigned long long)p.n);
    float *scales = arena_alloc_array(a, p.n, sizeof(float));
    int32_t *offsets = arena_alloc_array(a, p.n, sizeof(int32_t));
    RETURN_IF(!scales || !offsets || p.n > UINT32_MAX, ST_NO_MEMORY, "no memory for %llu scales of tensor \"%s\"",
              (unsigned long long)p.n, name);
    for (uint64_t i = 0; i < p.n; i++) {
        scales[i] = p.at[i].scale;
        offsets[i] = p.at[i].offset;
    }
    q->n = (uint32_t)p.n;
    q->scales = scales;
    q->offsets = offsets;
    return ST_OK;
}

static enum status axis_size(const struct tensor_desc *d, int32_t axis, const char *name, uint32_t *ret)
{
    RETURN_IF(axis < 0 || axis >= d->rank, ST_INVALID_TENSOR, "tensor \"%s\": encoding axis %d; the rank is %u", name, axis,
              d->rank);
    *ret = d->dims[axis];
    return ST_OK;
}

/* Clients name axis 0 for output channels, wherever those are: the scales of a matrix belong to the dimension that
 * they fit. */
static int32_t fitting_axis(const struct tensor_desc *d, int32_t axis, uint32_t n)
{
    bool other = d->rank == 2 && (axis == 0 || axis == 1) && d->dims[axis] != n && d->dims[1 - axis] == n;
    return other ? 1 - axis : axis;
}

static enum status axis_counts(const struct tensor_desc *d, int32_t axis, uint32_t n, const char *name)
{
    uint32_t size;
    TRY(axis_size(d, axis, name, &size));
    RETURN_IF(n != size, ST_INVALID_TENSOR, "tensor \"%s\": %u scales for axis %d of size %u; one each is expected", name, n,
              axis, size);
    return ST_OK;
}

/* The bias of a TransposeConv with groups may have the scales of its weights, which are those of one group: every group has
 * the same ones. */
static enum status take_axis_pairs(const Qnn_AxisScaleOffset_t *e, const char *name, struct arena *a,
                                   const struct tensor_desc *d, struct quant *q)
{
    uint32_t n = e->numScaleOffsets, size;
    int32_t axis = fitting_axis(d, e->axis, n);
    TRY(axis_size(d, axis, name, &size));
    bool repeat = d->type == DT_SQ32 && d->rank == 1 && e->scaleOffset && n > 0 && n < size && size % n == 0;
    q->kind = Q_AXIS;
    q->axis = axis;
    if (!repeat) {
        TRY(axis_counts(d, axis, n, name));
        return take_pairs((struct pairs){ e->scaleOffset, n }, name, a, q);
    }
    Qnn_ScaleOffset_t *all = arena_array(a, Qnn_ScaleOffset_t, size);
    RETURN_IF(!all, ST_NO_MEMORY, "no memory for %u scales of tensor \"%s\"", size, name);
    for (uint32_t i = 0; i < size; i++)
        all[i] = e->scaleOffset[i % n];
    return take_pairs((struct pairs){ all, size }, name, a, q);
}

/* Number of blocks of a block encoding; sizes must divide the dimensions. */
static enum status count_blocks(const uint32_t *block, const struct tensor_desc *d, const char *name, struct quant *q,
                                uint64_t *ret)
{
    *ret = 1;
    RETURN_IF(!block, ST_INVALID_TENSOR,
              "tensor \"%s\": the block encoding has no block sizes; one per dimension is expected", name);
    for (unsigned i = 0; i < d->rank; i++) {
        RETURN_IF(!block[i] || d->dims[i] % block[i], ST_INVALID_TENSOR,
                  "tensor \"%s\": block size %u does not divide dimension %u of size %u; a divisor is expected", name,
                  block[i], i, d->dims[i]);
        q->block[i] = block[i];
        *ret *= d->dims[i] / block[i];
    }
    return ST_OK;
}

/* The narrow forms of our own have room for every value that makes sense; others are refused here, before they could look
 * like one. */
static enum status take_width(uint32_t bits, uint32_t mapping, const char *name, struct quant *q)
{
    RETURN_IF(bits > 32, ST_INVALID_TENSOR,
              "tensor \"%s\": an encoding of %u bits; at most 32, and no more than the type has, are expected", name, bits);
    RETURN_IF(mapping > 2, ST_INVALID_TENSOR, "tensor \"%s\": the encoding has mapping %u; 0, 1 and 2 are known", name,
              mapping);
    q->bits = (uint8_t)bits;
    q->mapping = (uint8_t)mapping;
    return ST_OK;
}

static enum status take_axis(uint32_t n, int32_t axis, const float *scales, const int32_t *offsets, struct arena *a,
                             struct quant *q)
{
    q->kind = Q_AXIS;
    q->axis = axis;
    q->n = n;
    q->scales = scales ? arena_dup(a, scales, n * sizeof(float)) : NULL;
    q->offsets = offsets ? arena_dup(a, offsets, n * sizeof(int32_t)) : NULL;
    RETURN_IF(!scales, ST_INVALID_TENSOR, "the encoding per index of axis %d has no scales; %u are expected", axis, n);
    RETURN_IF(!q->scales || (offsets && !q->offsets), ST_NO_MEMORY, "no memory for %u scales", n);
    return ST_OK;
}

static enum status take_block(const uint32_t *block, const Qnn_ScaleOffset_t *so, const char *name, struct arena *a,
                              const struct tensor_desc *d, struct quant *q)
{
    struct pairs p = { .at = so };
    q->kind = Q_BLOCK;
    TRY(count_blocks(block, d, name, q, &p.n));
    return take_pairs(p, name, a, q);
}

/* Offsets are real numbers; those of the form with a bit width (q->bits is set) count steps. */
static enum status take_float_block(const uint32_t *block, const Qnn_FloatScaleOffset_t *so, const char *name,
                                    struct arena *a, const struct tensor_desc *d, struct quant *q)
{
    uint64_t n;
    q->kind = Q_FLOAT_BLOCK;
    TRY(count_blocks(block, d, name, q, &n));
    RETURN_IF(!so, ST_INVALID_TENSOR,
              "tensor \"%s\": the float block encoding has no scales; one pair per block is expected", name);
    float *scales = arena_alloc_array(a, n, sizeof(float)), *offsets = arena_alloc_array(a, n, sizeof(float));
    RETURN_IF(!scales || !offsets || n > UINT32_MAX, ST_NO_MEMORY, "no memory for %llu scales of tensor \"%s\"",
              (unsigned long long)n, name);
    for (uint64_t i = 0; i < n; i++) {
        scales[i] = so[i].scale;
        offsets[i] = q->bits ? so[i].offset * so[i].scale : so[i].offset;
    }
    q->n = (uint32_t)n;
    q->scales = scales;
    q->float_offsets = offsets;
    return ST_OK;
}

/* Block scales of 4 bits expand weights of 4 bits to 8; in a type of 8 bits the upper half is not read, clients may leave it
 * empty. */
static bool expands_nibbles(const struct tensor_desc *d, const struct quant *q)
{
    return q->block_scale_bits == 4 && dtype_bits(d->type) == 8;
}

static enum status take_expansion(const Qnn_BlockwiseExpansion_t *e, const char *name, struct arena *a,
                                  const struct tensor_desc *d, struct quant *q)
{
    RETURN_IF(!e, ST_INVALID_TENSOR,
              "tensor \"%s\": the pointer to the blockwise expansion encoding is NULL; give the struct that "
              "quantizationEncoding names",
              name);
    uint32_t n;
    TRY(axis_size(d, e->axis, name, &n));
    q->kind = Q_EXPANSION;
    q->axis = e->axis;
    TRY(take_pairs((struct pairs){ e->scaleOffsets, n }, name, a, q));
    q->blocks_per_axis = e->numBlocksPerAxis;
    q->block_scale_storage = e->blockScaleStorageType == QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16 ? 16 : 8;
    /* Clients also say 0, and more bits than are stored: block scales are read as they are stored anyway. */
    bool fits = e->blockScaleBitwidth > 0 && e->blockScaleBitwidth <= q->block_scale_storage;
    q->block_scale_bits = fits ? (uint8_t)e->blockScaleBitwidth : q->block_scale_storage;
    if (!q->bits && expands_nibbles(d, q))
        q->bits = 4;
    RETURN_IF(!e->numBlocksPerAxis || !e->blocksScale8, ST_INVALID_TENSOR,
              "tensor \"%s\": the blockwise expansion encoding has %u blocks per axis and %s; at least one and its scale "
              "are expected",
              name, e->numBlocksPerAxis, e->blocksScale8 ? "scales" : "no block scales");
    uint64_t most = desc_count(d) / n; /* a block has an element at least */
    RETURN_IF(e->numBlocksPerAxis > most, ST_INVALID_TENSOR,
              "tensor \"%s\": the blockwise expansion encoding has %u blocks per axis; its shape has room for %llu", name,
              e->numBlocksPerAxis, (unsigned long long)most);
    q->block_scales = arena_dup(a, e->blocksScale8, (uint64_t)n * e->numBlocksPerAxis * q->block_scale_storage / 8);
    RETURN_IF(!q->block_scales, ST_NO_MEMORY, "no memory for the block scales of tensor \"%s\"", name);
    return ST_OK;
}

static enum status take_mapped_expansion(const Qnn_BwBlockwiseExpansionMapped_t *m, const char *name, struct arena *a,
                                         const struct tensor_desc *d, struct quant *q)
{
    RETURN_IF(!m, ST_INVALID_TENSOR,
              "tensor \"%s\": the pointer to the blockwise expansion encoding is NULL; give the struct that "
              "quantizationEncoding names",
              name);
    Qnn_BlockwiseExpansion_t e = { .axis = m->axis,
                                   .scaleOffsets = m->scaleOffsets,
                                   .numBlocksPerAxis = m->numBlocksPerAxis,
                                   .blockScaleBitwidth = m->blockScaleBitwidth,
                                   .blockScaleStorageType = m->blockScaleStorageType,
                                   .blocksScale8 = m->blocksScale8 };
    TRY(take_width(m->bitwidth, (uint32_t)m->mapping, name, q));
    return take_expansion(&e, name, a, d, q);
}

static enum status take_encoding(const Qnn_QuantizeParams_t *p, const char *name, struct arena *a,
                                 const struct tensor_desc *d, struct quant *q)
{
    switch (p->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
        *q = (struct quant){ .kind = Q_TENSOR,
                             .scale = p->scaleOffsetEncoding.scale,
                             .offset = p->scaleOffsetEncoding.offset };
        return ST_OK;
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        *q = (struct quant){ .kind = Q_TENSOR,
                             .scale = p->bwScaleOffsetEncoding.scale,
                             .offset = p->bwScaleOffsetEncoding.offset };
        return take_width(p->bwScaleOffsetEncoding.bitwidth, 0, name, q);
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
        return take_axis_pairs(&p->axisScaleOffsetEncoding, name, a, d, q);
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET: {
        const Qnn_BwAxisScaleOffset_t *e = &p->bwAxisScaleOffsetEncoding;
        TRY(take_width(e->bitwidth, 0, name, q));
        int32_t axis = fitting_axis(d, e->axis, e->numElements);
        TRY(axis_counts(d, axis, e->numElements, name));
        return take_axis(e->numElements, axis, e->scales, e->offsets, a, q);
    }
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED: {
        const Qnn_BwAxisScaleOffsetMapped_t *e = p->bwAxisScaleOffsetMappedEncoding;
        RETURN_IF(
            !e, ST_INVALID_TENSOR,
            "tensor \"%s\": the pointer to the mapped encoding is NULL; give the struct that quantizationEncoding names",
            name);
        TRY(take_width(e->bitwidth, (uint32_t)e->mapping, name, q));
        int32_t axis = fitting_axis(d, e->axis, e->numElements);
        TRY(axis_counts(d, axis, e->numElements, name));
        return take_axis(e->numElements, axis, e->scales, e->offsets, a, q);
    }
    case QNN_QUANTIZATION_ENCODING_BLOCK:
        return take_block(p->blockEncoding.blockSize, p->blockEncoding.scaleOffset, name, a, d, q);
    case QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED:
        RETURN_IF(
            !p->bwBlockMappedEncoding, ST_INVALID_TENSOR,
            "tensor \"%s\": the pointer to the mapped encoding is NULL; give the struct that quantizationEncoding names",
            name);
        TRY(take_width(p->bwBlockMappedEncoding->bitwidth, (uint32_t)p->bwBlockMappedEncoding->mapping, name, q));
        return take_block(p->bwBlockMappedEncoding->blockSize, p->bwBlockMappedEncoding->scaleOffset, name, a, d, q);
    case QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK:
        return take_float_block(p->floatBlockEncoding.blockSize, p->floatBlockEncoding.floatScaleOffset, name, a, d, q);
    case QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK:
        TRY(take_width(p->bwFloatBlockEncoding.bitwidth, 0, name, q));
        return take_float_block(p->bwFloatBlockEncoding.blockSize, p->bwFloatBlockEncoding.floatScaleOffset, name, a, d, q);
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION:
        return take_expansion(p->blockwiseExpansion, name, a, d, q);
    case QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED:
        return take_mapped_expansion(p->bwBlockwiseExpansionMappedEncoding, name, a, d, q);
    default:
        return status_fail(ST_UNSUPPORTED_TENSOR,
                           "tensor \"%s\" has quantization encoding %u; 0 to 5 and 7 to 11 are supported", name,
                           (unsigned)p->quantizationEncoding);
    }
}

static bool is_zeroed(const Qnn_QuantizeParams_t *p)
{
    return p->encodingDefinition == QNN_DEFINITION_IMPL_GENERATED &&
           p->quantizationEncoding == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET && p->scaleOffsetEncoding.scale == 0;
}

enum status quant_from_client(const Qnn_QuantizeParams_t *p, const char *name, struct arena *a, struct tensor_desc *d)
{
    struct quant *q = &d->q;
    *q = (struct quant){ .definition = DEF_UNDEFINED };
    if (!dtype_is_fixed(d->type))
        return ST_OK;
    if (p->encodingDefinition == QNN_DEFINITION_UNDEFINED ||
        p->quantizationEncoding == QNN_QUANTIZATION_ENCODING_UNDEFINED || is_zeroed(p)) {
        *q = (struct quant){ .kind = Q_TENSOR, .definition = DEF_UNDEFINED, .scale = dtype_bits(d->type) == 32 ? 0 : 1 };
        return ST_OK;
    }
    TRY(take_encoding(p, name, a, d, q));
    q->definition = p->encodingDefinition == QNN_DEFINITION_DEFINED ? DEF_DEFINED : DEF_GENERATED;
    return ST_OK;
}

/* ---- back to the client ----------------------------------------------------------------------------------------------- */

static Qnn_QuantizationEncodingMapping_t mapping_of(const struct quant *q)
{
    return (Qnn_QuantizationEncodingMapping_t)q->mapping;
}

static Qnn_ScaleOffset_t *give_pairs(const struct quant *q, struct arena *a)
{
    Qnn_ScaleOffset_t *so = arena_array(a, Qnn_ScaleOffset_t, q->n);
    for (uint32_t i = 0; so && i < q->n; i++)
        so[i] = (Qnn_ScaleOffset_t){ q->scales[i], q->offsets ? q->offsets[i] : 0 };
    return so;
}

static bool give_axis(const struct tensor_desc *d, struct arena *a, Qnn_QuantizeParams_t *p)
{
    const struct quant *q = &d->q;
    if (!q->bits && !q->mapping) {
        p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
        p->axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){ q->axis, q->n, give_pairs(q, a) };
        return p->axisScaleOffsetEncoding.scaleOffset;
    }
    float *scales = arena_dup(a, q->scales, q->n * sizeof(float));
    int32_t *offsets = q->offsets ? arena_dup(a, q->offsets, q->n * sizeof(int32_t)) : NULL;
    if (!scales || (q->offsets && !offsets))
        return false;
    if (!q->mapping) {
        p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET;
        p->bwAxisScaleOffsetEncoding = (Qnn_BwAxisScaleOffset_t){ q->bits, q->axis, q->n, scales, offsets };
        return true;
    }
    Qnn_BwAxisScaleOffsetMapped_t *m = arena_new(a, Qnn_BwAxisScaleOffsetMapped_t);
    if (m)
        *m = (Qnn_BwAxisScaleOffsetMapped_t){ quant_bits(q, d->type), q->axis, mapping_of(q), q->n, scales, offsets };
    p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED;
    p->bwAxisScaleOffsetMappedEncoding = m;
    return m;
}

/* The plain form has neither a bit width nor a mapping. */
static bool give_block(const struct tensor_desc *d, struct arena *a, Qnn_QuantizeParams_t *p)
{
    const struct quant *q = &d->q;
    uint32_t *sizes = arena_dup(a, q->block, d->rank * sizeof(uint32_t));
    Qnn_ScaleOffset_t *so = give_pairs(q, a);
    if (!sizes || !so)
        return false;
    if (!q->bits && !q->mapping) {
        p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCK;
        p->blockEncoding = (Qnn_BlockEncoding_t){ sizes, so };
        return true;
    }
    Qnn_BwBlockMapped_t *m = arena_new(a, Qnn_BwBlockMapped_t);
    if (m)
        *m = (Qnn_BwBlockMapped_t){ quant_bits(q, d->type), mapping_of(q), sizes, so };
    p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED;
    p->bwBlockMappedEncoding = m;
    return m;
}

static bool give_float_block(const struct tensor_desc *d, struct arena *a, Qnn_QuantizeParams_t *p)
{
    uint32_t *sizes = arena_dup(a, d->q.block, d->rank * sizeof(uint32_t));
    Qnn_FloatScaleOffset_t *so = arena_array(a, Qnn_FloatScaleOffset_t, d->q.n);
    for (uint32_t i = 0; so && i < d->q.n; i++) {
        float offset = d->q.float_offsets ? d->q.float_offsets[i] : 0;
        so[i] = (Qnn_FloatScaleOffset_t){ d->q.scales[i], d->q.bits ? offset / d->q.scales[i] : offset };
    }
    p->quantizationEncoding = d->q.bits ? QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK : QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK;
    if (d->q.bits)
        p->bwFloatBlockEncoding = (Qnn_BwFloatBlockEncoding_t){ d->q.bits, sizes, so };
    else
        p->floatBlockEncoding = (Qnn_FloatBlockEncoding_t){ sizes, so };
    return sizes && so;
}

static bool give_mapped_expansion(const struct tensor_desc *d, const Qnn_BlockwiseExpansion_t *e, struct arena *a,
                                  Qnn_QuantizeParams_t *p)
{
    Qnn_BwBlockwiseExpansionMapped_t *m = arena_new(a, Qnn_BwBlockwiseExpansionMapped_t);
    if (m)
        *m = (Qnn_BwBlockwiseExpansionMapped_t){ .bitwidth = quant_bits(&d->q, d->type),
                                                 .mapping = mapping_of(&d->q),
                                                 .axis = e->axis,
                                                 .scaleOffsets = e->scaleOffsets,
                                                 .numBlocksPerAxis = e->numBlocksPerAxis,
                                                 .blockScaleBitwidth = e->blockScaleBitwidth,
                                                 .blockScaleStorageType = e->blockScaleStorageType,
                                                 .blocksScale8 = e->blocksScale8 };
    p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED;
    p->bwBlockwiseExpansionMappedEncoding = m;
    return m;
}

static bool give_expansion(const struct tensor_desc *d, struct arena *a, Qnn_QuantizeParams_t *p)
{
    const struct quant *q = &d->q;
    Qnn_BlockwiseExpansion_t *e = arena_new(a, Qnn_BlockwiseExpansion_t);
    if (!e)
        return false;
    bool wide = q->block_scale_storage == 16;
    *e = (Qnn_BlockwiseExpansion_t){
        .axis = q->axis,
        .scaleOffsets = give_pairs(q, a),
        .numBlocksPerAxis = q->blocks_per_axis,
        .blockScaleBitwidth = q->block_scale_bits,
        .blockScaleStorageType =
            wide ? QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16 : QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8,
        .blocksScale8 = arena_dup(a, q->block_scales, (uint64_t)q->n * q->blocks_per_axis * (wide ? 2 : 1)),
    };
    if (!e->scaleOffsets || !e->blocksScale8)
        return false;
    if (q->mapping || (q->bits && !(q->bits == 4 && expands_nibbles(d, q))))
        return give_mapped_expansion(d, e, a, p);
    p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION;
    p->blockwiseExpansion = e;
    return true;
}

static bool give_tensor(const struct tensor_desc *d, struct arena *a, Qnn_QuantizeParams_t *p)
{
    (void)a;
    const struct quant *q = &d->q;
    p->quantizationEncoding = q->bits ? QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET : QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    if (q->bits)
        p->bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){ q->bits, q->scale, q->offset };
    else
        p->scaleOffsetEncoding = (Qnn_ScaleOffset_t){ q->scale, q->offset };
    return true;
}

static bool (*const give[QUANT_KIND_COUNT])(const struct tensor_desc *d, struct arena *a, Qnn_QuantizeParams_t *p) = {
    [Q_TENSOR] = give_tensor,  [Q_AXIS] = give_axis,
    [Q_BLOCK] = give_block,    [Q_FLOAT_BLOCK] = give_float_block,
    [Q_EXPANSION] = give_expansion,
};

enum status quant_to_client(const struct tensor_desc *d, struct arena *a, Qnn_QuantizeParams_t *ret)
{
    const struct quant *q = &d->q;
    *ret = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    if (q->kind == Q_NONE || q->definition == DEF_UNDEFINED)
        return ST_OK;
    ret->encodingDefinition = q->definition == DEF_DEFINED ? QNN_DEFINITION_DEFINED : QNN_DEFINITION_IMPL_GENERATED;
    RETURN_IF(q->kind >= QUANT_KIND_COUNT || !give[q->kind], ST_UNSUPPORTED_TENSOR,
              "an encoding of kind %u cannot be described to a client", q->kind);
    RETURN_IF(!give[q->kind](d, a, ret), ST_NO_MEMORY, "no memory to describe an encoding with %u scales", q->n);
    return ST_OK;
}
