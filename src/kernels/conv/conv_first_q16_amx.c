/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit convolutions of one to four input channels by 8-bit weights, AMX: the first layer of a network for images or
 * sounds, from a stage whose windows are tiles (conv_first_tiles.h). x = 256 * high + low, and each byte is multiplied on
 * its own, as in conv_q16_amx.c: 16 pixels by two blocks of channels (tiles 0 1: sums of high bytes, 2 3: of low bytes; 4 5:
 * x; 6 7: weights) while the sums of the 16 pixels and two blocks before are ended. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_first_tiles.h"

enum { PAIR = 2 * CONV_BLOCK, OUT_BYTES = 2 };

struct first {
    const struct conv_args *a;
    struct first_chunk chunk;
    vi offset, lo, hi;                        /* of the output: in 32, 16 and 16 bits */
    bool is_signed, limited;                  /* the output; its range is not that of the type */
    uint8_t *waiting; /* where the first of 16 pixels goes whose sums wait for their end; NULL: none do */
    const vf *m;                              /* theirs */
    uint32_t half;                            /* which of the sums are theirs */
    int32_t sums[2][4][TILE * TILE] __attribute__((aligned(64)));
    struct first_stage stage;
};

/* ---- ends ------------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) vi steps_of(const struct first *f, uint32_t pixel, int block)
{
    const int32_t(*tile)[TILE * TILE] = f->sums[f->half];
    vi sum = vi_add(_mm512_slli_epi32(vi_load(tile[block] + pixel * TILE), 8), vi_load(tile[2 + block] + pixel * TILE));
    return vi_sub(vi_round(vf_mul(vf_from_int(sum), f->m[block])), f->offset);
}

/* Four pixels of those that wait. conv_accept_first_q16 says that narrowing saturates where the range ends, or beyond. */
static inline __attribute__((always_inline)) void end_pixels(const struct first *f, uint32_t four)
{
    const vi order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (uint32_t i = four * 4; i < four * 4 + 4; i++) {
        vi a = steps_of(f, i, 0), b = steps_of(f, i, 1),
           q = f->is_signed ? _mm512_packs_epi32(a, b) : _mm512_packus_epi32(a, b);
        if (f->limited)
            q = f->is_signed ? _mm512_min_epi16(_mm512_max_epi16(q, f->lo), f->hi) :
                               _mm512_min_epu16(_mm512_max_epu16(q, f->lo), f->hi);
        _mm512_storeu_si512(f->waiting + (uint64_t)i * f->a->co * OUT_BYTES, _mm512_permutexvar_epi64(order, q));
    }
}

/* ---- sums ------------------------------------------------------------------------------------------------------------- */

/* The part of one group; high bytes are signed as x is. */
static inline __attribute__((always_inline)) void multiply(const bool sx, const uint8_t *x, uint64_t plane, uint64_t row,
                                                           const uint8_t *w)
{
    TILE_LOAD(6, w, STEP);
    TILE_LOAD(4, x, row);
    TILE_MULTIPLY(sx, 0, 4, 6);
    TILE_LOAD(7, w + BLOCK_TILE, STEP);
    TILE_MULTIPLY(sx, 1, 4, 7);
    TILE_LOAD(5, x + plane, row);
    TILE_MULTIPLY(false, 2, 5, 6);
    TILE_MULTIPLY(false, 3, 5, 7);
}

static inline __attribute__((always_inline)) void pair_run(struct first *f, const bool sx, uint32_t pair, uint64_t x)
{
    const struct first_stage *s = &f->stage;
    const uint32_t groups = s->t.groups, per = (TILE / 4 + groups - 1) / groups;
    uint32_t ended = f->waiting ? 0 : TILE / 4;
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_LOAD(2, f->chunk.base + pair * PAIR, 0);
    TILE_LOAD(3, f->chunk.base + pair * PAIR + CONV_BLOCK, 0);
    for (uint32_t g = 0; g < groups; g++) {
        multiply(sx, s->x[g] + x, s->plane_bytes, (uint64_t)s->t.group * s->t.step, s->w[g][2 * pair]);
        for (uint32_t i = 0; i < per && ended < TILE / 4; i++)
            end_pixels(f, ended++);
    }
    f->half = !f->half;
    TILE_STORE(0, f->sums[f->half][0]);
    TILE_STORE(1, f->sums[f->half][1]);
    TILE_STORE(2, f->sums[f->half][2]);
    TILE_STORE(3, f->sums[f->half][3]);
    f->m = f->chunk.m + 2 * pair;
}

/* Tiles of a line; the last one begins where it ends with the line, some of it a second time. */
static inline __attribute__((always_inline)) void line_run(struct first *f, uint8_t *out, const bool sx)
{
    const uint32_t pixels = f->a->x.out;
    const uint64_t row = (uint64_t)f->stage.t.group * f->stage.t.step;
    for (uint32_t at = 0; at < pixels; at += TILE) {
        const uint32_t from = at + TILE <= pixels ? at : pixels - TILE;
        for (uint32_t pair = 0; pair < f->chunk.nr / 2; pair++) {
            pair_run(f, sx, pair, from * row);
            f->waiting = out + ((uint64_t)from * f->a->co + f->chunk.c0 + pair * PAIR) * OUT_BYTES;
        }
    }
}

static void line_unsigned(struct first *f, uint8_t *out)
{
    line_run(f, out, false);
}

static void line_signed(struct first *f, uint8_t *out)
{
    line_run(f, out, true);
}

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

static void run_lines(struct first *f, const struct kernel_call *call, struct range lines)
{
    const struct conv_args *a = f->a;
    uint32_t of = UINT32_MAX;
    for (uint32_t at = lines.begin; at < lines.end; at++) {
        if (at / a->y.out != of)
            first_stage_clear(&f->stage);
        of = at / a->y.out;
        first_stage_groups(&f->stage, (const uint16_t *)call->data[0] + (uint64_t)of * a->y.in * a->x.in * a->ci,
                           at % a->y.out);
        uint8_t *out = (uint8_t *)call->data[a->n_in] + (uint64_t)at * a->x.out * a->co * OUT_BYTES;
        (a->x_type == DT_SQ16 ? line_signed : line_unsigned)(f, out);
    }
    for (uint32_t four = 0; f->waiting && four < TILE / 4; four++)
        end_pixels(f, four);
    f->waiting = NULL;
}

kernel_fn conv_q16_first_amx;

void conv_q16_first_amx(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    struct first f;
    f.a = a;
    f.waiting = NULL;
    f.half = 0;
    f.is_signed = a->out_type == DT_SQ16;
    f.limited = a->q_lo > dtype_min(a->out_type) || a->q_hi < dtype_max(a->out_type);
    f.offset = vi_set1(a->out_offset);
    f.lo = _mm512_set1_epi16((short)a->q_lo);
    f.hi = _mm512_set1_epi16((short)a->q_hi);
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
