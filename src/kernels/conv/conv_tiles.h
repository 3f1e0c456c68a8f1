/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of AMX: their shapes, and the instructions that load, multiply and store them. Private to kernels of
 * that set. */
#ifndef KERNELS_CONV_CONV_TILES_H
#define KERNELS_CONV_CONV_TILES_H

#include <stdint.h>

enum { TILE = 16, STEP = 64 }; /* rows of a tile, bytes of a row */

/* What LDTILECFG reads. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_config) == 64, "the shape that LDTILECFG reads");

#ifndef TILE_LOAD /* a test brings its own (tests/kernels/tiles_in_c.h) */
/* The compiler's own intrinsic says that it reads 8 bytes of the configuration; all 64 are. */
#define TILE_SHAPES(config) __asm__ volatile("ldtilecfg %0" ::"m"(config))
#define TILE_RELEASE() __asm__ volatile("tilerelease" ::)
#define TILE_LOAD(t, from, stride) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(from), "r"((uint64_t)(stride)) : "memory")
/* The same for what will not be needed again soon: it does not push out what is. */
#define TILE_PASS(t, from, stride) \
    __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm" #t ::"r"(from), "r"((uint64_t)(stride)) : "memory")
#define TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t ::)
#define TILE_STORE_ROWS(t, to, stride) \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(to), "r"((uint64_t)(stride)) : "memory")
/* c += x * w; w is signed, x as `sx` says. */
#define TILE_MULTIPLY(sx, c, x, w)                                             \
    do {                                                                       \
        if (sx)                                                                \
            __asm__ volatile("tdpbssd %%tmm" #w ", %%tmm" #x ", %%tmm" #c ::); \
        else                                                                   \
            __asm__ volatile("tdpbusd %%tmm" #w ", %%tmm" #x ", %%tmm" #c ::); \
    } while (0)
#endif
#define TILE_STORE(t, to) TILE_STORE_ROWS(t, to, STEP)

#endif
