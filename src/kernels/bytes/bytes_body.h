/* SPDX-License-Identifier: Apache-2.0 */
/* One body for all instruction sets: the steps that the operators which it stands for would take (docs/numerics.md
 * section 3, Bytes), each rounded once. */
#include "kernels/bytes/bytes.h"
#include "kernels/isa_name.h"
#include "kernels/kernel_util.h"

/* Adding and subtracting 1.5 * 2^23 rounds to the nearest even whole number what is smaller than 2^22. */
static inline uint8_t byte_of(float x, float scale, float zero)
{
    const float magic = 0x1.8p23f, far = 0x1p20f;
    float v = x / scale;
    v = v < -far ? -far : v > far ? far : v; /* as good as any number outside of the bytes */
    v = (v + magic) - magic + zero;
    v = v > 0 ? v : 0; /* NaN, too */
    v = v < 255 ? v : 255;
    return (uint8_t)(int32_t)v;
}

void K(bytes)(const struct kernel_call *call, struct range tile)
{
    const struct bytes_args *a = call->args;
    const uint64_t begin = tile.begin * a->unit, most = tile.end * a->unit, end = most < a->total ? most : a->total;
    const float *restrict x = call->data[0], scale = *(const float *)call->data[1], zero = *(const uint8_t *)call->data[2];
    uint8_t *restrict y = call->data[3];
    for (uint64_t i = begin; i < end; i++)
        y[i] = byte_of(x[i], scale, zero);
}
