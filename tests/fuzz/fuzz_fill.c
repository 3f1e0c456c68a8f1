/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_fill.h"

#define ONE_OF(noise, array) ((array)[(noise) % (sizeof(array) / sizeof((array)[0]))])

static const uint32_t f32_bits[] = {
    0x7fc00000, 0xffc00001, 0x7f800000, 0xff800000, 0x7f800001, /* NaN, infinities, a signaling NaN */
    0x00000001, 0x807fffff, 0x7f7fffff, 0xff7fffff, 0x80000000, /* denormals, the largest, -0 */
    0x4f000000, 0xcf000001, 0x4f800000, 0x5f000000, 0xdf000000, /* around 2^31, 2^32, 2^63 */
    0x3f7fffff, 0x3f800001, 0xbf000000, 0x3f000000, 0x322bcc77,
};
static const uint16_t f16_bits[] = { 0x7e00, 0xfe01, 0x7c00, 0xfc00, 0x7c01, 0x0001, 0x83ff, 0x7bff, 0x8000, 0x3c01 };
static const int64_t integers[] = {
    INT8_MIN,
    INT8_MAX,
    UINT8_MAX,
    INT16_MIN,
    INT16_MAX,
    UINT16_MAX,
    INT32_MIN,
    INT32_MAX,
    UINT32_MAX,
    INT64_MIN,
    INT64_MAX,
    -1,
    -2,
    64,
    255,
    256,
    1 << 20,
    (int64_t)1 << 32,
    ((int64_t)1 << 32) + 1,
};

static uint64_t draw_integer(uint64_t noise)
{
    if (noise & 3)
        return (noise >> 2) % 9 - 2; /* what an index may be, and a little more */
    return (uint64_t)ONE_OF(noise >> 2, integers);
}

static uint64_t draw_f32(uint64_t noise)
{
    if ((noise & 7) == 0)
        return ONE_OF(noise >> 3, f32_bits);

    float ordinary = (float)((int64_t)(noise >> 3) % 1024 - 512) / 64.0f;
    uint32_t bits;
    memcpy(&bits, &ordinary, sizeof(bits));
    return bits;
}

static uint64_t draw_f16(uint64_t noise)
{
    return (noise & 7) == 0 ? ONE_OF(noise >> 3, f16_bits) : 0x3000 | (noise >> 3 & 0x8fff);
}

static uint64_t draw_f64(uint64_t noise)
{
    uint32_t bits = (uint32_t)draw_f32(noise);
    float narrow;
    memcpy(&narrow, &bits, sizeof(narrow));
    double wide = (double)narrow;
    uint64_t ret;
    memcpy(&ret, &wide, sizeof(ret));
    return ret;
}

static uint64_t draw(enum dtype type, uint64_t noise)
{
    switch (type) {
    case DT_F32: return draw_f32(noise);
    case DT_BF16: return draw_f32(noise) >> 16;
    case DT_F16: return draw_f16(noise);
    case DT_F64: return draw_f64(noise);
    case DT_B8: return noise & 7 ? noise >> 3 & 1 : noise >> 3; /* a truth value may be any byte */
    default: return dtype_is_fixed(type) ? noise : draw_integer(noise);
    }
}

void fuzz_fill(struct fuzz_bytes *b, const struct tensor_desc *d, void *data)
{
    uint64_t bytes = desc_bytes(d);
    uint32_t bits = dtype_bits(d->type);
    uint32_t width = bits < 8 ? 1 : bits / 8;
    uint8_t *at = data;

    for (uint64_t i = 0; i + width <= bytes; i += width) {
        uint64_t noise = fuzz_noise(b);
        uint64_t value = bits < 8 ? noise : draw(d->type, noise);

        memcpy(at + i, &value, width);
    }
}
