/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit convolutions in groups of few channels, or of few channels alone, AVX-512 VNNI.
 *
 * A vector holds 16 output channels, of one group or of several small ones. Lanes of different groups multiply different
 * input channels: 64 input channels of a pixel are loaded together, and a permutation gives each lane the four that it is to
 * multiply. Weights of small groups, of which each has a packed block of its own that it does not fill, are put side by side
 * once for all lines of a tile.
 *
 * A part is as many groups as have 64 input channels; its input lines are staged (conv_stage_walk.h). */
#include "kernels/conv/vec_avx512.h"

#include <string.h>

#include "kernels/conv/conv_bytes_avx512.h"
#include "kernels/conv/conv_stage_avx512.h"

enum {
    PIXELS = 8,
    FOURS = STAGE_CHANNELS / 4,
    BLOCK_BYTES = 64,
    MAX_BLOCKS = 2 * FOURS,
    MAX_WEIGHTS = 8 * STAGE_CHANNELS * CONV_GROUPS_TAPS
};

/* Columns from one output pixel to the next, taps of a line, lines. Constants where loops are compiled for the usual
 * kernels. */
struct form {
    uint32_t apart, taps, lines;
    uint32_t bytes;                 /* of a pixel that a vector of output channels needs: 16, 32 or 64 */
    bool shift;                     /* weights have an offset, which x is multiplied with, too */
};

/* Output pixels of one line and block: where their columns are staged, and where they go. Bytes. */
struct group {
    const struct stage_line *line;
    uint64_t first;                 /* into the lines: the first column's first channel */
    uint8_t *out;
    uint64_t next;
};

/* 16 output channels, or those that are left. */
struct block {
    const uint8_t *w;               /* [tap][four][16][4] */
    uint32_t c0, n;                 /* output channels */
    uint32_t x;                     /* the first input channel, counted from the first one of the part */
    vi base;
    vf m;
};

struct groups {
    const struct conv_args *a;
    uint8_t *out;
    struct form form;
    struct bytes_end end;
    uint32_t fours;                 /* of the input channels of a group */
    uint32_t side;                  /* groups side by side in a vector */
    vi shift;                       /* the offset of the weights, in all bytes */
    vi pick[FOURS];                 /* which four of the 64 channels a lane multiplies */
    uint32_t n_blocks;
    struct block blocks[MAX_BLOCKS];
    uint8_t w[MAX_WEIGHTS] __attribute__((aligned(64)));
};

/* ---- what belongs to channels ----------------------------------------------------------------------------------------- */

/* Weights of `n` groups from `slice` on, of each its one packed block. */
static void join_weights(const struct groups *g, uint32_t slice, uint32_t n, uint8_t *to)
{
    const struct conv_args *a = g->a;
    const uint32_t bytes = a->cog * 4;
    if (n < g->side)
        memset(to, 0, conv_block_bytes(a));
    for (uint32_t k = 0; k < a->kpad / 4; k++, to += BLOCK_BYTES)
        for (uint32_t i = 0; i < n; i++)
            memcpy(to + i * bytes,
                   (const uint8_t *)a->packed + (slice + i) * conv_block_bytes(a) + (uint64_t)k * BLOCK_BYTES, bytes);
}

/* Records of the groups from `slice` on, whose channels begin with `first`. */
static void set_records(const struct groups *g, uint32_t slice, uint32_t first, struct block *b)
{
    const struct conv_args *a = g->a;
    const uint64_t all = (uint64_t)a->slices * a->npad;
    const int64_t left = a->x_type == DT_SQ8 ? a->x_offset - 128 : a->x_offset,
                  offsets = (int64_t)a->w_offset * a->taps * a->cig;
    int32_t base[CONV_BLOCK] = { 0 };
    float m[CONV_BLOCK] = { 0 };
    for (uint32_t i = 0; i < b->n; i++) {
        uint64_t at = (slice + (first + i) / a->cog) * (uint64_t)a->npad + (first + i) % a->cog;
        m[i] = conv_m(a->head)[at];
        base[i] = (int32_t)(uint32_t)((uint64_t)conv_b(a, a->head, all)[at] +
                                      (uint64_t)left * (uint64_t)(conv_wsum(a, a->head, all)[at] + offsets));
    }
    b->base = vi_load(base);
    b->m = vf_load(m);
}

/* Blocks of n groups from `slice` on. */
static void set_part(struct groups *g, uint32_t slice, uint32_t n)
{
    const struct conv_args *a = g->a;
    uint8_t *w = g->w;
    g->n_blocks = 0;
    for (uint32_t i = 0; i < n; i += g->side)
        for (uint32_t c = 0; c < a->cog; c += CONV_BLOCK) {
            struct block *b = &g->blocks[g->n_blocks++];
            uint32_t joined = n - i < g->side ? n - i : g->side;
            b->c0 = (slice + i) * a->cog + c;
            b->n = g->side > 1 ? joined * a->cog : a->cog - c < CONV_BLOCK ? a->cog - c : CONV_BLOCK;
            b->x = i * a->cig;
            b->w = w;
            if (a->cog < CONV_BLOCK)
                join_weights(g, slice + i, joined, w);
            else
                b->w = (const uint8_t *)a->packed +
                       ((slice + i) * (a->npad / CONV_BLOCK) + c / CONV_BLOCK) * conv_block_bytes(a);
            w += a->cog < CONV_BLOCK ? conv_block_bytes(a) : 0;
            set_records(g, slice + i, c, b);
        }
}

/* ---- sums ------------------------------------------------------------------------------------------------------------- */

/* Four pixels of a block to bytes. */
static inline __attribute__((always_inline)) void end_four(const struct groups *g, const struct block *b, const vi *acc,
                                                           uint8_t *out, uint64_t step)
{
    vi v[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        v[i] = vi_round(vf_mul(vf_from_int(acc[i]), b->m));
    vi q = bytes_in_order(&g->end, v);
    const __m128i quarter[4] = { _mm512_castsi512_si128(q), _mm512_extracti32x4_epi32(q, 1), _mm512_extracti32x4_epi32(q, 2),
                                 _mm512_extracti32x4_epi32(q, 3) };
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        if (b->n == CONV_BLOCK)
            _mm_storeu_si128((__m128i *)(out + (uint64_t)i * step), quarter[i]);
        else
            _mm_mask_storeu_epi8(out + (uint64_t)i * step, vec_mask(b->n), quarter[i]);
    }
}

/* Input channels of a vector, from its first lanes on; short ones are loaded as such, so that they do not cross lines of the
 * cache. */
static inline __attribute__((always_inline)) vi channels_at(const uint8_t *from, uint32_t bytes)
{
    if (bytes == 16)
        return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)from));
    if (bytes == 32)
        return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)from));
    return _mm512_loadu_si512(from);
}

/* p output pixels of a block; single ones are ended as four, of which three are not there. */
static inline __attribute__((always_inline)) void sums(const struct groups *g, const struct block *b, const struct group *at,
                                                       const struct form f, const int p)
{
    const uint32_t columns = ((uint32_t)p - 1) * f.apart + f.taps, fours = g->fours;
    const uint8_t *w = b->w;
    vi acc[PIXELS];
#pragma GCC unroll 8
    for (int j = 0; j < p; j++)
        acc[j] = b->base;
    for (uint32_t l = 0; l < f.lines; l++, w += (uint64_t)f.taps * fours * BLOCK_BYTES)
        for (uint32_t k = 0; k < fours; k++) {
            const uint8_t *from = at->line->x[l] + at->first;
            vi wv[STAGE_TAPS];
#pragma GCC unroll 3
            for (uint32_t t = 0; t < f.taps; t++) {
                wv[t] = _mm512_loadu_si512(w + (uint64_t)(t * fours + k) * BLOCK_BYTES);
                if (f.taps <= 3)
                    __asm__("" : "+v"(wv[t])); /* loaded once: compilers like to load it again for every pixel */
            }
#pragma GCC unroll 20
            for (uint32_t c = 0; c < columns; c++, from += STAGE_CHANNELS) {
                const vi v = _mm512_permutexvar_epi32(g->pick[k], channels_at(from, f.bytes));
#pragma GCC unroll 8
                for (int j = 0; j < p; j++) {
                    const uint32_t tap = c - (uint32_t)j * f.apart;
                    if (tap >= f.taps)
                        continue;
                    acc[j] = _mm512_dpbusd_epi32(acc[j], v, wv[tap]);
                    if (f.shift)
                        acc[j] = _mm512_dpbusd_epi32(acc[j], v, g->shift);
                }
            }
        }
    if (p == 1) {
        uint8_t four[CONV_BLOCK];
        acc[1] = acc[2] = acc[3] = acc[0];
        end_four(g, b, acc, four, 0);
        memcpy(at->out, four, b->n);
        return;
    }
#pragma GCC unroll 2
    for (int j = 0; j < p; j += 4)
        end_four(g, b, acc + j, at->out + (uint64_t)j * at->next, at->next);
}

typedef void sums_fn(const struct groups *g, const struct block *b, const struct group *at);

static void sums_of_one(const struct groups *g, const struct block *b, const struct group *at)
{
    sums(g, b, at, g->form, 1);
}

static void sums_of_any(const struct groups *g, const struct block *b, const struct group *at)
{
    sums(g, b, at, g->form, PIXELS);
}

#define USUAL(p, size, apart, bytes, shift)                                                                    \
    static void sums_##p##_##size##_##apart##_##bytes##_##shift(const struct groups *g, const struct block *b, \
                                                                const struct group *at)                        \
    {                                                                                                          \
        sums(g, b, at, (struct form){ apart, size, size, bytes, shift }, p);                                   \
    }
#define BYTES(p, size, apart, shift) \
    USUAL(p, size, apart, 16, shift) USUAL(p, size, apart, 32, shift) USUAL(p, size, apart, 64, shift)
#define SIZES(p, shift) BYTES(p, 1, 1, shift) BYTES(p, 3, 1, shift) BYTES(p, 3, 2, shift)
SIZES(8, 0)
SIZES(8, 1)
SIZES(4, 0)
SIZES(4, 1)
#define ROW(p, size, apart, shift)                                                          \
    {                                                                                       \
        sums_##p##_##size##_##apart##_16_##shift, sums_##p##_##size##_##apart##_32_##shift, \
            sums_##p##_##size##_##apart##_64_##shift                                        \
    }
#define ROWS(p, shift) { ROW(p, 1, 1, shift), ROW(p, 3, 1, shift), ROW(p, 3, 2, shift) }

/* How n pixels of a line are computed: `*ret` of them at a time. */
static sums_fn *choose_sums(const struct form *f, uint32_t n, uint32_t *ret)
{
    static sums_fn *const usual[2][2][3][3] = { { ROWS(4, 0), ROWS(8, 0) }, { ROWS(4, 1), ROWS(8, 1) } };
    const bool has = f->taps == f->lines && ((f->taps == 3 && f->apart <= 2) || (f->taps == 1 && f->apart == 1));
    *ret = n >= PIXELS ? PIXELS : has && n >= 4 ? 4 : 1;
    return *ret == 1 ? sums_of_one
           : has     ? usual[f->shift][*ret == PIXELS][f->taps == 1 ? 0 : f->apart][f->bytes / 32]
                     : sums_of_any;
}

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

/* Groups of pixels; the last one begins where it ends with the strip, some of it a second time. */
static void run_line(void *ctx, const struct stage *s, const struct stage_line *line)
{
    const struct groups *g = ctx;
    const struct conv_args *a = g->a;
    const uint64_t step = (uint64_t)s->out_step * a->co;
    uint8_t *out = g->out + ((uint64_t)line->at * a->x.out + s->ox) * a->co;
    uint32_t p;
    sums_fn *const fn = choose_sums(&g->form, s->n, &p);
    struct group at = { .line = line, .next = step };
    for (uint32_t i = 0; i < g->n_blocks; i++)
        for (uint32_t x = 0; x < s->n; x += p) {
            const uint32_t from = x + p <= s->n ? x : s->n - p;
            at.first = (uint64_t)from * a->x.stride * line->column + g->blocks[i].x;
            at.out = out + from * step + g->blocks[i].c0;
            fn(g, &g->blocks[i], &at);
        }
}

static void groups_init(struct groups *g, const struct kernel_call *call)
{
    const struct conv_args *a = g->a = call->args;
    g->out = call->data[a->n_in];
    g->end = bytes_end(a);
    g->fours = a->cig / 4;
    g->side = conv_groups_side(a);
    const uint32_t bytes = g->side * a->cig;
    g->form = (struct form){ a->x.stride, a->x.kernel, a->y.kernel,
                             bytes <= 16   ? 16
                             : bytes <= 32 ? 32
                                           : 64,
                             a->w_offset != 0 };
    g->shift = _mm512_set1_epi8((char)a->w_offset);
    for (uint32_t k = 0; k < g->fours; k++) {
        int32_t lane[CONV_BLOCK];
        for (uint32_t i = 0; i < CONV_BLOCK; i++)
            lane[i] = (int32_t)(i / a->cog % g->side * g->fours + k);
        g->pick[k] = vi_load(lane);
    }
}

/* Groups [first, end), lines of the tile. */
static void run_groups(struct groups *g, struct stage *s, const void *input, struct range groups, struct range lines)
{
    const struct conv_args *a = g->a;
    const uint32_t part = conv_groups_part(a);
    for (uint32_t i = groups.begin; i < groups.end; i += part) {
        uint32_t n = groups.end - i < part ? groups.end - i : part;
        set_part(g, i, n);
        stage_channels(s, i * a->cig, n * a->cig);
        stage_run(s, input, lines, run_line, g);
    }
}

kernel_fn conv_q8_groups_avx512;

void conv_q8_groups_avx512(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    struct groups g;
    struct stage s;
    groups_init(&g, call);
    stage_init(&s, a, 1);
    for (uint32_t at = tile.begin, end; at < tile.end; at = end) {
        const struct conv_part p = conv_part(a, at, tile.end);
        end = at + p.units;
        run_groups(&g, &s, call->data[0], (struct range){ p.chunk0, p.chunk1 }, (struct range){ p.row0, p.row1 });
    }
}
