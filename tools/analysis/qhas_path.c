/* SPDX-License-Identifier: Apache-2.0 */
/* The dominant path: of everything that works at a moment, the first of matrix unit, vector units, DMA from and to DRAM is
 * what the time is spent on. Where nothing works, an operator is being launched. */
#include <stdlib.h>
#include <string.h>

#include "analysis/qhas.h"
#include "base/mem.h"

struct layer {
    struct qhas_stretch *at;
    uint32_t n;
};

/* Spans of one unit, one behind the other: those of vectors may overlap, and the earlier one counts. What is left of each
 * goes where no unit before it works. */
static uint32_t lay(const struct qhas_model *m, uint32_t unit, const struct layer *over, struct qhas_stretch *ret)
{
    uint32_t n = 0, k = 0;
    uint64_t end = 0;

    for (uint32_t i = 0; i < m->n_spans; i++) {
        const struct binary_span *s = &m->spans[i];
        uint64_t from = s->start > end ? s->start : end;
        uint64_t to = s->start + s->cycles;

        if (s->unit != unit || from >= to)
            continue;
        end = to;
        while (k < over->n && over->at[k].end <= from)
            k++;
        for (uint32_t j = k; from < to; j++) {
            uint64_t stop = j < over->n && over->at[j].start < to ? over->at[j].start : to;
            if (from < stop)
                ret[n++] = (struct qhas_stretch){ from, stop, s->node, (uint8_t)unit };
            if (j >= over->n || over->at[j].start >= to)
                break;
            from = over->at[j].end > from ? over->at[j].end : from;
        }
    }
    return n;
}

static int by_start(const void *a, const void *b)
{
    const struct qhas_stretch *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Stretches of one node and unit that follow each other are one. */
static uint32_t join(struct qhas_stretch *list, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct qhas_stretch *last = kept ? &list[kept - 1] : NULL;
        if (last && last->node == list[i].node && last->unit == list[i].unit && last->end == list[i].start)
            last->end = list[i].end;
        else
            list[kept++] = list[i];
    }
    return kept;
}

/* Of a whole graph, all of the time: what is between stretches is a launch. */
static uint32_t fill_holes(const struct qhas_stretch *list, uint32_t n, uint64_t cycles, struct qhas_stretch *ret)
{
    uint32_t kept = 0;
    uint64_t end = 0;

    for (uint32_t i = 0; i <= n; i++) {
        uint64_t next = i < n ? list[i].start : cycles;
        if (next > end)
            ret[kept++] = (struct qhas_stretch){ end, next, BINARY_NONE, QHAS_LAUNCH };
        if (i < n) {
            ret[kept++] = list[i];
            end = list[i].end;
        }
    }
    return kept;
}

/* Every stretch that is there already may cut a span in two. */
static size_t most_stretches(const struct qhas_model *m)
{
    size_t per_unit[UNIT_COUNT] = { 0 }, most = 0;

    for (uint32_t i = 0; i < m->n_spans; i++)
        per_unit[m->spans[i].unit]++;
    for (uint32_t u = 0; u < UNIT_COUNT; u++)
        most = 2 * most + per_unit[u];
    return most;
}

enum status qhas_path_find(struct qhas_model *m, struct arena *a)
{
    CLEANUP(mem_freep) struct qhas_stretch *list = mem_array(struct qhas_stretch, most_stretches(m) + 1);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for the dominant path of %u spans", m->n_spans);

    struct layer all = { list, 0 };
    for (uint32_t u = 0; u < UNIT_COUNT; u++) {
        all.n += lay(m, u, &all, list + all.n);
        qsort(list, all.n, sizeof *list, by_start);
    }
    all.n = join(list, all.n);
    m->path = arena_array(a, struct qhas_stretch, 2 * (size_t)all.n + 1);
    RETURN_IF(!m->path, ST_NO_MEMORY, "no memory for the dominant path of %u spans", m->n_spans);

    bool whole = m->n_wanted == m->q->g->n_nodes;
    if (whole)
        m->n_path = fill_holes(list, all.n, m->cycles, m->path);
    else
        m->n_path = all.n;
    if (!whole && all.n)
        memcpy(m->path, list, all.n * sizeof *list);
    for (uint32_t i = 0; i < m->n_path; i++)
        if (m->path[i].node != BINARY_NONE)
            m->nodes[m->path[i].node].path += m->path[i].end - m->path[i].start;
    return ST_OK;
}
