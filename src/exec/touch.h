/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory steps and commands touch. Private to exec/. */
#ifndef EXEC_TOUCH_H
#define EXEC_TOUCH_H

#include "exec/program.h"

enum { TOUCH_SPANS = 24 }; /* with more, somebody is taken to touch everything */

/* `space` tells memory apart: a place, or PLACE_COUNT + the entry of the I/O table. */
struct touch_span {
    uint64_t space, begin, end;
    bool write;
};

struct touched {
    uint64_t macs;
    uint32_t n; /* > TOUCH_SPANS: too many */
    struct touch_span at[TOUCH_SPANS];
};

/* All of a node's memory; of its whole chain. `phased`: as exec_program.phased. */
void touch_nodes(struct touched *t, const struct binary_graph *g, const uint8_t *phased, uint32_t node);
/* What one command touches of it: parts of the result and of inputs where its kernel says which, else all. */
void touch_part(struct touched *t, const struct exec_program *p, const struct exec_command *c);
/* One of the two writes what the other one touches. */
bool touched_meet(const struct touched *a, const struct touched *b);

#endif
