/* SPDX-License-Identifier: Apache-2.0 */
/* What the AMX kernels share: squares of sums, 64 k at a time. Include vec_avx512.h first.
 *
 *     tiles  0 1 = sums of the first x by blocks v, v + 1       4 5 = first x, second x: 16 rows of 64 bytes each
 *            2 3 = sums of the second x                          6 7 = weights of blocks v, v + 1: as packed, [k / 4][16][4]
 *
 * The second x are the next 16 rows (8 bits), or the low bytes of the same rows (16 bits). Sums are exact modulo 2^32. The
 * unit works beside the vector units: the sums of one square are ended piece by piece between the steps of the next one. */
#ifndef KERNELS_CONV_CONV_AMX_H
#define KERNELS_CONV_CONV_AMX_H

#include <string.h>

#include "kernels/conv/conv.h"
#include "kernels/conv/conv_tiles.h"

enum { BLOCK_STEP = STEP * CONV_BLOCK };

/* Shapes of the tiles: rows of both x and k of a step. What is loaded now is kept in the panel, which lives as long as one
 * call of the kernel. */
static void set_shape(struct conv_panel *p, uint32_t m0, uint32_t m1, uint32_t k)
{
    uint32_t shape = m0 | m1 << 8 | k << 16;
    if (p->engine_state == shape)
        return;
    struct tile_config t = { .palette = 1 };
    const uint8_t rows[8] = { (uint8_t)m0, (uint8_t)m0, (uint8_t)m1,      (uint8_t)m1,
                              (uint8_t)m0, (uint8_t)m1, (uint8_t)(k / 4), (uint8_t)(k / 4) };
    for (int i = 0; i < 8; i++) {
        t.rows[i] = rows[i];
        t.row_bytes[i] = rows[i] ? (i == 4 || i == 5 ? (uint16_t)k : STEP) : 0;
    }
    TILE_SHAPES(t);
    p->engine_state = shape;
}

/* Sums of a square that wait for their end. The kernel that includes this says what a piece is. */
struct sums;
static inline void end_piece(struct sums *s);

struct square {
    const struct conv_panel *p;
    const uint8_t *x, *w;      /* first row of the first x; first block, k = 0 */
    uint64_t second;           /* bytes from the first x to the second */
    uint64_t block_bytes;
    bool padded;               /* behind the last k the rows are zero up to a whole step, and there are weights to read */
    bool passing;              /* weights_pass */
    struct sums *waiting;      /* those of the square before */
    const uint32_t *left;      /* pieces of them that have no end yet */
};

static __attribute__((noinline)) void end_waiting(const struct square *q)
{
    while (*q->left)
        end_piece(q->waiting);
}

/* What a square is, known where its loop is compiled. */
struct form {
    bool s0, s1;               /* first and second x are signed */
    bool two_x, two_blocks;
    bool passing;
};

/* 64 k. Only registers and constants are named here: whatever the compiler keeps in memory it would read again after each
 * tile. */
static inline __attribute__((always_inline)) void multiply(const struct form f, const uint8_t *x, uint64_t stride,
                                                           uint64_t second, const uint8_t *w0, const uint8_t *w1)
{
    if (f.passing)
        TILE_PASS(6, w0, STEP);
    else
        TILE_LOAD(6, w0, STEP);
    TILE_LOAD(4, x, stride);
    TILE_MULTIPLY(f.s0, 0, 4, 6);
    if (f.two_blocks) {
        if (f.passing)
            TILE_PASS(7, w1, STEP);
        else
            TILE_LOAD(7, w1, STEP);
        TILE_MULTIPLY(f.s0, 1, 4, 7);
    }
    if (f.two_x) {
        TILE_LOAD(5, x + second, stride);
        TILE_MULTIPLY(f.s1, 2, 5, 6);
        if (f.two_blocks)
            TILE_MULTIPLY(f.s1, 3, 5, 7);
    }
}

/* k that do not fill a step: weights are brought to where their x lie in a whole step that ends with the row at the latest,
 * zeros around them. The answer is where in the row that step begins. */
static __attribute__((noinline)) uint32_t bring_rest(const struct square *q, uint8_t w[2][BLOCK_STEP], uint32_t blocks,
                                                     uint32_t at, uint32_t k, uint32_t n)
{
    const uint32_t from = at + STEP <= q->p->k_total ? at : q->p->k_total - STEP;
    for (uint32_t b = 0; b < blocks; b++) {
        memset(w[b], 0, BLOCK_STEP);
        memcpy(w[b] + (at - from) * CONV_BLOCK, q->w + b * q->block_bytes + (uint64_t)k * CONV_BLOCK,
               (size_t)n * CONV_BLOCK);
    }
    return from;
}

/* Less than a step altogether: the tiles have that shape. */
static __attribute__((noinline)) void bring_short(const struct square *q, uint8_t w[2][BLOCK_STEP], uint32_t blocks)
{
    const struct conv_panel *p = q->p;
    for (uint32_t b = 0; b < blocks; b++)
        for (uint32_t s = 0, at = 0; s < p->n_seg; at += p->seg[s].n, s++)
            memcpy(w[b] + at * CONV_BLOCK, q->w + b * q->block_bytes + (uint64_t)p->seg[s].k * CONV_BLOCK,
                   (size_t)p->seg[s].n * CONV_BLOCK);
}

static inline __attribute__((always_inline)) void run_square(const struct square *q, const struct form f)
{
    uint8_t rest[2][BLOCK_STEP] __attribute__((aligned(64)));
    const struct conv_panel *p = q->p;
    const uint8_t *const row = q->x;
    const uint64_t stride = p->stride, second = q->second, next = q->block_bytes;
    const uint32_t n_seg = p->n_seg, blocks = 1 + f.two_blocks, pieces = (*q->left * STEP + p->k_total - 1) / p->k_total;
    struct sums *const waiting = q->waiting;
    if (p->k_total < STEP) {
        const uint8_t *w = q->w + (uint64_t)p->seg[0].k * CONV_BLOCK;
        if (n_seg == 1) {
            multiply(f, row, stride, second, w, w + next);
        } else {
            bring_short(q, rest, blocks);
            multiply(f, row, stride, second, rest[0], rest[1]);
        }
        return;
    }
    for (uint32_t s = 0, at = 0; s < n_seg; s++) {
        uint32_t k = p->seg[s].k, n = p->seg[s].n;
        const uint8_t *x = (p->seg_x ? row + p->seg_x[s] : row + at), *w = q->w + (uint64_t)k * CONV_BLOCK;
        if (q->padded && s + 1 == n_seg && at % STEP == 0)
            n = (n + STEP - 1) / STEP * STEP;
        for (uint32_t left = n / STEP; left; left--, x += STEP, w += BLOCK_STEP) {
            multiply(f, x, stride, second, w, w + next);
            for (uint32_t i = 0; i < pieces && *q->left; i++)
                end_piece(waiting);
        }
        if (n % STEP) {
            const uint32_t from = bring_rest(q, rest, blocks, at + n / STEP * STEP, k + n / STEP * STEP, n % STEP);
            multiply(f, row + from, stride, second, rest[0], rest[1]);
        }
        at += n;
    }
}

/* A function per form, so that nothing is asked inside the loop. */
#define SQUARE(name, signed0, signed1, x2, blocks2)                                                    \
    static void name(const struct square *q)                                                           \
    {                                                                                                  \
        if (q->passing)                                                                                \
            run_square(q, (struct form){ signed0, signed1, x2, blocks2, true });                       \
        else                                                                                           \
            run_square(q, (struct form){ signed0, signed1, x2, blocks2, false });                      \
    }

/* Sums of the first x begin with these, one per channel of a block. */
static inline void first_tiles(const int32_t *a, const int32_t *b)
{
    TILE_LOAD(0, a, 0);
    TILE_LOAD(1, b, 0);
}

/* Those of the second x. */
static inline void second_tiles(const int32_t *a, const int32_t *b)
{
    TILE_LOAD(2, a, 0);
    TILE_LOAD(3, b, 0);
}

static void store_tiles(int32_t tile[4][TILE * TILE], bool two_x, bool two_blocks)
{
    TILE_STORE(0, tile[0]);
    if (two_blocks)
        TILE_STORE(1, tile[1]);
    if (!two_x)
        return;
    TILE_STORE(2, tile[2]);
    if (two_blocks)
        TILE_STORE(3, tile[3]);
}

/* Gathered rows of bytes have room up to a whole step; what is there is made zero, so that it does not matter which weights
 * it meets. */
static void pad_rows(const struct conv_panel *p, uint32_t planes, uint64_t plane)
{
    const uint32_t rest = p->k_total % STEP;
    if (p->k_total < STEP || !rest)
        return;
    const __mmask64 tail = ~(__mmask64)0 << rest;
    for (uint32_t r = 0; r < p->rows; r++)
        for (uint32_t i = 0; i < planes; i++)
            _mm512_mask_storeu_epi8((uint8_t *)(uintptr_t)p->x[r] + i * plane + p->k_total - rest, tail,
                                    _mm512_setzero_si512());
}

/* Reading a whole step at the end of the last of `blocks` blocks stays within the weights of this operator. Weights that are
 * packed while running have a record behind them that is longer than that. */
static bool weights_go_on(const struct conv_args *a, const struct conv_chunk *c, uint32_t blocks)
{
    const char *end = (const char *)c->w + blocks * conv_block_bytes(a) + BLOCK_STEP;
    return !a->packed || end <= (const char *)a->packed + a->w_slices * conv_slice_bytes(a);
}

enum { WEIGHTS_THAT_STAY = 24 << 10 };

static bool weights_pass(const struct conv_args *a)
{
    return conv_slice_bytes(a) > WEIGHTS_THAT_STAY;
}

static const int32_t zeros[TILE] __attribute__((aligned(64)));

#endif
