/* SPDX-License-Identifier: Apache-2.0 */
/* Random small graphs that every rule of ops/ accepts and every kernel takes, for tests of ir/ and prepare/. */
#ifndef TESTS_PASSES_RANDOM_GRAPH_H
#define TESTS_PASSES_RANDOM_GRAPH_H

#include "ir/ir.h"

struct random_graph {
    struct ir_graph *g;
    uint64_t seed;
    enum dtype type;      /* of activations */
    bool after_product;   /* the newest tensor is one: passes like what comes now */
    bool has_batchnorm;   /* float results may then differ in the last bits */
    bool wide, large;
    bool lines;           /* only operators that can be computed line by line */
    bool choose;          /* there is an input of one truth value */
    uint32_t max_elements;
    uint64_t max_macs;    /* of one operator */
    float gain;           /* of the reals being drawn; 0: 1 */
};

/* The same seed gives the same graph on every machine. `nodes`: how many operators are tried at most. */
enum status random_graph_make(struct random_graph *r, uint64_t seed, unsigned nodes);
/* With more operators, float16 and changes of type; large: tensors of up to a few megabytes. What libQnnHtp.so refuses is
 * left out. */
enum status random_graph_make_wide(struct random_graph *r, uint64_t seed, bool large);
/* Images with many lines, sequences or matrices, one or a few, and operators that can be computed line by line: what chains
 * are made of. */
enum status random_graph_make_lines(struct random_graph *r, uint64_t seed, unsigned nodes);
void random_graph_free(struct random_graph *r);

uint32_t random_below(struct random_graph *r, uint32_t n);
/* Contents for a tensor: small reals, all values of a fixed-point type, small integers. */
void random_fill(struct random_graph *r, const struct tensor_desc *d, void *data);

#endif
