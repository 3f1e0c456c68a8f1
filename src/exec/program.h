/* SPDX-License-Identifier: Apache-2.0 */
/* A loaded graph, private to exec/.
 *
 *   nodes[]     kernel, args, and where its operands start in slots[]
 *   slots[]     one pointer per operand: inputs, outputs, then guards, node after node
 *   io_slot[]   for every I/O table entry the slots that hold the client's pointer: all that a run has to patch
 *   commands[]  tiles in order, joined to as many as the team can use
 *   steps[]     those of a step may run at the same time, and so may steps of which none waits for the other */
#ifndef EXEC_PROGRAM_H
#define EXEC_PROGRAM_H

#include <stdatomic.h>

#include "base/arena.h"
#include "exec/exec.h"
#include "kernels/kernels.h"

enum {
    EXEC_ALIGN = 4096,
    EXEC_LONG = 64 << 20,        /* products of a command, about; some hundred microseconds in 8 bits */
    EXEC_LONG_CHAIN = 256 << 20, /* the same for chains that compute borders twice */
    EXEC_WINDOW = 32,            /* a step starts when all but the last so many before it are done */
    EXEC_OWN = 48,               /* commands of a step up to which every worker begins with its own */
};

struct exec_node {
    kernel_fn *run;
    const void *args;
    void **data;
    uint8_t *work;       /* the planned workspace */
    uint64_t work_bytes;
    void *state;         /* in persistent memory; NULL: none */
    uint32_t extent;
    uint32_t whole; /* units that stay together, at least 1 */
    uint32_t run_units; /* as in kernel_bound */
    uint64_t run_elements;
    uint32_t n_guards;
    void *const *guards; /* where the bools are that decide whether the node runs */
    const uint32_t *guard_values; /* at 2 * i + 1: the value of guard i that lets it */
    uint32_t view_out;   /* not 0: nothing to do when data[0] == data[view_out] */
    const struct exec_chain *chain; /* last node of a chain: what its commands run instead; NULL otherwise */
    void *outside;                  /* what computes it instead of a kernel (outside.c); NULL: nothing */
    void *bind_args;     /* the same memory as args, for binding again */
    const char *kernel;
};

struct exec_command {
    uint32_t node, begin, end;
    uint32_t mark; /* place of its first mark: one, or one per member of a chain */
};

/* Commands of the step before that a command of a near step waits for, counted from the first one there. */
struct exec_need {
    uint8_t begin, end;
};

/* Members of a chain, and where the lines of their results are in the workspace of a thread (chain.c). */
struct exec_member {
    uint64_t slab, line_bytes;
    uint64_t work;       /* workspace of the kernel, from the beginning of the chain's */
    uint32_t capacity;   /* lines of the slab */
    uint32_t lines;      /* of the result, in one image */
    uint32_t n_operands; /* the result is the last one */
};

struct exec_chain {
    struct op_chain shape;
    uint32_t node;   /* the first */
    uint32_t height; /* lines of the last result per slab */
    bool halo;       /* a border between two commands is computed twice */
    uint8_t *work;   /* the planned workspace */
    uint8_t *slabs;  /* where lines lie when that is used: its beginning, or the room of the chain's tile in the window */
    struct exec_member *members;
};

/* A tensor in the window of fast memory: it is live before the steps behind `first`, up to `last` (live.c). */
struct exec_live {
    uint64_t offset, bytes;
    uint32_t first, last;
};

struct exec_step {
    uint32_t begin, end; /* its commands */
    uint32_t waits;      /* bit i: for step s - 1 - i */
    uint32_t beside;     /* from this step on all wait for this one, as far as they are looked at */
    uint32_t far;        /* the same as waits, without the step before: what commands wait for that go by their needs */
    uint32_t far_all;    /* and what is done for sure with those */
    uint32_t ahead;      /* from this step on not even commands that go by their needs begin before this one is done */
    bool near;           /* its commands have needs (near.c) */
    bool heavy;          /* worth another thread */
    bool phase;          /* of a node that has several */
};

enum command_state { COMMAND_FREE, COMMAND_TAKEN, COMMAND_DONE };

/* How far a step is. Written by all workers: a cache line of its own. */
struct exec_turn {
    _Alignas(64) _Atomic uint32_t next; /* first command, and one more for each that was taken, or is about to be noted so */
    _Atomic uint32_t left;              /* commands that are not done */
    _Atomic uint32_t done;
    _Atomic uint8_t state[EXEC_OWN]; /* of every command, where there are no more: enum command_state */
};

/* What the workers share during a run. */
struct exec_job {
    _Alignas(64) _Atomic uint32_t stop; /* enum status that ended the run early */
    struct cancel *cancel;
    const _Atomic uint32_t *pause, *give_way; /* words that halt it, or let it rest, when they are not 0; NULL: none */
    _Atomic uint32_t halting;           /* somebody saw the first: no step is begun any more */
    _Atomic uint32_t resting;           /* somebody saw the second: no command is taken any more */
    bool owed; /* the caller takes a command in any case, so that a run gets on however often it is asked to rest */
    uint32_t next;                      /* without a team: the first command that is not done */
    _Atomic uint32_t late;              /* somebody who computed a phase did not have a core */
    uint32_t limit;                     /* steps to be done */
    bool marks;
    _Alignas(64) _Atomic uint32_t low;  /* all steps before it are done */
};

struct exec_program {
    const struct binary_graph *g;
    struct team *team;
    enum isa isa;
    const uint8_t *constants; /* of the binary, or a copy of them */
    uint8_t *scratch, *persistent, *vtcm, *spill;
    void *own_scratch, *own_persistent, *own_vtcm, *own_spill, *own_absent; /* what exec_unload frees */
    uint8_t *worker_work;    /* a workspace per worker of the team; also freed */
    uint64_t worker_stride;
    struct arena arena;
    struct exec_node *nodes;
    void **slots;
    struct exec_chain *chains;
    struct exec_live *live;  /* the tensors in fast memory */
    uint32_t n_live;
    struct exec_command *commands;
    uint32_t n_commands, n_marks;
    struct exec_step *steps;
    uint8_t *phased;              /* per node: its commands are in several steps and share the planned workspace */
    struct exec_turn *turns;      /* with a team only; also freed */
    uint64_t phase_begin;         /* when the caller began its last part of a phase */
    uint64_t lost_phases;         /* of this run: that the caller could have computed while it waited for others */
    uint32_t alone_runs;          /* in which nobody is called for phases */
    uint32_t alone_after;         /* so many were left after the last run in which somebody was late */
    uint32_t begun; /* steps from here on have not been touched, those before it that are not done are half done */
    struct exec_need *needs;      /* per command of near steps */
    bool parallel;                /* there are steps that may run beside each other */
    bool near;                    /* or steps that may begin before the one before them is done */
    bool in_order;                /* the client's buffers lie over each other: steps that seem independent may not be */
    uint32_t *io_first, *io_slot; /* entry k: io_slot[io_first[k]] … io_slot[io_first[k + 1]] */
    void **io_now;                /* the pointers that are in the slots */
    uint64_t *io_bytes;
    bool io_known;                /* in_order is for these pointers */
    void **io_absent;             /* stands in for an optional tensor that the client leaves out; NULL: not optional */
    struct prof_recorder marks;
    struct exec_job *job;
    const struct exec_outside *outside;
    _Atomic uint32_t failed_node; /* of those outside: which one, when job->stop says so */
    _Atomic uint64_t failed_code;

    /* What a run leaves out because a kernel had nothing to say (early.c). */
    uint32_t *producer;   /* per tensor: the node that makes it, BINARY_NONE: none */
    _Atomic uint8_t *missing;      /* per node: not computed in this run */
    _Atomic uint32_t *ended;       /* per node: has nothing to say yet (kernels.h) */
    _Atomic uint32_t first_ended;  /* the node that began it, BINARY_NONE: everything runs */

    /* Graphs with dynamic dimensions only. */
    struct tensor_desc *now; /* per tensor: the descriptor of the current dimensions; NULL: nothing is dynamic */
    uint8_t *changed;        /* per tensor, while shapes are worked out again */
    bool stale;              /* the last attempt failed half-way: bind everything again */
};

/* The node as an op_call with the dimensions of the moment. */
struct exec_call {
    struct op_call call;
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    const void *in_data[MAX_PORTS], *aux[MAX_PORTS];
};

/* The workspace of a worker for what has the planned one. Where there is a team nobody uses that: other steps may run over
 * it. */
static inline uint8_t *program_work(const struct exec_program *p, uint8_t *planned, unsigned worker)
{
    return p->team && planned ? p->worker_work + worker * p->worker_stride : planned;
}

/* program.c */
uint32_t program_operands(const struct binary_node *n); /* inputs, outputs, then the tensors of guards */
uint32_t program_operand(const struct binary_node *n, uint32_t i);
enum status program_tables(struct exec_program *p);  /* slots, I/O lists, commands, steps */
enum status program_memory(struct exec_program *p, const struct exec_opts *o);
enum status program_own_spill(struct exec_program *p);
void program_resolve(struct exec_program *p);        /* addresses of everything but I/O */
enum status program_check_tiles(const struct exec_program *p); /* all units of all kernels are in some tile */
void program_cut(struct exec_program *p);            /* where commands begin and end, when kernels are known */

/* bind.c */
void bind_call(const struct exec_program *p, uint32_t node, struct exec_call *view);
enum status bind_node(struct exec_program *p, uint32_t node); /* choose a kernel and fill its args, first time or again */
enum status bind_all(struct exec_program *p, const struct cancel *cancel);
enum status bind_io(struct exec_program *p, const struct exec_binding *io);

/* chain.c */
enum status chain_load(struct exec_program *p);
void chain_place(struct exec_program *p, uint32_t i); /* its memory, when that is known or has changed */
/* Compute lines of the last result; ns: per member, the time it took is added; NULL: nobody asks. */
void chain_run(const struct exec_program *p, const struct exec_chain *c, struct range lines, unsigned worker, uint64_t *ns);

/* live.c */
enum status live_load(struct exec_program *p);

/* early.c */
enum status early_load(struct exec_program *p);
void early_begin(struct exec_program *p);                    /* of a run */
bool early_skips(struct exec_program *p, uint32_t node);     /* it misses an input */
void early_after(struct exec_program *p, uint32_t node);     /* it may have had nothing to say */
/* ST_ENDED_EARLY when anything is missing. */
enum status early_end(const struct exec_program *p, const struct exec_binding *io);

static inline bool early_any(const struct exec_program *p)   /* something is missing in this run */
{
    return atomic_load_explicit(&p->first_ended, memory_order_relaxed) != BINARY_NONE;
}

/* command.c */
bool command_run(struct exec_program *p, uint32_t index, unsigned worker); /* false: the run is over, job->stop says why */

/* outside.c */
enum status outside_open(struct exec_program *p, uint32_t node, const struct op_call *c);
void outside_run(struct exec_program *p, uint32_t node);
void outside_close(struct exec_program *p);               /* all of them */
enum status outside_failed(const struct exec_program *p); /* what a run says that one of them has ended */

/* depend.c */
enum status depend_phases(const struct binary_graph *g, uint8_t *phased); /* zeroed: which nodes are in several steps */
enum status depend_load(const struct binary_graph *g, const uint8_t *phased, struct exec_step *steps);

/* near.c */
void near_find(struct exec_program *p); /* when kernels are known and commands are cut */

/* ready.c */
enum status ready_load(struct exec_program *p);
enum status ready_run(struct exec_program *p, struct exec_run *r);

/* dynamic.c */
enum status dynamic_load(struct exec_program *p);
enum status dynamic_run(struct exec_program *p, const struct exec_binding *io);

#endif
