/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse tensors are kept dense, with zeros where nothing is: docs/numerics.md section 14. Rows of indices name places in
 * the first `depth` dimensions; what lies behind is a run of `row` values. */
#ifndef KERNELS_SPARSE_SPARSE_H
#define KERNELS_SPARSE_SPARSE_H

#include "kernels/kernels.h"
#include "kernels/mover.h"

struct sparse_args {
    uint32_t depth, dims[MAX_RANK];
    uint64_t places, row, rows; /* places of the dense tensor, values of each; rows of the index or value tensor */
    enum dtype index_type;
    struct codec in;
    struct mover mover;
};

kernel_fn sparse_create_ref, sparse_indices_ref, sparse_values_ref, sparse_dense_ref;

#endif
