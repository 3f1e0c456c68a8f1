/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/estimate.h"

#include "backend/htp/htp_cost.h"
#include "prepare/cost.h"

enum { DEPTH = 32 /* input channels of the matrix unit */, MB = 1 << 20 };

const struct estimate_soc estimate_socs[] = {
    { 93, 68, "QCM6490" },  { 39, 68, "SA8295" },   { 36, 69, "SM8450" },  { 77, 73, "QCS9100" },
    { 60, 73, "SC8380XP" }, { 43, 73, "SM8550" },   { 82, 75, "QCS8300" }, { 57, 75, "SM8650" },
    { 69, 79, "SM8750" },   { 88, 81, "SC8480XP" }, { 87, 81, "SM8850" },  { 0 },
};

uint64_t estimate_padded_macs(const struct binary_graph *g, uint32_t node)
{
    return cost_padded_macs(g, &g->nodes[node]);
}

static void device_of(const struct estimate_device *d, const struct binary_graph *g, struct cost_device *ret)
{
    uint64_t vtcm = d->vtcm_mb ? (uint64_t)d->vtcm_mb * MB : g->info.vtcm_bytes;

    htp_cost_device(d->soc_model, d->arch, vtcm, g->info.hvx_threads, ret);
    ret->clamps_apart = d->clamps_apart;
    ret->activations_apart = d->activations_apart;
    ret->least_depth = d->short_on_vectors ? DEPTH : 0;
    ret->slc_bytes = g->info.options ? htp_slc_bytes(d->soc_model) : 0;
    ret->slc_percent = HTP_SLC_PERCENT;
}

enum status estimate_graph(const struct estimate_device *d, const struct binary_graph *g, struct binary_node *nodes,
                           uint64_t *ret_cycles)
{
    struct cost_device device;
    struct cost_result result = { 0 };

    device_of(d, g, &device);
    TRY(cost_events(&device, g, nodes, &result));
    *ret_cycles = result.cycles;
    return ST_OK;
}

uint32_t estimate_clock_mhz(const struct estimate_device *d)
{
    struct cost_device device;

    htp_cost_device(d->soc_model, d->arch, 0, 0, &device);
    return device.clock_mhz;
}

uint32_t estimate_peak_macs(const struct estimate_device *d)
{
    struct cost_device device;

    htp_cost_device(d->soc_model, d->arch, 0, 0, &device);
    return device.matrix_macs;
}

double estimate_dram_rate(const struct estimate_device *d)
{
    struct cost_device device;

    htp_cost_device(d->soc_model, d->arch, 0, 0, &device);
    return (double)device.dram_mb_s / device.clock_mhz;
}
