/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in a fast memory of limited size while jobs run in a given order. A pure function, like plan.h; it knows nothing
 * about graphs.
 *
 *     room   |aaaaaaaaaaaa|      |aaa|       a is wanted last of all, so it leaves when c comes (spill) and is back for its
 *            |bbbbbbb|ccccccccccc|           last reader (fill)
 *            +------------------------> jobs
 *
 * A job has its operands in fast memory when all of them fit there together, beside what it needs for itself. Otherwise as
 * few as possible stay in DRAM, and the job goes over them piece by piece. When room is needed, what is wanted farthest in
 * the future leaves first. */
#ifndef PREPARE_TILE_VTCM_H
#define PREPARE_TILE_VTCM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/vec.h"
#include "binary/binary.h"

enum { VTCM_NONE = UINT32_MAX };

/* Lists of values are borrowed. */
struct vtcm_job {
    const uint32_t *in, *out,
        *over; /* over: inputs that the only output may be written over, where they end with this job */
    uint32_t n_in, n_out, n_over;
    uint32_t n_glance;                  /* so many of the last inputs are read wherever they are */
    uint64_t fixed;                     /* bytes that it needs besides its operands while it runs */
    const uint64_t
        *piece; /* per operand, inputs then outputs: bytes of it that are there at a time when it streams; NULL: none */
    bool view;                          /* out[0] is the memory of in[0] */
};

struct vtcm_problem {
    uint32_t n_values, n_jobs;
    const uint64_t *bytes;              /* per value, that it takes in fast memory */
    const uint64_t *moved;              /* per value, that a transfer moves */
    const struct vtcm_job *jobs;
};

struct vtcm_policy {
    uint64_t room;
    uint32_t clean_bonus;               /* what also lies in DRAM leaves as if it were wanted so many jobs later */
    const uint8_t *direct;              /* per value: written straight to DRAM; may be NULL */
};

enum vtcm_act_kind { VTCM_RUN, VTCM_SPILL, VTCM_DROP, VTCM_FILL };
struct vtcm_act {
    enum vtcm_act_kind kind;
    uint32_t what;                      /* a job, or a value */
};

struct vtcm_plan {
    VEC(struct vtcm_act) acts;
    uint8_t *in_dram;                   /* per value: its job writes it to DRAM */
    uint8_t *unread;                    /* per value: it was spilled before anybody had read it */
    uint64_t spilled, filled;           /* bytes */
    uint64_t streamed;                  /* bytes of operands that jobs go over piece by piece */
    uint32_t *first;                    /* per job: its first entry in streams */
    uint8_t *streams;                   /* per operand of every job, inputs then outputs: it is in DRAM */
    uint64_t *budget;                   /* per job: bytes beside operands in fast memory that nobody else needs */
};

enum status vtcm_walk(const struct vtcm_problem *p, const struct vtcm_policy *policy, struct vtcm_plan *ret);
void vtcm_plan_finish(struct vtcm_plan *p);

/* ---- between the tile_*.c files: boxes and graphs ---- */

struct prepare_cx;

/* tile_box.c: the best box of at most so many bytes. */
struct tile_ask {
    const struct binary_box_op *op;
    const uint8_t *roles; /* per operand: enum binary_role */
    uint64_t budget;
};
struct tile_choice {
    struct binary_box box;
    uint64_t bytes, cost;
    bool found;
};
struct tile_choice tile_box(const struct tile_ask *a);

/* Shares of the window, 1 / n each: a box before it is known what room there is, and the weights of one member of
 * a chain. */
struct vtcm_shares {
    uint32_t box, weights;
};

/* tile_vtcm_job.c: nodes k … k + n - 1 as one job; then, when it is known which operands stream, how they go through their
 * results and what that moves. */
enum status vtcm_job(struct prepare_cx *cx, uint32_t k, uint32_t n, const struct vtcm_shares *shares, struct vtcm_job *ret);
struct vtcm_unit {
    uint32_t k, n;
    const struct vtcm_job *job;
    const uint8_t *streams; /* per operand of the job */
    uint64_t budget;
};
/* One tile per node. */
uint64_t vtcm_unit_tiles(const struct prepare_cx *cx, const struct vtcm_unit *u, struct binary_tile *ret);

/* An order of nodes with all that was found out about it, to go back to. */
struct vtcm_state {
    struct ir_node *nodes;
    struct node_plan *plans;
    struct cell *cells;
    uint32_t *cell_of;
    struct chain *chains;
    uint32_t *chain_of;
    struct chain_slab *slabs;
    uint32_t n_nodes, n_tensors, n_cells, n_chains;
};

/* tile_vtcm_apply.c */
enum status vtcm_save(struct prepare_cx *cx, struct vtcm_state *ret);
void vtcm_restore(struct prepare_cx *cx, const struct vtcm_state *s);
/* Puts the acts of a plan into the graph; job k is the k-th unit of nodes as they are: a chain, or a node that is in none.
 * Tiles are those of nodes as they are. */
enum status vtcm_apply(struct prepare_cx *cx, const struct vtcm_plan *plan, const struct binary_tile *tiles);

#endif
