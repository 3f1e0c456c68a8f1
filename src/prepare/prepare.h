/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler: a list of passes over the graph, then a context binary. One file per pass, named by stage:
 * opt_* lower_* tile_* plan_* emit_*. A target says which passes run, with which limits. */
#ifndef PREPARE_PREPARE_H
#define PREPARE_PREPARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "binary/binary.h"
#include "ir/ir.h"

struct prepare_cx;
struct kernel_aux;

struct pass {
    const char *name;
    enum status (*run)(struct prepare_cx *cx, bool *progress);
};

/* How wide the numbers are that an operator works on. */
enum cost_width { COST_8, COST_16, COST_WIDE, COST_WIDTHS }; /* up to 8 bits, up to 16, more and all floats */

/* What a target does per cycle; docs/cost.md says how an estimate comes of it. A rate of 0: that costs nothing. */
struct cost_rates {
    uint32_t products[COST_WIDTHS][COST_WIDTHS]; /* multiply-accumulates: by first operand, by second */
    uint32_t per_channel[COST_WIDTHS];           /* multiply-accumulates of depth-wise products, by the wider operand */
    uint32_t elements[COST_WIDTHS];              /* element operations of everything else */
    uint32_t bytes[PLACE_COUNT];                 /* moved from or to each kind of memory */
    uint32_t start;                              /* cycles before an operator begins */
};

/* A target with a matrix unit, vector units and a DMA engine that work side by side; docs/cost.md says how an estimate comes
 * of it. */
struct cost_device {
    uint32_t clock_mhz;
    uint32_t matrix_macs;    /* 8-bit products per cycle of the matrix unit */
    uint32_t vector_units;   /* that work at the same time, 128 bytes across */
    uint32_t vector_percent; /* cycles for one vector of additions, in hundredths */
    uint32_t vtcm_rate;      /* bytes per cycle between fast memory and the units */
    uint32_t dram_mb_s;      /* what the DMA engine gets out of DRAM */
    uint32_t
        dense_float; /* 8-bit products that one of floats takes the time of, where there is no window; 0: 4, as in windows */
    uint32_t float_percent;  /* what work on floats takes, of what it takes on other devices; 0: as much */
    uint32_t launch[2];      /* cycles before an operator begins: on the matrix unit, on vector units alone */
    uint64_t vtcm_bytes;
    bool clamps_apart;      /* a clamp behind a convolution is an operator of its own */
    bool activations_apart; /* and so are other activations behind products */
    bool monolithic_lstm;   /* steps of a small Lstm are one operator: launched once, and weights stay */
    uint32_t least_depth;   /* convolutions with fewer input channels run on the vector units */
    uint64_t slc_bytes;     /* of a system level cache that keeps what is spilled; 0: it is not used */
    uint32_t slc_percent;   /* its rate, in hundredths of that of DRAM */
};

/* What chains of operators may be like (tile_chain.c). */
struct chain_limits {
    uint64_t bytes; /* of lines, per thread */
    uint32_t lines; /* the result has at least as many, since threads share them out */
    uint32_t twice; /* percent of the work that may be done twice */
    uint64_t stays; /* tensors of fewer bytes are still in a cache when they are read, in a chain or not */
};

enum { PREPARE_BESIDE = 4 << 20 }; /* prepare_target.beside_bytes that no computer misses */

/* One backend's limits and pass list. */
struct prepare_target {
    const struct pass *passes;   /* ends with a NULL name */
    uint32_t tensor_align;       /* bytes, power of two */
    bool fp16;                   /* compute float32 graphs in float16 (lower_fp16) */
    bool bytes;                  /* has kernels for the operators that opt_fuse_bytes makes */
    bool fp32;                   /* compute float16 graphs in float32; not both */
    uint64_t scratch_limit;      /* 0: none */
    bool refit_clamps; /* a clamp behind a product folds also where encodings differ: one rounding instead of two */
    bool no_sharing;             /* every tensor has memory of its own, which no other one uses at another time */
    uint64_t beside_bytes; /* a plan may be so much larger than it need be, and at most twice as large, so that branches
                            * which run side by side do not use each other's memory; 0: as small as can be */
    uint64_t const_kb;           /* the most that constants of a graph may take together; 0: no limit */
    uint64_t vtcm_bytes;         /* fast memory for tile_vtcm; 0: there is none, everything lies in scratch */
    bool io_in_scratch;          /* plan room for inputs and outputs, too; the client may still bring its own buffers */
    uint64_t work_budget; /* bytes of workspace per tile that kernels should stay within where they can; 0: their choice */
    struct chain_limits chains;  /* bytes 0: no chains */
    uint32_t max_tiles;          /* commands per node for parallel execution, at least 1 */
    uint64_t order_steps;        /* search steps of plan_order, counted as well; 0: operators stay in the client's order */
    uint64_t
        plan_nodes; /* search steps of the exact memory planner, counted, so that plans do not depend on speed; at least 1.
                     * Graphs with more than 128 buffers get fewer in proportion, because each step takes longer there;
                     * targets with a `device` a tenth of them at level 1 and ten times as many at level 3 */
    const struct cost_rates *cost; /* NULL: no estimate of cycles by rates */
    const struct cost_device *device; /* NULL: no estimate of cycles by events */
    bool own_kernels; /* the target has kernels of its own, without workspaces; lower_pack asks it which constants
                       * they want */
    enum status (*aux)(const struct op_call *c, struct kernel_aux *ret); /* as kernel_aux and kernel_aux_fill of kernels.h */
    enum status (*aux_fill)(const struct op_call *c, uint32_t which, void *dst);
    bool (*supports)(
        const struct op_call *c); /* which operators have a form in the other type; NULL: those that have a kernel */
};

/* Why and how this run differs from the default. */
struct prepare_opts {
    struct binary_target binary;        /* written into the file */
    uint32_t priority;
    uint32_t opt_level;                 /* 1, 2, 3 */
    uint32_t vtcm_mb, hvx_threads, dlbc; /* HTP: written into the file for reflection */
    uint32_t cores;                      /* of the device that share the work; 0 and 1: one */
    uint32_t options;                   /* the backend's own bits: written into the file for load */
    uint8_t store_as;                   /* enum binary_storage: how constants of 64 bytes and more are saved; nibbles:
                                         * those that kernels want of 8-bit weights */
    const _Atomic uint32_t *abort;      /* not 0: stop with ST_ABORTED; may be NULL */
    uint64_t deadline_ns;               /* 0: none */
    void (*dump)(void *arg, const char *pass,
                 const struct ir_graph *g); /* after each pass that changed something; may be NULL */
    void *dump_arg;
};

/* The graph is consumed: passes rewrite it. On failure the explanation names pass, node and reason. */
enum status prepare(const struct prepare_target *t, const struct prepare_opts *o, struct ir_graph *g,
                    struct binary_image *ret);

/* The passes, for pass lists and tests. */
enum status lower_if(struct prepare_cx *cx, bool *progress);        /* graphs inside If become guarded nodes */
enum status opt_fold(struct prepare_cx *cx, bool *progress);        /* nodes with constant inputs only become constants */
enum status opt_fuse_batchnorm(struct prepare_cx *cx, bool *progress); /* float Batchnorm into the product before it */
/* Float products of what was bytes become products of bytes, same bits. */
enum status opt_fuse_bytes(struct prepare_cx *cx, bool *progress);
/* Conditions of attention in fixed point become masks of its softmax: masked entries are exactly zero. */
enum status opt_fuse_mask(struct prepare_cx *cx, bool *progress);
enum status opt_fuse_activation(struct prepare_cx *cx, bool *progress); /* clamps into the operator before them, same bits */
enum status opt_dead(struct prepare_cx *cx, bool *progress);        /* nodes that nobody needs */
/* Nodes that only one side of a choice needs run under its condition. */
enum status opt_guard(struct prepare_cx *cx, bool *progress);
/* Float32 inside the graph becomes float16, or back, where the target says so. */
enum status lower_fp16(struct prepare_cx *cx, bool *progress);
enum status lower_pack(struct prepare_cx *cx, bool *progress);      /* constants of the kernels: packed weights, tables */
/* Constant weights in fixed point beside floats become floats. */
enum status lower_weights(struct prepare_cx *cx, bool *progress);
bool lower_decodes(const struct op_call *c, uint32_t i);            /* whether it would take this input */
enum status tile_heads(struct prepare_cx *cx, bool *progress);      /* attention by rows of all heads, for chains */
enum status tile_rows(struct prepare_cx *cx, bool *progress);       /* attention in parts whose scores stay in fast memory */
enum status plan_order(struct prepare_cx *cx, bool *progress);      /* the order of operators that needs the least memory */
/* Runs of operators that are computed a few lines at a time. */
enum status tile_chain(struct prepare_cx *cx, bool *progress);
/* Refuses operators that do not fit into fast memory even when cut as small as they can be. */
enum status tile_vtcm_least(struct prepare_cx *cx, bool *progress);
/* What lies in fast memory when, and transfers from and to DRAM. */
enum status tile_vtcm(struct prepare_cx *cx, bool *progress);
enum status plan_memory(struct prepare_cx *cx, bool *progress);     /* an address for everything */
enum status emit_commands(struct prepare_cx *cx, bool *progress);   /* tiles and steps */

/* Run single passes on a graph, for tests: text in, text out. */
enum status prepare_passes(const struct prepare_target *t, const struct prepare_opts *o, struct ir_graph *g);

extern const struct pass prepare_default_passes[];
extern const struct chain_limits prepare_default_chains; /* for caches of ordinary cores */

#endif
