/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of operators that are attention, for the passes that change how it is computed. Private to prepare/. */
#ifndef PREPARE_TILE_RUN_H
#define PREPARE_TILE_RUN_H

#include "prepare/cx.h"

enum { TILE_RUN_MAX = 8 };
enum { ROWS = 2, HEADS = 3 }; /* dimensions, counted from the last one */

/* Every result inside is seen by the next operator alone; one head's rows need nothing of another's. */
struct tile_run {
    uint32_t node[TILE_RUN_MAX], n; /* in their order */
    uint8_t from[TILE_RUN_MAX];     /* which input is the result of the one before */
};

/* The run whose second product is this node; false: it is no such product. */
bool tile_run_find(const struct ir_graph *g, const struct ir_uses *uses, uint32_t last, struct tile_run *ret);
/* Of a dimension counted from the last one; 1 where there is none. */
uint32_t tile_run_extent(const struct tensor_desc *d, uint32_t side);

#endif
