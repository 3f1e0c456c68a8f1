/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that rewrite a float graph in fixed point share (private to convert/). */
#ifndef CONVERT_QUANTIZE_REWRITE_H
#define CONVERT_QUANTIZE_REWRITE_H

#include "convert/quantize_plan.h"

struct forms {
    uint32_t real, fixed, plain; /* tensors of the new graph; IR_NONE: not made. plain: neither float nor touched */
};

/* A constant that was quantized before. */
struct made {
    uint32_t from, tensor;
    enum plan_use use;
    int32_t axis;
    bool per_channel;
    uint32_t like;
};

struct rewrite {
    struct plan plan;
    struct ir_graph *to;
    struct forms *forms;
    VEC(struct made) constants;
    struct quantize_report *report;
};

/* ---- quantize_forms.c: the forms of a tensor, made when somebody asks for them ---- */

const char *rewrite_fresh_name(struct rewrite *w, const char *name, const char *suffix); /* that neither graph uses */
/* A constant keeps its name unless its other form has it already. */
const char *rewrite_constant_name(struct rewrite *w, const char *name, const char *suffix);
struct tensor_desc rewrite_fixed_desc(const struct rewrite *w, uint32_t t);
enum status rewrite_plain(struct rewrite *w, uint32_t t, uint32_t *ret);
enum status rewrite_real(struct rewrite *w, uint32_t t, uint32_t *ret);
enum status rewrite_fixed(struct rewrite *w, uint32_t t, uint32_t *ret);
enum status rewrite_conversion(struct rewrite *w, enum op_id op, uint32_t from, uint32_t to);
bool rewrite_is_float(const struct rewrite *w, uint32_t t);

/* ---- quantize_trial.c: what a node would be in fixed point, before anything of it is in the new graph ---- */

struct trial {
    struct plan_const consts[MAX_PORTS];
    struct tensor_desc in[MAX_PORTS], out[MAX_PORTS];
    const struct tensor_desc *in_at[MAX_PORTS], *out_at[MAX_PORTS];
    const void *data[MAX_PORTS];
    uint32_t known[MAX_PORTS]; /* tensor of the new graph that is this constant already; IR_NONE: none */
    float *shift;              /* what the weights add to the mean of each output; NULL: unknown */
    struct plan_port ports[MAX_PORTS];
    const char *why; /* the node stays float; NULL: it need not */
};
enum status rewrite_try(struct rewrite *w, const struct ir_node *n, struct trial *t);

/* ---- quantize_report.c ---- */

enum status report_row(struct rewrite *w, const struct quantize_row *row);
enum status report_float(struct rewrite *w, const struct ir_node *n, const char *why);
enum status report_activations(struct rewrite *w);

#endif
