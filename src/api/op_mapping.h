/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators of the source the nodes and tensors of a graph were made from (private to api/). */
#ifndef API_OP_MAPPING_H
#define API_OP_MAPPING_H

#include "QNN/QnnTypes.h"
#include "ir/ir.h"

/* In the arena; false: no memory. */
bool op_mapping_make(struct arena *a, const struct ir_graph *g, Qnn_OpMapping_t *ret);

#endif
