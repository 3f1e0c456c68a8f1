/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the generator of random graphs: one operator being put together, and what the functions that draw
 * operators share. */
#ifndef TESTS_PASSES_RANDOM_DRAFT_H
#define TESTS_PASSES_RANDOM_DRAFT_H

#include "random_graph.h"

enum { DRAFT_PARAMS = 6, DRAFT_OUTS = 3 };

struct draft {
    struct random_graph *r;
    const char *op;         /* stays NULL when nothing fits */
    uint32_t in[8], n_in;
    const char *names[DRAFT_PARAMS];
    struct op_value values[DRAFT_PARAMS];
    uint32_t data[DRAFT_PARAMS][16], n_params;
    bool turns;             /* the type of the result is that of the graph from here on */
    uint32_t n_out;
    struct tensor_desc out[DRAFT_OUTS]; /* what is asked for: type, encoding, sometimes dimensions */
};
typedef void draft_fn(struct draft *d);

float random_real(struct random_graph *r);
struct quant random_encoding(struct random_graph *r, enum dtype t);
struct tensor_desc random_desc(struct random_graph *r, enum dtype t, uint8_t rank, const uint32_t *dims);
/* By value: adding a tensor moves the others. */
struct tensor_desc random_desc_at(const struct random_graph *r, uint32_t tensor);
uint32_t random_tensor(struct random_graph *r, const struct tensor_desc *d, enum ir_role role);
/* A tensor of the graph's type that holds values by now, often the newest; rank 0 stands for any. IR_NONE: there is none. */
uint32_t random_pick(struct random_graph *r, uint8_t rank);
/* Constant weights with one scale, or one per element of `axis`; each result is a sum of `terms` products. */
uint32_t random_weights(struct random_graph *r, uint8_t rank, const uint32_t *dims, int axis, uint32_t terms);

void draft_take(struct draft *d, uint32_t tensor);
void draft_bias(struct draft *d, uint32_t n); /* or none */
void draft_param(struct draft *d, const char *name, enum dtype type, uint8_t rank, const uint32_t *dims,
                 const uint32_t *values);
void draft_u32(struct draft *d, const char *name, uint32_t value);
void draft_f32(struct draft *d, const char *name, float value);
void draft_bool(struct draft *d, const char *name, bool value);
/* An encoding of the result in which sums of `terms` products of the inputs rarely saturate. */
void draft_fit_product(struct draft *d, uint32_t terms);

draft_fn random_choice; /* one of two tensors, by one truth value */
draft_fn random_norm, random_along;   /* normalizations; what works along one axis */
extern draft_fn *const random_more[]; /* operators of wide graphs, as often as listed */
extern const unsigned random_more_count, random_more_keep; /* the first ones keep the size of their input */

#endif
