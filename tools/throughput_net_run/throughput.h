/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-throughput-net-run: threads that execute graphs in loops, and what they measured.
 *
 *     config   backends, models, contexts and threads by name, from one JSON file
 *     target   a backend with a context and the graphs of a model in it; threads that name the same three share one
 *     thread   buffers of its own, and the loop
 *     golden   what outputs should be, for the mean squared error
 *     latency  times of executions
 *     result   lines and JSON */
#ifndef TOOLS_THROUGHPUT_NET_RUN_THROUGHPUT_H
#define TOOLS_THROUGHPUT_NET_RUN_THROUGHPUT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/json.h"
#include "net_run/graph_io.h"
#include "session/session.h"

/* ---- the configuration ----------------------------------------------------------------------------------------------- */

struct tp_backend {
    const char *name, *path, *extensions, *op_packages, *platform_option;
    uint32_t profiling, perf_profile;
    bool has_perf_profile;
};

enum { POST_NONE, POST_MSE, POST_MSE_FLOAT32, POST_MSE_INT8, POST_MSE_INT16 };
enum { SAVE_NONE, SAVE_LAST, SAVE_ALL };

struct tp_model {
    const char *name, *path, *input_path, *output_path, *golden_path;
    bool cached;
    uint32_t input_type, post, output_type, save;
};

struct tp_context {
    const char *name;
    uint32_t priority;
    /* As in the configuration file of the other programs. */
    int64_t memory_limit;
    bool persistent;
    struct json_list enable_graphs, retained;
};

enum { LOOP_COUNT, LOOP_SECONDS };

struct tp_thread_config {
    const char *name, *backend_name, *context_name, *model_name, *backend_config;
    bool init_in_loop, load_in_loop, random, async;
    uint32_t interval_us, loop_unit, loop;
    /* found by name */
    const struct tp_backend *backend;
    const struct tp_context *context;
    const struct tp_model *model;
};

struct tp_config {
    struct json_list backends, models, contexts; /* tp_backend, tp_model, tp_context */
    struct {
        int64_t iteration; /* negative: until interrupted */
        uint32_t log_level;
        bool has_log_level;
        struct json_list threads; /* tp_thread_config */
    } test;
};
/* Reads, checks, and finds what threads name. */
enum status tp_config_read(const char *path, struct tp_config *ret, struct arena *arena);

/* ---- targets --------------------------------------------------------------------------------------------------------- */

struct tp_target {
    const struct tp_thread_config *config; /* of the first thread that uses it */
    struct session session;
    struct session_config preset;
    struct arena arena;
};
/* From the backend's library to graphs that can run. tp_target_close takes one that was opened in part. One at a time. */
enum status tp_target_open(struct tp_target *t, const struct tp_thread_config *c);
void tp_target_close(struct tp_target *t);
bool tp_target_serves(const struct tp_target *t, const struct tp_thread_config *c);

/* ---- measuring ------------------------------------------------------------------------------------------------------- */

/* Logarithmic counters, 16 to an octave: percentiles within 4 percent, in constant memory. */
enum { LATENCY_COUNTERS = 61 * 16 };
struct latency {
    uint64_t n, sum_ns, min_ns, max_ns;
    uint64_t counters[LATENCY_COUNTERS];
};
void latency_add(struct latency *l, uint64_t ns);
double latency_us(const struct latency *l, double part); /* below it is this part of all, 0 to 1 */

/* What every output of every input set should be: from files, or as the first execution left it. */
struct golden {
    float **at; /* [execution * n_outputs + output], NULL: not known yet */
    const struct graph_io *io;
    uint32_t post;
    double sum;
    uint64_t n;
};
/* list NULL: the first execution. */
enum status golden_open(struct golden *g, const struct graph_io *io, const struct tp_model *m, const char *list);
void golden_finish(struct golden *g); /* takes a zeroed one */
enum status golden_compare(struct golden *g, uint64_t execution, void *const *outputs);

/* ---- threads --------------------------------------------------------------------------------------------------------- */

/* One graph of a thread. */
struct tp_graph {
    struct graph_io io;
    struct golden golden;
    void **inputs, **outputs;
    Qnn_Tensor_t *in, *out;
    bool loaded;
};

struct tp_thread {
    const struct tp_thread_config *config;
    struct tp_target *target; /* own: NULL outside a loop with initModelInLoop */
    struct tp_target own;
    struct tp_graph *graphs;
    uint32_t n_graphs;
    Qnn_ProfileHandle_t profile;
    uint64_t random; /* state */
    /* asynchronous executions */
    pthread_mutex_t lock;
    pthread_cond_t finished;
    bool done;
    Qnn_ErrorHandle_t error;
    /* results, over all iterations */
    struct latency latency;
    uint64_t loops, total_ns, init_ns, init_loops;
    double squares;
    uint64_t n_squares;
    enum status status;
    char why[1024];
    struct tp_run *run;
};

/* What threads share. */
struct tp_run {
    struct tp_config config;
    VEC(struct tp_target *) targets;
    struct tp_thread *threads;
    uint32_t n_threads;
    uint64_t iterations, total_ns;
    pthread_barrier_t start;
    pthread_mutex_t serial; /* everything but executions */
};
extern atomic_bool tp_stop; /* an interrupt, or a thread that failed */

/* Buffers and inputs; the target is open. tp_thread_release also reads what the post processor found. */
enum status tp_thread_prepare(struct tp_thread *t);
void tp_thread_release(struct tp_thread *t);
void *tp_thread_main(void *thread); /* waits for the others, then runs its loop once */

/* ---- results --------------------------------------------------------------------------------------------------------- */

void tp_result_print(const struct tp_run *r);
enum status tp_result_write(const struct tp_run *r, const char *path);

#endif
