/* SPDX-License-Identifier: Apache-2.0 */
/* What travels between a client and its session; private to rpc/. Two ways, one version number (RPC_LINK_VERSION):
 *
 *   control   one request, one reply, each a packet of fixed size on the socket; descriptors come along by SCM_RIGHTS
 *   runs      a ring of program ids in shared memory says which programs have something to do; what exactly stands in the
 *             program's own area, also shared, which the answer is written to
 *
 * Both sides look at what the other one wrote as at bytes from outside: rpc_request_check and rpc_reply_check for packets;
 * what is read from shared memory is copied first and checked then. Numbers are those of this machine: both sides always run
 * on it. */
#ifndef RPC_RPC_MESSAGE_H
#define RPC_RPC_MESSAGE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"
#include "profile/profile.h"
#include "rpc/rpc.h"

enum {
    RPC_MAGIC = 0x4351514f,
    RPC_MAX_FDS = 2,
    RPC_MAX_RANK = 8,
    RPC_MAX_PROGRAMS = 4096,
    RPC_MAX_MAPS = 65536,
    RPC_MAX_IO = 1 << 20,
    RPC_MAX_MARKS = 1 << 26,
    RPC_BUILD_ID_MAX = 64,
    RPC_MAX_LANES = 16,
    RPC_INDEX_BITS = 16, /* ids are generation << 16 | index, so that stale ones are noticed */
};

/* ---- control ---------------------------------------------------------------------------------------------------------- */

enum rpc_type {
    RPC_HELLO,
    RPC_MAP,
    RPC_UNMAP,
    RPC_LOAD,
    RPC_AREA,
    RPC_UNLOAD,
    RPC_RESET,
    RPC_SCRATCH,
    RPC_SPILL,
    RPC_BACKUP,
    RPC_WEIGHTS,
    RPC_TYPES
};

struct rpc_hello {
    uint32_t version, arch, threads, lanes;
    uint32_t spin_us; /* how long an idle session looks for the next run before it sleeps */
    uint32_t guards;  /* in the answer: enum rpc_guard, what the session has given up */
    uint64_t budget;
    char build_id[RPC_BUILD_ID_MAX];
};

struct rpc_request {
    uint32_t magic, type, seq, zero;
    union {
        struct rpc_hello hello; /* descriptors: struct rpc_common, the client's pidfd if it has one */
        struct {
            uint64_t offset, bytes, rest_offset, rest_bytes, at;
            uint32_t writable, over;
        } map; /* descriptors: the memory; with rest_bytes, what is mapped right behind it; over: another mapping, part of
                  which it replaces, or 0 */
        struct {
            uint64_t bytes;
            uint32_t map, graph, scratch_map, persistent_map, spill_map, serial;
            uint64_t window_at, scratch_offset, persistent_offset, spill_offset;
        } load;
        struct {
            uint64_t offset;
            uint32_t program, map;
        } scratch; /* also a spill-fill buffer, a backup of fast memory, weights */
        struct { uint64_t bytes; uint32_t program; } area;           /* descriptor: the program's area */
        uint32_t id;                                                 /* of what is unmapped, unloaded or reset */
    };
};

struct rpc_reply {
    uint32_t magic, type, seq, status;
    uint64_t mapped_bytes, heap_bytes; /* what the session holds after this message */
    uint64_t malloc_bytes;             /* of its process, all that malloc has handed out; 0: it is no process of its own */
    uint32_t n_maps, n_programs;
    union {
        struct rpc_hello hello;
        struct { uint32_t id; } map;
        struct { uint64_t heap_bytes, worker_ns; uint32_t program, lane, n_io, max_marks; } load;
    };
    char text[STATUS_TEXT_MAX]; /* why, when status is not ST_OK */
};

const char *rpc_type_name(uint32_t type);
/* A packet of `n` bytes with `n_fds` descriptors is a request; *ret is a copy whose strings end. */
enum status rpc_request_check(const void *bytes, size_t n, unsigned n_fds, struct rpc_request *ret);
/* The same for the answer to `q`. */
enum status rpc_reply_check(const void *bytes, size_t n, const struct rpc_request *q, struct rpc_reply *ret);

/* ---- runs ------------------------------------------------------------------------------------------------------------- */

/* Program ids on their way to one lane of the session; lanes have their rings behind each other. A program is in it at most
 * once, so that it never overflows. The client writes entries, tail and bell, the session head and running; rang is set by
 * both and reset by the session. */
struct rpc_ring {
    _Alignas(64) _Atomic uint32_t bell; /* grows with each submission; the session sleeps on this word */
    _Atomic uint32_t tail;
    _Atomic uint32_t rang; /* not 0: there may be something that the session has not seen; it looks at this word while it
                              runs a program */
    _Atomic uint32_t stop;              /* take nothing more */
    _Atomic uint32_t client_cpu;        /* where the last submission came from: no use in spinning there */
    _Alignas(64) _Atomic uint32_t head;
    _Atomic uint32_t session_sleeps;
    _Atomic uint32_t session_cpu;       /* where runs are done, the same for the client */
    _Atomic uint32_t running;           /* the priority of the run that is being done: others need not disturb it unless
                                           theirs is higher */
    _Alignas(64) _Atomic uint32_t entries[RPC_MAX_PROGRAMS];
};

/* Signs of life. The client asks with a new number; a thread of the session that does nothing else answers with the same
 * number, also while the session loads or computes. So a busy session is told from one that is stopped. */
struct rpc_heartbeat {
    _Alignas(64) _Atomic uint32_t ping; /* written by the client; the session sleeps on this word */
    _Alignas(64) _Atomic uint32_t pong; /* written by the session: the last ping that it has seen */
};

/* What both sides have mapped from hello on. */
struct rpc_common {
    struct rpc_heartbeat heartbeat;
    _Alignas(64) struct cancel control; /* written by the client: the signal of the control message that is on its way */
    struct rpc_ring rings[]; /* one per lane */
};

static inline uint64_t rpc_common_bytes(uint32_t lanes)
{
    return sizeof(struct rpc_common) + (uint64_t)lanes * sizeof(struct rpc_ring);
}

enum rpc_call_state {
    CALL_IDLE,      /* belongs to the client */
    CALL_QUEUED,    /* may still be taken back by the client */
    CALL_RUNNING,   /* belongs to the session */
    CALL_DONE,      /* belongs to the client again */
};

struct rpc_call_io {
    uint64_t offset, bytes;
    uint64_t stride;       /* between two slices */
    uint32_t map;          /* RPC_NONE: left out */
    uint32_t has_dims, wants_dims;
    uint32_t dims[RPC_MAX_RANK], out_dims[RPC_MAX_RANK];
    uint8_t produced, zero[3];
};

/* The fixed part of a program's area; rpc_area_io and rpc_area_marks follow it. */
struct rpc_call {
    _Alignas(64) _Atomic uint32_t state; /* the client sleeps on this word */
    _Atomic uint32_t client_sleeps;
    struct cancel cancel;
    uint64_t submit_ns;
    _Atomic uint32_t pause;              /* exec looks at it while it runs */
    uint32_t step;                       /* to begin with; in the answer of a paused run: to go on with */
    uint32_t priority, n_io, profile_nodes;
    uint32_t slices;                     /* how often the graph is computed, 1 normally */
    uint32_t hold;                       /* wait before this step for a run of higher priority; 0: no */
    /* the answer */
    uint32_t status, n_marks;
    uint32_t beside, zero; /* slices that were computed side by side */
    uint64_t notice_ns, queue_ns, worker_ns, exec_ns;
    struct rpc_yields yields;
    char text[STATUS_TEXT_MAX];
};

static inline struct rpc_call_io *rpc_area_io(struct rpc_call *c)
{
    return (struct rpc_call_io *)(c + 1);
}

static inline struct prof_mark *rpc_area_marks(struct rpc_call *c, uint32_t n_io)
{
    return (struct prof_mark *)(rpc_area_io(c) + n_io);
}

static inline uint64_t rpc_area_bytes(uint32_t n_io, uint32_t max_marks)
{
    return sizeof(struct rpc_call) + (uint64_t)n_io * sizeof(struct rpc_call_io) +
           (uint64_t)max_marks * sizeof(struct prof_mark);
}

static_assert(sizeof(struct rpc_call) % 8 == 0 && sizeof(struct rpc_call_io) % 8 == 0, "what follows is aligned");
static_assert(RPC_MAX_MAPS <= 1 << RPC_INDEX_BITS && RPC_MAX_PROGRAMS <= 1 << RPC_INDEX_BITS, "an index fits its bits");

#endif
