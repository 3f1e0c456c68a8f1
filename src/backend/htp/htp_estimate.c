/* SPDX-License-Identifier: Apache-2.0 */
/* What profiles say of the device that is simulated: cycles and bytes of the plan, the same in every run and on every
 * computer, and the time that these cycles take at the clock that is voted for. Their names, or an event before them, say
 * "estimated", and no time of this computer is among them (docs/cost.md). */
#include "backend/htp/htp_backend.h"
#include "backend/htp/htp_cores.h"
#include "backend/htp/htp_cost.h"

enum {
    PERCENT = 100,
    DMA_EVENT = 30006,
    CACHE_EVENT = 30016,
    SOURCE_EVENT = 30020,
    POWER_UP_EVENT = 30021,
    COMPRESSED_EVENT = 30034
};                    /* the first of five */
enum { SPREAD = 15 }; /* half of the published latencies lie within this share of the estimate */

static const struct estimate_row {
    uint32_t type, unit;
    const char *name;
} rows[] = {
    { 2006, PROF_UNIT_CYCLES, "Simulated execution (cycles, estimated)" },
    { 2007, PROF_UNIT_CYCLES, "Simulated execution, lower (cycles, estimated)" },
    { 2008, PROF_UNIT_CYCLES, "Simulated execution, upper (cycles, estimated)" },
    { 2010, PROF_UNIT_NONE, "HTP" },
    { 2011, PROF_UNIT_BYTES, "Input fill (estimated)" },
    { 2012, PROF_UNIT_BYTES, "Intermediate fill (estimated)" },
    { 2013, PROF_UNIT_BYTES, "Intermediate spill (estimated)" },
    { 2014, PROF_UNIT_BYTES, "Inter-HTP fill (estimated)" },
    { 2015, PROF_UNIT_BYTES, "Inter-HTP spill (estimated)" },
    { 2016, PROF_UNIT_BYTES, "Output spill (estimated)" },
};
enum { CYCLE_ROWS = 3, ROWS = sizeof rows / sizeof rows[0] };

/* What one HTP moves. */
static void add_bandwidth(struct prof *prof, int32_t parent, uint32_t core, const struct binary_moves *m)
{
    const uint64_t values[ROWS] = { [CYCLE_ROWS] = core, m->inputs + m->weights, m->fill,   m->spill,
                                    m->exchanged,        m->exchanged,           m->outputs };

    for (uint32_t i = CYCLE_ROWS; i < ROWS; i++)
        prof_add(prof, parent, rows[i].type, rows[i].unit, values[i], rows[i].name);
}

void htp_estimate_finalize(const struct binary_graph *g, struct prof *prof)
{
    struct binary_moves moves[BINARY_MAX_CORES];
    uint64_t cycles = g->info.cycles;
    uint32_t cores = g->info.cores > 1 ? g->info.cores : 1;
    if (!cycles || binary_core_moves(g, moves) != ST_OK)
        return;
    const uint64_t values[CYCLE_ROWS] = { cycles, cycles - cycles * SPREAD / PERCENT, cycles + cycles * SPREAD / PERCENT };
    int32_t top = prof_add(prof, PROF_ROOT, 2004, PROF_UNIT_NONE, 0, "Performance estimate");

    if (cores == 1)
        prof_add(prof, top, 2005, PROF_UNIT_NONE, 0, "Mode: simulation of one HTP");
    else
        prof_addf(prof, top, 2005, PROF_UNIT_NONE, 0, "Mode: simulation of %u HTPs", cores);
    for (uint32_t i = 0; i < CYCLE_ROWS; i++)
        prof_add(prof, top, rows[i].type, rows[i].unit, values[i], rows[i].name);
    int32_t bytes = prof_add(prof, top, 2009, PROF_UNIT_NONE, 0, "Bandwidth");
    for (uint32_t c = 0; c < cores; c++)
        add_bandwidth(prof, bytes, c, &moves[c]);
    prof_add(prof, top, 2017, PROF_UNIT_COUNT, 0, "Operators without an estimate");
}

/* What the schedule moves between DRAM and VTCM. Weights that are there serve all slices of a batch. */
static void add_moves(const struct binary_graph *g, const struct backend_run *r, uint64_t times)
{
    struct binary_moves m;
    binary_graph_moves(g, &m);
    const struct {
        const char *name;
        uint64_t bytes;
    } all[] = { { "Bytes moved by DMA (weights, estimated)", m.weights },
                { "Bytes moved by DMA (inputs, estimated)", m.inputs * times },
                { "Bytes moved by DMA (outputs, estimated)", m.outputs * times },
                { "Bytes moved by DMA (fill, estimated)", m.fill * times },
                { "Bytes moved by DMA (spill, estimated)", m.spill * times } };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        prof_add(r->prof, r->prof_parent, DMA_EVENT + (uint32_t)i, PROF_UNIT_BYTES, all[i].bytes, all[i].name);
}

/* Of what is spilled and comes back, the part that the system level cache keeps. */
static uint64_t cached_bytes(const struct backend_graph *graph)
{
    const struct binary_graph_info *info = &graph->g->info;
    uint64_t cache = htp_slc_bytes(graph->context->soc_model);
    uint64_t buffer = info->spill_fill_bytes;
    struct binary_moves m;

    if (!(info->options & HTP_GRAPH_SLC) || graph->slc_off || !buffer)
        return 0;
    binary_graph_moves(graph->g, &m);
    return (uint64_t)((unsigned __int128)(m.fill + m.spill) * (cache < buffer ? cache : buffer) / buffer);
}

/* What all transfers take; nothing is faster. */
static uint64_t moving_us(const struct backend_graph *graph, const struct htp_rates *rates, uint64_t times)
{
    struct binary_moves m;
    uint64_t cached = cached_bytes(graph);

    binary_graph_moves(graph->g, &m);
    uint32_t engines = graph->g->info.cores > 1 ? graph->g->info.cores : 1;
    uint64_t slice = m.inputs + m.outputs + m.fill + m.spill + 2 * m.exchanged - cached + cached * PERCENT / HTP_SLC_PERCENT;
    return (m.weights + slice * times) / rates->dram_mb_s / engines;
}

/* Programs look for cycles by the names that a device gives them, so what they are is said once. */
static void add_source(const struct backend_graph *graph, const struct backend_run *r)
{
    const struct rpc_soc *soc = rpc_soc_find(graph->context->soc_model);

    prof_addf(
        r->prof, r->prof_parent, SOURCE_EVENT, PROF_UNIT_NONE, 0,
        "All cycles are estimated for %s (HTP v%u); what is in microseconds and not marked was measured on this computer",
        soc ? soc->name : "a device", graph->context->arch);
}

/* Of the client's tensors, by the data of this execution, what compression would leave; only those that are pointers. */
static void add_compressed(const struct binary_graph *g, const struct backend_run *r)
{
    uint64_t plain = 0, compressed = 0;

    for (uint32_t i = 0; i < g->n_io; i++) {
        uint64_t bytes = desc_bytes(&g->tensors[g->io[i]].desc);
        if (!r->io[i].data)
            continue;
        plain += bytes;
        compressed += binary_compressed_bytes(r->io[i].data, bytes);
    }
    prof_addf(r->prof, r->prof_parent, COMPRESSED_EVENT, PROF_UNIT_BYTES, compressed,
              "Bytes of inputs and outputs, compressed (of %llu of this execution)", (unsigned long long)plain);
}

void htp_estimate_time(const struct backend_graph *graph, const struct backend_run *r)
{
    uint64_t times = r->batch ? r->batch : 1;
    struct htp_rates rates;
    char clocks[64];

    if (!graph->g->info.cycles)
        return;

    htp_rates_voted(graph->context, &rates);
    uint64_t us = htp_rates_us(&rates, graph->g, times);
    uint64_t moving = moving_us(graph, &rates, times);
    htp_rates_name(&rates, clocks);
    prof_addf(r->prof, r->prof_parent, 30005, PROF_UNIT_US, us > moving ? us : moving,
              "Accelerator (execute) time (estimated, at %s)", clocks);
}

void htp_estimate_execute(const struct backend_graph *graph, const struct backend_run *r)
{
    const struct binary_graph *g = graph->g;
    uint64_t times = r->batch ? r->batch : 1;
    struct htp_rates rates;

    htp_rates_voted(graph->context, &rates);

    if (!g->info.cycles)
        return;

    htp_votes_wake_up(r->prof, r->prof_parent);
    if (htp_votes_matrix_timeout())
        prof_add(r->prof, r->prof_parent, POWER_UP_EVENT, PROF_UNIT_COUNT,
                 htp_rates_power_ups(&rates, g, htp_votes_matrix_timeout()) * times,
                 "Times the matrix unit was off when it was wanted (estimated)");
    add_moves(g, r, times);
    if (g->info.options & HTP_GRAPH_SLC)
        prof_add(r->prof, r->prof_parent, CACHE_EVENT, PROF_UNIT_BYTES, cached_bytes(graph) * times,
                 "Bytes of fill and spill in the system level cache (estimated)");
    if (g->info.dlbc)
        add_compressed(g, r);
    add_source(graph, r);
    int32_t top = prof_add(r->prof, r->prof_parent, 3003, PROF_UNIT_CYCLES, g->info.cycles * times,
                           "Accelerator (execute) time (cycles)");
    for (uint32_t i = 0; i < g->n_nodes; i++)
        prof_addf(r->prof, top, PROF_NODE, PROF_UNIT_CYCLES, g->nodes[i].cycles * times, "%s:OpId_%u (cycles)",
                  g->nodes[i].name, i);
    htp_cores_events(g, r->prof, r->prof_parent, times);
    if (prof_level(r->prof) >= PROF_LINTING && htp_cores_lint(&g->info))
        htp_lint(g, r->prof, r->prof_parent);
}
