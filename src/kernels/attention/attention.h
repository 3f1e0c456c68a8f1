/* SPDX-License-Identifier: Apache-2.0 */
/* GroupQueryAttention: docs/numerics.md section 15. */
#ifndef KERNELS_ATTENTION_ATTENTION_H
#define KERNELS_ATTENTION_ATTENTION_H

#include "kernels/kernels.h"
#include "kernels/span.h"

enum {
    GQA_QUERY,
    GQA_SEQLENS,
    GQA_TOTAL,
    GQA_KEY,
    GQA_VALUE,
    GQA_PAST_KEY,
    GQA_PAST_VALUE,
    GQA_COS,
    GQA_SIN,
    GQA_POSITIONS,
    GQA_INPUTS
};
enum { GQA_OUT, GQA_PRESENT_KEY, GQA_PRESENT_VALUE, GQA_OUTPUTS };

struct attention_args {
    uint32_t batch, sequence, heads, kv_heads, size;
    uint32_t past, present;  /* rows of the caches */
    uint32_t turned, table;  /* values of a head that rotate, positions in the tables; 0: none */
    uint32_t n_in;
    bool packed;             /* query holds keys and values too */
    float scale;
    uint32_t given, wanted;  /* bit sets of operands */
    enum dtype seqlens, positions;
    struct codec in[GQA_INPUTS], out[GQA_OUTPUTS];
};

kernel_fn attention_ref, attention_avx2, attention_avx512;

#endif
