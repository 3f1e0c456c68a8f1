/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of If when its graphs are in place: the results of the side that ran become the outputs, whole tensors at a
 * time. Those of the other side are not looked at. docs/numerics.md section 17. */
#ifndef KERNELS_BRANCH_BRANCH_H
#define KERNELS_BRANCH_BRANCH_H

#include "kernels/kernels.h"

enum { BRANCH_UNIT = 16384 /* bytes of every output that are one unit of work */ };

struct branch_args {
    uint32_t n_out;
    uint64_t bytes[MAX_PORTS]; /* per output */
};

kernel_fn branch_ref;

#endif
