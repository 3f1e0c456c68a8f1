/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's entry: check, cut into parts, plan each part, put the answers back.
 *
 * Buffers are sorted by their first step. Where everything so far has ended before the next one starts, a new part begins:
 *
 *     #### ####    | ######         parts share no step, so each is planned from offset 0 on its own,
 *       ######     |    ####        and the total is that of the highest part
 *
 * All parts first get a greedy plan. Only those that end above the goal (the capacity, or the lower bound of all parts:
 * being better than the highest part is of no use) are given to the search, each with an equal share of what is left. */
#include "prepare/plan.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

struct part {
    struct plan_buf *b;
    uint32_t n;
    uint64_t total, lower;
};

struct sorted {
    uint32_t first, index;
};

struct planner {
    struct plan_buf *b;      /* the buffers that occupy something, sorted by first step */
    struct sorted *sorted;   /* where each came from */
    struct part *part;
    uint32_t n, parts;
    uint64_t total, lower, proven, goal;
    struct plan_budget budget;
};

static int compare_sorted(const void *pa, const void *pb)
{
    const struct sorted *a = pa, *b = pb;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static enum status check_buf(const struct plan_buf *b, size_t i)
{
    RETURN_IF(b->first > b->last, ST_INVALID_ARG,
              "memory plan: buffer %zu lives from step %u to step %u; first must not be after last", i, b->first, b->last);
    RETURN_IF(b->size > PLAN_MAX, ST_INVALID_ARG, "memory plan: buffer %zu has %llu bytes; at most 2^63 - 1 are allowed", i,
              (unsigned long long)b->size);
    if (b->fixed == PLAN_ANY)
        return ST_OK;
    RETURN_IF(b->fixed > PLAN_MAX || b->size > PLAN_MAX - b->fixed, ST_INVALID_ARG,
              "memory plan: buffer %zu is fixed at %llu and has %llu bytes; it must end within 2^63 - 1", i,
              (unsigned long long)b->fixed, (unsigned long long)b->size);
    RETURN_IF(b->align && b->fixed % b->align, ST_INVALID_ARG,
              "memory plan: buffer %zu is fixed at %llu, which is not a multiple of its alignment %u", i,
              (unsigned long long)b->fixed, b->align);
    return ST_OK;
}

/* Fixed buffers of one part must not collide. They are few. */
static enum status check_fixed(const struct plan_buf *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (b[i].fixed == PLAN_ANY)
            continue;
        for (uint32_t k = i + 1; k < n && b[k].first <= b[i].last; k++)
            RETURN_IF(b[k].fixed != PLAN_ANY && b[k].fixed < b[i].fixed + b[i].size && b[i].fixed < b[k].fixed + b[k].size,
                      ST_INVALID_ARG, "memory plan: two buffers are fixed at %llu (%llu bytes) and %llu (%llu bytes) and both "
                      "alive in step %u; fix one of them elsewhere", (unsigned long long)b[i].fixed,
                      (unsigned long long)b[i].size, (unsigned long long)b[k].fixed, (unsigned long long)b[k].size, b[k].first);
    }
    return ST_OK;
}

/* Keep what occupies something, sorted; the rest only counts towards the total. */
static enum status collect(struct planner *p, const struct plan_buf *b, size_t n)
{
    p->b = mem_array(struct plan_buf, n);
    p->sorted = mem_array(struct sorted, n);
    p->part = mem_array(struct part, n);
    RETURN_IF(!p->b || !p->sorted || !p->part, ST_NO_MEMORY, "memory plan: %zu buffers", n);
    for (size_t i = 0; i < n; i++) {
        TRY(check_buf(&b[i], i));
        if (b[i].size)
            p->sorted[p->n++] = (struct sorted){ b[i].first, (uint32_t)i };
        else if (b[i].fixed != PLAN_ANY && b[i].fixed > p->lower)
            p->lower = b[i].fixed;
    }
    qsort(p->sorted, p->n, sizeof(*p->sorted), compare_sorted);
    for (uint32_t i = 0; i < p->n; i++) {
        p->b[i] = b[p->sorted[i].index];
        p->b[i].align = p->b[i].align ? p->b[i].align : 1;
    }
    return ST_OK;
}

static enum status cut_parts(struct planner *p)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->parts == 0 || p->b[i].first > end) {
            p->part[p->parts++] = (struct part){ .b = &p->b[i] };
            end = p->b[i].last;
        }
        p->part[p->parts - 1].n++;
        end = p->b[i].last > end ? p->b[i].last : end;
    }
    for (uint32_t k = 0; k < p->parts; k++) {
        struct part *part = &p->part[k];
        TRY(check_fixed(part->b, part->n));
        TRY(plan_lower_bound(part->b, part->n, &part->lower));
        p->lower = part->lower > p->lower ? part->lower : p->lower;
    }
    return ST_OK;
}

static enum status plan_quickly(struct planner *p, uint64_t until_ns)
{
    for (uint32_t k = 0; k < p->parts; k++) {
        struct part *part = &p->part[k];
        TRY(plan_heuristics(part->b, part->n, p->goal, until_ns, &part->total));
        RETURN_IF(part->total == PLAN_ANY, ST_INVALID_ARG, "memory plan: %u buffers do not fit into 2^63 - 1 bytes with their "
                  "alignments and fixed offsets; make tensors smaller", part->n);
    }
    return ST_OK;
}

static enum status search(struct planner *p, const struct plan_opts *o, uint64_t until)
{
    uint64_t now, goal = p->goal;
    uint64_t max_nodes = o->max_nodes ? o->max_nodes : UINT64_MAX;
    uint32_t waiting = 0;
    for (uint32_t k = 0; k < p->parts; k++)
        waiting += p->part[k].total > goal;
    for (uint32_t k = 0; k < p->parts; k++) {
        struct part *part = &p->part[k];
        if (p->part[k].total <= p->goal)
            continue;
        if (part->total > goal) {
            p->budget.max_nodes = max_nodes - (max_nodes - p->budget.nodes) / waiting * (waiting - 1);
            p->budget.until_ns = until;
            if (until != PLAN_FOREVER && waiting > 1) {
                now = clock_ns();
                p->budget.until_ns = now < until ? now + (until - now) / waiting : until;
            }
            TRY(plan_improve(part->b, part->n, goal, &p->budget, &part->total, &part->lower));
        }
        waiting -= waiting > 1;
        goal = part->total > goal ? part->total : goal; /* the others need not be better than this one */
    }
    return ST_OK;
}

static enum status plan_all(struct planner *p, const struct plan_buf *b, size_t n, const struct plan_opts *o)
{
    uint64_t now = o->deadline_ns == PLAN_FOREVER || !o->deadline_ns ? 0 : clock_ns();
    uint64_t until = o->deadline_ns && o->deadline_ns < PLAN_FOREVER - now ? now + o->deadline_ns : PLAN_FOREVER;
    TRY(collect(p, b, n));
    TRY(cut_parts(p));
    p->goal = o->capacity > p->lower ? o->capacity : p->lower;
    TRY(plan_quickly(p, until));
    if (o->deadline_ns)
        TRY(search(p, o, until));
    p->total = p->proven = p->lower;
    for (uint32_t k = 0; k < p->parts; k++) {
        p->total = p->part[k].total > p->total ? p->part[k].total : p->total;
        p->proven = p->part[k].lower > p->proven ? p->part[k].lower : p->proven;
    }
    return ST_OK;
}

enum status plan_solve(struct plan_buf *b, size_t n, const struct plan_opts *o, struct plan_result *ret)
{
    RETURN_IF(n > INT32_MAX, ST_INVALID_ARG, "memory plan: %zu buffers; at most 2^31 - 1 are allowed", n);
    struct planner p = { 0 };
    enum status st = plan_all(&p, b, n, o);
    if (st == ST_OK) {
        for (size_t i = 0; i < n; i++)
            b[i].offset = b[i].fixed == PLAN_ANY ? 0 : b[i].fixed;
        for (uint32_t i = 0; i < p.n; i++)
            b[p.sorted[i].index].offset = p.b[i].offset;
        *ret = (struct plan_result){ .total = p.total, .lower_bound = p.lower, .optimal = p.total <= p.proven,
                                     .nodes = p.budget.nodes };
    }
    mem_free(p.b);
    mem_free(p.sorted);
    mem_free(p.part);
    return st;
}
