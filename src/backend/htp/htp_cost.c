/* SPDX-License-Identifier: Apache-2.0 */
/* table: the rates of the HTP, by SoC. The array of multipliers and the vector width are those of the architecture; clock and memory bandwidth are fitted to
 * published latencies of networks on devices (docs/cost.md says how and how well), and so are the numbers that all of them share and what floats take on v69. */
#include "backend/htp/htp_cost.h"

enum { LAUNCH = 500, VECTOR_LAUNCH = 200, VECTOR_PERCENT = 760, VTCM_RATE = 1000, DENSE_FLOAT = 7, DEFAULT_SOC = 43 };

static const struct {
    uint32_t model, arch;
    uint32_t clock_mhz, macs, units, dram_mb_s; /* units: vector units that a larger number of contexts shares */
    uint32_t float_percent;
} socs[] = {
    { 39, 68, 1050, 8192, 4, 29600, 100 }, /* SA8295 */
    { 36, 69, 960, 16384, 4, 25500, 162 }, /* SM8450 */
    { 43, 73, 1220, 16384, 4, 38700, 100 }, /* SM8550 */
    { 57, 75, 1770, 16384, 4, 48800, 100 }, /* SM8650 */
    { 69, 79, 1860, 16384, 6, 58400, 100 }, /* SM8750 */
    { 87, 81, 2490, 16384, 6, 68200, 100 }, /* SM8850 */
};
enum { SOCS = sizeof socs / sizeof socs[0] };

static uint32_t find(uint32_t model, uint32_t arch)
{
    uint32_t best = SOCS;
    for (uint32_t i = 0; i < SOCS; i++)
        if (socs[i].model == model)
            return i;
    for (uint32_t i = 0; i < SOCS; i++) /* the newest that is not newer */
        best = socs[i].arch <= arch ? i : best;
    for (uint32_t i = 0; i < SOCS && best == SOCS; i++)
        best = socs[i].model == DEFAULT_SOC ? i : best;
    return best;
}

void htp_cost_device(uint32_t soc_model, uint32_t arch, uint64_t vtcm_bytes, uint32_t hvx_threads, struct cost_device *ret)
{
    uint32_t i = find(soc_model, arch), units = hvx_threads && hvx_threads < socs[i].units ? hvx_threads : socs[i].units;
    *ret = (struct cost_device){ .clock_mhz = socs[i].clock_mhz, .matrix_macs = socs[i].macs, .dram_mb_s = socs[i].dram_mb_s, .launch = { LAUNCH, VECTOR_LAUNCH }, .vtcm_rate = VTCM_RATE, .dense_float = DENSE_FLOAT, .float_percent = socs[i].float_percent,
                                 .vector_percent = VECTOR_PERCENT, .vector_units = units, .vtcm_bytes = vtcm_bytes };
}
