/* SPDX-License-Identifier: Apache-2.0 */
/* How many elements and bytes belong to what a client hands over. */
#include "api/saver/saver.h"

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* The low byte of a data type is its bits in decimal digits. */
static unsigned bits_of(uint32_t type)
{
    return (type >> 4 & 15) * 10 + (type & 15);
}

static uint64_t elements(uint32_t rank, const uint32_t *dims)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n = times(n, dims[i]);
    return n;
}

uint64_t saver_bytes_of(uint32_t rank, const uint32_t *dims, Qnn_DataType_t type)
{
    if (rank > SAVER_RANK_MAX || (rank && !dims))
        return 0;
    unsigned bits = type == QNN_DATATYPE_BFLOAT_16 ? 16 : bits_of((uint32_t)type);
    uint64_t n = times(elements(rank, dims), bits);
    return n == UINT64_MAX ? UINT64_MAX : n / 8 + (n % 8 != 0);
}

uint64_t saver_tensor_bytes(const Qnn_TensorV1_t *t)
{
    return saver_bytes_of(t->rank, t->dimensions, t->dataType);
}

static uint64_t count_blocks(const Qnn_TensorV1_t *t, const uint32_t *block)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n = times(n, block[i] ? (t->dimensions[i] + (uint64_t)block[i] - 1) / block[i] : 0);
    return n;
}

static bool shaped(const Qnn_TensorV1_t *t)
{
    return t && t->rank <= SAVER_RANK_MAX && (!t->rank || t->dimensions);
}

static uint64_t count_of(const struct saver_call *c, const struct saver_field *f, const void *object)
{
    const char *at = (const char *)object + f->count_at;
    const Qnn_TensorV1_t *t = c->tensor;
    int32_t axis = *(const int32_t *)at;
    uint64_t channels = shaped(t) && axis >= 0 && (uint32_t)axis < t->rank ? t->dimensions[axis] : 0;
    switch (f->count) {
    case COUNT_FIELD:
    case COUNT_ENCODED: return *(const uint32_t *)at;
    case COUNT_RANK: return t ? t->rank : 0;
    case COUNT_CHANNELS: return channels;
    case COUNT_BLOCKS: {
        const uint32_t *block = *(const uint32_t *const *)at;
        return shaped(t) && block ? count_blocks(t, block) : 0;
    }
    case COUNT_AXIS_BLOCKS: { /* see EXPANSION in saver_types.c */
        size_t way = offsetof(Qnn_BlockwiseExpansion_t, numBlocksPerAxis) - offsetof(Qnn_BlockwiseExpansion_t, axis);
        return times(channels, *(const uint32_t *)(at + way));
    }
    default: return 1;
    }
}

/* More scales than elements would be read from memory that nobody has. */
uint64_t saver_count_of(struct saver_call *c, const struct saver_field *f, const void *object)
{
    uint64_t n = count_of(c, f, object);
    if (f->count < COUNT_ENCODED)
        return n;
    uint64_t most = shaped(c->tensor) ? elements(c->tensor->rank, c->tensor->dimensions) : 0;
    if (n > most)
        saver_fail(
            c, ST_INVALID_TENSOR, "tensor \"%s\": %llu entries of %s for %llu elements; give no more than one for each",
            c->tensor && c->tensor->name ? c->tensor->name : "", (unsigned long long)n, f->name, (unsigned long long)most);
    return n > most ? 0 : n;
}
