/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum of the format, fast enough to look at all weights when a file is loaded: the crc32 of zlib, computed with
 * carry-less multiplication where the CPU has it.
 *
 * A message is a polynomial, and its checksum the remainder of a division. Four running blocks of 16 bytes are multiplied
 * by the power of x that moves them 64 bytes on, and added to the data there: the remainder stays the same. What is left of
 * the message, 16 bytes and an end, goes through zlib. */
#include <zlib.h>

#include "binary/binary_format.h"

#ifdef __x86_64__
#include <immintrin.h>

enum { FOLD_LANES = 4, FOLD_BYTES = 16, FOLD_STEP = FOLD_LANES * FOLD_BYTES };

/* Remainders of powers of x, bits in reverse as everywhere in this checksum. Low word: the exponent is the distance in bits
 * plus 32; high word: the distance minus 32. */
#define FOLD_512 _mm_set_epi64x(0x1c6e41596, 0x154442bd4)
#define FOLD_128 _mm_set_epi64x(0x0ccaa009e, 0x1751997d0)

__attribute__((target("pclmul,sse4.1"))) static inline __m128i fold(__m128i block, __m128i powers, __m128i data)
{
    __m128i low = _mm_clmulepi64_si128(block, powers, 0x00);
    __m128i high = _mm_clmulepi64_si128(block, powers, 0x11);

    return _mm_xor_si128(_mm_xor_si128(low, high), data);
}

static inline __m128i load(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)at);
}

/* At least FOLD_STEP bytes; returns how many are covered by `state`, which has the same remainder. */
__attribute__((target("pclmul,sse4.1"))) static uint64_t fold_all(uint32_t crc, const uint8_t *data,
                                                                  uint64_t size, uint8_t state[FOLD_BYTES])
{
    __m128i lane[FOLD_LANES];
    for (int k = 0; k < FOLD_LANES; k++)
        lane[k] = load(data + k * FOLD_BYTES);
    lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi32_si128((int)~crc)); /* of what came before */

    uint64_t done = FOLD_STEP;
    for (; size - done >= FOLD_STEP; done += FOLD_STEP)
        for (int k = 0; k < FOLD_LANES; k++)
            lane[k] = fold(lane[k], FOLD_512, load(data + done + k * FOLD_BYTES));

    __m128i one = lane[0];
    for (int k = 1; k < FOLD_LANES; k++)
        one = fold(one, FOLD_128, lane[k]);

    _mm_storeu_si128((__m128i *)state, one);
    return done;
}

/* ---- four times as wide, where the CPU has that ----------------------------------------------------------------------- */

enum { WIDE_BYTES = 64, WIDE_STEP = FOLD_LANES * WIDE_BYTES };

#define WIDE "avx512f,vpclmulqdq,pclmul,sse4.1"
#define WIDE_2048 _mm512_broadcast_i32x4(_mm_set_epi64x(0x1322d1430, 0x11542778a))
#define WIDE_512 _mm512_broadcast_i32x4(FOLD_512)

__attribute__((target(WIDE))) static inline __m512i fold_wide(__m512i block, __m512i powers, __m512i data)
{
    enum { XOR_OF_THREE = 0x96 };
    __m512i low = _mm512_clmulepi64_epi128(block, powers, 0x00);
    __m512i high = _mm512_clmulepi64_epi128(block, powers, 0x11);

    return _mm512_ternarylogic_epi64(low, high, data, XOR_OF_THREE);
}

/* As fold_all, for at least WIDE_STEP bytes. */
__attribute__((target(WIDE))) static uint64_t fold_all_wide(uint32_t crc, const uint8_t *data, uint64_t size,
                                                            uint8_t state[FOLD_BYTES])
{
    __m512i lane[FOLD_LANES];
    for (int k = 0; k < FOLD_LANES; k++)
        lane[k] = _mm512_loadu_si512(data + k * WIDE_BYTES);
    lane[0] = _mm512_xor_si512(lane[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc)));

    uint64_t done = WIDE_STEP;
    for (; size - done >= WIDE_STEP; done += WIDE_STEP)
        for (int k = 0; k < FOLD_LANES; k++)
            lane[k] = fold_wide(lane[k], WIDE_2048, _mm512_loadu_si512(data + done + k * WIDE_BYTES));

    __m512i wide = lane[0];
    for (int k = 1; k < FOLD_LANES; k++)
        wide = fold_wide(wide, WIDE_512, lane[k]);

    __m128i one = _mm512_extracti32x4_epi32(wide, 0);
    one = fold(one, FOLD_128, _mm512_extracti32x4_epi32(wide, 1));
    one = fold(one, FOLD_128, _mm512_extracti32x4_epi32(wide, 2));
    one = fold(one, FOLD_128, _mm512_extracti32x4_epi32(wide, 3));
    _mm_storeu_si128((__m128i *)state, one);
    return done;
}

static bool is_wide(uint64_t size)
{
    return size >= WIDE_STEP && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
}

uint32_t binary_crc(uint32_t crc, const void *data, uint64_t size)
{
    const uint8_t *bytes = data;
    if (size < FOLD_STEP || !__builtin_cpu_supports("pclmul"))
        return (uint32_t)crc32_z(crc, bytes, size);

    uint8_t state[FOLD_BYTES];
    uint64_t done = is_wide(size) ? fold_all_wide(crc, bytes, size, state) : fold_all(crc, bytes, size, state);
    uLong now = crc32_z(UINT32_MAX, state, sizeof state); /* `state` has the beginning in it */

    return (uint32_t)crc32_z(now, bytes + done, size - done);
}

#else

uint32_t binary_crc(uint32_t crc, const void *data, uint64_t size)
{
    return (uint32_t)crc32_z(crc, data, size);
}

#endif

uint32_t bin_crc(const uint8_t *data, uint64_t size)
{
    return binary_crc(0, data, size);
}
