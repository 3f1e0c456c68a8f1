/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of 256 bytes, with VBMI: two permutations look up 64 bytes in the halves of the table, the top bit chooses. The
 * instruction is not part of the level, so variants that use it ask for it (cpu_permutes_bytes). */
#ifndef KERNELS_BYTE_TABLE_AVX512_H
#define KERNELS_BYTE_TABLE_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#define VBMI __attribute__((target("avx512vbmi")))

struct byte_table {
    __m512i part[4];
};

VBMI static inline struct byte_table byte_table(const uint8_t bytes[256])
{
    return (struct byte_table){ { _mm512_loadu_si512(bytes), _mm512_loadu_si512(bytes + 64), _mm512_loadu_si512(bytes + 128),
                                  _mm512_loadu_si512(bytes + 192) } };
}

VBMI static inline __m512i byte_table_look(const struct byte_table *t, __m512i x)
{
    __m512i low = _mm512_permutex2var_epi8(t->part[0], x, t->part[1]),
            high = _mm512_permutex2var_epi8(t->part[2], x, t->part[3]);
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(x), high);
}

VBMI static inline void byte_table_run(const uint8_t bytes[256], const uint8_t *x, uint8_t *out, uint64_t n)
{
    const struct byte_table t = byte_table(bytes);
    uint64_t at = 0;
    for (; at + 64 <= n; at += 64)
        _mm512_storeu_si512(out + at, byte_table_look(&t, _mm512_loadu_si512(x + at)));
    if (at < n) {
        __mmask64 rest = ~(__mmask64)0 >> (64 - (n - at));
        _mm512_mask_storeu_epi8(out + at, rest, byte_table_look(&t, _mm512_maskz_loadu_epi8(rest, x + at)));
    }
}

#endif
