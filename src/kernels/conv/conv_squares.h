/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit products in squares, AMX: rows that lie equally far apart, bytes all through. Where k is short, ending a sum takes
 * longer than multiplying; so nothing is asked or looked up here that the walk of conv_drive.c would have to ask, and the
 * unit is never waited for:
 *
 *     multiply a square of 32 rows by 32 channels into the tiles     | between its tiles, pieces of four rows of the square
 *     store its sums, [row][channel]                                 | before become bytes; its sums are in the other half
 *
 * A piece that would reach over the last row begins where it ends with it, some of it a second time. Include vec_avx512.h
 * first, and say whether rows go to places of their own (ROWS_APART). */
#ifndef KERNELS_CONV_CONV_SQUARES_H
#define KERNELS_CONV_CONV_SQUARES_H

#include "kernels/conv/conv_bytes_avx512.h"
#include "kernels/conv/conv_tiles.h"

enum {
    SIDE = 2 * TILE, /* rows, and channels, of a square */
    PIECE = 4,       /* rows */
    PIECES = SIDE / PIECE,
    CHANNELS = 4096,      /* that are walked together */
    STAY = 24 << 10,      /* bytes of weights that stay in the first-level cache */
    FAR_ROWS = 256 << 10, /* bytes of rows that weights from far away meet together */
    FAR_CHANNELS = 128,   /* channels of such weights that do so */
};

/* A square whose sums wait for their end. */
struct waiting {
    const int32_t *sums;
    const float *m;
    uint8_t *to;
    const uint64_t *at; /* ROWS_APART: bytes from there to each row */
    uint32_t rows;      /* 0: there is none */
    __mmask32 some;     /* channels that there are */
};

/* A square to be multiplied. */
struct square {
    const uint8_t *x, *w;
    const int32_t *base;
    bool two_x, two_blocks;
};

struct squares {
    const struct conv_args *a;
    const uint8_t *x; /* row 0 */
    uint8_t *out;
    uint64_t x_step, out_step; /* from row to row */
    uint32_t taps;
    const uint64_t *tap_x; /* bytes from a row to what each tap is multiplied with */
    uint32_t width;        /* ROWS_APART: rows of a line, of which only some go somewhere */
    uint64_t block;        /* bytes of a block of weights */
    uint32_t step, steps;  /* k of a tile, tiles of a tap */
    bool sx;
    struct bytes_end end;
    uint32_t shape;                                            /* rows that the tiles have now */
    void (*run[2])(struct squares *f, const struct square *q); /* [1]: where a whole square waits */
    struct waiting waiting;
    uint32_t half, at_half;
    bool one_half;        /* a square ends before the next one is stored: long rows want the cache for themselves */
    uint64_t at[2][SIDE]; /* of the rows of a square, and of the one that waits */
    int32_t sums[2][SIDE * SIDE] __attribute__((aligned(64)));
    int32_t base[CHANNELS] __attribute__((aligned(64)));
};

/* ---- ends ------------------------------------------------------------------------------------------------------------- */

/* What is known of it where the loop is compiled. */
enum end_kind {
    END_PLAIN, /* unsigned, offset 0, the range of the type */
    END_MOVED, /* the same with an offset */
    END_ANY,
    END_KINDS
};

static inline __attribute__((always_inline)) vi steps_of(const int32_t *sums, uint32_t row, vf m)
{
    return vi_round(vf_mul(vf_from_int(vi_load(sums + row * SIDE)), m));
}

/* Four rows of a block. */
static inline __attribute__((always_inline)) vi four_rows(const struct squares *f, const enum end_kind kind,
                                                          const int32_t *sums, vf m)
{
    const vi v0 = steps_of(sums, 0, m), v1 = steps_of(sums, 1, m), v2 = steps_of(sums, 2, m), v3 = steps_of(sums, 3, m);
    if (kind == END_ANY)
        return bytes_narrow(&f->end, v0, v1, v2, v3);
    vi a = _mm512_packs_epi32(v0, v1), b = _mm512_packs_epi32(v2, v3);
    if (kind == END_MOVED) {
        a = _mm512_subs_epi16(a, f->end.offset);
        b = _mm512_subs_epi16(b, f->end.offset);
    }
    return _mm512_packus_epi16(a, b);
}

/* Where a row of the square that waits goes. */
static inline __attribute__((always_inline)) uint8_t *place_of(const struct squares *f, const struct waiting *w,
                                                               uint32_t row)
{
    uint8_t *to = w->to + (ROWS_APART ? w->at[row] : row * f->out_step);
    __asm__("" : "+r"(to)); /* addresses are no work for vectors */
    return to;
}

/* Four rows of a square with one block: there are no sums beside it, and whatever is there might be slow to multiply. */
static __attribute__((noinline)) void end_one_block(const struct squares *f, uint32_t row)
{
    const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const struct waiting *w = &f->waiting;
    const __mmask16 some = (__mmask16)w->some;
    const vi v = _mm512_permutexvar_epi32(order, four_rows(f, END_ANY, w->sums + row * SIDE, vf_load(w->m)));
    _mm_mask_storeu_epi8(place_of(f, w, row), some, _mm512_castsi512_si128(v));
    _mm_mask_storeu_epi8(place_of(f, w, row + 1), some, _mm512_extracti32x4_epi32(v, 1));
    _mm_mask_storeu_epi8(place_of(f, w, row + 2), some, _mm512_extracti32x4_epi32(v, 2));
    _mm_mask_storeu_epi8(place_of(f, w, row + 3), some, _mm512_extracti32x4_epi32(v, 3));
}

/* What is known of a square where its loop is compiled. */
struct form {
    enum end_kind kind;
    bool whole;      /* 32 rows by 32 channels wait */
    uint32_t pieces; /* ended in each step of k */
    bool passing;    /* weights go by: they must not push out the rows */
};

/* Piece i of the square that waits; `w` is a copy of it. */
static inline __attribute__((always_inline)) void end_piece(const struct squares *f, const struct waiting *w,
                                                            const struct form o, uint32_t i)
{
    const vi low = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const vi high = _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
    uint32_t row = i * PIECE;
    if (!o.whole) {
        if (row >= w->rows)
            return;
        row = row + PIECE <= w->rows ? row : w->rows - PIECE;
        if (w->some <= UINT16_MAX) {
            end_one_block(f, row);
            return;
        }
    }
    const int32_t *sums = w->sums + row * SIDE;
    const vi a = four_rows(f, o.kind, sums, vf_load(w->m)), b = four_rows(f, o.kind, sums + TILE, vf_load(w->m + TILE));
    const vi r01 = _mm512_permutex2var_epi32(a, low, b), r23 = _mm512_permutex2var_epi32(a, high, b);
    if (o.whole) {
        _mm256_storeu_si256((__m256i *)place_of(f, w, row), _mm512_castsi512_si256(r01));
        _mm256_storeu_si256((__m256i *)place_of(f, w, row + 1), _mm512_extracti64x4_epi64(r01, 1));
        _mm256_storeu_si256((__m256i *)place_of(f, w, row + 2), _mm512_castsi512_si256(r23));
        _mm256_storeu_si256((__m256i *)place_of(f, w, row + 3), _mm512_extracti64x4_epi64(r23, 1));
    } else {
        _mm256_mask_storeu_epi8(place_of(f, w, row), w->some, _mm512_castsi512_si256(r01));
        _mm256_mask_storeu_epi8(place_of(f, w, row + 1), w->some, _mm512_extracti64x4_epi64(r01, 1));
        _mm256_mask_storeu_epi8(place_of(f, w, row + 2), w->some, _mm512_castsi512_si256(r23));
        _mm256_mask_storeu_epi8(place_of(f, w, row + 3), w->some, _mm512_extracti64x4_epi64(r23, 1));
    }
}

static void end_last(struct squares *f)
{
    for (uint32_t i = 0; i < PIECES; i++)
        end_piece(f, &f->waiting, (struct form){ .kind = END_ANY }, i);
    f->waiting.rows = 0;
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

#define LOAD_WEIGHTS(t, from)         \
    do {                              \
        if (o.passing)                \
            TILE_PASS(t, from, STEP); \
        else                          \
            TILE_LOAD(t, from, STEP); \
    } while (0)
#define MULTIPLY(c, x, w)              \
    do {                               \
        if (sx)                        \
            TILE_MULTIPLY(1, c, x, w); \
        else                           \
            TILE_MULTIPLY(0, c, x, w); \
    } while (0)
#define END_PIECE() end_piece(f, &w, o, ended++)

/* One step of k: all of a square. Each tile of sums starts with what belongs to its channels. */
static inline __attribute__((always_inline)) void run_short(struct squares *f, const struct square *q, const struct form o)
{
    const struct waiting w = f->waiting;
    const uint64_t step = f->x_step;
    const bool two_x = q->two_x, two_blocks = q->two_blocks, sx = o.kind == END_ANY && f->sx;
    const uint8_t *const x = q->x, *const w0 = q->w, *const w1 = w0 + f->block;
    const int32_t *const base = q->base;
    int32_t *const sums = f->sums[f->half];
    uint32_t ended = 0;
    TILE_LOAD(0, base, 0);
    LOAD_WEIGHTS(6, w0);
    TILE_LOAD(4, x, step);
    MULTIPLY(0, 4, 6);
    END_PIECE();
    if (two_blocks) {
        TILE_LOAD(1, base + TILE, 0);
        LOAD_WEIGHTS(7, w1);
        MULTIPLY(1, 4, 7);
    }
    END_PIECE();
    if (two_x) {
        TILE_LOAD(2, base, 0);
        TILE_LOAD(5, x + TILE * step, step);
        MULTIPLY(2, 5, 6);
    }
    END_PIECE();
    if (two_x && two_blocks) {
        TILE_LOAD(3, base + TILE, 0);
        MULTIPLY(3, 5, 7);
    }
    END_PIECE();
    TILE_STORE_ROWS(0, sums, SIDE * 4);
    END_PIECE();
    if (two_blocks)
        TILE_STORE_ROWS(1, sums + TILE, SIDE * 4);
    END_PIECE();
    if (two_x)
        TILE_STORE_ROWS(2, sums + TILE * SIDE, SIDE * 4);
    END_PIECE();
    if (two_x && two_blocks)
        TILE_STORE_ROWS(3, sums + TILE * SIDE + TILE, SIDE * 4);
    END_PIECE();
}

/* More steps: pieces are ended between them, and those that are left while sums are stored. */
static inline __attribute__((always_inline)) void run_long(struct squares *f, const struct square *q, const struct form o)
{
    const struct waiting w = f->waiting;
    const uint64_t step = f->x_step, block = f->block, k = f->step, w_step = k * CONV_BLOCK;
    const bool two_x = q->two_x, two_blocks = q->two_blocks, sx = o.kind == END_ANY && f->sx;
    const uint8_t *w0 = q->w;
    const uint32_t taps = f->taps, steps = f->steps;
    const int32_t *const base = q->base;
    int32_t *const sums = f->sums[f->half];
    uint32_t ended = 0, tap = 0, left = 0;
    const uint8_t *x = NULL;
    TILE_LOAD(0, base, 0);
    if (two_blocks)
        TILE_LOAD(1, base + TILE, 0);
    if (two_x)
        TILE_LOAD(2, base, 0);
    if (two_x && two_blocks)
        TILE_LOAD(3, base + TILE, 0);
    for (;; left--, x += k, w0 += w_step) {
        if (!left) {
            if (tap == taps)
                break;
            x = q->x + f->tap_x[tap++];
            left = steps;
        }
        LOAD_WEIGHTS(6, w0);
        TILE_LOAD(4, x, step);
        MULTIPLY(0, 4, 6);
        if (two_blocks) {
            LOAD_WEIGHTS(7, w0 + block);
            MULTIPLY(1, 4, 7);
        }
        if (o.pieces > 1 && ended < PIECES)
            END_PIECE();
        if (two_x) {
            TILE_LOAD(5, x + TILE * step, step);
            MULTIPLY(2, 5, 6);
            if (two_blocks)
                MULTIPLY(3, 5, 7);
        }
        if (ended < PIECES)
            END_PIECE();
    }
    TILE_STORE_ROWS(0, sums, SIDE * 4);
    if (o.pieces > 1 && ended < PIECES)
        END_PIECE();
    if (two_blocks)
        TILE_STORE_ROWS(1, sums + TILE, SIDE * 4);
    if (o.pieces > 1 && ended < PIECES)
        END_PIECE();
    if (two_x)
        TILE_STORE_ROWS(2, sums + TILE * SIDE, SIDE * 4);
    if (o.pieces > 1 && ended < PIECES)
        END_PIECE();
    if (two_x && two_blocks)
        TILE_STORE_ROWS(3, sums + TILE * SIDE + TILE, SIDE * 4);
    if (o.pieces > 1 && ended < PIECES)
        END_PIECE();
}

/* A function per form, so that nothing is asked inside the loop. */
#define SQUARES(name, kind, whole)                                        \
    static void short_##name(struct squares *f, const struct square *q)   \
    {                                                                     \
        run_short(f, q, (struct form){ kind, whole, 4, false });          \
    }                                                                     \
    static void some_##name(struct squares *f, const struct square *q)    \
    {                                                                     \
        run_long(f, q, (struct form){ kind, whole, 2, false });           \
    }                                                                     \
    static void passing_##name(struct squares *f, const struct square *q) \
    {                                                                     \
        run_long(f, q, (struct form){ kind, whole, 2, true });            \
    }                                                                     \
    static void long_##name(struct squares *f, const struct square *q)    \
    {                                                                     \
        run_long(f, q, (struct form){ kind, whole, 1, true });            \
    }
SQUARES(plain, END_PLAIN, true)
SQUARES(moved, END_MOVED, true)
SQUARES(any, END_ANY, true)
SQUARES(odd, END_ANY, false)
typedef void square_fn(struct squares *, const struct square *);
static square_fn *const forms[][4] = {
    [END_PLAIN] = { short_plain, some_plain, passing_plain, long_plain },
    [END_MOVED] = { short_moved, some_moved, passing_moved, long_moved },
    [END_ANY] = { short_any, some_any, passing_any, long_any },
    [END_KINDS] = { short_odd, some_odd, passing_odd, long_odd },
};

static void choose_form(struct squares *f)
{
    const struct bytes_end *e = &f->end;
    const enum end_kind kind = f->sx || e->is_signed || e->limited ? END_ANY : e->moved ? END_MOVED : END_PLAIN;
    const bool passing = conv_slice_bytes(f->a) > STAY;
    const uint32_t steps = f->taps * f->steps;
    const uint32_t length = steps == 1 ? 0 : steps >= PIECES ? 3 : passing ? 2 : 1;
    f->one_half = steps >= PIECES;
    f->run[true] = forms[kind][length];
    f->run[false] = forms[END_KINDS][length];
}

/* ---- walk ------------------------------------------------------------------------------------------------------------- */

static void set_shape(struct squares *f, uint32_t rows)
{
    const uint32_t m0 = rows < TILE ? rows : TILE;
    if (f->shape == rows)
        return;
    struct tile_config t = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        const uint32_t m = i == 2 || i == 3 || i == 5 ? rows - m0 : m0;
        t.rows[i] = (uint8_t)(i < 6 ? m : f->step / 4);
        t.row_bytes[i] = !t.rows[i] ? 0 : (uint16_t)(i == 4 || i == 5 ? f->step : STEP);
    }
    TILE_SHAPES(t);
    f->shape = rows;
}

/* Rows row0 … row1 of channels c0 … c1. */
struct walk {
    uint64_t row0, row1;
    uint32_t c0, c1;
};

/* Some rows meet the 32 channels from c on. */
static void run_square(struct squares *f, uint64_t row, uint32_t rows, uint32_t c, const int32_t *base)
{
    const struct conv_args *a = f->a;
    const uint32_t n = a->cog - c;
    const struct square q = { f->x + row * f->x_step, (const uint8_t *)a->packed + c / CONV_BLOCK * f->block, base,
                              rows > TILE, n > TILE };
    f->run[f->waiting.rows == SIDE && f->waiting.some == UINT32_MAX](f, &q);
    f->waiting = (struct waiting){ f->sums[f->half],
                                   conv_m(a->head) + c,
                                   f->out + (ROWS_APART ? 0 : row * f->out_step) + c,
                                   f->at[f->at_half],
                                   rows,
                                   n < SIDE ? (__mmask32)((1u << n) - 1) : UINT32_MAX };
    f->half = f->one_half ? 0 : !f->half;
}

/* Rows from `row` on that are multiplied together, and where they begin: no fewer than a piece. Where all of them meet few
 * channels, some rows are rather computed twice than tiles given another shape. */
static uint32_t square_rows(const struct walk *w, uint64_t *row)
{
    const uint64_t all = w->row1 - w->row0, left = w->row1 - *row;
    uint32_t rows = left < SIDE ? (uint32_t)left : SIDE;
    if (rows < SIDE && all >= SIDE && (w->c1 - w->c0) * (SIDE - rows) < SIDE * SIDE)
        rows = SIDE;
    else if (rows < PIECE)
        rows = PIECE;
    *row = left < rows ? w->row1 - rows : *row;
    return rows;
}

/* Where the rows of a square go. Those at the end of a line that nobody wants go to the first pixel of the next line, which
 * is written after them. */
static void place_rows(struct squares *f, uint64_t row, uint32_t rows)
{
    const uint64_t out = f->a->x.out;
    uint64_t line = row / f->width, x = row % f->width;
    f->at_half = !f->at_half;
    for (uint32_t i = 0; i < rows; i++) {
        f->at[f->at_half][i] = (x < out ? line * out + x : (line + 1) * out) * f->out_step;
        if (++x == f->width)
            x = 0, line++;
    }
}

/* 32 rows meet all channels, one square after the other. Weights from far away come once for more rows, so many channels at
 * a time that shapes do not change for each square. */
static void run_walk(struct squares *f, const struct walk *w)
{
    const bool is_far = conv_slice_bytes(f->a) > CONV_FAR;
    const uint64_t room = FAR_ROWS / ((uint64_t)f->step * f->steps) / SIDE * SIDE,
                   panel = is_far && room > SIDE ? room : SIDE;
    const uint32_t chunk = is_far ? FAR_CHANNELS : CHANNELS;
    for (uint64_t first = w->row0; first < w->row1; first += panel)
        for (uint32_t c0 = w->c0; c0 < w->c1; c0 += chunk)
            for (uint64_t at = first; at < first + panel && at < w->row1; at += SIDE) {
                uint64_t row = at;
                const uint32_t rows = square_rows(w, &row);
                set_shape(f, rows);
                if (ROWS_APART)
                    place_rows(f, row, rows);
                for (uint32_t c = c0; c < c0 + chunk && c < w->c1; c += SIDE)
                    run_square(f, row, rows, c, f->base + (c - w->c0));
            }
}

/* Rows of a walk meet the channels of column unit `col`. */
static void run_columns(struct squares *f, uint32_t col, uint64_t row0, uint64_t row1)
{
    const struct conv_args *a = f->a;
    const uint32_t first = (uint32_t)((uint64_t)a->chunks * col / a->col_units) * CONV_CHUNK,
                   all = (uint32_t)((uint64_t)a->chunks * (col + 1) / a->col_units) * CONV_CHUNK,
                   last = all < a->cog ? all : a->cog;
    const int64_t *b = conv_b(a, a->head, a->npad), *wsum = conv_wsum(a, a->head, a->npad);
    struct walk w = { .row0 = row0, .row1 = row1 };
    for (w.c0 = first; w.c0 < last; w.c0 = w.c1) {
        w.c1 = last - w.c0 < CHANNELS ? last : w.c0 + CHANNELS;
        for (uint32_t c = w.c0; c < w.c1; c++)
            f->base[c - w.c0] = (int32_t)((uint32_t)(uint64_t)b[c] + (uint32_t)a->x_offset * (uint32_t)(uint64_t)wsum[c]);
        run_walk(f, &w);
    }
}

/* Rows of bytes at x, x_step apart, in steps of so many k. */
static void squares_init(struct squares *f, const struct kernel_call *call, uint32_t step)
{
    static const uint64_t here = 0;
    const struct conv_args *a = call->args;
    f->a = a;
    f->x = call->data[0];
    f->out = call->data[a->n_in];
    f->x_step = a->ci;
    f->out_step = a->co;
    f->taps = 1;
    f->tap_x = &here;
    f->width = 0;
    f->block = conv_block_bytes(a);
    f->step = step;
    f->steps = a->cig / step;
    f->sx = a->x_type == DT_SQ8;
    f->end = bytes_end(a);
    f->shape = 0;
    f->half = f->at_half = 0;
    f->waiting.rows = 0;
}

static void squares_end(struct squares *f)
{
    end_last(f);
    TILE_RELEASE();
}

#endif
