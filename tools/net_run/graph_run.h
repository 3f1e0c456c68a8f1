/* SPDX-License-Identifier: Apache-2.0 */
/* Executes one graph over its inputs: once per input, a number of times, or for a time; one after the other or several at
 * once. */
#ifndef TOOLS_NET_RUN_GRAPH_RUN_H
#define TOOLS_NET_RUN_GRAPH_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "net_run/graph_io.h"
#include "session/session.h"

struct run_options {
    int64_t inferences;   /* 0: once through the list */
    int64_t duration_s;   /* 0: no time */
    int64_t keep_outputs; /* negative: one pass */
    int64_t timeout_us;   /* 0: none */
    bool async;
    uint32_t depth; /* executions at once when async */
};

struct run_totals {
    uint64_t executions;
    uint64_t busy_ns; /* inside execute; with async from the first to the last */
};

enum status graph_run(struct session *s, struct graph_io *io, const struct run_options *opt, struct run_totals *ret);

#endif
