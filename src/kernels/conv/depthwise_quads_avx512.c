/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit depthwise convolution, AVX-512 VNNI: vpdpbusd adds four products of one channel, so four kernel lines are multiplied at a time.
 *
 * The bytes of four input lines at one column, 64 channels of each, are interleaved until every group of four bytes belongs to one channel;
 * weights likewise. Interleaving leaves channels 0 … 3, 16 … 19, … in one vector, 4 … 7, 20 … 23, … in the next; narrowing the sums of four
 * vectors to bytes brings them back into order. A column that is interleaved once serves all output pixels that it belongs to.
 *
 * Weights and what belongs to channels are made ready once for all lines of a tile. Input lines are copied to a stage first, 64 channels of them,
 * with real zero around the image: so every pixel has all taps, and a line that several output lines need is copied once.
 *
 * Two pixels of 32 channels lie side by side as one of 64: then a vector holds both, and the next vector is two pixels further.
 *
 * The unit wants unsigned x: signed ones are moved up by 128, and what is left of the offset is multiplied by the sum of the weights. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_bytes_avx512.h"
#include "kernels/conv/depthwise.h"

enum { PIXELS = 4, CHANNELS = 64, PARTS = 4, QUADS = DW_QUAD_LINES / 4, STAGE_BYTES = 24 * 1024 };

/* Columns from one output vector of a group to the next, taps of a line, lines; whether all 64 channels are stored, and weights have an offset.
 * Where loops are compiled for the usual kernels these are constants. */
struct form {
    uint32_t apart, taps, lines;
    bool full, shift;
};

/* Output vectors of one line: where their columns are staged, line by line, and where they go. Steps in bytes. */
struct group {
    const uint8_t *x[DW_QUAD_LINES];
    uint64_t first, column;         /* the first column, and from one to the next */
    uint8_t *out;
    uint64_t next;
};

struct quads;
typedef void group_fn(const struct quads *q, const struct group *g, struct form f);

/* What one block of 64 channels needs, whatever the pixel. */
struct quads {
    const struct conv_args *a;
    uint32_t c0, n_quads, per;      /* per: pixels in a vector, 1 or 2 */
    __mmask64 mask;
    uint32_t quarters;              /* of a vector that is not full; 0: not whole ones */
    struct form form;
    group_fn *four;
    struct bytes_end end;
    vi flip, zero;                  /* from x as it is stored to unsigned bytes; real zero among these */
    vi base[PARTS], shift[QUADS];
    vf m[PARTS];
    vi w[QUADS][DW_QUAD_TAPS][PARTS];
};

/* Output pixels of a line that are computed from one stage: every out_step-th one, n of them; n_in input pixels, every in_step-th one from x on. */
struct strip {
    uint32_t ox, out_step, n;
    int64_t x;
    uint32_t in_step, n_in;
    int64_t staged[DW_QUAD_LINES]; /* which input lines are there */
    uint8_t stage[STAGE_BYTES] __attribute__((aligned(64)));
};

/* Four lines of 64 bytes as groups of four bytes. */
static inline __attribute__((always_inline)) void interleave(const vi line[4], vi ret[PARTS])
{
    vi lo01 = _mm512_unpacklo_epi8(line[0], line[1]), hi01 = _mm512_unpackhi_epi8(line[0], line[1]);
    vi lo23 = _mm512_unpacklo_epi8(line[2], line[3]), hi23 = _mm512_unpackhi_epi8(line[2], line[3]);
    ret[0] = _mm512_unpacklo_epi16(lo01, lo23);
    ret[1] = _mm512_unpackhi_epi16(lo01, lo23);
    ret[2] = _mm512_unpacklo_epi16(hi01, hi23);
    ret[3] = _mm512_unpackhi_epi16(hi01, hi23);
}

/* ---- what belongs to channels ------------------------------------------------------------------------------------------- */

/* From 64 numbers in the order of channels to the order of interleaved bytes: a transposition of quarters. */
static inline void transpose_quarters(const vi v[PARTS], vi ret[PARTS])
{
    vi a = _mm512_shuffle_i32x4(v[0], v[1], 0x44), b = _mm512_shuffle_i32x4(v[2], v[3], 0x44);
    vi c = _mm512_shuffle_i32x4(v[0], v[1], 0xee), d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
    ret[0] = _mm512_shuffle_i32x4(a, b, 0x88);
    ret[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
    ret[2] = _mm512_shuffle_i32x4(c, d, 0x88);
    ret[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}

/* The lower halves of 16 biases; records are padded to whole vectors. */
static inline vi low_halves(const int64_t *p)
{
    __m256i lo = _mm512_cvtepi64_epi32(_mm512_loadu_si512(p)), hi = _mm512_cvtepi64_epi32(_mm512_loadu_si512(p + 8));
    return _mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1);
}

static void set_channels(struct quads *q, const vi wsum[PARTS])
{
    const struct conv_args *a = q->a;
    const int32_t left = a->x_type == DT_SQ8 ? a->x_offset - 128 : a->x_offset;
    const int64_t *b = conv_b(a, a->head, a->npad);
    vi bias[PARTS], scale[PARTS], ordered[PARTS];
    for (uint32_t i = 0; i < PARTS; i++) {
        uint32_t c = q->c0 + CONV_BLOCK * (q->per == 2 ? i % 2 : i);
        bias[i] = c < a->npad ? low_halves(b + c) : vi_zero();
        scale[i] = c < a->npad ? vi_load((const int32_t *)conv_m(a->head) + c) : vi_zero();
    }
    transpose_quarters(scale, ordered);
    for (int i = 0; i < PARTS; i++)
        q->m[i] = _mm512_castsi512_ps(ordered[i]);
    transpose_quarters(bias, ordered);
    for (int i = 0; i < PARTS; i++)
        q->base[i] = vi_add(ordered[i], vi_mul(wsum[i], vi_set1(left)));
}

/* 64 channels of a tap; those of 32 twice. */
static inline vi weights_at(const struct quads *q, uint64_t tap)
{
    const uint8_t *w = (const uint8_t *)q->a->packed + tap * q->a->npad + q->c0;
    const uint32_t left = q->a->npad - q->c0;
    if (q->per == 2)
        return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)w));
    return _mm512_maskz_loadu_epi8(left < CHANNELS ? ~(__mmask64)0 >> (CHANNELS - left) : ~(__mmask64)0, w);
}

static void quads_at(struct quads *q, uint32_t c0)
{
    const struct conv_args *a = q->a;
    const uint32_t left = (a->co - c0) * q->per;
    const vi one = _mm512_set1_epi8(1);
    vi wsum[PARTS] = { vi_zero(), vi_zero(), vi_zero(), vi_zero() };
    q->c0 = c0;
    q->mask = left < CHANNELS ? ~(__mmask64)0 >> (CHANNELS - left) : ~(__mmask64)0;
    q->quarters = left % CONV_BLOCK ? 0 : left / CONV_BLOCK;
    q->form.full = left >= CHANNELS;
    for (uint32_t s = 0; s < q->n_quads; s++)
        for (uint32_t t = 0; t < a->x.kernel; t++) {
            vi line[4];
            for (uint32_t i = 0; i < 4; i++)
                line[i] = 4 * s + i < a->y.kernel ? weights_at(q, ((uint64_t)4 * s + i) * a->x.kernel + t) : vi_zero();
            interleave(line, q->w[s][t]);
            for (int i = 0; i < PARTS; i++)
                wsum[i] = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(wsum[i], one, q->w[s][t][i]), one, q->shift[s]);
        }
    set_channels(q, wsum);
}

/* ---- sums ----------------------------------------------------------------------------------------------------------------- */

/* Channels that do not fill a vector, mostly whole quarters of it: masks are slow where they store. */
static inline void store_some(const struct quads *q, uint8_t *out, vi v)
{
    __m128i *to = (__m128i *)out;
    if (q->quarters == 0) {
        _mm512_mask_storeu_epi8(out, q->mask, v);
        return;
    }
    _mm_storeu_si128(to, _mm512_castsi512_si128(v));
    if (q->quarters > 1)
        _mm_storeu_si128(to + 1, _mm512_extracti32x4_epi32(v, 1));
    if (q->quarters > 2)
        _mm_storeu_si128(to + 2, _mm512_extracti32x4_epi32(v, 2));
}

/* Sums to bytes in the order of channels. Saturation clamps: see depthwise_accept_quads. */
static inline __attribute__((always_inline)) void end_pixel(const struct quads *q, uint8_t *out, const vi acc[PARTS], bool full)
{
    vi v[PARTS];
#pragma GCC unroll 4
    for (int i = 0; i < PARTS; i++)
        v[i] = vi_round(vf_mul(vf_from_int(acc[i]), q->m[i]));
    v[0] = bytes_narrow(&q->end, v[0], v[1], v[2], v[3]);
    if (full)
        _mm512_storeu_si512(out, v[0]);
    else
        store_some(q, out, v[0]);
}

/* Lines 4 s … 4 s + 3 of one column. */
static inline __attribute__((always_inline)) void column_at(const struct group *g, struct form f, uint64_t column, uint32_t s, vi ret[PARTS])
{
    vi line[4];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++)
        line[i] = 4 * s + i < f.lines ? _mm512_loadu_si512(g->x[4 * s + i] + g->first + column * g->column) : vi_zero();
    interleave(line, ret);
}

static inline __attribute__((always_inline)) void sums(const struct quads *q, const struct group *g, struct form f, const int p)
{
    const uint32_t columns = ((uint32_t)p - 1) * f.apart + f.taps;
    vi acc[PIXELS][PARTS], column[PARTS];
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
#pragma GCC unroll 4
        for (int i = 0; i < PARTS; i++)
            acc[j][i] = q->base[i];
    for (uint32_t s = 0; 4 * s < f.lines; s++) {
#pragma GCC unroll 12
        for (uint32_t c = 0; c < columns; c++) {
            column_at(g, f, c, s, column);
#pragma GCC unroll 4
            for (int j = 0; j < p; j++) {
                const uint32_t tap = c - (uint32_t)j * f.apart;
                if (tap >= f.taps)
                    continue;
#pragma GCC unroll 4
                for (int i = 0; i < PARTS; i++) {
                    acc[j][i] = _mm512_dpbusd_epi32(acc[j][i], column[i], q->w[s][tap][i]);
                    if (f.shift)
                        acc[j][i] = _mm512_dpbusd_epi32(acc[j][i], column[i], q->shift[s]);
                }
            }
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        end_pixel(q, g->out + (uint64_t)j * g->next, acc[j], f.full);
}

static void four_of_any(const struct quads *q, const struct group *g, struct form f)
{
    sums(q, g, f, PIXELS);
}

static void one_of_any(const struct quads *q, const struct group *g, struct form f)
{
    sums(q, g, f, 1);
}

#define FOUR(size, apart, full, shift)                                                                                  \
    static void four_##size##_##apart##_##full##_##shift(const struct quads *q, const struct group *g, struct form f)   \
    {                                                                                                                   \
        (void)f;                                                                                                        \
        sums(q, g, (struct form){ apart, size, size, full, shift }, PIXELS);                                            \
    }
#define FOURS(size, apart) FOUR(size, apart, 0, 0) FOUR(size, apart, 0, 1) FOUR(size, apart, 1, 0) FOUR(size, apart, 1, 1)
FOURS(3, 1)
FOURS(3, 2)
FOURS(5, 1)
FOURS(5, 2)
#define ROW(size, apart) \
    { { four_##size##_##apart##_0_0, four_##size##_##apart##_0_1 }, { four_##size##_##apart##_1_0, four_##size##_##apart##_1_1 } }

static group_fn *choose_four(const struct form *f)
{
    static group_fn *const usual[2][2][2][2] = { { ROW(3, 1), ROW(3, 2) }, { ROW(5, 1), ROW(5, 2) } };
    bool has = f->lines == f->taps && (f->taps == 3 || f->taps == 5) && f->apart <= 2;
    return has ? usual[f->taps == 5][f->apart - 1][f->full][f->shift] : four_of_any;
}

/* ---- the stage -------------------------------------------------------------------------------------------------------------- */

static inline uint32_t pixel_bytes(const struct quads *q)
{
    return CHANNELS / q->per;
}

static inline void stage_zero(const struct quads *q, uint8_t *to, uint32_t n)
{
    if (q->per == 2)
        for (; n; n--, to += 32)
            _mm256_storeu_si256((__m256i *)to, _mm512_castsi512_si256(q->zero));
    else
        for (; n; n--, to += CHANNELS)
            _mm512_storeu_si512(to, q->zero);
}

static inline void stage_pixels(const struct quads *q, uint8_t *to, const uint8_t *from, uint64_t step, uint32_t n)
{
    if (q->per == 2)
        for (; n; n--, to += 32, from += step)
            _mm256_storeu_si256((__m256i *)to, _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)from), _mm512_castsi512_si256(q->flip)));
    else
        for (; n; n--, to += CHANNELS, from += step)
            _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_maskz_loadu_epi8(q->mask, from), q->flip));
}

/* Input line y, with real zero for what is outside. */
static void stage_line(const struct quads *q, const struct strip *s, const uint8_t *image, int64_t y, uint8_t *to)
{
    const struct conv_args *a = q->a;
    const int64_t step = s->in_step, first = s->x < 0 ? (-s->x + step - 1) / step : 0, last = s->x >= a->x.in ? 0 : (a->x.in - s->x + step - 1) / step;
    uint32_t end = last < s->n_in ? (uint32_t)last : s->n_in, begin = y < 0 || y >= a->y.in || first > end ? end : (uint32_t)first;
    if (y < 0 || y >= a->y.in)
        begin = end = 0;
    stage_zero(q, to, begin);
    if (begin < end)
        stage_pixels(q, to + (uint64_t)begin * pixel_bytes(q), image + (uint64_t)((y * a->x.in + s->x + begin * step) * a->ci) + q->c0, (uint64_t)step * a->ci,
                     end - begin);
    stage_zero(q, to + (uint64_t)end * pixel_bytes(q), s->n_in - end);
}

/* The lines that output line `oy` needs; those of the line before stay where they are. */
static void stage_lines(const struct quads *q, struct strip *s, const uint8_t *image, uint32_t oy, struct group *g)
{
    const struct conv_args *a = q->a;
    for (uint32_t l = 0; l < a->y.kernel; l++) {
        int64_t y = (int64_t)oy * a->y.stride - a->y.pad + (int64_t)l * a->y.dilation;
        uint32_t slot = a->y.dilation == 1 ? (uint32_t)((y + a->y.pad) % a->y.kernel) : l;
        uint8_t *to = s->stage + (uint64_t)slot * s->n_in * pixel_bytes(q);
        if (s->staged[slot] != y)
            stage_line(q, s, image, y, to);
        s->staged[slot] = y;
        g->x[l] = to;
    }
}

/* ---- strips ----------------------------------------------------------------------------------------------------------------- */

/* Groups of four output vectors; the last one begins where it ends with the strip, some of it a second time. */
static void run_line(const struct quads *q, struct strip *s, const uint8_t *image, uint8_t *out, uint32_t oy)
{
    const struct conv_args *a = q->a;
    const uint32_t group = PIXELS * q->per, one = s->n < group;
    const uint64_t out_pixel = (uint64_t)s->out_step * a->co;
    struct group g;
    g.column = pixel_bytes(q);
    g.next = out_pixel * q->per;
    stage_lines(q, s, image, oy, &g);
    out += (uint64_t)s->ox * a->co + q->c0;
    for (uint32_t x = 0; x < s->n; x += one ? 1 : group) {
        uint32_t from = one || x + group <= s->n ? x : s->n - group;
        g.first = (uint64_t)from * a->x.stride * g.column;
        g.out = out + from * out_pixel;
        (one ? one_of_any : q->four)(q, &g, q->form);
    }
}

/* All lines of the tile, for the pixels of the strip. */
static void run_strip(const struct quads *q, struct strip *s, const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = q->a;
    const uint64_t image = (uint64_t)a->y.in * a->x.in * a->ci, line = (uint64_t)a->x.out * a->co;
    uint32_t of = UINT32_MAX;
    for (uint32_t at = tile.begin; at < tile.end; at++) {
        if (at / a->y.out != of)
            for (uint32_t i = 0; i < DW_QUAD_LINES; i++)
                s->staged[i] = INT64_MIN;
        of = at / a->y.out;
        run_line(q, s, (const uint8_t *)call->data[0] + of * image, (uint8_t *)call->data[a->n_in] + at * line, at % a->y.out);
    }
}

/* As many pixels as find room on the stage. With dilation, every so manieth pixel is one convolution without; with a stride, too, pixels are single. */
static void run_block(const struct quads *q, struct strip *s, const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = q->a;
    const uint32_t stride = a->x.stride, dilation = a->x.dilation, room = STAGE_BYTES / pixel_bytes(q) / a->y.kernel;
    const bool single = stride > 1 && dilation > 1;
    const uint32_t phases = single ? a->x.out : dilation < a->x.out ? dilation : a->x.out;
    const uint32_t most = single || room < a->x.kernel + stride ? 1 : (room - a->x.kernel) / stride + 1;
    s->in_step = dilation;
    s->out_step = phases;
    for (uint32_t phase = 0; phase < phases; phase++) {
        const uint32_t all = (a->x.out - phase + phases - 1) / phases, strips = (all + most - 1) / most;
        for (uint32_t i = 0; i < strips; i++) {
            const uint32_t begin = all * i / strips;
            s->ox = phase + begin * phases;
            s->n = all * (i + 1) / strips - begin;
            s->x = (int64_t)s->ox * stride - a->x.pad;
            s->n_in = (s->n - 1) * stride + a->x.kernel;
            run_strip(q, s, call, tile);
        }
    }
}

static void quads_init(struct quads *q, const struct conv_args *a)
{
    const bool flip = a->x_type == DT_SQ8;
    q->a = a;
    q->per = a->co == 32 && a->x.stride == 1 && a->x.dilation == 1 && a->x.out >= PIXELS * 2 ? 2 : 1;
    q->n_quads = (a->y.kernel + 3) / 4;
    q->form = (struct form){ .apart = a->x.stride * q->per, .taps = a->x.kernel, .lines = a->y.kernel, .shift = a->w_offset != 0 };
    q->end = bytes_end(a);
    q->flip = _mm512_set1_epi8(flip ? (char)0x80 : 0);
    q->zero = _mm512_set1_epi8((char)(flip ? 128 - a->x_offset : -a->x_offset));
    for (uint32_t s = 0; s < q->n_quads; s++) {
        uint32_t lines = a->y.kernel - 4 * s, bytes = lines >= 4 ? UINT32_MAX : (1u << 8 * lines) - 1;
        q->shift[s] = _mm512_set1_epi32((int32_t)(0x01010101u * (uint8_t)a->w_offset & bytes));
    }
}

/* All channels of some lines, before the next ones: what 64 channels bring into the cache is there for the others, too. */
static void run_lines(struct quads *q, struct strip *s, const struct kernel_call *call, struct range lines)
{
    for (uint32_t c0 = 0; c0 < q->a->co; c0 += CHANNELS) {
        quads_at(q, c0);
        q->four = choose_four(&q->form);
        run_block(q, s, call, lines);
    }
}

kernel_fn depthwise_q8_quads_avx512;

void depthwise_q8_quads_avx512(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    const uint64_t cached = 128 * 1024, line = (uint64_t)a->y.stride * a->x.in * a->ci, fit = cached / line;
    const uint32_t step = fit < 1 ? 1 : fit < tile.end - tile.begin ? (uint32_t)fit : tile.end - tile.begin;
    struct quads q;
    struct strip s;
    quads_init(&q, a);
    for (uint32_t at = tile.begin; at < tile.end; at += step)
        run_lines(&q, &s, call, (struct range){ at, tile.end - at < step ? tile.end : at + step });
}
