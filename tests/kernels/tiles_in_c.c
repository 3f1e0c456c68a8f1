/* SPDX-License-Identifier: Apache-2.0 */
/* What the instructions do, as Intel's manual describes them; shapes that the CPU would fault on end the test. */
#include "tiles_in_c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"

enum { TILES = 8, ROWS = 16, BYTES = 64 };

static _Thread_local struct {
    bool configured;
    uint8_t rows[TILES];
    uint16_t bytes[TILES];
    uint8_t at[TILES][ROWS][BYTES];
} t;

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "tiles: %s\n", what);
    abort();
}

void tiles_shape(const void *config)
{
    const uint8_t *c = config;
    require(c[0] == 1 && c[1] == 0, "another palette than 1, or a start row");
    memset(&t, 0, sizeof t);
    memcpy(t.bytes, c + 16, sizeof t.bytes);
    memcpy(t.rows, c + 48, sizeof t.rows);
    for (int i = 0; i < TILES; i++)
        require(t.rows[i] <= ROWS && t.bytes[i] <= BYTES && !t.rows[i] == !t.bytes[i], "a shape that there is not");
    t.configured = true;
}

void tiles_release(void)
{
    memset(&t, 0, sizeof t);
}

static void use(int tile)
{
    require(t.configured && t.rows[tile], "a tile without a shape");
}

void tiles_load(int tile, const void *from, uint64_t stride)
{
    use(tile);
    memset(t.at[tile], 0, sizeof t.at[tile]);
    for (uint32_t r = 0; r < t.rows[tile]; r++)
        memcpy(t.at[tile][r], (const uint8_t *)from + r * stride, t.bytes[tile]);
}

void tiles_zero(int tile)
{
    use(tile);
    memset(t.at[tile], 0, sizeof t.at[tile]);
}

void tiles_store(int tile, void *to, uint64_t stride)
{
    use(tile);
    for (uint32_t r = 0; r < t.rows[tile]; r++)
        memcpy((uint8_t *)to + r * stride, t.at[tile][r], t.bytes[tile]);
}

void tiles_multiply(bool x_signed, bool w_signed, int sums, int x, int w)
{
    use(sums), use(x), use(w);
    require(t.rows[sums] == t.rows[x] && t.bytes[sums] == t.bytes[w] && t.bytes[x] == 4 * t.rows[w] && t.bytes[w] % 4 == 0,
            "shapes that do not fit together");
    for (uint32_t m = 0; m < t.rows[sums]; m++)
        for (uint32_t n = 0; n < t.bytes[sums] / 4u; n++) {
            uint32_t sum;
            memcpy(&sum, &t.at[sums][m][4 * n], sizeof sum);
            for (uint32_t k = 0; k < t.bytes[x]; k++) {
                const uint8_t b = t.at[w][k / 4][4 * n + k % 4];
                int32_t a = x_signed ? (int8_t)t.at[x][m][k] : t.at[x][m][k];
                sum += (uint32_t)(a * (w_signed ? (int8_t)b : b));
            }
            memcpy(&t.at[sums][m][4 * n], &sum, sizeof sum);
        }
}

/* The linker puts these in the places of cpu_isa and cpu_has (--wrap). */
enum isa __real_cpu_isa(void);
enum isa __wrap_cpu_isa(void);
bool __real_cpu_has(enum isa level);
bool __wrap_cpu_has(enum isa level);

enum isa __wrap_cpu_isa(void)
{
    return __real_cpu_isa() == ISA_AVX512 && cpu_permutes_bytes() ? ISA_AMX : __real_cpu_isa();
}

bool __wrap_cpu_has(enum isa level)
{
    return level == ISA_AMX ? __wrap_cpu_isa() == ISA_AMX : __real_cpu_has(level);
}
