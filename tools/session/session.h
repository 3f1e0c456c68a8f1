/* SPDX-License-Identifier: Apache-2.0 */
/* What qnn-net-run, qnn-throughput-net-run and qnn-context-binary-generator share: everything between opening a backend and
 * having graphs that can run.
 *
 *     session_open       config file, libraries, extension, log, backend, op packages, device, profile
 *     session_compose    context, graphs of model libraries or DLCs       or  session_retrieve: context of a binary
 *     session_finalize
 *     session_save       the context binary
 *     session_close      in reverse order; takes a session that was opened in part */
#ifndef TOOLS_SESSION_SESSION_H
#define TOOLS_SESSION_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "QNN/QnnModelLib.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/status.h"
#include "base/vec.h"
#include "common/tool_extension.h"
#include "common/tool_file.h"
#include "common/tool_library.h"
#include "common/tool_options.h"
#include "rpcmem.h"

struct session_config;

/* What the command line says; filled by the option table of a program. */
struct session_options {
    const char *backend, *system_library, *model_prefix, *config_file, *output_dir;
    struct opt_list models, dlcs, op_packages;
    const char *output_tensors; /* --set_output_tensors */
    bool all_outputs;           /* --debug, --enable_intermediate_outputs */
    const char *direct_mode;    /* --direct_mode */
    const char *perf_profile;   /* --perf_profile, NULL: not given */
    const char *platform_option; /* for backendCreate, NULL: none */
    const struct session_config *preset; /* settings before those of config_file; NULL: the defaults */
    bool executes;              /* graphs will be executed */
    bool memhandle_io;          /* --input_output_tensor_mem_type memhandle */
    bool shared_buffer;         /* --shared_buffer */
    uint32_t profiling;         /* index in session_profiling_levels */
    bool profiling_given;
    uint32_t profiling_option;  /* index in session_profiling_options */
    uint32_t log_level;         /* index in tool_log_levels */
    bool log_level_given;
};

extern const char *const session_profiling_levels[]; /* off basic detailed client backend linting */
extern const char *const session_profiling_options[];
extern const char *const session_perf_profiles[];
enum { PROFILING_OFF, PROFILING_BASIC, PROFILING_DETAILED, PROFILING_CLIENT, PROFILING_BACKEND, PROFILING_LINTING };

/* The configuration file, as read; defaults before. */
struct session_graph_config {
    const char *name;
    uint32_t priority, start_delay, executions;
    bool has_priority, has_executions;
};
/* Memory of the client for a whole context: what graphs spill, their constants. */
enum session_buffer_kind { SESSION_SPILL_FILL, SESSION_WEIGHTS, SESSION_BUFFERS };
struct session_buffer {
    int file; /* -1: none */
    Qnn_MemHandle_t handle;
};

struct session_config {
    struct {
        const char *library, *config;
    } extensions;
    struct {
        uint32_t priority, queue_depth, compatibility;
        int64_t memory_limit;
        int64_t buffers[SESSION_BUFFERS]; /* bytes; 0: none, -1: as many as the backend says */
        bool persistent;
        bool has_priority, has_queue_depth, has_memory_limit, has_compatibility, has_persistent;
        struct json_list enable_graphs, retained;
    } context;
    struct json_list graphs; /* struct session_graph_config */
    struct {
        uint32_t max_events;
    } profile;
    struct {
        uint32_t inputs, executions;
    } async;
    struct {
        uint32_t type;
        bool given;
    } memory;
};
enum status session_config_read(const char *path, struct session_config *ret, struct arena *arena);
Qnn_Priority_t session_priority(uint32_t index);

struct session_graph {
    Qnn_GraphHandle_t handle;
    const char *name;
    uint32_t n_inputs, n_outputs;
    const Qnn_Tensor_t *inputs, *outputs;
    const struct session_graph_config *config; /* NULL: none */
};

struct session_model {
    void *library;
    const char *path;
    GraphInfoPtr_t *infos;
    uint32_t n;
    __typeof__(&QnnModel_freeGraphsInfo) free_infos;
};

/* A DLC and the description of its graphs, which may need it. */
struct session_dlc {
    QnnSystemDlc_Handle_t handle;
    QnnSystemContext_GraphInfo_t *infos; /* one block, for free() */
};

/* The backend's extension library; table NULL: none. */
struct session_extension {
    void *library;
    const char *path;
    const struct extension *table;
    void *self;
    struct extension_host host;
};

/* Shared memory; library NULL: not used. */
struct session_memory {
    void *library;
    __typeof__(&rpcmem_alloc2) alloc;
    __typeof__(&rpcmem_free) free;
    __typeof__(&rpcmem_to_fd) to_fd;
    bool offsets;                 /* the backend finds tensors inside a buffer by offset */
    pthread_mutex_t lock;         /* of the list */
    struct session_slab *slabs;   /* the newest first */
};

struct session {
    struct session_options opt;
    struct session_extension extension;
    struct session_memory memory;
    struct session_config config;
    struct arena arena;
    struct library_backend backend;
    struct library_system system; /* library NULL: not needed so far */
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t handle;
    Qnn_DeviceHandle_t device;
    Qnn_ProfileHandle_t profile;
    Qnn_ContextHandle_t context;
    struct session_buffer buffers[SESSION_BUFFERS];
    const QnnContext_Config_t **context_configs;
    QnnSystemContext_Handle_t reader; /* holds the description of a retrieved binary */
    QnnSystemProfile_SerializationTargetHandle_t profile_log;
    struct tool_file binary;
    void *model; /* where `binary` is, when the extension gave the memory */
    VEC(struct session_model) models;
    VEC(struct session_dlc) dlcs;
    VEC(struct session_graph) graphs;
    struct opt_names_list extra_outputs;
};

enum status session_open(struct session *s, const struct session_options *opt);
enum status session_compose(struct session *s);
enum status session_finalize(struct session *s);
enum status session_save(struct session *s, const char *path);
/* With --profiling_option optrace: <graph>_schematic.bin for readers of timelines, in the folder where the program runs.
 * `saved`: a file that session_save has written, NULL: none. */
enum status session_save_schematics(struct session *s, const char *saved);
enum status session_retrieve(struct session *s, const char *path, bool map);
enum status session_validate(struct session *s, const char *path, bool map); /* the validate call only */
enum status session_update(struct session *s, const char *path);             /* --binary_updates */
void session_close(struct session *s);

/* Memory for an input or output, aligned and zeroed, that `t` then points at: shared with the backend and registered in the
 * context when the session does that; else from the extension library, if it has any. `t` belongs to this memory until
 * session_free. */
enum status session_alloc(struct session *s, size_t bytes, Qnn_Tensor_t *t, void **ret);
void session_free(struct session *s, Qnn_Tensor_t *t, void *memory); /* NULL allowed */

/* Around the executions of one graph. */
enum status session_before_execute(struct session *s, const struct session_graph *g);
enum status session_after_execute(struct session *s, const struct session_graph *g);
/* A stage of the work begins or ends, for power votes; executions of several threads may overlap. */
enum status session_stage(struct session *s, enum extension_stage stage, bool begins);

/* Loads libQnnSystem.so unless it is loaded. */
enum status session_need_system(struct session *s, const char *why);

/* Prints every graph with its inputs and outputs at info level. */
void session_describe(const struct session *s);

/* ---- measuring ------------------------------------------------------------------------------------------------------- */

/* The profile handle for calls of the backend, NULL when profiling is off. Asynchronous executions need one each. */
enum status session_new_profile(struct session *s, Qnn_ProfileHandle_t *ret);
enum status session_open_profile_log(struct session *s);

struct session_measure {
    QnnSystemProfile_MethodType_t method;
    const char *graph;
    uint64_t start_ns, stop_ns;
    Qnn_ProfileHandle_t profile; /* NULL: no events of the backend */
    uint64_t count;              /* executions, for APP_EXECUTE_IPS */
};
/* Appends one record to the log, if there is one. */
enum status session_measured(struct session *s, const struct session_measure *m);

#endif
