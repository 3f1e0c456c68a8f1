/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of a session; private to rpc/. What the calls mean is the same whether the worker is in another process
 * or in this one: only how a control message gets there differs, and that is a transport. Runs go through the ring
 * in both. */
#ifndef RPC_RPC_LINK_H
#define RPC_RPC_LINK_H

#include <pthread.h>
#include <sys/types.h>

#include "base/vec.h"
#include "rpc/rpc.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_watch.h"

/* How control messages travel. Calls come one at a time, except lost and cut. */
struct rpc_transport {
    /* Start the session and say hello; `q` and `fds` are that message. */
    enum status (*start)(struct rpc_session *s, const struct rpc_session_opts *o);
    /* Send `n` bytes and wait for the answer of at most sizeof(struct rpc_reply) bytes. ST_COMMUNICATION: the other side is
     * gone. */
    enum status (*exchange)(struct rpc_session *s, const void *bytes, size_t n, const int *fds, unsigned n_fds, void *answer,
                            size_t *ret_n);
    /* Waits for the answer to a message that exchange has given up on. NULL: it never does. */
    enum status (*collect)(struct rpc_session *s, void *answer, size_t *ret_n);
    bool (*lost)(struct rpc_session *s); /* the other side is gone */
    /* End it and release descriptors; memory that other threads may look at stays. For unloading. */
    void (*abandon)(struct rpc_session *s);
    void (*cut)(struct rpc_session *s);  /* end it at once; from any thread, any number of times */
    void (*stop)(struct rpc_session *s); /* end it and release what start made, also after a start that failed half-way */
};

/* A loaded program as the client sees it. */
struct link_program {
    uint32_t id, n_io, max_marks;
    struct rpc_ring *ring; /* of its lane */
    struct rpc_call *area;
    uint64_t area_bytes;
    bool busy;             /* some thread's run is on its way */
    uint32_t ring_at;      /* where it stands in the ring, if it is still there */
    uint64_t usual_ns;     /* how long runs take, for adaptive polling */
};

struct rpc_session {
    const struct rpc_transport *t;
    const char *build_id;
    pthread_mutex_t control; /* one control message at a time */
    pthread_mutex_t lock;    /* programs, usage and the client's end of the ring */
    pthread_cond_t turn;     /* a program is no longer busy */
    VEC(struct link_program *) programs;
    _Atomic bool dead;
    pid_t owner;             /* a forked child may not use its parent's session */
    uint32_t seq;
    struct rpc_usage usage;
    int common_fd;
    struct rpc_common *common;
    struct rpc_ring *rings;    /* of common, one per lane */
    struct rpc_session *next;  /* in the list of all that are open */
    uint64_t limit_ns;         /* how long it may be silent; 0: for ever */
    char why[STATUS_TEXT_MAX]; /* under lock: the first reason why it is dead */
    uint32_t lanes;
    unsigned cores;
    /* under control */
    const struct cancel *cancel; /* of the message that is on its way */
    bool owes;                   /* the answer to `owed` is still to come (link_signal.c) */
    struct rpc_request owed;
    VEC(struct rpc_request) later; /* what has to wait for it */
    /* a process */
    int sock, pidfd;
    pid_t pid;
    /* in this process */
    struct worker *worker;
    struct runner *runners[RPC_MAX_LANES];
};

enum status link_open(const struct rpc_transport *t, const char *build_id, const struct rpc_session_opts *o,
                      struct rpc_session **ret);
void link_close(struct rpc_session *s);
bool link_alive(struct rpc_session *s);
enum status link_map(struct rpc_session *s, int fd, uint64_t offset, uint64_t bytes, bool writable, uint32_t *ret);
enum status link_map_joined(struct rpc_session *s, const struct rpc_piece *head, const struct rpc_piece *rest,
                            const struct cancel *signal, uint32_t *ret);
enum status link_map_with(struct rpc_session *s, struct rpc_mapping *m);
enum status link_unmap(struct rpc_session *s, uint32_t map);
enum status link_load(struct rpc_session *s, struct rpc_load *l);
enum status link_unload(struct rpc_session *s, uint32_t program);
enum status link_run(struct rpc_session *s, struct rpc_run *r);
enum status link_set_scratch(struct rpc_session *s, uint32_t program, struct rpc_pool scratch);
enum status link_set_spill(struct rpc_session *s, uint32_t program, struct rpc_pool spill);
enum status link_set_backup(struct rpc_session *s, uint32_t program, struct rpc_pool backup);
enum status link_set_weights(struct rpc_session *s, uint32_t program, struct rpc_pool weights);
enum status link_reset(struct rpc_session *s, uint32_t program);
void link_usage(struct rpc_session *s, struct rpc_usage *ret);
bool link_abandon_all(void);

#define LINK_CALLS                                                                                                     \
    .version = RPC_LINK_VERSION, .explain = status_text, .close = link_close, .alive = link_alive, .map = link_map,    \
    .map_joined = link_map_joined, .map_with = link_map_with, .unmap = link_unmap, .load = link_load,                  \
    .unload = link_unload, .run = link_run, .reset = link_reset, .usage = link_usage, .set_scratch = link_set_scratch, \
    .set_spill = link_set_spill, .set_backup = link_set_backup, .set_weights = link_set_weights,                       \
    .abandon = link_abandon_all

/* ---- private to the link's files -------------------------------------------------------------------------------------- */

/* Send a request, check the answer, remember the usage. The request's magic and number are filled in here. */
enum status link_exchange(struct rpc_session *s, struct rpc_request *q, struct rpc_reply *ret);
/* The same with a signal. Its status: the session may still do it. */
enum status link_exchange_until(struct rpc_session *s, struct rpc_request *q, const int *fds, unsigned n_fds,
                                const struct cancel *cancel, struct rpc_reply *ret);
/* link_signal.c, all under control: the client waits for an answer, has fired_ns 0 at first, and looks here now and then.
 * The signal's status: it has waited long enough. */
enum status link_pass_signal(struct rpc_session *s, uint64_t *fired_ns);
void link_set_signal(struct rpc_session *s, const struct cancel *cancel); /* of the message that is sent next */
bool link_put_off(struct rpc_session *s, const struct rpc_request *q);    /* it is done by link_settle */
enum status link_settle(struct rpc_session *s);                           /* what was given up is answered and undone */
/* Marks the session as dead and ends it; returns ST_COMMUNICATION. Later calls repeat the first reason. */
enum status link_lost(struct rpc_session *s, const char *why);
/* What OPENQNN_FAULT has done to the session, or to all of the process. */
enum status link_fault(struct rpc_session *s, bool all);
enum status link_check(struct rpc_session *s);                 /* alive, and of this process */
/* Looks for a sign of life; ST_COMMUNICATION: it was silent for `limit_ns` while `what` was waited for. */
enum status link_watch(struct rpc_session *s, struct rpc_watch *watch, const char *what, uint64_t limit_ns);
/* What the session wrote into the area. */
enum status link_read_answer(struct rpc_session *s, struct link_program *p, struct rpc_run *r);
struct link_program *link_program_find(struct rpc_session *s, uint32_t id); /* under lock */

#endif
