/* SPDX-License-Identifier: Apache-2.0 */
/* The memory map for terminals: what the peak is made of, every step with a bar, every tensor with its place and time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "memory_map/memory_map.h"

enum { BAR = 40 };

static void put_bar(struct str *out, uint64_t part, uint64_t all)
{
    uint64_t n = all ? (part * BAR + all / 2) / all : 0;
    for (uint64_t i = 0; i < BAR; i++)
        str_add(out, i < n ? "#" : ".");
}

static void put_peak(const struct memory_map *m, struct str *out)
{
    const struct map_step *s = &m->steps[m->peak];
    char buf[32];
    str_addf(out, "\n  peak: step %u, %s \"%s\": %" PRIu64 " bytes (%s) in use\n", m->peak, s->op, s->node, m->peak_bytes,
             map_human(m->peak_bytes, buf, sizeof(buf)));
    for (uint32_t i = 0; i < m->n_items; i++) {
        const struct map_item *x = &m->items[i];
        if (!map_alive(x, m->peak))
            continue;
        str_addf(out, "    %10" PRIu64 "  at %10" PRIu64 "  %-9s %s", x->bytes, x->offset, map_kind_name(x->kind), x->name);
        if (x->in_place_of != BINARY_NONE && x->first == m->peak)
            str_addf(out, "  (over %s)", m->items[x->in_place_of].name);
        str_add(out, "\n");
    }
}

static void put_items(const struct memory_map *m, struct str *out)
{
    str_add(out, "\n      address        end      bytes  steps          kind       name\n");
    for (uint32_t i = 0; i < m->n_items; i++) {
        const struct map_item *x = &m->items[i];
        char steps[32];
        snprintf(steps, sizeof(steps), x->first == x->last ? "%u" : "%u-%u", x->first, x->last);
        str_addf(out, "   %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "  %-13s  %-9s  %s", x->offset, x->offset + x->bytes,
                 x->bytes, steps, map_kind_name(x->kind), x->name);
        if (x->views)
            str_addf(out, " = %s", x->view_names);
        if (x->in_place_of != BINARY_NONE)
            str_addf(out, "  (over %s)", m->items[x->in_place_of].name);
        str_add(out, "\n");
    }
}

/* What a device moves, where there is a window: step by step, those that move anything. */
static void put_dma(const struct memory_map *m, struct str *out)
{
    if (!m->g->info.vtcm_bytes)
        return;
    str_add(out, "\n  DMA of a device, bytes; its units\n   step   commands       weights        inputs       outputs       "
                 "   fill         spill  units        operator\n");
    for (uint32_t s = 0; s < m->n_steps; s++) {
        const struct map_step *x = &m->steps[s];
        const struct binary_moves *d = &x->dma;
        char units[32] = "";
        for (uint32_t r = RESOURCE_MATRIX; r <= RESOURCE_DMA; r *= 2)
            if (x->resources & r)
                snprintf(units + strlen(units), sizeof(units) - strlen(units), "%s%s", units[0] ? " " : "",
                         map_resource_name((enum binary_resource)r));
        if (binary_moves_in(d) + binary_moves_out(d))
            str_addf(out,
                     "  %5u  %9u  %12" PRIu64 "  %12" PRIu64 "  %12" PRIu64 "  %12" PRIu64 "  %12" PRIu64
                     "  %-11s  %s \"%s\"\n",
                     s, x->commands, d->weights, d->inputs, d->outputs, d->fill, d->spill, units, x->op, x->node);
    }
}

static void put_steps(const struct memory_map *m, struct str *out)
{
    str_add(out, "\n   step        in use  operator\n");
    for (uint32_t s = 0; s < m->n_steps; s++) {
        str_addf(out, "  %5u  %12" PRIu64 "  ", s, m->steps[s].live);
        put_bar(out, m->steps[s].live, m->total);
        str_addf(out, "%c %s \"%s\"\n", s == m->peak ? '<' : ' ', m->steps[s].op, m->steps[s].node);
    }
}

/* What survives between executions. */
static void put_states(const struct memory_map *m, struct str *out)
{
    const struct binary_graph *g = m->g;
    if (g->info.persistent_bytes)
        str_add(out, "\n  persistent memory\n");
    for (uint32_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k].state_bytes)
            str_addf(out, "    %10" PRIu64 "  at %10" PRIu64 "  state of %s \"%s\"\n", g->nodes[k].state_bytes,
                     g->nodes[k].state_offset, g->nodes[k].op->name, g->nodes[k].name);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].place == PLACE_PERSISTENT)
            str_addf(out, "    %10" PRIu64 "  at %10" PRIu64 "  %s\n", g->tensors[i].bytes, g->tensors[i].offset,
                     g->tensors[i].name);
}

void map_text(const struct memory_map *m, struct str *out)
{
    const struct binary_graph_info *i = &m->g->info;
    str_addf(out,
             "graph \"%s\": %" PRIu64 " bytes of scratch, %" PRIu64 " persistent, %" PRIu64 " of constants, %" PRIu64
             " of inputs and outputs\n",
             i->name, i->scratch_bytes, i->persistent_bytes, i->const_bytes, i->io_bytes);
    str_addf(out, "  lower bound %" PRIu64 " for this order of operators", i->live_bytes);
    if (i->order_bytes)
        str_addf(out, ", %" PRIu64 " for any order", i->order_bytes);
    str_add(out, i->plan_optimal ? "; the plan is proven optimal\n" : "\n");
    struct binary_transfers t;
    binary_transfers(m->g, &t);
    if (i->vtcm_bytes)
        str_addf(out,
                 "  VTCM: %" PRIu64 " of %" PRIu64 " bytes; spill-fill buffer %" PRIu64 ", an execution spills %" PRIu64
                 ", fills %" PRIu64 " and streams %" PRIu64 "\n",
                 i->vtcm_used, i->vtcm_bytes, i->spill_fill_bytes, t.spilled, t.filled, t.read + t.written);
    put_dma(m, out);
    put_states(m, out);
    if (!m->n_items) {
        str_addf(out, "  nothing lies in %s\n", m->pool);
        return;
    }
    put_peak(m, out);
    put_steps(m, out);
    put_items(m, out);
}
