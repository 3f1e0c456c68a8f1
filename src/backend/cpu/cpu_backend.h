/* SPDX-License-Identifier: Apache-2.0 */
/* Private to backend/cpu. */
#ifndef BACKEND_CPU_CPU_H
#define BACKEND_CPU_CPU_H

#include <pthread.h>

#include "backend/backend.h"
#include "base/thread.h"
#include "exec/exec.h"

struct backend_context {
    pthread_mutex_t lock;
    unsigned threads;
    struct exec_outside outside; /* op packages of the backend handle */
    const struct cancel *signal; /* of the call that loads, NULL: none */
    struct team *team;           /* under lock: made for the first graph that has something to share out */
};

/* For batches (cpu_slices.c): what each worker of the team needs to compute slices of its own. */
struct cpu_slices {
    bool allowed;                   /* nothing that a slice leaves behind is seen by the next one */
    struct exec_program **programs; /* one per worker; NULL: there was no batch yet */
    struct exec_binding *io;        /* n_io per worker */
};

struct backend_graph {
    struct backend_context *context;
    const struct binary_graph *g;
    struct team *team; /* NULL: there is nothing to share out */
    struct exec_program *program;
    struct exec_binding *io;      /* one per I/O table entry, advanced from slice to slice of a batch */
    struct prof_node_time *times; /* per node, summed over the slices of a batch */
    struct cpu_slices slices;
};

/* cpu_slices.c */
/* Slice k of a batch as exec wants it: k times each tensor's size further on. */
void cpu_slices_bind(const struct backend_graph *g, const struct backend_run *r, uint32_t k, struct exec_binding *io);
void cpu_slices_load(struct backend_graph *g);
/* Compute the first slices of a batch side by side, as many as make equal shares; returns how many were computed. 0: all are
 * left, also where something failed, which happens again when they are computed in turn. */
uint32_t cpu_slices_run(struct backend_graph *g, const struct backend_run *r);
void cpu_slices_free(struct backend_graph *g);

/* cpu_run.c */
enum status cpu_open(const struct backend_context_cfg *cfg, struct backend_context **ret);
void cpu_close(struct backend_context *c);
void cpu_watch_signal(struct backend_context *c, const struct cancel *signal);
enum status cpu_prepare(struct backend_context *c, const struct backend_graph_cfg *cfg, struct ir_graph *g,
                        struct cancel *cancel, struct binary_image *ret);
enum status cpu_load(struct backend_context *c, const struct binary *b, uint32_t graph, struct backend_graph **ret);
enum status cpu_run(struct backend_graph *g, const struct backend_run *r);
struct backend_needs cpu_needs(const struct backend_graph *g);
bool cpu_yield(const struct backend_run *r); /* where the run is asked to; false: it was cancelled meanwhile */
void cpu_unload(struct backend_graph *g);

extern const struct backend backend_cpu;

/* cpu_config.c */
enum status cpu_graph_config(const void *custom, struct backend_graph_cfg *cfg);
struct binary_target cpu_target(void); /* what this library writes into the files it makes */

#endif
