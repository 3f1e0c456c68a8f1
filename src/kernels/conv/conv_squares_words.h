/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of squares of 16-bit elements (conv_squares.h): x = 256 * high + low, and each byte is multiplied on its own, so
 * that a square is 16 rows by 32 channels, sums of high bytes first, and is ended two rows at a time. conv_words_suit
 * (conv_flat.h) says when sums and steps of the output stay as small as this needs. Include vec_avx512.h first. */
#ifndef KERNELS_CONV_CONV_SQUARES_WORDS_H
#define KERNELS_CONV_CONV_SQUARES_WORDS_H

#include "kernels/conv/conv_flat.h"
#include "kernels/conv/conv_tiles.h"

enum {
    PLANES = 2,  /* of x: the second x are the low bytes */
    ROWS = TILE, /* of a square */
    PIECE = 2,   /* rows */
    OUT_BYTES = 2,
    LOW_BITS = 12, /* of a long sum */
};

/* What is known of an end where the loop is compiled. */
enum end_kind {
    END_PLAIN, /* unsigned, the range of the type, sums of 32 bits */
    END_MORE,  /* the same with longer sums */
    END_TERMS, /* of bytes only */
    END_ANY,
    END_KINDS
};

struct squares_end {
    vi offset, lo, hi;       /* of the output: in 32, 16 and 16 bits */
    bool is_signed, limited; /* the output; its range is not that of the type */
    bool is_long;            /* sums do not fit 32 bits */
};

#include "kernels/conv/conv_squares_state.h"

static void end_init(struct squares *f)
{
    const struct conv_args *a = f->a;
    struct squares_end *e = &f->end;
    e->offset = vi_set1(a->out_offset);
    e->lo = _mm512_set1_epi16((short)a->q_lo);
    e->hi = _mm512_set1_epi16((short)a->q_hi);
    e->is_signed = a->out_type == DT_SQ16;
    e->limited = a->q_lo > dtype_min(a->out_type) || a->q_hi < dtype_max(a->out_type);
    e->is_long = conv_words_long(a);
}

static enum end_kind end_kind(const struct squares *f)
{
    const struct squares_end *e = &f->end;
    return f->sx || e->is_signed || e->limited ? END_ANY : e->is_long ? END_MORE : END_PLAIN;
}

/* What belongs to channel c. */
static void end_base(struct squares *f, uint32_t at, int64_t base)
{
    const bool is_long = f->end.is_long;
    f->base[0][at] = is_long ? (int32_t)(base >> 8) : 0;
    f->base[1][at] = is_long ? (int32_t)(base & 255) : (int32_t)(uint32_t)(uint64_t)base;
}

/* 16 sums as floats, rounded once. A long one is 4096 times its upper bits, which are few enough to become a float as they
 * are, plus the rest: only their sum is rounded. */
static inline __attribute__((always_inline)) vf real_sums(const bool is_long, vi high, vi low)
{
    const vi all = vi_add(_mm512_slli_epi32(high, 8), low);
    if (!is_long)
        return vf_from_int(all);
    const vi upper = _mm512_srai_epi32(vi_add(high, vi_shift8(low)), LOW_BITS - 8);
    return vf_fma(vf_from_int(upper), vf_set1(1 << LOW_BITS), vf_from_int(vi_and(all, vi_set1((1 << LOW_BITS) - 1))));
}

/* 16 channels of a row, whose sums of high bytes are `sums`, in 32 bits. */
static inline __attribute__((always_inline)) vi steps_of(const struct squares *f, const enum end_kind kind,
                                                         const int32_t *sums, vf m)
{
    const bool is_long = kind == END_MORE || (kind == END_ANY && f->end.is_long);
    const vf v = real_sums(is_long, vi_load(sums), vi_load(sums + TILE * SIDE));
    return vi_sub(vi_round(vf_mul(v, m)), f->end.offset);
}

/* Two vectors of steps as one of the output, clamped: narrowing saturates. */
static inline __attribute__((always_inline)) vi narrow(const struct squares *f, const enum end_kind kind, vi a, vi b)
{
    const struct squares_end *e = &f->end;
    const vi order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    vi q = kind == END_ANY && e->is_signed ? _mm512_packs_epi32(a, b) : _mm512_packus_epi32(a, b);
    if (kind == END_ANY && e->limited)
        q = e->is_signed ? _mm512_min_epi16(_mm512_max_epi16(q, e->lo), e->hi)
                         : _mm512_min_epu16(_mm512_max_epu16(q, e->lo), e->hi);
    return _mm512_permutexvar_epi64(order, q);
}

/* What is left of a whole square that waits. It is kept in registers: what is in memory is read again behind every tile. */
struct ends {
    const int32_t *sums;
    uint8_t *to;
    const uint64_t *at;
    uint64_t step;
    vf m[2];
};

static inline __attribute__((always_inline)) struct ends ends_of(const struct squares *f, const struct waiting *w,
                                                                 const enum end_kind kind)
{
    (void)kind;
    return (struct ends){ w->sums, w->to, w->at, f->out_step, { vf_load(w->m), vf_load(w->m + TILE) } };
}

/* The next piece of a whole square. */
static inline __attribute__((always_inline)) void end_next(const struct squares *f, struct ends *e, const enum end_kind kind)
{
    for (uint32_t r = 0; r < PIECE; r++) {
        const int32_t *sums = e->sums + r * SIDE;
        _mm512_storeu_si512(place_of(e->to, e->at, e->step, r),
                            narrow(f, kind, steps_of(f, kind, sums, e->m[0]), steps_of(f, kind, sums + TILE, e->m[1])));
    }
    e->sums += PIECE * SIDE;
    if (ROWS_APART)
        e->at += PIECE;
    else
        e->to += PIECE * e->step;
}

/* A row of a square with one block: there are no sums beside it. */
static __attribute__((noinline)) void end_one_block(const struct squares *f, const struct waiting *w, uint32_t row)
{
    const vi v = steps_of(f, END_ANY, w->sums + row * SIDE, vf_load(w->m));
    _mm256_mask_storeu_epi16(place_of(w->to, w->at, f->out_step, row), (__mmask16)w->some,
                             _mm512_castsi512_si256(narrow(f, END_ANY, v, v)));
}

/* Piece i of any square that waits. */
static inline __attribute__((always_inline)) void end_piece(const struct squares *f, const struct waiting *w, uint32_t i)
{
    uint32_t row = i * PIECE;
    if (row >= w->rows)
        return;
    row = row + PIECE <= w->rows ? row : w->rows - PIECE;
    for (uint32_t r = row; r < row + PIECE; r++) {
        if (w->some <= UINT16_MAX) {
            end_one_block(f, w, r);
            continue;
        }
        const int32_t *sums = w->sums + r * SIDE;
        const vi q = narrow(f, END_ANY, steps_of(f, END_ANY, sums, vf_load(w->m)),
                            steps_of(f, END_ANY, sums + TILE, vf_load(w->m + TILE)));
        _mm512_mask_storeu_epi16(place_of(w->to, w->at, f->out_step, r), w->some, q);
    }
}

#endif
