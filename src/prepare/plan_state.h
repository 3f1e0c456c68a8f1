/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the exact search (plan_exact.c says what it means): who is placed, how low the others may go, the floor of
 * each section, and a trail that takes it all back. */
#ifndef PREPARE_PLAN_STATE_H
#define PREPARE_PLAN_STATE_H

#include "base/vec.h"
#include "prepare/plan.h"

#define PLAN_RAISED 1u /* must rest on something that is not placed yet */
#define PLAN_PLACED 2u
#define PLAN_FIXED 4u
#define PLAN_NOBODY UINT32_MAX

enum plan_trail_kind { PLAN_TRAIL_LOW, PLAN_TRAIL_FLOOR, PLAN_TRAIL_PLACE };
struct plan_trail {
    uint64_t value;
    uint32_t index, extra;
    enum plan_trail_kind kind;
};

/* One decision: the sections [lo, hi) with all that is unplaced in them. */
struct plan_frame {
    uint32_t lo, hi;
    uint32_t chosen;          /* the buffer placed, PLAN_NOBODY before the first */
    uint32_t cursor;          /* the next side to solve starts here */
    uint64_t entry_hash;      /* of this side at entry */
    uint64_t base;            /* x->hash at entry */
    size_t entry_mark, mark;  /* trail at entry, before `chosen` */
};

struct plan_item {
    uint64_t size, align;
    uint32_t a, b;            /* sections */
    uint32_t kin;             /* first buffer with the same size, align and sections */
    uint32_t flags;
    uint32_t links, links_end; /* buffers that overlap in time, in x->link */
    uint32_t seats;           /* its places in x->live, one for each of its sections, in x->seat */
};

struct plan_section {
    uint64_t floor, left;     /* bytes still to place */
    uint32_t live, live_end;  /* unplaced buffers, in x->live */
    uint32_t lowest;          /* those of them with low == floor */
    uint32_t crossing;        /* unplaced buffers alive here and in the section before */
};

struct plan_exact {
    uint32_t n, m;
    uint64_t unit, capacity;
    struct plan_sections sections;
    struct plan_item *item;
    struct plan_section *section;
    uint32_t *link, *live, *seat;
    uint64_t *low;            /* per buffer: the lowest offset still possible; of a placed one its offset */
    uint64_t *home;           /* `low` of each buffer before the search */
    VEC(struct plan_trail) trail;
    struct plan_frame *stack;
    uint64_t hash, *refuted, refuted_mask;
    const struct plan_try *how;
    bool movable;             /* no alignments, nothing fixed: parts of a plan may be shifted by any amount */
    bool no_memory;
};

/* Each returns false when the case is refuted (or x->no_memory is set); plan_state_undo takes it back. */
bool plan_state_place(struct plan_exact *x, uint32_t i, bool *apart);
bool plan_state_raise(struct plan_exact *x, uint32_t i);
void plan_state_undo(struct plan_exact *x, size_t mark);
bool plan_state_reset(struct plan_exact *x); /* nothing placed; false when the capacity is too small at once */
uint64_t plan_state_hash_side(const struct plan_exact *x, uint32_t lo, uint32_t hi);

#endif
