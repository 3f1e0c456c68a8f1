/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sizes of tensors; see tensor_text.h. */
#include "common/tensor_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define TYPE(x, brief, kind, bits)                              \
    {                                                           \
        QNN_DATATYPE_##x, "QNN_DATATYPE_" #x, brief, kind, bits \
    }
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct tensor_type types[] = {
    TYPE(INT_2, "i2", CLASS_INT, 2),
    TYPE(INT_4, "i4", CLASS_INT, 4),
    TYPE(INT_8, "i8", CLASS_INT, 8),
    TYPE(INT_16, "i16", CLASS_INT, 16),
    TYPE(INT_32, "i32", CLASS_INT, 32),
    TYPE(INT_64, "i64", CLASS_INT, 64),
    TYPE(UINT_2, "u2", CLASS_UINT, 2),
    TYPE(UINT_4, "u4", CLASS_UINT, 4),
    TYPE(UINT_8, "u8", CLASS_UINT, 8),
    TYPE(UINT_16, "u16", CLASS_UINT, 16),
    TYPE(UINT_32, "u32", CLASS_UINT, 32),
    TYPE(UINT_64, "u64", CLASS_UINT, 64),
    TYPE(FLOAT_4, "f4", CLASS_NONE, 4),
    TYPE(FLOAT_8, "f8", CLASS_NONE, 8),
    TYPE(FLOAT_16, "f16", CLASS_FLOAT, 16),
    TYPE(BFLOAT_16, "bf16", CLASS_FLOAT, 16),
    TYPE(FLOAT_32, "f32", CLASS_FLOAT, 32),
    TYPE(FLOAT_64, "f64", CLASS_FLOAT, 64),
    TYPE(SFIXED_POINT_2, "sq2", CLASS_SFIXED, 2),
    TYPE(SFIXED_POINT_4, "sq4", CLASS_SFIXED, 4),
    TYPE(SFIXED_POINT_8, "sq8", CLASS_SFIXED, 8),
    TYPE(SFIXED_POINT_16, "sq16", CLASS_SFIXED, 16),
    TYPE(SFIXED_POINT_32, "sq32", CLASS_SFIXED, 32),
    TYPE(UFIXED_POINT_2, "uq2", CLASS_UFIXED, 2),
    TYPE(UFIXED_POINT_4, "uq4", CLASS_UFIXED, 4),
    TYPE(UFIXED_POINT_8, "uq8", CLASS_UFIXED, 8),
    TYPE(UFIXED_POINT_16, "uq16", CLASS_UFIXED, 16),
    TYPE(UFIXED_POINT_32, "uq32", CLASS_UFIXED, 32),
    TYPE(BOOL_8, "bool8", CLASS_BOOL, 8),
    { QNN_DATATYPE_UNDEFINED, "QNN_DATATYPE_UNDEFINED", "undefined", CLASS_NONE, 0 },
};

#define NAMED(x) [x] = #x
static const char *const kinds[] = {
    NAMED(QNN_TENSOR_TYPE_APP_WRITE),
    NAMED(QNN_TENSOR_TYPE_APP_READ),
    NAMED(QNN_TENSOR_TYPE_APP_READWRITE),
    NAMED(QNN_TENSOR_TYPE_NATIVE),
    NAMED(QNN_TENSOR_TYPE_STATIC),
    NAMED(QNN_TENSOR_TYPE_NULL),
    NAMED(QNN_TENSOR_TYPE_UPDATEABLE_STATIC),
    NAMED(QNN_TENSOR_TYPE_UPDATEABLE_NATIVE),
    NAMED(QNN_TENSOR_TYPE_UPDATEABLE_APP_WRITE),
    NAMED(QNN_TENSOR_TYPE_UPDATEABLE_APP_READ),
    NAMED(QNN_TENSOR_TYPE_UPDATEABLE_APP_READWRITE),
    NAMED(QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE),
    NAMED(QNN_TENSOR_TYPE_OPTIONAL_APP_READ),
    NAMED(QNN_TENSOR_TYPE_OPTIONAL_APP_READWRITE),
};
static const char *const encodings[] = {
    NAMED(QNN_QUANTIZATION_ENCODING_SCALE_OFFSET),
    NAMED(QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET),
    NAMED(QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET),
    NAMED(QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET),
    NAMED(QNN_QUANTIZATION_ENCODING_BLOCK),
    NAMED(QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION),
    NAMED(QNN_QUANTIZATION_ENCODING_VECTOR),
    NAMED(QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK),
    NAMED(QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED),
    NAMED(QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED),
    NAMED(QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED),
    NAMED(QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK),
    NAMED(QNN_QUANTIZATION_ENCODING_MICROSCALING),
    NAMED(QNN_QUANTIZATION_ENCODING_ARRAY_OF),
};
static const char *const definitions[] = { NAMED(QNN_DEFINITION_IMPL_GENERATED), NAMED(QNN_DEFINITION_DEFINED) };
static const char *const formats[] = {
    NAMED(QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER),   NAMED(QNN_TENSOR_DATA_FORMAT_SPARSE),
    NAMED(QNN_TENSOR_DATA_FORMAT_CODEBOOK),      NAMED(QNN_TENSOR_DATA_FORMAT_MX),
    NAMED(QNN_TENSOR_DATA_FORMAT_UBWC_RGBA8888), NAMED(QNN_TENSOR_DATA_FORMAT_UBWC_NV12),
    NAMED(QNN_TENSOR_DATA_FORMAT_UBWC_NV12_Y),   NAMED(QNN_TENSOR_DATA_FORMAT_UBWC_NV12_UV),
};
static const char *const memories[] = {
    NAMED(QNN_TENSORMEMTYPE_RAW),
    NAMED(QNN_TENSORMEMTYPE_MEMHANDLE),
    NAMED(QNN_TENSORMEMTYPE_RETRIEVE_RAW),
};

static const char *name_of(const char *const *names, size_t n, uint32_t value, const char *otherwise)
{
    return value < n && names[value] ? names[value] : otherwise;
}

const struct tensor_type *tensor_type(Qnn_DataType_t type)
{
    size_t i = 0;
    while (i < COUNT(types) - 1 && types[i].type != type)
        i++;
    return &types[i];
}

const char *tensor_kind_name(Qnn_TensorType_t type)
{
    return name_of(kinds, COUNT(kinds), type, "QNN_TENSOR_TYPE_UNDEFINED");
}

const char *tensor_encoding_name(Qnn_QuantizationEncoding_t encoding)
{
    return name_of(encodings, COUNT(encodings), encoding, "QNN_QUANTIZATION_ENCODING_UNDEFINED");
}

const char *tensor_definition_name(Qnn_Definition_t definition)
{
    return name_of(definitions, COUNT(definitions), definition, "QNN_DEFINITION_UNDEFINED");
}

const char *tensor_format_name(Qnn_TensorDataFormat_t format)
{
    return name_of(formats, COUNT(formats), format, "unknown");
}

const char *tensor_memory_name(Qnn_TensorMemType_t type)
{
    return name_of(memories, COUNT(memories), type, "QNN_TENSORMEMTYPE_UNDEFINED");
}

enum status tensor_sizes(const Qnn_Tensor_t *t, uint64_t *elements, uint64_t *bytes)
{
    uint64_t n = 1, bits;
    const struct tensor_type *type = tensor_type(t->v1.dataType);
    const char *name = t->v1.name ? t->v1.name : "";
    RETURN_IF(!type->bits, ST_UNSUPPORTED_TENSOR, "tensor \"%s\": data type 0x%x is not known", name,
              (unsigned)t->v1.dataType);
    RETURN_IF(t->v1.rank && !t->v1.dimensions, ST_INVALID_TENSOR, "tensor \"%s\": rank %u without dimensions", name,
              t->v1.rank);
    for (uint32_t i = 0; i < t->v1.rank; i++)
        RETURN_IF(__builtin_mul_overflow(n, (uint64_t)t->v1.dimensions[i], &n), ST_INVALID_TENSOR,
                  "tensor \"%s\": too large", name);
    RETURN_IF(__builtin_mul_overflow(n, (uint64_t)type->bits, &bits) || bits > (uint64_t)UINT32_MAX * 8, ST_INVALID_TENSOR,
              "tensor \"%s\": %" PRIu64 " elements are more than the 4 GiB a tensor can have", name, n);
    *elements = n;
    *bytes = (bits + 7) / 8;
    return ST_OK;
}

static void describe_encoding(const Qnn_QuantizeParams_t *q, struct str *to)
{
    if (q->encodingDefinition != QNN_DEFINITION_DEFINED)
        return;
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
        str_addf(to, " scale %.6g offset %d", (double)q->scaleOffsetEncoding.scale, q->scaleOffsetEncoding.offset);
        break;
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        str_addf(to, " %u bits scale %.6g offset %d", q->bwScaleOffsetEncoding.bitwidth,
                 (double)q->bwScaleOffsetEncoding.scale, q->bwScaleOffsetEncoding.offset);
        break;
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
        str_addf(to, " %u scales on axis %d", q->axisScaleOffsetEncoding.numScaleOffsets, q->axisScaleOffsetEncoding.axis);
        break;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
        str_addf(to, " %u bits, %u scales on axis %d", q->bwAxisScaleOffsetEncoding.bitwidth,
                 q->bwAxisScaleOffsetEncoding.numElements, q->bwAxisScaleOffsetEncoding.axis);
        break;
    default: str_addf(to, " %s", tensor_encoding_name(q->quantizationEncoding)); break;
    }
}

void tensor_describe(const Qnn_Tensor_t *t, struct str *to)
{
    str_addf(to, "\"%s\" %s[", t->v1.name ? t->v1.name : "", tensor_type(t->v1.dataType)->brief);
    for (uint32_t i = 0; i < t->v1.rank && t->v1.dimensions; i++)
        str_addf(to, "%s%u", i ? "," : "", t->v1.dimensions[i]);
    str_add(to, "]");
    describe_encoding(&t->v1.quantizeParams, to);
}

/* FNV-1a: tells names apart that begin alike. */
static uint64_t name_hash(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h;
}

void tensor_file_name(const char *name, struct str *to)
{
    enum { LONGEST = 220, KEPT = LONGEST - 17 }; /* file systems take 255 bytes, endings included */
    size_t n = strlen(name), kept = n > LONGEST ? KEPT : n;
    for (size_t i = 0; i < kept; i++)
        str_addf(to, "%c", isalnum((unsigned char)name[i]) ? name[i] : '_');
    if (kept < n)
        str_addf(to, "_%016" PRIx64, name_hash(name));
}
