/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of operators on a target, by a few rates (docs/cost.md). No clock and no measurement: the same binary has the same cost everywhere. */
#ifndef PREPARE_COST_H
#define PREPARE_COST_H

#include "prepare/prepare.h"

/* Fills cycles of every node; the sum is returned. Tensors and nodes are those of `g`, placed already. */
uint64_t cost_nodes(const struct cost_rates *r, const struct binary_graph *g, struct binary_node *nodes);

#endif
