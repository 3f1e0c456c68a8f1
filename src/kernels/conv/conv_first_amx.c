/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit convolutions of one to four input channels, AMX: the first layer of a network for images or sounds, from a stage
 * whose windows are tiles (conv_first_tiles.h). 16 pixels by up to four blocks of channels are multiplied (tiles 0 … 3:
 * sums; 4: x; 5 6 7: weights) while sums of an earlier 16 are ended; those in between stay in their tiles until these are
 * needed (conv_squares.h says why). */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_first_tiles.h"

struct first {
    const struct conv_args *a;
    struct first_chunk chunk;
    uint8_t *held;    /* where the first of 16 pixels goes whose sums are in the tiles; NULL: none are */
    uint8_t *waiting; /* the same for those whose sums are stored and wait for their end */
    uint32_t half;    /* which of the sums are theirs */
    int32_t sums[2][MAX_NR][TILE * TILE] __attribute__((aligned(64)));
    struct first_stage stage;
};

/* ---- sums ------------------------------------------------------------------------------------------------------------- */

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

#define STORE_SUMS(t, to) TILE_STORE(t, (to)[t])
/* A tile makes room for new sums, which start with what belongs to their channels. */
#define START_SUMS(t, to, base)                   \
    do {                                          \
        STORE_SUMS(t, to);                        \
        TILE_LOAD(t, (base) + (t)*CONV_BLOCK, 0); \
    } while (0)

/* Windows of 16 pixels, so many bytes apart, and their weights. */
struct group {
    const uint8_t *x, *w;
    uint64_t row;
};

/* The part of one group. Only registers and constants are named here: whatever the compiler keeps in memory it would read
 * again after each tile. The first group finds the sums of the 16 pixels before in the tiles. */
static inline __attribute__((always_inline)) void multiply(const int nr, const bool sx, const struct group g,
                                                           const bool first, int32_t to[MAX_NR][TILE * TILE],
                                                           const int32_t *base)
{
    const uint8_t *const x = g.x, *const w = g.w;
    const uint64_t row = g.row;
    if (first)
        START_SUMS(0, to, base);
    TILE_LOAD(4, x, row);
    TILE_LOAD(5, w, STEP);
    TILE_MULTIPLY(sx, 0, 4, 5);
    if (nr > 1) {
        if (first)
            START_SUMS(1, to, base);
        TILE_LOAD(6, w + BLOCK_TILE, STEP);
        TILE_MULTIPLY(sx, 1, 4, 6);
    }
    if (nr > 2) {
        if (first)
            START_SUMS(2, to, base);
        TILE_LOAD(7, w + 2 * BLOCK_TILE, STEP);
        TILE_MULTIPLY(sx, 2, 4, 7);
    }
    if (nr > 3) {
        if (first)
            START_SUMS(3, to, base);
        TILE_LOAD(5, w + 3 * BLOCK_TILE, STEP);
        TILE_MULTIPLY(sx, 3, 4, 5);
    }
}

/* Tiles of a line; the last one begins where it ends with the line, some of it a second time. Between groups, pixels of an
 * earlier tile are ended. */
static inline __attribute__((always_inline)) void line_run(struct first *f, uint8_t *out, const int nr, const bool sx)
{
    const uint32_t pixels = f->a->x.out, groups = f->stage.t.groups, per = (TILE / 4 + groups - 1) / groups;
    const uint64_t row = (uint64_t)f->stage.t.group * f->stage.t.step;
    for (uint32_t at = 0; at < pixels; at += TILE) {
        const uint32_t from = at + TILE <= pixels ? at : pixels - TILE;
        uint32_t ended = f->waiting ? 0 : TILE / 4;
        for (uint32_t g = 0; g < groups; g++) {
            const struct group group = { f->stage.x[g] + from * row, f->stage.w[g][0], row };
            if (g == 0)
                multiply(nr, sx, group, true, f->sums[!f->half], f->chunk.base);
            else
                multiply(nr, sx, group, false, NULL, NULL);
            for (uint32_t i = 0; i < per && ended < TILE / 4; i++)
                end_pixels(f, nr, ended++);
        }
        f->half = !f->half;
        f->waiting = f->held;
        f->held = out + (uint64_t)from * f->a->co + f->chunk.c0;
    }
}

static inline __attribute__((always_inline)) void end_waiting(struct first *f, const int nr)
{
    for (uint32_t four = 0; f->waiting && four < TILE / 4; four++)
        end_pixels(f, nr, four);
    f->waiting = NULL;
}

static inline __attribute__((always_inline)) void end_last(struct first *f, const int nr)
{
    end_waiting(f, nr);
    STORE_SUMS(0, f->sums[f->half]);
    if (nr > 1)
        STORE_SUMS(1, f->sums[f->half]);
    if (nr > 2)
        STORE_SUMS(2, f->sums[f->half]);
    if (nr > 3)
        STORE_SUMS(3, f->sums[f->half]);
    f->waiting = f->held;
    f->held = NULL;
    end_waiting(f, nr);
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

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

static void run_lines(struct first *f, const struct kernel_call *call, struct range lines)
{
    const struct conv_args *a = f->a;
    uint32_t of = UINT32_MAX;
    for (uint32_t at = lines.begin; at < lines.end; at++) {
        if (at / a->y.out != of)
            first_stage_clear(&f->stage);
        of = at / a->y.out;
        first_stage_groups(&f->stage, (const uint8_t *)call->data[0] + (uint64_t)of * a->y.in * a->x.in * a->ci,
                           at % a->y.out);
        line_of[a->x_type == DT_SQ8][f->chunk.nr - 1](f, (uint8_t *)call->data[a->n_in] + (uint64_t)at * a->x.out * a->co);
    }
    end_of[f->chunk.nr - 1](f);
}

kernel_fn conv_q8_first_amx;

void conv_q8_first_amx(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    struct first f;
    f.a = a;
    f.held = f.waiting = NULL;
    f.half = 0;
    first_stage_init(&f.stage, a);
    first_shapes(&f.stage);
    for (uint32_t at = tile.begin, end; at < tile.end; at = end) {
        const struct conv_part part = conv_part(a, at, tile.end);
        end = at + part.units;
        for (uint32_t c = part.chunk0; c < part.chunk1; c++) {
            first_chunk(&f.chunk, a, c * CONV_CHUNK, a->x_offset);
            first_weights(&f.stage, &f.chunk);
            run_lines(&f, call, (struct range){ part.row0, part.row1 });
        }
    }
    TILE_RELEASE();
}
