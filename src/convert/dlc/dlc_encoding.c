/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings and tensor types between our descriptors and the tables of a DLC.
 *
 * Plain per-tensor and per-channel encodings go into NETD. Everything else (blocks, mappings, dynamic dimensions, undefined
 * encodings) is repeated whole in OQNX, which then counts. */
#include <math.h>
#include <string.h>

#include "convert/dlc/dlc.h"

enum { DEFINED = 1, UNDEFINED = 2 };
enum {
    ENCODING_SCALE_OFFSET = 0,
    ENCODING_AXIS = 1,
    ENCODING_BW_SCALE_OFFSET = 2,
    ENCODING_BW_AXIS = 3
}; /* the client's numbers */

/* By the client's tensor type number. */
static const struct {
    enum ir_role role;
    bool updateable, optional;
} types[] = {
    { IR_INPUT, false, false }, { IR_OUTPUT, false, false }, { IR_INOUT, false, false }, { IR_NATIVE, false, false },
    { IR_CONST, false, false }, { IR_ABSENT, false, false }, { IR_CONST, true, false },  { IR_NATIVE, true, false },
    { IR_INPUT, true, false },  { IR_OUTPUT, true, false },  { IR_INOUT, true, false },  { IR_INPUT, false, true },
    { IR_OUTPUT, false, true }, { IR_INOUT, false, true },
};
enum { N_TYPES = sizeof types / sizeof types[0] };

bool dlc_type_from_role(const struct ir_tensor *t, uint32_t *ret)
{
    for (*ret = 0; *ret < N_TYPES; ++*ret)
        if (types[*ret].role == t->role && types[*ret].updateable == t->updateable && types[*ret].optional == t->optional)
            return true;
    return false;
}

bool dlc_type_to_role(uint32_t type, struct ir_tensor *ret)
{
    if (type >= N_TYPES)
        return false;
    ret->role = (uint8_t)types[type].role;
    ret->updateable = types[type].updateable;
    ret->optional = types[type].optional;
    return true;
}

enum dtype dlc_dtype(uint32_t number)
{
    for (enum dtype t = DT_NONE + 1; t < DT_COUNT; t++)
        if (convert_dtype_number(t) == number)
            return t;
    return DT_NONE;
}

/* ---- NETD ------------------------------------------------------------------------------------------------------------- */

static bool is_plain(const struct quant *q)
{
    return (q->kind == Q_TENSOR || q->kind == Q_AXIS) && q->definition == DEFINED && !q->mapping;
}

/* What a fixed-point tensor has when nothing is said. */
static struct quant unsaid(enum dtype t)
{
    return (struct quant){ .kind = Q_TENSOR, .definition = UNDEFINED, .scale = dtype_bits(t) == 32 ? 0 : 1 };
}

static bool is_unsaid(const struct tensor_desc *d)
{
    struct quant none = unsaid(d->type);
    return d->q.definition == UNDEFINED && quant_same(&d->q, &none);
}

bool dlc_needs_extra(const struct tensor_desc *d)
{
    return d->dynamic || d->format || (dtype_is_fixed(d->type) && !is_plain(&d->q) && !is_unsaid(d));
}

static uint32_t put_range(struct fbw *w, const struct tensor_desc *d, uint32_t i)
{
    unsigned bits = quant_bits(&d->q, d->type);
    double lo = dtype_is_signed(d->type) ? -ldexp(1, (int)bits - 1) : 0, hi = lo + ldexp(1, (int)bits) - 1;
    double scale = quant_scale(&d->q, i), offset = quant_offset(&d->q, i);
    fbw_begin(w);
    fbw_i32(w, DLC_RANGE_OFFSET, quant_offset(&d->q, i), 0);
    fbw_f32(w, DLC_RANGE_SCALE, quant_scale(&d->q, i));
    fbw_f32(w, DLC_RANGE_MAX, (float)(scale * (hi + offset)));
    fbw_f32(w, DLC_RANGE_MIN, (float)(scale * (lo + offset)));
    fbw_i32(w, DLC_RANGE_BITS, (int32_t)bits, 0);
    return fbw_end(w);
}

static uint32_t put_axis(struct fbw *w, const struct tensor_desc *d)
{
    uint32_t *ranges = mem_alloc_array(d->q.n, sizeof(uint32_t));
    w->failed |= !ranges;
    for (uint32_t i = 0; ranges && i < d->q.n; i++)
        ranges[i] = put_range(w, d, i);
    uint32_t list = ranges ? fbw_refs(w, ranges, d->q.n) : 0;
    mem_free(ranges);
    fbw_begin(w);
    fbw_ref(w, DLC_AXIS_RANGES, list);
    fbw_i32(w, DLC_AXIS_AXIS, d->q.axis, 0);
    return fbw_end(w);
}

uint32_t dlc_put_info(struct fbw *w, const struct tensor_desc *d)
{
    if (!dtype_is_fixed(d->type) || !is_plain(&d->q))
        return 0;
    bool axis = d->q.kind == Q_AXIS;
    uint32_t at = axis ? put_axis(w, d) : put_range(w, d, 0);
    int32_t encoding = d->q.bits ? (axis ? ENCODING_BW_AXIS : ENCODING_BW_SCALE_OFFSET)
                       : axis    ? ENCODING_AXIS
                                 : ENCODING_SCALE_OFFSET;
    fbw_begin(w);
    fbw_ref(w, axis ? DLC_INFO_AXIS : DLC_INFO_TENSOR, at);
    fbw_i32(w, DLC_INFO_ENCODING, encoding, 0);
    fbw_u8(w, DLC_INFO_DEFINED, DEFINED, 0);
    return fbw_end(w);
}

/* The bit width of one range; 0 when it is the type's own and not said on purpose. */
static enum status get_bits(struct fb_table range, int32_t encoding, const char *name, const struct tensor_desc *d,
                            uint8_t *ret)
{
    int64_t width = dtype_bits(d->type), bits = fb_int(range, DLC_RANGE_BITS, 4, width);
    RETURN_IF(bits < 1 || bits > width, ST_BAD_BINARY,
              "tensor \"%s\": the encoding's field \"bit width\" is %lld; its type %s has %lld bits", name, (long long)bits,
              dtype_name(d->type), (long long)width);
    bool said = encoding == ENCODING_BW_SCALE_OFFSET || encoding == ENCODING_BW_AXIS;
    *ret = bits == width && !said ? 0 : (uint8_t)bits;
    return ST_OK;
}

static enum status get_axis(struct fb_table axis, int32_t encoding, const char *name, struct arena *a, struct tensor_desc *d)
{
    struct fb_vec ranges = fb_vector(axis, DLC_AXIS_RANGES, 4);
    RETURN_IF(!ranges.n, ST_BAD_BINARY, "tensor \"%s\": the per-channel encoding has no field \"list of channels\"", name);
    float *scales = arena_array(a, float, ranges.n);
    int32_t *offsets = arena_array(a, int32_t, ranges.n);
    RETURN_IF(!scales || !offsets, ST_NO_MEMORY, "no memory for %u scales of tensor \"%s\"", ranges.n, name);
    bool any = false;
    d->q = (struct quant){ .kind = Q_AXIS,
                           .definition = DEFINED,
                           .axis = (int32_t)fb_int(axis, DLC_AXIS_AXIS, 4, 0),
                           .n = ranges.n,
                           .scales = scales };
    for (uint32_t i = 0; i < ranges.n; i++) {
        struct fb_table range = fb_at_table(ranges, i);
        scales[i] = fb_float(range, DLC_RANGE_SCALE, 0);
        offsets[i] = (int32_t)fb_int(range, DLC_RANGE_OFFSET, 4, 0);
        any |= offsets[i] != 0;
        if (i == 0)
            TRY(get_bits(range, encoding, name, d, &d->q.bits));
    }
    d->q.offsets = any ? offsets : NULL;
    return ST_OK;
}

enum status dlc_get_info(struct fb_table tensor, const char *name, struct arena *a, struct tensor_desc *d)
{
    if (!dtype_is_fixed(d->type))
        return ST_OK;
    struct fb_table info = fb_sub(tensor, DLC_TENSOR_INFO), range = fb_sub(info, DLC_INFO_TENSOR),
                    axis = fb_sub(info, DLC_INFO_AXIS);
    int32_t encoding = (int32_t)fb_int(info, DLC_INFO_ENCODING, 4, 0);
    d->q = unsaid(d->type);
    if (axis.b && (fb_has(axis, DLC_AXIS_RANGES) || !range.b))
        return get_axis(axis, encoding, name, a, d);
    if (!range.b)
        return ST_OK;
    RETURN_IF(!fb_has(range, DLC_RANGE_SCALE) && d->type != DT_SQ32, ST_BAD_BINARY,
              "tensor \"%s\": the encoding has no field \"scale\"", name);
    uint8_t bits;
    TRY(get_bits(range, encoding, name, d, &bits));
    d->q = (struct quant){ .kind = Q_TENSOR,
                           .definition = DEFINED,
                           .bits = bits,
                           .scale = fb_float(range, DLC_RANGE_SCALE, 0),
                           .offset = (int32_t)fb_int(range, DLC_RANGE_OFFSET, 4, 0) };
    return ST_OK;
}

/* ---- OQNX ------------------------------------------------------------------------------------------------------------- */

static uint64_t block_scale_bytes(const struct quant *q)
{
    return (uint64_t)q->n * q->blocks_per_axis * (q->block_scale_storage / 8);
}

uint32_t dlc_put_extra(struct fbw *w, const struct ir_tensor *t)
{
    const struct tensor_desc *d = &t->desc;
    const struct quant *q = &d->q;
    bool expansion = q->kind == Q_EXPANSION, block = q->kind == Q_BLOCK || q->kind == Q_FLOAT_BLOCK;
    uint32_t numbers[] = { q->blocks_per_axis, q->block_scale_bits, q->block_scale_storage };
    uint32_t name = fbw_string(w, t->name), scales = q->scales ? fbw_words(w, q->scales, q->n) : 0,
             offsets = q->offsets ? fbw_words(w, q->offsets, q->n) : 0,
             floats = q->float_offsets ? fbw_words(w, q->float_offsets, q->n) : 0,
             blocks = block ? fbw_words(w, q->block, d->rank) : 0, shape = expansion ? fbw_words(w, numbers, 3) : 0,
             block_scales = expansion ? fbw_bytes(w, q->block_scales, block_scale_bytes(q)) : 0;
    fbw_begin(w);
    fbw_ref(w, EXTRA_BLOCK_SCALES, block_scales);
    fbw_ref(w, EXTRA_EXPANSION, shape);
    fbw_ref(w, EXTRA_BLOCK, blocks);
    fbw_ref(w, EXTRA_FLOAT_OFFSETS, floats);
    fbw_ref(w, EXTRA_OFFSETS, offsets);
    fbw_ref(w, EXTRA_SCALES, scales);
    fbw_i32(w, EXTRA_OFFSET, q->offset, 0);
    fbw_f32(w, EXTRA_SCALE, q->scale);
    fbw_i32(w, EXTRA_AXIS, q->axis, 0);
    fbw_i32(w, EXTRA_FORMAT, d->format, 0);
    fbw_u8(w, EXTRA_MAPPING, q->mapping, 0);
    fbw_u8(w, EXTRA_BITS, q->bits, 0);
    fbw_u8(w, EXTRA_DEFINITION, q->definition, 0);
    fbw_u8(w, EXTRA_KIND, q->kind, 0);
    fbw_u8(w, EXTRA_DYNAMIC, d->dynamic, 0);
    fbw_ref(w, EXTRA_NAME, name);
    return fbw_end(w);
}

/* A list of 32-bit numbers copied into the arena, so that it is aligned; NULL when it is absent. */
static enum status get_words(struct fb_table t, unsigned field, uint32_t want, const char *name, struct arena *a,
                             const void **ret)
{
    struct fb_vec v = fb_vector(t, field, 4);
    *ret = NULL;
    if (!v.n)
        return ST_OK;
    RETURN_IF(v.n != want, ST_BAD_BINARY, "tensor \"%s\": list %u of its encoding in %s has %u entries; %u are expected",
              name, field, DLC_EXTRA, v.n, want);
    *ret = arena_dup(a, fb_bytes(v), 4 * (size_t)v.n);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for the encoding of tensor \"%s\"", name);
    return ST_OK;
}

static enum status get_expansion(struct fb_table t, const char *name, struct arena *a, struct quant *q)
{
    const uint32_t *numbers;
    TRY(get_words(t, EXTRA_EXPANSION, 3, name, a, (const void **)&numbers));
    struct fb_vec v = fb_vector(t, EXTRA_BLOCK_SCALES, 1);
    RETURN_IF(!numbers || !v.n, ST_BAD_BINARY, "tensor \"%s\": a block expansion without block scales in %s", name,
              DLC_EXTRA);
    q->blocks_per_axis = numbers[0];
    q->block_scale_bits = (uint8_t)numbers[1];
    q->block_scale_storage = (uint8_t)numbers[2];
    uint64_t want = block_scale_bytes(q);
    RETURN_IF(v.n != want || !fb_charge(v.b, v.n), ST_BAD_BINARY,
              "tensor \"%s\": %u bytes of block scales in %s; %llu are expected", name, v.n, DLC_EXTRA,
              (unsigned long long)want);
    q->block_scales = arena_dup(a, fb_bytes(v), v.n);
    RETURN_IF(!q->block_scales, ST_NO_MEMORY, "no memory for the encoding of tensor \"%s\"", name);
    return ST_OK;
}

enum status dlc_get_extra(struct fb_table t, const char *name, struct arena *a, struct tensor_desc *d)
{
    const uint32_t *block;
    struct quant q = {
        .kind = (uint8_t)fb_int(t, EXTRA_KIND, 1, 0),
        .definition = (uint8_t)fb_int(t, EXTRA_DEFINITION, 1, 0),
        .bits = (uint8_t)fb_int(t, EXTRA_BITS, 1, 0),
        .mapping = (uint8_t)fb_int(t, EXTRA_MAPPING, 1, 0),
        .axis = (int32_t)fb_int(t, EXTRA_AXIS, 4, 0),
        .scale = fb_float(t, EXTRA_SCALE, 0),
        .offset = (int32_t)fb_int(t, EXTRA_OFFSET, 4, 0),
        .n = fb_vector(t, EXTRA_SCALES, 4).n,
    };
    d->dynamic = (uint8_t)(fb_int(t, EXTRA_DYNAMIC, 1, 0) & ((1 << d->rank) - 1));
    d->format = (uint16_t)fb_int(t, EXTRA_FORMAT, 4, 0);
    if (!dtype_is_fixed(d->type))
        return ST_OK;
    RETURN_IF(q.kind >= QUANT_KIND_COUNT || q.kind == Q_VECTOR || q.definition > UNDEFINED, ST_BAD_BINARY,
              "tensor \"%s\" has encoding %u, definition %u in %s, which is not known", name, q.kind, q.definition,
              DLC_EXTRA);
    TRY(get_words(t, EXTRA_SCALES, q.n, name, a, (const void **)&q.scales));
    TRY(get_words(t, EXTRA_OFFSETS, q.n, name, a, (const void **)&q.offsets));
    TRY(get_words(t, EXTRA_FLOAT_OFFSETS, q.n, name, a, (const void **)&q.float_offsets));
    TRY(get_words(t, EXTRA_BLOCK, d->rank, name, a, (const void **)&block));
    if (block)
        memcpy(q.block, block, d->rank * sizeof(uint32_t));
    if (q.kind == Q_EXPANSION)
        TRY(get_expansion(t, name, a, &q));
    d->q = q;
    return ST_OK;
}
