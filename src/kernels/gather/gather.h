/* SPDX-License-Identifier: Apache-2.0 */
/* Values picked or placed by index tensors (docs/numerics.md section 7).
 *
 *   gather   slices of in[0] named by one index: Gather, BatchPermutation; by a tuple of them: GatherNd
 *   table    Gather of rows that are stored in blocks, as floats
 *   elements GatherElements: one index per output element
 *   scatter  a copy of in[0], then updates in order: ScatterElements, ScatterNd
 *   one_hot, top_k, non_zero                                                                                    */
#ifndef KERNELS_GATHER_GATHER_H
#define KERNELS_GATHER_GATHER_H

#include "kernels/encoding.h"
#include "kernels/kernels.h"
#include "kernels/mover.h"
#include "kernels/view.h"

struct gather_args {
    enum dtype index_type;
    uint32_t n_in;
    uint32_t depth;               /* indices per slice */
    uint32_t dims[MAX_RANK];      /* sizes that they index */
    uint64_t strides[MAX_RANK];   /* elements of in[0] per step */
    uint64_t outer, tuples;       /* independent parts of in[0], and index tuples for each */
    bool own_indices;             /* each part has its own tuples */
    uint64_t part, slice;         /* elements of a part, of a slice */
    struct mover mover;
};

struct table_args {
    struct gather_args at;
    struct encoding table;
    struct codec out;
};

/* GatherElements and ScatterElements: element e of the index tensor lies at view position e, with the axis taken out. */
struct elements_args {
    enum dtype index_type;
    uint64_t total, copied;       /* index elements; scatter: elements of in[0] */
    uint32_t size;                /* of the axis */
    int64_t step;
    struct view view;
    struct mover mover, update;   /* in[0] -> out, in[2] -> out */
    struct codec first, before, after; /* scatter with a reduction: in[0], out and in[2] as numbers */
    uint32_t reduction;
    bool whole;                   /* reductions on integers */
    bool once;                    /* reductions of fixed point: real numbers in the workspace, stored at the end */
};

struct scatter_nd_args {
    struct gather_args at;        /* where slices are in the output */
    struct elements_args how;
};

struct one_hot_args {
    enum dtype index_type;
    uint64_t outer, inner;
    uint32_t depth;
    _Alignas(8) uint8_t on[8], off[8];
    struct mover mover;
};

struct top_k_args {
    uint32_t n_in, n, k;
    bool smallest, indices;
    uint64_t rows;
    enum dtype index_type;
    struct mover mover;
};

struct non_zero_args {
    uint32_t rank;
    uint32_t dims[MAX_RANK];
    uint64_t total, rows;
    enum dtype index_type;
    struct codec in;
};

kernel_fn gather_ref, gather_avx2, gather_avx512;
kernel_fn table_ref, table_avx2, table_avx512;
kernel_fn elements_ref, elements_avx2, elements_avx512;
kernel_fn scatter_elements_ref, scatter_elements_avx2, scatter_elements_avx512;
kernel_fn scatter_nd_ref, scatter_nd_avx2, scatter_nd_avx512;
kernel_fn one_hot_ref, one_hot_avx2, one_hot_avx512;
kernel_fn top_k_ref, top_k_avx2, top_k_avx512;
kernel_fn non_zero_ref, non_zero_avx2, non_zero_avx512;

#endif
