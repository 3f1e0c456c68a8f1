/* SPDX-License-Identifier: Apache-2.0 */
/* What a walk in squares (conv_squares.h) knows. The ends of sums (conv_squares_bytes.h, conv_squares_words.h) come with
 * struct squares_end and with what a square is to them, then include this. Say before whether rows go to places of their own
 * (ROWS_APART). */
#ifndef KERNELS_CONV_CONV_SQUARES_STATE_H
#define KERNELS_CONV_CONV_SQUARES_STATE_H

#include "kernels/conv/conv_tiles.h"

enum {
    SIDE = 2 * TILE, /* rows of sums, and channels, of a square */
    PIECES = ROWS / PIECE,
    PLACES = 3,
    CHANNELS = 4096,               /* that are walked together */
    STAY = 24 << 10,               /* bytes of weights that stay in the first-level cache */
    FAR_ROWS = 1 << 20,            /* bytes of rows that weights from far away meet together */
    FAR_CHANNELS = 128,            /* channels of such weights that do so */
    TERM_SQUARES = 32,             /* squares of rows that meet them together where rows have terms */
    TERMS = TERM_SQUARES + PLACES, /* and of squares before them that still wait */
};

/* A square whose sums wait for their end. */
struct waiting {
    int32_t *sums;
    const float *m;
    uint8_t *to;
    const uint64_t *at;  /* ROWS_APART: bytes from there to each row */
    const int32_t *term; /* what the zero point of the weights adds to each row; NULL: nothing */
    uint32_t rows;       /* 0: there is none */
    __mmask32 some;      /* channels that there are */
    bool whole;          /* all rows and channels of a square */
};

/* A square to be multiplied. */
struct square {
    const struct waiting *ended; /* meanwhile */
    int32_t *held;               /* where the sums that tiles hold are stored */
    const uint8_t *x, *w;
    const int32_t *base[2]; /* what the sums of the first and of the second x begin with */
    bool two_x, two_blocks;
};

/* Rows row0 … row1 of channels c0 … c1. */
struct walk {
    uint64_t row0, row1;
    uint32_t c0, c1;
};

struct squares {
    const struct conv_args *a;
    const uint8_t *x; /* row `first` */
    uint64_t first;
    const uint8_t *weights; /* packed, from the walk's channel 0 on */
    const float *m;         /* multipliers of the same channels */
    uint32_t channels;
    uint8_t *out;
    uint64_t x_step, out_step; /* from row to row */
    uint64_t second;           /* from the first x to the second */
    uint32_t taps;
    const uint64_t *tap_x; /* bytes from a row to what each tap is multiplied with */
    uint32_t width;        /* ROWS_APART: rows of a line, of which only some go somewhere */
    uint64_t block;        /* bytes of a block of weights */
    uint32_t step, steps;  /* k of a tile, tiles of a tap */
    bool sx;
    struct squares_end end;
    uint32_t shape;                                            /* rows that the tiles have now */
    void (*run[2])(struct squares *f, const struct square *q); /* [1]: where a whole square waits */
    struct waiting *held;     /* sums that are still in the tiles, and where they will be stored */
    struct waiting *waiting;  /* sums that are stored */
    struct waiting either[2]; /* these two: they change places, since a copy would be read before it is written */
    bool at_once;           /* sums are ended by the square that stores them: long rows want the cache for themselves */
    uint32_t places;        /* which of `at` is used */
    uint32_t terms;         /* which of `term` the first square of a panel uses */
    const int32_t *here;    /* terms of the square's rows */
    const uint8_t *given;   /* x as it is */
    uint8_t *brought;       /* where rows come to, so many at a time (conv_squares_rows.h); NULL: they stay where they are */
    uint64_t brought_rows;
    uint64_t at[PLACES][SIDE];  /* of the rows of a square, of the one in the tiles and of the one that waits */
    int32_t term[TERMS][SIDE];  /* what the zero point of the weights adds to rows, for all squares of a panel */
    int32_t sums[2][SIDE * SIDE] __attribute__((aligned(64)));
    int32_t base[PLANES][CHANNELS] __attribute__((aligned(64)));
};

/* What is known of a square where its loop is compiled. */
struct form {
    enum end_kind kind;
    bool whole;      /* all of its rows and 32 channels wait */
    bool one_step;   /* of k */
    uint32_t first;  /* pieces ended behind each tile of the first step */
    uint32_t pieces; /* ended in each other step */
    bool passing;    /* weights go by: they must not push out the rows */
};

/* Where a row of the square that waits goes: `step` from row to row, or `at` from `to`. */
static inline __attribute__((always_inline)) uint8_t *place_of(uint8_t *to, const uint64_t *at, uint64_t step, uint32_t row)
{
    if (!ROWS_APART)
        return to + row * step;
    to += at[row];
    __asm__("" : "+r"(to)); /* addresses are no work for vectors */
    return to;
}

#endif
