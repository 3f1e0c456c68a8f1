/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, LogSoftmax and MaskedSoftmax along one axis: docs/numerics.md section 6. */
#ifndef KERNELS_SOFTMAX_SOFTMAX_H
#define KERNELS_SOFTMAX_SOFTMAX_H

#include "kernels/kernels.h"
#include "kernels/span.h"
#include "kernels/view.h"

struct softmax_args {
    uint32_t n_in;
    bool log, masked;
    uint32_t n;     /* length of a run */
    uint64_t inner; /* distance between its elements */
    uint64_t runs;
    uint64_t unit_runs; /* runs of a unit of work: one, or those of a line */
    float beta;
    struct codec in, mask, out;
    struct view mask_view; /* over the output's elements; masked runs are along the last axis */
    bool condition; /* the mask is a bool: entries whose flag is false are hidden */
    /* Compressed masks: one number per position, runs and positions compared. */
    bool compressed;
    uint32_t rows;         /* runs of a matrix; the last one belongs to the last position */
    uint64_t batch_runs;   /* runs that share their numbers; 0: all do */
};

/* 8-bit runs (softmax_bytes_body.h): tables that are kept at a time, and the least length that pays for them. */
enum { SOFTMAX_BYTE_TABLES = 16, SOFTMAX_BYTE_RUN = 128 };

/* Exponentials of bytes for one largest byte; what is behind that is not made. */
struct softmax_bytes {
    float e[256];
    uint8_t parts[4][256]; /* the same, byte by byte */
};

kernel_fn softmax_ref, softmax_avx2, softmax_avx512, softmax_bytes_avx2, softmax_bytes_avx512;

#endif
