/* SPDX-License-Identifier: Apache-2.0 */
/* Private to backend/gpu: contexts, loaded graphs and registered buffers. */
#ifndef BACKEND_GPU_GPU_BACKEND_H
#define BACKEND_GPU_GPU_BACKEND_H

#include <pthread.h>

#include "backend/backend.h"
#include "backend/gpu/gpu_launch.h"
#include "backend/gpu/gpu_registry.h"
#include "backend/gpu/gpu_tune.h"

enum gpu_precision { GPU_PRECISION_FP32, GPU_PRECISION_FP16, GPU_PRECISION_HYBRID, GPU_PRECISION_USER, GPU_PRECISION_COUNT };
enum gpu_perf_hint { GPU_PERF_HIGH, GPU_PERF_NORMAL, GPU_PERF_LOW, GPU_PERF_COUNT };

/* What backend_graph_cfg.custom points at. */
struct gpu_graph_cfg {
    uint32_t precision; /* enum gpu_precision */
    uint8_t disable_memory, disable_nodes, disable_recording;
};

/* Types of events that only this backend has. */
enum { EVENT_TO_DEVICE = PROF_BACKEND + 1, EVENT_TO_HOST, EVENT_BUILD_TIME, EVENT_COMPILED, EVENT_FROM_BINARY };

/* Bits of binary_graph_info.options: what load has to know of a graph's configuration. */
enum { GPU_GRAPH_NO_RECORDING = 1, GPU_GRAPH_NO_FUSION = 2 };

/* Bits of backend_cfg.target. */
enum { GPU_BACKEND_TUNING = 1, GPU_BACKEND_WEIGHT_SHARING = 2, GPU_BACKEND_NO_KERNEL_TIMES = 4 };

/* Places of backend_context_cfg.own. */
enum {
    GPU_OWN_PERF_HINT,  /* 1 + enum gpu_perf_hint, 0: not given */
    GPU_OWN_FRESH_REPO, /* the kernel repository begins empty */
    GPU_OWN_REPO_GIVEN, /* times that a kernel repository was named */
};

struct backend_context {
    pthread_mutex_t lock; /* one run, load or registration at a time */
    struct gpu_world *world;
    struct gpu_registry registry;
    struct gpu_tuner tuner;
    uint64_t own[GPU_OWN_REPO_GIVEN + 1]; /* as configured */
    uint32_t priority;
    struct backend_graph *graphs;
    uint32_t n_mems;      /* registered buffers; while there are any, the world stays */
    bool kernel_times, share_weights;
};

struct backend_mem {
    struct backend_context *context;
    cl_mem buffer;
    cl_mem_flags flags;
};

/* One kernel, ready to be enqueued. */
struct gpu_step {
    uint32_t node;
    cl_kernel kernel;
    size_t items, group; /* of work, all and together */
    cl_event event; /* of the last run that wanted times */
};

/* Argument `arg` of a step is the buffer that I/O entry `io` has in a run. */
struct gpu_patch {
    uint32_t step, arg, io;
};

struct backend_graph {
    struct backend_context *context;
    struct backend_graph *next;
    const struct binary_graph *g;
    struct gpu_work work;           /* of all nodes, in the order they run */
    VEC(uint32_t) nodes;            /* per launch */

    /* What lives in the world. */
    struct gpu_step *steps;         /* one per launch that has something to do */
    uint32_t n_steps;
    VEC(struct gpu_patch) patches;
    struct gpu_world *world;        /* where it is built */
    cl_mem scratch, *tensors;       /* per tensor: a part of scratch or a constant; NULL: I/O or nothing */
    cl_mem room, *kept; /* memory besides the tensors: for all launches in turn, and per node what stays from execution to
                           execution */
    cl_mem *io_own, *io_now;        /* per I/O entry: room for data that comes from the host; what the kernels have now */
    uint64_t *node_ns;
    bool built;                     /* there is something to run */
    void *recording;                /* of all steps with the buffers of now, NULL: none (gpu_record.c) */
    bool settled;                   /* buffers are those of the run before */
    bool no_recording;              /* the client forbade it, or it failed */
};

/* gpu_context.c */
enum status gpu_check_machine(void);
enum status gpu_open(const struct backend_context_cfg *cfg, struct backend_context **ret);
void gpu_close(struct backend_context *c);
void gpu_update(struct backend_context *c, const struct backend_context_cfg *cfg);
enum status gpu_bytes(struct backend_context *c, const void **ret, uint64_t *bytes);
void gpu_stage_events(struct backend_context *c, enum backend_stage stage, struct prof *prof, int32_t parent);
void gpu_take_bytes(struct backend_context *c, const struct binary *b); /* what gpu_bytes gave when the binary was saved */
enum status gpu_mem_register(struct backend_context *c, const struct backend_mem_spec *s, struct backend_mem **ret);
void gpu_mem_release(struct backend_mem *m);

/* gpu_prepare.c */
enum status gpu_supports(const struct op_call *c);
enum status gpu_prepare(struct backend_context *c, const struct backend_graph_cfg *cfg, struct ir_graph *g,
                        struct cancel *cancel, struct binary_image *ret);

/* gpu_graph.c */
enum status gpu_load(struct backend_context *c, const struct binary *b, uint32_t graph, struct backend_graph **ret);
void gpu_unload(struct backend_graph *g);

/* gpu_build.c */
enum status gpu_graph_build(struct backend_graph *g, struct gpu_world *w); /* buffers and kernels in this world */
void gpu_graph_drop(struct backend_graph *g);                              /* and away with them */

/* gpu_run.c */
enum status gpu_run(struct backend_graph *g, const struct backend_run *r);

/* gpu_config.c */
enum status gpu_backend_config(const void *custom, struct backend_cfg *cfg);
enum status gpu_context_config(const void *custom, struct backend_context_cfg *cfg);
enum status gpu_graph_config(const void *custom, struct backend_graph_cfg *cfg);
void gpu_graph_config_free(struct backend_graph_cfg *cfg);
enum status gpu_mem_custom(const void *info, struct backend_mem_spec *ret);
struct binary_target gpu_target(void);

/* gpu_device_config.c; backend_device_cfg.soc_model is 1 + the number of a device, 0: the first */
enum status gpu_device_config(const void *custom, struct backend_device_cfg *cfg);
enum status gpu_device_platform(const void *platform, struct backend_device_cfg *cfg);
enum status gpu_device_check(struct backend_device_cfg *cfg);
enum status gpu_platform_info(const struct backend_device_cfg *cfg, void **ret);
void gpu_platform_info_free(void *platform);

extern const struct backend backend_gpu;

#endif
