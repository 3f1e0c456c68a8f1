/* SPDX-License-Identifier: Apache-2.0 */
/* What a device does besides the operators of a model, as the estimate implies it:
 *
 *   DmaCheckpointSet    a transfer that a command waits for is done
 *   DmaCheckpointWait   a unit is idle until then
 *   SyncOp              a unit is idle until another operator has made what a command reads
 *
 * A unit that is idle for another reason, a launch or the end of the graph, does nothing. */
#include "base/mem.h"
#include "profile_viewer/trace_device.h"

enum { MOST_LANES = 80 /* of a core */, LAST = 8 };

struct service {
    struct trace_out *out;
    const struct trace_graph *t;
    uint32_t process;
    uint64_t *fetched; /* per command: when its transfer is done, 0: it has none */
    uint64_t (*done)[LAST]; /* per node: when its last spans so far are done, in turn */
    uint32_t *n_done;
    uint32_t *makers;  /* per tensor: the node that makes it */
    uint64_t free_at[BINARY_MAX_CORES][MOST_LANES];
};

static enum status list(struct service *s)
{
    const struct binary_graph *g = s->t->g;

    s->fetched = mem_array(uint64_t, (size_t)g->n_commands + 1);
    s->done = mem_alloc_array((size_t)g->n_nodes + 1, sizeof(*s->done));
    s->n_done = mem_array(uint32_t, (size_t)g->n_nodes + 1);
    s->makers = mem_array(uint32_t, (size_t)g->n_tensors + 1);
    RETURN_IF(!s->fetched || !s->done || !s->n_done || !s->makers, ST_NO_MEMORY, "no memory for the waits of graph \"%s\"",
              g->info.name);

    for (uint32_t i = 0; i < s->t->n; i++) {
        const struct binary_span *p = &s->t->spans[i].span;
        if (p->unit == UNIT_FETCH && !binary_is_transfer(&g->nodes[p->node]))
            s->fetched[p->command] = p->start + p->cycles;
    }
    for (uint32_t i = 0; i < g->n_tensors; i++)
        s->makers[i] = BINARY_NONE;
    for (uint32_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < g->nodes[k].n_out; i++)
            if (g->nodes[k].out[i] != BINARY_NONE)
                s->makers[g->nodes[k].out[i]] = k;
    return ST_OK;
}

static void finish(struct service *s)
{
    mem_free(s->fetched);
    mem_free(s->done);
    mem_free(s->n_done);
    mem_free(s->makers);
}

/* The last moment between `from` and `to` at which an operand of the node was done. */
static uint64_t operand_done(const struct service *s, uint32_t node, uint64_t from, uint64_t to)
{
    const struct binary_node *n = &s->t->g->nodes[node];
    uint64_t when = 0;

    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t maker = n->in[i] == BINARY_NONE ? BINARY_NONE : s->makers[n->in[i]];
        for (uint32_t k = 0; maker != BINARY_NONE && k < LAST; k++) {
            uint64_t done = s->done[maker][k];
            if (done > from && done <= to && done > when)
                when = done;
        }
    }
    return when;
}

static void put(const struct service *s, const struct binary_span *p, uint32_t lane, const char *name, uint64_t from,
                uint64_t to)
{
    struct trace_slice slice = { .process = s->process,
                                 .lane = lane,
                                 .begin_ns = trace_ns(s->t, from),
                                 .end_ns = trace_ns(s->t, to),
                                 .name = name,
                                 .category = "System Service" };

    trace_begin_slice(s->out, &slice);
    fputs("\"for\":", s->out->to);
    trace_put_text(s->out->to, s->t->g->nodes[p->node].name);
    fprintf(s->out->to, ",\"command\":%u", p->command);
    trace_end_slice(s->out);
}

/* A lane was free from `from` on, and begins with p now. */
static void explain(struct service *s, const struct binary_span *p, uint32_t lane, uint64_t from)
{
    uint64_t fetched = s->fetched[p->command];

    if (from >= p->start)
        return;
    if (fetched > from && fetched <= p->start) {
        put(s, p, lane, "DmaCheckpointWait", from, fetched);
        trace_put_instant(s->out, s->process, p->core * LANE_CORE + LANE_READ, trace_ns(s->t, fetched - 1),
                          "DmaCheckpointSet");
        return;
    }
    uint64_t done = operand_done(s, p->node, from, p->start);
    if (done)
        put(s, p, lane, "SyncOp", from, done);
}

enum status trace_put_services(struct trace_out *out, const struct trace_graph *t, uint32_t process)
{
    CLEANUP(finish) struct service s = { .out = out, .t = t, .process = process };

    TRY(list(&s));
    for (uint32_t i = 0; i < BINARY_MAX_CORES * MOST_LANES; i++)
        s.free_at[i / MOST_LANES][i % MOST_LANES] = t->begin;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct binary_span *p = &t->spans[i].span;
        uint32_t copies = p->unit == UNIT_VECTOR && p->all ? t->g->timeline.threads : 1;
        uint64_t end = p->start + p->cycles;

        for (uint32_t k = 0; k < copies && (p->unit == UNIT_MATRIX || p->unit == UNIT_VECTOR); k++) {
            uint32_t lane = trace_lane_of(&t->spans[i]) + k;
            if (lane % LANE_CORE >= MOST_LANES)
                continue;
            uint64_t *free_at = &s.free_at[p->core][lane % LANE_CORE];
            explain(&s, p, lane, *free_at);
            *free_at = end > *free_at ? end : *free_at;
        }
        s.done[p->node][s.n_done[p->node]++ % LAST] = end;
    }
    return ST_OK;
}
