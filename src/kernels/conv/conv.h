/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products: Conv, TransposeConv, FullyConnected and MatMul as one matrix product, DepthWiseConv beside them.
 *
 *     out[row, c] = end(bias[c] + sum over k of x[row, k] * w[k, c])
 *
 * A row is an output pixel (or a matrix row); k runs over kernel depth, height, width, input channel. A slice is what shares
 * no weights with its neighbours: a group of a convolution, a batch of a MatMul. A chunk is up to 64 output channels of one
 * slice. The driver (conv_drive.c) walks rows and chunks, gathers up to CONV_ROWS rows of x at a time into the workspace, in
 * the form that an instruction set wants, and calls the engine's block function for each chunk.
 *
 * Constants (the same for every CPU):
 *   aux[0]  packed weights. Per slice, blocks of 16 output channels, a block contiguous:  [slice][block][k / kg][16][kg]
 *           class   element  kg
 *           Q8      s8       4
 *           Q16     s8       4       2 with block scales
 *           Q16W16  s16      2
 *           F32     f32      1
 *           F16     f16      1
 *           k is padded with zero weights to a multiple of kg, channels to a multiple of 16; TransposeConv pads each tap's
 *           channels to kg, so any subset of taps can be addressed. Stored is w + shift, so that it fits the element; what
 *           is left of the encoding's offset is in the channel record. 2- and 4-bit weights are widened. Weights with block
 *           scales or a mapping are stored as the effective integers of docs/numerics.md section 3, in the class that holds
 *           them. Depthwise: [tap][channel], channels padded to a multiple of 16, elements as above.
 *   aux[1]  struct conv_head, then arrays over N = slices * padded channels:
 *           float m[n_m][N]           multiplier m_c of docs/numerics.md section 3; float classes: the bias, -0 where there
 *                                     is none. Block encodings: a row per run of k, then a row per run for its offsets
 *                                     (float blocks), then the bias.
 *           int64_t b[N]              bias in units of the accumulator
 *           int64_t wsum[n_sums][N]   sums of stored weights over all k; TransposeConv: over the channels of one tap, a row
 *                                     per tap; block encodings: over a run, a row per run */
#ifndef KERNELS_CONV_CONV_H
#define KERNELS_CONV_CONV_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/encoding.h"
#include "kernels/kernels.h"

enum conv_class { CONV_Q8, CONV_Q16, CONV_Q16W16, CONV_F32, CONV_F16, CONV_CLASSES };
enum conv_kind { CONV_WINDOW, CONV_TRANSPOSED, CONV_MATRIX, CONV_DEPTHWISE };

enum {
    CONV_BLOCK = 16,                /* channels of a packed block */
    CONV_CHUNK = 64,                /* channels of a chunk */
    CONV_ROWS = 64,                 /* rows of a panel, at most */
    CONV_MR = 6,                    /* rows that vector engines compute at a time */
    CONV_VECTOR_ROWS = 8 * CONV_MR, /* rows of a vector engine's panel */
    CONV_LONG = 192,                /* bytes of a row: 64 longer ones and their weights are more than a first-level cache */
    CONV_NEAR = 768 << 10,   /* bytes of weights that stay in a second-level cache beside the rows of a panel */
    CONV_PART = 1152,        /* k of a part of the weights (conv_parts.c) */
    CONV_WIDE_X = 512 << 10, /* bytes of x as f32, beside one of them and its sums */
    CONV_WIDE_SUMS = 128 << 10,
    CONV_STRIP = 16,         /* k of a tile between two requests for weights */
    CONV_LINE = 64,          /* bytes of a cache line */
    CONV_FAR = 1536 << 10,   /* bytes of weights that come from further away than a second-level cache: better once than once
                                for each of two panels */
    CONV_TOGETHER_TAPS = 64, /* of groups that are gathered together */
    CONV_BATCH_DIMS = MAX_RANK - 2,
};

/* Inputs of products of bytes behind x and the weights. */
enum { CONV_IN_ZERO = 2, CONV_IN_WHOLE, CONV_IN_SCALE, CONV_IN_BIAS };

/* One spatial axis. */
struct conv_axis {
    uint32_t in, out, kernel, stride, dilation, pad;
};

/* What a product of bytes gets while running (BytesConv2d, BytesMatMul); NULL: absent. */
struct conv_whole {
    const int32_t *sum;        /* per channel: added to the sum */
    const float *scale, *bias; /* then the float of it is multiplied, then added to */
    bool scales;               /* scale: one per channel */
};

struct conv_head {
    int64_t bound;     /* no sum of products without bias is larger in magnitude */
    uint32_t plain;    /* bias and multipliers are ordinary: see struct conv_chunk */
    uint32_t reserved[13];
};

struct conv_args {
    enum conv_class cls;
    enum conv_kind kind;
    struct conv_axis z, y, x;       /* depth, height, width; those that an operator does not have are 1 */
    uint32_t batch, n_in;
    uint32_t ci, co;                /* channels of an input and an output pixel */
    uint32_t slices, cig, cog;      /* per slice: input channels of a tap, output channels */
    uint32_t npad;                  /* cog rounded up to whole blocks */
    uint32_t taps, tap_stride;      /* k = tap * tap_stride + channel */
    uint32_t kg, kpad;              /* group size; k of all taps, padded */
    uint32_t wsize;                 /* bytes of a stored weight */
    uint32_t n_sums;                /* rows of wsum */
    uint32_t n_m;                   /* rows of m */
    uint32_t multiplier;            /* depthwise: outputs per input channel */

    /* Matrices: element strides of x, and how slices map to matrices. */
    uint32_t rows;
    uint64_t x_row, x_k;
    uint32_t n_batch, batch_dims[CONV_BATCH_DIMS];
    uint64_t x_batch[CONV_BATCH_DIMS], w_batch[CONV_BATCH_DIMS]; /* matrices per step, 0 where broadcast */
    uint32_t w_slices;              /* slices that weights have: as slices, or fewer where they are broadcast */

    /* Where weights lie before packing:
     * element = slice * w_slice + tap * w_tap + channel_in * w_in + channel_out * w_out. */
    uint64_t w_slice, w_tap, w_in, w_out;
    enum dtype x_type, w_type, b_type, out_type;
    struct encoding w_enc;          /* of the weights as the client has them; dim_in is the input channel */
    struct quant bq;                /* arrays belong to the descriptors */
    bool effective;                 /* stored are effective integers (conv_weight.c) */
    bool dequantized;               /* fixed-point weights of a float sum: stored as f32 */
    bool mixed;                     /* fixed-point activations in a float sum: dequantized, and the result quantized */
    bool blocks; /* the sum is made of runs of k, each with a multiplier of its own: Q_BLOCK, Q_FLOAT_BLOCK */
    uint32_t run, n_runs;           /* blocks: input channels of a run; runs of all taps */
    int64_t w_max;                  /* no stored weight is larger in magnitude */
    int32_t w_shift, w_offset;      /* stored = w + shift; w + encoding's offset = stored + w_offset */
    int32_t x_offset, out_offset;
    double x_scale, out_scale;
    int64_t q_lo, q_hi;             /* output range under the fused clamp */
    float f_lo, f_hi;
    bool has_bias, padded;          /* padded: some tap of some row falls outside the input */
    int64_t bound;                  /* no sum of products without bias is larger in magnitude */
    bool narrow;                    /* sums of products without bias fit 32 bits */
    bool lifted;                    /* sums may start with CONV_LIFT_BITS: conv_lift.c */
    bool direct;                    /* rows lie in x as they are needed, k in one run */

    bool bytes;              /* x has a zero point that is known while running, the result is f32 */
    struct conv_whole whole; /* then, of this run */

    /* Constants, or NULL: weights are packed while running. */
    const void *packed;
    const struct conv_head *head;

    /* How work is cut: unit = column unit * row_units + row unit, or by rows: unit = row unit * col_units + column unit. */
    uint32_t unit_rows, row_units, col_units, chunks, slice_chunks;
    bool by_rows;
    uint32_t panel_rows;
    uint64_t panel_stride, seg_bytes, pack_bytes;
    uint64_t panel_bytes;           /* of the workspace, between segments and what is packed */
    bool together;                  /* rows may be gathered for all slices at once: there is room for that */
};

/* Weights of one chunk and what belongs to its channels. */
struct conv_chunk {
    const void *w;           /* first block */
    uint64_t stride;         /* bytes from one block to the next */
    bool wide;               /* w are f32, whatever is stored (conv_parts.c) */
    const float *m;          /* first row; rows are m_stride apart */
    const int64_t *b, *wsum; /* wsum: first row; rows are sum_stride apart */
    uint64_t m_stride, sum_stride;
    uint32_t slice, c0, n;   /* channels c0 … c0 + n of the slice */
    bool plain; /* the fast end is exact: 32-bit sums with bias cannot overflow, multipliers are finite, offset small */
};

#define CONV_NOWHERE UINT64_MAX

/* A run of k in packed order, in elements, whole groups. */
struct conv_seg {
    uint32_t k, n;
};

/* Weights that the next part will want, on their way to the cache meanwhile: a line of each block of a chunk at a time. */
struct conv_ahead {
    const char *at;
    uint64_t stride, left;   /* bytes from one block to the next; bytes of a block that were not asked for yet */
    uint32_t lines;          /* of each block, for CONV_STRIP k of a tile */
};

/* Rows that use the same segments, gathered one after another. */
struct conv_panel {
    uint32_t rows, n_seg, k_total;
    struct conv_seg *seg;
    const uint64_t *seg_x; /* bands (conv_bands.c), groups gathered together, windows in place (conv_place.c): bytes from a
                            * row to what each segment is multiplied with; NULL: segments follow each other in a row */
    uint64_t stride; /* bytes from one row to the next, where they are equally far apart: always but for strided windows in
                        place */
    uint32_t k0, k1;         /* only these k of all segments: a part of the weights (conv_parts.c) */
    float *sums;             /* of the panel's rows between parts, CONV_CHUNK for each; NULL: there is one part */
    bool begun, more;        /* sums are there before it; they go on behind it */
    struct conv_ahead ahead;
    uint32_t engine_state;      /* whatever the engine likes to remember; 0 when a kernel starts */
    void *engine_data;          /* conv_engine.data */
    const void *x[CONV_ROWS];
    uint64_t out[CONV_ROWS];    /* element offset of channel 0 of the slice; CONV_NOWHERE: nobody wants this row */
    int64_t xsum[CONV_ROWS];    /* sum of x + x_offset; only where w_offset is not 0 */
    uint32_t plane_at[CONV_ROWS], y_at[CONV_ROWS], x_at[CONV_ROWS]; /* plane: batch * output depth + depth */
};

/* Windows inside the image, one per row: some lines of n elements each, which become one row. Steps are in bytes. */
struct conv_windows {
    char *dst;
    const char *src;
    uint32_t n, lines, windows;
    uint64_t line_step, window_step, row_step; /* of x, of x, of rows */
};

/* sum[c] = stored weights of channel c of a block, over some groups of four k. */
typedef void conv_sum_fours(const int8_t *block, uint32_t groups, int64_t sum[CONV_BLOCK]);

/* What an instruction set brings. Rows are in its own form: `load` converts, `pad` writes what stands for real zero. */
struct conv_engine {
    uint32_t elem;                                  /* bytes of a gathered element; 1: nothing else is kept per element */
    uint32_t rows;                                  /* rows of a panel that suit it, at most CONV_ROWS */
    uint32_t long_rows;                             /* the same for rows of more than CONV_LONG bytes; 0: no other number */
    bool (*in_place)(const struct conv_args *a);    /* rows of x need no conversion (asked only when a->direct) */
    void (*load)(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride);
    void (*load_windows)(const struct conv_args *a, const struct conv_windows *w); /* NULL: load does it */
    void (*pad)(const struct conv_args *a, void *dst, uint32_t n);
    int64_t (*sum)(const struct conv_args *a, const void *row, uint32_t n);
    void (*block)(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out);
    void (*gathered)(const struct conv_args *a,
                     struct conv_panel *p); /* all rows are there; not called when they are in place; NULL: nothing to do */
    conv_sum_fours *sum_weights;                    /* for weights that are packed while running; NULL: as at prepare */
    uint32_t planes; /* of bytes, where elem is 1 and elements are kept in parts, one behind the other; 0: one */
    void *data;                                     /* of one call of the kernel, for block */
    uint32_t band_step; /* block takes rows from bands when a tap is whole steps of so many channels; 0: never */
    /* Some pixels, with all their channels, to a band: the planes of a pixel one behind the other. */
    void (*load_band)(const struct conv_args *a, char *dst, const char *src, uint32_t pixels);
    void (*pad_band)(const struct conv_args *a, char *dst, uint32_t pixels);
    /* block takes parts of k, and chunks of f32. widen: n stored weights, or elements of x, to f32; NULL: they are f32. */
    bool parts;
    void (*widen)(float *dst, const void *src, uint64_t n);
    bool apart;                                     /* block takes segments from where seg_x says */
};

/* conv_drive.c */
void conv_run(const struct kernel_call *call, struct range tile, const struct conv_engine *e);

/* conv_shape.c: geometry. */
enum status conv_shape(const struct op_call *c, struct conv_args *a);
/* conv_describe.c: args from a call, before its work is cut. */
enum status conv_describe(const struct op_call *c, struct conv_args *a);
/* conv_variants.c: kernels that may suit, best first. */
const struct kernel_variant *conv_variants(const struct conv_args *a);

/* conv_lift.c: sums of bytes as floats without a conversion: CONV_LIFT, whose bits they start with, is exact to one. */
#define CONV_LIFT 0x1p23f
#define CONV_LIFT_BITS 0x4b000000
bool conv_lifts(const struct conv_args *a);

/* conv_weight.c: what the encoding of the weights means for how they are stored. */
enum status conv_weight_describe(const struct op_call *c, struct conv_args *a);
int64_t conv_weight(const struct conv_args *a, const void *w, uint64_t at);     /* the stored integer of element `at` */

/* conv_aux.c */
enum status conv_aux(const struct op_call *c, struct kernel_aux *ret);
enum status conv_aux_fill(const struct op_call *c, uint32_t which, void *dst);

/* conv_pack.c: n channels of a slice, rounded up to whole blocks; a depthwise operator's weights as [tap][channel]. */
void conv_pack(const struct conv_args *a, const void *w, uint32_t slice, uint32_t c0, uint32_t n, void *dst);
void conv_pack_depthwise(const struct conv_args *a, const void *w, void *dst);

/* conv_record.c: records of n channels from packed weights and plain bias. b and wsum may start inside of larger arrays. */
struct conv_record {
    float *m;
    int64_t *b, *wsum;
    uint64_t m_stride, sum_stride;
    int64_t bound;           /* largest sum of products without bias */
    bool plain;
    conv_sum_fours *sum;     /* NULL: none of its own */
};
void conv_record_fill(const struct conv_args *a, const void *packed, const void *bias, uint32_t slice, uint32_t c0,
                      uint32_t n, struct conv_record *r);
uint64_t conv_record_bytes(const struct conv_args *a, uint64_t channels);

/* depthwise.c: bytes all through, in the form that four or two lines at a time want. */
bool depthwise_accept_columns(const void *args);
bool depthwise_accept_quads(const void *args);
bool depthwise_accept_quads_32(const void *args); /* blocks of 32 or 16 channels, weights without an offset */
bool depthwise_accept_pairs(const void *args);
/* Floats and 16 bits in kernels of usual sizes, up to DEPTHWISE_TAPS by DEPTHWISE_TAPS (depthwise_lines_body.h). */
enum { DEPTHWISE_TAPS = 7 };
bool depthwise_accept_lines(const void *args);

/* The sections of a record over n channels. */
static inline uint64_t conv_m_stride(uint64_t n)
{
    return (n + 15) / 16 * 16;
}

static inline const float *conv_m(const struct conv_head *h)
{
    return (const float *)(h + 1);
}

static inline const int64_t *conv_b(const struct conv_args *a, const struct conv_head *h, uint64_t n)
{
    return (const int64_t *)(conv_m(h) + a->n_m * conv_m_stride(n));
}

static inline const int64_t *conv_wsum(const struct conv_args *a, const struct conv_head *h, uint64_t n)
{
    return conv_b(a, h, n) + n;
}

/* Where segment s begins in a row, in elements; `at`: those of the segments before it. */
static inline uint64_t conv_seg_at(const struct conv_panel *p, uint32_t s, uint64_t at, uint32_t elem)
{
    return p->seg_x ? p->seg_x[s] / elem : at;
}

/* Outputs are bytes, and with multipliers of at most CONV_SMALL_M every step on the way there stays within 32, then
 * 16 bits. */
#define CONV_SMALL_M 0.5f
static inline bool conv_ends_in_bytes(const struct conv_args *a)
{
    return (T_(a->out_type) & T_Q8) && a->out_offset >= -16384 && a->out_offset <= 16384;
}

/* Element of the plain weights: tap, input and output channel of a slice. */
static inline uint64_t conv_weight_at(const struct conv_args *a, uint32_t slice, uint32_t tap, uint32_t in, uint32_t out)
{
    return slice * a->w_slice + tap * a->w_tap + in * a->w_in + out * a->w_out;
}

/* A plane of bytes of a gathered row. Short ones are not rounded up: the workspace has 4 bytes per element and no more. */
static inline uint64_t conv_plane_bytes(const struct conv_args *a)
{
    return a->kpad < 64 ? a->kpad : ((uint64_t)a->kpad + 63) / 64 * 64;
}

/* Parts of equal length: k of each. */
static inline uint32_t conv_k_part(const struct conv_args *a)
{
    const uint32_t n = (a->kpad + CONV_PART - 1) / CONV_PART;
    return n < 2 ? a->kpad : ((a->kpad + n - 1) / n + 15) / 16 * 16;
}

static inline uint64_t conv_block_bytes(const struct conv_args *a)
{
    return (uint64_t)a->kpad * CONV_BLOCK * a->wsize;
}

/* Units that are computed together: row units [row0, row1) of chunks [chunk0, chunk1). */
struct conv_part {
    uint32_t units, chunk0, chunk1, row0, row1;
};
struct conv_part conv_part(const struct conv_args *a, uint32_t at, uint32_t end); /* from unit `at` on, as many as can be */

/* Packed weights of one slice: what a panel of rows meets. */
static inline uint64_t conv_slice_bytes(const struct conv_args *a)
{
    return a->npad / CONV_BLOCK * conv_block_bytes(a);
}

#endif
