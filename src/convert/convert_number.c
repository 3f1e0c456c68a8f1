/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of any type through a double, at any alignment: constants of a file lie where the file has them. */
#include <math.h>
#include <string.h>

#include "convert/builder.h"

uint16_t f16_from_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    uint32_t sign = u >> 16 & 0x8000, mag = u & 0x7fffffff;
    if (mag >= 0x7f800000)
        return (uint16_t)(sign | 0x7c00 | (mag > 0x7f800000 ? 0x200 : 0));
    if (mag >= 0x477ff000) /* rounds past the largest half */
        return (uint16_t)(sign | 0x7c00);
    if (mag < 0x38800000) { /* subnormal: the sum aligns the bits and rounds to even */
        float f;
        memcpy(&f, &mag, 4);
        f += 0.5f;
        memcpy(&mag, &f, 4);
        return (uint16_t)(sign | (mag - 0x3f000000));
    }
    mag += 0xfff + (mag >> 13 & 1);
    return (uint16_t)(sign | ((mag - 0x38000000) >> 13));
}

float f32_from_f16(uint16_t h)
{
    uint32_t exponent = h >> 10 & 31, fraction = h & 0x3ff;
    float sign = h & 0x8000 ? -1.0f : 1.0f;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexpf((float)(fraction | 0x400), (int)exponent - 25) : ldexpf((float)fraction, -24));
}

static float f32_from_bf16(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static uint16_t bf16_from_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    if (x != x)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#define GET(T)                                                        \
    ({                                                                \
        T get_;                                                       \
        memcpy(&get_, (const char *)at + i * sizeof(T), sizeof(T));   \
        get_;                                                         \
    })

int64_t number_get_int(enum dtype type, const void *at, uint64_t i)
{
    switch (dtype_kind(type)) {
    case DK_INT:
    case DK_SFIXED:
        switch (dtype_bits(type)) {
        case 2: case 4: return packed_get(at, dtype_bits(type), true, i);
        case 8: return GET(int8_t);
        case 16: return GET(int16_t);
        case 32: return GET(int32_t);
        default: return GET(int64_t);
        }
    case DK_UINT:
    case DK_UFIXED:
    case DK_BOOL:
        switch (dtype_bits(type)) {
        case 2: case 4: return packed_get(at, dtype_bits(type), false, i);
        case 8: return GET(uint8_t);
        case 16: return GET(uint16_t);
        case 32: return GET(uint32_t);
        default: return (int64_t)GET(uint64_t);
        }
    default: {
        double v = number_get(type, at, i);
        return v != v ? 0 : v >= 9223372036854775807.0 ? INT64_MAX : v <= -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
    }
    }
}

double number_get(enum dtype type, const void *at, uint64_t i)
{
    switch (type) {
    case DT_F32: return GET(float);
    case DT_F64: return GET(double);
    case DT_F16: return f32_from_f16(GET(uint16_t));
    case DT_BF16: return f32_from_bf16(GET(uint16_t));
    case DT_U64: return (double)GET(uint64_t);
    default: return (double)number_get_int(type, at, i);
    }
}

static void put_int(unsigned bits, void *at, uint64_t i, int64_t v)
{
    uint8_t *p = at;
    if (bits < 8)
        packed_put(p, bits, i, v);
    else
        memcpy(p + i * (bits / 8), &v, bits / 8); /* little-endian */
}

void number_put(enum dtype type, void *at, uint64_t i, double v)
{
    float f = (float)v;
    uint16_t h;
    switch (type) {
    case DT_F32: memcpy((char *)at + i * 4, &f, 4); return;
    case DT_F64: memcpy((char *)at + i * 8, &v, 8); return;
    case DT_F16: h = f16_from_f32(f); memcpy((char *)at + i * 2, &h, 2); return;
    case DT_BF16: h = bf16_from_f32(f); memcpy((char *)at + i * 2, &h, 2); return;
    case DT_B8: put_int(8, at, i, v != 0); return;
    default:
        put_int(dtype_bits(type), at, i,
                v != v ? 0
                : v >= 9223372036854775807.0
                    ? (type == DT_U64 && v < 18446744073709551615.0 ? (int64_t)(uint64_t)v : INT64_MAX)
                : v <= -9223372036854775808.0 ? INT64_MIN
                                              : (int64_t)v);
    }
}
