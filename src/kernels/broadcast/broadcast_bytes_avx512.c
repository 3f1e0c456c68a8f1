/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and differences of 8-bit tensors of one shape, 64 elements at a time. broadcast.c says when this is what the family
 * computes: with multipliers and offsets that small every step on the way stays within 32, then 16 bits, and narrowing
 * saturates where the definition clamps.
 *
 * A byte becomes a float without a conversion: put below the bits of 2^23 it is 2^23 + q, and what is subtracted then leaves
 * q + offset. Bytes 4 * j … 4 * j + 3 of each quarter go to vector j, which is the order that narrowing undoes. */
#include <immintrin.h>

#include "kernels/broadcast/broadcast.h"

enum { BYTES = 64 };

struct operand {
    __m512 from, scale, less; /* less: -2^23 * scale, exactly */
};

/* What is known where a loop is compiled. */
struct form {
    bool is_signed;
    bool limited;        /* the range is not that of the type */
    bool x_zero, y_zero; /* the offset is 0: a product and what is subtracted from it are rounded together, as is the product
                            alone */
};

struct bytes_sum {
    struct operand x, y;
    __m512i flip;               /* signed bytes are counted from -128 */
    __m512i offset, lo, hi;
};

static struct operand operand_of(const struct codec *c, bool negative)
{
    const int32_t first = c->type == DT_SQ8 ? 128 : 0;
    const float scale = negative ? -c->scale : c->scale;
    return (struct operand){ _mm512_set1_ps((float)((1 << 23) - c->offset + first)), _mm512_set1_ps(scale),
                             _mm512_set1_ps(-(float)(1 << 23) * scale) };
}

static inline __attribute__((always_inline)) __m512 part_of(const struct operand *o, bool zero, __m512i bytes, int j)
{
    const __m512i order = _mm512_add_epi32(_mm512_set4_epi32(3, 2, 1, 0), _mm512_set1_epi32(4 * j));
    __m512i v = _mm512_mask_shuffle_epi8(_mm512_set1_epi32(0x4B000000), 0x1111111111111111, bytes, order);
    if (zero)
        return _mm512_fmadd_ps(_mm512_castsi512_ps(v), o->scale, o->less);
    return _mm512_mul_ps(_mm512_sub_ps(_mm512_castsi512_ps(v), o->from), o->scale);
}

static inline __attribute__((always_inline)) __m512i steps_of(const struct bytes_sum *s, const struct form o, __m512i x,
                                                              __m512i y, int j)
{
    return _mm512_cvtps_epi32(_mm512_add_ps(part_of(&s->x, o.x_zero, x, j), part_of(&s->y, o.y_zero, y, j)));
}

static inline __attribute__((always_inline)) __m512i sum_of(const struct bytes_sum *s, const struct form o, __m512i x,
                                                            __m512i y)
{
    if (o.is_signed) {
        x = _mm512_xor_si512(x, s->flip);
        y = _mm512_xor_si512(y, s->flip);
    }
    __m512i a = _mm512_subs_epi16(_mm512_packs_epi32(steps_of(s, o, x, y, 0), steps_of(s, o, x, y, 1)), s->offset);
    __m512i b = _mm512_subs_epi16(_mm512_packs_epi32(steps_of(s, o, x, y, 2), steps_of(s, o, x, y, 3)), s->offset);
    __m512i q = o.is_signed ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
    if (!o.limited)
        return q;
    return o.is_signed ? _mm512_min_epi8(_mm512_max_epi8(q, s->lo), s->hi)
                       : _mm512_min_epu8(_mm512_max_epu8(q, s->lo), s->hi);
}

static inline __attribute__((always_inline)) void sum_run(const struct bytes_sum *all, const struct form o, const uint8_t *x,
                                                          const uint8_t *y, uint8_t *out, uint64_t n)
{
    const struct bytes_sum s = *all; /* a copy that stores cannot change */
    uint64_t i = 0;
    for (; i + BYTES <= n; i += BYTES)
        _mm512_storeu_si512(out + i, sum_of(&s, o, _mm512_loadu_si512(x + i), _mm512_loadu_si512(y + i)));
    if (i < n) {
        const __mmask64 some = ~(__mmask64)0 >> (BYTES - (n - i));
        _mm512_mask_storeu_epi8(out + i, some,
                                sum_of(&s, o, _mm512_maskz_loadu_epi8(some, x + i), _mm512_maskz_loadu_epi8(some, y + i)));
    }
}

/* A function per form: unsigned bytes with their whole range are what networks add. */
#define SUMS(name, ...)                                                                                       \
    static void name(const struct bytes_sum *s, const uint8_t *x, const uint8_t *y, uint8_t *out, uint64_t n) \
    {                                                                                                         \
        sum_run(s, (struct form){ __VA_ARGS__ }, x, y, out, n);                                               \
    }
SUMS(sum_signed, .is_signed = true, .limited = true)
SUMS(sum_limited, .limited = true)
SUMS(sum_plain, .is_signed = false)
SUMS(sum_x_zero, .x_zero = true)
SUMS(sum_y_zero, .y_zero = true)
SUMS(sum_zeros, .x_zero = true, .y_zero = true)
typedef void sum_fn(const struct bytes_sum *s, const uint8_t *x, const uint8_t *y, uint8_t *out, uint64_t n);

static sum_fn *choose_sum(const struct broadcast_args *a)
{
    static sum_fn *const plain[2][2] = { { sum_plain, sum_y_zero }, { sum_x_zero, sum_zeros } };
    if (a->out.type == DT_SQ8)
        return sum_signed;
    if (a->out.lo > 0 || a->out.hi < UINT8_MAX)
        return sum_limited;
    return plain[a->in[0].offset == 0][a->in[1].offset == 0];
}

void broadcast_bytes_avx512(const struct kernel_call *call, struct range tile)
{
    const struct broadcast_args *a = call->args;
    const uint64_t at = tile.begin * a->unit, end = tile.end * a->unit < a->total ? tile.end * a->unit : a->total;
    struct bytes_sum s = {
        .x = operand_of(&a->in[0], false),
        .y = operand_of(&a->in[1], a->op == BIN_SUBTRACT),
        .flip = _mm512_set1_epi8((char)0x80),
        .offset = _mm512_set1_epi16((short)a->out.offset),
        .lo = _mm512_set1_epi8((char)a->out.lo),
        .hi = _mm512_set1_epi8((char)a->out.hi),
    };
    const uint8_t *x = (const uint8_t *)call->data[0] + at, *y = (const uint8_t *)call->data[1] + at;
    uint8_t *out = (uint8_t *)call->data[a->n_in] + at;
    choose_sum(a)(&s, x, y, out, end - at);
}
