/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile contents for tensors: NaN, infinities, denormals and huge reals; the ends of integer types; indices just inside,
 * just outside and far away; next to them ordinary small numbers, so that not all computing ends at the first of them. */
#ifndef TESTS_FUZZ_FILL_H
#define TESTS_FUZZ_FILL_H

#include "fuzz_bytes.h"
#include "ops/ops.h"

/* Fills desc_bytes(d) bytes. Draws from the generator of `b` alone, however large the tensor is. */
void fuzz_fill(struct fuzz_bytes *b, const struct tensor_desc *d, void *data);

#endif
