/* SPDX-License-Identifier: Apache-2.0 */
/* What a timeline is made of: the spans of a context binary's graphs, on lanes (trace_model.c), or those of a part of a
 * graph (trace_cut.c). Shown as a Chrome trace (trace_device.c) and as reports (trace_files.c). */
#ifndef TOOLS_PROFILE_VIEWER_TRACE_MODEL_H
#define TOOLS_PROFILE_VIEWER_TRACE_MODEL_H

#include <jansson.h>

#include "base/str.h"
#include "binary/binary.h"
#include "profile_viewer/profile_reader.h"
#include "profile_viewer/trace_config.h"

/* A lane of the device: one thread of the vector units, or a whole unit. */
struct trace_span {
    struct binary_span span;
    uint32_t lane; /* of vectors: the thread; 0 where it is on all of them */
};

/* A graph, or the part of it that --zoom_start and --zoom_end cut out. */
struct trace_graph {
    const struct binary_graph *g;
    bool *wanted; /* per node: it is part of the cut; without a cut all nodes are */
    uint32_t n_wanted;
    uint64_t cycles;          /* what the wanted nodes add to the time of the graph */
    uint64_t begin, end;      /* cycles: when the first wanted span begins and the last one ends */
    struct trace_span *spans; /* of wanted nodes, in the order of their beginning */
    uint32_t n;
    char **short_names;   /* per node: the shortest end of its name that no other node has */
    const char **sources; /* per node: operators of the framework, by --dlc; NULL, or entries NULL: not known */
};

extern const char *const trace_units[UNIT_COUNT];
/* The name, or its two ends if it is long. */
void trace_shorten(struct str *to, const char *name, size_t n);
void trace_graph_close(struct trace_graph *t);
enum status trace_graph_open(const struct binary_graph *g, struct trace_graph *ret);
double trace_us(const struct trace_graph *t, uint64_t cycles);
uint64_t trace_ns(const struct trace_graph *t, uint64_t cycles); /* rounded: of ends, not of lengths */

/* The names of a framework that a DLC has (trace_sources.c); those of a graph are valid until it is closed. */
struct trace_sources;
enum status trace_sources_open(const char *path, struct trace_sources **ret);
void trace_sources_close(struct trace_sources *s); /* NULL allowed */
void trace_sources_closep(struct trace_sources **s);
enum status trace_sources_find(const struct trace_sources *s, struct trace_graph *t); /* fills t->sources */

/* Keeps the nodes on all ways from `start` to `end`: names of nodes, of operators of the framework, or of tensors; NULL:
 * from all inputs, to all outputs. ST_INVALID_ARG: the graph has no such name, or no way leads there. */
enum status trace_graph_cut(struct trace_graph *t, const char *start, const char *end);

/* ---- files beside the timeline (trace_files.c) ------------------------------------------------------------------------ */

/* All that is shown. */
struct trace_set {
    const struct profile_job *job;
    const struct trace_config *config;
    const struct trace_graph *graphs;
    uint32_t n;
    const struct binary *binary; /* that they are of */
};

/* The analysis summary as HTML, and what the settings ask for besides (trace_summary.c). Nothing without an output file. */
enum status trace_write_files(const struct trace_set *set);
/* chrometrace.json and chrometrace.json.gz have chrometrace<ending> beside them. */
enum status trace_path_beside(const struct profile_job *job, const char *ending, struct str *ret);

/* A file of that ending, compressed (and named so) where the timeline is. */
enum status trace_write_beside(const struct profile_job *job, const char *ending, const char *data, size_t size);

#endif
