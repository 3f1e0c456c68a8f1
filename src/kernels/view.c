/* SPDX-License-Identifier: Apache-2.0 */
/* Making views (see view.h). Bind time only. */
#include <assert.h>
#include <string.h>

#include "kernels/view.h"

uint64_t view_count(const struct view *v)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d < v->rank; d++)
        n *= v->dims[d];
    return n;
}

void view_add(struct view *v, uint32_t dim, int64_t stride)
{
    assert(v->rank < VIEW_RANK);
    v->dims[v->rank] = dim;
    v->strides[v->rank] = stride;
    v->rank++;
}

/* Whether dimension d and the one kept before it are one run in this view. */
static bool joins(const struct view *v, uint32_t kept, uint32_t d)
{
    uint64_t size = (uint64_t)v->dims[kept] * v->dims[d];
    return size <= UINT32_MAX && v->strides[kept] == v->strides[d] * (int64_t)v->dims[d];
}

static void settle(struct view *v, uint32_t rank)
{
    v->rank = rank;
    if (!rank) {
        v->rank = 1;
        v->dims[0] = 1;
        v->strides[0] = 1;
    }
    v->linear = v->rank == 1 && (v->strides[0] == 1 || v->dims[0] == 1);
    if (v->linear)
        v->strides[0] = 1;
}

static void merge(struct view *const *views, uint32_t n)
{
    struct view *a = views[0];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < a->rank; d++) {
        if (a->dims[d] == 1)
            continue;
        bool join = rank > 0;
        for (uint32_t i = 0; i < n && join; i++)
            join = joins(views[i], rank - 1, d);
        for (uint32_t i = 0; i < n; i++) {
            struct view *v = views[i];
            uint32_t to = join ? rank - 1 : rank;
            v->dims[to] = join ? v->dims[to] * v->dims[d] : v->dims[d];
            v->strides[to] = v->strides[d];
        }
        rank += !join;
    }
    for (uint32_t i = 0; i < n; i++)
        settle(views[i], rank);
}

void view_finish(struct view *v)
{
    struct view *const views[] = {v};
    merge(views, 1);
}

void view_finish_pair(struct view *a, struct view *b)
{
    struct view *const views[] = {a, b};
    merge(views, 2);
}

void view_broadcast(struct view *v, const struct tensor_desc *t, const struct tensor_desc *out)
{
    uint64_t strides[MAX_RANK] = {0};
    uint32_t lead = out->rank > t->rank ? (uint32_t)(out->rank - t->rank) : 0;
    *v = (struct view){0};
    desc_strides(t, strides);
    for (uint32_t d = 0; d < out->rank; d++) {
        bool moves = d >= lead && t->dims[d - lead] != 1;
        view_add(v, out->dims[d], moves ? (int64_t)strides[d - lead] : 0);
    }
    view_finish(v);
}
