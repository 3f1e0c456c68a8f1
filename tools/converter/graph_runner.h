/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a converted graph on a backend library, through the public API like any client: for calibration, for comparison, and
 * to ask whether an operator runs in fixed point. */
#ifndef TOOLS_CONVERTER_GRAPH_RUNNER_H
#define TOOLS_CONVERTER_GRAPH_RUNNER_H

#include "common/tool_library.h"
#include "convert/convert.h"
#include "net_run/graph_io.h"

struct runner_engine {
    struct library_backend backend;
    Qnn_BackendHandle_t handle;
};
enum status runner_engine_open(struct runner_engine *e, const char *library); /* NULL: libQnnCpu.so */
void runner_engine_close(struct runner_engine *e);                            /* takes a zeroed one */

/* For quantize_opts.supported; arg: the engine. */
enum status runner_supports(void *engine, const struct op_call *c);

/* One graph, composed and finalized. With all_outputs every tensor between nodes can be read. */
struct runner {
    struct runner_engine *engine;
    const struct ir_graph *g;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    struct arena arena;
    Qnn_Tensor_t *tensors; /* one per tensor of g, as created */
    uint32_t n_in, n_out;
    Qnn_Tensor_t *in, *out; /* inputs that the client feeds come first, then states */
    uint32_t *in_of, *out_of; /* the tensors of g */
    const struct convert_io **state; /* per input: the output that it gets its value from, NULL: fed by the client */
    struct session_graph view; /* the same for graph_io */
};
/* report: tells which outputs are inputs of the next run; NULL: none. */
enum status runner_open(struct runner *r, struct runner_engine *e, const struct ir_graph *g,
                        const struct convert_report *report, bool all_outputs);
/* Feeds the inputs of r->view; results: r->out[i].v1.clientBuf.data. States go on from the last execution. */
enum status runner_execute(struct runner *r, const void *const *inputs);
void runner_close(struct runner *r);                                     /* takes a zeroed one */

/* Executes once per entry of an input list; each() sees the results. `native`: files have the types of the graph. */
struct runner_inputs {
    const char *list;
    bool native;
    const char *what; /* for the progress counter; NULL: none is shown */
    uint64_t most;    /* entries of the list that are used; 0: all */
};
typedef enum status runner_each(void *arg, struct runner *r, uint64_t done, uint64_t total);
enum status runner_run_list(struct runner *r, const struct runner_inputs *in, runner_each *each, void *arg);

/* Output `i` as floats. */
void runner_floats(const struct runner *r, uint32_t i, float *to);
uint64_t runner_elements(const struct runner *r, uint32_t i);

#endif
