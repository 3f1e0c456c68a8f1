/* SPDX-License-Identifier: Apache-2.0 */
/* Arrows between slices: from where an operand is made to where it is used, and along the order in which the
 * sequencer takes commands. An arrow goes from the last slice that is done before the first one at the other end
 * begins; where operators hand lines to each other, that is the first lines. */
#include "base/mem.h"
#include "profile_viewer/trace_device.h"

/* Numbers of spans by what they belong to: those of k are spans[first[k]] … spans[first[k + 1] - 1], in order of time. */
struct index {
    uint32_t *first, *spans;
};

static void finish(struct index *x)
{
    mem_free(x->first);
    mem_free(x->spans);
}

static uint32_t key_of(const struct binary_span *s, bool commands)
{
    return commands ? s->command : s->node;
}

/* Transfers count only for nodes that are nothing else. */
static bool counts(const struct trace_graph *t, const struct binary_span *s)
{
    return s->unit == UNIT_MATRIX || s->unit == UNIT_VECTOR || binary_is_transfer(&t->g->nodes[s->node]);
}

static enum status build(const struct trace_graph *t, bool commands, struct index *ret)
{
    uint32_t n = commands ? t->g->n_commands : t->g->n_nodes;
    struct index x = { mem_array(uint32_t, (size_t)n + 2), mem_array(uint32_t, (size_t)t->n + 1) };

    *ret = x;
    RETURN_IF(!x.first || !x.spans, ST_NO_MEMORY, "no memory for the arrows of graph \"%s\"", t->g->info.name);
    for (uint32_t i = 0; i < t->n; i++)
        if (counts(t, &t->spans[i].span))
            x.first[key_of(&t->spans[i].span, commands) + 2]++;
    for (uint32_t k = 2; k < n + 2; k++)
        x.first[k] += x.first[k - 1];
    for (uint32_t i = 0; i < t->n; i++)
        if (counts(t, &t->spans[i].span))
            x.spans[x.first[key_of(&t->spans[i].span, commands) + 1]++] = i;
    return ST_OK;
}

/* The arrow from a to b, if any slice of b begins when one of a is done. */
static bool put(struct trace_out *out, const struct trace_graph *t, const struct index *x, uint32_t a, uint32_t b,
                struct trace_arrow *arrow)
{
    uint32_t from_end = x->first[a + 1], to = x->first[b], from = x->first[a];

    if (from == from_end)
        return false;
    const struct binary_span *first = &t->spans[x->spans[from]].span;
    while (to < x->first[b + 1] && t->spans[x->spans[to]].span.start < first->start + first->cycles)
        to++;
    if (to == x->first[b + 1])
        return false;

    const struct trace_span *target = &t->spans[x->spans[to]];
    const struct trace_span *source = &t->spans[x->spans[from]];
    for (uint32_t i = from; i < from_end; i++) {
        const struct trace_span *s = &t->spans[x->spans[i]];
        if (s->span.start + s->span.cycles <= target->span.start)
            source = s;
    }
    arrow->id++;
    arrow->from_lane = trace_lane_of(source);
    arrow->from_ns = trace_ns(t, source->span.start);
    arrow->to_lane = trace_lane_of(target);
    arrow->to_ns = trace_ns(t, target->span.start);
    trace_put_arrow(out, arrow);
    return true;
}

/* The node whose slices show how a tensor is made: what makes it, or what makes the operand of a view. */
static uint32_t maker_of(const struct trace_graph *t, const struct index *x, const uint32_t *makers, uint32_t tensor)
{
    for (uint32_t hops = 0; tensor != BINARY_NONE && hops < t->g->n_nodes; hops++) {
        uint32_t k = makers[tensor];

        if (k == BINARY_NONE || x->first[k] != x->first[k + 1])
            return k;
        tensor = t->g->nodes[k].n_in ? t->g->nodes[k].in[0] : BINARY_NONE;
    }
    return BINARY_NONE;
}

static enum status put_operands(struct trace_out *out, const struct trace_graph *t, struct trace_arrow *arrow)
{
    const struct binary_graph *g = t->g;
    CLEANUP(finish) struct index x = { 0 };
    CLEANUP(mem_freep) uint32_t *makers = mem_array(uint32_t, (size_t)g->n_tensors + 1);
    RETURN_IF(!makers, ST_NO_MEMORY, "no memory for the arrows of graph \"%s\"", g->info.name);

    TRY(build(t, false, &x));
    for (uint32_t i = 0; i < g->n_tensors; i++)
        makers[i] = BINARY_NONE;
    for (uint32_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < g->nodes[k].n_out; i++)
            if (g->nodes[k].out[i] != BINARY_NONE)
                makers[g->nodes[k].out[i]] = k;
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        for (uint32_t i = 0; i < g->nodes[k].n_in; i++) {
            uint32_t maker = maker_of(t, &x, makers, g->nodes[k].in[i]);
            if (maker != BINARY_NONE && maker != k)
                put(out, t, &x, maker, k, arrow);
        }
    }
    return ST_OK;
}

/* Commands in their order; those that keep no unit busy are stepped over. */
static enum status put_sequence(struct trace_out *out, const struct trace_graph *t, struct trace_arrow *arrow)
{
    CLEANUP(finish) struct index x = { 0 };
    uint32_t before = BINARY_NONE;

    TRY(build(t, true, &x));
    for (uint32_t c = 0; c < t->g->n_commands; c++) {
        if (x.first[c] == x.first[c + 1])
            continue;
        if (before != BINARY_NONE)
            put(out, t, &x, before, c, arrow);
        before = c;
    }
    return ST_OK;
}

enum status trace_put_flows(struct trace_out *out, const struct trace_graph *t, const struct trace_config *c,
                            uint32_t process)
{
    struct trace_arrow arrow = { .process = process, .id = (uint64_t)process << 32 };

    arrow.name = "input-output";
    if (c->io_flows)
        TRY(put_operands(out, t, &arrow));
    arrow.name = "sequencer";
    if (c->sequencer_flows)
        TRY(put_sequence(out, t, &arrow));
    return ST_OK;
}
