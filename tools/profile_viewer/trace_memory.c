/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of memory: how many bytes per nanosecond go from and to DRAM and VTCM at each moment, and how much of VTCM is in
 * use.
 *
 *   DRAM         transfers: their bytes over their time
 *   VTCM         the same bytes the other way, and operands of operators, evenly over the time that their unit works
 *   VTCM alloc   the plan's bytes of the step that began last (docs/memory-map.md) */
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "memory_map/memory_map.h"
#include "profile_viewer/trace_device.h"

enum counter { DRAM_READ, DRAM_WRITE, VTCM_READ, VTCM_WRITE, COUNTERS };
static const char *const names[COUNTERS] = { "DRAM read", "DRAM write", "VTCM read", "VTCM write" };

/* From here on, a rate is higher or lower. */
struct change {
    uint64_t ns;
    double rate;
    uint8_t core, counter;
    bool begins;
};

struct rates {
    VEC(struct change) changes;
    bool failed;
};

static void add(struct rates *r, uint32_t core, enum counter c, uint64_t begin, uint64_t end, double bytes)
{
    if (begin >= end || bytes <= 0)
        return;
    for (int i = 0; i < 2; i++) {
        struct change *to = vec_push(&r->changes);
        if (to)
            *to = (struct change){ i ? end : begin, bytes / (double)(end - begin), (uint8_t)core, (uint8_t)c, !i };
        r->failed |= !to;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    if (x->counter != y->counter)
        return x->counter < y->counter ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* ---- what moves ------------------------------------------------------------------------------------------------------- */

static enum binary_unit main_unit(const struct binary_node *n)
{
    return n->resources & RESOURCE_MATRIX ? UNIT_MATRIX : UNIT_VECTOR;
}

static double operand_bytes(const struct binary_graph *g, const uint32_t *list, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        if (list[i] != BINARY_NONE && g->tensors[list[i]].place != PLACE_NONE)
            sum += (double)binary_tile_bytes(&g->tensors[list[i]].desc);
    return sum;
}

/* Cycles of each node on its main unit. */
static void sum_cycles(const struct trace_graph *t, uint64_t *ret)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const struct binary_span *s = &t->spans[i].span;
        if (s->unit == main_unit(&t->g->nodes[s->node]))
            ret[s->node] += s->cycles;
    }
}

static void add_span(struct rates *r, const struct trace_graph *t, const struct binary_span *s, const uint64_t *cycles,
                     const struct binary_moves *moves)
{
    const struct binary_node *n = &t->g->nodes[s->node];
    uint64_t begin = trace_ns(t, s->start), end = trace_ns(t, s->start + s->cycles);

    if (s->unit == UNIT_FETCH || s->unit == UNIT_STORE) {
        bool in = s->unit == UNIT_FETCH;
        double bytes = (double)(in ? binary_moves_in(&moves[s->command]) : binary_moves_out(&moves[s->command]));
        add(r, s->core, in ? DRAM_READ : DRAM_WRITE, begin, end, bytes);
        add(r, s->core, in ? VTCM_WRITE : VTCM_READ, begin, end, bytes);
    } else if (s->unit == main_unit(n) && cycles[s->node]) {
        double part = (double)s->cycles / (double)cycles[s->node];
        add(r, s->core, VTCM_READ, begin, end, part * operand_bytes(t->g, n->in, n->n_in));
        add(r, s->core, VTCM_WRITE, begin, end, part * operand_bytes(t->g, n->out, n->n_out));
    }
}

/* ---- events ----------------------------------------------------------------------------------------------------------- */

/* A name says which core it is where there are several. */
static void put_rate(struct trace_out *out, const struct trace_graph *t, uint32_t process, const struct change *c,
                     double rate)
{
    char name[64];

    snprintf(name, sizeof name, "Core %u: %s", c->core, names[c->counter]);
    trace_put_counter(out, process, t->g->info.cores > 1 ? name : names[c->counter], "GB/s", c->ns, rate);
}

static void put_rates(struct trace_out *out, const struct trace_graph *t, const struct rates *r, uint32_t process)
{
    double rate = 0;
    uint32_t open = 0;

    for (size_t i = 0; i < r->changes.n; i++) {
        const struct change *c = &r->changes.at[i], *next = i + 1 < r->changes.n ? c + 1 : NULL;

        rate += c->begins ? c->rate : -c->rate;
        open += c->begins ? 1 : UINT32_MAX;
        bool last = !next || next->core != c->core || next->counter != c->counter || next->ns != c->ns;
        if (last)
            put_rate(out, t, process, c, open ? rate : 0);
        if (!open)
            rate = 0; /* what is left of rounding */
    }
}

/* Cycles when each step begins, UINT64_MAX: none of its commands is wanted. */
static void step_begins(const struct trace_graph *t, uint64_t *ret)
{
    for (uint32_t s = 0; s < t->g->n_steps; s++)
        ret[s] = UINT64_MAX;
    for (uint32_t i = t->n; i-- > 0;) {
        const struct binary_span *s = &t->spans[i].span;
        ret[t->g->commands[s->command].step] = s->start;
    }
}

static enum status put_alloc(struct trace_out *out, const struct trace_graph *t, uint32_t process)
{
    CLEANUP(arena_finish) struct arena a;
    struct memory_map map;
    uint64_t at = 0;
    const char *name = t->g->info.cores > 1 ? "VTCM alloc (each core)" : "VTCM alloc"; /* they have one plan */

    arena_init(&a);
    uint64_t *begins = arena_array(&a, uint64_t, t->g->n_steps + 1);
    RETURN_IF(!begins, ST_NO_MEMORY, "no memory for the steps of graph \"%s\"", t->g->info.name);
    if (!t->g->info.vtcm_bytes)
        return ST_OK;
    TRY(map_build(t->g, &a, &map));
    step_begins(t, begins);
    for (uint32_t s = 0; s < t->g->n_steps; s++) {
        if (begins[s] == UINT64_MAX)
            continue;
        at = begins[s] > at ? begins[s] : at; /* a transfer of a later step may have come first */
        trace_put_counter(out, process, name, "bytes", trace_ns(t, at), (double)map.steps[s].live);
    }
    trace_put_counter(out, process, name, "bytes", trace_ns(t, t->end), 0);
    return ST_OK;
}

enum status trace_put_memory(struct trace_out *out, const struct trace_graph *t, uint32_t process)
{
    CLEANUP(mem_freep) struct binary_moves *moves = mem_array(struct binary_moves, (size_t)t->g->n_commands + 1);
    CLEANUP(mem_freep) uint64_t *cycles = mem_array(uint64_t, (size_t)t->g->n_nodes + 1);
    struct rates r = { 0 };
    RETURN_IF(!moves || !cycles, ST_NO_MEMORY, "no memory for the counters of graph \"%s\"", t->g->info.name);

    binary_command_moves(t->g, moves);
    sum_cycles(t, cycles);
    for (uint32_t i = 0; i < t->n; i++)
        add_span(&r, t, &t->spans[i].span, cycles, moves);
    if (r.changes.n)
        qsort(r.changes.at, r.changes.n, sizeof r.changes.at[0], by_time);
    put_rates(out, t, &r, process);
    vec_finish(&r.changes);
    RETURN_IF(r.failed, ST_NO_MEMORY, "no memory for the counters of graph \"%s\"", t->g->info.name);
    return put_alloc(out, t, process);
}
