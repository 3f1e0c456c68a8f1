/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of AMX in plain C, so that kernels which multiply in tiles can be tested on CPUs without them. It stands before
 * everything else in those files and takes the place of the instructions in kernels/conv/conv_tiles.h. */
#ifndef TESTS_TILES_IN_C_H
#define TESTS_TILES_IN_C_H

#include <stdbool.h>
#include <stdint.h>

void tiles_shape(const void *config); /* the 64 bytes that LDTILECFG reads */
void tiles_release(void);
void tiles_load(int tile, const void *from, uint64_t stride);
void tiles_zero(int tile);
void tiles_store(int tile, void *to, uint64_t stride);
void tiles_multiply(bool x_signed, bool w_signed, int sums, int x, int w);

#define TILE_SHAPES(config) tiles_shape(&(config))
#define TILE_RELEASE() tiles_release()
#define TILE_LOAD(t, from, stride) tiles_load(t, from, stride)
#define TILE_PASS(t, from, stride) tiles_load(t, from, stride)
#define TILE_ZERO(t) tiles_zero(t)
#define TILE_STORE_ROWS(t, to, stride) tiles_store(t, to, stride)
#define TILE_MULTIPLY(sx, c, x, w) tiles_multiply(sx, true, c, x, w)
#define TILE_MULTIPLY_LOW(sx, c, x, w) tiles_multiply(sx, false, c, x, w)

#endif
