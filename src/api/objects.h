/* SPDX-License-Identifier: Apache-2.0 */
/* The objects behind client handles (private to api/). Each lives in the file of its entry points; this header is what those
 * files need of each other.
 *
 *     backend ─┬─ context ─┬─ graph (run queue: QnnGraph_execute and executeAsync)
 *              │           └─ mem
 *              ├─ profile
 *              └─ signal
 *
 * Freeing a parent frees its children. Children know their parent by handle, parents know their children in a list guarded
 * by tree_lock. A pinned object (handle_get) cannot go away, nor can its parents. */
#ifndef API_OBJECTS_H
#define API_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "QNN/QnnBackend.h"
#include "QNN/QnnContext.h"
#include "QNN/QnnGraph.h"
#include "QNN/QnnProfile.h"
#include "QNN/QnnSignal.h"
#include "api/call_parts.h"
#include "api/errors.h"
#include "api/log.h"
#include "api/op_package.h"
#include "backend/backend.h"
#include "base/fpu_mode.h"
#include "base/handle.h"
#include "base/mem.h"
#include "base/scheduler.h"
#include "base/vec.h"

/* ---- the tree --------------------------------------------------------------------------------------------------------- */

struct children {
    VEC(void *) handles;
};

/* Remember or forget a child handle; thread safe. */
enum status children_add(struct children *c, void *handle);
void children_remove(struct children *c, void *handle);
void *children_take(struct children *c); /* the newest child, or NULL when there is none left */
bool children_any(struct children *c, bool (*test)(void *handle, const void *arg), const void *arg);
void children_finish(struct children *c);

/* ---- backend ---------------------------------------------------------------------------------------------------------- */

struct api_backend {
    void *self;
    void *log;
    struct backend_cfg cfg;
    struct api_packages *packages;
    struct children contexts, profiles, signals;
    struct context_list *lists; /* begun by QnnContext_createFromBinaryListAsync (context_list.c) */
};

/* ---- device ----------------------------------------------------------------------------------------------------------- */

struct api_device {
    void *self, *log;
    struct backend_device_cfg cfg;
    void *info;      /* its description, for getInfo */
    uint32_t users;  /* contexts */
    bool closing;
};

/* A context begins or ends to use a device; a NULL handle is the default device, whose *ret is NULL. */
enum status device_hold(void *handle, struct api_device **ret, struct backend_device_cfg *cfg);
void device_release(struct api_device *d); /* NULL allowed */

/* ---- profile ---------------------------------------------------------------------------------------------------------- */

struct api_profile {
    void *self, *log, *backend;
    struct api_profile *next; /* list of those with a serial number */
    uint32_t serial;          /* upper half of its event ids */
    const void *graph;        /* handle of the graph that has it in its config, or NULL */
    pthread_mutex_t lock;
    bool in_use;          /* a call records into it */
    struct prof *prof;
    struct arena lists;   /* id arrays handed to the client */
};

bool profile_destroy(void *handle); /* false, here and below: another thread was first */
/* Attach a profile (NULL handle: none) to a call, with a fresh window of events. */
enum status profile_begin(void *handle, struct api_profile **ret);
void profile_end(struct api_profile *p); /* NULL allowed */
/* A profile in a graph's config is that graph's alone. */
enum status profile_bind(void *handle, const void *graph);
void profile_unbind(void *handle); /* NULL allowed */

/* ---- signal ----------------------------------------------------------------------------------------------------------- */

enum signal_kind { SIGNAL_ABORT, SIGNAL_TIMEOUT };

struct api_signal {
    void *self, *log, *backend;
    enum signal_kind kind;
    uint64_t timeout_us;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool in_use;
    bool closing; /* QnnSignal_free has begun; no call may attach it any more */
    struct run_queue *queue; /* of the asynchronous execution that it is attached to; NULL: of another call */
    uint64_t uses; /* calls it was attached to so far */
    struct cancel cancel;
};

bool signal_destroy(void *handle);
/* Attach a signal (NULL handle: none) to one call; a timeout starts to count now. */
enum status signal_begin(void *handle, struct run_queue *queue, struct api_signal **ret); /* NULL: not asynchronous */
void signal_end(struct api_signal *s); /* NULL allowed */

/* ---- context ---------------------------------------------------------------------------------------------------------- */

/* Asynchronous executions of one level that wait, and the thread that waits for their turns. */
struct run_lane {
    struct run_queue *queue;
    struct run_job *first, *last;
    pthread_cond_t filled;
    pthread_t thread;
    bool started;
};

/* What the executions of a context share. The order in which they get their turns is the business of base/scheduler.h. */
struct run_queue {
    struct sched_group group;
    struct sched_unit device; /* what graphs of the context use one after the other */
    pthread_mutex_t lock;     /* for what follows */
    pthread_cond_t room;      /* an asynchronous job has ended, or was aborted */
    pthread_cond_t look;      /* for the thread that ends jobs before their turn */
    uint32_t depth, waiting;  /* asynchronous jobs: the limit, and how many there are */
    struct run_lane lanes[SCHED_LEVELS];
    pthread_t watcher;
    unsigned forks; /* when its threads were there */
    bool watches, stop, stop_watching;
};

struct api_graph;

/* What a tensor created by the client is, by id. */
struct tensor_entry {
    uint32_t graph; /* index of the owning graph in the context; UINT32_MAX: the context itself */
    uint32_t index; /* in the owner's ir_graph */
};

struct api_context {
    void *self, *log, *backend;
    struct api_device *device;
    pthread_mutex_t lock; /* building: graphs, tensors, nodes, finalize */
    struct backend_context_cfg cfg;
    char *oem;
    struct backend_context *state;
    bool from_binary, deferred;
    _Atomic bool closing;
    struct binary binary;          /* from_binary: the whole file */
    struct load_image *image;      /* from_binary: its bytes (load_image.h) */
    char **enabled;                /* ENABLE_GRAPHS, NULL: all; ends with NULL */
    char **retained;               /* GRAPH_RETENTION_ORDER, the same way; NULL: none */
    VEC(struct api_graph *) graphs;
    VEC(struct tensor_entry) tensors; /* by id - 1 */
    struct ir_graph *shared;       /* context tensors, NULL: none yet */
    struct children mems;
    struct run_queue queue;
};

bool context_destroy(void *handle);
struct api_graph *context_find_graph(struct api_context *c, const char *name);
/* For backends; false: no context. */
bool context_with_state(const void *handle, void (*fn)(struct backend_context *c, void *arg), void *arg);

/* Configuration of a context from the client's list. */
struct context_options {
    struct backend_context_cfg cfg;
    const char *const *enable_graphs, *const *retained;
    uint32_t queue_depth;
    bool deferred;
    void *device; /* handle, NULL: the default one */
};
void context_options_init(struct context_options *o);
enum status context_options_read(const QnnContext_Config_t **config, struct context_options *o); /* adds to what is there */
enum status context_alive(struct api_context *c); /* what it runs on is still there */
/* What is loaded from now on ends early when the signal fires; NULL: no signal. */
void context_watch(struct api_context *c, const struct cancel *cancel);
/* The backend's own events; p NULL: dropped. */
void context_stage_events(struct api_context *c, enum backend_stage stage, struct api_profile *p);

/* ---- graph ------------------------------------------------------------------------------------------------------------ */

enum graph_state { GRAPH_OPEN, GRAPH_FINAL, GRAPH_LOADED, GRAPH_NOT_ENABLED, GRAPH_DEFERRED, GRAPH_WRITTEN };

/* An I/O tensor as execute needs it, one per entry of the binary's I/O table. */
struct graph_io {
    uint32_t id;
    const struct binary_tensor *tensor;
};

struct api_graph {
    void *self;
    struct api_context *context;
    uint32_t index; /* in context->graphs */
    char *name;
    _Atomic(enum graph_state) state; /* written under the context's lock; executions look without it */
    bool subgraph;                 /* runs as the body of a node of graph `parent`, never by itself */
    bool used;                     /* a subgraph that a node names: nothing can be added to it any more */
    bool done;                     /* a subgraph of a graph that is finalized */
    uint32_t parent;               /* in context->graphs */
    VEC(uint32_t) captured;        /* tensors of ir that stand for tensors of the graphs around this one */
    _Atomic bool attached;         /* finalized after loading, where the backend asks for that */
    struct backend_graph_cfg cfg;
    struct ir_graph *ir;           /* GRAPH_OPEN; later, too, where tensors can be updated */
    bool changed;                  /* ir has values that the program does not have yet */
    bool other_data, other_quants; /* what of updateable tensors is no longer as they were created */
    struct binary_constants base; /* constants as they were first finalized, of a graph with updateable tensors, or loaded */
    /* What follows up to `sync` changes when an update takes its place: whoever looks without a turn of the queue and
     * without the context's lock has this one. */
    pthread_rwlock_t program;
    VEC(uint8_t) produced;         /* GRAPH_OPEN, per tensor of ir: some node writes it */
    struct binary_image image;     /* GRAPH_FINAL: our own binary */
    struct binary *own;            /* of the image */
    const struct binary *binary;   /* own, or the context's */
    uint32_t binary_index;
    struct backend_graph *loaded;
    uint64_t budget;               /* bytes taken of memory_budget.h */
    struct graph_io *io;           /* inputs, then outputs */
    uint32_t n_inputs, n_io;
    uint32_t *by_id;               /* io indexes sorted by id */
    struct graph_run *sync;        /* what synchronous runs work with, used while the run has its turn */
    struct graph_env *envs;        /* execution environments, the newest first; written with `program` and no execution */
    struct sched_needs needs;      /* of its executions */
    _Atomic(void *) profile;       /* continuous profile of the graph config, NULL: none */
    _Atomic bool profile_off;
    _Atomic uint64_t profile_left; /* executions still profiled, UINT64_MAX: no limit */
    _Atomic uint32_t dumped;       /* executions seen with OPENQNN_DUMP */
    _Atomic bool warned;           /* that a tensor comes with another type */
};

enum status graph_create(struct api_context *c, const char *name, struct api_graph **ret); /* context locked */
enum status graph_check_open(const struct api_graph *g); /* tensors and nodes can be added */
void graph_free(struct api_graph *g);   /* its handle is closed */
/* NULL allowed; context locked, here and below. */
enum status graph_configure(struct api_graph *g, const QnnGraph_Config_t **config);
/* An open one; it is still open when that fails. */
enum status graph_finalize(struct api_graph *g, struct cancel *cancel);
/* It is neither deferred nor left out by its context, nor did the backend only write it down. */
enum status graph_present(const struct api_graph *g);
/* A loaded one: the backend may want to be told that everything has been given to it. */
enum status graph_attach(struct api_graph *g);
/* Updates (graph_update.c). A finalized graph with values that are new is compiled once more. Its program is replaced when
 * the new one is loaded; until then, and when that fails, it stays. */
enum status graph_update(struct api_graph *g, struct cancel *cancel);
/* A program that is ready to take a graph's place, or that was there before. */
struct graph_spare {
    struct api_graph *shell; /* with the members of the program alone, NULL: none */
};
/* Takes the image over, on failure too. */
enum status graph_spare_load(const struct api_graph *g, struct binary_image *im, struct graph_spare *ret);
void graph_spare_swap(struct api_graph *g, struct graph_spare *s);
void graph_spare_free(struct graph_spare *s);
/* Compiles the graph as the client built it. */
enum status graph_compile(struct api_graph *g, struct cancel *cancel, struct binary_image *ret);

/* Asks the backend what executions of the loaded program need. The group of the context is paused, or the graph new. */
void graph_set_needs(struct api_graph *g);
/* Make a graph executable from a binary. */
enum status graph_load(struct api_graph *g, const struct binary *b, uint32_t index);
void graph_unload(struct api_graph *g);

/* One execution: the client's tensors resolved to the graph's I/O table (graph_execute.c). */
struct graph_run {
    struct api_graph *graph;
    struct api_profile *profile;
    struct api_signal *signal;
    struct sched_turn *turn; /* while it has one */
    struct call_stamps at;   /* `run` and `ended` with a profile only */
    uint32_t batch;
    struct backend_io *io;   /* per I/O table entry */
    void **mems;             /* per I/O table entry: pinned memory handle or NULL */
    struct alias *alias;
};

/* The arguments of QnnGraph_execute. */
struct run_args {
    const Qnn_Tensor_t *inputs;
    uint32_t n_inputs;
    Qnn_Tensor_t *outputs;
    uint32_t n_outputs;
    uint64_t called_ns;
};

/* The priority may change while the graph runs: whoever sets it holds the context's lock, a run does not wait for that. */
static inline void graph_set_priority(struct api_graph *g, uint32_t priority)
{
    __atomic_store_n(&g->cfg.priority, priority, __ATOMIC_RELAXED);
}

static inline uint32_t graph_priority(const struct api_graph *g)
{
    return __atomic_load_n(&g->cfg.priority, __ATOMIC_RELAXED);
}

enum status graph_run_create(struct api_graph *g, struct graph_run **ret);
void graph_run_free(struct graph_run *r); /* NULL allowed */
enum status graph_run_bind(struct graph_run *r, const struct run_args *a);  /* resolve and check every tensor */
enum status graph_run_execute(struct graph_run *r);                         /* the caller has its turn in the queue */
void graph_run_release(struct graph_run *r);                                /* ends pins, signal and profile use */

/* ---- mem -------------------------------------------------------------------------------------------------------------- */

struct api_mem {
    void *self, *log;
    void *context;      /* handle */
    struct api_context *owner;
    int fd;
    uint64_t device, inode; /* what the descriptor stands for */
    enum backend_mem_use use;
    uint64_t offset, bytes;
    struct tensor_desc desc;  /* as the client described it */
    _Atomic bool warned;      /* that a tensor is something else */
    const void *object;       /* memory of another API instead of fd, NULL: none */
    void *address;            /* of backends that run in this process */
    struct backend_mem *mem;  /* of the others */
};

bool mem_destroy(void *handle);
/* Registers memory for a tensor, as QnnMem_register does; it is one of the context's. */
enum status mem_add(struct api_context *c, const struct backend_mem_spec *s, const struct tensor_desc *desc, void **ret);

/* ---- queue (queue.c) -------------------------------------------------------------------------------------------------- */

/* An asynchronous execution. `run` is called with ST_OK when it has its turn, which it leaves, otherwise with the reason why
 * it gets none; it frees the job. */
struct run_job {
    struct run_job *next;
    const struct api_graph *graph;
    struct sched_turn turn;
    void (*run)(struct run_job *job, enum status st);
};

enum status queue_init(struct run_queue *q, uint32_t depth);
void queue_finish(struct run_queue *q); /* waits for all jobs, ends the threads */
/* Waits for the turn of a synchronous execution, which ends with sched_leave. */
enum status queue_enter(const struct api_graph *g, struct sched_turn *t);
enum status queue_submit(struct run_queue *q, struct run_job *job); /* blocks while the queue is full */
void queue_look(struct run_queue *q);                               /* the signal of some job was triggered */

/* ---- priorities (priority.c) ------------------------------------------------------------------------------------------ */

uint32_t priority_level(uint32_t priority);                      /* its place in the device's queue, larger first */
enum status priority_check(uint32_t priority, const char *what); /* refuses what is no enumerator */

/* Every entry point that takes a handle starts with this: pins the object as `var` and sets the floating-point mode of
 * docs/numerics.md until the scope ends, or returns the error. */
struct pin {
    const void *handle;
};
void pin_end(struct pin *p);

#define API_OBJECT(type, var, handle, kind, comp)                                                                      \
    if (in_callback() == CALLBACK_BUSY) {                                                                              \
        log_enter(NULL);                                                                                               \
        return api_fail((comp), ST_NOT_PERMITTED,                                                                      \
                        "called from a callback or an op package, in the middle of another call; call it afterwards"); \
    }                                                                                                                  \
    type *var = handle_get((handle), (kind));                                                                          \
    if (!var) {                                                                                                        \
        log_enter(NULL);                                                                                               \
        return api_fail((comp), ST_INVALID_HANDLE,                                                                     \
                        "the %s handle is %s; one that this library gave and has not freed is expected",               \
                        handle_type_name(kind), handle_describe((handle), (kind)));                                    \
    }                                                                                                                  \
    CLEANUP(pin_end) struct pin var##_pin = { (handle) };                                                              \
    (void)var##_pin;                                                                                                   \
    FPU_DEFAULT_MODE(var##_fpu)

/* CLEANUP for a mutex held to the end of the scope. */
static inline void unlock_end(pthread_mutex_t **m)
{
    pthread_mutex_unlock(*m);
}
#define LOCKED(mutex)                                          \
    CLEANUP(unlock_end) pthread_mutex_t *locked_ = (mutex);    \
    pthread_mutex_lock(locked_)

#endif
