/* SPDX-License-Identifier: Apache-2.0 */
/* What gpu_fuse.c and gpu_fuse_chain.c share. */
#ifndef BACKEND_GPU_GPU_FUSE_PARTS_H
#define BACKEND_GPU_GPU_FUSE_PARTS_H

#include "backend/gpu/gpu_fuse.h"

struct fuse {
    const struct binary_graph *g;
    struct gpu_launch *at;
    uint32_t n;
    uint32_t *uses;     /* per tensor: launches that read it */
    uint32_t *producer; /* per tensor: the launch that writes it, BINARY_NONE: none */
};

bool fuse_gone(const struct gpu_launch *l);        /* it became part of another */
uint32_t fuse_out(const struct gpu_launch *l);     /* its output, where it has one */
bool fuse_overlap(const struct binary_graph *g, uint32_t a, uint32_t b);    /* of two tensors' memory */
bool fuse_same_place(const struct binary_graph *g, uint32_t a, uint32_t b);
/* The launch that makes tensor t for one reader alone, or BINARY_NONE. */
uint32_t fuse_only_producer(const struct fuse *f, uint32_t t);
/* Launch `first` writes what `then` wrote, which is gone. */
void fuse_move_output(struct fuse *f, uint32_t first, uint32_t then);

/* Launch k, a function of one or two operands, and the one that makes its operand. */
void fuse_chain(struct fuse *f, uint32_t k);

#endif
