/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of level linting: what the estimated time of each operator is made of. The time of the graph is divided among
 * operators in their order; of its part, an operator first waits until its work begins, and then works. Both may be
 * overlapped by others: by weights that come for a later operator, by vectors of an earlier one. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/htp/htp_backend.h"
#include "base/mem.h"

enum { MOST_OTHERS = 10, WAIT = 0, WORK = 1, PARTS };

/* One operator. */
struct lint {
    uint64_t begin;                                  /* of its part */
    uint64_t length[PARTS], overlapped[PARTS];       /* waiting, working */
    uint32_t n_others[PARTS], others[PARTS][MOST_OTHERS];
};

struct edge {
    uint64_t time;
    uint32_t node;
    int32_t more;
};

struct sweep {
    const struct binary_graph *g;
    struct lint *lints;
    struct edge *edges;
    uint32_t n_edges;
    uint32_t *busy;      /* per node: spans at work */
    uint32_t *now, n;    /* nodes with any */
};

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* Where the parts of operators begin and when their work does. */
static void list_parts(struct sweep *s, const uint64_t *first)
{
    uint64_t at = 0;
    for (uint32_t k = 0; k < s->g->n_nodes; k++) {
        struct lint *l = &s->lints[k];
        uint64_t all = s->g->nodes[k].cycles, wait = first[k] != UINT64_MAX && first[k] > at ? first[k] - at : 0;
        l->begin = at;
        l->length[WAIT] = wait < all ? wait : all;
        l->length[WORK] = all - l->length[WAIT];
        at += all;
    }
}

static void list_edges(struct sweep *s, uint64_t *first)
{
    struct binary_span_reader r;
    struct binary_span p;
    for (uint32_t k = 0; k < s->g->n_nodes; k++)
        first[k] = UINT64_MAX;
    for (binary_span_first(s->g, &r); binary_span_next(&r, &p);) {
        bool works = p.unit == UNIT_MATRIX || p.unit == UNIT_VECTOR || binary_is_transfer(&s->g->nodes[p.node]);
        first[p.node] = works && p.start < first[p.node] ? p.start : first[p.node];
        s->edges[s->n_edges++] = (struct edge){ p.start, p.node, 1 };
        s->edges[s->n_edges++] = (struct edge){ p.start + p.cycles, p.node, -1 };
    }
    qsort(s->edges, s->n_edges, sizeof(s->edges[0]), by_time);
}

static void change(struct sweep *s, const struct edge *e)
{
    uint32_t before = s->busy[e->node];
    s->busy[e->node] += (uint32_t)e->more;
    if (!before && s->busy[e->node])
        s->now[s->n++] = e->node;
    for (uint32_t i = 0; before && !s->busy[e->node] && i < s->n; i++)
        if (s->now[i] == e->node)
            s->now[i] = s->now[--s->n];
}

/* Others work from `from` to `to`, while operator k waits or works. */
static void count(struct sweep *s, uint32_t k, int part, uint64_t from, uint64_t to)
{
    struct lint *l = &s->lints[k];
    bool any = false;
    for (uint32_t i = 0; i < s->n; i++) {
        bool listed = s->now[i] == k;
        any |= !listed;
        for (uint32_t j = 0; j < l->n_others[part] && !listed; j++)
            listed = l->others[part][j] == s->now[i];
        if (!listed && l->n_others[part] < MOST_OTHERS)
            l->others[part][l->n_others[part]++] = s->now[i];
    }
    l->overlapped[part] += any ? to - from : 0;
}

/* Between two edges nothing changes but the operator whose part it is. */
static void walk(struct sweep *s)
{
    uint64_t at = 0;
    uint32_t k = 0;
    int part = WAIT;
    for (uint32_t i = 0; i < s->n_edges; i++) {
        while (k < s->g->n_nodes && at < s->edges[i].time) {
            const struct lint *l = &s->lints[k];
            uint64_t end = l->begin + l->length[WAIT] + (part == WORK ? l->length[WORK] : 0),
                     to = end < s->edges[i].time ? end : s->edges[i].time;
            if (to > at)
                count(s, k, part, at, to);
            at = to > at ? to : at;
            if (at == end) {
                k += part == WORK;
                part = part == WORK ? WAIT : WORK;
            }
        }
        change(s, &s->edges[i]);
    }
}

/* ---- events ----------------------------------------------------------------------------------------------------------- */

static void add_part(struct prof *prof, const struct sweep *s, uint32_t k, int part, int32_t parent)
{
    const struct lint *l = &s->lints[k];
    int32_t top = prof_add(prof, parent, part == WORK ? 5002 : 5003, PROF_UNIT_CYCLES, l->overlapped[part],
                           part == WORK ? "Overlap time" : "Overlap (wait) time");
    for (uint32_t i = 0; i < l->n_others[part]; i++)
        prof_addf(prof, top, part == WORK ? 5005 : 5006, PROF_UNIT_NONE, l->others[part][i], "%s:OpId_%u",
                  s->g->nodes[l->others[part][i]].name, l->others[part][i]);
}

static void add_events(struct prof *prof, int32_t parent, const struct sweep *s)
{
    char name[64];
    int32_t top = prof_add(prof, parent, 6001, PROF_UNIT_CYCLES, s->g->info.cycles,
                           "Accelerator (critical path execute) time (cycles)");
    for (uint32_t k = 0; k < s->g->n_nodes; k++) {
        const struct lint *l = &s->lints[k];
        uint32_t r = s->g->nodes[k].resources;
        int32_t node = prof_addf(prof, top, PROF_NODE, PROF_UNIT_CYCLES, l->length[WORK], "%s:OpId_%u (cycles)",
                                 s->g->nodes[k].name, k);
        prof_add(prof, node, 5001, PROF_UNIT_CYCLES, l->length[WAIT], "Wait (Scheduler) time");
        add_part(prof, s, k, WORK, node);
        add_part(prof, s, k, WAIT, node);
        snprintf(name, sizeof name, "Resources:%s%s%s%s%s", r & RESOURCE_VECTOR ? " HVX" : "",
                 (r & RESOURCE_VECTOR) && (r & ~(uint32_t)RESOURCE_VECTOR) ? "," : "", r & RESOURCE_MATRIX ? " HMX" : "",
                 (r & RESOURCE_MATRIX) && (r & RESOURCE_DMA) ? "," : "", r & RESOURCE_DMA ? " DMA" : "");
        prof_add(prof, node, 5004, PROF_UNIT_NONE, r, name);
    }
}

void htp_lint(const struct binary_graph *g, struct prof *prof, int32_t parent)
{
    struct sweep s = { .g = g,
                       .lints = mem_array(struct lint, g->n_nodes),
                       .edges = mem_array(struct edge, 2 * (size_t)g->timeline.n_spans + 1),
                       .busy = mem_array(uint32_t, g->n_nodes),
                       .now = mem_array(uint32_t, g->n_nodes) };
    uint64_t *first = mem_array(uint64_t, g->n_nodes);
    if (s.lints && s.edges && s.busy && s.now && first &&
        g->timeline.n_spans) { /* a profile without memory has fewer events, as ever */
        list_edges(&s, first);
        list_parts(&s, first);
        walk(&s);
        add_events(prof, parent, &s);
    }
    mem_free(s.lints);
    mem_free(s.edges);
    mem_free(s.busy);
    mem_free(s.now);
    mem_free(first);
}
