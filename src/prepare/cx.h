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

/* What is known of a node's kernel and its tiles. */
struct node_plan {
    uint32_t extent, tiles;
    uint64_t work_bytes, work_offset, macs;
};

struct prepare_cx {
    const struct prepare_target *target;
    const struct prepare_opts *opts;
    struct ir_graph *g;
    struct arena arena; /* lives as long as the run */
    uint32_t n_source_nodes;

    /* filled by plan_memory, read by emit */
    struct placement *places; /* per tensor */
    struct node_plan *nodes;  /* per node */
    uint32_t *io;             /* tensors of the I/O table: inputs, then outputs */
    uint32_t n_inputs, n_outputs;
    struct placement *homes;  /* per entry of the I/O table: its room in scratch; NULL: the client brings all of them */
    uint64_t scratch_bytes, live_bytes;
    bool plan_optimal;

    VEC(struct binary_command) commands;
};

/* ST_ABORTED or ST_TIMED_OUT when the client wants no more of it. */
enum status prepare_interrupted(const struct prepare_cx *cx);

/* Run the kernel of a node whose inputs are all constant; `out` has room for every output. */
enum status fold_run(struct prepare_cx *cx, const struct ir_node *n, void *const *out);

enum status emit_binary(struct prepare_cx *cx, struct binary_image *ret);

#endif
