/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of squares of bytes (conv_squares.h): 32 rows by 32 channels, four rows at a time. Include vec_avx512.h first. */
#ifndef KERNELS_CONV_CONV_SQUARES_BYTES_H
#define KERNELS_CONV_CONV_SQUARES_BYTES_H

#include "kernels/conv/conv_bytes_avx512.h"
#include "kernels/conv/conv_tiles.h"

enum {
    PLANES = 1,      /* of x; with one the second x are the next 16 rows */
    ROWS = 2 * TILE, /* of a square */
    PIECE = 4,       /* rows */
    OUT_BYTES = 1,
};

/* What is known of an end where the loop is compiled. */
enum end_kind {
    END_PLAIN, /* unsigned, offset 0, the range of the type; lifted (conv_lift.c) */
    END_MORE,  /* unsigned, any offset, the range of the type; not lifted */
    END_TERMS, /* the same where rows have terms */
    END_ANY,
    END_KINDS
};

struct squares_end {
    struct bytes_end bytes;
};

#include "kernels/conv/conv_squares_state.h"

static void end_init(struct squares *f)
{
    f->end.bytes = bytes_end(f->a);
}

static enum end_kind end_kind(const struct squares *f)
{
    const struct bytes_end *e = &f->end.bytes;
    if (f->sx || e->is_signed || e->limited || (e->moved && f->a->lifted))
        return END_ANY;
    return f->a->lifted ? (f->a->w_offset ? END_ANY : END_PLAIN) : f->a->w_offset ? END_TERMS : END_MORE;
}

/* What belongs to channel c. */
static void end_base(struct squares *f, uint32_t at, int64_t base)
{
    f->base[0][at] = (int32_t)((uint32_t)(uint64_t)base + (f->a->lifted ? CONV_LIFT_BITS : 0));
}

/* `term`: of the first row; NULL: there is none. */
static inline __attribute__((always_inline)) vi steps_of(const int32_t *sums, const int32_t *term, uint32_t row, vf m,
                                                         vf lift, const bool lifted)
{
    vi sum = vi_load(sums + row * SIDE);
    if (term)
        sum = vi_add(sum, vi_set1(term[row]));
    return lifted ? bytes_lifted(sum, m, lift) : bytes_steps(sum, m);
}

/* Four rows of a block. */
static inline __attribute__((always_inline)) vi four_rows(const struct squares *f, const enum end_kind kind,
                                                          const int32_t *sums, const int32_t *term, vf m, vf lift)
{
    const bool lifted = kind == END_ANY ? f->a->lifted : kind == END_PLAIN;
    const vi v0 = steps_of(sums, term, 0, m, lift, lifted), v1 = steps_of(sums, term, 1, m, lift, lifted),
             v2 = steps_of(sums, term, 2, m, lift, lifted), v3 = steps_of(sums, term, 3, m, lift, lifted);
    if (kind == END_ANY)
        return bytes_narrow(&f->end.bytes, v0, v1, v2, v3);
    vi a = _mm512_packs_epi32(v0, v1), b = _mm512_packs_epi32(v2, v3);
    if (kind != END_PLAIN) {
        a = _mm512_subs_epi16(a, f->end.bytes.offset);
        b = _mm512_subs_epi16(b, f->end.bytes.offset);
    }
    return _mm512_packus_epi16(a, b);
}

/* Those of rows from `row` on. */
static inline __attribute__((always_inline)) const int32_t *terms_of(const struct waiting *w, const enum end_kind kind,
                                                                     uint32_t row)
{
    return kind == END_TERMS || (kind == END_ANY && w->term) ? w->term + row : NULL;
}

/* Two blocks of four rows, as pairs of rows. */
struct rows_of_bytes {
    vi r01, r23;
};

static inline __attribute__((always_inline)) struct rows_of_bytes side_by_side(vi a, vi b)
{
    const vi low = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const vi high = _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
    return (struct rows_of_bytes){ _mm512_permutex2var_epi32(a, low, b), _mm512_permutex2var_epi32(a, high, b) };
}

/* What is left of a whole square that waits. It is kept in registers: what is in memory is read again behind every tile. */
struct ends {
    const int32_t *sums, *term;
    uint8_t *to;
    const uint64_t *at;
    uint64_t step;
    vf m[2], lift[2];
};

static inline __attribute__((always_inline)) struct ends ends_of(const struct squares *f, const struct waiting *w,
                                                                 const enum end_kind kind)
{
    const vf m0 = vf_load(w->m), m1 = vf_load(w->m + TILE);
    return (struct ends){
        w->sums, terms_of(w, kind, 0), w->to, w->at, f->out_step, { m0, m1 }, { bytes_lift(m0), bytes_lift(m1) }
    };
}

/* The next piece of a whole square. */
static inline __attribute__((always_inline)) void end_next(const struct squares *f, struct ends *e, const enum end_kind kind)
{
    const struct rows_of_bytes r = side_by_side(four_rows(f, kind, e->sums, e->term, e->m[0], e->lift[0]),
                                                four_rows(f, kind, e->sums + TILE, e->term, e->m[1], e->lift[1]));
    _mm256_storeu_si256((__m256i *)place_of(e->to, e->at, e->step, 0), _mm512_castsi512_si256(r.r01));
    _mm256_storeu_si256((__m256i *)place_of(e->to, e->at, e->step, 1), _mm512_extracti64x4_epi64(r.r01, 1));
    _mm256_storeu_si256((__m256i *)place_of(e->to, e->at, e->step, 2), _mm512_castsi512_si256(r.r23));
    _mm256_storeu_si256((__m256i *)place_of(e->to, e->at, e->step, 3), _mm512_extracti64x4_epi64(r.r23, 1));
    e->sums += PIECE * SIDE;
    if (ROWS_APART)
        e->at += PIECE;
    else
        e->to += PIECE * e->step;
    if (e->term)
        e->term += PIECE;
}

/* Four rows of a square with one block: there are no sums beside it, and whatever is there might be slow to multiply. */
static __attribute__((noinline)) void end_one_block(const struct squares *f, const struct waiting *w, uint32_t row)
{
    const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __mmask16 some = (__mmask16)w->some;
    const vf m = vf_load(w->m);
    const vi v = _mm512_permutexvar_epi32(
        order, four_rows(f, END_ANY, w->sums + row * SIDE, terms_of(w, END_ANY, row), m, bytes_lift(m)));
    _mm_mask_storeu_epi8(place_of(w->to, w->at, f->out_step, row), some, _mm512_castsi512_si128(v));
    _mm_mask_storeu_epi8(place_of(w->to, w->at, f->out_step, row + 1), some, _mm512_extracti32x4_epi32(v, 1));
    _mm_mask_storeu_epi8(place_of(w->to, w->at, f->out_step, row + 2), some, _mm512_extracti32x4_epi32(v, 2));
    _mm_mask_storeu_epi8(place_of(w->to, w->at, f->out_step, row + 3), some, _mm512_extracti32x4_epi32(v, 3));
}

/* Piece i of any square that waits. */
static inline __attribute__((always_inline)) void end_piece(const struct squares *f, const struct waiting *w, uint32_t i)
{
    uint32_t row = i * PIECE;
    if (row >= w->rows)
        return;
    row = row + PIECE <= w->rows ? row : w->rows - PIECE;
    if (w->some <= UINT16_MAX) {
        end_one_block(f, w, row);
        return;
    }
    const int32_t *sums = w->sums + row * SIDE, *term = terms_of(w, END_ANY, row);
    const vf m0 = vf_load(w->m), m1 = vf_load(w->m + TILE);
    const struct rows_of_bytes r = side_by_side(four_rows(f, END_ANY, sums, term, m0, bytes_lift(m0)),
                                                four_rows(f, END_ANY, sums + TILE, term, m1, bytes_lift(m1)));
    const uint64_t step = f->out_step;
    _mm256_mask_storeu_epi8(place_of(w->to, w->at, step, row), w->some, _mm512_castsi512_si256(r.r01));
    _mm256_mask_storeu_epi8(place_of(w->to, w->at, step, row + 1), w->some, _mm512_extracti64x4_epi64(r.r01, 1));
    _mm256_mask_storeu_epi8(place_of(w->to, w->at, step, row + 2), w->some, _mm512_castsi512_si256(r.r23));
    _mm256_mask_storeu_epi8(place_of(w->to, w->at, step, row + 3), w->some, _mm512_extracti64x4_epi64(r.r23, 1));
}

#endif
