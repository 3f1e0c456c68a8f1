/* SPDX-License-Identifier: Apache-2.0 */
/* The quantizer's part of convert.h (include that): statistics of tensors, encodings from them, and the float graph
 * rewritten in fixed point.
 *
 *     float graph ── run on samples ──> struct quantize_range per tensor ──┐
 *     overrides (JSON, custom I/O) ────────────────────────────────────────┼─> struct quantize_plan ──> quantized graph
 *     the model's own encodings ───────────────────────────────────────────┘
 *
 * Everything here is a function of its arguments; running the float graph is the caller's business (tools/converter). */
#ifndef CONVERT_QUANTIZE_H
#define CONVERT_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"
#include "ir/ir.h"

/* ---- statistics --------------------------------------------------------------------------------------------------- */

enum { QUANTIZE_BINS = 2048 };

/* What was seen of one tensor. The histogram leaves out zeros, which every encoding represents exactly; when data falls
 * outside, its width doubles and neighbouring bins are added together, so that counts stay exact. */
struct quantize_range {
    double min, max;       /* min > max: nothing seen */
    double sum, sum_sq;
    uint64_t count, zeros; /* finite values, and those that are 0 */
    uint64_t odd;          /* NaN and infinities, counted nowhere else */
    double lo, hi;         /* of the histogram; equal: no bins yet */
    uint64_t bins[QUANTIZE_BINS];
};
void quantize_range_init(struct quantize_range *r);
void quantize_range_add(struct quantize_range *r, const float *x, uint64_t n);

/* What an Lstm keeps between its steps is stored in the encoding of its last cells, so all steps belong to the statistics of
 * that tensor. */
enum { QUANTIZE_GATES = 3 };
struct quantize_cell {
    uint32_t out, first;            /* the last cells; those before the first step, IR_NONE: zeros */
    uint32_t gates[QUANTIZE_GATES]; /* input, forget, cell: tensors of the graph below, a row per step */
    uint32_t time, batch, units;
    bool time_major, backwards;
    double clip; /* 0: none */
};
struct quantize_cells {
    struct ir_graph *graph; /* to run in place of the one given: the same, gates are results too. NULL: no such layers */
    VEC(struct quantize_cell) list;
};
enum status quantize_cells_find(const struct ir_graph *g, struct quantize_cells *ret);
void quantize_cells_finish(struct quantize_cells *c); /* frees the graph; takes a zeroed one */
/* After a run: value() gives the values of a tensor of that graph, false when it has none. stats: one per tensor. */
typedef bool quantize_value(void *arg, uint32_t tensor, float *to);
enum status quantize_cells_observe(const struct quantize_cells *c, quantize_value *value, void *arg,
                                   struct quantize_range *stats);

/* ---- encodings ---------------------------------------------------------------------------------------------------- */

enum quantize_schema {
    QUANTIZE_ASYMMETRIC,         /* unsigned, any offset */
    QUANTIZE_SYMMETRIC,          /* signed, offset 0 */
    QUANTIZE_UNSIGNED_SYMMETRIC, /* unsigned with offset 0 when nothing is negative, otherwise as symmetric */
};

enum quantize_method {
    QUANTIZE_MINMAX,
    QUANTIZE_PERCENTILE, /* (100 - percentile) % of the values beyond each end are cut off */
    QUANTIZE_MSE,        /* least squared error of rounding and clipping */
    QUANTIZE_ENTROPY,    /* least Kullback-Leibler divergence between values and quantized values */
    QUANTIZE_SQNR,       /* like MSE, clipping counts three times */
};
extern const char *const quantize_schema_names[]; /* "asymmetric" …, NULL at the end */
extern const char *const quantize_method_names[]; /* "min-max" … */

struct quantize_rule {
    uint8_t bits; /* 4, 8, 16 or 32 */
    uint8_t schema, method;
    double percentile;          /* 0: 99.99 */
    double widen;               /* the range becomes this much larger at both ends: 0.1 is a tenth */
    int32_t step_min, step_max; /* restricted steps of a signed type of these bits; both 0: all of them */
};

struct quantize_encoding {
    enum dtype type;
    float scale;
    int32_t offset;  /* real = scale * (q + offset) */
    double min, max; /* the real values of the first and last step */
};

/* The encoding for values in [min, max]: zero is a step, the range is 0.0001 wide at least. */
void quantize_encode(const struct quantize_rule *r, double min, double max, struct quantize_encoding *ret);
/* The part of the data's range that the rule's method wants to represent. */
void quantize_search(const struct quantize_range *s, const struct quantize_rule *r, double *min, double *max);
/* Signal to noise of that encoding on these statistics, in decibel; an estimate. */
double quantize_sqnr(const struct quantize_range *s, const struct quantize_encoding *e);

/* Floats into the type and encoding of `d` (per tensor, axis, block, or block expansion): rounded to nearest even, limited.
 * Returns the signal to noise in decibel. */
double quantize_data(const struct tensor_desc *d, const float *from, void *to);
double quantize_data_sqnr(const struct tensor_desc *d, const float *from, const void *data); /* of data that is there */
double quantize_step(const struct tensor_desc *d, uint64_t i);          /* the step of element i … */
int64_t quantize_step_offset(const struct tensor_desc *d, uint64_t i); /* … and its offset: real = step * (q + offset) */

/* ---- layers: what the algorithms look at ---------------------------------------------------------------------------- */

/* A convolution, FullyConnected or MatMul with constant float weights. Every output is a sum of `terms` products; what one
 * position of the result reads is its patch. Weight of term k and output o: data[k * step_k + o * step_o]; the value it
 * meets: patch[quantize_layer_at(l, k, o)]. */
struct quantize_layer {
    uint32_t node, in, weight, bias; /* bias: IR_NONE when there is none */
    uint32_t outs, terms, patch;
    uint32_t step_k, step_o;
    uint32_t channels, group_in, group_out; /* of the input; inputs and outputs of a group */
    uint32_t kernel[2], stride[2], pad[2], dilation[2], size[2],
        result[2];                          /* height, width; 1 where there is no such dimension */
    uint64_t images;                        /* size[0] * size[1] * channels values each */
    uint64_t seen;                          /* patches */
    double *sum;                            /* of every value of a patch */
    uint32_t n_samples, cap;
    uint64_t expected;                      /* patches that will be seen */
    float *samples;                         /* patch by patch; some of those seen, the same in every run of the program */
};
struct quantize_layers {
    struct arena arena;
    VEC(struct quantize_layer) list;
};
/* All layers of a graph whose weights are f32. */
enum status quantize_layers_find(const struct ir_graph *g, struct quantize_layers *ret);
void quantize_layers_finish(struct quantize_layers *l);
/* Room for sums and, when wanted, samples; `runs`: how many inputs will be seen. */
enum status quantize_layers_prepare(struct quantize_layers *l, uint64_t runs, bool samples);
void quantize_layer_observe(struct quantize_layer *l, const float *x); /* the input's values in one run */

static inline uint32_t quantize_layer_at(const struct quantize_layer *l, uint32_t k, uint32_t o)
{
    return k / l->group_in * l->channels + o / l->group_out * l->group_in + k % l->group_in;
}

/* Cross-layer equalization, in place: where a layer's results go to one other layer and nothing between them is touched by a
 * positive factor per channel (Relu, Prelu, pooling), the factor moves from one layer's weights into the other's until both
 * have the same range in every channel. Clamps with an upper limit (Relu6) between two such layers become Relu. `frozen`
 * (per tensor, NULL: none): leave these alone. */
struct quantize_equalized {
    uint32_t pairs, clamps; /* that were equalized; that became Relu */
};
enum status quantize_equalize(struct ir_graph *g, const bool *frozen, struct quantize_equalized *ret);

/* Layers without a bias get one of zeros, so that there is something to correct. */
enum status quantize_add_biases(struct ir_graph *g);

/* AdaRound: steps of weights, rounded to nearest in `data`, go up or down such that the layer's results on its samples are
 * closest to those of the float weights; an output keeps what it had when samples left aside say that nothing was gained.
 * Returns how many steps moved. */
enum status quantize_round(const struct quantize_layer *l, const struct tensor_desc *d, const float *w, void *data,
                           uint64_t *moved);
/* What quantized weights add to the mean of every result, per output. */
enum status quantize_shift(const struct quantize_layer *l, const struct tensor_desc *d, const float *w, const void *data,
                           struct arena *a, float **ret);

/* ---- graphs ------------------------------------------------------------------------------------------------------- */

enum quantize_origin {
    QUANTIZE_FLOAT,      /* stays float */
    QUANTIZE_CALIBRATED, /* from what was seen */
    QUANTIZE_OVERRIDE,
    QUANTIZE_MODEL,      /* fixed point in the source already */
    QUANTIZE_PROPAGATED, /* that of a neighbour: data movement, or a clamp behind */
    QUANTIZE_OPERATOR,   /* the operator's results are known, like Softmax's */
    QUANTIZE_CONSTANT,   /* from the data of a constant */
    QUANTIZE_PRODUCT,    /* a bias in the scale of the sum it is added to */
};
extern const char *const quantize_origin_names[];

/* What somebody outside says about a tensor: one entry, or one per output channel of a weight, or per block of its input
 * channels. */
struct quantize_entry {
    double min, max, scale;
    int64_t offset; /* either sign */
    bool has_range, has_scale, symmetric;
};
struct quantize_override {
    const char *name; /* in the source or in the graph */
    bool is_float;
    uint8_t bits;
    uint32_t n;
    const struct quantize_entry *entries;
    uint32_t block;        /* input channels of a block; 0: no blocks */
    bool blocks_first;     /* lists of blocks: all outputs of the first block, then of the next; otherwise all blocks of the
                              first output, … */
    const uint16_t
        *block_scales; /* LPBQ: the factor of every block, entries are per output channel; NULL: entries are per block */
    uint32_t n_block_scales;
    bool *used; /* set when the tensor exists; may be NULL */
};

/* The tensor that an override is for; IR_NONE: none. */
uint32_t quantize_override_tensor(struct ir_graph *g, const struct quantize_override *v, struct arena *a);

/* A graph output whose value goes to an input of the next run: both have one encoding. */
struct quantize_state {
    const char *input, *output;
};

struct quantize_opts {
    struct quantize_rule act, param;
    uint8_t bias_bits;              /* 8 or 32; 16-bit activations always have 32 */
    bool per_channel, per_row;      /* one scale per output of convolutions; of all others. These are symmetric */
    const struct quantize_range *stats; /* one per tensor of the graph; NULL: what has no encoding stays float */
    const struct quantize_override *overrides;
    uint32_t n_overrides;
    bool preserve_io;               /* float inputs and outputs stay float … */
    const char *const *preserved;   /* … or only these, when there are any */
    uint32_t n_preserved;
    const struct quantize_state *states;
    uint32_t n_states;
    const uint8_t *bits;            /* per tensor: width of this activation or weight; 0, NULL: that of the rules */
    const struct quantize_layers *layers; /* observed; NULL: none */
    bool round, correct;            /* AdaRound; bias correction: both need layers */
    enum status (*supported)(
        void *arg, const struct op_call *c); /* whether the engine runs it in fixed point; NULL: whatever op_check accepts */
    void *arg;
};

/* A line of the report. */
struct quantize_row {
    const char *name;
    enum dtype type; /* float: it stayed so */
    uint8_t origin;
    bool constant;
    uint32_t n;      /* encodings: 1, or one per channel */
    const float *scales;
    const int32_t *offsets; /* NULL: all 0 */
    double min, max; /* seen, or of the data */
    double sqnr;     /* decibel; NAN: unknown */
};

struct quantize_report {
    struct arena arena;
    VEC(struct quantize_row) rows;
    VEC(const char *) float_nodes; /* "name: reason" of operators that stayed float */
};
void quantize_report_init(struct quantize_report *r);
void quantize_report_finish(struct quantize_report *r);

/* The float graph that a quantized one stands for: encodings are taken out, constants become real numbers. It borrows
 * nothing. */
enum status quantize_strip(const struct ir_graph *g, struct ir_graph **ret);

/* Whether only a clamp (Relu, …) reads tensor `t`: its encoding is that of the clamp's result, and values outside do not
 * matter. */
bool quantize_before_clamp(const struct ir_graph *g, const struct ir_uses *u, uint32_t t);
/* Whether a tensor's statistics are wanted: float, not constant. */
bool quantize_is_activation(const struct ir_tensor *t);

/* The graph in fixed point. Integer, bool and already quantized tensors are as before; operators that lack an encoding or a
 * fixed-point form stay float between Dequantize and Quantize. The new graph borrows constants from `g`, which must live as
 * long. */
enum status quantize_graph(struct ir_graph *g, const struct quantize_opts *o, struct quantize_report *report,
                           struct ir_graph **ret);

#endif
