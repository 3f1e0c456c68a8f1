/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in the order that kernels read them: blocks of 16 channels, k in groups (conv.h). The usual ways in which weights
 * lie before that have loops of their own, since weights that are not constant are packed in every run. */
#include <string.h>

#include "kernels/conv/conv.h"
#include "kernels/kernel_util.h"

/* Where packing reads and writes: 16 channels of one slice. */
struct pack_block {
    const struct conv_args *a;
    const void *src;
    uint64_t first; /* element of k = 0, channel 0 of the block */
    uint32_t n;     /* channels that exist */
    void *dst;
};

/* One loop per storage type; SHIFTED is applied to each value on the way. */
#define PACK_LOOP(name, S, D, SHIFTED)                                                       \
    static void pack_##name(const struct pack_block *p)                                      \
    {                                                                                        \
        const struct conv_args *a = p->a;                                                    \
        const int32_t shift = a->w_shift;                                                    \
        (void)shift;                                                                         \
        for (uint32_t tap = 0; tap < a->taps; tap++)                                         \
            for (uint32_t i = 0; i < a->cig; i++) {                                          \
                uint32_t k = tap * a->tap_stride + i;                                        \
                const S *s = (const S *)p->src + p->first + tap * a->w_tap + i * a->w_in;    \
                D *d = (D *)p->dst + (uint64_t)(k / a->kg) * CONV_BLOCK * a->kg + k % a->kg; \
                for (uint32_t c = 0; c < p->n; c++) {                                        \
                    S v = s[c * a->w_out];                                                   \
                    d[c * a->kg] = (D)(SHIFTED);                                             \
                }                                                                            \
            }                                                                                \
    }

PACK_LOOP(s8, int8_t, int8_t, v + shift)
PACK_LOOP(u8, uint8_t, int8_t, v + shift)
PACK_LOOP(s16, int16_t, int16_t, v + shift)
PACK_LOOP(u16, uint16_t, int16_t, v + shift)
PACK_LOOP(f16, uint16_t, uint16_t, v)
PACK_LOOP(f32, uint32_t, uint32_t, v)

/* Weights are stored as they are but for the sign of unsigned ones. */
static bool as_stored(const struct conv_args *a)
{
    const int32_t half = a->w_type == DT_UQ8 ? 128 : a->w_type == DT_UQ16 ? 32768 : 0;
    return a->taps == 1 && a->w_shift == -half &&
           (T_(a->w_type) & (T_(DT_SQ8) | T_(DT_SQ16) | T_(DT_UQ8) | T_(DT_UQ16) | T_FLOAT)) &&
           dtype_bits(a->w_type) == 8 * a->wsize;
}

static uint32_t sign_bits(const struct conv_args *a)
{
    return a->w_type == DT_UQ8 ? 0x80808080u : a->w_type == DT_UQ16 ? 0x80008000u : 0;
}

typedef uint32_t quad __attribute__((vector_size(16)));
typedef uint16_t eight __attribute__((vector_size(16)));

/* Groups of four bytes, four of each of 16 channels: a transpose of 16 by 4. `step`: bytes from one channel to the next. */
static void turn_quads(char *d, const char *s, uint64_t step, quad flip)
{
    for (uint32_t c = 0; c < CONV_BLOCK; c += 4, s += 4 * step, d += 16) {
        quad x[4];
        for (uint32_t i = 0; i < 4; i++)
            memcpy(&x[i], s + i * step, 16);
        const quad a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5), b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
        const quad e = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7), f = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
        const quad y[4] = { __builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                            __builtin_shufflevector(e, f, 0, 1, 4, 5), __builtin_shufflevector(e, f, 2, 3, 6, 7) };
        for (uint32_t i = 0; i < 4; i++) {
            const quad v = y[i] ^ flip;
            memcpy(d + i * 4 * CONV_BLOCK, &v, 16);
        }
    }
}

/* One run of k per channel, contiguous: whole groups are copied. */
static void pack_copied(const struct pack_block *p)
{
    const struct conv_args *a = p->a;
    const uint32_t group = a->kg * a->wsize, whole = a->cig / a->kg, rest = a->cig % a->kg * a->wsize, bits = sign_bits(a);
    if (group == 4 && p->n == CONV_BLOCK && a->cig % (4 * a->kg) == 0) {
        for (uint32_t g = 0; g < whole; g += 4)
            turn_quads((char *)p->dst + (uint64_t)g * 4 * CONV_BLOCK,
                       (const char *)p->src + p->first * a->wsize + (uint64_t)g * 4, a->w_out * a->wsize,
                       (quad){ bits, bits, bits, bits });
        return;
    }
    for (uint32_t c = 0; c < p->n; c++) {
        const char *s = (const char *)p->src + (p->first + c * a->w_out) * a->wsize;
        char *d = (char *)p->dst + c * group;
        for (uint32_t g = 0; g < whole; g++, s += group, d += CONV_BLOCK * group) {
            uint32_t four = 0;
            if (group == 4) {
                memcpy(&four, s, 4);
                four ^= bits;
                memcpy(d, &four, 4);
            } else {
                memcpy(d, s, 2);
            }
        }
        for (uint32_t i = 0; i < rest; i++)
            d[i] = (char)(s[i] ^ (uint8_t)(bits >> 8 * (i % a->wsize)));
    }
}

static bool copies(const struct conv_args *a)
{
    const uint32_t group = a->kg * a->wsize;
    return as_stored(a) && a->w_in == 1 && (group == 4 || (group == 2 && !sign_bits(a)));
}

/* Two lines of 16-bit weights, 16 channels each, become pairs. */
static void pair_lines(char *d, const char *s, uint64_t line, uint32_t flip)
{
    const eight bits = (eight)(quad){ flip, flip, flip, flip };
    for (uint32_t half = 0; half < 2; half++, s += 16, d += 32) {
        eight a, b;
        memcpy(&a, s, 16);
        memcpy(&b, s + line, 16);
        const eight lo = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11) ^ bits,
                    hi = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15) ^ bits;
        memcpy(d, &lo, 16);
        memcpy(d + 16, &hi, 16);
    }
}

/* Four lines of 8-bit weights, 16 channels each, become fours. */
static void join_lines(char *d, const char *s, uint64_t line, uint32_t flip)
{
    typedef uint8_t sixteen __attribute__((vector_size(16)));
    const eight bits = (eight)(quad){ flip, flip, flip, flip };
    sixteen x[4];
    for (uint32_t i = 0; i < 4; i++)
        memcpy(&x[i], s + i * line, 16);
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
    const eight a[2] = { (eight)LOWER(x[0], x[1]), (eight)UPPER(x[0], x[1]) },
                b[2] = { (eight)LOWER(x[2], x[3]), (eight)UPPER(x[2], x[3]) };
#undef LOWER
#undef UPPER
    for (uint32_t half = 0; half < 2; half++, d += 32) {
        const eight lo = __builtin_shufflevector(a[half], b[half], 0, 8, 1, 9, 2, 10, 3, 11) ^ bits,
                    hi = __builtin_shufflevector(a[half], b[half], 4, 12, 5, 13, 6, 14, 7, 15) ^ bits;
        memcpy(d, &lo, 16);
        memcpy(d + 16, &hi, 16);
    }
}

/* Channels follow each other in the weights: lines of k are copied, pairs or fours of lines become groups. */
static void pack_lines(const struct pack_block *p)
{
    const struct conv_args *a = p->a;
    const uint64_t line = a->w_in * a->wsize, group = (uint64_t)a->kg * a->wsize * CONV_BLOCK;
    const char *s = (const char *)p->src + p->first * a->wsize;
    char *d = p->dst;
    for (uint32_t k = 0; k < a->cig; k += a->kg, s += a->kg * line, d += group) {
        if (a->kg == 1)
            memcpy(d, s, group);
        else if (a->kg == 2)
            pair_lines(d, s, line, sign_bits(a));
        else
            join_lines(d, s, line, sign_bits(a));
    }
}

static bool has_lines(const struct conv_args *a, uint32_t n)
{
    const bool groups = (a->kg == 1 && !sign_bits(a)) || (a->kg == 2 && a->wsize == 2) || (a->kg == 4 && a->wsize == 1);
    return as_stored(a) && a->w_out == 1 && groups && a->cig % a->kg == 0 && n == CONV_BLOCK;
}

/* Store the weight of element `at`, whatever its encoding is. */
static inline void pack_one(const struct conv_args *a, const void *w, uint64_t at, void *dst, uint64_t to)
{
    if (a->wsize == 4)
        ((float *)dst)[to] =
            a->w_type == DT_F16 ? ku_f16_to_f32(((const uint16_t *)w)[at]) : encoding_real(&a->w_enc, w, at);
    else if (a->wsize == 2)
        ((int16_t *)dst)[to] = (int16_t)conv_weight(a, w, at);
    else
        ((int8_t *)dst)[to] = (int8_t)conv_weight(a, w, at);
}

/* Packed types, narrower values in wider types, and everything that is more than q + shift. */
static void pack_any(const struct pack_block *p)
{
    const struct conv_args *a = p->a;
    for (uint32_t tap = 0; tap < a->taps; tap++)
        for (uint32_t i = 0; i < a->cig; i++) {
            uint32_t k = tap * a->tap_stride + i;
            uint64_t from = p->first + tap * a->w_tap + i * a->w_in,
                     to = (uint64_t)(k / a->kg) * CONV_BLOCK * a->kg + k % a->kg;
            for (uint32_t c = 0; c < p->n; c++)
                pack_one(a, p->src, from + c * a->w_out, p->dst, to + c * a->kg);
        }
}

static void (*const pack_of_type[DT_COUNT])(const struct pack_block *) = {
    [DT_SQ8] = pack_s8,   [DT_UQ8] = pack_u8,  [DT_SQ16] = pack_s16,
    [DT_UQ16] = pack_u16, [DT_F16] = pack_f16, [DT_F32] = pack_f32,
};

void conv_pack(const struct conv_args *a, const void *w, uint32_t slice, uint32_t c0, uint32_t n, void *dst)
{
    bool any = a->wsize == 4 ? a->w_type != DT_F32
                             : dtype_is_fixed(a->w_type) && (a->effective || a->w_enc.bits < (a->wsize == 1 ? 8u : 16u));
    uint64_t bytes = conv_block_bytes(a);
    for (uint32_t c = 0; c < n; c += CONV_BLOCK) {
        struct pack_block p = { a, w, slice * a->w_slice + (c0 + c) * a->w_out, n - c < CONV_BLOCK ? n - c : CONV_BLOCK,
                                (char *)dst + c / CONV_BLOCK * bytes };
        if (p.n < CONV_BLOCK || a->kpad != a->taps * a->cig)
            memset(p.dst, 0, bytes);
        if (any)
            pack_any(&p);
        else if (copies(a))
            pack_copied(&p);
        else if (has_lines(a, p.n))
            pack_lines(&p);
        else
            pack_of_type[a->w_type](&p);
    }
}

void conv_pack_depthwise(const struct conv_args *a, const void *w, void *dst)
{
    memset(dst, 0, (size_t)a->taps * a->npad * a->wsize);
    for (uint32_t tap = 0; tap < a->taps; tap++) {
        char *to = (char *)dst + (uint64_t)tap * a->npad * a->wsize;
        uint64_t from = tap * a->w_tap;
        if (a->w_type == DT_F32 || (a->w_type == DT_F16 && a->wsize == 2)) {
            memcpy(to, (const char *)w + from * a->wsize, (size_t)a->cog * a->wsize);
            continue;
        }
        for (uint32_t c = 0; c < a->cog; c++)
            pack_one(a, w, from + c, to, c);
    }
}
