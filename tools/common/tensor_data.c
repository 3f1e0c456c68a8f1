/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between the type of a graph tensor and float32; see tensor_data.h. Written from the definition of the
 * encodings, element by element: a tool converts each number once, and shares no code with the kernels it is used
 * to check. */
#include "common/tensor_data.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/tensor_text.h"

/* One way to look at all encodings that have a scale per tensor or per index of an axis. */
struct coding {
    const struct tensor_type *type;
    uint32_t width;        /* bits that count */
    uint64_t inner, count; /* scale index = element / inner % count */
    const Qnn_ScaleOffset_t *pairs;
    const float *scales;    /* when pairs is NULL */
    const int32_t *offsets; /* NULL: 0 */
    Qnn_ScaleOffset_t one;
    bool fixed;
};

static uint64_t inner_of(const Qnn_Tensor_t *t, int32_t axis)
{
    uint64_t n = 1;
    for (uint32_t i = (uint32_t)axis + 1; i < t->v1.rank; i++)
        n *= t->v1.dimensions[i];
    return n;
}

static struct coding coding_of(const Qnn_Tensor_t *t)
{
    const Qnn_QuantizeParams_t *q = &t->v1.quantizeParams;
    struct coding c = { .type = tensor_type(t->v1.dataType), .inner = 1, .count = 1, .one = { 1.0f, 0 } };
    c.width = c.type->bits;
    c.fixed =
        (c.type->kind == CLASS_SFIXED || c.type->kind == CLASS_UFIXED) && q->encodingDefinition == QNN_DEFINITION_DEFINED;
    if (!c.fixed)
        return c;
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET: c.one = q->scaleOffsetEncoding; break;
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        c.one = (Qnn_ScaleOffset_t){ q->bwScaleOffsetEncoding.scale, q->bwScaleOffsetEncoding.offset };
        c.width = q->bwScaleOffsetEncoding.bitwidth;
        break;
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
        c.pairs = q->axisScaleOffsetEncoding.scaleOffset;
        c.count = q->axisScaleOffsetEncoding.numScaleOffsets;
        c.inner = inner_of(t, q->axisScaleOffsetEncoding.axis);
        break;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
        c.scales = q->bwAxisScaleOffsetEncoding.scales;
        c.offsets = q->bwAxisScaleOffsetEncoding.offsets;
        c.count = q->bwAxisScaleOffsetEncoding.numElements;
        c.inner = inner_of(t, q->bwAxisScaleOffsetEncoding.axis);
        c.width = q->bwAxisScaleOffsetEncoding.bitwidth;
        break;
    default: break;
    }
    return c;
}

static Qnn_ScaleOffset_t pair_at(const struct coding *c, uint64_t element)
{
    uint64_t i = element / c->inner % c->count;
    if (c->pairs)
        return c->pairs[i];
    if (c->scales)
        return (Qnn_ScaleOffset_t){ c->scales[i], c->offsets ? c->offsets[i] : 0 };
    return c->one;
}

static bool is_signed(const struct coding *c)
{
    return c->type->kind == CLASS_INT || c->type->kind == CLASS_SFIXED;
}

/* ---- bits ------------------------------------------------------------------------------------------------------------ */

static uint64_t load_bits(const void *from, uint64_t i, uint32_t bits)
{
    const uint8_t *p = from;
    if (bits < 8)
        return (uint64_t)p[i * bits / 8] >> (i * bits % 8) & ((1u << bits) - 1);
    uint64_t v = 0;
    memcpy(&v, p + i * (bits / 8), bits / 8); /* little-endian host */
    return v;
}

static void store_bits(void *to, uint64_t i, uint32_t bits, uint64_t v)
{
    uint8_t *p = to;
    if (bits < 8) {
        uint32_t shift = (uint32_t)(i * bits % 8), mask = ((1u << bits) - 1) << shift;
        p[i * bits / 8] = (uint8_t)((p[i * bits / 8] & ~mask) | ((uint32_t)v << shift & mask));
        return;
    }
    memcpy(p + i * (bits / 8), &v, bits / 8);
}

static int64_t extend(uint64_t v, uint32_t width, bool sign)
{
    if (width >= 64)
        return (int64_t)v;
    v &= (1ull << width) - 1;
    return sign && v >> (width - 1) ? (int64_t)(v | ~0ull << width) : (int64_t)v;
}

/* ---- floats ---------------------------------------------------------------------------------------------------------- */

static float from_half(uint16_t h)
{
    uint32_t exponent = h >> 10 & 31, mantissa = h & 1023u;
    double magnitude = exponent == 0    ? ldexp(mantissa, -24)
                       : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                        : ldexp(mantissa + 1024u, (int)exponent - 25);
    return (float)(h >> 15 ? -magnitude : magnitude);
}

static uint16_t to_half(float x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double a = fabs((double)x);
    if (isnan(x))
        return 0x7e00;
    if (a >= 65520)
        return sign | 0x7c00;
    int e;
    frexp(a, &e); /* a = f * 2^e, f in [0.5, 1) */
    int step = a == 0 || e - 11 < -24 ? -24 : e - 11;
    uint32_t units = (uint32_t)nearbyint(ldexp(a, -step)); /* at most 2048, which carries into the exponent */
    return sign | (uint16_t)(units + (uint32_t)(step + 24) * 1024u);
}

static uint16_t to_bfloat(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof(u));
    if (isnan(x))
        return 0x7fc0;
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static float float_at(const struct tensor_type *type, const void *native, uint64_t i)
{
    uint64_t v = load_bits(native, i, type->bits);
    float f;
    double d;
    if (type->type == QNN_DATATYPE_FLOAT_16)
        return from_half((uint16_t)v);
    if (type->type == QNN_DATATYPE_FLOAT_64) {
        memcpy(&d, &v, sizeof(d));
        return (float)d;
    }
    uint32_t u = type->type == QNN_DATATYPE_BFLOAT_16 ? (uint32_t)v << 16 : (uint32_t)v;
    memcpy(&f, &u, sizeof(f));
    return f;
}

static uint64_t float_bits(const struct tensor_type *type, float x)
{
    uint64_t v = 0;
    double d = x;
    if (type->type == QNN_DATATYPE_FLOAT_16)
        return to_half(x);
    if (type->type == QNN_DATATYPE_BFLOAT_16)
        return to_bfloat(x);
    if (type->type == QNN_DATATYPE_FLOAT_64)
        memcpy(&v, &d, sizeof(d));
    else
        memcpy(&v, &x, sizeof(x));
    return v;
}

/* ---- integers -------------------------------------------------------------------------------------------------------- */

static uint64_t saturate(const struct coding *c, double x)
{
    bool sign = is_signed(c);
    double low = sign ? -ldexp(1, (int)c->width - 1) : 0, high = ldexp(1, (int)c->width - (sign ? 1 : 0));
    if (isnan(x))
        return 0;
    if (x <= low)
        return sign ? (uint64_t)(int64_t)low : 0;
    if (x >= high)
        return sign ? (1ull << (c->width - 1)) - 1 : c->width == 64 ? UINT64_MAX : (1ull << c->width) - 1;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static uint64_t quantize(const struct coding *c, float x, uint64_t element)
{
    Qnn_ScaleOffset_t p = pair_at(c, element);
    float steps = isnan(x) ? 0.0f : x / p.scale;
    return saturate(c, (double)nearbyintf(steps) - p.offset);
}

void tensor_to_float(const Qnn_Tensor_t *t, const void *native, uint64_t first, uint64_t n, float *to)
{
    struct coding c = coding_of(t);
    for (uint64_t i = 0; i < n; i++) {
        if (c.type->kind == CLASS_FLOAT) {
            to[i] = float_at(c.type, native, i);
            continue;
        }
        uint64_t bits = load_bits(native, i, c.type->bits);
        int64_t v = extend(bits, c.width, is_signed(&c));
        Qnn_ScaleOffset_t p = pair_at(&c, first + i);
        to[i] = c.type->kind == CLASS_BOOL   ? v != 0
                : c.fixed                    ? (float)(v + p.offset) * p.scale
                : c.type->kind == CLASS_UINT ? (float)bits
                                             : (float)v;
    }
}

void tensor_from_float(const Qnn_Tensor_t *t, const float *from, uint64_t first, uint64_t n, void *native)
{
    struct coding c = coding_of(t);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = c.type->kind == CLASS_FLOAT  ? float_bits(c.type, from[i])
                     : c.type->kind == CLASS_BOOL ? from[i] != 0
                     : c.fixed                    ? quantize(&c, from[i], first + i)
                                                  : saturate(&c, (double)from[i]);
        store_bits(native, i, c.type->bits, v);
    }
}

enum status tensor_convertible(const Qnn_Tensor_t *t)
{
    const struct tensor_type *type = tensor_type(t->v1.dataType);
    const Qnn_QuantizeParams_t *q = &t->v1.quantizeParams;
    const char *name = t->v1.name ? t->v1.name : "";
    RETURN_IF(type->kind == CLASS_NONE, ST_UNSUPPORTED_TENSOR,
              "tensor \"%s\": %s cannot be converted to and from float32; use native "
              "files for it",
              name, type->name);
    bool fixed = type->kind == CLASS_SFIXED || type->kind == CLASS_UFIXED;
    if (!fixed || q->encodingDefinition != QNN_DEFINITION_DEFINED)
        return ST_OK;
    RETURN_IF((uint32_t)q->quantizationEncoding > QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET, ST_UNSUPPORTED_TENSOR,
              "tensor \"%s\": encoding %s cannot be converted to and from float32; use native files for it", name,
              tensor_encoding_name(q->quantizationEncoding));
    struct coding c = coding_of(t);
    RETURN_IF(!c.count || !c.inner || !c.width || c.width > type->bits || !(pair_at(&c, 0).scale > 0), ST_INVALID_TENSOR,
              "tensor \"%s\": its encoding has no usable scale", name);
    return ST_OK;
}
