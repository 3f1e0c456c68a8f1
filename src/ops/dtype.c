/* SPDX-License-Identifier: Apache-2.0 */
/* Data types: names, widths and ranges, all read from DTYPE_LIST. */
#include <string.h>

#include "ops/ops.h"

static const struct {
    const char *name;
    uint8_t bits;
    enum dtype_kind kind;
} types[DT_COUNT] = {
#define DTYPE_ROW(e, text, b, k) [e] = {text, b, k},
    DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

/* Numbers from outside may name no type; they behave as DT_NONE. */
static enum dtype known(enum dtype t)
{
    return (unsigned)t < DT_COUNT ? t : DT_NONE;
}

const char *dtype_name(enum dtype t)
{
    return types[known(t)].name;
}

enum dtype dtype_from_name(const char *name)
{
    for (unsigned i = 0; name && i < DT_COUNT; i++)
        if (!strcmp(types[i].name, name))
            return (enum dtype)i;
    return DT_NONE;
}

enum dtype_kind dtype_kind(enum dtype t)
{
    return types[known(t)].kind;
}

unsigned dtype_bits(enum dtype t)
{
    return types[known(t)].bits;
}

bool dtype_is_fixed(enum dtype t)
{
    enum dtype_kind k = dtype_kind(t);
    return k == DK_SFIXED || k == DK_UFIXED;
}

bool dtype_is_float(enum dtype t)
{
    return dtype_kind(t) == DK_FLOAT;
}

bool dtype_is_signed(enum dtype t)
{
    enum dtype_kind k = dtype_kind(t);
    return k == DK_INT || k == DK_SFIXED || k == DK_FLOAT;
}

uint64_t dtype_bytes(enum dtype t, uint64_t count)
{
    /* Whole bytes first, so that huge counts of wide types do not overflow earlier than they must. */
    unsigned bits = dtype_bits(t);
    if (bits >= 8)
        return count * (bits / 8);
    unsigned per_byte = bits ? 8 / bits : 1;
    return count / per_byte + (count % per_byte != 0);
}

int64_t dtype_min(enum dtype t)
{
    enum dtype_kind k = dtype_kind(t);
    if (k != DK_INT && k != DK_SFIXED)
        return 0;
    return -(int64_t)(UINT64_C(1) << (dtype_bits(t) - 1) >> 1) * 2;
}

int64_t dtype_max(enum dtype t)
{
    switch (dtype_kind(t)) {
    case DK_INT:
    case DK_SFIXED:
        return (int64_t)((UINT64_C(1) << (dtype_bits(t) - 1)) - 1);
    case DK_UINT:
    case DK_UFIXED:
        return dtype_bits(t) == 64 ? INT64_MAX : (int64_t)((UINT64_C(1) << dtype_bits(t)) - 1);
    case DK_BOOL:
        return 1;
    default:
        return 0;
    }
}
