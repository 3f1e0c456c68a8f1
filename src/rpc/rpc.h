/* SPDX-License-Identifier: Apache-2.0 */
/* The way to the DSP: memory that two processes share, and sessions.
 *
 * A session is one DSP process domain: another process that maps what it is given by file descriptor, loads graphs of
 * context binaries and runs them. It is reached through a link: the table of the stub library, or rpc_link_inproc, where the
 * worker runs in the caller's process on the same messages. Whoever holds a session may call from any thread; runs of
 * several threads are queued in the session by priority.
 *
 *     client process                      socket pair: map, load, unload (descriptors by SCM_RIGHTS)       session process
 *     backend/X -> link (stub library)    shared ring: run, with polling or futex waits                    worker -> exec
 *
 * When the process dies, calls in flight and all later ones return ST_COMMUNICATION; close it and open another. A process
 * that does not answer within OPENQNN_SESSION_TIMEOUT is killed. */
#ifndef RPC_RPC_H
#define RPC_RPC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/status.h"
#include "profile/profile.h"

/* Zeroed, page aligned, mapped shared. The registry remembers address, size and descriptor. */
enum status rpc_alloc(size_t size, void **ret);
enum status rpc_free(void *address);  /* ST_NOT_FOUND: not the start of an allocation; nothing happens then */
/* The descriptor of the allocation that holds this address, or -1; it belongs to the allocation. */
int rpc_fd(const void *address);
size_t rpc_size(const void *address); /* of the allocation that holds this address, 0: none */
/* The same for part of a file, mapped read only; the descriptor stays the caller's. And where an address of an allocation
 * is in what is behind its descriptor. */
enum status rpc_map_file(int fd, uint64_t offset, size_t size, void **ret);
uint64_t rpc_offset(const void *address);
unsigned rpc_live(void);              /* allocations not freed yet, for leak tests */
/* The library is being unloaded: closes the descriptors of allocations that were not freed. Their memory stays. */
void rpc_abandon(void);

/* ---- what the DSP is that is played here ------------------------------------------------------------------------------ */

struct rpc_soc {
    uint32_t model;
    const char *name;
    uint8_t arch;      /* 0: public tables do not say; the client has to */
    uint8_t vtcm_mb;
    uint8_t hvx;       /* vector contexts */
    uint8_t cores;
    uint8_t sessions;  /* of one process */
    bool has_htp;      /* false: an older DSP */
};
const struct rpc_soc *rpc_soc_find(uint32_t model);        /* NULL: unknown */
const struct rpc_soc *rpc_soc_find_name(const char *name); /* by name or number */
const struct rpc_soc *rpc_soc_of_arch(uint32_t arch);      /* the first of that architecture */

/* ---- sessions --------------------------------------------------------------------------------------------------------- */

enum { RPC_LINK_VERSION = 13, RPC_NONE = UINT32_MAX };
enum { RPC_ARCH_LPAI = 1 }; /* sessions of the low-power domain, beside the architectures of HTP (68, 73, …) */

struct rpc_session;

struct rpc_session_opts {
    const char *skel;      /* path of the skel to run, NULL: rpc_find_skel beside the stub library; ignored in process */
    const char *build_id;  /* of the caller; a skel of another build is refused with both named */
    uint32_t arch;         /* 68, 73, … or RPC_ARCH_LPAI; the skel must be of this one */
    uint32_t threads;      /* worker threads for a graph, at least 1 */
    uint32_t lanes;        /* graphs that run at the same time, each with that many threads; 0: one */
    uint64_t budget;       /* address space in bytes that mappings and heap are charged to; 0: no limit */
    const struct cancel *cancel; /* ends the start; NULL: nothing does */
    uint32_t start_ms;     /* how long it may take to start; 0: 30 s, or OPENQNN_SESSION_TIMEOUT where that is more */
    const char *packages;  /* op packages that graphs of the session may name, as struct rpc_packages has them; NULL: none */
};

/* ---- op packages ------------------------------------------------------------------------------------------------------ */

/* Libraries of the client with operators of its own, in the order in which they were registered: each a path, a mark, the
 * name of its function, and a mark. */
#define RPC_PACKAGE_UNIT "\x1f"
#define RPC_PACKAGE_END "\x1e"
#define RPC_PACKAGE_MARKS RPC_PACKAGE_UNIT RPC_PACKAGE_END
bool rpc_packages_within(const char *list, const char *of); /* every library of `list` is one of `of` */

/* How a session gets their code. Programs and libraries that can do it define the table (api/session_packages.c); in others
 * it is missing, and graphs with such nodes are refused. */
struct exec_outside;
struct rpc_packages {
    enum status (*open)(const char *list); /* while files can be opened; only constructors are called */
    enum status (*begin)(const char *list, void **ret);
    void (*end)(void *packages);
    void (*outside)(void *packages, struct exec_outside *ret); /* how exec runs nodes of them */
};
extern const struct rpc_packages rpc_packages __attribute__((weak));

/* How the caller of run waits for the answer: spin for poll_us, then sleep on a futex. */
struct rpc_wait {
    uint32_t poll_us;      /* 0: sleep at once */
    bool adaptive;         /* start polling only when the answer is about due, going by the last runs of this program */
    uint32_t latency_us;   /* sleep no longer than this at a time: the core that wakes up in time sleeps lightly; 0: as long
                              as it takes */
};

/* A part of a file. */
struct rpc_piece {
    int fd;
    uint64_t offset, bytes;
};

/* Memory that a program computes in. The session trusts what it reads there: whoever writes into it during a run ends the
 * session at worst. */
struct rpc_pool {
    uint32_t map; /* mapped for writing, not one that holds a binary; 0: the session has its own (no mapping has this id) */
    uint64_t offset;       /* a multiple of 64, from the start of the mapping and in the file */
};

/* Memory for a session. */
struct rpc_mapping {
    int fd;
    uint64_t offset, bytes;
    bool writable;
    uint32_t over; /* not 0: it takes the place of pages of this mapping, for good, and gets no number of its own */
    uint64_t at;   /* of those, in bytes; all in multiples of a page then, and read only */
    const struct cancel *cancel; /* NULL: no signal */
    /* out */
    uint32_t map;
};

struct rpc_load {
    uint32_t map;          /* a context binary, mapped before */
    uint64_t bytes;
    uint32_t graph;        /* index in the binary */
    bool serial;           /* takes turns with all other serial programs, however many lanes there are */
    struct rpc_pool scratch, persistent,
        spill; /* of info.scratch_bytes, persistent_bytes (which is zeroed) and spill_fill_bytes */
    uint64_t window_at; /* where in fast memory it begins; programs that do not overlap there keep it while they wait */
    const struct cancel *cancel; /* NULL: no signal */
    /* out */
    uint32_t program;
    uint64_t heap_bytes;   /* charged for memory of the session's own, VTCM aside, and for tables */
    uint64_t rpc_ns, worker_ns;
};

/* One entry of the graph's I/O table. */
struct rpc_io {
    uint32_t map;          /* RPC_NONE: left out (optional tensors) */
    uint64_t offset, bytes;
    uint64_t stride;       /* with several slices: from one to the next */
    const uint32_t *dims;  /* for dynamic dimensions, else NULL */
    uint32_t *out_dims;    /* where to report actual dimensions, or NULL */
    uint32_t rank;         /* entries of dims and out_dims, as the tensor has; 0 when both are NULL */
    uint8_t *produced;     /* outputs: where to report that this run computed it, or NULL; see ST_ENDED_EARLY of exec */
};

/* How long a run took to get fast memory, how often it gave way to others of higher priority, and what that took. */
struct rpc_yields {
    uint64_t units_ns; /* until no other lane computes in its memory: matrix and vector units */
    uint64_t acquire_ns;
    uint32_t count;
    uint64_t release_ns, wait_ns, restore_ns; /* saving fast memory, waiting, putting it back; part of exec_ns */
    uint64_t saved_bytes;
    uint32_t shared; /* how often another one computed in the rest of fast memory, so that nothing was saved for it */
};

struct rpc_run {
    uint32_t program;
    uint32_t priority;     /* larger runs first, also before what is running */
    const struct rpc_io *io;
    uint32_t n_io;
    /* The graph is computed this often, over slices of each tensor that are `stride` bytes apart; 0: once. More
     * than once only graphs without dynamic dimensions, states and operators of packages, whose tensors do not
     * overlap: slices run in any order. */
    uint32_t slices;
    bool profile_nodes;
    struct rpc_wait wait;
    struct cancel *cancel;         /* may be NULL */
    const _Atomic uint32_t *pause; /* not 0: stop with ST_PAUSED before the next step; may be NULL */
    uint32_t step;         /* where to begin, 0 normally; out, after ST_PAUSED: the step to go on with */
    /* out */
    uint64_t rpc_ns;       /* whole call, seen by the caller */
    uint64_t notice_ns;    /* until the session has seen the call; part of queue_ns */
    uint64_t queue_ns;     /* waiting for other runs in the session */
    uint64_t worker_ns;    /* in the session, without the queue */
    uint64_t exec_ns;      /* in exec_run */
    struct rpc_yields yields;
    uint32_t beside;        /* slices that were computed side by side, each by a thread */
    uint32_t polls, sleeps; /* how often the caller span, and slept, while it waited */
    struct prof_mark *marks; /* in: room for them or NULL; out: filled */
    uint32_t max_marks, n_marks;
};

/* What the process of a session has given up. Which of these are possible depends on the kernel and its settings. */
enum rpc_guard {
    RPC_GUARD_FILTER = 1 << 0,       /* system calls: no files, no sockets, no programs, no signals to others */
    RPC_GUARD_CAPABILITIES = 1 << 1, /* it has none and can get none */
    RPC_GUARD_UNDUMPABLE = 1 << 2,   /* other processes of the user do not see its memory; no core dumps */
    RPC_GUARD_USER = 1 << 3,         /* namespaces of its own */
    RPC_GUARD_NETWORK = 1 << 4,
    RPC_GUARD_IPC = 1 << 5,
    RPC_GUARD_LANDLOCK = 1 << 6, /* no file can be opened, whatever the filter says */
    RPC_GUARDS = 7
};
/* Their names for a message, separated by commas; "none". */
enum { RPC_GUARDS_TEXT_MAX = 256 };
void rpc_guards_text(uint32_t guards, char ret[RPC_GUARDS_TEXT_MAX]);

/* What a session holds, for placing contexts and for leak tests. */
struct rpc_usage {
    uint64_t mapped_bytes, heap_bytes, budget;
    uint64_t malloc_bytes,
        base_bytes; /* of its process: handed out by malloc now, and when it had just begun; 0 in process */
    uint32_t n_maps, n_programs;
    int32_t pid;           /* 0: in process */
    uint32_t guards;       /* enum rpc_guard; 0 in process and in sanitizer builds */
};

/* Explanations do not cross library borders by themselves: after a failure, explain() has the sentence of this thread. */
struct rpc_link {
    uint32_t version;      /* RPC_LINK_VERSION */
    uint32_t arch;         /* 0: any */
    const char *build_id;
    const char *(*explain)(void);
    enum status (*open)(const struct rpc_session_opts *o, struct rpc_session **ret);
    void (*close)(struct rpc_session *s);                 /* NULL allowed; ends the process and waits for it */
    bool (*alive)(struct rpc_session *s);
    enum status (*map)(struct rpc_session *s, int fd, uint64_t offset, uint64_t bytes, bool writable, uint32_t *ret);
    /* Two parts of files as one mapping, for reading: `head` is whole pages, both begin at a page of their files. */
    enum status (*map_joined)(struct rpc_session *s, const struct rpc_piece *head, const struct rpc_piece *rest,
                              const struct cancel *signal, uint32_t *ret);
    /* With a signal map_joined, map_with and load return its status at once, also when the session stands still. What the
     * session still does of it is undone before the next message. */
    enum status (*map_with)(struct rpc_session *s, struct rpc_mapping *m);
    enum status (*unmap)(struct rpc_session *s, uint32_t map); /* refused while a program uses it */
    enum status (*load)(struct rpc_session *s, struct rpc_load *l);
    enum status (*unload)(struct rpc_session *s, uint32_t program);
    enum status (*set_scratch)(struct rpc_session *s, uint32_t program,
                               struct rpc_pool scratch); /* of a program that was loaded with one */
    enum status (*set_spill)(struct rpc_session *s, uint32_t program,
                             struct rpc_pool spill); /* a spill-fill buffer; map 0: memory of the session's own again */
    enum status (*set_backup)(
        struct rpc_session *s, uint32_t program,
        struct rpc_pool backup); /* for fast memory when it gives way; map 0: memory of the session's own */
    enum status (*set_weights)(
        struct rpc_session *s, uint32_t program,
        struct rpc_pool weights); /* its constants are copied there and read from there; map 0: from the binary again */
    enum status (*run)(struct rpc_session *s, struct rpc_run *r);
    enum status (*reset)(struct rpc_session *s, uint32_t program); /* zero its persistent memory */
    void (*usage)(struct rpc_session *s, struct rpc_usage *ret);
    /* The library of the caller is being unloaded, or the program ends: ends the sessions that were not closed. False: there
     * were some. Threads may still call through this table then, so its library has to stay. */
    bool (*abandon)(void);
};

extern const struct rpc_link rpc_link_inproc;
extern const struct rpc_link rpc_link_built_in; /* as that of a stub library, for any arch; opts.skel must be named */

/* Where the skel of an arch is: the folders of ADSP_LIBRARY_PATH, then `folder` (that of the backend library), then
 * ../hexagon-vNN/unsigned of it, for LPAI ../lpai-vN/unsigned. `ret_note` (may be NULL) gets "" or a sentence that is worth
 * a warning: a list with ':' where ';' is meant, files that are skels for a real DSP. ST_LOADING: none; the sentence names
 * the places. */
enum { RPC_PATH_MAX = 4096, RPC_NOTE_MAX = 512 };
enum status rpc_find_skel(uint32_t arch, const char *folder, char ret[RPC_PATH_MAX], char ret_note[RPC_NOTE_MAX]);

/* What runs as a session of the backend library at `own`: a skel as above, in the folder of `own`; otherwise `own` itself,
 * which has an entry point (skel_entry.c). ST_LOADING: there is neither. */
enum status rpc_find_program(uint32_t arch, const char *own, char ret[RPC_PATH_MAX], char ret_note[RPC_NOTE_MAX]);

/* The one symbol of a stub library: its link, or NULL when it does not speak `version`. */
typedef const struct rpc_link *rpc_stub_fn(uint32_t version);
#define RPC_STUB_SYMBOL "openqnn_stub_link"

#endif
