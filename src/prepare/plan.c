/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's entry: check, cut into parts, plan each part, put the answers back.
 *
 * Buffers are sorted by their first step. Where everything so far has ended before the next one starts, a new part begins:
 *
 *     #### ####    | ######         parts share no step, so each is planned from offset 0 on its own,
 *       ######     |    ####        and the total is that of the highest part
 *
 * All parts first get a greedy plan. Only those that end above the goal (the capacity, or the lower bound of all parts:
 * being better than the highest part is of no use) are given to the search, small ones first, each with an equal share of
 * what is left. */
#include "prepare/plan.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

struct sorted {
    uint32_t first, index;
};

struct planner {
    struct plan_buf *b;      /* the buffers that occupy something, sorted by first step */
    struct sorted *sorted;   /* where each came from */
    struct plan_part *part;
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
                      ST_INVALID_ARG,
                      "memory plan: two buffers are fixed at %llu (%llu bytes) and %llu (%llu bytes) and both "
                      "alive in step %u; fix one of them elsewhere",
                      (unsigned long long)b[i].fixed, (unsigned long long)b[i].size, (unsigned long long)b[k].fixed,
                      (unsigned long long)b[k].size, b[k].first);
    }
    return ST_OK;
}

/* Keep what occupies something, sorted; the rest only counts towards the total. */
static enum status collect(struct planner *p, const struct plan_buf *b, size_t n)
{
    p->b = mem_array(struct plan_buf, n);
    p->sorted = mem_array(struct sorted, n);
    p->part = mem_array(struct plan_part, n);
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
            p->part[p->parts++] = (struct plan_part){ .b = &p->b[i] };
            end = p->b[i].last;
        }
        p->part[p->parts - 1].n++;
        end = p->b[i].last > end ? p->b[i].last : end;
    }
    for (uint32_t k = 0; k < p->parts; k++) {
        struct plan_part *part = &p->part[k];
        TRY(check_fixed(part->b, part->n));
        TRY(plan_lower_bound(part->b, part->n, &part->lower));
        p->lower = part->lower > p->lower ? part->lower : p->lower;
    }
    return ST_OK;
}

static enum status plan_quickly(struct planner *p, uint64_t until_ns)
{
    for (uint32_t k = 0; k < p->parts; k++) {
        struct plan_part *part = &p->part[k];
        TRY(plan_heuristics(part->b, part->n, p->goal, until_ns, &part->total));
        RETURN_IF(part->total == PLAN_ANY, ST_INVALID_ARG,
                  "memory plan: %u buffers do not fit into 2^63 - 1 bytes with their "
                  "alignments and fixed offsets; make tensors smaller",
                  part->n);
    }
    return ST_OK;
}

static int by_buffers(const void *pa, const void *pb)
{
    const struct plan_part *a = *(struct plan_part *const *)pa, *b = *(struct plan_part *const *)pb;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return a->b < b->b ? -1 : a->b > b->b;
}

/* One part; `waiting` of them, this one included, share what is left. */
static enum status search_part(struct planner *p, struct plan_part *part, uint64_t goal, uint32_t waiting,
                               uint64_t max_nodes, uint64_t until)
{
    uint64_t now = until == PLAN_FOREVER ? 0 : clock_ns();
    p->budget.max_nodes = max_nodes - (max_nodes - p->budget.nodes) / waiting * (waiting - 1);
    p->budget.until_ns = until == PLAN_FOREVER || now >= until ? until : now + (until - now) / waiting;
    return plan_improve(part, goal, &p->budget);
}

/* The largest part comes last: it gets all that the others have left over. */
static enum status search_once(struct planner *p, struct plan_part **list, uint64_t max_nodes, uint64_t until)
{
    uint64_t goal = p->goal;
    uint32_t waiting = 0;
    for (uint32_t k = 0; k < p->parts; k++)
        if (p->part[k].total > goal)
            list[waiting++] = &p->part[k];
    qsort(list, waiting, sizeof(*list), by_buffers);
    for (uint32_t k = 0; k < waiting; k++) {
        if (list[k]->total > goal)
            TRY(search_part(p, list[k], goal, waiting - k, max_nodes, until));
        goal = list[k]->total > goal ? list[k]->total : goal; /* the others need not be better than this one */
    }
    return ST_OK;
}

/* Something is above the goal and not proven to have to be. */
static bool can_improve(const struct planner *p)
{
    uint64_t total = 0, lower = p->goal;
    for (uint32_t k = 0; k < p->parts; k++) {
        total = p->part[k].total > total ? p->part[k].total : total;
        lower = p->part[k].lower > lower ? p->part[k].lower : lower;
    }
    return total > lower;
}

/* Again as long as there is something left to spend and somebody spends it. */
static enum status search(struct planner *p, const struct plan_opts *o, uint64_t until)
{
    uint64_t max_nodes = o->max_nodes ? o->max_nodes : UINT64_MAX, before;
    CLEANUP(mem_freep) struct plan_part **list = mem_array(struct plan_part *, p->parts);
    RETURN_IF(!list, ST_NO_MEMORY, "memory plan: %u parts", p->parts);
    do {
        before = p->budget.nodes;
        TRY(search_once(p, list, max_nodes, until));
    } while (p->budget.nodes > before && p->budget.nodes < max_nodes && can_improve(p) &&
             (until == PLAN_FOREVER || clock_ns() < until));
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
