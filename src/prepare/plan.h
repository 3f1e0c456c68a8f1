/* SPDX-License-Identifier: Apache-2.0 */
/* The memory planner: buffers with lifetimes in, offsets out. A pure function; it knows nothing about graphs.
 *
 *     offset
 *       ^   +----+          Time runs to the right in steps. Every buffer is a rectangle whose horizontal place is given
 *       |   | c  +------+   (its lifetime) and whose height is its size; the planner chooses only how high it lies.
 *       | +-+----+  d   |   Rectangles must not overlap; the height of the pile is what we pay.
 *       | |  a   +---+--+
 *       | +------+ b |      The largest sum of sizes alive in one step (the live bytes) is a lower bound.
 *       +------------------> step
 *
 * plan.c checks and cuts the problem into parts that share no step; plan_greedy.c makes a first plan for each part
 * (plan_placed.c finds its gaps); where that misses the bound, plan_portfolio.c asks plan_exact.c again and again whether a
 * smaller capacity is enough (plan_state.c holds that search's tables and moves). plan_bound.c turns lifetimes into the few
 * sections of time that matter. */
#ifndef PREPARE_PLAN_H
#define PREPARE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define PLAN_ANY UINT64_MAX              /* plan_buf.fixed: the planner chooses */
#define PLAN_MAX ((uint64_t)INT64_MAX)   /* no plan ends beyond this; also keeps every sum of two offsets inside 64 bits */
#define PLAN_FOREVER UINT64_MAX          /* plan_opts.deadline_ns: never look at the clock (then max_nodes should be set) */

struct plan_buf {
    uint64_t size;
    uint32_t align;       /* any number; 0 is taken as 1 */
    uint32_t first, last; /* alive in steps [first, last], both included */
    uint64_t fixed;       /* PLAN_ANY, or the offset the buffer must have */
    uint64_t offset;      /* the answer */
};

struct plan_opts {
    uint64_t deadline_ns; /* time the search may take; 0: heuristics only */
    uint64_t capacity;    /* stop when total <= capacity; 0: minimise */
    uint64_t max_nodes;   /* search steps allowed; 0: no limit. With PLAN_FOREVER the answer depends on the input alone */
};

struct plan_result {
    uint64_t total;       /* end of the highest buffer */
    uint64_t lower_bound; /* live bytes, or the end of the highest fixed buffer where that is more */
    bool optimal;         /* no plan is smaller: total is the lower bound, or the search has refuted everything below */
    uint64_t nodes;       /* search steps taken */
};

/* Fills b[].offset. Refused with ST_INVALID_ARG, offsets untouched: first > last, a fixed offset that is not aligned,
 * two fixed buffers that collide, anything that would end beyond PLAN_MAX. Otherwise there is always a plan; a small
 * budget only makes it less tight. A buffer of size 0 occupies nothing and gets offset 0 or its fixed offset. */
enum status plan_solve(struct plan_buf *b, size_t n, const struct plan_opts *o, struct plan_result *ret);

/* The plain baseline: largest first, each into the smallest gap that holds it. Returns the total, or PLAN_ANY when
 * there is none (out of memory, beyond PLAN_MAX). Expects what plan_solve accepts. */
uint64_t plan_greedy_by_size(struct plan_buf *b, size_t n);

/* Move the first n_move of n buffers of a plan so that the halves of buffers lie over those of buffers before them, as far
 * as they can; the plan stays one, of at most `total` bytes. */
void plan_settle(struct plan_buf *b, uint32_t n_move, uint32_t n, uint64_t total);

/* ---- between the plan_*.c files ---- */

static inline uint64_t plan_align_up(uint64_t x, uint64_t align)
{
    uint64_t r = x % align;
    return r ? x + (align - r) : x;
}

/* Time cut into the sections that matter: sets of buffers alive together that are not part of a larger such set.
 * Buffer i is alive in sections [a[i], b[i]); two buffers overlap in time exactly when they share a section. */
struct plan_sections {
    uint32_t count;
    uint32_t *a, *b;
    uint64_t *load; /* bytes alive per section */
};
enum status plan_sections_build(const struct plan_buf *b, uint32_t n, struct plan_sections *ret);
void plan_sections_finish(struct plan_sections *s);
enum status plan_lower_bound(const struct plan_buf *b, uint32_t n, uint64_t *ret);

/* Sizes above zero and aligns of at least 1 from here on. Those of n buffers that have their place already, and gaps between
 * them: the lowest one that holds b, or the smallest. PLAN_ANY: b would end beyond PLAN_MAX. */
struct plan_placed;
struct plan_placed *plan_placed_new(const struct plan_buf *b, uint32_t n); /* NULL: out of memory */
void plan_placed_free(struct plan_placed *x);
void plan_placed_clear(struct plan_placed *x);
bool plan_placed_put(struct plan_placed *x, const struct plan_buf *b, uint64_t offset); /* false: out of memory */
uint64_t plan_placed_gap(const struct plan_placed *x, const struct plan_buf *b, bool best_fit);

/* Best of several greedy plans, stopping at `goal`, or after the first one that ends behind until_ns; *ret_total is PLAN_ANY
 * when none ends within PLAN_MAX. */
enum status plan_heuristics(struct plan_buf *b, uint32_t n, uint64_t goal, uint64_t until_ns, uint64_t *ret_total);

/* What the search may spend, shared by all parts. */
struct plan_budget {
    uint64_t nodes, max_nodes;   /* taken, allowed */
    uint64_t until_ns;           /* clock_ns() at which to stop, or PLAN_FOREVER */
};

/* Buffers that are planned on their own, and how far that has come. */
struct plan_part {
    struct plan_buf *b;
    uint32_t n;
    uint64_t total, lower;       /* of the plan in b[].offset; proven bound, raised by refutations */
    uint32_t round;              /* of the search, so that it can be taken up again */
    uint64_t round_nodes, random;
};

/* Improve the plan of a part towards `goal`. */
enum status plan_improve(struct plan_part *part, uint64_t goal, struct plan_budget *budget);

/* The exact search over one part. Everything inside is divided by `unit`, a number that divides all offsets that matter. */
struct plan_exact;
enum plan_answer { PLAN_FOUND, PLAN_REFUTED, PLAN_GAVE_UP, PLAN_OUT_OF_MEMORY };
enum plan_rule { PLAN_FEWEST_CHOICES, PLAN_LOWEST_FIRST }; /* which valley of the skyline is filled next */
struct plan_try {
    uint64_t capacity;       /* in bytes */
    enum plan_rule rule;
    const double *key;       /* per buffer: the larger, the sooner it is tried */
    uint64_t nodes;          /* give up after so many steps */
};
enum status plan_exact_new(const struct plan_buf *b, uint32_t n, struct plan_exact **ret);
void plan_exact_free(struct plan_exact *x);
uint64_t plan_exact_unit(const struct plan_exact *x);
const struct plan_sections *plan_exact_sections(const struct plan_exact *x);
enum plan_answer plan_exact_try(struct plan_exact *x, const struct plan_try *t, struct plan_budget *budget);
/* After PLAN_FOUND: offsets out, returns the total. */
uint64_t plan_exact_read(const struct plan_exact *x, struct plan_buf *b);

#endif
