/* SPDX-License-Identifier: Apache-2.0 */
/* A limit for the memory that graphs plan with, OPENQNN_MEMORY_BUDGET (docs/memory.md). */
#ifndef API_MEMORY_BUDGET_H
#define API_MEMORY_BUDGET_H

#include <stdint.h>

#include "base/status.h"
#include "binary/binary.h"

/* *ret is given back when the graph is unloaded. */
enum status budget_take(const struct binary_graph_info *g, uint64_t *ret);
void budget_give(uint64_t bytes);

#endif
