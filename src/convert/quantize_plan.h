/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of quantize_graph share (private to convert/). */
#ifndef CONVERT_QUANTIZE_PLAN_H
#define CONVERT_QUANTIZE_PLAN_H

#include "convert/convert.h"

/* What a tensor of the float graph becomes. */
struct plan_tensor {
    uint8_t origin; /* QUANTIZE_FLOAT: no encoding */
    struct quantize_encoding e;
    double min, max, sqnr;
    uint32_t alias; /* a fixed-point tensor of the source that this one is the Dequantize of; IR_NONE: none */
};

struct plan {
    struct ir_graph *g;
    const struct quantize_opts *o;
    struct arena *arena; /* for as long as the plan */
    struct arena *data;  /* of the new graph: constants */
    struct ir_uses uses;
    struct plan_tensor *tensors;             /* one per tensor of g */
    const struct quantize_override **override; /* one per tensor, NULL: none */
};

/* Encodings of all activations. */
enum status plan_activations(struct plan *p);

/* How a constant input of an operator is quantized. */
enum plan_use {
    PLAN_VALUE,  /* like an activation: an operand of Add */
    PLAN_WEIGHT, /* per tensor, or per output along `axis` */
    PLAN_BIAS,
};
struct plan_port {
    enum plan_use use;
    int32_t axis;     /* PLAN_WEIGHT: of the outputs; -1: one scale only */
    bool per_channel; /* wanted by the options */
    bool slopes;      /* PLAN_WEIGHT: of values that are not added up; as many bits as those have */
    bool gates;       /* PLAN_WEIGHT: of a recurrent layer, which takes neither 4 bits nor blocks */
    bool product;     /* PLAN_BIAS: of a sum of products, scales of in[0] and in[1] apply */
    uint32_t like;    /* PLAN_VALUE: the result that its values go to unchanged, whose encoding it takes; IR_NONE: none */
    uint32_t bias;    /* PLAN_WEIGHT: the constant that is added to the products; IR_NONE: none */
    const struct quantize_layer *layer; /* PLAN_WEIGHT: what the layer has seen; NULL: nothing */
    const float *shift;                 /* PLAN_BIAS: what to take from every value, one per value; NULL: nothing */
};
struct plan_port plan_port(const struct plan *p, const struct ir_node *n, uint32_t i);

/* The constant `t` as `port` wants it: descriptor and data in the arena, and a row for the report. x, w: descriptors of
 * in[0] and in[1] for a bias. ret->type DT_NONE: it has no encoding and may not get one (no statistics, no override). */
struct plan_const {
    struct tensor_desc desc;
    void *data;
    struct quantize_row row;
};
enum status plan_constant(const struct plan *p, uint32_t t, const struct plan_port *port, const struct tensor_desc *x,
                          const struct tensor_desc *w, struct plan_const *ret);

/* What the weights that were made from float constant `t` do to the means of results; *ret NULL: nothing is known. */
enum status plan_shift(const struct plan *p, uint32_t t, const struct plan_port *port, const struct tensor_desc *d,
                       const void *data, float **ret);

struct quantize_rule plan_act_rule(const struct plan *p, uint32_t t); /* for an activation */

/* The encoding that an outside entry asks for. */
void plan_entry(const struct quantize_entry *e, uint8_t bits, struct quantize_encoding *ret);
enum status plan_overrides(struct plan *p); /* which override belongs to which tensor */

bool plan_moves_values(enum op_id op); /* results are values of in[0], unchanged */
/* Encodings of an attention mask and of the scores behind it, when the node joins them. */
void plan_mask(const struct plan *p, const struct ir_node *n);

/* An operator that stays float whatever its encodings are; NULL or the reason. */
const char *plan_stays_float(const struct plan *p, const struct ir_node *n);

#endif
