/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes of one prepare run share (private to prepare/). */
#ifndef PREPARE_CX_H
#define PREPARE_CX_H

#include "base/vec.h"
#include "kernels/kernels.h"
#include "prepare/prepare.h"

/* Where plan_memory put a tensor. */
struct placement {
    uint8_t place; /* enum binary_place */
    uint64_t offset, bytes;
    uint32_t first, last;
};

/* Tensors that are one memory in any order of operators (plan_cells.c). */
struct cell {
    uint8_t place; /* PLACE_SCRATCH, PLACE_VTCM, PLACE_SPILL, PLACE_IO (of: entry of the I/O table) or PLACE_CONST (of:
                      tensor) */
    bool
        room; /* takes memory that is planned: the first three, and in scratch PLACE_IO where the target plans room for it */
    bool early, late; /* there before the first operator, after the last one */
    uint32_t of;
    uint64_t bytes;   /* of the memory it takes: in fast memory with the padding of tiles */
};

/* What is known of a node's kernel and its tiles. */
struct node_plan {
    uint32_t extent, tiles;
    uint32_t phases;                    /* > 1: tiles are of one phase, a step each (kernels.h) */
    uint64_t work_bytes, work_offset, macs;
    uint64_t state_bytes, state_offset; /* in persistent memory */
};

/* A run of nodes that is computed slab by slab, so that what they hand to each other is a few lines in the workspace of a
 * thread and never a tensor in scratch (tile_chain.c). The nodes first … first + n - 1 follow each other; all results but
 * the last are read inside the chain only. */
struct chain {
    uint32_t first, n;
    uint32_t lines;       /* of the last result: units of the chain's commands */
    uint32_t images;      /* that they belong to (op_chain_images) */
    uint32_t height;      /* of them that are computed at a time */
    uint32_t tiles;       /* commands that the lines are cut into */
    uint64_t slab_bytes;  /* lines of all results but the last */
    uint64_t work_bytes;  /* slabs, behind them the largest workspace of a member */
    uint64_t work_offset; /* in scratch, alive from the first to the last member */
};

/* Where the lines of a result lie that is only seen inside its chain. */
struct chain_slab {
    uint64_t offset; /* from the beginning of the chain's workspace */
    uint64_t bytes;  /* 0: a tensor like any other */
};

/* Whether boxes are such that two of them fit: where it hardly costs more, never, wherever it can be. */
enum box_taste { BOXES_USUAL, BOXES_LARGE, BOXES_PAIRS };

struct prepare_cx {
    const struct prepare_target *target;
    const struct prepare_opts *opts;
    uint32_t level;       /* of optimization: how much is tried */
    enum box_taste boxes;
    bool unchained; /* no chains: operators work side by side instead of handing lines to each other */
    struct ir_graph *g;
    struct arena arena; /* lives as long as the run */
    uint32_t n_source_nodes;

    /* filled by plan_order (or plan_memory, where it runs alone) */
    struct cell *cells;
    uint32_t *cell_of;        /* per tensor, IR_NONE: no memory */
    uint32_t n_cells;
    struct node_plan *nodes;  /* per node */
    uint32_t *given_order;    /* NULL: as the client gave it; else where each operator of that order stands now */
    uint64_t given_live;      /* its peak */
    uint64_t order_bound;     /* no order of operators needs less scratch; 0: not known */

    struct chain_taste {
        uint32_t share;       /* weights of more than 1 / n of the window count against a chain; 0: the usual share */
        uint32_t times;       /* slabs may take so many times the target's limit; 0: once */
    } chain_taste;

    /* filled by tile_chain, when operators have their order; none: chains NULL */
    struct chain *chains;     /* in the order of their nodes */
    uint32_t n_chains;
    uint32_t *chain_of;       /* per node: its chain, IR_NONE: none */
    struct chain_slab *slabs; /* per tensor */

    /* filled by tile_vtcm */
    uint8_t *wanted;          /* per tensor between nodes: PLACE_VTCM or PLACE_SPILL; NULL: all of them in scratch */
    struct binary_tile *tiles; /* per node, of a chain the last one; NULL: there is no window */

    /* filled by plan_memory, read by emit */
    struct placement *places; /* per tensor */
    uint32_t *io;             /* tensors of the I/O table: inputs, then outputs */
    uint32_t n_inputs, n_outputs;
    struct placement *homes;  /* per entry of the I/O table: its room in scratch; NULL: the client brings all of them */
    uint64_t scratch_bytes, live_bytes, persistent_bytes, vtcm_used, spill_bytes;
    bool plan_optimal;

    /* filled by emit_commands */
    uint32_t *step_of, *last_step; /* per node */
    uint32_t n_steps;
    VEC(struct binary_command) commands;

    uint64_t cycles; /* filled by emit_binary: the estimate */
};

/* Everything that a node touches while it runs: inputs, outputs, then the tensors of its guards; IR_NONE: absent. */
static inline uint32_t plan_ports(const struct ir_node *n)
{
    return n->n_in + n->n_out + n->n_guards;
}

static inline uint32_t plan_port(const struct ir_node *n, uint32_t i)
{
    uint32_t io = n->n_in + n->n_out;
    return i < n->n_in ? n->in[i] : i < io ? n->out[i - n->n_in] : n->guards[i - io].tensor;
}

/* ST_ABORTED or ST_TIMED_OUT when the client wants no more of it. */
enum status prepare_interrupted(const struct prepare_cx *cx);

/* plan_cells.c: cells, the I/O table, and what kernels say of each node. */
enum status plan_cells(struct prepare_cx *cx);
enum status plan_cells_again(struct prepare_cx *cx);           /* the graph has changed; cx->nodes is up to date */
enum status plan_node(struct prepare_cx *cx, uint32_t node);   /* fills cx->nodes[node] */
bool plan_is_view(const struct ir_graph *g, const struct ir_node *n); /* its output is its first input in other clothes */
/* plan_memory.c: the window that a plan of the order as it is needs, no longer searched for below `enough`. */
enum status plan_vtcm_total(struct prepare_cx *cx, uint64_t enough, uint64_t *ret);
/* The only output of n may be written over input i, once nobody else needs that. */
bool plan_may_replace(const struct prepare_cx *cx, const struct ir_node *n, uint32_t i);
/* Bytes as scratch memory counts them. */
uint64_t plan_round(const struct prepare_cx *cx, uint64_t bytes);
/* plan_order.c: bring nodes into another order; node order[k] becomes node k. */
enum status plan_reorder(struct prepare_cx *cx, const uint32_t *order);

/* The chain of node k, NULL: none. */
static inline const struct chain *plan_chain(const struct prepare_cx *cx, uint32_t k)
{
    return cx->chain_of && cx->chain_of[k] != IR_NONE ? &cx->chains[cx->chain_of[k]] : NULL;
}

/* Run the kernel of a node whose inputs are all constant; `out` has room for every output. */
enum status fold_run(struct prepare_cx *cx, const struct ir_node *n, void *const *out);

/* emit_storage.c: tensors and nodes of the file, as prepare_opts.store_as wants them. */
enum status emit_storage(const struct prepare_cx *cx, struct binary_tensor *tensors, const void *const *data,
                         struct binary_node *nodes);
enum status emit_binary(struct prepare_cx *cx, struct binary_image *ret); /* ret NULL: only the estimate */

#endif
