/* SPDX-License-Identifier: Apache-2.0 */
/* Maxima of 8- and 16-bit numbers, f16 among them, over windows of two dimensions, where the encoding stays. 64 bytes of
 * channels stay in a register over all taps; where the windows of an output line begin and end in height is asked once for
 * all of them. pool.c says when this is what the family computes: every window has a tap inside the image. */
#include <immintrin.h>

#include "kernels/pool/pool.h"

/* The taps of one window that are inside the image, the first one at x. */
struct window {
    const uint8_t *x;
    uint32_t lines, taps; /* of them, and of each line */
    uint64_t line, tap;   /* bytes from one to the next */
};

static inline __attribute__((always_inline)) __m512i larger(const enum dtype t, __m512i a, __m512i b)
{
    switch (t) {
    case DT_UQ8: return _mm512_max_epu8(a, b);
    case DT_SQ8: return _mm512_max_epi8(a, b);
    case DT_UQ16: return _mm512_max_epu16(a, b);
    default: return _mm512_max_epi16(a, b);
    }
}

/* f16 as integers in the same order, and back: of negative numbers all bits but the sign are turned. */
static inline __m512i halves_ordered(__m512i v)
{
    return _mm512_xor_si512(v, _mm512_srli_epi16(_mm512_srai_epi16(v, 15), 1));
}

/* A NaN is above infinity, or with a sign below that of its sign: the least number tells. */
static inline void halves_max(const struct window w, uint8_t *out, uint64_t n)
{
    const __m512i infinity = _mm512_set1_epi16(0x7c00), below = _mm512_set1_epi16((int16_t)(0xfc00 ^ 0x7fff));
    for (uint64_t i = 0; i < n; i += 64) {
        const __mmask64 some = n - i < 64 ? ((__mmask64)1 << (n - i)) - 1 : ~(__mmask64)0;
        const uint8_t *line = w.x + i;
        __m512i most = halves_ordered(_mm512_maskz_loadu_epi8(some, line)), least = most;
        for (uint32_t y = 0; y < w.lines; y++, line += w.line) {
            const uint8_t *x = line;
            for (uint32_t k = 0; k < w.taps; k++, x += w.tap) {
                const __m512i v = halves_ordered(_mm512_maskz_loadu_epi8(some, x));
                most = _mm512_max_epi16(most, v);
                least = _mm512_min_epi16(least, v);
            }
        }
        const __mmask32 none = _mm512_cmpgt_epi16_mask(most, infinity) | _mm512_cmplt_epi16_mask(least, below);
        const __mmask32 minus = _mm512_cmpeq_epi16_mask(most, _mm512_set1_epi16(-1)); /* -0 becomes +0 */
        most = _mm512_mask_mov_epi16(halves_ordered(_mm512_mask_mov_epi16(most, minus, _mm512_setzero_si512())), none,
                                     _mm512_set1_epi16(0x7e00));
        _mm512_mask_storeu_epi8(out + i, some, most);
    }
}

/* n bytes. The type is a constant where this is used. */
static inline __attribute__((always_inline)) void window_max(const enum dtype t, const struct window w, uint8_t *out,
                                                             uint64_t n)
{
    if (t == DT_F16) {
        halves_max(w, out, n);
        return;
    }
    for (uint64_t i = 0; i < n; i += 64) {
        const __mmask64 some = n - i < 64 ? ((__mmask64)1 << (n - i)) - 1 : ~(__mmask64)0;
        const uint8_t *line = w.x + i;
        __m512i most = _mm512_maskz_loadu_epi8(some, line);
        for (uint32_t y = 0; y < w.lines; y++, line += w.line) {
            const uint8_t *x = line;
            for (uint32_t k = 0; k < w.taps; k++, x += w.tap)
                most = larger(t, most, _mm512_maskz_loadu_epi8(some, x));
        }
        _mm512_mask_storeu_epi8(out + i, some, most);
    }
}

/* The first tap inside of the window at `at`, and how many there are. */
static inline uint32_t taps_inside(const struct pool_args *a, int d, uint32_t at, uint32_t *n)
{
    const int64_t lo = (int64_t)at * a->stride[d] - a->before[d], hi = lo + a->size[d], first = lo < 0 ? 0 : lo,
                  last = hi < a->in[d] ? hi : a->in[d];
    *n = (uint32_t)(last - first);
    return (uint32_t)first;
}

/* Units from … to of an output line, a unit being a block of channels of a pixel. `w` is what its windows have in common,
 * with x at the first pixel of the first line. */
static inline __attribute__((always_inline)) void line_max(const enum dtype t, const struct pool_args *a, struct window w,
                                                           uint8_t *out, uint32_t from, uint32_t to)
{
    const uint64_t size = t == DT_UQ8 || t == DT_SQ8 ? 1 : 2, block_bytes = SPAN * size;
    const uint8_t *const line = w.x;
    uint32_t pixel = from / a->blocks, block = from % a->blocks;
    for (uint32_t unit = from; unit < to; unit++) {
        const uint64_t at = block * block_bytes, left = w.tap - at;
        w.x = line + taps_inside(a, 2, pixel, &w.taps) * w.tap + at;
        window_max(t, w, out + pixel * w.tap + at, left < block_bytes ? left : block_bytes);
        if (++block == a->blocks)
            block = 0, pixel++;
    }
}

#define LINE_MAX(name, t)                                                                                  \
    static void name(const struct pool_args *a, struct window w, uint8_t *out, uint32_t from, uint32_t to) \
    {                                                                                                      \
        line_max(t, a, w, out, from, to);                                                                  \
    }
LINE_MAX(line_u8, DT_UQ8)
LINE_MAX(line_s8, DT_SQ8)
LINE_MAX(line_u16, DT_UQ16)
LINE_MAX(line_s16, DT_SQ16)
LINE_MAX(line_f16, DT_F16)
typedef void line_fn(const struct pool_args *a, struct window w, uint8_t *out, uint32_t from, uint32_t to);

void pool_max_avx512(const struct kernel_call *call, struct range tile)
{
    const struct pool_args *a = call->args;
    const bool is_signed = dtype_is_signed(a->src.type), bytes = dtype_bits(a->src.type) == 8;
    line_fn *const run = a->src.type == DT_F16 ? line_f16
                         : bytes               ? (is_signed ? line_s8 : line_u8)
                         : is_signed           ? line_s16
                                               : line_u16;
    const uint64_t tap = (uint64_t)a->channels * (bytes ? 1 : 2), per_line = (uint64_t)a->out[2] * a->blocks,
                   units = (uint64_t)a->batch * a->out[1] * per_line, last = (uint64_t)tile.end * a->parts,
                   end = last < units ? last : units;
    for (uint64_t unit = (uint64_t)tile.begin * a->parts, next; unit < end; unit = next) {
        const uint64_t line = unit / per_line, from = unit % per_line,
                       to = end - unit < per_line - from ? from + end - unit : per_line;
        struct window w = { .line = a->in[2] * tap, .tap = tap };
        const uint64_t y = taps_inside(a, 1, (uint32_t)(line % a->out[1]), &w.lines);
        w.x = (const uint8_t *)call->data[0] + (line / a->out[1] * a->in[1] + y) * w.line;
        run(a, w, (uint8_t *)call->data[1] + line * a->out[2] * tap, (uint32_t)from, (uint32_t)to);
        next = unit + to - from;
    }
}
