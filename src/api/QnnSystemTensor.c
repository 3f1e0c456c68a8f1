/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemTensor.h: how many bytes a tensor's data takes, in every way a client may describe it wrongly. */
#include "QNN/System/QnnSystemTensor.h"

#include "api/errors.h"
#include "api/log.h"
#include "api/translate.h"

/* Encodings do not change the size: bit widths below that of the type describe values, not storage. */
static enum status footprint_of(const Qnn_Tensor_t *t, uint64_t *ret)
{
    const Qnn_TensorV1_t *v = tensor_v1(t);
    RETURN_IF(!v, ST_INVALID_TENSOR, "the tensor has version %u; 1 and 2 are known", (unsigned)t->version);
    const char *name = v->name ? v->name : "";
    enum dtype type = dtype_from_client(v->dataType);
    RETURN_IF(type == DT_NONE, ST_INVALID_TENSOR, "tensor \"%s\" has data type 0x%04x, which is not known", name,
              (unsigned)v->dataType);
    RETURN_IF(type == DT_STR, ST_NOT_SUPPORTED, "tensor \"%s\" holds strings, whose size is not known from its shape", name);
    RETURN_IF(v->dataFormat != QNN_TENSOR_DATA_FORMAT_DENSE, ST_NOT_SUPPORTED,
              "tensor \"%s\" has data format %u; the size of format 0 (dense) only can be told", name, v->dataFormat);
    RETURN_IF(v->rank > MAX_RANK, ST_INVALID_TENSOR, "tensor \"%s\" has rank %u; at most %d is supported", name, v->rank,
              MAX_RANK);
    RETURN_IF(v->rank && !v->dimensions, ST_INVALID_TENSOR,
              "tensor \"%s\" has rank %u but dimensions is NULL; give one size per dimension, or rank 0", name, v->rank);
    uint64_t count = 1, bits;
    for (uint32_t i = 0; i < v->rank; i++) {
        RETURN_IF(v->dimensions[i] == 0, ST_INVALID_TENSOR, "tensor \"%s\": dimension %u is 0; at least 1 is expected", name,
                  i);
        RETURN_IF(__builtin_mul_overflow(count, v->dimensions[i], &count), ST_INVALID_TENSOR,
                  "tensor \"%s\" has more elements than 64 bits can count", name);
    }
    RETURN_IF(__builtin_mul_overflow(count, dtype_bits(type), &bits), ST_INVALID_TENSOR,
              "tensor \"%s\" has %llu elements of %u bits, more than 64 bits can count", name, (unsigned long long)count,
              dtype_bits(type));
    *ret = dtype_bytes(type, count);
    return ST_OK;
}

Qnn_ErrorHandle_t QnnSystemTensor_getMemoryFootprint(Qnn_Tensor_t tensor, uint64_t *footprint)
{
    log_enter(NULL);
    API_CHECK(footprint, COMP_SYSTEM_TENSOR, ST_INVALID_ARG,
              "footprint is NULL; give a pointer that receives the number of bytes");
    return api_error(COMP_SYSTEM_TENSOR, footprint_of(&tensor, footprint));
}
