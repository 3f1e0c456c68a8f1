/* SPDX-License-Identifier: Apache-2.0 */
/* table: the rates of the HTP, by SoC. The array of multipliers and the vector width are those of the architecture; clock and memory bandwidth are fitted to
 * published latencies of networks on devices (docs/cost.md says how and how well), and so are the numbers that all of them share, what floats take on some, and unit sizes of small ones. */
#include "backend/htp/htp_cost.h"

enum { LAUNCH = 500, VECTOR_LAUNCH = 200, VECTOR_PERCENT = 760, VTCM_RATE = 1000, DENSE_FLOAT = 7, DEFAULT_SOC = 43 };

static const struct {
    uint32_t model, arch;
    uint32_t clock_mhz, macs, units, dram_mb_s; /* units: vector units that a larger number of contexts shares */
    uint32_t float_percent;
} socs[] = { /* of one architecture the last one stands for all others */
    { 78, 68, 740, 1024, 2, 25000, 100 }, /* QCM6690, whose architecture is not published */
    { 35, 68, 640, 4096, 4, 25600, 100 }, /* SM7325 */
    { 44, 68, 640, 4096, 4, 25600, 100 }, /* SC7280X */
    { 93, 68, 640, 4096, 4, 25600, 100 }, /* QCM6490 */
    { 39, 68, 1050, 8192, 4, 29600, 100 }, /* SA8295 */
    { 36, 69, 960, 16384, 4, 25500, 162 }, /* SM8450 */
    { 86, 73, 1170, 8192, 4, 34000, 100 }, /* SM7750 */
    { 52, 73, 1110, 16384, 4, 35500, 145 }, /* SA8255, SA8650, SA8775 */
    { 77, 73, 1110, 16384, 4, 35500, 145 }, /* QCS9100 */
    { 60, 73, 1120, 16384, 4, 46500, 100 }, /* SC8380XP */
    { 43, 73, 1220, 16384, 4, 38700, 100 }, /* SM8550 */
    { 67, 75, 1820, 2048, 2, 36400, 150 }, /* SA7255, SA8620 */
    { 82, 75, 1820, 2048, 2, 36400, 150 }, /* QCS8300 */
    { 57, 75, 1770, 16384, 4, 48800, 100 }, /* SM8650 */
    { 69, 79, 1860, 16384, 6, 58400, 100 }, /* SM8750 */
    { 88, 81, 1970, 16384, 6, 63000, 100 }, /* SC8480XP */
    { 87, 81, 2490, 16384, 6, 68200, 100 }, /* SM8850 */
};
enum { SOCS = sizeof socs / sizeof socs[0] };

/* SoCs whose HTP can keep buffers in the system level cache: the one that the public documents name, and its successor. The
 * size is that of the cache, the rate (htp_cost.h) a choice of the simulation. */
static const struct {
    uint32_t model;
    uint64_t bytes;
} caches[] = {
    { 69, 8 << 20 }, /* SM8750 */
    { 87, 8 << 20 }, /* SM8850 */
};

uint64_t htp_slc_bytes(uint32_t soc_model)
{
    for (size_t i = 0; i < sizeof caches / sizeof caches[0]; i++)
        if (caches[i].model == soc_model)
            return caches[i].bytes;
    return 0;
}

/* Those that the public documents name. */
bool htp_has_sparse_weights(uint32_t soc_model)
{
    enum { SA8255 = 52, SA8620 = 67 };
    return soc_model == SA8255 || soc_model == SA8620;
}

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
