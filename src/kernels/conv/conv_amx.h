/* SPDX-License-Identifier: Apache-2.0 */
/* What the AMX kernels share: squares of sums, 64 k at a time. Include vec_avx512.h first.
 *
 *     tiles  0 1 = sums of the first x by blocks v, v + 1       4 5 = first x, second x: 16 rows of 64 bytes each
 *            2 3 = sums of the second x                          6 7 = weights of blocks v, v + 1: as packed, [k / 4][16][4]
 *
 * The second x are the next 16 rows (8 bits), or the low bytes of the same rows (16 bits). Sums are exact modulo 2^32. The unit works beside the
 * vector units: the sums of one square are ended piece by piece between the steps of the next one. */
#ifndef KERNELS_CONV_CONV_AMX_H
#define KERNELS_CONV_CONV_AMX_H

#include <string.h>

#include "kernels/conv/conv.h"

enum { TILE = 16, STEP = 64, BLOCK_STEP = STEP * CONV_BLOCK };

/* What LDTILECFG reads. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_config) == 64, "the shape that LDTILECFG reads");

/* Shapes of the tiles: rows of both x and k of a step. What is loaded now is kept in the panel, which lives as long as one call of the kernel. The compiler's own
 * intrinsic says that it reads 8 bytes of the configuration; all 64 are. */
static void set_shape(struct conv_panel *p, uint32_t m0, uint32_t m1, uint32_t k)
{
    uint32_t shape = m0 | m1 << 8 | k << 16;
    if (p->engine_state == shape)
        return;
    struct tile_config t = { .palette = 1 };
    const uint8_t rows[8] = { (uint8_t)m0, (uint8_t)m0, (uint8_t)m1, (uint8_t)m1, (uint8_t)m0, (uint8_t)m1, (uint8_t)(k / 4), (uint8_t)(k / 4) };
    for (int i = 0; i < 8; i++) {
        t.rows[i] = rows[i];
        t.row_bytes[i] = rows[i] ? (i == 4 || i == 5 ? (uint16_t)k : STEP) : 0;
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(t));
    p->engine_state = shape;
}

#define TILE_LOAD(t, from, stride) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(from), "r"((uint64_t)(stride)) : "memory")
#define TILE_STORE(t, to) __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(to), "r"((uint64_t)STEP) : "memory")
/* c += x * w; w is signed, x as `sx` says. */
#define TILE_MULTIPLY(sx, c, x, w)                                                     \
    do {                                                                               \
        if (sx)                                                                        \
            __asm__ volatile("tdpbssd %%tmm" #w ", %%tmm" #x ", %%tmm" #c ::);         \
        else                                                                           \
            __asm__ volatile("tdpbusd %%tmm" #w ", %%tmm" #x ", %%tmm" #c ::);         \
    } while (0)

/* Sums of a square that wait for their end. The kernel that includes this says what a piece is. */
struct sums;
static inline void end_piece(struct sums *s);

struct square {
    const struct conv_panel *p;
    const uint8_t *x, *w;      /* first row of the first x; first block, k = 0 */
    uint64_t second;           /* bytes from the first x to the second */
    uint64_t block_bytes;
    bool s0, s1;               /* first and second x are signed */
    bool two_x, two_blocks;
    bool padded;               /* behind the last k the rows are zero up to a whole step, and there are weights to read */
    struct sums *waiting;      /* those of the square before */
    const uint32_t *left;      /* pieces of them that have no end yet */
    uint32_t pieces;           /* that are ended in one step */
};

static __attribute__((noinline)) void end_waiting(const struct square *q)
{
    while (*q->left)
        end_piece(q->waiting);
}

/* A multiplication takes 16 cycles: pieces stand behind each of the four in turn. */
static inline __attribute__((always_inline)) void end_some(const struct square *q, uint32_t turn)
{
    for (uint32_t i = turn; i < q->pieces && *q->left; i += 4)
        end_piece(q->waiting);
}

static inline __attribute__((always_inline)) void multiply(const struct square *q, const uint8_t *x, const uint8_t *w0, const uint8_t *w1)
{
    const uint64_t stride = q->p->stride;
    TILE_LOAD(6, w0, STEP);
    TILE_LOAD(4, x, stride);
    TILE_MULTIPLY(q->s0, 0, 4, 6);
    end_some(q, 0);
    if (q->two_blocks) {
        TILE_LOAD(7, w1, STEP);
        TILE_MULTIPLY(q->s0, 1, 4, 7);
        end_some(q, 2);
    }
    if (q->two_x) {
        TILE_LOAD(5, x + q->second, stride);
        TILE_MULTIPLY(q->s1, 2, 5, 6);
        end_some(q, 1);
        if (q->two_blocks) {
            TILE_MULTIPLY(q->s1, 3, 5, 7);
            end_some(q, 3);
        }
    }
}

/* k that do not fill a step: weights are brought to where their x lie in a whole step that ends with the row at the latest, zeros around them. */
static __attribute__((noinline)) void multiply_rest(const struct square *q, uint32_t at, uint32_t k, uint32_t n)
{
    uint8_t w[2][BLOCK_STEP] __attribute__((aligned(64)));
    const uint32_t from = at + STEP <= q->p->k_total ? at : q->p->k_total - STEP;
    for (uint32_t b = 0; b < 1u + q->two_blocks; b++) {
        memset(w[b], 0, sizeof w[b]);
        memcpy(w[b] + (at - from) * CONV_BLOCK, q->w + b * q->block_bytes + (uint64_t)k * CONV_BLOCK, (size_t)n * CONV_BLOCK);
    }
    multiply(q, q->x + from, w[0], w[1]);
}

/* Less than a step altogether: the tiles have that shape. */
static void multiply_short(const struct square *q)
{
    uint8_t w[2][BLOCK_STEP] __attribute__((aligned(64)));
    const struct conv_panel *p = q->p;
    if (p->n_seg == 1) {
        const uint8_t *at = q->w + (uint64_t)p->seg[0].k * CONV_BLOCK;
        multiply(q, q->x, at, at + q->block_bytes);
        return;
    }
    for (uint32_t b = 0; b < 1u + q->two_blocks; b++)
        for (uint32_t s = 0, at = 0; s < p->n_seg; at += p->seg[s].n, s++)
            memcpy(w[b] + at * CONV_BLOCK, q->w + b * q->block_bytes + (uint64_t)p->seg[s].k * CONV_BLOCK, (size_t)p->seg[s].n * CONV_BLOCK);
    multiply(q, q->x, w[0], w[1]);
}

static inline __attribute__((always_inline)) void square_loop(const struct square *q)
{
    const struct conv_panel *p = q->p;
    uint32_t at = 0;
    for (uint32_t s = 0; s < p->n_seg; s++) {
        uint32_t k = p->seg[s].k, n = p->seg[s].n;
        const uint8_t *x = p->seg_x ? q->x + p->seg_x[s] - at : q->x;
        const uint8_t *w = q->w + (uint64_t)k * CONV_BLOCK;
        if (q->padded && s + 1 == p->n_seg && at % STEP == 0)
            n = (n + STEP - 1) / STEP * STEP;
        for (; n >= STEP; n -= STEP, at += STEP, k += STEP, w += BLOCK_STEP)
            multiply(q, x + at, w, w + q->block_bytes);
        if (n)
            multiply_rest(q, at, k, n);
        at += n;
    }
}

/* A function per form, so that nothing is asked inside the loop. */
#define SQUARE(name, signed0, signed1, x2, blocks2)                \
    static void name(const struct square *q)                       \
    {                                                              \
        struct square c = *q;                                      \
        c.s0 = signed0, c.s1 = signed1, c.two_x = x2, c.two_blocks = blocks2; \
        c.pieces = (*c.left * STEP + c.p->k_total - 1) / c.p->k_total;        \
        if (c.p->k_total < STEP)                                   \
            multiply_short(&c);                                    \
        else                                                       \
            square_loop(&c);                                       \
    }

/* Sums begin with these; rows of both x with the same. */
static void first_tiles(const int32_t *a, const int32_t *b, bool two_x)
{
    TILE_LOAD(0, a, 0);
    TILE_LOAD(1, b, 0);
    if (two_x) {
        TILE_LOAD(2, a, 0);
        TILE_LOAD(3, b, 0);
    }
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

/* Gathered rows of bytes have room up to a whole step; what is there is made zero, so that it does not matter which weights it meets. */
static void pad_rows(const struct conv_panel *p, uint32_t planes, uint64_t plane)
{
    const uint32_t rest = p->k_total % STEP;
    if (p->k_total < STEP || !rest)
        return;
    const __mmask64 tail = ~(__mmask64)0 << rest;
    for (uint32_t r = 0; r < p->rows; r++)
        for (uint32_t i = 0; i < planes; i++)
            _mm512_mask_storeu_epi8((uint8_t *)(uintptr_t)p->x[r] + i * plane + p->k_total - rest, tail, _mm512_setzero_si512());
}

/* Reading a whole step at the end of the last of `blocks` blocks stays within the weights of this operator. Weights that are packed while running have a
 * record behind them that is longer than that. */
static bool weights_go_on(const struct conv_args *a, const struct conv_chunk *c, uint32_t blocks)
{
    const char *end = (const char *)c->w + blocks * conv_block_bytes(a) + BLOCK_STEP;
    return !a->packed || end <= (const char *)a->packed + (uint64_t)a->w_slices * a->npad / CONV_BLOCK * conv_block_bytes(a);
}

static const int32_t zeros[TILE] __attribute__((aligned(64)));

#endif
