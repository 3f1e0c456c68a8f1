/* SPDX-License-Identifier: Apache-2.0 */
/* Products in squares, AMX: rows that lie equally far apart, of bytes or of elements in two planes of bytes. Where k is
 * short, ending a sum takes longer than multiplying; so nothing is asked or looked up here that the walk of conv_drive.c
 * would have to ask, and the unit is never waited for:
 *
 *     multiply a square of two x by 32 channels into the tiles, | between its tiles, pieces of an earlier square
 *     each of which first stores what it holds of the square    | are ended: where k has many steps the one just
 *     before, [row][channel]                                    | stored, else the one before that
 *
 * The second x are the next 16 rows of bytes, or the other plane of the same 16 rows. A piece that would reach over the last
 * row begins where it ends with it, some of it a second time. Include what ends sums first: conv_squares_bytes.h or
 * conv_squares_words.h. */
#ifndef KERNELS_CONV_CONV_SQUARES_H
#define KERNELS_CONV_CONV_SQUARES_H

#include "kernels/conv/conv_squares_rows.h"

/* A tile's part of the sums that tiles hold. */
#define STORE_HELD(t, at) TILE_STORE_ROWS(t, held + (at), SIDE * 4)

static void end_waiting(struct squares *f)
{
    for (uint32_t i = 0; i < PIECES; i++)
        end_piece(f, f->waiting, i);
    f->waiting->rows = 0;
    f->waiting->whole = false;
}

static int32_t *other_half(struct squares *f, const int32_t *sums)
{
    return sums == f->sums[0] ? f->sums[1] : f->sums[0];
}

/* What tiles hold waits from now on; nothing may be waiting yet. */
static void hold_next(struct squares *f)
{
    struct waiting *free = f->waiting;
    f->waiting = f->held;
    f->held = free;
}

/* The sums that tiles hold are stored, and wait like others: the tiles are about to change. */
static void let_go(struct squares *f)
{
    if (!f->held->rows)
        return;
    end_waiting(f);
    int32_t *const held = f->held->sums;
    STORE_HELD(0, 0);
    STORE_HELD(1, TILE);
    if (PLANES == 2 || f->held->rows > TILE) {
        STORE_HELD(2, TILE * SIDE);
        STORE_HELD(3, TILE * SIDE + TILE);
    }
    hold_next(f);
    f->held->rows = 0;
    f->held->whole = false;
    f->held->sums = other_half(f, held);
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

#define LOAD_WEIGHTS(t, from)         \
    do {                              \
        if (o.passing)                \
            TILE_PASS(t, from, STEP); \
        else                          \
            TILE_LOAD(t, from, STEP); \
    } while (0)
#define MULTIPLY(sx, c, x, w)          \
    do {                               \
        if (sx)                        \
            TILE_MULTIPLY(1, c, x, w); \
        else                           \
            TILE_MULTIPLY(0, c, x, w); \
    } while (0)
/* Sums of high bytes begin with zero where low ones have room for all that belongs to their channels. */
#define START_FIRST(t, from)                    \
    do {                                        \
        if (PLANES == 2 && o.kind == END_PLAIN) \
            TILE_ZERO(t);                       \
        else                                    \
            TILE_LOAD(t, from, 0);              \
    } while (0)
/* So many of the pieces that wait. */
#define END_PIECES(n)                                                 \
    do {                                                              \
        for (uint32_t i = 0; i < (n) && ended < PIECES; i++, ended++) \
            if (o.whole)                                              \
                end_next(f, &ends, o.kind);                           \
            else                                                      \
                end_piece(f, w, ended);                               \
    } while (0)

/* In the first step of k each tile is stored right before it is loaded again: its sums are finished by then, and the unit
 * does not wait for them. Each tile of sums starts with what belongs to its channels. */
static inline __attribute__((always_inline)) void multiply(struct squares *f, const struct square *q, const struct form o)
{
    const struct waiting *const w = q->ended;
    struct ends ends;
    if (o.whole)
        ends = ends_of(f, w, o.kind);
    const uint64_t step = f->x_step, second = f->second, block = f->block, k = f->step, w_step = k * CONV_BLOCK;
    const bool two_x = PLANES == 2 || o.whole || q->two_x, two_blocks = o.whole || q->two_blocks,
               s0 = o.kind == END_ANY && f->sx, s1 = PLANES == 1 && s0; /* low bytes have no sign */
    const int32_t *const base0 = q->base[0], *const base1 = q->base[1];
    int32_t *const held = q->held;
    const uint8_t *x = q->x + f->tap_x[0], *w0 = q->w;
    uint32_t ended = 0;
    STORE_HELD(0, 0);
    START_FIRST(0, base0);
    LOAD_WEIGHTS(6, w0);
    TILE_LOAD(4, x, step);
    MULTIPLY(s0, 0, 4, 6);
    END_PIECES(o.first);
    STORE_HELD(1, TILE);
    if (two_blocks) {
        START_FIRST(1, base0 + TILE);
        LOAD_WEIGHTS(7, w0 + block);
        MULTIPLY(s0, 1, 4, 7);
    }
    END_PIECES(o.first);
    if (two_x) {
        STORE_HELD(2, TILE * SIDE);
        TILE_LOAD(2, base1, 0);
        TILE_LOAD(5, x + second, step);
        MULTIPLY(s1, 2, 5, 6);
    }
    END_PIECES(o.first);
    if (two_x)
        STORE_HELD(3, TILE * SIDE + TILE);
    if (two_x && two_blocks) {
        TILE_LOAD(3, base1 + TILE, 0);
        MULTIPLY(s1, 3, 5, 7);
    }
    END_PIECES(o.first);
    if (o.one_step)
        return;
    for (uint32_t tap = 1, left = f->steps - 1;; left--) {
        x += k, w0 += w_step;
        if (!left) {
            if (!ROWS_APART || tap == f->taps) /* rows that are not apart are one run */
                break;
            x = q->x + f->tap_x[tap++];
            left = f->steps;
        }
        LOAD_WEIGHTS(6, w0);
        TILE_LOAD(4, x, step);
        MULTIPLY(s0, 0, 4, 6);
        if (two_blocks) {
            LOAD_WEIGHTS(7, w0 + block);
            MULTIPLY(s0, 1, 4, 7);
        }
        END_PIECES(o.pieces / 2);
        if (two_x) {
            TILE_LOAD(5, x + second, step);
            MULTIPLY(s1, 2, 5, 6);
            if (two_blocks)
                MULTIPLY(s1, 3, 5, 7);
        }
        END_PIECES(o.pieces - o.pieces / 2);
    }
    END_PIECES(PIECES);
}

/* A function per form, so that nothing is asked inside the loop. */
#define SQUARES(name, ...)                                                                      \
    static void short_##name(struct squares *f, const struct square *q)                         \
    {                                                                                           \
        multiply(f, q, (struct form){ __VA_ARGS__, .one_step = true, .first = 2 });             \
    }                                                                                           \
    static void some_##name(struct squares *f, const struct square *q)                          \
    {                                                                                           \
        multiply(f, q, (struct form){ __VA_ARGS__, .first = 1, .pieces = 2 });                  \
    }                                                                                           \
    static void passing_##name(struct squares *f, const struct square *q)                       \
    {                                                                                           \
        multiply(f, q, (struct form){ __VA_ARGS__, .first = 1, .pieces = 2, .passing = true }); \
    }                                                                                           \
    static void long_##name(struct squares *f, const struct square *q)                          \
    {                                                                                           \
        multiply(f, q, (struct form){ __VA_ARGS__, .pieces = 1, .passing = true });             \
    }
SQUARES(plain, .kind = END_PLAIN, .whole = true)
SQUARES(more, .kind = END_MORE, .whole = true)
SQUARES(terms, .kind = END_TERMS, .whole = true)
SQUARES(any, .kind = END_ANY, .whole = true)
SQUARES(odd, .kind = END_ANY)
typedef void square_fn(struct squares *, const struct square *);
static square_fn *const forms[][4] = {
    [END_PLAIN] = { short_plain, some_plain, passing_plain, long_plain },
    [END_MORE] = { short_more, some_more, passing_more, long_more },
    [END_TERMS] = { short_terms, some_terms, passing_terms, long_terms },
    [END_ANY] = { short_any, some_any, passing_any, long_any },
    [END_KINDS] = { short_odd, some_odd, passing_odd, long_odd },
};

static void choose_form(struct squares *f)
{
    const enum end_kind kind = end_kind(f);
    const bool passing = conv_slice_bytes(f->a) > STAY;
    const uint32_t steps = f->taps * f->steps;
    const uint32_t length = steps == 1 ? 0 : steps >= PIECES ? 3 : passing ? 2 : 1;
    f->at_once = steps >= PIECES;
    f->run[true] = forms[kind][length];
    f->run[false] = forms[END_KINDS][length];
}

/* ---- walk ------------------------------------------------------------------------------------------------------------- */

static void set_shape(struct squares *f, uint32_t rows)
{
    const uint32_t m0 = rows < TILE ? rows : TILE, m1 = PLANES == 2 ? m0 : rows - m0;
    if (f->shape == rows)
        return;
    let_go(f);
    struct tile_config t = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        const uint32_t m = i == 2 || i == 3 || i == 5 ? m1 : m0;
        t.rows[i] = (uint8_t)(i < 6 ? m : f->step / 4);
        t.row_bytes[i] = !t.rows[i] ? 0 : (uint16_t)(i == 4 || i == 5 ? f->step : STEP);
    }
    TILE_SHAPES(t);
    f->shape = rows;
}

/* A square is multiplied while the one before it, or the one before that, is ended; it is the one that tiles hold then. */
static inline __attribute__((always_inline)) void run_square(struct squares *f, struct square *q, const struct waiting *next)
{
    struct waiting *const held = f->held, *const waiting = f->waiting,
                          *const ended = f->at_once && !waiting->rows ? held : waiting;
    q->ended = ended;
    q->held = held->sums;
    f->run[ended->whole && (PLANES == 2 || q->two_x) && q->two_blocks](f, q);
    waiting->rows = 0;
    waiting->whole = false;
    struct waiting *const to = f->at_once ? held : waiting; /* they change places */
    int32_t *const sums = f->at_once ? f->sums[0] : other_half(f, held->sums);
    f->waiting = f->at_once ? waiting : held;
    f->held = to;
    *to = *next;
    to->sums = sums;
}

/* Some rows meet channels c0 … c1, one square after the other; `at` counts channels of the walk. */
static void run_squares(struct squares *f, uint64_t row, uint32_t rows, struct range c, uint32_t at)
{
    struct square q = { .x = f->x + (row - f->first) * f->x_step,
                        .w = f->weights + c.begin / CONV_BLOCK * f->block,
                        .base = { f->base[0] + at, f->base[PLANES - 1] + at },
                        .two_x = rows > TILE };
    struct waiting next = { .m = f->m + c.begin,
                            .to = f->out + (ROWS_APART ? 0 : row * f->out_step) + (uint64_t)c.begin * OUT_BYTES,
                            .at = f->at[f->places],
                            .term = f->a->w_offset ? f->here : NULL,
                            .rows = rows };
    const uint64_t w_step = 2 * f->block;
    for (uint32_t left = f->channels - c.begin, n = c.end - c.begin;; left -= SIDE, n -= SIDE) {
        q.two_blocks = left > TILE;
        next.whole = rows == ROWS && left >= SIDE;
        next.some = left < SIDE ? (__mmask32)((1u << left) - 1) : UINT32_MAX;
        run_square(f, &q, &next);
        if (n <= SIDE)
            break;
        q.w += w_step;
        q.base[0] += SIDE;
        q.base[1] += SIDE;
        next.m += SIDE;
        next.to += SIDE * OUT_BYTES;
    }
}

/* Rows from `row` on that are multiplied together, and where they begin: no fewer than a piece. Where all of them meet few
 * channels, some rows are rather computed twice than tiles given another shape. */
static uint32_t square_rows(const struct walk *w, uint64_t *row)
{
    const uint64_t all = w->row1 - w->row0, left = w->row1 - *row;
    uint32_t rows = left < ROWS ? (uint32_t)left : ROWS;
    if (rows < ROWS && all >= ROWS && (w->c1 - w->c0) * (ROWS - rows) < SIDE * ROWS)
        rows = ROWS;
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
    for (uint32_t i = 0; i < rows; i++) {
        f->at[f->places][i] = (x < out ? line * out + x : (line + 1) * out) * f->out_step;
        if (++x == f->width)
            x = 0, line++;
    }
}

/* What the zero point of the weights adds to the rows of a square: it times their sums, for which a tile of ones is
 * multiplied as if it were weights. */
static void sum_rows(struct squares *f, int32_t *term, const uint8_t *from, uint32_t rows)
{
    static const uint8_t ones[STEP] __attribute__((aligned(64))) = { [0 ... STEP - 1] = 1 };
    int32_t sums[SIDE * TILE] __attribute__((aligned(64)));
    const struct conv_args *a = f->a;
    const uint32_t offset = (uint32_t)a->w_offset, all = offset * (uint32_t)a->x_offset * f->taps * f->steps * f->step;
    let_go(f);
    TILE_LOAD(6, ones, 0);
    TILE_ZERO(0);
    if (rows > TILE)
        TILE_ZERO(2);
    for (uint32_t tap = 0; tap < f->taps; tap++) {
        const uint8_t *x = from + f->tap_x[tap];
        for (uint32_t i = 0; i < f->steps; i++, x += f->step) {
            TILE_LOAD(4, x, f->x_step);
            MULTIPLY(f->sx, 0, 4, 6);
            if (rows > TILE) {
                TILE_LOAD(5, x + f->second, f->x_step);
                MULTIPLY(f->sx, 2, 5, 6);
            }
        }
    }
    TILE_STORE(0, sums);
    if (rows > TILE)
        TILE_STORE(2, sums + TILE * TILE);
    for (uint32_t i = 0; i < rows; i++)
        term[i] = (int32_t)(all + offset * (uint32_t)sums[i * TILE]);
}

/* The rows from `first` on that meet all channels together. Those of a last square may begin before. */
static struct walk panel_of(const struct walk *w, uint64_t first, uint64_t rows)
{
    struct walk p = *w;
    p.row0 = first;
    p.row1 = w->row1 - first < rows ? w->row1 : first + rows;
    if (p.row1 - first < ROWS)
        square_rows(w, &p.row0);
    return p;
}

/* What belongs to rows is found with the first channels that they meet. */
static void run_panel(struct squares *f, const struct walk *p, uint32_t chunk)
{
    const uint32_t first = f->terms;
    f->terms = (uint32_t)(first + (p->row1 - p->row0 + ROWS - 1) / ROWS) %
               TERMS; /* the last squares of the panel before still wait */
    for (uint32_t c0 = p->c0; c0 < p->c1; c0 += chunk)
        for (uint64_t at = p->row0; at < p->row1; at += ROWS) {
            uint64_t row = at;
            const uint32_t rows = square_rows(p, &row);
            set_shape(f, rows);
            f->places = (f->places + 1) % PLACES;
            if (ROWS_APART)
                place_rows(f, row, rows);
            int32_t *const term = f->term[(first + (at - p->row0) / ROWS) % TERMS];
            f->here = term;
            if (PLANES == 1 && f->a->w_offset && c0 == p->c0)
                sum_rows(f, term, f->x + (row - f->first) * f->x_step, rows);
            run_squares(f, row, rows, (struct range){ c0, p->c1 - c0 < chunk ? p->c1 : c0 + chunk }, c0 - p->c0);
        }
}

/* Some rows meet all channels, one square after the other. Weights from far away come once for more rows, so many channels
 * at a time that shapes do not change for each square. */
static void run_walk(struct squares *f, const struct walk *w)
{
    const bool is_far = conv_slice_bytes(f->a) > CONV_FAR;
    const uint64_t fits = FAR_ROWS / ((uint64_t)f->step * f->steps * PLANES) / ROWS * ROWS, most = TERM_SQUARES * ROWS,
                   room = f->a->w_offset && fits > most ? most : fits, some = is_far && room > ROWS ? room : ROWS,
                   panel = f->brought && f->brought_rows < some ? f->brought_rows : some;
    for (uint64_t first = w->row0; first < w->row1; first += panel) {
        const struct walk p = panel_of(w, first, panel);
        if (!ROWS_APART && f->brought)
            bring_rows(f, p.row0, p.row1);
        run_panel(f, &p, is_far ? FAR_CHANNELS : CHANNELS);
    }
}

/* Rows of a walk meet the channels of a part. */
static inline void run_columns(struct squares *f, const struct conv_part *p, uint64_t row0, uint64_t row1)
{
    const struct conv_args *a = f->a;
    const uint32_t first = p->chunk0 * CONV_CHUNK, all = p->chunk1 * CONV_CHUNK, last = all < a->cog ? all : a->cog;
    const int64_t *b = conv_b(a, a->head, a->npad), *wsum = conv_wsum(a, a->head, a->npad);
    struct walk w = { .row0 = row0, .row1 = row1 };
    for (w.c0 = first; w.c0 < last; w.c0 = w.c1) {
        w.c1 = last - w.c0 < CHANNELS ? last : w.c0 + CHANNELS;
        for (uint32_t c = w.c0; c < w.c1; c++) /* unsigned: a damaged file may hold any number */
            end_base(f, c - w.c0, (int64_t)((uint64_t)b[c] + (uint64_t)(int64_t)a->x_offset * (uint64_t)wsum[c]));
        run_walk(f, &w);
    }
}

/* Rows of x in steps of so many k. */
static void squares_init(struct squares *f, const struct kernel_call *call, uint32_t step)
{
    static const uint64_t here = 0;
    const struct conv_args *a = call->args;
    f->a = a;
    f->x = call->data[0];
    f->first = 0;
    f->brought = NULL;
    f->weights = a->packed;
    f->m = a->head ? conv_m(a->head) : NULL;
    f->channels = a->cog;
    f->out = call->data[a->n_in];
    f->out_step = (uint64_t)a->co * OUT_BYTES;
    f->taps = 1;
    f->tap_x = &here;
    f->width = 0;
    f->block = conv_block_bytes(a);
    f->step = step;
    f->steps = a->cig / step;
    f->sx = a->x_type == DT_SQ8 || a->x_type == DT_SQ16;
    f->shape = 0;
    f->places = 0;
    f->terms = 0;
    f->either[0] = (struct waiting){ .sums = f->sums[0] };
    f->either[1] = (struct waiting){ .sums = f->sums[1] };
    f->held = &f->either[0];
    f->waiting = &f->either[1];
    end_init(f);
}

/* From row to row, and from the first x to the second. */
static void squares_steps(struct squares *f, uint64_t row, uint64_t second)
{
    f->x_step = row;
    f->second = second;
}

static void squares_end(struct squares *f)
{
    let_go(f);
    end_waiting(f);
    TILE_RELEASE();
}

#endif
