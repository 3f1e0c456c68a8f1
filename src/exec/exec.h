/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one graph of a context binary.
 *
 *   exec_load    bind every node to a kernel for this CPU, resolve every address that is known
 *   exec_run     patch the client's pointers in, then run the commands of every step that need not wait any more on the
 *                worker team
 *
 * exec_run allocates nothing, copies nothing and takes no lock; one run at a time per program (the caller serialises).
 * Results do not depend on the number of threads. */
#ifndef EXEC_EXEC_H
#define EXEC_EXEC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/cpu.h"
#include "base/status.h"
#include "base/thread.h"
#include "binary/binary.h"
#include "profile/profile.h"

struct exec_program;

/* Who computes nodes of op packages (OP_NONE). It stays as long as the program does. */
struct exec_outside {
    /* When a node is loaded: find its code. Descriptors and parameters that the call points at stay as long as the program,
     * its arrays do not. */
    enum status (*open)(void *arg, const struct op_call *c, void **ret);
    uint64_t (*run)(void *node, void *const *data); /* inputs, then outputs; not 0: the code that it failed with */
    void (*close)(void *node);
    void *arg;
};

struct exec_opts {
    struct team *team;     /* borrowed; NULL: run on the calling thread only */
    enum isa isa;          /* highest instruction set to use */
    void *scratch;         /* borrowed memory of info.scratch_bytes, or NULL: the program allocates its own */
    void *persistent;
    void *vtcm, *spill; /* the same for info.vtcm_used and info.spill_fill_bytes; programs that take turns may share them */
    const struct exec_outside *outside; /* NULL: graphs with such nodes are refused */
    const struct cancel *cancel;        /* ends the load; NULL: nothing does */
    uint32_t max_marks;    /* room for profile marks per run; 0: one per command and member of its chain */
};

/* One entry per I/O table entry of the graph. data NULL: allowed only for optional tensors (an input then reads as real
 * zero). */
struct exec_binding {
    void *data;
    const uint32_t *dims;  /* actual dimensions when the tensor has dynamic ones (rank of the tensor), else NULL */
    uint32_t *out_dims;    /* outputs: where to write the actual dimensions (rank entries), or NULL */
    uint8_t *produced;     /* outputs: where to say that it was computed in this run, or NULL */
};

struct exec_run {
    const struct exec_binding *io;
    struct cancel *cancel;          /* may be NULL */
    bool profile_nodes;             /* record a mark per command */
    struct prof_recorder *marks;    /* out: points at the program's recorder, valid until the next run */
    const _Atomic uint32_t *pause;  /* not 0: stop with ST_PAUSED before a step, all before it done; may be NULL */
    uint32_t step;                  /* where to begin, 0 normally; out: the step that a paused run goes on with */
    /* Called when nobody computes, on the thread of the caller, but not before anything has been done: other programs may
     * run meanwhile. All steps before `step` are done. Before every step; or with give_way behind some command as long as
     * that word is not 0, a command at least between two calls: then steps may run beside each other otherwise, and those
     * from `step` on may be half done. May be NULL. */
    void (*between)(void *arg, uint32_t step);
    void *between_arg;
    const _Atomic uint32_t *give_way;
};

/* Whether a team makes a difference: the graph has tiles, or steps worth a thread that need not wait for each other. */
enum status exec_wants_team(const struct binary_graph *g, bool *ret);
enum status exec_load(const struct binary_graph *g, const struct exec_opts *o, struct exec_program **ret);
void exec_unload(struct exec_program *p); /* NULL allowed */
/* ST_ENDED_EARLY: an operator has nothing to say yet (a Buffer that waits for more frames); what comes behind it was not
 * computed, states are up to date. */
enum status exec_run(struct exec_program *p, struct exec_run *r);

/* Replace scratch or persistent memory between runs (memory that belongs to the client). */
void exec_set_scratch(struct exec_program *p, void *scratch);
void exec_set_persistent(struct exec_program *p, void *persistent);
/* The same for the spill-fill buffer. NULL: memory of its own again; without memory for that the program cannot run until it
 * is given a buffer. */
enum status exec_set_spill(struct exec_program *p, void *spill);
/* Read constants from a copy of the graph's constant section, which stays as it is; NULL: from the binary again. */
enum status exec_set_constants(struct exec_program *p, const void *constants);
/* For runs that give way to other programs in the same window, from `between` and with its step: copy what is live there
 * into memory of info.vtcm_used bytes, and back. Returns how many bytes that were. */
uint64_t exec_save_window(const struct exec_program *p, uint32_t step, void *to);
void exec_restore_window(struct exec_program *p, uint32_t step, const void *from);
void exec_reset_state(struct exec_program *p); /* zero the persistent memory, as exec_load does */

const char *exec_kernel_name(const struct exec_program *p, uint32_t node); /* the variant chosen, for reports */

#endif
