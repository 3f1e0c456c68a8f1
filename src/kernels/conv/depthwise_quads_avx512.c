/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit depthwise convolution, AVX-512 VNNI: vpdpbusd adds four products of one channel, so four kernel lines are multiplied
 * at a time.
 *
 * The bytes of four input lines at one column, 64 channels of each, are interleaved until every group of four bytes belongs
 * to one channel (depthwise_order_avx512.h); weights likewise. A column that is interleaved once serves all output pixels
 * that it belongs to.
 *
 * Weights and what belongs to channels are made ready once for all lines of a tile; input lines are staged
 * (conv_stage_walk.h).
 *
 * Two pixels of 32 channels lie side by side as one of 64: then a vector holds both, and the next vector is two pixels
 * further.
 *
 * The unit wants unsigned x: signed ones are moved up by 128, and what is left of the offset is multiplied by the sum of the
 * weights. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_bytes_avx512.h"
#include "kernels/conv/conv_stage_avx512.h"
#include "kernels/conv/depthwise_order_avx512.h"

enum { PIXELS = 4, CHANNELS = STAGE_CHANNELS, QUADS = STAGE_LINES / 4 };

/* Columns from one output vector of a group to the next, taps of a line, lines; whether all 64 channels are stored, and
 * weights have an offset. Where loops are compiled for the usual kernels these are constants. */
struct form {
    uint32_t apart, taps, lines;
    bool full, shift;
};

/* Output vectors of one line: where their columns are staged, and where they go. Bytes. */
struct group {
    const struct stage_line *line;
    uint64_t first;                 /* into the lines: the first column */
    uint8_t *out;
    uint64_t next;
};

struct quads;
typedef void group_fn(const struct quads *q, const struct group *g, struct form f);

/* What one block of 64 channels needs, whatever the pixel. */
struct quads {
    const struct conv_args *a;
    uint8_t *out;
    uint32_t c0, n_quads, per;      /* per: pixels in a vector, 1 or 2 */
    __mmask64 mask;
    uint32_t quarters;              /* of a vector that is not full; 0: not whole ones */
    struct form form;
    group_fn *four;
    struct bytes_end end;
    vi base[PARTS], shift[QUADS];
    vf m[PARTS];
    vi w[QUADS][STAGE_TAPS][PARTS];
};

/* ---- what belongs to channels ----------------------------------------------------------------------------------------- */

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

/* ---- sums ------------------------------------------------------------------------------------------------------------- */

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
static inline __attribute__((always_inline)) void end_pixel(const struct quads *q, uint8_t *out, const vi acc[PARTS],
                                                            bool full)
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
static inline __attribute__((always_inline)) void column_at(const struct group *g, struct form f, uint64_t column,
                                                            uint32_t s, vi ret[PARTS])
{
    vi line[4];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++)
        line[i] = 4 * s + i < f.lines ? _mm512_loadu_si512(g->line->x[4 * s + i] + g->first + column * g->line->column)
                                      : vi_zero();
    interleave(line, ret);
}

static inline __attribute__((always_inline)) void sums(const struct quads *q, const struct group *g, struct form f,
                                                       const int p)
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
#define ROW(size, apart)                                              \
    {                                                                 \
        { four_##size##_##apart##_0_0, four_##size##_##apart##_0_1 }, \
        {                                                             \
            four_##size##_##apart##_1_0, four_##size##_##apart##_1_1  \
        }                                                             \
    }

static group_fn *choose_four(const struct form *f)
{
    static group_fn *const usual[2][2][2][2] = { { ROW(3, 1), ROW(3, 2) }, { ROW(5, 1), ROW(5, 2) } };
    bool has = f->lines == f->taps && (f->taps == 3 || f->taps == 5) && f->apart <= 2;
    return has ? usual[f->taps == 5][f->apart - 1][f->full][f->shift] : four_of_any;
}

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

/* Groups of four output vectors; the last one begins where it ends with the strip, some of it a second time. */
static void run_line(void *ctx, const struct stage *s, const struct stage_line *line)
{
    const struct quads *q = ctx;
    const struct conv_args *a = q->a;
    const uint32_t group = PIXELS * q->per, one = s->n < group;
    const uint64_t out_pixel = (uint64_t)s->out_step * a->co;
    uint8_t *out = q->out + ((uint64_t)line->at * a->x.out + s->ox) * a->co + q->c0;
    struct group g = { .line = line, .next = out_pixel * q->per };
    for (uint32_t x = 0; x < s->n; x += one ? 1 : group) {
        uint32_t from = one || x + group <= s->n ? x : s->n - group;
        g.first = (uint64_t)from * a->x.stride * line->column;
        g.out = out + from * out_pixel;
        (one ? one_of_any : q->four)(q, &g, q->form);
    }
}

static void quads_init(struct quads *q, const struct kernel_call *call)
{
    const struct conv_args *a = q->a = call->args;
    q->out = call->data[a->n_in];
    q->per = a->co == 32 && a->x.stride == 1 && a->x.dilation == 1 && a->x.out >= PIXELS * 2 ? 2 : 1;
    q->n_quads = (a->y.kernel + 3) / 4;
    q->form =
        (struct form){ .apart = a->x.stride * q->per, .taps = a->x.kernel, .lines = a->y.kernel, .shift = a->w_offset != 0 };
    q->end = bytes_end(a);
    for (uint32_t s = 0; s < q->n_quads; s++) {
        uint32_t lines = a->y.kernel - 4 * s, bytes = lines >= 4 ? UINT32_MAX : (1u << 8 * lines) - 1;
        q->shift[s] = _mm512_set1_epi32((int32_t)(0x01010101u * (uint8_t)a->w_offset & bytes));
    }
}

kernel_fn depthwise_q8_quads_avx512;

/* All channels of some lines, before the next ones: what 64 channels bring into the cache is there for the others, too. */
void depthwise_q8_quads_avx512(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    const uint64_t cached = 128 * 1024, line = (uint64_t)a->y.stride * a->x.in * a->ci, fit = cached / line;
    const uint32_t step = fit < 1 ? 1 : fit < tile.end - tile.begin ? (uint32_t)fit : tile.end - tile.begin;
    struct quads q;
    struct stage s;
    quads_init(&q, call);
    stage_init(&s, a, q.per);
    for (uint32_t at = tile.begin; at < tile.end; at += step)
        for (uint32_t c0 = 0; c0 < a->co; c0 += CHANNELS) {
            quads_at(&q, c0);
            q.four = choose_four(&q.form);
            stage_channels(&s, c0, a->co - c0);
            stage_run(&s, call->data[0], (struct range){ at, tile.end - at < step ? tile.end : at + step }, run_line, &q);
        }
}
