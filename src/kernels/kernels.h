/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: the arithmetic of docs/numerics.md, one folder per family, one file per instruction set.
 *
 * The life of a kernel:
 *   prepare   kernel_aux        which constants the family wants made once (packed weights, multipliers, tables)
 *             kernel_aux_fill   make them; they travel in the context binary
 *   load      kernel_bind       op_call + constants -> an args block and a function for this CPU
 *   run       fn(call, range)   one tile of the family's parallel extent; no allocation, no locks, no global state
 *
 * Which function runs is decided by tables only: kernels.def maps operators to families, <family>.def lists the variants of
 * a family, best first, reference last. Aux layouts do not depend on the CPU, so a binary made anywhere runs anywhere. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "base/status.h"
#include "ops/ops.h"

enum { KERNEL_MAX_AUX = 4, KERNEL_MAX_OPERANDS = 64, KERNEL_STATE_ALIGN = 64 };

struct range {
    uint32_t begin, end;
};

/* What a running kernel gets: its bound args, the operands (inputs in order, absent ones NULL, then outputs), this tile's
 * private workspace of kernel_bound.work_bytes, and the node's state of kernel_bound.state_bytes.
 *
 * Tiles of a kernel with phases share a workspace of the same size besides, which keeps its contents from phase to phase of
 * one run. NULL: all of them run one after the other with one `work`, and find it there.
 *
 * State keeps its contents from one run to the next. It is aligned to KERNEL_STATE_ALIGN and all zero before the first run
 * and after a reset, so zero must mean "nothing seen yet". It may lie in memory of the client: a kernel never lets what it
 * reads there lead it out of its bounds. All tiles of a node get the same state; each touches its own part of it.
 *
 * A kernel that has nothing to say yet sets *ended: the run stops behind this step, and what depends on the outputs is not
 * computed. */
struct kernel_call {
    const void *args;
    void *const *data;
    void *work;
    void *shared;
    void *state;
    _Atomic uint32_t *ended;
};
typedef void kernel_fn(const struct kernel_call *call, struct range tile);

struct kernel_bound {
    kernel_fn *run;
    const char *name;      /* "conv_s8_ref": for reports and the kernel test */
    uint32_t extent;       /* units of parallel work, at least 1; tiles are ranges of [0, extent) */
    uint32_t grain;        /* smallest sensible tile: fewer units than this are not worth another thread */
    uint32_t whole;        /* tiles should begin at multiples of so many units; 0: anywhere */
    uint32_t run_units;    /* so many units make run_elements elements of the one result, and such runs lie one behind the */
    uint64_t run_elements; /* other in it; of inputs they touch what op_reach says, or the same elements. 0: not known */
    uint32_t phases; /* > 1: the extent is so many runs of equal length, one after the other; only tiles of one run may be
                        computed at the same time */
    uint64_t work_bytes;   /* workspace per tile, the same on every CPU; 0: none */
    uint64_t state_bytes;  /* state that survives between runs, the same on every CPU; 0: none */
    bool by_lines; /* op_call.by_lines was asked for, and a unit is one line of the result (op_lines.c): extent is their
                    * number, and a tile touches no lines of its inputs but those that op_reach says */
    uint64_t macs;         /* multiply-accumulates (or element operations) of the whole call, for cost and splitting */
};

/* Constants made at prepare from constant inputs. `replaces` bit i: input i's own data is not needed any more when the node
 * has these aux constants (its descriptor still is). n == 0: none wanted (for example because weights are not constant). */
struct kernel_aux {
    uint32_t n;
    uint64_t bytes[KERNEL_MAX_AUX];
    uint32_t replaces;
};

bool kernel_exists(enum op_id op);                                   /* some family computes this operator */
enum status kernel_aux(const struct op_call *c, struct kernel_aux *ret);
enum status kernel_aux_fill(const struct op_call *c, uint32_t which, void *dst);

/* Bytes of the args block of an operator's family (an upper bound for all its variants). */
size_t kernel_args_size(enum op_id op);

/* Fill args and choose the best variant at or below `isa`. `c` must have passed op_check; types without a kernel are refused
 * with the operator, the types seen and the types there are. c->aux is what kernel_aux asked for, or n_aux 0. Binding again
 * with smaller dimensions (dynamic shapes) is allowed at any time and allocates nothing. Args may keep pointers into the
 * descriptors' arrays (scales, offsets) and to aux: both must live as long as args are used. */
enum status kernel_bind(const struct op_call *c, enum isa isa, void *args, struct kernel_bound *ret);

/* ---- inside kernels/ and for its tests: the variants of a family ----------------------------------------------------- */

/* One line of a <family>.def. `accept` looks at the filled args; NULL: always. */
struct kernel_variant {
    const char *name;
    enum isa isa;
    kernel_fn *run;
    bool (*accept)(const void *args);
};

struct kernel_family {
    const char *name;
    size_t args_size;
    /* Fill args, extent, grain, work_bytes, macs; and choose the variant list (one per type combination) in *variants, ended
     * by a NULL name. */
    enum status (*bind)(const struct op_call *c, void *args, struct kernel_bound *ret,
                        const struct kernel_variant **variants);
    enum status (*aux)(const struct op_call *c, struct kernel_aux *ret);                       /* NULL: none */
    enum status (*aux_fill)(const struct op_call *c, uint32_t which, void *dst);
};

const struct kernel_family *kernel_family_of(enum op_id op); /* NULL: none */

#endif
