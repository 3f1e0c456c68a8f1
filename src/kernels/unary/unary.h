/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one operand, element by element: docs/numerics.md section 5. */
#ifndef KERNELS_UNARY_UNARY_H
#define KERNELS_UNARY_UNARY_H

#include "kernels/kernels.h"
#include "kernels/span.h"

/* ElementWiseUnary's operations in their order, ElementWiseNeuron's in theirs, then the rest. */
enum unary_op {
    UN_ABS,
    UN_ASIN,
    UN_ATAN,
    UN_CEIL,
    UN_COS,
    UN_EXP,
    UN_FLOOR,
    UN_LOG,
    UN_NEG,
    UN_NOT,
    UN_RECIPROCAL,
    UN_ROUND,
    UN_RSQRT,
    UN_SIGN,
    UN_SIN,
    UN_SQRT,
    UN_ELU,
    UN_GELU,
    UN_HARD_SIGMOID,
    UN_HARD_SWISH,
    UN_RELU,
    UN_CLAMP,
    UN_SIGMOID,
    UN_SOFTPLUS,
    UN_TANH,
    UN_LOGIT,
    UN_IS_NAN,
    UN_IS_INF,
    UN_COUNT
};

struct unary_fn {
    enum unary_op op;
    double alpha, beta, threshold, lo, hi;
};

enum unary_mode {
    UN_MODE_F64,    /* the general way: f in f64 */
    UN_MODE_F32,    /* functions that are exact or correctly rounded in f32 anyway */
    UN_MODE_QUICK,  /* floats through kernels/quick.h */
    UN_MODE_I64,    /* integer in, integer out */
    UN_MODE_LIMIT,  /* clamps between equal encodings: stored values are limited */
    UN_MODE_TABLE8, /* one table entry per stored 8-bit value */
    UN_MODE_TABLE16,
};

struct unary_args {
    uint64_t total, unit; /* elements, of all and of a unit of work */
    struct unary_fn fn;
    enum unary_mode mode;
    uint8_t out_bytes;
    int32_t least, most; /* UN_MODE_LIMIT */
    const void *table; /* entry i: the result for the storage bits i */
    struct codec in, out;
};

/* f of n numbers in place, n <= SPAN */
void unary_f64_ref(const struct unary_fn *f, double *x, uint32_t n);
void unary_f64_avx2(const struct unary_fn *f, double *x, uint32_t n);
void unary_f64_avx512(const struct unary_fn *f, double *x, uint32_t n);
int unary_quick(enum unary_op op); /* the function of kernels/quick.h; -1: none */
bool unary_has_f32(enum unary_op op);
bool unary_has_i64(enum unary_op op);

kernel_fn unary_ref, unary_avx2, unary_avx512, unary_bytes_avx512;

#endif
