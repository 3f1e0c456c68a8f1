/* SPDX-License-Identifier: Apache-2.0 */
/* What the clocks of the device come to that is simulated, by the votes of the performance infrastructure. Corners are
 * shares of the rates in htp_cost.c, a choice of the simulation. */
#include <stdio.h>

#include "backend/htp/htp_backend.h"
#include "backend/htp/htp_cost.h"

enum { PERCENT = 100, MODE_LOW = 1 };

/* Share of a clock at a corner. The finer EXP corners are above 0xff. A corner that is not listed counts as the next lower
 * one; without a vote a clock is full. */
static const struct {
    uint32_t corner, percent;
} corners[] = {
    { 0x10, 30 /* DISABLE: no better than the least */ },
    { 0x20, 30 },
    { 0x30, 40 },
    { 0x40, 55 },
    { 0x50, 65 },
    { 0x60, 75 },
    { 0x70, 85 },
    { 0x80, 92 },
    { 0x90, PERCENT },
    { 0x100, 30 },
    { 0x140, 40 },
    { 0x180, 55 },
    { 0x1c0, 65 },
    { 0x200, 75 },
    { 0x240, 85 },
    { 0x280, 92 },
    { 0x290, PERCENT },
};
enum { CORNERS = sizeof corners / sizeof corners[0] };

/* A corner has several clocks: mode LOW takes its lowest, which is taken to be the clock of the corner below. */
static uint32_t percent_at(uint32_t voted, uint32_t mode)
{
    uint32_t at = CORNERS;

    for (uint32_t i = 0; i < CORNERS; i++)
        if (corners[i].corner <= voted)
            at = i;
    if (at == CORNERS)
        return PERCENT;

    bool lowest = at == 0 || corners[at].percent < corners[at - 1].percent;
    return corners[mode == MODE_LOW && !lowest ? at - 1 : at].percent;
}

void htp_rates_voted(const struct backend_context *c, struct htp_rates *ret)
{
    struct cost_device d;
    uint32_t mode = 0;
    uint32_t matrix = htp_votes_matrix(&mode);

    htp_cost_device(c->soc_model, c->arch, 0, 0, &d);
    *ret = (struct htp_rates){
        .mhz = d.clock_mhz * percent_at(htp_votes_core(), 0) / PERCENT,
        .dram_mb_s = d.dram_mb_s * percent_at(htp_votes_bus(), 0) / PERCENT,
    };
    ret->matrix_mhz = matrix ? d.clock_mhz * percent_at(matrix, mode) / PERCENT : ret->mhz;
}

/* Cycles are stored by operator, not by unit: those of operators that use the matrix unit pass at its clock. */
uint64_t htp_rates_us(const struct htp_rates *rates, const struct binary_graph *g, uint64_t times)
{
    uint64_t matrix = 0;

    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].resources & RESOURCE_MATRIX)
            matrix += g->nodes[i].cycles;
    if (matrix > g->info.cycles || rates->matrix_mhz == rates->mhz)
        matrix = 0;

    double us =
        (double)(g->info.cycles - matrix) * (double)times / rates->mhz + (double)matrix * (double)times / rates->matrix_mhz;
    return (uint64_t)(us + 0.5);
}

uint64_t htp_rates_power_ups(const struct htp_rates *rates, const struct binary_graph *g, uint32_t timeout_us)
{
    uint64_t ups = 0, idle = 0; /* cycles of the core since the last operator of the matrix unit */
    bool used = false;

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!(g->nodes[i].resources & RESOURCE_MATRIX)) {
            idle += g->nodes[i].cycles;
            continue;
        }
        ups += used && idle / rates->mhz >= timeout_us;
        used = true;
        idle = 0;
    }
    return ups;
}

void htp_rates_name(const struct htp_rates *rates, char ret[64])
{
    if (rates->matrix_mhz == rates->mhz)
        snprintf(ret, 64, "%u MHz", rates->mhz);
    else
        snprintf(ret, 64, "%u MHz, matrix unit at %u MHz", rates->mhz, rates->matrix_mhz);
}
