/* SPDX-License-Identifier: Apache-2.0 */
/* A backend is one const table: limits, pass list, config parsers, and how a binary is loaded and run. Each libQnn*.so is
 * the same api/ linked with one such table; nothing outside backend/X knows which one it is. Optional members say what NULL
 * means. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/scheduler.h"
#include "base/status.h"
#include "binary/binary.h"
#include "ir/ir.h"
#include "profile/profile.h"

struct backend_context; /* one context's state inside the backend */
struct backend_graph;   /* one loaded graph */
struct backend_mem;     /* one registered buffer of a backend that keeps them itself */

enum { BACKEND_FOLDER = 1024 };

/* What a backend handle was configured for; each of its contexts gets a copy. */
struct backend_cfg {
    bool given;                  /* the client said something; else the backend's default */
    uint32_t target, arch;       /* in the backend's own numbers */
    char folder[BACKEND_FOLDER]; /* where it may keep files, "": nowhere */
};

/* What a device handle was configured for; each context made on it gets a copy. */
struct backend_device_cfg {
    bool given;                  /* the client named the hardware; else the backend's default */
    uint32_t soc_model, arch;
    uint32_t flags, app_uid;     /* in the backend's own bits */
    uint32_t vtcm_mb, cores;     /* of the hardware as the client described it, 0: not said */
};

/* An op package that is registered with a backend handle. What nodes and implementations look like is the backend's
 * business. Results are 0, or the code that the package returned. */
struct backend_package {
    const char *name;
    uint64_t (*create)(const struct backend_package *p, void *node, void **impl);
    uint64_t (*free)(const struct backend_package *p, void *impl);
    /* A function that the package gave; clients' calls from there are refused, its messages go to the client's log. */
    uint64_t (*call)(const struct backend_package *p, uint64_t (*fn)(void *arg), void *arg);
};

struct backend_context_cfg {
    struct backend_cfg backend;
    void *packages; /* op packages of the backend handle, for backend_host.find_package */
    struct backend_device_cfg device;
    uint64_t own[24];            /* what the backend's context_config made of CUSTOM entries; all 0: none were given */
    char folder[BACKEND_FOLDER]; /* where the context may keep files, "": nowhere */
    uint32_t priority;
    uint32_t threads;            /* 0: the backend's choice */
    const char *oem;
    bool strict_binary;          /* refuse a binary that is not the best for the device */
    bool persistent_binary;      /* the client's buffer stays valid: use it in place */
    bool from_binary;            /* it gets the graphs of a file, and no others */
    bool priority_given;         /* by an option; else it is the default */
    uint64_t list;               /* number of the list that it is created in, 0: none */
    const void *binary;          /* the client's buffer with the file, NULL: not known; looked at in open alone */
    uint64_t binary_bytes;
    /* Graph switching: what need not be in memory all the time. Names end with NULL and stay valid. */
    uint64_t memory_limit;       /* not 0: a graph is loaded when it runs, and others make room for it */
    const char *const *enabled;  /* graphs of the file that may run, NULL: all */
    const char *const *retained; /* graphs to keep, the most important first; NULL: none is kept */
};

struct backend_graph_cfg {
    uint32_t priority;
    uint32_t opt_level;
    void *custom;                /* what the backend's graph_config made of CUSTOM entries, NULL: none */
};

/* What a client's memory descriptor names. */
enum backend_mem_use { MEM_TENSOR, MEM_WEIGHTS, MEM_SPILL_FILL, MEM_VTCM_BACKUP };
struct backend_mem_spec {
    enum backend_mem_use use;    /* other than MEM_TENSOR: for the context as a whole, without a shape */
    int fd;
    uint64_t offset, bytes;      /* of this tensor */
    uint64_t total;              /* of the whole buffer, 0: not said */
    void *object;                /* memory of another API instead of a file descriptor, NULL: none */
};

/* One tensor of a run; entries in the order of the graph's I/O table. */
struct backend_io {
    void *data;              /* client memory, NULL: left out (optional tensors), or in `mem` */
    struct backend_mem *mem; /* registered with mem_register, else NULL */
    const uint32_t *dims;    /* for dynamic dimensions, else NULL */
    uint32_t *out_dims;      /* where to report actual dimensions, or NULL */
    uint8_t *produced;       /* outputs: where to report that this execution computed it, or NULL */
};

/* Where the time of an execution goes, as far as the backend knows. What is left is the rest; all 0: it is the run. */
enum backend_part {
    PART_COPY_IN, /* to memory that the device sees */
    PART_CALL,    /* until the device has seen the call */
    PART_QUEUE,   /* there, until it begins */
    PART_RUN,
    PART_YIELD,  /* while others of higher priority ran instead */
    PART_RETURN, /* until the caller has seen the answer */
    PART_COPY_OUT,
    BACKEND_PARTS
};

struct backend_run {
    const struct backend_io *io;
    struct sched_turn *turn;        /* of the execution; NULL: none, in tests of a backend alone */
    uint32_t priority;              /* of the graph, as it is configured now */
    uint32_t batch;                 /* the graph runs this many times over consecutive slices of dimension 0; 1 normally */
    struct cancel *cancel;          /* may be NULL */
    struct prof *prof;              /* may be NULL; level decides what is recorded */
    uint64_t *parts;                /* BACKEND_PARTS of them, in ns, all 0 before; NULL: not wanted */
    int32_t prof_parent;            /* event to hang the backend's events under; PROF_ROOT: none */
};

/* What an execution of a graph needs of the device. All zero: the graphs of a context run beside each other. */
struct backend_needs {
    bool device;      /* the unit of which a context has one */
    uint32_t threads; /* cores of this machine; 0: it computes elsewhere */
    bool preemptible; /* run gives way at command boundaries (sched_yield_turn) */
};

/* What a context's options say about bringing in its binary. */
struct backend_loading {
    uint64_t budget;          /* bytes of a mapped file that may be in memory at a time; 0: no limit */
    bool all_cores;           /* read and check with all of them */
    bool unsummed_sections;   /* sections that are applied are not held against their checksums */
    const char *no_callbacks; /* the option that excludes buffers of callbacks; NULL: none */
};

/* Memory of the client for a part of a binary; everything in bytes, multiples of a page. */
struct backend_lay {
    uint64_t at; /* in the binary */
    int fd;      /* borrowed */
    uint64_t offset, bytes;
};

/* The backends, as columns of capabilities.def. */
enum { COLUMN_CPU = 1, COLUMN_HTP = 2, COLUMN_LPAI = 4, COLUMN_GPU = 8, COLUMN_ALL = 15 /* that execute */, COLUMN_IR = 16 };

enum backend_direct { DIRECT_NONE, DIRECT_REGISTERED, DIRECT_ALL };

/* Limits of memory and types that api/ checks on the backend's behalf. */
struct backend_limits {
    uint32_t max_async_depth; /* largest ASYNC_EXECUTION_QUEUE_DEPTH */
    uint32_t async_depth;     /* default */
};

/* Parts of a context's life that profiles tell apart. */
enum backend_stage { STAGE_LOAD, STAGE_FINALIZE, STAGE_DEINIT, STAGE_UPDATE /* a section of a binary */, STAGE_COUNT };

struct backend {
    const char *name;              /* provider name, "CPU" */
    uint32_t id;                   /* QNN_BACKEND_ID_CPU */
    const char *log_tag; /* what messages to a client's log begin with, before the letter of their level; NULL: nothing */
    uint32_t version[3];           /* API version of the backend */
    struct backend_limits limits;
    uint32_t column;               /* of capabilities.def: which property keys are answered SUPPORTED */

    /* Whose public facts (ops/op_facts.def) are held against operators; what they do not speak against is taken when it has
     * a kernel. */
    enum op_backend facts;
    /* For backends with kernels of their own. NULL: those of kernels/ count. */
    bool (*has_kernel)(enum op_id op);
    enum status (*try_kernel)(const struct op_call *c); /* explains refusals */

    /* CUSTOM config entries. `custom` is the client's pointer. NULL: every custom entry is refused as not supported. */
    enum status (*backend_config)(const void *custom, struct backend_cfg *cfg);
    enum status (*context_config)(const void *custom,
                                  struct backend_context_cfg *cfg); /* ST_NOT_SUPPORTED: ignored with a warning */
    enum status (*graph_config)(const void *custom, struct backend_graph_cfg *cfg);
    void (*graph_config_free)(struct backend_graph_cfg *cfg);
    /* All options of one call are read: whether the context's device has them, and whether they go together. What is refused
     * is taken back. NULL: they always do. */
    enum status (*graph_config_check)(struct backend_context *c, struct backend_graph_cfg *cfg);
    /* All CUSTOM entries of one QnnGraph_setConfig on a graph that is loaded; all are taken or none. NULL: graph_config
     * takes them one by one. */
    enum status (*loaded_config)(struct backend_graph *g, struct backend_graph_cfg *cfg, const void *const *customs,
                                 size_t n);
    enum status (*soc_model)(uint32_t model); /* QnnGlobalConfig; NULL: every SoC model is accepted and ignored */

    /* Devices. NULL: there are no device objects. `platform` is a QnnDevice_PlatformInfo_t, one the client built or one made
     * here. */
    enum status (*device_config)(const void *custom, struct backend_device_cfg *cfg);
    enum status (*device_platform)(const void *platform, struct backend_device_cfg *cfg);
    enum status (*device_check)(struct backend_device_cfg *cfg); /* all options are read: settle what they mean together */
    enum status (*platform_info)(const struct backend_device_cfg *cfg, void **ret); /* cfg NULL: all there is */
    void (*platform_info_free)(void *platform);
    void *(*infrastructure)(void); /* a QnnDevice_Infrastructure_t, valid while the library is loaded */

    /* Whether this process may use the backend at all, asked where objects begin (devices, contexts, graphs, operators).
     * NULL: it may. */
    enum status (*check_process)(void);
    /* Whether this machine has what the backend runs on, asked for each backend handle. NULL: it has. */
    enum status (*check_machine)(void);

    /* Op packages: what they are given when they begin, a QnnOpPackage_GlobalInfrastructure_t. NULL: none run here, and
     * no_packages says why. Where only those of the device's own target (package_target) do not, it says why they do not. */
    void *(*package_infrastructure)(void);
    const char *package_target, *no_packages;
    bool package_sessions; /* they run in sessions, which have to find their files */

    /* CUSTOM properties: fill what the client's pointer asks for. NULL: refused as not supported. */
    enum status (*backend_property)(const struct backend_cfg *cfg, void *custom);
    enum status (*context_property)(struct backend_context *c, void *custom);
    enum status (*graph_property)(struct backend_graph *g, void *custom); /* g is NULL while the graph is being built */

    /* Whether a binary may be used by contexts of this configuration, beyond being of this backend. NULL: yes. */
    enum status (*check_target)(const struct backend_context_cfg *cfg, const struct binary_target *t);
    /* The same for its graphs; with strict_binary ST_SUBOPTIMAL for one that runs, but not at its best. NULL: it does not
     * depend on the device. */
    enum status (*check_binary)(const struct backend_context_cfg *cfg, const struct binary *b);
    /* Where the client's binary lies, which is to be used in place. NULL: elsewhere it is copied. */
    enum status (*check_in_place)(const struct backend_context_cfg *cfg, const void *binary);

    /* Contexts: made once per QnnContext. */
    enum status (*open)(const struct backend_context_cfg *cfg, struct backend_context **ret);
    void (*close)(struct backend_context *c);
    void (*context_update)(struct backend_context *c,
                           const struct backend_context_cfg *cfg); /* new CUSTOM entries in cfg->own. NULL: of no interest */
    /* Whether the context and its graphs may have that priority. NULL: they may. */
    enum status (*check_priority)(struct backend_context *c, uint32_t priority);
    enum status (*check_context)(struct backend_context *c); /* whether what it runs on is still there. NULL: it is */
    /* Memory for a copy of the client's binary that load can use in place. NULL: ordinary memory. */
    enum status (*bytes_alloc)(uint64_t size, void **ret);
    void (*bytes_free)(void *bytes);
    int (*bytes_fd)(const void *bytes); /* the descriptor behind it. NULL: it has none */
    /* The same for a file that is used in place, read only. NULL: files are copied. */
    enum status (*bytes_file)(int fd, uint64_t offset, uint64_t size, void **ret);
    /* From now on memory of the client stands in place of part of what bytes_alloc gave, for good: here and where graphs
     * are loaded. NULL: the client cannot bring memory for constants. */
    enum status (*bytes_lay)(struct backend_context *c, void *bytes, const struct backend_lay *lay);
    /* Whether a descriptor of the client has these bytes. With bytes_lay. */
    enum status (*bytes_check)(int fd, uint64_t offset, uint64_t bytes);
    /* How the context's binary is brought in. NULL: as all zero says. */
    struct backend_loading (*loading)(const struct backend_context_cfg *cfg);
    /* Loads of the context look at this signal from now on, NULL: at none. NULL: they are not cut short. */
    void (*watch_signal)(struct backend_context *c, const struct cancel *cancel);

    /* What a saved context has besides its graphs: bytes of the backend's own, which load finds in binary.own. Valid until
     * the next call; two calls in a row give the same. NULL: none. */
    enum status (*context_bytes)(struct backend_context *c, const void **ret, uint64_t *bytes);

    /* Whether graphs of a saved context keep constants apart that they have in common. NULL: they do not. */
    bool (*constants_apart)(const struct backend_context *c);

    /* The compiler: consumes the graph. An image that stays empty: the graph went elsewhere and is not executed here. */
    enum status (*prepare)(struct backend_context *c, const struct backend_graph_cfg *cfg, struct ir_graph *g,
                           struct cancel *cancel, struct binary_image *ret);

    /* The runtime. `b` and its memory stay valid until unload. */
    enum status (*announce)(
        struct backend_context *c,
        const struct binary_graph *g); /* will be loaded later (DEFER_GRAPH_INIT). NULL: of no interest */
    enum status (*load)(struct backend_context *c, const struct binary *b, uint32_t graph, struct backend_graph **ret);
    enum status (*run)(struct backend_graph *g, const struct backend_run *r);
    /* The device model. NULL: one execution of a context at a time, which is not preempted. */
    struct backend_needs (*needs)(const struct backend_graph *g);
    void (*unload)(struct backend_graph *g);
    /* QnnGraph_finalize on a loaded graph, whether from a binary or compiled here: what it still needs before it may run.
     * NULL: a loaded graph is ready, and finalizing it again is refused. */
    enum status (*attach)(struct backend_graph *g, const struct backend_graph_cfg *cfg);
    /* I/O table entry `io` has room inside the backend's memory, so the client may leave its buffer out. NULL: it
     * may not. */
    bool (*has_room)(const struct backend_graph *g, uint32_t io);

    /* Registered memory: NULL means QNN_MEM is not supported. Maps a descriptor and gives the host address of the data. */
    enum status (*mem_map)(struct backend_context *c, int fd, uint64_t offset, uint64_t bytes, void **ret);
    void (*mem_unmap)(struct backend_context *c, void *address, uint64_t bytes);
    /* What a CUSTOM memory descriptor of the client names; `bytes` is filled by api/. NULL: CUSTOM is not supported. */
    enum status (*mem_custom)(const void *info, struct backend_mem_spec *ret);
    /* For backends that run elsewhere: used instead of mem_map and mem_unmap. */
    enum status (*mem_register)(struct backend_context *c, const struct backend_mem_spec *s, struct backend_mem **ret);
    void (*mem_release)(struct backend_mem *m);
    /* What of the client's memory is computed in directly, so that api/ looks whether tensors of an execution overlap. The
     * other backends copy, or look themselves. */
    enum backend_direct direct;
    void *(*mem_address)(const struct backend_mem *m); /* in this process, NULL: it is not mapped here; with mem_register */

    /* What a profile level of the backend's own comes to: 1 (basic), 2 (detailed), 0: unknown. NULL: there are none. */
    uint32_t (*profile_level)(uint32_t level);
    uint32_t update_event; /* type of the event for an applied section; 0: that of loading a binary */
    bool switches_graphs;  /* it does what memory_limit and retained of a context ask for */
    bool flat_profile; /* events of an execution stand beside that of the whole, not below it */
    /* Profiles: what happened in the backend since this was last asked about the stage, as events below `parent`. NULL:
     * nothing to tell. */
    void (*stage_events)(struct backend_context *c, enum backend_stage stage, struct prof *prof, int32_t parent);
};

/* What api/ does for backends; set when the library is loaded. Without api/ (tests of a backend alone) the members
 * are NULL. */
struct backend_host {
    void (*log)(uint32_t level, const char *text); /* 1 error, 2 warning, 3 info, 4 verbose, 5 debug */
    /* Calls fn with the state of the context behind a client's handle, which stays meanwhile. False: it is not the handle of
     * a context. */
    bool (*with_context)(const void *handle, void (*fn)(struct backend_context *c, void *arg), void *arg);
    /* The op package with that operator, for a node of that name. */
    enum status (*find_package)(void *packages, const char *node, const char *package, const char *op,
                                const struct backend_package **ret);
    /* The libraries of all of them as struct rpc_packages wants them (rpc/rpc.h), "": there are none. Stays as long as they
     * do. */
    const char *(*list_packages)(void *packages);
    /* A Qnn_Tensor_t with these properties, without a name; what it points at is in the arena. */
    enum status (*describe_tensor)(const struct tensor_desc *d, struct arena *a, void *ret);
    void (*failed)(uint32_t code); /* a function that clients call past api/ returns this code; status_text() explains it */
};
extern struct backend_host backend_host;

enum { BACKEND_ERROR = 1, BACKEND_WARN = 2, BACKEND_INFO = 3, BACKEND_VERBOSE = 4, BACKEND_DEBUG = 5 };
void backend_log(uint32_t level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What the table says about an operator, with the defaults applied (backend.c). backend_supports expects a call that passed
 * op_check; a refusal names the operator, the types seen and what there is. */
bool backend_has_op(const struct backend *b, enum op_id op);
enum status backend_supports(const struct backend *b, const struct op_call *c);
enum status backend_try_bind(const struct op_call *c);       /* kernels refuse what they cannot compute, and say why */
bool backend_capable(const struct backend *b, uint32_t key); /* the property key is answered SUPPORTED */

/* Op packages of this computer's code (package_config.c): what they are given, and how exec runs nodes of those that are
 * registered; `packages` as in backend_host.find_package. */
struct exec_outside;
void *backend_package_infrastructure(void);
void backend_package_outside(void *packages, struct exec_outside *ret);

/* mem_map and mem_unmap for backends that run in this process (backend_mem.c). */
enum status backend_map_fd(struct backend_context *c, int fd, uint64_t offset, uint64_t bytes, void **ret);
void backend_unmap_fd(struct backend_context *c, void *address, uint64_t bytes);

/* An environment variable that is neither empty nor 0. */
bool backend_variable_set(const char *variable);
/* OPENQNN_STRICT: refuse what a device would refuse, also where public programs depend on more. */
bool backend_strict(void);

/* The file of this library as it was opened; its folder with a slash at the end, "" when there is none; and a symbol of a
 * library that lies in that folder, otherwise in one of LD_LIBRARY_PATH, NULL when there is no such file
 * (backend_library.c). */
const char *backend_own_path(void);
void backend_own_folder(char *ret, size_t size);
enum status backend_open_symbol(const char *name, const char *symbol, void **lib, void **ret);

/* The table of this library; each backend folder defines it once. */
extern const struct backend *const backend_this;

#endif
