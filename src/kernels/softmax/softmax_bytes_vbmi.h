/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up the bytes of a run, 64 at a time (softmax_bytes_body.h). A table of floats is four tables of bytes, whose
 * results are put together again. */
#include "kernels/byte_table_avx512.h"
#include "kernels/softmax/softmax.h"

static void tables_made(struct softmax_bytes *t)
{
    for (int i = 0; i < 256; i += 16) {
        __m512i v = _mm512_castps_si512(_mm512_loadu_ps(t->e + i));
        for (int k = 0; k < 4; k++, v = _mm512_srli_epi32(v, 8))
            _mm_storeu_si128((__m128i *)(t->parts[k] + i), _mm512_cvtepi32_epi8(v));
    }
}

/* 64 numbers in their order, from their lowest, …, highest bytes. */
static inline __attribute__((always_inline)) void join_parts(const __m512i part[4], __m512 ret[4])
{
    __m512i lo01 = _mm512_unpacklo_epi8(part[0], part[1]), hi01 = _mm512_unpackhi_epi8(part[0], part[1]);
    __m512i lo23 = _mm512_unpacklo_epi8(part[2], part[3]), hi23 = _mm512_unpackhi_epi8(part[2], part[3]);
    __m512i v0 = _mm512_unpacklo_epi16(lo01, lo23), v1 = _mm512_unpackhi_epi16(lo01, lo23),
            v2 = _mm512_unpacklo_epi16(hi01, hi23), v3 = _mm512_unpackhi_epi16(hi01, hi23);
    __m512i a = _mm512_shuffle_i32x4(v0, v1, 0x44), b = _mm512_shuffle_i32x4(v2, v3, 0x44);
    __m512i c = _mm512_shuffle_i32x4(v0, v1, 0xee), d = _mm512_shuffle_i32x4(v2, v3, 0xee);
    ret[0] = _mm512_castsi512_ps(_mm512_shuffle_i32x4(a, b, 0x88));
    ret[1] = _mm512_castsi512_ps(_mm512_shuffle_i32x4(a, b, 0xdd));
    ret[2] = _mm512_castsi512_ps(_mm512_shuffle_i32x4(c, d, 0x88));
    ret[3] = _mm512_castsi512_ps(_mm512_shuffle_i32x4(c, d, 0xdd));
}

static inline __mmask64 first_bytes(uint32_t n)
{
    return n < 64 ? ((__mmask64)1 << n) - 1 : ~(__mmask64)0;
}

VBMI static float sum_of(const struct softmax_bytes *t, const uint8_t *x, uint32_t all, uint8_t flip)
{
    const __m512i f = _mm512_set1_epi8((char)flip);
    struct byte_table table[4];
    __m512 sum = _mm512_setzero_ps(), v[4];
    float lanes[16];
    for (int k = 0; k < 4; k++)
        table[k] = byte_table(t->parts[k]);
    for (uint32_t at = 0; at < all; at += 64) {
        const __mmask64 there = first_bytes(all - at);
        const __m512i q = _mm512_xor_si512(_mm512_maskz_loadu_epi8(there, x + at), f);
        __m512i part[4];
        for (int k = 0; k < 4; k++)
            part[k] = byte_table_look(&table[k], q);
        join_parts(part, v);
        for (int k = 0; k < 4; k++)
            sum = _mm512_mask_add_ps(sum, (__mmask16)(there >> 16 * k), sum, v[k]);
    }
    _mm512_storeu_ps(lanes, sum);
    return span_lanes_end(lanes);
}

VBMI static void look_up(const uint8_t result[256], const uint8_t *x, uint32_t n, uint8_t flip, uint8_t *out)
{
    const __m512i f = _mm512_set1_epi8((char)flip);
    const struct byte_table t = byte_table(result);
    uint32_t at = 0;
    for (; at + 64 <= n; at += 64)
        _mm512_storeu_si512(out + at, byte_table_look(&t, _mm512_xor_si512(_mm512_loadu_si512(x + at), f)));
    if (at < n) {
        const __mmask64 rest = first_bytes(n - at);
        _mm512_mask_storeu_epi8(out + at, rest,
                                byte_table_look(&t, _mm512_xor_si512(_mm512_maskz_loadu_epi8(rest, x + at), f)));
    }
}
