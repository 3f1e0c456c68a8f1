/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel probe gets from another language (probe.py has the same structures), and how it becomes a call of an
 * operator. */
#ifndef TESTS_KERNELS_PROBE_H
#define TESTS_KERNELS_PROBE_H

#include <stdint.h>

#include "kernels/kernels.h"
#include "ops/ops.h"

#define EXPORT __attribute__((visibility("default")))

/* All fields have natural alignment there too. */
struct probe_tensor {
    uint32_t type, rank;
    uint32_t dims[MAX_RANK];
    uint32_t quant_kind, bits;
    int32_t axis;
    uint32_t n;
    const float *scales;      /* one for Q_TENSOR, n for Q_AXIS */
    const int32_t *offsets;
    void *data;               /* NULL: absent input */
    uint64_t bytes;
    uint32_t is_constant;     /* contents known at prepare */
    uint32_t absent;
    uint32_t mapping, blocks_per_axis, block_scale_storage, block_scale_bits;
    uint32_t block[MAX_RANK];
    const void *block_scales;
    const float *float_offsets;
};

struct probe_param {
    const char *name;
    uint32_t type, rank;
    uint32_t dims[MAX_RANK];
    uint32_t count;
    const void *data;
};

struct probe_case {
    const char *op;
    uint32_t n_in, n_out, n_params, isa;
    struct probe_tensor *in, *out;
    const struct probe_param *params;
    float post_lo, post_hi;
    uint32_t tiles;           /* number of tiles to cut the extent into; 0: one */
    uint32_t use_aux;         /* 0: bind without derived constants even where the family wants them */
    void *state;              /* what the operator keeps between runs, state_room bytes; NULL: zeros that are thrown away */
    uint64_t state_room;
    uint64_t state_bytes;     /* out: how much of it the kernel asked for */
    uint32_t ended;           /* out: the kernel had nothing to say yet */
    char kernel[64];          /* out: the variant that ran */
    char facts[8];            /* out: what each backend says of the call: L listed, S silent, R refused */
    char text[STATUS_TEXT_MAX]; /* out: the explanation of a failure */
};

struct probe_run {
    struct op_call call;
    struct tensor_desc desc[KERNEL_MAX_OPERANDS];
    const struct tensor_desc *in[KERNEL_MAX_OPERANDS], *out[KERNEL_MAX_OPERANDS];
    const void *in_data[KERNEL_MAX_OPERANDS];
    void *data[KERNEL_MAX_OPERANDS];
    struct op_value params[16];
    void *aux[KERNEL_MAX_AUX];
    void *args, *work, *state;
};

/* The call that a case describes; op_check has not seen it yet. */
enum status probe_fill_call(struct probe_run *r, struct probe_case *c);

#endif
