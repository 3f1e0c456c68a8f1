/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings element by element (docs/numerics.md section 3, Effective weights): per axis, mapped, in blocks, expanded. Spans
 * (span.h) have the simple ones; this is for weights on their way into packed form and for conversions of whole tensors of
 * them.
 *
 *     real = integer * scale + float offset        integer = mapped(q + offset) * block scale */
#ifndef KERNELS_ENCODING_H
#define KERNELS_ENCODING_H

#include <stdbool.h>
#include <stdint.h>

#include "ops/ops.h"

struct encoding {
    enum dtype type;
    unsigned bits;                  /* true width of stored values */
    uint32_t rank;
    uint32_t dim_in;                /* the dimension that blocks of an expansion divide */
    uint32_t dims[MAX_RANK];
    uint64_t strides[MAX_RANK];
    struct quant q;                 /* arrays belong to the descriptor */
};

/* dim_in is the other one of the two last dimensions than the encoding's axis. */
void encoding_init(struct encoding *e, const struct tensor_desc *d);

bool encoding_is_simple(const struct quant *q);                             /* no blocks, no mapping: spans know it */
uint32_t encoding_entry(const struct encoding *e, uint64_t at);             /* which of the scales and offsets */
uint32_t encoding_block_scale(const struct quant *q, uint64_t i);           /* as stored */
int64_t encoding_mapped(const struct encoding *e, int64_t v);
int64_t encoding_stored(const struct encoding *e, const void *p, uint64_t at); /* cut to the true width */
int64_t encoding_integer(const struct encoding *e, const void *p, uint64_t at);
double encoding_scale(const struct encoding *e, uint64_t at);
double encoding_float_offset(const struct encoding *e, uint64_t at);
float encoding_real(const struct encoding *e, const void *p, uint64_t at);
/* The stored value that is nearest to x, inside lo … hi. */
int64_t encoding_nearest(const struct encoding *e, float x, uint64_t at, int64_t lo, int64_t hi);

#endif
