/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit convolutions of one to four input channels, AMX: the first layer of a network for images or sounds.
 *
 * From one output pixel to the next a window moves on by `step` bytes of each of its input lines. Some lines are staged together, a step of each in turn, so that their part of a window
 * is one run of bytes and the windows of 16 pixels are a tile whose rows overlap:
 *
 *     lines    a0 a1 a2 a3 …  b0 b1 b2 b3 …       one step each, of stride * channels bytes
 *     stage    a0 b0 a1 b1 a2 b2 a3 b3 …          pixel 0 reads a0 b0 a1 b1, pixel 1 reads a1 b1 a2 b2
 *
 * Weights are brought into the same order, with zeros where a last step or a last group reaches over the kernel. 16 pixels by up to four blocks of channels are multiplied
 * (tiles 0 … 3: sums; 4: x; 5 6 7: weights) while the sums of the 16 before are ended. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_first.h"
#include "kernels/conv/conv_tiles.h"

enum { BLOCK_TILE = TILE * BLOCK_BYTES };

struct first {
    const struct conv_args *a;
    struct first_chunk chunk;
    struct conv_first_tiles t;
    uint64_t line_bytes, group_bytes;
    int64_t staged[STAGE_LINES];   /* per slot: the first input line of its group */
    const uint8_t *x[STAGE_LINES]; /* per group of the present output line */
    uint8_t *waiting;              /* where the first of 16 pixels goes whose sums wait for their end; NULL: none do */
    uint32_t half;                 /* which of the sums are theirs */
    int32_t sums[2][MAX_NR][TILE * TILE] __attribute__((aligned(64)));
    uint8_t w[STAGE_LINES][MAX_NR][BLOCK_TILE] __attribute__((aligned(64)));
    uint8_t lines[STAGE_LINES][CONV_FIRST_BYTES / STAGE_LINES + BLOCK_BYTES];
    uint8_t stage[CONV_FIRST_BYTES + BLOCK_BYTES];
};

/* ---- weights -------------------------------------------------------------------------------------------------------------- */

/* Which k of the packed weights every byte of a window in group g meets; UINT32_MAX: none. */
static void find_k(const struct first *f, uint32_t g, uint32_t k[STEP])
{
    const uint32_t step = f->t.step, line_bytes = f->a->x.kernel * f->a->ci;
    uint32_t at = 0;
    for (uint32_t turn = 0; at + f->t.group * step <= f->t.k; turn += step)
        for (uint32_t line = g * f->t.group; line < (g + 1) * f->t.group; line++)
            for (uint32_t byte = turn; byte < turn + step; byte++)
                k[at++] = line < f->a->y.kernel && byte < line_bytes ? line * line_bytes + byte : UINT32_MAX;
    while (at < f->t.k)
        k[at++] = UINT32_MAX;
}

/* Four of them, of 16 channels. */
static vi bring_four(const uint8_t *block, const uint32_t k[4])
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

static void set_weights(struct first *f)
{
    uint32_t k[STEP];
    for (uint32_t g = 0; g < f->t.groups; g++) {
        find_k(f, g, k);
        for (uint32_t v = 0; v < f->chunk.nr; v++)
            for (uint32_t four = 0; four < f->t.k / 4; four++)
                _mm512_store_si512(f->w[g][v] + four * BLOCK_BYTES,
                                   bring_four(first_block(f->a, &f->chunk, v), k + four * 4));
    }
}

/* ---- the stage ------------------------------------------------------------------------------------------------------------ */

/* A step of each line in turn. Copies are longer than a step: what is too much is overwritten by the next one. */
#define TAKE_TURNS(T)                                      \
    for (uint64_t at = 0; at < f->line_bytes; at += step)  \
        for (uint32_t l = 0; l < group; l++, to += step) { \
            T v;                                           \
            memcpy(&v, f->lines[l] + at, sizeof v);        \
            memcpy(to, &v, sizeof v);                      \
        }

static void stage_group(struct first *f, const uint8_t *image, int64_t y, uint8_t *to)
{
    const uint32_t step = f->t.step, group = f->t.group;
    if (group == 1) {
        first_line(f->a, image, y, 0, to, f->line_bytes);
        return;
    }
    for (uint32_t l = 0; l < group; l++)
        first_line(f->a, image, y + l, 0, f->lines[l], f->line_bytes);
    if (step <= 8)
        TAKE_TURNS(uint64_t)
    else if (step <= 16)
        TAKE_TURNS(__m128i)
    else
        TAKE_TURNS(__m512i)
}

/* What output line `oy` needs; groups of the line before stay where they are if they are also groups of this one. */
static void stage_groups(struct first *f, const uint8_t *image, uint32_t oy)
{
    const struct conv_args *a = f->a;
    const uint64_t top = (uint64_t)oy * a->y.stride;
    const bool again = a->y.stride % f->t.group == 0;
    for (uint32_t g = 0; g < f->t.groups; g++) {
        const uint32_t slot = again ? (uint32_t)((top / f->t.group + g) % f->t.groups) : g;
        const int64_t y = (int64_t)top - a->y.pad + (int64_t)g * f->t.group;
        uint8_t *to = f->stage + slot * f->group_bytes;
        if (f->staged[slot] != y)
            stage_group(f, image, y, to);
        f->staged[slot] = y;
        f->x[g] = to;
    }
}

/* ---- sums ----------------------------------------------------------------------------------------------------------------- */

/* All that wait of four pixels. */
static inline __attribute__((always_inline)) void end_pixels(const struct first *f, const int nr, uint32_t four)
{
    uint8_t *out = f->waiting + (uint64_t)four * 4 * f->a->co;
#pragma GCC unroll 4
    for (int i = 0; i < nr; i++) {
        vi acc[4];
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            acc[j] = vi_load(f->sums[f->half][(4 * i + j) % nr] + (four * 4 + (uint32_t)((4 * i + j) / nr)) * TILE);
        first_end_four(&f->chunk, nr, 4 * i, acc, out, f->a->co);
    }
}

/* The part of one group. Only registers and constants are named here: whatever the compiler keeps in memory it would read again after each tile. */
static inline __attribute__((always_inline)) void multiply(const int nr, const bool sx, const uint8_t *x, uint64_t row, const uint8_t *w)
{
    TILE_LOAD(4, x, row);
    TILE_LOAD(5, w, STEP);
    TILE_MULTIPLY(sx, 0, 4, 5);
    if (nr > 1) {
        TILE_LOAD(6, w + BLOCK_TILE, STEP);
        TILE_MULTIPLY(sx, 1, 4, 6);
    }
    if (nr > 2) {
        TILE_LOAD(7, w + 2 * BLOCK_TILE, STEP);
        TILE_MULTIPLY(sx, 2, 4, 7);
    }
    if (nr > 3) {
        TILE_LOAD(5, w + 3 * BLOCK_TILE, STEP);
        TILE_MULTIPLY(sx, 3, 4, 5);
    }
}

static inline __attribute__((always_inline)) void start_sums(const int nr, const int32_t *base)
{
    TILE_LOAD(0, base, 0);
    if (nr > 1)
        TILE_LOAD(1, base + CONV_BLOCK, 0);
    if (nr > 2)
        TILE_LOAD(2, base + 2 * CONV_BLOCK, 0);
    if (nr > 3)
        TILE_LOAD(3, base + 3 * CONV_BLOCK, 0);
}

static inline __attribute__((always_inline)) void store_sums(const int nr, int32_t to[MAX_NR][TILE * TILE])
{
    TILE_STORE(0, to[0]);
    if (nr > 1)
        TILE_STORE(1, to[1]);
    if (nr > 2)
        TILE_STORE(2, to[2]);
    if (nr > 3)
        TILE_STORE(3, to[3]);
}

/* Tiles of a line; the last one begins where it ends with the line, some of it a second time. Between groups, pixels of the tile before are ended. */
static inline __attribute__((always_inline)) void line_run(struct first *f, uint8_t *out, const int nr, const bool sx)
{
    const uint32_t pixels = f->a->x.out, groups = f->t.groups, per = (TILE / 4 + groups - 1) / groups;
    const uint64_t row = (uint64_t)f->t.group * f->t.step;
    for (uint32_t at = 0; at < pixels; at += TILE) {
        const uint32_t from = at + TILE <= pixels ? at : pixels - TILE;
        uint32_t ended = f->waiting ? 0 : TILE / 4;
        start_sums(nr, f->chunk.base);
        for (uint32_t g = 0; g < groups; g++) {
            multiply(nr, sx, f->x[g] + from * row, row, f->w[g][0]);
            for (uint32_t i = 0; i < per && ended < TILE / 4; i++)
                end_pixels(f, nr, ended++);
        }
        f->half = !f->half;
        store_sums(nr, f->sums[f->half]);
        f->waiting = out + (uint64_t)from * f->a->co + f->chunk.c0;
    }
}

static inline __attribute__((always_inline)) void end_last(struct first *f, const int nr)
{
    for (uint32_t four = 0; f->waiting && four < TILE / 4; four++)
        end_pixels(f, nr, four);
    f->waiting = NULL;
}

#define LINES(nr)                                          \
    static void line_u_##nr(struct first *f, uint8_t *out) \
    {                                                      \
        line_run(f, out, nr, false);                       \
    }                                                      \
    static void line_s_##nr(struct first *f, uint8_t *out) \
    {                                                      \
        line_run(f, out, nr, true);                        \
    }                                                      \
    static void end_last_##nr(struct first *f)             \
    {                                                      \
        end_last(f, nr);                                   \
    }
LINES(1)
LINES(2)
LINES(3)
LINES(4)
static void (*const line_of[2][MAX_NR])(struct first *, uint8_t *) = { { line_u_1, line_u_2, line_u_3, line_u_4 },
                                                                       { line_s_1, line_s_2, line_s_3, line_s_4 } };
static void (*const end_of[MAX_NR])(struct first *) = { end_last_1, end_last_2, end_last_3, end_last_4 };

/* ---- lines ---------------------------------------------------------------------------------------------------------------- */

static void run_lines(struct first *f, const struct kernel_call *call, struct range lines)
{
    const struct conv_args *a = f->a;
    uint32_t of = UINT32_MAX;
    for (uint32_t at = lines.begin; at < lines.end; at++) {
        for (uint32_t i = 0; i < STAGE_LINES && at / a->y.out != of; i++)
            f->staged[i] = INT64_MIN;
        of = at / a->y.out;
        stage_groups(f, (const uint8_t *)call->data[0] + (uint64_t)of * a->y.in * a->x.in * a->ci, at % a->y.out);
        line_of[a->x_type == DT_SQ8][f->chunk.nr - 1](f, (uint8_t *)call->data[a->n_in] + (uint64_t)at * a->x.out * a->co);
    }
    end_of[f->chunk.nr - 1](f);
}

static void set_shapes(const struct first *f)
{
    struct tile_config t = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        t.rows[i] = i < 5 ? TILE : (uint8_t)(f->t.k / 4);
        t.row_bytes[i] = i == 4 ? (uint16_t)f->t.k : STEP;
    }
    TILE_SHAPES(t);
}

kernel_fn conv_q8_first_amx;

void conv_q8_first_amx(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    struct first f;
    f.a = a;
    f.t = conv_first_tiles(a);
    f.line_bytes = conv_first_tile_line(a);
    f.group_bytes = f.line_bytes * f.t.group + BLOCK_BYTES; /* copies reach over the end */
    f.waiting = NULL;
    f.half = 0;
    set_shapes(&f);
    for (uint32_t at = tile.begin, end; at < tile.end; at = end) {
        const uint32_t col = at / a->row_units, row = at % a->row_units;
        const uint32_t first = (uint32_t)((uint64_t)a->chunks * col / a->col_units),
                       last = (uint32_t)((uint64_t)a->chunks * (col + 1) / a->col_units);
        end = tile.end - at < a->row_units - row ? tile.end : at + a->row_units - row;
        for (uint32_t c = first; c < last; c++) {
            first_chunk(&f.chunk, a, c * CONV_CHUNK, a->x_offset);
            set_weights(&f);
            run_lines(&f, call, (struct range){ row, row + (end - at) });
        }
    }
    TILE_RELEASE();
}
