/* SPDX-License-Identifier: Apache-2.0 */
/* The simulation behind cost_events: a machine with lanes, and groups of commands that are put on them one after the other
 * (private to cost_*.c). */
#ifndef PREPARE_COST_SIM_H
#define PREPARE_COST_SIM_H

#include "base/arena.h"
#include "prepare/cost.h"
#include "prepare/cost_lane.h"

enum { COST_THREADS = 16, COST_MEMBERS = OP_CHAIN_MAX };

/* What one operator of a group keeps busy, in cycles: the work of all its commands. */
struct cost_member {
    uint32_t node;
    uint64_t matrix; /* of the matrix unit */
    uint64_t vector; /* of one thread of the vector units, were it alone */
    uint64_t delay;  /* from when everything is there to when a command begins */
    bool product;    /* vectors work beside the matrix unit, not in turn */
};

/* Commands that stand together: those of a node, or of a chain of nodes. */
struct cost_group {
    uint32_t first, n;       /* commands */
    uint32_t boxes;          /* that they go through, at most n */
    uint64_t in, out, room;  /* bytes that come, that go, and that a box takes of fast memory */
    uint64_t exchanged;      /* bytes of operands that cores have made for each other */
    uint64_t capacity;       /* of fast memory for boxes that are there at the same time */
    bool reads_back;         /* what comes was made by operators before it */
    bool transfer, stores;   /* work of the DMA engine alone; from fast memory to DRAM */
    uint32_t n_members;
    struct cost_member members[COST_MEMBERS];
};

/* A box in fast memory, from its transfer to the end of its last command. */
struct cost_held {
    uint64_t bytes, until;
};

/* Units, DMA engine and fast memory of one core. */
struct cost_core {
    struct cost_lane matrix, threads[COST_THREADS], dma;
    uint64_t fetched,
        stored; /* when the last transfer in each direction is done: transfers of one direction keep their order */
    struct cost_held *held;           /* a queue: oldest … newest */
    uint32_t oldest, newest;
    uint64_t held_bytes, gate;        /* gate: no transfer begins before */
};

struct cost_sim {
    const struct cost_device *d;
    const struct binary_graph *g;
    struct cost_core *cores;
    uint32_t n_cores;
    uint32_t n_threads;               /* of each core */
    uint64_t *done;                   /* per command: its results are there */
    uint32_t *first_of, *count_of;    /* commands of a node, or of the chain that it belongs to */
    uint32_t *producer;               /* per tensor */
    struct cost_spans *spans;
};

enum status cost_sim_init(struct cost_sim *s, struct arena *a);
enum status cost_sim_group(struct cost_sim *s, const struct cost_group *gr);
/* Bytes of fast memory, per step, that hold whole tensors. */
enum status cost_resident(const struct binary_graph *g, uint32_t n_steps, uint64_t *ret);

#endif
