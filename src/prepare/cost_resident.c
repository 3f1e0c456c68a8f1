/* SPDX-License-Identifier: Apache-2.0 */
/* How much of fast memory is taken by whole tensors at each step. Tensors may lie over each other (views, results in the
 * place of an operand), so it is the union that counts. */
#include <stdlib.h>

#include "prepare/cost_sim.h"

struct lying {
    uint64_t from, to;
    uint32_t first, last;
};

static int by_first(const void *a, const void *b)
{
    const struct lying *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : (x->from > y->from) - (x->from < y->from);
}

/* Those that are over leave the list, which stays in the order of addresses. */
static uint32_t without_old(struct lying *list, uint32_t n, uint32_t step)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (list[i].last >= step)
            list[kept++] = list[i];
    return kept;
}

static void put(struct lying *list, uint32_t n, struct lying l)
{
    for (; n > 0 && list[n - 1].from > l.from; n--)
        list[n] = list[n - 1];
    list[n] = l;
}

static uint64_t united(const struct lying *list, uint32_t n)
{
    uint64_t sum = 0, end = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t from = list[i].from > end ? list[i].from : end;
        sum += list[i].to > from ? list[i].to - from : 0;
        end = list[i].to > end ? list[i].to : end;
    }
    return sum;
}

enum status cost_resident(const struct binary_graph *g, uint32_t n_steps, uint64_t *ret)
{
    CLEANUP(arena_finish) struct arena a;
    arena_init(&a);
    struct lying *all = arena_array(&a, struct lying, g->n_tensors), *now = arena_array(&a, struct lying, g->n_tensors);
    uint32_t n = 0, here = 0, next = 0;
    RETURN_IF(!all || !now, ST_NO_MEMORY, "no memory to estimate %u tensors", g->n_tensors);
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const struct binary_tensor *t = &g->tensors[i];
        if (t->place == PLACE_VTCM)
            all[n++] = (struct lying){ t->offset, t->offset + binary_vtcm_bytes(&t->desc), t->first, t->last };
    }
    qsort(all, n, sizeof *all, by_first);
    for (uint32_t step = 0; step < n_steps; step++) {
        here = without_old(now, here, step);
        for (; next < n && all[next].first <= step; next++)
            put(now, here++, all[next]);
        ret[step] = united(now, here);
    }
    return ST_OK;
}
