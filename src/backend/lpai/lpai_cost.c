/* SPDX-License-Identifier: Apache-2.0 */
/* What the eNPU of each hardware version does in a cycle, for estimates (docs/cost.md). No data sheet is public: the size of
 * the array of multipliers is the one that the core's properties name, the other rates follow from it by the rules of that
 * page. */
#include "backend/lpai/lpai_backend.h"
#include "prepare/prepare.h"

/* 8-bit products per cycle M, bytes per cycle of scratch and persistent memory S, of constants and I/O buffers C. Products
 * of 16-bit activations and 8-bit weights take two, of 16 by 16 bits four; wide types run on the vector unit, M / 4 bytes
 * across. */
#define RATES(M, S, C)                                                                                              \
    {                                                                                                               \
        .products = { { M, (M) / 2, (M) / 16 }, { (M) / 2, (M) / 4, (M) / 16 }, { (M) / 16, (M) / 16, (M) / 16 } }, \
        .per_channel = { (M) / 4, (M) / 8, (M) / 16 }, .elements = { (M) / 4, (M) / 8, (M) / 16 },                  \
        .bytes = { [PLACE_CONST] = C, [PLACE_SCRATCH] = S, [PLACE_PERSISTENT] = S, [PLACE_IO] = C }, .start = 64,   \
    }

static const struct {
    uint32_t arch;
    struct cost_rates rates;
} versions[] = {
    { 4, RATES(128, 16, 8) },
    { 5, RATES(256, 32, 8) },
    { 0x10005, RATES(256, 32, 16) },
    { 6, RATES(512, 64, 16) },
    { 7, RATES(1024, 64, 32) },
};

const struct cost_rates *lpai_cost_rates(uint32_t arch)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
        if (versions[i].arch == arch)
            return &versions[i].rates;
    return NULL;
}
