/* SPDX-License-Identifier: Apache-2.0 */
/* A lane is a list of gaps and an end, behind which all is free. */
#include "prepare/cost_lane.h"

#include <assert.h>
#include <string.h>

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t cost_lane_when(const struct cost_lane *l, uint64_t ready, uint64_t cycles)
{
    for (uint32_t i = 0; i < l->n; i++) {
        uint64_t start = most(l->gaps[i].from, ready);
        if (start < l->gaps[i].to && l->gaps[i].to - start >= cycles)
            return start;
    }
    return most(l->end, ready);
}

static void drop(struct cost_lane *l, uint32_t i)
{
    l->n--;
    memmove(&l->gaps[i], &l->gaps[i + 1], (l->n - i) * sizeof(l->gaps[0]));
}

/* Before gap i; the oldest one is forgotten when there are too many. Returns where it stands. */
static uint32_t insert(struct cost_lane *l, uint32_t i, uint64_t from, uint64_t to)
{
    if (l->n == COST_GAPS) {
        if (i == 0)
            return 0;
        drop(l, 0);
        i--;
    }
    memmove(&l->gaps[i + 1], &l->gaps[i], (l->n - i) * sizeof(l->gaps[0]));
    l->gaps[i].from = from;
    l->gaps[i].to = to;
    l->n++;
    return i;
}

static void take_of_gap(struct cost_lane *l, uint32_t i, uint64_t start, uint64_t cycles)
{
    uint64_t from = l->gaps[i].from, to = l->gaps[i].to, end = start + cycles;
    if (from < start && end < to) {
        l->gaps[i].from = end;
        insert(l, i, from, start);
    } else if (from < start) {
        l->gaps[i].to = start;
    } else if (end < to) {
        l->gaps[i].from = end;
    } else {
        drop(l, i);
    }
}

void cost_lane_take(struct cost_lane *l, uint64_t start, uint64_t cycles)
{
    for (uint32_t i = 0; i < l->n && cycles; i++)
        if (l->gaps[i].from <= start && start < l->gaps[i].to) {
            take_of_gap(l, i, start, cycles);
            return;
        }
    if (!cycles)
        return;
    assert(start >= l->end);
    if (start > l->end)
        insert(l, l->n, l->end, start);
    l->end = start + cycles;
}

uint64_t cost_lane_fill(struct cost_lane *l, uint64_t ready, uint64_t cycles, uint64_t *start)
{
    uint64_t at = ready;
    bool begun = false;
    while (cycles) {
        uint32_t i = 0;
        while (i < l->n && l->gaps[i].to <= at)
            i++;
        uint64_t from = i < l->n ? most(l->gaps[i].from, at) : most(l->end, at),
                 room = i < l->n ? l->gaps[i].to - from : cycles, part = room < cycles ? room : cycles;
        cost_lane_take(l, from, part);
        *start = begun ? *start : from;
        begun = true;
        at = from + part;
        cycles -= part;
    }
    *start = begun ? *start : ready;
    return at;
}
