/* SPDX-License-Identifier: Apache-2.0 */
/* Cases for the kernel tests of sums of products: from a small description to a call with random contents, ready to bind and
 * run. */
#ifndef TESTS_KERNELS_PRODUCT_CASE_H
#define TESTS_KERNELS_PRODUCT_CASE_H

#include "kernels/kernels.h"

/* xorshift: the same cases on every machine. */
struct rand {
    uint64_t s;
};
uint64_t rand_next(struct rand *r);
uint32_t rand_range(struct rand *r, uint32_t lo, uint32_t hi); /* both included */
double rand_unit(struct rand *r);

struct product_spec {
    enum op_id op;
    enum dtype x, w, b, out;       /* b DT_NONE: no bias */
    uint32_t batch, h, wd, ci, co; /* spatial; matrices: batch, h rows, ci inner, co columns */
    uint32_t kh, kw, stride[2], dilation[2], pad[4], group, opad[2];
    struct {
        uint32_t in, kernel, stride, dilation, pad[2], opad;
    } z;                           /* depth of Conv3d and TransposeConv3d */
    uint32_t w_batch;              /* MatMul: batches of the second operand, 1 or batch */
    uint32_t heads, w_heads;       /* MatMul: matrices of each batch, w_heads is 1 or heads; 0: no such dimension */
    bool transpose_x, transpose_w, constant, per_axis;
    int32_t x_zero, w_zero, out_zero;
    unsigned bits, mapping;
    enum quant_kind w_kind;        /* Q_NONE: as per_axis says; Q_EXPANSION, Q_BLOCK, Q_FLOAT_BLOCK */
    uint32_t block;                /* input channels of a block, a divisor of them */
    float post_lo, post_hi;
    bool tame;                     /* ordinary contents only: what networks have, for timing */
};

enum { PRODUCT_GUARD = 64 };

struct product_case {
    struct product_spec spec;
    struct op_call call;
    struct tensor_desc desc[4];
    const struct tensor_desc *in[3], *out[1];
    const void *in_data[3];
    struct op_value values[16];
    uint32_t numbers[16];
    uint8_t flags[2];
    float *scales, *float_offsets;
    int32_t *offsets;
    uint8_t *block_scales;
    void *data[4], *aux[KERNEL_MAX_AUX];
    uint8_t *guarded;              /* output with its guards */
    uint64_t out_bytes;
};

/* NULL on success, or why the description makes no sense (in which case there is nothing to free). */
const char *product_case_init(struct product_case *c, const struct product_spec *spec, struct rand *r);
void product_case_finish(struct product_case *c);

/* A running form of a case. */
struct product_run {
    struct kernel_bound bound;
    void *args, *work;
};
const char *product_bind(struct product_case *c, enum isa isa, struct product_run *run);
void product_run_tiles(struct product_case *c, const struct product_run *run, const uint32_t *cuts, uint32_t n);
void product_run_finish(struct product_run *run);

struct product_spec product_random(struct rand *r);
struct product_spec product_usual(struct rand *r); /* product_usual.c: layers of networks */
const char *product_text(const struct product_spec *s, char *buf, size_t size);

#endif
