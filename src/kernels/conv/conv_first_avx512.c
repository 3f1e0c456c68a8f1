/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit convolutions of one to four input channels, AVX-512 VNNI: the first layer of a network for images or sounds.
 *
 * The taps of a kernel line lie side by side in an input line, so their bytes are multiplied four by four from where they
 * are; the last four of a line meet zero weights where they reach over its end. Input lines are copied to a stage, with real
 * zero around them, and weights, which are packed without room between lines, are moved so that every line begins with a
 * whole four.
 *
 * Where weights have an offset the bytes of every four are multiplied with that, too: steps of their own, behind those of
 * the weights.
 *
 * Two tiles of 12 sums take turns: one is ended while the other is multiplied. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_first.h"

enum { SUMS = 12 };

struct first {
    const struct conv_args *a;
    struct first_chunk chunk;
    uint32_t fours, own, steps; /* fours of a kernel line, of all lines; with those of the offset */
    uint8_t flip;
    uint8_t w[CONV_FIRST_STEPS][MAX_NR][BLOCK_BYTES] __attribute__((aligned(64)));
    uint64_t line_bytes;
    int64_t staged[STAGE_LINES];
    const uint8_t *x[CONV_FIRST_STEPS]; /* for every four: where it lies for the first pixel */
    uint8_t stage[CONV_FIRST_BYTES + BLOCK_BYTES];
};

/* ---- what belongs to channels ----------------------------------------------------------------------------------------- */

/* Four k from k0 on of the 16 channels of a packed block; `n` of them count. */
static vi weights_at(const uint8_t *block, uint32_t k0, uint32_t n)
{
    const vi lo = _mm512_loadu_si512(block + (uint64_t)(k0 / 4) * BLOCK_BYTES);
    const vi mask = vi_set1(n >= 4 ? -1 : (int32_t)((1u << 8 * n) - 1));
    const uint32_t shift = k0 % 4 * 8;
    if (n <= 4 - k0 % 4)
        return _mm512_and_si512(_mm512_srl_epi32(lo, _mm_cvtsi32_si128((int)shift)), mask);
    const vi hi = _mm512_loadu_si512(block + (uint64_t)(k0 / 4 + 1) * BLOCK_BYTES);
    const vi both = _mm512_or_si512(_mm512_srl_epi32(lo, _mm_cvtsi32_si128((int)shift)),
                                    _mm512_sll_epi32(hi, _mm_cvtsi32_si128(32 - (int)shift)));
    return _mm512_and_si512(both, mask);
}

/* The offset of the weights in the place of n of them, at most four. */
static vi offset_at(const struct conv_args *a, uint32_t n)
{
    return vi_set1((int32_t)((uint8_t)a->w_offset * 0x01010101u & (n >= 4 ? UINT32_MAX : (1u << 8 * n) - 1)));
}

static void set_chunk(struct first *f, uint32_t c0)
{
    const struct conv_args *a = f->a;
    const uint32_t line = a->x.kernel * a->ci;
    first_chunk(&f->chunk, a, c0, a->x_type == DT_SQ8 ? a->x_offset - 128 : a->x_offset);
    for (uint32_t v = 0; v < f->chunk.nr; v++) {
        const uint8_t *block = first_block(a, &f->chunk, v);
        for (uint32_t s = 0; s < f->steps; s++) {
            const uint32_t l = s % f->own / f->fours, at = s % f->fours * 4;
            _mm512_store_si512(f->w[s][v],
                               s < f->own ? weights_at(block, l * line + at, line - at) : offset_at(a, line - at));
        }
    }
}

/* ---- sums ------------------------------------------------------------------------------------------------------------- */

/* A tile: where its pixels are read and written. Steps in bytes. */
struct tile {
    uint64_t x, x_step;
    uint8_t *out;
    uint64_t out_step;
};

static inline __attribute__((always_inline)) void end_four(const struct first *f, const struct tile *t, const int nr,
                                                           const int i, const vi acc[SUMS])
{
    first_end_four(&f->chunk, nr, i, acc + i, t->out, t->out_step);
}

static inline __attribute__((always_inline)) void step(const struct first *f, const struct tile *t, const int nr, uint32_t s,
                                                       vi acc[SUMS])
{
    const uint8_t *x = f->x[s] + t->x;
    const int pixels = SUMS / nr;
    vi w[MAX_NR];
#pragma GCC unroll 4
    for (int v = 0; v < nr; v++) {
        w[v] = _mm512_load_si512(f->w[s][v]);
        __asm__("" : "+v"(w[v])); /* loaded once: compilers like to load it again for every pixel */
    }
#pragma GCC unroll 12
    for (int r = 0; r < pixels; r++) {
        int32_t four;
        memcpy(&four, x + (uint64_t)r * t->x_step, 4);
        const vi xv = vi_set1(four);
#pragma GCC unroll 4
        for (int v = 0; v < nr; v++)
            acc[r * nr + v] = _mm512_dpbusd_epi32(acc[r * nr + v], xv, w[v]);
    }
}

/* The sums of a tile; between its first steps, those of the tile before it are ended. */
static inline __attribute__((always_inline)) void sums(const struct first *f, const struct tile *t, const int nr,
                                                       vi acc[SUMS], const struct tile *before, vi *last)
{
#pragma GCC unroll 12
    for (int i = 0; i < SUMS; i++)
        acc[i] = vi_load(f->chunk.base + i % nr * CONV_BLOCK);
#pragma GCC unroll 3
    for (uint32_t s = 0; s < 3; s++) {
        step(f, t, nr, s, acc);
        if (before)
            end_four(f, before, nr, (int)s * 4, last);
    }
    for (uint32_t s = 3; s < f->steps; s++)
        step(f, t, nr, s, acc);
}

static inline __attribute__((always_inline)) void end_all(const struct first *f, const struct tile *t, const int nr,
                                                          vi acc[SUMS])
{
#pragma GCC unroll 3
    for (int i = 0; i < SUMS; i += 4)
        end_four(f, t, nr, i, acc);
}

/* Tile i of a line; the last one begins where it ends with the line, some of it a second time. */
static inline __attribute__((always_inline)) struct tile tile_at(const struct first *f, uint8_t *out, uint32_t i,
                                                                 const uint32_t pixels)
{
    const struct conv_args *a = f->a;
    const uint32_t from = (i + 1) * pixels <= a->x.out ? i * pixels : a->x.out - pixels;
    const uint64_t x_step = (uint64_t)a->x.stride * a->ci;
    return (struct tile){ from * x_step, x_step, out + (uint64_t)from * a->co + f->chunk.c0, a->co };
}

static inline __attribute__((always_inline)) void line_run(const struct first *f, uint8_t *out, const int nr)
{
    const uint32_t pixels = SUMS / (uint32_t)nr, n = (f->a->x.out + pixels - 1) / pixels;
    struct tile a = tile_at(f, out, 0, pixels), b;
    vi one[SUMS], two[SUMS];
    sums(f, &a, nr, one, NULL, NULL);
    uint32_t i = 1;
    for (; i + 2 <= n; i += 2) {
        b = tile_at(f, out, i, pixels);
        sums(f, &b, nr, two, &a, one);
        a = tile_at(f, out, i + 1, pixels);
        sums(f, &a, nr, one, &b, two);
    }
    if (i < n) {
        b = tile_at(f, out, i, pixels);
        sums(f, &b, nr, two, &a, one);
        end_all(f, &b, nr, two);
    } else {
        end_all(f, &a, nr, one);
    }
}

#define LINE(nr)                                               \
    static void line_##nr(const struct first *f, uint8_t *out) \
    {                                                          \
        line_run(f, out, nr);                                  \
    }
LINE(1)
LINE(2)
LINE(3)
LINE(4)
static void (*const line_of[MAX_NR])(const struct first *, uint8_t *) = { line_1, line_2, line_3, line_4 };

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

/* What output line `oy` needs; lines of the one before stay where they are. */
static void stage_lines(struct first *f, const uint8_t *image, uint32_t oy)
{
    const struct conv_args *a = f->a;
    for (uint32_t l = 0; l < a->y.kernel; l++) {
        const int64_t y = (int64_t)oy * a->y.stride - a->y.pad + (int64_t)l * a->y.dilation;
        const uint32_t slot = a->y.dilation == 1 ? (uint32_t)(((uint64_t)oy * a->y.stride + l) % a->y.kernel) : l;
        uint8_t *to = f->stage + slot * f->line_bytes;
        if (f->staged[slot] != y)
            first_line(a, image, y, f->flip, to, f->line_bytes);
        f->staged[slot] = y;
        for (uint32_t k = 0; k < f->fours; k++)
            f->x[l * f->fours + k] = to + k * 4;
        for (uint32_t k = 0; k < f->fours && f->steps > f->own; k++)
            f->x[f->own + l * f->fours + k] = to + k * 4;
    }
}

static void run_lines(struct first *f, const struct kernel_call *call, struct range lines)
{
    const struct conv_args *a = f->a;
    uint32_t of = UINT32_MAX;
    for (uint32_t at = lines.begin; at < lines.end; at++) {
        for (uint32_t i = 0; i < STAGE_LINES && at / a->y.out != of; i++)
            f->staged[i] = INT64_MIN;
        of = at / a->y.out;
        stage_lines(f, (const uint8_t *)call->data[0] + (uint64_t)of * a->y.in * a->x.in * a->ci, at % a->y.out);
        line_of[f->chunk.nr - 1](f, (uint8_t *)call->data[a->n_in] + (uint64_t)at * a->x.out * a->co);
    }
}

kernel_fn conv_q8_first_avx512;

void conv_q8_first_avx512(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    struct first f;
    f.a = a;
    f.fours = (a->x.kernel * a->ci + 3) / 4;
    f.own = f.fours * a->y.kernel;
    f.steps = a->w_offset ? 2 * f.own : f.own;
    f.flip = a->x_type == DT_SQ8 ? 0x80 : 0;
    f.line_bytes = conv_first_line(a);
    for (uint32_t at = tile.begin, end; at < tile.end; at = end) {
        const struct conv_part part = conv_part(a, at, tile.end);
        end = at + part.units;
        for (uint32_t c = part.chunk0; c < part.chunk1; c++) {
            set_chunk(&f, c * CONV_CHUNK);
            run_lines(&f, call, (struct range){ part.row0, part.row1 });
        }
    }
}
