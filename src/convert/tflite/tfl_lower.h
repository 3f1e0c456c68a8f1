/* SPDX-License-Identifier: Apache-2.0 */
/* What the operators of a TFLite file are lowered with. Private to convert/tflite/.
 *
 * A lowering reads the inputs, options and outputs of cx->op and emits QNN nodes. TFLite is channel last as QNN is, so a
 * tensor of the file is a tensor of the graph with the same shape and, exactly, the same encoding (zero point z is offset
 * -z). */
#ifndef CONVERT_TFLITE_TFL_LOWER_H
#define CONVERT_TFLITE_TFL_LOWER_H

#include "convert/tflite/tfl_model.h"
#include "convert/tflite/tfl_schema.h"

/* A variable: a tensor of the file that keeps its value between runs, or a resource. It becomes a graph input, and, once
 * something is assigned, a graph output whose value the client hands to the input of the next run. */
struct tfl_state {
    const char *name;        /* of a resource, or of the tensor */
    const void *initial;     /* in the file; NULL: real zero */
    uint64_t initial_bytes;
    uint32_t input, value;   /* IR_NONE: not read, not assigned */
};

/* One subgraph being lowered. */
struct tfl_scope {
    struct tfl_graph g;
    uint32_t *map;             /* per tensor: its index in the graph, IR_NONE: not there yet */
    uint32_t *state;           /* per tensor: number of the state it is or names, IR_NONE */
};

struct tfl_cx {
    struct builder b;
    struct tfl_model m;
    const struct convert_opts *opts;
    struct convert_report *report;
    struct tfl_scope *scope;
    const struct tfl_op *op;
    const struct tfl_row *row;
    const char *node; /* name of the node: that of the first output */
    VEC(struct tfl_state) states;
    bool resized;     /* the user changed a shape: those of the file no longer hold */
    uint32_t depth;   /* of subgraphs put in place */
};

/* One operator of the format. */
struct tfl_row {
    const char *name;
    enum status (*lower)(struct tfl_cx *cx); /* NULL: refused */
    const char *arg;     /* the QNN operator, where one function lowers several; the reason of a refusal */
    const char *nearest;
    bool fused; /* the first option is an activation */
    bool complex; /* takes or gives complex numbers, which are pairs along a last dimension */
};
/* NULL when unknown; custom: name of a custom operator, or NULL. */
const struct tfl_row *tfl_row(int32_t code, const char *custom);

/* Refuse the operator, with a reason that the report shows. */
#define TFL_REFUSE_IF(cond, ...) RETURN_IF(cond, ST_NOT_SUPPORTED, __VA_ARGS__)

/* ---- inputs --------------------------------------------------------------------------------------------------------- */

uint32_t tfl_number(struct fb_vec v, uint32_t k); /* tensor k of a list, IR_NONE when it is not given */
bool tfl_has(const struct tfl_cx *cx, uint32_t k); /* input k is given */
const struct tfl_tensor *tfl_source(const struct tfl_cx *cx, uint32_t k); /* as in the file; NULL when absent */
enum status tfl_in(struct tfl_cx *cx, uint32_t k, uint32_t *ret);         /* in the graph */
enum status tfl_opt(struct tfl_cx *cx, uint32_t k, uint32_t *ret);        /* IR_NONE when absent */
/* Tensor t of the subgraph: made by an operator, given, or a constant. */
enum status tfl_result(struct tfl_cx *cx, uint32_t t, uint32_t *ret);
struct tensor_desc *tfl_desc(struct tfl_cx *cx, uint32_t t);              /* of a tensor of the graph */
/* The integers of a constant input; refused when it is not constant or has more than `max`. */
enum status tfl_ints(struct tfl_cx *cx, uint32_t k, int64_t *ret, uint32_t max, uint32_t *ret_n);
enum status tfl_int(struct tfl_cx *cx, uint32_t k, int64_t *ret);
bool tfl_known(struct tfl_cx *cx, uint32_t k); /* input k is a constant, of the file or computed while converting */
enum status tfl_real(struct tfl_cx *cx, uint32_t k, double *ret); /* one real value of a constant input */
enum status tfl_axis(struct tfl_cx *cx, int64_t axis, uint32_t rank, uint32_t *ret);

/* ---- options -------------------------------------------------------------------------------------------------------- */

int64_t tfl_option(const struct tfl_cx *cx, unsigned field, int64_t absent); /* i32 */
bool tfl_flag(const struct tfl_cx *cx, unsigned field);
enum tfl_activation tfl_activation(const struct tfl_cx *cx, unsigned field);

/* ---- outputs -------------------------------------------------------------------------------------------------------- */

/* The node that gives outputs 0 … n_out-1 of cx->op: the spec gets its name and the outputs' types and encodings. */
enum status tfl_emit(struct tfl_cx *cx, struct build_spec *spec);
enum status tfl_emit_act(struct tfl_cx *cx, struct build_spec *spec, enum tfl_activation act);
/* A node in front of the last one: named after cx->op and `part`; `out` NULL: everything follows from the rule. */
enum status tfl_part(struct tfl_cx *cx, const char *part, struct build_spec *spec, const struct tensor_desc *out,
                     uint32_t *ret);
/* Output k of cx->op is tensor t of the graph. */
enum status tfl_bind(struct tfl_cx *cx, uint32_t k, uint32_t t);
const struct tensor_desc *tfl_out_desc(const struct tfl_cx *cx, uint32_t k); /* of the file; DT_NONE when it has none */
bool tfl_out_open(const struct tfl_cx *cx); /* the shape of output 0 follows from the inputs only: the user changed one, or
                                               the file leaves it open */
/* Output 0 has elements in this turn of a loop, or none: then nothing is made, and joins do without it. */
void tfl_set_empty(struct tfl_cx *cx, bool empty);
bool tfl_complex_out(const struct tfl_cx *cx); /* output 0 is complex */
/* x behind a clamp or tanh, in its own type; x itself where there is none. */
enum status tfl_act(struct tfl_cx *cx, uint32_t x, enum tfl_activation act, uint32_t *ret);
/* Output k is tensor t behind a clamp or tanh, if `act` does anything there. */
enum status tfl_bind_act(struct tfl_cx *cx, uint32_t k, uint32_t t, enum tfl_activation act);

const char *tfl_name(struct tfl_cx *cx, const char *part); /* "node_part" */
enum status tfl_charge(struct tfl_cx *cx, uint64_t bytes); /* before copying constants */
/* x in float: itself, or behind a Dequantize or Cast. */
enum status tfl_float(struct tfl_cx *cx, const char *part, uint32_t x, uint32_t *ret);
enum status tfl_scalar(struct tfl_cx *cx, const char *part, const struct tensor_desc *like, double value, uint32_t *ret);

/* A sparse constant written out. */
enum status tfl_dense_const(struct tfl_cx *cx, const struct tfl_tensor *x, uint32_t *ret);

/* ---- states and subgraphs ------------------------------------------------------------------------------------------- */

enum status tfl_state_read(struct tfl_cx *cx, uint32_t k, uint32_t *ret); /* the variable tensor at input k, as it is now */
enum status tfl_state_write(struct tfl_cx *cx, uint32_t k, uint32_t value); /* its new value */
enum status tfl_states_output(struct tfl_cx *cx);                           /* the assigned ones become graph outputs */

enum status tfl_scope_open(struct tfl_cx *cx, uint32_t index, struct tfl_scope *ret);
enum status tfl_scope_run(struct tfl_cx *cx); /* lower all operators of cx->scope; refusals go to the report */

/* ---- lowerings, by file --------------------------------------------------------------------------------------------- */

#define TFL_LOWER(name) enum status tfl_lower_##name(struct tfl_cx *cx)

/* tfl_conv.c */
TFL_LOWER(conv2d);
TFL_LOWER(depthwise);
TFL_LOWER(transpose_conv);
TFL_LOWER(transpose_conv_bias);
TFL_LOWER(conv3d);
TFL_LOWER(conv3d_transpose);
TFL_LOWER(dense);
TFL_LOWER(matmul);
TFL_LOWER(pool);
TFL_LOWER(l2_pool);

/* tfl_math.c */
TFL_LOWER(unary);
TFL_LOWER(binary);
TFL_LOWER(square);
TFL_LOWER(add_n);
TFL_LOWER(clamp01);
TFL_LOWER(gelu);
TFL_LOWER(leaky_relu);
TFL_LOWER(softmax);
TFL_LOWER(log_softmax);
TFL_LOWER(l2_norm);
TFL_LOWER(lrn);
TFL_LOWER(reduce);
TFL_LOWER(arg);
TFL_LOWER(cast);
TFL_LOWER(quantize);
TFL_LOWER(dequantize);
TFL_LOWER(fake_quant);
TFL_LOWER(select);
TFL_LOWER(cumsum);
TFL_LOWER(top_k);

/* tfl_shape.c */
TFL_LOWER(reshape);
TFL_LOWER(squeeze);
TFL_LOWER(expand_dims);
TFL_LOWER(transpose);
TFL_LOWER(concat);
TFL_LOWER(pack);
TFL_LOWER(unpack);
TFL_LOWER(split);
TFL_LOWER(split_v);
TFL_LOWER(pad);
TFL_LOWER(mirror_pad);
TFL_LOWER(tile);
TFL_LOWER(broadcast_to);
TFL_LOWER(fill);
TFL_LOWER(zeros_like);
TFL_LOWER(shape);
TFL_LOWER(rank);
TFL_LOWER(range);
TFL_LOWER(broadcast_args);

/* tfl_index.c */
TFL_LOWER(slice);
TFL_LOWER(strided_slice);
TFL_LOWER(reverse);
TFL_LOWER(gather);
TFL_LOWER(gather_nd);
TFL_LOWER(scatter_nd);
TFL_LOWER(update_slice);
TFL_LOWER(embedding);
TFL_LOWER(one_hot);
TFL_LOWER(resize);
TFL_LOWER(depth_space);
TFL_LOWER(space_batch);

/* tfl_recurrent.c */
TFL_LOWER(lstm);
TFL_LOWER(bilstm);
TFL_LOWER(rnn);
TFL_LOWER(sequence_rnn);
TFL_LOWER(svdf);

/* tfl_segment.c */
TFL_LOWER(sparse_to_dense);
TFL_LOWER(segment);
TFL_LOWER(segment_extreme);
TFL_LOWER(reverse_sequence);

/* tfl_detect.c */
TFL_LOWER(detection);

/* tfl_signal.c */
TFL_LOWER(rfft2d);
TFL_LOWER(complex_part);
TFL_LOWER(complex_abs);
/* 0: real, 1: imaginary. */
enum status tfl_complex_part(struct tfl_cx *cx, const char *part, uint32_t x, uint32_t which, uint32_t *ret);

/* tfl_sparse.c */
TFL_LOWER(densify);

/* tfl_compose.c */
TFL_LOWER(matrix_diag);
TFL_LOWER(matrix_set_diag);
TFL_LOWER(bucketize);
TFL_LOWER(atan2);
TFL_LOWER(right_shift);
TFL_LOWER(nms_v4);
TFL_LOWER(nms_v5);

/* tfl_state.c */
TFL_LOWER(call_once);
TFL_LOWER(var_handle);
TFL_LOWER(read_variable);
TFL_LOWER(assign_variable);

/* tfl_control.c */
TFL_LOWER(composite);
TFL_LOWER(call);
TFL_LOWER(if);
TFL_LOWER(while);

#endif
