/* SPDX-License-Identifier: Apache-2.0 */
/* When something that does one thing at a time is busy, and when it is not. What comes later may use the time in which
 * nothing was ready before, as long as that is not too long ago. */
#ifndef PREPARE_COST_LANE_H
#define PREPARE_COST_LANE_H

#include <stdbool.h>
#include <stdint.h>

enum { COST_GAPS = 32 }; /* that are remembered; older ones stay idle */

struct cost_lane {
    struct {
        uint64_t from, to;
    } gaps[COST_GAPS]; /* in the order of time */
    uint32_t n;
    uint64_t end; /* of all work so far */
};

/* When `cycles` of work that is ready at some time could begin, in one piece. */
uint64_t cost_lane_when(const struct cost_lane *l, uint64_t ready, uint64_t cycles);
/* It begins then; `start` is the answer of cost_lane_when. */
void cost_lane_take(struct cost_lane *l, uint64_t start, uint64_t cycles);
/* Work that may be interrupted takes all time that is left from `ready` on. Returns when it is done; *start is when it
 * begins. */
uint64_t cost_lane_fill(struct cost_lane *l, uint64_t ready, uint64_t cycles, uint64_t *start);

#endif
