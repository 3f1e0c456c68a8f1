/* SPDX-License-Identifier: Apache-2.0 */
/* Lifetimes into sections, and the live-bytes lower bound.
 *
 * Only the starts of buffers matter: between two starts the set of live buffers can only shrink. And a start matters only
 * when something has ended since the section began, otherwise the earlier set is contained in the later one:
 *
 *     steps    0 1 2 3 4 5 6
 *     x        #####              starts at 0 and 1 share section 0 (nothing ended in between: {x, y});
 *     y          #########        the start at 4 opens section 1, because x is gone: {y, z}
 *     z                ###
 *
 * So sections are the maximal sets of buffers alive together, never more than there are buffers. */
#include "prepare/plan.h"

#include <stdlib.h>

#include "base/mem.h"

static int compare_u32(const void *pa, const void *pb)
{
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    return (a > b) - (a < b);
}

/* How many of the sorted start[0..n) are <= x. */
static uint32_t count_up_to(const uint32_t *start, uint32_t n, uint32_t x)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (start[mid] <= x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Overwrites the sorted starts with the first step of each section; returns their number. */
static uint32_t cut_sections(uint32_t *starts, const uint32_t *ends, uint32_t n)
{
    uint32_t count = 0, ended = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool opens = count == 0;
        while (ended < n && ends[ended] < starts[i]) {
            ended++;
            opens = true;
        }
        if (opens)
            starts[count++] = starts[i];
    }
    return count;
}

/* Running sum over the sections. 128 bits, because only the sums of what is alive together are known to be small enough. */
static enum status sum_loads(const struct plan_buf *b, uint32_t n, struct plan_sections *s)
{
    __int128 *change = mem_array(__int128, (size_t)s->count + 1), sum = 0;
    RETURN_IF(!change, ST_NO_MEMORY, "memory plan: loads of %u sections", s->count);
    for (uint32_t i = 0; i < n; i++) {
        change[s->a[i]] += b[i].size;
        change[s->b[i]] -= b[i].size;
    }
    bool fits = true;
    for (uint32_t k = 0; k < s->count; k++) {
        sum += change[k];
        fits &= sum <= (__int128)PLAN_MAX;
        s->load[k] = (uint64_t)sum;
    }
    mem_free(change);
    RETURN_IF(!fits, ST_INVALID_ARG, "memory plan: buffers alive in the same step need more than 2^63 - 1 bytes together; "
                                     "make tensors smaller or split the graph");
    return ST_OK;
}

enum status plan_sections_build(const struct plan_buf *b, uint32_t n, struct plan_sections *ret)
{
    struct plan_sections s = { .a = mem_array(uint32_t, n), .b = mem_array(uint32_t, n), .load = mem_array(uint64_t, n) };
    uint32_t *starts = mem_array(uint32_t, n), *ends = mem_array(uint32_t, n);
    enum status st = ST_NO_MEMORY;
    if (s.a && s.b && s.load && starts && ends) {
        for (uint32_t i = 0; i < n; i++) {
            starts[i] = b[i].first;
            ends[i] = b[i].last;
        }
        qsort(starts, n, sizeof(*starts), compare_u32);
        qsort(ends, n, sizeof(*ends), compare_u32);
        s.count = cut_sections(starts, ends, n);
        for (uint32_t i = 0; i < n; i++) {
            s.a[i] = count_up_to(starts, s.count, b[i].first) - 1;
            s.b[i] = count_up_to(starts, s.count, b[i].last);
        }
        st = sum_loads(b, n, &s);
    } else {
        st = status_fail(ST_NO_MEMORY, "memory plan: sections of %u buffers", n);
    }
    mem_free(starts);
    mem_free(ends);
    if (st != ST_OK) {
        plan_sections_finish(&s);
        return st;
    }
    *ret = s;
    return ST_OK;
}

void plan_sections_finish(struct plan_sections *s)
{
    mem_free(s->a);
    mem_free(s->b);
    mem_free(s->load);
    *s = (struct plan_sections){ 0 };
}

enum status plan_lower_bound(const struct plan_buf *b, uint32_t n, uint64_t *ret)
{
    struct plan_sections s;
    TRY(plan_sections_build(b, n, &s));
    uint64_t bound = 0;
    for (uint32_t k = 0; k < s.count; k++)
        if (s.load[k] > bound)
            bound = s.load[k];
    for (uint32_t i = 0; i < n; i++)
        if (b[i].fixed != PLAN_ANY && b[i].fixed + b[i].size > bound)
            bound = b[i].fixed + b[i].size;
    plan_sections_finish(&s);
    *ret = bound;
    return ST_OK;
}
