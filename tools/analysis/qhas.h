/* SPDX-License-Identifier: Apache-2.0 */
/* QHAS, the HTP analysis summary: where the estimated time of a graph goes. One report per graph as JSON
 * (qhas_report.c, docs/qhas.md), and as a page (qhas_page.c). */
#ifndef TOOLS_ANALYSIS_QHAS_H
#define TOOLS_ANALYSIS_QHAS_H

#include <jansson.h>
#include <stdio.h>

#include "base/arena.h"
#include "binary/binary.h"

/* A graph with a timeline, or a part of it. */
struct qhas_graph {
    const struct binary_graph *g;
    uint32_t index;             /* in its file */
    const bool *wanted;         /* per node; NULL: all of them */
    const struct binary_target *target; /* NULL: not known */
    const char *const *sources; /* per node, operators of the framework; NULL, or entries NULL: not known */
};

/* The units of enum binary_unit, and behind them the time in which none of them works. */
enum { QHAS_LAUNCH = UNIT_COUNT, QHAS_UNITS };
extern const char *const qhas_units[QHAS_UNITS]; /* "HMX", "HVX", "DMA read", "DMA write", "SyncOp" */

/* The time that the dominant path gives to an operator on a unit; node BINARY_NONE: nothing works. */
struct qhas_stretch {
    uint64_t start, end;
    uint32_t node;
    uint8_t unit;
};

/* What spans say of an operator. */
struct qhas_node {
    uint64_t busy[UNIT_COUNT]; /* cycles; those of vectors are of all threads together, divided by their number */
    uint64_t begin, end;       /* cycles */
    uint64_t path;             /* cycles of the dominant path */
    uint64_t padded;           /* operations with padding */
    uint32_t step;
    struct binary_moves moves;
};

struct qhas_model {
    const struct qhas_graph *q;
    struct binary_span *spans; /* of wanted nodes, in the order of their beginning */
    uint32_t n_spans;
    struct qhas_stretch *path;
    uint32_t n_path;
    struct qhas_node *nodes; /* one per node of the graph */
    const char **names;      /* per node, shortened to what tells it apart */
    uint64_t cycles;         /* of wanted nodes */
    uint32_t n_wanted;
};

enum status qhas_model_make(const struct qhas_graph *q, struct arena *a, struct qhas_model *ret);
/* The dominant path (qhas_path.c). */
enum status qhas_path_find(struct qhas_model *m, struct arena *a);
bool qhas_wanted(const struct qhas_graph *q, uint32_t node);
double qhas_us(const struct qhas_model *m, uint64_t cycles);
/* What the time of an operator is bound by: "HMX", "HVX", "DMA", "launch", or "hidden" behind others. */
const char *qhas_bound(const struct qhas_model *m, uint32_t node);
double qhas_percent(uint64_t part, uint64_t all);

/* The report; NULL: there is no memory, status_text() says so. */
json_t *qhas_report(const struct qhas_graph *q);
extern const char qhas_schema[]; /* the JSON schema of an array of reports */

/* The page. Names of files beside it, NULL: there is none. */
struct qhas_links {
    const char *trace, *memory_map;
};
int qhas_html(const json_t *reports, const struct qhas_links *links, FILE *to); /* not 0: it could not be written */

#endif
