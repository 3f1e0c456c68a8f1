/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of 256 bytes, with VBMI: two permutations look up 64 bytes in the halves of the table, the top bit chooses. The instruction is not
 * part of the level, so the variant asks for it (unary.c). */
#include <immintrin.h>

#include "kernels/families.h"
#include "kernels/unary/unary.h"

#define VBMI __attribute__((target("avx512vbmi")))

struct byte_table {
    __m512i part[4];
};

VBMI static inline __m512i look_up(const struct byte_table *t, __m512i x)
{
    __m512i low = _mm512_permutex2var_epi8(t->part[0], x, t->part[1]), high = _mm512_permutex2var_epi8(t->part[2], x, t->part[3]);
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(x), high);
}

VBMI void unary_bytes_avx512(const struct kernel_call *call, struct range tile)
{
    const struct unary_args *a = call->args;
    const uint8_t *x = call->data[0], *table = a->table;
    uint8_t *out = call->data[1];
    uint64_t at = tile.begin * a->unit, end = tile.end * a->unit;
    end = end < a->total ? end : a->total;
    struct byte_table t;
    for (int i = 0; i < 4; i++)
        t.part[i] = _mm512_loadu_si512(table + 64 * i);
    for (; at + 64 <= end; at += 64)
        _mm512_storeu_si512(out + at, look_up(&t, _mm512_loadu_si512(x + at)));
    if (at < end) {
        __mmask64 rest = ~(__mmask64)0 >> (64 - (end - at));
        _mm512_mask_storeu_epi8(out + at, rest, look_up(&t, _mm512_maskz_loadu_epi8(rest, x + at)));
    }
}
