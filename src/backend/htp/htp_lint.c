/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of level linting: what the estimated time of each operator is made of. The time of the graph is divided among
 * operators, moment by moment, as a device's main thread would be:
 *
 *     vectors work            the first operator that they work for
 *     only HMX works          the first operator that it works for
 *     only activations work   the first one; they are part of the product before them
 *     nothing works           the operator that works next: it waits
 *
 * What works beside it then overlaps it: other operators, or the matrix unit for the same one. While an operator waits, that
 * is transfers of others. Which unit comes first was chosen on the tables of the vendor's guide (docs/cost.md). */
#include <stdio.h>
#include <stdlib.h>

#include "backend/htp/htp_backend.h"
#include "base/mem.h"

enum { MOST_OTHERS = 10, WAIT = 0, WORK = 1, PARTS };
enum class { VECTORS, MATRIX, ACTIVATION, TRANSFER, CLASSES };

/* One operator. */
struct lint {
    uint64_t length[PARTS], overlapped[PARTS]; /* waiting, working */
    uint32_t n_others[PARTS], others[PARTS][MOST_OTHERS];
};

struct edge {
    uint64_t time;
    uint32_t node;
    uint8_t class;
    bool begins;
};

/* Whose a moment is: the time between an edge and the one before it. */
struct moment {
    uint32_t node;
    uint8_t part;
};

struct sweep {
    const struct binary_graph *g;
    struct lint *lints;
    struct edge *edges;
    struct moment *moments;
    uint32_t n_edges;
    uint32_t *activation;      /* per product: the activation that is part of it, BINARY_NONE: none */
    uint32_t (*busy)[CLASSES]; /* per node: spans at work */
    uint32_t *now, n;          /* nodes with any */
};

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->begins - y->begins;
}

/* An activation with vectors but no spans is computed with the product that it reads. */
static void find_activations(struct sweep *s)
{
    const struct binary_graph *g = s->g;
    struct binary_span_reader r;
    struct binary_span p;

    for (uint32_t k = 0; k < g->n_nodes; k++)
        s->activation[k] = BINARY_NONE;
    for (binary_span_first(g, &r); binary_span_next(&r, &p);)
        if (p.unit == UNIT_VECTOR || p.unit == UNIT_MATRIX)
            s->now[p.node] = 1; /* it works by itself */
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct binary_node *n = &g->nodes[k];
        bool idle = !s->now[k] && n->n_in && (n->resources & (RESOURCE_VECTOR | RESOURCE_MATRIX)) == RESOURCE_VECTOR;
        for (uint32_t m = 0; idle && m < k; m++)
            if (g->nodes[m].n_out && g->nodes[m].out[0] == n->in[0] && g->nodes[m].resources & RESOURCE_MATRIX)
                s->activation[m] = k;
    }
    for (uint32_t k = 0; k < g->n_nodes; k++)
        s->now[k] = 0;
}

static void list_edges(struct sweep *s)
{
    static const uint8_t classes[UNIT_COUNT] = { MATRIX, VECTORS, TRANSFER, TRANSFER };
    struct binary_span_reader r;
    struct binary_span p;

    for (binary_span_first(s->g, &r); binary_span_next(&r, &p);) {
        uint32_t with = p.unit == UNIT_VECTOR ? s->activation[p.node] : BINARY_NONE;
        uint32_t node = with == BINARY_NONE ? p.node : with;
        uint8_t class = with == BINARY_NONE ? classes[p.unit] : ACTIVATION;

        s->edges[s->n_edges++] = (struct edge){ p.start, node, class, true };
        s->edges[s->n_edges++] = (struct edge){ p.start + p.cycles, node, class, false };
    }
    qsort(s->edges, s->n_edges, sizeof(s->edges[0]), by_time);
}

static bool is_idle(const struct sweep *s, uint32_t node)
{
    for (int c = 0; c < CLASSES; c++)
        if (s->busy[node][c])
            return false;
    return true;
}

static void change(struct sweep *s, const struct edge *e)
{
    bool idle = is_idle(s, e->node);

    s->busy[e->node][e->class] += e->begins ? 1 : UINT32_MAX;
    if (idle)
        s->now[s->n++] = e->node;
    if (!is_idle(s, e->node))
        return;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->now[i] == e->node)
            s->now[i] = s->now[--s->n];
}

/* The operator at work, BINARY_NONE: none is. */
static uint32_t at_work(const struct sweep *s)
{
    for (int c = 0; c < TRANSFER; c++) {
        uint32_t first = BINARY_NONE;

        for (uint32_t i = 0; i < s->n; i++)
            if (s->busy[s->now[i]][c] && s->now[i] < first)
                first = s->now[i];
        if (first != BINARY_NONE)
            return first;
    }
    return BINARY_NONE;
}

/* Who waits is only known when it works. At the end, results are on their way: those of the last one. */
static void give_moments(struct sweep *s)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < s->n_edges; i++) {
        uint32_t node = at_work(s);
        s->moments[i] = (struct moment){ node, node == BINARY_NONE ? WAIT : WORK };
        next = node == BINARY_NONE ? next : node;
        change(s, &s->edges[i]);
    }
    for (uint32_t i = s->n_edges; i-- > 0;) {
        if (s->moments[i].part == WAIT)
            s->moments[i].node = next;
        next = s->moments[i].node;
    }
}

static void list_other(struct lint *l, int part, uint32_t node)
{
    for (uint32_t j = 0; j < l->n_others[part]; j++)
        if (l->others[part][j] == node)
            return;
    if (l->n_others[part] < MOST_OTHERS)
        l->others[part][l->n_others[part]++] = node;
}

/* Whether a node is background: it works beside operator k, or moves what k does not wait for. */
static bool beside(const struct sweep *s, uint32_t node, uint32_t k, int part)
{
    const uint32_t *busy = s->busy[node];

    if (part == WAIT)
        return node != k && busy[TRANSFER];
    if (node == k)
        return busy[VECTORS] && busy[MATRIX];
    return busy[VECTORS] || busy[MATRIX] || busy[ACTIVATION];
}

static void count(struct sweep *s, const struct moment *m, uint64_t cycles)
{
    struct lint *l = &s->lints[m->node];
    bool any = false;

    l->length[m->part] += cycles;
    for (uint32_t i = 0; cycles && i < s->n; i++) {
        if (!beside(s, s->now[i], m->node, m->part))
            continue;
        any = true;
        list_other(l, m->part, s->now[i]);
    }
    l->overlapped[m->part] += any ? cycles : 0;
}

static void walk(struct sweep *s)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < s->n_edges; i++) {
        count(s, &s->moments[i], s->edges[i].time - at);
        at = s->edges[i].time;
        change(s, &s->edges[i]);
    }
    if (s->n_edges && s->g->info.cycles > at) /* what comes after the last transfer */
        s->lints[s->moments[s->n_edges - 1].node].length[WAIT] += s->g->info.cycles - at;
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

static void add_resources(struct prof *prof, uint32_t resources, int32_t parent)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } all[] = { { RESOURCE_VECTOR, "HVX" }, { RESOURCE_MATRIX, "HMX" }, { RESOURCE_DMA, "DMA" } };
    char name[64] = "Resources:";
    size_t n = sizeof "Resources:" - 1;
    bool any = false;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!(resources & all[i].bit))
            continue;
        n += (size_t)snprintf(name + n, sizeof name - n, "%s %s", any ? "," : "", all[i].name);
        any = true;
    }
    prof_add(prof, parent, 5004, PROF_UNIT_NONE, resources, name);
}

static void add_events(struct prof *prof, int32_t parent, const struct sweep *s)
{
    int32_t top = prof_add(prof, parent, 6001, PROF_UNIT_CYCLES, s->g->info.cycles,
                           "Accelerator (critical path execute) time (cycles)");
    for (uint32_t k = 0; k < s->g->n_nodes; k++) {
        const struct lint *l = &s->lints[k];
        int32_t node = prof_addf(prof, top, PROF_NODE, PROF_UNIT_CYCLES, l->length[WORK], "%s:OpId_%u (cycles)",
                                 s->g->nodes[k].name, k);
        prof_add(prof, node, 5001, PROF_UNIT_CYCLES, l->length[WAIT], "Wait (Scheduler) time");
        add_part(prof, s, k, WORK, node);
        add_part(prof, s, k, WAIT, node);
        add_resources(prof, s->g->nodes[k].resources, node);
    }
}

void htp_lint(const struct binary_graph *g, struct prof *prof, int32_t parent)
{
    size_t n_edges = 2 * (size_t)g->timeline.n_spans + 1;
    struct sweep s = { .g = g,
                       .lints = mem_array(struct lint, g->n_nodes),
                       .edges = mem_array(struct edge, n_edges),
                       .moments = mem_array(struct moment, n_edges),
                       .activation = mem_array(uint32_t, g->n_nodes),
                       .busy = mem_alloc_array(g->n_nodes, sizeof(*s.busy)),
                       .now = mem_array(uint32_t, g->n_nodes) };
    bool ok = s.lints && s.edges && s.moments && s.activation && s.busy && s.now;

    if (ok && g->timeline.n_spans) { /* without memory a profile has fewer events */
        find_activations(&s);
        list_edges(&s);
        give_moments(&s);
        walk(&s);
        add_events(prof, parent, &s);
    }
    mem_free(s.lints);
    mem_free(s.edges);
    mem_free(s.moments);
    mem_free(s.activation);
    mem_free(s.busy);
    mem_free(s.now);
}
