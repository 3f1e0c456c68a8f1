/* SPDX-License-Identifier: Apache-2.0 */
/* What a timeline is made of: the spans of a context binary's graphs, on lanes (trace_model.c), shown as a Chrome trace
 * (trace_reader.c) and as a report (trace_report.c). */
#ifndef TOOLS_PROFILE_VIEWER_TRACE_MODEL_H
#define TOOLS_PROFILE_VIEWER_TRACE_MODEL_H

#include <jansson.h>

#include "binary/binary.h"

/* A lane of the device: one thread of the vector units, or a whole unit. */
struct trace_span {
    struct binary_span span;
    uint32_t lane; /* of vectors: the thread; 0 where it is on all of them */
};

struct trace_graph {
    const struct binary_graph *g;
    uint32_t first, last;      /* nodes that are wanted */
    struct trace_span *spans;  /* in the order of their beginning */
    uint32_t n;
};

extern const char *const trace_units[UNIT_COUNT];
/* Nodes by the names of the command line; NULL: from the first, to the last one. ST_INVALID_ARG: the graph has no
 * such node. */
enum status trace_graph_open(const struct binary_graph *g, const char *start, const char *end, struct trace_graph *ret);
void trace_graph_close(struct trace_graph *t);
double trace_us(const struct trace_graph *t, uint64_t cycles);

/* The report: totals per unit, per type of operator, per operator, and what the time was spent on. */
json_t *trace_report(const struct trace_graph *t);
int trace_report_html(json_t *reports, FILE *to); /* not 0: it could not be written */

#endif
