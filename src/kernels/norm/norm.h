/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations: docs/numerics.md section 6. A run is the set of elements that share statistics; both the runs and the
 * elements of one are views of the input, and gamma and beta are views along them. */
#ifndef KERNELS_NORM_NORM_H
#define KERNELS_NORM_NORM_H

#include "kernels/kernels.h"
#include "kernels/span.h"
#include "kernels/view.h"

enum { NORM_COLUMNS = 64 };

struct norm_args {
    uint32_t n_in;
    enum op_norm kind;
    bool gamma_given, beta_given;
    uint64_t runs, n;
    uint64_t unit_runs; /* runs of a unit of work: one, or those of a line */
    float eps;
    struct view outer, run;             /* elements of the input */
    struct view outer_affine, run_affine; /* elements of gamma and beta */
    /* Many runs at once (norm_columns.h); columns 0: one after the other. */
    uint32_t columns, group, channels;    /* channels of a block, of a run, of a pixel */
    uint64_t pixels;                      /* of an image */
    struct codec in, gamma, beta, out;
};

struct lrn_args {
    uint32_t dims[4]; /* outer, height, width, channels; across channels height = width = 1 */
    uint32_t radius;
    bool spatial;
    float alpha, beta, bias;
    struct codec in, out;
};

kernel_fn norm_ref, norm_avx2, norm_avx512;
kernel_fn lrn_ref, lrn_avx2, lrn_avx512;

#endif
