/* SPDX-License-Identifier: Apache-2.0 */
/* Private to backend/htp.
 *
 *   device      a virtual SoC: architecture, VTCM, number of sessions (htp_soc.c, htp_device_config.c)
 *   context     settings, and the session it is placed on when its first graph or buffer needs one (htp_context.c)
 *   session     one DSP process, reached through a link; 3.75 GiB of addresses (htp_session.c)
 *   buffer      a client's file descriptor mapped into a session, once, however many tensors lie in it (htp_buffers.c)
 *   graph       a program in the session, and staging memory for the tensors that come as plain pointers (htp_graph.c,
 *               htp_run.c)
 *
 * Only htp_*_config.c see the structures of the API. */
#ifndef BACKEND_HTP_HTP_BACKEND_H
#define BACKEND_HTP_HTP_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend/backend.h"
#include "backend/htp/htp_options.h"
#include "base/vec.h"
#include "rpc/rpc.h"

enum {
    HTP_BACKEND_ID = 6,
    HTP_ALIGN = 128,         /* of tensors in memory: a vector register of the architecture, two cache lines here */
    HTP_BUFFER_ALIGN = 4096, /* of client buffers for weights and spill-fill */
    HTP_DEFAULT_SOC = 43,    /* SM8550 */
    HTP_DEFAULT_VTCM_MB = 4,
    HTP_DEFAULT_HVX = 4,
    HTP_VTCM_STEP = 65536,           /* of sizes in bytes */
    HTP_OPTION_FLOAT32 = 0x4F510001, /* a graph option of openqnn alone */
    HTP_MAX_SESSIONS = 8,            /* of one architecture */
    HTP_MAX_ARCHS = 16,
    HTP_MAX_ASYNC = 300,
    HTP_MAX_POLLING_US = 10000, /* 10 ms; clients mostly ask for 9999 */
};
#define HTP_STAGING_MOST (UINT64_C(64) << 20)  /* for slices of a batch that are copied */
#define HTP_SESSION_BYTES ((uint64_t)15 << 28) /* 3.75 GiB of a 32-bit address space */

/* ---- hardware (htp_soc.c) --------------------------------------------------------------------------------------------- */

bool htp_arch_known(uint32_t arch);
const struct rpc_soc *htp_soc_default(void);              /* QnnGlobalConfig, then OPENQNN_SOC, then SM8550 */
enum status htp_soc_model(uint32_t model);
bool htp_soc_named(void); /* the default SoC is one that the user asked for */

/* What a client, or the user by OPENQNN_SOC, has said of the device; false: nothing (htp_fit.c). */
struct htp_hardware {
    const struct rpc_soc *soc; /* NULL: none in the table */
    uint32_t arch, vtcm_mb;
};
bool htp_device_named(const struct backend_device_cfg *d, struct htp_hardware *ret);

/* Votes name no device: they are for the one that was created last, or for the default SoC. */
const struct rpc_soc *htp_soc_used(void);
uint32_t htp_soc_arch(void);
void htp_soc_use(const struct rpc_soc *soc, uint32_t arch);

/* ---- devices (htp_device_config.c) ------------------------------------------------------------------------------------ */

enum { DEVICE_SIGNED = 1, DEVICE_SECURE = 2, DEVICE_ASYNC = 4, DEVICE_PARTITIONED = 8, DEVICE_ARCH_GIVEN = 16 };
enum { HTP_DOMAIN = DEVICE_SIGNED | DEVICE_SECURE }; /* what sets process domains apart */
enum status htp_device_config(const void *custom, struct backend_device_cfg *cfg);
enum status htp_device_platform(const void *platform, struct backend_device_cfg *cfg);
enum status htp_device_check(struct backend_device_cfg *cfg);
enum status htp_platform_info(const struct backend_device_cfg *cfg, void **ret);
void htp_platform_info_free(void *platform);
void *htp_infrastructure(void); /* htp_perf_config.c */

/* ---- settings --------------------------------------------------------------------------------------------------------- */

/* Everything a client can say about a context (htp_context_config.c); in backend_context_cfg.own. */
struct htp_context_cfg {
    uint8_t weight_sharing, memory_profiling, share_resources, io_estimation, prepare_only, init_acceleration,
        skip_section_check, extended_udma, lora_sharing, lora_preload, reference_sharing, graph_splitting, grouped,
        concurrent_group, reserved;
    uint32_t share_type, deserialization_extra_kb, parallel_loading;
    int32_t patch_fd;
    uint64_t file_budget_mb, reused_io_limit_mb, max_spill_fill;
    const void *first_of_group, *first_of_concurrent_group;
};
struct htp_context_cfg *htp_context_settings(struct backend_context_cfg *cfg);
enum status htp_context_config(const void *custom, struct backend_context_cfg *cfg);
enum status htp_context_check(const struct backend_context *c);
struct backend_loading htp_loading(const struct backend_context_cfg *cfg);
enum status htp_context_property(struct backend_context *c, void *custom);
enum status htp_graph_property(struct backend_graph *g, void *custom); /* NULL: it is still being built */

/* Everything a client can say about a graph (htp_graph_config.c). */
struct htp_graph_cfg {
    uint8_t fold_relu_off, short_depth_off, weights_packing, assume_same_quant, share_io, activation_fusion,
        high_precision_sigmoid, monolithic_lstm, precision_compensation, float32, fp16 /* set when it is prepared */;
    uint8_t dlbc, dlbc_weights, sparse_weights, slc, vtcm_retention, cached_weights;
    uint32_t given; /* bit per row of htp_graph_options: switched on */
    uint32_t opt_level, vtcm_mb, vtcm_bytes, cores, concurrency, finalize_p;
    uint32_t vtcm_part[3]; /* size, offset, total */
    uint64_t hvx_threads;
    float schedule_threshold, finalize_retries, hmx_hz, core_hz;
    bool concurrency_given, vtcm_max, vtcm_mb_given, vtcm_bytes_given, finalize_p_given;
};
enum { HTP_SLC_ON = 1, HTP_SLC_OFF /* said so */ }; /* htp_graph_cfg.slc */
/* Bits of binary_graph_info.options. */
enum {
    HTP_GRAPH_SLC = 1,      /* what is spilled stays in the system level cache as far as it fits */
    HTP_GRAPH_VTCM_MAX = 4, /* it was to use all fast memory of its device */
    HTP_GRAPH_SERIAL = 2,   /* it takes turns with others that say so */
};
struct htp_graph_cfg htp_graph_settings(const struct backend_graph_cfg *cfg);
enum status htp_graph_config(const void *custom, struct backend_graph_cfg *cfg);
void htp_graph_config_free(struct backend_graph_cfg *cfg);
enum status htp_loaded_config(struct backend_graph *g, struct backend_graph_cfg *cfg, const void *const *customs, size_t n);

enum status htp_graph_config_check(struct backend_context *c, struct backend_graph_cfg *cfg);
enum status htp_graph_check(const struct backend_context *c, const struct htp_graph_cfg *s); /* htp_graph_check.c */
uint32_t htp_threads(const struct backend_context *c, const struct htp_graph_cfg *s);        /* at most the device's */
enum status htp_check_weights16(const struct ir_graph *g); /* htp_weights16.c: rules of A16W16 */
/* One more graph of the context is prepared; those of a name count once. */
enum status htp_count_graph(struct backend_context *c, const char *graph, const struct htp_graph_cfg *s);

enum status htp_mem_custom(const void *info, struct backend_mem_spec *ret); /* htp_mem_config.c */
struct binary_target htp_binary_target(uint32_t soc_model, uint32_t arch);   /* htp_context_config.c */
extern const char htp_build_id[];

/* ---- votes (htp_votes.c) ---------------------------------------------------------------------------------------------- */

/* Corners are those of the API; the finer ones of EXP votes are above 0xff. */
struct htp_corners {
    uint32_t min, target, max;
};
struct htp_clock_vote {
    bool active, exp, set_dcvs, dcvs, set_latency, set_sleep_disable, sleep_disable, set_bus, set_core;
    uint32_t mode, latency_us, core_mode, bus_mode;
    struct htp_corners bus, core;
};
struct htp_unit_vote { /* matrix unit, compute engine */
    bool active, pick_default, exp;
    uint32_t mode;
    struct htp_corners v;
};
struct htp_votes {
    struct htp_clock_vote clock;
    struct htp_unit_vote hmx, ceng;
    uint32_t rpc_latency_us, polling_us, adaptive_us, hmx_timeout_us, ddr_mode;
    bool latency_set, polling_set, adaptive_set, timeout_set, ddr_set;
};
enum status htp_vote_id(uint32_t device, uint32_t core, uint32_t *ret);
enum status htp_vote_get(uint32_t id, struct htp_votes *ret);       /* a copy to change */
enum status htp_vote_set(uint32_t id, const struct htp_votes *v);   /* checked as a whole, taken or refused */
enum status htp_vote_drop(uint32_t id);
enum status htp_vote_memory(uint32_t device, uint32_t core, uint32_t grow_bytes);
void htp_votes_lost(void);                                          /* a session died: votes are gone, ids stay */
struct rpc_wait htp_votes_wait(uint64_t last_run_ns);               /* how to wait for a run that took so long last time */
uint32_t htp_votes_core(void); /* the highest corner that is voted for the core's clock; 0: none */
uint32_t htp_votes_bus(void);  /* and for the bus */
/* And for the matrix unit, 0: it has the core's clock; with the mode of that vote. */
uint32_t htp_votes_matrix(uint32_t *ret_mode);
void htp_votes_events(struct prof *prof, int32_t parent);
uint32_t htp_votes_matrix_timeout(void); /* the longest that is voted for, 0: none */
/* How long the device may take to wake up at most, where that is voted for. */
void htp_votes_wake_up(struct prof *prof, int32_t parent);

/* What these clocks come to (htp_rates.c). */
struct htp_rates {
    uint32_t mhz, matrix_mhz, dram_mb_s;
};
void htp_rates_voted(const struct backend_context *c, struct htp_rates *ret);
uint64_t htp_rates_us(const struct htp_rates *rates, const struct binary_graph *g, uint64_t times); /* computing alone */
/* How often the matrix unit, which is switched off when it had nothing to do for that long, is switched on in the graph. */
uint64_t htp_rates_power_ups(const struct htp_rates *rates, const struct binary_graph *g, uint32_t timeout_us);
void htp_rates_name(const struct htp_rates *rates, char ret[64]);

/* ---- libraries (htp_libraries.c) -------------------------------------------------------------------------------------- */

enum status htp_check_process(void);                                    /* one copy of the backend only */
enum status htp_find_link(uint32_t arch, const struct rpc_link **ret);  /* stub of the architecture, or in process */
enum status htp_find_skel(uint32_t arch, char path[RPC_PATH_MAX]);      /* or libQnnHtp.so itself */

/* The one symbol of libQnnHtpPrepare.so. */
#define HTP_PREPARE_SYMBOL "openqnn_htp_prepare"
enum { HTP_PREPARE_VERSION = 1 };
struct htp_prepare_args {
    struct binary_target target;
    struct htp_graph_cfg cfg;
    uint32_t priority, vtcm_mb, hvx_threads;
    uint64_t vtcm_bytes; /* at most vtcm_mb */
    struct cancel *cancel;
};
struct htp_prepare_link {
    uint32_t version;
    const char *build_id;
    const char *(*explain)(void);
    enum status (*prepare)(const struct htp_prepare_args *a, struct ir_graph *g, struct binary_image *ret);
};
extern const struct htp_prepare_link openqnn_htp_prepare; /* the same in libQnnHtp.so */
enum status htp_find_prepare(const struct htp_prepare_link **ret);

/* ---- sessions (htp_session.c) ----------------------------------------------------------------------------------------- */

/* What sets sessions apart. */
struct htp_session_kind {
    uint32_t arch;
    uint32_t domain;      /* of HTP_DOMAIN */
    const char *packages; /* rpc_session_opts.packages; the session may have more than a context needs */
};

struct htp_session {
    const struct rpc_link *link;
    struct rpc_session *s;
    uint32_t index;
    struct htp_session **place; /* in the list of its architecture */
    uint32_t users;          /* contexts, guarded by the list's lock */
    _Atomic uint32_t lost;   /* enum status: why it is gone, ST_OK while it lives */
    char why[STATUS_TEXT_MAX];  /* what its link said then; written before lost */
    struct htp_buffer *buffers; /* htp_buffers.c */
    pthread_mutex_t lock;    /* of buffers */
    struct htp_session_kind kind;
};
/* The session in place `index`, started when there is none; ST_NOT_FOUND: the SoC has no more; ST_IN_USE: one of another
 * kind has the place. */
enum status htp_session_get(uint32_t index, const struct htp_session_kind *kind, uint32_t limit, const struct cancel *signal,
                            struct htp_session **ret);
const char *htp_domain_name(uint32_t domain);
void htp_session_put(struct htp_session *s); /* NULL allowed; the last one ends the process */
/* The result of a call on the link: brings its explanation over, and notices when the process has died. */
enum status htp_session_result(struct htp_session *s, enum status st);
enum status htp_session_check(struct htp_session *s);
enum status htp_session_look(struct htp_session *s); /* the same, and notices when its process has ended */
uint64_t htp_sessions_heap(uint32_t *contexts); /* bytes in all sessions, and how many contexts are on them */
uint64_t htp_sessions_base(void); /* bytes that the processes of all sessions had in use when they had just begun */

/* Op packages (htp_packages.c): those of the context, for its session; whether all that the graph names are registered, and
 * whether there are any; and whether the session has what the context has. */
const char *htp_packages(const struct backend_context *c);
enum status htp_packages_check(const struct backend_context *c, const struct binary_graph *g, bool *ret_any);
enum status htp_packages_in(const struct backend_context *c, const struct htp_session *s, const char *graph);

/* ---- buffers (htp_buffers.c) ------------------------------------------------------------------------------------------ */

/* One mapping of a session; several registrations share it. */
struct htp_buffer {
    struct htp_buffer *next;
    struct htp_session *session;
    uint64_t device, inode, offset, bytes;
    uint32_t map, users;
    void *here; /* in this process, for tensors that must be copied; MAP_FAILED: there was no room */
};

struct backend_mem {
    struct backend_context *context;
    struct htp_buffer *buffer;
    uint64_t offset, bytes; /* in the buffer */
    enum backend_mem_use use;
};
enum status htp_mem_register(struct backend_context *c, const struct backend_mem_spec *s, struct backend_mem **ret);
void htp_mem_release(struct backend_mem *m);
void *htp_mem_address(const struct backend_mem *m);

/* What a buffer for the whole context is for. */
enum htp_pool { HTP_SPILL, HTP_BACKUP /* of VTCM, when a graph gives way */, HTP_WEIGHTS, HTP_POOLS };

/* Memory of our own that the session sees. */
struct htp_shared {
    void *at;
    uint64_t bytes;
    uint32_t map;
    bool borrowed;  /* `at` belongs to somebody else */
};
enum status htp_shared_alloc(struct htp_session *s, uint64_t bytes, const struct cancel *signal, struct htp_shared *ret);
/* Read only; copied unless it is shared already. */
enum status htp_shared_adopt(struct htp_session *s, const void *bytes, uint64_t size, const struct cancel *signal,
                             struct htp_shared *ret);
void htp_shared_free(struct htp_session *s, struct htp_shared *m);
enum status htp_bytes_alloc(uint64_t size, void **ret);
/* htp_lay.c */
enum status htp_bytes_check(int fd, uint64_t offset, uint64_t bytes);
enum status htp_bytes_lay(struct backend_context *c, void *bytes, const struct backend_lay *lay);
struct htp_binary;
/* Under the context's lock: the mapping of the binary has all buffers that came so far. */
enum status htp_lay_all(struct backend_context *c, struct htp_session *s, struct htp_binary *b);
void htp_lay_finish(struct backend_context *c);
enum status htp_bytes_file(int fd, uint64_t offset, uint64_t size, void **ret);
void htp_bytes_free(void *bytes);

/* ---- contexts and graphs ---------------------------------------------------------------------------------------------- */

/* Times of a stage, summed over its calls. */
struct htp_times {
    uint64_t rpc_ns, worker_ns;
    uint32_t calls;
};

/* A binary that the session has mapped; graphs of one file share it. */
struct htp_binary {
    struct htp_binary *next;
    const struct binary *binary;
    struct htp_shared bytes;
    const uint8_t *in; /* what of the binary is in the mapping, where client's buffers may take its place, NULL: nothing */
    uint64_t in_bytes, in_at; /* in_at: in the mapping */
    uint32_t laid;            /* of backend_context.lays */
    uint32_t users;
    uint32_t first;  /* of a graph that switches: the first that was loaded of those in it (htp_switch_bytes.c) */
    uint64_t copied; /* constants that could not be mapped */
};

struct htp_switch;

/* Constants of a file and their place in a buffer for weights; graphs may share them. */
struct htp_constants {
    const void *at;
    uint64_t bytes, offset;
    uint64_t room;  /* from offset on */
    uint32_t users; /* 0: others may have the room */
};

/* A graph that was prepared, for the limits of its options. */
struct htp_prepared {
    uint64_t name; /* its hash */
    bool compressed, both;
};

struct backend_context {
    struct backend_context_cfg cfg;
    struct htp_context_cfg own;
    uint32_t soc_model, arch, vtcm_mb, hvx, cores, sessions;
    VEC(struct htp_prepared) prepared;
    pthread_mutex_t lock;          /* placing, binaries */
    struct htp_session *_Atomic session; /* NULL: nothing was loaded yet; set once, under the lock */
    struct htp_binary *binaries;
    const struct cancel *signal;         /* of the call that loads, NULL: none; under the lock */
    VEC(struct backend_lay) lays;        /* buffers of the client in its binary, in the order of their coming (htp_lay.c) */
    const void *lays_in;                 /* that binary */
    struct htp_times loading, unloading; /* since a profile last asked */
    const struct binary_graph *loaded;   /* the last one, until a profile has asked */
    uint64_t spill_fill, weights;  /* largest of the graphs; all constants */
    VEC(struct htp_constants) constants;
    struct backend_graph *graphs;  /* loaded ones */
    struct backend_mem *pools[HTP_POOLS]; /* the client's buffers for all of them, NULL: memory of the session's own */
    struct htp_switch *switching;         /* htp_switch.h; NULL: all graphs stay loaded */
    bool by_graph;                        /* a session gets graphs of a file one by one, not the file (htp_switch_bytes.c) */
    struct htp_group *group;              /* that shares memory (htp_group.h), NULL: none */
    uint32_t group_place;                 /* of its group, from 1; 0: none; under the group's lock */
    bool heap_first;               /* there was no other context when this one was made */
};

struct backend_graph {
    struct backend_context *context;
    struct backend_graph *next;    /* of the context */
    const struct binary_graph *g;
    const struct binary *file; /* that it is number file_graph of */
    uint32_t file_graph;
    struct htp_binary *binary;
    uint32_t program;
    uint64_t heap_bytes;     /* of the program */
    struct htp_shared state; /* what it remembers, of a graph that switches; kept: while it is not loaded */
    uint8_t *kept;
    uint64_t weights_at;    /* where its constants are in a buffer for weights */
    bool packages;          /* it has operators of packages, which its session has to have */
    bool has_constants;     /* it is one of the users of that place */
    struct htp_shared staging;
    bool shared_staging;    /* it is that of the context's group */
    bool own_staging;       /* another execution used that of the group */
    uint32_t staged;        /* slices of a batch that there is staging memory for */
    uint64_t *place;        /* per I/O table entry: its offset in staging, UINT64_MAX: none reserved */
    struct rpc_io *io;
    uint8_t *made;          /* per entry: the last run computed it */
    uint32_t *dims;         /* MAX_RANK per entry: actual dimensions of outputs */
    struct prof_mark *marks;
    struct prof_node_time *times;
    uint32_t max_marks;
    uint64_t last_ns;       /* of the last run in the session, for adaptive polling */
    uint64_t copied;        /* bytes staged by the last run */
    const struct htp_priority *priority_told; /* in the log; NULL: none yet */
    uint32_t hvx_threads;                     /* of this loaded graph; the client may change them before the first run */
    _Atomic bool has_run;
    _Atomic bool slc_off;   /* the client has taken the system level cache away */
    bool prepare_only;      /* nothing is loaded */
};

/* Priorities of threads (htp_priority.c). */
struct htp_priority {
    uint32_t priority; /* of the API */
    const char *name;
    uint8_t hmx, hvx; /* smaller: first */
};
const struct htp_priority *htp_priority_of(uint32_t priority);
void htp_priority_log(struct backend_graph *g, uint32_t priority); /* where it is another one than before */
void htp_priority_events(const struct backend_run *r);

enum status htp_open(const struct backend_context_cfg *cfg, struct backend_context **ret);
void htp_close(struct backend_context *c);
void htp_context_update(struct backend_context *c, const struct backend_context_cfg *cfg);
void htp_watch_signal(struct backend_context *c, const struct cancel *signal);
enum status htp_check_context(struct backend_context *c);
enum status htp_check_binary(const struct backend_context_cfg *cfg, const struct binary *b); /* htp_fit.c */
bool htp_constants_apart(const struct backend_context *c);
enum status htp_prepare(struct backend_context *c, const struct backend_graph_cfg *cfg, struct ir_graph *g,
                        struct cancel *cancel, struct binary_image *ret);
uint32_t htp_profile_level(uint32_t level);
/* htp_estimate.c: what a profile says of the simulated device */
void htp_estimate_finalize(const struct binary_graph *g, struct prof *prof);
void htp_estimate_time(const struct backend_graph *g, const struct backend_run *r); /* of every level */
void htp_estimate_execute(const struct backend_graph *g, const struct backend_run *r);
/* htp_lint.c: level linting, operator by operator. */
void htp_lint(const struct binary_graph *g, struct prof *prof, int32_t parent);
void htp_stage_events(struct backend_context *c, enum backend_stage stage, struct prof *prof, int32_t parent);
/* Does work on the context's session; while it has none, on the first session where the work does not answer ST_NO_MEMORY,
 * which becomes its own. */
typedef enum status htp_work_fn(struct backend_context *c, struct htp_session *s, void *arg);
enum status htp_place(struct backend_context *c, htp_work_fn *work, void *arg);

/* It will be loaded: counts for the sizes of buffers. */
enum status htp_announce(struct backend_context *c, const struct binary_graph *g);
enum status htp_load(struct backend_context *c, const struct binary *b, uint32_t graph, struct backend_graph **ret);
void htp_unload(struct backend_graph *g);
/* Staging; all: also for tensors that promised registered memory. */
enum status htp_graph_reserve(struct backend_graph *g, bool all);
/* An execution begins. True: it uses staging memory that graphs of several contexts share, until htp_group_end. */
bool htp_graph_begin(struct backend_graph *g, enum status *ret);
/* How many slices of a batch of `wanted` go to the session in one call: staging memory is made for them. 1: one by one. */
enum status htp_graph_slices(struct backend_graph *g, const struct backend_run *r, uint32_t wanted, uint32_t *ret);
/* Under the context's lock; NULL: memory of its own. */
enum status htp_graph_pool(struct backend_graph *g, enum htp_pool pool, const struct backend_mem *m);
enum status htp_run(struct backend_graph *g, const struct backend_run *r);
struct backend_needs htp_needs(const struct backend_graph *g);

#endif
