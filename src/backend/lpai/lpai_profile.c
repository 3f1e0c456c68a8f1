/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile says of an execution: times, the time that the client allows, estimates. Times of this computer and
 * estimates of the device are never mixed: an event says in its name which of the two it is. */
#include <stdio.h>

#include "backend/lpai/lpai_backend.h"

enum { REAL_TIME = 1, NS_PER_S = 1000000000, PERCENT = 100 };

/* Clock of the eNPU in MHz: a choice of the simulation, as no data sheet is public. */
static const struct {
    uint32_t arch, mhz;
} clocks[] = { { 4, 300 }, { 5, 500 }, { 0x10005, 500 }, { 6, 700 }, { 7, 900 } };

static uint32_t clock_mhz(uint32_t arch)
{
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++)
        if (clocks[i].arch == arch)
            return clocks[i].mhz;
    return 0;
}

/* 1 / fps, divided by how much faster than real time it is to be, in tenths. */
static uint64_t budget_of(const struct backend_graph *g)
{
    return (uint64_t)NS_PER_S * 10 / ((uint64_t)g->fps * g->ftrt_ratio);
}

static void add_share(const struct backend_run *r, uint64_t ns, uint64_t budget_ns, const char *name)
{
    uint64_t percent = (ns * PERCENT + budget_ns / 2) / budget_ns;
    prof_add(r->prof, r->prof_parent, PROF_DEVICE, PROF_UNIT_COUNT, percent, name);
}

static void add_budget(const struct backend_graph *g, const struct backend_run *r, uint64_t ns)
{
    char name[128];
    uint64_t times = r->batch ? r->batch : 1, budget_ns = budget_of(g);
    uint32_t mhz = clock_mhz(g->binary->target.arch);
    snprintf(name, sizeof name, "Time budget per inference (%u fps, %u.%u x real time, %s)", g->fps, g->ftrt_ratio / 10,
             g->ftrt_ratio % 10, g->client_type == REAL_TIME ? "real time" : "not real time");
    prof_add(r->prof, r->prof_parent, PROF_DEVICE, PROF_UNIT_US, (budget_ns + 500) / 1000, name);
    budget_ns = budget_ns ? budget_ns : 1;
    add_share(r, ns / times, budget_ns, "Time budget used on this host (percent, measured)");
    if (!g->g->info.cycles || !mhz)
        return;
    uint64_t device_ns = g->g->info.cycles * 1000 / mhz;
    snprintf(name, sizeof name, "Accelerator (execute) time per inference (estimated, at %u MHz)", mhz);
    prof_add(r->prof, r->prof_parent, PROF_DEVICE, PROF_UNIT_US, (device_ns + 500) / 1000, name);
    add_share(r, device_ns, budget_ns, "Time budget used on the device (percent, estimated)");
}

/* What the plan says, not what this computer did: the same in every run. */
static void add_estimates(const struct backend_graph *g, const struct backend_run *r)
{
    static const struct {
        int place;
        const char *name;
    } pools[] = { { PLACE_SCRATCH, "Bytes moved (scratch)" }, { PLACE_PERSISTENT, "Bytes moved (persistent)" },
                  { PLACE_CONST, "Bytes moved (model)" }, { PLACE_IO, "Bytes moved (I/O)" } };
    uint64_t times = r->batch ? r->batch : 1;
    struct binary_traffic t;
    binary_graph_traffic(g->g, &t);
    if (g->g->info.cycles)
        prof_add(r->prof, r->prof_parent, PROF_DEVICE, PROF_UNIT_CYCLES, g->g->info.cycles * times,
                 "Accelerator (execute) cycles (estimated)");
    for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
        prof_add(r->prof, r->prof_parent, PROF_BACKEND, PROF_UNIT_BYTES,
                 (t.read[pools[i].place] + t.written[pools[i].place]) * times, pools[i].name);
}

void lpai_add_events(const struct backend_graph *g, const struct backend_run *r, uint64_t ns, bool detailed)
{
    prof_add(r->prof, r->prof_parent, PROF_DEVICE, PROF_UNIT_US, (ns + 500) / 1000, "Accelerator (execute) time");
    add_budget(g, r, ns);
    if (!detailed)
        return;
    add_estimates(g, r);
    for (uint32_t i = 0; i < g->g->n_nodes; i++) {
        const struct binary_node *n = &g->g->nodes[i];
        prof_addf(r->prof, r->prof_parent, PROF_NODE, PROF_UNIT_US, (g->node_ns[i] + 500) / 1000, "%s:OpId_%u (us)", n->name,
                  i);
        prof_addf(r->prof, r->prof_parent, PROF_NODE, PROF_UNIT_CYCLES, n->cycles * (r->batch ? r->batch : 1),
                  "%s:OpId_%u (cycles, estimated)", n->name, i);
    }
}
