/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of bytes as tables, with VBMI. */
#include "kernels/byte_table_avx512.h"
#include "kernels/families.h"
#include "kernels/unary/unary.h"

VBMI void unary_bytes_avx512(const struct kernel_call *call, struct range tile)
{
    const struct unary_args *a = call->args;
    const uint8_t *x = call->data[0], *table = a->table;
    uint8_t *out = call->data[1];
    uint64_t at = tile.begin * a->unit, end = tile.end * a->unit;
    end = end < a->total ? end : a->total;
    const struct byte_table t = byte_table(table);
    for (; at + 64 <= end; at += 64)
        _mm512_storeu_si512(out + at, byte_table_look(&t, _mm512_loadu_si512(x + at)));
    if (at < end) {
        __mmask64 rest = ~(__mmask64)0 >> (64 - (end - at));
        _mm512_mask_storeu_epi8(out + at, rest, byte_table_look(&t, _mm512_maskz_loadu_epi8(rest, x + at)));
    }
}
