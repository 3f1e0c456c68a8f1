/* SPDX-License-Identifier: Apache-2.0 */
/* The quantizer's part of convert.h (include that): statistics of tensors, encodings from them, and the float graph rewritten in fixed point.
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

/* What was seen of one tensor. The histogram leaves out zeros, which every encoding represents exactly; when data falls outside, its width doubles
 * and neighbouring bins are added together, so that counts stay exact. */
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

/* Floats into the type and encoding of `d` (per tensor or per axis): rounded to nearest even, limited. Returns the signal to noise in decibel. */
double quantize_data(const struct tensor_desc *d, const float *from, void *to);

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

/* What somebody outside says about a tensor: one entry, or one per output channel of a weight. */
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
    bool *used; /* set when the tensor exists; may be NULL */
};

/* A graph output whose value goes to an input of the next run: both have one encoding. */
struct quantize_state {
    const char *input, *output;
};

struct quantize_opts {
    struct quantize_rule act, param;
    uint8_t bias_bits;              /* 8 or 32; 16-bit activations always have 32 */
    bool per_channel, per_row;      /* one scale per output of convolutions; of FullyConnected and MatMul. These are symmetric */
    const struct quantize_range *stats; /* one per tensor of the graph; NULL: what has no encoding stays float */
    const struct quantize_override *overrides;
    uint32_t n_overrides;
    bool preserve_io;               /* float inputs and outputs stay float … */
    const char *const *preserved;   /* … or only these, when there are any */
    uint32_t n_preserved;
    const struct quantize_state *states;
    uint32_t n_states;
    enum status (*supported)(void *arg, const struct op_call *c); /* whether the engine runs it in fixed point; NULL: whatever op_check accepts */
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

/* Whether only a clamp (Relu, …) reads tensor `t`: its encoding is that of the clamp's result, and values outside do not matter. */
bool quantize_before_clamp(const struct ir_graph *g, const struct ir_uses *u, uint32_t t);
/* Whether a tensor's statistics are wanted: float, not constant. */
bool quantize_is_activation(const struct ir_tensor *t);

/* The graph in fixed point. Integer, bool and already quantized tensors are as before; operators that lack an encoding or a fixed-point form stay
 * float between Dequantize and Quantize. The new graph borrows constants from `g`, which must live as long. */
enum status quantize_graph(struct ir_graph *g, const struct quantize_opts *o, struct quantize_report *report, struct ir_graph **ret);

#endif
