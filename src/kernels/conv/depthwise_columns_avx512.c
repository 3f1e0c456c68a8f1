/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit depthwise convolution of 3 x 3 taps, AVX-512 VNNI, straight from the image.
 *
 * The bytes of four input lines at one column, 64 channels of each, are interleaved until every group of four bytes belongs
 * to one channel (depthwise_order_avx512.h). With steps of one, four lines are what two output lines need:
 *
 *     lines     0 1 2 3          of a column, interleaved once
 *     weights   a b c 0          of the first output line
 *               0 a b c          of the second
 *
 * and a column meets three output pixels, whose sums are kept in registers while columns go by: the one that it ends, the
 * one in the middle, the one that it begins. Weights and sums of 64 channels do not fit the registers. So half of them goes
 * over a strip of columns before the other half does, and the first one leaves its words on the side.
 *
 * With steps of two nothing is shared between lines, and all channels go together.
 *
 * Where fewer channels are left, vectors are of several columns: those with the same place in each half or quarter of the
 * line. The last block of channels ends with the last channel, so that some may be computed a second time. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_bytes_avx512.h"
#include "kernels/conv/conv_stage.h"
#include "kernels/conv/depthwise_order_avx512.h"

enum { TAPS = 3, CHANNELS = 64, HALF = PARTS / 2, STRIP = 32, QUAD = 4 };

/* How a vector is made of columns; constants where loops are compiled. SOME: one column with fewer than 64 channels. */
enum kind { WHOLE, SOME, TWO, FOUR, KINDS };

/* What 64 channels, or several columns of fewer, need whatever the pixel. */
struct block {
    const struct conv_args *a;
    const uint8_t *x;
    uint8_t *out;
    uint32_t c0, columns;        /* the first channel; output columns that each part of a vector walks over */
    uint64_t x_apart, out_apart; /* bytes from one part to the next */
    __mmask64 mask;              /* SOME */
    bool flip;                   /* x is signed: moved up by 128 */
    vi zero;                     /* real zero, as x has it */
    struct bytes_end end;
    vi base[PARTS];
    vf m[PARTS], lift[PARTS]; /* lift: see conv_lift.c */
    vi w[TAPS][PARTS];
};

/* ---- columns ---------------------------------------------------------------------------------------------------------- */

/* A line of x: where its next column lies. Lines outside the image are one pixel of real zero, over and over. */
struct line {
    uintptr_t at;
    uint64_t step, apart;
};

/* Columns of a strip: the next one's place in the line, counted in the first part of a vector. */
struct walk {
    struct line line[QUAD];
    int64_t x;
};

static inline __attribute__((always_inline)) vi load_column(const struct block *b, const enum kind kind,
                                                            const struct line *l)
{
    const uint8_t *const p = (const uint8_t *)l->at;
    const uint64_t d = l->apart;
    if (kind == WHOLE)
        return _mm512_loadu_si512(p);
    if (kind == SOME)
        return _mm512_maskz_loadu_epi8(b->mask, p);
    if (kind == TWO)
        return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)p)),
                                  _mm256_loadu_si256((const __m256i *)(p + d)), 1);
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + d)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 2 * d)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 3 * d)), 3);
}

/* A column of which some parts are outside the line. (A copy of the line: walks stay in registers.) */
static __attribute__((noinline)) vi load_edge(const struct block *b, enum kind kind, struct line l, int64_t x)
{
    const uint32_t parts = kind == FOUR ? 4 : kind == TWO ? 2 : 1, n = CHANNELS / parts;
    const int64_t step = (int64_t)b->columns * b->a->x.stride;
    uint8_t bytes[CHANNELS];
    _mm512_storeu_si512(bytes, b->zero);
    for (uint32_t i = 0; i < parts; i++, x += step)
        if (x >= 0 && x < b->a->x.in)
            memcpy(bytes + i * n, (const uint8_t *)(l.at + i * l.apart), kind == SOME ? b->a->co - b->c0 : n);
    return _mm512_loadu_si512(bytes);
}

/* The bytes of `lines` lines at the next column, and on to the one behind it. */
static inline __attribute__((always_inline)) void next_column(const struct block *b, const enum kind kind,
                                                              const uint32_t lines, struct walk *w, vi ret[QUAD])
{
    const int64_t last = w->x + (kind == FOUR ? 3 : kind == TWO ? 1 : 0) * (int64_t)b->columns * b->a->x.stride;
    if (__builtin_expect(w->x >= 0 && last < b->a->x.in, 1)) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < lines; i++)
            ret[i] = load_column(b, kind, &w->line[i]);
    } else {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < lines; i++)
            ret[i] = load_edge(b, kind, w->line[i], w->x);
    }
    if (b->flip)
#pragma GCC unroll 4
        for (uint32_t i = 0; i < lines; i++)
            ret[i] = _mm512_xor_si512(ret[i], _mm512_set1_epi8((char)0x80));
#pragma GCC unroll 4
    for (uint32_t i = 0; i < lines; i++)
        w->line[i].at += w->line[i].step;
    w->x++;
}

/* Output line `line`, counted over all images, from column ox of each part on. */
static inline void walk_from(struct walk *w, const struct block *b, uint32_t line, uint32_t lines, uint32_t ox)
{
    const struct conv_args *a = b->a;
    const uint8_t *const image = b->x + (uint64_t)(line / a->y.out) * a->y.in * a->x.in * a->ci + b->c0;
    w->x = (int64_t)ox * a->x.stride - a->x.pad;
    for (uint32_t i = 0; i < lines; i++) {
        const int64_t y = (int64_t)(line % a->y.out) * a->y.stride - a->y.pad + i;
        const bool inside = y >= 0 && y < a->y.in;
        w->line[i] = inside ? (struct line){ (uintptr_t)image + (uint64_t)((y * a->x.in + w->x) * a->ci), a->ci, b->x_apart }
                            : (struct line){ (uintptr_t)&b->zero, 0, 0 };
    }
}

/* ---- ends ------------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) vi steps_of(const struct block *b, vi acc, int part, const bool lifted)
{
    return lifted ? bytes_lifted(acc, b->m[part], b->lift[part]) : bytes_steps(acc, b->m[part]);
}

static inline __attribute__((always_inline)) void store_pixel(const struct block *b, const enum kind kind, uint8_t *out,
                                                              vi v)
{
    const uint64_t d = b->out_apart;
    if (kind == WHOLE) {
        _mm512_storeu_si512(out, v);
    } else if (kind == SOME) {
        _mm512_mask_storeu_epi8(out, b->mask, v);
    } else if (kind == TWO) {
        _mm256_storeu_si256((__m256i *)out, _mm512_castsi512_si256(v));
        _mm256_storeu_si256((__m256i *)(out + d), _mm512_extracti64x4_epi64(v, 1));
    } else {
        _mm_storeu_si128((__m128i *)out, _mm512_castsi512_si128(v));
        _mm_storeu_si128((__m128i *)(out + d), _mm512_extracti32x4_epi32(v, 1));
        _mm_storeu_si128((__m128i *)(out + 2 * d), _mm512_extracti32x4_epi32(v, 2));
        _mm_storeu_si128((__m128i *)(out + 3 * d), _mm512_extracti32x4_epi32(v, 3));
    }
}

static uint8_t *pixel_at(const struct block *b, uint32_t line, uint32_t ox)
{
    return b->out + ((uint64_t)line * b->a->x.out + ox) * b->a->co + b->c0;
}

/* ---- steps of one ----------------------------------------------------------------------------------------------------- */

/* Half of the channels of some columns: n output lines from `line` on, `count` pixels from ox on. */
struct strip {
    uint32_t line, ox, count;
    vi *words; /* [pixel][line]: what the first half leaves */
};

static inline __attribute__((always_inline)) void half_strip(const struct block *b, const struct strip *s,
                                                             const enum kind kind, const uint32_t n, const int half,
                                                             const bool lifted)
{
    const uint64_t co = b->a->co, line = co * b->a->x.out;
    const vi base[HALF] = { b->base[half * HALF], b->base[half * HALF + 1] };
    uint8_t *out = pixel_at(b, s->line, s->ox);
    vi *words = s->words;
    vi w[2][TAPS][HALF], middle[2][HALF], begun[2][HALF];
    struct walk walk;
    walk_from(&walk, b, s->line, n + 2, s->ox);
#pragma GCC unroll 3
    for (int t = 0; t < TAPS; t++)
#pragma GCC unroll 2
        for (int i = 0; i < HALF; i++) {
            w[0][t][i] = vi_keep(b->w[t][half * HALF + i]);
            w[1][t][i] = vi_keep(_mm512_slli_epi32(w[0][t][i], 8));
        }
#pragma GCC unroll 2
    for (uint32_t l = 0; l < n; l++)
#pragma GCC unroll 2
        for (int i = 0; i < HALF; i++)
            middle[l][i] = begun[l][i] = base[i];
    for (uint32_t c = 0; c < s->count + TAPS - 1; c++) {
        vi in[QUAD], x[HALF];
        next_column(b, kind, n + 2, &walk, in);
        if (n == 1)
            in[3] = in[2];
        vi a01 = half ? _mm512_unpackhi_epi8(in[0], in[1]) : _mm512_unpacklo_epi8(in[0], in[1]);
        vi a23 = half ? _mm512_unpackhi_epi8(in[2], in[3]) : _mm512_unpacklo_epi8(in[2], in[3]);
        x[0] = _mm512_unpacklo_epi16(a01, a23);
        x[1] = _mm512_unpackhi_epi16(a01, a23);
        vi ended[2][HALF];
#pragma GCC unroll 2
        for (uint32_t l = 0; l < n; l++)
#pragma GCC unroll 2
            for (int i = 0; i < HALF; i++) {
                ended[l][i] = _mm512_dpbusd_epi32(middle[l][i], x[i], w[l][2][i]);
                middle[l][i] = _mm512_dpbusd_epi32(begun[l][i], x[i], w[l][1][i]);
                begun[l][i] = _mm512_dpbusd_epi32(base[i], x[i], w[l][0][i]);
            }
        if (c < TAPS - 1)
            continue;
#pragma GCC unroll 2
        for (uint32_t l = 0; l < n; l++) {
            const vi v = _mm512_packs_epi32(steps_of(b, ended[l][0], half * HALF, lifted),
                                            steps_of(b, ended[l][1], half * HALF + 1, lifted));
            if (half)
                store_pixel(b, kind, out + l * line, bytes_from_words(&b->end, words[l], v));
            else
                words[l] = v;
        }
        words += n;
        out += co;
    }
}

static inline __attribute__((always_inline)) void run_strips(const struct block *b, const enum kind kind, uint32_t line,
                                                             const uint32_t n, const bool lifted)
{
    const uint32_t strips = (b->columns + STRIP - 1) / STRIP;
    vi words[STRIP * 2];
    for (uint32_t i = 0; i < strips; i++) {
        const uint32_t ox = (uint32_t)((uint64_t)b->columns * i / strips),
                       end = (uint32_t)((uint64_t)b->columns * (i + 1) / strips);
        const struct strip s = { line, ox, end - ox, words };
        half_strip(b, &s, kind, n, 0, lifted);
        half_strip(b, &s, kind, n, 1, lifted);
    }
}

/* ---- steps of two ----------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void two_column(const struct block *b, const enum kind kind, struct walk *walk,
                                                             vi ret[PARTS])
{
    vi in[QUAD];
    next_column(b, kind, TAPS, walk, in);
    in[3] = in[2]; /* its weight is 0 */
    interleave(in, ret);
}

static inline __attribute__((always_inline)) void run_line_of_two(const struct block *b, const enum kind kind, uint32_t line,
                                                                  const bool lifted)
{
    uint8_t *out = pixel_at(b, line, 0);
    vi x[PARTS], acc[PARTS], w[TAPS][PARTS];
    struct walk walk;
    walk_from(&walk, b, line, TAPS, 0);
#pragma GCC unroll 3
    for (int t = 0; t < TAPS; t++)
#pragma GCC unroll 4
        for (int i = 0; i < PARTS; i++)
            w[t][i] = vi_keep(b->w[t][i]);
    two_column(b, kind, &walk, x);
    for (uint32_t ox = 0; ox < b->columns; ox++, out += b->a->co) {
#pragma GCC unroll 4
        for (int i = 0; i < PARTS; i++)
            acc[i] = _mm512_dpbusd_epi32(b->base[i], x[i], w[0][i]);
        two_column(b, kind, &walk, x);
#pragma GCC unroll 4
        for (int i = 0; i < PARTS; i++)
            acc[i] = _mm512_dpbusd_epi32(acc[i], x[i], w[1][i]);
        two_column(b, kind, &walk, x);
#pragma GCC unroll 4
        for (int i = 0; i < PARTS; i++)
            acc[i] = steps_of(b, _mm512_dpbusd_epi32(acc[i], x[i], w[2][i]), i, lifted);
        store_pixel(b, kind, out, bytes_narrow(&b->end, acc[0], acc[1], acc[2], acc[3]));
    }
}

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

/* Two output lines of an image at a time. */
static inline __attribute__((always_inline)) void run_pairs(const struct block *b, const enum kind kind, struct range lines,
                                                            const bool lifted)
{
    for (uint32_t at = lines.begin; at < lines.end;) {
        const bool two = at + 1 < lines.end && (at + 1) % b->a->y.out;
        if (two)
            run_strips(b, kind, at, 2, lifted);
        else
            run_strips(b, kind, at, 1, lifted);
        at += two ? 2 : 1;
    }
}

#define RUN(kind, lifted)                                                           \
    static void by_one_##kind##_##lifted(const struct block *b, struct range lines) \
    {                                                                               \
        run_pairs(b, kind, lines, lifted);                                          \
    }                                                                               \
    static void by_two_##kind##_##lifted(const struct block *b, struct range lines) \
    {                                                                               \
        for (uint32_t at = lines.begin; at < lines.end; at++)                       \
            run_line_of_two(b, kind, at, lifted);                                   \
    }
#define RUNS(kind) RUN(kind, 0) RUN(kind, 1)
RUNS(WHOLE)
RUNS(SOME)
RUNS(TWO)
RUNS(FOUR)
#define ROW(kind)                                 \
    {                                             \
        { by_one_##kind##_0, by_one_##kind##_1 }, \
        {                                         \
            by_two_##kind##_0, by_two_##kind##_1  \
        }                                         \
    }
static void (*const runs[KINDS][2][2])(const struct block *, struct range) = { ROW(WHOLE), ROW(SOME), ROW(TWO), ROW(FOUR) };

/* ---- what belongs to channels ----------------------------------------------------------------------------------------- */

/* As many of n bytes as a vector has, repeated where it is of several columns. */
static inline vi weights_at(const struct block *b, enum kind kind, uint32_t tap)
{
    const uint8_t *w = (const uint8_t *)b->a->packed + (uint64_t)tap * b->a->npad + b->c0;
    return kind == WHOLE  ? _mm512_loadu_si512(w)
           : kind == SOME ? _mm512_maskz_loadu_epi8(b->mask, w)
           : kind == TWO  ? _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)w))
                          : _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)w));
}

static void set_channels(struct block *b, enum kind kind, const vi wsum[PARTS])
{
    const struct conv_args *a = b->a;
    const int32_t left = b->flip ? a->x_offset - 128 : a->x_offset;
    const uint32_t blocks = kind == FOUR ? 1 : kind == TWO ? 2 : PARTS;
    vi bias[PARTS], scale[PARTS], ordered[PARTS];
    for (uint32_t i = 0; i < PARTS; i++) {
        const uint32_t c = b->c0 + CONV_BLOCK * (i % blocks);
        bias[i] = c < a->npad ? low_halves(conv_b(a, a->head, a->npad) + c) : vi_zero();
        scale[i] = c < a->npad ? vi_load((const int32_t *)conv_m(a->head) + c) : vi_zero();
    }
    transpose_quarters(scale, ordered);
    for (int i = 0; i < PARTS; i++) {
        b->m[i] = _mm512_castsi512_ps(ordered[i]);
        b->lift[i] = bytes_lift(b->m[i]);
    }
    transpose_quarters(bias, ordered);
    for (int i = 0; i < PARTS; i++)
        b->base[i] = vi_add(vi_add(ordered[i], vi_mul(wsum[i], vi_set1(left))), vi_set1(a->lifted ? CONV_LIFT_BITS : 0));
}

static void set_weights(struct block *b, enum kind kind)
{
    const vi one = _mm512_set1_epi8(1);
    vi wsum[PARTS] = { vi_zero(), vi_zero(), vi_zero(), vi_zero() };
    for (uint32_t t = 0; t < TAPS; t++) {
        const vi line[QUAD] = { weights_at(b, kind, t), weights_at(b, kind, TAPS + t), weights_at(b, kind, 2 * TAPS + t),
                                vi_zero() };
        interleave(line, b->w[t]);
        for (int i = 0; i < PARTS; i++)
            wsum[i] = _mm512_dpbusd_epi32(wsum[i], one, b->w[t][i]);
    }
    set_channels(b, kind, wsum);
}

/* The block that begins with channel c0, or ends with the last one if fewer than 64 are left; how many channels it has
 * beyond c0. */
static uint32_t block_at(struct block *b, uint32_t c0, enum kind *kind)
{
    const struct conv_args *a = b->a;
    const uint32_t left = a->co - c0;
    const uint32_t parts = left <= CHANNELS / 4 && a->co >= CHANNELS / 4 && a->x.out % 4 == 0   ? 4
                           : left <= CHANNELS / 2 && a->co >= CHANNELS / 2 && a->x.out % 2 == 0 ? 2
                                                                                                : 1;
    const uint32_t n = CHANNELS / parts;
    *kind = parts == 4 ? FOUR : parts == 2 ? TWO : a->co < CHANNELS ? SOME : WHOLE;
    b->c0 = left >= n || a->co < n ? c0 : a->co - n;
    b->columns = a->x.out / parts;
    b->x_apart = (uint64_t)b->columns * a->x.stride * a->ci;
    b->out_apart = (uint64_t)b->columns * a->co;
    b->mask = left >= CHANNELS ? ~(__mmask64)0 : ~(__mmask64)0 >> (CHANNELS - left);
    set_weights(b, *kind);
    return left < n ? left : n;
}

kernel_fn depthwise_q8_columns_avx512;

/* All channels of some lines, before the next ones: what 64 channels bring into the cache is there for the others, too. */
void depthwise_q8_columns_avx512(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    const uint64_t cached = 128 * 1024, line = (uint64_t)a->y.stride * a->x.in * a->ci, fit = cached / line / 2 * 2;
    const uint32_t step = fit < 2 ? 2 : fit < tile.end - tile.begin ? (uint32_t)fit : tile.end - tile.begin;
    struct block b = { .a = a, .x = call->data[0], .out = call->data[a->n_in], .flip = a->x_type == DT_SQ8 };
    enum kind kind;
    b.zero = _mm512_set1_epi8((char)-a->x_offset);
    b.end = bytes_end(a);
    for (uint32_t at = tile.begin; at < tile.end; at += step)
        for (uint32_t c0 = 0; c0 < a->co;) {
            const struct range lines = { at, tile.end - at < step ? tile.end : at + step };
            c0 += block_at(&b, c0, &kind);
            runs[kind][a->x.stride - 1][a->lifted](&b, lines);
        }
}
