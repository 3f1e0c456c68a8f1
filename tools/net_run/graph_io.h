/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs and outputs of one graph as files: what every line of the input list means, the bytes of each execution, and
 * where results go.
 *
 * Batches. A tensor holds B elements of its first dimension. A file with all B feeds one execution; a file with one of them
 * is combined with those of the next B - 1 lines, and the outputs are taken apart again; a file with k times B feeds k
 * executions whose outputs follow each other in one file. */
#ifndef TOOLS_NET_RUN_GRAPH_IO_H
#define TOOLS_NET_RUN_GRAPH_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "net_run/input_list.h"
#include "session/session.h"

/* Indexes of --output_data_type. */
enum { OUTPUT_FLOAT, OUTPUT_NATIVE, OUTPUT_BOTH };

/* Float values of one output, on their way to <output_dir>/Result_<result>/<name>.raw. */
struct result_values {
    uint64_t result;
    const char *name;
    uint32_t output; /* index among the outputs of the graph */
    uint64_t first;  /* place of the values in the file */
    uint64_t n;
    uint64_t total; /* values of the whole file */
    const float *values;
};

/* Gets all float results of all passes, whether or not files are kept of them. */
struct result_sink {
    enum status (*take)(struct result_sink *sink, const struct result_values *values);
};

struct io_options {
    bool native_inputs;                 /* all of them */
    struct opt_names_list native_names; /* or these */
    uint32_t output_type;
    uint32_t batch_multiplier;
    const char *output_dir;          /* of this graph */
    struct result_sink *sink;        /* may be NULL */
    int64_t cache_sets, cache_bytes; /* input sets kept in memory; negative: no limit */
};

struct io_tensor {
    Qnn_Tensor_t tensor; /* dimensions with the batch multiplier; data NULL */
    uint64_t elements, bytes, batch;
    bool native; /* input: files have the type of the graph */
    bool saved;  /* output: goes to files */
};

/* One or more executions from the same lines. */
struct io_job {
    uint32_t line;    /* index of the first */
    uint32_t n_lines; /* more than one: combined */
    uint32_t chunks;  /* executions */
    bool combined;    /* every line holds one element of the batch */
    uint64_t first;   /* number of its first execution */
};

struct graph_io {
    const struct session_graph *graph;
    struct io_options opt;
    struct input_list list;
    uint32_t n_inputs, n_outputs;
    struct io_tensor *inputs, *outputs;
    const char **paths; /* [line * n_inputs + input] */
    uint32_t n_lines;   /* at least 1: a graph without inputs runs once */
    VEC(struct io_job) jobs;
    uint64_t executions; /* of one pass over the list */
    void ***cache;       /* [execution][input], NULL: not kept */
    uint64_t cached_sets, cached_bytes;
    struct arena arena;
};

/* `list_path` NULL: the graph has no inputs, or the caller fills them and does not call graph_io_load. */
enum status graph_io_open(struct graph_io *io, const struct session_graph *g, const char *list_path,
                          const struct io_options *opt);
void graph_io_finish(struct graph_io *io); /* takes a zeroed one */

/* The job and chunk of an execution of the pass. */
const struct io_job *graph_io_job(const struct graph_io *io, uint64_t execution, uint32_t *chunk);

/* Native bytes of every input into buffers[input], which hold io->inputs[i].bytes; data[input] tells where they are: there,
 * or in the cache. `keep` fills the cache. */
enum status graph_io_load(struct graph_io *io, uint64_t execution, void *const *buffers, bool keep, const void **data);

/* Writes the outputs of an execution as Result_<result>... */
struct io_result {
    uint64_t execution; /* in its pass */
    uint64_t first;     /* number of the first Result folder of the pass */
    uint64_t limit;     /* folders from this number on are not written */
    const void *const *data;
};
enum status graph_io_store(struct graph_io *io, const struct io_result *r);

#endif
