/* SPDX-License-Identifier: Apache-2.0 */
/* What the 8-bit kernels of AVX-512 and AMX share: lines of bytes copied, and sums that end as bytes. Include vec_avx512.h
 * first. */
#ifndef KERNELS_CONV_CONV_BYTES_AVX512_H
#define KERNELS_CONV_CONV_BYTES_AVX512_H

#include <string.h>

#include "kernels/conv/conv_fixed_end.h"

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

/* n bytes as two pieces that overlap, without masks and without touching others. */
#define COPY_TWO(T, XOR)                            \
    do {                                            \
        T lo_, hi_;                                 \
        memcpy(&lo_, s, sizeof(T));                 \
        memcpy(&hi_, s + n - sizeof(T), sizeof(T)); \
        lo_ = XOR(lo_), hi_ = XOR(hi_);             \
        memcpy(d, &lo_, sizeof(T));                 \
        memcpy(d + n - sizeof(T), &hi_, sizeof(T)); \
    } while (0)
#define XOR_8(v) ((v) ^ (uint8_t)mask)
#define XOR_16(v) ((v) ^ (uint16_t)mask)
#define XOR_32(v) ((v) ^ (uint32_t)mask)
#define XOR_64(v) ((v) ^ mask)
#define XOR_128(v) _mm_xor_si128(v, _mm_set1_epi64x((long long)mask))
#define XOR_256(v) _mm256_xor_si256(v, _mm256_set1_epi64x((long long)mask))
#define XOR_512(v) _mm512_xor_si512(v, _mm512_set1_epi64((long long)mask))

/* 64 bytes and more; the last ones overlap. */
static inline __attribute__((always_inline)) void bytes_copy_long(char *d, const char *s, uint32_t n, uint64_t mask)
{
    for (uint32_t i = 0; i + 64 < n; i += 64)
        _mm512_storeu_si512(d + i, XOR_512(_mm512_loadu_si512(s + i)));
    _mm512_storeu_si512(d + n - 64, XOR_512(_mm512_loadu_si512(s + n - 64)));
}

#define EACH_LINE(...)                                                                       \
    for (uint32_t k = 0; k < w->windows; k++) {                                              \
        char *d = w->dst + k * w->row_step;                                                  \
        const char *s = w->src + k * w->window_step;                                         \
        for (uint32_t i = 0; i < w->lines; i++, d += n, s += w->line_step)                   \
            __VA_ARGS__;                                                                     \
    }

/* Every 8 bytes are changed by `mask`. The length of a line is looked at once for all windows. */
static inline __attribute__((always_inline)) void bytes_copy_windows(const struct conv_windows *w, uint64_t mask)
{
    const uint32_t n = w->n;
    if (n < 2)
        EACH_LINE(COPY_TWO(uint8_t, XOR_8))
    else if (n < 4)
        EACH_LINE(COPY_TWO(uint16_t, XOR_16))
    else if (n < 8)
        EACH_LINE(COPY_TWO(uint32_t, XOR_32))
    else if (n < 16)
        EACH_LINE(COPY_TWO(uint64_t, XOR_64))
    else if (n < 32)
        EACH_LINE(COPY_TWO(__m128i, XOR_128))
    else if (n < 64)
        EACH_LINE(COPY_TWO(__m256i, XOR_256))
    else
        EACH_LINE(bytes_copy_long(d, s, n, mask))
}

#undef COPY_TWO
#undef EACH_LINE
#undef XOR_8
#undef XOR_16
#undef XOR_32
#undef XOR_64
#undef XOR_128
#undef XOR_256
#undef XOR_512

/* ---- ends ------------------------------------------------------------------------------------------------------------- */

/* The output range in bytes, the offset in 16 bits. */
struct bytes_end {
    vi lo, hi, offset;
    bool is_signed;
    bool moved, limited;            /* the offset is not 0; the range is not that of the type */
};

static inline struct bytes_end bytes_end(const struct conv_args *a)
{
    const bool is_signed = a->out_type == DT_SQ8;
    return (struct bytes_end){ _mm512_set1_epi8((char)a->q_lo),
                               _mm512_set1_epi8((char)a->q_hi),
                               _mm512_set1_epi16((short)a->out_offset),
                               is_signed,
                               a->out_offset != 0,
                               a->q_lo > (is_signed ? INT8_MIN : 0) || a->q_hi < (is_signed ? INT8_MAX : UINT8_MAX) };
}

/* Plain channels end in bytes without leaving 32 bits on the way. */
static inline bool bytes_suit(const struct fixed_end *e)
{
    vf most = vf_zero();
    if (!e->simple || !conv_ends_in_bytes(e->a))
        return false;
    for (uint32_t i = 0; i < e->simple; i += VEC_LANES)
        most = vf_max(most, vf_load_n(e->m + i, e->simple - i));
    return _mm512_reduce_max_ps(most) <= CONV_SMALL_M;
}

/* A sum in steps of the output. Lifted ones (conv_lift.c) are floats already: `lift` takes away what they began with. */
static inline __attribute__((always_inline)) vi bytes_steps(vi sum, vf m)
{
    return vi_round(vf_mul(vf_from_int(sum), m));
}

static inline __attribute__((always_inline)) vi bytes_lifted(vi sum, vf m, vf lift)
{
    return vi_round(vf_fma(_mm512_castsi512_ps(sum), m, lift));
}

static inline vf bytes_lift(vf m)
{
    return vf_mul(m, vf_set1(-CONV_LIFT));
}

/* 64 steps of the output, narrowed to words, as bytes, clamped: narrowing saturates. conv_ends_in_bytes says when that is
 * exact. */
static inline __attribute__((always_inline)) vi bytes_from_words(const struct bytes_end *e, vi a, vi b)
{
    if (e->moved) {
        a = _mm512_subs_epi16(a, e->offset);
        b = _mm512_subs_epi16(b, e->offset);
    }
    vi q = e->is_signed ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
    if (!e->limited)
        return q;
    return e->is_signed ? _mm512_min_epi8(_mm512_max_epi8(q, e->lo), e->hi)
                        : _mm512_min_epu8(_mm512_max_epu8(q, e->lo), e->hi);
}

/* Quarters come out interleaved: bytes 0 … 3 of a quarter are from v0, 4 … 7 from v1, and so on. */
static inline __attribute__((always_inline)) vi bytes_narrow(const struct bytes_end *e, vi v0, vi v1, vi v2, vi v3)
{
    return bytes_from_words(e, _mm512_packs_epi32(v0, v1), _mm512_packs_epi32(v2, v3));
}

/* The same with the bytes of v[0] first, then those of v[1], and so on. */
static inline __attribute__((always_inline)) vi bytes_in_order(const struct bytes_end *e, const vi v[4])
{
    const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes_narrow(e, v[0], v[1], v[2], v[3]));
}

#endif
