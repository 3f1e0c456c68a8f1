/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of operators on a target (docs/cost.md). No clock and no measurement: the same binary has the same cost
 * everywhere. */
#ifndef PREPARE_COST_H
#define PREPARE_COST_H

#include "base/vec.h"
#include "prepare/prepare.h"

/* Fills cycles of every node; the sum is returned. Tensors and nodes are those of `g`, placed already. */
uint64_t cost_nodes(const struct cost_rates *r, const struct binary_graph *g, struct binary_node *nodes);

/* What an operator keeps busy, in cycles. */
struct cost_work {
    uint64_t matrix, vector, move; /* move: between fast memory and the unit that works */
    uint64_t within;               /* of an activation that is work of the product before it: vectors of it */
    bool none;               /* nothing to do, or done by the operator before it: not even launched */
};
/* What the work of an operator depends on besides its own operands, per tensor. */
struct cost_tensor {
    uint32_t first_reader; /* node; BINARY_NONE: none */
    bool tall;             /* one line that lies in tiles of an image */
};
void cost_list_tensors(const struct binary_graph *g, struct cost_tensor *ret); /* cost_layout.c */
void cost_work(const struct cost_device *d, const struct binary_graph *g, uint32_t node, const struct cost_tensor *tensors,
               struct cost_work *ret);
/* Operations of a node with what the units do for the padding of tiles; at least macs. */
uint64_t cost_padded_macs(const struct binary_graph *g, const struct binary_node *n);
/* Vector units, for a product with its own sigmoid. */
uint64_t cost_swish(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n,
                    const struct cost_tensor *tensors);
bool cost_is_product(const struct binary_node *n); /* work of the matrix unit */
bool cost_follows(const struct binary_node *n);    /* an activation that a product does with its results */
bool cost_clamps(const struct binary_node *n);     /* one that many operators do as they store */
bool cost_stores_clamped(const struct binary_node *n);

/* How tensors lie (cost_layout.c): a window that goes along one line; a Transpose after which other elements stand side by
 * side, or a block of pixels that becomes few channels or is made of them. */
enum { COST_TALL = 8, COST_DEEP = 32 }; /* lines and channels of a tile */
bool cost_along_line(const struct binary_graph *g, const struct binary_node *n);
bool cost_turns(const struct binary_graph *g, const struct binary_node *n);

/* Steps of a recurrent operator (cost_recurrent.c); false: it is none. */
struct cost_steps {
    uint32_t n, rows, depth; /* depth: of the state */
    uint64_t weights; /* bytes that each step needs besides its input's */
};
bool cost_steps(const struct binary_graph *g, const struct binary_node *n, struct cost_steps *ret);
/* The same, for those that are launched, and bring their weights, in every step. */
bool cost_steps_apart(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n,
                      struct cost_steps *ret);

/* The same by events, command by command: matrix unit, threads of the vector units and DMA side by side. Cycles of a node
 * are what it adds to the time of all, so that they sum up to the time of the graph. */
struct cost_spans {
    VEC(struct binary_span) list; /* of what a command keeps busy; spans of one command need not stand together */
};
struct cost_result {
    uint64_t cycles;
    struct cost_spans *spans; /* the caller's, to be filled; NULL: not wanted */
};
enum status cost_events(const struct cost_device *d, const struct binary_graph *g, struct binary_node *nodes,
                        struct cost_result *ret);

#endif
