/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of an input read as decisions. Where they end, a generator goes on whose seed they are: a short input still
 * decides everything, and the same input always decides the same. */
#ifndef TESTS_FUZZ_BYTES_H
#define TESTS_FUZZ_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct fuzz_bytes {
    const uint8_t *at;
    size_t n;
    uint64_t state;
};

static inline struct fuzz_bytes fuzz_bytes_of(const uint8_t *data, size_t size)
{
    struct fuzz_bytes b = { data, size, UINT64_C(0xcbf29ce484222325) };

    for (size_t i = 0; i < size; i++)
        b.state = (b.state ^ data[i]) * UINT64_C(0x100000001b3);
    return b;
}

/* splitmix64 */
static inline uint64_t fuzz_noise(struct fuzz_bytes *b)
{
    uint64_t z = b->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline uint8_t fuzz_u8(struct fuzz_bytes *b)
{
    if (b->n == 0)
        return (uint8_t)fuzz_noise(b);
    b->n--;
    return *b->at++;
}

static inline uint32_t fuzz_u32(struct fuzz_bytes *b)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++)
        v = v << 8 | fuzz_u8(b);
    return v;
}

/* 0 … below - 1; reads as few bytes as that takes. */
static inline uint32_t fuzz_below(struct fuzz_bytes *b, uint32_t below)
{
    uint32_t v = fuzz_u8(b);

    if (below > 1 << 8)
        v = v << 8 | fuzz_u8(b);
    if (below > 1 << 16)
        v = v << 16 | (uint32_t)fuzz_u8(b) << 8 | fuzz_u8(b);
    return below ? v % below : 0;
}

static inline bool fuzz_one_in(struct fuzz_bytes *b, uint32_t n)
{
    return fuzz_below(b, n) == n - 1; /* zero bytes are the usual case */
}

#define FUZZ_ONE_OF(b, array) ((array)[fuzz_below((b), sizeof(array) / sizeof((array)[0]))])

#endif
