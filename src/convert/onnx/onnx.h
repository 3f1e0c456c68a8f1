/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one ONNX conversion, and what the operator files (onnx_op_*.c) are written with. Private to convert/onnx.
 *
 * A value of the source is either a constant (bytes, not in the graph until something needs it there) or a tensor of the
 * graph together with the permutation that it is kept in: dimension i of the tensor is dimension perm[i] of the source.
 * Operators that do not care about the order of dimensions pass the permutation on, so that transposes appear only where an
 * operator insists.
 *
 * A value that DequantizeLinear made is a view: float by its type, fixed point in the graph. An operator between such views
 * and a QuantizeLinear is built in fixed point (cx->fixed); anybody else gets a Dequantize. */
#ifndef CONVERT_ONNX_ONNX_H
#define CONVERT_ONNX_ONNX_H

#include "convert/builder.h"
#include "convert/onnx/onnx_model.h"

struct onnx_value {
    const char *name;
    enum dtype type; /* what the source says; DT_NONE: its node could not be converted */
    uint8_t rank;
    uint32_t dims[MAX_RANK]; /* in the source's order; constants may have 0 */
    const void *data;        /* constant: dense bytes of `stored`, any alignment */
    enum dtype stored;
    const struct quant *q;   /* constant view: its encoding */
    uint32_t tensor;         /* IR_NONE: not in the graph */
    uint8_t perm[MAX_RANK];
    bool view;
    bool output;   /* of the graph */
    uint32_t real; /* the float tensor of a view, once somebody needed it */
    struct onnx_list *list; /* a sequence of values, known while converting; NULL: not a sequence */
};

struct onnx_list {
    struct onnx_value **at;
    uint32_t n;
};

struct onnx_use {
    const struct onnx_node *node;
    uint32_t port;
    struct onnx_use *next;
};

/* Where names are looked up: a function or branch has its own, with what is outside behind it. */
struct onnx_scope {
    const char *prefix;
    const struct onnx_scope *parent;
    const struct onnx_node *call; /* inside a function: the attributes of the call */
};

struct onnx_entry {
    const char *key;
    uint64_t hash;
    struct onnx_value *value;
    struct onnx_use *uses;
    bool needed; /* for an output of the graph */
};

struct onnx_cx {
    struct builder b;
    struct arena arena;
    const struct convert_opts *o;
    struct convert_report *r;
    const char *folder;
    struct onnx_model model;
    const struct onnx_scope *scope;
    struct {
        struct onnx_entry *slots;
        size_t cap, n;
    } names;
    const struct onnx_node *node; /* the one being converted */
    const char *label;            /* its name */
    uint32_t first_tensor;        /* of the graph, when the node was begun */
    bool poisoned;                /* an input comes from a node that was refused: nothing new to report */
    bool fixed;                   /* build it in fixed point … */
    struct tensor_desc fixed_out; /* … with this type and encoding */
    uint64_t folded;              /* elements computed at conversion time */
    uint64_t made, made_limit;    /* bytes of constants that the file does not hold */
    uint64_t unrolled;            /* nodes of loops, turn by turn */
    unsigned depth;               /* of functions and branches */
    unsigned n_refused;           /* nodes that ONNX allows and we do not */
};

enum { ONNX_MAX_TURNS = 1024, ONNX_MAX_UNROLLED = 200000 }; /* of one loop; nodes of all loops, turn by turn */

enum onnx_flags {
    ONNX_FREE = 1,    /* any order of dimensions, passed on */
    ONNX_SPATIAL = 2, /* wants channels last */
    ONNX_FIXED = 4,   /* one node that can work in fixed point between DequantizeLinear and QuantizeLinear */
    ONNX_CLAMP = 8,   /* a clamp: the encoding behind it serves the operator before it too */
    ONNX_RETYPES = 16, /* outputs have a type of their own: float64 and bfloat16 do not pass through */
    ONNX_LISTS = 32,   /* takes sequences (onnx_op_sequence.c) */
};

struct onnx_row {
    const char *op;
    uint8_t flags;
    enum status (*convert)(struct onnx_cx *cx, const struct onnx_node *n);
    const char *arg; /* for handlers that serve several operators: usually the QNN operator. What differs by opset is in the
                        handler. */
};

/* Each operator file offers its rows; a row without an operator ends the list. */
extern const struct onnx_row onnx_rows_elementwise[], onnx_rows_activation[], onnx_rows_composed[], onnx_rows_conv[],
    onnx_rows_pool[], onnx_rows_shape[], onnx_rows_slice[], onnx_rows_gather[], onnx_rows_reduce[], onnx_rows_norm[],
    onnx_rows_matmul[], onnx_rows_quant[], onnx_rows_qlinear[], onnx_rows_recurrent[], onnx_rows_resize[],
    onnx_rows_attention[], onnx_rows_image[], onnx_rows_control[], onnx_rows_loop[], onnx_rows_bits[], onnx_rows_signal[],
    onnx_rows_sample[], onnx_rows_unpool[], onnx_rows_matrix[], onnx_rows_written[], onnx_rows_sequence[],
    onnx_rows_softmax[], onnx_rows_grouped[];
const struct onnx_row *onnx_row_find(const char *op);
const char *onnx_row_nearest(const char *op);
const char *onnx_row_arg(const struct onnx_node *n); /* of the operator's row */

/* ---- names and values (onnx_value.c) ------------------------------------------------------------------------------ */

/* NULL: not there, or no memory. */
struct onnx_entry *onnx_entry(struct onnx_cx *cx, const char *prefix, const char *name, bool create);
struct onnx_value *onnx_find(struct onnx_cx *cx, const char *name);                /* through the scopes */
enum status onnx_bind(struct onnx_cx *cx, const char *name, struct onnx_value *v); /* in the current scope */
struct onnx_value *onnx_value_new(struct onnx_cx *cx, const char *name); /* bound in the current scope; NULL: no memory */

/* ---- for operators ------------------------------------------------------------------------------------------------ */

const struct onnx_attr *onnx_attr(struct onnx_cx *cx, const struct onnx_node *n, const char *name); /* NULL: not given */
int64_t onnx_attr_int(struct onnx_cx *cx, const struct onnx_node *n, const char *name, int64_t dflt);
float onnx_attr_float(struct onnx_cx *cx, const struct onnx_node *n, const char *name, float dflt);
const char *onnx_attr_text(struct onnx_cx *cx, const struct onnx_node *n, const char *name, const char *dflt);

/* "label_suffix", in the arena; "" when out of memory. */
const char *onnx_name(struct onnx_cx *cx, const char *suffix);

bool onnx_has(const struct onnx_node *n, uint32_t i);                                                  /* input i is given */
bool onnx_wants(const struct onnx_node *n, uint32_t i); /* output i is named */
/* Refused when absent or poisoned. */
enum status onnx_in(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, struct onnx_value **ret);
/* NULL when absent. */
enum status onnx_in_opt(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, struct onnx_value **ret);

extern const char onnx_nothing[16]; /* the bytes of a constant without elements */
bool onnx_is_const(const struct onnx_value *v);
uint64_t onnx_count(const struct onnx_value *v);
/* The integers of a constant input; `what` names it in the refusal. */
enum status onnx_ints(struct onnx_cx *cx, const struct onnx_value *v, const char *what, int64_t **ret, uint32_t *ret_n);
enum status onnx_numbers(struct onnx_cx *cx, const struct onnx_value *v, const char *what, double **ret, uint32_t *ret_n);

/* The value as a tensor of its own type whose dimension i is dimension perm[i] of the source (NULL: the source's order).
 * Views become float, unless the node is built in fixed point. */
enum status onnx_tensor(struct onnx_cx *cx, struct onnx_value *v, const uint8_t *perm, uint32_t *ret);
/* The same without touching type or encoding, for operators that only move values. */
enum status onnx_stored(struct onnx_cx *cx, struct onnx_value *v, const uint8_t *perm, uint32_t *ret);
/* Input i by number, in the source's order, or channels last. */
enum status onnx_in_tensor(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t *ret);
enum status onnx_in_last(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t *ret);
/* Absent inputs give IR_NONE. */
enum status onnx_in_tensor_opt(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t *ret);
/* A value for a broadcast of `rank` dimensions kept in `perm`: leading ones are added where the order needs them. */
enum status onnx_broadcast(struct onnx_cx *cx, struct onnx_value *v, uint32_t rank, const uint8_t *perm, uint32_t *ret);
/* The permutation that most of these values are kept in already, and the rank of their broadcast. */
void onnx_common_perm(struct onnx_value *const *v, uint32_t n, uint8_t *perm, uint32_t *rank);

/* build_node, in fixed point when the node is built so. */
enum status onnx_emit(struct onnx_cx *cx, struct build_spec spec, uint32_t *ret);

/* Output i is tensor t kept in perm (NULL: the source's order). onnx_out_like: moved values of v, with its type and
 * encoding. Outputs that the node does not name are dropped. */
enum status onnx_out(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t t, const uint8_t *perm);
enum status onnx_out_last(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t t);
enum status onnx_out_like(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t t, const uint8_t *perm,
                          const struct onnx_value *v);
enum status onnx_out_const(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, enum dtype type, uint32_t rank,
                           const uint32_t *dims, const void *data); /* data: in the graph's arena or the file */
/* The same value under another name, with dimensions in another order: perm[i] of v is dimension i of the output. */
enum status onnx_out_view(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, const struct onnx_value *v,
                          const uint8_t *perm);
/* The source says another type than the graph (float64, bfloat16): kept for CastLike and outputs. */
void onnx_out_type(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, enum dtype type);

/* Negative ones count from the end. */
enum status onnx_axis(const struct onnx_cx *cx, int64_t axis, uint32_t rank, uint32_t *ret);
/* Where source dimension `axis` is in a tensor kept in perm. */
uint32_t onnx_at(const uint8_t *perm, uint32_t rank, uint32_t axis);
/* The permutation of what is left when the dimensions of mask go. */
void onnx_drop_dims(const uint8_t *perm, uint32_t rank, uint32_t mask, uint8_t *ret);

bool onnx_aligned(const struct tensor_desc *d, const void *data); /* the bytes lie as elements of the type must */
enum dtype onnx_inner_type(enum dtype t); /* f64 and bf16 are computed in f32 */
enum status onnx_cast(struct onnx_cx *cx, const char *suffix, uint32_t x, enum dtype to, uint32_t *ret);

/* ---- other parts -------------------------------------------------------------------------------------------------- */

/* Compute the node now when all it needs is known (onnx_fold.c); *done tells. */
enum status onnx_fold(struct onnx_cx *cx, const struct onnx_node *n, bool *done);
/* The type and encoding of the QuantizeLinear that reads output 0 of the node, when there is just that (onnx_op_quant.c). */
bool onnx_fixed_output(struct onnx_cx *cx, const struct onnx_node *n, struct tensor_desc *ret);
bool onnx_fixed_inputs(struct onnx_cx *cx, const struct onnx_node *n);
/* Write out operators that are others in a row (onnx_expand.c). */
enum status onnx_expand(struct onnx_cx *cx, struct onnx_node **nodes, size_t *n);
/* The same for a handler that knows shapes: nodes of the source, as text, in place of its own. */
enum status onnx_write_out(struct onnx_cx *cx, const struct onnx_node *n, const char *text);
/* Inputs and outputs of the model (onnx_io.c). */
enum status onnx_inputs(struct onnx_cx *cx);
enum status onnx_outputs(struct onnx_cx *cx);
/* The name stands for something that is not supported. */
enum status onnx_poison(struct onnx_cx *cx, const char *name);
bool onnx_is_needed(struct onnx_cx *cx, const struct onnx_node *n); /* some output depends on it */
/* Before memory is asked for that follows from dimensions alone, `count` elements of `size` bytes: a few bytes can claim
 * any. */
enum status onnx_charge(struct onnx_cx *cx, const char *what, uint64_t count, unsigned size);
/* Convert a list of nodes in the current scope (onnx_nodes.c). */
enum status onnx_nodes(struct onnx_cx *cx, const struct onnx_node *nodes, size_t n);
/* One of them; unnamed nodes are told apart by their number. */
enum status onnx_node_at(struct onnx_cx *cx, const struct onnx_node *nodes, size_t number);
enum status onnx_initializers(struct onnx_cx *cx, const struct onnx_graph *g);

/* Convolution and matrix product of values, for the operators that are made of them (onnx_op_conv.c, onnx_op_matmul.c). The
 * convolution's result has channels last. */
enum status onnx_conv(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value *x, struct onnx_value *w,
                      struct onnx_value *bias, uint32_t *ret);
enum status onnx_matmul(struct onnx_cx *cx, struct onnx_value *a, struct onnx_value *b, uint32_t *ret);

/* Cubic sampling of x at the positions of a grid (onnx_op_sample.c); padding: 0 zeros, 1 border. */
enum status onnx_cubic_sample(struct onnx_cx *cx, uint32_t x, uint32_t grid, bool corners, uint32_t padding, uint32_t *ret);
/* A max pool whose positions are asked for (onnx_op_unpool.c). */
enum status onnx_max_positions(struct onnx_cx *cx, const struct onnx_node *n);

/* Sequences of different lengths (onnx_lengths.c): tensors that say of every step [steps, batch, 1] whether it is inside and
 * which one it is when the sequence is turned around, and of every sequence [1, batch, 1] which step is its last and whether
 * it has any. */
struct onnx_lengths {
    uint32_t steps, batch, inside, turned, last, any;
};
enum status onnx_lengths(struct onnx_cx *cx, struct onnx_value *v, uint32_t steps, uint32_t batch, struct onnx_lengths *ret);
/* [steps, batch, n]. */
enum status onnx_lengths_turn(struct onnx_cx *cx, const struct onnx_lengths *l, uint32_t x, uint32_t *ret);
/* Zero behind the end. */
enum status onnx_lengths_cut(struct onnx_cx *cx, const struct onnx_lengths *l, uint32_t y, uint32_t *ret);
/* The row of y at the end of each sequence, [batch, n]; that of `first` where it has no steps. */
enum status onnx_lengths_last(struct onnx_cx *cx, const struct onnx_lengths *l, uint32_t y, uint32_t first, uint32_t *ret);

/* A recurrent layer step by step (onnx_unroll.c). */
enum status onnx_unroll(struct onnx_cx *cx, const struct onnx_node *n);

/* A window that moves over one to three spatial dimensions, with automatic padding resolved (onnx_window.c). */
struct onnx_window {
    uint32_t n;
    uint32_t kernel[3], stride[3], dilation[3], pads[6]; /* pads: before and after of each dimension */
    bool ceil;
};
/* kernel: from the weights, or NULL to read "kernel_shape". */
enum status onnx_window(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *x, const uint32_t *kernel,
                        struct onnx_window *ret);
/* A list of non-negative integers with a default. */
enum status onnx_attr_list(struct onnx_cx *cx, const struct onnx_node *n, const char *name, uint32_t count, uint32_t dflt,
                           uint32_t *ret);

#define B (&cx->b)
#define REFUSE(...) return status_fail(ST_NOT_SUPPORTED, __VA_ARGS__)
#define REFUSE_WHEN(cond, ...) RETURN_IF(cond, ST_NOT_SUPPORTED, __VA_ARGS__)
/* Shapes with which ONNX has no result either: a branch that needs them is never taken (onnx_op_control.c). */
#define IMPOSSIBLE_WHEN(cond, ...) RETURN_IF(cond, ST_SHAPE, __VA_ARGS__)

#endif
