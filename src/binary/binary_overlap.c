/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of commands that run at the same time. What one writes no other may touch, and nobody may touch a workspace:
 * kernels keep positions there, so a file that lays a result over a workspace would make them read anywhere. The one
 * exception is an element-wise operator that writes exactly over its input. Room for tiles in the window is like a
 * workspace: lines of chains lie there. Members of a chain run at the same time, in one workspace, and with each other's
 * lines before them: nothing there is written in place.
 *
 * Per step, all ranges are sorted by address; a sweep then compares each with the furthest end seen so far. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "binary/binary_format.h"

/* `space` tells memory apart: a place, or PLACE_COUNT + the entry of the I/O table. */
struct span {
    uint64_t space, begin, end;
    uint32_t node;
    bool write;
};

struct overlap {
    const struct bin_reader *r;
    VEC(struct span) spans;
    uint32_t *seen;      /* per node: step + 1 in which it was last collected */
    uint8_t *alone_ok;   /* per node: checked as the only node of a step */
};

static enum status add_span(struct overlap *o, const struct span *s)
{
    struct span *slot = s->begin < s->end ? vec_push(&o->spans) : NULL;
    RETURN_IF(!slot && s->begin < s->end, ST_NO_MEMORY, "context binary, %s: no memory to check its plan", o->r->graph);
    if (slot)
        *slot = *s;
    return ST_OK;
}

static struct span span_of(const struct binary_tensor *t, uint32_t node, bool write)
{
    uint64_t begin = t->place == PLACE_IO ? 0 : t->offset;
    return (struct span){ .space = t->place == PLACE_IO ? PLACE_COUNT + t->offset : t->place, .begin = begin,
                          .end = begin + desc_bytes(&t->desc), .node = node, .write = write };
}

static bool same_start(const struct binary_tensor *a, const struct binary_tensor *b)
{
    return a->place == b->place && a->offset == b->offset;
}

/* Input i lies exactly where the only output does, and the operator can live with that. */
static bool in_place(const struct binary_graph *g, const struct binary_node *n, uint32_t i)
{
    if (!(n->op->flags & (OP_ELEMENTWISE | OP_VIEW)) || n->n_out != 1 || n->out[0] == BINARY_NONE || n->in[i] == BINARY_NONE)
        return false;
    const struct binary_tensor *in = &g->tensors[n->in[i]], *out = &g->tensors[n->out[0]];
    return same_start(in, out) && desc_bytes(&in->desc) == desc_bytes(&out->desc);
}

static enum status add_member(struct overlap *o, uint32_t node)
{
    const struct binary_graph *g = o->r->g;
    const struct binary_node *n = &g->nodes[node];
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        const struct binary_tensor *t = n->in[i] == BINARY_NONE ? NULL : &g->tensors[n->in[i]];
        if (!t || t->place == PLACE_NONE || t->place == PLACE_CONST || t->place == PLACE_LINES)
            continue;
        struct span s = span_of(t, node, i >= n->n_in);
        TRY(add_span(o, &s));
    }
    return ST_OK;
}

/* Room in the window that belongs to the node alone; of a chain, its last one has it. */
static enum status add_tile(struct overlap *o, uint32_t node)
{
    const struct binary_tile *t = &o->r->g->nodes[node].tile;
    struct span room = { .space = PLACE_VTCM, .begin = t->offset, .end = t->offset + t->bytes, .node = node, .write = true };
    return add_span(o, &room);
}

static enum status add_chain(struct overlap *o, const struct binary_chain *c)
{
    struct span work = { .space = PLACE_SCRATCH,
                         .begin = c->work_offset,
                         .end = c->work_offset + c->work_bytes,
                         .node = c->first,
                         .write = true };
    for (uint32_t i = 0; i < c->n; i++)
        TRY(add_member(o, c->first + i));
    TRY(add_tile(o, c->first + c->n - 1));
    return add_span(o, &work);
}

static enum status add_node(struct overlap *o, uint32_t node)
{
    const struct binary_graph *g = o->r->g;
    const struct binary_node *n = &g->nodes[node];
    if (g->chain_of && g->chain_of[node] != BINARY_NONE)
        return add_chain(o, &g->chains[g->chain_of[node]]);
    /* A view over its own input does nothing. */
    bool quiet = n->op->flags & OP_VIEW && n->n_in > 0 && in_place(g, n, 0);
    for (uint32_t i = 0; i < n->n_in; i++) {
        const struct binary_tensor *t = n->in[i] == BINARY_NONE ? NULL : &g->tensors[n->in[i]];
        if (!t || t->place == PLACE_NONE || t->place == PLACE_CONST || (in_place(g, n, i) && !quiet))
            continue;
        struct span s = span_of(t, node, false);
        TRY(add_span(o, &s));
    }
    for (uint32_t i = 0; i < n->n_out && !quiet; i++) {
        if (n->out[i] == BINARY_NONE)
            continue;
        struct span s = span_of(&g->tensors[n->out[i]], node, true);
        TRY(add_span(o, &s));
    }
    for (uint32_t i = 0; i < n->n_guards; i++) {
        const struct binary_tensor *t = &g->tensors[n->guards[2 * i]];
        struct span s = span_of(t, node, false);
        if (t->place != PLACE_CONST)
            TRY(add_span(o, &s));
    }
    struct span work = {
        .space = PLACE_SCRATCH, .begin = n->work_offset, .end = n->work_offset + n->work_bytes, .node = node, .write = true
    };
    TRY(add_tile(o, node));
    return add_span(o, &work);
}

static int by_address(const void *x, const void *y)
{
    const struct span *a = x, *b = y;
    if (a->space != b->space)
        return a->space < b->space ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static enum status sweep(struct overlap *o)
{
    const struct binary_graph *g = o->r->g;
    struct span any = { .space = UINT64_MAX }, written = any; /* those that reach furthest */

    if (o->spans.n > 0) /* an empty vector has no memory, which qsort must not be given */
        qsort(o->spans.at, o->spans.n, sizeof(o->spans.at[0]), by_address);
    for (size_t i = 0; i < o->spans.n; i++) {
        const struct span *s = &o->spans.at[i], *before = s->write ? &any : &written;
        RETURN_IF(before->space == s->space && before->end > s->begin, ST_BAD_BINARY,
                  "context binary, %s: nodes \"%s\" and \"%s\" run at the same time and use the same memory at %" PRIu64,
                  o->r->graph, g->nodes[before->node].name, g->nodes[s->node].name, s->begin);
        if (any.space != s->space || s->end > any.end)
            any = *s;
        if (s->write && (written.space != s->space || s->end > written.end))
            written = *s;
    }
    return ST_OK;
}

static enum status check_step(struct overlap *o, uint32_t begin, uint32_t end)
{
    const struct binary_command *c = o->r->g->commands;
    uint32_t first = c[begin].node, step = c[begin].step;
    bool alone = true;
    for (uint32_t i = begin; i < end; i++)
        alone = alone && c[i].node == first;
    if (alone && o->alone_ok[first])
        return ST_OK;
    o->spans.n = 0;
    for (uint32_t i = begin; i < end; i++) {
        if (o->seen[c[i].node] == step + 1)
            continue;
        o->seen[c[i].node] = step + 1;
        TRY(add_node(o, c[i].node));
    }
    TRY(sweep(o));
    o->alone_ok[first] |= alone;
    return ST_OK;
}

static enum status check_steps(struct overlap *o)
{
    const struct binary_graph *g = o->r->g;
    for (uint32_t i = 0, end; i < g->n_commands; i = end) {
        for (end = i + 1; end < g->n_commands && g->commands[end].step == g->commands[i].step;)
            end++;
        TRY(check_step(o, i, end));
    }
    return ST_OK;
}

enum status bin_check_overlap(const struct bin_reader *r)
{
    struct overlap o = { .r = r, .seen = mem_array(uint32_t, r->g->n_nodes), .alone_ok = mem_array(uint8_t, r->g->n_nodes) };
    enum status st = o.seen && o.alone_ok
                         ? check_steps(&o)
                         : status_fail(ST_NO_MEMORY, "context binary, %s: no memory to check its plan", r->graph);
    mem_free(o.seen);
    mem_free(o.alone_ok);
    vec_finish(&o.spans);
    return st;
}
