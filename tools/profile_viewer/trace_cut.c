/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a graph: the operators on all ways from one to another. What stands beside them, in another branch, is left out,
 * even if it is computed in between.
 *
 *        ┌─ left1 ─ left2 ─┐            left1 … left2: both, and nothing of the right branch
 *   conv ┤                 ├─ sub       conv … sub: all of it
 *        └─ right1 ────────┘ */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "profile_viewer/trace_model.h"

/* Whether `name` is one of the operators that a node was made from: lines of "Type:name". */
static bool has_source(const char *sources, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = sources; line && *line;) {
        const char *end = strchrnul(line, '\n');
        const char *colon = memchr(line, ':', (size_t)(end - line));

        if (colon && (size_t)(end - colon - 1) == n && strncmp(colon + 1, name, n) == 0)
            return true;
        line = *end ? end + 1 : end;
    }
    return false;
}

static bool reads(const struct binary_graph *g, const struct binary_node *n, const char *tensor)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != BINARY_NONE && str_eq(g->tensors[n->in[i]].name, tensor))
            return true;
    return false;
}

static bool writes(const struct binary_graph *g, const struct binary_node *n, const char *tensor)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != BINARY_NONE && str_eq(g->tensors[n->out[i]].name, tensor))
            return true;
    return false;
}

/* Marks the nodes that `name` stands for: those of that name, then those made from an operator of that name, then those that
 * a tensor of that name goes into or comes from. Returns how many. */
static uint32_t mark_named(const struct trace_graph *t, const char *name, bool start, bool *ret)
{
    uint32_t found = 0;

    for (int kind = 0; kind < 3 && !found; kind++) {
        for (uint32_t k = 0; k < t->g->n_nodes; k++) {
            const struct binary_node *n = &t->g->nodes[k];

            if (kind == 0)
                ret[k] = str_eq(n->name, name);
            else if (kind == 1)
                ret[k] = t->sources && has_source(t->sources[k], name);
            else
                ret[k] = start ? reads(t->g, n, name) : writes(t->g, n, name);
            found += ret[k];
        }
    }
    return found;
}

static enum status mark(const struct trace_graph *t, const char *option, const char *name, bool *ret)
{
    if (!name) {
        for (uint32_t k = 0; k < t->g->n_nodes; k++)
            ret[k] = true;
        return ST_OK;
    }
    RETURN_IF(!mark_named(t, name, option[7] == 's', ret), ST_INVALID_ARG,
              "%s: graph \"%s\" has no node and no tensor \"%s\"%s; its first node is \"%s\"", option, t->g->info.name, name,
              t->sources ? ", and its framework has no such operator" : " (names of the framework need --dlc FILE)",
              t->g->n_nodes ? t->g->nodes[0].name : "");
    return ST_OK;
}

/* Nodes stand in an order in which they can be computed, so one walk marks all that comes behind. */
static void mark_behind(const struct binary_graph *g, bool *marked, bool *tensors)
{
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct binary_node *n = &g->nodes[k];

        for (uint32_t i = 0; i < n->n_in; i++)
            marked[k] |= n->in[i] != BINARY_NONE && tensors[n->in[i]];
        for (uint32_t i = 0; marked[k] && i < n->n_out; i++)
            if (n->out[i] != BINARY_NONE)
                tensors[n->out[i]] = true;
    }
}

static void mark_before(const struct binary_graph *g, bool *marked, bool *tensors)
{
    for (uint32_t k = g->n_nodes; k-- > 0;) {
        const struct binary_node *n = &g->nodes[k];

        for (uint32_t i = 0; i < n->n_out; i++)
            marked[k] |= n->out[i] != BINARY_NONE && tensors[n->out[i]];
        for (uint32_t i = 0; marked[k] && i < n->n_in; i++)
            if (n->in[i] != BINARY_NONE)
                tensors[n->in[i]] = true;
    }
}

static void keep_wanted(struct trace_graph *t)
{
    uint32_t kept = 0;

    t->n_wanted = 0;
    t->cycles = 0;
    t->end = 0;
    for (uint32_t k = 0; k < t->g->n_nodes; k++) {
        t->n_wanted += t->wanted[k];
        t->cycles += t->wanted[k] ? t->g->nodes[k].cycles : 0;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        const struct binary_span *s = &t->spans[i].span;

        if (!t->wanted[s->node])
            continue;
        t->end = s->start + s->cycles > t->end ? s->start + s->cycles : t->end;
        t->spans[kept++] = t->spans[i];
    }
    t->n = kept;
    t->begin = kept ? t->spans[0].span.start : 0;
}

enum status trace_graph_cut(struct trace_graph *t, const char *start, const char *end)
{
    const struct binary_graph *g = t->g;
    CLEANUP(mem_freep) bool *behind = mem_array(bool, (size_t)g->n_nodes + 1);
    CLEANUP(mem_freep) bool *before = mem_array(bool, (size_t)g->n_nodes + 1);
    CLEANUP(mem_freep) bool *tensors = mem_array(bool, 2 * ((size_t)g->n_tensors + 1));
    RETURN_IF(!behind || !before || !tensors, ST_NO_MEMORY, "no memory to cut graph \"%s\"", g->info.name);

    if (!start && !end)
        return ST_OK;
    TRY(mark(t, "--zoom_start", start, behind));
    TRY(mark(t, "--zoom_end", end, before));
    mark_behind(g, behind, tensors);
    mark_before(g, before, tensors + g->n_tensors);
    for (uint32_t k = 0; k < g->n_nodes; k++)
        t->wanted[k] = behind[k] && before[k];

    keep_wanted(t);
    RETURN_IF(!t->n_wanted, ST_INVALID_ARG,
              "no way leads from --zoom_start \"%s\" to --zoom_end \"%s\" in graph \"%s\"; swap them, or name two operators "
              "of which one needs the other",
              start ? start : "", end ? end : "", g->info.name);
    return ST_OK;
}
