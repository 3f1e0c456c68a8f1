/* SPDX-License-Identifier: Apache-2.0 */
/* In which order to run jobs so that the least memory is alive at once. A pure function, like plan.h; it knows nothing about
 * graphs.
 *
 *     a ─┬─ b (big) ─ c (small) ─┐        as given  a b d c e f   b and d are alive together: big + big
 *        └─ d (big) ─ e (small) ─┴─ f     chosen    a b c d e f   c has replaced b before d comes: big + small
 *
 * A cell is memory that some jobs touch: it is alive from the first of them to the last. The peak of an order is the most
 * that any of its jobs sees: what is alive while it runs and its own workspace. */
#ifndef PREPARE_PLAN_SCHEDULE_H
#define PREPARE_PLAN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { PLAN_NO_CELL = UINT32_MAX };

struct plan_cell {
    uint64_t bytes;
    bool early, late; /* alive from the beginning; to the end */
};

/* Lists are borrowed. Jobs are numbered in the order they are given, which keeps every job behind those it waits for. */
struct plan_job {
    uint64_t work;            /* bytes that are alive only while it runs */
    const uint32_t *touch;    /* cells, each once */
    const uint32_t *after;    /* jobs it waits for; repeats allowed */
    uint32_t n_touch, n_after;
    uint32_t makes; /* a cell that this job touches first and that may be laid over a cell of equal size, or PLAN_NO_CELL */
    const uint32_t *over;     /* those it may be laid over, where this job is the last to touch them */
    uint32_t n_over;
};

struct plan_jobs {
    const struct plan_cell *cells;
    const struct plan_job *jobs;
    uint32_t n_cells, n_jobs;
};

struct plan_order_result {
    uint64_t peak, given;  /* of the order chosen, of the order given */
    uint64_t lower_bound;  /* no order has a lower peak */
    uint64_t steps;        /* of the search */
};

/* Writes the jobs in the order chosen into order[0..n_jobs). Never worse than the order given, which stays where nothing is
 * better. max_steps are counted, so the answer depends on the input alone. */
enum status plan_schedule(const struct plan_jobs *p, uint64_t max_steps, uint32_t *order, struct plan_order_result *ret);

/* The peak of an order that keeps every job behind those it waits for. */
enum status plan_order_peak(const struct plan_jobs *p, const uint32_t *order, uint64_t *ret);

/* Between the plan_*.c files: a peak that every order has at least. */
enum status plan_order_bound(const struct plan_jobs *p, uint64_t *ret);

#endif
