/* SPDX-License-Identifier: Apache-2.0 */
/* The stage of first layers in tiles (conv_first_amx.c, conv_first_q16_amx.c). Include vec_avx512.h first.
 *
 * From one output pixel to the next a window moves on by `step` bytes of each of its input lines. Some lines are staged
 * together, a step of each in turn, so that their part of a window is one run of bytes and the windows of 16 pixels are a
 * tile whose rows overlap:
 *
 *     lines    a0 a1 a2 a3 …  b0 b1 b2 b3 …       one step each, of stride * channels bytes
 *     stage    a0 b0 a1 b1 a2 b2 a3 b3 …          pixel 0 reads a0 b0 a1 b1, pixel 1 reads a1 b1 a2 b2
 *
 * Weights are brought into the same order, with zeros where a last step or a last group reaches over the kernel. Elements of
 * 16 bits are staged as two planes, their high bytes and their low bytes. */
#ifndef KERNELS_CONV_CONV_FIRST_TILES_H
#define KERNELS_CONV_CONV_FIRST_TILES_H

#include "kernels/conv/conv_first.h"
#include "kernels/conv/conv_tiles.h"

enum { BLOCK_TILE = TILE * BLOCK_BYTES, MAX_PLANES = 2, LINE_ROOM = CONV_FIRST_BYTES / STAGE_LINES + BLOCK_BYTES };

struct first_stage {
    const struct conv_args *a;
    struct conv_first_tiles t;
    uint32_t planes;
    uint64_t line_bytes, plane_bytes;         /* of a line; of a group, and of what copies reach over its end */
    int64_t staged[STAGE_LINES];              /* per slot: the first input line of its group */
    const uint8_t *x[STAGE_LINES];            /* per group of the present output line: its first plane */
    __mmask64 own[STAGE_LINES];               /* per line of a group: its bytes of a staged vector */
    uint8_t order[STEP] __attribute__((aligned(64))); /* where each of them comes from */
    uint8_t w[STAGE_LINES][MAX_NR][BLOCK_TILE] __attribute__((aligned(64)));
    uint8_t lines[STAGE_LINES][MAX_PLANES][LINE_ROOM];
    uint8_t bytes[MAX_PLANES * CONV_FIRST_BYTES + BLOCK_BYTES];
};

static void first_stage_init(struct first_stage *s, const struct conv_args *a)
{
    s->a = a;
    s->t = conv_first_tiles(a);
    s->planes = dtype_bits(a->x_type) / 8;
    s->line_bytes = conv_first_tile_line(a);
    s->plane_bytes = s->line_bytes * s->t.group + BLOCK_BYTES;
    for (uint32_t l = 0; l < s->t.group; l++)
        s->own[l] = 0;
    for (uint32_t i = 0; i < STEP; i++) {
        const uint32_t turn = i / s->t.step / s->t.group, l = i / s->t.step % s->t.group;
        s->own[l] |= (__mmask64)1 << i;
        s->order[i] = (uint8_t)(turn * s->t.step + i % s->t.step);
    }
}

/* Another image: no line of it is there. */
static void first_stage_clear(struct first_stage *s)
{
    for (uint32_t i = 0; i < STAGE_LINES; i++)
        s->staged[i] = INT64_MIN;
}

/* Tile 4 is x, and with two planes 5; tiles behind it are weights, those before it sums. */
static void first_shapes(const struct first_stage *s)
{
    struct tile_config t = { .palette = 1 };
    for (uint32_t i = 0; i < 8; i++) {
        const bool x = i >= 4 && i < 4 + s->planes;
        t.rows[i] = i < 4 || x ? TILE : (uint8_t)(s->t.k / 4);
        t.row_bytes[i] = x ? (uint16_t)s->t.k : STEP;
    }
    TILE_SHAPES(t);
}

/* ---- weights ---------------------------------------------------------------------------------------------------------- */

/* Which k of the packed weights every byte of a window in group g meets; UINT32_MAX: none. */
static void first_find_k(const struct first_stage *s, uint32_t g, uint32_t k[STEP])
{
    const uint32_t step = s->t.step, line_bytes = s->a->x.kernel * s->a->ci;
    uint32_t at = 0;
    for (uint32_t turn = 0; at + s->t.group * step <= s->t.k; turn += step)
        for (uint32_t line = g * s->t.group; line < (g + 1) * s->t.group; line++)
            for (uint32_t byte = turn; byte < turn + step; byte++)
                k[at++] = line < s->a->y.kernel && byte < line_bytes ? line * line_bytes + byte : UINT32_MAX;
    while (at < s->t.k)
        k[at++] = UINT32_MAX;
}

/* Four of them, of 16 channels. */
static vi first_bring_four(const uint8_t *block, const uint32_t k[4])
{
    vi w = vi_zero();
    for (int i = 0; i < 4; i++) {
        if (k[i] == UINT32_MAX)
            continue;
        vi own = _mm512_srl_epi32(_mm512_loadu_si512(block + (uint64_t)(k[i] / 4) * BLOCK_BYTES),
                                  _mm_cvtsi32_si128((int)(k[i] % 4 * 8)));
        w = _mm512_or_si512(w, _mm512_sll_epi32(_mm512_and_si512(own, vi_set1(255)), _mm_cvtsi32_si128(i * 8)));
    }
    return w;
}

static void first_weights(struct first_stage *s, const struct first_chunk *c)
{
    uint32_t k[STEP];
    for (uint32_t g = 0; g < s->t.groups; g++) {
        first_find_k(s, g, k);
        for (uint32_t v = 0; v < c->nr; v++)
            for (uint32_t four = 0; four < s->t.k / 4; four++)
                _mm512_store_si512(s->w[g][v] + four * BLOCK_BYTES,
                                   first_bring_four(first_block(s->a, c, v), k + four * 4));
    }
}

/* ---- the stage -------------------------------------------------------------------------------------------------------- */

/* Input line y as two planes, or real zero all along. */
static void first_line_planes(const struct first_stage *s, const uint16_t *image, int64_t y, uint8_t *high, uint8_t *low)
{
    const struct conv_args *a = s->a;
    const uint64_t before = (uint64_t)a->x.pad * a->ci, all = (uint64_t)a->x.in * a->ci;
    const uint64_t n = all < s->line_bytes - before ? all : s->line_bytes - before;
    const uint16_t zero = (uint16_t)-a->x_offset;
    memset(high, zero >> 8, s->line_bytes);
    memset(low, zero & 255, s->line_bytes);
    if (y < 0 || y >= a->y.in)
        return;
    const uint16_t *from = image + (uint64_t)y * all;
    for (uint64_t i = 0; i < n; i++) {
        high[before + i] = (uint8_t)(from[i] >> 8);
        low[before + i] = (uint8_t)from[i];
    }
}

/* A step of each line in turn, as many turns at once as a vector has room for; what is behind them is overwritten by the
 * next ones. */
static void first_take_turns(const struct first_stage *s, uint32_t plane, uint8_t *to)
{
    const uint32_t bytes = STEP / (s->t.step * s->t.group) * s->t.step; /* of each line */
    const vi order = _mm512_load_si512(s->order);
    for (uint64_t at = 0; at < s->line_bytes; at += bytes, to += bytes * s->t.group) {
        vi v = vi_zero();
        for (uint32_t l = 0; l < s->t.group; l++)
            v = _mm512_mask_permutexvar_epi8(v, s->own[l], order, _mm512_loadu_si512(s->lines[l][plane] + at));
        _mm512_storeu_si512(to, v);
    }
}

static void first_stage_group(struct first_stage *s, const void *image, int64_t y, uint8_t *to)
{
    for (uint32_t l = 0; l < s->t.group; l++) {
        if (s->planes == 1)
            first_line(s->a, image, y + l, 0, s->lines[l][0], s->line_bytes);
        else
            first_line_planes(s, image, y + l, s->lines[l][0], s->lines[l][1]);
    }
    for (uint32_t plane = 0; plane < s->planes; plane++)
        first_take_turns(s, plane, to + plane * s->plane_bytes);
}

/* What output line `oy` needs; groups of the line before stay where they are if they are also groups of this one. */
static void first_stage_groups(struct first_stage *s, const void *image, uint32_t oy)
{
    const struct conv_args *a = s->a;
    const uint64_t top = (uint64_t)oy * a->y.stride;
    const bool again = a->y.stride % s->t.group == 0;
    for (uint32_t g = 0; g < s->t.groups; g++) {
        const uint32_t slot = again ? (uint32_t)((top / s->t.group + g) % s->t.groups) : g;
        const int64_t y = (int64_t)top - a->y.pad + (int64_t)g * s->t.group;
        uint8_t *to = s->bytes + slot * s->planes * s->plane_bytes;
        if (s->staged[slot] != y)
            first_stage_group(s, image, y, to);
        s->staged[slot] = y;
        s->x[g] = to;
    }
}

#endif
