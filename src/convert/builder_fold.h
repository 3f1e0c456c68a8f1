/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that build_node computes instead of building them. Private to the builder. */
#ifndef CONVERT_BUILDER_FOLD_H
#define CONVERT_BUILDER_FOLD_H

#include "convert/builder.h"

/* The results as constants, when all inputs are, and it is a small computation with integers or truth values; otherwise
 * *done is false. */
enum status build_folded(struct builder *b, const struct op_call *c, const struct tensor_desc *out, uint32_t *ret,
                         bool *done);

#endif
