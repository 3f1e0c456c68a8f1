/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, parameters and data types between the ABI and our descriptors. Encodings are in translate_quant.c. */
#include "api/translate.h"

#include <string.h>

#include "api/translate_quant.h"

_Static_assert(offsetof(Qnn_TensorV1_t, memHandle) == offsetof(Qnn_TensorV2_t, memHandle), "v1 is a prefix of v2");

static const struct {
    Qnn_DataType_t client;
    enum dtype ours;
} dtypes[] = {
    { QNN_DATATYPE_INT_2, DT_I2 },
    { QNN_DATATYPE_INT_4, DT_I4 },
    { QNN_DATATYPE_INT_8, DT_I8 },
    { QNN_DATATYPE_INT_16, DT_I16 },
    { QNN_DATATYPE_INT_32, DT_I32 },
    { QNN_DATATYPE_INT_64, DT_I64 },
    { QNN_DATATYPE_UINT_2, DT_U2 },
    { QNN_DATATYPE_UINT_4, DT_U4 },
    { QNN_DATATYPE_UINT_8, DT_U8 },
    { QNN_DATATYPE_UINT_16, DT_U16 },
    { QNN_DATATYPE_UINT_32, DT_U32 },
    { QNN_DATATYPE_UINT_64, DT_U64 },
    { QNN_DATATYPE_FLOAT_16, DT_F16 },
    { QNN_DATATYPE_BFLOAT_16, DT_BF16 },
    { QNN_DATATYPE_FLOAT_32, DT_F32 },
    { QNN_DATATYPE_FLOAT_64, DT_F64 },
    { QNN_DATATYPE_SFIXED_POINT_2, DT_SQ2 },
    { QNN_DATATYPE_SFIXED_POINT_4, DT_SQ4 },
    { QNN_DATATYPE_SFIXED_POINT_8, DT_SQ8 },
    { QNN_DATATYPE_SFIXED_POINT_16, DT_SQ16 },
    { QNN_DATATYPE_SFIXED_POINT_32, DT_SQ32 },
    { QNN_DATATYPE_UFIXED_POINT_2, DT_UQ2 },
    { QNN_DATATYPE_UFIXED_POINT_4, DT_UQ4 },
    { QNN_DATATYPE_UFIXED_POINT_8, DT_UQ8 },
    { QNN_DATATYPE_UFIXED_POINT_16, DT_UQ16 },
    { QNN_DATATYPE_UFIXED_POINT_32, DT_UQ32 },
    { QNN_DATATYPE_BOOL_8, DT_B8 },
    { QNN_DATATYPE_STRING, DT_STR },
};
enum { N_DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* By the client's tensor type number. */
static const struct {
    enum ir_role role;
    bool updateable, optional;
} roles[] = {
    [QNN_TENSOR_TYPE_APP_WRITE] = { IR_INPUT, false, false },
    [QNN_TENSOR_TYPE_APP_READ] = { IR_OUTPUT, false, false },
    [QNN_TENSOR_TYPE_APP_READWRITE] = { IR_INOUT, false, false },
    [QNN_TENSOR_TYPE_NATIVE] = { IR_NATIVE, false, false },
    [QNN_TENSOR_TYPE_STATIC] = { IR_CONST, false, false },
    [QNN_TENSOR_TYPE_NULL] = { IR_ABSENT, false, false },
    [QNN_TENSOR_TYPE_UPDATEABLE_STATIC] = { IR_CONST, true, false },
    [QNN_TENSOR_TYPE_UPDATEABLE_NATIVE] = { IR_NATIVE, true, false },
    [QNN_TENSOR_TYPE_UPDATEABLE_APP_WRITE] = { IR_INPUT, true, false },
    [QNN_TENSOR_TYPE_UPDATEABLE_APP_READ] = { IR_OUTPUT, true, false },
    [QNN_TENSOR_TYPE_UPDATEABLE_APP_READWRITE] = { IR_INOUT, true, false },
    [QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE] = { IR_INPUT, false, true },
    [QNN_TENSOR_TYPE_OPTIONAL_APP_READ] = { IR_OUTPUT, false, true },
    [QNN_TENSOR_TYPE_OPTIONAL_APP_READWRITE] = { IR_INOUT, false, true },
};
enum { N_ROLES = sizeof roles / sizeof roles[0] };

const Qnn_TensorV1_t *tensor_v1(const Qnn_Tensor_t *t)
{
    return t && (t->version == QNN_TENSOR_VERSION_1 || t->version == QNN_TENSOR_VERSION_2) ? &t->v1 : NULL;
}

Qnn_TensorV1_t *tensor_v1_rw(Qnn_Tensor_t *t)
{
    return (Qnn_TensorV1_t *)tensor_v1(t);
}

enum dtype dtype_from_client(Qnn_DataType_t t)
{
    for (unsigned i = 0; i < N_DTYPES; i++)
        if (dtypes[i].client == t)
            return dtypes[i].ours;
    return DT_NONE;
}

Qnn_DataType_t dtype_to_client(enum dtype t)
{
    for (unsigned i = 0; i < N_DTYPES; i++)
        if (dtypes[i].ours == t)
            return dtypes[i].client;
    return QNN_DATATYPE_UNDEFINED;
}

bool type_to_client(const struct ir_tensor *t, uint32_t *ret)
{
    for (*ret = 0; *ret < N_ROLES; ++*ret)
        if (roles[*ret].role == t->role && roles[*ret].updateable == t->updateable && roles[*ret].optional == t->optional)
            return true;
    return false;
}

static enum status shape_from_client(const Qnn_Tensor_t *t, const char *name, struct tensor_desc *d)
{
    const Qnn_TensorV1_t *v = tensor_v1(t);
    RETURN_IF(v->rank > MAX_RANK, ST_UNSUPPORTED_TENSOR, "tensor \"%s\" has rank %u; at most %d is supported", name, v->rank,
              MAX_RANK);
    RETURN_IF(v->rank && !v->dimensions, ST_INVALID_TENSOR,
              "tensor \"%s\" has rank %u but dimensions is NULL; give one size per dimension, or rank 0", name, v->rank);
    d->rank = (uint8_t)v->rank;
    const uint8_t *dynamic = t->version == QNN_TENSOR_VERSION_2 ? t->v2.isDynamicDimensions : NULL;
    for (uint32_t i = 0; i < v->rank; i++) {
        d->dims[i] = v->dimensions[i];
        d->dynamic |= (uint8_t)((dynamic && dynamic[i]) << i);
    }
    RETURN_IF(d->dynamic && v->type == QNN_TENSOR_TYPE_STATIC, ST_INVALID_TENSOR,
              "tensor \"%s\" is STATIC and cannot have dynamic dimensions", name);
    return ST_OK;
}

static enum status data_from_client(const Qnn_TensorV1_t *v, const char *name, bool with_data, struct ir_tensor *t)
{
    if (t->role != IR_CONST || v->memType == QNN_TENSORMEMTYPE_RETRIEVE_RAW)
        return ST_OK;
    RETURN_IF(with_data && v->memType != QNN_TENSORMEMTYPE_RAW && v->memType != QNN_TENSORMEMTYPE_UNDEFINED,
              ST_UNSUPPORTED_TENSOR,
              "STATIC tensor \"%s\" has memType %u; RAW (0) with clientBuf or RETRIEVE_RAW (2) are supported", name,
              (unsigned)v->memType);
    uint64_t need = desc_bytes(&t->desc);
    t->data = v->memType == QNN_TENSORMEMTYPE_MEMHANDLE ? NULL : v->clientBuf.data;
    RETURN_IF(with_data && !t->data, ST_INVALID_TENSOR,
              "STATIC tensor \"%s\" has no data; %llu bytes are needed at creation", name, (unsigned long long)need);
    if (t->data && v->clientBuf.dataSize < need) {
        RETURN_IF(with_data, ST_INVALID_TENSOR, "STATIC tensor \"%s\" has %u bytes of data; its type and shape need %llu",
                  name, v->clientBuf.dataSize, (unsigned long long)need);
        t->data = NULL;
    }
    return ST_OK;
}

enum status tensor_from_client(const Qnn_Tensor_t *t, bool with_data, struct arena *a, struct ir_tensor *ret)
{
    const Qnn_TensorV1_t *v = tensor_v1(t);
    RETURN_IF(!v, ST_UNSUPPORTED_TENSOR, "a tensor has version %u; 1 and 2 are supported", t ? (unsigned)t->version : 0);
    const char *name = v->name ? v->name : "";
    RETURN_IF((unsigned)v->type >= N_ROLES, ST_INVALID_TENSOR, "tensor \"%s\" has type %u; 0 to %d are known", name,
              (unsigned)v->type, N_ROLES - 1);
    *ret = (struct ir_tensor){
        .name = name,
        .role = (uint8_t)roles[v->type].role,
        .updateable = roles[v->type].updateable,
        .optional = roles[v->type].optional,
        .client_type = (uint32_t)v->type,
        .client_id = v->id,
    };
    if (ret->role == IR_ABSENT)
        return ST_OK;
    ret->desc.type = dtype_from_client(v->dataType);
    RETURN_IF(ret->desc.type == DT_NONE || ret->desc.type == DT_STR, ST_UNSUPPORTED_TENSOR,
              "tensor \"%s\" has data type 0x%04x, which is not supported", name, (unsigned)v->dataType);
    RETURN_IF(v->dataFormat != QNN_TENSOR_DATA_FORMAT_DENSE, ST_UNSUPPORTED_TENSOR,
              "tensor \"%s\" has data format %u; only 0 (dense) is supported", name, v->dataFormat);
    ret->mem_handle = v->memType == QNN_TENSORMEMTYPE_MEMHANDLE;
    TRY(shape_from_client(t, name, &ret->desc));
    TRY(desc_check(&ret->desc,
                   name)); /* the encoding's arrays are as long as the shape says, so that must make sense first */
    TRY(quant_from_client(&v->quantizeParams, name, a, &ret->desc));
    TRY(desc_check(&ret->desc, name));
    return data_from_client(v, name, with_data, ret);
}

enum { MAX_STRING = 4096 };

static enum status scalar_from_client(const Qnn_Scalar_t *s, const char *name, struct op_value *ret)
{
    enum dtype t = dtype_from_client(s->dataType);
    RETURN_IF(t == DT_STR && !s->stringValue, ST_INVALID_OP,
              "parameter \"%s\" is a STRING whose stringValue is NULL; give the text", name);
    if (t == DT_STR) {
        size_t n = strlen(s->stringValue) + 1;
        RETURN_IF(n > MAX_STRING, ST_INVALID_OP, "parameter \"%s\" is a string of %zu characters; at most %d are supported",
                  name, n - 1, MAX_STRING - 1);
        *ret = (struct op_value){ .type = t, .count = (uint32_t)n, .data = s->stringValue };
        return ST_OK;
    }
    RETURN_IF(t == DT_NONE, ST_INVALID_OP, "parameter \"%s\" has data type 0x%04x, which is not supported", name,
              (unsigned)s->dataType);
    /* There is no member for half floats: they come as floats. */
    *ret = (struct op_value){ .type = t == DT_F16 ? DT_F32 : t, .count = 1, .data = &s->uint64Value };
    return ST_OK;
}

enum status param_from_client(const Qnn_Param_t *p, struct arena *a, struct op_value *ret)
{
    RETURN_IF(!p->name, ST_INVALID_OP, "a parameter has no name");
    RETURN_IF(p->paramType != QNN_PARAMTYPE_SCALAR && p->paramType != QNN_PARAMTYPE_TENSOR, ST_INVALID_OP,
              "parameter \"%s\" has type %u; 0 (scalar) and 1 (tensor) are known", p->name, (unsigned)p->paramType);
    if (p->paramType == QNN_PARAMTYPE_SCALAR)
        return scalar_from_client(&p->scalarParam, p->name, ret);
    struct ir_tensor t;
    TRY(tensor_from_client(&p->tensorParam, false, a, &t));
    RETURN_IF(t.role != IR_CONST, ST_INVALID_OP, "parameter \"%s\" is a tensor of type %u; parameters are STATIC (4)",
              p->name, t.client_type);
    *ret = (struct op_value){
        .type = t.desc.type, .rank = t.desc.rank, .count = (uint32_t)desc_count(&t.desc), .data = t.data
    };
    memcpy(ret->dims, t.desc.dims, sizeof ret->dims);
    return ST_OK;
}

enum status tensor_to_client(const struct tensor_desc *d, const char *name, uint32_t id, uint32_t type, struct arena *a,
                             Qnn_Tensor_t *ret)
{
    *ret = (Qnn_Tensor_t){ .version = d->dynamic ? QNN_TENSOR_VERSION_2 : QNN_TENSOR_VERSION_1 };
    Qnn_TensorV2_t *v = &ret->v2;
    *v = (Qnn_TensorV2_t)QNN_TENSOR_V2_INIT;
    v->id = id;
    v->name = arena_strdup(a, name);
    v->type = (Qnn_TensorType_t)type;
    v->dataFormat = d->format;
    v->dataType = dtype_to_client(d->type);
    v->rank = d->rank;
    v->memType = QNN_TENSORMEMTYPE_RAW;
    v->dimensions = arena_dup(a, d->dims, d->rank * sizeof(uint32_t));
    RETURN_IF(!v->name || !v->dimensions, ST_NO_MEMORY, "no memory to describe tensor \"%s\"", name);
    if (d->dynamic) {
        v->isDynamicDimensions = arena_alloc(a, d->rank);
        RETURN_IF(!v->isDynamicDimensions, ST_NO_MEMORY, "no memory to describe tensor \"%s\"", name);
        for (unsigned i = 0; i < d->rank; i++)
            v->isDynamicDimensions[i] = d->dynamic >> i & 1;
    }
    return quant_to_client(d, a, &v->quantizeParams);
}
