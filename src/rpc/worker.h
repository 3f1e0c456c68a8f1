/* SPDX-License-Identifier: Apache-2.0 */
/* What runs in a session: mappings, loaded programs and runs, driven by messages; private to rpc/. It is the same code in a
 * process of its own and in the client's.
 *
 *   worker_handle   control messages, from any thread; they take turns
 *   runner_*        a thread that takes runs from the ring of its lane, the highest priority first, one at a time
 *
 * A lane is what one run at a time needs: that thread, its helpers, fast memory. A session has several where the machine has
 * more cores than one run uses. A program stays in the lane that it was loaded for. */
#ifndef RPC_WORKER_H
#define RPC_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/thread.h"
#include "base/vec.h"
#include "binary/binary.h"
#include "exec/exec.h"
#include "rpc/rpc.h"
#include "rpc/rpc_message.h"

struct worker_map {
    bool used;
    uint32_t generation;
    void *at;              /* page aligned, `pages` bytes; `bytes` from `data` are what the client asked for */
    uint8_t *data;
    uint64_t bytes, pages;
    uint64_t device, inode, offset; /* the file behind it, and where in it: two mappings of one are the same memory */
    bool writable;
    uint32_t programs, runs; /* who uses it: programs of the binary in it, and runs */
    uint32_t pools;          /* programs that compute in it */
    struct binary binary;    /* open while there are programs of it */
    uint64_t binary_bytes;
};

struct worker_program;

/* What is called between the steps of a run, and may run other programs there: when a word is not 0. */
struct worker_hook {
    void (*between)(void *arg, struct worker_program *p, uint32_t step);
    void *arg;
    const _Atomic uint32_t *when;
};

/* A run that gave way: before which step, since when, and where its fast memory is while somebody else has the window. */
struct worker_away {
    uint32_t step;
    uint64_t since_ns, release_ns;
    uint8_t *saved;          /* NULL: still in the window, or it has none */
};

/* For slices of a batch side by side (worker_slices.c): a program for each thread of the lane. */
struct worker_slices {
    bool tried;
    unsigned n;
    struct exec_program **programs; /* NULL: none */
    struct exec_binding *io;        /* n_io for each */
    uint8_t *windows;
    uint64_t bytes; /* of all */
};

/* Of all programs for slices in a session. */
#define WORKER_SLICES_MOST (UINT64_C(256) << 20)

struct worker_program {
    uint32_t id, lane;
    uint32_t map;            /* of the binary */
    uint32_t scratch, persistent, spill, backup, weights; /* mappings that it computes in, 0: memory of its own */
    uint64_t weights_offset; /* in the file behind that mapping */
    uint8_t *backup_at;      /* for fast memory when it gives way; NULL: memory of the session */
    void *weights_memory;    /* that copy; NULL: constants are read from the binary */
    const struct binary_graph *g;
    struct exec_program *exec;
    struct worker_slices slices;
    uint64_t heap_bytes;     /* without fast memory */
    uint64_t window_at;      /* where it begins in the window */
    struct rpc_call *area;   /* NULL until the client gave it */
    uint64_t area_bytes;
    uint32_t runs;           /* 1 while it runs or is reset */
    bool running;
    uint64_t seen_ns;        /* when the runner took the call out of the ring */
    uint32_t n_slices;       /* of the run: how often the graph is computed */
    uint32_t priority, hold; /* of the run; hold: the step before which it waits for a higher one, 0: none */
    const struct worker_hook *hook;
    struct worker_away away;
    struct rpc_yields yields;
    uint32_t paused;         /* the step that a paused run goes on with, 0: none */
    struct exec_binding *io; /* of the run, with copies of what the client wrote */
    struct rpc_call_io *asked;
};

enum { WORKER_MAX_WAITING = 7 }; /* as many as there are priorities below the highest */

/* Fast memory, which programs of a lane share (worker_window.c). Opened and closed by control messages only. Tensors of the
 * program that runs are in it, and those of programs that wait and were not saved. */
struct worker_window {
    uint8_t *at;                                        /* NULL: no program wants it */
    struct worker_program *waiting[WORKER_MAX_WAITING]; /* under lock: runs that gave way, the first one first */
    uint32_t n_waiting, n_backups;
};

enum { WORKER_WINDOW_MOST = 16 << 20 };
/* Addresses of a lane's fast memory and of what was saved of it. */
#define WORKER_WINDOW_BYTES ((uint64_t)WORKER_WINDOW_MOST * (1 + WORKER_MAX_WAITING))

struct worker_lane {
    struct team *team;       /* NULL: one thread */
    int nice;                /* of its threads now; only for the thread that runs programs */
    struct worker_window window;
};

struct worker {
    struct rpc_hello hello;
    uint32_t n_lanes;
    struct worker_lane lanes[RPC_MAX_LANES];
    bool may_nice;            /* the process may give its threads nice values, and take them back */
    int nice;                 /* that it was started with */
    pthread_mutex_t control;  /* one control message at a time */
    pthread_mutex_t lock;     /* for what follows; never held while something is loaded or runs */
    pthread_cond_t changed;   /* a run ended */
    VEC(struct worker_map) maps;
    VEC(struct worker_program *) programs; /* NULL: free */
    uint32_t generation;
    uint64_t mapped_bytes, heap_bytes;
    uint64_t window_charged; /* fast memory: for the largest of the programs, once; part of heap_bytes */
    uint32_t n_maps, n_programs;
    uint64_t slices_bytes; /* of worker_slices.bytes */
    const struct cancel *_Atomic signal; /* of the control message that is done; NULL: none */
    void *packages; /* op packages, NULL: there are none */
    struct exec_outside outside;
};

/* Op packages (worker_packages.c), as rpc_session_opts lists them; NULL: none. Opened while files can be opened, begun once
 * the session is locked in, before the first request. */
enum status worker_packages_open(const char *list);
enum status worker_packages_begin(struct worker *w, const char *list);
void worker_packages_end(struct worker *w);

enum status worker_create(const struct rpc_hello *h, struct worker **ret);
void worker_free(struct worker *w); /* NULL allowed; nothing runs any more */

/* Does what the request asks for and says how it went. Descriptors are borrowed. */
void worker_handle(struct worker *w, const struct rpc_request *q, const int *fds, struct rpc_reply *ret);

/* Where the client's signals for control messages are. */
void worker_set_signal(struct worker *w, const struct cancel *signal);

/* ---- private to the worker's files ------------------------------------------------------------------------------------ */

struct worker_map *worker_map_find(struct worker *w, uint32_t id);         /* under lock; NULL: no such mapping */
struct worker_program *worker_program_find(struct worker *w, uint32_t id); /* the same for programs */
uint32_t worker_generation(struct worker *w);                              /* under lock: for the next id */
enum status worker_charge(struct worker *w, uint64_t bytes, const char *what); /* under lock: would `bytes` more fit? */
/* Heap that it will be charged; pools: of its own. */
uint64_t worker_program_bytes(const struct worker *w, const struct binary_graph *g, uint64_t pools);
void worker_program_free(struct worker_program *p);                     /* NULL allowed */
enum status worker_load(struct worker *w, const struct rpc_request *q, struct rpc_reply *r);
enum status worker_area(struct worker *w, const struct rpc_request *q, int fd);
enum status worker_unload(struct worker *w, uint32_t id);
/* Where the load request says that a program of the binary in `binary_map` computes; NULL: in memory of its own. */
enum status worker_pools_find(struct worker *w, const struct rpc_request *q, uint32_t binary_map,
                              const struct binary_graph_info *i, struct exec_opts *o);
/* Fast memory of a lane for a program of this graph, NULL: it needs none; what more it would be charged; and, under
 * lock, the charge for the programs that are loaded now. Close gives it back when none of them needs it. */
enum status worker_window_open(struct worker *w, uint32_t lane, const struct binary_graph *g, uint64_t begin, void **ret);
uint64_t worker_window_growth(const struct worker *w, const struct binary_graph *g);
void worker_window_fit(struct worker *w);
void worker_window_close(struct worker *w);
uint8_t *worker_window_backup(struct worker_window *v); /* room for the fast memory of one more run that waits */
void worker_pool_hold(struct worker *w, uint32_t map); /* under lock, like drop; 0: nothing */
void worker_pool_drop(struct worker *w, uint32_t map);
/* Under lock: when no run uses it any more; NULL: no such program. */
struct worker_program *worker_find_idle(struct worker *w, uint32_t id);
enum status worker_set_scratch(struct worker *w, const struct rpc_request *q);
enum status worker_set_spill(struct worker *w, const struct rpc_request *q);
enum status worker_set_backup(struct worker *w, const struct rpc_request *q);
enum status worker_set_weights(struct worker *w, const struct rpc_request *q);
enum status worker_reset(struct worker *w, uint32_t id);

/* worker_nice.c */
void worker_nice_begin(struct worker *w);                               /* finds out what the process may */
void worker_nice_use(struct worker *w, const struct worker_program *p); /* on the thread of the lane: p computes now */

/* ---- runs ------------------------------------------------------------------------------------------------------------- */

/* The priority of a queued call, or false when the id names no program of the lane or there is nothing to do. */
bool worker_queued(struct worker *w, uint32_t lane, uint32_t program, uint32_t *ret_priority);
/* hook: NULL allowed. Waits for a run in another lane that computes in the same memory; worker_run_now returns false
 * instead, and has done nothing. */
void worker_run(struct worker *w, uint32_t program, const struct worker_hook *hook);
bool worker_run_now(struct worker *w, uint32_t program, const struct worker_hook *hook);
bool worker_is_late(const struct worker_program *p); /* its signal says that it should end */

/* Slices of a batch (worker_slices.c). Computes as many of the run's as go side by side and returns their number. */
uint32_t worker_slices_run(struct worker *w, struct worker_program *p);
bool worker_slices_independent(const struct binary_graph *g);        /* they may run in any order */
enum status worker_slices_constants(struct worker_program *p);       /* p->weights_memory is another one */
void worker_slices_leave(struct worker *w, struct worker_slices *s); /* under lock: before it is freed */
void worker_slices_free(struct worker_slices *s);

/* Under lock: a program that is running, or gave way, and computes in memory that p computes in, too. */
bool worker_shares(struct worker *w, const struct worker_program *p);
/* Runs that give way (worker_yield.c). A program may run between two steps of p when it needs nothing that p or any other
 * one that is not done still needs, fast memory aside. */
bool worker_may_interrupt(struct worker *w, const struct worker_program *p, uint32_t program);
void worker_yield(struct worker *w, struct worker_program *p, uint32_t step); /* p waits, its fast memory may be needed */
/* Those that ran meanwhile are done; the last one that waits goes on. */
void worker_resume(struct worker *w, struct worker_program *p);
void worker_window_claim(struct worker *w, struct worker_program *p); /* p is about to run */

struct runner;
enum status runner_start(struct worker *w, uint32_t lane, struct rpc_ring *ring, struct runner **ret);
void runner_stop(struct runner *r); /* after the run that is being done; NULL allowed */

#endif
