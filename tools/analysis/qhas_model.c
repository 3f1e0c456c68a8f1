/* SPDX-License-Identifier: Apache-2.0 */
/* What the spans of a graph say of its operators. */
#include <stdlib.h>
#include <string.h>

#include "analysis/estimate.h"
#include "analysis/qhas.h"
#include "common/short_names.h"

const char *const qhas_units[QHAS_UNITS] = { "HMX", "HVX", "DMA read", "DMA write", "SyncOp" };

bool qhas_wanted(const struct qhas_graph *q, uint32_t node)
{
    return !q->wanted || q->wanted[node];
}

double qhas_us(const struct qhas_model *m, uint64_t cycles)
{
    return (double)cycles / m->q->g->timeline.clock_mhz;
}

double qhas_percent(uint64_t part, uint64_t all)
{
    return all ? 100 * (double)part / (double)all : 0;
}

static int by_start(const void *a, const void *b)
{
    const struct binary_span *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->command != y->command)
        return x->command < y->command ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static void add_span(struct qhas_model *m, const struct binary_span *s)
{
    struct qhas_node *node = &m->nodes[s->node];
    bool first = !node->end;

    m->spans[m->n_spans++] = *s;
    node->busy[s->unit] += s->unit == UNIT_VECTOR && s->all ? s->cycles * m->q->g->timeline.threads : s->cycles;
    if (first || s->start < node->begin)
        node->begin = s->start;
    if (s->start + s->cycles > node->end)
        node->end = s->start + s->cycles;
}

static void read_spans(struct qhas_model *m)
{
    const struct binary_graph *g = m->q->g;
    uint32_t threads = g->timeline.threads ? g->timeline.threads : 1;
    struct binary_span_reader r;
    struct binary_span s;

    for (binary_span_first(g, &r); binary_span_next(&r, &s);)
        if (qhas_wanted(m->q, s.node))
            add_span(m, &s);
    qsort(m->spans, m->n_spans, sizeof *m->spans, by_start);
    for (uint32_t k = 0; k < g->n_nodes; k++)
        m->nodes[k].busy[UNIT_VECTOR] /= threads;
}

/* A command of a chain is one of all its members. */
static void find_steps(struct qhas_model *m)
{
    const struct binary_graph *g = m->q->g;

    for (uint32_t c = g->n_commands; c-- > 0;) {
        uint32_t node = g->commands[c].node;
        uint32_t chain = g->chain_of ? g->chain_of[node] : BINARY_NONE;
        for (uint32_t k = chain == BINARY_NONE ? node : g->chains[chain].first; k <= node; k++)
            m->nodes[k].step = g->commands[c].step;
    }
}

enum status qhas_model_make(const struct qhas_graph *q, struct arena *a, struct qhas_model *ret)
{
    const struct binary_graph *g = q->g;
    struct qhas_model m = { .q = q };
    const char **full = arena_array(a, const char *, g->n_nodes + 1);

    m.spans = arena_array(a, struct binary_span, g->timeline.n_spans + 1);
    m.nodes = arena_array(a, struct qhas_node, g->n_nodes + 1);
    m.names = arena_array(a, const char *, g->n_nodes + 1);
    RETURN_IF(!full || !m.spans || !m.nodes || !m.names, ST_NO_MEMORY, "no memory to analyse %u operators", g->n_nodes);

    read_spans(&m);
    find_steps(&m);
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        full[k] = g->nodes[k].name;
        m.nodes[k].padded = estimate_padded_macs(g, k);
        binary_node_moves(g, k, &m.nodes[k].moves);
        if (qhas_wanted(q, k)) {
            m.cycles += g->nodes[k].cycles;
            m.n_wanted++;
        }
    }
    TRY(short_names(full, g->n_nodes, a, m.names));
    TRY(qhas_path_find(&m, a));
    *ret = m;
    return ST_OK;
}

const char *qhas_bound(const struct qhas_model *m, uint32_t node)
{
    const struct qhas_node *n = &m->nodes[node];
    uint64_t dma = n->busy[UNIT_FETCH] + n->busy[UNIT_STORE];
    const uint64_t busy[] = { n->busy[UNIT_MATRIX], n->busy[UNIT_VECTOR], dma };
    static const char *const names[] = { "HMX", "HVX", "DMA" };
    int most = 0;

    for (int i = 1; i < 3; i++)
        if (busy[i] > busy[most])
            most = i;
    if (!m->q->g->nodes[node].cycles)
        return "hidden";
    return m->q->g->nodes[node].cycles > 2 * busy[most] ? "launch" : names[most];
}
