/* SPDX-License-Identifier: Apache-2.0 */
/* What tile_chain.c asks about runs of nodes (chain_shape.c). Private to prepare/. */
#ifndef PREPARE_CHAIN_H
#define PREPARE_CHAIN_H

#include "prepare/cx.h"

enum { CHAIN_WEIGHTS = 16 }; /* share of a window that the weights of a member may always have; more where there is room */

struct chain_input {
    uint32_t maker, input;
    bool whole; /* it is wanted whole, not by lines */
    struct op_reach reach;
};

/* The second operand of a product that is a result as well: one matrix for so many lines. 0 bytes: none. */
struct chain_pack {
    uint64_t bytes;
    uint32_t lines;
};

/* Facts about single nodes and tensors. */
struct chain_graph {
    const struct prepare_cx *cx;
    bool *member;          /* per node: it can be one, at any place of a chain */
    uint32_t *maker;       /* per tensor, IR_NONE: not a node */
    uint32_t *last_reader; /* per tensor, IR_NONE: none */
    bool *whole;           /* per tensor: it must exist as a tensor */
    uint32_t *mates;       /* per tensor: tensors that are the same memory, with it; more than 1 where there are views */
    uint64_t *weights;     /* per node: bytes of its constants */
    struct chain_pack *packs;  /* per node: what its kernel brings into form while running */
    struct binary_box_op *box; /* per member; NULL: the target has no window */
    uint64_t *again; /* per member: bytes of weights, or of a matrix that takes their place, that are so many that the window
                        may not hold them, so that they come again for every slab */
    uint32_t *first_input; /* per node: inputs[first_input[k]] … inputs[first_input[k + 1]] are results of other nodes */
    struct chain_input *inputs;
};

/* The nodes node … node + chain.n - 1 as a chain. */
struct chain_shape {
    struct op_chain chain;
    uint32_t node;
    uint32_t lines, images;             /* of the last result, in one of the images (op_chain_images) */
    struct op_lines line[OP_CHAIN_MAX]; /* per member: lines of its result */
    uint32_t pixels[OP_CHAIN_MAX];      /* of a line */
    uint64_t weights[OP_CHAIN_MAX];
    struct chain_pack packs[OP_CHAIN_MAX];
    bool view[OP_CHAIN_MAX]; /* by itself it would do nothing */
    bool open;               /* views of one memory are inside and outside: with more nodes it may become a chain */
    uint32_t first[OP_CHAIN_MAX + 1];
    struct op_chain_edge edges[4 * OP_CHAIN_MAX];
};

/* Runs of operators that could be chains if they stood beside each other (chain_order.c). Nodes are those of the order as it
 * is. */
struct chain_runs {
    bool *refused;      /* per node: no run ends here */
    uint32_t *first_of; /* per node: the first of the run that ends here, IR_NONE: none does */
    uint32_t *order;    /* another order, in which they do: node order[k] becomes node k */
    bool any;
};

enum status chain_graph(struct prepare_cx *cx, struct chain_graph *ret);
/* Fills all but `refused`. */
enum status chain_gather(struct prepare_cx *cx, const struct chain_graph *g, struct chain_runs *ret);
/* False: these nodes are no chain. */
bool chain_shape(const struct chain_graph *g, uint32_t node, uint32_t n, struct chain_shape *ret);
/* Of the window, while so many lines of the last result are computed: slabs in tile layout, weights, lines of what the chain
 * reads and of what it makes. */
uint64_t chain_window_bytes(const struct chain_graph *g, const struct chain_shape *s, uint32_t height);
/* That a product goes through one after the other, each with some of its lines; 1: the same for all. */
uint32_t chain_matrices(const struct chain_graph *g, uint32_t node);
uint64_t chain_slab_bytes(const struct chain_shape *s, uint32_t height);

#endif
