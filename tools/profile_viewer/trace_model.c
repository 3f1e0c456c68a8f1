/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of a graph in the order of time, each vector span on a thread that is free. */
#include "profile_viewer/trace_model.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

enum { MOST_THREADS = 64 };

const char *const trace_units[UNIT_COUNT] = { "HMX", "HVX", "DMA read", "DMA write" };

double trace_us(const struct trace_graph *t, uint64_t cycles)
{
    return (double)cycles / t->g->timeline.clock_mhz;
}

static int by_start(const void *a, const void *b)
{
    const struct binary_span *x = &((const struct trace_span *)a)->span, *y = &((const struct trace_span *)b)->span;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->command != y->command ? (x->command > y->command) - (x->command < y->command)
                                    : (x->node > y->node) - (x->node < y->node);
}

/* The estimate had a thread for each, so there is one. */
static void choose_threads(struct trace_graph *t)
{
    uint64_t free_at[MOST_THREADS] = { 0 };
    uint32_t threads = t->g->timeline.threads < MOST_THREADS ? t->g->timeline.threads : MOST_THREADS;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct binary_span *s = &t->spans[i].span;
        uint32_t lane = 0;
        if (s->unit != UNIT_VECTOR)
            continue;
        while (!s->all && lane + 1 < threads && free_at[lane] > s->start)
            lane++;
        t->spans[i].lane = lane;
        for (uint32_t k = s->all ? 0 : lane; k < (s->all ? threads : lane + 1); k++)
            free_at[k] = s->start + s->cycles;
    }
}

static enum status find(const struct binary_graph *g, const char *option, const char *name, uint32_t otherwise,
                        uint32_t *ret)
{
    *ret = otherwise;
    for (uint32_t k = 0; name && k < g->n_nodes; k++)
        if (str_eq(g->nodes[k].name, name)) {
            *ret = k;
            return ST_OK;
        }
    RETURN_IF(name, ST_INVALID_ARG, "%s: graph \"%s\" has no node \"%s\"; its first one is \"%s\"", option, g->info.name,
              name, g->n_nodes ? g->nodes[0].name : "");
    return ST_OK;
}

enum status trace_graph_open(const struct binary_graph *g, const char *start, const char *end, struct trace_graph *ret)
{
    struct trace_graph t = { .g = g };
    struct binary_span_reader r;
    struct binary_span s;
    TRY(find(g, "--zoom_start", start, 0, &t.first));
    TRY(find(g, "--zoom_end", end, g->n_nodes - 1, &t.last));
    RETURN_IF(t.first > t.last, ST_INVALID_ARG, "--zoom_start \"%s\" is computed after --zoom_end \"%s\"; swap them",
              start ? start : "", end ? end : "");
    t.spans = mem_array(struct trace_span, (size_t)g->timeline.n_spans + 1);
    RETURN_IF(!t.spans, ST_NO_MEMORY, "no memory for %u spans of graph \"%s\"", g->timeline.n_spans, g->info.name);
    for (binary_span_first(g, &r); binary_span_next(&r, &s);)
        t.spans[t.n++].span = s;
    qsort(t.spans, t.n, sizeof *t.spans, by_start);
    choose_threads(&t);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t.n; i++)
        if (t.spans[i].span.node >= t.first && t.spans[i].span.node <= t.last)
            t.spans[kept++] = t.spans[i];
    t.n = kept;
    *ret = t;
    return ST_OK;
}

void trace_graph_close(struct trace_graph *t)
{
    mem_free(t->spans);
    t->spans = NULL;
}
