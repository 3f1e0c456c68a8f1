/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a walk over rows and chunks, shared by conv_drive.c and conv_gather.c. Private to conv/. */
#ifndef KERNELS_CONV_CONV_WALK_H
#define KERNELS_CONV_CONV_WALK_H

#include "kernels/conv/conv.h"

enum { CONV_BAND_TAPS = CONV_TOGETHER_TAPS };

/* Taps first, first + step, … of one axis. */
struct conv_taps {
    uint32_t first, step, n;
};

/* Parts (conv_parts.c), and f16 that is made f32 before it is multiplied: where, and how much of x there is room for. */
struct conv_wide {
    bool on;                 /* there are enough rows for parts, and room */
    bool x;                  /* x is made f32, and read as if it had been */
    float *weights;          /* of a part; NULL: those that are stored are multiplied */
    float *sums;
    float *x_at;
    uint64_t x_room, sum_rows; /* elements of x; rows whose sums there is room for */
    uint32_t part;             /* k of a part */
    uint64_t first, n;         /* elements of x that are there */
};

struct conv_walk {
    const struct conv_args *a;
    const struct conv_engine *e;
    void *const *data;
    void *out;
    const char *x;                  /* the first input, or what was made of it (conv_parts.c) */
    char *rows;                     /* gathered rows */
    uint64_t stride;                /* bytes from one of them to the next */
    uint32_t panel_rows;
    bool skip;                      /* padding is skipped */
    bool in_place;
    bool flat;                      /* rows follow each other in x and in the output: matrices, and windows of one pixel */
    uint32_t first;                 /* flat: the panel's first row */
    bool lines;                     /* windows inside the image are whole lines of x (conv_gather.c) */
    uint32_t band_lines;            /* output lines of a band (conv_bands.c); 0: rows are gathered */
    uint64_t seg_x[CONV_BAND_TAPS];
    bool placed;                    /* windows are read where they lie in x (conv_place.c) */
    bool together;                  /* rows are gathered for all slices at once, as those of `all` */
    struct conv_args all;           /* the same convolution as if it had no groups */
    uint32_t chunk0, chunk1;
    bool one_chunk;                 /* it is `made`: packed while running, or a part of one (conv_parts.c) */
    struct conv_chunk made;
    struct conv_wide wide;
    struct conv_taps tz, ty, tx;    /* class of the panel */
    struct conv_panel p;
};

/* From the first tap of an axis to the last one, in steps of its stride. A client may choose any dilation: only after
 * conv_band_lines is this known to be small. */
static inline uint64_t conv_band_reach(const struct conv_axis *v)
{
    return (uint64_t)(v->kernel - 1) * v->dilation / v->stride;
}

/* Positions that a stride keeps apart are apart in the band: with a stride of 2 the even and the odd ones. */
static inline uint32_t conv_band_phases(const struct conv_axis *v)
{
    return v->stride < v->kernel ? v->stride : v->kernel;
}

/* Pixels of a line of a band: as many as the windows of one output line touch. */
static inline uint64_t conv_band_width(const struct conv_args *a)
{
    return a->x.out + conv_band_reach(&a->x);
}

/* conv_drive.c: the rows of the panel meet all chunks. */
void conv_flush(struct conv_walk *w);

/* conv_bands.c: output lines of a band whose engine takes steps of so many channels, 0 where bands do not suit; walk over
 * lines of planes * output height. conv_phase_lines: the same for bands with phases. */
uint32_t conv_band_lines(const struct conv_args *a, uint32_t step, uint32_t planes);
uint32_t conv_phase_lines(const struct conv_args *a, uint32_t step, uint32_t planes);
void conv_walk_bands(struct conv_walk *w, uint32_t line0, uint32_t line1);

/* conv_place.c: whether windows can be read where they lie; segments of the walk's class; rows of the panel. */
bool conv_placed(const struct conv_walk *w);
void conv_place_segments(struct conv_walk *w);
void conv_place_rows(struct conv_walk *w, uint32_t slice);

/* conv_drive.c: rows of row units [r0, r1) meet the chunks from chunk0 to chunk1; weights of chunk i, which are packed for
 * it if they are no constants. */
void conv_walk_rows(struct conv_walk *w, uint32_t r0, uint32_t r1);
void conv_find_chunk(struct conv_walk *w, uint32_t i);

/* conv_parts.c: decide what is made f32 first, which gives other args; whether rows meet the weights part by part; do so. */
const struct conv_args *conv_plan_parts(struct conv_walk *w, struct conv_args *own);
bool conv_by_parts(const struct conv_walk *w);
void conv_run_parts(struct conv_walk *w, struct range chunks, struct range units);

/* conv_gather.c */
struct conv_taps conv_taps_of(const struct conv_walk *w, const struct conv_axis *v, uint32_t o);
/* Which matrix of an operand belongs to a slice. */
uint64_t conv_matrix_of(const struct conv_args *a, const uint64_t *strides, uint32_t slice);
/* Bring the rows of the panel into the engine's form, and find where their outputs go. */
void conv_gather(struct conv_walk *w, uint32_t slice);
/* Rows that were gathered together: from one slice to one behind it. */
void conv_gather_next(struct conv_walk *w, uint32_t slices);

#endif
