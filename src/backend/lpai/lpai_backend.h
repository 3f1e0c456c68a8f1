/* SPDX-License-Identifier: Apache-2.0 */
/* Private to backend/lpai.
 *
 * The life of a graph here:
 *
 *   compiled (QnnGraph_finalize) or loaded (createFromBinary)   sizes are known, nothing is bound
 *     QnnGraph_setConfig SCRATCH_MEM, PERSISTENT_MEM            checked and remembered (lpai_pools.c)
 *     QnnGraph_finalize                                         attach: kernels are bound to the client's memory
 *     QnnGraph_execute …                                        computes in scratch, persistent and the I/O buffers, nowhere
 *                                                               else
 *     QnnGraph_setConfig SCRATCH_MEM                            another scratch, between executions */
#ifndef BACKEND_LPAI_LPAI_BACKEND_H
#define BACKEND_LPAI_LPAI_BACKEND_H

#include <pthread.h>

#include "backend/backend.h"
#include "exec/exec.h"
#include "rpc/rpc.h"

enum {
    LPAI_ALIGN = 64,      /* of addresses and sizes of all buffers: a cache line and the widest vector of the host */
    LPAI_CORES = 1,       /* simulated eNPU cores */
    LPAI_HW_DEFAULT = 6,
};
#define LPAI_NO_HOME UINT64_MAX

/* Where a graph is to run; the numbers of the API. */
enum lpai_target { LPAI_X86, LPAI_ARM, LPAI_ADSP, LPAI_TARGET_COUNT };

enum lpai_pool { POOL_SCRATCH, POOL_PERSISTENT, POOL_COUNT };

/* Tightly coupled memory of the ADSP: all of it together. */
enum { LPAI_TCM_BYTES = 2035712, LPAI_TCM_BUFFERS = 32 };

struct cost_rates;

struct lpai_mem {
    uint8_t *addr;
    uint64_t size;
    bool given, tcm;
};

/* Everything a client can say about one graph. */
struct lpai_settings {
    struct lpai_mem pool[POOL_COUNT];
    uint32_t fps, ftrt_ratio, client_type;
    uint32_t affinity, core_selection;
    bool perf_given, affinity_given;
    bool per_layer, exclude_io, keep_batchnorm, batch_multiple;
    char core_names[64];
};

/* The pools of an attached graph, known to all others of the process (lpai_pools.c). */
struct lpai_claim {
    struct lpai_claim *next;
    const char *graph;
    struct lpai_mem pool[POOL_COUNT];
    bool listed, running;
};

/* What lpai_context_config writes into backend_context_cfg.own; names are the client's, so lpai_open copies them. */
enum { LPAI_OWN_MODEL_TCM, LPAI_OWN_ISLAND, LPAI_OWN_ISLAND_GRAPHS, LPAI_OWN_NAMES, LPAI_ISLAND_MAX = 16 };

/* A session of the low-power domain: another process that computes (lpai_session.c). */
struct lpai_session {
    const struct rpc_link *link;
    struct rpc_session *s;
    uint32_t users;          /* contexts */
    _Atomic bool lost;       /* its process has died */
    char why[STATUS_TEXT_MAX]; /* what its link said then; written before lost */
};

/* Memory that the session sees: ours, or a part of the client's that is shared memory. */
struct lpai_shared {
    uint32_t map;            /* 0: none */
    void *own;               /* ours, NULL: the client's */
};

/* A binary that the session has mapped; graphs of one file share it. */
struct lpai_binary {
    struct lpai_binary *next;
    const struct binary *binary;
    struct lpai_shared bytes;
    uint32_t users;
};

/* Registered memory: where it is here, and in the session. */
struct lpai_registered {
    struct lpai_registered *next;
    uint8_t *address;
    uint64_t bytes, offset;  /* in the file */
    int fd;                  /* ours */
    uint32_t map;            /* 0: the session does not have it */
};

struct backend_context {
    struct backend_cfg cfg;
    bool model_tcm;
    bool compiles;                       /* graphs are built here, so a binary has only one of them */
    bool in_place;                       /* the client keeps its binary */
    bool island;                         /* all graphs */
    char *island_graphs[LPAI_ISLAND_MAX]; /* or these; ends with NULL unless full */
    const struct binary *tcm_binary;     /* the last model that was counted */
    uint64_t tcm_bytes;                  /* of all that were */
    unsigned tcm_models;
    struct lpai_session *_Atomic session; /* NULL: graphs run in this process, or none was attached yet; set once */
    pthread_mutex_t lock;                /* of binaries and registered memory */
    struct lpai_binary *binaries;        /* that the session has mapped */
    struct lpai_registered *registered;  /* of the ARM target */
};

/* What a tensor was computed in last; NULL data: its room, or nothing yet. */
struct lpai_buffer {
    void *data;
    uint64_t bytes;
};

/* An execution that was stopped in the middle; its scratch and its buffers hold what is done so far. */
struct lpai_paused {
    bool halfway;
    uint32_t slice, step; /* to go on with */
    uint32_t batch;
    bool early;           /* a slice before ended early */
};

struct backend_graph {
    struct backend_context *context;
    const struct binary *binary;
    const struct binary_graph *g;
    pthread_mutex_t lock;          /* one run or one change of scratch at a time */
    struct exec_program *program;  /* NULL until attached, and when it runs in a session */
    struct lpai_remote *remote;    /* its side of the session, else NULL */
    struct exec_binding *io;       /* one per I/O table entry, advanced from slice to slice of a batch */
    uint64_t *home;                /* per I/O table entry: its room in scratch, LPAI_NO_HOME: none */
    uint64_t *node_ns;             /* for profiles */
    bool batch_multiple;
    uint32_t fps, ftrt_ratio, client_type;
    struct lpai_buffer *buffers;   /* one per I/O table entry */
    _Atomic uint32_t pause;        /* the client wants executions to stop at the next step */
    struct lpai_paused paused;
    struct lpai_claim claim;
    bool left_to_us;                 /* the client gave no memory (lpai_own.c) */
    struct lpai_mem own[POOL_COUNT]; /* what we took for it then */
};

/* lpai_config.c: what the client's LPAI structures mean; the only file of this folder that sees them. */
enum status lpai_backend_config(const void *custom, struct backend_cfg *cfg);
enum status lpai_backend_property(const struct backend_cfg *cfg, void *custom);
enum status lpai_context_config(const void *custom, struct backend_context_cfg *cfg);
enum status lpai_graph_config(const void *custom, struct backend_graph_cfg *cfg);
void lpai_graph_config_free(struct backend_graph_cfg *cfg);
enum status lpai_loaded_config(struct backend_graph *g, struct backend_graph_cfg *cfg, const void *const *customs, size_t n);
enum status lpai_graph_property(struct backend_graph *g, void *custom);
enum status lpai_mem_custom(const void *info, struct backend_mem_spec *ret);
struct binary_target lpai_binary_target(uint32_t hw_version);
uint32_t lpai_hw_version(const struct backend_cfg *cfg); /* the one to compile for */
const char *lpai_hw_name(uint32_t hw_version); /* "v5.1", NULL: no such version */
struct lpai_settings lpai_settings_of(const struct backend_graph_cfg *cfg);

/* lpai_cost.c: cycles per operation of a hardware version, NULL: no such version */
const struct cost_rates *lpai_cost_rates(uint32_t arch);

/* lpai_pools.c */
uint64_t lpai_pool_bytes(const struct backend_graph *g, enum lpai_pool k);
enum status lpai_pools_check(const struct backend_graph *g, const struct lpai_settings *s);    /* those that are given */
enum status lpai_pools_complete(const struct backend_graph *g, const struct lpai_settings *s); /* none is missing */
/* Counts a model in TCM, all graphs of a binary once. */
enum status lpai_claim_model(struct backend_context *c, const struct binary *b);
void lpai_claim_model_drop(struct backend_context *c);
/* Every name is a graph of the binary. */
enum status lpai_check_islands(const struct backend_context *c, const struct binary *b);
bool lpai_is_island(const struct backend_graph *g);
enum status lpai_claim_pools(struct backend_graph *g, const struct lpai_settings *s);
void lpai_claim_drop(struct backend_graph *g);
/* Refuses when a running graph has the same scratch, or memory is gone. */
enum status lpai_check_binary(const struct backend_graph *g); /* used in place: it is still there */
enum status lpai_run_enter(struct backend_graph *g);
bool lpai_scratch_is_own(const struct backend_graph *g); /* no other graph computes in the same */
struct backend_needs lpai_needs(const struct backend_graph *g);
void lpai_run_leave(struct backend_graph *g);
bool lpai_overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes);

/* lpai_own.c: memory for clients that give none. make: if it is left to us; fill: in place of what is not given. */
enum status lpai_own_make(struct backend_graph *g, const struct lpai_settings *s);
void lpai_own_fill(const struct backend_graph *g, struct lpai_settings *s);
void lpai_own_free(struct backend_graph *g);

/* lpai_probe.c: questions to the kernel about the client's memory, so that a bad pointer is an error and not a signal. */
bool lpai_mapped(const void *p, uint64_t bytes);   /* cheap, for every execution */
bool lpai_writable(const void *p, uint64_t bytes); /* thorough, for configuration */
/* A descriptor of the shared memory that the range lies in, and where in it; -1: it is not shared memory, or no descriptor
 * is open. Close it. */
int lpai_shared_fd(const void *p, uint64_t bytes, uint64_t *ret_offset);
/* Readable, or writable: every page, for buffers that are new; and only the ends, for every execution. */
bool lpai_usable(const void *p, uint64_t bytes, bool write);
bool lpai_ends_usable(const void *p, uint64_t bytes, bool write);

/* lpai_io.c */
enum status lpai_bind_io(struct backend_graph *g, const struct backend_run *r);

/* lpai_profile.c */
void lpai_add_events(const struct backend_graph *g, const struct backend_run *r, uint64_t ns, bool detailed);

/* lpai_session.c: one session for all contexts of the process that want one. ST_OK with c->session NULL: there is none, run
 * here. */
extern const char lpai_build_id[];
enum status lpai_session_join(struct backend_context *c);
void lpai_session_leave(struct backend_context *c);
enum status lpai_check_context(struct backend_context *c);
/* Of a call on its link: explains it, and notices when the process has died. */
enum status lpai_session_result(struct lpai_session *s, enum status st);
enum status lpai_share(struct lpai_session *s, uint64_t bytes, struct lpai_shared *ret);   /* zeroed memory of ours */
/* In place, or ours. */
enum status lpai_share_pool(struct lpai_session *s, const void *pool, uint64_t bytes, struct lpai_shared *ret);
void lpai_unshare(struct lpai_session *s, struct lpai_shared *m);
enum status lpai_binary_get(struct backend_context *c, const struct binary *b, struct lpai_binary **ret);
void lpai_binary_put(struct backend_context *c, struct lpai_binary *b); /* NULL allowed */

/* lpai_mem.c */
enum status lpai_mem_map(struct backend_context *c, int fd, uint64_t offset, uint64_t bytes, void **ret);
void lpai_mem_unmap(struct backend_context *c, void *address, uint64_t bytes);
void lpai_mem_join(struct backend_context *c); /* its session is there */
/* Fills map and offset when the session has it. */
bool lpai_mem_find(struct backend_context *c, const uint8_t *data, uint64_t bytes, struct rpc_io *io);

/* lpai_remote.c: a graph that runs in the context's session. Pools are in g->claim. */
enum status lpai_remote_attach(struct backend_graph *g);
enum status lpai_remote_scratch(struct backend_graph *g); /* another one; when it fails, the one before stays */
enum status lpai_remote_run(struct backend_graph *g, struct exec_run *e, uint32_t priority); /* as exec_run */
void lpai_remote_free(struct backend_graph *g);

/* lpai_run.c */
void lpai_pause(struct backend_graph *g, bool pause);
enum status lpai_check_target(const struct backend_context_cfg *cfg, const struct binary_target *t);
enum status lpai_check_in_place(const struct backend_context_cfg *cfg, const void *binary);
enum status lpai_open(const struct backend_context_cfg *cfg, struct backend_context **ret);
void lpai_close(struct backend_context *c);
enum status lpai_prepare(struct backend_context *c, const struct backend_graph_cfg *cfg, struct ir_graph *g,
                         struct cancel *cancel, struct binary_image *ret);
enum status lpai_load(struct backend_context *c, const struct binary *b, uint32_t graph, struct backend_graph **ret);
enum status lpai_attach(struct backend_graph *g, const struct backend_graph_cfg *cfg);
/* New settings for a loaded graph: all or nothing. */
enum status lpai_change(struct backend_graph *g, const struct lpai_settings *s);
bool lpai_has_room(const struct backend_graph *g, uint32_t io);
enum status lpai_run(struct backend_graph *g, const struct backend_run *r);
void lpai_unload(struct backend_graph *g);

#endif
